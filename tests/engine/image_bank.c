/* image_bank.c - tests of what images may have beside one kernel: banks of kernels and the best of them, backgrounds, weights. The
 * outputs are checked against direct sums, crossings and best against the outputs that the same engine delivers. */
#include "image.h"
#include "trial.h"

#include "../check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

static struct lw_engine *engine;

static const struct image plain = {
    .input = {.scalar = LW_FLOAT32}, .output = {.scalar = LW_FLOAT32}, .mode = LW_MODE_SAME, .map = {.scalar = LW_FLOAT32},
    .n_images = 1, .rows = 83, .columns = 104, .kernel_rows = 5, .kernel_columns = 7, .n_kernels = 3,
    .origin_rows = -1, .origin_columns = -1, .spread = 1, .seed = 1, .band = 50,
};

static const enum lw_conv2d_algorithm algorithms[] = {
    LW_CONV2D_ALGORITHM_AUTO, LW_CONV2D_ALGORITHM_DIRECT, LW_CONV2D_ALGORITHM_TILES, LW_CONV2D_ALGORITHM_FULL,
    LW_CONV2D_ALGORITHM_PADDED, LW_CONV2D_ALGORITHM_SEPARABLE,
};

/* An engine may refuse what it does not have, with a message. */
static bool is_refused(const struct image_data *data)
{
    const struct lw_op_spec spec = image_spec(data);
    struct lw_op_plan plan;
    struct lw_error err = {0};
    const int rc = engine->ops->op_plan(engine, &spec, &plan, &err);
    CHECK(rc == LW_OK || (rc == LW_ECONFIG && strlen(err.message) > 20), "plan: %d: %s", rc, err.message);
    return rc != LW_OK;
}

/* Integers have no pixels to spoil. */
static void spoil(struct image_data *data, int64_t first, int64_t step)
{
    const bool is_integer = lw_scalar_is_integer(data->image.input.scalar);
    for (int64_t i = first; !is_integer && i < data->image.n_images * data->image.rows * data->image.columns; i += step)
        data->pixels[i] = i % 2 ? (double)NAN : (double)-INFINITY;
    image_store(data);
}

/* ---- outputs --------------------------------------------------------------------------------------------------------- */

static void try_one(const struct image *image, int64_t units, bool spoils, const char *what)
{
    struct image_data data;
    struct image_result result = {0};
    image_make(image, &data);
    if (spoils)
        spoil(&data, 700, 1301);
    if (!is_refused(&data) && image_run(engine, &data, units, &result))
        image_check(&data, &result, what);
    image_forget(&result);
    image_free(&data);
}

/* Run an image with every algorithm, or with some by turns. */
static void try_all(const struct image *image, int64_t units, bool spoils, const char *what)
{
    static int n_tried;
    n_tried++;
    for (int a = 0; a < COUNT(algorithms); a++) {
        struct image t = *image;
        if ((a + n_tried) % image_algorithm_turns != 0)
            continue;
        t.algorithm = algorithms[a];
        t.kernel_separable = t.algorithm == LW_CONV2D_ALGORITHM_SEPARABLE;
        try_one(&t, units, spoils, what);
    }
}

static void set_precision(struct image *t, enum lw_precision precision)
{
    t->precision = precision;
    t->output.scalar = precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64;
}

