/* arithmetic.c - loops over buffers of reals. Compiled per precision and instruction set. */
#include "cpu/kernels/real.h"

/* Mask of a real's magnitude. Magnitudes order like their bits, with infinity and NaN above the largest number. Compilers vectorise
 * comparisons of these integers, but not comparisons of reals that must honour NaN. */
#define MAGNITUDE_BITS ((real_bits)(((real_ubits)1 << (8 * sizeof(real) - 1)) - 1))

double KERNEL(lw_largest)(const void *x, int64_t n)
{
    const real_bits *const restrict in = x;
    real_bits largest = 0;
    for (int64_t i = 0; i < n; i++) {
        const real_bits magnitude = in[i] & MAGNITUDE_BITS;
        largest = magnitude > largest ? magnitude : largest;
    }
    real value;
    memcpy(&value, &largest, sizeof value);
    return isfinite(value) ? (double)value : INFINITY;
}

void KERNEL(lw_repair)(struct lw_cpu_repair *repair, void *x)
{
    const int64_t reach = repair->n_taps - 1;
    const int width = repair->width;
    int64_t unmarked = 0;               /* first output that a later sample may still mark */
    memset(repair->touched, 0, (size_t)repair->n_outputs);
    repair->n_own = repair->first_own = 0;
    for (int64_t i = 0; i < repair->n_samples; i++) {
        real *const sample = (real *)x + i * width;
        if (isfinite(sample[0]) && isfinite(sample[width - 1]))
            continue;
        sample[0] = sample[width - 1] = 0;
        if (i >= repair->halo && repair->n_own++ == 0)
            repair->first_own = i - repair->halo;
        unmarked = unmarked > i - reach ? unmarked : i - reach;
        const int64_t end = i + 1 < repair->n_outputs ? i + 1 : repair->n_outputs;
        for (; unmarked < end; unmarked++)
            repair->touched[unmarked] = 1;
    }
}

void KERNEL(lw_blank)(void *y, const uint8_t *touched, int64_t n, int width)
{
    real *const out = y;
    for (int64_t i = 0; i < n; i++)
        if (touched[i])
            out[i * width] = out[i * width + width - 1] = (real)NAN;
}

void KERNEL(lw_fill)(void *x, int64_t n, double value)
{
    real *const out = x;
    for (int64_t i = 0; i < n; i++)
        out[i] = (real)value;
}

/* 2^exponent itself may leave the range of a real, so x is multiplied by two factors of about half the exponent. */
void KERNEL(lw_scale)(void *x, int64_t n, int exponent)
{
    const int half = exponent / 2, limit = REAL_MAX_EXPONENT - 1;
    const int clamped[2] = {half, exponent - half};
    real factors[2];
    for (int i = 0; i < 2; i++)
        factors[i] = REAL_MATH(ldexp)(1, clamped[i] > limit ? limit : clamped[i] < -limit ? -limit : clamped[i]);
    real *const out = x;
    for (int64_t i = 0; i < n; i++)
        out[i] = out[i] * factors[0] * factors[1];
}

void KERNEL(lw_quarter_turn)(const void *x, void *out, int64_t n)
{
    const real *const restrict in = x;
    real *const restrict to = out;
    for (int64_t i = 0; i < n; i++) {
        to[2 * i] = -in[2 * i + 1];
        to[2 * i + 1] = in[2 * i];
    }
}

void KERNEL(lw_multiply)(const real *restrict a, const real *restrict b, real *restrict out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const real a_re = a[2 * i], a_im = a[2 * i + 1], b_re = b[2 * i], b_im = b[2 * i + 1];
        out[2 * i] = a_re * b_re - a_im * b_im;
        out[2 * i + 1] = a_re * b_im + a_im * b_re;
    }
}

void KERNEL(lw_multiply_packed)(const real *restrict a, const real *restrict b, const real *restrict in,
                                const real *restrict mirrored, real *restrict out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const real a_re = a[2 * i], a_im = a[2 * i + 1], z_re = in[2 * i], z_im = in[2 * i + 1];
        const real b_re = b[2 * i], b_im = b[2 * i + 1], r_re = mirrored[2 * i], r_im = mirrored[2 * i + 1];
        out[2 * i] = a_re * z_re - a_im * z_im + (b_re * r_re - b_im * r_im);
        out[2 * i + 1] = a_re * z_im + a_im * z_re + (b_re * r_im + b_im * r_re);
    }
}

/* Reverse a vector of complex numbers and conjugate them. Compilers do not vectorise this by themselves. */
static inline vector mirrored(vector v)
{
    enum { LAST = VECTOR_BYTES / sizeof(real) - 1 };
    indices order, signs;
    for (int i = 0; i <= LAST; i++) {
        order[i] = LAST - (i ^ 1);
        signs[i] = i % 2 == 0 ? 0 : ~MAGNITUDE_BITS;
    }
    return (vector)((indices)__builtin_shuffle(v, order) ^ signs);
}

void KERNEL(lw_mirror_run)(const real *in, real *out, int64_t n)
{
    const int64_t step = VECTOR_BYTES / (2 * (int64_t)sizeof(real));
    int64_t j = 0;
    for (; j + step <= n; j += step)
        *(loose_vector *)(out + 2 * j) = mirrored(*(const loose_vector *)(in + 2 * (n - step - j)));
    for (; j < n; j++) {
        out[2 * j] = in[2 * (n - 1 - j)];
        out[2 * j + 1] = -in[2 * (n - 1 - j) + 1];
    }
}

/* Bin n - k of k = k1 + rows * k2 is (rows - k1) + rows * (columns - 1 - k2); for k1 = 0 it is rows * (columns - k2), in row 0. */
void KERNEL(lw_mirror)(const struct lw_cpu_fft *fft, const void *z, void *r)
{
    const real *const in = z;
    real *const out = r;
    out[0] = in[0];
    out[1] = -in[1];
    KERNEL(lw_mirror_run)(in + 2, out + 2, fft->columns - 1);
    for (int64_t k1 = 1; k1 < fft->rows; k1++)
        KERNEL(lw_mirror_run)(in + 2 * fft->columns * (fft->rows - k1), out + 2 * fft->columns * k1, fft->columns);
}

void KERNEL(lw_widen)(void *x, int64_t n)
{
    real *const out = x;
    const real *const in = out + n;
    for (int64_t i = 0; i < n; i++) {
        out[2 * i] = in[i];
        out[2 * i + 1] = 0;
    }
}

void KERNEL(lw_narrow)(void *x, int64_t n)
{
    real *const out = x;
    for (int64_t i = 0; i < n; i++)
        out[i] = out[2 * i];
}

void KERNEL(lw_round_reals)(const double *in, void *out, int64_t n)
{
    real *const to = out;
    for (int64_t i = 0; i < n; i++)
        to[i] = (real)in[i];
}
