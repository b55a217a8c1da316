#include "gpu/sfft/solver.h"

#include "base/integers.h"
#include "base/memory.h"
#include "gpu/host/error.h"
#include "gpu/host/fft.h"
#include "gpu/sfft/memory.h"

struct solver_cuda {
    struct lw_sfft_solver base;
    cudaStream_t stream;
    struct lw_sfft_recovery_shape shape;
    void *device, *pinned;                          /* the two allocations that hold everything below */
    struct lw_sfft_memory memory;
    struct lw_sfft_device_stage stages[LW_SFFT_STAGES];     /* host copy of memory.stages */
    struct lw_cuda_fft fft[LW_SFFT_ATTEMPTS];       /* open for attempts that our own kernel cannot transform */
    void *fft_work;                                 /* work memory that these plans share */
    double2 *staging;                               /* [samples of the largest stage] pinned, for copies to the device */
    struct lw_sfft_device_result *result;           /* pinned */
    struct lw_sfft_line *lines;                     /* [sparsity] pinned */
};

static struct solver_cuda *of(struct lw_sfft_solver *solver) { return (struct solver_cuda *)solver; }

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

static int n_planes_of(const struct lw_sfft_plan *plan, int attempt)
{
    return plan->attempts[attempt].n_stages * plan->attempts[attempt].n_shifts + 1;
}

/* Work memory of cuFFT for the attempts that it transforms. */
static int64_t fft_work_bytes(const struct lw_device *device, const struct lw_sfft_plan *plan)
{
    int64_t most = 0;
    for (int a = 0; a < plan->n_attempts; a++) {
        const int64_t n = plan->attempts[a].n_buckets;
        if (!lw_sfft_transform_fits(n, device->shared_bytes))
            most = lw_max64(most, lw_cuda_fft_bytes(n, CUFFT_Z2Z, n_planes_of(plan, a)));
    }
    return most;
}

static int64_t lay_out_device(struct solver_cuda *solver, const struct lw_sfft_plan *plan, int64_t work_bytes)
{
    struct lw_arena arena = {.base = solver->device};
    lw_sfft_memory_lay_out(plan, &arena, &solver->memory);
    solver->fft_work = lw_arena_take(&arena, work_bytes);
    return arena.used;
}

static int64_t lay_out_pinned(struct solver_cuda *solver, const struct lw_sfft_plan *plan)
{
    const struct lw_sfft_sizes sizes = lw_sfft_sizes_of(plan);
    struct lw_arena arena = {.base = solver->pinned};
    solver->staging = lw_arena_take(&arena, sizes.most_samples * (int64_t)sizeof *solver->staging);
    solver->result = lw_arena_take(&arena, sizeof *solver->result);
    solver->lines = lw_arena_take(&arena, sizes.sparsity * (int64_t)sizeof *solver->lines);
    return arena.used;
}

static struct lw_bytes bytes(const struct lw_engine *engine, const struct lw_sfft_plan *plan)
{
    const struct lw_device *const device = lw_cuda_device_of(engine);
    struct solver_cuda counted = {0};
    return (struct lw_bytes){
        .host = sizeof counted, .pinned = lay_out_pinned(&counted, plan),
        .device = lw_device_bytes(lay_out_device(&counted, plan, fft_work_bytes(device, plan))),
    };
}

static int allocate(struct solver_cuda *solver, const struct lw_device *device, struct lw_error *err)
{
    const struct lw_sfft_plan *const plan = &solver->base.layout->plan;
    const int64_t work_bytes = fft_work_bytes(device, plan);
    const int64_t device_bytes = lay_out_device(solver, plan, work_bytes), pinned_bytes = lay_out_pinned(solver, plan);
    const cudaError_t status = cudaHostAlloc(&solver->pinned, (size_t)pinned_bytes, cudaHostAllocDefault);
    if (status != cudaSuccess)
        return lw_cuda_no_memory(status, "a sparse transform", pinned_bytes, 0, err);
    const int rc = lw_cuda_allocate(device_bytes, "a sparse transform", &solver->device, err);
    if (rc)
        return rc;
    lay_out_device(solver, plan, work_bytes);
    lay_out_pinned(solver, plan);
    return LW_OK;
}

/* ---- constant data of the kernels ------------------------------------------------------------------------------------ */

static int upload(const struct solver_cuda *solver, void *to, const void *from, int64_t bytes, struct lw_error *err)
{
    return lw_cuda_upload(to, from, bytes, solver->stream, "copying the stages of a sparse transform to the device", err);
}

