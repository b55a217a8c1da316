/* norm.c - energies of the windows under a filter, and sums of normalized outputs. Compiled per precision and instruction set.
 *
 * Sliding sums restart at every n_taps-th sample of a segment (van Herk 1992; Gil and Werman 1993): the window [i, i + M) is the
 * end of one block of M samples and the beginning of the next, so that nothing is ever subtracted and no error grows. Of samples
 * less their mean, each block is taken less a level of its own, the middle of three of its samples, and the two parts are joined
 * by their means (Chan, Golub and LeVeque 1983). Where a level is far from a part's mean beside the part's spread, the window is
 * summed anew. Equal samples give exactly 0. */
#include "cpu/kernels/real.h"

/* A window's energy is summed anew if it is less than SAFE times the sums that it is the difference of. */
#define SAFE 1e-7

/* Sums over one part of a window: of its samples less `level`, and of their squares. */
struct part {
    double sum, squares;
};

static double middle_of(double a, double b, double c)
{
    const double low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Return the energy of a window's samples less their mean, by two passes. */
static double energy_anew(const double *x, int64_t step, int64_t n)
{
    double mean = x[0], squares = 0;
    for (int pass = 0; pass < 2; pass++) {
        double sum = 0;
        squares = 0;
        for (int64_t i = 0; i < n; i++) {
            const double d = x[i * step] - mean;
            sum += d;
            squares += d * d;
        }
        mean += sum / (double)n;
        squares -= sum * sum / (double)n;
    }
    return squares > 0 ? squares : 0;
}

/* Add the energies of the windows that begin in the block [begin, end) of n_taps samples, as far as there are. */
static void add_squares(const struct lw_cpu_windows *w, const double *x, int64_t begin, int64_t end, double *energies)
{
    double sum = 0;
    for (int64_t i = begin + w->n_taps - 1; i >= begin; i--) {
        sum += x[i * w->step] * x[i * w->step];
        if (i < end)
            energies[i] += sum;
    }
    sum = 0;
    for (int64_t i = begin; i + 1 < end; i++) {
        sum += x[(i + w->n_taps) * w->step] * x[(i + w->n_taps) * w->step];
        energies[i + 1] += sum;
    }
}

static double level_of(const struct lw_cpu_windows *w, const double *x, int64_t begin)
{
    const int64_t last = w->n + w->n_taps - 2, end = begin + w->n_taps - 1 < last ? begin + w->n_taps - 1 : last;
    return middle_of(x[begin * w->step], x[(begin + end) / 2 * w->step], x[end * w->step]);
}

/* Add the same of samples less their mean. parts: scratch, [2 x n_taps] */
static void add_deviations(const struct lw_cpu_windows *w, const double *x, int64_t begin, int64_t end, struct part *parts,
                           double *energies)
{
    const int64_t m = w->n_taps, step = w->step;
    const bool is_alone = begin + 1 >= end;             /* the only window is the block itself */
    const double level = level_of(w, x, begin), next_level = is_alone ? level : level_of(w, x, begin + m);
    struct part *const ends = parts, *const beginnings = parts + m, sum = {0};
    struct part at = sum;
    for (int64_t i = m - 1; i >= 0; i--) {
        const double d = x[(begin + i) * step] - level;
        at.sum += d;
        at.squares += d * d;
        ends[i] = at;
    }
    beginnings[0] = at = sum;
    for (int64_t i = 1; begin + i < end; i++) {
        const double d = x[(begin + m + i - 1) * step] - next_level;
        at.sum += d;
        at.squares += d * d;
        beginnings[i] = at;
    }
    for (int64_t i = 0; begin + i < end; i++) {
        const double n = (double)(m - i), n_next = (double)i, mean = ends[i].sum / n;
        const double next_mean = i > 0 ? beginnings[i].sum / n_next : 0, apart = next_level + next_mean - (level + mean);
        const double squares = ends[i].squares + beginnings[i].squares;
        const double within = ends[i].squares - ends[i].sum * mean + (beginnings[i].squares - beginnings[i].sum * next_mean);
        const double energy = within + apart * apart * (n * n_next / (double)m);
        energies[begin + i] += energy >= SAFE * squares ? energy : energy_anew(x + (begin + i) * step, step, m);
    }
}

void KERNEL(lw_energies)(const struct lw_cpu_windows *w, const double *x, double *scratch, double *energies)
{
    for (int64_t begin = 0; begin < w->n; begin += w->n_taps) {
        const int64_t end = begin + w->n_taps < w->n ? begin + w->n_taps : w->n;
        if (w->is_demeaned)
            add_deviations(w, x, begin, end, (struct part *)(void *)scratch, energies);
        else
            add_squares(w, x, begin, end, energies);
    }
}

void KERNEL(lw_invert_roots)(const double *energies, int64_t n, double least, void *out)
{
    real *const to = out;
    for (int64_t i = 0; i < n; i++)
        to[i] = energies[i] > least ? (real)(1 / sqrt(energies[i])) : 0;
}

void KERNEL(lw_gain)(void *y, const void *gains, int64_t n, int width)
{
    real *const restrict out = y;
    const real *const restrict g = gains;
    if (width == 1)
        for (int64_t i = 0; i < n; i++)
            out[i] *= g[i];
    else
        for (int64_t i = 0; i < 2 * n; i++)
            out[i] *= g[i / 2];
}

void KERNEL(lw_add_weighted)(void *sum, const void *y, const void *gains, double weight, int64_t n, int width)
{
    real *const restrict out = sum;
    const real *const restrict in = y, *const restrict g = gains;
    const real factor = (real)weight;
    if (!g)
        for (int64_t i = 0; i < n * width; i++)
            out[i] += factor * in[i];
    else if (width == 1)
        for (int64_t i = 0; i < n; i++)
            out[i] += factor * (in[i] * g[i]);
    else
        for (int64_t i = 0; i < 2 * n; i++)
            out[i] += factor * (in[i] * g[i / 2]);
}
