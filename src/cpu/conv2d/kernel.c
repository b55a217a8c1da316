/* kernel.c - the kernel in the form of the method. */
#include "cpu/conv2d/conv2d.h"

#include "signal/separable.h"

#include <complex.h>
#include <fftw3.h>
#include <stdlib.h>

static int64_t n_parts(const struct lw_cpu_shape2d *shape) { return shape->kernel_complex ? 2 : 1; }

/* Return the bytes of the spectrum of one plane. */
static int64_t spectrum_bytes(const struct lw_cpu_shape2d *shape)
{
    return shape->rows * lw_cpu_shape2d_fft(shape).bins * 2 * (int64_t)shape->kernels->real_bytes;
}

static int64_t terms_bytes(const struct lw_cpu_shape2d *shape, int64_t n_taps)
{
    return n_taps * n_parts(shape) * ((int64_t)shape->kernels->real_bytes + (int64_t)sizeof(int64_t));
}

int64_t lw_cpu_kernel2d_bytes(const struct lw_cpu_shape2d *shape, enum lw_nan nan)
{
    const int64_t rows = shape->kernel_rows, columns = shape->kernel_columns;
    const int64_t taps = shape->has_weights ? rows * columns * (int64_t)sizeof(double) : 0, planes = lw_cpu_shape2d_planes(shape);
    const int64_t sums = taps + (nan == LW_NAN_INTERPOLATE ? rows * (columns + 1) * (int64_t)sizeof(double) : 0);
    switch (shape->method) {
    case LW_CPU_CONV2D_PADDED:
    case LW_CPU_CONV2D_TILES: return sums + planes * spectrum_bytes(shape);
    case LW_CPU_CONV2D_SEPARABLE: return sums + terms_bytes(shape, rows) + terms_bytes(shape, columns);
    default: return sums + planes * terms_bytes(shape, rows * columns);
    }
}

/* Return the exponent of the power of two that brings the largest value near 1. */
static int exponent_of(const double *values, int64_t n)
{
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(values[i]));
    return largest > 0 ? ilogb(largest) : 0;
}

/* ---- in the space domain -------------------------------------------------------------------------------------------- */

/* Places of the pixels that taps multiply, in reals from the window's pixel for tap (0, 0). Tap t is (t / columns, t % columns);
 * the copies times i are `turned` further on. */
struct places {
    int64_t columns, first, down, across, turned;
};

/* Make the terms. @param taps  [n_taps] or [n_taps x 2] */
static int make_terms(const struct lw_cpu_shape2d *shape, const double *taps, int64_t n_taps, struct places at,
                      struct lw_cpu_terms *out, struct lw_error *err)
{
    const int64_t parts = n_parts(shape);
    void *const reals = lw_alloc_array(n_taps * parts, shape->kernels->real_bytes, "the kernel", err);
    int64_t *const places = lw_alloc_array(n_taps * parts, sizeof *places, "the kernel's offsets", err);
    *out = (struct lw_cpu_terms){reals, places, n_taps * parts};
    if (!reals || !places)
        return LW_ESYSTEM;
    for (int64_t part = 0; part < parts; part++) {
        for (int64_t t = 0; t < n_taps; t++) {
            char *const to = (char *)reals + (size_t)(part * n_taps + t) * shape->kernels->real_bytes;
            shape->kernels->round_reals(&taps[t * parts + part], to, 1);
            places[part * n_taps + t] = at.first + t / at.columns * at.down + t % at.columns * at.across + part * at.turned;
        }
    }
    return LW_OK;
}

