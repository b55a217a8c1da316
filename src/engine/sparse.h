/* sparse.h - solvers, which find the lines of a signal in samples. Each engine has its own solvers, made by struct lw_sparse_ops.
 *
 *     for each channel and attempt 0, 1, ...:  load the samples of the attempt's stages, recover; if explained, end
 *
 * A solver works on one channel at a time; the main thread makes all calls. Its results depend on the layout and the samples only:
 * a channel gives the same bits on every rank with this kind of engine. */
#pragma once

#include "engine/engine.h"
#include "sfft/sfft.h"

LW_C_BEGIN

struct lw_sfft_solver;

/* An engine's functions for the sparse transform. */
struct lw_sparse_ops {
    /** Return the bytes of a solver, without the samples that the caller allocates. */
    struct lw_bytes (*bytes)(const struct lw_engine *engine, const struct lw_sfft_plan *plan);

    /** Make a solver for a layout, which is borrowed for the solver's life. */
    int (*create)(struct lw_engine *engine, const struct lw_sfft_layout *layout, struct lw_sfft_solver **out, struct lw_error *err);

    struct lw_sparse_pace pace;
};

/* An engine's functions for the dense transform, of all samples. */
struct lw_dense_ops {
    /** Return the bytes of a transform, samples included. */
    struct lw_bytes (*bytes)(const struct lw_engine *engine, const struct lw_sfft_spec *spec);

    /** Find the largest coefficients of spec->n samples, at most spec->sparsity and none below spec->min_magnitude. Real signals:
     * only those at 0 .. n/2. The bits do not depend on the number of threads.
     * @param samples  [n] (re, im) pairs, or [n] doubles if is_real, in lw_sfft_dense_samples_bytes, aligned as by lw_alloc.
     *                 Overwritten, if spec->wants_spectrum by the spectrum, [lw_sfft_n_frequencies] (re, im)
     * @param lines    set; [spec->sparsity]
     * @param result   lines, n_lines, n_found, is_explained and residual are set, the rest becomes zero */
    int (*transform)(struct lw_engine *engine, const struct lw_sfft_spec *spec, double *samples, struct lw_sfft_line *lines,
                     struct lw_sfft_result *result, struct lw_error *err);

    struct lw_sparse_pace pace;
};

struct lw_sfft_solver_ops {
    /** Take the samples of a stage.
     * @param samples  [D][2 h + 1] (re, im) pairs in the order of lw_sfft_stage_sample, all finite; not used after return */
    int (*load)(struct lw_sfft_solver *solver, int stage, const double *samples, struct lw_error *err);

    /** Find the lines with the stages of an attempt, as lw_sfft_recover does. */
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
