/* ols_post.c - interpolation, decimation, power, amplitude and derivative against their definitions. */
#include "ols_parts.h"

#include "../check.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

static const struct lw_post posts[] = {
    {LW_POST_POWER, 1, 1}, {LW_POST_AMPLITUDE, 1, 1}, {LW_POST_DERIVATIVE, 1, 1}, {LW_POST_NONE, 2, 1}, {LW_POST_NONE, 3, 1},
    {LW_POST_POWER, 4, 1}, {LW_POST_AMPLITUDE, 2, 1}, {LW_POST_DERIVATIVE, 2, 1}, {LW_POST_DERIVATIVE, 5, 1}, {LW_POST_NONE, 64, 1},
    {LW_POST_NONE, 1, 7}, {LW_POST_NONE, 1, 1000}, {LW_POST_POWER, 1, 3}, {LW_POST_AMPLITUDE, 1, 8}, {LW_POST_DERIVATIVE, 1, 2},
    {LW_POST_DERIVATIVE, 1, 13},
};

/* ---- types and layouts ------------------------------------------------------------------------------------------- */
static void draw(struct trial *t, uint64_t *state)
{
    static const int64_t taps[] = {1, 2, 5, 33, 150}, filters[] = {1, 3}, channels[] = {1, 2, 3, 17};
    t->mode = (enum lw_mode)(trial_random(state) % 2);
    t->boundary = (enum lw_boundary)(trial_random(state) % 4);
    t->n_taps = conformance_pick(state, taps, COUNT(taps));
    t->n_filters = (int)conformance_pick(state, filters, COUNT(filters));
    t->n_channels = conformance_pick(state, channels, COUNT(channels));
    t->n_samples = 1 + lw_post_every(t->post) + (int64_t)(trial_random(state) % 700);
    t->seed = trial_random(state);
}

static void test_kinds(void)
{
    uint64_t state = 31;
    for (int i = 0; i < COUNT(posts); i++) {
        for (int variant = 0; variant < 16; variant++) {
            struct trial t = conformance_plain;
            t.post = posts[i];
            t.input.is_complex = variant % 2;
            t.taps_complex = variant / 2 % 2;
            t.layout = (enum lw_layout)(variant / 4 % 2);
            t.precision = variant / 8 ? LW_DOUBLE : LW_SINGLE;
            t.input.scalar = t.output.scalar = t.precision == LW_DOUBLE ? LW_FLOAT64 : LW_FLOAT32;
            draw(&t, &state);
            conformance_try(&t, &state, "post");
        }
    }
}

static void test_types(void)
{
    uint64_t state = 32;
    for (int scalar = 0; scalar < LW_N_SCALARS; scalar++) {
        for (int variant = 0; variant < 6; variant++) {
            struct trial t = conformance_plain;
            t.input = (struct lw_type){.scalar = (enum lw_scalar)scalar, .is_swapped = variant % 2};
            t.layout = (enum lw_layout)(variant / 2 % 2);
            t.post = posts[(scalar * 6 + variant) % COUNT(posts)];
            draw(&t, &state);
            conformance_suit_type(&t);
            conformance_try(&t, &state, "post, input types");
        }
    }
}

/* Real results of complex series may be stored as integers. */
static void test_output_types(void)
{
    static const enum lw_scalar scalars[] = {LW_UINT8, LW_INT16, LW_INT32, LW_FLOAT16, LW_FLOAT32, LW_FLOAT64};
    uint64_t state = 33;
    for (int i = 0; i < COUNT(scalars); i++) {
        for (int variant = 0; variant < 8; variant++) {
            struct trial t = conformance_plain;
            t.input.is_complex = variant % 2;
            t.output = (struct lw_type){.scalar = scalars[i], .is_swapped = variant == 5};
            t.precision = variant / 4 ? LW_DOUBLE : LW_SINGLE;
            t.layout = (enum lw_layout)(variant / 2 % 2);
            t.post = (struct lw_post){variant % 3 ? LW_POST_POWER : LW_POST_AMPLITUDE, variant == 6 ? 3 : 1, variant == 7 ? 3 : 1};
            draw(&t, &state);
            t.spread = 10;
            t.output_scale = lw_scalar_saturates(scalars[i]) && variant > 3 ? 2.5 : 0;
            conformance_try(&t, &state, "post, output types");
        }
    }
}

