/* bank.c - the filters in the form of the method: taps for direct sums, or spectra. Threads take filters one by one.
 *
 *     stored taps -> float64 -> derivative folded in -> short: transformed in double, rounded
 *                                                    -> LONG points: rounded, transformed as the samples are
 *
 * Rounding errors of a filter's spectrum count like those of one more transform of samples, for which the promised error has room.
 * A transform in double costs little while it stays in the caches, and three times as much as one in single precision beyond. */
#include "cpu/ols/ols.h"

#include "cpu/dispatch.h"

#include <complex.h>
#include <fftw3.h>
#include <omp.h>

/* Points from which on a filter is transformed in the computing precision. */
#define LONG 65536

/* Most bytes of all threads' scratch memory, which is released before slots are allocated. One thread works whatever it needs. */
#define SCRATCH_BYTES ((int64_t)64 << 20)

static int64_t n_terms(const struct lw_cpu_ols_shape *shape, bool taps_complex)
{
    return shape->n_taps * (taps_complex ? 2 : 1);
}

static int64_t reals_per_filter(const struct lw_cpu_ols_shape *shape, bool taps_complex)
{
    switch (shape->method) {
    case LW_CPU_OLS_DIRECT: return n_terms(shape, taps_complex);
    case LW_CPU_OLS_COMPLEX: return 2 * shape->points;
    default: return 4 * shape->points;
    }
}

/* Return the number of doubles of one filter for the two ends of the axis. */
static int64_t doubles_per_end(const struct lw_ols_spec *ols)
{
    return lw_post_folds(ols->post) ? lw_post_end_taps(ols->post, ols->n_taps) * (ols->taps_complex ? 2 : 1) : 0;
}

/* Return the rows of taps. */
static int64_t n_rows(const struct lw_cpu_ols_shape *shape) { return shape->n_filters * shape->own; }

/* Return the doubles of a normalized row of taps. */
static int64_t n_exact(const struct lw_ols_spec *ols)
{
    return ols->normalize == LW_NORMALIZE_NONE ? 0 : ols->n_taps * (ols->taps_complex ? 2 : 1);
}

int64_t lw_cpu_filters_bytes(const struct lw_cpu_ols_shape *shape, const struct lw_ols_spec *ols)
{
    const bool taps_complex = ols->taps_complex;
    const int64_t offsets = shape->method == LW_CPU_OLS_DIRECT ? n_terms(shape, taps_complex) * (int64_t)sizeof(int64_t) : 0;
    const int64_t normalized = n_exact(ols) > 0 ? n_exact(ols) + 1 : 0;
    return n_rows(shape) * (reals_per_filter(shape, taps_complex) * (int64_t)shape->kernels->real_bytes +
                            (doubles_per_end(ols) + normalized) * (int64_t)sizeof(double) + (int64_t)sizeof(int)) + offsets +
           n_exact(ols) * (int64_t)sizeof(int64_t);
}

static char *data_of(const struct lw_cpu_ols *ols, int filter)
{
    return (char *)ols->filters.data + (size_t)(filter * ols->filters.stride) * ols->shape.kernels->real_bytes;
}

static int parts_of(const struct lw_cpu_ols *ols) { return ols->spec.ols.taps_complex ? 2 : 1; }

/* ---- taps ---------------------------------------------------------------------------------------------------------- */

/* Filling of the filters, and the scratch memory of each thread, in doubles. */
struct filling {
    const struct lw_cpu_ols *ols;
    const struct lw_ols_part *part;
    fftw_plan plan;                     /* transform in double, in place; NULL: none is needed */
    double complex *roots;              /* [points] powers of W, for that transform */
    int64_t taps, folded, spectrum;     /* doubles of the three parts of a thread's scratch */
    double *scratch;
};

/* A filter on its way. */
struct tapped {
    double *taps;                       /* [n_taps x parts], with a derivative folded in */
    double complex *spectrum;           /* scratch: [points + 2 columns], or [3 columns] with many points */
    int number, exponent;               /* the taps are to be divided by 2^exponent */
};

