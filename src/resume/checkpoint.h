/* checkpoint.h - the journal of a run: what an earlier run has left of it, when to write it, and when to stop. What it says of the
 * work is its user's: stream/resume.h for a streamed run, sparse/resume.c for a sparse one.
 *
 *     open    the journal of an earlier run is read, by --resume, and is one of a run like this
 *     start   from now on there can be checkpoints
 *     poll    at the end of each round: whether one is due, or the run is to stop (a signal, the end of --time-limit)
 *     store   what is done is safe on all ranks: rank 0 writes the journal
 *     close */
#pragma once

#include "io/journal/journal.h"
#include "setup/flaws.h"
#include "setup/setup.h"

struct lw_checkpoint {
    struct lw_setup *setup;             /* borrowed */
    char output[LW_MAX_PATH], journal_name[LW_MAX_PATH];
    bool is_resuming;                   /* an earlier run's work is gone on with */
    struct lw_journal *earlier;         /* owned, on rank 0: its journal; NULL: it is not */
    int64_t n_runs;                     /* that have worked at the result before this one; on rank 0 */
    struct lw_journal *journal;         /* owned, on rank 0: of this run */
    bool is_stored;                     /* a journal is there */
    double every_s, due;                /* of lw_now */
    double limit_s;                     /* of --time-limit, of lw_stop_elapsed; 0: what Slurm grants */
    double last_poll, longest_s;        /* the longest time between two polls */
};

/** LW_ECONFIG: there is the journal of another run, or none where one is required; LW_EDATA, LW_EIO: it cannot be read. Collective.
 * The setup is planned. */
int lw_checkpoint_open(struct lw_checkpoint *checkpoint, struct lw_setup *setup, struct lw_error *err);

/** LW_ESYSTEM; not collective. @param bytes  that the user's lines take at most */
int lw_checkpoint_start(struct lw_checkpoint *checkpoint, int64_t bytes, struct lw_error *err);

/* What a poll tells. */
struct lw_checkpoint_news {
    bool is_due;
    bool is_busy;                       /* some rank is */
};

/** LW_ESTOPPED where the run is to end now. Collective. @param is_busy  whether this rank is, for the others to know */
int lw_checkpoint_poll(struct lw_checkpoint *checkpoint, bool is_busy, struct lw_checkpoint_news *news, struct lw_error *err);

/* Adds the user's lines. */
typedef void lw_checkpoint_fill_fn(void *context, struct lw_journal *journal);

/** Write the journal; where that fails, warn, and the one that was there, if any, stays. LW_EDATA: an input has changed since it
 * was opened, and nothing is written. Collective. */
int lw_checkpoint_store(struct lw_checkpoint *checkpoint, lw_checkpoint_fill_fn *fill, void *context, struct lw_error *err);

/** A number of the earlier journal, 0 or more. LW_EDATA: there is none. */
int lw_checkpoint_number(const struct lw_checkpoint *checkpoint, const char *key, int64_t *number, struct lw_error *err);
int lw_checkpoint_fail(const struct lw_checkpoint *checkpoint, const char *key, struct lw_error *err);

/** What was found wrong with the data, as a line and back: LW_EDATA. */
void lw_checkpoint_add_flaws(struct lw_journal *journal, const struct lw_flaws *flaws);
int lw_checkpoint_take_flaws(const struct lw_checkpoint *checkpoint, struct lw_flaws *flaws, struct lw_error *err);

/** Errors after which the same command may come to the end: the others it would meet again. */
static inline bool lw_checkpoint_may_go_on(int rc) { return rc == LW_ESTOPPED || rc == LW_EIO || rc == LW_ESYSTEM; }

/** The run ends with `err`: an error that says that it was stopped says what becomes of what it has done. */
void lw_checkpoint_explain(const struct lw_checkpoint *checkpoint, struct lw_error *err);

void lw_checkpoint_close(struct lw_checkpoint *checkpoint);
