/* checkpoint.h - checkpoints of a run, from which a later run of the same command goes on.
 *
 *     RESULT.lapwing-part      the incomplete result (io/write)
 *     RESULT.lapwing-journal   the journal: identity of the run (program, inputs, options, processor), and the work in the file
 *
 * A run goes on with an earlier one only if both have the same identity. Lines of the journal about the work itself belong to the
 * journal's user: stream/resume.h for a streamed run, sparse/resume.c for a sparse one. stop.h notes signals and the end of
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
    bool is_resuming;                   /* this run goes on with an earlier run's work */
    struct lw_journal *earlier;         /* owned, on rank 0: journal of the earlier run; NULL: there is none */
    int64_t n_runs;                     /* earlier runs that have worked at the result; on rank 0 */
    struct lw_journal *journal;         /* owned, on rank 0: journal of this run */
    bool is_stored;                     /* a journal is on disk */
    double every_s, due;                /* seconds between checkpoints; time of the next one, by lw_now */
    double limit_s;                     /* --time-limit in seconds of lw_stop_elapsed; 0: what Slurm grants */
    double last_poll, longest_s;        /* time of the last poll; longest time between two polls */
};

/** Open the checkpoints of a setup that is planned. LW_ECONFIG: the journal is of another run, or --resume require finds none.
 * LW_EDATA, LW_EIO: the journal cannot be read. Collective. */
int lw_checkpoint_open(struct lw_checkpoint *checkpoint, struct lw_setup *setup, struct lw_error *err);

/** Create the journal of this run. LW_ESYSTEM; not collective. @param bytes  upper bound of the lines that the user will add */
int lw_checkpoint_start(struct lw_checkpoint *checkpoint, int64_t bytes, struct lw_error *err);

/* Outcome of a poll. */
struct lw_checkpoint_news {
    bool is_due;
    bool is_busy;                       /* `is_busy` of any rank */
};

/** Poll at the end of a round. LW_ESTOPPED: the run must end now. Collective.
 * @param is_busy  state of this rank, shared with all */
int lw_checkpoint_poll(struct lw_checkpoint *checkpoint, bool is_busy, struct lw_checkpoint_news *news, struct lw_error *err);

/* Adds the user's lines to a journal. */
typedef void lw_checkpoint_fill_fn(void *context, struct lw_journal *journal);

/** Write the journal. If writing fails, warn; the journal written before, if any, stays. LW_EDATA: an input has changed since it
 * was opened, and nothing is written. Collective. */
int lw_checkpoint_store(struct lw_checkpoint *checkpoint, lw_checkpoint_fill_fn *fill, void *context, struct lw_error *err);

/** Read a number of 0 or more from the earlier journal. LW_EDATA, as by lw_checkpoint_fail: it has no valid entry of that name. */
int lw_checkpoint_number(const struct lw_checkpoint *checkpoint, const char *key, int64_t *number, struct lw_error *err);
int lw_checkpoint_fail(const struct lw_checkpoint *checkpoint, const char *key, struct lw_error *err);

/** Write flaws of the data as a line of the journal, and read them back (LW_EDATA). */
void lw_checkpoint_add_flaws(struct lw_journal *journal, const struct lw_flaws *flaws);
int lw_checkpoint_take_flaws(const struct lw_checkpoint *checkpoint, struct lw_flaws *flaws, struct lw_error *err);

/** Whether the same command may succeed after error `rc`; any other error would come again. */
static inline bool lw_checkpoint_may_go_on(int rc) { return rc == LW_ESTOPPED || rc == LW_EIO || rc == LW_ESYSTEM; }

/** Complete the error that ends a run: a message of LW_ESTOPPED adds whether the same command goes on or starts over. */
void lw_checkpoint_explain(const struct lw_checkpoint *checkpoint, struct lw_error *err);

void lw_checkpoint_close(struct lw_checkpoint *checkpoint);
