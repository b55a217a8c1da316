/* test_long.c - tests of the path for long filters against a direct sum in double at some outputs: pairings, layouts, types,
 * precisions, NaN. Blocks of any size give the same bytes. Narrow outputs are those of single precision, rounded. A segment
 * longer than the kernels' brings short filters to this path, too. An argument leaves out signals of more samples, for tools
 * that slow kernels down. */
#include "gpu.h"
#include "narrowed.h"

#include "gpu/ols/long/long.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

struct scenario {
    const char *name;
    struct lw_op_spec spec;     /* no taps yet */
    int64_t n;                  /* samples on the axis */
    int64_t spoilt;             /* index of the sample that is set to NaN; -1: none */
    const char *path;           /* path that the plan's text must name */
};

/* Uniform random number in [-1, 1). */
static double noise(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / (1ull << 52) - 1;
}

static double complex *random_numbers(int64_t n, bool is_complex, double scale, uint64_t seed)
{
    double complex *const values = malloc((size_t)n * sizeof *values);
    for (int64_t i = 0; i < n; i++) {
        const double re = scale * noise(&seed);
        values[i] = is_complex ? re + I * scale * noise(&seed) : re;
    }
    return values;
}

static double *pack_taps(const double complex *taps, int64_t n, bool is_complex)
{
    double *const packed = malloc((size_t)n * 2 * sizeof *packed);
    for (int64_t i = 0; i < n; i++) {
        if (is_complex) {
            packed[2 * i] = creal(taps[i]);
            packed[2 * i + 1] = cimag(taps[i]);
        } else {
            packed[i] = creal(taps[i]);
        }
    }
    return packed;
}

/* Store one sample; *value becomes the number that the stored value represents. */
static void put_sample(const struct lw_type type, void *data, int64_t index, double complex *value)
{
    if (type.scalar == LW_INT16) {
        ((int16_t *)data)[index] = (int16_t)lrint(creal(*value));
        *value = ((int16_t *)data)[index];
    } else if (type.scalar == LW_FLOAT64) {
        ((double *)data)[index] = creal(*value);
    } else if (type.is_complex) {
        ((float complex *)data)[index] = (float complex)*value;
        *value = ((float complex *)data)[index];
    } else {
        ((float *)data)[index] = (float)creal(*value);
        *value = ((float *)data)[index];
    }
}

static int64_t at(const struct lw_op_spec *spec, int64_t length, int64_t channel, int64_t i)
{
    return spec->layout == LW_TIME_SLOW ? i * spec->n_channels + channel : channel * length + i;
}

/* First n outputs of the full convolution, in blocks of `units` grid units; y [filter][channel][n]. */
static int filter_all(struct lw_engine *engine, const struct scenario *s, const struct lw_op_plan *plan, int64_t units,
                      double complex *x, double complex *y, struct lw_loss *loss, struct lw_error *err)
{
    const int64_t count = units * plan->unit < s->n ? units * plan->unit : s->n;
    const struct lw_op_spec *const spec = &s->spec;
    struct lw_op *op = NULL;
    struct lw_slot *slot = NULL;
    int rc = engine->ops->op_create(engine, spec, plan, count, spec->n_channels, &op, err);
    rc = rc ? rc : engine->ops->slot_create(op, &slot, err);
    for (int64_t first = 0; first < s->n && !rc; first += count) {
        const struct lw_block block = {
            .first = first, .count = s->n - first < count ? s->n - first : count, .n_channels = spec->n_channels};
        const int64_t length = plan->halo + block.count;
        for (int64_t c = 0; c < spec->n_channels; c++)
            for (int64_t i = 0; i < length; i++) {
                double complex zero = 0;
                const int64_t from = first - plan->halo + i;
                put_sample(spec->input, slot->input, at(spec, length, c, i), from < 0 ? &zero : &x[c * s->n + from]);
            }
        rc = engine->ops->submit(op, slot, &block, err);
        rc = rc ? rc : engine->ops->wait(op, slot, err);
        loss->n_saturated += slot->loss.n_saturated;
        loss->n_nan += slot->loss.n_nan;
        for (int64_t f = 0; f < plan->products[0].n_planes && !rc; f++)
            for (int64_t c = 0; c < spec->n_channels; c++)
                for (int64_t o = 0; o < block.count; o++) {
                    const int64_t index = f * spec->n_channels * block.count + at(spec, block.count, c, o);
                    double complex *const to = &y[(f * spec->n_channels + c) * s->n + first + o];
                    const int parts = spec->output.is_complex ? 2 : 1;
                    *to = lw_type_number(spec->output, slot->products[0].data, parts * index);
                    if (parts == 2)
                        *to += I * lw_type_number(spec->output, slot->products[0].data, parts * index + 1);
                }
    }
    engine->ops->slot_destroy(op, slot);
    engine->ops->op_destroy(op);
    return rc;
}

