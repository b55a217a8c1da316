#include "gpu/ols/filler.h"

#include "base/integers.h"
#include "base/memory.h"
#include "gpu/host/arena.h"
#include "gpu/host/error.h"
#include "gpu/host/fft.h"
#include "gpu/host/pinned.h"
#include "gpu/ols/spectra.h"

#include <assert.h>

#define BATCH_POINTS ((int64_t)1 << 21)     /* points of a batch: fewer do not hide the host's work, more leave the L2 cache */
#define MOST_FILTERS 32768                  /* most filters of a batch: a dimension of a kernel's grid */
#define STAGE_BYTES ((int64_t)4 << 20)
#define PART_BYTES ((int64_t)256 << 10)     /* bytes of a stage that a thread copies at a time */

enum {
    N_STAGES = 3,       /* one is filled, one is filled or waits, one is copied */
    N_ARRIVALS = 2,     /* batches whose stored taps are on the device: one arrives, one is transformed */
};

/* A piece of pinned memory on its way from the bank to the device. */
struct stage {
    const char *from;
    char *memory;
    int64_t bytes;
    struct lw_batch copying;        /* the threads' copies into `memory` */
    cudaEvent_t sent;               /* `memory` may be filled again */
};

struct lw_filler {
    struct lw_ols_resolved path;
    struct lw_ols_spec ols;         /* its taps are those of the run */
    int batch;
    void *values, *others;          /* device: [batch][row] complex doubles each; cuFFT: others is its work area */
    char *arrivals[N_ARRIVALS];     /* device: stored taps of a batch */
    struct lw_cuda_fft fft;         /* transforms of lengths that spectra.h does not have */
    struct lw_pool *threads;
    struct lw_pinned pinned;
    struct stage stages[N_STAGES];
    cudaStream_t copies;
    cudaEvent_t arrived[N_ARRIVALS], taken[N_ARRIVALS];     /* the stored taps have arrived; they are not needed any more */
};

/* ---- sizes --------------------------------------------------------------------------------------------------------- */

/* Return N; 0 on the direct path, which takes the taps themselves. */
static int64_t points_of(const struct lw_ols_resolved *path)
{
    return path->is_long ? path->long_plan.segment : path->kernel.segment;
}

static int delay_of(const struct lw_ols_resolved *path) { return path->is_long ? 0 : path->kernel.delay; }

/* Return the taps of a filter with a folded derivative. */
static int64_t taps_of(const struct lw_ols_resolved *path)
{
    return path->is_long ? path->long_plan.spec.n_taps : path->kernel.spec.n_taps;
}

static int64_t row_of(const struct lw_ols_resolved *path) { return points_of(path) > 0 ? points_of(path) : taps_of(path); }

static bool uses_cufft(const struct lw_ols_resolved *path) { return points_of(path) > 0 && !lw_cuda_has_spectra(points_of(path)); }

/* cuFFT transforms one filter at a time, always at the same place. */
static int batch_of(const struct lw_ols_resolved *path, int n_filters, int wanted)
{
    const int64_t most = uses_cufft(path) ? 1 : wanted > 0 ? wanted : lw_max64(BATCH_POINTS / row_of(path), 1);
    return (int)lw_min64(lw_min64(most, n_filters), MOST_FILTERS);
}

static int64_t filter_bytes(const struct lw_ols_spec *ols) { return ols->n_taps * (int64_t)lw_type_bytes(ols->taps.type); }

static int64_t lay_out(struct lw_filler *filler, const struct lw_ols_spec *ols, void *memory)
{
    const struct lw_ols_resolved *const path = &filler->path;
    const int64_t values = filler->batch * row_of(path) * 16;
    struct lw_arena arena = {.base = memory};
    filler->values = lw_arena_take(&arena, values);
    filler->others = lw_arena_take(&arena, uses_cufft(path) ? lw_cuda_fft_bytes(points_of(path), CUFFT_Z2Z, 1)
                                           : points_of(path) > 0 ? values : 0);
    for (int i = 0; i < N_ARRIVALS && i * filler->batch < ols->n_filters; i++)
        filler->arrivals[i] = lw_arena_take(&arena, filler->batch * filter_bytes(ols));
    return arena.used;
}

int64_t lw_filler_bytes(const struct lw_ols_resolved *path, const struct lw_ols_spec *ols, int batch)
{
    struct lw_filler counted = {.path = *path, .batch = batch_of(path, ols->n_filters, batch)};
    return lay_out(&counted, ols, NULL);
}

