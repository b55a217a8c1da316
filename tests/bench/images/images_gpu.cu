/* images_gpu.cu - benchmark of images with banks of kernels, backgrounds and weights on the CUDA engine, on data in device memory:
 * all kernels of a block, from stored pixels to products, without copies to and from the host.
 *
 *   bench_images_gpu [SIDE [KERNEL [text]]]     16384^2 float32 pixels and kernels of 31 x 31, if no others are given; cases whose
 *                             name contains the text
 *
 * Each row is one case: how many milliseconds a block takes (median of 9 runs), beside the same products of one kernel. */
#include "../gpu_bench.cuh"

extern "C" {
#include "engine/registry.h"
#include "gpu/host/op.h"
}

#include <cmath>
#include <cstring>

static const unsigned CONVOLVED = LW_FILTERED, PEAKS = LW_PEAKS, BEST = LW_PEAKS | LW_BEST;

struct Case {
    const char *name;
    int n_kernels;
    unsigned products;
    bool has_background;
    enum lw_weights weights;
    bool is_separable;
};

static const Case cases[] = {
    {"convolved", 1, CONVOLVED},
    {"convolved", 2, CONVOLVED},
    {"convolved", 4, CONVOLVED},
    {"convolved", 8, CONVOLVED},
    {"peaks", 1, PEAKS},
    {"peaks", 8, PEAKS},
    {"best", 1, BEST},
    {"best", 8, BEST},
    {"background", 1, PEAKS, true},
    {"mesh of noise", 1, PEAKS, true, LW_WEIGHTS_MESH},
    {"mesh of noise and a separable kernel", 1, PEAKS, true, LW_WEIGHTS_MESH, true},
    {"map of noise", 1, PEAKS, true, LW_WEIGHTS_SIGMA},
    {"map of weights", 1, PEAKS, false, LW_WEIGHTS_INVERSE},
    {"mesh of noise", 8, PEAKS, true, LW_WEIGHTS_MESH},
};

static void fail(const struct lw_error *err)
{
    fprintf(stderr, "%s\n", err->message);
    exit(1);
}

/* Gaussian kernels of rising width; their taps are jittered, so that they are no products, unless `is_separable`. */
static std::vector<double> make_kernels(int side, int n, bool is_separable)
{
    std::vector<double> taps((size_t)n * side * side);
    for (size_t i = 0; i < taps.size(); ++i) {
        const int k = (int)(i / ((size_t)side * side)), at = (int)(i % ((size_t)side * side));
        const double y = at / side - (side - 1) / 2, x = at % side - (side - 1) / 2, sigma = 2 + k;
        taps[i] = exp(-(x * x + y * y) / (2 * sigma * sigma)) * (is_separable ? 1 : 0.75 + hash24(i, 9) / 33554432.0);
    }
    return taps;
}

/* A mesh whose nodes vary by a tenth around `mean`. */
static struct lw_mesh make_mesh(int64_t side, float mean)
{
    struct lw_mesh mesh = lw_mesh_of(side, side, 64, 1);
    std::vector<float> nodes((size_t)(mesh.node_rows * mesh.node_columns));
    for (size_t i = 0; i < nodes.size(); ++i)
        nodes[i] = mean * (1 + 0.1f * (float)(hash24(i, 5) / 16777216.0 - 0.5));
    mesh.tables = (float *)calloc((size_t)lw_mesh_values(&mesh), sizeof(float));
    lw_mesh_fill(&mesh, 0, nodes.data());
    return mesh;
}

/* Sigmas or weights that vary by a tenth; one in 4096 pixels has none. */
static __global__ void fill_map(float *map, int64_t n, float mean)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        map[i] = hash24(i, 3) % 4096 == 0 ? 0 : mean * (float)(1 + 0.1 * (hash24(i, 4) / 16777216.0 - 0.5));
}

/* Noise of each kernel's outputs: that of uniform pixels in [-1, 1) times the kernel's norm. */
static std::vector<double> noise_of(const std::vector<double> &taps, int n)
{
    std::vector<double> noise(n);
    for (size_t i = 0; i < taps.size(); ++i)
        noise[i / (taps.size() / n)] += taps[i] * taps[i] / 3;
    for (double &sigma : noise)
        sigma = sqrt(sigma);
    return noise;
}

static struct lw_op_spec spec_of(const Case &c, int64_t side, int kernel, const double *taps, const double *noise,
                                 const struct lw_mesh *background, const struct lw_mesh *sigma)
{
    struct lw_op_spec s = {};
    s.kind = LW_OP_CONV2D;
    s.input.scalar = s.output.scalar = s.conv2d.map.scalar = LW_FLOAT32;
    s.layout = LW_TIME_FAST;
    s.n_channels = 1;
    s.n_outputs = side;
    s.conv2d.kernel = taps;
    s.conv2d.n_kernels = c.n_kernels;
    s.conv2d.kernel_rows = s.conv2d.kernel_columns = kernel;
    s.conv2d.rows = s.conv2d.columns = s.conv2d.output_columns = side;
    s.conv2d.look_ahead_rows = s.conv2d.look_ahead_columns = (kernel - 1) / 2;
    s.conv2d.background = c.has_background ? background : NULL;
    s.conv2d.weights = c.weights;
    s.conv2d.sigma = c.weights == LW_WEIGHTS_MESH ? sigma : NULL;
    s.conv2d.search.products = c.products;
    s.conv2d.search.noise = c.weights == LW_WEIGHTS_NONE ? noise : NULL;
    s.conv2d.search.threshold = 5;
    s.conv2d.search.cluster = 3;
    s.conv2d.search.sign = LW_SIGN_POSITIVE;
    return s;
}

