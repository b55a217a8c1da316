/* resume.h - checkpoints of a streamed run, whose outputs become complete round by round. The journal lists outputs left, as
 * stripes (signal/rounds.h), not rounds: a later run can continue on any number of ranks, with rounds of any size.
 *
 *     open      limit the rounds to the outputs that an interrupted run has left
 *     start     from now on there can be checkpoints; the loop begins with the rows and flaws of the interrupted run
 *     listen    after each round: if a checkpoint is due, flush outputs to disk in the background; once flushed, record them
 *     save      after an error: write a last checkpoint, if outputs were written since the one before
 *     close */
#pragma once

#include "resume/checkpoint.h"
#include "stream/listener.h"

struct lw_streamed {
    struct lw_checkpoint checkpoint;
    struct lw_stripe *stripes;          /* outputs that the interrupted run has left, owned; NULL: no such run */
    int64_t n_stripes;
    int64_t n_rows;                     /* rows of the interrupted run's table; on rank 0 */
    struct lw_flaws flaws;              /* flaws that the interrupted run found; on rank 0 */

    struct lw_writer *writer;           /* borrowed; NULL: not started */
    const struct lw_rounds *rounds;     /* borrowed */
    struct lw_stripe *left;             /* stripes left by this run, for its journal; owned, like their text */
    char *text;
    struct lw_written safe;             /* progress whose outputs are being flushed, with the flaws of all ranks */
    bool is_syncing;                    /* a flush is in progress */
    bool has_failed;                    /* a flush failed or an input changed: no more checkpoints */
    int64_t n_stored;                   /* outputs recorded in the journal */
};

/** Open checkpoints, and limit the rounds to the outputs left. Errors: lw_checkpoint_open, lw_streamed_take. Collective. */
int lw_streamed_open(struct lw_streamed *streamed, struct lw_setup *setup, struct lw_rounds *rounds, struct lw_error *err);

/** Read the outputs left from the journal, as a part of open. LW_EDATA: the journal does not fit the grid. LW_ESYSTEM: no memory.
 * Rank 0 only. */
int lw_streamed_take(struct lw_streamed *streamed, const struct lw_grid *grid, struct lw_error *err);

/** Prepare to write checkpoints. LW_ESYSTEM: no memory. Not collective. @param writer, rounds  borrowed until close */
int lw_streamed_start(struct lw_streamed *streamed, struct lw_writer *writer, const struct lw_rounds *rounds, struct lw_error *err);

/** Listener; its context is a struct lw_streamed. LW_ESTOPPED: interrupted. LW_EIO: a flush failed. LW_EDATA: an input changed. */
lw_listener_fn lw_streamed_listen;

/** Save the written outputs for a later run, after the rounds have ended with code `rc` on all ranks. Collective.
 * @param err  error of the rounds; if the run was interrupted, the message is extended by what the user can do */
void lw_streamed_save(struct lw_streamed *streamed, const struct lw_written *written, int rc, struct lw_error *err);

/** Wait for a flush in progress, and free everything. Call before the writer is closed. */
void lw_streamed_close(struct lw_streamed *streamed);