/* A small bank goes without stages, through the driver's own: pinning takes longer than they save. */
int64_t lw_filler_pinned_bytes(const struct lw_ols_spec *ols)
{
    return ols->n_filters * filter_bytes(ols) > 2 * STAGE_BYTES ? N_STAGES * STAGE_BYTES : 0;
}

/* ---- create -------------------------------------------------------------------------------------------------------- */

static int make_event(cudaEvent_t *event, struct lw_error *err)
{
    return lw_cuda_check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "making an event", err);
}

static int make_stages(struct lw_filler *filler, int64_t bytes, int device, struct lw_error *err)
{
    int rc = lw_pinned_begin(&filler->pinned, bytes, device, filler->threads, err);
    for (int i = 0; i < N_STAGES && !rc; i++) {
        filler->stages[i].memory = (char *)filler->pinned.memory + i * STAGE_BYTES;
        rc = make_event(&filler->stages[i].sent, err);
    }
    return rc;
}

static int make(struct lw_filler *filler, int64_t pinned_bytes, int device, struct lw_error *err)
{
    int rc = pinned_bytes > 0 ? make_stages(filler, pinned_bytes, device, err) : LW_OK;
    for (int i = 0; i < N_ARRIVALS && !rc; i++)
        if (!(rc = make_event(&filler->arrived[i], err)))
            rc = make_event(&filler->taken[i], err);
    if (!rc)
        rc = lw_cuda_check(cudaStreamCreateWithFlags(&filler->copies, cudaStreamNonBlocking), "making a stream", err);
    if (!rc && uses_cufft(&filler->path))
        rc = lw_cuda_fft_create(&filler->fft, points_of(&filler->path), CUFFT_Z2Z, 1, filler->others,
                                "planning the transforms of the filters", err);
    return rc;
}

int lw_filler_create(const struct lw_ols_resolved *path, const struct lw_ols_spec *ols, int batch, void *memory, int device,
                     struct lw_pool *threads, struct lw_filler **out, struct lw_error *err)
{
    struct lw_filler *const filler = lw_alloc(sizeof *filler, "the filters", err);
    if (!filler)
        return LW_ESYSTEM;
    filler->path = *path;
    filler->ols = *ols;
    filler->batch = batch_of(path, ols->n_filters, batch);
    filler->threads = threads;
    lay_out(filler, ols, memory);
    const int rc = make(filler, threads ? lw_filler_pinned_bytes(ols) : 0, device, err);
    if (rc)
        lw_filler_destroy(filler);
    else
        *out = filler;
    return rc;
}

static void destroy_event(cudaEvent_t event)
{
    if (event)
        cudaEventDestroy(event);
}

void lw_filler_destroy(struct lw_filler *filler)
{
    if (!filler)
        return;
    if (filler->copies) {
        cudaStreamSynchronize(filler->copies);
        cudaStreamDestroy(filler->copies);
    }
    for (int i = 0; i < N_ARRIVALS; i++) {
        destroy_event(filler->arrived[i]);
        destroy_event(filler->taken[i]);
    }
    for (int i = 0; i < N_STAGES; i++)
        destroy_event(filler->stages[i].sent);
    lw_cuda_fft_destroy(&filler->fft);
    lw_pinned_end(&filler->pinned, filler->threads);
    lw_free(filler);
}

/* ---- from the host to the device ------------------------------------------------------------------------------------- */

/* The pieces of a bank: each batch is cut into pieces of a stage's size. */
struct pieces {
    const char *taps;
    int64_t bytes, batch_bytes;     /* bytes of the bank; bytes of a whole batch */
    int64_t per_batch, n;           /* pieces of a whole batch; pieces of the bank */
};

static struct pieces pieces_of(const struct lw_filler *filler, int n)
{
    const int64_t each = filter_bytes(&filler->ols);
    struct pieces p = {.taps = filler->ols.taps.data, .bytes = n * each, .batch_bytes = filler->batch * each};
    p.per_batch = lw_divide_up(p.batch_bytes, STAGE_BYTES);
    const int64_t whole = p.bytes / p.batch_bytes;
    p.n = whole * p.per_batch + lw_divide_up(p.bytes - whole * p.batch_bytes, STAGE_BYTES);
    return p;
}

/* Copy a part of a stage. */
static int copy_part(void *context, int64_t piece, int thread, struct lw_error *err)
{
    const struct stage *const stage = context;
    const int64_t first = piece * PART_BYTES;
    (void)thread, (void)err;
    memcpy(stage->memory + first, stage->from + first, (size_t)lw_min64(PART_BYTES, stage->bytes - first));
    return LW_OK;
}

