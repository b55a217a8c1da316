/* sums.h - the checksums of a run's arrays, --checksum: made of each block that is finished, in memory, before it is written,
 * and written with it. The array /filtered has its sums in /checksums/filtered, uint64, of the shape that block_sums.h says;
 * its attributes say what a block is. */
#pragma once

#include "setup/setup.h"
#include "stream/plan.h"
#include "stream/sums/block_sums.h"

#define LW_SUMS_GROUP "/checksums"

struct lw_sums;

/** The outputs between two cuts of rounds, a multiple of the operation's unit: blocks are no smaller than some KiB. The unit
 * itself where the job has no checksums. Pure: the same for any ranks, memory and rounds. */
int64_t lw_sums_unit(const struct lw_job *job, const struct lw_op_plan *op);

/** Host bytes that create allocates. @param n_threads  of the pool */
int64_t lw_sums_bytes(const struct lw_plan *plan, const struct lw_job *job, int n_threads);

/** Declare the datasets of the sums: job->sums. Once the plan is made. */
void lw_sums_declare(const struct lw_plan *plan, struct lw_job *job);

/** LW_ESYSTEM. *out stays NULL where the job has none. @param setup, plan  borrowed until destroy */
int lw_sums_create(const struct lw_setup *setup, const struct lw_plan *plan, struct lw_sums **out, struct lw_error *err);
void lw_sums_destroy(struct lw_sums *sums); /* NULL is legal */

/* The sums of a product of a block, where they lie in their dataset, and its number in the result. */
struct lw_sums_part {
    const uint64_t *values; /* until the pipeline is LW_MAX_DEPTH blocks further */
    int dataset;
    int64_t first[LW_MAX_DIMS], count[LW_MAX_DIMS];
};

/** A block's products follow. */
void lw_sums_next(struct lw_sums *sums);

/** Compute those of array number `product` of a slot. Not collective. */
void lw_sums_compute(struct lw_sums *sums, const struct lw_slot *slot, int product, struct lw_sums_part *part);
