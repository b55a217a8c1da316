/* ols_products.c - benchmark of the products of `ols` on a GPU: the kernels of one block, all data on the device, in one stream.
 *
 *   bench_ols_products [SAMPLES [REPETITIONS [record|narrow]]]   on the axis (2^26); 5; only the record, or only stored types
 *
 * First comes white noise of variance 1 and 64 filters of 257 taps and energy 1: storing the bank, peaks with one output in 10^5
 * above the threshold, the best filter, and statistics of blocks. Then comes a record of 3840 channels with one filter of 513
 * taps and with eight: all samples and decimated, to float32 and int16, in segments of several lengths. Each figure is the median
 * of the repetitions, by events around the work that the engine queues for a block. Rates are those of filter outputs, before
 * decimation, and of inputs.
 *
 * `narrow` writes CSV rows: short and long filters, one and eight, all outputs and every eighth, to float32, int16, float16 and
 * int8 (6 outputs in 10^5 are beyond the type), to int8 by a scale, and to int8 where one output in 20 is beyond the type. */
#include "base/log.h"
#include "engine/registry.h"
#include "gpu/host/op.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REPETITIONS = 99 };

struct bench {
    struct lw_engine *engine;
    int n_repetitions;
};

static void stop_if(bool is_bad, const char *what)
{
    if (!is_bad)
        return;
    fprintf(stderr, "bench_ols_products: %s\n", what);
    exit(1);
}

static void check(cudaError_t status) { stop_if(status != cudaSuccess, cudaGetErrorString(status)); }

/* ---- samples and filters --------------------------------------------------------------------------------------------------- */

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*state >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *state)
{
    const double radius = sqrt(-2 * log(uniform(state)));
    return radius * cos(2 * 3.14159265358979323846 * uniform(state));
}

/* Fill device memory with white noise, which repeats after 2^22 numbers. */
static void fill(void *device, enum lw_scalar scalar, int64_t bytes)
{
    const int64_t each = (int64_t)lw_scalar_bytes(scalar), piece = each << 22;
    static double noise[1 << 22];
    static uint64_t state;
    char *const numbers = malloc((size_t)piece);
    stop_if(!numbers, "no memory");
    for (int64_t i = 0; i < piece / each && (i > 0 || state == 0); i++)
        noise[i] = normal(&state);
    for (int64_t i = 0; i < piece / each; i++) {
        const double value = noise[i];
        if (scalar == LW_FLOAT32)
            ((float *)numbers)[i] = (float)value;
        else
            ((int16_t *)numbers)[i] = (int16_t)lrint(1000 * value);
    }
    for (int64_t at = 0; at < bytes; at += piece)
        check(cudaMemcpy((char *)device + at, at ? device : numbers, (size_t)(bytes - at < piece ? bytes - at : piece),
                         at ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice));
    free(numbers);
}

static double *make_taps(int64_t n_filters, int64_t n_taps, int parts)
{
    double *const taps = malloc((size_t)(n_filters * n_taps * parts) * sizeof *taps);
    uint64_t state = 2;
    stop_if(!taps, "no memory");
    for (int64_t f = 0; f < n_filters; f++) {
        double energy = 0, *const h = taps + f * n_taps * parts;
        for (int64_t m = 0; m < n_taps * parts; m++) {
            h[m] = normal(&state);
            energy += h[m] * h[m];
        }
        for (int64_t m = 0; m < n_taps * parts; m++)
            h[m] /= sqrt(energy);
    }
    return taps;
}

/* ---- one block -------------------------------------------------------------------------------------------------------------- */

struct block {
    struct lw_op *op;
    struct lw_cuda_op_block work;
    int64_t input_bytes;
};

