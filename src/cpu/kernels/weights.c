/* weights.c - rows of pixels and their weights, for matched filters of images (engine/engine.h). Compiled per precision and
 * instruction set. */
#include "cpu/kernels/real.h"

#include <float.h>

static const real LARGEST = sizeof(real) == sizeof(float) ? (real)FLT_MAX : (real)DBL_MAX;

static inline bool is_finite(real x) { return REAL_MATH(fabs)(x) <= LARGEST; }

/* Written as two loops below: compilers vectorise these. */
static inline int64_t take_weights(const real *restrict x, real *restrict v, int64_t n, bool is_sigma)
{
    int32_t n_none = 0;
    for (int64_t i = 0; i < n; i++) {
        const real weight = is_sigma ? 1 / v[i] : v[i];
        const bool counts = weight > 0 && weight <= LARGEST && is_finite(x[i]);
        v[i] = counts ? weight : 0;
        n_none += !counts;
    }
    return n_none;
}

int64_t KERNEL(lw_take_weights)(const void *x, void *v, int64_t n, bool is_sigma)
{
    return is_sigma ? take_weights(x, v, n, true) : take_weights(x, v, n, false);
}

void KERNEL(lw_mark_weights)(const void *v, uint8_t *map, int64_t n)
{
    const real *const in = v;
    for (int64_t i = 0; i < n; i++)
        map[i] = in[i] > 0;
}

/* Sums are split into N_CHAINS sums of every N_CHAINS-th number, which compilers vectorise. */
enum { N_CHAINS = 16 };

struct weighing {
    real up[2], down[2];        /* 2^exponent and 2^-exponent, each as a product: they may leave the range of a real */
    double squares[2][N_CHAINS];
};

/* Written as two loops, each of which compilers vectorise. */
static inline int64_t weigh_pixels(struct weighing *w, bool is_sigma, real *restrict x, real *restrict v, int64_t n)
{
    const real up[2] = {w->up[0], w->up[1]}, down[2] = {w->down[0], w->down[1]};
    int32_t n_faint = 0;
    for (int64_t i = 0; i < n; i++) {
        const real scaled = v[i] * down[0] * down[1];
        const real weight = is_sigma ? scaled * scaled : scaled * down[0] * down[1];
        const real product = x[i] * up[0] * up[1] * weight;
        const bool counts = is_finite(product);
        const real kept = counts ? weight : 0;
        x[i] = counts ? product : 0;
        v[i] = kept;
        n_faint += kept > 0 && kept < (real)0x1p-6;
    }
    int64_t i = 0;
    for (; i + N_CHAINS <= n; i += N_CHAINS)
        for (int k = 0; k < N_CHAINS; k++) {
            w->squares[0][k] += (double)x[i + k] * (double)x[i + k];
            w->squares[1][k] += (double)v[i + k] * (double)v[i + k];
        }
    for (int k = 0; i < n; i++, k++) {
        w->squares[0][k] += (double)x[i] * (double)x[i];
        w->squares[1][k] += (double)v[i] * (double)v[i];
    }
    return n_faint;
}

int64_t KERNEL(lw_weigh_pixels)(void *x, void *v, int64_t n, bool is_sigma, int exponent, double squares[2])
{
    const int half = exponent / 2, rest = exponent - half;
    struct weighing w = {{REAL_MATH(ldexp)(1, half), REAL_MATH(ldexp)(1, rest)},
                         {REAL_MATH(ldexp)(1, -half), REAL_MATH(ldexp)(1, -rest)}, {{0}}};
    const int64_t n_faint = is_sigma ? weigh_pixels(&w, true, x, v, n) : weigh_pixels(&w, false, x, v, n);
    for (int k = 0; k < N_CHAINS; k++) {
        squares[0] += w.squares[0][k];
        squares[1] += w.squares[1][k];
    }
    return n_faint;
}

bool KERNEL(lw_divide_by_root)(void *a, const void *b, int64_t n, double least)
{
    real *const restrict out = a;
    const real *const restrict in = b;
    const real bound = (real)least;
    int n_low = 0;
    for (int64_t i = 0; i < n; i++) {
        n_low |= in[i] < bound;
        out[i] /= REAL_MATH(sqrt)(in[i]);
    }
    return n_low;
}

void KERNEL(lw_weighted_sum)(const double *taps, int64_t rows, int64_t columns, const void *x, const void *v, int64_t stride,
                             double sums[2])
{
    enum { N = 8 };
    double a[N] = {0}, b[N] = {0};
    for (int64_t m = 0; m < rows; m++, taps += columns) {
        const real *const p = (const real *)x + m * stride, *const q = (const real *)v + m * stride;
        int64_t n = 0;
        for (; n + N <= columns; n += N) {
            for (int k = 0; k < N; k++) {
                a[k] += taps[n + k] * (double)p[n + k];
                b[k] += taps[n + k] * taps[n + k] * (double)q[n + k];
            }
        }
        for (int k = 0; n < columns; n++, k++) {
            a[k] += taps[n] * (double)p[n];
            b[k] += taps[n] * taps[n] * (double)q[n];
        }
    }
    sums[0] = sums[1] = 0;
    for (int k = 0; k < N; k++) {
        sums[0] += a[k];
        sums[1] += b[k];
    }
}
