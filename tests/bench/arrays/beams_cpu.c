/* beams_cpu.c - benchmark of the cpu engine's beams: 1024 channels with time slow, as a filterbank has them, of 8 bits, and 500
 * dispersion measures, on one core.
 *
 *   beams_cpu [REPEATS [SAMPLES [CASE]]]
 *
 * Delays are those of samples of 64 us: by 32 sub-bands of channels as prepsubband of PRESTO makes them, and each rounded alone.
 * "sums" is the time of the beams alone, "whole" that with a filter of one tap and its outputs in float32. Both are processor
 * seconds of SAMPLES (2^21), medians. The last column is what the plan promises for all. */
#include "base/log.h"
#include "cpu/beams/beams.h"
#include "engine/registry.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CHANNELS = 1024, BEAMS = 500, SUBBANDS = 32, BLOCK = 1 << 17, MOST_REPEATS = 101 };

/* A plan of delays: the band in MHz, and the step of the dispersion measure. */
struct band {
    const char *name;
    double low, width, step;
    bool by_subbands;
    enum lw_scalar scalar;
};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Return the delay in samples of a frequency, after the highest. */
static double delay_of(const struct band *b, double measure, double channel)
{
    static const double constant = 4.148808e3, sample = 64e-6;
    const double frequency = b->low + channel * b->width / CHANNELS, highest = b->low + b->width;
    return constant * measure * (1 / (frequency * frequency) - 1 / (highest * highest)) / sample;
}

static void make_delays(const struct band *b, int32_t *delays)
{
    for (int d = 0; d < BEAMS; d++)
        for (int c = 0; c < CHANNELS; c++) {
            const int last = (c / (CHANNELS / SUBBANDS) + 1) * (CHANNELS / SUBBANDS) - 1;
            const double middle = 0.5 * (BEAMS - 1) * b->step, measure = d * b->step;
            delays[d * CHANNELS + c] = (int32_t)(b->by_subbands ? rint(delay_of(b, measure, last)) +
                                                                      rint(delay_of(b, middle, c) - delay_of(b, middle, last))
                                                                : rint(delay_of(b, measure, c)));
        }
}

static void measure(const struct band *band, int repeats, int64_t n_samples)
{
    static int32_t delays[BEAMS * CHANNELS];
    static const double tap = 1;
    struct lw_shifts shifts = {.n = BEAMS, .n_inputs = CHANNELS, .delays = delays};
    make_delays(band, delays);
    lw_shifts_span(&shifts);
    const struct lw_op_spec spec = {
        .kind = LW_OP_OLS, .input.scalar = band->scalar, .output.scalar = LW_FLOAT32, .layout = LW_TIME_SLOW,
        .n_channels = BEAMS, .n_outputs = n_samples,
        .ols = {.taps = lw_stored_doubles(&tap, false), .n_filters = 1, .n_taps = 1, .beams = &shifts},
    };
    const struct lw_engine_spec one = {.n_threads = 1};
    struct lw_engine *engine = NULL;
    struct lw_op_plan plan;
    struct lw_error err;
    void *state = NULL;
    const double start = seconds();
    if (lw_cpu_engine.create(&one, &engine, &err) || engine->ops->op_plan(engine, &spec, &plan, &err)) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    const double planned = seconds() - start;
    const struct lw_cpu_op_size size = {BLOCK, BEAMS, 1};
    const int64_t bytes = lw_op_input_bytes(&spec, &plan, BLOCK, BEAMS);
    struct lw_slot slot = {.block = {.first = 0, .count = BLOCK, .n_channels = BEAMS}};
    slot.input = malloc((size_t)bytes);
    slot.products[0].data = calloc((size_t)lw_op_product_bytes(&plan, 0, BLOCK, BEAMS), 1);
    if (!slot.input || !slot.products[0].data || lw_cpu_op_beams.create(&spec, &plan, &size, &state, &err))
        exit(1);
    for (int64_t i = 0; i < bytes / (int64_t)lw_scalar_bytes(band->scalar); i++) {
        const uint8_t sample = (uint8_t)(96 + (i * 2654435761u >> 27) % 31);
        if (band->scalar == LW_UINT8)
            ((uint8_t *)slot.input)[i] = sample;
        else
            ((float *)slot.input)[i] = sample;
    }
    double sums[MOST_REPEATS], whole[MOST_REPEATS];
    for (int r = -1; r < repeats; r++) {
        const double first = seconds();
        lw_cpu_beams_form(state, &slot);
        const double second = seconds();
        lw_cpu_op_beams.run(state, &slot);
        sums[r < 0 ? 0 : r] = (second - first) * (double)n_samples / BLOCK;
        whole[r < 0 ? 0 : r] = (seconds() - second) * (double)n_samples / BLOCK;
    }
    qsort(sums, (size_t)repeats, sizeof *sums, by_size);
    qsort(whole, (size_t)repeats, sizeof *whole, by_size);
    const struct lw_beams_shape *const s = &plan.beams;
    printf("%-34s %6.3f %6.3f %8.3f | %3" PRId64 " x %-2" PRId64 " %6" PRId64 " %9.0f %6.3f %7.3f MB %5" PRId64 "\n", band->name,
           sums[repeats / 2], whole[repeats / 2], plan.seconds_per_output * BEAMS * (double)n_samples, s->width, s->per_band,
           s->n_sums, s->additions, planned, 1e-6 * (double)lw_cpu_op_beams.bytes(&spec, &plan, &size), shifts.after);
    lw_cpu_op_beams.destroy(state);
    lw_engine_destroy(engine);
    free(slot.input);
    free(slot.products[0].data);
}

int main(int argc, char **argv)
{
    static const struct band bands[] = {
        {"1230 to 1530 MHz, step 1, sub-bands", 1230, 300, 1, true, LW_UINT8},
        {"1230 to 1530 MHz, step 1", 1230, 300, 1, false, LW_UINT8},
        {"1230 to 1530 MHz, step 0.1", 1230, 300, 0.1, false, LW_UINT8},
        {"375 to 425 MHz, step 0.2, sub-bands", 375, 50, 0.2, true, LW_UINT8},
        {"375 to 425 MHz, step 0.2", 375, 50, 0.2, false, LW_UINT8},
        {"the first as float32", 1230, 300, 1, true, LW_FLOAT32},
    };
    const int repeats = argc > 1 ? atoi(argv[1]) : 5;
    const int64_t n_samples = argc > 2 ? atoll(argv[2]) : (int64_t)1 << 21;
    if (repeats < 1 || repeats > MOST_REPEATS)
        return 2;
    printf("%-34s %6s %6s %8s | %8s %6s %9s %6s %7s %5s\n", "", "sums", "whole", "promised", "widths", "sums", "additions",
           "plan s", "memory", "delay");
    for (size_t i = 0; i < sizeof bands / sizeof *bands; i++)
        if (argc <= 3 || (size_t)atoi(argv[3]) == i)
            measure(&bands[i], repeats, n_samples);
    return 0;
}