static void test_banks(int every)
{
    static const int64_t kernels[][2] = {{1, 1}, {2, 3}, {5, 7}, {8, 8}, {31, 31}, {40, 17}};
    static const enum lw_nan treatments[] = {LW_NAN_PROPAGATE, LW_NAN_ZERO, LW_NAN_INTERPOLATE};
    int n_cases = 0;
    for (int n = 2; n <= 9; n++) {
        for (int k = 0; k < COUNT(kernels); k++) {
            struct image t = plain;
            if ((n + k) % 3 != 0 || n_cases++ % every != 0)
                continue;
            t.n_kernels = n;
            t.kernel_rows = kernels[k][0];
            t.kernel_columns = kernels[k][1];
            t.mode = (enum lw_mode)((n + k) / 3 % 3);
            t.boundary = t.mode == LW_MODE_VALID ? LW_BOUNDARY_ZERO : (enum lw_boundary)(k % 4);
            t.nan = treatments[n % 3];
            t.kernel_positive = t.nan == LW_NAN_INTERPOLATE;
            t.input.is_complex = n % 4 == 1;
            t.kernel_complex = n % 4 == 2 && !t.kernel_positive;
            t.every = n == 6 ? 3 : 1;
            t.has_background = n % 2 == 0 && !t.kernel_complex;
            t.seed = (uint64_t)(10 * n + k);
            set_precision(&t, n % 2 ? LW_SINGLE : LW_DOUBLE);
            try_all(&t, k % 3, n % 5 != 4, "banks");
        }
    }
}

/* Unsigned types get a large mean, like raw counts; the background has the same order. */
static void test_backgrounds(void)
{
    for (int scalar = 0; scalar < LW_N_SCALARS; scalar++) {
        struct image t = plain;
        t.n_kernels = 1 + scalar % 2;
        t.has_background = true;
        t.input.scalar = (enum lw_scalar)scalar;
        t.input.is_swapped = scalar % 2 == 1;
        t.boundary = (enum lw_boundary)(scalar % 4);
        t.outside = t.boundary == LW_BOUNDARY_ZERO ? 0.75 : 0;
        t.n_images = 2;
        t.spread = lw_scalar_is_integer(t.input.scalar) ? 100 : 1;
        t.mean = lw_scalar_is_integer(t.input.scalar) ? 100 : 0;
        try_all(&t, 1, true, "backgrounds");
    }
}

/* ---- weights --------------------------------------------------------------------------------------------------------- */

/* Kernels of a bank with weights, of odd and even sides up to 40, with sides of the image, masks, and steps of the weights. */
static void test_weights(int every)
{
    static const int64_t sides[] = {1, 2, 3, 4, 5, 8, 12, 15, 16, 21, 31, 40};
    for (int s = 0; s < COUNT(sides); s++) {
        for (int weights = LW_WEIGHTS_MESH; weights <= LW_WEIGHTS_INVERSE; weights++) {
            struct image t = plain;
            if ((s + weights) % every != 0)
                continue;
            t.weights = (enum lw_weights)weights;
            t.n_kernels = 1 + (s + weights) % 3;
            t.kernel_rows = sides[s];
            t.kernel_columns = s % 3 == 0 ? sides[COUNT(sides) - 1 - s] : sides[s];
            t.kernel_positive = s % 2 == 0;
            t.mode = (enum lw_mode)((s + weights) % 3);
            t.boundary = t.mode == LW_MODE_VALID ? LW_BOUNDARY_ZERO : (enum lw_boundary)(s % 4);
            t.outside = t.boundary == LW_BOUNDARY_ZERO ? 3 : 0;
            t.n_images = 1 + s % 2;
            t.every = s % 5 == 3 ? 4 : 1;
            t.has_background = s % 2 == 0;
            t.contrast = s % 4 == 0 ? 1 : s % 4 == 1 ? 20 : 1000;
            t.map = (struct lw_type){.scalar = s % 4 == 3 ? LW_FLOAT64 : LW_FLOAT32, .is_swapped = s % 3 == 2};
            t.seed = (uint64_t)(10 * s + weights);
            set_precision(&t, s % 6 == 5 ? LW_DOUBLE : LW_SINGLE);
            try_all(&t, s % 3, true, "weights");
        }
    }
}

static void test_weighted_types(void)
{
    for (int scalar = 0; scalar < LW_N_SCALARS; scalar++) {
        struct image t = plain;
        t.weights = scalar % 2 ? LW_WEIGHTS_SIGMA : LW_WEIGHTS_INVERSE;
        t.input.scalar = (enum lw_scalar)scalar;
        t.map.scalar = scalar % 2 ? (enum lw_scalar)scalar : LW_FLOAT64;
        t.input.is_swapped = scalar % 2 == 0;
        t.spread = lw_scalar_is_integer(t.input.scalar) ? 100 : 1;
        t.has_background = scalar % 3 == 0;
        t.n_kernels = 1;
        try_all(&t, 1, true, "weighted types");
    }
}

