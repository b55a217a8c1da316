/* test_search.c - tests of the CUDA engine's search of series, against sums in double; any cut of the work gives the same
 * result. */
#include "gpu.h"

#include "base/integers.h"

#include <complex.h>
#include <inttypes.h>
#include <math.h>

/* A series of n_samples + n_taps - 1 outputs. Samples beyond the signal are zero. */
struct setting {
    const char *name;
    enum lw_precision precision;
    enum lw_layout layout;
    bool is_complex, taps_complex, has_nan;
    int64_t n_channels, n_samples, n_taps;
    int n_filters, segment;
    unsigned products;
    int64_t cluster, every, decimation;
    double size;                    /* size of the samples */
    enum lw_sign sign;
};

struct trial {
    struct setting s;
    bool complex_outputs;
    int64_t n_outputs;
    double complex *samples, *taps;
    struct lw_search parts;         /* stretches of the noise */
    double *noise, *given_taps;     /* [stretch][channel][filter] */
    double complex *truth;          /* [filter][channel][output] */
    double largest;                 /* size of the largest output */
};

/* Cut of the work into blocks. */
struct cut {
    int64_t units, channels;        /* 0: all */
    int64_t part_units;             /* not 0: each block's table is made again in parts of this many units, filter by filter */
    int held;                       /* filters that the operation holds at a time; 0: all */
    bool joins;                     /* the best of each group of filters are found alone, then joined, as by ranks; one block */
};

/* All results on the whole axis. Arrays are in double: [plane][channel][output]. */
struct found {
    struct lw_op_plan plan;
    struct lw_crossing *rows;
    int64_t n_rows;
    double *arrays[LW_OP_PRODUCTS];
    int64_t n[LW_OP_PRODUCTS];      /* number of doubles in an array */
    int64_t n_not_finite;
};

static void *allocated(int64_t n, size_t size)
{
    void *const memory = calloc((size_t)(n > 0 ? n : 1), size);
    if (!memory)
        abort();
    return memory;
}

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ldexp((double)(*state >> 12), -51) - 1;
}

/* ---- the truth ----------------------------------------------------------------------------------------------------- */

static void make_truth(struct trial *t)
{
    const struct setting *const s = &t->s;
    for (int64_t row = 0; row < s->n_filters * s->n_channels; row++) {
        const double complex *const h = t->taps + row / s->n_channels * s->n_taps;
        const double complex *const x = t->samples + row % s->n_channels * s->n_samples;
        for (int64_t i = 0; i < t->n_outputs; i++) {
            double complex y = 0;
            for (int64_t m = 0; m < s->n_taps; m++)
                if (i - m >= 0 && i - m < s->n_samples)
                    y += h[m] * x[i - m];
            t->truth[row * t->n_outputs + i] = y;
            t->largest = fmax(t->largest, isnan(creal(y)) ? 0 : cabs(y));
        }
    }
}

/* Make samples and taps. Filter 1 is larger than the others. Filter 0 and the last one are about as strong everywhere, so that
 * rounding decides which is the best. */
static void make_trial(const struct setting *s, struct trial *t)
{
    uint64_t state = 11;
    *t = (struct trial){
        .s = *s,
        .complex_outputs = s->is_complex || s->taps_complex,
        .n_outputs = s->n_samples + s->n_taps - 1,
        .samples = allocated(s->n_channels * s->n_samples, sizeof(double complex)),
        .taps = allocated(s->n_filters * s->n_taps, sizeof(double complex)),
        .given_taps = allocated(s->n_filters * s->n_taps, 2 * sizeof(double)),
    };
    t->truth = allocated(s->n_filters * s->n_channels * t->n_outputs, sizeof(double complex));
    for (int64_t i = 0; i < s->n_channels * s->n_samples; i++) {
        double re = s->size * uniform(&state), im = s->size * uniform(&state);
        if (s->precision == LW_SINGLE) {
            re = (float)re;
            im = (float)im;
        }
        t->samples[i] = s->has_nan && i % 1013 == 700 ? NAN : CMPLX(re, s->is_complex ? im : 0);
    }
    for (int64_t i = 0; i < s->n_filters * s->n_taps; i++) {
        const double size = (i / s->n_taps == 1 ? 9 : 1) / sqrt((double)s->n_taps);
        double re = (float)(size * uniform(&state)), im = (float)(size * uniform(&state));
        if (s->n_filters > 2 && i >= (s->n_filters - 1) * s->n_taps) {
            const double complex first = t->taps[i - (s->n_filters - 1) * s->n_taps];
            re = (float)(-(1 + 0x1p-24) * creal(first));
            im = (float)(-(1 + 0x1p-24) * cimag(first));
        }
        t->taps[i] = CMPLX(re, s->taps_complex ? im : 0);
        t->given_taps[s->taps_complex ? 2 * i : i] = re;
        if (s->taps_complex)
            t->given_taps[2 * i + 1] = im;
    }
    make_truth(t);
}

