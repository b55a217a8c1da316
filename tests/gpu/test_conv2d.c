/* test_conv2d.c - tests of the 2-D convolution kernels: every transform length, in both precisions, real and complex, against the
 * sum by definition. The engine itself would choose few of these lengths for the small images of the conformance suite. The
 * choice is tested, too. */
#include "gpu.h"

#include "gpu/conv2d/prepared.h"

#include <cuda_runtime_api.h>
#include <math.h>

enum { KERNEL_ROWS = 3, KERNEL_COLUMNS = 4, MARGIN = 11 };

/* One convolution of one image: all outputs of the full convolution, with the value `outside` beyond the image's sides. */
struct task {
    struct lw_op_spec spec;
    struct lw_conv2d_plan plan;
    int64_t in_rows, out_rows;          /* rows of the block */
    double factor;                      /* factor of all pixels */
    bool has_bad;                       /* some pixels are not finite */
    double *pixels, *taps;              /* complex numbers as pairs; pixels [in_rows][columns], some of them beyond the image */
};

static int parts(const struct task *t) { return t->spec.input.is_complex ? 2 : 1; }
static bool is_single(const struct task *t) { return t->spec.precision == LW_SINGLE; }
static size_t real_bytes(const struct task *t) { return is_single(t) ? sizeof(float) : sizeof(double); }

static double noise(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ldexp((double)(*state >> 40), -23) - 1;
}

/* Make an image of the size that one transform's pieces cover, and a margin more along the tested axis. */
static struct task make_task(enum lw_precision precision, bool is_complex, enum lw_conv2d_method method, int rows,
                             int columns,
                             int64_t image_rows, int64_t image_columns)
{
    const enum lw_scalar scalar = precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64;
    struct task t = {
        .spec = {
            .kind = LW_OP_CONV2D, .input = {scalar, is_complex, false}, .output = {scalar, is_complex, false},
            .precision = precision, .layout = LW_TIME_FAST, .n_channels = 1,
            .conv2d = {
                .n_kernels = 1, .kernel_rows = KERNEL_ROWS, .kernel_columns = KERNEL_COLUMNS, .rows = image_rows,
                .columns = image_columns,
                .output_columns = image_columns + KERNEL_COLUMNS - 1, .boundary = LW_BOUNDARY_ZERO, .outside = 0.5,
            },
        },
        .in_rows = image_rows + 2 * (KERNEL_ROWS - 1),
        .out_rows = image_rows + KERNEL_ROWS - 1,
        .factor = 1,
    };
    struct lw_conv2d_grid *const g = &t.plan.grid;
    *g = (struct lw_conv2d_grid){.rows = rows, .columns = columns, .hop_rows = rows - KERNEL_ROWS + 1,
                                 .hop_columns = columns - KERNEL_COLUMNS + 1, .pair_rows = 1, .pair_columns = 1};
    g->n_across = (t.spec.conv2d.output_columns + g->hop_columns - 1) / g->hop_columns;
    const bool is_paired = !is_complex && method == LW_CONV2D_BANDS;
    g->pair_columns = is_paired && g->n_across > 1 ? 2 : 1;
    g->pair_rows = is_paired && g->n_across == 1 ? 2 : 1;
    g->transforms_across = (int)((g->n_across + g->pair_columns - 1) / g->pair_columns);
    t.plan.method = method;
    t.plan.batch = 1;
    return t;
}

static void fill(struct task *t)
{
    const int64_t n = t->in_rows * t->spec.conv2d.columns * parts(t);
    uint64_t state = 7;
    t->pixels = calloc((size_t)n, sizeof *t->pixels);
    t->taps = calloc((size_t)t->spec.conv2d.n_kernels * KERNEL_ROWS * KERNEL_COLUMNS * 2, sizeof *t->taps);
    if (!t->pixels || !t->taps)
        abort();
    for (int64_t i = 0; i < n; i++)
        t->pixels[i] = t->factor * (double)(float)noise(&state);
    for (int64_t i = n / 3; t->has_bad && i < n; i += n / 3)
        t->pixels[i] = i < n / 2 ? INFINITY : NAN;
    for (int i = 0; i < t->spec.conv2d.n_kernels * KERNEL_ROWS * KERNEL_COLUMNS * parts(t); i++)
        t->taps[i] = (double)(float)noise(&state);
    t->spec.conv2d.kernel = t->taps;
    t->spec.conv2d.kernel_complex = t->spec.input.is_complex;
}

