/* search.h - what is made of a filtered series beside the series itself: candidates, the best filter, statistics of blocks.
 *
 * y[f][c][i], 0 <= i < n, is the series that mode and boundary define, before signal/post.h makes anything of it. With sigma[c][f],
 * the noise of a channel behind a filter, |y| / sigma is the signal-to-noise ratio (SNR); where sigma is 0 nothing is found. The
 * noise may be another one in each stretch of the axis.
 * Of real outputs a sign may be asked for: outputs of the other one then are no crossings, so nobody's neighbours, and the best
 * filter is that of the largest y / sigma (negative: -y / sigma).
 *
 *   peaks    the outputs with an SNR of at least `threshold` such that no stronger one lies within +- `cluster` outputs of the same
 *            channel and filter, or of the same channel and any filter. Stronger: of a higher SNR; of equal ones that of the
 *            lower filter, then the lower index. Only neighbours count, so that cuts change nothing. Of images: within +- `cluster`
 *            rows and columns; of equal pixels the upper one, then the left one is the stronger
 *   best     per channel and index the output of the highest SNR, and its filter; of equal ones the lower filter's. Outputs that
 *            are NaN do not count; where all are, the value is NaN and the filter -1
 *   blocks   per filter, channel and j the outputs j D .. j D + D - 1, those of them that there are: the largest |y|, their mean,
 *            and the root of the mean of |y|^2. NaN where one of them is
 *
 * An engine delivers crossings for the peaks: outputs whose SNR is at least the threshold. lw_peaks_pick (signal/peaks.h) chooses
 * among them. To know the neighbours of its outputs, and blocks that reach beyond them, an engine computes more of the series
 * than a block has, whole grid units before and after: each output is computed in its own segment, whoever computes it. */
#pragma once

#include "base/linkage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LW_C_BEGIN

/* Products, to be combined. */
enum { LW_FILTERED = 1, LW_PEAKS = 2, LW_BEST = 4, LW_BLOCKS = 8 };

/* Values of blocks, to be combined. */
enum { LW_BLOCK_MAX = 1, LW_BLOCK_MEAN = 2, LW_BLOCK_RMS = 4 };

#define LW_SEARCH_MOST_CLUSTER ((int64_t)1 << 32)
#define LW_SEARCH_MOST_EVERY ((int64_t)1 << 32)

/* Outputs that count for peaks and best. */
enum lw_sign { LW_SIGN_BOTH, LW_SIGN_POSITIVE, LW_SIGN_NEGATIVE };

struct lw_search {
    unsigned products;          /* 0 counts as LW_FILTERED */
    const double *noise;        /* sigma [n_stretches][n_channels of the whole data set][n_filters], finite, >= 0; host, borrowed
                                   until op_create returns; NULL: 1 everywhere. For peaks and best */
    int64_t stretch;            /* outputs on the axis with a sigma of their own; 0: sigma is one for the whole axis. Otherwise: */
    int64_t n_stretches;
    int64_t first_stretch;      /* output at which the first one begins, > -stretch; outputs before it are of that one, too, and
                                   those behind the last one are of the last */
    double threshold;           /* > 0 */
    enum lw_sign sign;          /* of complex outputs LW_SIGN_BOTH */
    int64_t cluster;            /* 0 .. LW_SEARCH_MOST_CLUSTER */
    bool clusters_filters;      /* neighbours of any filter */
    int64_t every;              /* blocks: D, 1 .. LW_SEARCH_MOST_EVERY */
    unsigned values;            /* of blocks */
};

unsigned lw_search_products(const struct lw_search *search);    /* never 0 */

/** Whether anything but the series is wanted. */
bool lw_search_is_needed(const struct lw_search *search);

/** Part an axis of n outputs into stretches of `length`, counted from the data's first sample on. What is less than half a stretch
 * at either end has the sigma of the stretch beside it.
 * @param before  samples of the data before the one whose time output 0 has; negative: output 0 is before the data */
void lw_search_part(struct lw_search *search, int64_t length, int64_t before, int64_t n);

/** Outputs [*begin, *end) of an axis of n whose noise is the sigma of a stretch. */
void lw_search_stretch_range(const struct lw_search *search, int64_t n, int64_t stretch, int64_t *begin, int64_t *end);

/** How many sigmas a channel has behind a filter. */
static inline int64_t lw_search_stretches(const struct lw_search *search) { return search->stretch > 0 ? search->n_stretches : 1; }

/** The stretch of output i of the axis. */
static inline int64_t lw_search_stretch(const struct lw_search *search, int64_t i)
{
    const int64_t number = search->stretch > 0 && i > search->first_stretch ? (i - search->first_stretch) / search->stretch : 0;
    const int64_t last = lw_search_stretches(search) - 1;
    return number < last ? number : last;
}

/** The output of the axis before which the sigma of output i ends; INT64_MAX: it is that of all that follow. */
static inline int64_t lw_search_stretch_end(const struct lw_search *search, int64_t i)
{
    const int64_t number = lw_search_stretch(search, i);
    return number + 1 < lw_search_stretches(search) ? search->first_stretch + (number + 1) * search->stretch : INT64_MAX;
}

/** Whether an output may be a crossing by its sign. @param re  y, or its real part */
static inline bool lw_sign_fits(enum lw_sign sign, double re)
{
    return sign == LW_SIGN_BOTH || (sign == LW_SIGN_POSITIVE ? re > 0 : re < 0);
}

const char *lw_sign_text(enum lw_sign sign);                    /* "both" */

/** Outputs on each side of one among which a stronger one is looked for, of n on the axis: no more than these. 0: no peaks. */
int64_t lw_search_reach(const struct lw_search *search, int64_t n);

/** Outputs before and after a block's own, of n on the axis, that must be computed with them: multiples of `unit`. Blocks that end
 * where units do need none. */
int64_t lw_search_before(const struct lw_search *search, int64_t n, int64_t unit);
int64_t lw_search_after(const struct lw_search *search, int64_t n, int64_t unit);

/** Append ", positive peaks within +- 64 outputs" and the like to a text; nothing where only the series is wanted.
 * @param near  "outputs" */
void lw_search_describe(const struct lw_search *search, const char *near, char *text, size_t size);

/* An output whose SNR is at least the threshold. */
struct lw_crossing {
    int64_t index;              /* on the axis */
    int32_t channel, filter;    /* of the whole data set */
    int64_t column;             /* conv2d: of the row that `index` is; else 0 */
    double re, im;              /* y as it was computed */
};

LW_C_END
