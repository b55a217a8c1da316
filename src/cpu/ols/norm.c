/* norm.c - normalized outputs: templates, the gains of windows, and windows that transforms are not exact enough for. */
#include "cpu/ols/ols.h"

#include "base/select.h"
#include "cpu/dispatch.h"

#include <float.h>

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

/* Round a segment's samples to working samples, with zeros behind them. */
static void round_samples(const struct lw_cpu_segment *s, const double *wide, void *x)
{
    const struct lw_cpu_ols_shape *const shape = &s->ols->shape;
    const int64_t n = s->n_samples * (s->ols->spec.input.is_complex ? 2 : 1), filled = s->n_samples * shape->width;
    const int64_t reals = shape->method == LW_CPU_OLS_DIRECT ? shape->length * shape->width : 2 * shape->points;
    shape->kernels->round_reals(wide, shape->widens ? lw_cpu_real_at(s->ols, x, n) : x, n);
    if (shape->widens)
        shape->kernels->widen(x, s->n_samples);
    shape->kernels->fill(lw_cpu_real_at(s->ols, x, filled), reals - filled, 0);
}

void lw_cpu_segment_weigh(const struct lw_cpu_segment *s, int c, double *wide)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const struct lw_cpu_ols_shape *const shape = &ols->shape;
    const struct lw_cpu_kernels *const k = shape->kernels;
    const int width = ols->spec.input.is_complex ? 2 : 1;
    const bool is_demeaned = ols->spec.ols.normalize == LW_NORMALIZE_DEMEANED;
    const int64_t n_windows = shape->length - shape->n_taps + 1;
    const int64_t n_whole = lw_max64(1, s->n_samples - shape->n_taps + 1);
    double *const energies = s->lane->energies;
    void *const gains = (void *)(uintptr_t)lw_cpu_gains(s, c);
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
    s->lane->quiet_row = -1;
    row->most_gain = k->largest(gains, n_windows);
    row->rms = take_off_mean(wide, s->n_samples, width, is_demeaned);
    round_samples(s, wide, lw_cpu_x(s, c));
}

/* ---- errors of transforms ------------------------------------------------------------------------------------------ */

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

/* Return the largest gain of exact outputs, times the rms of samples and outputs. */
static double allowed(const struct lw_cpu_ols *ols)
{
    const bool is_single = ols->spec.precision == LW_SINGLE;
    return is_single ? ALLOWED_SINGLE / (ERRORS * FLT_EPSILON / 2) : ALLOWED_DOUBLE / (ERRORS * DBL_EPSILON / 2);
}

double lw_cpu_segment_least_gain(const struct lw_cpu_segment *s, int filter, int c, const void *y)
{
    const struct lw_cpu_row *const row = lw_cpu_row(s, c);
    const double most_rms = row->rms * s->ols->filters.gains[lw_cpu_taps_row(s, filter, c)];
    if (row->most_gain * (row->rms + most_rms) < allowed(s->ols))
        return INFINITY;
    return allowed(s->ols) / (row->rms + fmin(most_rms, rms_of(s, y)));
}

/* Load n samples from number `first` of the segment on, finite, and scaled as the row's. */
static void load(const struct lw_cpu_segment *s, int c, int64_t first, int64_t n, double *x)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const int width = ols->spec.input.is_complex ? 2 : 1, exponent = -lw_cpu_row(s, c)->exponent;
    const double most = ols->spec.precision == LW_SINGLE ? FLT_MAX : DBL_MAX;
    lw_cpu_load_channel(ols, lw_cpu_kernels(LW_DOUBLE), s->slot, s->channel + c, ols->lead + s->first + first, n, x);
    for (double *at = x; at < x + n * width; at += width)
        if (!(fabs(at[0]) <= most && fabs(at[width - 1]) <= most))
            at[0] = at[width - 1] = 0;
    if (exponent != 0)
        lw_cpu_kernels(LW_DOUBLE)->scale(x, n * width, exponent);
}

/* ---- quiet windows alone ------------------------------------------------------------------------------------------- */

/* Windows count as quiet whose gain is allowed / rms of the samples, or more. The samples of all of them then have a small part of
 * that rms, as such a window has at most one loud sample. A few windows more, which are less quiet, are summed directly. */

static double gain_at(const struct lw_cpu_ols *ols, const void *gains, int64_t i)
{
    return ols->spec.precision == LW_SINGLE ? (double)((const float *)gains)[i] : ((const double *)gains)[i];
}

/* Return the first of the outputs [i, end) whose gain is not in [least, most). */
static int64_t run_end(const struct lw_cpu_ols *ols, const void *gains, int64_t i, int64_t end, double least, double most)
{
    while (i < end && gain_at(ols, gains, i) >= least && gain_at(ols, gains, i) < most)
        i++;
    return i;
}

