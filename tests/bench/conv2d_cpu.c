/* conv2d_cpu.c - benchmark of the cpu engine's 2-D convolution on one core: pixels per second by kernel and algorithm.
 *
 *   bench_conv2d_cpu [SIZE [PRECISION [KERNEL...]]]   SIZE x SIZE pixels (default 4096); PRECISION single (default) or
 *                                                   double; KERNEL: sides (default 1 3 7 15 31 63 127 255)
 *
 * The program prints a line for each kernel and algorithm: processor seconds of the fastest of some runs, and the text of the
 * plan. "bank" is 8 kernels, "best" the same without their images, "background" a mesh taken off, "weights" a matched filter with
 * sigma from a mesh, "map" with sigma from a map, "peaks" weights by mesh and a background with only the peaks above 5 sigma.
 * Processor seconds are those of the one computing thread, so that other work on the machine counts little. Kernels from 7 x 7 on
 * are also run as tiles through FFTW, cut in the fastest way. conv2d_rivals.py runs this benchmark beside
 * scipy.signal.oaconvolve and OpenCV. */
#include "engine/registry.h"
#include "rivals/fftw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_RUNS = 3, N_BANK = 8 };

/* Weights, kernels and products of a convolution. */
struct way {
    const char *name;
    enum lw_conv2d_algorithm algorithm;
    int n_kernels;
    bool has_background;
    enum lw_weights weights;
    unsigned products;
};

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
        if (slot->map)
            ((float *)slot->map)[i] = (float)(1.5 + next(&state) / 2);
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

/* A mesh of cells of 64 pixels whose values lie between 1 and 2. */
static struct lw_mesh make_mesh(int64_t size)
{
    struct lw_mesh mesh = lw_mesh_of(size, size, 64, 1);
    float *const nodes = malloc((size_t)(mesh.node_rows * mesh.node_columns) * sizeof *nodes);
    uint64_t state = 5;
    mesh.tables = malloc((size_t)lw_mesh_values(&mesh) * sizeof *mesh.tables);
    for (int64_t i = 0; i < mesh.node_rows * mesh.node_columns; i++)
        nodes[i] = (float)(1.5 + next(&state) / 2);
    lw_mesh_fill(&mesh, 0, nodes);
    free(nodes);
    return mesh;
}

static void bench(struct lw_engine *engine, enum lw_precision precision, int64_t size, int64_t kernel, const struct way *way)
{
    const struct lw_type type = {.scalar = precision == LW_DOUBLE ? LW_FLOAT64 : LW_FLOAT32};
    double *const taps = malloc((size_t)(way->n_kernels * kernel * kernel) * sizeof *taps);
    struct lw_mesh mesh = make_mesh(size);
    uint64_t state = 2;
    for (int64_t i = 0; i < way->n_kernels * kernel * kernel; i++)
        taps[i] = way->algorithm == LW_CONV2D_ALGORITHM_SEPARABLE ? 1 : next(&state);
    const struct lw_op_spec spec = {
        .kind = LW_OP_CONV2D, .input = type, .output = type, .precision = precision, .n_channels = 1, .n_outputs = size,
        .conv2d = {
            .kernel = taps, .n_kernels = way->n_kernels, .kernel_rows = kernel, .kernel_columns = kernel, .rows = size,
            .columns = size, .output_columns = size, .look_ahead_rows = (kernel - 1) / 2, .look_ahead_columns = (kernel - 1) / 2,
            .algorithm = way->algorithm, .background = way->has_background ? &mesh : NULL, .weights = way->weights, .sigma = &mesh,
            .map = {.scalar = LW_FLOAT32},
            .search = {.products = way->products, .threshold = 5, .cluster = 5, .sign = LW_SIGN_POSITIVE},
        },
    };
    struct lw_op_plan plan;
    struct lw_error err;
    if (engine->ops->op_plan(engine, &spec, &plan, &err))
        fail(&err);
    const double seconds = measure(engine, &spec, &plan);
    const double outputs = (double)size * (double)size;
    printf("%lld %s %.6f s  %.1f Mpixel/s  (model %.4f s)  %s\n", (long long)kernel, way->name, seconds,
           outputs / seconds / 1e6, outputs * way->n_kernels * plan.seconds_per_output, plan.text);
    fflush(stdout);
    free(taps);
    free(mesh.tables);
}

/* ---- tiles through FFTW ------------------------------------------------------------------------------------------------------ */

/* An image, its outputs and its kernel's taps. Pixels have the type of the precision. */
struct image {
    int64_t size, side;
    enum lw_precision precision;
    double *taps;
    void *pixels, *out;
};

