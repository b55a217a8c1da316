#include "sfft/tones/tones.h"

#include "base/memory.h"
#include "sfft/number.h"

/* ---- life ---------------------------------------------------------------------------------------------------------- */

/* Most samples that can be used. Rows are used whole; the first row is used whatever its length. */
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
    struct lw_sfft_tones *const t = *out = lw_alloc(sizeof *t, "tones", err);
    if (!t)
        return LW_ESYSTEM;
    t->spec = *spec;
    t->n = plan->spec.n;
    t->is_real = plan->spec.is_real;
    if (!(t->tones = lw_alloc_array(spec->capacity, sizeof *t->tones, "tones", err)) ||
        !(t->part = lw_alloc_array(3 * spec->capacity, sizeof *t->part, "tones", err)) ||
        !(t->scale = lw_alloc_array(spec->capacity, sizeof *t->scale, "tones", err)) ||
        !(t->rest = lw_alloc_array(samples, sizeof *t->rest, "samples of tones", err)) ||
        !(t->image = lw_alloc_array(samples, sizeof *t->image, "samples of tones", err)))
        return LW_ESYSTEM;
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

/* Return exp(2 pi i (index t + offset (t - n/2)) / n) at sample t. */
static double complex wave_at(const struct lw_sfft_tones *t, const struct lw_sfft_tone *tone, int64_t sample)
{
    const double n = (double)t->n;
    const double turns = (double)lw_mod_multiply(tone->index, sample, t->n) / n + tone->offset * ((double)sample / n - 0.5);
    double sine, cosine;
    sincos(2 * M_PI * turns, &sine, &cosine);
    return CMPLX(cosine, sine);
}

/* Recurrence of a tone's wave along a row: it is multiplied by `step` from a sample to the next, or by `wrapped` where the row
 * passes the end of the signal. Every FRESH samples the wave is computed directly, to bound rounding. */
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
    const int64_t next = walk->sample;      /* walk->sample already is the number of sample i */
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

