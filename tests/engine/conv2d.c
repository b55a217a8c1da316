/* conv2d.c - the suite of 2-D convolution: every engine must agree with direct sums in double precision. */
#include "suites.h"

#include "../check.h"
#include "base/integers.h"
#include "image.h"
#include "trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

static struct lw_engine *engine;
static int every;               /* one in `every` shapes, types, bands and flaws is tried */

static const struct image plain = {
    .input = {.scalar = LW_FLOAT32}, .output = {.scalar = LW_FLOAT32}, .mode = LW_MODE_SAME,
    .n_images = 1, .rows = 40, .columns = 50, .kernel_rows = 5, .kernel_columns = 7,
    .origin_rows = -1, .origin_columns = -1, .spread = 1, .seed = 1,
};

static const enum lw_conv2d_algorithm algorithms[] = {
    LW_CONV2D_ALGORITHM_AUTO, LW_CONV2D_ALGORITHM_DIRECT, LW_CONV2D_ALGORITHM_TILES, LW_CONV2D_ALGORITHM_FULL,
    LW_CONV2D_ALGORITHM_PADDED, LW_CONV2D_ALGORITHM_SEPARABLE,
};

static void check_data(const struct image_data *data, int64_t units, const char *what)
{
    struct image_result result;
    if (image_run(engine, data, units, &result))
        image_check(data, &result, what);
    image_forget(&result);
}

static void try_one(const struct image *image, int64_t units, const char *what)
{
    struct image_data data;
    image_make(image, &data);
    check_data(&data, units, what);
    image_free(&data);
}

/* Run an image with every algorithm, or with some by turns; the separable algorithm gets a separable kernel. */
static void try_all(const struct image *image, int64_t units, const char *what)
{
    static int n_tried;
    n_tried++;
    for (int a = 0; a < COUNT(algorithms); a++) {
        struct image t = *image;
        if ((a + n_tried) % image_algorithm_turns != 0)
            continue;
        t.algorithm = algorithms[a];
        t.kernel_separable = t.algorithm == LW_CONV2D_ALGORITHM_SEPARABLE;
        try_one(&t, units, what);
    }
}

/* ---- shapes, modes, sides ------------------------------------------------------------------------------------------- */

/* Kernels of odd and even sides, of one pixel, and larger than the image; every mode and boundary. */
static void test_shapes(void)
{
    static const int64_t kernels[][2] = {{1, 1}, {1, 4}, {3, 1}, {2, 2}, {5, 7}, {4, 6}, {17, 16}, {45, 9}, {9, 61}, {50, 70}};
    for (int k = 0; k < COUNT(kernels); k++) {
        for (int mode = LW_MODE_FULL; mode <= LW_MODE_VALID; mode++) {
            for (int boundary = LW_BOUNDARY_ZERO; boundary <= LW_BOUNDARY_REFLECT; boundary++) {
                struct image t = plain;
                if ((k + mode + boundary) % every != 0)
                    continue;
                t.kernel_rows = kernels[k][0];
                t.kernel_columns = kernels[k][1];
                t.mode = (enum lw_mode)mode;
                t.boundary = (enum lw_boundary)boundary;
                t.seed = (uint64_t)(100 * k + 10 * mode + boundary);
                if (mode != LW_MODE_VALID || (t.kernel_rows <= t.rows && t.kernel_columns <= t.columns))
                    try_all(&t, k % 3, "shapes");
            }
        }
    }
}

static void test_small_images(void)
{
    static const int64_t sizes[][2] = {{1, 1}, {1, 30}, {30, 1}, {2, 3}, {7, 7}};
    for (int s = 0; s < COUNT(sizes); s++) {
        for (int boundary = LW_BOUNDARY_ZERO; boundary <= LW_BOUNDARY_REFLECT; boundary++) {
            struct image t = plain;
            t.rows = sizes[s][0];
            t.columns = sizes[s][1];
            t.boundary = (enum lw_boundary)boundary;
            t.n_images = 3;
            t.kernel_rows = 6;
            try_all(&t, 1, "small images");
        }
    }
}

static void test_origins(void)
{
    for (int64_t row = 0; row < 4; row++) {
        for (int64_t column = 0; column < 3; column++) {
            struct image t = plain;
            t.kernel_rows = 4;
            t.kernel_columns = 3;
            t.origin_rows = row;
            t.origin_columns = column;
            t.boundary = (enum lw_boundary)((row + column) % 4);
            t.outside = t.boundary == LW_BOUNDARY_ZERO ? 2.5 : 0;
            try_all(&t, 2, "origins");
        }
    }
}