/* Direct sum in long double: in double, thousands of additions lose more digits than the transforms do. */
static double complex direct_sum(const double complex *x, const double complex *taps, int64_t n_taps, int64_t o)
{
    long double complex sum = 0;
    for (int64_t m = 0; m < n_taps && m <= o; m++)
        sum += (long double complex)taps[m] * x[o - m];
    return (double complex)sum;
}

static double rms(const double complex *values, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        if (!isnan(creal(values[i])))
            sum += creal(values[i] * conj(values[i]));
    return sqrt(sum / (double)n);
}

/* Compare some outputs of one filter and channel, among them both ends and those around the seams. */
static void compare(const struct scenario *s, const struct lw_op_plan *plan, const double complex *x,
                    const double complex *taps, const double complex *y, int64_t filter, int64_t channel)
{
    const int n_samples = 60;
    const int64_t n_taps = s->spec.ols.n_taps;
    const double complex *const own = x + channel * s->n;
    const double unit_error = s->spec.precision == LW_SINGLE ? 5e-8 : 1e-16;
    const double bound = unit_error * log2(2.0 * plan->segment) * rms(own, s->n) *
                         rms(taps + filter * n_taps, n_taps) * sqrt((double)n_taps);
    double sum = 0;
    int n_compared = 0;
    for (int i = 0; i < n_samples; i++) {
        const int64_t seam = i % 7 * (plan->segment - n_taps + 1) + i % 3 - 1;
        const int64_t spread = i * (s->n - 1) / (n_samples - 1);
        const int64_t o = i % 2 && seam >= 0 && seam < s->n ? seam : spread;
        const double complex value = y[(filter * s->spec.n_channels + channel) * s->n + o];
        if (s->spoilt >= 0 && channel == 0 && o >= s->spoilt && o - s->spoilt < n_taps) {
            CHECK(isnan(creal(value)), "%s: output %lld is not NaN", s->name, (long long)o);
            continue;
        }
        const double complex difference = value - direct_sum(own, taps + filter * n_taps, n_taps, o);
        sum += creal(difference * conj(difference));
        n_compared++;
    }
    const double error = sqrt(sum / n_compared);
    CHECK(n_compared > 0 && error <= bound, "%s: filter %lld channel %lld: rms error %.3g, bound %.3g", s->name,
          (long long)filter, (long long)channel, error, bound);
}

static bool is_same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