static double pixel(const struct task *t, int64_t row, int64_t column, int part)
{
    const bool is_zero = t->spec.conv2d.boundary == LW_BOUNDARY_ZERO;         /* unless pixels outside are zeros, the block
                                                                               * includes rows beyond the image */
    const bool is_inside = row >= 0 && row < t->spec.conv2d.rows && column >= 0 && column < t->spec.conv2d.columns;
    if (!is_zero)
        column = column < 0 ? 0 : column < t->spec.conv2d.columns ? column : t->spec.conv2d.columns - 1;
    else if (!is_inside)
        return part == 0 ? t->spec.conv2d.outside : 0;
    const double *const at = t->pixels + ((row + KERNEL_ROWS - 1) * t->spec.conv2d.columns + column) * parts(t);
    const bool is_finite = isfinite(at[0]) && isfinite(at[parts(t) - 1]);
    return is_finite ? at[part] : 0;
}

static void truth(const struct task *t, int kernel, int64_t row, int64_t column, double sum[2])
{
    const double *const taps = t->taps + kernel * KERNEL_ROWS * KERNEL_COLUMNS * parts(t);
    sum[0] = sum[1] = 0;
    for (int m = 0; m < KERNEL_ROWS; m++) {
        for (int n = 0; n < KERNEL_COLUMNS; n++) {
            const double *const h = taps + (m * KERNEL_COLUMNS + n) * parts(t);
            const double re = pixel(t, row - m, column - n, 0);
            const double im = parts(t) == 2 ? pixel(t, row - m, column - n, 1) : 0;
            sum[0] += h[0] * re - (parts(t) == 2 ? h[1] * im : 0);
            sum[1] += parts(t) == 2 ? h[0] * im + h[1] * re : 0;
        }
    }
}

static void *on_device(const void *from, size_t bytes)
{
    void *memory = NULL;
    CHECK(cudaMalloc(&memory, bytes + 1) == cudaSuccess, "no device memory for %zu bytes", bytes);
    if (from)
        CHECK(cudaMemcpyAsync(memory, from, bytes, cudaMemcpyHostToDevice, NULL) == cudaSuccess,
              "cannot copy %zu bytes", bytes);
    CHECK(cudaStreamSynchronize(NULL) == cudaSuccess, "the device failed");
    return memory;
}

static void *as_stored(const struct task *t, const double *values, int64_t n)
{
    void *const stored = calloc((size_t)n, real_bytes(t));
    if (!stored)
        abort();
    for (int64_t i = 0; i < n; i++)
        if (t->spec.precision == LW_SINGLE)
            ((float *)stored)[i] = (float)values[i];
        else
            ((double *)stored)[i] = values[i];
    return stored;
}

