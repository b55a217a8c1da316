/* accel.c - searches for drifting signals on the device. The work of a series is enqueued as a whole. Only the factors of the
 * normalization are made on the host, in a callback of the stream, so that all engines have them from the same code.
 *
 *     series -> pinned -> device -> spectrum -> medians -> factors (host) -> normalized spectrum -> pinned
 *                                                                            for each piece: powers -> sums -> hits */
#include "accel/normalize.h"
#include "accel/templates.h"
#include "base/integers.h"
#include "base/memory.h"
#include "gpu/accel/pieces.h"
#include "gpu/host/arena.h"
#include "gpu/host/device.h"
#include "gpu/host/error.h"
#include "gpu/host/fft.h"
#include "gpu/host/op.h"
#include "gpu/host/pinned.h"

#include <string.h>

#define MOST_HITS ((int64_t)1 << 20)        /* hits of a series that the device has room for */
#define BATCH 256                           /* templates that are transformed together */
#define COPY_BYTES ((int64_t)1 << 20)       /* bytes that a thread copies at a time */

struct lw_accel_search {
    const struct lw_accel_plan *plan;
    const struct lw_accel_zap *zaps;
    int64_t n_zaps, n_blocks;
    int64_t *edges, *counted;               /* host: [n_blocks + 1], [n_blocks] */
    float *variances;                       /* host: [n_blocks] */
    cudaStream_t stream, copies;
    cudaEvent_t normalized;
    struct lw_cuda_fft fft;
    struct lw_pool *threads;

    void *memory;                           /* device: all that follows */
    float2 *spectrum;
    struct lw_accel_bank bank;
    struct lw_accel_plane plane;            /* its memory serves cuFFT and templates before */
    struct lw_accel_found found;
    int64_t *device_edges;
    float *device_levels;                   /* [n_blocks] medians, then factors */

    struct lw_pinned pinned;                /* all that follows */
    float *staged;                          /* the series, then the spectrum */
    float *levels;
    unsigned long long *counts;
};

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

static int64_t template_values(const struct lw_accel_plan *plan) { return 2 * LW_ACCEL_STEPS * (int64_t)plan->half_width + 1; }

/* Lay out the device memory with a plane of so many columns, or count it. */
static int64_t lay_out_device(struct lw_accel_search *s, int64_t columns)
{
    const int64_t rows = s->bank.rows, work = lw_cuda_fft_bytes(s->plan->spec.n_fft, CUFFT_R2C, 1);
    const int64_t templates = BATCH * template_values(s->plan) * (int64_t)sizeof(float2);
    struct lw_arena arena = {.base = s->memory};
    s->spectrum = lw_arena_take(&arena, (s->plan->n_bins + 1) * (int64_t)sizeof *s->spectrum);
    s->bank.roots = lw_arena_take(&arena, lw_cuda_accel_roots_bytes(&s->bank.segments));
    s->bank.spectra = lw_arena_take(&arena, 2 * rows * s->bank.segments.n * (int64_t)sizeof *s->bank.spectra);
    s->found.cells = lw_arena_take(&arena, LW_ACCEL_MOST_CELLS * (int64_t)sizeof *s->found.cells);
    s->found.counts = lw_arena_take(&arena, 2 * (int64_t)sizeof *s->found.counts);
    s->found.hits = lw_arena_take(&arena, s->found.most * (int64_t)sizeof *s->found.hits);
    s->device_edges = lw_arena_take(&arena, (s->n_blocks + 1) * (int64_t)sizeof *s->device_edges);
    s->device_levels = lw_arena_take(&arena, s->n_blocks * (int64_t)sizeof *s->device_levels);
    s->plane.pitch = columns;
    s->plane.powers = lw_arena_take(&arena, lw_max64(lw_max64(templates, work), rows * columns * (int64_t)sizeof *s->plane.powers));
    return arena.used;
}

static int64_t lay_out_pinned(struct lw_accel_search *s)
{
    struct lw_arena arena = {.base = s->pinned.memory};
    s->staged = lw_arena_take(&arena, lw_max64(s->plan->spec.n, 2 * s->plan->n_bins) * (int64_t)sizeof *s->staged);
    s->levels = lw_arena_take(&arena, s->n_blocks * (int64_t)sizeof *s->levels);
    s->counts = lw_arena_take(&arena, 2 * (int64_t)sizeof *s->counts);
    return arena.used;
}

