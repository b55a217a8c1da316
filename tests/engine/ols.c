/* ols.c - the suite of overlap-save filtering that every engine must pass, against direct sums in double precision. */
#include "ols_parts.h"
#include "suites.h"

#include "../check.h"
#include "trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

static struct lw_engine *engine;
static int every;               /* one in `every` trials is made */

const struct trial conformance_plain = {
    .input = {.scalar = LW_FLOAT32},
    .output = {.scalar = LW_FLOAT32},
    .n_channels = 1,
    .n_samples = 1000,
    .n_taps = 33,
    .n_filters = 1,
    .spread = 1,
    .seed = 1,
};

/* ---- helpers ----------------------------------------------------------------------------------------------------- */
int64_t conformance_pick(uint64_t *state, const int64_t *list, int n)
{
    return list[trial_random(state) % (uint64_t)n];
}

/* Unsigned types get samples with a large mean, like the raw counts of a filter bank. */
void conformance_suit_type(struct trial *t)
{
    static const double mean[LW_N_SCALARS] = {0, 120, 0, 30000, 0, 0, 0};
    static const double spread[LW_N_SCALARS] = {127, 20, 30000, 900, 2e9, 1, 1};
    t->mean = mean[t->input.scalar];
    t->spread = spread[t->input.scalar];
}

/* Run one trial with a cut drawn from `state` and check it. */
void conformance_try(const struct trial *t, uint64_t *state, const char *what)
{
    static int n_trials;
    const bool is_left_out = n_trials++ % every != 0;
    const struct trial_cut cut = {
        .units = (int64_t)(trial_random(state) % 4) * (int64_t)(t->segment > 0 || t->n_taps > 64 ? 1 : 50),
        .channel_units = (int64_t)(trial_random(state) % 3),
        .depth = 1 + (int)(trial_random(state) % 3),
    };
    struct trial_data data;
    struct trial_result result;
    if (is_left_out)
        return;
    trial_make(t, &data);
    if (trial_run(engine, &data, &cut, &result)) {
        trial_check(&data, &result, what);
        CHECK(result.n_not_finite == 0, "%s: %lld samples not finite", what, (long long)result.n_not_finite);
    }
    free(result.outputs);
    trial_free(&data);
}

bool conformance_run(const struct trial_data *data, struct trial_result *result)
{
    return trial_run(engine, data, &(struct trial_cut){.depth = 1}, result);
}

/* Make the plan of a trial without running it. */
static bool plan_of(const struct trial *t, struct lw_op_plan *plan)
{
    struct trial_data data;
    struct lw_error err = {0};
    trial_make(t, &data);
    const struct lw_op_spec spec = trial_spec(&data);
    const int rc = engine->ops->op_plan(engine, &spec, plan, &err);
    trial_free(&data);
    CHECK(rc == LW_OK, "%s", err.message);
    return rc == LW_OK;
}

/* ---- types, orders, layouts -------------------------------------------------------------------------------------- */
static void test_input_type(struct lw_type input, uint64_t *state)
{
    static const int64_t taps[] = {1, 2, 3, 4, 17, 64, 257}, filters[] = {1, 3, 8}, channels[] = {1, 2, 3, 5, 17, 40};
    for (int variant = 0; variant < 8; variant++) {
        struct trial t = conformance_plain;
        t.input = input;
        t.layout = variant % 2 ? LW_TIME_SLOW : LW_TIME_FAST;
        t.precision = variant / 2 % 2 ? LW_DOUBLE : LW_SINGLE;
        t.taps_complex = variant / 4;
        t.output.scalar = t.precision == LW_DOUBLE ? LW_FLOAT64 : LW_FLOAT32;
        t.mode = (enum lw_mode)(trial_random(state) % 2);
        t.boundary = (enum lw_boundary)(trial_random(state) % 4);
        t.n_taps = conformance_pick(state, taps, COUNT(taps));
        t.n_filters = (int)conformance_pick(state, filters, COUNT(filters));
        t.n_channels = conformance_pick(state, channels, COUNT(channels));
        t.n_samples = 1 + (int64_t)(trial_random(state) % 900);
        t.seed = trial_random(state);
        conformance_suit_type(&t);
        conformance_try(&t, state, "input types");
    }
}

