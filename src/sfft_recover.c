/* sfft_recover.c - lines from buckets: peel until nothing more comes out, fit all amplitudes at once, look again; then
 * check against the stage that was not used.
 *
 * While lines are missing, fitting would spread their energy over those that are known: so peeling takes each line's
 * amplitude from one stage alone, and the fit comes when peeling is stuck. */
#include "sfft_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOOKS = 3,                      /* peel and fit at most this often */
    MOST_ROUNDS = 40,               /* of peeling all stages once */
    FIT_STEPS = 40,
};

/* Part of a bucket's energy that may be left unexplained by one line, in turn: the purest buckets first. */
static const double tolerances[] = {1e-4, 1e-3, 0.01, 0.05};
enum { N_TOLERANCES = sizeof tolerances / sizeof *tolerances };

/* A fitted line is kept if its energy is this many times the noise's. */
static const double least_significance = 20;

/* A line is certain to be located if it has the least amplitude in a bucket whose response is this; one of its buckets in
 * three stages has that, all but surely. */
static const double sure_response = 0.8;

/* One attempt's view. */
struct look {
    struct lw_sfft *sfft;
    int n_stages;                   /* that the fit uses; the next one checks */
    int n_planes;                   /* of those */
    double power;                   /* of the signal, per sample */
    double least_noise;             /* what leaks between lines counts as noise, per sample */
};

/* ---- energies ------------------------------------------------------------------------------------------------------- */

/* The value that stands at place `rank` of the sorted x; x is reordered (Hoare's selection). */
static double select_value(double *x, int64_t count, int64_t rank)
{
    int64_t low = 0, high = count - 1;
    while (low < high) {
        const double pivot = x[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (x[i] < pivot)
                i++;
            while (x[j] > pivot)
                j--;
            if (i <= j) {
                const double swap = x[i];
                x[i++] = x[j];
                x[j--] = swap;
            }
        }
        if (rank <= j)
            high = j;
        else if (rank >= i)
            low = i;
        else
            break;
    }
    return x[rank];
}

static double measure_energies(struct lw_sfft *sfft, int stage)
{
    double sum = 0;
    for (int64_t b = 0; b < sfft->stages[stage].spec.n_buckets; b++)
        sum += sfft->energies[b] = lw_sfft_bucket_energy(sfft, stage, b);
    return sum;
}

/* Noise per sample by a quantile of the bucket energies: lines fill part of the buckets only. The median of the mean of D
 * exponential variables is about 1 - 1 / (3 D); lower quantiles are taken for it as they are, and say too little. */
static double noise_of_stage(struct lw_sfft *sfft, int stage, double quantile)
{
    const struct lw_sfft_stage_spec *const spec = &sfft->stages[stage].spec;
    measure_energies(sfft, stage);
    const double value = select_value(sfft->energies, spec->n_buckets, (int64_t)(quantile * (double)spec->n_buckets));
    const double median = spec->n_shifts == 1 ? M_LN2 : 1 - 1.0 / (3 * spec->n_shifts);
    return value / median / sfft->stages[stage].window->energy;
}

static void estimate_noise(const struct look *look, double quantile)
{
    double noise = INFINITY;
    for (int s = 0; s < look->n_stages; s++)
        if (look->sfft->stages[s].spec.n_shifts > 1)
            noise = fmin(noise, noise_of_stage(look->sfft, s, quantile));
    look->sfft->noise_power = fmax(noise, look->least_noise);
}

/* Mean |x|^2 of what is left, as a stage shows it: over random permutations, its windows weigh all frequencies alike. */
static double power_left(struct lw_sfft *sfft, int stage)
{
    return measure_energies(sfft, stage) / (double)sfft->stages[stage].spec.n_buckets / sfft->stages[stage].window->energy;
}

/* ---- lines ----------------------------------------------------------------------------------------------------------- */

/* What the model leaves of the measured buckets, afresh. */
static void subtract_model(struct lw_sfft *sfft)
{
    const struct lw_sfft_model *const model = sfft->model;
    for (int p = 0; p < model->n_planes; p++) {
        const int64_t n_buckets = sfft->stages[model->planes[p].stage].spec.n_buckets;
        memcpy(sfft->rest[p], sfft->measured[p], (size_t)n_buckets * sizeof *sfft->rest[p]);
    }
    const struct lw_sfft_sum sum = {NULL, model->amplitude, model->n_lines, -1};
    lw_sfft_model_add(model, &sum, model->n_planes, sfft->rest);
}