/* Set what follows from the plan and the memory. Return the bytes of the device; 0: not even a piece of one cell fits. */
static int64_t size(struct lw_accel_search *s, const struct lw_accel_plan *plan, int64_t most)
{
    const int64_t rows = (int64_t)plan->n_z * plan->n_w;
    *s = (struct lw_accel_search){
        .plan = plan, .n_blocks = plan->n_blocks,
        .bank = {.segments = lw_accel_segments_of(plan->half_width), .half_width = plan->half_width, .rows = (int)rows},
        .plane = {.n_z = plan->n_z, .n_w = plan->n_w},
        .found.most = lw_min64(MOST_HITS, ((plan->end - plan->begin) / LW_ACCEL_CELL + 2) * plan->spec.n_stages),
    };
    if (s->bank.segments.radix == 0)
        return 0;
    struct lw_accel_piece whole;
    lw_accel_piece_make(plan, &s->bank.segments, plan->begin, plan->end, &whole);
    const int64_t unit = LW_ACCEL_STEPS * (int64_t)s->bank.segments.hop;
    const int64_t left = lw_max64(0, most - lay_out_device(s, 0) - LW_DEVICE_PAGE) / (rows * (int64_t)sizeof *s->plane.powers);
    const int64_t columns = lw_min64(whole.columns, left / unit * unit), least = unit << plan->spec.n_stages;
    const int64_t bytes = lw_device_bytes(lay_out_device(s, columns));
    return columns < lw_min64(whole.columns, least) || bytes > most ? 0 : bytes;
}

static struct lw_bytes bytes(const struct lw_engine *engine, const struct lw_accel_plan *plan, int64_t most, bool *is_possible)
{
    (void)engine;
    struct lw_accel_search s;
    const int64_t device = size(&s, plan, most);
    *is_possible = device > 0;
    return (struct lw_bytes){
        .host = (int64_t)sizeof s + (2 * s.n_blocks + 1) * (int64_t)sizeof *s.edges + s.n_blocks * (int64_t)sizeof *s.variances +
                BATCH * template_values(plan) * (int64_t)sizeof(float2),
        .pinned = lay_out_pinned(&s), .device = device,
    };
}

/* A power takes 2.4 ps on an H100, a term of a sum 0.25. */
static double seconds(const struct lw_engine *engine, const struct lw_accel_plan *plan)
{
    (void)engine;
    const double points = (double)(plan->end - plan->begin) * plan->n_z * plan->n_w;
    return 1e-3 + 0.5e-9 * (double)plan->spec.n_fft + points * (2.4e-12 + 0.25e-12 * (1 << (plan->spec.n_stages - 1)));
}

/* ---- setup ------------------------------------------------------------------------------------------------------------ */

struct templates {
    const struct lw_accel_plan *plan;
    int64_t first;                          /* row of the first */
    float2 *values;
};

static int make_template(void *context, int64_t piece, int thread, struct lw_error *err)
{
    (void)thread;
    const struct templates *const t = context;
    const int row = (int)(t->first + piece), n_z = t->plan->n_z;
    return lw_accel_template(t->plan, row % n_z, row / n_z, &t->values[piece * template_values(t->plan)].x, err);
}

/* Make the templates of the rows up to the middle; the device derives the others. */
static int fill_bank(struct lw_accel_search *s, struct lw_error *err)
{
    const char *const what = "preparing the templates of a search";
    const int64_t rows = s->bank.rows / 2 + 1, values = template_values(s->plan);
    struct templates t = {.plan = s->plan};
    LW_FREED float2 *const memory = t.values = lw_alloc_array(BATCH * values, sizeof *t.values, "templates", err);
    float2 *const device = (float2 *)(void *)s->plane.powers;
    int rc = memory ? lw_cuda_check(lw_cuda_accel_roots(&s->bank, s->stream), what, err) : LW_ESYSTEM;
    for (; t.first < rows && rc == LW_OK; t.first += BATCH) {
        const int64_t n = lw_min64(BATCH, rows - t.first);
        struct lw_batch batch = {.lane = LW_LANE_READ, .n_pieces = n, .work = make_template, .context = &t};
        lw_pool_start(s->threads, &batch);
        if ((rc = lw_pool_wait(s->threads, &batch, err)) ||
            (rc = lw_cuda_upload(device, memory, n * values * (int64_t)sizeof *memory, s->stream, what, err)))
            return rc;
        rc = lw_cuda_check(lw_cuda_accel_transform(&s->bank, (int)t.first, (int)n, device, s->stream), what, err);
    }
    return rc ? rc : lw_cuda_check(cudaStreamSynchronize(s->stream), what, err);
}