/* ---- lengths ----------------------------------------------------------------------------------------------------- */
static void test_lengths(void)
{
    static const int64_t taps[] = {1, 4, 33};
    uint64_t state = 34;
    for (int64_t n = 1; n <= 9; n++) {
        for (int i = 0; i < COUNT(posts); i++) {
            if (posts[i].kind == LW_POST_DERIVATIVE && lw_post_length(posts[i], n) < 2)
                continue;
            struct trial t = conformance_plain;
            t.post = posts[i];
            t.n_taps = taps[(n + i) % COUNT(taps)];
            t.n_samples = n;
            t.n_channels = 1 + i % 3;
            t.n_filters = 2;
            t.layout = (enum lw_layout)(i / 3 % 2);
            t.mode = LW_MODE_SAME;
            t.boundary = (enum lw_boundary)(i % 4);
            t.segment = n % 3 == 0 ? 64 : 0;
            t.input.is_complex = n % 2;
            t.seed = trial_random(&state);
            conformance_try(&t, &state, "post, short");
        }
    }
}

/* The shortest possible segments, and a segment of an awkward length for transforms. */
static void test_segments(void)
{
    uint64_t state = 35;
    for (int i = 0; i < COUNT(posts); i++) {
        const struct lw_reach reach = lw_post_reach(posts[i]);
        for (int kind = 0; kind < 4; kind++) {
            struct trial t = conformance_plain;
            t.post = posts[i];
            t.n_taps = 30;
            t.segment = (int[]){(int)t.n_taps + reach.before + reach.after, 101, 1024, 8192}[kind];
            t.n_samples = kind == 3 ? 9000 : 700;
            t.n_channels = kind == 3 ? 1 : 2;
            t.mode = LW_MODE_VALID;
            t.layout = (enum lw_layout)(kind % 2);
            t.seed = trial_random(&state);
            conformance_try(&t, &state, "post, segments");
        }
    }
}

static void test_long_filters(void)
{
    uint64_t state = 36;
    for (int i = 0; i < COUNT(posts) - 1; i++) {
        struct trial t = conformance_plain;
        t.post = posts[i];
        t.n_taps = 9001;
        t.n_samples = 300;
        t.mode = LW_MODE_SAME;
        t.n_channels = i % 2 ? 1 : 3;
        t.layout = (enum lw_layout)(i % 2);
        t.input.is_complex = i / 2 % 2;
        t.seed = trial_random(&state);
        conformance_try(&t, &state, "post, long filters");
    }
}

/* Polynomials of degree 3 are interpolated exactly, up to rounding: 1e-13 for values up to 1000. */
static void test_cubics(void)
{
    struct trial t = conformance_plain;
    t.precision = LW_DOUBLE;
    t.input.scalar = t.output.scalar = LW_FLOAT64;
    t.n_taps = 1;
    t.n_samples = 20;
    t.post = (struct lw_post){LW_POST_NONE, 7, 1};
    struct trial_data data;
    struct trial_result result;
    trial_make(&t, &data);
    data.taps[0] = 1;
    for (int64_t i = 0; i < t.n_samples; i++)
        data.values[i] = 0.25 * pow((double)i - 9, 3) - (double)(i * i) + 3;
    trial_store(&data);
    if (conformance_run(&data, &result)) {
        const double *const got = (const void *)result.outputs;
        for (int64_t j = 0; j < data.n_results; j++) {
            const double x = (double)j / 7, want = 0.25 * pow(x - 9, 3) - x * x + 3;
            CHECK(fabs(got[j] - want) < 1e-10, "the cubic at %g is %g, interpolated %g", x, want, got[j]);
        }
    }
    free(result.outputs);
    trial_free(&data);
}

/* ---- range ------------------------------------------------------------------------------------------------------- */

/* Squares of strain data are outside float32: amplitudes and float64 results are right, and float32 powers report the loss. */
static void test_magnitudes(void)
{
    static const double spreads[] = {1e-30, 1e-21, 1, 1e12, 1e30};
    uint64_t state = 37;
    for (int i = 0; i < COUNT(spreads); i++) {
        for (int kind = 0; kind < 8; kind++) {
            struct trial t = conformance_plain;
            t.spread = spreads[i];
            t.input.is_complex = kind % 2;
            t.layout = (enum lw_layout)(kind / 4);
            t.n_taps = i % 2 ? 5 : 90;
            t.n_channels = 2;
            t.post.kind = kind % 4 < 2 ? LW_POST_AMPLITUDE : LW_POST_POWER;
            t.output.scalar = t.post.kind == LW_POST_POWER ? LW_FLOAT64 : LW_FLOAT32;
            t.seed = trial_random(&state);
            conformance_try(&t, &state, "post, magnitudes");
        }
    }
}

