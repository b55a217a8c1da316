/* sums.h - checksums of a run's arrays, for --checksum. Each finished block is hashed in memory, before it is written, and the
 * sums are written with it. The sums of /filtered are /checksums/filtered, uint64; block_sums.h gives the shape, attributes the
 * blocks. */
#pragma once

#include "setup/setup.h"
#include "stream/plan.h"
#include "stream/sums/block_sums.h"

#define LW_SUMS_GROUP "/checksums"

struct lw_sums;

/** Return the outputs between two possible cuts of rounds, a multiple of the operation's unit, so that blocks have at least some
 * KiB. Without checksums this is the unit itself. Pure: independent of ranks, memory and rounds. */
int64_t lw_sums_unit(const struct lw_job *job, const struct lw_op_plan *op);

/** Return the host bytes that create allocates. @param n_threads  threads of the pool */
int64_t lw_sums_bytes(const struct lw_plan *plan, const struct lw_job *job, int n_threads);

/** Declare the datasets of the sums, job->sums, once the plan is made. */
void lw_sums_declare(const struct lw_plan *plan, struct lw_job *job);

/** Create the sums. *out stays NULL if the job has none. LW_ESYSTEM: no memory. @param setup, plan  borrowed until destroy */
int lw_sums_create(const struct lw_setup *setup, const struct lw_plan *plan, struct lw_sums **out, struct lw_error *err);
void lw_sums_destroy(struct lw_sums *sums); /* NULL is legal */

/* Sums of a block of one array: their place in their dataset, and its number in the result. */
struct lw_sums_part {
    const uint64_t *values; /* valid until the pipeline is LW_MAX_DEPTH blocks further */
    int dataset;
    int64_t first[LW_MAX_DIMS], count[LW_MAX_DIMS];
};

/** Begin the next block; lw_sums_compute follows for each of its arrays. */
void lw_sums_next(struct lw_sums *sums);

/** Compute the sums of array number `product` of a slot. Not collective. */
void lw_sums_compute(struct lw_sums *sums, const struct lw_slot *slot, int product, struct lw_sums_part *part);
