/* array.h - sums over the channels of an array, each channel shifted by a delay of its own. Pure arithmetic.
 *
 * x[c] are the channels of the input, 0 <= c < n_inputs. There are two sums, of which a run makes one:
 *
 *   beams   b[d][i] = sum over c of weights[d][c] x[c][i + delays[d][c]], before the filters. Beam d then is channel d of all that
 *           follows. A dispersed pulse at time i of the highest frequency is in line in the beam of its dispersion measure
 *   stacks  y[f][i] = sum over c of weights[f][c] r[f][c][i + delays[f][c]], behind the filters, where r[f][c] is the output of
 *           filter f in channel c, perhaps normalized. All that follows sees one channel
 *
 * Channels of weight 0 are left out, whatever their samples. The order of a sum depends on the delays and weights alone, never on
 * ranks, rounds or threads.
 *
 * Normalized outputs are correlation coefficients of a filter's taps h, taken as the template t[m] = h[M - 1 - m], with the M
 * samples under them: sum t x / sqrt(sum t^2 sum x^2), |r| <= 1 (ENERGY), or the same of t and x less their means (DEMEANED). A
 * window whose sum of squares, less the mean with DEMEANED, is at most LW_NORMALIZE_LEAST of the channel's median there has r = 0,
 * and so has a window of equal samples with DEMEANED. The median is that of up to 65 windows at even distances in the segment of
 * the grid to which the output belongs, so that no cut changes it. Such windows are counted (lw_slot.n_quiet, engine/engine.h). */
#pragma once

#include "base/linkage.h"

#include <stdint.h>

LW_C_BEGIN

/* Delays and weights of n sums of n_inputs channels. */
struct lw_shifts {
    int64_t n, n_inputs;
    const int32_t *delays;      /* [n][n_inputs], samples of the axis; borrowed */
    const float *weights;       /* [n][n_inputs], finite; borrowed; NULL: 1 */
    int64_t before, after;      /* samples before and after its own that an output needs for its delays, lw_shifts_span */
};

/* The divisor of a filter's output in a channel. */
enum lw_normalize { LW_NORMALIZE_NONE, LW_NORMALIZE_ENERGY, LW_NORMALIZE_DEMEANED };

#define LW_NORMALIZE_LEAST 1e-10

/** Set `before` and `after`: how far delays of channels with a weight reach below 0, and above 0. */
void lw_shifts_span(struct lw_shifts *shifts);

/** Return the weight of a channel in a sum. */
static inline float lw_shifts_weight(const struct lw_shifts *shifts, int64_t sum, int64_t channel)
{
    return shifts->weights ? shifts->weights[sum * shifts->n_inputs + channel] : 1;
}

LW_C_END
