/* convolution.h - lengths, shifts and boundaries of a 1-D convolution along the axis. Pure arithmetic.
 *
 * The full convolution of n samples with M taps is y[i] = sum_m h[m] x[i - m], 0 <= i < n + M - 1. A mode keeps some of its
 * outputs: output o is y[o + look_ahead], a sum over the M samples x[o + look_ahead - (M - 1)] .. x[o + look_ahead]. The
 * outputs [o0, o1) thus need the samples [o0 + look_ahead, o1 + look_ahead) and a halo of M - 1 samples before them.
 * Positions below 0 or from n on lie outside the signal: the boundary defines the samples there.
 *
 * The time of output o is the time of the sample that the reference tap r meets: sample o + look_ahead - r. The mode decides
 * which outputs are kept; it never changes their times. */
#pragma once

#include "base/error.h"

#include <stdint.h>

LW_C_BEGIN

enum lw_mode { LW_MODE_FULL, LW_MODE_SAME, LW_MODE_VALID };
enum lw_boundary { LW_BOUNDARY_ZERO, LW_BOUNDARY_EDGE, LW_BOUNDARY_WRAP, LW_BOUNDARY_REFLECT };

/** Return the outputs on the axis for full, same and valid: n + M - 1, n, or n - M + 1 (not positive if M > n). */
int64_t lw_mode_length(enum lw_mode mode, int64_t n, int64_t n_taps);

/** Return `look_ahead` for full, same and valid: 0, (M - 1) / 2 rounded down, or M - 1 samples. */
int64_t lw_mode_look_ahead(enum lw_mode mode, int64_t n_taps);

/** Return the index of the middle tap, (M - 1) / 2 rounded down: the default reference tap. */
int64_t lw_middle_tap(int64_t n_taps);

/* A convolution of the whole data: n_samples samples give n_outputs outputs. */
struct lw_convolution {
    int64_t n_samples, n_outputs;
    int64_t n_taps, look_ahead, reference;      /* reference: the index of the reference tap */
    enum lw_boundary boundary;
    int64_t margin;             /* outputs that an excerpt adds on each side of its window, as far as there are any */
};

/* Some outputs of a convolution, and the samples [begin, end) that they need. A convolution of these samples alone, with the same
 * boundary, gives the same outputs; the boundary only matters where an end is also an end of the data. */
struct lw_excerpt {
    int64_t first, n_outputs;   /* numbered as in the whole convolution, with margins; n_outputs 0: the window has no outputs */
    int64_t lead, n_wanted;     /* outputs before the window (its margin), and outputs in the window */
    int64_t begin, end;
    int64_t look_ahead;         /* look_ahead of the convolution of these samples alone */
};

/** Return the excerpt for the outputs whose times lie in the window [begin, end) of the samples, 0 <= begin < end <= n_samples. A
 * window that begins (ends) with the data also has the outputs before (behind) the data. */
struct lw_excerpt lw_convolution_excerpt(const struct lw_convolution *whole, int64_t begin, int64_t end);

/** Find the sample at position i of a signal of n samples that is continued beyond both ends like numpy.pad's modes constant (0),
 * edge, wrap and symmetric. Any i is legal.
 * @return  an index in [0, n), or -1 for a zero of the boundary */
int64_t lw_boundary_index(enum lw_boundary boundary, int64_t i, int64_t n);

/* Rules by which the sides of a padded image's transform are rounded up. */
enum lw_padding {
    LW_PADDING_SMOOTH,          /* the cheapest length without prime factors above 7, where each odd factor costs 2% */
    LW_PADDING_PAPER,           /* up to 1024 a power of two, above 1024 a multiple of 512: V. Podlozhnyuk, NVIDIA, 2007 */
};

/** Return the length of a transform that takes at least `least` points, a multiple of `unit`: 1, 2, 4, 8 or 16. */
int64_t lw_padded_length(enum lw_padding padding, int64_t least, int64_t unit);

const char *lw_mode_text(enum lw_mode mode);
const char *lw_boundary_text(enum lw_boundary boundary);

LW_C_END
