/* array.c - the suite of filters per channel, normalized outputs and stacks (signal/array.h), against sums in long double.
 *
 * The series is checked against its definition; all other products against the series, whose bits they must have. All cuts into
 * blocks, threads and memory must give the same bytes. */
#include "suites.h"

#include "../check.h"
#include "base/integers.h"
#include "signal/array.h"
#include "trial.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHANNELS = 20, MOST_FILTERS = 9, EVERY = 37 };

/* Signals, each with its own trouble for normalized outputs. */
enum signal { NOISE, MEAN, STEPS, LOUD, GAP, TONE, HUGE_RANGE, N_SIGNALS };

struct setup {
    struct lw_type input;
    enum lw_precision precision;
    enum lw_layout layout;
    enum lw_nan nan;
    int64_t n_channels, n, n_taps, first;       /* first: sample under output 0's newest tap */
    int n_filters, segment, reach;              /* reach: largest delay of either sign */
    bool is_stack, own_taps, taps_complex, has_bad;
    enum lw_normalize normalize;
    enum signal signal;
    struct lw_post post;
    unsigned products;
    uint64_t seed;
};

struct data {
    struct setup setup;
    struct lw_op_spec spec;
    struct lw_shifts shifts;
    double complex *x, *taps;                   /* [channel][sample]; [filter][channel or 1][tap] */
    double *stored_taps;
    char *stored;
    int32_t *delays;
    float *weights;
};

/* All blocks' products, laid out as those of one block that holds everything. */
struct outcome {
    struct lw_op_plan plan;
    char *products[LW_OP_PRODUCTS];
    int64_t bytes[LW_OP_PRODUCTS];
    int64_t n_rows, n_quiet, n_not_finite;
};

static struct lw_engine *engines[2];            /* one with one thread, one with three */
static int64_t n_runs, n_refused;               /* operations; those that a device's engine leaves to the CPU */

static void *allocate(int64_t n, size_t size)
{
    void *const memory = calloc((size_t)(n > 0 ? n : 1), size);
    if (!memory)
        abort();
    return memory;
}

/* ---- data ---------------------------------------------------------------------------------------------------------- */
static double sample_of(const struct setup *t, int64_t c, int64_t i, uint64_t *state)
{
    const double noise = trial_uniform(state) + trial_uniform(state);
    const double part = (double)i / (double)t->n;
    switch (t->signal) {
    case MEAN: return 1e4 * (double)(c + 1) + noise;
    case STEPS: return noise + (part > 0.3 && part < 0.55 ? 3e4 : part > 0.8 ? -2e3 : 0);
    case LOUD: return noise * (part > 0.4 && part < 0.46 ? 1e4 : 1);
    case GAP: return part > 0.35 && part < 0.6 ? 7 : noise;
    case TONE: return noise * 0.01 + sin(0.05 * (double)i) * (part > 0.5 && part < 0.6 ? 3000 : 1);
    case HUGE_RANGE: return noise * (part > 0.5 && part < 0.52 ? 2e4 : part > 0.7 ? 100 : 1);
    default: return noise;
    }
}

static void make_samples(struct data *d, uint64_t *state)
{
    const struct setup *const t = &d->setup;
    const size_t bytes = lw_type_bytes(t->input);
    for (int64_t i = 0; i < t->n_channels * t->n; i++) {
        double parts[2] = {0};
        for (int part = 0; part < (t->input.is_complex ? 2 : 1); part++) {
            const double scale = t->input.scalar == LW_INT16 ? 100 : 1;
            parts[part] = trial_kept(t->input.scalar, scale * sample_of(t, i / t->n, i % t->n, state));
        }
        if (t->has_bad && trial_random(state) % 2000 == 0)
            parts[trial_random(state) % (t->input.is_complex ? 2 : 1)] = trial_random(state) % 2 ? NAN : INFINITY;
        d->x[i] = CMPLX(parts[0], parts[1]);
        for (size_t part = 0; part < bytes / lw_scalar_bytes(t->input.scalar); part++)
            trial_put_scalar(t->input, parts[part], d->stored + (size_t)i * bytes + part * lw_scalar_bytes(t->input.scalar));
    }
}

