/* sparse.h - who turns the samples of a sparse transform into lines: each engine has a solver of its own
 * (struct lw_sparse_ops makes one).
 *
 *     for each channel:  load the samples of attempt 0's stages, recover; not explained: those of attempt 1, recover; ...
 *
 * A solver serves one channel at a time, and everything is called by the main thread. Its results are a function of the
 * layout and the samples: a channel gives the same bits on every rank that has such an engine. */
#pragma once

#include "base/linkage.h"
#include "engine/engine.h"
#include "sfft/sfft.h"

LW_C_BEGIN

struct lw_sfft_solver;

/* What an engine has for the sparse transform. */
struct lw_sparse_ops {
    /** Bytes of a solver, without the samples that the caller brings. */
    struct lw_bytes (*bytes)(const struct lw_engine *engine, const struct lw_sfft_plan *plan);

    /** A solver by a layout, which is borrowed for its life. */
    int (*create)(struct lw_engine *engine, const struct lw_sfft_layout *layout, struct lw_sfft_solver **out, struct lw_error *err);
};

/* What an engine has for the transform of all samples. */
struct lw_dense_ops {
    /** Bytes of a transform, with the samples. */
    struct lw_bytes (*bytes)(const struct lw_engine *engine, const struct lw_sfft_spec *spec);

    /** The largest coefficients of spec->n samples, at most spec->sparsity and none below spec->min_magnitude; of a real
     * signal only those at 0 .. n/2. Bit by bit the same whatever the number of threads.
     * @param samples  [n] (re, im) pairs, or [n] doubles if is_real, in lw_sfft_dense_samples_bytes; overwritten, if
     *                 spec->wants_spectrum by [lw_sfft_n_frequencies] (re, im); aligned as lw_alloc does
     * @param lines    [spec->sparsity]
     * @param result   lines, n_lines, n_found, is_explained and residual are set; the rest is zero */
    int (*transform)(struct lw_engine *engine, const struct lw_sfft_spec *spec, double *samples, struct lw_sfft_line *lines,
                     struct lw_sfft_result *result, struct lw_error *err);
};

struct lw_sfft_solver_ops {
    /** Take the samples of a stage.
     * @param samples  [D][2 h + 1] (re, im) pairs in the order of lw_sfft_stage_sample, all finite; done with at return */
    int (*load)(struct lw_sfft_solver *solver, int stage, const double *samples, struct lw_error *err);

    /** lw_sfft_recover. */
    int (*recover)(struct lw_sfft_solver *solver, int attempt, struct lw_sfft_result *result, struct lw_error *err);

    void (*destroy)(struct lw_sfft_solver *solver);
};

/* First member of every solver. */
struct lw_sfft_solver {
    const struct lw_sfft_solver_ops *ops;
    const struct lw_sfft_layout *layout;            /* borrowed */
};

static inline void lw_sfft_solver_destroy(struct lw_sfft_solver *solver)    /* NULL is legal */
{
    if (solver)
        solver->ops->destroy(solver);
}

LW_C_END