static void test_constant(void)
{
    for (int mode = LW_MODE_FULL; mode <= LW_MODE_SAME; mode++) {
        for (int is_complex = 0; is_complex < 2; is_complex++) {
            struct image t = plain;
            t.mode = (enum lw_mode)mode;
            t.outside = -3.25;
            t.input.is_complex = is_complex != 0;
            t.kernel_rows = 12;
            try_all(&t, 1, "constant");
        }
    }
}

/* ---- types ---------------------------------------------------------------------------------------------------------- */

/* Unsigned types get a large mean, like raw counts. */
static void suit_type(struct image *t)
{
    static const double mean[LW_N_SCALARS] = {0, 120, 0, 30000, 0, 0, 0};
    static const double spread[LW_N_SCALARS] = {127, 20, 30000, 900, 2e9, 1, 1};
    t->mean = mean[t->input.scalar];
    t->spread = spread[t->input.scalar];
}

static void test_types(void)
{
    for (int scalar = 0; scalar < LW_N_SCALARS; scalar++) {
        for (int precision = LW_SINGLE; precision <= LW_DOUBLE; precision++) {
            for (int kind = 0; kind < 4; kind++) {
                struct image t = plain;
                if ((scalar + precision + kind / 2) % every != 0)
                    continue;
                t.input.scalar = (enum lw_scalar)scalar;
                t.input.is_complex = kind % 2 == 1;
                t.input.is_swapped = scalar % 2 == precision;
                t.kernel_complex = kind >= 2;
                t.precision = (enum lw_precision)precision;
                t.output.scalar = precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64;
                t.n_images = 2;
                t.seed = (uint64_t)(8 * scalar + 2 * kind + precision);
                suit_type(&t);
                if (!t.input.is_complex || !lw_scalar_is_integer(t.input.scalar))
                    try_all(&t, 1, "types");
            }
        }
    }
}

static void test_integer_outputs(void)
{
    for (int scalar = LW_INT8; scalar <= LW_INT32; scalar++) {
        struct image t = plain;
        t.input.scalar = t.output.scalar = (enum lw_scalar)scalar;
        t.precision = LW_DOUBLE;
        suit_type(&t);
        try_all(&t, 0, "integer outputs");
        t.output_scale = 3.7;
        try_all(&t, 0, "scaled integer outputs");
    }
}

/* float16 outputs: in some images a few pixels saturate, in others pixels are as small as strain. */
static void test_half_outputs(void)
{
    for (int kind = 0; kind < 4; kind++) {
        struct image t = plain;
        t.precision = kind % 2 ? LW_DOUBLE : LW_SINGLE;
        t.input.scalar = kind % 2 ? LW_FLOAT64 : LW_FLOAT32;
        t.input.is_complex = kind / 2;
        t.output = (struct lw_type){.scalar = LW_FLOAT16, .is_swapped = kind == 1};
        t.spread = 5e4;
        try_all(&t, 0, "half outputs");
        t.spread = 1e-21;
        t.output_scale = 1e-22;
        try_all(&t, 0, "scaled half outputs");
    }
}

/* ---- magnitudes ----------------------------------------------------------------------------------------------------- */

/* Pixels of 1e-36 to 1e36 in single precision. */
static void test_magnitudes(void)
{
    static const double spreads[] = {1e-36, 1e-20, 1e20, 1e36};
    for (int s = 0; s < COUNT(spreads); s++) {
        struct image t = plain;
        t.spread = spreads[s];
        t.kernel_rows = t.kernel_columns = 16;
        try_all(&t, 0, "magnitudes");
    }
}

/* A kernel so large that the automatic choice is transforms, on images with several tiles along either axis. */
static void test_many_tiles(void)
{
    struct image t = plain;
    t.rows = 150;
    t.columns = 190;
    t.kernel_rows = 40;
    t.kernel_columns = 37;
    t.algorithm = LW_CONV2D_ALGORITHM_TILES;
    for (int boundary = LW_BOUNDARY_ZERO; boundary <= LW_BOUNDARY_REFLECT; boundary++) {
        t.boundary = (enum lw_boundary)boundary;
        t.input.is_complex = boundary == LW_BOUNDARY_EDGE;
        try_one(&t, 1, "many tiles");
    }
}

/* ---- not a number --------------------------------------------------------------------------------------------------- */