/* Stars of 10^4 sigma and more in the noise, beside a mask, and units in which the noise is far from 1. */
static void test_stars(void)
{
    static const double units[] = {1, 1e-19, 1e15};
    for (int u = 0; u < COUNT(units); u++) {
        for (int weights = LW_WEIGHTS_SIGMA; weights <= LW_WEIGHTS_INVERSE; weights++) {
            struct image t = plain;
            t.weights = (enum lw_weights)weights;
            t.kernel_rows = t.kernel_columns = 31;
            t.kernel_positive = true;
            t.n_kernels = 2;
            t.rows = 140;
            t.columns = 170;
            t.map.scalar = LW_FLOAT64;
            t.contrast = 5;
            struct image_data data;
            struct image_result result = {0};
            image_make(&t, &data);
            for (int64_t i = 0; i < t.rows * t.columns; i++) {
                const double dy = (double)(i / t.columns - 70), dx = (double)(i % t.columns - 90);
                data.pixels[i] = (double)(float)(creal(data.pixels[i]) + 3e4 * exp(-(dx * dx + dy * dy) / 50));
                data.pixels[i] = (double)(float)(creal(data.pixels[i]) * units[u]);
                data.weights[i] /= units[u] * units[u];
                const double map = lw_type_number(t.map, data.map, i);
                const double scaled = weights == LW_WEIGHTS_SIGMA ? map * units[u] : map / (units[u] * units[u]);
                trial_put_scalar(t.map, scaled, data.map + (size_t)i * sizeof(double));
            }
            image_store(&data);
            if (!is_refused(&data) && image_run(engine, &data, 0, &result))
                image_check(&data, &result, "stars");
            image_forget(&result);
            image_free(&data);
        }
    }
}

/* ---- crossings and best ---------------------------------------------------------------------------------------------- */

static double real_of(const struct image_data *data, const char *reals, int64_t at)
{
    return lw_type_number((struct lw_type){.scalar = data->image.output.scalar}, reals, at);
}

/* y of a kernel at a pixel number, as the engine computed it. */
static double complex output_of(const struct image_data *data, const struct image_result *whole, int64_t kernel, int64_t pixel)
{
    const int64_t at = kernel * data->image.n_images * data->out_rows * data->out_columns + pixel;
    return data->image.output.is_complex ? CMPLX(real_of(data, whole->outputs, 2 * at), real_of(data, whole->outputs, 2 * at + 1))
                                         : real_of(data, whole->outputs, at);
}

static double noise_of(const struct image_data *data, int64_t kernel, int64_t pixel)
{
    const struct image *const t = &data->image;
    return t->search.noise ? t->search.noise[pixel / (data->out_rows * data->out_columns) * t->n_kernels + kernel] : 1;
}

static double strength_of(const struct image_data *data, const struct image_result *whole, int64_t kernel, int64_t pixel)
{
    const double complex y = output_of(data, whole, kernel, pixel);
    const double sigma = noise_of(data, kernel, pixel);
    const enum lw_sign sign = data->image.search.sign;
    const double size = sign == LW_SIGN_BOTH ? cabs(y) : sign == LW_SIGN_POSITIVE ? creal(y) : -creal(y);
    return sigma > 0 ? size / sigma : (double)NAN;
}

