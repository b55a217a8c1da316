/* loop.h - the rounds of a streamed run: each rank's slice from the file through a slot and the engine to the sinks.
 *
 *     create (all memory) -> run (all rounds) -> finish, flaws, destroy */
#pragma once

#include "setup/report.h"
#include "setup/result.h"
#include "setup/setup.h"
#include "stream/listener.h"
#include "stream/plan.h"
#include "stream/sink.h"

/* Stages of a report whose seconds the loop counts. */
enum lw_loop_stage { LW_LOOP_READ, LW_LOOP_HALO, LW_LOOP_COMPUTE, LW_LOOP_WRITE };

/* Borrowed for the loop's life. */
struct lw_loop_spec {
    struct lw_setup *setup;
    const struct lw_plan *plan;
    struct lw_writer *writer;           /* whose datasets are the job's products */
    struct lw_report *report;
    struct lw_listeners listeners;      /* called after each write */
    int64_t n_rows;                     /* of a table that grows, that an earlier run has left */
    struct lw_flaws flaws;              /* that it has found, on rank 0 */
};

struct lw_loop;

/** Allocate everything that the rounds need. Not collective. */
int lw_loop_create(const struct lw_loop_spec *spec, struct lw_loop **out, struct lw_error *err);
void lw_loop_destroy(struct lw_loop *loop);                 /* NULL is legal */

/** Rounds [begin, end), which follow those that were run before, from round 0 on. Nothing is allocated. Collective; every rank
 * returns the same code. */
int lw_loop_run(struct lw_loop *loop, int64_t begin, int64_t end, struct lw_error *err);

/** After the last round: LW_EDATA where more was found than the result may hold. Collective. */
int lw_loop_finish(struct lw_loop *loop, struct lw_error *err);

/** How far it has come, whatever ended it: what the listeners were told last. */
const struct lw_written *lw_loop_written(const struct lw_loop *loop);

/** What this rank found wrong with its data. */
const struct lw_flaws *lw_loop_flaws(const struct lw_loop *loop);
