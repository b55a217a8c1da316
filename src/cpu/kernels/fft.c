/* fft.c - complex transforms by FFTW. Compiled per precision and instruction set.
 *
 * FFTW_ESTIMATE chooses a plan without measuring, so that every run on every rank computes the same bits; FFTW_MEASURE would not.
 * The estimated plans are good up to some thousand points, and up to three times slower than measured ones beyond. So a long
 * transform of n = R C points is composed here of short ones (Gentleman and Sande 1966). These are Bailey's four steps without the
 * final transposition: a convolution does not need the bins in order.
 *
 *     X[k1 + R k2] = sum_j2  w_C^(j2 k2)  { w_n^(j2 k1)  sum_j1 w_R^(j1 k1) x[j1 C + j2] },    w_n = exp(-2 pi i / n)
 *
 * The steps are R-point transforms over the columns, a twiddle factor on each point, and C-point transforms over the rows. */
#include "cpu/kernels/real.h"

#include "base/memory.h"

#include <math.h>

/* Powers of two from LONG points on are composed. A row of COLUMNS points stays in the nearest cache; R is at most MAX_ROWS. */
#define LONG 8192
#define COLUMNS 2048
#define MAX_ROWS 128

/* Estimated bytes of FFTW's tables of roots per point of a plan: one complex number for each direction. */
#define PLAN_BYTES_PER_POINT (2 * sizeof(FFTW(complex)))

struct fft {
    struct lw_cpu_fft shape;            /* comes first: the callers' view of the struct */
    FFTW(plan) forward_columns;         /* column plans: NULL if there is one row; the other two plans: for one row */
    FFTW(plan) inverse_columns;
    FFTW(plan) forward;
    FFTW(plan) inverse;
    real *twiddles;                     /* [rows x columns] complex */
};

struct lw_cpu_fft KERNEL(lw_fft_shape)(int64_t n)
{
    const bool is_long = n >= LONG && (n & (n - 1)) == 0;
    const int64_t rows = !is_long ? 1 : n / COLUMNS < MAX_ROWS ? n / COLUMNS : MAX_ROWS;
    return (struct lw_cpu_fft){.n = n, .rows = rows, .columns = n / rows};
}

int64_t KERNEL(lw_fft_bytes)(int64_t n)
{
    const struct lw_cpu_fft shape = KERNEL(lw_fft_shape)(n);
    const int64_t tables = (int64_t)PLAN_BYTES_PER_POINT * (shape.columns + (shape.rows > 1 ? shape.rows : 0));
    const int64_t twiddles = shape.rows > 1 ? n * 2 * (int64_t)sizeof(real) : 0;
    return (int64_t)sizeof(struct fft) + tables + twiddles;
}

static void fill_twiddles(const struct lw_cpu_fft *shape, real *twiddles)
{
    const double step = -2 * 3.14159265358979323846 / (double)shape->n;
    for (int64_t k = 0; k < shape->rows; k++) {
        for (int64_t j = 0; j < shape->columns; j++) {
            const double angle = step * (double)(k * j);
            twiddles[2 * (k * shape->columns + j)] = (real)cos(angle);
            twiddles[2 * (k * shape->columns + j) + 1] = (real)sin(angle);
        }
    }
}

static FFTW(plan) plan_columns(const struct lw_cpu_fft *shape, void *in, void *out, int sign)
{
    const FFTW(iodim64) points = {.n = shape->rows, .is = shape->columns, .os = shape->columns};
    const FFTW(iodim64) columns = {.n = shape->columns, .is = 1, .os = 1};
    return FFTW(plan_guru64_dft)(1, &points, 1, &columns, in, out, sign, FFTW_ESTIMATE);
}

static FFTW(plan) plan_row(const struct lw_cpu_fft *shape, void *in, void *out, int sign)
{
    return FFTW(plan_dft_1d)((int)shape->columns, in, out, sign, FFTW_ESTIMATE);
}