/* Return the power of two that brings a filter's largest tap near 1; 0 if the taps are already in a safe range. */
static int exponent_of(const double *taps, int64_t n, int safe)
{
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fabs(taps[i]) > largest ? fabs(taps[i]) : largest;
    if (largest == 0 || (largest >= ldexp(1, -safe) && largest <= ldexp(1, safe)))
        return 0;
    return ilogb(largest);
}

/* Fill a filter for DIRECT: the real parts of its taps, then the imaginary parts. */
static void fill_taps(const struct filling *filling, const struct tapped *filter)
{
    const struct lw_cpu_ols *const ols = filling->ols;
    const struct lw_cpu_ols_shape *const shape = &ols->shape;
    const int parts = parts_of(ols);
    for (int64_t t = 0; t < ols->filters.n_terms; t++) {
        const int64_t m = t % shape->n_taps;
        const double h = ldexp(filter->taps[m * parts + t / shape->n_taps], -filter->exponent);
        shape->kernels->round_reals(&h, (char *)data_of(ols, filter->number) + (size_t)t * shape->kernels->real_bytes, 1);
    }
}

/* ---- spectra ----------------------------------------------------------------------------------------------------- */

/* Return exp(-2 pi i k / n). */
static double complex root(int64_t k, int64_t n)
{
    const double angle = -2 * M_PI * (double)k / (double)n;
    return CMPLX(cos(angle), sin(angle));
}

/* Make bin k of A and B (cpu/ols/ols.h) of the transform Z of real taps that are packed as samples are. Let M[k] = conj(Z[-k]). The
 * transforms of the even and the odd taps are E = (Z + M) / 2 and O = (Z - M) / 2i, so that
 *     A = E + i/2 (1 - W^k) O,    B = i/2 (1 + W^k) O. */
static inline void separate(double complex z, double complex m, double complex w, double complex *a, double complex *b)
{
    const double complex half_odd = (z - m) / 4, turned = half_odd * w;
    *a = (z + m) / 2 + half_odd - turned;
    *b = half_odd + turned;
}

/* Scale the taps into complex points, zero-padded: pairs of real taps with PACKED. */
static void scale_taps(const struct filling *filling, const struct tapped *filter, double complex *points)
{
    const struct lw_cpu_ols_shape *const shape = &filling->ols->shape;
    const int parts = parts_of(filling->ols);
    const double factor = ldexp(1 / (double)shape->points, -filter->exponent);
    double *const to = (double *)points;
    const int64_t step = shape->method == LW_CPU_OLS_PACKED || parts == 2 ? 1 : 2, n = shape->n_taps * parts;
    memset(points, 0, (size_t)shape->points * sizeof *points);
    for (int64_t i = 0; i < n; i++)
        to[i * step] = filter->taps[i] * factor;
}

/* Transform a filter in double. Bin k = row + rows column goes to place row columns + column, the transform's order. */
static void fill_spectra(const struct filling *filling, const struct tapped *filter)
{
    const struct lw_cpu_ols_shape *const shape = &filling->ols->shape;
    const struct lw_cpu_fft fft = shape->kernels->fft_shape(shape->points);
    const size_t row_bytes = (size_t)(2 * fft.columns) * shape->kernels->real_bytes;
    double complex *const z = filter->spectrum, *const a = z + shape->points, *const b = a + fft.columns;
    char *const to = data_of(filling->ols, filter->number);
    scale_taps(filling, filter, z);
    fftw_execute_dft(filling->plan, (fftw_complex *)z, (fftw_complex *)z);
    for (int64_t row = 0; row < fft.rows; row++) {
        for (int64_t column = 0, k = row; column < fft.columns; column++, k += fft.rows) {
            if (shape->method == LW_CPU_OLS_PACKED)
                separate(z[k], conj(z[k > 0 ? shape->points - k : 0]), filling->roots[k], &a[column], &b[column]);
            else
                a[column] = z[k];
        }
        shape->kernels->round_reals((const double *)a, to + (size_t)row * row_bytes, 2 * fft.columns);
        if (shape->method == LW_CPU_OLS_PACKED)
            shape->kernels->round_reals((const double *)b, to + (size_t)(fft.rows + row) * row_bytes, 2 * fft.columns);
    }
}

