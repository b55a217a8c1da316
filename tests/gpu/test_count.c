/* test_count.c - the device counts values of a series as signal/spread.c does: all types and layouts, values that are not finite or
 * whose square is not, marks, pieces at the ends of a block, ranges of outputs, one value; in one part, and in many. Series of the
 * engine that stay on the device are counted as those that leave it. */
#include "gpu.h"

#include "gpu/device/count.h"
#include "signal/spread.h"

#include <math.h>

enum { MOST_VALUES = 1 << 17, MOST_BINS = (1 << 16) + 1, MOST_PIECES = 1 << 10 };

static double numbers[2 * MOST_VALUES];
static float singles[2 * MOST_VALUES];
static unsigned char marks[MOST_VALUES];
static uint32_t wanted[MOST_BINS], found[MOST_BINS];
static uint64_t random_state = 1;

static int64_t pick(int64_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((random_state >> 33) % (uint64_t)n);
}

static double number(enum lw_precision precision)
{
    static const double odd[] = {0, -0.0, INFINITY, -INFINITY, NAN, 1e-310, 1e-40, 3e38, 3.4028235e38, 1e308, -1.7e308};
    const double uniform = (double)pick(1 << 30) / (1 << 29) - 1;
    const int shape = (int)pick(40);
    if (shape == 0)
        return odd[pick(sizeof odd / sizeof *odd)];
    return shape == 1 ? ldexp(uniform, (int)pick(precision == LW_SINGLE ? 280 : 2100) - (precision == LW_SINGLE ? 150 : 1070))
                      : uniform * uniform * uniform;
}

static void *device(int64_t bytes)
{
    void *memory = NULL;
    if (cudaMalloc(&memory, (size_t)bytes) != cudaSuccess)
        abort();
    return memory;
}

/* Count the values of a piece on the host. */
static void count_on_host(const struct lw_cuda_counting *c, const void *values, int64_t filter, int64_t channel, int64_t row,
                          int64_t column)
{
    const int64_t bytes = (c->precision == LW_SINGLE ? 4 : 8) * (c->is_complex ? 2 : 1);
    memset(wanted, 0, sizeof wanted);
    for (int64_t i = row * c->what.tall; i < (row + 1) * c->what.tall && i < c->what.end; i++)
        for (int64_t j = column * c->what.wide; i >= c->what.begin && j < (column + 1) * c->what.wide && j < c->width; j++) {
            const int64_t at = c->is_slow ? (filter * c->count + i) * c->n_channels + channel
                                          : ((filter * c->n_channels + channel) * c->count + i) * c->width + j;
            const struct lw_spread_values one = {
                .precision = c->precision, .is_complex = c->is_complex, .values = (const char *)values + at * bytes, .n = 1,
                .stride = 1, .n_series = 1,
                .skip = c->what.skip ? marks + channel * c->what.skip_pitch + i * c->width + j : NULL,
            };
            lw_spread_count(&one, wanted, 0);
        }
}

static void compare(const struct lw_cuda_counting *c, const void *values, const struct lw_counted_piece *pieces,
                    const struct lw_bin_count *bins, unsigned char *seen)
{
    const int64_t cells = c->what.n_rows * c->what.n_columns, end = (c->precision == LW_SINGLE ? 255 : 2047) << LW_SPREAD_BITS;
    for (int64_t p = 0; p < c->n_filters * c->n_channels * cells; p++) {
        if (pieces[p].first == LW_COUNTED_ELSEWHERE)
            continue;
        CHECK(!seen[p], "piece %d comes twice", (int)p);
        seen[p] = 1;
        count_on_host(c, values, p / cells / c->n_channels, p / cells % c->n_channels, p % cells / c->what.n_columns,
                      p % cells % c->what.n_columns);
        memset(found, 0, sizeof found);
        for (uint32_t i = 0; i < pieces[p].n; i++)
            found[bins[pieces[p].first + i].bin] += bins[pieces[p].first + i].n;
        int64_t bin = 0;
        while (bin < end && found[bin] == wanted[bin])
            bin++;
        CHECK(bin == end, "piece %d has %u values in bin %d, not %u", (int)p, found[bin], (int)bin, wanted[bin]);
    }
}

