/* peel.c - telling the line that a bucket holds, if it holds just one, and taking it out of all stages. */
#include "sfft/state.h"

#include "sfft/number.h"
#include "sfft/rules.h"

#include <math.h>

double lw_sfft_bucket_energy(const struct lw_sfft *sfft, int stage, int64_t b)
{
    double sum = 0;
    for (int p = sfft->layout->first_plane[stage]; p < sfft->layout->first_plane[stage + 1]; p++) {
        const double re = creal(sfft->rest[p][b]), im = cimag(sfft->rest[p][b]);
        sum += re * re + im * im;
    }
    return sum / sfft->layout->stages[stage].spec.n_shifts;
}

double lw_sfft_bucket_noise(const struct lw_sfft *sfft, int stage)
{
    return sfft->noise_power * sfft->layout->stages[stage].window->energy;
}

/* Phase in turns that a line at permuted frequency whole + part has gained after a shift; modulo 1. */
static double turns_after(int64_t whole, double part, int64_t shift, int64_t n)
{
    return (double)lw_mod_multiply(lw_mod(whole, n), shift, n) / (double)n + part * (double)shift / (double)n;
}

/* The permuted frequency of the one line in bucket b: the bucket gives it to half a bucket, and the phase gained over each
 * shift to a part of a turn of that shift. */
static int64_t locate(const struct lw_sfft_stage *stage, const double complex *u, int64_t b)
{
    const int64_t n = stage->spec.n, n_buckets = stage->spec.n_buckets;
    const double width = (double)n / (double)n_buckets;
    double estimate = (double)b * width;
    for (int d = 1; d < stage->spec.n_shifts; d++) {
        const int64_t whole = (int64_t)rint(estimate);
        const double expected = turns_after(whole, estimate - (double)whole, stage->shift[d], n);
        double difference = carg(u[d] * conj(u[0])) / (2 * M_PI) - expected;
        difference -= rint(difference);
        estimate += difference * (double)n / (double)stage->shift[d];
    }
    return (int64_t)rint(estimate);
}

/* Least-squares amplitude of a line at that permuted frequency, as it appears in the bucket without shift. */
static double complex fit_amplitude(const struct lw_sfft_stage *stage, const double complex *u, int64_t permuted)
{
    double complex sum = u[0];
    for (int d = 1; d < stage->spec.n_shifts; d++) {
        double sine, cosine;
        sincos(2 * M_PI * turns_after(permuted, 0, stage->shift[d], stage->spec.n), &sine, &cosine);
        sum += u[d] * CMPLX(cosine, -sine);
    }
    return sum / stage->spec.n_shifts;
}

/* What a bucket shows, and what is asked of it. */
struct sight {
    double complex u[LW_SFFT_SHIFTS];
    double total;                   /* sum of |u|^2 */
    double magnitudes;              /* sum of |u| */
    double least;                   /* energy that a line must have */
    double most_left;               /* energy that it may leave */
};

static void look_into(const struct lw_sfft *sfft, int s, int64_t b, double tolerance, struct sight *sight)
{
    const struct lw_sfft_stage *const stage = &sfft->layout->stages[s];
    const int count = stage->spec.n_shifts;
    const double noise = lw_sfft_bucket_noise(sfft, s);
    sight->total = sight->magnitudes = 0;
    for (int d = 0; d < count; d++) {
        const double complex u = sfft->rest[sfft->layout->first_plane[s] + d][b];
        const double energy = creal(u) * creal(u) + cimag(u) * cimag(u);
        sight->u[d] = u;
        sight->total += energy;
        sight->magnitudes += sqrt(energy);
    }
    sight->least = noise * count * pow(lw_sfft_stage_least_amplitude(stage), 2);
    sight->most_left = tolerance * sight->total + noise * (count + LW_SFFT_SPREAD * sqrt(count));
}

/* Before its phases are looked at: a line has the same magnitude in all shifts, and no amplitude leaves less than the
 * spread of the magnitudes. */
