/* search.c - the inner loops of signal/search.h. Compiled per precision and instruction set, without fused multiply-adds. */
#include "cpu/kernels/real.h"

#include <float.h>
#include <math.h>

/* ---- crossings --------------------------------------------------------------------------------------------------- */

/* An output crosses where the square of y * factors[0] * factors[1] = y / least is 1 or a little less. Two factors, as 1 / least
 * itself may be out of range. */
struct level {
    real factors[2], square;
};

static struct level level_of(double least)
{
    const int half = REAL_MAX_EXPONENT / 2;
    const int exponent = least < ldexp(1, -half) ? half : least > ldexp(1, half) ? -half : 0;
    const real rounding = sizeof(real) == sizeof(float) ? (real)FLT_EPSILON : (real)DBL_EPSILON;
    return (struct level){{(real)ldexp(1, exponent), (real)(1 / ldexp(least, exponent))}, 1 - 16 * rounding};
}

static inline bool crosses(const struct level *level, real re, real im)
{
    const real x = re * level->factors[0] * level->factors[1], y = im * level->factors[0] * level->factors[1];
    return x * x + y * y >= level->square;
}

static inline bool any_crosses(const struct level *level, const real *y, int64_t n, int width)
{
    int found = 0;
    if (width == 1)
        for (int64_t i = 0; i < n; i++)
            found |= crosses(level, y[i], 0);
    else
        for (int64_t i = 0; i < n; i++)
            found |= crosses(level, y[2 * i], y[2 * i + 1]);
    return found;
}

/* Most runs hold no crossing: they are passed over without a branch for each output. */
int64_t KERNEL(lw_next_crossing)(const void *y, int64_t begin, int64_t end, int width, double least)
{
    enum { RUN = 256 };
    const real *const in = y;
    const struct level level = level_of(least);
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

/* What orders outputs of a channel and index like |y|: of float32 numbers the square, which neither over- nor underflows in
 * double, of others |y| itself. `weight` is such that no product of it can overflow. */
static inline double strength(real re, real im, double weight)
{
    const double x = fabs((double)re), y = fabs((double)im);
    if (sizeof(real) == sizeof(float))
        return (x * x + y * y) * (weight * weight);
    const double large = x > y ? x : y, small = x > y ? y : x, slope = small / large;
    return large > 0 ? large * sqrt(1 + slope * slope) * weight : large + small;        /* 0, or NaN */
}

void KERNEL(lw_keep_best)(const void *y, int64_t n, int width, double weight, int32_t filter, const struct lw_cpu_best *best)
{
    const real *const restrict in = y;
    real *const restrict values = best->values;
    double *const restrict strengths = best->strengths;
    int32_t *const restrict filters = best->filters;
    for (int64_t i = 0; i < n; i++) {
        const double found = strength(in[i * width], width == 2 ? in[2 * i + 1] : 0, weight);
        if (!(found > strengths[i]))
            continue;
        strengths[i] = found;
        filters[i] = filter;
        values[i * width] = in[i * width];
        values[i * width + width - 1] = in[i * width + width - 1];
    }
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Sums are made as so many sums of every N_CHAINS-th output. */
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

/* The first of so many outputs. */
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
