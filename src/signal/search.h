/* search.h - what is found in a filtered series, beside the series itself: peaks, the best filter, statistics of blocks.
 *
 * y[f][c][i], 0 <= i < n, is the filtered series that mode and boundary define, before signal/post.h changes it. sigma[c][f] is
 * the noise of channel c behind filter f; each stretch of the axis may have its own. |y| / sigma is the signal-to-noise ratio
 * (SNR), taken as 0 where sigma is 0. A crossing is an output whose SNR is at least `threshold`.
 * Real outputs may be restricted to one sign. Outputs of the other sign then are neither crossings nor neighbours, and the best
 * filter is the one with the largest y / sigma (negative sign: -y / sigma).
 *
 *   peaks    the crossings without a stronger one within +- `cluster` outputs of the same channel and filter, or of the same
 *            channel and any filter. Stronger means a higher SNR; at equal SNR the lower filter, then the lower index. Images:
 *            within +- `cluster` rows and columns; at equal SNR the lower kernel, then the upper pixel, then the left one. A peak
 *            depends on its neighbours only, so that cuts of the axis change nothing.
 *            If `cluster_channels` is not 0, crossings are neighbours within +- `cluster` outputs and +- `cluster_channels`
 *            channels, of the same filter or of any. A cluster holds all crossings that chains of neighbours connect (friends of
 *            friends), and its strongest is the peak; at equal SNR the lower filter, then the lower channel, then the lower index.
 *            Chains are followed over the whole run, in a window also through `cluster` outputs around it
 *   best     per channel and index the output with the highest SNR, and its filter; at equal SNR the lower filter. NaN outputs do
 *            not count; if all are NaN, the value is NaN and the filter -1
 *   blocks   per filter, channel and j the outputs j D .. j D + D - 1 (the last block may be shorter): the largest |y|, the mean
 *            of y, and the root of the mean of |y|^2. All three are NaN if one of the outputs is
 *
 * An engine delivers the crossings, and lw_peaks_pick (signal/peaks.h) chooses the peaks among them. An engine needs neighbours of
 * its outputs, and the rest of statistics blocks that it begins. So it computes whole grid units before and after its own outputs,
 * each in the segment in which any other rank would compute it. */
#pragma once

#include "base/linkage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LW_C_BEGIN

/* Products of a search, bits to be combined. */
enum { LW_FILTERED = 1, LW_PEAKS = 2, LW_BEST = 4, LW_BLOCKS = 8 };

/* Statistics of blocks, bits to be combined. */
enum { LW_BLOCK_MAX = 1, LW_BLOCK_MEAN = 2, LW_BLOCK_RMS = 4 };

#define LW_SEARCH_MOST_CLUSTER ((int64_t)1 << 32)
#define LW_SEARCH_MOST_EVERY ((int64_t)1 << 32)

/* The sign of the outputs that count for peaks and best. */
enum lw_sign { LW_SIGN_BOTH, LW_SIGN_POSITIVE, LW_SIGN_NEGATIVE };

struct lw_search {
    unsigned products;          /* 0 counts as LW_FILTERED */
    const double *noise;        /* sigma [n_stretches][n_channels of the whole data set][n_filters], finite, >= 0, for peaks and
                                   best; host, borrowed until op_create (engine/engine.h) returns; NULL: 1 everywhere */
    int64_t stretch;            /* outputs of a stretch of the axis with its own sigma; 0: one sigma for the whole axis */
    int64_t n_stretches;        /* first_stretch and n_stretches: only if stretch > 0 */
    int64_t first_stretch;      /* output at which stretch 0 begins, > -stretch; earlier outputs belong to stretch 0, too, and
                                   outputs behind the last stretch to the last */
    double threshold;           /* SNR, > 0 */
    enum lw_sign sign;          /* LW_SIGN_BOTH if outputs are complex */
    int64_t cluster;            /* distance within which crossings are neighbours, outputs, 0 .. LW_SEARCH_MOST_CLUSTER */
    bool clusters_filters;      /* crossings of all filters are neighbours */
    int64_t cluster_channels;   /* channels, such as trials of beams, within which crossings are neighbours; 0: their own only */
    int64_t every;              /* D, the outputs of a block, 1 .. LW_SEARCH_MOST_EVERY */
    unsigned values;            /* statistics of blocks, LW_BLOCK_* */
};