static int upload_roots(struct solver_cuda *solver, int attempt, struct lw_error *err)
{
    const int64_t n = solver->base.layout->plan.attempts[attempt].n_buckets;
    LW_FREED double2 *const roots = lw_alloc_array(n, sizeof *roots, "roots of unity", err);
    if (!roots)
        return LW_ESYSTEM;
    for (int64_t k = 0; k < n; k++)
        roots[k] = (double2){cos(2 * M_PI * (double)k / (double)n), -sin(2 * M_PI * (double)k / (double)n)};
    return upload(solver, solver->memory.roots[attempt], roots, n * (int64_t)sizeof *roots, err);
}

static int upload_all(struct solver_cuda *solver, struct lw_error *err)
{
    const struct lw_sfft_layout *const layout = solver->base.layout;
    const struct lw_sfft_memory *const memory = &solver->memory;
    const struct lw_sfft_device_control none = {0};
    int rc;
    for (int s = 0; s < layout->n_stages; s++)
        solver->stages[s] = lw_sfft_memory_stage(memory, layout, s, s > 0 ? &solver->stages[s - 1] : NULL);
    for (int a = 0; a < layout->plan.n_attempts; a++) {
        const struct lw_sfft_window *const window = layout->windows[a];
        if ((rc = upload(solver, memory->taps[a], window->taps, (2 * window->half + 1) * (int64_t)sizeof(double), err)) ||
            (rc = upload(solver, memory->response[a], window->response, LW_SFFT_RESPONSE_SIZE * (int64_t)sizeof(double), err)) ||
            (rc = upload_roots(solver, a, err)))
            return rc;
    }
    rc = upload(solver, memory->recovery.control, &none, sizeof none, err);
    return rc ? rc : upload(solver, memory->stages, solver->stages, layout->n_stages * (int64_t)sizeof *solver->stages, err);
}

/* ---- cuFFT ----------------------------------------------------------------------------------------------------------- */

static int plan_ffts(struct solver_cuda *solver, const struct lw_device *device, struct lw_error *err)
{
    const struct lw_sfft_plan *const plan = &solver->base.layout->plan;
    int rc = LW_OK;
    for (int a = 0; rc == LW_OK && a < plan->n_attempts; a++)
        if (!lw_sfft_transform_fits(plan->attempts[a].n_buckets, device->shared_bytes))
            rc = lw_cuda_fft_create(&solver->fft[a], plan->attempts[a].n_buckets, CUFFT_Z2Z, n_planes_of(plan, a),
                                    solver->fft_work, "planning the transform of the buckets", err);
    return rc;
}

static int run_fft(struct solver_cuda *solver, int attempt, const struct lw_sfft_device_range *range, cudaStream_t stream,
                   struct lw_error *err)
{
    double2 *const values = solver->memory.values + range->first_value;
    const cufftHandle fft = solver->fft[attempt].handle;
    int rc;
    if ((rc = lw_cufft_check(cufftSetStream(fft, stream), "transforming the buckets", err)) ||
        (rc = lw_cufft_check(cufftExecZ2Z(fft, values, values, CUFFT_FORWARD), "transforming the buckets", err)))
        return rc;
    return lw_cuda_check(lw_sfft_largest(range, solver->memory.values, &solver->memory.recovery.control->largest, stream),
                         "finding the largest bucket", err);
}

/* ---- the solver ------------------------------------------------------------------------------------------------------ */

static void destroy(struct lw_sfft_solver *solver)
{
    struct solver_cuda *const cuda = of(solver);
    if (cuda->stream) {
        cudaStreamSynchronize(cuda->stream);
        cudaStreamDestroy(cuda->stream);
    }
    for (int a = 0; a < LW_SFFT_ATTEMPTS; a++)
        lw_cuda_fft_destroy(&cuda->fft[a]);
    cudaFree(cuda->device);
    cudaFreeHost(cuda->pinned);
    lw_free(cuda);
}

static int load(struct lw_sfft_solver *solver, int s, const double *samples, struct lw_error *err)
{
    struct solver_cuda *const cuda = of(solver);
    const int64_t count = lw_sfft_stage_samples(&solver->layout->stages[s]);
    const size_t bytes = (size_t)count * sizeof *cuda->staging;
    int rc = lw_cuda_check(cudaStreamSynchronize(cuda->stream), "waiting for the device", err);
    if (rc)
        return rc;
    memcpy(cuda->staging, samples, bytes);
    return lw_cuda_check(cudaMemcpyAsync(cuda->memory.rows + cuda->stages[s].first_sample, cuda->staging, bytes,
                                         cudaMemcpyHostToDevice, cuda->stream), "copying samples to the device", err);
}