/* One look at all stages that locate, those with most buckets first. */
static int64_t peel_stages(const struct look *look, double tolerance)
{
    int64_t found = 0;
    for (int s = look->n_stages - 1; s >= 0; s--)
        if (look->sfft->stages[s].spec.n_shifts > 1)
            found += lw_sfft_peel(look->sfft, s, tolerance);
    return found;
}

/* Peel until nothing more comes out; lines found. At first (`is_blind`) as if there were no noise, with the strictest
 * tolerance: where all buckets are full, as of a comb, the quiet ones do not tell the noise. */
static int64_t peel(const struct look *look, bool is_blind)
{
    int64_t all = 0;
    double before = power_left(look->sfft, 0);
    if (is_blind)
        look->sfft->noise_power = look->least_noise;
    for (int round = 0, step = 0; round < MOST_ROUNDS && step < N_TOLERANCES; round++) {
        const int64_t found = peel_stages(look, tolerances[step]);
        const double now = power_left(look->sfft, 0);
        all += found;
        if (now > 2 * before)
            break;                  /* what was taken for lines is none */
        if (found == 0 || now > 0.99 * before)
            step++;
        before = now;
        if (step > 0 && (found > 0 || step == 1))
            estimate_noise(look, all > 0 ? 0.3 : 0.1);
    }
    return all;
}

/* Fit all amplitudes to a hundredth of the deviation that noise gives them. */
static void fit(const struct look *look)
{
    struct lw_sfft_model *const model = look->sfft->model;
    double weight = 0;
    for (int64_t j = 0; j < model->n_lines; j++)
        weight += lw_sfft_model_weight(model, j, look->n_planes);
    lw_sfft_model_fit(model, look->n_planes, look->sfft->rest, FIT_STEPS,
                      1e-4 * weight * lw_sfft_bucket_noise(look->sfft, 0));
}

/* Take lines out of the model that the fit has shown to be none. */
static void prune(const struct look *look)
{
    struct lw_sfft *const sfft = look->sfft;
    const struct lw_sfft_model *const model = sfft->model;
    const double least = least_significance * lw_sfft_bucket_noise(sfft, 0);
    bool all = true;
    for (int64_t j = 0; j < model->n_lines; j++) {
        const double complex a = model->amplitude[j];
        const double energy = (creal(a) * creal(a) + cimag(a) * cimag(a)) * lw_sfft_model_weight(model, j, look->n_planes);
        sfft->keep[j] = energy > least;
        all = all && sfft->keep[j];
    }
    if (all)
        return;
    lw_sfft_model_select(sfft->model, sfft->keep);
    subtract_model(sfft);
    fit(look);
}

static void find_lines(const struct look *look)
{
    struct lw_sfft *const sfft = look->sfft;
    for (int i = 0; i < LOOKS && peel(look, i == 0) > 0; i++) {
        fit(look);
        estimate_noise(look, 0.5);
        prune(look);
    }
    subtract_model(sfft);
    estimate_noise(look, 0.5);
}

/* ---- the result ------------------------------------------------------------------------------------------------------ */

/* What is left in the check stage looks like noise if no bucket stands out of it, beyond what leaks from the lines. */
static bool is_noise(const struct look *look)
{
    struct lw_sfft *const sfft = look->sfft;
    const int check = look->n_stages;
    const int64_t count = sfft->stages[check].spec.n_buckets;
    const double leak = look->power * pow(3 * sfft->plan.window.tolerance, 2);
    const double noise = fmax(lw_sfft_bucket_noise(sfft, check), leak);
    const double most = noise * (log((double)count) + 15);
    double sum = 0;
    for (int64_t b = 0; b < count; b++) {
        const double energy = lw_sfft_bucket_energy(sfft, check, b);
        if (!(energy <= most))
            return false;
        sum += energy;
    }
    return sum <= 1.2 * noise * ((double)count + 6 * sqrt((double)count));
}

/* |X| that any line must have to be found for certain. */
static double detection_limit(const struct look *look)
{
    const struct lw_sfft *const sfft = look->sfft;
    double limit = INFINITY;
    for (int s = 0; s < look->n_stages; s++)
        if (sfft->stages[s].spec.n_shifts > 1)
            limit = fmin(limit, lw_sfft_stage_least_amplitude(&sfft->stages[s]) * sqrt(lw_sfft_bucket_noise(sfft, s)));
    return limit / sure_response * (double)sfft->plan.spec.n;
}

