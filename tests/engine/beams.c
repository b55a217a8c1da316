/* beams.c - suite of beams: what is made of beams of an array equals, to the bit for integers, what the same engine makes of beams
 * that were summed by their definition (signal/array.h). Any cuts give the same bits. */
#include "suites.h"

#include "../check.h"
#include "base/integers.h"
#include "trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))
#define MOST_SLOTS 3

/* How delays and weights of beams go. */
enum delays { RANDOM, DISPERSED, SUBBANDS, TWO_SIGNS, N_DELAYS };
enum weights { ALL_ONE, SOME_ZERO, EQUAL, DIFFERENT, N_WEIGHTS };

struct array {
    struct lw_op_spec spec;
    struct lw_shifts shifts;
    int64_t n_samples, look_ahead;
    double *values;             /* [n_inputs][n_samples] x 2 */
    bool is_summed, zeroes;     /* the channels are the beams; samples that are not finite count as 0 */
};

struct products {
    char *arrays[LW_OP_PRODUCTS];
    size_t bytes[LW_OP_PRODUCTS];
    struct lw_crossing *crossings;
    int64_t n_crossings, n_not_finite, first_channel, first_sample;
    struct lw_op_plan plan;
};

static struct lw_engine *engine;

/* ---- samples --------------------------------------------------------------------------------------------------------- */

static bool is_finite_in(const struct lw_op_spec *spec, double x)
{
    return spec->precision == LW_SINGLE ? isfinite((float)x) : isfinite(x);
}

/* Return part 0 or 1 of a sample of a channel; beyond the ends it is 0. */
static double sample_of(const struct array *a, int64_t channel, int64_t at, int part)
{
    return at < 0 || at >= a->n_samples ? 0 : a->values[2 * (channel * a->n_samples + at) + part];
}

static double beam_of(const struct array *a, int64_t beam, int64_t at, int part)
{
    double sum = 0;
    for (int64_t c = 0; c < a->shifts.n_inputs; c++) {
        const double weight = (double)lw_shifts_weight(&a->shifts, beam, c);
        if (weight == 0)
            continue;
        const int64_t from = at + a->shifts.delays[beam * a->shifts.n_inputs + c];
        const bool is_lost = !is_finite_in(&a->spec, sample_of(a, c, from, 0)) || !is_finite_in(&a->spec, sample_of(a, c, from, 1));
        const double x = !is_lost ? sample_of(a, c, from, part) : a->zeroes ? 0 : NAN;
        sum += weight * x;
    }
    return sum;
}

static void fill_input(const struct array *a, const struct lw_op_plan *plan, const struct lw_block *block, char *input)
{
    const struct lw_op_spec *const spec = &a->spec;
    const int64_t n = lw_op_inputs(spec, block->n_channels), first = spec->ols.beams ? 0 : block->channel;
    const int64_t length = plan->halo + block->count;
    const int64_t start = block->first + a->look_ahead + lw_op_reach_of(spec).after + plan->after - plan->halo;
    const size_t bytes = lw_type_bytes(spec->input), part_bytes = lw_scalar_bytes(spec->input.scalar);
    for (int64_t c = 0; c < n; c++)
        for (int64_t i = 0; i < length; i++)
            for (int part = 0; part < (spec->input.is_complex ? 2 : 1); part++) {
                const int64_t to = spec->layout == LW_TIME_FAST ? c * length + i : i * n + c;
                const double x = (a->is_summed ? beam_of : sample_of)(a, first + c, start + i, part);
                trial_put_scalar(spec->input, x, input + (size_t)to * bytes + (size_t)part * part_bytes);
            }
}

/* ---- a run ----------------------------------------------------------------------------------------------------------- */

static int compare_crossings(const void *a, const void *b)
{
    const struct lw_crossing *const x = a, *const y = b;
    const int64_t unlike[] = {x->index - y->index, x->channel - y->channel, x->filter - y->filter};
    const int64_t order = unlike[0] ? unlike[0] : unlike[1] ? unlike[1] : unlike[2];
    return (order > 0) - (order < 0);
}

