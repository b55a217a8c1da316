/* memory.h - the device memory of a sparse transform: its size from a plan, and its layout in one allocation. */
#pragma once

#include "gpu/host/arena.h"
#include "gpu/sfft/launch.h"

/* Sizes for all attempts together. */
struct lw_sfft_sizes {
    int n_stages, n_planes;
    int64_t n_buckets, n_values, n_samples;         /* buckets of all stages; values of all planes; samples of all rows */
    int64_t most_samples;                           /* most samples of one stage */
    int64_t capacity;                               /* most lines that the arrays hold */
    int64_t sparsity;
    int table_bits;                                 /* bits of a hash table for the buckets of all attempts */
};

/** Return the sizes that follow from a plan. */
struct lw_sfft_sizes lw_sfft_sizes_of(const struct lw_sfft_plan *plan);

/** Return the bits of a hash table of frequencies, 2^bits slots. It holds all `capacity` lines and one more from each of n_buckets
 * buckets, which a round of peeling may add, and stays half empty. */
int lw_sfft_table_bits(int64_t capacity, int64_t n_buckets);

struct lw_sfft_memory {
    struct lw_sfft_device_stage *stages;
    double *taps[LW_SFFT_ATTEMPTS], *response[LW_SFFT_ATTEMPTS];
    double2 *roots[LW_SFFT_ATTEMPTS];
    double2 *rows;                                  /* [n_samples] */
    double2 *values;                                /* [n_values] */
    struct lw_sfft_recovery recovery;               /* all fields except table_bits, which depends on the attempt */
};

/** Take all arrays of `memory` from an arena; an arena without memory only counts their bytes. */
void lw_sfft_memory_lay_out(const struct lw_sfft_plan *plan, struct lw_arena *arena, struct lw_sfft_memory *memory);

/** Return a stage in the form that the device needs; windows and roots are in `memory`.
 * @param last  the previous stage; NULL: this is the first */
struct lw_sfft_device_stage lw_sfft_memory_stage(const struct lw_sfft_memory *memory, const struct lw_sfft_layout *layout,
                                                int s, const struct lw_sfft_device_stage *last);
