/* loop.h - the rounds of a streamed run: each rank's slice goes from the file through a slot and the engine to the sinks.
 *
 *     create (all memory) -> run (all rounds) -> finish, flaws, destroy */
#pragma once

#include "setup/report.h"
#include "setup/result.h"
#include "setup/setup.h"
#include "stream/listener.h"
#include "stream/plan.h"
#include "stream/sink.h"

/* Stages of the report whose seconds the loop counts. */
enum lw_loop_stage { LW_LOOP_READ, LW_LOOP_HALO, LW_LOOP_COMPUTE, LW_LOOP_WRITE };

/* Borrowed for the loop's life. */
struct lw_loop_spec {
    struct lw_setup *setup;
    const struct lw_plan *plan;
    struct lw_writer *writer;           /* its datasets are the job's products */
    struct lw_report *report;
    struct lw_listeners listeners;      /* called after each write */
    int64_t n_rows;                     /* rows of the growing table that an earlier run has left */
    struct lw_flaws flaws;              /* flaws that the earlier run has found, on rank 0 */
};

struct lw_loop;

/** Create a loop with all memory that the rounds need. Not collective. */
int lw_loop_create(const struct lw_loop_spec *spec, struct lw_loop **out, struct lw_error *err);
void lw_loop_destroy(struct lw_loop *loop);                 /* NULL is legal */

/** Run rounds [begin, end), which continue the rounds run before; the first call begins at round 0. Allocates nothing.
 * Collective; every rank returns the same code. */
int lw_loop_run(struct lw_loop *loop, int64_t begin, int64_t end, struct lw_error *err);

/** Finish after the last round. LW_EDATA: more peaks were found than the result may hold. Collective. */
int lw_loop_finish(struct lw_loop *loop, struct lw_error *err);

/** Return the progress that the listeners were last called with, however the run ended. */
const struct lw_written *lw_loop_written(const struct lw_loop *loop);

/** Return the flaws that this rank has found in its data. */
const struct lw_flaws *lw_loop_flaws(const struct lw_loop *loop);
