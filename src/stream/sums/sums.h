/* sums.h - checksums of a run's arrays, for --checksum. Each finished block is hashed in memory before it is written; its sums
 * are written beside it. The sums of /filtered are the dataset /checksums/filtered, uint64, with the shape in block_sums.h;
 * attributes give the size of a grid block. */
#pragma once

#include "stream/plan.h"
#include "stream/sums/block_sums.h"

#define LW_SUMS_GROUP "/checksums"

struct lw_sums;

/** Return the grid unit: the operation's unit, with checksums a multiple of it, so that a grid block has at least some KiB. It does
 * not depend on ranks, memory and rounds. */
int64_t lw_sums_unit(const struct lw_job *job, const struct lw_op_plan *op);

/** Return the host bytes that lw_sums_create allocates. @param n_threads  threads of the pool; 0: no pool */
int64_t lw_sums_bytes(const struct lw_plan *plan, const struct lw_job *job, int n_threads);

/** Describe the datasets of the sums in job->sums, once the plan is made. */
void lw_sums_declare(const struct lw_plan *plan, struct lw_job *job);

/** Create the sums. *out stays NULL without --checksum. LW_ESYSTEM: no memory. @param setup, plan  borrowed until destroy */
int lw_sums_create(const struct lw_setup *setup, const struct lw_plan *plan, struct lw_sums **out, struct lw_error *err);
void lw_sums_destroy(struct lw_sums *sums); /* NULL is legal */

/* Sums of a rank's block of one array, and their place in the result. */
struct lw_sums_part {
    const uint64_t *values; /* valid until the LW_MAX_DEPTH-th call of lw_sums_next from now */
    int dataset;            /* number of the sums' dataset in the result */
    int64_t first[LW_MAX_DIMS], count[LW_MAX_DIMS];
};

/** Begin the next block, before lw_sums_compute is called for each of its arrays. */
void lw_sums_next(struct lw_sums *sums);

/** Compute the sums of array number `product` of a slot. Not collective. @param part  set */
void lw_sums_compute(struct lw_sums *sums, const struct lw_slot *slot, int product, struct lw_sums_part *part);
