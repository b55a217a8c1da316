/* conv2d_tile.c - convolution of a tile by FFTW. Compiled per precision and instruction set.
 *
 * Rows are transformed one by one, from a row's buffer into the tile. Columns are taken in strips as wide as two cache lines: a
 * strip is transformed out of the tile, multiplied by the kernel's spectrum, and transformed back. So it never leaves the near
 * caches. A cache line of padding follows each row of the tile: otherwise elements of a column that lie a power of two apart would
 * share few cache sets. All plans use FFTW_ESTIMATE, for the reason given in cpu/kernels/fft.c. */
#include "cpu/kernels/real.h"

#include "base/integers.h"

struct tile {
    struct lw_cpu_fft2d shape;          /* comes first: the callers' view of the struct */
    FFTW(plan) forward_row, inverse_row;        /* plans of real numbers with LW_CPU_REAL_ROWS */
    FFTW(plan) forward_strip, inverse_strip;
};

struct lw_cpu_fft2d KERNEL(lw_fft2d_shape)(int64_t rows, int64_t columns, enum lw_cpu_fft2d_rows kind)
{
    const int64_t line = LW_ALIGNMENT / (int64_t)sizeof(FFTW(complex)), strip = 2 * line;
    const int64_t bins = kind == LW_CPU_COMPLEX_ROWS ? columns : lw_round_up(columns / 2 + 1, strip);
    return (struct lw_cpu_fft2d){
        .rows = rows, .columns = columns, .bins = bins, .pitch = bins + line, .strip = strip, .kind = kind,
    };
}

static FFTW(plan) plan_strip(const struct lw_cpu_fft2d *shape, void *in, int64_t in_stride, void *out, int64_t out_stride, int sign)
{
    const FFTW(iodim64) points = {.n = shape->rows, .is = in_stride, .os = out_stride};
    const FFTW(iodim64) columns = {.n = shape->strip, .is = 1, .os = 1};
    return FFTW(plan_guru64_dft)(1, &points, 1, &columns, in, out, sign, FFTW_ESTIMATE);
}

int KERNEL(lw_fft2d_create)(const struct lw_cpu_fft2d *shape, void *row, void *points, void *strip, struct lw_cpu_fft2d **out,
                            struct lw_error *err)
{
    const int columns = (int)shape->columns;
    struct tile *const tile = lw_alloc(sizeof *tile, "an FFT plan", err);
    if (!tile)
        return LW_ESYSTEM;
    tile->shape = *shape;
    FFTW(forget_wisdom)();              /* earlier plans must not change these */
    const bool are_two = shape->kind == LW_CPU_TWO_ROWS;
    void *const other = are_two ? (FFTW(complex) *)row + columns : points;
    if (shape->kind == LW_CPU_REAL_ROWS) {
        tile->forward_row = FFTW(plan_dft_r2c_1d)(columns, row, points, FFTW_ESTIMATE);
        tile->inverse_row = FFTW(plan_dft_c2r_1d)(columns, points, row, FFTW_ESTIMATE);
    } else {
        tile->forward_row = FFTW(plan_dft_1d)(columns, row, other, FFTW_FORWARD, FFTW_ESTIMATE);
        tile->inverse_row = FFTW(plan_dft_1d)(columns, other, row, FFTW_BACKWARD, FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
    }
    tile->forward_strip = plan_strip(shape, points, shape->pitch, strip, shape->strip, FFTW_FORWARD);
    tile->inverse_strip = plan_strip(shape, strip, shape->strip, points, shape->pitch, FFTW_BACKWARD);
    if (!tile->forward_row || !tile->inverse_row || !tile->forward_strip || !tile->inverse_strip) {
        KERNEL(lw_fft2d_destroy)(&tile->shape);
        return lw_fail(err, LW_ESYSTEM, "FFTW cannot plan transforms of %lld x %d points", (long long)shape->rows, columns);
    }
    *out = &tile->shape;
    return LW_OK;
}

void KERNEL(lw_fft2d_destroy)(struct lw_cpu_fft2d *shape)
{
    if (!shape)
        return;
    struct tile *const tile = (struct tile *)shape;
    FFTW(plan) const plans[] = {tile->forward_row, tile->inverse_row, tile->forward_strip, tile->inverse_strip};
    for (int i = 0; i < 4; i++)
        if (plans[i])
            FFTW(destroy_plan)(plans[i]);
    lw_free(tile);
}

/* Return the bins of a real row that are not mirrors of others: 0 .. columns / 2. */
static int64_t n_half(const struct lw_cpu_fft2d *shape) { return shape->columns / 2 + 1; }

/* The spectrum z of a + i b holds 2 a = z + r and 2 i b = z - r, where r is z mirrored and conjugated. */
static void part_row(const struct lw_cpu_fft2d *shape, const real *restrict z, real *restrict r, real *restrict a)
{
    real *const restrict b = a + 2 * shape->rows * shape->pitch;
    const int64_t n = n_half(shape);
    r[0] = z[0];
    r[1] = -z[1];
    KERNEL(lw_mirror_run)(z + 2 * (shape->columns - n + 1), r + 2, n - 1);
    for (int64_t i = 0; i < 2 * n; i++) {
        a[i] = z[i] + r[i];
        b[i] = z[i] - r[i];
    }
    for (int64_t i = 2 * n; i < 2 * shape->bins; i++)
        a[i] = b[i] = 0;
}

/* The way back. Bin 0 and bin columns / 2 are their own mirrors. */
static void join_row(const struct lw_cpu_fft2d *shape, const real *restrict a, real *restrict r, real *restrict z)
{
    const real *const restrict b = a + 2 * shape->rows * shape->pitch;
    const int64_t n = n_half(shape);
    for (int64_t i = 0; i < 2 * n; i++) {
        z[i] = a[i] + b[i];
        r[i] = a[i] - b[i];
    }
    KERNEL(lw_mirror_run)(r + 2, z + 2 * n, shape->columns - n);
}

void KERNEL(lw_fft2d_row_forward)(const struct lw_cpu_fft2d *shape, void *row, void *tile_row)
{
    const FFTW(plan) plan = ((const struct tile *)shape)->forward_row;
    FFTW(complex) *const other = (FFTW(complex) *)row + shape->columns;
    switch (shape->kind) {
    case LW_CPU_COMPLEX_ROWS: FFTW(execute_dft)(plan, row, tile_row); break;
    case LW_CPU_REAL_ROWS: FFTW(execute_dft_r2c)(plan, row, tile_row); break;
    case LW_CPU_TWO_ROWS:
        FFTW(execute_dft)(plan, row, other);
        part_row(shape, (const real *)other, row, tile_row);
    }
}

void KERNEL(lw_fft2d_row_inverse)(const struct lw_cpu_fft2d *shape, void *tile_row, void *row)
{
    const FFTW(plan) plan = ((const struct tile *)shape)->inverse_row;
    FFTW(complex) *const other = (FFTW(complex) *)row + shape->columns;
    switch (shape->kind) {
    case LW_CPU_COMPLEX_ROWS: FFTW(execute_dft)(plan, tile_row, row); break;
    case LW_CPU_REAL_ROWS: FFTW(execute_dft_c2r)(plan, tile_row, row); break;
    case LW_CPU_TWO_ROWS:
        join_row(shape, tile_row, row, (real *)other);
        FFTW(execute_dft)(plan, other, row);
    }
}

static inline void multiply_here(const real *restrict h, real *restrict z, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const real re = z[2 * i], im = z[2 * i + 1];
        z[2 * i] = re * h[2 * i] - im * h[2 * i + 1];
        z[2 * i + 1] = re * h[2 * i + 1] + im * h[2 * i];
    }
}

