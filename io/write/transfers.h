/* transfers.h - a block of a dataset, cut into transfers, each of which one file call carries. Pure arithmetic.
 *
 * The block is packed row-major in memory. It is cut at one dimension: transfers take as many whole rows of it as fit the
 * limit, and one index of each dimension before it; so every transfer is a contiguous part of the memory. */
#pragma once

#include "io/dataset.h"

#include <stdint.h>

struct lw_transfers {
    int n_dims;
    int64_t count[LW_MAX_DIMS];     /* of the block */
    int cut_dim;
    int64_t rows;                   /* of the cut dimension, in one transfer */
    int64_t row_bytes;
    int64_t n_transfers;            /* 0: the block is empty */
};

struct lw_transfer {
    int64_t first[LW_MAX_DIMS];     /* in the block */
    int64_t count[LW_MAX_DIMS];
    int64_t offset_bytes;           /* in memory */
    int64_t bytes;
};

/** @param limit  bytes of a transfer at most, >= sample_bytes */
struct lw_transfers lw_transfers_plan(int n_dims, const int64_t *count, int64_t sample_bytes, int64_t limit);

/** Transfer number `index`, 0 <= index < n_transfers. */
struct lw_transfer lw_transfers_get(const struct lw_transfers *transfers, int64_t index);
