/* fft.c - complex transforms: short ones by FFTW, long ones by cpu/kernels/long.c. Compiled per precision and instruction set.
 *
 * FFTW_ESTIMATE chooses a plan without measuring, so that every run on every rank computes the same bits; FFTW_MEASURE would not.
 * The estimated plans are good up to some thousand points. */
#include "cpu/kernels/long.h"

/* Estimated bytes of FFTW's tables of roots per point of a plan: one complex number for each direction. */
#define PLAN_BYTES_PER_POINT (2 * sizeof(FFTW(complex)))

struct fft {
    struct lw_cpu_fft shape;            /* comes first: the callers' view of the struct */
    struct lw_cpu_long *made_here;      /* NULL: FFTW's */
    FFTW(plan) forward, inverse;
};

struct lw_cpu_fft KERNEL(lw_fft_shape)(int64_t n)
{
    return KERNEL(lw_long_takes)(n) ? KERNEL(lw_long_shape)(n) : (struct lw_cpu_fft){.n = n, .rows = 1, .columns = n, .work = n};
}

int64_t KERNEL(lw_fft_bytes)(int64_t n)
{
    return (int64_t)sizeof(struct fft) + (KERNEL(lw_long_takes)(n) ? KERNEL(lw_long_bytes)(n) : n * (int64_t)PLAN_BYTES_PER_POINT);
}

static int plan(struct fft *fft, void *in, void *out, struct lw_error *err)
{
    const int n = (int)fft->shape.n;
    FFTW(forget_wisdom)();              /* earlier plans must not change this one */
    fft->forward = FFTW(plan_dft_1d)(n, in, out, FFTW_FORWARD, FFTW_ESTIMATE);
    fft->inverse = FFTW(plan_dft_1d)(n, in, out, FFTW_BACKWARD, FFTW_ESTIMATE);
    return fft->forward && fft->inverse ? LW_OK : lw_fail(err, LW_ESYSTEM, "FFTW cannot plan a transform of %d points", n);
}

int KERNEL(lw_fft_create)(int64_t n, void *in, void *out, struct lw_cpu_fft **result, struct lw_error *err)
{
    struct fft *const fft = lw_alloc(sizeof *fft, "an FFT plan", err);
    if (!fft)
        return LW_ESYSTEM;
    fft->shape = KERNEL(lw_fft_shape)(n);
    const int rc = fft->shape.rows > 1 ? KERNEL(lw_long_create)(n, &fft->made_here, err) : plan(fft, in, out, err);
    if (rc) {
        KERNEL(lw_fft_destroy)(&fft->shape);
        return rc;
    }
    *result = &fft->shape;
    return LW_OK;
}

void KERNEL(lw_fft_destroy)(struct lw_cpu_fft *shape)
{
    if (!shape)
        return;
    struct fft *const fft = (struct fft *)shape;
    KERNEL(lw_long_destroy)(fft->made_here);
    if (fft->forward)
        FFTW(destroy_plan)(fft->forward);
    if (fft->inverse)
        FFTW(destroy_plan)(fft->inverse);
    lw_free(fft);
}

void KERNEL(lw_fft_forward)(const struct lw_cpu_fft *shape, const void *x, void *spectrum, void *work)
{
    const struct fft *const fft = (const struct fft *)shape;
    if (fft->made_here)
        KERNEL(lw_long_forward)(fft->made_here, x, spectrum, work);
    else
        FFTW(execute_dft)(fft->forward, (FFTW(complex) *)x, spectrum);
}

void KERNEL(lw_fft_multiply)(const struct lw_cpu_fft *shape, const void *h, const void *z, const void *r, void *work)
{
    const struct fft *const fft = (const struct fft *)shape;
    if (fft->made_here)
        KERNEL(lw_long_multiply)(fft->made_here, h, z, r, work);
    else if (!h)
        memcpy(work, z, (size_t)(2 * shape->n) * sizeof(real));
    else if (r)
        KERNEL(lw_multiply_packed)(h, (const real *)h + 2 * shape->n, z, r, work, shape->n);
    else
        KERNEL(lw_multiply)(h, z, work, shape->n);
}

void KERNEL(lw_fft_add)(const struct lw_cpu_fft *shape, const void *h, const void *z, const void *r, double factor, void *sum)
{
    const real *const restrict a = h, *const restrict b = a + 2 * shape->n, *const restrict x = z, *const restrict m = r;
    real *const restrict out = sum;
    const real f = (real)factor;
    for (int64_t i = 0; !m && i < 2 * shape->n; i += 2) {
        out[i] += f * (a[i] * x[i] - a[i + 1] * x[i + 1]);
        out[i + 1] += f * (a[i] * x[i + 1] + a[i + 1] * x[i]);
    }
    for (int64_t i = 0; m && i < 2 * shape->n; i += 2) {
        out[i] += f * (a[i] * x[i] - a[i + 1] * x[i + 1] + (b[i] * m[i] - b[i + 1] * m[i + 1]));
        out[i + 1] += f * (a[i] * x[i + 1] + a[i + 1] * x[i] + (b[i] * m[i + 1] + b[i + 1] * m[i]));
    }
}

void KERNEL(lw_fft_inverse)(const struct lw_cpu_fft *shape, void *work, void *x)
{
    const struct fft *const fft = (const struct fft *)shape;
    if (fft->made_here)
        KERNEL(lw_long_inverse)(fft->made_here, work, x);
    else
        FFTW(execute_dft)(fft->inverse, work, x);
}

const void *KERNEL(lw_fft_strip)(const struct lw_cpu_fft *shape, void *work, int64_t strip)
{
    return KERNEL(lw_long_strip)(((const struct fft *)shape)->made_here, work, strip);
}