/* Find the blocks of the normalization, and how many bins of each count. */
static int fill_blocks(struct lw_accel_search *s, struct lw_error *err)
{
    s->edges = lw_alloc_array(s->n_blocks + 1, sizeof *s->edges, "blocks of a spectrum", err);
    s->counted = lw_alloc_array(s->n_blocks, sizeof *s->counted, "blocks of a spectrum", err);
    s->variances = lw_alloc_array(s->n_blocks, sizeof *s->variances, "blocks of a spectrum", err);
    if (!s->edges || !s->counted || !s->variances)
        return LW_ESYSTEM;
    lw_accel_blocks(s->plan->n_bins, s->edges);
    const struct lw_accel_zap *zap = s->zaps, *const last = s->zaps + s->n_zaps;
    for (int64_t b = 0; b < s->n_blocks; b++) {
        const int64_t begin = s->edges[b], end = s->edges[b + 1];
        s->counted[b] = end - begin;
        for (; zap < last && zap->first < end; zap++) {
            s->counted[b] -= lw_max64(0, lw_min64(zap->end, end) - lw_max64(zap->first, begin));
            if (zap->end > end)
                break;
        }
    }
    return lw_cuda_upload(s->device_edges, s->edges, (s->n_blocks + 1) * (int64_t)sizeof *s->edges, s->stream,
                          "preparing the normalization of a search", err);
}

static void destroy(struct lw_accel_search *s)
{
    if (!s)
        return;
    const cudaStream_t streams[] = {s->copies, s->stream};
    for (int i = 0; i < 2; i++)
        if (streams[i]) {
            cudaStreamSynchronize(streams[i]);
            cudaStreamDestroy(streams[i]);
        }
    if (s->normalized)
        cudaEventDestroy(s->normalized);
    lw_cuda_fft_destroy(&s->fft);
    lw_pinned_end(&s->pinned, s->threads);
    cudaFree(s->memory);
    lw_pool_destroy(s->threads);
    lw_free(s->edges);
    lw_free(s->counted);
    lw_free(s->variances);
    lw_free(s);
}

static int set_up(struct lw_accel_search *s, int64_t device_bytes, int device, struct lw_error *err)
{
    const char *const what = "a search for drifting signals";
    int rc;
    if ((rc = lw_cuda_check(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking), "making a stream", err)) ||
        (rc = lw_cuda_check(cudaStreamCreateWithFlags(&s->copies, cudaStreamNonBlocking), "making a stream", err)) ||
        (rc = lw_cuda_check(cudaEventCreateWithFlags(&s->normalized, cudaEventDisableTiming), "making an event", err)) ||
        (rc = lw_pinned_threads(&s->threads, err)) || (rc = lw_cuda_allocate(device_bytes, what, &s->memory, err)) ||
        (rc = lw_pinned_begin(&s->pinned, lay_out_pinned(s), device, s->threads, err)))
        return rc;
    lay_out_device(s, s->plane.pitch);
    lay_out_pinned(s);
    if ((rc = lw_cuda_fft_create(&s->fft, s->plan->spec.n_fft, CUFFT_R2C, 1, s->plane.powers, what, err)) ||
        (rc = lw_cufft_check(cufftSetStream(s->fft.handle, s->stream), what, err)) || (rc = fill_blocks(s, err)) ||
        (rc = fill_bank(s, err)))
        return rc;
    return lw_pinned_wait(&s->pinned, s->threads, err);
}

