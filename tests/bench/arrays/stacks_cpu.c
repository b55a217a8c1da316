/* stacks_cpu.c - benchmark of the cpu engine's stacks of channels: correlations of templates with channels, per second and core.
 *
 *   stacks_cpu [SAMPLES [TEMPLATES [CHANNELS [TAPS [REPEATS]]]]]
 *
 * A template has taps and a delay in 0 .. 3000 samples for each channel. The samples are noise in which an event that is a thousand
 * times louder comes now and then. A correlation is an output of a template in a channel. Medians of the
 * repeats' processor times are printed. */
#include "engine/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MOST_REPEATS 101
#define MOST_DELAY 3000
#define EVENT_EVERY 100000      /* samples from event to event, and of an event: an hour has three or four at 100 Hz */
#define EVENT 1500

static int64_t n_samples = 1 << 19, n_filters = 100, n_channels = 24, n_taps = 600, n_repeats = 3;
static uint64_t state = 1;

static void give_up(const char *message)
{
    fprintf(stderr, "stacks_cpu: %s\n", message);
    exit(1);
}

static void *allocate(int64_t n, size_t size)
{
    void *const memory = calloc((size_t)n, size);
    if (!memory)
        give_up("no memory");
    return memory;
}

/* Return the processor time of all threads, which other work on the machine disturbs little. */
static double processor_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Return a number of about unit variance: the sum of three uniform ones, times two. */
static double noise(void)
{
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        sum += ldexp((double)(state >> 33), -31) - 0.5;
    }
    return 2 * sum;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void run_case(const char *name, const struct lw_op_spec *spec, bool has_events)
{
    struct lw_engine *engine = NULL;
    struct lw_op *op = NULL;
    struct lw_slot *slot = NULL;
    struct lw_op_plan plan;
    struct lw_error err = {0};
    double times[MOST_REPEATS];
    if (lw_cpu_engine.create(&(struct lw_engine_spec){.n_threads = 1}, &engine, &err))
        give_up(err.message);
    const struct lw_engine_ops *const ops = engine->ops;
    const double start = processor_time();
    if (ops->op_plan(engine, spec, &plan, &err) ||
        ops->op_create(engine, spec, &plan, n_samples, spec->n_channels, &op, &err) || ops->slot_create(op, &slot, &err))
        give_up(err.message);
    const double prepared = processor_time() - start;
    const int64_t axis = plan.halo + n_samples;
    for (int64_t i = 0; i < axis * n_channels; i++)
        ((float *)slot->input)[i] = (float)(noise() * (has_events && i % axis % EVENT_EVERY < EVENT ? 1000 : 1));
    const struct lw_block block = {.count = n_samples, .n_channels = spec->n_channels, .n_filters = (int)n_filters};
    for (int64_t r = 0; r < n_repeats; r++) {
        const double begin = processor_time();
        if (ops->submit(op, slot, &block, &err) || ops->wait(op, slot, &err))
            give_up(err.message);
        times[r] = processor_time() - begin;
    }
    qsort(times, (size_t)n_repeats, sizeof *times, by_size);
    const double n = (double)(n_samples * n_channels * n_filters), taken = times[n_repeats / 2];
    printf("%-34s %8.3f s  %7.1f M/s  promised %7.1f M/s  prepared in %.3f s  %s\n", name, taken, 1e-6 * n / taken,
           1e-6 * n / (plan.seconds_per_output * (double)(n_samples * n_filters * spec->n_channels)), prepared, plan.text);
    fflush(stdout);
    ops->slot_destroy(op, slot);
    ops->op_destroy(op);
    lw_engine_destroy(engine);
}

int main(int argc, char **argv)
{
    int64_t *const numbers[] = {&n_samples, &n_filters, &n_channels, &n_taps, &n_repeats};
    for (int i = 1; i < argc && i <= 5; i++)
        *numbers[i - 1] = strtoll(argv[i], NULL, 10);
    if (n_repeats < 1 || n_repeats > MOST_REPEATS)
        give_up("REPEATS is not in 1..101");
    const int64_t rows = n_filters * n_channels;
    double *const taps = allocate(rows * n_taps, sizeof *taps);
    int32_t *const delays = allocate(rows, sizeof *delays);
    for (int64_t i = 0; i < rows * n_taps; i++)
        taps[i] = noise();
    for (int64_t i = 0; i < rows; i++)
        delays[i] = (int32_t)((i * 7919 + 13) % MOST_DELAY);
    struct lw_shifts stacks = {.n = n_filters, .n_inputs = n_channels, .delays = delays};
    lw_shifts_span(&stacks);
    struct lw_op_spec spec = {
        .kind = LW_OP_OLS, .input.scalar = LW_FLOAT32, .output.scalar = LW_FLOAT32, .n_channels = 1, .n_outputs = n_samples,
        .ols = {.taps = lw_stored_doubles(taps, false), .n_filters = (int)n_filters, .n_taps = n_taps, .own_taps = true,
                .stacks = &stacks, .normalize = LW_NORMALIZE_DEMEANED},
    };
    run_case("stack, less means", &spec, false);
    run_case("the same, with loud events", &spec, true);
    spec.ols.search = (struct lw_search){.products = LW_PEAKS, .threshold = 8, .cluster = 100};
    run_case("the same without, peaks only", &spec, false);
    spec.ols.search = (struct lw_search){0};
    spec.ols.normalize = LW_NORMALIZE_ENERGY;
    run_case("stack, energies", &spec, false);
    spec.layout = LW_TIME_SLOW;
    run_case("the same, time slow", &spec, false);
    spec.layout = LW_TIME_FAST;
    spec.ols.normalize = LW_NORMALIZE_NONE;
    run_case("stack, not normalized", &spec, false);
    free(taps);
    free(delays);
    return 0;
}
