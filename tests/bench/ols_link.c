/* ols_link.c - benchmark of how much of the link between host and GPU the CUDA engine fills: int16 samples from pinned memory,
 * float32 outputs to pinned memory, through the engine's own slots and pipeline.
 *
 *   mpirun -np P bench_ols_link [M [share]]   M taps (257); one GPU per rank, or, with "share", fewer
 *
 *   in, out   the same bytes copied alone, in one direction
 *   both      the same copies in both directions, on as many streams as there are slots, without kernels
 *   engine    the pipeline: copy in, filter, copy out
 *
 * The program prints for F = 1 and 8 the slowest rank's rates, and the engine's rate as a percentage of the slower direction
 * alone and of both together. All ranks start together, so that rows of different P show how the ranks' GPUs share the host. */
#include "base/log.h"
#include "comm/comm.h"
#include "engine/registry.h"
#include "stream/pipeline.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 3, N_BLOCKS = 96, REPETITIONS = 5 };
static const int64_t slot_bytes = (int64_t)64 << 20;

struct bench {
    struct lw_comm *comm;
    struct lw_engine *engine;
    struct lw_op_spec spec;
    struct lw_op_plan plan;
    int64_t count;
    size_t in_bytes, out_bytes;         /* bytes of a block */
    cudaStream_t streams[DEPTH];
    void *host_in[DEPTH], *host_out[DEPTH], *device_in[DEPTH], *device_out[DEPTH];
};

static void stop_unless(const struct bench *b, cudaError_t status, const char *what)
{
    struct lw_error err;
    if (status == cudaSuccess)
        return;
    lw_fail(&err, LW_ESYSTEM, "%s: %s", what, cudaGetErrorString(status));
    lw_comm_abort(b->comm, &err);
}

static void stop_if(const struct bench *b, int rc, const struct lw_error *err)
{
    if (rc)
        lw_comm_abort(b->comm, err);
}

/* ---- copies alone -------------------------------------------------------------------------------------------------- */

static void open_copies(struct bench *b)
{
    for (int i = 0; i < DEPTH; i++) {
        stop_unless(b, cudaStreamCreateWithFlags(&b->streams[i], cudaStreamNonBlocking), "a stream");
        stop_unless(b, cudaHostAlloc(&b->host_in[i], b->in_bytes, cudaHostAllocDefault), "pinned memory");
        stop_unless(b, cudaHostAlloc(&b->host_out[i], b->out_bytes, cudaHostAllocDefault), "pinned memory");
        stop_unless(b, cudaMalloc(&b->device_in[i], b->in_bytes), "device memory");
        stop_unless(b, cudaMalloc(&b->device_out[i], b->out_bytes), "device memory");
        memset(b->host_in[i], i + 1, b->in_bytes);
        memset(b->host_out[i], i + 1, b->out_bytes);
    }
}

static void close_copies(struct bench *b)
{
    for (int i = 0; i < DEPTH; i++) {
        cudaStreamDestroy(b->streams[i]);
        cudaFreeHost(b->host_in[i]);
        cudaFreeHost(b->host_out[i]);
        cudaFree(b->device_in[i]);
        cudaFree(b->device_out[i]);
    }
}

static void copy_blocks(struct bench *b, bool is_in, bool is_out)
{
    for (int block = 0; block < N_BLOCKS; block++) {
        const int i = block % DEPTH;
        if (is_in)
            stop_unless(b, cudaMemcpyAsync(b->device_in[i], b->host_in[i], b->in_bytes, cudaMemcpyHostToDevice, b->streams[i]),
                        "a copy to the device");
        if (is_out)
            stop_unless(b, cudaMemcpyAsync(b->host_out[i], b->device_out[i], b->out_bytes, cudaMemcpyDeviceToHost,
                                           b->streams[i]), "a copy from the device");
    }
    for (int i = 0; i < DEPTH; i++)
        stop_unless(b, cudaStreamSynchronize(b->streams[i]), "the copies");
}

static void copy_in(struct bench *b) { copy_blocks(b, true, false); }
static void copy_out(struct bench *b) { copy_blocks(b, false, true); }
static void copy_both(struct bench *b) { copy_blocks(b, true, true); }

/* ---- the engine ---------------------------------------------------------------------------------------------------- */

static struct lw_pipeline *pipeline;

static void fill(int16_t *samples, int64_t n)
{
    uint32_t state = 1;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525 + 1013904223;
        samples[i] = (int16_t)(state >> 16);
    }
}

static void open_engine(struct bench *b)
{
    struct lw_error err;
    stop_if(b, lw_pipeline_create(b->engine, &b->spec, &b->plan, b->count, 1, DEPTH, &pipeline, &err), &err);
    for (int i = 0; i < DEPTH; i++) {
        struct lw_slot *const slot = lw_pipeline_acquire(pipeline);
        fill(slot->input, b->plan.halo + b->count);
        lw_pipeline_release(pipeline, slot);
    }
}

