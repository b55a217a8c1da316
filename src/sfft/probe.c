#include "sfft/probe.h"

#include "base/memory.h"
#include "base/select.h"
#include "sfft/number.h"

#include <complex.h>

/* Ratio of the probe's buckets to those of the first attempt. The first attempt has at most 0.7 lines per bucket. As a line reaches
 * three buckets, about half of the probe's buckets are sure to be free. */
enum { GROWTH = 4 };

/* Parts into which the bucket transform is split; its length is GROWTH times an even number. */
enum { SPLIT = 2 * GROWTH };

/* Most bucket energies that are measured, and the quantile of these energies that gives the noise. */
enum { MOST_ENERGIES = 256 };
static const double quantile = 0.25;

/* Buckets that a line raises above the noise, on average. The rest of its three buckets lie beyond the window's flanks. */
static const double buckets_of_line = 2.2;

struct lw_sfft_plan lw_sfft_probe_plan(const struct lw_sfft_spec *spec)
{
    struct lw_sfft_spec unknown = *spec;
    unknown.has_snr = false;
    struct lw_sfft_plan plan = lw_sfft_plan_make(&unknown);
    if (plan.n_attempts == 0)
        return plan;
    plan.window.tolerance = 1e-3;   /* leakage, at -40 dB or less, counts as noise and is negligible */
    plan.window.length = 2;
    struct lw_sfft_attempt *const only = &plan.attempts[0];
    *only = (struct lw_sfft_attempt){.n_buckets = GROWTH * only->n_buckets, .n_shifts = 1};
    plan.window.n_buckets = only->n_buckets;
    only->samples = 2 * lw_sfft_window_half(&plan.window) + 1;
    plan.n_attempts = 1;
    return plan;
}

/* Return exp(-2 pi i k / n). */
static double complex root(int64_t k, int64_t n) { return cexp(-2 * M_PI * I * (double)k / (double)n); }

/* Return exp(-2 pi i k t / n): the previous turn times a step, or every FRESH values computed directly, to bound rounding. */
static double complex next_turn(double complex turn, double complex step, int64_t k, int64_t t, int64_t n)
{
    enum { FRESH = 256 };
    return t % FRESH == 0 ? root(lw_mod_multiply(k, t, n), n) : turn * step;
}

/* First step of a transform; a second would turn part r into the buckets r, r + SPLIT, ... parts: [SPLIT][n_buckets / SPLIT] */
static void split(const double complex *folded, int64_t n_buckets, double complex *parts)
{
    const int64_t length = n_buckets / SPLIT;
    for (int r = 0; r < SPLIT; r++) {
        const double complex step = root(r, n_buckets);
        double complex roots[SPLIT], turn = 1;
        for (int j = 0; j < SPLIT; j++)
            roots[j] = root(r * j % SPLIT, SPLIT);
        for (int64_t i = 0; i < length; i++) {
            turn = next_turn(turn, step, r, i, n_buckets);
            double complex sum = 0;
            for (int j = 0; j < SPLIT; j++)
                sum += folded[i + j * length] * roots[j];
            parts[r * length + i] = sum * turn;
        }
    }
}

/* Measure the energies of all buckets, or of MOST_ENERGIES random buckets: random, as lines may lie at equal distances. A real
 * signal's buckets come in mirrored pairs, of which one is enough. Return the number of energies. */
static int64_t measure_energies(const struct lw_sfft_layout *layout, const double complex *parts, double *energies)
{
    const struct lw_sfft_spec *const spec = &layout->plan.spec;
    const int64_t n_buckets = layout->stages[0].spec.n_buckets, room = spec->is_real ? n_buckets / 2 : n_buckets;
    const int64_t count = room < MOST_ENERGIES ? room : MOST_ENERGIES, length = n_buckets / SPLIT;
    for (int64_t i = 0; i < count; i++) {
        const int64_t bucket = count == room ? i : lw_random_below(spec->seed, (uint64_t)i, room), b = bucket / SPLIT;
        const double complex *const part = parts + bucket % SPLIT * length, step = root(b, length);
        double complex sum = 0, turn = 1;
        for (int64_t t = 0; t < length; t++) {      /* a direct sum, as only few buckets are needed */
            turn = next_turn(turn, step, b, t, length);
            sum += part[t] * turn;
        }
        energies[i] = creal(sum) * creal(sum) + cimag(sum) * cimag(sum);
    }
    return count;
}

/* Noise variance per sample, from the value at the quantile of all bucket energies. Only buckets without lines are exponentially
 * distributed; their quantile is therefore another. */
static double noise_of(const struct lw_sfft_layout *layout, double value)
{
    const struct lw_sfft_stage *const stage = &layout->stages[0];
    const struct lw_sfft_spec *const spec = &layout->plan.spec;
    const double n_lines = (double)(spec->is_real ? 2 * spec->sparsity : spec->sparsity);
    const double is_free = exp(-buckets_of_line * n_lines / (double)stage->spec.n_buckets);
    return value / -log(1 - quantile / is_free) / stage->window->energy;
}

int lw_sfft_probe(const struct lw_sfft_layout *layout, const double *samples, struct lw_sfft_probe *probe, struct lw_error *err)
{
    const struct lw_sfft_stage *const stage = &layout->stages[0];
    const double complex *const x = (const double complex *)samples;
    const int64_t n_buckets = stage->spec.n_buckets, half = stage->window->half, n_samples = lw_sfft_stage_samples(stage);
    LW_FREED double complex *const folded = lw_alloc_array(2 * n_buckets, sizeof *folded, "the buckets of a probe", err);
    if (!folded)
        return LW_ESYSTEM;
    double complex *const parts = folded + n_buckets;
    double energies[MOST_ENERGIES];
    memset(folded, 0, (size_t)n_buckets * sizeof *folded);
    for (int64_t i = -half; i <= half; i++)         /* windowed samples, added up modulo n_buckets */
        folded[lw_mod(i, n_buckets)] += stage->window->taps[i + half] * x[i + half];
    split(folded, n_buckets, parts);
    const int64_t count = measure_energies(layout, parts, energies);
    double sum = 0;
    for (int64_t i = 0; i < n_samples; i++)
        sum += creal(x[i]) * creal(x[i]) + cimag(x[i]) * cimag(x[i]);
    probe->power = sum / (double)n_samples;
    probe->noise_power = noise_of(layout, lw_select(energies, count, (int64_t)(quantile * (double)count)));
    return LW_OK;
}

double lw_sfft_probe_snr(const struct lw_sfft_probe *probe)
{
    const double signal = probe->power - probe->noise_power;
    if (!(signal > probe->noise_power))
        return 0;
    return probe->noise_power > signal * 1e-30 ? 10 * log10(signal / probe->noise_power) : 300;
}

/* Signal-to-noise ratio from which noise does not change the first attempt. */
static const double negligible_db = 60;

struct lw_sfft_plan lw_sfft_plan_for(const struct lw_sfft_spec *spec, double snr_db)
{
    struct lw_sfft_spec known = *spec;
    known.has_snr = known.is_estimated = true;
    known.snr_db = snr_db;
    const struct lw_sfft_plan plan = lw_sfft_plan_make(&known);
    if (snr_db < negligible_db && plan.n_attempts > 0)
        return plan;
    known.has_snr = known.is_estimated = false;
    return lw_sfft_plan_make(&known);
}