/* Make a different noise for each stretch. In the second stretch channel 0 has noise 0 for all filters. */
static void make_noise(struct trial *t)
{
    const struct setting *const s = &t->s;
    const int64_t n = lw_search_stretches(&t->parts) * s->n_channels * s->n_filters;
    t->noise = allocated(n, sizeof(double));
    for (int64_t i = 0; i < n; i++)
        t->noise[i] = i % s->n_filters == s->n_filters - 1 && s->n_filters > 2
                          ? t->noise[i - s->n_filters + 1]
                          : i % 5 == 3 ? 0 : s->size * (0.2 + 0.1 * (double)(i % 4)) * (i % s->n_filters == 1 ? 9 : 1);
    for (int64_t i = s->n_channels * s->n_filters; i < n && i < (s->n_channels + 1) * s->n_filters; i++)
        t->noise[i] = 0;
}

static double noise_of(const struct trial *t, int filter, int64_t channel, int64_t i)
{
    const int64_t stretch = lw_search_stretch(&t->parts, i);
    return t->noise[(stretch * t->s.n_channels + channel) * t->s.n_filters + filter];
}

static void free_trial(struct trial *t)
{
    free(t->samples);
    free(t->taps);
    free(t->noise);
    free(t->given_taps);
    free(t->truth);
}

/* ---- a run --------------------------------------------------------------------------------------------------------- */

static const double threshold = 2.5;

static struct lw_op_spec spec_of(const struct trial *t)
{
    const struct setting *const s = &t->s;
    const enum lw_scalar scalar = s->precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64;
    return (struct lw_op_spec){
        .kind = LW_OP_OLS,
        .input = {.scalar = scalar, .is_complex = s->is_complex},
        .output = {.scalar = scalar, .is_complex = t->complex_outputs},
        .precision = s->precision,
        .layout = s->layout,
        .n_channels = s->n_channels,
        .n_outputs = t->n_outputs,
        .ols =
            {
                .taps = lw_stored_doubles(t->given_taps, s->taps_complex),
                .n_filters = s->n_filters,
                .n_taps = s->n_taps,
                .taps_complex = s->taps_complex,
                .segment = s->segment,
                .post = {.rate = 1, .every = (int)s->decimation},
                .search = {.products = s->products,
                           .noise = t->noise,
                           .stretch = t->parts.stretch,
                           .first_stretch = t->parts.first_stretch,
                           .n_stretches = t->parts.n_stretches,
                           .threshold = threshold,
                           .cluster = s->cluster,
                           .sign = s->sign,
                           .every = s->every,
                           .values = LW_BLOCK_MAX | LW_BLOCK_MEAN | LW_BLOCK_RMS},
            },
    };
}

static void put_sample(enum lw_precision precision, void *to, int64_t i, double value)
{
    if (precision == LW_SINGLE)
        ((float *)to)[i] = (float)value;
    else
        ((double *)to)[i] = value;
}

static void fill(const struct trial *t, const struct lw_op_plan *plan, const struct lw_block *b, void *input)
{
    const struct setting *const s = &t->s;
    const int64_t row = plan->halo + b->count, first = b->first + plan->after - plan->halo;
    for (int64_t c = 0; c < b->n_channels; c++)
        for (int64_t i = 0; i < row; i++) {
            const int64_t from = first + i, at = s->layout == LW_TIME_SLOW ? i * b->n_channels + c : c * row + i;
            const double complex x = from >= 0 && from < s->n_samples ? t->samples[(b->channel + c) * s->n_samples + from] : 0;
            put_sample(s->precision, input, s->is_complex ? 2 * at : at, creal(x));
            if (s->is_complex)
                put_sample(s->precision, input, 2 * at + 1, cimag(x));
        }
}