void lw_sfft_tones_add(const struct lw_sfft_tones *t, const struct lw_sfft_tone_part *parts, double scale,
                       double complex *values)
{
    #pragma omp parallel for num_threads(t->spec.n_threads) schedule(dynamic)
    for (int r = 0; r < t->n_rows; r++) {
        for (int64_t j = 0; j < t->n_tones; j++) {
            const double by = scale * weight_of(t, &t->tones[j]);
            const struct lw_sfft_tone_part part = {by * parts[j].flat, by * parts[j].slope};
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

/* Return the standard deviation of a tone's offset in white noise of noise_power (the bound of Cramer and Rao). */
static double deviation(const struct lw_sfft_tones *t, const struct lw_sfft_tone *tone, double noise_power)
{
    const double energy = pow(cabs(tone->amplitude), 2) * (double)t->n_fitted;      /* the same for real signals */
    return energy > 0 ? sqrt(6 * noise_power / energy) / (2 * M_PI) : INFINITY;
}

/* Return the distance between two frequencies in bins; circular for a complex signal. */
static double distance(const struct lw_sfft_tones *t, double a, double b)
{
    const double d = fabs(a - b), n = (double)t->n;
    return t->is_real || d < n - d ? d : n - d;
}

/* Return whether one of the first `end` tones is too near to this tone to be told apart. */
static bool has_near(const struct lw_sfft_tones *t, const struct lw_sfft_tone *tone, int64_t end)
{
    static const double least_distance = 0.7;
    const double place = (double)tone->index + tone->offset;
    for (int64_t j = 0; j < end; j++)
        if (distance(t, (double)t->tones[j].index + t->tones[j].offset, place) < least_distance)
            return true;
    return false;
}

struct lw_sfft_line lw_sfft_tones_line(const struct lw_sfft_tones *t, const struct lw_sfft_tone *tone)
{
    const double nearest = rint(tone->offset);
    const double complex x = (double)t->n * tone->amplitude * cexp(-M_PI * I * tone->offset);
    return (struct lw_sfft_line){lw_mod(tone->index + (int64_t)nearest, t->n), creal(x), cimag(x), tone->offset - nearest};
}

/* ---- which lines are tones, and about where -------------------------------------------------------------------------- */

/* A line counts as leakage if it is at most this many times what a stronger new tone, half-way between frequencies, leaks to it. */
static const double leakage_margin = 1.5;

static bool may_be_leakage(const struct lw_sfft_tones *t, const struct lw_sfft_line *line, int64_t first)
{
    const double size = hypot(line->re, line->im) / (double)t->n;
    for (int64_t j = first; j < t->n_tones; j++) {
        const double d = distance(t, (double)t->tones[j].index, (double)line->frequency);
        if (d < 1.5 || size < leakage_margin * 0.5 / (d - 0.5) * cabs(t->tones[j].amplitude))
            return true;
    }
    return false;
}

/* Find the offset, in quarters of a bin around a line, at which a tone correlates best with the rest. */
static struct lw_sfft_tone look_around(const struct lw_sfft_tones *t, int64_t index)
{
    struct lw_sfft_tone best = {.index = index, .is_fixed = t->is_real && (index == 0 || 2 * index == t->n)};
    const double weight = (double)t->n_fitted * (t->is_real && !best.is_fixed ? 2 : 1);
    for (int quarter = best.is_fixed ? 0 : -3; quarter <= (best.is_fixed ? 0 : 3); quarter++) {
        struct lw_sfft_tone tone = best;
        tone.offset = 0.25 * quarter;
        tone.amplitude = lw_sfft_tones_project(t, &tone, t->rest).flat / weight;
        if (cabs(tone.amplitude) > cabs(best.amplitude))
            best = tone;
    }
    if (best.is_fixed)
        best.amplitude = creal(best.amplitude);
    return best;
}

int64_t lw_sfft_tones_seed(struct lw_sfft_tones *t, const struct lw_sfft_line *lines, int64_t count, int64_t most)
{
    const int64_t before = t->n_tones;
    const int64_t end = before + most < t->spec.capacity ? before + most : t->spec.capacity;
    for (int64_t i = 0; i < count && t->n_tones < end; i++)         /* `lines` begin with the strongest */
        if (!may_be_leakage(t, &lines[i], before))
            t->tones[t->n_tones++] = (struct lw_sfft_tone){
                .index = lines[i].frequency, .amplitude = CMPLX(lines[i].re, lines[i].im) / (double)t->n,
            };
    #pragma omp parallel for num_threads(t->spec.n_threads) schedule(dynamic)
    for (int64_t j = before; j < t->n_tones; j++)
        t->tones[j] = look_around(t, t->tones[j].index);
    const int64_t chosen = t->n_tones;
    t->n_tones = before;
    for (int64_t j = before; j < chosen; j++)
        if (!has_near(t, &t->tones[j], t->n_tones))
            t->tones[t->n_tones++] = t->tones[j];
    return t->n_tones - before;
}

/* ---- frequencies and amplitudes of all tones at a time ---------------------------------------------------------------- */

/* Most Gauss-Newton steps; most conjugate-gradient iterations in a step, unless the gradient falls to this part before. */
enum { STEPS = 16, GRADIENTS = 20 };
static const double gradient_enough = 1e-3;

/* A fit ends when every offset changes by at most offset_enough (bins), or by deviation_enough of the standard deviation that the
 * rest causes. No offset changes by more than longest_step in one step. */
static const double offset_enough = 1e-10, deviation_enough = 0.01, longest_step = 0.3;

/* A tone is kept if its energy in the samples is at least this many times the noise's. */
static const double significance = 20;

/* ---- fit: linear least squares ------------------------------------------------------------------------------------------- */

/* The unknowns of a tone are the changes of its amplitude (flat) and of its offset (creal(slope)), in units of equal weight. Their
 * image is the change of the samples, by the derivatives of the wave. */
static void make_image(const struct lw_sfft_tones *t, const struct lw_sfft_tone_part *unknowns, struct lw_sfft_tone_part *parts)
{
    memset(t->image, 0, (size_t)t->n_samples * sizeof *t->image);
    for (int64_t j = 0; j < t->n_tones; j++) {
        parts[j].flat = unknowns[j].flat;
        parts[j].slope = 2 * M_PI * I * t->tones[j].amplitude * t->scale[j] * creal(unknowns[j].slope);
    }
    lw_sfft_tones_add(t, parts, 1, t->image);
}

/* Adjoint of make_image, applied to values over the samples. */
static void project_all(const struct lw_sfft_tones *t, const double complex *values, struct lw_sfft_tone_part *unknowns)
{
    #pragma omp parallel for num_threads(t->spec.n_threads) schedule(dynamic)
    for (int64_t j = 0; j < t->n_tones; j++) {
        const struct lw_sfft_tone *const tone = &t->tones[j];
        const struct lw_sfft_tone_part sum = lw_sfft_tones_project(t, tone, values);
        unknowns[j].flat = tone->is_fixed ? creal(sum.flat) : sum.flat;
        unknowns[j].slope = creal(conj(2 * M_PI * I * tone->amplitude) * sum.slope) * t->scale[j];
    }
}

static double energy(const struct lw_sfft_tone_part *parts, int64_t count)
{
    double sum = 0;
    for (int64_t j = 0; j < count; j++)
        sum += pow(creal(parts[j].flat), 2) + pow(cimag(parts[j].flat), 2) + pow(creal(parts[j].slope), 2);
    return sum;
}

/* Solve for the unknowns that explain the rest best, by CGLS. The rest is overwritten. */
static void solve(struct lw_sfft_tones *t, struct lw_sfft_tone_part *solution)
{
    const int64_t count = t->n_tones;
    struct lw_sfft_tone_part *const gradient = t->part + t->spec.capacity, *const direction = t->part + 2 * t->spec.capacity;
    memset(solution, 0, (size_t)count * sizeof *solution);
    project_all(t, t->rest, gradient);
    memcpy(direction, gradient, (size_t)count * sizeof *direction);
    double before = energy(gradient, count);
    const double enough = before * gradient_enough * gradient_enough;
    for (int i = 0; i < GRADIENTS && before > enough; i++) {
        make_image(t, direction, gradient);         /* `gradient` serves as work space until project_all sets it below */
        const double seen = lw_sfft_tones_power(t, t->image, true) * (double)t->n_fitted;
        if (!(seen > 0))
            return;
        const double length = before / seen;
        for (int64_t j = 0; j < count; j++) {
            solution[j].flat += length * direction[j].flat;
            solution[j].slope += length * direction[j].slope;
        }
        for (int64_t k = 0; k < t->n_samples; k++)
            t->rest[k] -= length * t->image[k];
        project_all(t, t->rest, gradient);
        const double now = energy(gradient, count);
        for (int64_t j = 0; j < count; j++) {
            direction[j].flat = gradient[j].flat + now / before * direction[j].flat;
            direction[j].slope = gradient[j].slope + now / before * direction[j].slope;
        }
        before = now;
    }
}

/* ---- fit: Gauss-Newton ---------------------------------------------------------------------------------------------------- */

/* Set the rest to the samples minus all tones. */
static void subtract_tones(struct lw_sfft_tones *t)
{
    memcpy(t->rest, t->samples, (size_t)t->n_samples * sizeof *t->rest);
    for (int64_t j = 0; j < t->n_tones; j++)
        t->part[j] = (struct lw_sfft_tone_part){t->tones[j].amplitude, 0};
    lw_sfft_tones_add(t, t->part, -1, t->rest);
}

/* Move whole bins from the offset to the index. The amplitude belongs to the middle of the signal, where the wave of the index
 * turns by half a turn for each bin: an odd number of bins changes its sign. */
static void normalize(const struct lw_sfft_tones *t, struct lw_sfft_tone *tone)
{
    const int64_t bins = (int64_t)rint(tone->offset);
    const int64_t index = tone->index + bins;
    if (bins == 0 || (t->is_real && (index <= 0 || 2 * index >= t->n)))
        return;
    tone->index = lw_mod(index, t->n);
    tone->offset -= (double)bins;
    if (bins % 2 != 0)
        tone->amplitude = -tone->amplitude;
}

/* Change all tones by a solution of `solve`; return whether any change was significant. */
static bool move(struct lw_sfft_tones *t, const struct lw_sfft_tone_part *solution)
{
    const double noise = lw_sfft_tones_power(t, t->rest, true);     /* noise left by the solution */
    bool has_moved = false;
    for (int64_t j = 0; j < t->n_tones; j++) {
        struct lw_sfft_tone *const tone = &t->tones[j];
        const double change = t->scale[j] * creal(solution[j].slope);
        const double part = fabs(change) > longest_step ? longest_step / fabs(change) : 1;
        has_moved = has_moved || fabs(change) > fmax(offset_enough, deviation_enough * deviation(t, tone, noise));
        tone->offset += part * change;
        tone->amplitude += part * solution[j].flat;
        normalize(t, tone);
    }
    return has_moved;
}

static void step_until_still(struct lw_sfft_tones *t)
{
    subtract_tones(t);
    for (int i = 0; i < STEPS && t->n_tones > 0; i++) {
        for (int64_t j = 0; j < t->n_tones; j++) {          /* t / n - 1/2 has the mean square 1/12 */
            const double size = 2 * M_PI * cabs(t->tones[j].amplitude);
            t->scale[j] = t->tones[j].is_fixed || size == 0 ? 0 : sqrt(12) / size;
        }
        solve(t, t->part);
        const bool has_moved = move(t, t->part);
        subtract_tones(t);
        if (!has_moved)
            return;
    }
}

/* Remove tones that may be noise, and the later of two tones too close to be told apart. Return whether any were removed. */
static bool prune(struct lw_sfft_tones *t)
{
    const double noise = lw_sfft_tones_power(t, t->rest, true);
    const int64_t before = t->n_tones;
    t->n_tones = 0;
    for (int64_t j = 0; j < before; j++)
        if (pow(cabs(t->tones[j].amplitude), 2) * (double)t->n_fitted > significance * noise &&
            !has_near(t, &t->tones[j], t->n_tones))
            t->tones[t->n_tones++] = t->tones[j];
    return t->n_tones < before;
}

void lw_sfft_tones_fit(struct lw_sfft_tones *t)
{
    step_until_still(t);
    if (prune(t))
        step_until_still(t);
}

/* ---- whether strong lines are tones between two frequencies ----------------------------------------------------------- */

/* Lines within NEAR bins of a tone are its leakage. An offset of least_deviations standard deviations is no whole frequency. */
enum { NEAR = 8 };
static const double least_deviations = 6;

static bool is_chosen(const struct lw_sfft_line *chosen, int count, int64_t frequency, int64_t within)
{
    for (int i = 0; i < count; i++)
        if (chosen[i].frequency - frequency <= within && frequency - chosen[i].frequency <= within)
            return true;
    return false;
}

/* Choose the strongest lines that are not near each other, strongest first. */
static int choose(const struct lw_sfft_line *lines, int64_t count, struct lw_sfft_line chosen[LW_SFFT_TONES_LOOKED_AT])
{
    int n = 0;
    for (; n < LW_SFFT_TONES_LOOKED_AT; n++) {
        double most = 0;
        for (int64_t i = 0; i < count; i++) {
            const double size = hypot(lines[i].re, lines[i].im);
            if (size > most && !is_chosen(chosen, n, lines[i].frequency, NEAR)) {
                most = size;
                chosen[n] = lines[i];
            }
        }
        if (most == 0)
            break;
    }
    return n;
}

/* Subtract every line that is not near a chosen line from the samples. */
static void subtract_others(struct lw_sfft_tones *t, double *samples, const struct lw_sfft_line *lines, int64_t count,
                            const struct lw_sfft_line *chosen, int n_chosen)
{
    t->n_tones = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t f = lines[i].frequency;
        if (!is_chosen(chosen, n_chosen, f, NEAR)) {
            const struct lw_sfft_tone_part part = {CMPLX(lines[i].re, lines[i].im) / (double)t->n, 0};
            t->tones[t->n_tones] = (struct lw_sfft_tone){.index = f, .is_fixed = t->is_real && (f == 0 || 2 * f == t->n)};
            t->part[t->n_tones++] = part;
        }
        if (t->n_tones == t->spec.capacity || i + 1 == count) {
            lw_sfft_tones_add(t, t->part, -1, (double complex *)samples);
            t->n_tones = 0;
        }
    }
    memcpy(t->rest, samples, (size_t)t->n_samples * sizeof *t->rest);
}

int lw_sfft_tones_between(struct lw_sfft_tones *t, double *samples, const struct lw_sfft_line *lines, int64_t count)
{
    struct lw_sfft_line chosen[LW_SFFT_TONES_LOOKED_AT];
    const int n_chosen = choose(lines, count, chosen);
    lw_sfft_tones_begin(t, 0, samples);
    subtract_others(t, samples, lines, count, chosen, n_chosen);
    lw_sfft_tones_seed(t, chosen, n_chosen, n_chosen);
    lw_sfft_tones_fit(t);
    const double noise = lw_sfft_tones_power(t, t->rest, true);
    int between = 0;
    for (int64_t j = 0; j < t->n_tones; j++) {
        const double offset = fabs(lw_sfft_tones_line(t, &t->tones[j]).offset);
        const double least = least_deviations * deviation(t, &t->tones[j], noise);
        between += offset > LW_SFFT_TONES_LEAST_OFFSET && offset > least;
    }
    return between;
}