/* The best kernel of a pixel; of kernels whose strengths differ by rounding only, the one that was found. */
static void check_best(const struct image_data *data, const struct image_result *whole, const struct image_result *found)
{
    const int64_t n = data->image.n_images * data->out_rows * data->out_columns;
    const int parts = data->image.output.is_complex ? 2 : 1;
    int64_t n_wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        double best = (double)-INFINITY;
        int32_t number = -1;
        for (int k = 0; k < data->image.n_kernels; k++) {
            const double strength = strength_of(data, whole, k, i);
            number = strength > best ? k : number;
            best = strength > best ? strength : best;
        }
        const int32_t its = found->best_filters[i];
        const double re = real_of(data, found->best_values, parts * i);
        const double im = parts == 2 ? real_of(data, found->best_values, 2 * i + 1) : 0;
        if (number < 0 || its < 0) {
            n_wrong += number >= 0 || its >= 0 || !isnan(re);
            continue;
        }
        const double complex y = its < data->image.n_kernels ? output_of(data, whole, its, i) : 0;
        n_wrong += its >= data->image.n_kernels || re != creal(y) || im != cimag(y) ||
                   (its != number && !(strength_of(data, whole, its, i) >= best * (best < 0 ? 1 + 1e-12 : 1 - 1e-12)));
    }
    char text[400];
    CHECK(n_wrong == 0, "%s: %s: %lld best values or kernels are wrong", image_text(&data->image, text), found->plan.text,
          (long long)n_wrong);
}

/* Drop crossings that an engine admits by rounding; lw_peaks_pick drops them, too. */
static void drop_faint(const struct image_data *data, struct image_result *found)
{
    const int64_t pixels = data->out_rows * data->out_columns;
    int64_t n = 0;
    for (int64_t i = 0; i < found->n_crossings; i++) {
        const struct lw_crossing c = found->crossings[i];
        const double size = data->image.weights == LW_WEIGHTS_NONE ? cabs(CMPLX(c.re, c.im)) : fabs(c.re);
        if (size / noise_of(data, c.filter, c.channel * pixels) >= data->image.search.threshold)
            found->crossings[n++] = c;
    }
    found->n_crossings = n;
}

/* The crossings are those of the outputs; with weights the error of the flux is 1 / sqrt(B). */
static void check_crossings(const struct image_data *data, const struct image_result *whole, struct image_result *found)
{
    const struct image *const t = &data->image;
    const int64_t pixels = data->out_rows * data->out_columns;
    int64_t n = 0, n_wrong = 0;
    drop_faint(data, found);
    double worst = 0;
    for (int k = 0; k < t->n_kernels; k++) {
        for (int64_t i = 0; i < t->n_images * pixels; i++) {
            const double complex y = output_of(data, whole, k, i);
            const double sigma = noise_of(data, k, i);
            if (!(sigma > 0) || !lw_sign_fits(t->search.sign, creal(y)) || !(cabs(y) / sigma >= t->search.threshold))
                continue;
            const struct lw_crossing *const c = &found->crossings[n++];
            if (n > found->n_crossings)
                break;
            n_wrong += c->filter != k || c->channel != i / pixels || c->index != i % pixels / data->out_columns ||
                       c->column != i % data->out_columns || c->re != creal(y);
            if (t->weights == LW_WEIGHTS_NONE) {
                n_wrong += c->im != cimag(y);
            } else {
                const double wanted = 1 / sqrt(image_truth(data, k, c->channel, c->index, c->column).b);
                worst = fmax(worst, fabs(c->im / wanted - 1));
            }
        }
    }
    char text[400];
    CHECK(n_wrong == 0 && n == found->n_crossings, "%s: %s: %lld crossings, not %lld; %lld are wrong", image_text(t, text),
          found->plan.text, (long long)found->n_crossings, (long long)n, (long long)n_wrong);
    CHECK(worst < 2e-5, "%s: %s: an error of the flux is wrong by %g", image_text(t, text), found->plan.text, worst);
}