/* The taps are in the order in which a window is read, from above: the kernel's last row multiplies the window's first. */
static int make_sum(const struct lw_conv2d_spec *c, const struct lw_cpu_shape2d *shape, int exponent, struct lw_cpu_terms *out,
                    struct lw_error *err)
{
    const int64_t columns = shape->kernel_columns, n = shape->kernel_rows * columns, parts = n_parts(shape);
    LW_FREED double *const taps = lw_alloc_array(n * parts, sizeof *taps, "the kernel", err);
    if (!taps)
        return LW_ESYSTEM;
    for (int64_t i = 0; i < n * parts; i++)
        taps[i] = ldexp(c->kernel[(n - 1 - i / parts) * parts + i % parts], -exponent);
    const struct places at = {columns, 0, shape->window_stride, shape->width, shape->window_turned};
    return make_terms(shape, taps, n, at, out, err);
}

/* Bring the largest value near 1.
 * @return  exponent of the power of 2 by which the outputs must still be multiplied */
static int level(double *values, int64_t n)
{
    const int exponent = exponent_of(values, n);
    for (int64_t i = 0; i < n; i++)
        values[i] = ldexp(values[i], -exponent);
    return exponent;
}

static int make_passes(const struct lw_conv2d_spec *c, const struct lw_cpu_shape2d *shape, struct lw_cpu_kernel2d *kernel,
                       struct lw_error *err)
{
    const int64_t rows = shape->kernel_rows, columns = shape->kernel_columns, parts = n_parts(shape);
    LW_FREED double *const column = lw_alloc_array(parts * (rows + columns), sizeof *column, "the kernel's factors", err);
    if (!column)
        return LW_ESYSTEM;
    double *const row = column + parts * rows;
    lw_separate(c->kernel, rows, columns, c->kernel_complex, column, row);
    kernel->exponent = level(column, parts * rows) + level(row, parts * columns);

    /* the kernel's last tap multiplies the first pixel */
    const struct places down = {rows, (rows - 1) * shape->window_stride, 0, -shape->window_stride, shape->window_turned};
    const struct places across = {columns, (columns - 1) * shape->width, 0, -shape->width, shape->between_turned};
    const int rc = make_terms(shape, column, rows, down, &kernel->first, err);
    return rc ? rc : make_terms(shape, row, columns, across, &kernel->second, err);
}

/* ---- spectrum ------------------------------------------------------------------------------------------------------- */

struct transform {
    struct lw_cpu_fft2d fft;
    double complex *rows;               /* [kernel_rows][columns]: rows of the kernel, transformed */
    double complex *strip, *out;        /* [rows][strip] */
    fftw_plan row_plan, strip_plan;
};

int64_t lw_cpu_kernel2d_setup_bytes(const struct lw_cpu_shape2d *shape)
{
    const int64_t points = shape->kernel_rows * shape->columns + 2 * shape->rows * lw_cpu_shape2d_fft(shape).strip;
    return lw_cpu_shape2d_has_fft(shape) ? points * (int64_t)sizeof(double complex) : 0;
}

static int open_transform(const struct lw_cpu_shape2d *shape, struct transform *t, struct lw_error *err)
{
    *t = (struct transform){.fft = lw_cpu_shape2d_fft(shape)};
    const int n_rows = (int)shape->rows, n_columns = (int)shape->columns, strip = (int)t->fft.strip;
    const size_t size = sizeof(double complex);
    if (!(t->rows = lw_alloc_array(shape->kernel_rows * n_columns, size, "the transform of the kernel", err)) ||
        !(t->strip = lw_alloc_array((int64_t)n_rows * strip, size, "the transform of the kernel", err)) ||
        !(t->out = lw_alloc_array((int64_t)n_rows * strip, size, "the transform of the kernel", err)))
        return LW_ESYSTEM;
    fftw_forget_wisdom();
    t->row_plan = fftw_plan_dft_1d(n_columns, t->rows, t->rows, FFTW_FORWARD, FFTW_ESTIMATE);
    t->strip_plan = fftw_plan_many_dft(1, &n_rows, strip, t->strip, NULL, strip, 1, t->out, NULL, strip, 1, FFTW_FORWARD,
                                       FFTW_ESTIMATE);
    if (!t->row_plan || !t->strip_plan)
        return lw_fail(err, LW_ESYSTEM, "FFTW cannot plan a transform of %d x %d points", n_rows, n_columns);
    return LW_OK;
}