static void make_shifts(struct data *d, uint64_t *state)
{
    const struct setup *const t = &d->setup;
    for (int64_t i = 0; i < t->n_filters * t->n_channels; i++) {
        d->delays[i] = t->reach > 0 ? (int32_t)(trial_random(state) % (uint64_t)(2 * t->reach + 1)) - t->reach : 0;
        d->weights[i] = trial_random(state) % 4 == 0 ? 0 : (float)trial_uniform(state) + 1.5F;
    }
    if (t->reach > 0 && t->seed % 3 == 0)
        for (int64_t i = 0; i < t->n_filters * t->n_channels; i++)
            d->delays[i] = abs(d->delays[i]) + 3;
    d->shifts = (struct lw_shifts){.n = t->n_filters, .n_inputs = t->n_channels, .delays = d->delays, .weights = d->weights};
    lw_shifts_span(&d->shifts);
}

static void make_taps(struct data *d, uint64_t *state)
{
    const struct setup *const t = &d->setup;
    const int64_t rows = t->n_filters * (t->own_taps ? t->n_channels : 1);
    for (int64_t i = 0; i < rows * t->n_taps; i++) {
        const double envelope = sin(3 * (double)(i % t->n_taps + 1) / (double)t->n_taps), re = trial_uniform(state) * envelope;
        const double im = t->taps_complex ? trial_uniform(state) : 0;
        d->taps[i] = CMPLX((double)(float)(t->signal == TONE && !t->taps_complex ? sin(0.05 * (double)i) + re * 0.1 : re + 0.3),
                           (double)(float)im);
        d->stored_taps[t->taps_complex ? 2 * i : i] = creal(d->taps[i]);
        if (t->taps_complex)
            d->stored_taps[2 * i + 1] = cimag(d->taps[i]);
    }
}

static void make(const struct setup *t, struct data *d)
{
    uint64_t state = t->seed * 7919 + 11;
    const int64_t rows = t->n_filters * (t->own_taps ? t->n_channels : 1);
    *d = (struct data){
        .setup = *t, .x = allocate(t->n_channels * t->n, sizeof *d->x), .taps = allocate(rows * t->n_taps, sizeof *d->taps),
        .stored_taps = allocate(2 * rows * t->n_taps, sizeof(double)), .stored = allocate(t->n_channels * t->n, 16),
        .delays = allocate(t->n_filters * t->n_channels, sizeof *d->delays),
        .weights = allocate(t->n_filters * t->n_channels, sizeof *d->weights),
    };
    make_samples(d, &state);
    make_shifts(d, &state);
    make_taps(d, &state);
    d->spec = (struct lw_op_spec){
        .kind = LW_OP_OLS, .input = t->input, .precision = t->precision, .layout = t->layout, .nan = t->nan,
        .output = {.scalar = t->precision == LW_DOUBLE ? LW_FLOAT64 : LW_FLOAT32,
                   .is_complex = (t->input.is_complex || t->taps_complex) && !lw_post_has(t->post, LW_POST_REAL)},
        .n_channels = t->is_stack ? 1 : t->n_channels, .n_outputs = t->n,
        .ols = {.taps = lw_stored_doubles(d->stored_taps, t->taps_complex), .n_filters = t->n_filters, .n_taps = t->n_taps,
                .taps_complex = t->taps_complex, .own_taps = t->own_taps, .normalize = t->normalize, .segment = t->segment,
                .post = t->post,
                .search = {.products = t->products, .threshold = t->normalize ? 0.4 : 2, .cluster = 5, .every = EVERY,
                           .values = LW_BLOCK_MAX | LW_BLOCK_MEAN | LW_BLOCK_RMS}},
    };
}

static void release(struct data *d)
{
    free(d->x);
    free(d->taps);
    free(d->stored_taps);
    free(d->stored);
    free(d->delays);
    free(d->weights);
}

/* ---- a run --------------------------------------------------------------------------------------------------------- */

/* How a run is cut. */
struct cut {
    int threads;                /* index of the engine */
    int64_t units;              /* grid units of a block; 0: one block */
    int64_t channels;           /* channels of a block; 0: all */
    bool again;                 /* crossings of each unit, channel and filter are sought again */
};

