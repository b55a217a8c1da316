/* find.h - search in a filtered series that lies in device memory: crossings, the best filter, statistics of blocks
 * (signal/search.h). C. Every call enqueues its work on the stream and returns. */
#pragma once

#include "base/linkage.h"
#include "engine/engine.h"

#include <cuda_runtime_api.h>

LW_C_BEGIN

/* A filtered series, [n_filters][n_channels][count] or [n_filters][count][n_channels]. */
struct lw_series {
    const void *values;             /* device; float or double by `precision`, complex pairs if is_complex */
    enum lw_precision precision;
    enum lw_layout layout;
    bool is_complex;
    int n_filters;
    int64_t count, n_channels;
    int64_t first;                  /* index on the axis of the first output */
    int64_t channel;                /* number in the data set of the first channel */
    const void *scales;             /* device, [stretches][all_channels][n_filters], see lw_ols_scales */
    int64_t stretch;                /* outputs of a stretch; 0: one stretch covers the axis */
    int64_t first_stretch;          /* output at which stretch 0 begins, see signal/search.h */
    int64_t last_stretch;           /* number of the last stretch */
    int64_t all_channels;           /* channels of the data set */
    enum lw_sign sign;              /* sign of the outputs that count */
};

/* A table of crossings on the device. */
struct lw_crossings {
    struct lw_crossing *rows;
    int64_t most_rows;
    unsigned long long *n_rows;     /* device; crossings found: those beyond most_rows are counted, not stored */
    int64_t first, end;             /* range on the axis: outputs outside give no rows */
    int filter, end_filter;         /* range of filters: others give no rows */
    enum lw_sign sign;              /* outputs of the other sign give no rows */
};

/** Enqueue the appending of all outputs y with |y| scale >= 1, and perhaps some just below: lw_peaks_pick tests exactly. */
cudaError_t lw_cuda_find_crossings(const struct lw_series *series, const struct lw_crossings *table, cudaStream_t stream);

/** Enqueue the search for the strongest filter at `count` outputs of each channel, from output `first` of the axis on.
 * @param values   its output, [n_channels][count] or [count][n_channels], real or complex as the series
 * @param filters  its number, in the same layout */
cudaError_t lw_cuda_find_best(const struct lw_series *series, int64_t first, int64_t count, void *values, int32_t *filters,
                              cudaStream_t stream);

/* The blocks first .. first + count - 1 of the axis, of `every` outputs each. The arrays have the layout of the series, with
 * `count` blocks in place of outputs, and the computing precision. NULL: this statistic is not wanted. */
struct lw_statistics {
    int64_t first, count, every;
    int64_t n_outputs;              /* outputs on the whole axis */
    void *max, *mean, *rms;
};

/** Enqueue the statistics of blocks. Sums are made in double, in an order that depends on the block alone. */
cudaError_t lw_cuda_find_blocks(const struct lw_series *series, const struct lw_statistics *statistics, cudaStream_t stream);

LW_C_END