static void take_rows(struct products *to, const struct lw_slot *slot, int p, int64_t first, int64_t count)
{
    const struct lw_crossing *const rows = slot->products[p].data;
    to->crossings = realloc(to->crossings, (size_t)(to->n_crossings + slot->products[p].n_rows + 1) * sizeof *rows);
    for (int64_t i = 0; i < slot->products[p].n_rows; i++)
        if (rows[i].index >= first && rows[i].index < first + count)
            to->crossings[to->n_crossings++] = rows[i];
}

static void take(const struct array *a, struct lw_op *op, struct lw_slot *slot, bool again, struct products *to)
{
    const struct lw_block *const b = &slot->block, whole = {.count = a->spec.n_outputs};
    struct lw_error err = {0};
    for (int p = 0; p < to->plan.n_products; p++) {
        const struct lw_op_product *const product = &to->plan.products[p];
        const int64_t count = lw_op_outputs(&to->plan, p, b), at = lw_op_first_output(&to->plan, p, b);
        const int64_t all = lw_op_outputs(&to->plan, p, &whole);
        const size_t bytes = lw_type_bytes(product->type);
        for (int64_t row = 0; row < product->n_planes * b->n_channels; row++) {
            const int64_t plane = row / b->n_channels, channel = b->channel + row % b->n_channels;
            memcpy(to->arrays[p] + (size_t)((plane * a->spec.n_channels + channel) * all + at) * bytes,
                   (const char *)slot->products[p].data + (size_t)(row * count) * bytes, (size_t)count * bytes);
        }
    }
    const int table = lw_op_find_product(&to->plan, LW_OP_CROSSINGS);
    const bool is_full = table >= 0 && slot->products[table].n_rows > slot->products[table].most_rows;
    if (table >= 0 && !again && !is_full)
        take_rows(to, slot, table, b->first, b->count);
    const int64_t abreast = to->plan.channel_unit, across = lw_divide_up(b->n_channels, abreast);
    const int64_t n_parts = lw_divide_up(b->count, to->plan.unit) * across * a->spec.ols.n_filters;
    for (int64_t i = 0; table >= 0 && (again || is_full) && i < n_parts; i++) {
        const int64_t first = i / a->spec.ols.n_filters / across * to->plan.unit;
        const int64_t channel = i / a->spec.ols.n_filters % across * abreast;
        const struct lw_part part = {.first = b->first + first, .count = lw_min64(to->plan.unit, b->count - first),
                                     .channel = b->channel + channel, .n_channels = lw_min64(abreast, b->n_channels - channel),
                                     .filter = (int)(i % a->spec.ols.n_filters), .n_filters = 1};
        CHECK(engine->ops->again(op, slot, &part, &err) == LW_OK, "%s", err.message);
        take_rows(to, slot, table, part.first, part.count);
    }
    if (slot->n_not_finite > 0 && (to->n_not_finite == 0 || b->first + slot->not_finite_sample < to->first_sample)) {
        to->first_channel = slot->not_finite_channel;
        to->first_sample = b->first + slot->not_finite_sample;
    }
    to->n_not_finite += slot->n_not_finite;
}

