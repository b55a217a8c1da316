#include "gpu/sfft/published/solver.h"

#include "base/log.h"
#include "base/memory.h"
#include "gpu/host/arena.h"
#include "gpu/host/error.h"
#include "gpu/host/fft.h"
#include "gpu/sfft/published/device.h"
#include "sfft/published/lines.h"

#include <assert.h>
#include <complex.h>
#include <stdbool.h>
#include <string.h>

/* Between the steps of a run. */
enum mark { START, COMB, BIN, TRANSFORM, CUTOFF, VOTE, ESTIMATE, N_MARKS };

struct solver {
    struct lw_published_solver base;
    cudaStream_t stream, fetching;                  /* rows are fetched on the second */
    cudaEvent_t marks[N_MARKS], fetched[2], folded[2];
    void *memory;                                   /* the allocation that holds everything that `device` points to */
    struct lw_published_device device;
    double *signal;                                 /* room for one on the device */
    struct lw_cuda_fft fft, comb_fft;
    void *fft_work;

    struct lw_published_device_control control;     /* as it was at the end */
    struct lw_sfft_line *lines;                     /* [capacity] */
    double _Complex *check;                         /* [B] the plane that checks */
    double *energies;                               /* [B] */
    double _Complex *planes[LW_PUBLISHED_LOOPS];    /* only that one is set */
};

static_assert(sizeof(struct lw_sfft_line) == sizeof(struct lw_published_device_line), "lines are copied as they are");

/* ---- memory -------------------------------------------------------------------------------------------------------- */

/* Numbers that follow from a plan. */
static struct lw_published_device describe(const struct lw_published_plan *plan)
{
    const struct lw_published_choice *const choice = &plan->choice;
    struct lw_published_device device = {
        .n = plan->spec.n, .n_buckets = choice->n_buckets, .half = lw_published_window_half(plan),
        .n_frequencies = plan->spec.is_real ? plan->spec.n / 2 + 1 : plan->spec.n, .n_selected = plan->n_selected,
        .capacity = plan->capacity, .n_loops = lw_published_count_loops(plan) + 1, .location_loops = choice->location_loops,
        .n_estimates = lw_published_count_loops(plan), .votes_needed = choice->votes, .is_real = plan->spec.is_real,
        .n_words = (choice->n_buckets + 31) / 32, .significance = lw_published_significance(choice->n_buckets), .comb = choice->comb, .n_residues = plan->n_residues,
    };
    if (choice->ways.cutoff == LW_PUBLISHED_SORT)
        for (device.sorted_size = 1; device.sorted_size < device.n_buckets; device.sorted_size *= 2)
            ;
    return device;
}

static int64_t lay_out(struct solver *solver, bool gathers, int64_t work_bytes)
{
    struct lw_arena arena = {.base = solver->memory};
    struct lw_published_device *const d = &solver->device;
    const int64_t taps = 2 * d->half + 1, of_loops = d->location_loops;
    solver->signal = lw_arena_take(&arena, d->n * (d->is_real ? 1 : 2) * (int64_t)sizeof(double));
    d->samples = solver->signal;
    d->loops = lw_arena_take(&arena, d->n_loops * (int64_t)sizeof *d->loops);
    d->taps = lw_arena_take(&arena, taps * (int64_t)sizeof *d->taps);
    d->response = lw_arena_take(&arena, LW_SFFT_RESPONSE_SIZE * (int64_t)sizeof *d->response);
    d->planes = lw_arena_take(&arena, d->n_loops * d->n_buckets * (int64_t)sizeof *d->planes);
    for (int i = 0; i < 2 && gathers; i++)
        d->rows[i] = lw_arena_take(&arena, taps * (int64_t)sizeof *d->rows[i]);
    d->energies = lw_arena_take(&arena, of_loops * d->n_buckets * (int64_t)sizeof *d->energies);
    d->ranked = lw_arena_take(&arena, of_loops * d->sorted_size * (int64_t)sizeof *d->ranked);
    d->places = lw_arena_take(&arena, of_loops * d->n_selected * (int64_t)sizeof *d->places);
    d->chosen = lw_arena_take(&arena, of_loops * d->n_words * (int64_t)sizeof *d->chosen);
    d->elected = lw_arena_take(&arena, d->capacity * (int64_t)sizeof *d->elected);
    d->strong = lw_arena_take(&arena, d->capacity * (int64_t)sizeof *d->strong);
    d->lines = lw_arena_take(&arena, d->capacity * (int64_t)sizeof *d->lines);
    d->control = lw_arena_take(&arena, sizeof *d->control);
    d->teeth = lw_arena_take(&arena, d->comb * (int64_t)sizeof *d->teeth);
    d->tooth_energies = lw_arena_take(&arena, d->comb * (int64_t)sizeof *d->tooth_energies);
    d->tooth_places = lw_arena_take(&arena, d->n_residues * (int64_t)sizeof *d->tooth_places);
    d->approved = lw_arena_take(&arena, d->comb);
    solver->fft_work = lw_arena_take(&arena, work_bytes);
    return arena.used;
}

