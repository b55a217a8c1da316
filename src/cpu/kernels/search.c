/* search.c - inner loops of the search (signal/search.h). Per precision and instruction set, without fused multiply-adds. */
#include "cpu/kernels/real.h"

#include <float.h>

/* ---- crossings --------------------------------------------------------------------------------------------------- */

/* An output y is a crossing if (y * factors[0] * factors[1])^2 >= square. Both factors are 1 (is_plain) where the square of `least`
 * is well within the precision's range. Elsewhere they divide by `least`, in two steps: 1 / least may leave the range, too. */
struct level {
    real factors[2], square;
    bool is_plain;
};

static struct level level_of(double least)
{
    const double range = sizeof(real) == sizeof(float) ? 0x1p-48 : 0x1p-500;
    const real rounding = sizeof(real) == sizeof(float) ? (real)FLT_EPSILON : (real)DBL_EPSILON;
    const real square = 1 - 16 * rounding;
    if (least > range && least < 1 / range)
        return (struct level){{1, 1}, (real)(least * least) * square, true};
    const int exponent = least < 1 ? REAL_MAX_EXPONENT / 2 : -(REAL_MAX_EXPONENT / 2);
    return (struct level){{(real)ldexp(1, exponent), (real)(1 / ldexp(least, exponent))}, square, false};
}

static inline bool crosses(const struct level *level, real re, real im)
{
    const real x = re * level->factors[0] * level->factors[1], y = im * level->factors[0] * level->factors[1];
    return x * x + y * y >= level->square;
}

/* Return whether any of n reals forms a crossing with the real `next` places further on (0: alone). In complex outputs, imaginary
 * parts are also paired with the next real parts: vectors then need no shuffling, and false alarms are as rare as crossings. */
static inline bool any_pair_crosses(const struct level *level, const real *y, int64_t n, int next)
{
    int found = 0;
    for (int64_t i = 0; i < n; i++)
        found |= crosses(level, y[i], next ? y[i + next] : 0);
    return found;
}

static bool any_crosses(const struct level *level, const real *y, int64_t n, int width)
{
    const struct level plain = {{1, 1}, level->square, true};
    if (width == 1)
        return level->is_plain ? any_pair_crosses(&plain, y, n, 0) : any_pair_crosses(level, y, n, 0);
    return level->is_plain ? any_pair_crosses(&plain, y, 2 * n - 1, 1) : any_pair_crosses(level, y, 2 * n - 1, 1);
}

/* Most runs of outputs hold no crossing, and are passed over without a branch for each output. A search often starts behind a
 * crossing, which another one often follows. So output `begin` is tested before any run. */
int64_t KERNEL(lw_next_crossing)(const void *y, int64_t begin, int64_t end, int width, double least)
{
    enum { RUN = 512 };
    const real *const in = y;
    const struct level level = level_of(least);
    if (begin < end && crosses(&level, in[begin * width], width == 2 ? in[2 * begin + 1] : 0))
        return begin;
    for (int64_t run = begin; run < end; run += RUN) {
        const int64_t run_end = end - run < RUN ? end : run + RUN;
        if (!any_crosses(&level, in + run * width, run_end - run, width))
            continue;
        for (int64_t i = run; i < run_end; i++)
            if (crosses(&level, in[i * width], width == 2 ? in[2 * i + 1] : 0))
                return i;
    }
    return end;
}

/* ---- the best filter --------------------------------------------------------------------------------------------- */

/* Return an output's strength, which orders the outputs of all filters like |y| * weight. For float32 it is the square, which
 * neither overflows nor underflows in double; for float64, |y| * weight itself. No product overflows, as weight <= 1. */
static inline double strength(real re, real im, double weight)
{
    const double x = fabs((double)re), y = fabs((double)im);
    if (sizeof(real) == sizeof(float))
        return (x * x + y * y) * (weight * weight);
    const double large = x > y ? x : y, small = x > y ? y : x, slope = small / large;
    return large > 0 ? large * sqrt(1 + slope * slope) * weight : large + small;        /* large + small is 0, or NaN */
}

/* Outputs that are compared with the best ones at a time. */
enum { BEST_RUN = 256 };