/* Transform the samples of quiet windows, all others being 0. Runs of overlapping windows are taken less their own mean each. */
static void prepare_quiet(const struct lw_cpu_segment *s, int c, double least)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const struct lw_cpu_ols_shape *const shape = &ols->shape;
    const struct lw_cpu_kernels *const k = shape->kernels;
    const int width = ols->spec.input.is_complex ? 2 : 1;
    const bool is_demeaned = ols->spec.ols.normalize == LW_NORMALIZE_DEMEANED;
    const void *const gains = lw_cpu_gains(s, c);
    double *const wide = s->lane->wide, squares = 0;
    int64_t end = 0;                    /* end of the runs so far */
    load(s, c, 0, s->n_samples, wide);
    for (int64_t i = k->next_crossing(gains, 0, s->n_sums, 1, least), begin; i < s->n_sums && i < s->n_samples;) {
        memset(wide + end * width, 0, (size_t)((i - end) * width) * sizeof *wide);
        for (begin = i, end = i; i <= end && i < s->n_sums; i = k->next_crossing(gains, i, s->n_sums, 1, least)) {
            i = run_end(ols, gains, i + 1, s->n_sums, least, INFINITY);
            end = lw_min64(i - 1 + shape->n_taps, s->n_samples);
        }
        squares += pow(take_off_mean(wide + begin * width, end - begin, width, is_demeaned), 2) * (double)(end - begin);
    }
    memset(wide + end * width, 0, (size_t)((s->n_samples - end) * width) * sizeof *wide);
    s->lane->quiet_rms = sqrt(squares / (double)s->n_samples);
    s->lane->quiet_row = s->row + c;
    round_samples(s, wide, s->lane->quiet);
    lw_cpu_forward(s, s->lane->quiet, lw_cpu_real_at(ols, s->lane->quiet, ols->strides.x));
}

/* Filter the quiet windows alone. @param least  set to the least gain of outputs that even so are not exact enough @return  them */
static const char *filter_quiet(const struct lw_cpu_segment *s, int filter, int c, double least_quiet, double *least)
{
    const struct lw_cpu_ols *const ols = s->ols;
    void *const x = s->lane->quiet, *const z = lw_cpu_real_at(ols, x, ols->strides.x);
    void *const y = lw_cpu_real_at(ols, z, ols->strides.x);
    if (s->lane->quiet_row != s->row + c)
        prepare_quiet(s, c, least_quiet);
    void *const sums = lw_cpu_backward(s, lw_cpu_taps_row(s, filter, c), x, z, y);
    *least = allowed(ols) / (s->lane->quiet_rms + rms_of(s, sums));
    if (ols->shape.narrows)
        ols->shape.kernels->narrow(sums, s->n_sums);
    return sums;
}

/* ---- windows in double --------------------------------------------------------------------------------------------- */

/* Load the samples of `count` windows from output i of the segment on, of w doubles each. */
static void load_windows(const struct lw_cpu_segment *s, int c, int64_t i, int64_t count, int w, double *x)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const int width = ols->spec.input.is_complex ? 2 : 1;
    const int64_t n = lw_max64(0, lw_min64(count + ols->shape.n_taps - 1, s->n_samples - i));
    double *const from = x + n * (w - width), level[2] = {0};
    load(s, c, i, n, from);
    for (int64_t j = 0; j < n * width; j++) {
        if (j < width && ols->spec.ols.normalize == LW_NORMALIZE_DEMEANED)
            level[j] = from[j];
        from[j] -= level[j % width];
    }
    if (w > width)
        lw_cpu_kernels(LW_DOUBLE)->widen(x, n);
    for (int64_t j = n * w; j < (LW_CPU_EXACT + ols->shape.n_taps - 1) * w; j++)
        x[j] = -level[j % width];
}

/* Sum `count` windows directly, from output i on. */
static void sum_windows(const struct lw_cpu_segment *s, int64_t row, int c, int64_t i, int64_t count, void *y)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const struct lw_cpu_filters *const f = &ols->filters;
    const int w = ols->shape.series_width;
    const struct lw_cpu_terms terms = {f->taps + row * f->n_exact, f->exact_offsets, f->n_exact};
    double *const x = s->lane->exact, *const sums = x + 2 * f->exact_turned;
    load_windows(s, c, i, count, w, x);
    if (ols->spec.ols.taps_complex)
        lw_cpu_kernels(LW_DOUBLE)->quarter_turn(x, x + f->exact_turned, f->exact_turned / 2);
    lw_cpu_kernels(LW_DOUBLE)->direct(&terms, x, sums, count * w);
    ols->shape.kernels->round_reals(sums, lw_cpu_real_at(ols, y, i * w), count * w);
}

void lw_cpu_segment_refine(const struct lw_cpu_segment *s, int filter, int c, double least, void *y)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const struct lw_cpu_kernels *const k = ols->shape.kernels;
    const void *const gains = lw_cpu_gains(s, c);
    const size_t bytes = (size_t)ols->shape.series_width * k->real_bytes;
    const double least_quiet = allowed(ols) / lw_cpu_row(s, c)->rms;
    const bool has_quiet = ols->fft && lw_cpu_row(s, c)->most_gain >= least_quiet;
    double least_exact = 0;
    const char *const quiet = has_quiet ? filter_quiet(s, filter, c, least_quiet, &least_exact) : NULL;
    for (int64_t i = k->next_crossing(gains, 0, s->n_sums, 1, least); i < s->n_sums;) {
        int64_t end = run_end(ols, gains, i, s->n_sums, fmax(least, least_quiet), least_exact);
        if (end > i) {
            memcpy((char *)y + (size_t)i * bytes, quiet + (size_t)i * bytes, (size_t)(end - i) * bytes);
        } else {
            end = lw_min64(i + LW_CPU_EXACT, s->n_sums);
            sum_windows(s, lw_cpu_taps_row(s, filter, c), c, i, end - i, y);
        }
        i = k->next_crossing(gains, end, s->n_sums, 1, least);
    }
}
