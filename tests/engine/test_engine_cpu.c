/* test_engine_cpu.c - tests of guarantees that only the cpu engine makes: planned memory, range of numbers, options. */
#include "../check.h"
#include "engine/registry.h"
#include "trial.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

/* Allowance for OpenMP: each loop allocates and frees a few hundred bytes, and malloc counts some freed ones as in use. */
#define OPENMP_BYTES 8192

static const struct trial plain = {
    .input = {.scalar = LW_FLOAT32},
    .output = {.scalar = LW_FLOAT32},
    .n_channels = 1,
    .n_samples = 4000,
    .n_taps = 200,
    .n_filters = 1,
    .spread = 1,
    .seed = 1,
};

static const struct lw_search everything = {
    .products = LW_FILTERED | LW_PEAKS | LW_BEST | LW_BLOCKS,
    .threshold = 1,
    .cluster = 10,
    .every = 1000,
    .values = LW_BLOCK_MAX | LW_BLOCK_MEAN | LW_BLOCK_RMS,
};

/* Bytes that malloc has given out; 0 if a sanitizer has replaced malloc. */
static int64_t heap_bytes(void)
{
    const struct mallinfo2 info = mallinfo2();
    return (int64_t)(info.uordblks + info.hblkhd);
}

static struct lw_engine *open_engine(int n_threads)
{
    const struct lw_engine_spec spec = {.n_threads = n_threads};
    struct lw_engine *engine = NULL;
    struct lw_error err = {0};
    CHECK(lw_cpu_engine.create(&spec, &engine, &err) == LW_OK, "%s", err.message);
    if (!engine)
        exit(1);
    return engine;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Open an operation with two slots, compare the heap's growth with op_bytes, and check that running a block does not change the
 * heap. */
static void test_bytes_of(const struct lw_op_spec *spec, const char *text, int64_t count, int n_threads, bool is_counted)
{
    struct lw_engine *const engine = open_engine(n_threads);
    const struct lw_engine_ops *const ops = engine->ops;
    struct lw_op_plan plan;
    struct lw_op *op;
    struct lw_slot *slots[2];
    struct lw_error err = {0};
    const bool is_planned = ops->op_plan(engine, spec, &plan, &err) == LW_OK;
    const int64_t promised = ops->op_bytes(engine, spec, &plan, count, spec->n_channels, 2).host;
    const int64_t before = heap_bytes();
    const bool is_open = is_planned && ops->op_create(engine, spec, &plan, count, spec->n_channels, &op, &err) == LW_OK &&
                         ops->slot_create(op, &slots[0], &err) == LW_OK &&
                         ops->slot_create(op, &slots[1], &err) == LW_OK;
    CHECK(is_open, "%s", err.message);
    if (!is_open)
        exit(1);
    const int64_t taken = heap_bytes() - before, slack = promised / 50 + 65536;
    CHECK(!is_counted || before == 0 || (taken <= promised + slack && taken >= promised - slack),
          "%s: %lld bytes promised, %lld taken", text, (long long)promised, (long long)taken);

    const struct lw_block block = {.count = count, .n_channels = spec->n_channels};
    const int64_t idle = heap_bytes();
    const int n_runs = idle > 0 ? 20 : 2;       /* one run of each slot is enough if bytes are not counted */
    for (int i = 0; i < n_runs; i++)
        CHECK(ops->submit(op, slots[i % 2], &block, &err) == LW_OK && ops->wait(op, slots[i % 2], &err) == LW_OK, "%s",
              err.message);
    CHECK(!is_counted || heap_bytes() <= idle + OPENMP_BYTES, "%s: %lld bytes more after running", text,
          (long long)(heap_bytes() - idle));
    ops->slot_destroy(op, slots[0]);
    ops->slot_destroy(op, slots[1]);
    ops->op_destroy(op);
    lw_engine_destroy(engine);
}

static void test_bytes_of_trial(const struct trial *t, int64_t count, int n_threads, bool is_counted)
{
    struct trial_data data;
    char text[256];
    trial_make(t, &data);
    const struct lw_op_spec spec = trial_spec(&data);
    test_bytes_of(&spec, trial_text(t, text), count, n_threads, is_counted);
    trial_free(&data);
}

/* Stacks, and normalized outputs with and without them. */
static void test_bytes_of_arrays(void)
{
    enum { CHANNELS = 5, FILTERS = 3, TAPS = 300 };
    static double taps[FILTERS * CHANNELS * TAPS];
    static int32_t delays[FILTERS * CHANNELS] = {-700, 12, 40, 5000};
    struct lw_shifts stacks = {.n = FILTERS, .n_inputs = CHANNELS, .delays = delays};
    lw_shifts_span(&stacks);
    for (int i = 0; i < FILTERS * CHANNELS * TAPS; i++)
        taps[i] = i % 7;
    for (int variant = 0; variant < 6; variant++) {
        const struct lw_op_spec spec = {
            .kind = LW_OP_OLS, .input.scalar = LW_FLOAT32, .output.scalar = LW_FLOAT32, .n_outputs = 50000,
            .n_channels = variant < 3 ? 1 : CHANNELS, .layout = variant % 2 ? LW_TIME_SLOW : LW_TIME_FAST,
            .precision = variant == 2 ? LW_DOUBLE : LW_SINGLE,
            .ols = {.taps = lw_stored_doubles(taps, false), .n_filters = FILTERS, .n_taps = variant == 1 ? 20 : TAPS,
                    .own_taps = variant != 4, .normalize = variant == 0 ? LW_NORMALIZE_NONE : LW_NORMALIZE_DEMEANED,
                    .stacks = variant < 3 ? &stacks : NULL, .search = everything},
        };
        test_bytes_of(&spec, "arrays", 50000, 2, true);
    }
}

/* Kernels of one tap each; the pixels and their weights are zeros. */
static void test_bytes_of_images(void)
{
    enum { SIDE = 400, KERNEL = 31, MOST = 3 };
    static double kernels[MOST * KERNEL * KERNEL];
    struct lw_mesh mesh = lw_mesh_of(SIDE, SIDE, 64, 1);
    mesh.tables = calloc((size_t)lw_mesh_values(&mesh), sizeof *mesh.tables);
    for (int k = 0; k < MOST; k++)
        kernels[k * KERNEL * KERNEL] = 1;
    for (int kind = 0; kind < 16; kind++) {
        const struct lw_op_spec spec = {
            .kind = LW_OP_CONV2D, .input.scalar = LW_FLOAT32, .output.scalar = LW_FLOAT32, .n_channels = 1, .n_outputs = SIDE,
            .precision = kind == 15 ? LW_DOUBLE : LW_SINGLE,
            .conv2d = {.kernel = kernels, .n_kernels = kind % 4 < 2 ? 1 : MOST, .kernel_rows = KERNEL, .kernel_columns = KERNEL,
                       .rows = SIDE, .columns = SIDE, .output_columns = SIDE, .look_ahead_rows = 15, .look_ahead_columns = 15,
                       .background = kind % 2 ? &mesh : NULL, .sigma = &mesh, .map.scalar = LW_FLOAT32,
                       .weights = (enum lw_weights)(kind / 4), .boundary = kind % 3 ? LW_BOUNDARY_WRAP : LW_BOUNDARY_ZERO,
                       .algorithm = kind / 4 ? LW_CONV2D_ALGORITHM_AUTO
                                             : (enum lw_conv2d_algorithm)(LW_CONV2D_ALGORITHM_DIRECT + kind),
                       .search = {.products = LW_FILTERED | LW_PEAKS | LW_BEST, .threshold = 5, .cluster = 3}},
        };
        test_bytes_of(&spec, "images", SIDE, 2, true);
    }
    free(mesh.tables);
}

/* Beams whose delays differ by up to 1000 samples. */
static void test_bytes_of_beams(void)
{
    enum { BEAMS = 150, CHANNELS = 40 };
    static int32_t delays[BEAMS * CHANNELS];
    static float weights[BEAMS * CHANNELS];
    static const double taps[] = {1, 2, 3};
    for (int i = 0; i < BEAMS * CHANNELS; i++) {
        delays[i] = i / CHANNELS * (i % CHANNELS) / 6;
        weights[i] = (float)(i % 7);
    }
    for (int kind = 0; kind < 4; kind++) {
        struct lw_shifts shifts = {.n = BEAMS, .n_inputs = CHANNELS, .delays = delays, .weights = kind % 2 ? weights : NULL};
        lw_shifts_span(&shifts);
        const struct lw_op_spec spec = {
            .kind = LW_OP_OLS, .input.scalar = kind < 2 ? LW_UINT8 : LW_FLOAT32, .output.scalar = LW_FLOAT32,
            .layout = kind % 3 ? LW_TIME_SLOW : LW_TIME_FAST, .n_channels = BEAMS, .n_outputs = 50000,
            .ols = {.taps = lw_stored_doubles(taps, false), .n_filters = 1, .n_taps = 3, .beams = &shifts},
        };
        test_bytes_of(&spec, "beams", kind % 2 ? 50000 : 900, 2, true);
    }
}

static void test_bytes(void)
{
    static const struct {
        int64_t n_taps, n_channels, count;
        int n_filters, segment, n_threads;
    } cases[] = {{9, 1, 100000, 1, 0, 2},       {200, 1, 500000, 1, 0, 2},      {200, 40, 20000, 8, 0, 2},
                 {200, 3, 9, 2, 0, 4},          {5000, 2, 300000, 3, 65536, 3}, {5000, 2, 10000, 300, 0, 2}};
    for (int i = 0; i < COUNT(cases); i++) {
        for (int variant = 0; variant < 6; variant++) {
            struct trial t = plain;
            t.n_taps = cases[i].n_taps;
            t.n_channels = cases[i].n_channels;
            t.n_filters = cases[i].n_filters;
            t.segment = cases[i].segment;
            t.layout = variant % 2 ? LW_TIME_SLOW : LW_TIME_FAST;
            t.precision = variant / 2 == 1 ? LW_DOUBLE : LW_SINGLE;
            t.input.is_complex = variant == 1;
            t.n_samples = cases[i].count;
            t.mode = LW_MODE_SAME;          /* one block covers the whole axis */
            t.search = variant < 4 ? (struct lw_search){0} : everything;
            test_bytes_of_trial(&t, cases[i].count, cases[i].n_threads, true);
        }
    }
}

/* ---- range ------------------------------------------------------------------------------------------------------- */

/* Magnitudes whose transform, or its product with the filter's, overflows or nearly overflows the precision. In double precision
 * the squares of the check limit the range. */
static void test_range(void)
{
    static const struct {
        enum lw_scalar scalar;
        enum lw_precision precision;
        double spread;
    } cases[] = {{LW_FLOAT32, LW_SINGLE, 1e37},  {LW_FLOAT32, LW_SINGLE, 3e-37},  {LW_FLOAT64, LW_SINGLE, 1e37},
                 {LW_FLOAT64, LW_DOUBLE, 1e95}, {LW_FLOAT64, LW_DOUBLE, 1e-140}, {LW_FLOAT64, LW_DOUBLE, 1e37}};
    struct lw_engine *const engine = open_engine(0);
    for (int i = 0; i < COUNT(cases); i++) {
        for (int is_complex = 0; is_complex < 2; is_complex++) {
            struct trial t = plain;
            t.input = (struct lw_type){.scalar = cases[i].scalar, .is_complex = is_complex};
            t.output.scalar = cases[i].scalar;
            t.precision = cases[i].precision;
            t.spread = cases[i].spread;
            t.segment = 2048;
            struct trial_data data;
            struct trial_result result;
            trial_make(&t, &data);
            if (trial_run(engine, &data, &(struct trial_cut){.units = 1, .depth = 2}, &result))
                trial_check(&data, &result, "range");
            free(result.outputs);
            trial_free(&data);
        }
    }
    lw_engine_destroy(engine);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */
static void test_options(void)
{
    static const int bad[] = {-1, 1000000};
    struct lw_engine *engine = NULL;
    char text[160];
    for (int i = 0; i < COUNT(bad); i++) {
        struct lw_error err = {0};
        const struct lw_engine_spec spec = {.n_threads = bad[i]};
        CHECK(lw_cpu_engine.create(&spec, &engine, &err) == LW_ECONFIG && !engine, "%d threads are accepted", bad[i]);
    }
    engine = open_engine(3);
    engine->ops->describe(engine, text, sizeof text);
    CHECK(engine->n_workers == 3 && strstr(text, "3 threads"), "three threads are %s", text);
    lw_engine_destroy(engine);
    lw_engine_destroy(NULL);

    struct lw_error err = {0};
    setenv("LAPWING_ISA", "nonsense", 1);
    const struct lw_engine_spec spec = {0};
    CHECK(lw_cpu_engine.create(&spec, &engine, &err) == LW_ECONFIG && strstr(err.message, "generic"), "nonsense: %s",
          err.message);
    unsetenv("LAPWING_ISA");
}

int main(void)
{
    /* the first use of FFTW and OpenMP allocates memory that belongs to the program's base */
    test_bytes_of_trial(&plain, 1000, 1, false);
    test_bytes();
    test_bytes_of_images();
    test_bytes_of_beams();
    test_bytes_of_arrays();
    test_range();
    test_options();
    return check_result("engine_cpu");
}