static struct stage *stage_of(struct lw_filler *filler, int64_t piece) { return &filler->stages[piece % N_STAGES]; }

/* Let the threads fill the stage of a piece, once the piece that was in it before has been sent. */
static int start(struct lw_filler *filler, const struct pieces *p, int64_t piece, struct lw_error *err)
{
    if (piece >= p->n)
        return LW_OK;
    struct stage *const stage = stage_of(filler, piece);
    const int64_t batch = piece / p->per_batch * p->batch_bytes, first = batch + piece % p->per_batch * STAGE_BYTES;
    const int rc = lw_cuda_check(cudaEventSynchronize(stage->sent), "copying the filters to the device", err);
    if (rc)
        return rc;
    stage->from = p->taps + first;
    stage->bytes = lw_min64(lw_min64(batch + p->batch_bytes, p->bytes) - first, STAGE_BYTES);
    stage->copying = (struct lw_batch){
        .lane = LW_LANE_READ, .n_pieces = lw_divide_up(stage->bytes, PART_BYTES), .work = copy_part, .context = stage,
    };
    lw_pool_start(filler->threads, &stage->copying);
    return LW_OK;
}

static int send(struct lw_filler *filler, const struct pieces *p, int64_t piece, char *to, struct lw_error *err)
{
    struct stage *const stage = stage_of(filler, piece);
    int rc;
    if ((rc = start(filler, p, piece + 1, err)) || (rc = lw_pool_wait(filler->threads, &stage->copying, err)))
        return rc;
    cudaError_t status = cudaMemcpyAsync(to, stage->memory, (size_t)stage->bytes, cudaMemcpyHostToDevice, filler->copies);
    if (status == cudaSuccess)
        status = cudaEventRecord(stage->sent, filler->copies);
    return lw_cuda_check(status, "copying the filters to the device", err);
}

/* Enqueue the copy of a batch of stored taps. */
static int send_batch(struct lw_filler *filler, const struct pieces *p, int64_t batch, char *to, struct lw_error *err)
{
    const int64_t first = batch * p->batch_bytes, bytes = lw_min64(p->bytes - first, p->batch_bytes);
    int rc = LW_OK;
    if (!filler->pinned.memory)
        return lw_cuda_check(cudaMemcpyAsync(to, p->taps + first, (size_t)bytes, cudaMemcpyHostToDevice, filler->copies),
                             "copying the filters to the device", err);
    for (int64_t at = 0; at < bytes && !rc; at += STAGE_BYTES)
        rc = send(filler, p, batch * p->per_batch + at / STAGE_BYTES, to + at, err);
    return rc;
}

/* ---- on the device --------------------------------------------------------------------------------------------------- */

static int transform(struct lw_filler *filler, int n, cudaStream_t stream, void **bins, struct lw_error *err)
{
    const struct lw_ols_resolved *const path = &filler->path;
    const int64_t n_points = points_of(path), n_values = delay_of(path) + taps_of(path);
    *bins = filler->values;
    if (n_points == 0)
        return LW_OK;
    if (!uses_cufft(path))
        return lw_cuda_check(lw_cuda_spectra(filler->values, filler->others, n_points, n_values, n, bins, stream),
                             "transforming the filters", err);
    const int rc = lw_cufft_check(cufftSetStream(filler->fft.handle, stream), "transforming the filters", err);
    return rc ? rc : lw_cufft_check(cufftExecZ2Z(filler->fft.handle, *bins, *bins, CUFFT_FORWARD), "transforming the filters", err);
}

static int put(const struct lw_filler *filler, const struct lw_filler_target *target, const void *bins, int64_t first, int n,
               cudaStream_t stream, struct lw_error *err)
{
    if (target->stacks)
        return lw_cuda_check(lw_stack_put(target->shape, target->stacks, bins, first, n, stream), "ordering the filters", err);
    if (target->long_ols)
        return lw_long_ols_put(target->long_ols, bins, first, n, stream, err);
    return lw_cuda_check((cudaError_t)lw_cuda_ols_put(&filler->path.kernel, bins, first, n, target->bank, stream),
                         "ordering the filters", err);
}