int lw_cuda_sfft_enqueue(struct lw_sfft_solver *solver, int attempt, const struct lw_sfft_device_signal *signal,
                         cudaStream_t stream, struct lw_error *err)
{
    struct solver_cuda *const cuda = of(solver);
    const struct lw_sfft_layout *const layout = solver->layout;
    struct lw_sfft_device_control *const control = cuda->memory.recovery.control;
    const struct lw_sfft_device_range range = {
        .stages = cuda->memory.stages,
        .first_stage = lw_sfft_first_stage(layout, attempt), .end_stage = lw_sfft_first_stage(layout, attempt + 1),
        .n_planes = n_planes_of(&layout->plan, attempt), .n_shifts = layout->plan.attempts[attempt].n_shifts,
        .n_buckets = layout->plan.attempts[attempt].n_buckets,
        .first_value = cuda->stages[lw_sfft_first_stage(layout, attempt)].first_value, .roots = cuda->memory.roots[attempt],
        .has_clusters = cuda->shape.cluster_blocks >= 8,
    };
    const double2 *const rows = signal ? NULL : cuda->memory.rows;
    int rc = lw_cuda_check(lw_sfft_fold(&range, signal, rows, cuda->memory.values, control, stream),
                           "folding samples into buckets", err);
    if (rc == LW_OK && cuda->fft[attempt].is_open)
        rc = run_fft(cuda, attempt, &range, stream, err);
    else if (rc == LW_OK)
        rc = lw_cuda_check(lw_sfft_transform(&range, cuda->memory.values, &control->largest, stream),
                           "transforming the buckets", err);
    const int64_t n_buckets = cuda->stages[range.end_stage - 1].first_bucket;
    struct lw_sfft_recovery recovery = cuda->memory.recovery;
    recovery.table_bits = lw_sfft_table_bits(recovery.capacity, n_buckets);
    return rc ? rc : lw_cuda_check(lw_sfft_recovery_run(&recovery, range.end_stage - 1, n_buckets, &cuda->shape, stream),
                                   "recovering lines", err);
}

int lw_cuda_sfft_fetch(struct lw_sfft_solver *solver, int attempt, cudaStream_t stream, struct lw_sfft_result *result,
                       struct lw_error *err)
{
    struct solver_cuda *const cuda = of(solver);
    const struct lw_sfft_recovery *const r = &cuda->memory.recovery;
    const size_t lines_bytes = (size_t)solver->layout->plan.spec.sparsity * sizeof *cuda->lines;
    int rc;
    if ((rc = lw_cuda_check(cudaMemcpyAsync(cuda->result, r->result, sizeof *cuda->result, cudaMemcpyDeviceToHost, stream),
                            "copying lines from the device", err)) ||
        (rc = lw_cuda_check(cudaMemcpyAsync(cuda->lines, r->lines, lines_bytes, cudaMemcpyDeviceToHost, stream),
                            "copying lines from the device", err)) ||
        (rc = lw_cuda_check(cudaStreamSynchronize(stream), "recovering lines", err)))
        return rc;
    const struct lw_sfft_device_result *const found = cuda->result;
    *result = (struct lw_sfft_result){.lines = cuda->lines, .n_lines = found->n_lines, .n_found = found->n_found};
    lw_sfft_judge(solver->layout, attempt, &found->figures, result);
    return LW_OK;
}

const struct lw_sfft_device_result *lw_cuda_sfft_details(const struct lw_sfft_solver *solver)
{
    return ((const struct solver_cuda *)solver)->result;
}

static int recover(struct lw_sfft_solver *solver, int attempt, struct lw_sfft_result *result, struct lw_error *err)
{
    struct solver_cuda *const cuda = of(solver);
    const int rc = lw_cuda_sfft_enqueue(solver, attempt, NULL, cuda->stream, err);
    return rc ? rc : lw_cuda_sfft_fetch(solver, attempt, cuda->stream, result, err);
}

static const struct lw_sfft_solver_ops ops = {.load = load, .recover = recover, .destroy = destroy};

static int create(struct lw_engine *engine, const struct lw_sfft_layout *layout, struct lw_sfft_solver **out, struct lw_error *err)
{
    const struct lw_device *const device = lw_cuda_device_of(engine);
    struct solver_cuda *const solver = lw_alloc(sizeof *solver, "a sparse transform", err);
    if (!solver)
        return LW_ESYSTEM;
    solver->base = (struct lw_sfft_solver){&ops, layout};
    solver->shape = lw_sfft_recovery_shape_of(device->major, device->n_multiprocessors, device->shared_bytes);
    int rc;
    if ((rc = lw_cuda_check(cudaStreamCreateWithFlags(&solver->stream, cudaStreamNonBlocking), "making a stream", err)) ||
        (rc = allocate(solver, device, err)) || (rc = upload_all(solver, err)) || (rc = plan_ffts(solver, device, err))) {
        destroy(&solver->base);
        return rc;
    }
    *out = &solver->base;
    return LW_OK;
}

const struct lw_sparse_ops lw_cuda_sparse_ops = {.bytes = bytes, .create = create, .pace = {9e-5, 3e-10, 1}};