/* Run an operation in blocks of `units` and `channels`, 0: all. Blocks are taken, perhaps again, when a later one has been run. */
static struct products run(const struct array *a, int64_t units, int64_t channels, bool again)
{
    const struct lw_engine_ops *const ops = engine->ops;
    struct products to = {0};
    struct lw_op *op = NULL;
    struct lw_slot *slots[MOST_SLOTS] = {0};
    struct lw_error err = {0};
    CHECK(ops->op_plan(engine, &a->spec, &to.plan, &err) == LW_OK, "%s", err.message);
    const int64_t n = a->spec.n_outputs, count = units > 0 ? lw_min64(n, units * to.plan.unit) : n;
    const int64_t all = a->spec.n_channels;
    const int64_t n_channels = channels > 0 ? lw_min64(lw_round_up(channels, to.plan.channel_unit), all) : all;
    const int64_t on_axis = lw_divide_up(n, count), n_blocks = on_axis * lw_divide_up(a->spec.n_channels, n_channels);
    CHECK(ops->op_create(engine, &a->spec, &to.plan, count, n_channels, &op, &err) == LW_OK, "%s", err.message);
    for (int i = 0; i < MOST_SLOTS; i++)
        CHECK(ops->slot_create(op, &slots[i], &err) == LW_OK, "%s", err.message);
    for (int p = 0; p < to.plan.n_products; p++) {
        const struct lw_op_product *const product = &to.plan.products[p];
        to.bytes[p] = (size_t)(product->n_planes * a->spec.n_channels *
                               lw_op_outputs(&to.plan, p, &(struct lw_block){.count = n})) * lw_type_bytes(product->type);
        to.arrays[p] = calloc(to.bytes[p] + 1, 1);
    }
    for (int64_t i = 0; i < n_blocks + MOST_SLOTS - 1; i++) {
        struct lw_block b = {.first = i % on_axis * count, .channel = i / on_axis * n_channels, .round = i};
        b.count = lw_min64(count, n - b.first);
        b.n_channels = lw_min64(n_channels, a->spec.n_channels - b.channel);
        if (i < n_blocks) {
            fill_input(a, &to.plan, &b, slots[i % MOST_SLOTS]->input);
            CHECK(ops->submit(op, slots[i % MOST_SLOTS], &b, &err) == LW_OK && ops->wait(op, slots[i % MOST_SLOTS], &err) == LW_OK,
                  "%s", err.message);
        }
        if (i >= MOST_SLOTS - 1)
            take(a, op, slots[(i - MOST_SLOTS + 1) % MOST_SLOTS], again, &to);
    }
    for (int i = 0; i < MOST_SLOTS; i++)
        ops->slot_destroy(op, slots[i]);
    ops->op_destroy(op);
    if (to.n_crossings > 0)
        qsort(to.crossings, (size_t)to.n_crossings, sizeof *to.crossings, compare_crossings);
    return to;
}

static void release(struct products *products)
{
    for (int p = 0; p < LW_OP_PRODUCTS; p++)
        free(products->arrays[p]);
    free(products->crossings);
}

/* ---- comparison ------------------------------------------------------------------------------------------------------ */

static bool are_equal(const struct products *x, const struct products *y)
{
    bool is_equal = x->n_crossings == y->n_crossings;
    for (int64_t i = 0; is_equal && i < x->n_crossings; i++)
        is_equal = compare_crossings(&x->crossings[i], &y->crossings[i]) == 0 && x->crossings[i].re == y->crossings[i].re &&
                   x->crossings[i].im == y->crossings[i].im;
    for (int p = 0; p < x->plan.n_products; p++)
        is_equal = is_equal && x->bytes[p] == y->bytes[p] && memcmp(x->arrays[p], y->arrays[p], x->bytes[p]) == 0;
    return is_equal;
}

/* Compare the series with a limit on the errors. */
static bool are_near(const struct products *x, const struct products *y, double limit)
{
    const struct lw_type type = x->plan.products[0].type;
    const int64_t n = (int64_t)(x->bytes[0] / lw_scalar_bytes(type.scalar));
    double worst = 0;
    for (int64_t i = 0; i < n; i++) {
        const double u = lw_type_number(type, x->arrays[0], i), v = lw_type_number(type, y->arrays[0], i);
        worst = isnan(u) != isnan(v) ? INFINITY : isnan(u) ? worst : fmax(worst, fabs(u - v));
    }
    CHECK(worst <= limit, "series differ by %g, more than %g", worst, limit);
    return worst <= limit;
}

/* ---- trials ---------------------------------------------------------------------------------------------------------- */

static int32_t delay_of(enum delays kind, int64_t beam, int64_t channel, int64_t n_inputs, uint64_t *state)
{
    const double place = (double)channel / (double)n_inputs, bent = 1 / ((1 + place) * (1 + place)) - 0.25;
    const double first = floor(place * 7) / 7, bent_first = 1 / ((1 + first) * (1 + first)) - 0.25;
    switch (kind) {
    case DISPERSED: return (int32_t)rint(1.7 * (double)beam * bent);
    case SUBBANDS: return (int32_t)(rint(1.7 * (double)beam * bent_first) + rint(40 * (bent - bent_first)));
    case TWO_SIGNS: return (int32_t)rint(((double)beam - 3) * 9 * (place - 0.4));
    default: return (int32_t)(trial_random(state) % 301) - 150;
    }
}

