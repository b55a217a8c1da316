/* test_stacks.c - tests of stacks of channels (gpu/array) against sums in double: shared and own taps, both kinds of normalizing,
 * types and layouts, delays of both signs and beyond a tile, channels without a weight, loud and quiet samples, and those that are
 * not finite. Blocks, parts of the bank and of a search change no bit. */
#include "gpu.h"

#include "base/integers.h"

#include <math.h>

enum { N_INPUTS = 5, N_FILTERS = 4, MOST_TAPS = 700 };

enum signal { NOISE, LEVELS, BURSTS, SPOILT, FLAT };

struct trial {
    int64_t n_taps, n_outputs, reach;       /* reach: largest delay, of both signs */
    int segment;
    bool own_taps;
    enum lw_normalize normalize;
    enum signal signal;
    struct lw_type type;
    enum lw_layout layout;
    enum lw_nan nan;
    unsigned products;
};

static struct lw_engine *engine;
static const struct trial *trial;
static double taps[N_FILTERS * N_INPUTS * MOST_TAPS];
static int32_t delays[N_FILTERS * N_INPUTS];
static float weights[N_FILTERS * N_INPUTS];
static struct lw_shifts stacks;

/* Return a number in [-1, 1) that depends on i alone. */
static double noise(uint64_t i)
{
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-52 - 1;
}

/* Return sample i of a channel, as the stored type holds it. */
static double sample(int64_t channel, int64_t i)
{
    const double x = noise((uint64_t)(i + 100000) * 8 + (uint64_t)channel);
    double value = 100 * x;
    if (trial->signal == LEVELS)
        value += 2000 + (i / 400 % 2 ? 1000.0 * (double)channel : 0);
    else if (trial->signal == BURSTS)
        value *= i % 1500 > 1400 ? 100 : i % 1500 < 400 ? 0.03 : 1;
    else if (trial->signal == FLAT && (i + 100 * channel) % 1000 < 400)
        value = 5;
    else if (trial->signal == SPOILT && channel == 2 && i % 1777 == 5)
        return NAN;
    return trial->type.scalar == LW_INT16 ? rint(value) : trial->type.scalar == LW_FLOAT32 ? (double)(float)value : value;
}

static void put(char *to, int64_t i, double value)
{
    if (trial->type.scalar == LW_INT16)
        ((int16_t *)(void *)to)[i] = (int16_t)value;
    else if (trial->type.scalar == LW_FLOAT32)
        ((float *)(void *)to)[i] = (float)value;
    else
        ((double *)(void *)to)[i] = value;
}

static void make(void)
{
    for (int i = 0; i < N_FILTERS * N_INPUTS; i++) {
        for (int64_t m = 0; m < trial->n_taps; m++)
            taps[i * trial->n_taps + m] =
                noise(7777777 + (uint64_t)(i * trial->n_taps + m)) * exp(-3.0 * (double)m / (double)trial->n_taps);
        delays[i] = (int32_t)(noise(99 + (uint64_t)i) * (double)trial->reach);
        weights[i] = i % 7 == 3 ? 0 : (float)(1 + 0.25 * (i % 3));
    }
    if (trial->reach > 0)
        delays[3] = 1 << 20;                /* has no weight */
    stacks = (struct lw_shifts){.n = N_FILTERS, .n_inputs = N_INPUTS, .delays = delays, .weights = weights};
    lw_shifts_span(&stacks);
}

static struct lw_op_spec spec_of(void)
{
    return (struct lw_op_spec){
        .kind = LW_OP_OLS, .input = trial->type, .output = {.scalar = LW_FLOAT32}, .layout = trial->layout, .nan = trial->nan,
        .n_channels = 1, .n_outputs = trial->n_outputs,
        .ols = {.taps = lw_stored_doubles(taps, false), .n_filters = N_FILTERS, .n_taps = trial->n_taps,
                .own_taps = trial->own_taps, .normalize = trial->normalize, .stacks = &stacks, .segment = trial->segment,
                .search = {.products = trial->products, .threshold = 1e-9, .cluster = 5}},
    };
}

/* ---- the definition --------------------------------------------------------------------------------------------------- */

