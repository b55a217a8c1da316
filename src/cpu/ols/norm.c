/* norm.c - normalized outputs: templates, the gains of windows, and windows that transforms are not exact enough for. */
#include "cpu/ols/ols.h"

#include "base/select.h"
#include "cpu/dispatch.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The largest error of a transformed segment's outputs y behind a template of norm 1 is about ERRORS roundings of the rms of the
 * samples plus the rms of y, for 10^3 to 10^4 outputs of transforms of 2^10 to 2^14 points of noise, steps, tones and bursts. */
#define ERRORS 11

/* Largest error of a coefficient by transforms: the rest of the 1e-6 in single precision is for its other roundings. */
#define ALLOWED_SINGLE 8e-7
#define ALLOWED_DOUBLE 8e-13

/* Windows that a segment's median energy is taken of. */
#define MEDIAN_OF 65

void lw_cpu_taps_normalize(enum lw_normalize normalize, double *taps, int64_t n_taps, int parts)
{
    double largest = 0, energy = 0;
    for (int part = 0; part < parts && normalize == LW_NORMALIZE_DEMEANED; part++) {
        double mean = taps[part];               /* equal taps give exactly 0 */
        for (int pass = 0; pass < 3; pass++) {
            double sum = 0;
            for (int64_t i = 0; i < n_taps; i++) {
                taps[i * parts + part] -= mean;
                sum += taps[i * parts + part];
            }
            mean = sum / (double)n_taps;
        }
    }
    for (int64_t i = 0; i < n_taps * parts; i++)
        largest = fmax(largest, fabs(taps[i]));
    for (int64_t i = 0; i < n_taps * parts && largest > 0; i++)
        energy += taps[i] / largest * (taps[i] / largest);
    for (int64_t i = 0; i < n_taps * parts && largest > 0; i++)
        taps[i] = taps[i] / largest / sqrt(energy);
}

/* ---- gains --------------------------------------------------------------------------------------------------------- */
/* Return the median of windows at even distances, of which there are n. */
static double median_of(const double *energies, int64_t n)
{
    double chosen[MEDIAN_OF];
    const int64_t count = lw_min64(n, MEDIAN_OF);
    for (int64_t i = 0; i < count; i++)
        chosen[i] = energies[i * n / count];
    return lw_select(chosen, count, count / 2);
}

/* Take the mean off n samples. @return  their rms value */
static double take_off_mean(double *x, int64_t n, int width, bool is_demeaned)
{
    double squares = 0;
    for (int part = 0; part < width; part++) {
        double mean = 0;
        for (int64_t i = part; i < n * width && is_demeaned; i += width)
            mean += (x[i] - x[part]) / (double)n;
        mean += is_demeaned ? x[part] : 0;
        for (int64_t i = part; i < n * width; i += width) {
            x[i] -= mean;
            squares += x[i] * x[i];
        }
    }
    return sqrt(squares / (double)n);
}

void lw_cpu_segment_weigh(const struct lw_cpu_segment *s, int c, double *wide)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const struct lw_cpu_ols_shape *const shape = &ols->shape;
    const struct lw_cpu_kernels *const k = shape->kernels;
    const int width = ols->spec.input.is_complex ? 2 : 1;
    const bool is_demeaned = ols->spec.ols.normalize == LW_NORMALIZE_DEMEANED;
    const int64_t n_windows = shape->length - shape->n_taps + 1, n = s->n_samples * width;
    const int64_t n_whole = lw_max64(1, s->n_samples - shape->n_taps + 1);
    double *const energies = s->lane->energies;
    void *const gains = (void *)(uintptr_t)lw_cpu_gains(s, c), *const x = lw_cpu_x(s, c);
    struct lw_cpu_row *const row = lw_cpu_row(s, c);
    memset(energies, 0, (size_t)n_windows * sizeof *energies);
    for (int part = 0; part < width; part++) {
        const struct lw_cpu_windows windows = {shape->n_taps, n_windows, width, is_demeaned};
        lw_cpu_kernels(LW_DOUBLE)->energies(&windows, wide + part, s->lane->scratch, energies);
    }
    const double least = LW_NORMALIZE_LEAST * median_of(energies, n_whole);
    k->invert_roots(energies, n_windows, least, gains);
    for (int64_t i = shape->before; s->counts && lw_cpu_segment_is_own(s) && i < shape->before + s->n_outputs; i++)
        s->lane->base.n_quiet += !(energies[i] > least);
    row->most_gain = k->largest(gains, n_windows);
    row->rms = take_off_mean(wide, s->n_samples, width, is_demeaned);
    k->round_reals(wide, shape->widens ? lw_cpu_real_at(ols, x, n) : x, n);
    if (shape->widens)
        k->widen(x, s->n_samples);
    const int64_t reals = shape->method == LW_CPU_OLS_DIRECT ? shape->length * shape->width : 2 * shape->points;
    const int64_t filled = s->n_samples * shape->width;
    k->fill(lw_cpu_real_at(ols, x, filled), reals - filled, 0);
}

