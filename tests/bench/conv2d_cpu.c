/* conv2d_cpu.c - the cpu engine's 2-D convolution, on one core: pixels per second by kernel and algorithm.
 *
 *     bench_conv2d_cpu [SIZE [PRECISION [KERNEL...]]]      SIZE x SIZE pixels (default 4096); PRECISION single (default) or
 *                                                          double; KERNEL: sides (default 1 3 7 15 31 63 127 255)
 *
 * Prints one line per kernel and algorithm: processor seconds of the best of some runs (of the one thread that computes, so
 * that other work on the machine counts little), and what the plan says. conv2d_rivals.py runs it beside
 * scipy.signal.oaconvolve and OpenCV. */
#include "engine/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_RUNS = 3 };

static double next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 40) * 0x1p-23 - 1;
}

static void fail(const struct lw_error *err)
{
    fprintf(stderr, "bench_conv2d_cpu: %s\n", err->message);
    exit(1);
}

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds of the fastest run over the whole image in one block. */
static double measure(struct lw_engine *engine, const struct lw_op_spec *spec, const struct lw_op_plan *plan)
{
    const struct lw_block block = {.count = spec->n_outputs, .n_channels = 1};
    struct lw_op *op = NULL;
    struct lw_slot *slot = NULL;
    struct lw_error err;
    if (engine->ops->op_create(engine, spec, plan, block.count, 1, &op, &err) || engine->ops->slot_create(op, &slot, &err))
        fail(&err);
    uint64_t state = 1;
    const int64_t n = (plan->halo + block.count) * spec->conv2d.columns;
    for (int64_t i = 0; i < n; i++) {
        if (spec->input.scalar == LW_FLOAT32)
            ((float *)slot->input)[i] = (float)next(&state);
        else
            ((double *)slot->input)[i] = next(&state);
    }
    double best = 1e9;
    for (int run = 0; run < N_RUNS; run++) {
        const double start = processor_seconds();
        if (engine->ops->submit(op, slot, &block, &err) || engine->ops->wait(op, slot, &err))
            fail(&err);
        const double seconds = processor_seconds() - start;
        best = seconds < best ? seconds : best;
    }
    engine->ops->slot_destroy(op, slot);
    engine->ops->op_destroy(op);
    return best;
}

static void bench(struct lw_engine *engine, enum lw_precision precision, int64_t size, int64_t kernel,
                  enum lw_conv2d_algorithm algorithm)
{
    static const char *const names[] = {"auto", "direct", "tiles", "full", "separable"};
    const struct lw_type type = {.scalar = precision == LW_DOUBLE ? LW_FLOAT64 : LW_FLOAT32};
    double *const taps = malloc((size_t)(kernel * kernel) * sizeof *taps);
    uint64_t state = 2;
    for (int64_t i = 0; i < kernel * kernel; i++)
        taps[i] = algorithm == LW_CONV2D_ALGORITHM_SEPARABLE ? 1 : next(&state);
    const struct lw_op_spec spec = {
        .kind = LW_OP_CONV2D, .input = type, .output = type, .precision = precision, .n_channels = 1, .n_outputs = size,
        .conv2d = {
            .kernel = taps, .kernel_rows = kernel, .kernel_columns = kernel, .rows = size, .columns = size,
            .output_columns = size, .look_ahead_rows = (kernel - 1) / 2, .look_ahead_columns = (kernel - 1) / 2,
            .algorithm = algorithm,
        },
    };
    struct lw_op_plan plan;
    struct lw_error err;
    if (engine->ops->op_plan(engine, &spec, &plan, &err))
        fail(&err);
    const double seconds = measure(engine, &spec, &plan);
    const double outputs = (double)size * (double)size;
    printf("%lld %s %.6f s  %.1f Mpixel/s  (model %.4f s)  %s\n", (long long)kernel, names[algorithm], seconds,
           outputs / seconds / 1e6, outputs * plan.seconds_per_output, plan.text);
    fflush(stdout);
    free(taps);
}

static void bench_kernel(struct lw_engine *engine, enum lw_precision precision, int64_t size, int64_t kernel)
{
    bench(engine, precision, size, kernel, LW_CONV2D_ALGORITHM_AUTO);
    if (kernel <= 31)
        bench(engine, precision, size, kernel, LW_CONV2D_ALGORITHM_DIRECT);
    for (int a = LW_CONV2D_ALGORITHM_TILES; a <= LW_CONV2D_ALGORITHM_SEPARABLE; a++)
        bench(engine, precision, size, kernel, (enum lw_conv2d_algorithm)a);
}

int main(int argc, char **argv)
{
    static const int64_t kernels[] = {1, 3, 7, 15, 31, 63, 127, 255};
    const int64_t size = argc > 1 ? atoll(argv[1]) : 4096;
    const enum lw_precision precision = argc > 2 && strcmp(argv[2], "double") == 0 ? LW_DOUBLE : LW_SINGLE;
    const struct lw_engine_spec spec = {.n_threads = 1, .node_ranks = 1};
    struct lw_engine *engine;
    struct lw_error err;
    char text[160];
    if (lw_cpu_engine.create(&spec, &engine, &err))
        fail(&err);
    engine->ops->describe(engine, text, sizeof text);
    printf("# %lld x %lld pixels, %s precision, %s\n", (long long)size, (long long)size,
           precision == LW_DOUBLE ? "double" : "single", text);
    for (int i = 3; i < argc; i++)
        bench_kernel(engine, precision, size, atoll(argv[i]));
    for (size_t k = 0; argc <= 3 && k < sizeof kernels / sizeof *kernels; k++)
        bench_kernel(engine, precision, size, kernels[k]);
    lw_engine_destroy(engine);
    return 0;
}
