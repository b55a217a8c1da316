/* checkpoint.h - checkpoints of a run, from which a later run of the same command goes on.
 *
 *     RESULT.lapwing-part      the incomplete result (io/write)
 *     RESULT.lapwing-journal   the journal: identity of the run (program, inputs, options, processor), and the work in the file
 *
 * A run goes on with an earlier one only if both have the same identity. Lines of the journal about the work are written and read
 * by the journal's user: stream/resume.h for a streamed run, sparse/resume.c for a sparse one. stop.h notes signals and the end of
 * --time-limit; grant.h knows the end of a Slurm job.
 *
 *     open    with --resume: read the earlier run's journal, and check its identity
 *     start   from now on there can be checkpoints
 *     poll    end of each round: whether a checkpoint is due, or the run must end (a signal, the end of its time)
 *     store   the work is safe on all ranks: rank 0 writes the journal
 *     close */
#pragma once

#include "io/journal/journal.h"
#include "setup/flaws.h"
#include "setup/setup.h"

struct lw_checkpoint {
    struct lw_setup *setup;             /* borrowed */
    char output[LW_MAX_PATH], journal_name[LW_MAX_PATH];
    bool is_resuming;                   /* this run continues the work of an earlier run */
    struct lw_journal *earlier;         /* owned, on rank 0: journal of the earlier run; NULL: there is none */
    int64_t n_runs;                     /* number of earlier runs that worked at the result, on rank 0 */
    struct lw_journal *journal;         /* owned, on rank 0: journal of this run */
    bool is_stored;                     /* a journal of this run or of the one it continues is on disk */
    double every_s, due;                /* seconds between checkpoints; time by lw_now of the next one */
    double limit_s;                     /* --time-limit, in seconds of lw_stop_elapsed; 0: the end of the Slurm job counts */
    double last_poll, longest_s;        /* time by lw_now of the last poll; longest time between two polls, seconds */
};

/** Find and check the journal of an earlier run; the setup is planned. LW_ECONFIG: the journal is of another run, or --resume
 * require finds none. LW_EDATA, LW_EIO: the journal cannot be read. Collective. */
int lw_checkpoint_open(struct lw_checkpoint *checkpoint, struct lw_setup *setup, struct lw_error *err);

/** Create the journal of this run in memory. LW_ESYSTEM; not collective. @param bytes  most bytes of lines about the work */
int lw_checkpoint_start(struct lw_checkpoint *checkpoint, int64_t bytes, struct lw_error *err);

/* Outcome of a poll. */
struct lw_checkpoint_news {
    bool is_due;                        /* a checkpoint is due */
    bool is_busy;                       /* some rank has passed is_busy = true */
};

#define LW_CHECKPOINT_POLL_BYTES ((int64_t)sizeof(int64_t))     /* one collective of this size */

/** Poll at the end of a round. LW_ESTOPPED: the run must end now. Collective.
 * @param is_busy  whether this rank's earlier writes are still under way; shared with all ranks */
int lw_checkpoint_poll(struct lw_checkpoint *checkpoint, bool is_busy, struct lw_checkpoint_news *news, struct lw_error *err);

/* Function that adds the lines about the work to a journal. */
typedef void lw_checkpoint_fill_fn(void *context, struct lw_journal *journal);

/** Write the journal to disk. If that fails, warn; the journal written before, if any, stays. LW_EDATA: an input has changed since
 * it was opened, and nothing is written. Collective. */
int lw_checkpoint_store(struct lw_checkpoint *checkpoint, lw_checkpoint_fill_fn *fill, void *context, struct lw_error *err);

/** Read a non-negative number from the earlier journal. LW_EDATA: no valid entry `key`; lw_checkpoint_fail makes this error. */
int lw_checkpoint_number(const struct lw_checkpoint *checkpoint, const char *key, int64_t *number, struct lw_error *err);
int lw_checkpoint_fail(const struct lw_checkpoint *checkpoint, const char *key, struct lw_error *err);

/** Add the flaws found so far to a journal; read them from the earlier journal (LW_EDATA). n_sought is left out. */
void lw_checkpoint_add_flaws(struct lw_journal *journal, const struct lw_flaws *flaws);
int lw_checkpoint_take_flaws(const struct lw_checkpoint *checkpoint, struct lw_flaws *flaws, struct lw_error *err);

/** Return whether the same command may succeed after error `rc`. Any other error would occur again. */
static inline bool lw_checkpoint_may_go_on(int rc) { return rc == LW_ESTOPPED || rc == LW_EIO || rc == LW_ESYSTEM; }

/** Extend the message of an error LW_ESTOPPED: the same command goes on, or starts over. */
void lw_checkpoint_explain(const struct lw_checkpoint *checkpoint, struct lw_error *err);

void lw_checkpoint_close(struct lw_checkpoint *checkpoint);