static float weight_of(enum weights kind, uint64_t *state)
{
    static const float different[] = {0, 1, -2, 0.5f, 3};
    const uint64_t random = trial_random(state);
    switch (kind) {
    case SOME_ZERO: return (float)(random % 3 > 0);
    case EQUAL: return random % 5 > 0 ? 0.25f : 0;
    case DIFFERENT: return different[random % 5];
    default: return 1;
    }
}

static void make_values(struct array *a, uint64_t *state, int n_flaws)
{
    const struct lw_type type = a->spec.input;
    const double spread = lw_scalar_is_integer(type.scalar) && lw_scalar_bytes(type.scalar) > 1 ? 2e4 : 127;
    const int64_t n = a->shifts.n_inputs * a->n_samples;
    const double mean = lw_scalar_is_integer(type.scalar) && !lw_scalar_is_signed(type.scalar) ? spread : 0;
    a->values = calloc((size_t)(2 * n), sizeof *a->values);
    for (int64_t i = 0; i < 2 * n; i++)
        if (i % 2 == 0 || type.is_complex)
            a->values[i] = trial_kept(type.scalar, mean + spread * trial_uniform(state));
    for (int f = 0; f < n_flaws; f++)
        a->values[2 * (trial_random(state) % (uint64_t)n)] = f % 2 ? INFINITY : NAN;
}

/* Count the samples that are not finite, of channels with a weight in some beam. */
static int64_t count_flaws(const struct array *a)
{
    int64_t n = 0;
    for (int64_t c = 0; c < a->shifts.n_inputs; c++) {
        bool is_used = false;
        for (int64_t d = 0; d < a->shifts.n; d++)
            is_used |= lw_shifts_weight(&a->shifts, d, c) != 0;
        for (int64_t i = 0; is_used && i < a->n_samples; i++)
            n += !is_finite_in(&a->spec, sample_of(a, c, i, 0)) || !is_finite_in(&a->spec, sample_of(a, c, i, 1));
    }
    return n;
}

