/* accuracy.c - tests of the guaranteed error (trial_bound.c) over random configurations: samples with a mean, samples with edges
 * or bursts that dominate, filters whose taps add up, segments of hop 1 and of awkward lengths, and long direct sums. */
#include "suites.h"

#include "../check.h"
#include "trial.h"

#include <stdlib.h>

#define TRIALS 400
#define MOST_SHORT_HOPS 200

static struct lw_engine *engine;
static uint64_t state = 1;
static bool is_cpu;         /* the CPU's transforms are as accurate at any length; cuFFT's of large primes need not be */

static int64_t below(int64_t n) { return (int64_t)(trial_random(&state) % (uint64_t)n); }

/* A random size, small in most cases. */
static int64_t size(int64_t largest)
{
    const int64_t kinds[] = {8, 300, 300, largest};
    return 1 + below(kinds[below(4)]);
}

static int64_t power_of_two(int64_t least)
{
    int64_t n = 1;
    while (n < least)
        n *= 2;
    return n;
}

static void draw_type(struct trial *t)
{
    t->precision = (enum lw_precision)below(2);
    t->input.scalar = (enum lw_scalar)below(LW_N_SCALARS);
    t->input.is_complex = !lw_scalar_is_integer(t->input.scalar) && below(3) == 0;
    t->taps_complex = below(4) == 0;
    t->output.scalar = t->precision == LW_DOUBLE || below(2) ? LW_FLOAT64 : LW_FLOAT32;
    t->layout = (enum lw_layout)below(2);
}

static void draw_signal(struct trial *t)
{
    static const double half[LW_N_SCALARS] = {127, 127, 32767, 32767, 2147483647, 1, 1};
    const double scale = half[t->input.scalar];
    t->signal = (enum trial_signal)below(4);
    t->filter = (enum trial_filter)below(4);
    t->spread = lw_scalar_is_integer(t->input.scalar) && t->signal != TRIAL_NOISE ? scale / 1000 : scale / 4;
    const bool is_unsigned = t->input.scalar == LW_UINT8 || t->input.scalar == LW_UINT16;
    t->mean = is_unsigned || below(2) ? scale : 0;
    if (t->signal == TRIAL_RAMP)
        t->spread = scale;
}

static void draw_length(struct trial *t)
{
    t->n_taps = size(3000);
    t->n_samples = size(6000);
    t->n_channels = 1 + below(3);
    t->n_filters = 1 + (int)below(2);
    t->mode = (enum lw_mode)below(t->n_samples >= t->n_taps ? 3 : 2);
    t->boundary = t->mode == LW_MODE_SAME ? (enum lw_boundary)below(4) : LW_BOUNDARY_ZERO;
    const int64_t segments[] = {0, 0, 0, power_of_two(t->n_taps + 1), t->n_taps, t->n_taps + below(2 * t->n_taps)};
    t->segment = (int)segments[below(is_cpu ? 6 : 4)];
    if (t->segment > 0 && t->segment < t->n_taps + 8 && t->n_samples > MOST_SHORT_HOPS)
        t->n_samples = t->n_taps > MOST_SHORT_HOPS && t->mode == LW_MODE_VALID ? t->n_taps + MOST_SHORT_HOPS : MOST_SHORT_HOPS;
    t->mode = t->n_samples < t->n_taps && t->mode == LW_MODE_VALID ? LW_MODE_FULL : t->mode;
}

static void try_one(const struct trial *t, const char *what)
{
    struct trial_data data;
    struct trial_result result;
    trial_make(t, &data);
    if (trial_run(engine, &data, &(struct trial_cut){.depth = 1}, &result))
        trial_check(&data, &result, what);
    free(result.outputs);
    trial_free(&data);
}

static void test_random(void)
{
    for (int i = 0; i < TRIALS; i++) {
        struct trial t = {.seed = trial_random(&state)};
        draw_type(&t);
        draw_signal(&t);
        draw_length(&t);
        try_one(&t, "random configuration");
    }
}

/* All products of an output are equal, so the rounding errors of their sum are equal, too, and do not cancel. */
static void test_long_sums(void)
{
    static const int64_t taps[] = {500, 2817, 20001};
    for (int i = 0; i < 6; i++) {
        const struct trial t = {
            .input = {.scalar = LW_FLOAT32},
            .output = {.scalar = LW_FLOAT64},
            .precision = i % 2 ? LW_DOUBLE : LW_SINGLE,
            .mode = LW_MODE_SAME,
            .boundary = LW_BOUNDARY_EDGE,
            .n_channels = 64,
            .n_samples = 2,
            .n_taps = taps[i / 2],
            .n_filters = 1,
            .filter = TRIAL_BOXCAR,
            .spread = 1,
            .seed = trial_random(&state),
        };
        try_one(&t, "equal products");
    }
}

/* Transforms with large prime factors have larger errors: no segment may have such a length. */
static void test_awkward_segments(void)
{
    static const int segments[] = {103, 142, 206, 214};
    for (int i = 0; i < 16; i++) {
        const int segment = segments[i / 4];
        const struct trial t = {
            .input = {.scalar = LW_FLOAT64},
            .output = {.scalar = LW_FLOAT64},
            .precision = i % 2 ? LW_DOUBLE : LW_SINGLE,
            .n_channels = 3,
            .n_samples = 250,
            .n_taps = i / 2 % 2 ? segment : segment / 2,
            .n_filters = 1,
            .segment = segment,
            .filter = TRIAL_STEP,
            .spread = 1,
            .seed = trial_random(&state),
        };
        try_one(&t, "awkward segment");
    }
}

int suite_accuracy(const struct lw_engine_type *type, int divisor)
{
    (void)divisor;
    const struct lw_engine_spec spec = {.node_ranks = 1, .share_device = true};
    struct lw_error err = {0};
    is_cpu = type == &lw_cpu_engine;
    const int rc = type->create(&spec, &engine, &err);
    if (rc == LW_ECONFIG) {         /* this processor lacks an instruction set */
        printf("skipped: no such processor: %s\n", err.message);
        return CHECK_SKIP;
    }
    if (rc) {
        fprintf(stderr, "accuracy: no engine: %s\n", err.message);
        return 1;
    }
    test_long_sums();
    if (is_cpu)
        test_awkward_segments();
    test_random();
    lw_engine_destroy(engine);
    return check_result("accuracy");
}