/* Write the taps of a batch to `values`, and those for the ends of the axis to the target. */
static cudaError_t spread(struct lw_filler *filler, const struct lw_filler_target *target, const void *taps, int64_t first, int n,
                          cudaStream_t stream)
{
    const struct lw_ols_spec *const ols = &filler->ols;
    const bool folds = lw_post_folds(ols->post);
    const struct lw_cuda_taps given = {
        .data = taps, .type = ols->taps.type, .is_reversed = ols->taps.is_reversed, .n_taps = ols->n_taps,
        .every = folds ? lw_post_every(ols->post) : 0,
    };
    const int64_t row = row_of(&filler->path), end_taps = lw_post_end_taps(ols->post, ols->n_taps);
    cudaError_t status = cudaSuccess;
    if (uses_cufft(&filler->path))          /* cuFFT reads the zeros behind the taps, too */
        status = cudaMemsetAsync(filler->values, 0, (size_t)row * 16, stream);
    if (status == cudaSuccess)
        status = lw_cuda_spread(&given, n, delay_of(&filler->path), row, filler->values, stream);
    if (status == cudaSuccess && target->stacks)
        status = lw_stack_change(target->shape, target->stacks, filler->values, first, n, stream);
    if (status == cudaSuccess && folds)
        status = lw_cuda_spread_ends(&given, n, target->ends + first * end_taps * (ols->taps.type.is_complex ? 2 : 1), stream);
    return status;
}

/* Enqueue all steps of a batch of n filters, whose stored taps go to the device through arrivals[batch modulo N_ARRIVALS]. */
static int run_batch(struct lw_filler *filler, const struct pieces *pieces, int64_t batch, int n,
                     const struct lw_filler_target *target, cudaStream_t stream, struct lw_error *err)
{
    const int side = (int)(batch % N_ARRIVALS);
    const int64_t first = batch * filler->batch;
    const char *const what = "copying the filters to the device";
    void *bins;
    int rc;
    if ((rc = lw_cuda_check(cudaStreamWaitEvent(filler->copies, filler->taken[side], 0), what, err)) ||
        (rc = send_batch(filler, pieces, batch, filler->arrivals[side], err)) ||
        (rc = lw_cuda_check(cudaEventRecord(filler->arrived[side], filler->copies), what, err)) ||
        (rc = lw_cuda_check(cudaStreamWaitEvent(stream, filler->arrived[side], 0), what, err)) ||
        (rc = lw_cuda_check(spread(filler, target, filler->arrivals[side], first, n, stream), "converting the filters", err)) ||
        (rc = lw_cuda_check(cudaEventRecord(filler->taken[side], stream), what, err)) ||
        (rc = transform(filler, n, stream, &bins, err)))
        return rc;
    return put(filler, target, bins, first, n, stream, err);
}

/* Enqueue that the filters from `first` on become 0. */
static int clear(struct lw_filler *filler, int64_t first, const struct lw_filler_target *target, cudaStream_t stream,
                 struct lw_error *err)
{
    const struct lw_ols_spec *const ols = &filler->ols;
    const int64_t n = ols->n_filters - first, each = lw_post_end_taps(ols->post, ols->n_taps) * (ols->taps.type.is_complex ? 2 : 1);
    int rc = LW_OK;
    if (lw_post_folds(ols->post) && n > 0)
        rc = lw_cuda_check(cudaMemsetAsync(target->ends + first * each, 0, (size_t)(n * each) * sizeof(double), stream),
                           "clearing filters", err);
    for (int64_t at = first; at < ols->n_filters && !rc; at += MOST_FILTERS)
        rc = put(filler, target, NULL, at, (int)lw_min64(ols->n_filters - at, MOST_FILTERS), stream, err);
    return rc;
}

int lw_filler_run(struct lw_filler *filler, const struct lw_stored_taps *taps, int n, const struct lw_filler_target *target,
                  cudaStream_t stream, struct lw_error *err)
{
    assert(n <= filler->ols.n_filters && lw_type_bytes(taps->type) == lw_type_bytes(filler->ols.taps.type));
    filler->ols.taps = *taps;
    const struct pieces pieces = pieces_of(filler, n);
    int rc = LW_OK;
    if (filler->pinned.memory && !(rc = lw_pinned_wait(&filler->pinned, filler->threads, err)))
        rc = start(filler, &pieces, 0, err);
    for (int64_t batch = 0, first = 0; first < n && !rc; batch++, first += filler->batch)
        rc = run_batch(filler, &pieces, batch, (int)lw_min64(n - first, filler->batch), target, stream, err);
    for (int i = 0; i < N_STAGES; i++)
        lw_pool_wait(filler->threads, &filler->stages[i].copying, NULL);
    if (!rc)
        rc = clear(filler, n, target, stream, err);
    const cudaError_t status = cudaStreamSynchronize(stream);
    return rc ? rc : lw_cuda_check(status, "transforming the filters", err);
}
