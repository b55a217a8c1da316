/* post.h - what is made of a filtered series before it is stored. Pure arithmetic.
 *
 * y[0 .. n) is the series that mode and boundary define, one per filter and channel. First it is interpolated to `rate`
 * times its sampling rate, or thinned out, then something is made of each sample:
 *
 *   interpolate  Y[j], 0 <= j <= rate (n - 1): the value at position j / rate. It ends with the last sample: nothing is
 *                extrapolated. Between i = floor(j / rate) and i + 1 it is the cubic through y[i - 1] .. y[i + 2]; next
 *                to the ends of the axis that through the first or last four samples; of fewer than four, the
 *                polynomial through all. Y[rate i] is y[i] itself. Exact for cubics.
 *   decimate     instead of that, every D-th sample: Y[j] = y[D j], ceil(n / D) of them. Nothing is filtered: that is what
 *                the filters are for
 *   power        |Y|^2, real also where Y is complex
 *   amplitude    |Y|, likewise
 *   derivative   numpy.gradient(Y), per output sample: (Y[j + 1] - Y[j - 1]) / 2, at the ends Y[1] - Y[0] and its
 *                mirror image
 *
 * A stencil is the run of samples of y that an output is made of, from the first to the last that counts (the middle of
 * a derivative is among them, and where every D-th sample is kept, those that are not). An output is NaN where the taps
 * of any sample of its stencil touch one that is not finite. Reach is how far stencils go beyond the sample i = floor(j / rate): a
 * block's halo and look-ahead grow by it. */
#pragma once

#include "base/error.h"
#include "base/linkage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LW_C_BEGIN

/* What an operation makes: */
enum lw_post_traits {
    LW_POST_REAL = 1,           /* real outputs, of complex samples too */
    LW_POST_SQUARES = 2,        /* squares of amplitudes: they may leave the range that their samples have */
    LW_POST_DIFFERS = 4,        /* differences of neighbours: outputs reach beyond their sample, and the axis has ends */
};

/* The operations, a row each: kind; name; unit of the outputs, %s that of the samples; traits; the functions; and what the help of
 * --post says. The functions of a row share a name: the definition in signal/post.c, the CPU's in cpu/kernels/post.c, and the
 * GPU's in gpu/device/post.cuh. A further operation is a further row and these three. */
#define LW_POSTS(X)                                                                                                              \
    X(NONE, "none", "%s", 0, keep, "")                                                                                           \
    X(POWER, "power", "(%s)^2", LW_POST_REAL | LW_POST_SQUARES, power, "|y|^2 or ")                                              \
    X(AMPLITUDE, "amplitude", "%s", LW_POST_REAL, amplitude, "|y|, real also where y is complex, or ")                           \
    X(DERIVATIVE, "derivative", "(%s) per sample", LW_POST_DIFFERS, keep,                                                        \
      "its derivative per output sample (numpy.gradient: central differences, one-sided at the two ends)")

enum lw_post_kind {
#define X(kind, name, unit, traits, function, help) LW_POST_##kind,
    LW_POSTS(X)
#undef X
};

#define X(kind, name, unit, traits, function, help) +1
enum { LW_POST_KINDS = LW_POSTS(X) };
#undef X

struct lw_post_operation {
    const char *name;           /* of --post, and in results */
    const char *unit;           /* a format */
    unsigned traits;            /* of enum lw_post_traits */

    /** Make an output of y, of which a derivative is the difference already. @param allowed  error of y; becomes the output's */
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
    int before, after;          /* samples of y */
};

int lw_post_rate(struct lw_post post);
int lw_post_every(struct lw_post post);
bool lw_post_has(struct lw_post post, enum lw_post_traits traits);         /* all of them */
bool lw_post_is_needed(struct lw_post post);            /* whether it interpolates, or makes something of samples */
struct lw_reach lw_post_reach(struct lw_post post);

/** Outputs on an axis of n samples, 1 + (n - 1) rate or ceil(n / every); and of these the outputs of the samples
 * [first, first + count): `rate` each, but of the last sample of the axis one; or those of the multiples of `every`. They begin
 * at output rate * first, or ceil(first / every). */
int64_t lw_post_length(struct lw_post post, int64_t n);
int64_t lw_post_outputs(struct lw_post post, int64_t n, int64_t first, int64_t count);

/** LW_ECONFIG for a derivative of a single output, and where outputs cannot be counted. */
int lw_post_check(struct lw_post post, int64_t n, struct lw_error *err);

/** Append ", interpolated to 4 times the rate, power" and the like to a text; nothing if nothing is to be made. */
void lw_post_describe(struct lw_post post, char *text, size_t size);

/* ---- the derivative at rate 1, folded into the filters ----
 *
 * Inside the axis it is the convolution with h * [1/2, 0, -1/2], of M + 2 taps, one sample further ahead: as fast as
 * without, and more exact than a difference of rounded outputs. At the two ends it is that with h * [1, -1]. Where the series is
 * thinned out, D samples take the place of one: M + 2 D taps, M + D at the ends. */

/** Whether the derivative is made that way: without interpolation. */
bool lw_post_folds(struct lw_post post);

/** out[m] = (h[m] - h[m - 2 D]) / 2, m < n_taps + 2 D. @param parts  2 if complex, else 1; taps of that many doubles */
void lw_post_fold(struct lw_post post, const double *taps, int64_t n_taps, int parts, double *out);

/** n_taps + D: what a filter for the ends has. */
int64_t lw_post_end_taps(struct lw_post post, int64_t n_taps);

/** out[m] = h[m] - h[m - D], m < lw_post_end_taps. */
void lw_post_fold_end(struct lw_post post, const double *taps, int64_t n_taps, int parts, double *out);

/* ---- interpolation: outputs i rate + r, 0 <= r < rate, of sample i are sums over y[i - 3] .. y[i + 3] ---- */

#define LW_POST_REACH 3
#define LW_POST_SPAN (2 * LW_POST_REACH + 1)

/* Places on the axis that need weights of their own: samples 0 and 1, those inside, samples n - 2 and n - 1. */
#define LW_POST_PLACES 5

static inline int lw_post_place(int64_t n, int64_t i)
{
    return i < 2 ? (int)i : i < n - 2 ? 2 : (int)(i - n) + LW_POST_PLACES;
}

/* Weights of y[i + k - LW_POST_REACH] for the phases of a sample, and the stencils, as values of k: all phases but 0 share one. */
struct lw_post_weights {
    double weights[LW_POST_SPAN][LW_POST_MOST_RATE];    /* [k][r] */
    int begin[2], end[2];       /* of phase 0, and of the others */
};

/** The weights at a place; all zero where the axis has no such sample. @param post  rate > 1 */
void lw_post_weigh(struct lw_post post, int64_t n, int place, struct lw_post_weights *out);

LW_C_END