static void fill_input(const struct data *d, const struct lw_op_plan *plan, const struct lw_block *block, char *input)
{
    const struct setup *const t = &d->setup;
    const size_t bytes = lw_type_bytes(t->input);
    const int64_t inputs = lw_op_inputs(&d->spec, block->n_channels), length = plan->halo + block->count;
    const int64_t start = block->first + t->first + lw_op_reach_of(&d->spec).after + plan->after - plan->halo;
    memset(input, 0, (size_t)(length * inputs) * bytes);
    for (int64_t c = 0; c < inputs; c++)
        for (int64_t i = lw_max64(0, -start); i < length && start + i < t->n; i++)
            memcpy(input + (size_t)(t->layout == LW_TIME_FAST ? c * length + i : i * inputs + c) * bytes,
                   d->stored + (size_t)((block->channel + c) * t->n + start + i) * bytes, bytes);
}

static void take_array(const struct data *d, const struct lw_slot *slot, int p, struct outcome *o)
{
    const struct lw_op_product *const product = &o->plan.products[p];
    const struct lw_block *const b = &slot->block, whole = {.count = d->spec.n_outputs};
    const bool is_fast = lw_op_output_layout(&d->spec) == LW_TIME_FAST;
    const int64_t count = lw_op_outputs(&o->plan, p, b), at = lw_op_first_output(&o->plan, p, b);
    const int64_t all = lw_op_outputs(&o->plan, p, &whole), channels = d->spec.n_channels;
    const size_t bytes = lw_type_bytes(product->type);
    for (int64_t plane = 0; plane < product->n_planes; plane++)
        for (int64_t c = 0; c < b->n_channels; c++)
            for (int64_t i = 0; i < count; i++) {
                const int64_t from = is_fast ? (plane * b->n_channels + c) * count + i : (plane * count + i) * b->n_channels + c;
                const int64_t to = (plane * channels + b->channel + c) * all + at + i;
                memcpy(o->products[p] + (size_t)to * bytes, (const char *)slot->products[p].data + (size_t)from * bytes, bytes);
            }
}

static void take_rows(const struct lw_slot *slot, int p, int64_t first, int64_t count, struct outcome *o)
{
    const struct lw_crossing *const rows = slot->products[p].data;
    CHECK(slot->products[p].n_rows <= slot->products[p].most_rows, "a table is too small");
    for (int64_t i = 0; i < slot->products[p].n_rows && i < slot->products[p].most_rows; i++)
        if (rows[i].index >= first && rows[i].index < first + count)
            memcpy(o->products[p] + (size_t)o->n_rows++ * sizeof *rows, &rows[i], sizeof *rows);
}

static void search_again(const struct data *d, struct lw_engine *engine, struct lw_op *op, struct lw_slot *slot, int p,
                         struct outcome *o)
{
    const struct lw_block *const b = &slot->block;
    struct lw_error err = {0};
    for (int64_t first = 0; first < b->count; first += o->plan.unit)
        for (int64_t c = 0; c < b->n_channels; c += o->plan.channel_unit)
            for (int f = 0; f < d->setup.n_filters; f++) {
                const struct lw_part part = {.first = b->first + first, .count = lw_min64(o->plan.unit, b->count - first),
                                             .channel = b->channel + c, .filter = f, .n_filters = 1,
                                             .n_channels = lw_min64(o->plan.channel_unit, b->n_channels - c)};
                CHECK(engine->ops->again(op, slot, &part, &err) == LW_OK, "%s", err.message);
                take_rows(slot, p, part.first, part.count, o);
            }
}

static int by_place(const void *a, const void *b)
{
    const struct lw_crossing *const x = a, *const y = b;
    const int64_t keys[3] = {x->index - y->index, x->channel - y->channel, x->filter - y->filter};
    for (int i = 0; i < 3; i++)
        if (keys[i] != 0)
            return keys[i] < 0 ? -1 : 1;
    return 0;
}