/* Return an output of a channel; NaN where it is spoilt. */
static double output_of(const double *h, int64_t channel, int64_t i)
{
    const int64_t n = trial->n_taps;
    double x[MOST_TAPS], t[MOST_TAPS], mean_x = 0, mean_t = 0, product = 0, energy_x = 0, energy_t = 0;
    for (int64_t m = 0; m < n; m++) {
        x[m] = sample(channel, i + m);
        if (isnan(x[m]) && trial->nan == LW_NAN_PROPAGATE)
            return NAN;
        x[m] = isnan(x[m]) ? 0 : x[m];
        t[m] = h[n - 1 - m];
        mean_x += x[m] / (double)n;
        mean_t += t[m] / (double)n;
    }
    for (int64_t m = 0; m < n; m++) {
        const double a = x[m] - (trial->normalize == LW_NORMALIZE_DEMEANED ? mean_x : 0);
        const double b = t[m] - (trial->normalize == LW_NORMALIZE_DEMEANED ? mean_t : 0);
        product += a * b;
        energy_x += a * a;
        energy_t += b * b;
    }
    return trial->normalize == LW_NORMALIZE_NONE ? product : energy_x < 1e-20 ? 0 : product / sqrt(energy_x * energy_t);
}

static double stack_of(int filter, int64_t i)
{
    double sum = 0;
    for (int c = 0; c < N_INPUTS; c++) {
        const int at = filter * N_INPUTS + c;
        if (weights[at] != 0)
            sum += (double)weights[at] * output_of(taps + (trial->own_taps ? at : filter) * trial->n_taps, c, i + delays[at]);
    }
    return sum;
}

static const char *text(void)
{
    static char line[200];
    snprintf(line, sizeof line,
             "%lld taps, segment %d, %lld outputs, reach %lld, own %d, normalize %d, signal %d, type %d, layout %d",
             (long long)trial->n_taps, trial->segment, (long long)trial->n_outputs, (long long)trial->reach, trial->own_taps,
             trial->normalize, trial->signal, trial->type.scalar, trial->layout);
    return line;
}

/* ---- runs ------------------------------------------------------------------------------------------------------------- */

/* Results of a run: all crossings are counted and their numbers mixed, whatever their order. */
struct found {
    float *series;                          /* [N_FILTERS][n_outputs]; freed by the caller */
    int64_t n_crossings, n_not_finite, n_quiet;
    double crossings;
};

/* Add the crossings among `count` outputs from output `begin` on. */
static void add_crossings(const struct lw_slot *slot, int product, int64_t begin, int64_t count, int first, struct found *found)
{
    const struct lw_crossing *const rows = slot->products[product].data;
    CHECK(slot->products[product].n_rows <= slot->products[product].most_rows, "%s: a part has too many crossings", text());
    for (int64_t i = 0; i < lw_min64(slot->products[product].n_rows, slot->products[product].most_rows); i++) {
        if (rows[i].index < begin || rows[i].index >= begin + count)
            continue;
        found->n_crossings++;
        found->crossings += rows[i].re * (double)(1 + rows[i].index % 64 + 100 * (first + rows[i].filter));
    }
}

static void take(struct lw_op *op, const struct lw_op_plan *plan, struct lw_slot *slot, int first, bool again, struct found *found)
{
    const int series = lw_op_find_product(plan, LW_OP_SERIES), table = lw_op_find_product(plan, LW_OP_CROSSINGS);
    const struct lw_block *const block = &slot->block;
    const int n_filters = (int)plan->n_values;
    for (int f = 0; f < n_filters && first + f < N_FILTERS && series >= 0; f++)
        memcpy(found->series + (first + f) * trial->n_outputs + block->first,
               (const float *)slot->products[series].data + f * block->count, (size_t)block->count * sizeof(float));
    found->n_not_finite += first == 0 ? slot->n_not_finite : 0;
    found->n_quiet += first == 0 ? slot->n_quiet : 0;
    if (table < 0)
        return;
    if (!again && slot->products[table].n_rows <= slot->products[table].most_rows) {
        add_crossings(slot, table, block->first, block->count, first, found);
        return;
    }
    for (int f = 0; f < n_filters; f++) {
        for (int64_t at = 0; at < block->count; at += plan->unit) {
            const struct lw_part part = {block->first + at, lw_min64(plan->unit, block->count - at), 0, 1, f, 1};
            struct lw_error err;
            CHECK(engine->ops->again(op, slot, &part, &err) == LW_OK, "%s", err.message);
            add_crossings(slot, table, part.first, part.count, first, found);
        }
    }
}

