/* bank.c - the filters in the form of the method. */
#include "cpu/ols/ols.h"

#include <complex.h>
#include <fftw3.h>
#include <math.h>

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

int64_t lw_cpu_filters_bytes(const struct lw_cpu_ols_shape *shape, const struct lw_ols_spec *ols)
{
    const bool taps_complex = ols->taps_complex;
    const int64_t offsets = shape->method == LW_CPU_OLS_DIRECT ? n_terms(shape, taps_complex) * (int64_t)sizeof(int64_t) : 0;
    return shape->n_filters * (reals_per_filter(shape, taps_complex) * (int64_t)shape->kernels->real_bytes +
                               doubles_per_end(ols) * (int64_t)sizeof(double) + (int64_t)sizeof(int)) + offsets;
}

static double complex tap(const struct lw_ols_spec *ols, int filter, int64_t m)
{
    const double *const taps = ols->taps + (int64_t)filter * ols->n_taps * (ols->taps_complex ? 2 : 1);
    return ols->taps_complex ? CMPLX(taps[2 * m], taps[2 * m + 1]) : taps[m];
}

/* Return the power of two that brings a filter's largest tap near 1; 0 if the taps are already in a safe range. */
static int filter_exponent(const struct lw_ols_spec *ols, int filter, int safe)
{
    double largest = 0;
    for (int64_t m = 0; m < ols->n_taps; m++) {
        const double complex h = tap(ols, filter, m);
        largest = fmax(largest, fmax(fabs(creal(h)), fabs(cimag(h))));
    }
    if (largest == 0 || (largest >= ldexp(1, -safe) && largest <= ldexp(1, safe)))
        return 0;
    return ilogb(largest);
}

static char *data_of(const struct lw_cpu_ols_shape *shape, const struct lw_cpu_filters *filters, int filter)
{
    return (char *)filters->data + (size_t)(filter * filters->stride) * shape->kernels->real_bytes;
}

/* Fill a filter for DIRECT. */
static void fill_taps(const struct lw_cpu_ols_shape *shape, const struct lw_ols_spec *ols, int filter,
                      const struct lw_cpu_filters *filters, double *scratch)
{
    for (int64_t t = 0; t < filters->n_terms; t++) {
        const double complex h = tap(ols, filter, t % shape->n_taps);
        scratch[t] = ldexp(t < shape->n_taps ? creal(h) : cimag(h), -filters->exponents[filter]);
    }
    shape->kernels->round_reals(scratch, data_of(shape, filters, filter), filters->n_terms);
}

/* ---- spectra ----------------------------------------------------------------------------------------------------- */

/* Transform every `step`-th tap from `first` on, scaled and zero-padded, in place. */
static void transform_taps(const struct lw_cpu_ols_shape *shape, const struct lw_ols_spec *ols, int filter,
                           int64_t first, int64_t step, int exponent, fftw_plan plan, double complex *spectrum)
{
    for (int64_t j = 0; j < shape->points; j++) {
        const int64_t m = first + j * step;
        const double complex h = m < shape->n_taps ? tap(ols, filter, m) : 0;
        spectrum[j] = CMPLX(ldexp(creal(h), -exponent), ldexp(cimag(h), -exponent)) / (double)shape->points;
    }
    fftw_execute_dft(plan, (fftw_complex *)spectrum, (fftw_complex *)spectrum);
}

/* Turn the spectra E and O of the even and odd taps into A and B (cpu/ols/ols.h), in place. */
static void combine_halves(int64_t points, double complex *even, double complex *odd)
{
    const double step = -2 * 3.14159265358979323846 / (double)points;
    for (int64_t k = 0; k < points; k++) {
        const double complex w = CMPLX(cos(step * (double)k), sin(step * (double)k));
        const double complex o = odd[k];
        even[k] += 0.5 * I * (1 - w) * o;
        odd[k] = 0.5 * I * (1 + w) * o;
    }
}

static void fill_spectra(const struct lw_cpu_ols_shape *shape, const struct lw_ols_spec *ols, int filter,
                         const struct lw_cpu_filters *filters, fftw_plan plan, double complex *scratch)
{
    const int64_t step = shape->method == LW_CPU_OLS_PACKED ? 2 : 1;
    const struct lw_cpu_fft fft = shape->kernels->fft_shape(shape->points);
    char *const to = data_of(shape, filters, filter);
    for (int64_t part = 0; part < step; part++)
        transform_taps(shape, ols, filter, part, step, filters->exponents[filter], plan, scratch + part * shape->points);
    if (shape->method == LW_CPU_OLS_PACKED)
        combine_halves(shape->points, scratch, scratch + shape->points);
    for (int64_t i = 0; i < step * shape->points; i++) {
        const int64_t part = i / shape->points, k = i % shape->points;
        const int64_t at = part * shape->points + k % fft.rows * fft.columns + k / fft.rows;    /* the transform's order */
        shape->kernels->round_reals((const double *)&scratch[i], to + (size_t)(2 * at) * shape->kernels->real_bytes, 2);
    }
}