static void test_input_types(void)
{
    uint64_t state = 11;
    for (int scalar = 0; scalar < LW_N_SCALARS; scalar++)
        for (int swapped = 0; swapped < 2; swapped++)
            for (int is_complex = 0; is_complex < (lw_scalar_is_integer((enum lw_scalar)scalar) ? 1 : 2); is_complex++)
                test_input_type((struct lw_type){(enum lw_scalar)scalar, is_complex, swapped}, &state);
}

static void test_output_types(void)
{
    uint64_t state = 12;
    for (int scalar = 0; scalar < LW_N_RESULT_SCALARS; scalar++) {
        for (int variant = 0; variant < 8; variant++) {
            struct trial t = conformance_plain;
            t.input.scalar = variant % 2 ? LW_FLOAT64 : LW_FLOAT32;
            t.input.is_complex = variant == 7 && !lw_scalar_is_integer((enum lw_scalar)scalar);
            t.output = (struct lw_type){.scalar = (enum lw_scalar)scalar, .is_swapped = variant == 6};
            t.layout = variant / 2 % 2 ? LW_TIME_SLOW : LW_TIME_FAST;
            t.precision = variant / 4 ? LW_DOUBLE : LW_SINGLE;
            t.n_channels = 3;
            t.n_taps = variant % 3 ? 5 : 90;
            t.n_filters = 2;
            /* large enough that some outputs saturate */
            t.spread = (double[]){300, 600, 9e4, 2e5, 7e9, 1, 1, 1e5}[scalar];
            t.seed = trial_random(&state);
            conformance_try(&t, &state, "output types");
            if (!lw_scalar_saturates((enum lw_scalar)scalar))
                continue;
            t.output_scale = variant % 2 ? 0.3 : 41;
            t.seed = trial_random(&state);
            conformance_try(&t, &state, "scaled output types");
        }
    }
}

/* A value midway between two integers is rounded to the even one. */
static void test_rounding(void)
{
    struct trial t = conformance_plain;
    t.input.scalar = LW_INT16;
    t.output.scalar = LW_INT16;
    t.n_taps = 1;
    t.n_samples = 257;
    t.spread = 40;
    for (int precision = 0; precision < 2; precision++) {
        struct trial_data data;
        struct trial_result result;
        t.precision = (enum lw_precision)precision;
        trial_make(&t, &data);
        data.taps[0] = 0.5;
        if (trial_run(engine, &data, &(struct trial_cut){.depth = 1}, &result)) {
            for (int64_t i = 0; i < data.n_outputs; i++) {
                const int16_t got = ((const int16_t *)(const void *)result.outputs)[i];
                const double want = rint(0.5 * creal(data.values[i]));
                CHECK(got == (int16_t)want, "half of %g became %d", creal(data.values[i]), got);
            }
        }
        free(result.outputs);
        trial_free(&data);
    }
}

/* ---- halves ------------------------------------------------------------------------------------------------------ */

enum { HALF_END = 0x7c00, HALF_SAMPLES = 8 };       /* infinity; test samples for each finite half */

/* The half with these bits by definition; for HALF_END the number that would follow the largest. */
static double positive_half(int bits)
{
    return bits < 1024 ? ldexp(bits, -24) : ldexp(1024 + bits % 1024, bits / 1024 - 25);
}

/* A half (kind 0), the midpoint between it and the next (kind 2), or the nearest number of the precision below (1) or above (3)
 * that midpoint. */
static double near_half(enum lw_precision precision, int bits, int kind)
{
    const double middle = (positive_half(bits) + positive_half(bits + 1)) / 2;
    const double beside = kind == 1 ? 0 : HUGE_VAL;
    if (kind == 0 || kind == 2)
        return kind == 0 ? positive_half(bits) : middle;
    return precision == LW_SINGLE ? (double)nextafterf((float)middle, (float)beside) : nextafter(middle, beside);
}

static int nearest_half(int bits, int kind)
{
    const int nearest = kind < 2 ? bits : kind == 2 ? bits + bits % 2 : bits + 1;
    return nearest < HALF_END ? nearest : HALF_END - 1;
}