/* Run the trial in blocks of so many units, and with so many filters held at a time. */
static struct found run(int64_t units, int held, bool again)
{
    struct lw_op_spec spec = spec_of();
    struct lw_op_plan plan;
    struct lw_error err = {0};
    struct lw_op *op = NULL;
    struct lw_slot *slot = NULL;
    struct found found = {.series = calloc((size_t)(N_FILTERS * trial->n_outputs), sizeof(float))};
    spec.ols.n_bank = N_FILTERS;
    spec.ols.n_filters = held;
    if (held < N_FILTERS)
        spec.ols.taps.data = NULL;
    CHECK(engine->ops->op_plan(engine, &spec, &plan, &err) == LW_OK, "%s", err.message);
    const int64_t most = lw_min64(units * plan.unit, trial->n_outputs);
    if (engine->ops->op_create(engine, &spec, &plan, most, 1, &op, &err) || engine->ops->slot_create(op, &slot, &err)) {
        CHECK(false, "%s", err.message);
        return found;
    }
    for (int first = 0; first < N_FILTERS; first += held) {
        const int64_t rows = trial->own_taps ? N_INPUTS : 1;
        const struct lw_ols_part part = {lw_stored_doubles(taps + first * rows * trial->n_taps, false), NULL, first,
                                         (int)lw_min64(held, N_FILTERS - first)};
        if (held < N_FILTERS)
            CHECK(engine->ops->op_fill(op, &part, &err) == LW_OK, "%s", err.message);
        for (int64_t i = 0; i < trial->n_outputs; i += most) {
            const struct lw_block block = {.first = i, .count = lw_min64(most, trial->n_outputs - i), .n_channels = 1,
                                           .filter = first, .n_filters = held};
            const int64_t n = plan.halo + block.count, start = i - plan.before - stacks.before;
            for (int64_t c = 0; c < N_INPUTS; c++)
                for (int64_t s = 0; s < n; s++)
                    put(slot->input, trial->layout == LW_TIME_SLOW ? s * N_INPUTS + c : c * n + s, sample(c, start + s));
            CHECK(engine->ops->submit(op, slot, &block, &err) == LW_OK && engine->ops->wait(op, slot, &err) == LW_OK, "%s",
                  err.message);
            take(op, &plan, slot, first, again, &found);
        }
    }
    engine->ops->slot_destroy(op, slot);
    engine->ops->op_destroy(op);
    return found;
}

static void check_truth(const struct found *found)
{
    double norm = 0, rms = 0, weight = 0, worst = 0;
    for (int64_t m = 0; m < trial->n_taps; m++)
        norm += taps[m] * taps[m];
    for (int64_t i = 0; i < 1000; i++)
        rms += sample(N_INPUTS - 1, i) * sample(N_INPUTS - 1, i) / 1000;
    for (int c = 0; c < N_INPUTS; c++)
        weight += (double)weights[c];
    const double allowed = trial->normalize == LW_NORMALIZE_NONE ? 2e-6 * sqrt(norm * rms) * weight : 1e-6 * weight;
    for (int f = 0; f < N_FILTERS; f++) {
        for (int64_t i = 0; i < trial->n_outputs; i += i % 50 == 49 ? 400 : 1) {
            const double truth = stack_of(f, i), y = (double)found->series[f * trial->n_outputs + i];
            if (isnan(truth) != isnan(y)) {
                CHECK(false, "%s: output %lld of filter %d is %g, not %g", text(), (long long)i, f, y, truth);
                return;
            }
            worst = isnan(truth) ? worst : fmax(worst, fabs(y - truth));
        }
    }
    CHECK(worst <= allowed, "%s: error %.3g, allowed %.3g", text(), worst, allowed);
    printf("%s: error %.3g of %.3g\n", text(), worst, allowed);
}

static void check_same(const struct found *a, const struct found *b, const char *what)
{
    CHECK(memcmp(a->series, b->series, (size_t)(N_FILTERS * trial->n_outputs) * sizeof(float)) == 0, "%s: %s changes bits", text(),
          what);
    CHECK(a->n_crossings == b->n_crossings && fabs(a->crossings - b->crossings) <= 1e-9 * fabs(a->crossings),
          "%s: %s changes crossings, %lld and %lld", text(), what, (long long)a->n_crossings, (long long)b->n_crossings);
    CHECK(a->n_quiet == b->n_quiet && (a->n_quiet > 0) == (trial->signal == FLAT), "%s: %s changes quiet windows, %lld and %lld",
          text(), what, (long long)a->n_quiet, (long long)b->n_quiet);
    CHECK((a->n_not_finite > 0) == (trial->signal == SPOILT) && (b->n_not_finite > 0) == (a->n_not_finite > 0),
          "%s: %lld and %lld samples are not finite", text(), (long long)a->n_not_finite, (long long)b->n_not_finite);
}