static bool run(const struct data *d, const struct cut *cut, struct outcome *o)
{
    struct lw_engine *const engine = engines[cut->threads];
    const struct lw_engine_ops *const ops = engine->ops;
    struct lw_error err = {0};
    struct lw_op *op = NULL;
    struct lw_slot *slot = NULL;
    *o = (struct outcome){0};
    const int64_t n = d->spec.n_outputs, all = d->spec.n_channels;
    const int rc = ops->op_plan(engine, &d->spec, &o->plan, &err);
    bool is_good = rc == LW_OK;
    n_runs++;
    if (rc == LW_ECONFIG && engine->device_bytes > 0) {
        n_refused++;
        return false;
    }
    const int64_t count = is_good && cut->units > 0 ? lw_min64(n, cut->units * o->plan.unit) : n;
    const int64_t group = cut->channels > 0 && is_good ? lw_min64(all, lw_round_up(cut->channels, o->plan.channel_unit)) : all;
    is_good = is_good && ops->op_create(engine, &d->spec, &o->plan, count, group, &op, &err) == LW_OK &&
              ops->slot_create(op, &slot, &err) == LW_OK;
    CHECK(is_good, "%s", err.message);
    for (int p = 0; is_good && p < o->plan.n_products; p++) {
        const struct lw_block whole = {.count = n};
        const struct lw_op_product *const product = &o->plan.products[p];
        o->bytes[p] = product->n_planes == 0 ? n * all * d->setup.n_filters * product->row_bytes
                                             : product->n_planes * all * lw_op_outputs(&o->plan, p, &whole) *
                                                   (int64_t)lw_type_bytes(product->type);
        o->products[p] = allocate(o->bytes[p], 1);
    }
    for (int64_t channel = 0; is_good && channel < all; channel += group) {
        for (int64_t first = 0; first < n; first += count) {
            const struct lw_block block = {.first = first, .count = lw_min64(count, n - first), .channel = channel,
                                           .n_channels = lw_min64(group, all - channel), .n_filters = d->setup.n_filters};
            fill_input(d, &o->plan, &block, slot->input);
            CHECK(ops->submit(op, slot, &block, &err) == LW_OK && ops->wait(op, slot, &err) == LW_OK, "%s", err.message);
            o->n_quiet += slot->n_quiet;
            o->n_not_finite += slot->n_not_finite;
            for (int p = 0; p < o->plan.n_products; p++) {
                if (o->plan.products[p].n_planes > 0)
                    take_array(d, slot, p, o);
                else if (cut->again || slot->products[p].n_rows > slot->products[p].most_rows)
                    search_again(d, engine, op, slot, p, o);
                else
                    take_rows(slot, p, first, block.count, o);
            }
        }
    }
    const int table = is_good ? lw_op_find_product(&o->plan, LW_OP_CROSSINGS) : -1;
    if (table >= 0)
        qsort(o->products[table], (size_t)o->n_rows, sizeof(struct lw_crossing), by_place);
    if (slot)
        ops->slot_destroy(op, slot);
    ops->op_destroy(op);
    return is_good;
}

static void drop(struct outcome *o)
{
    for (int p = 0; p < LW_OP_PRODUCTS; p++)
        free(o->products[p]);
}

/* ---- the definition ------------------------------------------------------------------------------------------------ */
static double complex x_at(const struct data *d, int64_t c, int64_t i)
{
    const double complex x = i < 0 || i >= d->setup.n ? 0 : d->x[c * d->setup.n + i];
    return d->setup.nan == LW_NAN_ZERO && !(isfinite(creal(x)) && isfinite(cimag(x))) ? 0 : x;
}