static bool may_be_a_line(const struct sight *sight, int count)
{
    return sight->total > sight->least && sight->total - sight->magnitudes * sight->magnitudes / count <= sight->most_left;
}

static struct lw_sfft_candidate examine(const struct lw_sfft *sfft, int s, int64_t b, double tolerance)
{
    static const struct lw_sfft_candidate none = {.frequency = -1};
    const struct lw_sfft_stage *const stage = &sfft->layout->stages[s];
    const int count = stage->spec.n_shifts;
    struct sight sight;
    look_into(sfft, s, b, tolerance, &sight);
    if (!may_be_a_line(&sight, count))
        return none;

    const int64_t permuted = lw_mod(locate(stage, sight.u, b), stage->spec.n);
    const double complex seen = fit_amplitude(stage, sight.u, permuted);
    const double explained = count * (creal(seen) * creal(seen) + cimag(seen) * cimag(seen));
    if (explained < sight.least || sight.total - explained > sight.most_left)
        return none;

    const int64_t frequency = lw_mod_multiply(stage->sigma_inverse, permuted, stage->spec.n);
    const struct lw_sfft_place place = lw_sfft_stage_place(stage, frequency);
    if (place.bucket != b)
        return none;                /* it belongs to a neighbour, which sees it better */
    double sine, cosine;
    sincos(2 * M_PI * lw_sfft_stage_turns(stage, 0, frequency, permuted), &sine, &cosine);
    const double gain = lw_sfft_window_response(stage->window, place.distance);
    return (struct lw_sfft_candidate){frequency, seen / gain * CMPLX(cosine, -sine)};
}

/* Note that a line's amplitude changes; false if the model is full. */
static bool note(struct lw_sfft *sfft, int64_t frequency, double complex amplitude, int64_t *count)
{
    const int64_t line = lw_sfft_model_line(sfft->model, frequency);
    if (line < 0 || *count == sfft->model->capacity)
        return false;
    sfft->model->amplitude[line] += amplitude;
    sfft->changed[*count] = line;
    sfft->change[(*count)++] = amplitude;
    return true;
}

/* A real signal's line comes with its mirror image; at 0 and n/2 it is its own, and real. */
static bool note_all(struct lw_sfft *sfft, const struct lw_sfft_candidate *found, int64_t *count)
{
    const int64_t n = sfft->layout->plan.spec.n;
    if (!sfft->layout->plan.spec.is_real)
        return note(sfft, found->frequency, found->amplitude, count);
    const int64_t mirror = found->frequency == 0 ? 0 : n - found->frequency;
    if (mirror == found->frequency)
        return note(sfft, mirror, creal(found->amplitude), count);
    return note(sfft, found->frequency, found->amplitude, count) && note(sfft, mirror, conj(found->amplitude), count);
}

int64_t lw_sfft_peel(struct lw_sfft *sfft, int stage, double tolerance)
{
    const int64_t n_buckets = sfft->layout->stages[stage].spec.n_buckets;
    const int64_t last = sfft->layout->plan.spec.is_real ? n_buckets / 2 : n_buckets - 1;   /* the others are mirror images */
    #pragma omp parallel for num_threads(sfft->n_threads) schedule(static)
    for (int64_t b = 0; b <= last; b++)
        sfft->candidates[b] = examine(sfft, stage, b, tolerance);

    const int64_t before = sfft->model->n_lines;
    int64_t count = 0;
    for (int64_t b = 0; b <= last; b++)
        if (sfft->candidates[b].frequency >= 0 && !note_all(sfft, &sfft->candidates[b], &count))
            break;
    lw_sfft_model_trace(sfft->model, before);
    const struct lw_sfft_sum sum = {sfft->changed, sfft->change, count, -1};
    lw_sfft_model_add(sfft->model, &sum, sfft->model->n_planes, sfft->rest);
    return count;
}