/* @return the outputs on the host; the caller frees them */
static void *run(const struct task *t)
{
    const struct lw_op_spec *const spec = &t->spec;
    const int64_t n_in = t->in_rows * spec->conv2d.columns * parts(t);
    const int64_t n_out = spec->conv2d.n_kernels * t->out_rows * spec->conv2d.output_columns * parts(t);
    void *const stored = as_stored(t, t->pixels, n_in), *const outputs = calloc((size_t)n_out, real_bytes(t));
    struct lw_conv2d_block block = lw_conv2d_block_of(spec, 0, t->out_rows, 1);
    struct lw_conv2d_prepared prepared;
    struct lw_error err = {0};
    unsigned flag = 0;
    void *const input = on_device(stored, (size_t)n_in * real_bytes(t));
    void *const output = on_device(NULL, (size_t)n_out * real_bytes(t));
    void *const memory = on_device(NULL, (size_t)lw_conv2d_prepared_bytes(spec, &t->plan));
    void *const setup = on_device(NULL, (size_t)lw_conv2d_setup_bytes(spec, &t->plan));
    void *const seen = on_device(&flag, sizeof flag);
    block.input = input;
    block.output = output;
    block.not_finite = seen;
    CHECK(lw_conv2d_prepare(spec, &t->plan, memory, setup, NULL, &prepared, &err) == LW_OK &&
          lw_conv2d_run(&prepared, 0, spec->conv2d.n_kernels, &block, NULL, NULL, &err) == LW_OK, "%s", err.message);
    CHECK(cudaMemcpyAsync(outputs, output, (size_t)n_out * real_bytes(t), cudaMemcpyDeviceToHost,
                          NULL) == cudaSuccess &&
          cudaMemcpyAsync(&flag, seen, sizeof flag, cudaMemcpyDeviceToHost, NULL) == cudaSuccess &&
          cudaStreamSynchronize(NULL) == cudaSuccess, "the device failed");
    CHECK(flag == t->has_bad, "pixels that are not finite: %s were met, %s exist", flag ? "some" : "none",
          t->has_bad ? "some" : "none");
    void *const all[] = {input, output, memory, setup, seen};
    for (int i = 0; i < 5; i++)
        cudaFree(all[i]);
    lw_conv2d_release(&prepared);
    free(stored);
    return outputs;
}

/* Compare the outputs with the definition. The limits are those of the conformance suite for transforms of at most 2^25 points. */
static void check(const struct task *t, const void *outputs)
{
    const double allowed = t->spec.precision == LW_SINGLE ? 6e-7 : 2e-15;
    const int64_t columns = t->spec.conv2d.output_columns, plane = t->out_rows * columns;
    double errors = 0, power = 0, largest = 0;
    for (int64_t i = 0; i < t->spec.conv2d.n_kernels * plane; i++) {
        double sum[2];
        truth(t, (int)(i / plane), i % plane / columns, i % columns + t->spec.conv2d.look_ahead_columns, sum);
        for (int part = 0; part < parts(t); part++) {
            const int64_t at = i * parts(t) + part;
            const double found = is_single(t) ? (double)((const float *)outputs)[at] : ((const double *)outputs)[at];
            errors += (found - sum[part]) * (found - sum[part]);
            power += sum[part] * sum[part];
            largest = fmax(largest, fabs(found - sum[part]) / t->factor);
        }
    }
    const struct lw_conv2d_grid *const g = &t->plan.grid;
    CHECK(sqrt(errors / power) <= allowed && largest <= 30 * allowed,
          "%s, %s, tiles of %lld x %lld: relative rms error %.3g, allowed %.3g; largest %.3g",
          is_single(t) ? "single" : "double", parts(t) == 2 ? "complex" : "real",
          (long long)g->rows, (long long)g->columns, sqrt(errors / power), allowed, largest);
}

static int step = 1, n_tasks;      /* every step-th task is tried */

static void try_task(struct task t)
{
    if (n_tasks++ % step > 0)
        return;
    fill(&t);
    void *const outputs = run(&t);
    check(&t, outputs);
    free(outputs);
    free(t.pixels);
    free(t.taps);
}

/* Batches that begin and end within a strip of transforms, batches of several strips, and pieces next to and above each other. */
static void try_batches(enum lw_precision precision, bool is_complex, int pieces_beside)
{
    const int rows = lw_conv2d_column_length(precision, 0), columns = lw_conv2d_row_length(precision, 0);
    for (int batch = 2; batch <= 12; batch += 5) {
        struct task t = make_task(precision, is_complex, LW_CONV2D_BANDS, rows, columns, 3 * rows + MARGIN, 2 * columns + MARGIN);
        struct lw_conv2d_grid *const g = &t.plan.grid;
        g->pair_columns = pieces_beside;
        g->pair_rows = is_complex ? 1 : 3 - pieces_beside;
        g->transforms_across = (int)((g->n_across + g->pair_columns - 1) / g->pair_columns);
        t.plan.batch = batch;
        try_task(t);
    }
}

/* Columns of one length: batches of one and of several transforms, pixels that are not finite, and pixels so large or small that
 * the kernels scale rows. */
