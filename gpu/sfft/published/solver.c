#include "gpu/sfft/published/solver.h"

#include "base/memory.h"
#include "gpu/host/arena.h"
#include "gpu/host/error.h"
#include "gpu/host/fft.h"
#include "gpu/sfft/published/launch.h"
#include "sfft/published/steps.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* Moments between the steps of a run, which a timed solver records. */
enum mark { START, COMB, BIN, TRANSFORM, CUTOFF, VOTE, CHECK, N_MARKS };

struct solver {
    struct lw_published_solver base;
    bool is_timed;
    struct lw_cuda_published_ways ways;
    cudaStream_t stream;
    cudaEvent_t marks[N_MARKS];
    cudaGraphExec_t graph;                          /* a whole run: one launch instead of tens */
    void *memory;                                   /* one allocation for everything that `device` points to */
    struct lw_published_device device;
    double *signal;                                 /* space for a signal on the device */
    bool transforms;                                /* the planes are transformed without cuFFT */
    struct lw_cuda_fft fft, comb_fft;
    void *fft_work;

    void *pinned;                                   /* one allocation for the pinned memory below */
    const double **asked;                           /* [1] address of this run's signal */
    struct lw_published_device_control *control;
    struct lw_sfft_line *lines;                     /* [sparsity] */
};

static_assert(sizeof(struct lw_published_device_control) % sizeof(ulonglong2) == 0, "it is cleared by those");

/* ---- memory -------------------------------------------------------------------------------------------------------- */

static bool is_power(int64_t n) { return (n & (n - 1)) == 0; }

/* The numbers that follow from a plan. */
static struct lw_published_device describe(const struct lw_published_plan *plan)
{
    const struct lw_published_choice *const choice = &plan->choice;
    struct lw_published_device device = {
        .n = plan->spec.n, .n_buckets = choice->n_buckets, .half = lw_published_window_half(plan),
        .n_frequencies = plan->spec.is_real ? plan->spec.n / 2 + 1 : plan->spec.n, .n_selected = plan->n_selected,
        .n_louder = plan->n_louder, .capacity = plan->capacity,
        .n_loops = lw_published_count_loops(plan) + 1, .location_loops = choice->location_loops,
        .n_estimates = lw_published_count_loops(plan), .votes_needed = choice->votes, .is_real = plan->spec.is_real,
        .sparsity = plan->spec.sparsity, .min_magnitude = plan->spec.min_magnitude,
        .n_sums = (choice->n_buckets + LW_PUBLISHED_SUMMED - 1) / LW_PUBLISHED_SUMMED, .n_words = (choice->n_buckets + 31) / 32,
        .significance = lw_published_significance(choice->n_buckets), .comb = choice->comb, .n_residues = plan->n_residues,
        .inverse_n = 1.0 / (double)plan->spec.n, .is_power = is_power(plan->spec.n) && is_power(choice->n_buckets),
    };
    device.taps_pitch = (int)((2 * device.half + choice->n_buckets) / choice->n_buckets + 3) / 4 * 4;
    while (device.is_power && 1ll << device.bucket_bits < device.n_buckets)
        device.bucket_bits++;
    while (device.is_power && device.n_buckets << device.width_bits < device.n)
        device.width_bits++;
    return device;
}

/* Return an attribute of the current device; 0 if it is unknown. */
static int attribute_of(enum cudaDeviceAttr attribute)
{
    int device = 0, value = 0;
    return cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess ? value : 0;
}

static int64_t lay_out_pinned(struct solver *solver)
{
    struct lw_arena arena = {.base = solver->pinned};
    solver->asked = lw_arena_take(&arena, sizeof *solver->asked);
    solver->control = lw_arena_take(&arena, sizeof *solver->control);
    solver->lines = lw_arena_take(&arena, solver->device.sparsity * (int64_t)sizeof *solver->lines);
    solver->device.asked = solver->asked;
    solver->device.outcome = solver->control;
    solver->device.reported = solver->lines;
    return arena.used;
}