static void spoil(struct image_data *data, int how)
{
    const struct image *const t = &data->image;
    uint64_t state = data->image.seed + 7;
    const int64_t n = t->n_images * t->rows * t->columns;
    const int64_t n_bad = how == 0 ? 1 : how == 1 ? 9 : n / 3;
    for (int64_t i = 0; i < n_bad; i++) {
        const int64_t at = how == 0 ? n / 2 + 3 : (int64_t)(trial_random(&state) % (uint64_t)n);
        const double bad = i % 3 == 0 ? (double)NAN : i % 3 == 1 ? (double)INFINITY : -(double)INFINITY;
        data->pixels[at] = t->input.is_complex && i % 2 ? CMPLX(1, bad) : bad;
    }
    for (int64_t i = 0; how == 2 && i < t->rows / 2; i++)      /* missing pixels in an area larger than the kernel */
        for (int64_t j = 0; j < t->columns / 3; j++)
            data->pixels[i * t->columns + j] = (double)NAN;
    image_store(data);
}

static int64_t count_bad(const struct image_data *data)
{
    int64_t n = 0;
    for (int64_t i = 0; i < data->image.n_images * data->image.rows * data->image.columns; i++)
        n += !isfinite(creal(data->pixels[i])) || !isfinite(cimag(data->pixels[i]));
    return n;
}

static void check_flaws(const struct image *image, int how)
{
    struct image_data data;
    struct image_result result;
    image_make(image, &data);
    spoil(&data, how);
    if (image_run(engine, &data, 1, &result)) {
        image_check(&data, &result, "not a number");
        /* look-ahead 0 gives every row to one slice, and zeros outside are not counted, so each pixel is counted once */
        if (image->mode == LW_MODE_FULL && image->boundary == LW_BOUNDARY_ZERO)
            CHECK(result.n_not_finite == count_bad(&data), "%lld pixels not finite, not %lld", (long long)result.n_not_finite,
                  (long long)count_bad(&data));
    }
    image_forget(&result);
    image_free(&data);
}

/* An image for algorithm number `a` that spoil(..., how) can damage. */
static struct image flawed_image(enum lw_nan nan, int how, int a)
{
    const bool is_weighted = nan == LW_NAN_INTERPOLATE;
    struct image t = plain;
    t.nan = nan;
    t.algorithm = algorithms[a];
    t.kernel_positive = is_weighted;
    t.kernel_separable = a == COUNT(algorithms) - 1 && !is_weighted;
    t.mode = how == 1 ? LW_MODE_FULL : LW_MODE_SAME;
    t.boundary = how == 2 ? LW_BOUNDARY_REFLECT : LW_BOUNDARY_ZERO;
    t.input.is_complex = how == 1 && a % 2 == 0;
    t.precision = a % 2 == 0 ? LW_SINGLE : LW_DOUBLE;
    t.output.scalar = t.precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64;
    t.n_images = 2;
    t.seed = (uint64_t)(10 * how + (is_weighted ? 2 : nan == LW_NAN_ZERO));
    return t;
}

static void test_not_finite(void)
{
    static const enum lw_nan treatments[] = {LW_NAN_PROPAGATE, LW_NAN_ZERO, LW_NAN_INTERPOLATE};
    static const int everies[] = {1, 3, 64};
    for (int k = 0; k < COUNT(treatments); k++) {
        for (int how = 0; how < 3; how++) {
            for (int a = 0; a < COUNT(algorithms); a++) {
                for (int e = 0; e < COUNT(everies); e++) {
                    struct image t = flawed_image(treatments[k], how, a);
                    if ((how + a + e) % every != 0)
                        continue;
                    t.every = everies[e];
                    if (t.algorithm != LW_CONV2D_ALGORITHM_SEPARABLE || t.kernel_separable)
                        check_flaws(&t, how);
                }
            }
        }
    }
}

/* An image so wide that whole strips of 128 columns lie inside it; first with finite pixels, then with some that are not finite. */
static void try_strips(enum lw_conv2d_algorithm algorithm, int side)
{
    struct image t = plain;
    t.algorithm = algorithm;
    t.kernel_separable = algorithm == LW_CONV2D_ALGORITHM_SEPARABLE;
    t.n_images = 2;
    t.rows = 37;
    t.columns = 400 + side % 4;
    t.kernel_rows = side;
    t.kernel_columns = side % 3 == 0 ? side - 1 : side;
    try_one(&t, side % 2 * 11, "small kernels");
    check_flaws(&t, side % 2);
}

