/* count.h - counts the values of a series in device memory in the bins of signal/spread.h (lw_engine_ops.count). C header. */
#pragma once

#include "engine/engine.h"

#include <cuda_runtime_api.h>

LW_C_BEGIN

/* Blocks of threads that count values of double precision, each with a table of its own in device memory. */
#define LW_COUNT_TABLES 128

struct lw_count_state {
    unsigned int n_bins;            /* bins that pieces wanted to store, also in vain */
    unsigned int n_left;            /* pieces whose bins found no room */
};

struct lw_cuda_counting {
    enum lw_precision precision;
    bool is_complex, is_slow;
    const void *values;             /* [n_filters][n_channels][count][width]; is_slow: [n_filters][count][n_channels] */
    int64_t n_filters, n_channels, count, width;
    struct lw_counting what;        /* `skip` is device memory */
    int n_multiprocessors;
    uint32_t *tables;               /* double precision: LW_COUNT_TABLES tables of lw_spread_bins */
    unsigned char *done;            /* [pieces] the bins of a piece have been stored */
    struct lw_counted_piece *pieces;
    struct lw_bin_count *bins;
    int64_t most_bins;              /* bins that there is room for, at least those of one piece */
    struct lw_count_state *state;   /* zeroed before each launch */
};

/** Enqueue the counting of all pieces that are not done, as far as there is room for their bins. */
cudaError_t lw_cuda_count(const struct lw_cuda_counting *counting, cudaStream_t stream);

LW_C_END
