#include "sfft/tones/tones.h"

#include "base/memory.h"
#include "sfft/number.h"

#include <math.h>
#include <string.h>

/* ---- life ---------------------------------------------------------------------------------------------------------- */

/* Rows are whole: the first one is taken whatever its length. */
static int64_t most_samples(const struct lw_sfft_plan *plan, int64_t limit)
{
    int64_t all = 0, row = 0;
    for (int a = 0; a < plan->n_attempts; a++) {
        const struct lw_sfft_attempt *const attempt = &plan->attempts[a];
        all += attempt->samples;
        row = row == 0 ? attempt->samples / (attempt->n_stages * attempt->n_shifts + 1) : row;
    }
    return all < limit ? all : row < limit ? limit : row;
}

int lw_sfft_tones_create(const struct lw_sfft_tones_spec *spec, struct lw_sfft_tones **out, struct lw_error *err)
{
    const struct lw_sfft_plan *const plan = &spec->layout->plan;
    const int64_t samples = most_samples(plan, spec->most_samples);
    struct lw_sfft_tones *const t = lw_alloc(sizeof *t, "tones", err);
    if (!t)
        return LW_ESYSTEM;
    t->spec = *spec;
    t->n = plan->spec.n;
    t->is_real = plan->spec.is_real;
    if (!(t->tones = lw_alloc_array(spec->capacity, sizeof *t->tones, "tones", err)) ||
        !(t->part = lw_alloc_array(3 * spec->capacity, sizeof *t->part, "tones", err)) ||
        !(t->scale = lw_alloc_array(spec->capacity, sizeof *t->scale, "tones", err)) ||
        !(t->rest = lw_alloc_array(samples, sizeof *t->rest, "samples of tones", err)) ||
        !(t->image = lw_alloc_array(samples, sizeof *t->image, "samples of tones", err))) {
        lw_sfft_tones_destroy(t);
        return LW_ESYSTEM;
    }
    *out = t;
    return LW_OK;
}

void lw_sfft_tones_destroy(struct lw_sfft_tones *tones)
{
    if (!tones)
        return;
    lw_free(tones->tones);
    lw_free(tones->part);
    lw_free(tones->scale);
    lw_free(tones->rest);
    lw_free(tones->image);
    lw_free(tones);
}

int64_t lw_sfft_tones_bytes(const struct lw_sfft_plan *plan, int64_t capacity, int64_t limit)
{
    const struct lw_sfft_tones *const t = NULL;
    return (int64_t)sizeof *t + capacity * (int64_t)(sizeof *t->tones + 3 * sizeof *t->part + sizeof *t->scale) +
           2 * most_samples(plan, limit) * (int64_t)sizeof *t->rest;
}

void lw_sfft_tones_begin(struct lw_sfft_tones *t, int attempt, const double *samples)
{
    const struct lw_sfft_layout *const layout = t->spec.layout;
    t->samples = samples;
    t->n_tones = t->n_samples = t->n_fitted = 0;
    t->n_rows = 0;
    for (int s = 0; s < lw_sfft_first_stage(layout, attempt + 1); s++) {
        const struct lw_sfft_stage *const stage = &layout->stages[s];
        const int64_t count = 2 * stage->window->half + 1;
        for (int d = 0; d < stage->spec.n_shifts; d++) {
            if (t->n_rows > 0 && t->n_samples + count > t->spec.most_samples)
                break;
            const bool is_fitted = stage->spec.n_shifts > 1;
            t->rows[t->n_rows++] = (struct lw_sfft_tone_row){
                lw_sfft_stage_sample(stage, d, 0), stage->sigma, count, t->n_samples, is_fitted,
            };
            t->n_samples += count;
            t->n_fitted += is_fitted ? count : 0;
        }
    }
    memcpy(t->rest, samples, (size_t)t->n_samples * sizeof *t->rest);
}

/* ---- tones along a row ---------------------------------------------------------------------------------------------- */

/* exp(2 pi i (index t + offset (t - n/2)) / n). */
static double complex wave_at(const struct lw_sfft_tones *t, const struct lw_sfft_tone *tone, int64_t sample)
{
    const double n = (double)t->n;
    const double turns = (double)lw_mod_multiply(tone->index, sample, t->n) / n + tone->offset * ((double)sample / n - 0.5);
    double sine, cosine;
    sincos(2 * M_PI * turns, &sine, &cosine);
    return CMPLX(cosine, sine);
}

/* How the wave goes on: by `step` from each sample of a row to the next, and by `wrapped` where these pass the end of the
 * signal. It is started afresh every so many samples. */
enum { FRESH = 64 };

struct walk {
    double complex wave, step, wrapped;
    int64_t sample;
};

static struct walk walk_from(const struct lw_sfft_tones *t, const struct lw_sfft_tone *tone, const struct lw_sfft_tone_row *row)
{
    struct walk walk = {.sample = row->first};
    const double turns = (double)lw_mod_multiply(tone->index, row->step, t->n) / (double)t->n;
    const double stride = (double)row->step / (double)t->n;
    walk.step = cexp(2 * M_PI * I * (turns + tone->offset * stride));
    walk.wrapped = cexp(2 * M_PI * I * (turns + tone->offset * (stride - 1)));
    return walk;
}