static void check_halves(const struct trial_data *data, const struct trial_result *result)
{
    int n_wrong = 0, at = -1;
    for (int i = 0; i < HALF_END * HALF_SAMPLES; i++) {
        const uint16_t got = ((const uint16_t *)(const void *)result->outputs)[i];
        const int want = nearest_half(i / HALF_SAMPLES, i % 4);
        const bool is_negative = i % HALF_SAMPLES >= 4;
        if ((got & 0x7fff) != want || (want > 0 && got >> 15 != is_negative)) {
            n_wrong++;
            at = i;
        }
    }
    CHECK(n_wrong == 0, "%d halves are wrong, such as %g, which became %#x", n_wrong, creal(data->values[at < 0 ? 0 : at]),
          ((const uint16_t *)(const void *)result->outputs)[at < 0 ? 0 : at]);
    CHECK(result->loss.n_saturated == 4 && result->loss.n_nan == 0, "%lld halves saturated: the last middle and the number beyond, "
          "and their negatives; %lld NaN", (long long)result->loss.n_saturated, (long long)result->loss.n_nan);
}

/* All finite halves and the numbers at and next to the midpoints between them, scaled by a power of two. */
static void test_halves(void)
{
    struct trial t = conformance_plain;
    t.output.scalar = LW_FLOAT16;
    t.n_taps = 1;
    t.n_samples = HALF_END * HALF_SAMPLES;
    for (int variant = 0; variant < 4; variant++) {
        struct trial_data data;
        struct trial_result result;
        t.precision = variant % 2 ? LW_DOUBLE : LW_SINGLE;
        t.input.scalar = variant % 2 ? LW_FLOAT64 : LW_FLOAT32;
        t.output_scale = variant / 2 ? 0x1p-70 : 0;
        trial_make(&t, &data);
        data.taps[0] = 1;
        for (int i = 0; i < t.n_samples; i++) {
            const double size = near_half(t.precision, i / HALF_SAMPLES, i % 4) * (variant / 2 ? 0x1p-70 : 1);
            data.values[i] = i % HALF_SAMPLES < 4 ? size : -size;
        }
        trial_store(&data);
        if (trial_run(engine, &data, &(struct trial_cut){.depth = 1}, &result))
            check_halves(&data, &result);
        free(result.outputs);
        trial_free(&data);
    }
}

/* ---- lengths ----------------------------------------------------------------------------------------------------- */
static void test_length(struct trial t, int64_t n_samples, uint64_t *state)
{
    static const int64_t filters[] = {1, 3, 8};
    t.n_samples = n_samples;
    t.layout = (enum lw_layout)(trial_random(state) % 2);
    t.n_channels = 1 + (int64_t)(trial_random(state) % 3);
    t.n_filters = (int)conformance_pick(state, filters, COUNT(filters));
    t.boundary = (enum lw_boundary)(trial_random(state) % 4);
    t.mode = (enum lw_mode)(trial_random(state) % (n_samples >= t.n_taps ? 3 : 2));
    t.seed = trial_random(state);
    conformance_try(&t, state, "lengths");
}

/* Lengths: one sample, fewer samples than taps, and whole numbers of segments and one sample more or fewer. */
static void test_lengths_of(const struct trial *t, uint64_t *state)
{
    struct lw_op_plan plan;
    if (!plan_of(t, &plan))
        return;
    const int64_t hop = plan.unit, few = t->n_taps / 2 + 1;
    const int64_t lengths[] = {1, 2, few, hop - 1, hop, hop + 1, 2 * hop, 3 * hop - 1, 3 * hop + 1};
    for (int i = 0; i < COUNT(lengths); i++)
        if (lengths[i] >= 1 && lengths[i] < 60000)
            test_length(*t, lengths[i], state);
}