static int64_t lay_out(struct solver *solver, int64_t work_bytes)
{
    struct lw_arena arena = {.base = solver->memory};
    struct lw_published_device *const d = &solver->device;
    const int64_t taps = 2 * d->half + 1, of_loops = d->location_loops;
    solver->signal = lw_arena_take(&arena, d->n * (d->is_real ? 1 : 2) * (int64_t)sizeof(double));
    d->samples = lw_arena_take(&arena, sizeof *d->samples);
    d->loops = lw_arena_take(&arena, d->n_loops * (int64_t)sizeof *d->loops);
    d->taps = lw_arena_take(&arena, taps * (int64_t)sizeof *d->taps);
    d->response = lw_arena_take(&arena, LW_SFFT_RESPONSE_SIZE * (int64_t)sizeof *d->response);
    d->bucket_taps = lw_arena_take(&arena, d->n_buckets * d->taps_pitch * (int64_t)sizeof *d->bucket_taps);
    d->roots = lw_arena_take(&arena, LW_PUBLISHED_ROOTS(d->n_buckets) * (int64_t)sizeof *d->roots);
    d->between = lw_arena_take(&arena, d->n_loops * d->n_buckets * (int64_t)sizeof *d->between);
    d->planes = lw_arena_take(&arena, d->n_loops * d->n_buckets * (int64_t)sizeof *d->planes);
    d->energies = lw_arena_take(&arena, of_loops * d->n_buckets * (int64_t)sizeof *d->energies);
    d->places = lw_arena_take(&arena, of_loops * d->n_selected * (int64_t)sizeof *d->places);
    d->lines = lw_arena_take(&arena, d->capacity * (int64_t)sizeof *d->lines);
    d->keys = lw_arena_take(&arena, d->capacity * (int64_t)sizeof *d->keys);
    d->ordered = lw_arena_take(&arena, d->capacity * (int64_t)sizeof *d->ordered);
    d->frequencies = lw_arena_take(&arena, d->capacity * (int64_t)sizeof *d->frequencies);
    d->shares = lw_arena_take(&arena, d->capacity * (d->is_real ? 6 : 3) * (int64_t)sizeof *d->shares);
    d->rest = lw_arena_take(&arena, d->n_buckets * (int64_t)sizeof *d->rest);
    d->sums = lw_arena_take(&arena, 3 * d->n_sums * (int64_t)sizeof *d->sums);
    const int64_t before = arena.used;
    d->first_shares = lw_arena_take(&arena, d->n_buckets * (int64_t)sizeof *d->first_shares);
    d->chosen = lw_arena_take(&arena, of_loops * d->n_words * (int64_t)sizeof *d->chosen);
    d->approved = lw_arena_take(&arena, d->comb);
    d->cleared = (ulonglong2 *)(void *)d->first_shares;
    d->n_cleared = (arena.used - before + (int64_t)sizeof *d->control) / (int64_t)sizeof *d->cleared;
    d->control = lw_arena_take(&arena, sizeof *d->control);
    d->teeth = lw_arena_take(&arena, d->comb * (int64_t)sizeof *d->teeth);
    d->tooth_energies = lw_arena_take(&arena, d->comb * (int64_t)sizeof *d->tooth_energies);
    d->tooth_places = lw_arena_take(&arena, d->n_residues * (int64_t)sizeof *d->tooth_places);
    solver->fft_work = lw_arena_take(&arena, work_bytes);
    return arena.used;
}

static int64_t work_bytes(const struct lw_published_device *device)
{
    const int64_t buckets = lw_cuda_fft_bytes(device->n_buckets, CUFFT_Z2Z, device->n_loops);
    const int64_t comb = device->comb > 0 ? lw_cuda_fft_bytes(device->comb, CUFFT_Z2Z, 1) : 0;
    return buckets > comb ? buckets : comb;
}

static struct lw_bytes bytes(const struct lw_engine *engine, const struct lw_published_plan *plan)
{
    (void)engine;
    struct solver counted = {.device = describe(plan)};
    return (struct lw_bytes){
        .host = (int64_t)sizeof counted, .pinned = lay_out_pinned(&counted),
        .device = lw_device_bytes(lay_out(&counted, work_bytes(&counted.device))),
    };
}

static int allocate(struct solver *solver, struct lw_error *err)
{
    const int64_t work = work_bytes(&solver->device), pinned = lay_out_pinned(solver), bytes = lay_out(solver, work);
    const cudaError_t status = cudaHostAlloc(&solver->pinned, (size_t)pinned, cudaHostAllocDefault);
    if (status != cudaSuccess)
        return lw_cuda_no_memory(status, "a sparse transform", pinned, 0, err);
    const int rc = lw_cuda_allocate(bytes, "a sparse transform", &solver->memory, err);
    if (rc)
        return rc;
    memset(solver->pinned, 0, (size_t)pinned);          /* touch the pages now, not during a run */
    lay_out(solver, work);
    lay_out_pinned(solver);
    return LW_OK;
}

/* ---- create -------------------------------------------------------------------------------------------------------- */