/* Search whole and in blocks; the bits of the outputs must be the same, too. @param n_cuts  ways to cut the image; 1: whole */
static int64_t try_search(const struct image *image, bool spoils, int n_cuts)
{
    struct image_data data;
    struct image_result whole = {0};
    int64_t n_again = 0;
    image_make(image, &data);
    if (spoils)
        spoil(&data, 700, 1301);
    struct image_data plainly = data;
    plainly.image.search = (struct lw_search){.products = LW_FILTERED};
    const bool has_rows = image->algorithm == LW_CONV2D_ALGORITHM_DIRECT || image->algorithm == LW_CONV2D_ALGORITHM_SEPARABLE;
    for (int64_t units = 0; !is_refused(&data) && units < n_cuts; units++) {
        struct image_result result = {0};
        if (units == 0 && !image_run(engine, &plainly, 0, &whole))
            break;
        if (image_run(engine, &data, units * (has_rows ? 37 : 1), &result)) {
            const unsigned products = image->search.products;
            CHECK(!(products & LW_FILTERED) || memcmp(whole.outputs, result.outputs, whole.bytes) == 0,
                  "%s: blocks of %lld units: other bits", result.plan.text, (long long)units);
            if (products & LW_BEST)
                check_best(&data, &whole, &result);
            check_crossings(&data, &whole, &result);
        }
        n_again += result.n_again;
        image_forget(&result);
    }
    image_forget(&whole);
    image_free(&data);
    return n_again;
}

static void test_search(int every)
{
    static const double noise[] = {0.7, 1.6, 0, 1.1, 0.4, 0.9, 0.9, 2};
    for (int a = 1; a < COUNT(algorithms); a++) {
        for (int kind = 0; kind < 6; kind++) {
            struct image t = plain;
            if ((a + kind) % every != 0)
                continue;
            t.algorithm = algorithms[a];
            t.kernel_separable = t.algorithm == LW_CONV2D_ALGORITHM_SEPARABLE;
            t.n_images = 2;
            t.n_kernels = kind == 3 ? 1 : 4;
            t.rows = 131;
            t.kernel_rows = 12;
            t.weights = (enum lw_weights)(kind % 4);
            t.has_background = kind == 1;
            t.kernel_complex = kind == 4;
            t.search = (struct lw_search){.products = LW_FILTERED | LW_PEAKS | LW_BEST, .noise = noise, .threshold = 1.2,
                                          .cluster = 3, .sign = kind == 4 ? LW_SIGN_BOTH : (enum lw_sign)((a + kind) % 3)};
            t.seed = (uint64_t)(10 * a + kind);
            set_precision(&t, kind == 5 ? LW_DOUBLE : LW_SINGLE);
            try_search(&t, true, every > 2 ? 2 : 3);
        }
    }
}

/* Products of a bank on an image so large that an engine may search outputs while it makes them: peaks alone, peaks and best. */
static void test_large_search(int every)
{
    for (unsigned products = every > 2 ? LW_PEAKS | LW_BEST : LW_PEAKS; products <= (LW_PEAKS | LW_BEST); products += LW_BEST) {
        struct image t = plain;
        t.n_kernels = 4;
        t.rows = t.columns = 1400;
        t.kernel_rows = t.kernel_columns = 31;
        t.search = (struct lw_search){.products = products, .threshold = 1.6, .cluster = 3, .sign = LW_SIGN_POSITIVE};
        try_search(&t, true, every > 2 ? 1 : 3);
    }
}

/* Nearly all pixels cross: the tables are too small. */
static void test_again(void)
{
    for (int weights = LW_WEIGHTS_NONE; weights <= LW_WEIGHTS_SIGMA; weights += 2) {
        struct image t = plain;
        t.algorithm = LW_CONV2D_ALGORITHM_TILES;
        t.rows = 300;
        t.weights = (enum lw_weights)weights;
        t.search = (struct lw_search){.products = LW_FILTERED | LW_PEAKS | LW_BEST, .threshold = 1e-6, .cluster = 5};
        struct image_data data;
        image_make(&t, &data);
        if (!is_refused(&data))
            CHECK(try_search(&t, false, 3) > 0, "no block was searched again for a table that is too small");
        image_free(&data);
    }
}

void image_test_banks(struct lw_engine *tested, int every)
{
    engine = tested;
    test_banks(every);
    test_backgrounds();
    test_weights(every);
    test_weighted_types();
    test_stars();
    test_search(every);
    test_large_search(every);
    test_again();
}