/* Rows of any alignment, direct kernels of every small side, and separable kernels of every side that they are padded to. */
static void test_small_kernels(void)
{
    static const int separable[] = {1, 2, 14, 15, 16, 23, 24, 30, 31, 32};
    for (int side = 1; side <= 12; side++)
        try_strips(LW_CONV2D_ALGORITHM_DIRECT, side);
    for (int i = 0; i < COUNT(separable); i++)
        try_strips(LW_CONV2D_ALGORITHM_SEPARABLE, separable[i]);
}

/* Each pixel that is not finite is counted once, whichever part of the window the outputs need. No such pixel lies in the
 * prologue here. */
static void test_first_flaw(void)
{
    for (int mode = LW_MODE_FULL; mode <= LW_MODE_VALID; mode++) {
        for (int a = 0; a < COUNT(algorithms) - 1; a++) {
            struct image t = plain;
            t.mode = (enum lw_mode)mode;
            t.algorithm = algorithms[a];
            t.nan = LW_NAN_ERROR;
            t.n_images = 2;
            struct image_data data;
            struct image_result result;
            image_make(&t, &data);
            data.pixels[(1 * t.rows + 11) * t.columns + 17] = (double)NAN;
            data.pixels[(0 * t.rows + 11) * t.columns + 49] = (double)INFINITY;
            data.pixels[(0 * t.rows + 30) * t.columns + 0] = (double)INFINITY;
            image_store(&data);
            if (image_run(engine, &data, 0, &result))
                CHECK(result.n_not_finite == 3 && result.first_row + data.ahead_rows == 11 && result.first_image == 0 &&
                      result.first_column == 49, "%s, %s: %lld, the first in image %lld at (%lld, %lld)", lw_mode_text(t.mode),
                      result.plan.text, (long long)result.n_not_finite, (long long)result.first_image,
                      (long long)(result.first_row + data.ahead_rows), (long long)result.first_column);
            image_forget(&result);
            image_free(&data);
        }
    }
}

/* Bands of a padded image: fewer rows than the kernel has and more, in sizes of either rule; the last band is cut short. */
static void test_bands(void)
{
    static const int64_t bands[] = {1, 17, 64};
    for (int b = 0; b < COUNT(bands); b++) {
        for (int boundary = LW_BOUNDARY_ZERO; boundary <= LW_BOUNDARY_REFLECT; boundary++) {
            struct image t = plain;
            if ((b + boundary) % every != 0)
                continue;
            t.algorithm = LW_CONV2D_ALGORITHM_PADDED;
            t.band = bands[b];
            t.padding = (enum lw_padding)((b + boundary) % 2);
            t.rows = b == 0 ? 20 : 150;
            t.kernel_rows = 23;
            t.mode = (enum lw_mode)((b + boundary) % 3);
            t.boundary = t.mode == LW_MODE_VALID ? LW_BOUNDARY_ZERO : (enum lw_boundary)boundary;
            t.rows = lw_max64(t.rows, t.mode == LW_MODE_VALID ? 60 : 0);
            t.n_images = 2;
            t.input.is_complex = boundary == LW_BOUNDARY_EDGE;
            t.kernel_complex = boundary == LW_BOUNDARY_WRAP;
            t.precision = boundary == LW_BOUNDARY_REFLECT ? LW_DOUBLE : LW_SINGLE;
            t.output.scalar = t.precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64;
            try_one(&t, b, "bands");
            check_flaws(&t, b);
        }
    }
}

/* ---- every D-th row and column ---------------------------------------------------------------------------------------- */

/* Decimation factors D that do not divide the image's sides, blocks that keep no row, and a D larger than the image. */
static void test_decimation(void)
{
    static const int everies[] = {2, 3, 7, 64};
    for (int e = 0; e < COUNT(everies); e++) {
        for (int kind = 0; kind < 4; kind++) {
            struct image t = plain;
            t.every = everies[e];
            t.rows = 83;
            t.columns = 141;
            t.n_images = 2;
            t.kernel_rows = 18;
            t.mode = (enum lw_mode)((e + kind) % 3);
            t.boundary = t.mode == LW_MODE_VALID ? LW_BOUNDARY_ZERO : (enum lw_boundary)kind;
            t.input.is_complex = kind % 2 == 1;
            t.kernel_complex = kind >= 2;
            t.precision = e % 2 == 0 ? LW_SINGLE : LW_DOUBLE;
            t.output.scalar = t.precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64;
            t.output.is_swapped = kind == 2;
            t.seed = (uint64_t)(10 * e + kind);
            try_all(&t, kind % 2, "decimation");
        }
    }
}

