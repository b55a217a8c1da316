/* find.h - search in a filtered series in device memory: crossings, the best filter, block statistics (signal/search.h). C header.
 * Every call enqueues its work on the stream and returns. */
#pragma once

#include "engine/engine.h"

#include <cuda_runtime_api.h>

LW_C_BEGIN

/* A filtered series, [n_filters][n_channels][count] or [n_filters][count][n_channels]. */
struct lw_series {
    const void *values;             /* device; float or double by `precision`, complex pairs if is_complex */
    enum lw_precision precision;
    enum lw_layout layout;
    bool is_complex;
    int n_filters;                  /* filters that are searched, planes of `values` */
    int64_t count, n_channels;
    int64_t first;                  /* axis index of the first output */
    int64_t channel;                /* number of the first channel in the data set */
    const void *scales;             /* device, [stretches][all_channels][pitch], see lw_ols_scales */
    int64_t pitch;
    int first_filter;               /* place of filter 0 in a row of the scales; best filter: its number in the bank */
    int64_t stretch;                /* outputs of a stretch; 0: one stretch covers the axis */
    int64_t first_stretch;          /* axis index at which stretch 0 begins, see signal/search.h */
    int64_t last_stretch;           /* number of the last stretch */
    int64_t all_channels;           /* channels of the data set */
    enum lw_sign sign;              /* sign of outputs by which the best filter is chosen */
};

/* A table of crossings on the device, and the outputs that may become rows of it. */
struct lw_crossings {
    struct lw_crossing *rows;
    int64_t most_rows;              /* rows for which the table has room */
    unsigned long long *n_rows;     /* device; crossings found, including those for which there was no room */
    int64_t first, end;             /* outputs first .. end - 1 of the axis */
    int filter, end_filter;         /* filters filter .. end_filter - 1 */
    enum lw_sign sign;              /* sign of the outputs */
};

/** Enqueue the appending of all outputs y with |y| scale >= 1, and perhaps of some just below: lw_peaks_pick tests exactly. */
cudaError_t lw_cuda_find_crossings(const struct lw_series *series, const struct lw_crossings *table, cudaStream_t stream);

/* The best outputs of a block. Its places are [n_channels][count] or [count][n_channels]. */
struct lw_best_outputs {
    void *values;                   /* device; outputs of the best filters, real or complex as the series */
    int32_t *filters;               /* device; their numbers in the bank; -1: all outputs are NaN or have no scale */
    int64_t first, count;           /* axis index of the first output; outputs of each channel */
};

/** Enqueue the search for the best filter. @param goes_on  the best outputs of earlier filters count, too */
cudaError_t lw_cuda_find_best(const struct lw_series *series, const struct lw_best_outputs *best, bool goes_on,
                              cudaStream_t stream);

/** Enqueue the comparison of n places of the best outputs, from place `at` on, with those of later filters, which replace weaker
 * ones. Of the series, only the layout and the scales count.
 * @param by_kernels       compare as kernels do that search their own outputs
 * @param values, filters  device: best outputs of the later filters */
cudaError_t lw_cuda_join_best(const struct lw_series *series, bool by_kernels, const struct lw_best_outputs *best, int64_t at,
                              int64_t n, const void *values, const int32_t *filters, cudaStream_t stream);

/* Statistics of the blocks first .. first + count - 1 of the axis. A block here is `every` outputs of one channel and filter. */
struct lw_statistics {
    int64_t first, count, every;
    int64_t n_outputs;              /* outputs on the whole axis; its last block may be shorter */
    void *max, *mean, *rms;         /* device, laid out as the series, with blocks in place of outputs; NULL: not wanted */
};

/** Enqueue the block statistics. Sums are in double; their order depends on `every` and the layout alone. */
cudaError_t lw_cuda_find_blocks(const struct lw_series *series, const struct lw_statistics *statistics, cudaStream_t stream);

LW_C_END