static void test_lengths(void)
{
    static const int64_t taps[] = {1, 2, 3, 4, 17, 64, 257, 1000};
    uint64_t state = 13;
    for (int i = 0; i < COUNT(taps); i++) {
        for (int kind = 0; kind < 4; kind++) {
            struct trial t = conformance_plain;
            t.n_taps = taps[i];
            t.input.is_complex = kind == 1 || kind == 3;
            t.taps_complex = kind >= 2;
            t.precision = (i + kind) % 2 ? LW_DOUBLE : LW_SINGLE;
            t.input.scalar = t.output.scalar = t.precision == LW_DOUBLE ? LW_FLOAT64 : LW_FLOAT32;
            test_lengths_of(&t, &state);
        }
    }
}

/* Segment lengths that the user sets. */
static void test_segments(void)
{
    static const struct {
        int64_t n_taps;
        int segment;
    } cases[] = {{1, 1}, {1, 2}, {1, 64}, {2, 2}, {2, 3}, {3, 64}, {17, 17}, {17, 18}, {17, 100}, {17, 97}, {64, 64},
                 {64, 128}, {64, 1000}, {257, 512}, {257, 1024}, {257, 2048}, {257, 4096}, {257, 8192}, {1000, 1536},
                 {1000, 4093}, {1000, 7500}, {100, 16384}};
    uint64_t state = 14;
    for (int i = 0; i < COUNT(cases); i++) {
        for (int kind = 0; kind < 4; kind++) {
            struct trial t = conformance_plain;
            t.n_taps = cases[i].n_taps;
            t.segment = cases[i].segment;
            t.input.is_complex = kind == 1 || kind == 3;
            t.taps_complex = kind >= 2;
            t.precision = (i + kind) % 2 ? LW_DOUBLE : LW_SINGLE;
            t.input.scalar = t.output.scalar = t.precision == LW_DOUBLE ? LW_FLOAT64 : LW_FLOAT32;
            const int64_t hop = t.segment - t.n_taps + 1;
            test_length(t, 2 * hop + 1 < 40000 ? 2 * hop + 1 : 40000, &state);
            test_length(t, 1 + (int64_t)(trial_random(&state) % 3000), &state);
        }
    }
}

static void test_long_filters(void)
{
    static const int64_t taps[] = {4097, 20000, 70001};
    uint64_t state = 15;
    for (int i = 0; i < COUNT(taps); i++) {
        for (int kind = 0; kind < 2; kind++) {
            struct trial t = conformance_plain;
            t.n_taps = taps[i];
            t.n_samples = i == 0 ? 30000 : 3000;
            t.mode = LW_MODE_SAME;
            t.boundary = LW_BOUNDARY_REFLECT;
            t.input.is_complex = kind;
            t.precision = kind ? LW_DOUBLE : LW_SINGLE;
            t.seed = trial_random(&state);
            conformance_try(&t, &state, "long filters");
        }
    }
}

/* A segment shorter than the filter is refused with the documented message. */
static void test_refusals(void)
{
    struct trial t = conformance_plain;
    struct trial_data data;
    struct lw_op_plan plan;
    struct lw_error err = {0};
    t.segment = (int)t.n_taps - 1;
    trial_make(&t, &data);
    const struct lw_op_spec spec = trial_spec(&data);
    const int rc = engine->ops->op_plan(engine, &spec, &plan, &err);
    CHECK(rc == LW_ECONFIG, "segment %d for %lld taps gives %d", t.segment, (long long)t.n_taps, rc);
    CHECK(strstr(err.message, "32") && strstr(err.message, "33"), "the message names no values: %s", err.message);
    trial_free(&data);
}

/* ---- range ------------------------------------------------------------------------------------------------------- */

/* Magnitudes from strain data near 1e-21 to voltages near 1e12. */
static void test_magnitudes(void)
{
    static const double spreads[] = {1e-30, 1e-21, 1e-12, 1e12, 1e30};
    uint64_t state = 16;
    for (int i = 0; i < COUNT(spreads); i++) {
        for (int kind = 0; kind < 4; kind++) {
            struct trial t = conformance_plain;
            t.input = (struct lw_type){.scalar = kind % 2 ? LW_FLOAT64 : LW_FLOAT32, .is_complex = kind / 2};
            t.spread = spreads[i];
            t.n_taps = kind ? 200 : 7;
            t.seed = trial_random(&state);
            conformance_try(&t, &state, "magnitudes");
        }
    }
}