static int create_streams(struct solver *solver, struct lw_error *err)
{
    cudaError_t status = cudaStreamCreateWithFlags(&solver->stream, cudaStreamNonBlocking);
    for (int i = 0; status == cudaSuccess && i < N_MARKS; i++)
        status = cudaEventCreate(&solver->marks[i]);
    return lw_cuda_check(status, "making streams and events", err);
}

static int create_fft(struct solver *solver, int64_t length, int batch, struct lw_cuda_fft *fft, struct lw_error *err)
{
    const char *const what = "planning the transform of the buckets";
    const int rc = lw_cuda_fft_create(fft, length, CUFFT_Z2Z, batch, solver->fft_work, what, err);
    return rc ? rc : lw_cufft_check(cufftSetStream(fft->handle, solver->stream), what, err);
}

static int upload(struct solver *solver, const void *to, const void *from, int64_t bytes, struct lw_error *err)
{
    return lw_cuda_upload((void *)to, from, bytes, solver->stream, "copying to the device", err);
}

/* Upload the taps of each bucket side by side, padded with zeros. */
static int upload_bucket_taps(struct solver *solver, struct lw_error *err)
{
    const struct lw_published_device *const d = &solver->device;
    const double *const taps = solver->base.layout->window->taps;
    const int64_t count = 2 * d->half + 1;
    LW_FREED double *const of_buckets = lw_alloc_array(d->n_buckets * d->taps_pitch, sizeof *of_buckets, "taps of buckets", err);
    if (!of_buckets)
        return LW_ESYSTEM;
    for (int64_t b = 0; b < d->n_buckets; b++) {
        const int64_t first = b - (d->half + b) / d->n_buckets * d->n_buckets + d->half;
        for (int64_t i = 0; i < d->taps_pitch; i++) {
            const int64_t tap = first + i * d->n_buckets;
            of_buckets[b * d->taps_pitch + i] = tap < count ? taps[tap] : 0;
        }
    }
    return upload(solver, d->bucket_taps, of_buckets, d->n_buckets * d->taps_pitch * (int64_t)sizeof *of_buckets, err);
}

static int upload_roots(struct solver *solver, struct lw_error *err)
{
    const int64_t count = LW_PUBLISHED_ROOTS(solver->device.n_buckets);
    LW_FREED double2 *const roots = lw_alloc_array(count, sizeof *roots, "roots of unity", err);
    if (!roots)
        return LW_ESYSTEM;
    lw_published_roots(solver->device.n_buckets, roots);
    return upload(solver, solver->device.roots, roots, count * (int64_t)sizeof *roots, err);
}

static int upload_layout(struct solver *solver, struct lw_error *err)
{
    const struct lw_published_layout *const layout = solver->base.layout;
    const struct lw_published_device *const device = &solver->device;
    struct lw_published_device_loop loops[LW_PUBLISHED_LOOPS];
    for (int l = 0; l < device->n_loops; l++)
        loops[l] = (struct lw_published_device_loop){layout->loops[l].sigma, layout->loops[l].sigma_inverse, layout->loops[l].tau};
    int rc;
    if ((device->column_bytes > 0 && (rc = upload_bucket_taps(solver, err))) ||
        (solver->transforms && (rc = upload_roots(solver, err))) ||
        (rc = upload(solver, device->loops, loops, device->n_loops * (int64_t)sizeof *loops, err)) ||
        (rc = upload(solver, device->taps, layout->window->taps, (2 * device->half + 1) * (int64_t)sizeof(double), err)))
        return rc;
    return upload(solver, device->response, layout->window->response, LW_SFFT_RESPONSE_SIZE * (int64_t)sizeof(double), err);
}

static void destroy(struct lw_published_solver *base)
{
    struct solver *const solver = (struct solver *)base;
    lw_cuda_fft_destroy(&solver->fft);
    lw_cuda_fft_destroy(&solver->comb_fft);
    for (int i = 0; i < N_MARKS; i++)
        if (solver->marks[i])
            cudaEventDestroy(solver->marks[i]);
    if (solver->graph)
        cudaGraphExecDestroy(solver->graph);
    if (solver->stream)
        cudaStreamDestroy(solver->stream);
    cudaFree(solver->memory);
    cudaFreeHost(solver->pinned);
    lw_free(solver);
}

/* ---- run ----------------------------------------------------------------------------------------------------------- */