void KERNEL(lw_fft2d_columns)(const struct lw_cpu_fft2d *shape, const void *spectrum, void *points, void *strip, int64_t begin,
                              int64_t end)
{
    const struct tile *const tile = (const struct tile *)shape;
    const real *h = (const real *)spectrum + 2 * shape->rows * begin;
    FFTW(complex) *at = (FFTW(complex) *)points + begin;
    for (int64_t bin = begin; bin < end; bin += shape->strip) {
        FFTW(execute_dft)(tile->forward_strip, at, strip);
        multiply_here(h, strip, shape->rows * shape->strip);
        FFTW(execute_dft)(tile->inverse_strip, strip, at);
        h += 2 * shape->rows * shape->strip;
        at += shape->strip;
    }
}

void KERNEL(lw_fft2d_forward)(const struct lw_cpu_fft2d *shape, void *points, void *kept, int64_t begin, int64_t end)
{
    const struct tile *const tile = (const struct tile *)shape;
    for (int64_t bin = begin; bin < end; bin += shape->strip)
        FFTW(execute_dft)(tile->forward_strip, (FFTW(complex) *)points + bin, (FFTW(complex) *)kept + bin * shape->rows);
}

void KERNEL(lw_fft2d_product)(const struct lw_cpu_fft2d *shape, const void *spectrum, const void *kept, void *points, void *strip,
                              int64_t begin, int64_t end)
{
    const struct tile *const tile = (const struct tile *)shape;
    const int64_t n = shape->rows * shape->strip;
    for (int64_t bin = begin; bin < end; bin += shape->strip) {
        const int64_t at = 2 * shape->rows * bin;
        KERNEL(lw_multiply)((const real *)spectrum + at, (const real *)kept + at, strip, n);
        FFTW(execute_dft)(tile->inverse_strip, strip, (FFTW(complex) *)points + bin);
    }
}

void KERNEL(lw_pack)(const void *re, const void *im, void *z, int64_t n)
{
    const real *const restrict a = re, *const restrict b = im;
    real *const restrict out = z;
    for (int64_t i = 0; i < n; i++) {
        out[2 * i] = a[i];
        out[2 * i + 1] = b[i];
    }
}

void KERNEL(lw_unpack)(const void *z, void *re, void *im, int64_t n)
{
    const real *const restrict in = z;
    real *const restrict a = re, *const restrict b = im;
    for (int64_t i = 0; i < n; i++) {
        a[i] = in[2 * i];
        b[i] = in[2 * i + 1];
    }
}

void KERNEL(lw_subtract)(void *x, const float *values, int64_t n, int width)
{
    real *const out = x;
    for (int64_t i = 0; i < n; i++)
        out[i * width] -= (real)values[i];
}

void KERNEL(lw_weigh)(void *y, const double *weights, int64_t n, int width)
{
    real *const out = y;
    for (int64_t i = 0; i < n; i++)
        for (int part = 0; part < width; part++)
            out[i * width + part] = (real)((double)out[i * width + part] * weights[i]);
}