static void test_out_of_range(void)
{
    static const double spreads[] = {1e-21, 1, 1e21};
    for (int i = 0; i < 2 * COUNT(spreads); i++) {
        struct trial t = conformance_plain;
        t.spread = spreads[i / 2];
        t.post.kind = LW_POST_POWER;
        t.layout = (enum lw_layout)(i % 2);
        t.n_channels = 3;
        struct trial_data data;
        struct trial_result result;
        trial_make(&t, &data);
        if (conformance_run(&data, &result))
            CHECK(result.is_out_of_range == (t.spread != 1), "powers of values near %g: %s", t.spread,
                  result.is_out_of_range ? "out of range" : "in range");
        free(result.outputs);
        trial_free(&data);
    }
}

/* ---- decimation -------------------------------------------------------------------------------------------------- */

/* Segments whose spectra can be folded by 2, 4 and 8, and others; decimation factors D that folding covers wholly, in part or not
 * at all. */
static const struct decimation {
    int every, segment;
} decimations[] = {
    {2, 1024}, {4, 1024}, {24, 1024}, {5, 1024}, {2, 2048}, {4, 2048}, {8, 2048}, {16, 2048}, {6, 2048}, {12, 2048}, {3, 2048},
    {1000, 2048}, {2, 4096}, {8, 4096}, {16, 4096}, {20, 4096}, {7, 4096}, {8, 8192}, {10, 8192}, {36, 8192}, {9, 8192}, {8, 0},
};

/* Integers and real numbers in pairs of channels or of segments, and complex numbers; one filter and several; both layouts and
 * precisions. */
static struct trial decimation_trial(const struct decimation *decimation, int variant, uint64_t *state)
{
    static const enum lw_post_kind kinds[] = {LW_POST_NONE, LW_POST_NONE, LW_POST_POWER, LW_POST_AMPLITUDE, LW_POST_DERIVATIVE};
    static const int64_t taps[] = {1, 33, 65, 150};
    struct trial t = conformance_plain;
    t.post = (struct lw_post){kinds[variant % COUNT(kinds)], 1, decimation->every};
    t.segment = decimation->segment;
    t.input.is_complex = variant % 3 == 1;
    t.input.scalar = variant % 2 && !t.input.is_complex ? LW_INT16 : LW_FLOAT32;
    t.taps_complex = variant % 6 == 5;
    t.layout = (enum lw_layout)(variant / 2 % 2);
    t.precision = variant % 7 == 6 ? LW_DOUBLE : LW_SINGLE;
    t.output.scalar = t.precision == LW_DOUBLE ? LW_FLOAT64 : LW_FLOAT32;
    if (t.layout == LW_TIME_SLOW && t.segment == 2048)      /* the GPU has no such segments for this layout */
        t.segment = 1024;
    conformance_suit_type(&t);
    t.mode = (enum lw_mode)(trial_random(state) % 2);
    t.boundary = (enum lw_boundary)(trial_random(state) % 4);
    t.n_taps = conformance_pick(state, taps, COUNT(taps));
    if (t.post.kind == LW_POST_DERIVATIVE && t.segment > 0 && t.n_taps + 2 * t.post.every > t.segment)
        t.post.kind = LW_POST_NONE;
    t.n_channels = t.layout == LW_TIME_SLOW && variant % 3 == 0 ? 40 : 1 + (int64_t)(trial_random(state) % 3);
    t.n_filters = variant % 5 == 3 ? 3 : 1;
    t.n_samples = (t.segment ? t.segment : 1024) * 3 / 2 + (int64_t)(trial_random(state) % 1500);
    t.seed = trial_random(state);
    return t;
}

static void test_decimation(void)
{
    uint64_t state = 40;
    for (int i = 0; i < COUNT(decimations); i++)
        for (int variant = 0; variant < 8; variant++) {
            const struct trial t = decimation_trial(&decimations[i], i + variant, &state);
            conformance_try(&t, &state, "decimation");
        }
}