static void open_block(const struct bench *bench, const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count,
                       struct block *block)
{
    struct lw_error err;
    stop_if(bench->engine->ops->op_create(bench->engine, spec, plan, count, spec->n_channels, &block->op, &err), err.message);
    const struct lw_cuda_op_memory *const memory = &block->op->memory;
    struct lw_cuda_op_block *const work = &block->work;
    *work = (struct lw_cuda_op_block){.block = {.count = count, .n_channels = spec->n_channels}};
    block->input_bytes = memory->slot.input;
    check(cudaMalloc(&work->input, (size_t)memory->slot.input));
    check(cudaMalloc(&work->work, (size_t)memory->work_bytes + 1));
    check(cudaMalloc((void **)&work->report, sizeof *work->report));
    for (int p = 0; p < plan->n_products; p++) {
        check(cudaMalloc(&work->products[p], (size_t)memory->slot.products[p]));
        if (plan->products[p].n_planes == 0)
            work->most_rows[p] = memory->slot.products[p] / plan->products[p].row_bytes;
    }
    check(cudaStreamCreateWithFlags(&work->stream, cudaStreamNonBlocking));
    fill(work->input, spec->input.scalar, memory->slot.input);
}

static void close_block(const struct bench *bench, struct block *block)
{
    cudaStreamDestroy(block->work.stream);
    cudaFree(block->work.input);
    cudaFree(block->work.work);
    cudaFree(block->work.report);
    for (int p = 0; p < block->op->plan.n_products; p++)
        cudaFree(block->work.products[p]);
    bench->engine->ops->op_destroy(block->op);
}

static double once(struct block *block)
{
    struct lw_error err;
    cudaEvent_t begin, end;
    float ms;
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
    check(cudaMemsetAsync(block->work.report, 0, sizeof *block->work.report, block->work.stream));
    check(cudaEventRecord(begin, block->work.stream));
    stop_if(block->op->ops->enqueue(block->op, &block->work, &err), err.message);
    check(cudaEventRecord(end, block->work.stream));
    check(cudaEventSynchronize(end));
    check(cudaEventElapsedTime(&ms, begin, end));
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return ms;
}

static int compare(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Return the median of the repetitions, in ms. */
static double median_of(const struct bench *bench, struct block *block)
{
    double ms[MOST_REPETITIONS];
    once(block);
    for (int i = 0; i < bench->n_repetitions; i++)
        ms[i] = once(block);
    qsort(ms, (size_t)bench->n_repetitions, sizeof *ms, compare);
    return ms[bench->n_repetitions / 2];
}

static void measure(const struct bench *bench, const char *name, const struct lw_op_spec *spec, int64_t count)
{
    struct lw_op_plan plan;
    struct lw_error err;
    struct block block;
    struct lw_nan_report report;
    stop_if(bench->engine->ops->op_plan(bench->engine, spec, &plan, &err), err.message);
    open_block(bench, spec, &plan, count, &block);
    const double median = median_of(bench, &block);
    check(cudaMemcpy(&report, block.work.report, sizeof report, cudaMemcpyDeviceToHost));
    const double inputs = (double)count * (double)spec->n_channels;
    printf("%-60s %9.3f ms  %8.1f Goutputs/s  %7.2f Ginputs/s  rows %llu  %s\n", name, median,
           inputs * spec->ols.n_filters / median / 1e6, inputs / median / 1e6, report.n_rows, plan.text);
    fflush(stdout);
    close_block(bench, &block);
}

/* ---- cases ------------------------------------------------------------------------------------------------------------------ */

static void measure_bank(const struct bench *bench, bool is_complex, int64_t n)
{
    enum { F = 64, M = 257 };
    static const struct {
        const char *name;
        unsigned products;
    } all[] = {{"storing the bank", LW_FILTERED}, {"peaks", LW_PEAKS}, {"best filter", LW_BEST}, {"blocks of 1000", LW_BLOCKS}};
    double *const taps = make_taps(F, M, is_complex ? 2 : 1);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char name[80];
        const struct lw_type type = {.scalar = LW_FLOAT32, .is_complex = is_complex};
        const struct lw_op_spec spec = {
            .kind = LW_OP_OLS, .input = type, .output = type, .precision = LW_SINGLE, .n_channels = 1, .n_outputs = n,
            .ols = {.taps = lw_stored_doubles(taps, is_complex), .n_filters = F, .n_taps = M, .taps_complex = is_complex,
                    .search = {.products = all[i].products, .threshold = is_complex ? 4.799 : 4.417, .every = 1000,
                               .values = LW_BLOCK_MAX | LW_BLOCK_RMS}},
        };
        snprintf(name, sizeof name, "%s 2^%.3g, F = %d, M = %d: %s", is_complex ? "c2c" : "r2r", log2((double)n), F, M,
                 all[i].name);
        measure(bench, name, &spec, n);
    }
    free(taps);
}

