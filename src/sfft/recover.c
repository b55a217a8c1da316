/* recover.c - lines from buckets: peel until nothing more comes out, fit all amplitudes at once, look again; then
 * check against the stage that was not used.
 *
 * While lines are missing, fitting would spread their energy over those that are known: so peeling takes each line's
 * amplitude from one stage alone, and the fit comes when peeling is stuck. */
#include "sfft/state.h"

#include "base/select.h"
#include "sfft/rules.h"

#include <math.h>
#include <string.h>

static const double tolerances[LW_SFFT_TOLERANCES] = LW_SFFT_TOLERANCE_VALUES;

/* One attempt's view. */
struct look {
    struct lw_sfft *sfft;
    int n_stages;                   /* that the fit uses; the next one checks */
    int n_planes;                   /* of those */
    double power;                   /* of the signal, per sample */
    double least_noise;             /* what leaks between lines counts as noise, per sample */
};

/* ---- energies ------------------------------------------------------------------------------------------------------- */

static double measure_energies(struct lw_sfft *sfft, int stage)
{
    double sum = 0;
    for (int64_t b = 0; b < sfft->layout->stages[stage].spec.n_buckets; b++)
        sum += sfft->energies[b] = lw_sfft_bucket_energy(sfft, stage, b);
    return sum;
}

/* Noise per sample by a quantile of the bucket energies: lines fill part of the buckets only. The median of the mean of D
 * exponential variables is about 1 - 1 / (3 D); lower quantiles are taken for it as they are, and say too little. */
static double noise_of_stage(struct lw_sfft *sfft, int stage, double quantile)
{
    const struct lw_sfft_stage_spec *const spec = &sfft->layout->stages[stage].spec;
    measure_energies(sfft, stage);
    const double value = lw_select(sfft->energies, spec->n_buckets, (int64_t)(quantile * (double)spec->n_buckets));
    const double median = spec->n_shifts == 1 ? M_LN2 : 1 - 1.0 / (3 * spec->n_shifts);
    return value / median / sfft->layout->stages[stage].window->energy;
}

static void estimate_noise(const struct look *look, double quantile)
{
    double noise = INFINITY;
    for (int s = 0; s < look->n_stages; s++)
        if (look->sfft->layout->stages[s].spec.n_shifts > 1)
            noise = fmin(noise, noise_of_stage(look->sfft, s, quantile));
    look->sfft->noise_power = fmax(noise, look->least_noise);
}

/* Mean |x|^2 of what is left, as a stage shows it: over random permutations, its windows weigh all frequencies alike. */
static double power_left(struct lw_sfft *sfft, int stage)
{
    const struct lw_sfft_stage *const look = &sfft->layout->stages[stage];
    return measure_energies(sfft, stage) / (double)look->spec.n_buckets / look->window->energy;
}

/* ---- lines ----------------------------------------------------------------------------------------------------------- */

