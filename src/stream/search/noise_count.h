/* noise_count.h - the values of a pass' blocks, counted (signal/spread.h): those of a channel and a filter all together, and sigma
 * of each piece of a block, a cell, by itself. Outputs that counted.h leaves out do not count.
 *
 *     open -> begin -> block, block, ... -> counts and sigmas are there; begin again for other channels -> close */
#pragma once

#include "base/pool.h"
#include "stream/search/counted.h"
#include "stream/search/noise_pass.h"

/* The sides of a block are cut into so many parts each; none: there are no pieces. */
struct lw_noise_cells {
    int64_t rows, columns;
};

struct lw_noise_count {
    /* Set before open. */
    const struct lw_noise_pass *pass;   /* borrowed; counts have its group of channels and its filters; it takes the sigmas of
                                           pieces, of which half counts */
    struct lw_noise_cells cells;
    struct lw_counted counted;
    struct lw_pool *pool;               /* borrowed; NULL: one thread does all */
    int n_threads;
    int64_t bins;                       /* lw_spread_bins */

    /* Set before begin. */
    int64_t begin, end;                 /* outputs of the axis that count, of those in the blocks */

    uint32_t *counts;                   /* owned; [channels][filters][bins] */
    char *scratch;                      /* owned; of the threads */
    int64_t n_blocks;                   /* since begin */
    const struct lw_slot *slot;         /* that is being counted, and its number */
    int number;
};

/** Bytes that open allocates. */
int64_t lw_noise_count_bytes(const struct lw_noise_count *count);

int lw_noise_count_open(struct lw_noise_count *count, struct lw_error *err);        /* close in any case */
void lw_noise_count_close(struct lw_noise_count *count);

/** Forget what was counted; so many channels follow. */
void lw_noise_count_begin(struct lw_noise_count *count, int64_t n_channels);

/** Count a block; a lw_noise_take_fn. @param context  the count */
int lw_noise_count_block(void *context, const struct lw_slot *slot, int number, struct lw_error *err);
