/* listener.h - callbacks after each write of a run, for the progress line and the checkpoints. */
#pragma once

#include "setup/flaws.h"

#include <assert.h>

/* Progress of a run: its first n_rounds rounds are written (handed to the file, but perhaps not flushed) on all ranks. Outputs,
 * rows and flaws are those of these rounds, and of the interrupted run if this run continues one. Outputs are counted on the axis
 * times channels, so that their number does not depend on ranks and rounds. */
struct lw_written {
    int64_t n_rounds;           /* rounds of this run that are written */
    int64_t n_outputs, all_outputs;     /* outputs written; outputs of the whole result */
    int64_t n_rows;             /* rows of the table, on rank 0; LW_ROWS_TOO_MANY: there will be no result */
    struct lw_flaws flaws;      /* flaws that this rank has found */
};

#define LW_ROWS_TOO_MANY (-1)

/* Take note of progress. Collective. @return  LW_OK, or an error that ends the run; the same code on all ranks */
typedef int lw_listener_fn(void *context, const struct lw_written *written, struct lw_error *err);

#define LW_LISTENERS 4

struct lw_listeners {
    struct {
        lw_listener_fn *call;
        void *context;          /* borrowed for the run */
    } all[LW_LISTENERS];
    int count;
};

static inline void lw_listeners_add(struct lw_listeners *listeners, lw_listener_fn *call, void *context)
{
    assert(listeners->count < LW_LISTENERS);
    listeners->all[listeners->count].call = call;
    listeners->all[listeners->count++].context = context;
}

static inline int lw_listeners_tell(const struct lw_listeners *listeners, const struct lw_written *written, struct lw_error *err)
{
    int rc = LW_OK;
    for (int i = 0; i < listeners->count && rc == LW_OK; i++)
        rc = listeners->all[i].call(listeners->all[i].context, written, err);
    return rc;
}
