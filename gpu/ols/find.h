/* find.h - what is found in a filtered series that lies in device memory: crossings, the best filter, statistics of blocks
 * (signal/search.h). C. All calls are asynchronous on the stream. */
#pragma once

#include "base/linkage.h"
#include "engine/engine.h"

#include <cuda_runtime_api.h>

LW_C_BEGIN

/* The series: [n_filters][n_channels][count] or [n_filters][count][n_channels]. */
struct lw_series {
    const void *values;             /* device, float or double by `precision` */
    enum lw_precision precision;
    enum lw_layout layout;
    bool is_complex;
    int n_filters;
    int64_t count, n_channels;
    int64_t first;                  /* on the axis: of its first output */
    int64_t channel;                /* of the data set: its first */
    const void *scales;             /* device, [stretches][all_channels][n_filters], see lw_ols_scales */
    int64_t stretch;                /* outputs of one; 0: there is one alone */
    int64_t first_stretch;          /* output at which number 0 begins, see signal/search.h */
    int64_t last_stretch;           /* number */
    int64_t all_channels;           /* of the data set */
    enum lw_sign sign;              /* that counts */
};

/* A table on the device. */
struct lw_crossings {
    struct lw_crossing *rows;
    int64_t most_rows;
    unsigned long long *n_rows;     /* device: goes on counting where there is no more room */
    int64_t first, end;             /* on the axis: outputs before and after these give no rows */
    int filter, end_filter;         /* likewise */
    enum lw_sign sign;              /* outputs of another one give none, too */
};

/** Append the outputs y with |y| scale >= 1, and perhaps some that are less by rounding errors: lw_peaks_pick tests exactly. */
cudaError_t lw_cuda_find_crossings(const struct lw_series *series, const struct lw_crossings *table, cudaStream_t stream);

/** The strongest filter of `count` outputs of each channel, from output `first` of the axis on.
 * @param values   [n_channels][count] or [count][n_channels], real or complex as the series
 * @param filters  likewise */
cudaError_t lw_cuda_find_best(const struct lw_series *series, int64_t first, int64_t count, void *values, int32_t *filters,
                              cudaStream_t stream);

/* Blocks number first .. first + count - 1 of the axis, of `every` outputs each. Arrays as the series, with `count` blocks for its
 * outputs, of the computing precision; NULL: not wanted. */
struct lw_statistics {
    int64_t first, count, every;
    int64_t n_outputs;              /* on the whole axis */
    void *max, *mean, *rms;
};

/** Sums are made in double, in an order that depends on the block alone. */
cudaError_t lw_cuda_find_blocks(const struct lw_series *series, const struct lw_statistics *statistics, cudaStream_t stream);

LW_C_END
