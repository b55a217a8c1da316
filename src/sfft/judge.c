/* judge.c - the sort orders of lines, and the judgement whether the lines found explain the signal. */
#include "sfft/sfft.h"

#include <stdlib.h>

static int by_frequency(const void *a, const void *b)
{
    const struct lw_sfft_line *const x = a, *const y = b;
    if (x->frequency == y->frequency)
        return (x->offset > y->offset) - (x->offset < y->offset);
    return x->frequency > y->frequency ? 1 : -1;
}

static int by_magnitude(const void *a, const void *b)
{
    const struct lw_sfft_line *const x = a, *const y = b;
    const double p = x->re * x->re + x->im * x->im, q = y->re * y->re + y->im * y->im;
    if (p != q)
        return p < q ? 1 : -1;
    return by_frequency(a, b);
}

void lw_sfft_sort_by_frequency(struct lw_sfft_line *lines, int64_t count)
{
    qsort(lines, (size_t)count, sizeof *lines, by_frequency);
}

void lw_sfft_sort_by_magnitude(struct lw_sfft_line *lines, int64_t count)
{
    qsort(lines, (size_t)count, sizeof *lines, by_magnitude);
}

/* Response of a bucket at which the least amplitude locates a line for certain. Almost surely a line has at least this response in
 * one of its buckets in three stages. */
static const double sure_response = 0.8;

/* Largest part of the lines' energy in lines below the detection limit. Most spectra have lines on both sides of the limit. */
static const double weak_part = 0.01;

bool lw_sfft_is_noise(double noise, int64_t n_buckets, double sum, double most)
{
    const double count = (double)n_buckets;
    return most <= noise * (log(count) + 15) && sum <= 1.2 * noise * (count + 6 * sqrt(count));
}

/* Return whether the rest (buckets minus lines) of the check stage looks like noise, allowing for leakage from the lines. */
static bool is_noise(const struct lw_sfft_layout *layout, int check, const struct lw_sfft_figures *figures)
{
    const struct lw_sfft_stage *const stage = &layout->stages[check];
    const double leak = figures->power * pow(3 * layout->plan.window.tolerance, 2);
    const double noise = fmax(figures->noise_power * stage->window->energy, leak);
    return lw_sfft_is_noise(noise, stage->spec.n_buckets, figures->check_energy, figures->check_most);
}

/* Return the least |X| with which a line at any frequency is certain to be found. */
static double detection_limit(const struct lw_sfft_layout *layout, int check, double noise_power)
{
    double limit = INFINITY;
    for (int s = 0; s < check; s++) {
        const struct lw_sfft_stage *const stage = &layout->stages[s];
        if (stage->spec.n_shifts > 1)
            limit = fmin(limit, lw_sfft_stage_least_amplitude(stage) * sqrt(noise_power * stage->window->energy));
    }
    return limit / sure_response * (double)layout->plan.spec.n;
}

/* A search without a line found is complete only if no line above the minimum magnitude can be missed: of many equally weak lines
 * none may stand out. */
bool lw_sfft_is_complete(const struct lw_sfft_spec *spec, double power, const struct lw_sfft_result *result)
{
    if (power == 0)
        return true;
    if (spec->has_snr && !spec->is_estimated && result->noise_power > 2 * power * pow(10, -spec->snr_db / 10))
        return false;
    if (result->n_lines == 0 || (spec->min_magnitude > 0 && result->n_lines < spec->sparsity))
        return result->detection_limit <= spec->min_magnitude;
    /* All lines must be above the limit, except for a small part of their energy: lines below the limit are found by luck, and
     * others like them are missed. */
    double all = 0, weak = 0;
    for (int64_t i = 0; i < result->n_lines; i++) {
        const double magnitude = hypot(result->lines[i].re, result->lines[i].im), energy = magnitude * magnitude;
        all += energy;
        weak += magnitude < result->detection_limit ? energy : 0;
    }
    return weak <= weak_part * all;
}

void lw_sfft_judge(const struct lw_sfft_layout *layout, int attempt, const struct lw_sfft_figures *figures,
                   struct lw_sfft_result *result)
{
    const int check = lw_sfft_first_stage(layout, attempt + 1) - 1;
    const struct lw_sfft_stage *const stage = &layout->stages[check];
    const double left = figures->check_energy / (double)stage->spec.n_buckets / stage->window->energy;
    result->noise_power = figures->noise_power;
    result->detection_limit = detection_limit(layout, check, figures->noise_power);
    result->residual = figures->power > 0 ? (left + figures->energy_left_out) / figures->power : 0;
    result->is_noise = is_noise(layout, check, figures);
    result->is_explained = result->is_noise && lw_sfft_is_complete(&layout->plan.spec, figures->power, result);
}
