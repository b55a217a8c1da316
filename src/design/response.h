/* response.h - the frequency response of a filter: magnitudes on a fine grid, and figures by which people choose filters. Pure.
 * Frequencies are fractions of the sampling rate. Taps are [n], or [n x 2] if `parts` is 2. The caller allocates the memory. */
#pragma once

#include <stdint.h>

/* The bands that a filter is designed to pass and to stop; between them lie its transitions. */
struct lw_filter_bands {
    double pass_low, pass_high;     /* the pass band; low >= high: there is none */
    double stop_low;                /* end of the lower stop band, which begins at 0; below 0: there is none */
    double stop_high;               /* beginning of the upper stop band, which ends at 0.5; above 0.5: there is none */
};

struct lw_filter_figures {
    double gain;                    /* magnitude of the response at the reference frequency */
    double energy;                  /* sum of |h|^2 */
    double ripple_db;               /* largest deviation from `gain` in the pass band; NaN: no pass band */
    double attenuation_db;          /* least attenuation relative to `gain` in the stop bands; NaN: no stop band */
    double edge_low, edge_high;     /* outermost frequencies of half the maximum power, or the ends of the frequency axis */
};

/** Return the magnitude of the response at one frequency, summed by the definition. */
double lw_response_at(const double *taps, int64_t n, int parts, double frequency);

/** Return the number of points of the grid for filters of n taps: a power of two, at least 16 n. */
int64_t lw_response_points(int64_t n);

/** Return the doubles of work space for a grid of `points`. */
int64_t lw_response_work(int64_t points);

/** Set work[k] to the magnitude at frequency k / points, 0 <= k < points. @param work  [lw_response_work(points)] */
void lw_response_magnitudes(const double *taps, int64_t n, int parts, int64_t points, double *work);

/** Find the figures of one filter. @param bands  of a filter with real taps; NULL: ripple and attenuation become NaN
 * @param reference  the frequency of `gain` @param work  [lw_response_work(lw_response_points(n))] */
void lw_response_measure(const double *taps, int64_t n, int parts, double reference, const struct lw_filter_bands *bands,
                         double *work, struct lw_filter_figures *figures);