int KERNEL(lw_fft_create)(int64_t n, void *in, void *out, void *work, struct lw_cpu_fft **result, struct lw_error *err)
{
    struct fft *const fft = lw_alloc(sizeof *fft, "an FFT plan", err);
    if (!fft)
        return LW_ESYSTEM;
    fft->shape = KERNEL(lw_fft_shape)(n);
    const bool has_rows = fft->shape.rows > 1;
    FFTW(forget_wisdom)();              /* earlier plans must not change this one */
    if (has_rows) {
        fft->forward_columns = plan_columns(&fft->shape, in, work, FFTW_FORWARD);
        fft->inverse_columns = plan_columns(&fft->shape, work, out, FFTW_BACKWARD);
        fft->twiddles = lw_alloc_array(n, 2 * sizeof(real), "the FFT's twiddle factors", err);
    }
    fft->forward = plan_row(&fft->shape, has_rows ? work : in, out, FFTW_FORWARD);
    fft->inverse = plan_row(&fft->shape, in, has_rows ? work : out, FFTW_BACKWARD);

    const bool is_planned = fft->forward && fft->inverse && (!has_rows || (fft->forward_columns && fft->inverse_columns));
    if (!is_planned || (has_rows && !fft->twiddles)) {
        KERNEL(lw_fft_destroy)(&fft->shape);
        return is_planned ? LW_ESYSTEM : lw_fail(err, LW_ESYSTEM, "FFTW cannot plan a transform of %lld points", (long long)n);
    }
    if (has_rows)
        fill_twiddles(&fft->shape, fft->twiddles);
    *result = &fft->shape;
    return LW_OK;
}

void KERNEL(lw_fft_destroy)(struct lw_cpu_fft *shape)
{
    if (!shape)
        return;
    struct fft *const fft = (struct fft *)shape;
    FFTW(plan) const plans[] = {fft->forward_columns, fft->inverse_columns, fft->forward, fft->inverse};
    for (int i = 0; i < 4; i++)
        if (plans[i])
            FFTW(destroy_plan)(plans[i]);
    lw_free(fft->twiddles);
    lw_free(fft);
}

/* Multiply n complex numbers by their twiddle factors (sign = 1) or the conjugates of these (sign = -1). */
static inline void twiddle(real *restrict x, const real *restrict twiddles, int64_t n, real sign)
{
    for (int64_t i = 0; i < n; i++) {
        const real re = x[2 * i], im = x[2 * i + 1], t_re = twiddles[2 * i], t_im = sign * twiddles[2 * i + 1];
        x[2 * i] = re * t_re - im * t_im;
        x[2 * i + 1] = re * t_im + im * t_re;
    }
}

void KERNEL(lw_fft_forward)(const struct lw_cpu_fft *shape, const void *x, void *spectrum, void *work)
{
    const struct fft *const fft = (const struct fft *)shape;
    if (shape->rows == 1) {
        FFTW(execute_dft)(fft->forward, (FFTW(complex) *)x, spectrum);
        return;
    }
    FFTW(execute_dft)(fft->forward_columns, (FFTW(complex) *)x, work);
    for (int64_t row = 0; row < shape->rows; row++) {
        const int64_t at = 2 * row * shape->columns;
        real *const from = (real *)work + at, *const to = (real *)spectrum + at;
        twiddle(from, fft->twiddles + at, shape->columns, 1);
        FFTW(execute_dft)(fft->forward, (FFTW(complex) *)from, (FFTW(complex) *)to);
    }
}

void KERNEL(lw_fft_inverse)(const struct lw_cpu_fft *shape, const void *spectrum, void *x, void *work)
{
    const struct fft *const fft = (const struct fft *)shape;
    if (shape->rows == 1) {
        FFTW(execute_dft)(fft->inverse, (FFTW(complex) *)spectrum, x);
        return;
    }
    for (int64_t row = 0; row < shape->rows; row++) {
        const int64_t at = 2 * row * shape->columns;
        const real *const from = (const real *)spectrum + at;
        real *const to = (real *)work + at;
        FFTW(execute_dft)(fft->inverse, (FFTW(complex) *)from, (FFTW(complex) *)to);
        twiddle(to, fft->twiddles + at, shape->columns, -1);
    }
    FFTW(execute_dft)(fft->inverse_columns, work, x);
}