/* What the model leaves of the measured buckets, afresh. */
static void subtract_model(struct lw_sfft *sfft)
{
    const struct lw_sfft_model *const model = sfft->model;
    for (int p = 0; p < model->n_planes; p++) {
        const int64_t n_buckets = sfft->layout->stages[model->planes[p].stage].spec.n_buckets;
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
        if (look->sfft->layout->stages[s].spec.n_shifts > 1)
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
    for (int round = 0, step = 0; round < LW_SFFT_ROUNDS && step < LW_SFFT_TOLERANCES; round++) {
        const int64_t n_lines = look->sfft->model->n_lines;
        const int64_t found = peel_stages(look, tolerances[step]);
        const double now = power_left(look->sfft, 0);
        all += found;
        if (now > 2 * before)
            break;                  /* what was taken for lines is none */
        const bool is_new = look->sfft->model->n_lines > n_lines;
        if (all > 0 && now <= (is_new ? LW_SFFT_EXHAUSTED : LW_SFFT_EXHAUSTED_SAME) * look->least_noise)
            break;
        if (found == 0 || now > 0.99 * before)
            step++;
        before = now;
        if (step > 0 && (found > 0 || step == 1))
            estimate_noise(look, all > 0 ? LW_SFFT_QUANTILE_PEELING : LW_SFFT_QUANTILE_FULL);
    }
    return all;
}

/* Fit all amplitudes to a tenth of the deviation that noise gives them. */
static void fit(const struct look *look)
{
    struct lw_sfft_model *const model = look->sfft->model;
    double weight = 0;
    for (int64_t j = 0; j < model->n_lines; j++)
        weight += lw_sfft_model_weight(model, j, look->n_planes);
    lw_sfft_model_fit(model, look->n_planes, look->sfft->rest, LW_SFFT_FIT_STEPS,
                      LW_SFFT_FIT_ENOUGH * weight * lw_sfft_bucket_noise(look->sfft, 0));
}

/* Take lines out of the model that the fit has shown to be none. */
static void prune(const struct look *look)
{
    struct lw_sfft *const sfft = look->sfft;
    const struct lw_sfft_model *const model = sfft->model;
    const double least = LW_SFFT_SIGNIFICANCE * lw_sfft_bucket_noise(sfft, 0);
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
    for (int i = 0; i < LW_SFFT_LOOKS && peel(look, i == 0) > 0; i++) {
        fit(look);
        estimate_noise(look, LW_SFFT_QUANTILE_FITTED);
        prune(look);
    }
    subtract_model(sfft);
    estimate_noise(look, LW_SFFT_QUANTILE_FITTED);
}

/* ---- the result ------------------------------------------------------------------------------------------------------ */

/* Energy of lines that were found and are not reported: the weakest, or those below the minimum. */
static double energy_left_out(const struct lw_sfft *sfft, const struct lw_sfft_result *result)
{
    const struct lw_sfft_model *const model = sfft->model;
    const struct lw_sfft_spec *const spec = &sfft->layout->plan.spec;
    const double n = (double)spec->n;
    double energy = 0;
    for (int64_t j = 0; j < model->n_lines; j++)
        energy += pow(cabs(model->amplitude[j]), 2);
    for (int64_t i = 0; i < result->n_lines; i++) {
        const struct lw_sfft_line *const line = &result->lines[i];
        energy -= lw_sfft_multiplicity(spec, line->frequency) * (pow(line->re / n, 2) + pow(line->im / n, 2));
    }
    return fmax(energy, 0);
}

static void report_lines(struct lw_sfft *sfft, struct lw_sfft_result *result)
{
    const struct lw_sfft_spec *const spec = &sfft->layout->plan.spec;
    const struct lw_sfft_model *const model = sfft->model;
    int64_t count = 0;
    for (int64_t j = 0; j < model->n_lines; j++) {
        const double complex x = (double)spec->n * model->amplitude[j];
        if ((!spec->is_real || 2 * model->frequency[j] <= spec->n) && cabs(x) >= spec->min_magnitude)
            sfft->lines[count++] = (struct lw_sfft_line){model->frequency[j], creal(x), cimag(x), 0};
    }
    result->n_found = count;
    lw_sfft_sort_by_magnitude(sfft->lines, count);
    result->n_lines = count < spec->sparsity ? count : spec->sparsity;
    lw_sfft_sort_by_frequency(sfft->lines, result->n_lines);
    result->lines = sfft->lines;
}

/* What the check stage shows of the rest. */
static void measure_check(struct lw_sfft *sfft, int check, struct lw_sfft_figures *figures)
{
    figures->check_energy = measure_energies(sfft, check);
    for (int64_t b = 0; b < sfft->layout->stages[check].spec.n_buckets; b++)
        if (!(sfft->energies[b] <= figures->check_most))
            figures->check_most = sfft->energies[b];
}

void lw_sfft_recover(struct lw_sfft *sfft, int attempt, struct lw_sfft_result *result)
{
    const struct lw_sfft_layout *const layout = sfft->layout;
    const int check = lw_sfft_first_stage(layout, attempt + 1) - 1;
    struct look look = {.sfft = sfft, .n_stages = check, .n_planes = layout->first_plane[check]};
    lw_sfft_model_use(sfft->model, check + 1);
    subtract_model(sfft);
    look.power = power_left(sfft, check);
    look.least_noise = look.power * pow(LW_SFFT_LEAK * layout->plan.window.tolerance, 2) / layout->stages[0].window->energy;

    find_lines(&look);
    *result = (struct lw_sfft_result){0};
    report_lines(sfft, result);
    struct lw_sfft_figures figures = {
        .power = look.power, .noise_power = sfft->noise_power, .energy_left_out = energy_left_out(sfft, result),
    };
    measure_check(sfft, check, &figures);
    lw_sfft_judge(layout, attempt, &figures, result);
}