static int create(struct lw_engine *engine, const struct lw_accel_plan *plan, const struct lw_accel_zap *zaps, int64_t n_zaps,
                  int64_t most, struct lw_accel_search **out, struct lw_error *err)
{
    struct lw_accel_search *const s = lw_alloc(sizeof *s, "a search", err);
    if (!s)
        return LW_ESYSTEM;
    const int64_t device_bytes = size(s, plan, most);
    s->zaps = zaps;
    s->n_zaps = n_zaps;
    int rc;
    if (s->bank.segments.radix == 0)
        rc = lw_fail(err, LW_ECONFIG, "templates of %d bins on either side are too long for the cuda engine: lower the largest "
                     "drift, or use --engine cpu", plan->half_width);
    else if (device_bytes == 0)
        rc = lw_fail(err, LW_ESYSTEM, "no device memory for a search of %d values of z and %d of w: raise --gpu-memory, or lower "
                     "the largest drift", plan->n_z, plan->n_w);
    else
        rc = set_up(s, device_bytes, lw_cuda_device_of(engine)->index, err);
    if (rc)
        destroy(s);
    else
        *out = s;
    return rc;
}

/* ---- a series --------------------------------------------------------------------------------------------------------- */

struct copying {
    char *to;
    const char *from;
    int64_t bytes;
};

static int copy_piece(void *context, int64_t piece, int thread, struct lw_error *err)
{
    (void)thread, (void)err;
    const struct copying *const c = context;
    const int64_t at = piece * COPY_BYTES;
    memcpy(c->to + at, c->from + at, (size_t)lw_min64(COPY_BYTES, c->bytes - at));
    return LW_OK;
}

static int copy(struct lw_accel_search *s, void *to, const void *from, int64_t bytes, struct lw_error *err)
{
    struct copying c = {to, from, bytes};
    struct lw_batch batch = {.n_pieces = lw_divide_up(bytes, COPY_BYTES), .work = copy_piece, .context = &c};
    lw_pool_start(s->threads, &batch);
    return lw_pool_wait(s->threads, &batch, err);
}

static void CUDART_CB make_factors(void *context)
{
    const struct lw_accel_search *const s = context;
    lw_accel_factors(s->n_blocks, s->counted, s->levels, s->levels, s->variances);
}

/* Copy the staged series to the device and transform it. All bits of a zapped bin are set: it is NaN. */
static int begin_spectrum(struct lw_accel_search *s, struct lw_error *err)
{
    float *const values = &s->spectrum->x;
    const size_t n = (size_t)s->plan->spec.n, all = 2 * (size_t)s->plan->n_bins + 2;
    cudaError_t status = cudaMemcpyAsync(values, s->staged, n * sizeof *values, cudaMemcpyHostToDevice, s->stream);
    if (status == cudaSuccess)
        status = cudaMemsetAsync(values + n, 0, (all - n) * sizeof *values, s->stream);
    int rc = lw_cuda_check(status, "copying a series to the device", err);
    rc = rc ? rc : lw_cufft_check(cufftExecR2C(s->fft.handle, values, s->spectrum), "transforming a series", err);
    for (int64_t i = 0; i < s->n_zaps && rc == LW_OK; i++)
        rc = lw_cuda_check(cudaMemsetAsync(s->spectrum + s->zaps[i].first, 0xff,
                                           (size_t)(s->zaps[i].end - s->zaps[i].first) * sizeof *s->spectrum, s->stream),
                           "zapping a spectrum", err);
    return rc;
}

/* Normalize the spectrum, and copy it to the host beside all later work. */
static cudaError_t normalize(struct lw_accel_search *s)
{
    const size_t blocks = (size_t)s->n_blocks * sizeof *s->levels, bins = (size_t)s->plan->n_bins * sizeof *s->spectrum;
    cudaError_t status = lw_cuda_accel_medians(s->spectrum, s->device_edges, s->n_blocks, s->device_levels, s->stream);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(s->levels, s->device_levels, blocks, cudaMemcpyDeviceToHost, s->stream);
    if (status == cudaSuccess)
        status = cudaLaunchHostFunc(s->stream, make_factors, s);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(s->device_levels, s->levels, blocks, cudaMemcpyHostToDevice, s->stream);
    if (status == cudaSuccess)
        status = lw_cuda_accel_scale(s->spectrum, s->device_edges, s->n_blocks, s->device_levels, s->stream);
    if (status == cudaSuccess)
        status = cudaEventRecord(s->normalized, s->stream);
    if (status == cudaSuccess)
        status = cudaStreamWaitEvent(s->copies, s->normalized, 0);
    return status == cudaSuccess ? cudaMemcpyAsync(s->staged, s->spectrum, bins, cudaMemcpyDeviceToHost, s->copies) : status;
}