/* ---- taps or spectra ---------------------------------------------------------------------------------------------- */
static int fill(const struct lw_cpu_ols_shape *shape, const struct lw_ols_spec *ols, struct lw_cpu_filters *filters,
                struct lw_error *err)
{
    const bool is_direct = shape->method == LW_CPU_OLS_DIRECT;
    const int64_t scratch_doubles = is_direct ? filters->n_terms : 4 * shape->points;
    double *const scratch = lw_alloc_array(scratch_doubles, sizeof(double), "the transform of a filter", err);
    if (!scratch)
        return LW_ESYSTEM;
    fftw_plan plan = NULL;
    if (!is_direct)
        plan = fftw_plan_dft_1d((int)shape->points, (fftw_complex *)scratch, (fftw_complex *)scratch, FFTW_FORWARD, FFTW_ESTIMATE);
    for (int filter = 0; filter < ols->n_filters; filter++) {
        filters->exponents[filter] = filter_exponent(ols, filter, shape->kernels->safe_exponent);
        if (is_direct)
            fill_taps(shape, ols, filter, filters, scratch);
        else
            fill_spectra(shape, ols, filter, filters, plan, (double complex *)scratch);
    }
    if (!is_direct)
        fftw_destroy_plan(plan);
    for (int64_t t = 0; t < filters->n_terms; t++)
        filters->offsets[t] = (shape->n_taps - 1 - t % shape->n_taps) * shape->width + (t < shape->n_taps ? 0 : shape->turned);
    lw_free(scratch);
    return LW_OK;
}

static int create(const struct lw_cpu_ols_shape *shape, const struct lw_ols_spec *ols, struct lw_cpu_filters *out,
                  struct lw_error *err)
{
    struct lw_cpu_filters filters = {.stride = reals_per_filter(shape, ols->taps_complex)};
    const bool is_direct = shape->method == LW_CPU_OLS_DIRECT;
    filters.n_terms = is_direct ? n_terms(shape, ols->taps_complex) : 0;
    filters.data = lw_alloc_array(shape->n_filters * filters.stride, shape->kernels->real_bytes, "the filters", err);
    filters.exponents = lw_alloc_array(shape->n_filters, sizeof(int), "the filters' exponents", err);
    filters.offsets = lw_alloc_array(filters.n_terms, sizeof(int64_t), "the filters' offsets", err);
    const bool is_allocated = filters.data && filters.exponents && filters.offsets;
    if (!is_allocated || fill(shape, ols, &filters, err)) {
        lw_cpu_filters_release(&filters);
        return LW_ESYSTEM;
    }
    *out = filters;
    return LW_OK;
}

/* Make the filters for the axis' two ends. */
static int create_ends(const struct lw_ols_spec *ols, double **out, struct lw_error *err)
{
    const int64_t each = doubles_per_end(ols);
    const int parts = ols->taps_complex ? 2 : 1;
    double *const ends = lw_alloc_array(ols->n_filters * each, sizeof *ends, "the filters for the ends", err);
    if (!ends)
        return LW_ESYSTEM;
    for (int64_t f = 0; f < ols->n_filters; f++)
        lw_post_fold_end(ols->post, ols->taps + f * ols->n_taps * parts, ols->n_taps, parts, ends + f * each);
    *out = ends;
    return LW_OK;
}

int lw_cpu_filters_create(const struct lw_cpu_ols_shape *shape, const struct lw_ols_spec *ols,
                          struct lw_cpu_filters *out, struct lw_error *err)
{
    if (!lw_post_folds(ols->post))
        return create(shape, ols, out, err);
    const int parts = ols->taps_complex ? 2 : 1;
    double *const taps = lw_alloc_array(shape->n_filters * shape->n_taps * parts, sizeof *taps, "the filters' derivatives", err);
    if (!taps)
        return LW_ESYSTEM;
    for (int64_t f = 0; f < ols->n_filters; f++)
        lw_post_fold(ols->post, ols->taps + f * ols->n_taps * parts, ols->n_taps, parts, taps + f * shape->n_taps * parts);
    struct lw_ols_spec folded = *ols;
    folded.taps = taps;
    folded.n_taps = shape->n_taps;
    int rc = create(shape, &folded, out, err);
    lw_free(taps);
    if (!rc && (rc = create_ends(ols, &out->ends, err)))
        lw_cpu_filters_release(out);
    return rc;
}

void lw_cpu_filters_release(struct lw_cpu_filters *filters)
{
    lw_free(filters->ends);
    lw_free(filters->data);
    lw_free(filters->offsets);
    lw_free(filters->exponents);
    *filters = (struct lw_cpu_filters){0};
}