static void test_decimated_types(void)
{
    static const enum lw_scalar scalars[] = {LW_INT16, LW_FLOAT16, LW_FLOAT64, LW_INT8};
    uint64_t state = 41;
    for (int i = 0; i < 4 * COUNT(scalars); i++) {
        struct trial t = decimation_trial(&decimations[6 + i % 5], i * 3, &state);
        t.input.scalar = LW_INT16;
        t.input.is_complex = t.taps_complex = false;
        t.spread = 100;
        t.output = (struct lw_type){.scalar = scalars[i / 4], .is_swapped = i % 4 == 2};
        t.output_scale = lw_scalar_saturates(scalars[i / 4]) ? 3 : 0;
        conformance_try(&t, &state, "decimation, output types");
    }
}

static void test_decimation_not_finite(void)
{
    uint64_t state = 42;
    for (int i = 0; i < 2 * COUNT(decimations); i++) {
        struct trial t = decimation_trial(&decimations[i / 2], i, &state);
        t.input.scalar = LW_FLOAT32;
        t.mean = 0;
        t.spread = 1;
        t.mode = (enum lw_mode)(i % 3);
        conformance_bad_samples(&t, 1 + (int)(trial_random(&state) % 5), i % 2, &state);
    }
}

/* ---- values that an integer cannot hold -------------------------------------------------------------------------- */

/* Output i of a channel for a filter whose only tap is 1, in its middle: sample i itself. The output is NaN if any tap touches
 * NaN, and 0 beyond the ends. */
static double kept_sample(const struct trial_data *data, int64_t channel, int64_t i)
{
    const struct trial *const t = &data->trial;
    double value = 0;
    for (int64_t m = 0; m < t->n_taps; m++) {
        const int64_t at = i + data->look_ahead - m;
        const double x = at >= 0 && at < t->n_samples ? creal(data->values[channel * t->n_samples + at]) : 0;
        if (isnan(x))
            return x;
        value = at == i ? x : value;
    }
    return value;
}

/* Derivative as numpy.gradient computes it, but NaN also if sample i itself is NaN. */
static double kept_slope(const struct trial_data *data, int64_t channel, int64_t i)
{
    const int64_t before = i > 0 ? i - 1 : i, after = i < data->n_outputs - 1 ? i + 1 : i;
    const double slope = (kept_sample(data, channel, after) - kept_sample(data, channel, before)) / (double)(after - before);
    return isnan(kept_sample(data, channel, i)) ? NAN : slope;
}

static struct lw_loss expected_loss(const struct trial_data *data)
{
    const struct trial *const t = &data->trial;
    struct lw_loss loss = {0};
    for (int64_t c = 0; c < t->n_channels; c++) {
        for (int64_t i = 0; i < data->n_outputs; i++) {
            const double y = t->post.kind == LW_POST_DERIVATIVE ? kept_slope(data, c, i) : kept_sample(data, c, i);
            loss.n_saturated += t->n_filters * (y < INT8_MIN || y > INT8_MAX);
            loss.n_nan += t->n_filters * isnan(y);
        }
    }
    return loss;
}

/* Even numbers have integer slopes, so that no rounding error changes a result. */
static void make_even(struct trial_data *data)
{
    const struct trial *const t = &data->trial;
    for (int64_t i = 0; i < t->n_channels * t->n_samples; i++)
        data->values[i] = t->input.scalar == LW_FLOAT32 && i % 300 == 7 ? NAN : 2 * rint(creal(data->values[i]) / 2);
    for (int64_t i = 0; i < t->n_filters * t->n_taps; i++)
        data->taps[i] = i % t->n_taps == data->look_ahead;
    trial_store(data);
}

