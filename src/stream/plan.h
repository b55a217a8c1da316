/* plan.h - the plan of a run: rounds, slices, buffers and bytes, chosen before any large allocation. */
#pragma once

#include "comm/comm.h"
#include "comm/halo.h"
#include "engine/engine.h"
#include "job/job.h"
#include "setup/setup.h"
#include "signal/rounds.h"
#include "stream/window.h"

/* Host bytes of one rank by purpose, in addition to limits.base. pinned and device count separately. */
struct lw_plan_bytes {
    int64_t files;              /* work space of the MPI file layer, and bounce buffers */
    int64_t halo;               /* carry, messages, boundary samples */
    int64_t engine;             /* slots (pageable), filters, FFT work space */
    int64_t pinned;
    int64_t device;
};

struct lw_plan {
    struct lw_op_plan op;
    struct lw_rounds rounds;
    int depth;                  /* slots */
    enum lw_chunks chunks;      /* how chunks of the input are read */
    struct lw_plan_bytes bytes;
    struct lw_limits limits;
    int64_t input_bytes, output_bytes;      /* totals of all ranks */
    double compute_seconds, file_seconds;   /* estimates for the whole run, s */
    double busy_seconds;                    /* compute_seconds if all threads were always busy, s */
    double round_seconds;                   /* constant cost of all rounds, whatever their size, s; added to both */
    struct lw_chunk_cost chunk_cost;        /* added to file_seconds */
    double piece_seconds;                   /* cost of writing rows of the result in pieces, s; added to file_seconds */
};

/* Input of planning. All members are borrowed during the call. */
struct lw_plan_spec {
    struct lw_comm *comm;
    const struct lw_job *job;
    const struct lw_engine *engine;
    const struct lw_reader *reader;
    const struct lw_mask *mask; /* NULL: none */
    struct lw_limits limits;
    enum lw_split split;
    int n_io_threads;           /* threads that write; 0: none */
};

/** Return all host bytes of one rank. */
int64_t lw_plan_host_bytes(const struct lw_plan *plan);

/** Return the seconds of a run after its start, with computing overlapping reading and writing. */
double lw_plan_seconds(const struct lw_plan *plan);
double lw_plan_serial_seconds(const struct lw_plan *plan);     /* seconds without any overlap */

/** Plan a run: resolve the operation, then choose the largest rounds (up to the size that overlaps well) that fit the memory of
 * every rank. For a chunked input the rounds are those that decode chunks least often. LW_ECONFIG: the smallest round does not
 * fit; the message names its bytes and the limit. Collective. */
int lw_plan_make(const struct lw_plan_spec *spec, struct lw_plan *plan, struct lw_error *err);

/** Plan the run of a setup like lw_plan_make; also sets setup->algorithm. */
int lw_plan_make_for(struct lw_setup *setup, struct lw_plan *plan, struct lw_error *err);

/** Return the bytes of the input at one position of the axis of one channel. */
int64_t lw_plan_input_bytes(const struct lw_job *job, const struct lw_op_plan *op);

/** Return the halo, window and view of a plan. The caller selects the view of `reader`. */
struct lw_halo_spec lw_plan_halo(const struct lw_plan *plan, const struct lw_job *job);
struct lw_window_spec lw_plan_window(const struct lw_plan *plan, const struct lw_job *job, struct lw_reader *reader);
struct lw_view_spec lw_plan_view(const struct lw_plan *plan, const struct lw_job *job);

/** Print the plan in words on standard output. Rank 0 only. */
void lw_plan_print(const struct lw_setup *setup, const struct lw_plan *plan);