/* Compare the outputs in a narrow type with those in single precision, y. About a tenth of the outputs is lost. */
static void compare_narrow(struct lw_engine *engine, const struct scenario *s, double complex *x, const double complex *y)
{
    struct scenario narrow = *s;
    struct lw_op_spec *const spec = &narrow.spec;
    const bool is_complex = spec->output.is_complex;
    spec->output.scalar = is_complex ? LW_FLOAT16 : spec->ols.n_filters % 2 ? LW_UINT8 : LW_INT16;
    const int64_t n_y = s->n * spec->n_channels * spec->ols.n_filters;
    spec->output_scale = rms(y, n_y) / (is_complex ? 30000 : spec->output.scalar == LW_UINT8 ? 100 : 20000);
    double complex *const stored = calloc((size_t)n_y, sizeof *stored);
    struct lw_loss loss = {0, 0}, expected = {0, 0};
    struct lw_error err = {0};
    struct lw_op_plan plan;
    const double factor = lw_op_output_factor(spec);
    const int rc = engine->ops->op_plan(engine, spec, &plan, &err);
    CHECK(rc == LW_OK && filter_all(engine, &narrow, &plan, 2, x, stored, &loss, &err) == LW_OK, "%s: %s", s->name, err.message);
    int64_t n_wrong = 0;
    for (int64_t i = 0; i < n_y; i++) {
        n_wrong += !is_same(creal(stored[i]), narrowed(spec->output.scalar, creal(y[i]) * factor, &expected));
        n_wrong += is_complex && !is_same(cimag(stored[i]), narrowed(spec->output.scalar, cimag(y[i]) * factor, &expected));
    }
    CHECK(n_wrong == 0 && loss.n_saturated == expected.n_saturated && loss.n_nan == expected.n_nan && loss.n_saturated > 0,
          "%s, narrow: %lld of %lld outputs are wrong; %lld saturated, expected %lld; %lld NaN, expected %lld", s->name,
          (long long)n_wrong, (long long)n_y, (long long)loss.n_saturated, (long long)expected.n_saturated, (long long)loss.n_nan,
          (long long)expected.n_nan);
    free(stored);
}

static void run(struct lw_engine *engine, struct scenario *s)
{
    struct lw_error err = {0};
    struct lw_op_spec *const spec = &s->spec;
    const int64_t n_taps = spec->ols.n_taps, n_x = s->n * spec->n_channels, n_y = n_x * spec->ols.n_filters;
    double complex *const x = random_numbers(n_x, spec->input.is_complex, spec->input.scalar == LW_INT16 ? 3e4 : 1, 1);
    double complex *const taps = random_numbers(n_taps * spec->ols.n_filters, spec->ols.taps_complex, 1, 2);
    double *const packed = pack_taps(taps, n_taps * spec->ols.n_filters, spec->ols.taps_complex);
    double complex *const y = calloc((size_t)n_y, sizeof *y), *const again = calloc((size_t)n_y, sizeof *again);
    if (s->spoilt >= 0)
        x[s->spoilt] = NAN;
    spec->ols.taps = lw_stored_doubles(packed, spec->ols.taps_complex);
    struct lw_op_plan plan;
    int rc = engine->ops->op_plan(engine, spec, &plan, &err);
    CHECK(rc == LW_OK && strstr(plan.text, s->path), "%s: plan '%s' %s", s->name, rc ? "" : plan.text, err.message);
    struct lw_loss loss = {0, 0};
    rc = rc ? rc : filter_all(engine, s, &plan, 1, x, y, &loss, &err);
    rc = rc ? rc : filter_all(engine, s, &plan, 3, x, again, &loss, &err);
    CHECK(rc == LW_OK, "%s: %s", s->name, err.message);
    CHECK(memcmp(y, again, (size_t)n_y * sizeof *y) == 0, "%s: the blocks' size changes the result", s->name);
    for (int f = 0; f < spec->ols.n_filters && !rc; f++)
        for (int64_t c = 0; c < spec->n_channels; c++)
            compare(s, &plan, x, taps, y, f, c);
    if (spec->precision == LW_SINGLE && !rc)
        compare_narrow(engine, s, x, y);
    free(x);
    free(taps);
    free(packed);
    free(y);
    free(again);
}

/* The choice of the long path where a kernel could filter, too: for filters of nearly half the longest segment or more. A short
 * series needs longer filters for it. */