static cudaError_t enqueue_comb(struct solver *solver)
{
    const struct lw_published_layout *const layout = solver->base.layout;
    const struct lw_published_device *const device = &solver->device;
    if (device->comb == 0)
        return cudaSuccess;
    cudaError_t status = cudaSuccess;
    for (int number = 0; status == cudaSuccess && number < layout->plan.choice.comb_loops; number++) {
        status = lw_published_comb(device, lw_published_first_tooth(&layout->plan, layout->attempt, number), solver->stream);
        if (status == cudaSuccess &&
            cufftExecZ2Z(solver->comb_fft.handle, (cufftDoubleComplex *)device->teeth, (cufftDoubleComplex *)device->teeth,
                         CUFFT_FORWARD) != CUFFT_SUCCESS)
            status = cudaErrorUnknown;
        if (status == cudaSuccess)
            status = lw_published_approve(device, solver->stream);
    }
    return status;
}

static cudaError_t enqueue_bin(struct solver *solver)
{
    if (solver->ways.bin)
        return solver->ways.bin(solver->ways.context, &solver->device, solver->stream);
    return solver->device.column_bytes > 0 ? lw_published_bin_columns(&solver->device, solver->stream)
                                           : lw_published_bin_direct(&solver->device, solver->stream);
}

static cudaError_t enqueue_transform(struct solver *solver)
{
    cufftDoubleComplex *const planes = (cufftDoubleComplex *)solver->device.planes;
    if (solver->transforms)
        return lw_published_transform(&solver->device, solver->stream);
    return cufftExecZ2Z(solver->fft.handle, planes, planes, CUFFT_FORWARD) == CUFFT_SUCCESS ? cudaSuccess : cudaErrorUnknown;
}

static cudaError_t enqueue_cutoff(struct solver *solver)
{
    const struct lw_published_device *const device = &solver->device;
    const cudaError_t status = solver->transforms ? cudaSuccess : lw_published_measure(device, solver->stream);
    if (status != cudaSuccess)
        return status;
    return solver->ways.cutoff ? solver->ways.cutoff(solver->ways.context, device, solver->stream)
                               : lw_published_select(device, 0, solver->stream);
}

static cudaError_t enqueue_votes(struct solver *solver) { return lw_published_find_lines(&solver->device, solver->stream); }
static cudaError_t enqueue_check(struct solver *solver) { return lw_published_check_lines(&solver->device, solver->stream); }

/* The steps of a run; voting and estimating are one step. */
static const struct {
    cudaError_t (*enqueue)(struct solver *solver);
    size_t seconds;                                 /* offset of the step's seconds in the profile, a double */
    const char *what;
} steps[N_MARKS] = {
    [COMB] = {enqueue_comb, offsetof(struct lw_published_profile, comb), "combing a signal"},
    [BIN] = {enqueue_bin, offsetof(struct lw_published_profile, bin), "permuting and folding a signal"},
    [TRANSFORM] = {enqueue_transform, offsetof(struct lw_published_profile, transform), "transforming buckets"},
    [CUTOFF] = {enqueue_cutoff, offsetof(struct lw_published_profile, cutoff), "finding the largest buckets"},
    [VOTE] = {enqueue_votes, offsetof(struct lw_published_profile, vote), "voting and estimating lines"},
    [CHECK] = {enqueue_check, offsetof(struct lw_published_profile, check), "checking lines"},
};

/* Record a moment, as a node of the graph. */
static cudaError_t mark(const struct solver *solver, enum mark step)
{
    return solver->is_timed ? cudaEventRecordWithFlags(solver->marks[step], solver->stream, cudaEventRecordExternal) : cudaSuccess;
}

static int enqueue(struct solver *solver, struct lw_error *err)
{
    cudaError_t status = mark(solver, START);
    if (status == cudaSuccess)
        status = lw_published_begin(&solver->device, solver->stream);
    int rc = lw_cuda_check(status, "beginning a sparse transform", err);
    for (int step = COMB; rc == LW_OK && step < N_MARKS; step++) {
        status = steps[step].enqueue(solver);
        if (status == cudaSuccess)
            status = mark(solver, (enum mark)step);
        rc = lw_cuda_check(status, steps[step].what, err);
    }
    return rc;
}

/* Capture a run into a graph. All runs of a solver are alike, except for the signal's address, which kernels read from memory. A
 * relaxed capture lets libraries load their kernels meanwhile. */