/* Transform the kernel's rows, prescaled by 1 / points and zero-padded. */
static void transform_rows(const struct lw_conv2d_spec *c, const struct lw_cpu_shape2d *shape, int exponent,
                           const struct transform *t)
{
    const double points = (double)(shape->rows * shape->columns) * lw_cpu_shape2d_planes(shape);
    for (int64_t m = 0; m < shape->kernel_rows; m++) {
        double complex *const row = t->rows + m * shape->columns;
        for (int64_t n = 0; n < shape->kernel_columns; n++) {
            const double *const h = c->kernel + (m * shape->kernel_columns + n) * n_parts(shape);
            row[n] = CMPLX(ldexp(h[0], -exponent), shape->kernel_complex ? ldexp(h[1], -exponent) : 0) / points;
        }
        fftw_execute_dft(t->row_plan, row, row);
    }
}

static int make_spectrum(const struct lw_conv2d_spec *c, const struct lw_cpu_shape2d *shape, int exponent, char *spectrum,
                         struct lw_error *err)
{
    struct transform t;
    const int rc = open_transform(shape, &t, err);
    if (rc == LW_OK)
        transform_rows(c, shape, exponent, &t);
    const int64_t strip = t.fft.strip, n = shape->rows * strip;
    for (int64_t column = 0; rc == LW_OK && column < t.fft.bins; column += strip) {
        for (int64_t m = 0; m < shape->kernel_rows; m++)
            memcpy(t.strip + m * strip, t.rows + m * shape->columns + column, (size_t)strip * sizeof *t.strip);
        fftw_execute(t.strip_plan);
        char *const to = spectrum + (size_t)(2 * column * shape->rows) * shape->kernels->real_bytes;
        shape->kernels->round_reals((const double *)t.out, to, 2 * n);
    }
    if (t.row_plan)
        fftw_destroy_plan(t.row_plan);
    if (t.strip_plan)
        fftw_destroy_plan(t.strip_plan);
    lw_free(t.rows);
    lw_free(t.strip);
    lw_free(t.out);
    return rc;
}

/* ---- sums ----------------------------------------------------------------------------------------------------------- */

/* Make running sums of each row of the kernel: the weight of a run of pixels is the difference of two of them. */
static int make_sums(const struct lw_conv2d_spec *c, struct lw_cpu_kernel2d *kernel, struct lw_error *err)
{
    const int64_t columns = c->kernel_columns;
    kernel->sums = lw_alloc_array(c->kernel_rows * (columns + 1), sizeof *kernel->sums, "sums of the kernel", err);
    if (!kernel->sums)
        return LW_ESYSTEM;
    for (int64_t m = 0; m < c->kernel_rows; m++) {
        double *const sums = kernel->sums + m * (columns + 1);
        for (int64_t n = 0; n < columns; n++)
            sums[n + 1] = sums[n] + c->kernel[m * columns + n];
        kernel->sum += sums[columns];
    }
    return LW_OK;
}

/* ---- weights -------------------------------------------------------------------------------------------------------- */

/* Make the taps in the order in which a window is read, divided by 2^exponent, and their norm. */
static int make_taps(const struct lw_conv2d_spec *c, struct lw_cpu_kernel2d *kernel, struct lw_error *err)
{
    const int64_t n = c->kernel_rows * c->kernel_columns;
    kernel->taps = lw_alloc_array(n, sizeof *kernel->taps, "the kernel", err);
    for (int64_t i = 0; kernel->taps && i < n; i++) {
        kernel->taps[i] = ldexp(c->kernel[n - 1 - i], -kernel->exponent);
        kernel->norm += kernel->taps[i] * kernel->taps[i];
    }
    kernel->norm = sqrt(kernel->norm);
    return kernel->taps ? LW_OK : LW_ESYSTEM;
}