static void try_columns(enum lw_precision precision, bool is_complex, int rows, int columns)
{
    try_task(make_task(precision, is_complex, LW_CONV2D_BANDS, rows, columns, rows + MARGIN, 2 * MARGIN));
    struct task t = make_task(precision, is_complex, LW_CONV2D_BANDS, rows, columns, 5 * rows, 2 * MARGIN);
    t.plan.batch = 4;
    try_task(t);
    t.spec.conv2d.outside = 0;
    t.has_bad = true;
    for (int exponent = -110; exponent <= 100; exponent += 210) {
        t.factor = ldexp(1, exponent);
        try_task(t);
    }
}

/* Large tiles of images with rows at multiples of 16 bytes, and rows of outputs at multiples of 32 or 16 bytes. */
static void try_aligned(enum lw_precision precision, const struct lw_conv2d_tile *tile, int64_t columns)
{
    for (int ahead = 0; ahead < KERNEL_COLUMNS; ahead++) {
        struct task t = make_task(precision, false, LW_CONV2D_TILES, tile->rows, tile->columns, tile->rows + MARGIN, columns);
        t.spec.conv2d.look_ahead_columns = ahead;
        t.spec.conv2d.output_columns = columns;
        t.spec.conv2d.outside = ahead == 1 ? 0.5 : 0;
        t.spec.conv2d.boundary = ahead == 3 ? LW_BOUNDARY_EDGE : LW_BOUNDARY_ZERO;
        t.has_bad = ahead == 2;
        lw_conv2d_align(&t.spec.conv2d, &t.plan.grid);
        CHECK(t.plan.grid.spare_columns + t.plan.grid.delay_columns > 0, "the grid has not been moved");
        try_task(t);
    }
}

/* Images so large that each block that loops over tiles gets several, on a device of up to 132 multiprocessors. The tiles lie at
 * the sides and elsewhere, so that all cases of a tile occur. */
static void try_tile(enum lw_precision precision, bool is_complex, const struct lw_conv2d_tile *tile)
{
    const bool is_large = tile->columns == 256;
    const int64_t rows = tile->rows + MARGIN, columns = 2 * tile->columns + MARGIN;
    struct task t = make_task(precision, is_complex, LW_CONV2D_TILES, tile->rows, tile->columns, rows, columns);
    try_task(t);
    t.spec.conv2d.outside = 0;
    try_task(t);
    t.has_bad = true;
    try_task(t);
    for (int exponent = -110; exponent <= 100; exponent += 210) {
        t.factor = ldexp(1, exponent);
        try_task(t);
    }
    if (!is_large)
        return;
    try_aligned(precision, tile, 528);
    try_aligned(precision, tile, 524);
    try_task(make_task(precision, is_complex, LW_CONV2D_TILES, tile->rows, tile->columns, 2900, 2900));
}

/* Banks: as many kernels as share the transforms of a tile, one more, and fewer. Other methods take kernel after kernel. */
static void try_banks(enum lw_precision precision, bool is_complex, const struct lw_conv2d_tile *tile)
{
    const bool shares = tile->bank_bytes > 0;
    for (int n = 2; n <= 9; n += n == 2 ? 6 : 1) {
        struct task t = make_task(precision, is_complex, LW_CONV2D_TILES, tile->rows, tile->columns, tile->rows + MARGIN,
                                  tile->columns + MARGIN);
        t.spec.conv2d.n_kernels = n;
        t.spec.conv2d.outside = 0;
        t.plan.shares_transforms = shares;
        t.has_bad = n == 8;
        t.factor = n == 9 ? ldexp(1, 90) : 1;
        try_task(t);
    }
    struct task t = make_task(precision, is_complex, LW_CONV2D_BANDS, lw_conv2d_column_length(precision, 0),
                              lw_conv2d_row_length(precision, 0), 2 * MARGIN, 2 * MARGIN);
    t.spec.conv2d.n_kernels = 3;
    try_task(t);
}

