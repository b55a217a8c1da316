/* response.h - what a filter does at each frequency, measured on its taps: magnitudes on a fine grid, and the figures that
 * people choose filters by. Frequencies are fractions of the sampling rate. Taps are [n], or [n x 2] if `parts` is 2.
 * Pure: the caller brings the memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Where a filter is to pass and where it is to stop: what lies between is its transition. */
struct lw_filter_bands {
    double pass_low, pass_high;     /* low >= high: it passes nothing flatly */
    double stop_low;                /* it stops from 0 up to here; below 0: nowhere */
    double stop_high;               /* and from here up to 0.5; above 0.5: nowhere */
};

struct lw_filter_figures {
    double gain;                    /* magnitude of the response at the reference frequency */
    double energy;                  /* sum of |h|^2 */
    double ripple_db;               /* largest deviation from that gain in the pass band; NaN: there is none */
    double attenuation_db;          /* least attenuation from that gain in the stop bands; NaN: there are none */
    double edge_low, edge_high;     /* outermost frequencies at which the power is half of its maximum, or the end of the axis */
};

/** Magnitude of the response at one frequency, by the definition. */
double lw_response_at(const double *taps, int64_t n, int parts, double frequency);

/** Points of the grid for filters of n taps: a power of two, at least 16 n. */
int64_t lw_response_points(int64_t n);

/** Numbers of work space that measuring takes with so many points. */
int64_t lw_response_work(int64_t points);

/** Magnitudes at k / points, k < points, in work[0..points). @param work  [lw_response_work(points)] */
void lw_response_magnitudes(const double *taps, int64_t n, int parts, int64_t points, double *work);

/** Figures of one filter. @param bands  NULL: no ripple and no attenuation; of real taps otherwise */
void lw_response_measure(const double *taps, int64_t n, int parts, double reference, const struct lw_filter_bands *bands,
                         double *work, struct lw_filter_figures *figures);