/* ---- spectra of many points, transformed as the samples are ----------------------------------------------------------- */

/* Scale taps and round them into the lane's samples, as complex points: pairs of real taps with PACKED. */
static void load_taps(const struct filling *filling, const struct tapped *filter, void *x)
{
    enum { BLOCK = 1024 };
    const struct lw_cpu_ols_shape *const shape = &filling->ols->shape;
    const size_t real = shape->kernels->real_bytes;
    const bool is_paired = shape->method == LW_CPU_OLS_PACKED || parts_of(filling->ols) == 2;
    const int64_t n = shape->n_taps * parts_of(filling->ols);       /* doubles of the filter */
    const double factor = ldexp(1 / (double)shape->points, -filter->exponent);
    double block[2 * BLOCK];
    int64_t done = 0;                                               /* reals */
    for (int64_t at = 0, count; at < n; at += count) {
        count = lw_min64(BLOCK, n - at);
        for (int64_t i = 0; i < count; i++) {
            const double h = filter->taps[at + i] * factor;
            if (is_paired) {
                block[i] = h;
            } else {
                block[2 * i] = h;
                block[2 * i + 1] = 0;
            }
        }
        const int64_t reals = is_paired ? count : 2 * count;
        shape->kernels->round_reals(block, (char *)x + (size_t)done * real, reals);
        done += reals;
    }
    memset((char *)x + (size_t)done * real, 0, (size_t)(2 * shape->points - done) * real);
}

static double complex point_at(const void *points, int64_t i, size_t real)
{
    const float *const single = points;
    const double *const twice = points;
    return real == sizeof(float) ? CMPLX(single[2 * i], single[2 * i + 1]) : CMPLX(twice[2 * i], twice[2 * i + 1]);
}

/* Separate a transform in the order of the samples' transforms. W^k is a product of a root of the row and one of the column. */
static void separate_all(const struct lw_cpu_ols_shape *shape, const void *z, const void *m, double complex *work, void *a_b)
{
    const struct lw_cpu_fft fft = shape->kernels->fft_shape(shape->points);
    const size_t real = shape->kernels->real_bytes;
    double complex *const of_columns = work, *const a = of_columns + fft.columns, *const b = a + fft.columns;
    for (int64_t column = 0; column < fft.columns; column++)
        of_columns[column] = root(column * fft.rows, shape->points);
    for (int64_t row = 0; row < fft.rows; row++) {
        const int64_t begin = row * fft.columns;
        const double complex of_row = root(row, shape->points);
        for (int64_t column = 0; column < fft.columns; column++)
            separate(point_at(z, begin + column, real), point_at(m, begin + column, real), of_row * of_columns[column], &a[column],
                     &b[column]);
        char *const to = (char *)a_b + (size_t)(2 * begin) * real;
        shape->kernels->round_reals((const double *)a, to, 2 * fft.columns);
        shape->kernels->round_reals((const double *)b, to + (size_t)(2 * shape->points) * real, 2 * fft.columns);
    }
}

static void fill_long(const struct filling *filling, const struct tapped *filter, const struct lw_cpu_ols_lane *lane)
{
    const struct lw_cpu_ols *const ols = filling->ols;
    const struct lw_cpu_kernels *const k = ols->shape.kernels;
    char *const to = data_of(ols, filter->number);
    load_taps(filling, filter, lane->x);
    if (ols->shape.method != LW_CPU_OLS_PACKED) {
        k->fft_forward(ols->fft, lane->x, to, lane->work);
        return;
    }
    k->fft_forward(ols->fft, lane->x, lane->z, lane->work);
    k->mirror(ols->fft, lane->z, lane->x);
    separate_all(&ols->shape, lane->z, lane->x, filter->spectrum, to);
}

