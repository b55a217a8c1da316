/* image_peaks.c - tests of peaks in convolved images. conv2d.c checks the convolved image itself against direct sums, and
 * tests/signal checks the rule that selects peaks. Here the crossings must be those of the image that the same engine delivers,
 * pixel by pixel. */
#include "image.h"
#include "trial.h"

#include "../check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

static const double noise[] = {0.7, 1.6, 0};

static const struct image plain = {
    .input = {.scalar = LW_FLOAT32}, .output = {.scalar = LW_FLOAT32}, .mode = LW_MODE_SAME,
    .n_images = 2, .rows = 131, .columns = 150, .kernel_rows = 9, .kernel_columns = 12,
    .origin_rows = -1, .origin_columns = -1, .spread = 1, .seed = 1, .band = 50,
    .search = {.products = LW_FILTERED | LW_PEAKS, .noise = noise, .threshold = 1.5, .cluster = 3},
};

static const enum lw_conv2d_algorithm algorithms[] = {
    LW_CONV2D_ALGORITHM_DIRECT, LW_CONV2D_ALGORITHM_TILES, LW_CONV2D_ALGORITHM_FULL, LW_CONV2D_ALGORITHM_SEPARABLE,
    LW_CONV2D_ALGORITHM_PADDED,
};

/* ---- the truth ------------------------------------------------------------------------------------------------------- */

