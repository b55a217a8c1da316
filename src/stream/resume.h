/* resume.h - checkpoints of a streamed run, which completes its outputs in the order of its rounds. The journal counts outputs,
 * not rounds: another run can continue on any number of ranks, with rounds of any size.
 *
 *     open      limit the rounds to the outputs that an earlier run has left
 *     start     the loop takes over the earlier run's table rows and flaws
 *     listen    after each round: flush the written outputs on all ranks, in the background; then record them in the journal
 *     save      after an error: one last checkpoint, if outputs were written since the last one
 *     close */
#pragma once

#include "resume/checkpoint.h"
#include "signal/rounds.h"
#include "stream/listener.h"

struct lw_streamed {
    struct lw_checkpoint checkpoint;
    struct lw_stripe *stripes;          /* outputs that an earlier run has left, owned; NULL: no earlier run */
    int64_t n_stripes;
    int64_t n_rows;                     /* rows of the earlier run's table */
    struct lw_flaws flaws;              /* flaws that the earlier run found; on rank 0 */

    struct lw_writer *writer;           /* borrowed; NULL: not started */
    const struct lw_rounds *rounds;     /* borrowed */
    struct lw_stripe *left;             /* outputs left, for the journal that is written; owned, like `text` */
    char *text;
    struct lw_written safe;             /* progress that is being flushed, with the flaws of all ranks */
    bool is_syncing;
    bool has_failed;                    /* a sync failed or an input changed: no more checkpoints */
    int64_t n_stored;                   /* outputs recorded in the journal */
};

/** Open the checkpoint like lw_checkpoint_open, and limit the rounds to the outputs left. Collective. */
int lw_streamed_open(struct lw_streamed *streamed, struct lw_setup *setup, struct lw_rounds *rounds, struct lw_error *err);

/** Read the outputs left from the journal, as a part of open. Rank 0 only. LW_EDATA: the journal does not fit this grid.
 * LW_ESYSTEM. */
int lw_streamed_take(struct lw_streamed *streamed, const struct lw_grid *grid, struct lw_error *err);

/** Begin to take checkpoints. LW_ESYSTEM: no memory. Not collective. @param writer, rounds  borrowed until close */
int lw_streamed_start(struct lw_streamed *streamed, struct lw_writer *writer, const struct lw_rounds *rounds, struct lw_error *err);

/** Listener of the loop; the context is a struct lw_streamed. LW_ESTOPPED: the run is interrupted; LW_EIO. */
lw_listener_fn lw_streamed_listen;

/** Save the written outputs for a later run, after the rounds have ended with `rc`, the same on all ranks. Collective.
 * @param err  in, out: if the run was interrupted, the message is extended by what the user can do */
void lw_streamed_save(struct lw_streamed *streamed, const struct lw_written *written, int rc, struct lw_error *err);

/** Wait for a flush in progress, and free everything. Call before the writer is closed. */
void lw_streamed_close(struct lw_streamed *streamed);