static inline void walk_on(const struct lw_sfft_tones *t, const struct lw_sfft_tone *tone, const struct lw_sfft_tone_row *row,
                           int64_t i, struct walk *walk)
{
    if (i % FRESH == 0) {
        walk->wave = wave_at(t, tone, walk->sample);
        return;
    }
    const int64_t next = walk->sample;      /* already that of i */
    walk->wave *= next < row->step ? walk->wrapped : walk->step;
}

static double weight_of(const struct lw_sfft_tones *t, const struct lw_sfft_tone *tone)
{
    return t->is_real && !tone->is_fixed ? 2 : 1;
}

static void add_to_row(const struct lw_sfft_tones *t, const struct lw_sfft_tone *tone, const struct lw_sfft_tone_row *row,
                       struct lw_sfft_tone_part part, double complex *values)
{
    const double per_sample = 1 / (double)t->n;
    struct walk walk = walk_from(t, tone, row);
    for (int64_t i = 0; i < row->count; i++) {
        walk_on(t, tone, row, i, &walk);
        const double complex value = (part.flat + part.slope * ((double)walk.sample * per_sample - 0.5)) * walk.wave;
        values[i] += t->is_real ? creal(value) : value;
        walk.sample = lw_mod_add(walk.sample, row->step, t->n);
    }
}

void lw_sfft_tones_add(const struct lw_sfft_tones *t, int64_t first, const struct lw_sfft_tone_part *parts, double scale,
                       double complex *values)
{
    #pragma omp parallel for num_threads(t->spec.n_threads) schedule(dynamic)
    for (int r = 0; r < t->n_rows; r++) {
        for (int64_t j = first; j < t->n_tones; j++) {
            const double by = scale * weight_of(t, &t->tones[j]);
            const struct lw_sfft_tone_part part = {by * parts[j - first].flat, by * parts[j - first].slope};
            add_to_row(t, &t->tones[j], &t->rows[r], part, values + t->rows[r].place);
        }
    }
}

struct lw_sfft_tone_part lw_sfft_tones_project(const struct lw_sfft_tones *t, const struct lw_sfft_tone *tone,
                                               const double complex *values)
{
    const double per_sample = 1 / (double)t->n, weight = weight_of(t, tone);
    struct lw_sfft_tone_part sum = {0, 0};
    for (int r = 0; r < t->n_rows; r++) {
        const struct lw_sfft_tone_row *const row = &t->rows[r];
        if (!row->is_fitted)
            continue;
        struct walk walk = walk_from(t, tone, row);
        for (int64_t i = 0; i < row->count; i++) {
            walk_on(t, tone, row, i, &walk);
            const double complex value = conj(walk.wave) * values[row->place + i];
            sum.flat += value;
            sum.slope += value * ((double)walk.sample * per_sample - 0.5);
            walk.sample = lw_mod_add(walk.sample, row->step, t->n);
        }
    }
    return (struct lw_sfft_tone_part){weight * sum.flat, weight * sum.slope};
}

/* ---- figures -------------------------------------------------------------------------------------------------------- */

double lw_sfft_tones_power(const struct lw_sfft_tones *t, const double complex *values, bool is_fitted)
{
    double sum = 0;
    for (int r = 0; r < t->n_rows; r++) {
        const struct lw_sfft_tone_row *const row = &t->rows[r];
        for (int64_t i = row->place; row->is_fitted == is_fitted && i < row->place + row->count; i++)
            sum += creal(values[i]) * creal(values[i]) + cimag(values[i]) * cimag(values[i]);
    }
    const int64_t count = is_fitted ? t->n_fitted : t->n_samples - t->n_fitted;
    return count > 0 ? sum / (double)count : 0;
}

double lw_sfft_tones_deviation(const struct lw_sfft_tones *t, const struct lw_sfft_tone *tone, double noise_power)
{
    const double energy = pow(cabs(tone->amplitude), 2) * (double)t->n_fitted;      /* of a real signal, both images' */
    return energy > 0 ? sqrt(6 * noise_power / energy) / (2 * M_PI) : INFINITY;
}

double lw_sfft_tones_distance(const struct lw_sfft_tones *t, double a, double b)
{
    const double d = fabs(a - b), n = (double)t->n;
    return t->is_real || d < n - d ? d : n - d;
}

bool lw_sfft_tones_has_near(const struct lw_sfft_tones *t, const struct lw_sfft_tone *tone, int64_t end)
{
    static const double least_distance = 0.7;
    const double place = (double)tone->index + tone->offset;
    for (int64_t j = 0; j < end; j++)
        if (lw_sfft_tones_distance(t, (double)t->tones[j].index + t->tones[j].offset, place) < least_distance)
            return true;
    return false;
}

struct lw_sfft_line lw_sfft_tones_line(const struct lw_sfft_tones *t, const struct lw_sfft_tone *tone)
{
    const double nearest = rint(tone->offset);
    const double complex x = (double)t->n * tone->amplitude * cexp(-M_PI * I * tone->offset);
    return (struct lw_sfft_line){lw_mod(tone->index + (int64_t)nearest, t->n), creal(x), cimag(x), tone->offset - nearest};
}