static bool gathers(const struct lw_published_plan *plan) { return plan->choice.ways.fetch == LW_PUBLISHED_GATHER; }

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
        .host = (int64_t)sizeof counted + plan->capacity * (int64_t)sizeof *counted.lines +
                plan->choice.n_buckets * (int64_t)(sizeof *counted.check + sizeof *counted.energies),
        .device = lw_device_bytes(lay_out(&counted, gathers(plan), work_bytes(&counted.device))),
    };
}

static int allocate(struct solver *solver, struct lw_error *err)
{
    const struct lw_published_plan *const plan = &solver->base.layout->plan;
    const int64_t n_buckets = plan->choice.n_buckets, work = work_bytes(&solver->device);
    const int64_t bytes = lay_out(solver, gathers(plan), work);
    const cudaError_t status = cudaMalloc(&solver->memory, (size_t)bytes);
    if (status != cudaSuccess)
        return lw_cuda_no_memory(status, "a sparse transform", bytes, 1, err);
    lay_out(solver, gathers(plan), work);
    if (!(solver->lines = lw_alloc_array(plan->capacity, sizeof *solver->lines, "lines", err)) ||
        !(solver->check = lw_alloc_array(n_buckets, sizeof *solver->check, "buckets", err)) ||
        !(solver->energies = lw_alloc_array(n_buckets, sizeof *solver->energies, "buckets", err)))
        return LW_ESYSTEM;
    solver->planes[solver->base.layout->n_loops] = solver->check;
    return LW_OK;
}

/* ---- create -------------------------------------------------------------------------------------------------------- */

static int create_streams(struct solver *solver, struct lw_error *err)
{
    cudaError_t status = cudaStreamCreateWithFlags(&solver->stream, cudaStreamNonBlocking);
    if (status == cudaSuccess)
        status = cudaStreamCreateWithFlags(&solver->fetching, cudaStreamNonBlocking);
    for (int i = 0; status == cudaSuccess && i < N_MARKS; i++)
        status = cudaEventCreate(&solver->marks[i]);
    for (int i = 0; status == cudaSuccess && i < 2; i++)
        if ((status = cudaEventCreateWithFlags(&solver->fetched[i], cudaEventDisableTiming)) == cudaSuccess)
            status = cudaEventCreateWithFlags(&solver->folded[i], cudaEventDisableTiming);
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
    cudaError_t status = cudaMemcpyAsync((void *)to, from, (size_t)bytes, cudaMemcpyHostToDevice, solver->stream);
    if (status == cudaSuccess)
        status = cudaStreamSynchronize(solver->stream);
    return lw_cuda_check(status, "copying to the device", err);
}