/* ---- windows in double --------------------------------------------------------------------------------------------- */

/* Load the samples of `count` windows from output i of the segment on, of w doubles each, as they were weighed. */
static void load_windows(const struct lw_cpu_segment *s, int c, int64_t i, int64_t count, int w, double *x)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const int width = ols->spec.input.is_complex ? 2 : 1;
    const int64_t n = lw_max64(0, lw_min64(count + ols->shape.n_taps - 1, s->n_samples - i)), exponent = lw_cpu_row(s, c)->exponent;
    const double factor = ldexp(1, (int)-exponent / 2), rest = ldexp(1, (int)-exponent - (int)-exponent / 2);
    const double most = ols->spec.precision == LW_SINGLE ? FLT_MAX : DBL_MAX;
    double *const from = x + n * (w - width), level[2] = {0};
    lw_cpu_load_wide(ols, s->slot, s->channel + c, ols->lead + s->first + i, n, from);
    for (int64_t j = 0; j < n * width; j++) {
        const int64_t first = j - j % width;
        const bool is_finite = fabs(from[first]) <= most && fabs(from[first + width - 1]) <= most;
        if (j % width == width - 1 && !is_finite)
            from[first] = from[j] = 0;
    }
    for (int64_t j = 0; j < n * width; j++) {
        from[j] = from[j] * factor * rest;
        if (j < width && ols->spec.ols.normalize == LW_NORMALIZE_DEMEANED)
            level[j] = from[j];
        from[j] -= level[j % width];
    }
    if (w > width)
        lw_cpu_kernels(LW_DOUBLE)->widen(x, n);
    for (int64_t j = n * w; j < (LW_CPU_EXACT + ols->shape.n_taps - 1) * w; j++)
        x[j] = -level[j % width];
}

/* Return the rms of all outputs of a transform, the wrapped ones included. @param y  the first output that is not wrapped */
static double rms_of(const struct lw_cpu_segment *s, const void *y)
{
    const struct lw_cpu_ols_shape *const shape = &s->ols->shape;
    struct lw_cpu_cell cell = {0};
    if (shape->method == LW_CPU_OLS_DIRECT)
        return 0;
    shape->kernels->measure((const char *)y - (size_t)((shape->n_taps - 1) * shape->width) * shape->kernels->real_bytes,
                            2 * shape->points, 1, &cell);
    return sqrt(cell.squares / (double)shape->length);
}

double lw_cpu_segment_least_gain(const struct lw_cpu_segment *s, int filter, int c, const void *y)
{
    const struct lw_cpu_row *const row = lw_cpu_row(s, c);
    const bool is_single = s->ols->spec.precision == LW_SINGLE;
    const double allowed = is_single ? ALLOWED_SINGLE / (ERRORS * FLT_EPSILON / 2) : ALLOWED_DOUBLE / (ERRORS * DBL_EPSILON / 2);
    const double most_rms = row->rms * s->ols->filters.gains[lw_cpu_taps_row(s, filter, c)];
    if (row->most_gain * (row->rms + most_rms) < allowed)
        return INFINITY;
    return allowed / (row->rms + fmin(most_rms, rms_of(s, y)));
}

void lw_cpu_segment_refine(const struct lw_cpu_segment *s, int filter, int c, double least, void *y)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const struct lw_cpu_kernels *const k = ols->shape.kernels, *const k_wide = lw_cpu_kernels(LW_DOUBLE);
    const int w = ols->shape.series_width;
    const int64_t turned = ols->filters.exact_turned;
    const void *const gains = lw_cpu_gains(s, c);
    double *const x = s->lane->exact, *const sums = x + 2 * turned;
    const double *const taps = ols->filters.taps + lw_cpu_taps_row(s, filter, c) * ols->filters.n_exact;
    const struct lw_cpu_terms terms = {taps, ols->filters.exact_offsets, ols->filters.n_exact};
    int64_t i = lw_cpu_row(s, c)->most_gain < least ? s->n_sums : k->next_crossing(gains, 0, s->n_sums, 1, least);
    while (i < s->n_sums) {
        const int64_t count = lw_min64(LW_CPU_EXACT, s->n_sums - i);
        load_windows(s, c, i, count, w, x);
        if (ols->spec.ols.taps_complex)
            k_wide->quarter_turn(x, x + turned, turned / 2);
        k_wide->direct(&terms, x, sums, count * w);
        k->round_reals(sums, lw_cpu_real_at(ols, y, i * w), count * w);
        if (i + count == s->n_sums)
            break;
        i = k->next_crossing(gains, i + count, s->n_sums, 1, least);
    }
}