/* ---- normalized taps ------------------------------------------------------------------------------------------------------ */

/* Return |z| of a number of a safe range. */
static double root_of(double complex z) { return sqrt(creal(z) * creal(z) + cimag(z) * cimag(z)); }

/* Return a bound of the largest magnitude of a template's spectrum: |E| + |O| with PACKED (separate), or the sum of magnitudes. */
static double largest_gain(const struct filling *filling, const struct tapped *filter)
{
    const struct lw_cpu_ols_shape *const shape = &filling->ols->shape;
    const int parts = parts_of(filling->ols);
    const double complex *const z = filter->spectrum;
    const bool is_packed = shape->method == LW_CPU_OLS_PACKED;
    double largest = 0, sum = 0;
    for (int64_t i = 0; i < shape->n_taps; i++)
        sum += fabs(filter->taps[i * parts]) + (parts == 2 ? fabs(filter->taps[i * parts + 1]) : 0);
    for (int64_t k = 0; filling->plan && k < shape->points; k++) {
        const double complex m = is_packed ? conj(z[k > 0 ? shape->points - k : 0]) : z[k];
        const double magnitude = is_packed ? (root_of(z[k] + m) + root_of(z[k] - m)) / 2 : root_of(m);
        largest = magnitude > largest ? magnitude : largest;
    }
    return filling->plan ? largest * (double)shape->points : sum;
}

/* Keep the taps in double, real parts first. */
static void keep_taps(const struct filling *filling, const struct tapped *filter)
{
    const struct lw_cpu_ols *const ols = filling->ols;
    const int parts = parts_of(ols);
    double *const to = ols->filters.taps + filter->number * ols->filters.n_exact;
    for (int64_t t = 0; t < ols->filters.n_exact; t++)
        to[t] = filter->taps[t % ols->shape.n_taps * parts + t / ols->shape.n_taps];
    ols->filters.gains[filter->number] = largest_gain(filling, filter);
}

/* ---- all filters ---------------------------------------------------------------------------------------------------- */

static bool is_long(const struct lw_cpu_ols *ols) { return ols->fft && ols->shape.points >= LONG; }

/* Delay a channel's taps. Channels of weight 0 get none: their delays may be out of reach. */
static void fold_delay(const struct filling *filling, int64_t row, const double *taps, double *out)
{
    const struct lw_cpu_ols *const ols = filling->ols;
    const struct lw_shifts *const stacks = ols->spec.ols.stacks;
    const int64_t channel = row % ols->shape.own, sum = filling->part->first + row / ols->shape.own;
    const int64_t parts = parts_of(ols), at = (stacks->after - stacks->delays[sum * stacks->n_inputs + channel]) * parts;
    memset(out, 0, (size_t)(ols->shape.n_taps * parts) * sizeof *out);
    if (lw_shifts_weight(stacks, sum, channel) != 0)
        memcpy(out + at, taps, (size_t)(ols->spec.ols.n_taps * parts) * sizeof *out);
}