/* Mark the outputs that beat `strengths`, and update `strengths`. is_signed: strength is y * weight, weight < 0: negative sign. */
static inline void compare(const real *y, int64_t n, int width, bool is_signed, double weight, double *restrict strengths,
                           int32_t *restrict is_best)
{
    for (int64_t i = 0; i < n; i++) {
        const double found = is_signed ? (double)y[i] * weight : strength(y[i * width], width == 2 ? y[2 * i + 1] : 0, weight);
        is_best[i] = found > strengths[i] ? -1 : 0;
        strengths[i] = found > strengths[i] ? found : strengths[i];
    }
}

/* Copy from[i] to to[i] where is_best[i] is set. Both are read in any case: loops with branches are not vectorised. */
static inline void take(const real *restrict from, const int32_t *restrict is_best, int64_t n, int width, real *restrict to)
{
    for (int64_t i = 0; i < n; i++) {
        const real re = from[i * width], im = from[i * width + width - 1];
        const real kept_re = to[i * width], kept_im = to[i * width + width - 1];
        to[i * width] = is_best[i] ? re : kept_re;
        to[i * width + width - 1] = is_best[i] ? im : kept_im;
    }
}

void KERNEL(lw_keep_best)(const void *y, int64_t n, int width, enum lw_sign sign, double weight, int32_t filter,
                          const struct lw_cpu_best *best)
{
    for (int64_t run = 0; run < n; run += BEST_RUN) {
        const int64_t count = n - run < BEST_RUN ? n - run : BEST_RUN;
        const real *const in = (const real *)y + run * width;
        real *const values = (real *)best->values + run * width;
        int32_t *const filters = best->filters + run, is_best[BEST_RUN];
        if (sign != LW_SIGN_BOTH) {
            compare(in, count, 1, true, sign == LW_SIGN_POSITIVE ? weight : -weight, best->strengths + run, is_best);
            take(in, is_best, count, 1, values);
        } else if (width == 1) {
            compare(in, count, 1, false, weight, best->strengths + run, is_best);
            take(in, is_best, count, 1, values);
        } else {
            compare(in, count, 2, false, weight, best->strengths + run, is_best);
            take(in, is_best, count, 2, values);
        }
        for (int64_t i = 0; i < count; i++)
            filters[i] = is_best[i] ? filter : filters[i];
    }
}

/* ---- statistics of blocks ---------------------------------------------------------------------------------------- */

/* A sum is split into N_CHAINS sums of every N_CHAINS-th output, which compilers vectorise. */
enum { N_CHAINS = 16 };

struct chains {
    double largest[N_CHAINS], re[N_CHAINS], im[N_CHAINS], squares[N_CHAINS];
};

static inline void add_output(struct chains *sums, int k, real re, real im, double scale)
{
    const double x = (double)re * scale, y = (double)im * scale, square = x * x + y * y;
    sums->re[k] += (double)re;
    sums->im[k] += (double)im;
    sums->squares[k] += square;
    sums->largest[k] = square > sums->largest[k] ? square : sums->largest[k];
}

/* Add n <= N_CHAINS outputs, one to each chain. */
static inline void add_outputs(struct chains *sums, const real *y, int n, int width, double scale)
{
    if (width == 1)
        for (int k = 0; k < n; k++)
            add_output(sums, k, y[k], 0, scale);
    else
        for (int k = 0; k < n; k++)
            add_output(sums, k, y[2 * k], y[2 * k + 1], scale);
}

void KERNEL(lw_measure)(const void *y, int64_t n, int width, struct lw_cpu_cell *cell)
{
    const real *const in = y;
    const double scale = ldexp(1, -cell->exponent);
    struct chains sums = {0};
    int64_t i = 0;
    for (; i + N_CHAINS <= n; i += N_CHAINS)
        add_outputs(&sums, in + i * width, N_CHAINS, width, scale);
    add_outputs(&sums, in + i * width, (int)(n - i), width, scale);
    *cell = (struct lw_cpu_cell){.exponent = cell->exponent};
    for (int k = 0; k < N_CHAINS; k++) {
        cell->re += sums.re[k];
        cell->im += sums.im[k];
        cell->squares += sums.squares[k];
        cell->largest = fmax(cell->largest, sums.largest[k]);
    }
}
