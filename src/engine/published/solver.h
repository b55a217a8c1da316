/* solver.h - solvers for the published sparse transform (sfft/published/published.h). Each engine makes its own.
 *
 * There is one attempt only. Results depend on the layout and the samples; engines differ in rounding. */
#pragma once

#include "engine/engine.h"
#include "sfft/published/published.h"

/* All samples of a signal, on the host: (re, im) pairs, or plain doubles if it is real. */
struct lw_published_signal {
    const double *samples;
    bool is_real;
};

struct lw_published_solver;

/* An engine's functions for the published transform: the bytes of a solver; making one for a layout, borrowed for its life; and its
 * pace. */
struct lw_published_ops {
    struct lw_bytes (*bytes)(const struct lw_engine *engine, const struct lw_published_plan *plan);
    int (*create)(struct lw_engine *engine, const struct lw_published_layout *layout, struct lw_published_solver **out,
                  struct lw_error *err);
    struct lw_sparse_pace pace;
};

struct lw_published_solver_ops {
    /** Find the lines of a signal and check them.
     * @param signal   real if and only if the plan's spec is real; all samples finite
     * @param result   set; its lines stay valid until the next call on the same solver
     * @param profile  the seconds of each step are added */
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