/* Real number `at` of an image in the computing precision. */
static double real_at(const struct image_data *data, const struct image_result *whole, int64_t at)
{
    double wide;
    float narrow;
    if (data->image.precision == LW_DOUBLE) {
        memcpy(&wide, whole->outputs + (size_t)at * sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&narrow, whole->outputs + (size_t)at * sizeof narrow, sizeof narrow);
    return (double)narrow;
}

/* Find all peaks by the definition.
 * @param whole all rows and columns, in the computing precision
 * @return number of peaks */
static int64_t find_peaks(const struct image_data *data, const struct image_result *whole, struct lw_peak **peaks)
{
    const struct image *const t = &data->image;
    const int64_t pixels = data->out_rows * data->out_columns, all = t->n_images * pixels;
    const int parts = t->output.is_complex ? 2 : 1;
    struct lw_crossing *const crossings = calloc((size_t)all + 1, sizeof *crossings);
    *peaks = calloc((size_t)all + 1, sizeof **peaks);
    if (!crossings || !*peaks)
        abort();
    int64_t n = 0;
    for (int64_t i = 0; i < all; i++) {
        const double re = real_at(data, whole, i * parts), im = parts == 2 ? real_at(data, whole, 2 * i + 1) : 0;
        const double sigma = t->search.noise ? t->search.noise[i / pixels] : 1;
        const bool is_left_out = (t->search.sign == LW_SIGN_POSITIVE && re <= 0) || (t->search.sign == LW_SIGN_NEGATIVE && re >= 0);
        if (sigma > 0 && !is_left_out && hypot(re, im) / sigma >= t->search.threshold)
            crossings[n++] = (struct lw_crossing){.index = i % pixels / data->out_columns, .channel = (int32_t)(i / pixels),
                                                  .column = i % data->out_columns, .re = re, .im = im};
    }
    const struct lw_peaks_spec spec = {.search = &t->search, .n_filters = 1, .end = data->out_rows, .is_image = true};
    const int64_t found = lw_peaks_pick(&spec, crossings, n, *peaks);
    free(crossings);
    return found;
}

/* Whether `found` holds exactly every D-th row and column of `whole`. */
static bool is_thinned(const struct image_data *data, const struct image_result *whole, const struct image_result *found)
{
    const size_t bytes = lw_type_bytes(data->image.output);
    const int64_t every = data->image.every > 1 ? data->image.every : 1, pixels = data->kept_rows * data->kept_columns;
    for (int64_t i = 0; i < data->image.n_images * pixels; i++) {
        const int64_t row = i % pixels / data->kept_columns * every, column = i % data->kept_columns * every;
        const int64_t from = (i / pixels * data->out_rows + row) * data->out_columns + column;
        if (memcmp(found->outputs + (size_t)i * bytes, whole->outputs + (size_t)from * bytes, bytes) != 0)
            return false;
    }
    return true;
}

/* ---- trials ---------------------------------------------------------------------------------------------------------- */

/* @return number of blocks whose tables were too small */
static int64_t try_cut(struct lw_engine *engine, const struct image_data *data, const struct image_result *whole, int64_t units,
                       const char *what)
{
    struct image_result result;
    struct lw_peak *wanted;
    char text[400];
    if (!image_run(engine, data, units, &result)) {
        image_forget(&result);
        return 0;
    }
    const int64_t n = find_peaks(data, whole, &wanted);
    image_text(&data->image, text);
    CHECK(result.n_peaks == n && (n == 0 || memcmp(result.peaks, wanted, (size_t)n * sizeof *wanted) == 0),
          "%s: %s: %s: blocks of %lld units, cluster %lld: %lld peaks, not %lld, or others", what, text, result.plan.text,
          (long long)units, (long long)data->image.search.cluster, (long long)result.n_peaks, (long long)n);
    if (lw_search_products(&data->image.search) & LW_FILTERED)
        CHECK(is_thinned(data, whole, &result), "%s: %s: blocks of %lld units: the image is another one", what, text,
              (long long)units);
    free(wanted);
    image_forget(&result);
    return result.n_again;
}

/* Search an image whole and in blocks. @param spoils whether some pixels are not finite
 * @return number of blocks whose tables were too small */
static int64_t try_one(struct lw_engine *engine, const struct image *image, bool spoils, const char *what)
{
    /* direct sums can be cut between any two rows; trying every cut would take too long */
    const bool has_rows = image->algorithm == LW_CONV2D_ALGORITHM_DIRECT || image->algorithm == LW_CONV2D_ALGORITHM_SEPARABLE;
    struct image_data data;
    struct image_result whole;
    int64_t n_again = 0;
    struct image t = *image;
    t.kernel_separable = t.algorithm == LW_CONV2D_ALGORITHM_SEPARABLE;
    image_make(&t, &data);
    for (int64_t i = 700; spoils && i < t.n_images * t.rows * t.columns; i += 5003)
        data.pixels[i] = (double)NAN;
    image_store(&data);
    struct image_data plainly = data;
    plainly.image.search = (struct lw_search){0};
    plainly.image.every = 1;
    plainly.kept_rows = data.out_rows;
    plainly.kept_columns = data.out_columns;
    if (image_run(engine, &plainly, 0, &whole))
        for (int64_t units = 0; units < 3; units++)
            n_again += try_cut(engine, &data, &whole, units * (has_rows ? 37 : 1), what);
    image_forget(&whole);
    image_free(&data);
    return n_again;
}

void image_test_neighbourhoods(struct lw_engine *engine, int every)
{
    static const int64_t clusters[] = {0, 1, 40, 1000};
    for (int a = 0; a < COUNT(algorithms); a++) {
        for (int c = 0; c < COUNT(clusters); c++) {
            struct image t = plain;
            if ((a + 2 * c) % every != 0)
                continue;
            t.algorithm = algorithms[a];
            t.search.cluster = clusters[c];
            t.search.sign = (enum lw_sign)((a + c) % 3);
            t.mode = (enum lw_mode)(c % 3);
            t.boundary = t.mode == LW_MODE_VALID ? LW_BOUNDARY_ZERO : (enum lw_boundary)((a + c) % 4);
            t.seed = (uint64_t)(10 * a + c);
            try_one(engine, &t, false, "neighbourhoods");
        }
    }
}

static void test_kinds(struct lw_engine *engine, int every)
{
    for (int a = 0; a < COUNT(algorithms); a++) {
        for (int kind = 0; kind < 6; kind++) {
            struct image t = plain;
            if ((a + kind) % every != 0)
                continue;
            t.algorithm = algorithms[a];
            t.input.is_complex = kind % 2 == 1;
            t.kernel_complex = kind % 3 == 1;
            t.precision = kind % 2 == 0 ? LW_DOUBLE : LW_SINGLE;
            t.output.scalar = t.precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64;
            t.n_images = 3;
            t.every = kind < 3 ? 1 : 4;
            t.search.products = kind == 2 || kind == 5 ? LW_PEAKS : LW_FILTERED | LW_PEAKS;
            t.nan = kind == 3 ? LW_NAN_ZERO : LW_NAN_PROPAGATE;
            t.seed = (uint64_t)kind;
            try_one(engine, &t, kind >= 2, "kinds");
        }
    }
}

/* Magnitudes whose squares overflow or underflow the computing precision. */
static void test_magnitudes(struct lw_engine *engine)
{
    static const double spreads[] = {1e-30, 1e30};
    for (int s = 0; s < COUNT(spreads); s++) {
        struct image t = plain;
        const double sigma[] = {spreads[s], spreads[s]};
        t.spread = spreads[s];
        t.search.noise = sigma;
        t.search.threshold = 1.2;
        try_one(engine, &t, false, "magnitudes");
    }
}

/* Nearly all pixels are crossings: the tables are too small, and the blocks are searched again in parts. */
static void test_again(struct lw_engine *engine, int every)
{
    for (int a = every / 2; a < COUNT(algorithms); a += every) {
        struct image t = plain;
        t.algorithm = algorithms[a];
        t.rows = 300;
        t.search.noise = NULL;
        t.search.threshold = 1e-6;
        t.search.cluster = 5;
        CHECK(try_one(engine, &t, false, "again") > 0, "no block was searched again for a table that is too small");
    }
}

/* A block reports the pixels of its own last rows. With neighbours these rows lie further ahead than without. */
static void test_flaws(struct lw_engine *engine)
{
    for (int a = 0; a < COUNT(algorithms); a++) {
        struct image t = plain;
        t.algorithm = algorithms[a];
        t.kernel_separable = t.algorithm == LW_CONV2D_ALGORITHM_SEPARABLE;
        t.rows = 700;
        struct image_data data;
        struct image_result result;
        image_make(&t, &data);
        data.pixels[(t.rows + 650) * t.columns + 17] = (double)NAN;
        data.pixels[650 * t.columns + 90] = (double)INFINITY;
        data.pixels[680 * t.columns] = (double)INFINITY;
        image_store(&data);
        if (image_run(engine, &data, 1, &result))
            CHECK(result.n_not_finite == 3 && result.first_row + data.ahead_rows + result.plan.after == 650 &&
                  result.first_image == 0 && result.first_column == 90, "%s: %lld pixels not finite, the first in row %lld, %lld",
                  result.plan.text, (long long)result.n_not_finite,
                  (long long)(result.first_row + data.ahead_rows + result.plan.after), (long long)result.first_column);
        image_forget(&result);
        image_free(&data);
    }
}

void image_test_peaks(struct lw_engine *engine, int every)
{
    test_kinds(engine, every);
    test_magnitudes(engine);
    test_again(engine, every);
    test_flaws(engine);
}