static void *device_memory(int64_t bytes)
{
    void *memory;
    CHECK_CUDA(cudaMalloc(&memory, (size_t)bytes + 1));
    return memory;
}

/* Return the milliseconds of a case. */
static double measure(struct lw_engine *engine, const Case &c, int64_t side, int kernel, const struct lw_op_spec &spec,
                      double one_ms)
{
    struct lw_error err = {};
    struct lw_op_plan plan;
    struct lw_op *op;
    if (engine->ops->op_plan(engine, &spec, &plan, &err) || engine->ops->op_create(engine, &spec, &plan, side, 1, &op, &err))
        fail(&err);
    struct lw_slot slot = {};
    lw_slot_set_rows(&op->plan, &op->memory.slot, &slot);
    struct lw_cuda_op_block block = {};
    block.block.count = side;
    block.block.n_channels = 1;
    block.input = device_memory(op->memory.slot.input);
    block.map = op->memory.slot.map > 0 ? device_memory(op->memory.slot.map) : NULL;
    block.work = device_memory(op->memory.work_bytes);
    block.report = (struct lw_nan_report *)device_memory(sizeof *block.report);
    for (int p = 0; p < plan.n_products; ++p) {
        block.products[p] = device_memory(op->memory.slot.products[p]);
        block.most_rows[p] = slot.products[p].most_rows;
    }
    CHECK_CUDA(cudaStreamCreateWithFlags(&block.stream, cudaStreamNonBlocking));
    fill_random<<<4096, 256, 0, block.stream>>>((float *)block.input, op->memory.slot.input / 4, 1);
    if (block.map)
        fill_map<<<4096, 256, 0, block.stream>>>((float *)block.map, op->memory.slot.map / 4,
                                                 c.weights == LW_WEIGHTS_SIGMA ? 0.577f : 3.0f);
    const auto run = [&](int) {
        CHECK_CUDA(cudaMemsetAsync(block.report, 0, sizeof *block.report, block.stream));
        if (op->ops->enqueue(op, &block, &err))
            fail(&err);
    };
    run(0);
    std::vector<double> ms = time_each(run, 9, block.stream);
    std::sort(ms.begin(), ms.end());
    struct lw_nan_report report;
    CHECK_CUDA(cudaMemcpy(&report, block.report, sizeof report, cudaMemcpyDeviceToHost));
    printf("%s,%lld,%d,%d,%.3f,%.2f,%llu,\"%s\"\n", c.name, (long long)side, kernel, c.n_kernels, ms[4],
           one_ms > 0 ? ms[4] / one_ms : 1, report.n_rows, plan.text);
    fflush(stdout);
    CHECK_CUDA(cudaStreamDestroy(block.stream));
    for (void *const memory : {block.input, block.map, block.work, (void *)block.report})
        CHECK_CUDA(cudaFree(memory));
    for (int p = 0; p < plan.n_products; ++p)
        CHECK_CUDA(cudaFree(block.products[p]));
    engine->ops->op_destroy(op);
    return ms[4];
}

int main(int argc, char **argv)
{
    const int64_t side = argc > 1 ? atoll(argv[1]) : 16384;
    const int kernel = argc > 2 ? atoi(argv[2]) : 31;
    struct lw_engine_spec wanted = {};
    wanted.node_ranks = 1;
    struct lw_engine *engine;
    struct lw_error err = {};
    if (lw_cuda_engine.create(&wanted, &engine, &err))
        fail(&err);
    struct lw_mesh background = make_mesh(side, 0.1f), sigma = make_mesh(side, 0.577f);
    double one_ms = 0;
    printf("case,side,kernel,kernels,ms,to_one,crossings,method\n");
    for (const Case &c : cases) {
        if (argc > 3 && !strstr(c.name, argv[3]))
            continue;
        const std::vector<double> taps = make_kernels(kernel, c.n_kernels, c.is_separable);
        const std::vector<double> noise = noise_of(taps, c.n_kernels);
        const struct lw_op_spec spec = spec_of(c, side, kernel, taps.data(), noise.data(), &background, &sigma);
        const double ms = measure(engine, c, side, kernel, spec, c.n_kernels > 1 && c.weights == LW_WEIGHTS_NONE ? one_ms : 0);
        one_ms = c.n_kernels == 1 ? ms : one_ms;
    }
    free(background.tables);
    free(sigma.tables);
    lw_engine_destroy(engine);
    return 0;
}