static int upload_layout(struct solver *solver, struct lw_error *err)
{
    const struct lw_published_layout *const layout = solver->base.layout;
    const struct lw_published_device *const device = &solver->device;
    struct lw_published_device_loop loops[LW_PUBLISHED_LOOPS];
    for (int l = 0; l < device->n_loops; l++)
        loops[l] = (struct lw_published_device_loop){layout->loops[l].sigma, layout->loops[l].sigma_inverse,
                                                     layout->loops[l].tau};
    int rc;
    if ((rc = upload(solver, device->loops, loops, device->n_loops * (int64_t)sizeof *loops, err)) ||
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
    for (int i = 0; i < 2; i++) {
        if (solver->fetched[i])
            cudaEventDestroy(solver->fetched[i]);
        if (solver->folded[i])
            cudaEventDestroy(solver->folded[i]);
    }
    if (solver->fetching)
        cudaStreamDestroy(solver->fetching);
    if (solver->stream)
        cudaStreamDestroy(solver->stream);
    cudaFree(solver->memory);
    lw_free(solver->lines);
    lw_free(solver->check);
    lw_free(solver->energies);
    lw_free(solver);
}

/* ---- run ----------------------------------------------------------------------------------------------------------- */

static cudaError_t enqueue_comb(struct solver *solver)
{
    const struct lw_published_layout *const layout = solver->base.layout;
    const struct lw_published_device *const device = &solver->device;
    if (device->comb == 0)
        return cudaSuccess;
    cudaError_t status = cudaMemsetAsync(device->approved, 0, (size_t)device->comb, solver->stream);
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

/* Loop l is fetched while the one before it is folded; a row is used again once it has been folded. */
static cudaError_t enqueue_rows(struct solver *solver)
{
    const struct lw_published_device *const device = &solver->device;
    cudaError_t status = cudaStreamWaitEvent(solver->fetching, solver->marks[COMB], 0);
    for (int l = 0; status == cudaSuccess && l < device->n_loops; l++) {
        const int buffer = l % 2;
        if (l >= 2)
            status = cudaStreamWaitEvent(solver->fetching, solver->folded[buffer], 0);
        if (status == cudaSuccess)
            status = lw_published_gather(device, l, buffer, solver->fetching);
        if (status == cudaSuccess)
            status = cudaEventRecord(solver->fetched[buffer], solver->fetching);
        if (status == cudaSuccess)
            status = cudaStreamWaitEvent(solver->stream, solver->fetched[buffer], 0);
        if (status == cudaSuccess)
            status = lw_published_fold_row(device, l, buffer, solver->stream);
        if (status == cudaSuccess)
            status = cudaEventRecord(solver->folded[buffer], solver->stream);
    }
    return status;
}

static cudaError_t enqueue_bin(struct solver *solver)
{
    return gathers(&solver->base.layout->plan) ? enqueue_rows(solver)
                                               : lw_published_bin_direct(&solver->device, solver->stream);
}

static cudaError_t enqueue_transform(struct solver *solver)
{
    cufftDoubleComplex *const planes = (cufftDoubleComplex *)solver->device.planes;
    return cufftExecZ2Z(solver->fft.handle, planes, planes, CUFFT_FORWARD) == CUFFT_SUCCESS ? cudaSuccess : cudaErrorUnknown;
}

static cudaError_t enqueue_cutoff(struct solver *solver)
{
    const struct lw_published_device *const device = &solver->device;
    cudaError_t status = cudaMemsetAsync(device->chosen, 0, (size_t)(device->location_loops * device->n_words) * sizeof(unsigned),
                                         solver->stream);
    if (status == cudaSuccess)
        status = lw_published_measure(device, solver->stream);
    if (status != cudaSuccess)
        return status;
    return device->sorted_size > 0 ? lw_published_sort(device, solver->stream) : lw_published_select(device, solver->stream);
}

static cudaError_t enqueue_votes(struct solver *solver) { return lw_published_elect(&solver->device, solver->stream); }

static cudaError_t enqueue_estimate(struct solver *solver)
{
    return lw_published_estimate_lines(&solver->device, solver->stream);
}

static const struct {
    cudaError_t (*enqueue)(struct solver *solver);
    const char *what;
} steps[N_MARKS] = {
    [COMB] = {enqueue_comb, "combing a signal"},
    [BIN] = {enqueue_bin, "permuting and folding a signal"},
    [TRANSFORM] = {enqueue_transform, "transforming buckets"},
    [CUTOFF] = {enqueue_cutoff, "finding the largest buckets"},
    [VOTE] = {enqueue_votes, "voting"},
    [ESTIMATE] = {enqueue_estimate, "estimating lines"},
};

static int enqueue(struct solver *solver, struct lw_error *err)
{
    cudaError_t status = cudaMemsetAsync(solver->device.control, 0, sizeof solver->control, solver->stream);
    int rc = lw_cuda_check(status == cudaSuccess ? cudaEventRecord(solver->marks[START], solver->stream) : status,
                           "beginning a sparse transform", err);
    for (int step = COMB; rc == LW_OK && step < N_MARKS; step++) {
        status = steps[step].enqueue(solver);
        if (status == cudaSuccess)
            status = cudaEventRecord(solver->marks[step], solver->stream);
        rc = lw_cuda_check(status, steps[step].what, err);
    }
    return rc;
}

/* Lines and the plane that checks them, once all is done. */
static int fetch(struct solver *solver, int64_t *count, struct lw_error *err)
{
    const struct lw_published_device *const device = &solver->device;
    const double2 *const check = device->planes + (device->n_loops - 1) * device->n_buckets;
    cudaError_t status = cudaMemcpyAsync(&solver->control, device->control, sizeof solver->control, cudaMemcpyDeviceToHost,
                                         solver->stream);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(solver->check, check, (size_t)device->n_buckets * sizeof *check, cudaMemcpyDeviceToHost,
                                 solver->stream);
    if (status == cudaSuccess)
        status = cudaStreamSynchronize(solver->stream);
    *count = solver->control.n_lines;
    if (status == cudaSuccess && *count > 0)
        status = cudaMemcpyAsync(solver->lines, device->lines, (size_t)*count * sizeof *solver->lines, cudaMemcpyDeviceToHost,
                                 solver->stream);
    if (status == cudaSuccess)
        status = cudaStreamSynchronize(solver->stream);
    return lw_cuda_check(status, "copying lines from the device", err);
}

static double seconds_of(const struct solver *solver, enum mark step)
{
    float ms = 0;
    cudaEventElapsedTime(&ms, solver->marks[step - 1], solver->marks[step]);
    return 1e-3 * (double)ms;
}

static void add_times(const struct solver *solver, struct lw_published_profile *profile)
{
    profile->comb += seconds_of(solver, COMB);
    profile->bin += seconds_of(solver, BIN);
    profile->transform += seconds_of(solver, TRANSFORM);
    profile->cutoff += seconds_of(solver, CUTOFF);
    profile->vote += seconds_of(solver, VOTE);
    profile->estimate += seconds_of(solver, ESTIMATE);
}

int lw_cuda_published_run_on(struct lw_published_solver *base, const double *samples, struct lw_sfft_result *result,
                             struct lw_published_profile *profile, struct lw_error *err)
{
    struct solver *const solver = (struct solver *)base;
    const struct lw_published_layout *const layout = base->layout;
    int64_t count;
    int rc;
    solver->device.samples = samples;
    if ((rc = enqueue(solver, err)) || (rc = fetch(solver, &count, err)))
        return rc;
    add_times(solver, profile);
    const struct lw_published_buckets buckets = {&layout->plan, layout->loops, solver->planes, solver->energies, 1};
    const double start = lw_now();
    lw_sfft_sort_by_magnitude(solver->lines, count);
    lw_published_check(&buckets, solver->lines, count, solver->control.n_elected <= solver->device.capacity, result);
    profile->check += lw_now() - start;
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

int lw_cuda_published_create(const struct lw_published_layout *layout, struct lw_published_solver **out, struct lw_error *err)
{
    struct solver *const solver = lw_alloc(sizeof *solver, "a sparse transform", err);
    if (!solver)
        return LW_ESYSTEM;
    solver->base = (struct lw_published_solver){&ops, layout};
    solver->device = describe(&layout->plan);
    const struct lw_published_device *const device = &solver->device;
    int rc;
    if ((rc = allocate(solver, err)) || (rc = create_streams(solver, err)) ||
        (rc = create_fft(solver, device->n_buckets, device->n_loops, &solver->fft, err)) ||
        (device->comb > 0 && (rc = create_fft(solver, device->comb, 1, &solver->comb_fft, err))) ||
        (rc = upload_layout(solver, err))) {
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
    return lw_cuda_published_create(layout, out, err);
}

const struct lw_published_ops lw_cuda_published = {.bytes = bytes, .create = create};
