/* loop.h - the rounds of a streamed run: each rank's slice goes from the file through a slot and the engine to the result.
 *
 *     create (all memory) -> run (all rounds) -> finish, flaws, destroy */
#pragma once

#include "setup/report.h"
#include "setup/result.h"
#include "stream/listener.h"
#include "stream/sink.h"

/* Stages of a round, whose seconds the loop adds to the report. */
enum lw_loop_stage { LW_LOOP_READ, LW_LOOP_FILTERS, LW_LOOP_HALO, LW_LOOP_COMPUTE, LW_LOOP_WRITE };

/* Input of lw_loop_create. All pointers are borrowed for the loop's life. */
struct lw_loop_spec {
    struct lw_setup *setup;
    const struct lw_plan *plan;
    struct lw_writer *writer;           /* its datasets are the job's products */
    struct lw_report *report;
    struct lw_listeners listeners;      /* called after each write */
    int64_t n_rows;                     /* rows of the table that an interrupted run has left */
    const struct lw_sky *sky;           /* coordinates of the input, on rank 0; NULL: not known */
    struct lw_flaws flaws;              /* flaws that the interrupted run found; on rank 0 */
};

/** Add what one round sends, or return what all rounds send, but for checkpoints, rows of peaks, and blocks with too many
 * crossings. */
void lw_loop_round_traffic(const struct lw_plan *plan, const struct lw_job *job, int64_t round, struct lw_traffic *traffic);
struct lw_traffic lw_loop_traffic(const struct lw_plan *plan, const struct lw_job *job);

struct lw_loop;

/** Create a loop with all memory that the rounds need. Not collective. */
int lw_loop_create(const struct lw_loop_spec *spec, struct lw_loop **out, struct lw_error *err);
void lw_loop_destroy(struct lw_loop *loop);                 /* NULL is legal */

/** Run rounds [begin, end). The first call begins at round 0, each other where the last one ended. Allocates nothing.
 * Collective; every rank returns the same code. */
int lw_loop_run(struct lw_loop *loop, int64_t begin, int64_t end, struct lw_error *err);

/** Finish after the last round. LW_EDATA: more than max-peaks peaks were found. Collective. */
int lw_loop_finish(struct lw_loop *loop, struct lw_error *err);

/** Return the progress at the last call of the listeners, however the run ended; before the first call, the initial progress. */
const struct lw_written *lw_loop_written(const struct lw_loop *loop);