static double number(struct lw_type type, const void *data, int64_t i)
{
    return type.scalar == LW_INT32 ? ((const int32_t *)data)[i]
                                   : type.scalar == LW_FLOAT32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

static bool is_of_best(const struct lw_op_product *product)
{
    return product->kind == LW_OP_BEST_VALUE || product->kind == LW_OP_BEST_FILTER;
}

/* Take a block's part of an array; is_recalled: put it back, for filters to go on with. */
static void take_array(const struct trial *t, const struct lw_block *b, void *data, int p, bool is_recalled, struct found *found)
{
    const struct lw_op_plan *const plan = &found->plan;
    const struct lw_op_product *const product = &plan->products[p];
    const int64_t parts = product->type.is_complex ? 2 : 1, count = lw_op_outputs(plan, p, b);
    const int64_t all = lw_divide_up(t->n_outputs, product->every), first = lw_op_first_output(plan, p, b);
    const int64_t n_planes = is_of_best(product) ? 1 : b->n_filters, first_plane = is_of_best(product) ? 0 : b->filter;
    for (int64_t row = 0; row < n_planes * b->n_channels; row++)
        for (int64_t i = 0; i < count * parts; i++) {
            const int64_t plane = row / b->n_channels, c = row % b->n_channels, o = i / parts;
            const int64_t from = t->s.layout == LW_TIME_SLOW ? (plane * count + o) * b->n_channels + c : row * count + o;
            const int64_t to = ((first_plane + plane) * t->s.n_channels + b->channel + c) * all + first + o;
            double *const its = &found->arrays[p][to * parts + i % parts];
            if (!is_recalled)
                *its = number(product->type, data, from * parts + i % parts);
            else if (product->type.scalar == LW_INT32)
                ((int32_t *)data)[from] = (int32_t)*its;
            else
                put_sample(t->s.precision, data, from * parts + i % parts, *its);
        }
}

/* Take the rows of a table, whole or in parts. A part of one unit always fits. */
static void take_rows(const struct lw_slot *slot, int p, const struct lw_block *own, struct found *found)
{
    const struct lw_slot_product *const table = &slot->products[p];
    CHECK(table->n_rows <= table->most_rows, "%" PRId64 " rows in %" PRId64, table->n_rows, table->most_rows);
    for (int64_t i = 0; i < table->n_rows && table->n_rows <= table->most_rows; i++) {
        const struct lw_crossing *const c = (const struct lw_crossing *)table->data + i;
        if (c->index < own->first || c->index >= own->first + own->count)
            continue;
        found->rows[found->n_rows] = *c;
        found->rows[found->n_rows++].filter += (int32_t)slot->block.filter;
    }
}

static void take_parts(struct lw_engine *engine, struct lw_op *op, int64_t units, struct lw_slot *slot, int p, struct found *found)
{
    const struct lw_block *const b = &slot->block;
    const int64_t step = units * found->plan.unit, channels = found->plan.channel_unit;
    for (int64_t first = b->first; first < b->first + b->count; first += step)
        for (int64_t channel = b->channel; channel < b->channel + b->n_channels; channel += channels)
            for (int filter = 0; filter < b->n_filters; filter++) {
                const struct lw_part part = {
                    .first = first, .count = lw_min64(step, b->first + b->count - first), .channel = channel,
                    .n_channels = lw_min64(channels, b->channel + b->n_channels - channel), .filter = filter, .n_filters = 1,
                };
                const struct lw_block own = {.first = part.first, .count = part.count};
                struct lw_error err = {0};
                CHECK(engine->ops->again(op, slot, &part, &err) == LW_OK, "%s", err.message);
                take_rows(slot, p, &own, found);
            }
}

static void take(struct lw_engine *engine, struct lw_op *op, const struct trial *t, const struct cut *cut, struct lw_slot *slot,
                 struct found *found)
{
    struct lw_error err = {0};
    CHECK(engine->ops->wait(op, slot, &err) == LW_OK, "%s", err.message);
    found->n_not_finite += slot->block.filter == 0 ? slot->n_not_finite : 0;
    for (int p = 0; p < found->plan.n_products; p++)
        if (found->plan.products[p].n_planes > 0)
            take_array(t, &slot->block, slot->products[p].data, p, false, found);
        else if (cut->part_units > 0 || slot->products[p].n_rows > slot->products[p].most_rows)
            take_parts(engine, op, lw_max64(cut->part_units, 1), slot, p, found);
        else
            take_rows(slot, p, &slot->block, found);
}

static int compare_rows(const void *left, const void *right)
{
    const struct lw_crossing *const a = left, *const b = right;
    const int64_t x[3] = {a->index, a->channel, a->filter}, y[3] = {b->index, b->channel, b->filter};
    for (int i = 0; i < 3; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static void open_found(const struct trial *t, struct found *found)
{
    found->rows = allocated(t->s.n_filters * t->s.n_channels * t->n_outputs, sizeof *found->rows);
    for (int p = 0; p < found->plan.n_products; p++) {
        const struct lw_op_product *const product = &found->plan.products[p];
        const int64_t planes = is_of_best(product) ? 1 : t->s.n_filters;
        const int64_t outputs = planes * t->s.n_channels * lw_divide_up(t->n_outputs, product->every);
        found->n[p] = outputs * (product->type.is_complex ? 2 : 1);
        found->arrays[p] = allocated(found->n[p], sizeof(double));
    }
}

static void close_found(struct found *found)
{
    free(found->rows);
    for (int p = 0; p < LW_OP_PRODUCTS; p++)
        free(found->arrays[p]);
}

/* Let the operation hold a block's filters. */
static void hold(struct lw_engine *engine, struct lw_op *op, const struct trial *t, const struct lw_block *block)
{
    const int64_t width = t->s.taps_complex ? 2 : 1;
    struct lw_error err = {0};
    const struct lw_ols_part part = {
        .taps = lw_stored_doubles(t->given_taps + block->filter * t->s.n_taps * width, t->s.taps_complex), .noise = t->noise,
        .first = (int)block->filter, .n = (int)block->n_filters,
    };
    CHECK(engine->ops->op_fill(op, &part, &err) == LW_OK, "%s", err.message);
}

/* Put back the best outputs of earlier filters in a slot. */
static void recall(const struct trial *t, const struct lw_block *block, struct lw_slot *slot, struct found *found)
{
    slot->goes_on = block->filter > 0 && (t->s.products & LW_BEST);
    for (int p = 0; p < found->plan.n_products && slot->goes_on; p++)
        if (is_of_best(&found->plan.products[p]))
            take_array(t, block, slot->products[p].data, p, true, found);
}

/* Join the best outputs in a slot with those of the first filters, in two pieces. */
static void join(struct lw_engine *engine, struct lw_op *op, const struct trial *t, const struct lw_slot *slot,
                 struct lw_slot *first, struct found *found)
{
    const int value = lw_op_find_product(&found->plan, LW_OP_BEST_VALUE),
              filter = lw_op_find_product(&found->plan, LW_OP_BEST_FILTER);
    const int64_t n = t->s.n_channels * t->n_outputs;
    struct lw_error err = {0};
    for (int64_t at = 0, count = n / 3; value >= 0 && at < n; at += count, count = n - at) {
        const char *const values = (const char *)slot->products[value].data +
                                   (size_t)at * lw_type_bytes(found->plan.products[value].type);
        const int32_t *const filters = (const int32_t *)slot->products[filter].data + at;
        CHECK(engine->ops->join_best(op, first, at, count, values, filters, &err) == LW_OK, "%s", err.message);
    }
    for (int p = 0; p < found->plan.n_products; p++)
        if (is_of_best(&found->plan.products[p]))
            take_array(t, &first->block, first->products[p].data, p, false, found);
}

static void run(struct lw_engine *engine, const struct trial *t, const struct cut *cut, struct found *found)
{
    struct lw_op_spec spec = spec_of(t);
    struct lw_error err = {0};
    struct lw_op *op = NULL;
    struct lw_slot *slot = NULL, *later = NULL;
    const int held = cut->held > 0 ? cut->held : t->s.n_filters;
    *found = (struct found){0};
    if (cut->held > 0) {
        spec.ols.n_bank = spec.ols.n_filters;
        spec.ols.n_filters = held;
        spec.ols.taps.data = NULL;
    }
    int rc = engine->ops->op_plan(engine, &spec, &found->plan, &err);
    const int64_t count = cut->units ? lw_min64(cut->units * found->plan.unit, t->n_outputs) : t->n_outputs;
    const int64_t wanted = cut->channels ? lw_round_up(cut->channels, found->plan.channel_unit) : t->s.n_channels;
    const int64_t channels = lw_min64(wanted, t->s.n_channels);
    if (rc || (rc = engine->ops->op_create(engine, &spec, &found->plan, count, channels, &op, &err)) ||
        (rc = engine->ops->slot_create(op, &slot, &err)) || (rc = engine->ops->slot_create(op, &later, &err))) {
        fprintf(stderr, "%s: %s\n", t->s.name, err.message);
        exit(1);
    }
    open_found(t, found);
    for (int filter = 0; filter < t->s.n_filters; filter += held)
        for (int64_t channel = 0; channel < t->s.n_channels; channel += channels)
            for (int64_t first = 0; first < t->n_outputs; first += count) {
                const struct lw_block block = {.first = first, .count = lw_min64(count, t->n_outputs - first), .channel = channel,
                                               .n_channels = lw_min64(channels, t->s.n_channels - channel), .filter = filter,
                                               .n_filters = lw_min64(held, t->s.n_filters - filter)};
                struct lw_slot *const its = cut->joins && filter > 0 ? later : slot;
                if (cut->held > 0 && channel == 0 && first == 0)
                    hold(engine, op, t, &block);
                if (!cut->joins)
                    recall(t, &block, its, found);
                fill(t, &found->plan, &block, its->input);
                CHECK(engine->ops->submit(op, its, &block, &err) == LW_OK, "%s", err.message);
                take(engine, op, t, cut, its, found);
                if (its == later)
                    join(engine, op, t, later, slot, found);
            }
    qsort(found->rows, (size_t)found->n_rows, sizeof *found->rows, compare_rows);
    engine->ops->slot_destroy(op, slot);
    engine->ops->slot_destroy(op, later);
    engine->ops->op_destroy(op);
}

/* ---- checks -------------------------------------------------------------------------------------------------------- */

static double tolerance(const struct trial *t) { return (t->s.precision == LW_SINGLE ? 3e-6 : 1e-14) * t->largest; }

static double complex truth_of(const struct trial *t, int filter, int64_t channel, int64_t i)
{
    return t->truth[(filter * t->s.n_channels + channel) * t->n_outputs + i];
}

static bool has_sign(const struct trial *t, double re)
{
    return t->s.sign == LW_SIGN_BOTH || (t->s.sign == LW_SIGN_POSITIVE && re > 0) || (t->s.sign == LW_SIGN_NEGATIVE && re < 0);
}

/* Check that rows are sorted and complete. Rows whose SNR is within the tolerance of the threshold may be present or absent. */
static void check_rows(const struct trial *t, const struct found *found)
{
    int64_t row = 0, expected = 0;
    for (int64_t i = 0; i < t->n_outputs; i++)
        for (int32_t c = 0; c < t->s.n_channels; c++)
            for (int32_t f = 0; f < t->s.n_filters; f++) {
                const double noise = noise_of(t, f, c, i), limit = threshold * noise;
                const double complex y = truth_of(t, f, c, i);
                const bool far = fabs(cabs(y) - limit) > 2 * tolerance(t);
                const bool above = noise > 0 && cabs(y) >= limit && has_sign(t, creal(y));
                const struct lw_crossing *const r = &found->rows[row];
                const bool is_there = row < found->n_rows && r->index == i && r->channel == c && r->filter == f;
                row += is_there;
                expected += above;
                if (far || isnan(creal(y)))
                    CHECK(is_there == above, "%s: filter %d, channel %d, output %" PRId64 ": |y| = %g, limit %g, %s", t->s.name, f,
                          c, i, cabs(y), limit, is_there ? "reported" : "missed");
                if (is_there)
                    CHECK(cabs(CMPLX(r->re, r->im) - y) <= tolerance(t), "%s: output %" PRId64 " is %g%+gi, not %g%+gi", t->s.name,
                          i, r->re, r->im, creal(y), cimag(y));
            }
    CHECK(row == found->n_rows, "%s: %" PRId64 " of %" PRId64 " rows are out of place", t->s.name, found->n_rows - row,
          found->n_rows);
    CHECK(expected > 20, "%s: only %" PRId64 " crossings", t->s.name, expected);
}

static double strength(const struct trial *t, int filter, int64_t channel, int64_t i)
{
    const double complex y = truth_of(t, filter, channel, i);
    const double noise = noise_of(t, filter, channel, i), size = has_sign(t, creal(y)) ? cabs(y) : -cabs(y);
    return noise > 0 ? size / noise : -INFINITY;
}

static bool has_best(const struct trial *t, int64_t channel, int64_t i)
{
    bool has = false;
    for (int f = 0; f < t->s.n_filters; f++)
        has = has || noise_of(t, f, channel, i) > 0;
    return has && !isnan(creal(truth_of(t, 0, channel, i)));
}

static void check_best(const struct trial *t, const double *values, const double *filters)
{
    const int parts = t->complex_outputs ? 2 : 1;
    const double slack = 2 * tolerance(t) / (0.2 * t->s.size);
    for (int64_t at = 0; at < t->s.n_channels * t->n_outputs; at++) {
        const int64_t c = at / t->n_outputs, i = at % t->n_outputs;
        const int filter = (int)filters[at];
        if (!has_best(t, c, i)) {
            CHECK(filter == -1 && isnan(values[parts * at]), "%s: output %" PRId64 ": filter %d of none", t->s.name, i, filter);
            continue;
        }
        CHECK(filter >= 0 && filter < t->s.n_filters, "%s: output %" PRId64 ": filter %d", t->s.name, i, filter);
        if (filter < 0 || filter >= t->s.n_filters)
            continue;
        for (int f = 0; f < t->s.n_filters; f++)
            CHECK(strength(t, f, c, i) <= strength(t, filter, c, i) + slack, "%s: channel %" PRId64 ", output %" PRId64
                  ": filter %d is stronger than %d", t->s.name, c, i, f, filter);
        const double complex value = CMPLX(values[parts * at], parts > 1 ? values[parts * at + 1] : 0);
        CHECK(cabs(value - truth_of(t, filter, c, i)) <= tolerance(t), "%s: output %" PRId64 " is %g", t->s.name, i, creal(value));
    }
}

static void check_blocks(const struct trial *t, const double *max, const double *mean, const double *rms)
{
    const int64_t n_blocks = lw_divide_up(t->n_outputs, t->s.every), parts = t->complex_outputs ? 2 : 1;
    for (int64_t at = 0; at < t->s.n_filters * t->s.n_channels * n_blocks; at++) {
        const int64_t row = at / n_blocks, begin = at % n_blocks * t->s.every, end = lw_min64(begin + t->s.every, t->n_outputs);
        double most = 0, square = 0;
        double complex sum = 0;
        for (int64_t i = begin; i < end; i++) {
            const double complex y = t->truth[row * t->n_outputs + i];
            most = fmax(most, cabs(y));
            square += pow(cabs(y) / t->s.size, 2);
            sum += y;
        }
        const double n = (double)(end - begin), size = t->s.size * sqrt(square / n);
        const double complex got = CMPLX(mean[parts * at], parts > 1 ? mean[parts * at + 1] : 0);
        if (isnan(creal(sum))) {
            CHECK(isnan(max[at]) && isnan(creal(got)) && isnan(rms[at]), "%s: block %" PRId64 " is a number", t->s.name, at);
            continue;
        }
        CHECK(fabs(max[at] - most) <= tolerance(t), "%s: block %" PRId64 ": largest %g, not %g", t->s.name, at, max[at], most);
        CHECK(cabs(got - sum / n) <= tolerance(t), "%s: block %" PRId64 ": mean %g, not %g", t->s.name, at, creal(got),
              creal(sum) / n);
        CHECK(fabs(rms[at] - size) <= tolerance(t), "%s: block %" PRId64 ": rms %g, not %g", t->s.name, at, rms[at], size);
    }
}

static void check_series(const struct trial *t, const double *y)
{
    const int64_t n = lw_divide_up(t->n_outputs, t->s.decimation), parts = t->complex_outputs ? 2 : 1;
    for (int64_t at = 0; at < t->s.n_filters * t->s.n_channels * n; at++) {
        const double complex truth = t->truth[at / n * t->n_outputs + at % n * t->s.decimation];
        const double complex got = CMPLX(y[parts * at], parts > 1 ? y[parts * at + 1] : 0);
        CHECK(isnan(creal(truth)) ? isnan(creal(got)) : cabs(got - truth) <= tolerance(t), "%s: output %" PRId64 " of %" PRId64
              " is %g, not %g", t->s.name, at % n, at / n, creal(got), creal(truth));
    }
}

static const double *array_of(const struct found *found, enum lw_op_product_kind kind)
{
    const int p = lw_op_find_product(&found->plan, kind);
    return p < 0 ? NULL : found->arrays[p];
}

static void check_found(const struct trial *t, const struct found *found)
{
    int64_t n_nan = 0;
    for (int64_t i = 0; i < t->s.n_channels * t->s.n_samples; i++)          /* the first plan.after samples belong to no block */
        n_nan += i % t->s.n_samples >= found->plan.after && isnan(creal(t->samples[i]));
    CHECK(found->n_not_finite == n_nan, "%s: %" PRId64 " not finite, not %" PRId64, t->s.name, found->n_not_finite, n_nan);
    if (t->s.products & LW_FILTERED)
        check_series(t, array_of(found, LW_OP_SERIES));
    if (t->s.products & LW_PEAKS)
        check_rows(t, found);
    if (t->s.products & LW_BEST)
        check_best(t, array_of(found, LW_OP_BEST_VALUE), array_of(found, LW_OP_BEST_FILTER));
    if (t->s.products & LW_BLOCKS)
        check_blocks(t, array_of(found, LW_OP_BLOCK_MAX), array_of(found, LW_OP_BLOCK_MEAN), array_of(found, LW_OP_BLOCK_RMS));
}

static void compare(const struct trial *t, const struct found *whole, const struct found *other, int number_of_cut)
{
    CHECK(whole->n_rows == other->n_rows &&
          memcmp(whole->rows, other->rows, (size_t)whole->n_rows * sizeof *whole->rows) == 0,
          "%s: cut %d gives other crossings (%" PRId64 ", not %" PRId64 ")", t->s.name, number_of_cut, other->n_rows,
          whole->n_rows);
    for (int p = 0; p < whole->plan.n_products; p++)
        CHECK(memcmp(whole->arrays[p], other->arrays[p], (size_t)whole->n[p] * sizeof(double)) == 0,
              "%s: cut %d gives another product %d", t->s.name, number_of_cut, p);
    CHECK(whole->n_not_finite == other->n_not_finite, "%s: cut %d: %" PRId64 " not finite", t->s.name, number_of_cut,
          other->n_not_finite);
}

/* Stretches of equal noise act like one stretch: outputs where they meet have the same bits, too. */
static void test_same_noise(struct lw_engine *engine, struct trial *t, const struct found *whole)
{
    const int64_t n = t->s.n_channels * t->s.n_filters;
    struct found other;
    double *const noise = t->noise;
    lw_search_part(&t->parts, t->n_outputs / 7, 333, t->n_outputs);
    t->noise = allocated(lw_search_stretches(&t->parts) * n, sizeof(double));
    for (int64_t i = 0; i < lw_search_stretches(&t->parts) * n; i++)
        t->noise[i] = noise[i % n];
    run(engine, t, &(struct cut){0}, &other);
    compare(t, whole, &other, -1);
    close_found(&other);
    free(noise);
}

static void test_setting(struct lw_engine *engine, const struct setting *s, int n_stretches, int n_cuts)
{
    static const struct cut cuts[] = {{0}, {.units = 1, .held = 2}, {.held = 1, .joins = true},
                                      {.units = 3, .channels = 1, .part_units = 1},
                                      {.channels = 3, .part_units = 2}, {.units = 2, .channels = 2}};
    struct trial t;
    struct found whole;
    make_trial(s, &t);
    if (n_stretches > 1)                /* the stretches end in the middle of segments, and some are no longer than a segment */
        lw_search_part(&t.parts, t.n_outputs / n_stretches, 333, t.n_outputs);
    make_noise(&t);
    run(engine, &t, &cuts[0], &whole);
    check_found(&t, &whole);
    for (int i = 1; i < n_cuts; i++) {
        struct found other;
        run(engine, &t, &cuts[i], &other);
        compare(&t, &whole, &other, i);
        close_found(&other);
    }
    printf("%s: %s, %" PRId64 " stretches of the noise, %" PRId64 " crossings\n", s->name, whole.plan.text,
           lw_search_stretches(&t.parts), whole.n_rows);
    if (n_stretches == 1)
        test_same_noise(engine, &t, &whole);
    close_found(&whole);
    free_trial(&t);
}

enum { ALL = LW_FILTERED | LW_PEAKS | LW_BEST | LW_BLOCKS };

static const struct setting settings[] = {
    {"complex", LW_SINGLE, LW_TIME_FAST, true, false, false, 1, 9000, 129, 3, 1024, LW_PEAKS | LW_BEST, 64, 1, 1, 1, LW_SIGN_BOTH},
    {"complex taps", LW_SINGLE, LW_TIME_FAST, false, true, false, 2, 3000, 129, 3, 1024, LW_PEAKS | LW_BEST, 0, 1, 1, 1,
     LW_SIGN_BOTH},
    {"hops paired", LW_SINGLE, LW_TIME_FAST, false, false, false, 1, 9000, 129, 4, 1024, LW_PEAKS | LW_BEST, 7, 1, 1, 1,
     LW_SIGN_BOTH},
    {"channels paired", LW_SINGLE, LW_TIME_FAST, false, false, false, 5, 3000, 100, 3, 1024, LW_PEAKS | LW_BEST, 1000, 1, 1, 1,
     LW_SIGN_POSITIVE},
    {"not a number", LW_SINGLE, LW_TIME_FAST, false, false, true, 3, 4000, 100, 3, 1024, ALL, 20, 100, 3, 1, LW_SIGN_BOTH},
    {"tiny", LW_SINGLE, LW_TIME_FAST, true, false, false, 1, 3000, 65, 3, 1024, ALL, 20, 7, 1, 1e-21, LW_SIGN_BOTH},
    {"long segments", LW_SINGLE, LW_TIME_FAST, true, true, true, 2, 20000, 1025, 2, 4096, LW_PEAKS | LW_BEST, 5, 1, 1, 1,
     LW_SIGN_BOTH},
    {"double", LW_DOUBLE, LW_TIME_FAST, false, false, true, 3, 3000, 100, 3, 1024, LW_PEAKS | LW_BEST, 30, 1, 1, 1e-40,
     LW_SIGN_NEGATIVE},
    {"double, complex", LW_DOUBLE, LW_TIME_FAST, true, false, false, 1, 3000, 100, 3, 1024, LW_PEAKS | LW_BEST, 30, 1, 1, 1,
     LW_SIGN_BOTH},
    {"double, squares too large", LW_DOUBLE, LW_TIME_FAST, true, false, true, 2, 3000, 100, 3, 1024, ALL, 30, 70, 1, 1e200,
     LW_SIGN_BOTH},
    {"double, squares too small", LW_DOUBLE, LW_TIME_SLOW, false, false, true, 3, 3000, 100, 3, 1024, ALL, 30, 7, 1, 1e-200,
     LW_SIGN_BOTH},
    {"time slow", LW_SINGLE, LW_TIME_SLOW, false, false, false, 7, 3000, 100, 3, 1024, LW_PEAKS | LW_BEST, 30, 1, 1, 1,
     LW_SIGN_POSITIVE},
    {"time slow, complex", LW_SINGLE, LW_TIME_SLOW, true, false, true, 5, 3000, 100, 3, 1024, ALL, 30, 1000, 1, 1, LW_SIGN_BOTH},
    {"time slow, long", LW_SINGLE, LW_TIME_SLOW, false, false, false, 3, 9000, 1025, 2, 4096, LW_PEAKS | LW_BEST, 30, 1, 1, 1,
     LW_SIGN_NEGATIVE},
    {"time slow, double", LW_DOUBLE, LW_TIME_SLOW, false, true, false, 3, 3000, 100, 3, 1024, LW_PEAKS | LW_BEST, 30, 1, 1, 1,
     LW_SIGN_BOTH},
    {"direct", LW_SINGLE, LW_TIME_FAST, false, false, true, 2, 1500, 5, 3, 0, ALL, 30, 50, 1, 1, LW_SIGN_POSITIVE},
    {"direct, time slow", LW_SINGLE, LW_TIME_SLOW, true, false, true, 3, 500, 5, 3, 0, ALL, 30, 40, 2, 1, LW_SIGN_BOTH},
    {"long", LW_SINGLE, LW_TIME_FAST, false, false, true, 3, 9000, 300, 2, 2187, ALL, 30, 5000, 1, 1, LW_SIGN_NEGATIVE},
    {"long, time slow", LW_SINGLE, LW_TIME_SLOW, false, false, false, 3, 9000, 300, 2, 2187, LW_PEAKS | LW_BEST, 30, 1, 1, 1,
     LW_SIGN_BOTH},
};

/* test_search [TURNS]: one in TURNS of the ways to cut a setting is tried, by turns, where an emulation has no time for all. */
int main(int argc, char **argv)
{
    static const struct { int stretches, cuts; } ways[] = {{1, 3}, {3, 6}, {17, 3}};
    const size_t turns = argc > 1 && atoi(argv[1]) > 0 ? (size_t)atoi(argv[1]) : 1;
    const int missing = gpu_missing("search");
    if (missing)
        return missing;
    struct lw_engine *const engine = gpu_engine();
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
            if ((i + w) % turns == 0)
                test_setting(engine, &settings[i], ways[w].stretches, ways[w].cuts);
    lw_engine_destroy(engine);
    return check_result("search");
}
