/* resume.h - checkpoints of a streamed run, which does its outputs in the order of its rounds. The journal counts outputs, not
 * rounds: another run goes on from it on any number of ranks, with rounds of any size.
 *
 *     open    -> what an earlier run has left limits the rounds
 *     start   -> the rows of its table, and what it found, are taken again by the loop
 *     listen     after each round: what is written is flushed on all ranks, meanwhile; once it is, the journal says so
 *     save       the rounds have ended with an error: a last checkpoint, where something is done
 *     close */
#pragma once

#include "resume/checkpoint.h"
#include "signal/rounds.h"
#include "stream/listener.h"

struct lw_streamed {
    struct lw_checkpoint checkpoint;
    struct lw_stripe *stripes;          /* owned: what an earlier run has left; NULL: there was none */
    int64_t n_stripes;
    int64_t n_rows;                     /* of its table */
    struct lw_flaws flaws;              /* that it found; on rank 0 */

    struct lw_writer *writer;           /* borrowed; NULL: not started */
    const struct lw_rounds *rounds;     /* borrowed */
    struct lw_stripe *left;             /* owned, as `text`: of the journal that is written */
    char *text;
    struct lw_written safe;             /* what is being flushed; its flaws are those of all ranks */
    bool is_syncing;
    bool has_failed;                    /* a sync has, or an input has changed: nothing more is noted */
    int64_t n_stored;                   /* outputs that the journal knows */
};

/** As lw_checkpoint_open; limits the rounds to what is left. Collective. */
int lw_streamed_open(struct lw_streamed *streamed, struct lw_setup *setup, struct lw_rounds *rounds, struct lw_error *err);

/** What the journal that was read says of the work; by rank 0, as a part of open. LW_EDATA: nothing that can be, for this grid;
 * LW_ESYSTEM. */
int lw_streamed_take(struct lw_streamed *streamed, const struct lw_grid *grid, struct lw_error *err);

/** LW_ESYSTEM; not collective. @param writer, rounds  borrowed until close */
int lw_streamed_start(struct lw_streamed *streamed, struct lw_writer *writer, const struct lw_rounds *rounds, struct lw_error *err);

/** LW_ESTOPPED, LW_EIO. Its context is a struct lw_streamed. */
lw_listener_fn lw_streamed_listen;

/** The rounds have ended with `rc`, the same on all ranks: keep what is written where a later run can go on. Collective.
 * @param err  in, out: an error that says that the run was stopped says what can be done */
void lw_streamed_save(struct lw_streamed *streamed, const struct lw_written *written, int rc, struct lw_error *err);

/** What is being flushed is waited for; before the writer's end. */
void lw_streamed_close(struct lw_streamed *streamed);
