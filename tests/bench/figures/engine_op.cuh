/* engine_op.cuh - one overlap-save operation of the CUDA engine, queued for a block as a job queues it. */
#ifndef ENGINE_OP_CUH
#define ENGINE_OP_CUH

#include "../gpu_bench.cuh"

extern "C" {
#include "base/pool.h"
#include "engine/registry.h"
#include "gpu/host/op.h"
}

#include <cmath>
#include <cstring>

inline void stop_if(bool is_bad, const char *what)
{
    if (!is_bad)
        return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

inline lw_engine *open_engine()
{
    lw_engine_spec spec = {};
    spec.node_ranks = 1;
    spec.share_device = true;
    lw_engine *engine = nullptr;
    lw_error err = {};
    int e = 0;
    while (lw_engines[e] && strcmp(lw_engines[e]->name, "cuda") != 0)
        ++e;
    stop_if(!lw_engines[e], "this build has no CUDA engine");
    stop_if(lw_engines[e]->create(&spec, &engine, &err), err.message);
    return engine;
}

/* One channel of `count` samples, and a bank of filters. */
struct OpCase {
    bool is_complex, is_double;     /* type of samples and taps */
    int64_t count, n_taps;
    int n_filters;
    lw_post post;
};

inline size_t value_bytes(const OpCase &c) { return (c.is_double ? 8 : 4) * (c.is_complex ? 2 : 1); }

/* The operation, and the places of a block's input and output. */
struct OpBlock {
    lw_op *op;
    lw_cuda_op_block work;

    int64_t row() const             /* outputs of one filter */
    {
        return lw_post_outputs(op->spec.ols.post, op->spec.n_outputs, 0, work.block.count);
    }
    /* device memory beyond input and output */
    int64_t extra_bytes() const { return op->memory.op_bytes + op->memory.work_bytes; }
};

/* taps: host, [n_filters][n_taps], complex ones as pairs; input: device, extended by the caller to op->memory.slot.input */
inline OpBlock open_block(lw_engine *engine, const OpCase &c, const std::vector<double> &taps, void *input, cudaStream_t stream)
{
    lw_op_spec spec = {};
    spec.kind = LW_OP_OLS;
    spec.input.scalar = spec.output.scalar = c.is_double ? LW_FLOAT64 : LW_FLOAT32;
    spec.input.is_complex = c.is_complex;
    spec.output.is_complex = c.is_complex && !lw_post_has(c.post, LW_POST_REAL);
    spec.precision = c.is_double ? LW_DOUBLE : LW_SINGLE;
    spec.n_channels = 1;
    spec.n_outputs = c.count;
    spec.ols.taps = lw_stored_doubles(taps.data(), c.is_complex);
    spec.ols.n_filters = c.n_filters;
    spec.ols.n_taps = c.n_taps;
    spec.ols.taps_complex = c.is_complex;
    spec.ols.post = c.post;
    spec.ols.search.products = LW_FILTERED;
    lw_op_plan plan;
    lw_error err = {};
    OpBlock b = {};
    stop_if(engine->ops->op_plan(engine, &spec, &plan, &err), err.message);
    stop_if(engine->ops->op_create(engine, &spec, &plan, c.count, 1, &b.op, &err), err.message);
    b.work.input = input;
    b.work.block.count = c.count;
    b.work.block.n_channels = 1;
    b.work.stream = stream;
    CHECK_CUDA(cudaMalloc(&b.work.products[0], (size_t)b.op->memory.slot.products[0]));
    CHECK_CUDA(cudaMalloc(&b.work.work, (size_t)b.op->memory.work_bytes + 1));
    CHECK_CUDA(cudaMalloc((void **)&b.work.report, sizeof *b.work.report));
    CHECK_CUDA(cudaMemsetAsync(b.work.report, 0, sizeof *b.work.report, stream));
    CHECK_CUDA(cudaMemsetAsync(b.work.products[0], 0xff, (size_t)b.op->memory.slot.products[0], stream));
    return b;
}

inline void enqueue(const OpBlock &b)
{
    lw_error err = {};
    stop_if(b.op->ops->enqueue(b.op, &b.work, &err), err.message);
}

inline void close_block(lw_engine *engine, OpBlock *b)
{
    CHECK_CUDA(cudaStreamSynchronize(b->work.stream));
    CHECK_CUDA(cudaFree(b->work.products[0]));
    CHECK_CUDA(cudaFree(b->work.work));
    CHECK_CUDA(cudaFree(b->work.report));
    engine->ops->op_destroy(b->op);
}

/* Milliseconds of a call: the median of 15 calls that are queued without waiting. Three calls before them are not counted. */
template <class Run> double median_ms(Run run, cudaStream_t stream)
{
    time_each(run, 3, stream);
    return median(time_each(run, 15, stream));
}

/* Taps uniform in [-1, 1), scaled so that each filter has an energy of about 1. */
inline std::vector<double> make_taps(const OpCase &c)
{
    std::vector<double> taps((size_t)(c.n_filters * c.n_taps) * (c.is_complex ? 2 : 1));
    const double scale = sqrt(3.0 / (double)c.n_taps / (c.is_complex ? 2 : 1));
    for (size_t i = 0; i < taps.size(); ++i)
        taps[i] = (float)(scale * (hash24(i, 7) * (2.0 / 16777216.0) - 1.0));
    return taps;
}

#endif