static void measure_record(const struct bench *bench, enum lw_layout layout, int64_t n)
{
    enum { MOST_FILTERS = 8, M = 513, CHANNELS = 3840 };
    static const struct {
        int every, n_filters, segment;          /* segment 0: the engine's choice */
        enum lw_scalar result;
    } cases[] = {
        {1, 1, 0, LW_FLOAT32}, {8, 1, 0, LW_FLOAT32}, {8, 1, 2048, LW_FLOAT32}, {8, 1, 4096, LW_FLOAT32}, {8, 1, 8192, LW_FLOAT32},
        {2, 1, 0, LW_FLOAT32}, {4, 1, 0, LW_FLOAT32}, {24, 1, 0, LW_FLOAT32}, {5, 1, 0, LW_FLOAT32}, {1, 1, 0, LW_INT16},
        {8, 1, 0, LW_INT16}, {1, 8, 0, LW_FLOAT32}, {8, 8, 0, LW_FLOAT32}, {8, 8, 2048, LW_FLOAT32}, {8, 8, 4096, LW_FLOAT32},
        {5, 8, 0, LW_FLOAT32}, {8, 8, 0, LW_INT16},
    };
    double *const taps = make_taps(MOST_FILTERS, M, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[80];
        const struct lw_op_spec spec = {
            .kind = LW_OP_OLS, .input.scalar = LW_INT16, .output.scalar = cases[i].result, .precision = LW_SINGLE, .layout = layout,
            .n_channels = CHANNELS, .n_outputs = n,
            .ols = {.taps = lw_stored_doubles(taps, false), .n_filters = cases[i].n_filters, .n_taps = M,
                    .segment = cases[i].segment,
                    .post.every = cases[i].every},
        };
        snprintf(name, sizeof name, "int16 %s 2^%.3g, F = %d, M = %d, D = %d to %s",
                 layout == LW_TIME_FAST ? "[3840] x" : "x [3840]", log2((double)n), cases[i].n_filters, M, cases[i].every,
                 cases[i].result == LW_INT16 ? "int16" : "float32");
        measure(bench, name, &spec, n);
    }
    free(taps);
}

/* ---- stored types ------------------------------------------------------------------------------------------------------- */

struct shape {
    enum lw_layout layout;
    int64_t n_channels, n;
    int n_filters;
    int64_t n_taps;
    int every;
    enum lw_scalar input;
};

/* A way to store outputs: their type, the factor of the filters, the outputs' scale. */
struct way {
    const char *name;
    enum lw_scalar output;
    double gain, scale;
};

static void measure_way(const struct bench *bench, const struct shape *s, const struct way *way)
{
    const double unit = s->input == LW_INT16 ? 1 : 1000;            /* samples of int16 have a standard deviation of 1000 */
    double *const taps = make_taps(s->n_filters, s->n_taps, 1);
    for (int64_t i = 0; i < s->n_filters * s->n_taps; i++)
        taps[i] *= unit * way->gain;
    const struct lw_op_spec spec = {
        .kind = LW_OP_OLS, .input.scalar = s->input, .output.scalar = way->output, .precision = LW_SINGLE, .layout = s->layout,
        .n_channels = s->n_channels, .n_outputs = s->n, .output_scale = way->scale,
        .ols = {.taps = lw_stored_doubles(taps, false), .n_filters = s->n_filters, .n_taps = s->n_taps, .post.every = s->every},
    };
    struct lw_op_plan plan;
    struct lw_error err;
    struct block block;
    struct lw_nan_report report;
    stop_if(bench->engine->ops->op_plan(bench->engine, &spec, &plan, &err), err.message);
    open_block(bench, &spec, &plan, s->n, &block);
    const double ms = median_of(bench, &block);
    check(cudaMemcpy(&report, block.work.report, sizeof report, cudaMemcpyDeviceToHost));
    printf("%s,%d,%lld,%d,%lld,%d,%s,%s,%.4f,%.4f,\"%s\"\n", s->layout == LW_TIME_FAST ? "fast" : "slow", (int)s->n_channels,
           (long long)s->n, s->n_filters, (long long)s->n_taps, s->every, s->input == LW_INT16 ? "int16" : "float32", way->name, ms,
           100.0 * (double)report.n_saturated / ((double)s->n / s->every * (double)s->n_channels * s->n_filters), plan.text);
    fflush(stdout);
    close_block(bench, &block);
    free(taps);
}

