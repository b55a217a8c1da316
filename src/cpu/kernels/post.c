/* post.c - arithmetic of --post (signal/post.h). Compiled per precision and instruction set, without fused multiply-adds. */
#include "cpu/kernels/real.h"

/* ---- operations on single samples ------------------------------------------------------------------------------------ */
static bool keep(void *y, int64_t n, int width, double least, double most)
{
    (void)y, (void)n, (void)width, (void)least, (void)most;
    return false;
}

static inline bool is_out_of_range(real power, bool is_zero, real least, real most)
{
    return (power < least && !is_zero) || power > most;
}

static bool power(void *y, int64_t n, int width, double least, double most)
{
    real *const out = y;
    const real low = (real)least, high = (real)most;
    int found = 0;
    if (width == 1) {
        for (int64_t i = 0; i < n; i++) {
            const real x = out[i], power = x * x;
            found |= is_out_of_range(power, x == 0, low, high);
            out[i] = power;
        }
        return found;
    }
    for (int64_t i = 0; i < n; i++) {
        const real re = out[2 * i], im = out[2 * i + 1], power = re * re + im * im;
        found |= is_out_of_range(power, re == 0 && im == 0, low, high);
        out[i] = power;
    }
    return found;
}

/* Return |re + i im|. In double the squares of float32 numbers, and their sum, neither overflow nor underflow. */
static inline real length(real re, real im)
{
    return sizeof(real) == sizeof(float) ? (real)sqrt((double)re * (double)re + (double)im * (double)im)
                                         : (real)hypot((double)re, (double)im);
}

static bool amplitude(void *y, int64_t n, int width, double least, double most)
{
    (void)least, (void)most;
    real *const out = y;
    if (width == 1)
        for (int64_t i = 0; i < n; i++)
            out[i] = REAL_MATH(fabs)(out[i]);
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = length(out[2 * i], out[2 * i + 1]);
    return false;
}

lw_cpu_make_fn *const KERNEL(lw_make)[LW_POST_KINDS] = {
#define X(kind, name, unit, traits, function, help) function,
    LW_POSTS(X)
#undef X
};

/* ---- interpolation ----------------------------------------------------------------------------------------------- */

/* Make the outputs (phases) [from, to) of the sample at y. Every sum runs in the order of k: all phases round alike. */
static inline void add_phases(const struct lw_cpu_phases *phases, const real *y, int from, int to, int width, real *out)
{
    const real *const weights = phases->weights;
    const int group = from > 0;
    for (int r = from * width; r < to * width; r++)
        out[r] = 0;
    for (int k = phases->begin[group]; k < phases->end[group]; k++) {
        const real *const weight = weights + k * phases->rate, *const at = y + (k - LW_POST_REACH) * width;
        if (width == 1)
            for (int r = from; r < to; r++)
                out[r] += weight[r] * at[0];
        else
            for (int r = from; r < to; r++) {
                out[2 * r] += weight[r] * at[0];
                out[2 * r + 1] += weight[r] * at[1];
            }
    }
}

/* Below MANY phases, loops are vectorised along the axis, RUN sums at a time; from MANY on, along the phases. */
enum { RUN = 512, MANY = 32 };

/* Make one of the outputs of each of n samples: phase number `phase`. */
static void add_run(const struct lw_cpu_phases *phases, const real *y, int64_t n, int phase, int width, real *out)
{
    const real *const weights = (const real *)phases->weights + phase;
    const int group = phase > 0;
    real sums[RUN];
    for (int64_t i = 0; i < n * width; i += RUN) {
        const int64_t left = n * width - i, count = left < RUN ? left : RUN;
        for (int64_t j = 0; j < count; j++)
            sums[j] = 0;
        for (int k = phases->begin[group]; k < phases->end[group]; k++) {
            const real weight = weights[k * phases->rate], *const at = y + i + (k - LW_POST_REACH) * width;
            for (int64_t j = 0; j < count; j++)
                sums[j] += weight * at[j];
        }
        real *const to = out + i * phases->rate + phase * width;
        if (width == 1)
            for (int64_t j = 0; j < count; j++)
                to[j * phases->rate] = sums[j];
        else
            for (int64_t j = 0; j < count; j += 2) {
                to[j * phases->rate] = sums[j];
                to[j * phases->rate + 1] = sums[j + 1];
            }
    }
}

void KERNEL(lw_interpolate)(const struct lw_cpu_phases *phases, const void *y, int64_t n, int n_phases, int width, void *out)
{
    const real *const in = y;
    real *const to = out;
    for (int phase = 0; phases->rate < MANY && phase < n_phases; phase++)
        add_run(phases, in, n, phase, width, to);
    for (int64_t i = 0; phases->rate >= MANY && i < n; i++) {
        add_phases(phases, in + i * width, 0, 1, width, to + i * phases->rate * width);
        add_phases(phases, in + i * width, 1, n_phases, width, to + i * phases->rate * width);
    }
}

/* ---- direct sums ------------------------------------------------------------------------------------------------- */

/* A sum is split into N_CHAINS sums of every N_CHAINS-th term, which are shorter and thus have smaller rounding errors. */
enum { N_CHAINS = 8 };

static double dot(const double *taps, int tap_step, const real *last, int64_t sample_step, int64_t n)
{
    double sums[N_CHAINS] = {0};
    for (int64_t m = 0; m < n; m++)
        sums[m % N_CHAINS] += taps[m * tap_step] * (double)last[-m * sample_step];
    double sum = 0;
    for (int i = 0; i < N_CHAINS; i++)
        sum += sums[i];
    return sum;
}

void KERNEL(lw_sum)(const double *taps, int parts, const void *x, int width, int64_t n, double sum[2])
{
    const real *const last = (const real *)x + (n - 1) * width;
    sum[0] = dot(taps, parts, last, width, n);
    sum[1] = 0;
    if (parts == 2)
        sum[1] += dot(taps + 1, parts, last, width, n);
    if (width == 2)
        sum[1] += dot(taps, parts, last + 1, width, n);
    if (parts == 2 && width == 2)
        sum[0] -= dot(taps + 1, parts, last + 1, width, n);
}