static void try_precision(enum lw_precision precision, bool is_complex)
{
    const int rows = lw_conv2d_column_length(precision, 0), columns = lw_conv2d_row_length(precision, 0);
    for (int i = 0; lw_conv2d_column_length(precision, i) > 0; i++)
        try_columns(precision, is_complex, lw_conv2d_column_length(precision, i), columns);
    for (int i = 0, c; (c = lw_conv2d_row_length(precision, i)) > 0; i++)
        try_task(make_task(precision, is_complex, LW_CONV2D_BANDS, rows, c, 2 * MARGIN, c + MARGIN));
    try_batches(precision, is_complex, 1);
    if (!is_complex)
        try_batches(precision, is_complex, 2);
    for (const struct lw_conv2d_tile *tile = lw_conv2d_tile_shapes(precision, is_complex); tile->rows; tile++)
        try_tile(precision, is_complex, tile);
    for (const struct lw_conv2d_tile *tile = lw_conv2d_tile_shapes(precision, is_complex); tile->rows; tile++)
        try_banks(precision, is_complex, tile);
}

/* A square image in single precision, with zeros beyond its sides. */
static struct lw_op_spec square_of(int64_t side, int64_t kernel, const double *taps)
{
    return (struct lw_op_spec){
        .kind = LW_OP_CONV2D, .input = {LW_FLOAT32, false, false}, .output = {LW_FLOAT32, false, false}, .precision = LW_SINGLE,
        .layout = LW_TIME_FAST, .n_channels = 1, .n_outputs = side,
        .conv2d = {.kernel = taps, .n_kernels = 1, .kernel_rows = kernel, .kernel_columns = kernel, .rows = side, .columns = side,
                   .output_columns = side, .boundary = LW_BOUNDARY_ZERO},
    };
}

/* --algorithm separable takes strips where they are the faster ones, as measured on an H100 (results/conv2d_gpu/strips.csv). */
static void test_separable_choice(void)
{
    static const struct {
        int64_t side, kernel;
        enum lw_conv2d_method method;
    } cases[] = {
        {512, 23, LW_CONV2D_PRODUCT},  {512, 31, LW_CONV2D_PRODUCT},  {1024, 15, LW_CONV2D_PRODUCT}, {1024, 23, LW_CONV2D_PRODUCT},
        {1024, 25, LW_CONV2D_PASSES},  {1024, 31, LW_CONV2D_PASSES},  {1024, 35, LW_CONV2D_PASSES},  {1536, 31, LW_CONV2D_PRODUCT},
        {2048, 31, LW_CONV2D_PRODUCT}, {4096, 31, LW_CONV2D_PRODUCT}, {8192, 31, LW_CONV2D_PRODUCT}, {8192, 63, LW_CONV2D_PASSES},
    };
    static double taps[63 * 63];
    for (size_t i = 0; i < sizeof taps / sizeof *taps; i++)
        taps[i] = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct lw_device device = {.major = 9, .shared_bytes = 232448};
        struct lw_op_spec spec = square_of(cases[i].side, cases[i].kernel, taps);
        struct lw_conv2d_plan plan;
        struct lw_error err;
        spec.conv2d.algorithm = LW_CONV2D_ALGORITHM_SEPARABLE;
        CHECK(lw_conv2d_choose(&device, &spec, &plan, &err) == LW_OK && plan.method == cases[i].method,
              "%d x %d, separable with %d taps: method %d", (int)cases[i].side, (int)cases[i].side, (int)cases[i].kernel,
              (int)plan.method);
    }
}

/* The choice is the fastest kernel as measured on an H200. Few tiles leave most of the device idle, whatever a tile costs in a
 * large image. */
