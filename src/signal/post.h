/* post.h - operations on a filtered series before it is stored. Pure arithmetic.
 *
 * y[0 .. n) is the filtered series that mode and boundary define, one per filter and channel. The first step interpolates it
 * to `rate` times its sampling rate, or decimates it, and gives Y. The second step makes one output of each sample of Y:
 *
 *   interpolate  Y[j], 0 <= j <= rate (n - 1), is the value at position j / rate; nothing is extrapolated behind the last
 *                sample. Between i = floor(j / rate) and i + 1, Y is the cubic through y[i - 1] .. y[i + 2]. In the first
 *                and last interval it is the cubic through the first or last four samples. A series of fewer than four
 *                samples has one polynomial through all. Y[rate i] is y[i] itself. Exact for cubics
 *   decimate     every D-th sample: Y[j] = y[D j], ceil(n / D) of them. The job's filters are the only low-pass before it
 *   power        |Y|^2, real also where Y is complex
 *   amplitude    |Y|, real also where Y is complex
 *   derivative   numpy.gradient(Y), per output sample: (Y[j + 1] - Y[j - 1]) / 2; at the ends Y[1] - Y[0] and its mirror image
 *
 * The stencil of an output is the run of samples of y from the first to the last that it depends on, all between included: the
 * middle of a derivative, and samples that decimation drops. An output is NaN if the taps of any sample of its stencil touch a
 * non-finite input sample. The reach is how far stencils extend before and after sample i = floor(j / rate): a block's halo and
 * look-ahead grow by it. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

LW_C_BEGIN

/* Properties of an operation's outputs, to be combined. */
enum lw_post_traits {
    LW_POST_REAL = 1,           /* real, even where the samples are complex */
    LW_POST_SQUARES = 2,        /* squares of amplitudes: they may exceed the range of the samples' type */
    LW_POST_DIFFERS = 4,        /* differences of neighbours: they need samples beside their own, and are one-sided at the ends */
};

/* The operations, a row each: kind; name; unit of the outputs, where %s is the samples' unit; traits; function; text for --post's
 * help. Three functions have the name in the row: the definition in signal/post.c, the CPU's in cpu/kernels/post.c, the GPU's
 * in gpu/device/post.cuh. A new operation is a new row and these three functions. */
#define LW_POSTS(X)                                                                                                              \
    X(NONE, "none", "%s", 0, keep, "")                                                                                           \
    X(POWER, "power", "(%s)^2", LW_POST_REAL | LW_POST_SQUARES, power, "power: |y|^2. ")                                         \
    X(AMPLITUDE, "amplitude", "%s", LW_POST_REAL, amplitude, "amplitude: |y|. Both are real, also where y is complex. ")         \
    X(DERIVATIVE, "derivative", "(%s) per sample", LW_POST_DIFFERS, keep,                                                        \
      "derivative: per output sample (numpy.gradient: central differences, one-sided at the two ends).")

enum lw_post_kind {
#define X(kind, name, unit, traits, function, help) LW_POST_##kind,
    LW_POSTS(X)
#undef X
};

#define X(kind, name, unit, traits, function, help) +1
enum { LW_POST_KINDS = LW_POSTS(X) };
#undef X

struct lw_post_operation {
    const char *name;           /* the choice of --post, and the name in results */
    const char *unit;           /* format with one %s for the samples' unit */
    unsigned traits;            /* bits of enum lw_post_traits */

    /** Turn y (derivative: the difference) into the output, and `allowed`, the bound of y's absolute error, into the output's. */
    void (*define)(double y[2], double *allowed);
};

extern const struct lw_post_operation lw_post_operations[LW_POST_KINDS];

#define LW_POST_MOST_RATE 64
#define LW_POST_MOST_EVERY (1 << 24)

struct lw_post {
    enum lw_post_kind kind;
    int rate;                   /* 1 .. LW_POST_MOST_RATE; 0 counts as 1 */
    int every;                  /* D, 1 .. LW_POST_MOST_EVERY; 0 counts as 1; more than 1 only with rate 1 */
};

struct lw_reach {
    int before, after;          /* reach, in samples of y */
};

int lw_post_rate(struct lw_post post);
int lw_post_every(struct lw_post post);
bool lw_post_has(struct lw_post post, enum lw_post_traits traits);      /* whether the operation has all these traits */
bool lw_post_is_needed(struct lw_post post);            /* whether it interpolates or changes samples; decimation alone does not */
struct lw_reach lw_post_reach(struct lw_post post);

/** Return the number of outputs: on the whole axis of n samples, 1 + (n - 1) rate or ceil(n / every); and of the samples
 * [first, first + count) alone. A sample has `rate` outputs, but the last of the axis has one; with decimation only multiples of
 * `every` have one. The first output of these samples is number rate * first, or ceil(first / every). */
int64_t lw_post_length(struct lw_post post, int64_t n);
int64_t lw_post_outputs(struct lw_post post, int64_t n, int64_t first, int64_t count);

/** Return LW_ECONFIG for a derivative where Y has fewer than two samples, or if the outputs are too many for an int64_t. */
int lw_post_check(struct lw_post post, int64_t n, struct lw_error *err);

/** Append a description such as ", interpolated to 4 times the rate, power" to a text; nothing if the series is kept as it is. */
void lw_post_describe(struct lw_post post, char *text, size_t size);

/* ---- the derivative at rate 1, folded into the filters ----
 *
 * Inside the axis the derivative is the convolution with h * [1/2, 0, -1/2], which has M + 2 taps and looks one sample further
 * ahead. This is as fast as plain filtering and more exact than differences of rounded outputs. At the two ends of the axis it is
 * the convolution with h * [1, -1]. Decimation by D replaces one sample by D: M + 2 D taps inside, M + D at the ends. */

/** Return whether the derivative is folded into the filters: it is unless the series is interpolated. */
bool lw_post_folds(struct lw_post post);

/** Set out[m] = (h[m] - h[m - 2 D]) / 2, m < n_taps + 2 D. @param parts  doubles of a tap: 2 if taps are complex, else 1 */
void lw_post_fold(struct lw_post post, const double *taps, int64_t n_taps, int parts, double *out);

/** Return n_taps + D, the taps of a filter for the ends of the axis. */
int64_t lw_post_end_taps(struct lw_post post, int64_t n_taps);

/** Set out[m] = h[m] - h[m - D], m < lw_post_end_taps. */
void lw_post_fold_end(struct lw_post post, const double *taps, int64_t n_taps, int parts, double *out);

/* ---- interpolation: sample i has the outputs i rate + r, phases 0 <= r < rate, weighted sums of y[i - 3] .. y[i + 3] ---- */

#define LW_POST_REACH 3
#define LW_POST_SPAN (2 * LW_POST_REACH + 1)

/* Places on the axis, each with its own weights: sample 0, sample 1, all inside, sample n - 2, sample n - 1. */
#define LW_POST_PLACES 5

static inline int lw_post_place(int64_t n, int64_t i)
{
    return i < 2 ? (int)i : i < n - 2 ? 2 : (int)(i - n) + LW_POST_PLACES;
}

/* The weights of y[i + k - LW_POST_REACH] in the outputs of sample i, and their stencils. */
struct lw_post_weights {
    double weights[LW_POST_SPAN][LW_POST_MOST_RATE];    /* [k][phase r] */
    int begin[2], end[2];       /* stencils as ranges of k: [0] for phase 0, [1] for all other phases together */
};

/** Find the weights at a place; all zero if an axis of n samples has no such place. @param post  rate > 1 */
void lw_post_weigh(struct lw_post post, int64_t n, int place, struct lw_post_weights *out);

LW_C_END