/* Fill one filter, and its filter for the two ends of the axis. */
static void fill_filter(const struct filling *filling, int number, double *scratch, const struct lw_cpu_ols_lane *lane)
{
    const struct lw_cpu_ols *const ols = filling->ols;
    const struct lw_ols_spec *const spec = &ols->spec.ols;
    const int64_t each = doubles_per_end(spec), n_values = ols->shape.n_taps * parts_of(ols);
    struct tapped filter = {
        .taps = scratch, .number = number, .spectrum = (double complex *)(scratch + filling->taps + filling->folded),
    };
    if (number >= filling->part->n * ols->shape.own) {
        memset(data_of(ols, number), 0, (size_t)ols->filters.stride * ols->shape.kernels->real_bytes);
        for (int64_t i = 0; i < each; i++)
            ols->filters.ends[number * each + i] = 0;
        for (int64_t t = 0; t < ols->filters.n_exact; t++)
            ols->filters.taps[number * ols->filters.n_exact + t] = 0;
        ols->filters.exponents[number] = 0;
        return;
    }
    const int64_t shared = spec->own_taps ? 1 : ols->shape.own;         /* rows of the same taps */
    lw_stored_filter(&filling->part->taps, spec->n_taps, number / shared, scratch);
    if (ols->filters.n_exact > 0)
        lw_cpu_taps_normalize(spec->normalize, scratch, spec->n_taps, parts_of(ols));
    if (ols->shape.folded) {
        filter.taps = scratch + filling->taps;
        fold_delay(filling, number, scratch, filter.taps);
    } else if (filling->folded > 0) {
        filter.taps = scratch + filling->taps;
        lw_post_fold(spec->post, scratch, spec->n_taps, parts_of(ols), filter.taps);
        lw_post_fold_end(spec->post, scratch, spec->n_taps, parts_of(ols), ols->filters.ends + number * each);
    }
    filter.exponent = ols->filters.exponents[number] = exponent_of(filter.taps, n_values, ols->shape.kernels->safe_exponent);
    if (!ols->fft)
        fill_taps(filling, &filter);
    else if (is_long(ols))
        fill_long(filling, &filter, lane);
    else
        fill_spectra(filling, &filter);
    if (ols->filters.n_exact > 0)
        keep_taps(filling, &filter);
}

/* Lay out the scratch memory of a thread. Each part is a whole number of cache lines. @return  its doubles */
static int64_t lay_out(struct filling *filling)
{
    const struct lw_cpu_ols *const ols = filling->ols;
    const int64_t line = LW_ALIGNMENT / (int64_t)sizeof(double);
    const struct lw_cpu_fft fft = ols->shape.kernels->fft_shape(ols->shape.points);
    const int64_t spectrum = !ols->fft ? 0 : is_long(ols) ? 6 * fft.columns : 2 * ols->shape.points + 4 * fft.columns;
    filling->taps = lw_round_up(ols->spec.ols.n_taps * parts_of(ols), line);
    const bool is_folded = lw_post_folds(ols->spec.ols.post) || ols->shape.folded;
    filling->folded = is_folded ? lw_round_up(ols->shape.n_taps * parts_of(ols), line) : 0;
    filling->spectrum = lw_round_up(spectrum, line);
    return filling->taps + filling->folded + filling->spectrum;
}

