/* spread.h - sigma of the noise in values that also hold signals, from a histogram of |y|. Pure arithmetic.
 *
 * Each |y| is rounded to LW_SPREAD_BITS bits of mantissa; a bin holds the values that round to the same number. Coarse values, such
 * as small integers, lie near the middle of their bin. Histograms of parts add up to the histogram of the whole, in any order.
 *
 * Sigma begins as the median of |y|, divided by the median for unit noise. Each step clips: the new sigma is the root mean square
 * of the |y| below LW_SPREAD_CLIP sigma, divided by the same for unit noise. Steps end when sigma no longer changes. Real noise is
 * taken as Gaussian. Complex noise has an exponential |y|^2, whose mean, the power of both parts, is sigma^2. Values are taken as
 * evenly spread within a bin, which changes sigma by some 1e-4. */
#pragma once

#include "base/type.h"

#define LW_SPREAD_BITS 5
#define LW_SPREAD_CLIP 2.0
#define LW_SPREAD_SERIES 16

/** Return the number of bins for values of a precision, bins of non-finite values included. */
int64_t lw_spread_bins(enum lw_precision precision);

/* Values of series that are interleaved: value i of series k is values[i stride + k]. */
struct lw_spread_values {
    enum lw_precision precision;
    bool is_complex;
    const void *values;
    int64_t n, stride;          /* values of a series; distance of its neighbouring values, in values */
    int n_series;               /* up to LW_SPREAD_SERIES; 1 if stride is 1 */
    const unsigned char *skip;  /* skip[k skip_pitch + i] other than 0: value i of series k does not count; NULL: all count */
    int64_t skip_pitch;
};

/** Add the values to histograms. @param counts  [n_series] histograms of lw_spread_bins each, `pitch` from one to the next */
void lw_spread_count(const struct lw_spread_values *values, uint32_t *counts, int64_t pitch);

/** Find the bins [*first, *end) outside which all of n bins are empty; 0 and 0 if all bins are empty. */
void lw_spread_range(const uint32_t *counts, int64_t n, int64_t *first, int64_t *end);

/** Return sigma of the counted values; 0 if none is finite, or if at least half of them are 0.
 * @param first     number of the bin that counts[0] stands for; bins outside [first, first + n) are empty
 * @param counts    [n] histogram; its last bin is empty or holds non-finite values; destroyed
 * @param work      [n] work space
 * @param n_finite  set to the number of finite values */
double lw_spread_sigma(enum lw_precision precision, bool is_complex, int64_t first, double *counts, int64_t n, double *work,
                       double *n_finite);