static void test_decimated_integers(void)
{
    for (int precision = LW_SINGLE; precision <= LW_DOUBLE; precision++) {
        struct image t = plain;
        t.input.scalar = t.output.scalar = LW_INT16;
        t.every = 3 + precision;
        t.output_scale = precision == LW_SINGLE ? 0 : 5.3;
        t.precision = (enum lw_precision)precision;
        suit_type(&t);
        try_all(&t, 2, "decimated integers");
    }
}

static void test_decimated_halves(void)
{
    for (int kind = 0; kind < 4; kind++) {
        struct image t = plain;
        t.precision = kind % 2 ? LW_DOUBLE : LW_SINGLE;
        t.input.scalar = kind % 2 ? LW_FLOAT64 : LW_FLOAT32;
        t.input.is_complex = kind / 2;
        t.output = (struct lw_type){.scalar = LW_FLOAT16, .is_swapped = kind == 2};
        t.spread = 5e4;                         /* some pixels saturate */
        t.every = 2 + kind;
        try_all(&t, 0, "decimated halves");
    }
}

/* ---- the same bits -------------------------------------------------------------------------------------------------- */

static void test_cuts(const struct lw_engine_type *type)
{
    struct lw_engine *other;
    struct lw_error err = {0};
    const struct lw_engine_spec spec = {.n_threads = 3, .node_ranks = 1, .share_device = true};
    if (type->create(&spec, &other, &err)) {
        CHECK(false, "%s", err.message);
        return;
    }
    for (int a = 0; a < COUNT(algorithms); a++) {
        struct image t = plain;
        t.algorithm = algorithms[a];
        t.rows = 131;
        t.columns = 203;
        t.n_images = 2;
        t.kernel_rows = 19;
        t.kernel_columns = 24;
        t.kernel_separable = t.algorithm == LW_CONV2D_ALGORITHM_SEPARABLE;
        t.boundary = LW_BOUNDARY_WRAP;
        t.every = a % 2 == 0 ? 1 : 5;
        t.band = 40;
        struct image_data data;
        struct image_result whole, cut;
        image_make(&t, &data);
        data.pixels[5000] = (double)NAN;
        image_store(&data);
        const bool is_done = image_run(engine, &data, 0, &whole);
        for (int64_t units = 1; is_done && units < 4; units++) {
            if (image_run(other, &data, units, &cut))
                CHECK(memcmp(whole.outputs, cut.outputs, whole.bytes) == 0, "%s: blocks of %lld units: other bits",
                      whole.plan.text, (long long)units);
            image_forget(&cut);
        }
        image_forget(&whole);
        image_free(&data);
    }
    lw_engine_destroy(other);
}

/* ---- refusals ------------------------------------------------------------------------------------------------------- */

static void test_refusals(void)
{
    struct image t = plain;
    t.algorithm = LW_CONV2D_ALGORITHM_SEPARABLE;
    struct image_data data;
    struct lw_op_plan plan;
    struct lw_error err = {0};
    image_make(&t, &data);
    const struct lw_op_spec spec = image_spec(&data);
    CHECK(engine->ops->op_plan(engine, &spec, &plan, &err) == LW_ECONFIG && strstr(err.message, "not the product"),
          "separable with a kernel that is not: %s", err.message);
    image_free(&data);
}

/* ---- all ------------------------------------------------------------------------------------------------------------ */

int suite_conv2d(const struct lw_engine_type *type, int divisor)
{
    const struct lw_engine_spec spec = {.node_ranks = 1, .share_device = true};
    struct lw_error err = {0};
    if (type->create(&spec, &engine, &err)) {
        fprintf(stderr, "conv2d conformance: no engine: %s\n", err.message);
        return 1;
    }
    every = divisor >= 10 ? 3 : divisor > 1 ? 2 : 1;
    const int share = divisor >= 10 ? 6 : divisor > 1 ? 3 : 1;      /* one in so many cases of the longer tests */
    image_algorithm_turns = divisor >= 10 ? 3 : 1;
    test_small_images();
    test_origins();
    test_constant();
    test_not_finite();
    image_test_neighbourhoods(engine, share);
    /* launches take long here: no further blocks of a single row */
    image_rows_at_once = divisor >= 10 ? 11 : 1;
    test_shapes();
    test_types();
    test_integer_outputs();
    test_half_outputs();
    test_magnitudes();
    test_many_tiles();
    test_bands();
    test_small_kernels();
    test_first_flaw();
    test_decimation();
    test_decimated_integers();
    test_decimated_halves();
    test_cuts(type);
    image_test_peaks(engine, share);
    image_test_banks(engine, share);
    test_refusals();
    lw_engine_destroy(engine);
    return check_result("conv2d conformance");
}