/* A derivative computes its first and last output twice; lost values count once. */
static void test_loss(void)
{
    for (int i = 0; i < 24; i++) {
        struct trial t = conformance_plain;
        t.input.scalar = i % 3 == 2 ? LW_FLOAT32 : LW_INT16;
        t.output.scalar = LW_INT8;
        t.post.kind = i % 2 ? LW_POST_DERIVATIVE : LW_POST_NONE;
        t.n_taps = (int64_t[]){1, 5, 90, 90}[i / 6];
        t.segment = i / 6 == 3 ? 256 : 0;
        t.layout = (enum lw_layout)(i / 3 % 2);
        t.n_channels = 3;
        t.n_filters = 2;
        t.n_samples = 700;
        t.spread = 900;
        struct trial_data data;
        struct trial_result result;
        trial_make(&t, &data);
        make_even(&data);
        const struct lw_loss expected = expected_loss(&data);
        if (conformance_run(&data, &result))
            CHECK(result.loss.n_saturated == expected.n_saturated && result.loss.n_nan == expected.n_nan,
                  "loss %d: %" PRId64 " saturated, %" PRId64 " NaN; expected %" PRId64 " and %" PRId64, i,
                  result.loss.n_saturated, result.loss.n_nan, expected.n_saturated, expected.n_nan);
        free(result.outputs);
        trial_free(&data);
    }
}

/* ---- not a number ------------------------------------------------------------------------------------------------ */
static void test_not_finite(void)
{
    static const int64_t taps[] = {1, 5, 200};
    uint64_t state = 38;
    for (int i = 0; i < COUNT(taps); i++) {
        for (int variant = 0; variant < 3 * COUNT(posts); variant++) {
            struct trial t = conformance_plain;
            t.post = posts[variant % COUNT(posts)];
            t.nan = variant % 7 == 6 ? LW_NAN_ZERO : LW_NAN_PROPAGATE;
            t.input = (struct lw_type){variant % 2 ? LW_FLOAT64 : LW_FLOAT32, variant / 2 % 2, variant % 5 == 0};
            t.layout = (enum lw_layout)(variant / 3 % 2);
            t.mode = (enum lw_mode)(variant % 3);
            t.boundary = (enum lw_boundary)(trial_random(&state) % 4);
            t.n_channels = 1 + (int64_t)(trial_random(&state) % 3);
            t.n_filters = 1 + variant % 2;
            t.n_taps = taps[i];
            t.segment = variant % 4 == 0 ? 256 : 0;
            t.n_samples = 900;
            t.seed = trial_random(&state);
            conformance_bad_samples(&t, 1 + (int)(trial_random(&state) % 5), variant % 2, &state);
        }
    }
}

/* Non-finite samples that just touch, or just miss, the outputs at the two ends and next to them. */
static void test_not_finite_ends(void)
{
    uint64_t state = 39;
    for (int i = 0; i < COUNT(posts); i++) {
        for (int variant = 0; variant < 8; variant++) {
            struct trial t = conformance_plain;
            t.post = posts[i];
            t.n_taps = 4;
            t.n_samples = 11 + lw_post_every(posts[i]);
            t.mode = variant % 2 ? LW_MODE_SAME : LW_MODE_FULL;
            t.boundary = (enum lw_boundary)(variant / 2);
            t.layout = (enum lw_layout)(variant / 4);
            t.n_channels = 2;
            t.seed = trial_random(&state);
            conformance_bad_samples(&t, 1, false, &state);
        }
    }
}

/* ---- all --------------------------------------------------------------------------------------------------------- */
void conformance_cuts_of_post(struct lw_engine *other)
{
    for (int i = 0; i < COUNT(posts) - 1; i++) {
        struct trial t = conformance_plain;
        t.post = posts[i];
        t.n_taps = (int64_t[]){3, 40, 129}[i % 3];
        t.segment = i % 2 ? 512 : 0;
        t.n_samples = 3000;
        t.input.is_complex = i / 2 % 2;
        t.layout = (enum lw_layout)(i / 3 % 2);
        t.n_channels = 5;
        t.n_filters = 2;
        conformance_cuts(&t, other);
    }
    uint64_t state = 43;
    for (int i = 0; i < COUNT(decimations); i += 2) {
        struct trial t = decimation_trial(&decimations[i], i, &state);
        t.n_channels = 5;
        t.n_samples *= 2;
        conformance_cuts(&t, other);
    }
}

void conformance_of_post(void)
{
    test_kinds();
    test_types();
    test_output_types();
    test_lengths();
    test_segments();
    test_long_filters();
    test_cubics();
    test_magnitudes();
    test_out_of_range();
    test_decimation();
    test_decimated_types();
    test_decimation_not_finite();
    test_loss();
    test_not_finite();
    test_not_finite_ends();
}
