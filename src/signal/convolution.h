/* convolution.h - lengths, shifts and boundaries of a 1-D convolution along the axis. Pure arithmetic.
 *
 * With y[i] = sum_m h[m] x[i - m], 0 <= i < n + M - 1 (the full convolution of n samples with M taps), output o of a mode
 * is y[o + look_ahead]. It needs the M samples x[o + look_ahead - (M - 1)] .. x[o + look_ahead]. So the window of
 * samples that belongs to the outputs [o0, o1) is [o0 + look_ahead, o1 + look_ahead), with M - 1 samples of halo to its
 * left and none to its right. Window positions below 0 or from n on lie outside the signal; the boundary makes them.
 *
 * The time of an output is that of the input sample under the reference tap: with tap r, output o has that of sample
 * o + look_ahead - r. A mode says which outputs are kept, never what time they have. */
#pragma once

#include "base/error.h"
#include "base/linkage.h"

#include <stdint.h>

LW_C_BEGIN

enum lw_mode { LW_MODE_FULL, LW_MODE_SAME, LW_MODE_VALID };
enum lw_boundary { LW_BOUNDARY_ZERO, LW_BOUNDARY_EDGE, LW_BOUNDARY_WRAP, LW_BOUNDARY_REFLECT };

/** Outputs on the axis: n + M - 1, n, or n - M + 1 (not positive if M > n). */
int64_t lw_mode_length(enum lw_mode mode, int64_t n, int64_t n_taps);

/** Samples that the window runs ahead of the output: 0, (M - 1) / 2 rounded down, M - 1. */
int64_t lw_mode_look_ahead(enum lw_mode mode, int64_t n_taps);

/** The tap in the middle, (M - 1) / 2 rounded down: the reference tap where nobody names another. */
int64_t lw_middle_tap(int64_t n_taps);

/* A convolution of data of n_samples, that gives n_outputs. */
struct lw_convolution {
    int64_t n_samples, n_outputs;
    int64_t n_taps, look_ahead, reference;
    enum lw_boundary boundary;
    int64_t margin;             /* so many outputs on either side of a window are made with those in it, where there are any */
};

/* Some of its outputs, and the samples [begin, end) that they are made of: a convolution of these alone gives them, with the same
 * boundary, which then only matters at ends that are those of the data. */
struct lw_excerpt {
    int64_t first, n_outputs;   /* of the whole convolution's; 0: there is none in the window */
    int64_t lead, n_wanted;     /* of these, so many come before the window's, and so many are in it */
    int64_t begin, end;
    int64_t look_ahead;         /* window position of the first among the samples */
};

/** The outputs whose times lie in the window [begin, end) of the samples; a window that begins or ends with the data also has those
 * before or behind. 0 <= begin < end <= n_samples. */
struct lw_excerpt lw_convolution_excerpt(const struct lw_convolution *whole, int64_t begin, int64_t end);

/** The sample that stands at position i of the signal continued beyond both ends, as numpy.pad's constant (0), edge,
 * wrap and symmetric do; correct for any i.
 * @return an index in [0, n), or -1 where the boundary puts a zero */
int64_t lw_boundary_index(enum lw_boundary boundary, int64_t i, int64_t n);

const char *lw_mode_text(enum lw_mode mode);
const char *lw_boundary_text(enum lw_boundary boundary);

LW_C_END