/* ---- not a number ------------------------------------------------------------------------------------------------ */
struct spot {
    int64_t channel, sample;
};

/* Make one sample not finite, and return how many samples of the signal are not finite now. */
static void spoil(struct trial_data *data, struct spot spot, uint64_t *state)
{
    const double bad[] = {NAN, INFINITY, -INFINITY, data->trial.input.scalar == LW_FLOAT64 ? 1e300 : INFINITY};
    const int n = data->trial.precision == LW_SINGLE ? 4 : 3;
    const double value = bad[trial_random(state) % (uint64_t)n];
    double complex *const at = &data->values[spot.channel * data->trial.n_samples + spot.sample];
    *at = !data->trial.input.is_complex ? value : trial_random(state) % 2 ? CMPLX(value, 1) : CMPLX(1, value);
}

static bool is_bad(const struct trial_data *data, int64_t channel, int64_t sample)
{
    const double complex x = data->values[channel * data->trial.n_samples + sample];
    const bool is_single = data->trial.precision == LW_SINGLE;
    return !isfinite(creal(x)) || !isfinite(cimag(x)) ||
           (is_single && (!isfinite((float)creal(x)) || !isfinite((float)cimag(x))));
}

void conformance_check_report(const struct trial_data *data, const struct trial_result *result)
{
    const struct trial *const t = &data->trial;
    int64_t n = 0, first_sample = 0, first_channel = 0;
    for (int64_t o = 0; o < data->n_outputs; o++) {
        for (int64_t c = 0; c < t->n_channels; c++) {
            const int64_t i = lw_boundary_index(t->boundary, o + data->lead + result->plan.after, t->n_samples);
            if (i < 0 || !is_bad(data, c, i))
                continue;
            if (n++ == 0) {
                first_sample = o;
                first_channel = c;
            }
        }
    }
    char text[256];
    CHECK(result->n_not_finite == n, "%s: %lld not finite, there are %lld", trial_text(t, text),
          (long long)result->n_not_finite, (long long)n);
    CHECK(n == 0 || (result->first_sample == first_sample && result->first_channel == first_channel),
          "%s: the first is channel %lld sample %lld, reported %lld %lld", trial_text(t, text),
          (long long)first_channel, (long long)first_sample, (long long)result->first_channel,
          (long long)result->first_sample);
}

void conformance_bad_samples(const struct trial *t, int n_spots, bool at_seams, uint64_t *state)
{
    struct lw_op_plan plan;
    if (!plan_of(t, &plan))
        return;
    struct trial_data data;
    trial_make(t, &data);
    for (int i = 0; i < n_spots; i++) {
        struct spot spot = {(int64_t)(trial_random(state) % (uint64_t)t->n_channels), 0};
        const int64_t seam =
            plan.unit * (int64_t)(1 + trial_random(state) % 3) + (int64_t)(trial_random(state) % 3) - 1;
        const int64_t anywhere = (int64_t)(trial_random(state) % (uint64_t)t->n_samples);
        spot.sample = at_seams && seam + data.look_ahead < t->n_samples ? seam + data.look_ahead : anywhere;
        spoil(&data, spot, state);
    }
    trial_store(&data);
    const struct trial_cut cut = {.units = 1 + (int64_t)(trial_random(state) % 2), .channel_units = 1, .depth = 2};
    const struct trial_cut short_cut = {.units = 40 * cut.units, .depth = 2};
    struct trial_result result;
    if (trial_run(engine, &data, plan.unit > 16 ? &cut : &short_cut, &result)) {
        trial_check(&data, &result, "not finite");
        conformance_check_report(&data, &result);
    }
    free(result.outputs);
    trial_free(&data);
}