static void collect(struct bench *b)
{
    struct lw_error err;
    struct lw_slot *slot;
    stop_if(b, lw_pipeline_collect(pipeline, &slot, &err), &err);
    lw_pipeline_release(pipeline, slot);
}

static void filter_blocks(struct bench *b)
{
    struct lw_error err;
    for (int block = 0; block < N_BLOCKS; block++) {
        if (lw_pipeline_is_full(pipeline))
            collect(b);
        const struct lw_block what = {.first = block * b->count, .count = b->count, .n_channels = 1, .round = block};
        stop_if(b, lw_pipeline_submit(pipeline, lw_pipeline_acquire(pipeline), &what, &err), &err);
    }
    while (lw_pipeline_submitted(pipeline) > 0)
        collect(b);
}

/* ---- the comparison ------------------------------------------------------------------------------------------------ */

static int compare(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Median over repetitions of the slowest rank's time; the first repetition is a warm-up. */
static double time_all(struct bench *b, void (*run)(struct bench *))
{
    double seconds[REPETITIONS + 1];
    for (int i = 0; i <= REPETITIONS; i++) {
        lw_comm_barrier(b->comm);
        const double start = lw_now();
        run(b);
        seconds[i] = 1e-9 * (double)lw_comm_max(b->comm, (int64_t)(1e9 * (lw_now() - start)));
    }
    qsort(seconds + 1, REPETITIONS, sizeof *seconds, compare);
    return seconds[1 + REPETITIONS / 2];
}

static void prepare(struct bench *b, int n_filters, int64_t n_taps, double *taps)
{
    struct lw_error err;
    for (int64_t i = 0; i < n_filters * n_taps; i++)
        taps[i] = 1.0 / (double)(1 + i % 17) - 0.2;
    b->spec = (struct lw_op_spec){
        .kind = LW_OP_OLS, .input.scalar = LW_INT16, .output.scalar = LW_FLOAT32, .precision = LW_SINGLE, .n_channels = 1,
        .ols = {.taps = lw_stored_doubles(taps, false), .n_filters = n_filters, .n_taps = n_taps},
    };
    stop_if(b, b->engine->ops->op_plan(b->engine, &b->spec, &b->plan, &err), &err);
    const int64_t sample = 2 + 4 * n_filters;
    b->count = slot_bytes / sample / b->plan.unit * b->plan.unit;
    b->in_bytes = (size_t)(b->plan.halo + b->count) * 2;
    b->out_bytes = (size_t)b->count * 4 * (size_t)n_filters;
}

static void report(struct bench *b, int n_filters, double in, double out, double both, double engine)
{
    const double slower = in > out ? in : out;
    const double n_in = 1e-9 * (double)b->in_bytes * N_BLOCKS, n_out = 1e-9 * (double)b->out_bytes * N_BLOCKS;
    if (lw_comm_rank(b->comm) > 0)
        return;
    printf(
        "link ranks %d F %d M %d (%s): in %.1f GB/s, out %.1f GB/s, both %.1f + %.1f GB/s, engine %.1f + %.1f GB/s: %.1f%% of the "
        "slower direction, %.1f%% of both; %.2f Gsamples/s a rank\n",
        lw_comm_size(b->comm), n_filters, (int)b->spec.ols.n_taps, b->plan.text, n_in / in, n_out / out, n_in / both, n_out / both,
        n_in / engine, n_out / engine, 100 * slower / engine, 100 * both / engine,
        1e-9 * (double)b->count * N_BLOCKS * n_filters / engine);
    fflush(stdout);
}

static void measure(struct bench *b, int n_filters, int64_t n_taps)
{
    double *const taps = malloc((size_t)n_filters * (size_t)n_taps * sizeof *taps);
    prepare(b, n_filters, n_taps, taps);
    open_copies(b);
    const double in = time_all(b, copy_in), out = time_all(b, copy_out), both = time_all(b, copy_both);
    close_copies(b);
    open_engine(b);
    const double engine = time_all(b, filter_blocks);
    lw_pipeline_destroy(pipeline);
    report(b, n_filters, in, out, both, engine);
    free(taps);
}

int main(int argc, char **argv)
{
    struct lw_error err;
    struct bench b = {.comm = lw_comm_start(&argc, &argv)};
    lw_log_start(lw_comm_rank(b.comm), lw_comm_host(b.comm), LW_LOG_QUIET);
    const int64_t n_taps = argc > 1 ? strtoll(argv[1], NULL, 10) : 257;
    const struct lw_engine_spec spec = {
        .node_rank = lw_comm_node_rank(b.comm),
        .node_ranks = lw_comm_node_size(b.comm), .share_device = argc > 2 && strcmp(argv[2], "share") == 0,
    };
    const int rc = lw_cuda_engine.create(&spec, &b.engine, &err);
    stop_if(&b, rc, &err);
    measure(&b, 1, n_taps);
    measure(&b, 8, n_taps);
    lw_engine_destroy(b.engine);
    lw_comm_stop(b.comm);
    return 0;
}
