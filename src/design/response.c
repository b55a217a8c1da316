#include "design/response.h"

#include "design/taps.h"

#include <math.h>
#include <string.h>

enum { POINTS_PER_TAP = 16, LEAST_POINTS = 4096 };

double lw_response_at(const double *taps, int64_t n, int parts, double frequency)
{
    double re = 0, im = 0;
    for (int64_t m = 0; m < n; m++) {
        const double angle = 2 * M_PI * fmod(frequency * (double)m, 1), c = cos(angle), s = sin(angle);
        const double a = taps[m * parts], b = parts == 2 ? taps[m * parts + 1] : 0;
        re += a * c + b * s;
        im += b * c - a * s;
    }
    return hypot(re, im);
}

/* ---- all frequencies of a grid, by a plain transform of radix 2: this layer lies below the engines and their transforms ---- */

int64_t lw_response_points(int64_t n)
{
    int64_t points = LEAST_POINTS;
    while (points < POINTS_PER_TAP * n)
        points *= 2;
    return points;
}

/* Work space of a transform: `points` complex numbers, and half as many complex factors. */
int64_t lw_response_work(int64_t points) { return 3 * points; }

static void load(const double *taps, int64_t n, int parts, int64_t points, double *grid)
{
    memset(grid, 0, (size_t)points * 2 * sizeof *grid);
    int64_t reversed = 0;       /* m with its bits in reverse order */
    for (int64_t m = 0; m < n; m++) {
        grid[2 * reversed] = taps[m * parts];
        grid[2 * reversed + 1] = parts == 2 ? taps[m * parts + 1] : 0;
        int64_t bit = points / 2;
        for (; reversed & bit; bit /= 2)
            reversed ^= bit;
        reversed |= bit;
    }
}

/* Merge two transforms of `half` points, which lie one behind the other, into one of 2 `half` points, in place. */
static void merge(double *low, int64_t half, const double *turns, int64_t step)
{
    double *const high = low + 2 * half;
    for (int64_t k = 0; k < half; k++) {
        const double *const turn = turns + 2 * k * step;
        const double re = high[2 * k] * turn[0] - high[2 * k + 1] * turn[1];
        const double im = high[2 * k] * turn[1] + high[2 * k + 1] * turn[0];
        high[2 * k] = low[2 * k] - re;
        high[2 * k + 1] = low[2 * k + 1] - im;
        low[2 * k] += re;
        low[2 * k + 1] += im;
    }
}

void lw_response_magnitudes(const double *taps, int64_t n, int parts, int64_t points, double *work)
{
    double *const turns = work + 2 * points;
    load(taps, n, parts, points, work);
    for (int64_t k = 0; k < points / 2; k++) {
        const double angle = 2 * M_PI * (double)k / (double)points;
        turns[2 * k] = cos(angle);
        turns[2 * k + 1] = -sin(angle);
    }
    for (int64_t half = 1; half < points; half *= 2)
        for (int64_t block = 0; block < points; block += 2 * half)
            merge(work + 2 * block, half, turns, points / (2 * half));
    for (int64_t k = 0; k < points; k++)
        work[k] = hypot(work[2 * k], work[2 * k + 1]);
}

/* ---- figures ---- */

static double decibels(double ratio) { return 20 * log10(ratio); }

/* The filter whose bands are measured. Its taps serve for the ends of the bands, which need not lie on the grid. */
struct measured {
    const double *taps, *magnitudes;
    int64_t n, points;
};

/* Widen *least .. *most so that it holds the magnitudes from frequency low to high. The top of a side lobe lies between points of
 * the grid. The vertex of the parabola through the highest point and its neighbours stands for this top. */
static void band_range(const struct measured *filter, double low, double high, double *least, double *most)
{
    const int64_t points = filter->points, end = (int64_t)floor(high * (double)points);
    const double ends[2] = {lw_response_at(filter->taps, filter->n, 1, low), lw_response_at(filter->taps, filter->n, 1, high)};
    *least = fmin(*least, fmin(ends[0], ends[1]));
    *most = fmax(*most, fmax(ends[0], ends[1]));
    for (int64_t k = (int64_t)ceil(low * (double)points); k <= end; k++) {
        const double before = filter->magnitudes[(k + points - 1) % points], after = filter->magnitudes[(k + 1) % points];
        const double here = filter->magnitudes[k], slope = after - before, bend = before - 2 * here + after;
        const double magnitude = (here - before) * (here - after) > 0 ? here - slope * slope / (8 * bend) : here;
        *least = fmin(*least, magnitude);
        *most = fmax(*most, magnitude);
    }
}

static double ripple(const struct measured *filter, const struct lw_filter_bands *bands, double gain)
{
    double least = INFINITY, most = 0;
    if (bands->pass_low >= bands->pass_high)
        return NAN;
    band_range(filter, bands->pass_low, bands->pass_high, &least, &most);
    return fmax(decibels(most / gain), -decibels(least / gain));
}

static double attenuation(const struct measured *filter, const struct lw_filter_bands *bands, double gain)
{
    double least = INFINITY, most = -1;
    if (bands->stop_low >= 0)
        band_range(filter, 0, bands->stop_low, &least, &most);
    if (bands->stop_high <= 0.5)
        band_range(filter, bands->stop_high, 0.5, &least, &most);
    return most < 0 ? NAN : -decibels(most / gain);
}

/* Return the magnitude at frequency k / points; negative frequencies lie behind the positive ones in the grid. */
static double magnitude_at(const double *magnitudes, int64_t points, int64_t k)
{
    return magnitudes[k < 0 ? k + points : k];
}

/* Return the first frequency of magnitude `level`, from point `begin` on in steps of +1 or -1; linear between points. */
static double find_edge(const double *magnitudes, int64_t points, int64_t begin, int step, double level)
{
    int64_t k = begin;
    while (magnitude_at(magnitudes, points, k) < level)
        k += step;
    if (k == begin)
        return (double)k / (double)points;
    const double here = magnitude_at(magnitudes, points, k), before = magnitude_at(magnitudes, points, k - step);
    return ((double)k - step * (here - level) / (here - before)) / (double)points;
}

void lw_response_measure(const double *taps, int64_t n, int parts, double reference, const struct lw_filter_bands *bands,
                         double *work, struct lw_filter_figures *figures)
{
    const int64_t points = lw_response_points(n);
    const struct measured filter = {.taps = taps, .magnitudes = work, .n = n, .points = points};
    lw_response_magnitudes(taps, n, parts, points, work);
    *figures = (struct lw_filter_figures){
        .gain = lw_response_at(taps, n, parts, reference),
        .energy = lw_taps_energy(taps, n * parts),
        .ripple_db = NAN,
        .attenuation_db = NAN,
    };
    if (bands) {
        figures->ripple_db = ripple(&filter, bands, figures->gain);
        figures->attenuation_db = attenuation(&filter, bands, figures->gain);
    }
    double most = 0;
    for (int64_t k = 0; k < points; k++)
        most = fmax(most, work[k]);
    figures->edge_low = find_edge(work, points, parts == 2 ? -points / 2 : 0, 1, most * sqrt(0.5));
    figures->edge_high = find_edge(work, points, points / 2, -1, most * sqrt(0.5));
}