static void test_not_finite(void)
{
    static const int64_t taps[] = {1, 5, 60, 200};
    uint64_t state = 17;
    for (int i = 0; i < COUNT(taps); i++) {
        for (int variant = 0; variant < 24; variant++) {
            struct trial t = conformance_plain;
            t.nan = variant % 5 == 4 ? LW_NAN_ZERO : LW_NAN_PROPAGATE;
            t.input = (struct lw_type){variant % 2 ? LW_FLOAT64 : LW_FLOAT32, variant / 2 % 2, variant % 7 == 0};
            t.taps_complex = variant / 4 % 2;
            t.layout = (enum lw_layout)(variant / 8 % 2);
            t.precision = variant % 3 ? LW_SINGLE : LW_DOUBLE;
            t.output.scalar = variant % 11 == 0 && !t.input.is_complex && !t.taps_complex ? LW_INT16 : LW_FLOAT32;
            t.spread = t.output.scalar == LW_INT16 ? 1000 : 1;
            t.mode = (enum lw_mode)(variant % 3);
            t.boundary = (enum lw_boundary)(trial_random(&state) % 4);
            t.n_channels = 1 + (int64_t)(trial_random(&state) % 4);
            t.n_filters = 1 + variant % 2;
            t.n_taps = taps[i];
            t.segment = taps[i] > 50 && variant % 4 == 0 ? 256 : 0;
            t.n_samples = 1500;
            t.seed = trial_random(&state);
            conformance_bad_samples(&t, 1 + (int)(trial_random(&state) % 4), variant % 2, &state);
        }
    }
}

/* The run ends because of the reported samples; the engine itself returns no error. */
static void test_report_for_error(void)
{
    uint64_t state = 20;
    struct trial t = conformance_plain;
    t.nan = LW_NAN_ERROR;
    t.n_channels = 3;
    struct trial_data data;
    struct trial_result result;
    trial_make(&t, &data);
    for (int64_t i = 0; i < 5; i++)
        spoil(&data, (struct spot){2 - i % 2, 500 + 100 * i}, &state);
    trial_store(&data);
    if (trial_run(engine, &data, &(struct trial_cut){.units = 1000, .depth = 2}, &result))
        conformance_check_report(&data, &result);
    free(result.outputs);
    trial_free(&data);
}

/* Gaps: long runs of NaN, as archives have them, and a signal of NaN only. */
static void test_gaps(void)
{
    uint64_t state = 18;
    for (int variant = 0; variant < 4; variant++) {
        struct trial t = conformance_plain;
        t.n_taps = variant % 2 ? 6 : 150;
        t.n_samples = 3000;
        t.n_channels = 2;
        struct trial_data data;
        struct trial_result result;
        trial_make(&t, &data);
        for (int64_t i = variant < 2 ? 700 : 0; i < (variant < 2 ? 2100 : 3000); i++)
            spoil(&data, (struct spot){1, i}, &state);
        trial_store(&data);
        if (trial_run(engine, &data, &(struct trial_cut){.depth = 1}, &result)) {
            trial_check(&data, &result, "gaps");
            conformance_check_report(&data, &result);
        }
        free(result.outputs);
        trial_free(&data);
    }
}

/* A channel's non-finite samples change no bit of other channels, nor of outputs in other segments that do not touch these
 * samples. */