/* Count a random block. @param room  bins for which there is room beyond the values of one piece */
static void try(enum lw_precision precision, bool is_complex, bool is_slow, int64_t room)
{
    struct lw_cuda_counting c = {
        .precision = precision, .is_complex = is_complex, .is_slow = is_slow, .n_filters = 1 + pick(3), .n_channels = 1 + pick(5),
        .count = 1 + pick(pick(3) ? 900 : 3), .width = is_slow || pick(2) ? 1 : 1 + pick(100),
        .n_multiprocessors = 1 + (int)pick(3),
    };
    while (c.n_filters * c.n_channels * c.count * c.width > MOST_VALUES)
        c.count = c.count / 2;
    c.what = (struct lw_counting){.n_rows = 1 + pick(3), .n_columns = c.width > 1 ? 1 + pick(3) : 1,
                                  .begin = pick(3) ? 0 : pick(c.count), .end = c.count};
    c.what.tall = (c.count + c.what.n_rows - 1) / c.what.n_rows + pick(2);
    c.what.wide = (c.width + c.what.n_columns - 1) / c.what.n_columns;
    c.most_bins = c.what.tall * c.what.wide + room;
    if (pick(3) == 0)
        c.what.end = c.what.begin + pick(c.count - c.what.begin + 1);
    const int64_t n = c.n_filters * c.n_channels * c.count * c.width, n_marks = c.n_channels * c.count * c.width;
    const int64_t n_pieces = c.n_filters * c.n_channels * c.what.n_rows * c.what.n_columns;
    const int64_t bytes = n * (precision == LW_SINGLE ? 4 : 8) * (is_complex ? 2 : 1);
    for (int64_t i = 0; i < 2 * n; i++)
        singles[i] = (float)(numbers[i] = number(precision));
    for (int64_t i = 0; i < n_marks; i++)
        marks[i] = pick(5) == 0;
    const void *const values = precision == LW_SINGLE ? (const void *)singles : numbers;
    c.values = device(bytes);
    unsigned char *const skip = device(n_marks);
    c.what.skip = pick(2) ? skip : NULL;
    c.what.skip_pitch = pick(2) ? c.count * c.width : 0;
    c.tables = device(LW_COUNT_TABLES * lw_spread_bins(LW_DOUBLE) * 4);
    c.done = device(n_pieces);
    c.pieces = device(n_pieces * (int64_t)sizeof *c.pieces);
    c.bins = device(c.most_bins * (int64_t)sizeof *c.bins);
    c.state = device(sizeof *c.state);
    cudaMemcpy((void *)(uintptr_t)c.values, values, (size_t)bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(skip, marks, (size_t)n_marks, cudaMemcpyHostToDevice);
    cudaMemset(c.done, 0, (size_t)n_pieces);
    struct lw_count_state state = {0};
    unsigned char seen[MOST_PIECES] = {0};
    struct lw_counted_piece *const pieces = malloc((size_t)n_pieces * sizeof *pieces);
    struct lw_bin_count *const bins = malloc((size_t)c.most_bins * sizeof *bins);
    for (int64_t launch = 0; launch == 0 || (state.n_left > 0 && launch <= n_pieces); launch++) {
        cudaMemset(c.state, 0, sizeof state);
        const cudaError_t status = lw_cuda_count(&c, NULL);
        CHECK(status == cudaSuccess, "%s", cudaGetErrorString(status));
        cudaMemcpy(&state, c.state, sizeof state, cudaMemcpyDeviceToHost);
        cudaMemcpy(pieces, c.pieces, (size_t)n_pieces * sizeof *pieces, cudaMemcpyDeviceToHost);
        cudaMemcpy(bins, c.bins, (size_t)c.most_bins * sizeof *bins, cudaMemcpyDeviceToHost);
        compare(&c, values, pieces, bins, seen);
    }
    CHECK(state.n_left == 0 && !memchr(seen, 0, (size_t)n_pieces), "%u of %d pieces are left", state.n_left, (int)n_pieces);
    free(pieces);
    free(bins);
    void *const all[] = {(void *)(uintptr_t)c.values, skip, c.tables, c.done, c.pieces, c.bins, c.state};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cudaFree(all[i]);
}

/* ---- the engine: a series that stays on the device is counted as one that leaves it ---- */

enum { N_CHANNELS = 3, N_FILTERS = 2, N_TAPS = 9, COUNT = 700 };

static struct lw_cuda_counting wanted_block;
static const void *series;
static unsigned char seen[MOST_PIECES];

static int take(void *context, const struct lw_counts *counts, struct lw_error *err)
{
    (void)err;
    compare(&wanted_block, series, counts->pieces, counts->bins, seen);
    ++*(int *)context;
    return LW_OK;
}

/* Compute a block, and return its slot. */
static struct lw_slot *compute(struct lw_engine *engine, const struct lw_op_spec *spec, struct lw_op **op)
{
    struct lw_op_plan plan;
    struct lw_error err = {0};
    struct lw_slot *slot = NULL;
    const struct lw_block block = {.count = COUNT - (lw_op_has_pixels(spec) ? 600 : 0), .n_channels = N_CHANNELS};
    int rc = engine->ops->op_plan(engine, spec, &plan, &err);
    rc = rc ? rc : engine->ops->op_create(engine, spec, &plan, COUNT, N_CHANNELS, op, &err);
    rc = rc ? rc : engine->ops->slot_create(*op, &slot, &err);
    if (rc) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    random_state = 7;
    for (int64_t i = 0; i < (plan.halo + block.count) * N_CHANNELS * plan.input_width; i++)
        ((float *)slot->input)[i] = i % 1999 == 50 ? NAN : (float)(pick(2000) - 1000);
    rc = engine->ops->submit(*op, slot, &block, &err);
    rc = rc ? rc : engine->ops->wait(*op, slot, &err);
    CHECK(rc == LW_OK, "%s", err.message);
    return slot;
}

static void try_engine(struct lw_engine *engine, struct lw_op_spec spec, int64_t n_rows, int64_t n_columns)
{
    struct lw_op *leaves = NULL, *stays = NULL;
    struct lw_slot *const slot = compute(engine, &spec, &leaves);
    spec.pieces = n_rows * n_columns;
    struct lw_slot *const counted = compute(engine, &spec, &stays);
    const int64_t count = slot->block.count, width = lw_op_width(&spec);
    wanted_block = (struct lw_cuda_counting){
        .precision = spec.precision, .is_complex = spec.output.is_complex, .is_slow = spec.layout == LW_TIME_SLOW,
        .n_filters = N_FILTERS, .n_channels = N_CHANNELS, .count = count, .width = width,
        .what = {.tall = COUNT / n_rows, .wide = (width + n_columns - 1) / n_columns, .n_rows = n_rows, .n_columns = n_columns,
                 .begin = 5, .end = count - 3, .skip = marks, .skip_pitch = count * width},
    };
    memset(marks, 0, sizeof marks);
    for (int64_t i = 0; i < N_CHANNELS * count * width; i += 3)
        marks[i] = 1;
    series = slot->products[0].data;
    memset(seen, 0, sizeof seen);
    struct lw_error err = {0};
    int n_calls = 0;
    const int rc = engine->ops->count(stays, counted, &wanted_block.what, take, &n_calls, &err);
    CHECK(rc == LW_OK && n_calls > 0, "%s", err.message);
    const int64_t n_pieces = N_FILTERS * N_CHANNELS * n_rows * n_columns;
    CHECK(!memchr(seen, 0, (size_t)n_pieces), "of %d pieces some are left", (int)n_pieces);
    CHECK(!counted->products[0].data, "the series has left the device");
    engine->ops->slot_destroy(leaves, slot);
    engine->ops->op_destroy(leaves);
    engine->ops->slot_destroy(stays, counted);
    engine->ops->op_destroy(stays);
}

static void test_engine(void)
{
    static double taps[N_FILTERS * N_TAPS * N_TAPS];
    for (int i = 0; i < N_FILTERS * N_TAPS * N_TAPS; i++)
        taps[i] = (double)pick(1000) / 1000;
    struct lw_engine *const engine = gpu_engine();
    const struct lw_type f4 = {.scalar = LW_FLOAT32}, f8 = {.scalar = LW_FLOAT64};
    struct lw_op_spec ols = {
        .kind = LW_OP_OLS, .input = f4, .output = f4, .n_channels = N_CHANNELS, .n_outputs = COUNT,
        .ols = {.taps = lw_stored_doubles(taps, false), .n_filters = N_FILTERS, .n_taps = N_TAPS},
    };
    try_engine(engine, ols, 1, 1);
    ols.layout = LW_TIME_SLOW;
    try_engine(engine, ols, 1, 1);
    ols.precision = LW_DOUBLE;
    ols.output = f8;
    try_engine(engine, ols, 1, 1);
    const struct lw_op_spec conv2d = {
        .kind = LW_OP_CONV2D, .input = f4, .output = f4, .n_channels = N_CHANNELS, .n_outputs = COUNT,
        .conv2d = {.kernel = taps, .n_kernels = N_FILTERS, .kernel_rows = N_TAPS, .kernel_columns = N_TAPS, .rows = COUNT,
                   .columns = 60, .output_columns = 60, .look_ahead_rows = 4, .look_ahead_columns = 4},
    };
    try_engine(engine, conv2d, 9, 2);
    lw_engine_destroy(engine);
}

int main(int argc, char **argv)
{
    const int missing = gpu_missing("count"), trials = argc > 1 ? atoi(argv[1]) : 20;
    if (missing)
        return missing;
    for (int i = 0; i < 8 * trials; i++)
        try(i & 1 ? LW_DOUBLE : LW_SINGLE, i & 2, i & 4, i / 8 % 2 ? 1 << 16 : 0);
    test_engine();
    return check_result("count");
}
