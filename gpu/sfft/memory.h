/* memory.h - the device memory of a sparse transform: counted from a plan, laid out in one allocation. */
#pragma once

#include "gpu/host/arena.h"
#include "gpu/sfft/launch.h"
#include "sfft/sfft.h"

/* Of all attempts together. */
struct lw_sfft_sizes {
    int n_stages, n_planes;
    int64_t n_buckets, n_values, n_samples;         /* of all stages; of all planes; of all rows */
    int64_t most_samples;                           /* of one stage */
    int64_t capacity;                               /* lines */
    int64_t sparsity;
    int table_bits;                                 /* for all attempts together */
};

struct lw_sfft_sizes lw_sfft_sizes_of(const struct lw_sfft_plan *plan);

/** Slots (2^bits) for all frequencies that lines can have at the start of a round, and for those that one round over that many
 * buckets may add, half of them free. */
int lw_sfft_table_bits(int64_t capacity, int64_t n_buckets);

struct lw_sfft_memory {
    struct lw_sfft_device_stage *stages;
    double *taps[LW_SFFT_ATTEMPTS], *response[LW_SFFT_ATTEMPTS];
    double2 *roots[LW_SFFT_ATTEMPTS];
    double2 *rows;                                  /* [n_samples] */
    double2 *values;                                /* [n_values] */
    struct lw_sfft_recovery recovery;               /* but for table_bits, which depends on the attempt */
};

/** Take all parts from an arena; to count, from one without memory. */
void lw_sfft_memory_lay_out(const struct lw_sfft_plan *plan, struct lw_arena *arena, struct lw_sfft_memory *memory);

/** A stage as the device needs it. The windows and roots are where `memory` has them.
 * @param last  the stage before it; NULL: it is the first */
struct lw_sfft_device_stage lw_sfft_memory_stage(const struct lw_sfft_memory *memory, const struct lw_sfft_layout *layout,
                                                int s, const struct lw_sfft_device_stage *last);