/* Return the output of a filter in a channel at time i. */
static double complex define(const struct data *d, int f, int64_t c, int64_t i)
{
    const struct setup *const t = &d->setup;
    const int64_t m = t->n_taps;
    const double complex *const h = d->taps + (t->own_taps ? f * t->n_channels + c : f) * m;
    const bool is_demeaned = t->normalize == LW_NORMALIZE_DEMEANED;
    const double complex level = x_at(d, c, i + t->first);
    long double means[4] = {0}, sums[2] = {0}, h_energy = 0, x_energy = 0, loudest = 0;
    bool is_bad = false;
    for (int64_t k = 0; k < m; k++) {
        const double complex x = x_at(d, c, i + t->first - k);
        is_bad |= !(isfinite(creal(x)) && isfinite(cimag(x)));
        means[0] += (long double)creal(h[k]) / (long double)m;
        means[1] += (long double)cimag(h[k]) / (long double)m;
        means[2] += ((long double)creal(x) - (long double)creal(level)) / (long double)m;
        means[3] += ((long double)cimag(x) - (long double)cimag(level)) / (long double)m;
    }
    if (is_bad)
        return CMPLX(NAN, lw_op_is_complex(&d->spec) ? NAN : 0);
    means[2] += (long double)creal(level);
    means[3] += (long double)cimag(level);
    for (int64_t k = 0; k < m; k++) {
        const double complex x = x_at(d, c, i + t->first - k);
        const long double a = (long double)creal(h[k]) - (is_demeaned ? means[0] : 0);
        const long double b = (long double)cimag(h[k]) - (is_demeaned ? means[1] : 0);
        const long double u = (long double)creal(x) - (is_demeaned ? means[2] : 0);
        const long double v = (long double)cimag(x) - (is_demeaned ? means[3] : 0);
        sums[0] += a * u - b * v;
        sums[1] += a * v + b * u;
        h_energy += a * a + b * b;
        x_energy += u * u + v * v;
        loudest = fmaxl(loudest, (long double)cabs(x));
    }
    const long double norm = t->normalize == LW_NORMALIZE_NONE                         ? 1
                             : x_energy > 1e-24L * loudest * loudest && h_energy > 0 ? 1 / sqrtl(h_energy * x_energy)
                                                                                       : 0;
    return CMPLX((double)(sums[0] * norm), (double)(sums[1] * norm));
}

/* Return an output of the series, and in *allowed its largest error. */
static double complex series(const struct data *d, int f, int64_t c, int64_t i, double *allowed)
{
    const struct setup *const t = &d->setup;
    const double each = t->precision == LW_DOUBLE ? 1e-12 : 1e-6;
    double complex sum = 0;
    *allowed = each;
    if (!t->is_stack)
        return define(d, f, c, i);
    *allowed = 0;
    for (int64_t k = 0; k < t->n_channels; k++) {
        const double weight = (double)d->weights[f * t->n_channels + k];
        if (weight == 0)
            continue;
        sum += weight * define(d, f, k, i + d->delays[f * t->n_channels + k]);
        *allowed += each * weight;
    }
    return sum;
}

static double complex value_at(const struct lw_type type, const char *array, int64_t i)
{
    const bool is_single = type.scalar == LW_FLOAT32;
    const float *const single = (const float *)(const void *)array;
    const double *const wide = (const double *)(const void *)array;
    if (!type.is_complex)
        return is_single ? (double)single[i] : wide[i];
    return is_single ? CMPLX((double)single[2 * i], (double)single[2 * i + 1]) : CMPLX(wide[2 * i], wide[2 * i + 1]);
}

static bool is_nan(double complex v) { return isnan(creal(v)) || isnan(cimag(v)); }

static double scale_of(const struct data *d)
{
    double largest = 1;
    for (int64_t i = 0; i < d->setup.n_channels * d->setup.n; i++)
        if (isfinite(creal(d->x[i])))
            largest = fmax(largest, cabs(d->x[i]));
    return d->setup.normalize ? 1 : largest * sqrt((double)d->setup.n_taps) * 4;
}

/* Check a part of the series' outputs, all of them if they are few. */
static void check_series(const struct data *d, const struct outcome *o, const char *what)
{
    const struct setup *const t = &d->setup;
    const int every = lw_post_every(t->post);
    const int64_t n = lw_post_length(t->post, t->n), summed = t->is_stack ? t->n_channels : 1;
    const int64_t cost = n * d->spec.n_channels * t->n_filters * t->n_taps * summed;
    const int64_t step = lw_max64(1, cost / 1500000);
    const double scale = scale_of(d);
    double worst = 0;
    int64_t n_wrong = 0, wrong = -1;
    for (int64_t at = 0; at < n * d->spec.n_channels * t->n_filters; at += step) {
        const int64_t plane = at / n, i = at % n * every;
        double allowed;
        const double complex truth = series(d, (int)(plane / d->spec.n_channels), plane % d->spec.n_channels, i, &allowed);
        const double complex made = value_at(d->spec.output, o->products[0], at);
        const double error = cabs(made - truth) / (allowed * scale);
        if (is_nan(truth) != is_nan(made) || error > 1) {
            n_wrong++;
            wrong = wrong < 0 ? at : wrong;
        }
        worst = isnan(error) ? worst : fmax(worst, error);
    }
    CHECK(n_wrong == 0, "%s, seed %llu: %lld outputs are wrong, the first is %lld of %lld, error %g of the allowed", what,
          (unsigned long long)t->seed, (long long)n_wrong, (long long)(wrong % n), (long long)n, worst);
}