unsigned lw_search_products(const struct lw_search *search);    /* bits of the products wanted, never 0 */

bool lw_search_is_needed(const struct lw_search *search);       /* whether anything but the series is wanted */

/** Divide an axis of n outputs into stretches of `length`, counted from the first sample of the data. A rest of less than half a
 * stretch at either end of the axis joins the stretch beside it.
 * @param before  number of the data's sample whose time output 0 has; negative: output 0 lies before the data */
void lw_search_part(struct lw_search *search, int64_t length, int64_t before, int64_t n);

/** Find the outputs [*begin, *end) of an axis of n outputs that the noise of a stretch is measured in. A rest that joined the
 * stretch is not among them. If the only stretch of the axis is short, the range is the whole axis. */
void lw_search_stretch_range(const struct lw_search *search, int64_t n, int64_t stretch, int64_t *begin, int64_t *end);

/** Return the number of stretches, each with its own sigmas; 1 if the axis is not divided. */
static inline int64_t lw_search_stretches(const struct lw_search *search) { return search->stretch > 0 ? search->n_stretches : 1; }

/** Return the number of the stretch to which output i of the axis belongs. */
static inline int64_t lw_search_stretch(const struct lw_search *search, int64_t i)
{
    const int64_t number = search->stretch > 0 && i > search->first_stretch ? (i - search->first_stretch) / search->stretch : 0;
    const int64_t last = lw_search_stretches(search) - 1;
    return number < last ? number : last;
}

/** Return the first output behind i with another sigma; INT64_MAX: there is none. */
static inline int64_t lw_search_stretch_end(const struct lw_search *search, int64_t i)
{
    const int64_t number = lw_search_stretch(search, i);
    return number + 1 < lw_search_stretches(search) ? search->first_stretch + (number + 1) * search->stretch : INT64_MAX;
}

/** Return whether an output has the sign wanted. @param re  y, or its real part */
static inline bool lw_sign_fits(enum lw_sign sign, double re)
{
    return sign == LW_SIGN_BOTH || (sign == LW_SIGN_POSITIVE ? re > 0 : re < 0);
}

const char *lw_sign_text(enum lw_sign sign);                    /* "both" */

/** Return the number of an output's neighbours on each side: `cluster`, or n if the axis is shorter; 0 without peaks. */
int64_t lw_search_reach(const struct lw_search *search, int64_t n);

/** Return how many outputs are computed before and after a slice's own, multiples of `unit`, on an axis of n outputs. Peaks need
 * neighbours on both sides. Statistics need the rest of the last block of `every` outputs, unless `every` divides `unit`. */
int64_t lw_search_before(const struct lw_search *search, int64_t n, int64_t unit);
int64_t lw_search_after(const struct lw_search *search, int64_t n, int64_t unit);

/** Append a description such as ", positive peaks within +- 64 outputs" to a text; nothing if only the series is wanted.
 * @param near    unit of the distance: "outputs"
 * @param filter  word for a filter: "kernel" */
void lw_search_describe(const struct lw_search *search, const char *near, const char *filter, char *text, size_t size);

/* An output whose SNR is at least the threshold. */
struct lw_crossing {
    int64_t index;              /* output on the axis */
    int32_t channel, filter;    /* numbers in the whole data set */
    int64_t column;             /* conv2d: column of the pixel, `index` being its row, and `filter` the kernel; else 0 (peaks.h) */
    double re, im;              /* y, before signal/post.h changes it; of weighted images im is the error of the flux (engine.h) */
};

LW_C_END