static void try(const struct trial *t)
{
    trial = t;
    make();
    const struct found whole = run(1000000, N_FILTERS, false);
    check_truth(&whole);
    const struct found cut = run(1, N_FILTERS, true), parts = run(2, 3, false);
    check_same(&whole, &cut, "cutting into tiles");
    check_same(&whole, &parts, "holding three filters");
    if (t->products & LW_PEAKS) {
        int64_t n = 0;
        for (int64_t i = 0; i < N_FILTERS * t->n_outputs; i++)
            n += whole.series[i] != 0 && !isnan(whole.series[i]);
        CHECK(whole.n_crossings == n, "%s: %lld crossings, not %lld", text(), (long long)whole.n_crossings, (long long)n);
    }
    free(whole.series);
    free(cut.series);
    free(parts.series);
}

static void test_refusals(void)
{
    static const struct trial plain = {.n_taps = 20, .n_outputs = 1000, .type = {.scalar = LW_FLOAT32}};
    struct lw_op_plan plan;
    struct lw_error err;
    trial = &plain;
    make();
    struct lw_op_spec spec = spec_of();
    spec.precision = LW_DOUBLE;
    CHECK(engine->ops->op_plan(engine, &spec, &plan, &err) == LW_ECONFIG, "double precision is not refused");
    spec = spec_of();
    spec.ols.n_taps = 20000;
    CHECK(engine->ops->op_plan(engine, &spec, &plan, &err) == LW_ECONFIG, "20000 taps are not refused");
    spec = spec_of();
    delays[0] = 1000000;
    CHECK(engine->ops->op_plan(engine, &spec, &plan, &err) == LW_ECONFIG, "delays of 1000000 samples are not refused");
}

int main(void)
{
    const int missing = gpu_missing("stacks");
    if (missing)
        return missing;
    engine = gpu_engine();
    static const struct lw_type f4 = {.scalar = LW_FLOAT32}, f8 = {.scalar = LW_FLOAT64}, i2 = {.scalar = LW_INT16};
    enum { BOTH = LW_FILTERED | LW_PEAKS };
    const struct trial trials[] = {
        {50, 3000, 100, 512, false, LW_NORMALIZE_NONE, NOISE, f4, LW_TIME_FAST, LW_NAN_PROPAGATE, BOTH},
        {50, 3000, 100, 512, true, LW_NORMALIZE_ENERGY, NOISE, i2, LW_TIME_SLOW, LW_NAN_PROPAGATE, BOTH},
        {200, 5000, 3000, 1024, true, LW_NORMALIZE_DEMEANED, LEVELS, f4, LW_TIME_FAST, LW_NAN_PROPAGATE, BOTH},
        {200, 5000, 0, 1024, true, LW_NORMALIZE_DEMEANED, BURSTS, f8, LW_TIME_SLOW, LW_NAN_PROPAGATE, BOTH},
        {600, 9000, 700, 2048, true, LW_NORMALIZE_DEMEANED, BURSTS, f4, LW_TIME_FAST, LW_NAN_PROPAGATE, BOTH},
        {100, 6000, 300, 0, false, LW_NORMALIZE_ENERGY, BURSTS, f4, LW_TIME_FAST, LW_NAN_PROPAGATE, BOTH},
        {37, 2500, 80, 512, true, LW_NORMALIZE_ENERGY, SPOILT, f4, LW_TIME_FAST, LW_NAN_PROPAGATE, LW_FILTERED},
        {37, 2500, 80, 512, true, LW_NORMALIZE_DEMEANED, SPOILT, f4, LW_TIME_FAST, LW_NAN_ZERO, LW_FILTERED},
        {37, 2500, 80, 512, false, LW_NORMALIZE_NONE, SPOILT, f8, LW_TIME_SLOW, LW_NAN_PROPAGATE, LW_FILTERED},
        {40, 2500, 900, 512, true, LW_NORMALIZE_NONE, SPOILT, f4, LW_TIME_FAST, LW_NAN_PROPAGATE, BOTH},
        {40, 2500, 90, 512, true, LW_NORMALIZE_DEMEANED, FLAT, f4, LW_TIME_FAST, LW_NAN_PROPAGATE, LW_FILTERED},
        {1, 700, 3, 512, true, LW_NORMALIZE_NONE, NOISE, f4, LW_TIME_FAST, LW_NAN_PROPAGATE, LW_FILTERED},
        {650, 9000, 200, 4096, false, LW_NORMALIZE_NONE, LEVELS, i2, LW_TIME_FAST, LW_NAN_PROPAGATE, LW_FILTERED},
        {700, 20000, 200, 8192, true, LW_NORMALIZE_ENERGY, NOISE, f4, LW_TIME_FAST, LW_NAN_PROPAGATE, LW_FILTERED},
    };
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        try(&trials[i]);
    test_refusals();
    lw_engine_destroy(engine);
    return check_result("stacks");
}
