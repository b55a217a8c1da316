/* listener.h - who wants to know how far a run has come: the progress line, the checkpoints. The run tells them after each
 * write. */
#pragma once

#include "setup/flaws.h"

#include <assert.h>
#include <stdint.h>

/* Outputs that all ranks have handed to the file, on the axis times channels, in the fixed order of rounds: those of the
 * rounds before `n_rounds` and no others; and what was found in these rounds. A run on other ranks or with other rounds counts the
 * same outputs; what an earlier run has left done counts as written. */
struct lw_written {
    int64_t n_rounds;           /* of this run */
    int64_t n_outputs, all_outputs;
    int64_t n_rows;             /* of a table that grows, on rank 0; LW_ROWS_TOO_MANY: there will be no result */
    struct lw_flaws flaws;      /* this rank's */
};

#define LW_ROWS_TOO_MANY (-1)

/* @return  an error ends the run; all ranks return the same. Collective. */
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