static int capture(struct solver *solver, struct lw_error *err)
{
    const char *const what = "capturing a sparse transform";
    cudaGraph_t graph = NULL;
    int rc = lw_cuda_check(cudaStreamBeginCapture(solver->stream, cudaStreamCaptureModeRelaxed), what, err);
    if (rc)
        return rc;
    rc = enqueue(solver, err);
    const cudaError_t ended = cudaStreamEndCapture(solver->stream, &graph);     /* also ends a capture that failed */
    if (rc == LW_OK && (rc = lw_cuda_check(ended, what, err)) == LW_OK &&
        (rc = lw_cuda_check(cudaGraphInstantiate(&solver->graph, graph, 0), what, err)) == LW_OK)
        rc = lw_cuda_check(cudaGraphUpload(solver->graph, solver->stream), what, err);
    if (graph)
        cudaGraphDestroy(graph);
    return rc;
}

int lw_cuda_published_run_on(struct lw_published_solver *base, const double *samples, struct lw_sfft_result *result,
                             struct lw_published_profile *profile, struct lw_error *err)
{
    struct solver *const solver = (struct solver *)base;
    const struct lw_published_layout *const layout = base->layout;
    const struct lw_published_device_control *const control = solver->control;
    int rc;
    *solver->asked = samples;
    if ((rc = lw_cuda_check(cudaGraphLaunch(solver->graph, solver->stream), "launching a sparse transform", err)) ||
        (rc = lw_cuda_check(cudaStreamSynchronize(solver->stream), "waiting for a sparse transform", err)))
        return rc;
    for (int step = COMB; solver->is_timed && step < N_MARKS; step++) {
        float ms = 0;
        cudaEventElapsedTime(&ms, solver->marks[step - 1], solver->marks[step]);
        *(double *)(void *)((char *)profile + steps[step].seconds) += 1e-3 * (double)ms;
    }
    *result = (struct lw_sfft_result){.lines = solver->lines, .n_lines = control->n_reported, .n_found = control->n_lines};
    lw_published_conclude(&layout->plan, layout->window->energy, &control->figures,
                          control->n_elected <= solver->device.capacity, result);
    return LW_OK;
}

static int run(struct lw_published_solver *base, const struct lw_published_signal *signal, struct lw_sfft_result *result,
               struct lw_published_profile *profile, struct lw_error *err)
{
    struct solver *const solver = (struct solver *)base;
    const int64_t count = solver->device.n * (signal->is_real ? 1 : 2);
    assert(signal->is_real == base->layout->plan.spec.is_real);
    const int rc = upload(solver, solver->signal, signal->samples, count * (int64_t)sizeof(double), err);
    return rc ? rc : lw_cuda_published_run_on(base, solver->signal, result, profile, err);
}

/* ---- the solver as a whole ----------------------------------------------------------------------------------------- */

static const struct lw_published_solver_ops ops = {.run = run, .destroy = destroy};

int lw_cuda_published_create(const struct lw_published_layout *layout, bool is_timed, const struct lw_cuda_published_ways *ways,
                             struct lw_published_solver **out, struct lw_error *err)
{
    struct solver *const solver = lw_alloc(sizeof *solver, "a sparse transform", err);
    if (!solver)
        return LW_ESYSTEM;
    solver->base = (struct lw_published_solver){&ops, layout};
    solver->is_timed = is_timed;
    solver->ways = ways ? *ways : (struct lw_cuda_published_ways){0};
    solver->device = describe(&layout->plan);
    struct lw_published_device *const device = &solver->device;
    solver->transforms = attribute_of(cudaDevAttrComputeCapabilityMajor) >= 9 && lw_published_transforms(device->n_buckets);
    device->most_shared_bytes = attribute_of(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    device->column_bytes = solver->ways.bin || lw_published_columns_pay(device) ? lw_published_column_bytes(device) : 0;
    int rc;
    if ((rc = allocate(solver, err)) || (rc = create_streams(solver, err)) ||
        (!solver->transforms && (rc = create_fft(solver, device->n_buckets, device->n_loops, &solver->fft, err))) ||
        (device->comb > 0 && (rc = create_fft(solver, device->comb, 1, &solver->comb_fft, err))) ||
        (rc = upload_layout(solver, err)) || (rc = capture(solver, err))) {
        destroy(&solver->base);
        return rc;
    }
    *out = &solver->base;
    return LW_OK;
}

static int create(struct lw_engine *engine, const struct lw_published_layout *layout, struct lw_published_solver **out,
                  struct lw_error *err)
{
    (void)engine;
    return lw_cuda_published_create(layout, true, NULL, out, err);
}

const struct lw_published_ops lw_cuda_published_ops = {.bytes = bytes, .create = create, .pace = {6e-5, 4e-11, 1}};
