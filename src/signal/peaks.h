/* peaks.h - which crossings are peaks: see signal/search.h. */
#pragma once

#include "base/linkage.h"
#include "signal/search.h"

LW_C_BEGIN

struct lw_peak {
    int64_t index;              /* on the axis */
    int64_t channel, filter, column;    /* as in struct lw_crossing */
    double re, im;
    double snr;
    int64_t cluster_size;       /* crossings within reach, itself among them */
};

/* The crossings of a piece of the axis, of some channels and filters. */
struct lw_peaks_spec {
    const struct lw_search *search;     /* with its noise; borrowed during the call */
    int64_t n_channels;                 /* of the whole data set, where the noise has stretches */
    int n_filters;                      /* of the whole data set */
    int64_t first, end;                 /* of the piece: crossings up to `cluster` outputs before and after it are there, too */
    bool is_image;                      /* an output is a pixel, `index` its row: neighbours lie within +- cluster rows and columns
                                           of the same channel; there is one filter */
};

/** Choose the peaks of the piece among its crossings, sorted by index, channel, filter and column. What is chosen does not depend
 * on the order of the crossings nor on how the axis is cut into pieces.
 * @param crossings  [n] overwritten (sorted)
 * @param peaks      [n]
 * @return           how many peaks there are */
int64_t lw_peaks_pick(const struct lw_peaks_spec *spec, struct lw_crossing *crossings, int64_t n, struct lw_peak *peaks);

/** The SNR of a crossing; 0 where the noise is. */
double lw_peaks_snr(const struct lw_peaks_spec *spec, const struct lw_crossing *crossing);

/** The order of a table of peaks, for qsort: index, channel, filter, column. */
int lw_peaks_compare(const void *a, const void *b);

LW_C_END