static void try(struct lw_type type, enum delays delays, enum weights weights, uint64_t *state)
{
    static const int64_t beams[] = {1, 3, 20, 70, 130}, inputs[] = {1, 2, 7, 33, 70};
    const int64_t n_beams = beams[trial_random(state) % COUNT(beams)], n_inputs = inputs[trial_random(state) % COUNT(inputs)];
    const bool is_integer = lw_scalar_is_integer(type.scalar), has_flaws = !is_integer && trial_random(state) % 2;
    const int64_t n_taps = 1 + (int64_t)(trial_random(state) % 40);
    struct array a = {.n_samples = 200 + (int64_t)(trial_random(state) % 300), .look_ahead = (int64_t)(trial_random(state) % 5)};
    int32_t *const table = calloc((size_t)(n_beams * n_inputs), sizeof *table);
    float *const factors = calloc((size_t)(n_beams * n_inputs), sizeof *factors);
    double taps[2 * 40];
    for (int64_t i = 0; i < n_beams * n_inputs; i++) {
        table[i] = delay_of(delays, i / n_inputs, i % n_inputs, n_inputs, state);
        factors[i] = weight_of(weights, state);
    }
    for (int64_t m = 0; m < 2 * n_taps; m++)
        taps[m] = (double)(float)trial_uniform(state);
    a.shifts = (struct lw_shifts){.n = n_beams, .n_inputs = n_inputs, .delays = table};
    a.shifts.weights = weights == ALL_ONE ? NULL : factors;
    lw_shifts_span(&a.shifts);
    const bool searches = trial_random(state) % 2;
    a.spec = (struct lw_op_spec){
        .kind = LW_OP_OLS, .input = type, .output = {.scalar = LW_FLOAT32, .is_complex = type.is_complex},
        .precision = type.scalar == LW_FLOAT64 || trial_random(state) % 4 == 0 ? LW_DOUBLE : LW_SINGLE,
        .layout = trial_random(state) % 2 ? LW_TIME_SLOW : LW_TIME_FAST,
        .nan = trial_random(state) % 2 ? LW_NAN_ZERO : LW_NAN_PROPAGATE,
        .n_channels = n_beams, .n_outputs = a.n_samples,
        .ols = {.taps = lw_stored_doubles(taps, false), .n_filters = 2, .n_taps = n_taps, .beams = &a.shifts,
                .segment = trial_random(state) % 2 ? 128 : 0},
    };
    if (searches)
        a.spec.ols.search = (struct lw_search){.products = LW_FILTERED | LW_PEAKS | LW_BEST | LW_BLOCKS, .threshold = 1000,
                                               .cluster = 9, .every = 100, .values = LW_BLOCK_MAX | LW_BLOCK_MEAN};
    make_values(&a, state, has_flaws ? 5 : 0);
    struct array summed = a;
    summed.is_summed = true;
    summed.zeroes = a.spec.nan == LW_NAN_ZERO;
    summed.spec.ols.beams = NULL;
    summed.spec.layout = LW_TIME_FAST;
    summed.spec.nan = LW_NAN_PROPAGATE;
    summed.spec.input.scalar = a.spec.precision == LW_DOUBLE ? LW_FLOAT64 : LW_FLOAT32;
    summed.spec.input.is_swapped = false;

    char text[40];
    struct products whole = run(&a, 0, 0, false), truth = run(&summed, 0, 0, false);
    const int64_t units = 1 + (int64_t)(trial_random(state) % 3), channels = 1 + (int64_t)(trial_random(state) % (uint64_t)n_beams);
    struct products cut = run(&a, units, channels, n_beams <= 20);
    CHECK(are_equal(&whole, &cut), "%s beams of %lld channels: %lld of them differ in other cuts", lw_type_text(type, text),
          (long long)n_inputs, (long long)n_beams);
    const bool is_exact = is_integer && lw_scalar_bytes(type.scalar) <= 2 && weights != DIFFERENT;
    const double largest = lw_scalar_is_integer(type.scalar) && lw_scalar_bytes(type.scalar) > 1 ? 6e4 : 400;
    CHECK(is_exact ? are_equal(&whole, &truth) : are_near(&whole, &truth, 1e-6 * largest * (double)(n_inputs * n_taps)),
          "%s beams of %lld channels, %lld beams, delays %d, weights %d, layout %d, nan %d", lw_type_text(type, text),
          (long long)n_inputs, (long long)n_beams, delays, weights, a.spec.layout, a.spec.nan);
    CHECK(whole.plan.halo == truth.plan.halo + a.shifts.before + a.shifts.after && whole.plan.unit == truth.plan.unit,
          "the halo is %lld", (long long)whole.plan.halo);
    CHECK(cut.n_not_finite <= count_flaws(&a) && (has_flaws || cut.n_not_finite == 0) && whole.n_not_finite == cut.n_not_finite,
          "%lld samples are not finite, %lld in cuts, %lld in all", (long long)whole.n_not_finite, (long long)cut.n_not_finite,
          (long long)count_flaws(&a));
    release(&whole);
    release(&truth);
    release(&cut);
    free(a.values);
    free(table);
    free(factors);
}

int suite_beams(const struct lw_engine_type *type, int divisor)
{
    static const struct lw_engine_spec spec = {.n_threads = 2};
    static const struct lw_type types[] = {{.scalar = LW_UINT8},  {.scalar = LW_INT8},    {.scalar = LW_INT16},
                                           {LW_UINT16, false, true}, {.scalar = LW_INT32}, {.scalar = LW_FLOAT32},
                                           {LW_FLOAT32, true, false}, {LW_FLOAT64, false, true}};
    struct lw_error err = {0};
    uint64_t state = 43;
    CHECK(type->create(&spec, &engine, &err) == LW_OK, "%s", err.message);
    for (int i = 0; engine && i < COUNT(types) * N_DELAYS * N_WEIGHTS; i += divisor)
        try(types[i % COUNT(types)], (enum delays)(i / COUNT(types) % N_DELAYS), (enum weights)(i / COUNT(types) / N_DELAYS),
            &state);
    lw_engine_destroy(engine);
    return check_result("beams");
}