static void test_choice(void)
{
    static const struct {
        int64_t side, kernel;
        bool is_separable;
        enum lw_conv2d_method method;
        int64_t rows, columns;
    } cases[] = {
        {256, 31, false, LW_CONV2D_TILES, 128, 64},      {512, 31, false, LW_CONV2D_TILES, 128, 64},
        {512, 7, false, LW_CONV2D_UNROLLED, 0, 0},       {1536, 7, false, LW_CONV2D_TILES, 128, 64},
        {2048, 7, false, LW_CONV2D_UNROLLED, 0, 0},      {4096, 7, false, LW_CONV2D_UNROLLED, 0, 0},
        {4096, 5, false, LW_CONV2D_UNROLLED, 0, 0},      {4096, 9, false, LW_CONV2D_TILES, 128, 64},
        {1024, 31, false, LW_CONV2D_TILES, 128, 64},     {1024, 63, false, LW_CONV2D_TILES, 128, 256},
        {512, 63, false, LW_CONV2D_BANDS, 1024, 512},    {2048, 63, false, LW_CONV2D_TILES, 128, 256},
        {16384, 31, false, LW_CONV2D_TILES, 224, 256},   {16384, 7, false, LW_CONV2D_UNROLLED, 0, 0},
        {16384, 7, true, LW_CONV2D_UNROLLED, 0, 0},      {4096, 9, true, LW_CONV2D_PRODUCT, 0, 0},
        {512, 15, true, LW_CONV2D_TILES, 128, 64},       {3072, 15, true, LW_CONV2D_PRODUCT, 0, 0},
        {1024, 23, true, LW_CONV2D_TILES, 128, 64},      {4096, 23, true, LW_CONV2D_PRODUCT, 0, 0},
        {4096, 15, true, LW_CONV2D_PRODUCT, 0, 0},       {4096, 31, true, LW_CONV2D_TILES, 128, 256},
        {2048, 31, true, LW_CONV2D_TILES, 224, 256},     {16384, 31, true, LW_CONV2D_TILES, 224, 256},
        {16384, 63, true, LW_CONV2D_TILES, 224, 256},    {16384, 63, false, LW_CONV2D_TILES, 224, 256},
        {4096, 127, false, LW_CONV2D_BANDS, 1024, 2304}, {16384, 127, false, LW_CONV2D_BANDS, 1024, 2304},
        {4096, 255, false, LW_CONV2D_BANDS, 1024, 2304}, {16384, 255, false, LW_CONV2D_BANDS, 1024, 2304},
        {16384, 6000, false, LW_CONV2D_PADDED, 22400, 22400},
    };
    static double taps[255 * 255];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t state = 7;
        const int64_t filled = cases[i].kernel > 255 ? 0 : cases[i].kernel;     /* beyond, the choice does not ask for taps */
        for (int64_t m = 0; m < filled; m++)
            for (int64_t n = 0; n < cases[i].kernel; n++)
                taps[m * cases[i].kernel + n] =
                    cases[i].is_separable ? ldexp((double)(m + 1) * (double)(n + 2), -12) : noise(&state);
        const struct lw_device device = {.major = 9, .shared_bytes = 232448};
        const struct lw_op_spec spec = square_of(cases[i].side, cases[i].kernel, taps);
        struct lw_conv2d_plan plan;
        struct lw_error err;
        CHECK(lw_conv2d_choose(&device, &spec, &plan, &err) == LW_OK && plan.method == cases[i].method &&
              plan.grid.rows == cases[i].rows && plan.grid.columns == cases[i].columns,
              "%d x %d, %d x %d taps%s: method %d, %d rows, %d columns", (int)cases[i].side,
              (int)cases[i].side, (int)cases[i].kernel, (int)cases[i].kernel,
              cases[i].is_separable ? ", separable" : "", (int)plan.method, (int)plan.grid.rows, (int)plan.grid.columns);
    }
}

/* test_gpu_conv2d [STEP]: run only every STEP-th trial, for compute-sanitizer and emulated devices. STEP is at most 3, so that
 * each length of columns still has a trial. */
int main(int argc, char **argv)
{
    if (argc > 1 && atoi(argv[1]) > 0)
        step = atoi(argv[1]);
    const int missing = gpu_missing("conv2d kernels");
    if (missing)
        return missing;
    test_choice();
    test_separable_choice();
    for (int precision = LW_SINGLE; precision <= LW_DOUBLE; precision++)
        for (int is_complex = 0; is_complex < 2; is_complex++)
            try_precision((enum lw_precision)precision, is_complex != 0);
    return check_result("conv2d kernels");
}