/* Find the hits of a piece; of its points those from `first` to `end` count. */
static cudaError_t search_piece(struct lw_accel_search *s, const struct lw_accel_piece *piece, int64_t first, int64_t end)
{
    struct lw_accel_cells cells = {.begin = first, .end = end, .n_stages = s->plan->spec.n_stages};
    memcpy(cells.least, s->plan->least, sizeof cells.least);
    memcpy(cells.shift, piece->shift, sizeof cells.shift);
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < piece->n_intervals && status == cudaSuccess; i++)
        status = lw_cuda_accel_powers(&s->bank, s->spectrum, s->plan->n_bins, &piece->intervals[i], &s->plane, s->stream);
    const int64_t last = piece->end / LW_ACCEL_CELL;
    for (int64_t c = piece->begin / LW_ACCEL_CELL; c < last && status == cudaSuccess; c += cells.n) {
        cells.first = c;
        cells.n = lw_min64(LW_ACCEL_MOST_CELLS, last - c);
        status = cudaMemsetAsync(s->found.counts, 0, sizeof *s->found.counts, s->stream);
        if (status == cudaSuccess)
            status = lw_cuda_accel_sum(&s->plane, &cells, &s->found, s->stream);
    }
    return status;
}

static int begin(struct lw_accel_search *s, const float *series, int64_t first, int64_t end, struct lw_error *err)
{
    int rc;
    if ((rc = copy(s, s->staged, series, s->plan->spec.n * (int64_t)sizeof *series, err)) || (rc = begin_spectrum(s, err)) ||
        (rc = lw_cuda_check(normalize(s), "normalizing a spectrum", err)))
        return rc;
    cudaError_t status = cudaMemsetAsync(s->found.counts, 0, 2 * sizeof *s->found.counts, s->stream);
    struct lw_accel_piece piece = {.end = first};
    while (piece.end < end && status == cudaSuccess) {
        lw_accel_piece_fit(s->plan, &s->bank.segments, piece.end, end, s->plane.pitch, &piece);
        status = search_piece(s, &piece, first, end);
    }
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(s->counts, s->found.counts, 2 * sizeof *s->counts, cudaMemcpyDeviceToHost, s->stream);
    return lw_cuda_check(status, "searching a spectrum", err);
}

static int wait(struct lw_accel_search *s, float *spectrum, float *variances, struct lw_accel_hits *hits, struct lw_error *err)
{
    const char *const what = "searching a spectrum";
    int rc;
    if ((rc = lw_cuda_check(cudaStreamSynchronize(s->copies), what, err)) ||
        (rc = copy(s, spectrum, s->staged, 2 * s->plan->n_bins * (int64_t)sizeof *spectrum, err)) ||
        (rc = lw_cuda_check(cudaStreamSynchronize(s->stream), what, err)))
        return rc;
    memcpy(variances, s->variances, (size_t)s->n_blocks * sizeof *variances);
    const int64_t n = (int64_t)s->counts[1], kept = lw_min64(n, lw_min64(hits->most, s->found.most));
    hits->n = n > s->found.most ? lw_max64(n, hits->most + 1) : n;
    rc = lw_cuda_check(cudaMemcpyAsync(hits->hits, s->found.hits, (size_t)kept * sizeof *hits->hits, cudaMemcpyDeviceToHost,
                                       s->stream), what, err);
    return rc ? rc : lw_cuda_check(cudaStreamSynchronize(s->stream), what, err);
}

const struct lw_accel_ops lw_cuda_accel_ops = {.bytes = bytes, .seconds = seconds, .create = create, .begin = begin, .wait = wait,
                                               .destroy = destroy};