int lw_cpu_filters_fill(struct lw_cpu_ols *ols, const struct lw_ols_part *part, struct lw_error *err)
{
    struct filling filling = {.ols = ols, .part = part};
    const int64_t n_filters = n_rows(&ols->shape), doubles = lay_out(&filling);
    const int64_t most = lw_max64(1, SCRATCH_BYTES / (doubles * (int64_t)sizeof(double)));
    const int n_threads = (int)lw_min64(lw_min64(ols->lanes.n, n_filters), most);
    const int64_t n_roots = ols->fft && !is_long(ols) ? ols->shape.points : 0;
    filling.scratch = lw_alloc_array(n_threads * doubles, sizeof(double), "the transforms of filters", err);
    filling.roots = lw_alloc_array(n_roots, sizeof *filling.roots, "the transforms of filters", err);
    if (!filling.scratch || !filling.roots) {
        lw_free(filling.scratch);
        lw_free(filling.roots);
        return LW_ESYSTEM;
    }
    for (int64_t k = 0; k < n_roots; k++)
        filling.roots[k] = root(k, n_roots);
    if (n_roots > 0) {
        fftw_complex *const spectrum = (fftw_complex *)(filling.scratch + filling.taps + filling.folded);
        filling.plan = fftw_plan_dft_1d((int)ols->shape.points, spectrum, spectrum, FFTW_FORWARD, FFTW_ESTIMATE);
    }
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 1)
    for (int64_t f = 0; f < n_filters; f++) {
        const int thread = omp_get_thread_num();
        fill_filter(&filling, (int)f, filling.scratch + thread * doubles, lw_cpu_lane_at(&ols->lanes, thread));
    }
    if (filling.plan)
        fftw_destroy_plan(filling.plan);
    for (int64_t t = 0; t < ols->filters.n_terms; t++)
        ols->filters.offsets[t] = (ols->shape.n_taps - 1 - t % ols->shape.n_taps) * ols->shape.width +
                                  (t < ols->shape.n_taps ? 0 : ols->shape.turned);
    for (int64_t t = 0; t < ols->filters.n_exact; t++)
        ols->filters.exact_offsets[t] = (ols->shape.n_taps - 1 - t % ols->shape.n_taps) * ols->shape.series_width +
                                        (t < ols->shape.n_taps ? 0 : ols->filters.exact_turned);
    lw_free(filling.scratch);
    lw_free(filling.roots);
    return LW_OK;
}

int64_t lw_cpu_exact_turned(const struct lw_cpu_ols_shape *shape, const struct lw_ols_spec *ols)
{
    const int64_t step = lw_cpu_kernels(LW_DOUBLE)->direct_step, line = LW_ALIGNMENT / (int64_t)sizeof(double);
    return n_exact(ols) > 0 ? lw_round_up((LW_CPU_EXACT + shape->n_taps) * shape->series_width + step, line) : 0;
}

int lw_cpu_filters_create(const struct lw_cpu_ols_shape *shape, const struct lw_ols_spec *ols, struct lw_cpu_filters *out,
                          struct lw_error *err)
{
    struct lw_cpu_filters filters = {
        .stride = reals_per_filter(shape, ols->taps_complex), .n_exact = n_exact(ols),
        .exact_turned = lw_cpu_exact_turned(shape, ols),
    };
    const int64_t rows = n_rows(shape);
    const int64_t ends = doubles_per_end(ols);
    filters.n_terms = shape->method == LW_CPU_OLS_DIRECT ? n_terms(shape, ols->taps_complex) : 0;
    filters.data = lw_alloc_array(rows * filters.stride, shape->kernels->real_bytes, "the filters", err);
    filters.exponents = lw_alloc_array(rows, sizeof(int), "the filters' exponents", err);
    filters.offsets = lw_alloc_array(filters.n_terms, sizeof(int64_t), "the filters' offsets", err);
    filters.ends = ends > 0 ? lw_alloc_array(rows * ends, sizeof(double), "the filters for the ends", err) : NULL;
    bool is_whole = filters.data && filters.exponents && filters.offsets && (ends == 0 || filters.ends);
    if (filters.n_exact > 0) {
        filters.taps = lw_alloc_array(rows * filters.n_exact, sizeof(double), "the templates", err);
        filters.gains = lw_alloc_array(rows, sizeof(double), "the templates' gains", err);
        filters.exact_offsets = lw_alloc_array(filters.n_exact, sizeof(int64_t), "the templates' offsets", err);
        is_whole = is_whole && filters.taps && filters.gains && filters.exact_offsets;
    }
    if (!is_whole) {
        lw_cpu_filters_release(&filters);
        return LW_ESYSTEM;
    }
    *out = filters;
    return LW_OK;
}

void lw_cpu_filters_release(struct lw_cpu_filters *filters)
{
    lw_free(filters->ends);
    lw_free(filters->taps);
    lw_free(filters->gains);
    lw_free(filters->exact_offsets);
    lw_free(filters->data);
    lw_free(filters->offsets);
    lw_free(filters->exponents);
    *filters = (struct lw_cpu_filters){0};
}