/* Whether no line that is to be reported can have been missed. A signal without any line that stands out may still have
 * many, equally weak: then only a minimum above the limit settles it. */
static bool is_complete(const struct look *look, const struct lw_sfft_result *result)
{
    const struct lw_sfft_spec *const spec = &look->sfft->plan.spec;
    if (look->power == 0)
        return true;
    if (spec->has_snr && result->noise_power > 2 * look->power * pow(10, -spec->snr_db / 10))
        return false;
    if (result->n_lines == 0 || (spec->min_magnitude > 0 && result->n_lines < spec->sparsity))
        return result->detection_limit <= spec->min_magnitude;
    for (int64_t i = 0; i < result->n_lines; i++)
        if (hypot(result->lines[i].re, result->lines[i].im) < result->detection_limit)
            return false;
    return true;
}

static int by_magnitude(const void *a, const void *b)
{
    const struct lw_sfft_line *const x = a, *const y = b;
    const double p = x->re * x->re + x->im * x->im, q = y->re * y->re + y->im * y->im;
    if (p != q)
        return p < q ? 1 : -1;
    return (x->frequency > y->frequency) - (x->frequency < y->frequency);
}

static int by_frequency(const void *a, const void *b)
{
    const struct lw_sfft_line *const x = a, *const y = b;
    return (x->frequency > y->frequency) - (x->frequency < y->frequency);
}

/* Energy of lines that were found and are not reported: the weakest, or those below the minimum. */
static double energy_left_out(const struct lw_sfft *sfft, const struct lw_sfft_result *result)
{
    const struct lw_sfft_model *const model = sfft->model;
    const double n = (double)sfft->plan.spec.n;
    double energy = 0;
    for (int64_t j = 0; j < model->n_lines; j++)
        energy += pow(cabs(model->amplitude[j]), 2);
    for (int64_t i = 0; i < result->n_lines; i++) {
        const struct lw_sfft_line *const line = &result->lines[i];
        const bool is_pair = sfft->plan.spec.is_real && line->frequency > 0 && 2 * line->frequency < sfft->plan.spec.n;
        energy -= (is_pair ? 2 : 1) * (pow(line->re / n, 2) + pow(line->im / n, 2));
    }
    return fmax(energy, 0);
}

static void report_lines(struct lw_sfft *sfft, struct lw_sfft_result *result)
{
    const struct lw_sfft_spec *const spec = &sfft->plan.spec;
    const struct lw_sfft_model *const model = sfft->model;
    int64_t count = 0;
    for (int64_t j = 0; j < model->n_lines; j++) {
        const double complex x = (double)spec->n * model->amplitude[j];
        if ((!spec->is_real || 2 * model->frequency[j] <= spec->n) && cabs(x) >= spec->min_magnitude)
            sfft->lines[count++] = (struct lw_sfft_line){model->frequency[j], creal(x), cimag(x)};
    }
    result->n_found = count;
    qsort(sfft->lines, (size_t)count, sizeof *sfft->lines, by_magnitude);
    result->n_lines = count < spec->sparsity ? count : spec->sparsity;
    qsort(sfft->lines, (size_t)result->n_lines, sizeof *sfft->lines, by_frequency);
    result->lines = sfft->lines;
}

void lw_sfft_recover(struct lw_sfft *sfft, int attempt, struct lw_sfft_result *result)
{
    const int check = lw_sfft_first_stage(sfft, attempt + 1) - 1;
    struct look look = {.sfft = sfft, .n_stages = check, .n_planes = sfft->first_plane[check]};
    lw_sfft_model_use(sfft->model, check + 1);
    subtract_model(sfft);
    look.power = power_left(sfft, check);
    look.least_noise = look.power * pow(0.3 * sfft->plan.window.tolerance, 2) / sfft->stages[0].window->energy;

    find_lines(&look);
    *result = (struct lw_sfft_result){
        .noise_power = sfft->noise_power,
        .detection_limit = detection_limit(&look),
    };
    report_lines(sfft, result);
    if (look.power > 0)
        result->residual = (power_left(sfft, check) + energy_left_out(sfft, result)) / look.power;
    result->is_explained = is_noise(&look) && is_complete(&look, result);
}