/* Check crossings, best filters and blocks against the series of the same run. */
static void check_products(const struct data *d, const struct outcome *o, const char *what)
{
    const int64_t n = d->setup.n, rows = d->spec.n_channels * d->setup.n_filters;
    const int table = lw_op_find_product(&o->plan, LW_OP_CROSSINGS), best = lw_op_find_product(&o->plan, LW_OP_BEST_VALUE);
    const int largest = lw_op_find_product(&o->plan, LW_OP_BLOCK_MAX);
    const int64_t n_blocks = lw_divide_up(n, EVERY);
    const double threshold = d->spec.ols.search.threshold;
    int64_t n_crossings = 0, n_listed = 0, n_wrong = 0;         /* an engine may list a few that are just below the threshold */
    for (int64_t at = 0; at < rows * n; at++)
        n_crossings += cabs(value_at(d->spec.output, o->products[0], at)) >= threshold;
    for (int64_t r = 0; table >= 0 && r < o->n_rows; r++) {
        const struct lw_crossing *const row = (const struct lw_crossing *)o->products[table] + r;
        n_listed += cabs(CMPLX(row->re, row->im)) >= threshold;
    }
    CHECK(table < 0 || n_listed == n_crossings, "%s: %lld crossings, not %lld", what, (long long)n_listed, (long long)n_crossings);
    for (int64_t at = 0; best >= 0 && at < d->spec.n_channels * n; at++) {
        double complex strongest = NAN;
        for (int f = 0; f < d->setup.n_filters; f++) {
            const double complex y = value_at(d->spec.output, o->products[0], f * d->spec.n_channels * n + at);
            strongest = !is_nan(y) && (is_nan(strongest) || cabs(y) > cabs(strongest)) ? y : strongest;
        }
        const double complex made = value_at(o->plan.products[best].type, o->products[best], at);
        const bool is_wrong = is_nan(made) != is_nan(strongest) ||
                              fabs(cabs(made) - cabs(strongest)) > 1e-6 * cabs(made);
        n_wrong += is_wrong;
    }
    CHECK(n_wrong == 0, "%s: %lld best values are wrong", what, (long long)n_wrong);
    for (int64_t at = 0; largest >= 0 && at < rows * n_blocks; at++) {
        double expected = 0;
        for (int64_t i = at % n_blocks * EVERY; i < lw_min64(n, (at % n_blocks + 1) * EVERY); i++) {
            const double y = cabs(value_at(d->spec.output, o->products[0], at / n_blocks * n + i));
            expected = isnan(y) || isnan(expected) ? NAN : fmax(expected, y);
        }
        const double made = creal(value_at(o->plan.products[largest].type, o->products[largest], at));
        n_wrong += isnan(expected) != isnan(made) || fabs(made - expected) > 1e-6 * expected;
    }
    CHECK(n_wrong == 0, "%s: %lld largest outputs of blocks are wrong", what, (long long)n_wrong);
}

/* ---- trials -------------------------------------------------------------------------------------------------------- */
static void check_cuts(const struct data *d, const struct outcome *whole, uint64_t *state, const char *what)
{
    for (int trial = 0; trial < 2; trial++) {
        const struct cut cut = {.threads = 1, .units = 1 + (int64_t)(trial_random(state) % 3), .again = trial == 1,
                                .channels = (int64_t)(trial_random(state) % 3)};
        struct outcome other;
        if (run(d, &cut, &other)) {
            for (int p = 0; p < whole->plan.n_products; p++) {
                const int64_t bytes = whole->plan.products[p].n_planes > 0 ? whole->bytes[p]
                                                                           : whole->n_rows * (int64_t)sizeof(struct lw_crossing);
                CHECK(memcmp(whole->products[p], other.products[p], (size_t)bytes) == 0,
                      "%s, seed %llu: %lld units in a block change product %d", what, (unsigned long long)d->setup.seed,
                      (long long)cut.units, p);
            }
            CHECK(whole->n_rows == other.n_rows && whole->n_quiet == other.n_quiet && whole->n_not_finite == other.n_not_finite,
                  "%s, seed %llu: %lld rows, %lld quiet windows, %lld bad samples become %lld, %lld and %lld", what,
                  (unsigned long long)d->setup.seed, (long long)whole->n_rows, (long long)whole->n_quiet,
                  (long long)whole->n_not_finite, (long long)other.n_rows, (long long)other.n_quiet,
                  (long long)other.n_not_finite);
        }
        drop(&other);
    }
}