static void measure_narrow(const struct bench *bench, int64_t n)
{
    static const struct way ways[] = {
        {"float32", LW_FLOAT32, 1, 0}, {"int16", LW_INT16, 1, 0}, {"float16", LW_FLOAT16, 1, 0}, {"int8", LW_INT8, 1.0 / 32, 0},
        {"int8 scaled", LW_INT8, 1, 32}, {"int8 clipped", LW_INT8, 1.0 / 16, 0},
    };
    const int64_t row = n / 1024;
    const struct shape shapes[] = {
        {LW_TIME_SLOW, 3840, row, 1, 513, 1, LW_INT16}, {LW_TIME_FAST, 3840, row, 8, 513, 8, LW_INT16},
        {LW_TIME_FAST, 3840, row, 1, 513, 1, LW_INT16}, {LW_TIME_FAST, 3840, row, 8, 513, 1, LW_INT16},
        {LW_TIME_FAST, 3840, row, 1, 513, 8, LW_INT16}, {LW_TIME_SLOW, 3840, row, 8, 513, 1, LW_INT16},
        {LW_TIME_SLOW, 3840, row, 1, 513, 8, LW_INT16}, {LW_TIME_SLOW, 3840, row, 8, 513, 8, LW_INT16},
        {LW_TIME_FAST, 3840, row, 8, 257, 1, LW_FLOAT32}, {LW_TIME_SLOW, 3840, row, 1, 257, 1, LW_FLOAT32},
        {LW_TIME_FAST, 1, n, 1, 257, 1, LW_FLOAT32}, {LW_TIME_FAST, 1, n, 8, 257, 1, LW_FLOAT32},
        {LW_TIME_FAST, 1, n, 8, 65, 1, LW_INT16}, {LW_TIME_FAST, 1, n, 8, 1025, 1, LW_FLOAT32},
        {LW_TIME_FAST, 3840, row, 1, 9, 1, LW_INT16}, {LW_TIME_SLOW, 3840, row, 1, 9, 1, LW_INT16},
        {LW_TIME_FAST, 1, n, 8, 9, 1, LW_FLOAT32}, {LW_TIME_FAST, 1, n, 8, 4097, 1, LW_FLOAT32},
        {LW_TIME_FAST, 1, n, 8, 9000, 1, LW_FLOAT32}, {LW_TIME_FAST, 1, n, 8, 20000, 1, LW_FLOAT32},
        {LW_TIME_FAST, 1, n, 8, 200000, 1, LW_FLOAT32}, {LW_TIME_SLOW, 16, n / 16, 8, 20000, 1, LW_FLOAT32},
    };
    printf("layout,channels,samples,filters,taps,every,input,output,ms,lost_percent,plan\n");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
            measure_way(bench, &shapes[i], &ways[k]);
}

int main(int argc, char **argv)
{
    struct bench bench = {.n_repetitions = argc > 2 ? atoi(argv[2]) : 5};
    const int64_t n = argc > 1 ? (int64_t)strtod(argv[1], NULL) : (int64_t)1 << 26;
    const struct lw_engine_spec spec = {.node_ranks = 1, .share_device = true};
    struct lw_error err;
    int e = 0;
    while (lw_engines[e] && strcmp(lw_engines[e]->name, "cuda") != 0)
        e++;
    stop_if(!lw_engines[e], "this build has no CUDA engine");
    stop_if(bench.n_repetitions < 1 || bench.n_repetitions > MOST_REPETITIONS || n < 1,
            "the numbers are not as the usage has them");
    stop_if(lw_engines[e]->create(&spec, &bench.engine, &err), err.message);
    const char *const only = argc > 3 ? argv[3] : "";
    if (!*only) {
        measure_bank(&bench, true, n);
        measure_bank(&bench, false, n);
    }
    if (strcmp(only, "narrow") == 0)
        measure_narrow(&bench, n);
    else {
        measure_record(&bench, LW_TIME_FAST, n / 1024);
        measure_record(&bench, LW_TIME_SLOW, n / 1024);
    }
    lw_engine_destroy(bench.engine);
    return 0;
}
