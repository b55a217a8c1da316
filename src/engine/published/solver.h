/* solver.h - who computes the published sparse transform (sfft/published/published.h): each engine has a solver of
 * its own (struct lw_published_ops makes one).
 *
 * One attempt. A solver's results are a function of the layout and the samples; engines differ in rounding. */
#pragma once

#include "engine/engine.h"
#include "sfft/published/published.h"

/* All samples of a signal, on the host: (re, im) pairs, or plain doubles if it is real. */
struct lw_published_signal {
    const double *samples;
    bool is_real;
};

struct lw_published_solver;

/* What an engine has for the published transform: bytes of a solver, and one by a layout, which is borrowed for its life. */
struct lw_published_ops {
    struct lw_bytes (*bytes)(const struct lw_engine *engine, const struct lw_published_plan *plan);
    int (*create)(struct lw_engine *engine, const struct lw_published_layout *layout, struct lw_published_solver **out,
                  struct lw_error *err);
};

struct lw_published_solver_ops {
    /** From samples to checked lines.
     * @param signal   real if and only if the plan's spec is; all samples finite
     * @param result   its lines are borrowed until the next call on the same object
     * @param profile  seconds are added to it */
    int (*run)(struct lw_published_solver *solver, const struct lw_published_signal *signal, struct lw_sfft_result *result,
               struct lw_published_profile *profile, struct lw_error *err);

    void (*destroy)(struct lw_published_solver *solver);
};

/* First member of every solver. */
struct lw_published_solver {
    const struct lw_published_solver_ops *ops;
    const struct lw_published_layout *layout;       /* borrowed */
};

static inline void lw_published_solver_destroy(struct lw_published_solver *solver) /* NULL is legal */
{
    if (solver)
        solver->ops->destroy(solver);
}