static void try(const struct setup *t, uint64_t *state, const char *what)
{
    struct data d;
    struct outcome whole;
    make(t, &d);
    d.spec.ols.stacks = t->is_stack ? &d.shifts : NULL;
    if (run(&d, &(struct cut){0}, &whole)) {
        check_series(&d, &whole, what);
        if (t->products & ~(unsigned)LW_FILTERED)
            check_products(&d, &whole, what);
        check_cuts(&d, &whole, state, what);
        int64_t n_bad = 0;
        for (int64_t c = 0; c < t->n_channels; c++)
            for (int64_t i = 0; i < t->n; i++)
                n_bad += !isfinite(creal(d.x[c * t->n + i])) || !isfinite(cimag(d.x[c * t->n + i]));
        CHECK(whole.n_not_finite <= n_bad && (t->n < 2500 || n_bad == 0 || whole.n_not_finite > 0),
              "%s: %lld of %lld bad samples found", what,
              (long long)whole.n_not_finite, (long long)n_bad);
    }
    drop(&whole);
    release(&d);
}

static struct setup draw(uint64_t *state)
{
    static const int64_t taps[] = {1, 2, 7, 33, 150, 301};
    static const struct lw_type types[] = {{.scalar = LW_FLOAT32}, {.scalar = LW_FLOAT64}, {.scalar = LW_INT16},
                                           {.scalar = LW_FLOAT32, .is_complex = true}};
    static const unsigned products[] = {LW_FILTERED, LW_FILTERED | LW_PEAKS, LW_FILTERED | LW_PEAKS | LW_BEST | LW_BLOCKS};
    struct setup t = {
        .input = types[trial_random(state) % 4], .precision = trial_random(state) % 4 == 0 ? LW_DOUBLE : LW_SINGLE,
        .layout = trial_random(state) % 2 ? LW_TIME_SLOW : LW_TIME_FAST,
        .nan = trial_random(state) % 2 ? LW_NAN_ZERO : LW_NAN_PROPAGATE,
        .n_channels = 1 + (int64_t)(trial_random(state) % MOST_CHANNELS), .n = 1 + (int64_t)(trial_random(state) % 3000),
        .n_taps = taps[trial_random(state) % 6], .n_filters = 1 + (int)(trial_random(state) % MOST_FILTERS),
        .is_stack = trial_random(state) % 3 != 0, .own_taps = trial_random(state) % 2, .normalize = trial_random(state) % 3,
        .taps_complex = trial_random(state) % 5 == 0,
        .signal = trial_random(state) % 2 ? NOISE : (enum signal)(trial_random(state) % N_SIGNALS),
        .products = products[trial_random(state) % 3], .has_bad = trial_random(state) % 4 == 0,
        .seed = trial_random(state) % 100000,
    };
    if (t.input.scalar == LW_INT16) {
        t.signal = NOISE;
        t.has_bad = false;
    }
    if (t.normalize != LW_NORMALIZE_NONE && t.n_taps < 7)
        t.n_taps = 7;
    if (t.n_taps < 30)          /* single samples have any energy, also one that counts as none */
        t.signal = NOISE;
    t.reach = trial_random(state) % 3 == 0 ? 0 : (int)(trial_random(state) % 900);
    t.segment = trial_random(state) % 2 ? 0 : (int)(t.n_taps + 60 + (int64_t)(trial_random(state) % 500));
    t.first = (int64_t)(trial_random(state) % (uint64_t)(t.n_taps + 1));
    return t;
}

static void test_random(int divisor)
{
    uint64_t state = 41;
    for (int i = 0; i < 120; i++) {
        const struct setup t = draw(&state);
        if (i % divisor == 0)
            try(&t, &state, "random arrays");
    }
}