static void test_choice(void)
{
    static const struct { int64_t n_outputs, n_taps; bool is_long; } cases[] = {
        {1 << 26, 4097, false}, {1 << 26, 10000, false}, {1 << 26, 12000, true}, {1 << 18, 1300, false}, {1 << 18, 8000, false},
        {1 << 18, 14000, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct lw_cuda_arch chip = {.major = 9, .shared_bytes = 232448};
        const struct lw_cuda_ols_spec spec = {
            .input = LW_FLOAT32, .n_channels = 1, .n_outputs = cases[i].n_outputs, .n_filters = 8, .n_taps = cases[i].n_taps,
        };
        struct lw_cuda_ols_plan plan;
        struct lw_long_ols_plan long_plan;
        struct lw_error err;
        CHECK(lw_cuda_ols_choose(&spec, &chip, &plan, &err) == LW_OK &&
              lw_long_ols_is_cheaper(&plan, spec.n_outputs, &long_plan) == cases[i].is_long, "%lld outputs, %lld taps",
              (long long)cases[i].n_outputs, (long long)cases[i].n_taps);
    }
}

/* A short series gets no segment that would be mostly empty, and batches of equal numbers of segments. */
static void test_short(void)
{
    static const struct { enum lw_precision precision; bool is_complex; int wanted; int64_t segment; int batch; } cases[] = {
        {LW_SINGLE, true, 0, 1 << 17, 16}, {LW_SINGLE, false, 0, 1 << 17, 16}, {LW_DOUBLE, true, 0, 1 << 18, 6},
        {LW_DOUBLE, false, 0, 1 << 18, 6}, {LW_DOUBLE, true, 1 << 19, 1 << 19, 3}, {LW_SINGLE, true, 1 << 19, 1 << 19, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct lw_cuda_arch chip = {.major = 9, .shared_bytes = 232448};
        const struct lw_cuda_ols_spec spec = {
            .precision = cases[i].precision, .input = cases[i].precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64,
            .input_complex = cases[i].is_complex, .n_channels = 1, .n_outputs = 1 << 21, .n_filters = 8, .n_taps = 65537,
            .segment = cases[i].wanted,
        };
        struct lw_long_ols_plan plan;
        struct lw_error err;
        CHECK(lw_long_ols_choose(&spec, &chip, spec.n_outputs, &plan, &err) == LW_OK && plan.segment == cases[i].segment &&
              plan.batch == cases[i].batch, "case %zu: %lld points, %d at a time", i, (long long)plan.segment, plan.batch);
    }
}

int main(int argc, char **argv)
{
    const int64_t most = argc > 1 ? atoll(argv[1]) : INT64_MAX;
    const int missing = gpu_missing("long");
    if (missing)
        return missing;
    const struct lw_type f32 = {.scalar = LW_FLOAT32}, c32 = {.scalar = LW_FLOAT32, .is_complex = true};
    const struct lw_type f64 = {.scalar = LW_FLOAT64}, i16 = {.scalar = LW_INT16};
    const char *const cluster = "several multiprocessors", *const split = "three passes", *const cufft = "cuFFT";
    struct scenario scenarios[] = {
        {"real", {.input = f32, .output = f32, .n_channels = 1,
                  .ols = {.n_filters = 2, .n_taps = 20000}}, 700001, 500000, cluster},
        {"real, split", {.input = f32, .output = f32, .n_channels = 1,
                         .ols = {.n_filters = 3, .n_taps = 20000, .segment = 1 << 18}}, 700001, 500000, split},
        {"complex", {.input = c32, .output = c32, .n_channels = 1,
                     .ols = {.n_filters = 1, .n_taps = 20000, .taps_complex = true}}, 300000, 100, cluster},
        {"complex, split", {.input = c32, .output = c32, .n_channels = 1,
                            .ols = {.n_filters = 1, .n_taps = 20000, .taps_complex = true, .segment = 1 << 18}},
         300000, 100, split},
        {"real, complex taps", {.input = f32, .output = c32, .n_channels = 1,
                                .ols = {.n_filters = 1, .n_taps = 20001, .taps_complex = true}}, 200000, -1, cluster},
        {"short filters", {.input = c32, .output = c32, .n_channels = 1,
                           .ols = {.n_filters = 5, .n_taps = 3000, .segment = 1 << 15}}, 100003, 50000, cluster},
        {"32768", {.input = i16, .output = f32, .n_channels = 2,
                   .ols = {.n_filters = 4, .n_taps = 8200, .segment = 1 << 15}}, 100003, -1, cluster},
        {"131072", {.input = c32, .output = c32, .n_channels = 1,
                    .ols = {.n_filters = 2, .n_taps = 100000, .segment = 1 << 17}}, 70003, 3, cluster},
        {"channels", {.input = i16, .output = f32, .n_channels = 3,
                      .ols = {.n_filters = 2, .n_taps = 17000}}, 600000, -1, cluster},
        {"time slow", {.input = f32, .output = f32, .n_channels = 5, .layout = LW_TIME_SLOW,
                       .ols = {.n_filters = 2, .n_taps = 100, .segment = 40000}}, 150000, 70000, cufft},
        {"time slow, cluster", {.input = f32, .output = f32, .n_channels = 2, .layout = LW_TIME_SLOW,
                                .ols = {.n_filters = 3, .n_taps = 20000}}, 300000, 70000, cluster},
        {"time slow, split", {.input = i16, .output = f32, .n_channels = 5, .layout = LW_TIME_SLOW,
                              .ols = {.n_filters = 3, .n_taps = 30000, .segment = 1 << 18}}, 300000, -1, split},
        {"2^20 segment", {.input = c32, .output = c32, .n_channels = 2,
                          .ols = {.n_filters = 3, .n_taps = 70001, .segment = 1 << 20}}, 1100000, 600000, split},
        {"double", {.input = f64, .output = f64, .precision = LW_DOUBLE, .n_channels = 1,
                    .ols = {.n_filters = 3, .n_taps = 20000}}, 500000, 300000, cluster},
        {"double, 32768", {.input = f64, .output = f64, .precision = LW_DOUBLE, .n_channels = 3,
                           .ols = {.n_filters = 2, .n_taps = 5000, .segment = 1 << 15}}, 60000, 30000, cluster},
        {"double, split", {.input = f64, .output = f64, .precision = LW_DOUBLE, .n_channels = 1,
                           .ols = {.n_filters = 3, .n_taps = 30000, .segment = 1 << 18}}, 500001, 300000, split},
        {"double, time slow, split", {.input = f64, .output = f64, .precision = LW_DOUBLE, .n_channels = 3, .layout = LW_TIME_SLOW,
                                      .ols = {.n_filters = 1, .n_taps = 30000, .segment = 1 << 18}}, 140001, -1, split},
        {"double, 2^20 segment", {.input = f64, .output = f64, .precision = LW_DOUBLE, .n_channels = 1,
                                  .ols = {.n_filters = 1, .n_taps = 70001, .segment = 1 << 20}}, 1100000, 600000, split},
        {"double, 2^22 segment", {.input = f64, .output = f64, .precision = LW_DOUBLE, .n_channels = 1,
                                  .ols = {.n_filters = 1, .n_taps = 900000, .segment = 1 << 22}}, 400003, -1, split},
        {"double, cuFFT", {.input = f64, .output = f64, .precision = LW_DOUBLE, .n_channels = 1,
                           .ols = {.n_filters = 1, .n_taps = 20000, .segment = 100000}}, 500000, 300000, cufft},
        {"a million taps", {.input = f32, .output = f32, .n_channels = 1,
                            .ols = {.n_filters = 1, .n_taps = 1 << 20}}, 7 << 20, -1, split},
    };
    test_choice();
    test_short();
    struct lw_engine *const engine = gpu_engine();
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (scenarios[i].n <= most)
            run(engine, &scenarios[i]);
    lw_engine_destroy(engine);
    return check_result("long");
}