static void test_neighbours(void)
{
    uint64_t state = 19;
    for (int layout = 0; layout < 2; layout++) {
        struct trial t = conformance_plain;
        t.layout = (enum lw_layout)layout;
        t.n_channels = 4;
        t.n_samples = 3000;
        t.n_taps = 100;
        struct trial_data data;
        struct trial_result clean, spoilt;
        trial_make(&t, &data);
        const bool has_clean = trial_run(engine, &data, &(struct trial_cut){.depth = 1}, &clean);
        for (int64_t i = 0; i < 200; i++)
            spoil(&data, (struct spot){2, 7 * i}, &state);
        trial_store(&data);
        const bool has_spoilt = trial_run(engine, &data, &(struct trial_cut){.depth = 1}, &spoilt);
        int64_t n_different = 0;
        const float *const a = (const void *)clean.outputs, *const b = (const void *)spoilt.outputs;
        for (int64_t i = 0; i < data.n_outputs * t.n_channels; i++) {
            const int64_t channel = layout == LW_TIME_FAST ? i / data.n_outputs : i % t.n_channels;
            n_different += channel / 2 != 1 && memcmp(&a[i], &b[i], sizeof *a) != 0;
        }
        CHECK(has_clean && has_spoilt && n_different == 0, "%lld outputs of other channels changed",
              (long long)n_different);
        free(clean.outputs);
        free(spoilt.outputs);
        trial_free(&data);
    }
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

/* Any way to cut, queue and thread the work gives the same bytes. */
void conformance_cuts(const struct trial *t, struct lw_engine *other)
{
    static const struct trial_cut cuts[] = {{1, 0, 1, false}, {1, 1, 3, false}, {2, 1, 2, false}, {3, 2, 2, false},
                                            {0, 1, 1, false}, {7, 0, 4, false}};
    struct trial_data data;
    struct trial_result whole;
    trial_make(t, &data);
    const bool has_whole = trial_run(engine, &data, &(struct trial_cut){.depth = 1}, &whole);
    for (int i = 0; has_whole && i < 2 * COUNT(cuts); i++) {
        struct trial_cut cut = cuts[i / 2];
        struct trial_result result;
        char text[256];
        if (every >= 4 && (i / 2 + i) % 2 == 1)     /* there is little time: each cut runs on one of the two engines only */
            continue;
        cut.units *= whole.plan.unit == 1 ? 77 : 1;
        if (trial_run(i % 2 ? other : engine, &data, &cut, &result))
            CHECK(memcmp(whole.outputs, result.outputs, whole.bytes) == 0, "%s: other bytes with cut %d",
                  trial_text(t, text), i);
        free(result.outputs);
    }
    free(whole.outputs);
    trial_free(&data);
}

static void test_cuts(const struct lw_engine_type *type)
{
    static const struct {
        int64_t n_taps, n_samples;
        int segment;
    } sizes[] = {{12, 5000, 0}, {129, 5000, 0}, {129, 9000, 2048}, {60, 3000, 101}, {129, 40000, 16384}};
    const struct lw_engine_spec spec = {.n_threads = 3, .node_ranks = 1, .share_device = true};
    struct lw_engine *other;
    struct lw_error err = {0};
    CHECK(type->create(&spec, &other, &err) == LW_OK, "%s", err.message);
    if (err.code)
        return;
    for (int i = 0; i < COUNT(sizes); i++) {
        for (int kind_of_data = 0; kind_of_data < 4; kind_of_data++) {
            struct trial t = conformance_plain;
            t.n_taps = sizes[i].n_taps;
            t.n_samples = sizes[i].n_samples;
            t.segment = sizes[i].segment;
            t.input.is_complex = kind_of_data == 1;
            t.taps_complex = kind_of_data == 2;
            t.precision = kind_of_data == 3 ? LW_DOUBLE : LW_SINGLE;
            t.layout = (enum lw_layout)((i + kind_of_data) % 2);
            t.n_channels = 5;
            t.n_filters = 2;
            conformance_cuts(&t, other);
        }
    }
    conformance_cuts_of_post(other);
    lw_engine_destroy(other);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */
int suite_ols(const struct lw_engine_type *type, int divisor)
{
    every = divisor >= 20 ? 8 : divisor >= 10 ? 4 : divisor > 1 ? 2 : 1;
    const struct lw_engine_spec spec = {.node_ranks = 1, .share_device = true};
    struct lw_error err = {0};
    char text[160];
    const int rc = type->create(&spec, &engine, &err);
    if (rc == LW_ECONFIG) {         /* this processor lacks an instruction set */
        printf("skipped: no such processor: %s\n", err.message);
        return CHECK_SKIP;
    }
    if (rc) {
        fprintf(stderr, "conformance: no engine: %s\n", err.message);
        return 1;
    }
    engine->ops->describe(engine, text, sizeof text);
    printf("conformance of %s: %s\n", engine->ops->name, text);
    test_input_types();
    test_output_types();
    test_rounding();
    test_halves();
    test_lengths();
    test_segments();
    test_long_filters();
    test_refusals();
    test_magnitudes();
    test_not_finite();
    test_report_for_error();
    test_gaps();
    test_neighbours();
    test_cuts(type);
    conformance_of_post();
    lw_engine_destroy(engine);
    return check_result("conformance");
}
