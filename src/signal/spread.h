/* spread.h - sigma of the noise in values that hold signals, too. Pure arithmetic.
 *
 * |y| is counted in bins: its exponent and the LW_SPREAD_BITS highest bits of its mantissa, rounded, so that numbers of so few bits
 * lie near the middle of theirs. Counts of parts add up to those of the whole, in any order. Sigma begins as the median of |y|, as
 * a multiple of that in noise of 1. From then on it is the root mean square of the |y| below LW_SPREAD_CLIP sigma, as a multiple of
 * that in noise of 1, until it stands. Noise is Gaussian where y is real. Where it is complex, |y|^2 is exponential, and sigma^2
 * its mean, the power of both parts. Within a bin |y| counts as spread evenly, which changes sigma by some 1e-4. */
#pragma once

#include "base/type.h"

#include <stdint.h>

#define LW_SPREAD_BITS 5
#define LW_SPREAD_CLIP 2.0
#define LW_SPREAD_SERIES 16

/** Bins of values of that precision; those that are not finite have some, too. */
int64_t lw_spread_bins(enum lw_precision precision);

/* Values of series that lie side by side: that of series k at i has number i stride + k. */
struct lw_spread_values {
    enum lw_precision precision;
    bool is_complex;
    const void *values;
    int64_t n, stride;
    int n_series;               /* up to LW_SPREAD_SERIES; 1 where stride is 1 */
    const unsigned char *skip;  /* of series k at k skip_pitch + i; not 0: the value does not count; NULL: all do */
    int64_t skip_pitch;
};

/** Count them. @param counts  [n_series] of lw_spread_bins, `pitch` from one to the next; added to */
void lw_spread_count(const struct lw_spread_values *values, uint32_t *counts, int64_t pitch);

/** Find the bins [*first, *end) of n beyond which all are empty; 0 and 0 where all are. */
void lw_spread_range(const uint32_t *counts, int64_t n, int64_t *first, int64_t *end);

/** Sigma of what was counted; 0 where no value is finite, or more than half of them are 0.
 * @param first   the bin that counts[0] is of; those that are left out are empty
 * @param counts  [n] destroyed
 * @param work    [n]
 * @param n_finite  set: how many values were finite */
double lw_spread_sigma(enum lw_precision precision, bool is_complex, int64_t first, double *counts, int64_t n, double *work,
                       double *n_finite);