/* Square the kernel, divided by 2^exponent. */
static int square(struct lw_conv2d_spec *c, int exponent, double **squares, struct lw_error *err)
{
    const int64_t n = c->kernel_rows * c->kernel_columns;
    *squares = lw_alloc_array(n, sizeof **squares, "the kernel's squares", err);
    for (int64_t i = 0; *squares && i < n; i++) {
        const double tap = ldexp(c->kernel[i], -exponent);
        (*squares)[i] = tap * tap;
    }
    c->kernel = *squares;
    return *squares ? LW_OK : LW_ESYSTEM;
}

/* Make a kernel, or with weights its squares, as terms or spectrum. */
static int make_plane(const struct lw_conv2d_spec *c, const struct lw_cpu_shape2d *shape, int exponent, int plane,
                      struct lw_cpu_kernel2d *kernel, struct lw_error *err)
{
    if (shape->method == LW_CPU_CONV2D_DIRECT)
        return make_sum(c, shape, exponent, plane == 0 ? &kernel->first : &kernel->second, err);
    return make_spectrum(c, shape, exponent, (char *)kernel->spectrum + plane * spectrum_bytes(shape), err);
}

static int make_planes(const struct lw_conv2d_spec *c, const struct lw_cpu_shape2d *shape, struct lw_cpu_kernel2d *kernel,
                       struct lw_error *err)
{
    const int64_t bytes = lw_cpu_shape2d_planes(shape) * spectrum_bytes(shape);
    if (lw_cpu_shape2d_has_fft(shape) && !(kernel->spectrum = lw_alloc((size_t)bytes, "the kernel's spectrum", err)))
        return LW_ESYSTEM;
    int rc = make_plane(c, shape, kernel->exponent, 0, kernel, err);
    if (rc || !shape->has_weights)
        return rc;
    struct lw_conv2d_spec squared = *c;
    double *squares;
    if ((rc = make_taps(c, kernel, err)) == LW_OK && (rc = square(&squared, kernel->exponent, &squares, err)) == LW_OK) {
        rc = make_plane(&squared, shape, 0, 1, kernel, err);
        lw_free(squares);
    }
    return rc;
}

int lw_cpu_kernel2d_create(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, int number,
                           struct lw_cpu_kernel2d *out, struct lw_error *err)
{
    struct lw_conv2d_spec one = spec->conv2d;
    const struct lw_conv2d_spec *const c = &one;
    const int64_t n = c->kernel_rows * c->kernel_columns * n_parts(shape);
    one.kernel += number * n;
    const int exponent = exponent_of(c->kernel, n), harmless = 40;
    /* direct sums need a largest tap near 1 only if numbers might leave the range */
    const bool is_kept = shape->method == LW_CPU_CONV2D_DIRECT && !shape->has_weights && abs(exponent) < harmless;
    struct lw_cpu_kernel2d kernel = {.exponent = is_kept ? 0 : exponent};
    int rc = shape->method == LW_CPU_CONV2D_SEPARABLE ? make_passes(c, shape, &kernel, err) : make_planes(c, shape, &kernel, err);
    if (rc == LW_OK && spec->nan == LW_NAN_INTERPOLATE)
        rc = make_sums(c, &kernel, err);
    if (rc)
        lw_cpu_kernel2d_release(&kernel);
    else
        *out = kernel;
    return rc;
}

void lw_cpu_kernel2d_release(struct lw_cpu_kernel2d *kernel)
{
    const struct lw_cpu_terms *const terms[] = {&kernel->first, &kernel->second};
    for (int i = 0; i < 2; i++) {
        lw_free((void *)terms[i]->taps);
        lw_free((void *)terms[i]->offsets);
    }
    lw_free(kernel->spectrum);
    lw_free(kernel->sums);
    lw_free(kernel->taps);
    *kernel = (struct lw_cpu_kernel2d){0};
}
