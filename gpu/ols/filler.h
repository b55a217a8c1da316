/* filler.h - takes the filters of an operation from stored taps in host memory to what its kernels read. C header.
 *
 *     stored taps --threads--> pinned stages --H2D--> stored taps --spectra.h--> bins --lw_cuda_ols_put, lw_long_ols_put--> bank
 *
 * Filters go in batches. Host threads copy a piece to a stage while the link copies the piece before, and the device transforms the
 * batch before. A filter's bits depend neither on batches nor on the number of filters.
 *
 *     create -> run ... run (allocates nothing) -> destroy */
#pragma once

#include "base/pool.h"
#include "gpu/array/stack.h"
#include "gpu/ols/long/long.h"

LW_C_BEGIN

/* The path that computes an operation: the long path with `long_plan` if is_long, else the kernel of `kernel`. */
struct lw_ols_resolved {
    bool is_long;
    struct lw_cuda_ols_plan kernel;
    struct lw_long_ols_plan long_plan;
};

/* The memory that filters are put into. */
struct lw_filler_target {
    void *bank;                     /* the kernel's bank, prepared; not used if there is long_ols */
    struct lw_long_ols *long_ols;   /* the long path; NULL if a kernel filters */
    double *ends;                   /* device: filters for the axis' two ends (lw_cuda_spread_ends); NULL: no folded derivative */
    const struct lw_stack_shape *shape;     /* stacks (gpu/array/stack.h), which take the place of the kernel; else NULL */
    const struct lw_stack_bank *stacks;
};

struct lw_filler;

/** Return the bytes of a filler's device memory, and of its pinned memory, for runs of at most ols->n_filters filters.
 * @param batch  filters of a batch, for tests and measurements; 0: the filler chooses */
int64_t lw_filler_bytes(const struct lw_ols_resolved *path, const struct lw_ols_spec *ols, int batch);
int64_t lw_filler_pinned_bytes(const struct lw_ols_spec *ols);

/** Create a filler. The taps' type counts, the taps themselves do not. LW_ESYSTEM.
 * @param path     copied
 * @param memory   lw_filler_bytes of device memory, borrowed for the filler's life
 * @param threads  borrowed for the filler's life; they pin and fill the stages. NULL: the driver copies, without stages */
int lw_filler_create(const struct lw_ols_resolved *path, const struct lw_ols_spec *ols, int batch, void *memory, int device,
                     struct lw_pool *threads, struct lw_filler **out, struct lw_error *err);
void lw_filler_destroy(struct lw_filler *filler);       /* NULL is legal; waits for the work on its stream */

/** Put n filters into the target, in place of those before; the others of the ols->n_filters become 0. Waits for the work on
 * `stream`. LW_ESYSTEM. @param taps  [n x n_taps], of the type that create was given */
int lw_filler_run(struct lw_filler *filler, const struct lw_stored_taps *taps, int n, const struct lw_filler_target *target,
                  cudaStream_t stream, struct lw_error *err);

LW_C_END
