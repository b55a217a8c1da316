/* plan.h - how a job will run: rounds, slices, buffers and bytes, decided before anything large is allocated. */
#pragma once

#include "comm/comm.h"
#include "comm/halo.h"
#include "engine/engine.h"
#include "job/job.h"
#include "setup/setup.h"
#include "signal/rounds.h"
#include "stream/window.h"

/* Host bytes of one rank by what they are for, on top of limits.base; pinned and device bytes stand beside them. */
struct lw_plan_bytes {
    int64_t files;              /* what the MPI file layer takes while it works, and bounce buffers */
    int64_t halo;               /* carry, messages, boundary samples */
    int64_t engine;             /* slots (pageable), filters, FFT work space */
    int64_t pinned;
    int64_t device;
};

struct lw_plan {
    struct lw_op_plan op;
    struct lw_rounds rounds;
    int depth;                  /* slots */
    enum lw_chunks chunks;      /* of the input */
    struct lw_plan_bytes bytes;
    struct lw_limits limits;
    int64_t input_bytes, output_bytes;      /* of all ranks together */
    double compute_seconds, file_seconds;   /* estimates for the whole run */
    double busy_seconds;                    /* of compute_seconds, were all threads at work all the time */
    double round_seconds;                   /* comes on top of both: what rounds take whatever their size */
    struct lw_chunk_cost chunk_cost;        /* comes on top of file_seconds */
    double piece_seconds;                   /* likewise: for rows of the result that are written in pieces */
};

/* What planning starts from. All borrowed during the call. */
struct lw_plan_spec {
    struct lw_comm *comm;
    const struct lw_job *job;
    const struct lw_engine *engine;
    const struct lw_reader *reader;
    const struct lw_mask *mask; /* NULL: none */
    struct lw_limits limits;
    enum lw_split split;
    int n_io_threads;           /* that write; 0: none do */
};

/** Host bytes per rank, all together. */
int64_t lw_plan_host_bytes(const struct lw_plan *plan);

/** Seconds after the start: computing, and reading and writing at the same time. */
double lw_plan_seconds(const struct lw_plan *plan);
double lw_plan_serial_seconds(const struct lw_plan *plan);     /* were nothing done at the same time */

/** Resolve the operation, then choose the largest rounds (up to the size that overlaps well) that fit the memory of every
 * rank; where the input is stored in chunks, those by which they are decoded least often. Errors: LW_ECONFIG, naming the bytes
 * of the smallest round and the limit. Collective. */
int lw_plan_make(const struct lw_plan_spec *spec, struct lw_plan *plan, struct lw_error *err);

/** The same for what has been set up; sets setup->algorithm. */
int lw_plan_make_for(struct lw_setup *setup, struct lw_plan *plan, struct lw_error *err);

/** Bytes of one sample of the axis of one channel of the input. */
int64_t lw_plan_input_bytes(const struct lw_job *job, const struct lw_op_plan *op);

/** The specs that the plan's numbers belong to; `reader` with its view selected. */
struct lw_halo_spec lw_plan_halo(const struct lw_plan *plan, const struct lw_job *job);
struct lw_window_spec lw_plan_window(const struct lw_plan *plan, const struct lw_job *job, struct lw_reader *reader);
struct lw_view_spec lw_plan_view(const struct lw_plan *plan, const struct lw_job *job);

/** Print the plan in words, on standard output; by rank 0. */
void lw_plan_print(const struct lw_setup *setup, const struct lw_plan *plan);