/* Decimation, amplitudes and interpolation of stacks. Interpolated outputs are checked by their cuts alone. */
static void test_post(void)
{
    uint64_t state = 42;
    for (int i = 0; i < 3; i++) {
        struct setup t = draw(&state);
        t.signal = NOISE;
        t.has_bad = false;
        t.is_stack = i != 1;
        t.products = LW_FILTERED;
        t.n = 2500;
        t.post.every = i == 2 ? 1 : 7;
        try(&t, &state, "thinned out");
        t.post = (struct lw_post){.rate = 3, .kind = LW_POST_POWER};
        struct data d;
        struct outcome whole;
        make(&t, &d);
        d.spec.ols.stacks = t.is_stack ? &d.shifts : NULL;
        if (run(&d, &(struct cut){0}, &whole))
            check_cuts(&d, &whole, &state, "interpolated");
        drop(&whole);
        release(&d);
    }
}

/* Coefficients to 1e-6 for signals that are hard on transforms in single precision. */
static void test_hard(int divisor)
{
    uint64_t state = 43;
    int number = 0;
    for (int signal = 0; signal < N_SIGNALS; signal++) {
        for (int variant = 0; variant < 8; variant++) {
            const struct setup t = {
                .input.scalar = variant % 2 ? LW_FLOAT64 : LW_FLOAT32, .layout = variant / 2 % 2 ? LW_TIME_SLOW : LW_TIME_FAST,
                .precision = variant == 7 ? LW_DOUBLE : LW_SINGLE, .n_channels = 3, .n = 9000, .n_taps = variant < 4 ? 600 : 40,
                .n_filters = 2, .reach = variant % 3 * 700, .is_stack = variant != 1, .own_taps = variant > 1, .first = 300,
                .normalize = variant % 4 == 3 ? LW_NORMALIZE_ENERGY : LW_NORMALIZE_DEMEANED, .signal = (enum signal)signal,
                .products = LW_FILTERED, .segment = variant % 2 ? 0 : 2048, .seed = (uint64_t)(variant + 10 * signal),
            };
            if (number++ % divisor == 0)
                try(&t, &state, "hard signals");
        }
    }
}

/* A gap of equal samples: its windows count, and give exactly 0. */
static void test_gap(void)
{
    struct setup t = {.input.scalar = LW_FLOAT32, .n_channels = 2, .n = 6000, .n_taps = 100, .n_filters = 2, .first = 50,
                      .normalize = LW_NORMALIZE_DEMEANED, .signal = GAP, .products = LW_FILTERED, .segment = 512, .seed = 5};
    struct data d;
    struct outcome o;
    make(&t, &d);
    int64_t n_flat = 0, n_not_zero = 0;
    if (run(&d, &(struct cut){0}, &o)) {
        for (int64_t at = 0; at < t.n_channels * t.n; at++) {
            const int64_t c = at / t.n, i = at % t.n + t.first;
            bool is_flat = true;
            for (int64_t k = 1; k < t.n_taps; k++)
                is_flat &= x_at(&d, c, i - k) == x_at(&d, c, i);
            n_flat += is_flat;
            n_not_zero += is_flat && value_at(d.spec.output, o.products[0], at) != 0;
        }
        CHECK(o.n_quiet == n_flat && n_flat > 2000 && n_not_zero == 0, "%lld quiet windows, not %lld; %lld are not 0",
              (long long)o.n_quiet, (long long)n_flat, (long long)n_not_zero);
    }
    drop(&o);
    release(&d);
}

int suite_array(const struct lw_engine_type *type, int divisor)
{
    for (int i = 0; i < 2; i++) {
        struct lw_error err = {0};
        if (type->create(&(struct lw_engine_spec){.n_threads = i == 0 ? 1 : 3}, &engines[i], &err)) {
            printf("array: skipped, %s\n", err.message);
            return 77;
        }
    }
    test_random(divisor);
    test_post();
    test_hard(divisor);
    test_gap();
    for (int i = 0; i < 2; i++)
        lw_engine_destroy(engines[i]);
    printf("array: %lld of %lld operations are left to another engine\n", (long long)n_refused, (long long)n_runs);
    CHECK(4 * n_refused < 3 * n_runs, "the engine leaves %lld of %lld operations", (long long)n_refused, (long long)n_runs);
    return check_result("array");
}