static double pixel_at(const struct image *image, const void *pixels, int64_t row, int64_t column)
{
    if (row < 0 || row >= image->size || column < 0 || column >= image->size)
        return 0;
    const int64_t at = row * image->size + column;
    return image->precision == LW_DOUBLE ? ((const double *)pixels)[at] : ((const float *)pixels)[at];
}

/* Compare some outputs with sums by definition. */
static void check_outputs(const struct image *image)
{
    uint64_t state = 3;
    double worst = 0;
    for (int i = 0; i < 100; i++) {
        const int64_t row = i < 10 ? i : (int64_t)((next(&state) + 1) / 2 * (double)image->size);
        const int64_t column = i < 10 ? image->size - 1 - i : (int64_t)((next(&state) + 1) / 2 * (double)image->size);
        double sum = 0;
        for (int64_t y = 0; y < image->side; y++)
            for (int64_t x = 0; x < image->side; x++)
                sum += image->taps[y * image->side + x] *
                       pixel_at(image, image->pixels, row + image->side / 2 - y, column + image->side / 2 - x);
        worst = fmax(worst, fabs(pixel_at(image, image->out, row, column) - sum));
    }
    if (worst > (image->precision == LW_DOUBLE ? 1e-13 : 1e-5) * (double)image->side) {
        fprintf(stderr, "bench_conv2d_cpu: FFTW's outputs are wrong by %g\n", worst);
        exit(1);
    }
}

static double run_fftw(const struct fftw_image_rival *rival, const struct image *image, const void *op, int runs)
{
    double best = 1e9;
    for (int run = 0; run < runs; run++) {
        const double start = processor_seconds();
        rival->run(op, image->pixels, image->out);
        best = fmin(best, processor_seconds() - start);
    }
    check_outputs(image);
    return best;
}

static void bench_fftw(enum lw_precision precision, int64_t size, int64_t side)
{
    const struct fftw_image_rival *const rival = precision == LW_DOUBLE ? &fftw_image_double : &fftw_image_single;
    const size_t bytes = (size_t)(size * size) * (precision == LW_DOUBLE ? sizeof(double) : sizeof(float));
    struct image image = {size, side, precision, malloc((size_t)(side * side) * sizeof(double)), malloc(bytes), malloc(bytes)};
    uint64_t state = 4;
    for (int64_t i = 0; i < side * side; i++)
        image.taps[i] = next(&state);
    for (int64_t i = 0; i < size * size; i++) {
        const double value = next(&state);
        if (precision == LW_DOUBLE)
            ((double *)image.pixels)[i] = value;
        else
            ((float *)image.pixels)[i] = (float)value;
    }
    char text[FFTW_RIVAL_TEXT];
    double best = 1e9;
    int best_way = 0;
    void *op;
    for (int way = 0; (op = rival->open(size, image.taps, side, way, text)); way++) {
        const double seconds = run_fftw(rival, &image, op, 1);
        rival->close(op);
        if (seconds < best) {
            best = seconds;
            best_way = way;
        }
    }
    op = rival->open(size, image.taps, side, best_way, text);
    best = fmin(best, run_fftw(rival, &image, op, N_RUNS));
    rival->close(op);
    printf("%lld fftw %.6f s  %.1f Mpixel/s  %s\n", (long long)side, best, (double)(size * size) / best / 1e6, text);
    fflush(stdout);
    free(image.taps);
    free(image.pixels);
    free(image.out);
}

static void bench_kernel(struct lw_engine *engine, enum lw_precision precision, int64_t size, int64_t kernel)
{
    static const struct way ways[] = {
        {.name = "auto"}, {.name = "direct", .algorithm = LW_CONV2D_ALGORITHM_DIRECT},
        {.name = "tiles", .algorithm = LW_CONV2D_ALGORITHM_TILES}, {.name = "full", .algorithm = LW_CONV2D_ALGORITHM_FULL},
        {.name = "separable", .algorithm = LW_CONV2D_ALGORITHM_SEPARABLE},
        {.name = "padded", .algorithm = LW_CONV2D_ALGORITHM_PADDED}, {.name = "bank", .n_kernels = N_BANK},
        {.name = "best", .n_kernels = N_BANK, .products = LW_BEST}, {.name = "background", .has_background = true},
        {.name = "weights", .weights = LW_WEIGHTS_MESH}, {.name = "map", .weights = LW_WEIGHTS_SIGMA},
        {.name = "peaks", .has_background = true, .weights = LW_WEIGHTS_MESH, .products = LW_PEAKS},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct way way = ways[i];
        way.n_kernels = way.n_kernels > 0 ? way.n_kernels : 1;
        if (kernel <= 31 || way.algorithm != LW_CONV2D_ALGORITHM_DIRECT)
            bench(engine, precision, size, kernel, &way);
    }
    if (kernel >= 7)
        bench_fftw(precision, size, kernel);
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
