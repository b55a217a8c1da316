/* peaks.h - which crossings of the threshold are peaks, by the definition in signal/search.h. */
#pragma once

#include "signal/search.h"

LW_C_BEGIN

struct lw_peak {
    int64_t index;              /* output on the axis */
    int64_t channel, filter, column;    /* numbers in the whole data set; column: of a pixel, else 0 */
    double re, im;
    double snr;
    int64_t cluster_size;       /* number of crossings within +- cluster, the peak included */
};

/* How peaks are chosen among the crossings of a piece of the axis. */
struct lw_peaks_spec {
    const struct lw_search *search;     /* threshold, noise, cluster; borrowed during the call */
    int64_t n_channels;                 /* channels of the whole data set; used only if the noise has stretches */
    int n_filters;                      /* filters of the whole data set */
    int64_t first, end;                 /* the piece, in outputs; the crossings also cover `cluster` outputs before and after it */
    bool is_image;                      /* outputs are pixels and `index` is the row: neighbours lie within +- cluster rows and
                                           columns of the same channel; there are at most 2^20 filters */
    bool has_errors;                    /* y is real, and `im` of a crossing is the error of its flux */
};

/** Let the strongest crossing of each channel and output stand for those of all filters there: its `column` becomes their number
 * less one. At equal SNR the lower filter is kept. Series only. @return  crossings left, by channel and index, at the front */
int64_t lw_peaks_merge(const struct lw_peaks_spec *spec, struct lw_crossing *crossings, int64_t n);

/** Make a peak of each crossing of the piece; if crossings of all filters are neighbours, of the strongest one of each output, as
 * lw_peaks_merge chooses it. Its cluster_size is the number of crossings that it stands for, itself included. The arguments are
 * those of lw_peaks_pick, the order is another one. */
int64_t lw_peaks_gather(const struct lw_peaks_spec *spec, struct lw_crossing *crossings, int64_t n, struct lw_peak *peaks);

/** Choose the peaks of the piece among its crossings, sorted by index, channel, filter and column. The choice depends neither on
 * the order of the crossings nor on how the axis is cut into pieces. A crossing of a series may stand for others of its output
 * (lw_peaks_merge), which count in cluster_size.
 * @param crossings  [n] overwritten
 * @param peaks      set; [n]
 * @return           the number of peaks */
int64_t lw_peaks_pick(const struct lw_peaks_spec *spec, struct lw_crossing *crossings, int64_t n, struct lw_peak *peaks);

/** Return the SNR of a crossing; 0 if its noise is 0. */
double lw_peaks_snr(const struct lw_peaks_spec *spec, const struct lw_crossing *crossing);

/** Compare two struct lw_peak for qsort: by index, channel, filter, column. */
int lw_peaks_compare(const void *a, const void *b);

LW_C_END
