/* choose.c - choice of method and segment length, by a cost model with fixed numbers, so that every rank, run and memory budget
 * makes the same choice. */
#include "cpu/ols/ols.h"

#include "cpu/dispatch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define LEAST_SEGMENT 64

/* The longest segment chosen: LONG_SEGMENT, or MOST_TAPS_PER_SEGMENT filter lengths. Longer ones mostly cost memory. */
#define LONG_SEGMENT 65536
#define MOST_TAPS_PER_SEGMENT 8

/* A segment of twice the length is chosen beyond LONG_SEGMENT if it costs less than CLEARLY times as much: it takes more of the
 * memory's rate, which threads share, and which no table knows. */
#define CLEARLY 0.9

#define MOST_SEGMENT (1 << 30)
#define MOST_TAPS (MOST_SEGMENT / 2)

/* Outputs of a channel that the direct method makes at a time: input and output fit the nearest cache. */
#define DIRECT_HOP 2048

/* Nanoseconds per item below, measured with tests/bench/ols_cpu on a core of a 4 GHz server processor (Zen 5). The last entry of a
 * table holds for all longer transforms, too. Transforms of 2^13 points and more are those of cpu/kernels/long.c. */
enum { POWERS = 23 };
struct costs {
    double forward_point[POWERS];       /* complex point of a transform of 2^i points */
    double inverse_point[POWERS];       /* the same of an inverse transform, without the product before it */
    double strip_point[POWERS];         /* the same, searched strip by strip; short ones: not used */
    double product_point;       /* complex point and filter */
    double product_packed_point; /* the same with PACKED */
    double far_byte;            /* byte of a large bank's spectra, from memory */
    double fresh_byte;          /* byte of a spectrum that is made of taps: new memory, written and copied */
    double load_real, store_real;       /* working real: conversion, screening, mirror image */
    double far_store_real;      /* added to store_real behind a segment that has left the caches */
    double peak_real, best_real, block_real;    /* working real: search for peaks, the best filter, statistics of blocks */
    double energy_real, gain_real;      /* normalized: sample's energies, square roots; output's gain. Stacks: addition to sums */
    double vector_product;      /* one fused multiply-add of a whole vector */
    double transposed_real;     /* time slow: real in and out */
    double spilled_real;        /* time slow: the same, per SPILL_BYTES of a tile of channels */
};

/* Costs grow with the bytes of a tile, as it leaves one cache level after the other, up to MOST_SPILLS times SPILL_BYTES. */
#define SPILL_BYTES (256 << 10)
#define MOST_SPILLS 8

/* A bank of so many bytes does not stay in the caches. Long transforms fetch HIDDEN_BYTES of it per point while they compute. */
#define FAR_BYTES (12 << 20)
#define HIDDEN_BYTES 4

/* A segment whose buffers have so many bytes has left the caches when its outputs are stored. */
#define FAR_SEGMENT (8 << 20)

/* Most bytes of the spectra of a stack's channels in a lane. */
#define LANE_BYTES (8 << 20)

/* Nanoseconds of a step of lw_op_prepare_steps. */
#define STEP_COST 2

#define SHORT_FLOATS 9, 5, 2.5, 1.3, 0.75, 0.55, 0.48, 1.1, 0.9, 0.53, 0.57, 0.63, 0.84
#define SHORT_DOUBLES 9, 5, 2.5, 1.6, 1.2, 1.0, 1.0, 1.0, 1.0, 1.1, 1.2, 1.4, 1.8

static const struct costs single_costs = {
    .forward_point = {SHORT_FLOATS, 0.76, 0.75, 0.86, 0.92, 1.0, 1.1, 1.5, 2.3, 2.6, 2.8},
    .inverse_point = {SHORT_FLOATS, 0.83, 0.83, 0.95, 0.97, 1.1, 1.2, 1.7, 2.4, 2.7, 2.9},
    .strip_point = {SHORT_FLOATS, 0.82, 0.82, 0.93, 0.94, 1.06, 1.13, 1.4, 1.9, 2.2, 2.4},
    .product_point = 0.15, .product_packed_point = 0.28, .far_byte = 0.023, .fresh_byte = 0.2, .load_real = 0.15,
    .store_real = 0.1, .far_store_real = 0.1, .peak_real = 0.05, .best_real = 0.2, .block_real = 0.2, .vector_product = 0.3,
    .transposed_real = 0.2, .spilled_real = 0.12, .energy_real = 6, .gain_real = 0.1,
};
static const struct costs double_costs = {
    .forward_point = {SHORT_DOUBLES, 1.25, 1.5, 1.7, 1.8, 1.95, 2.4, 4.1, 4.7, 4.9, 5.2},
    .inverse_point = {SHORT_DOUBLES, 1.3, 1.5, 1.8, 1.9, 2.0, 2.7, 4.1, 5.1, 5.4, 5.7},
    .strip_point = {SHORT_DOUBLES, 1.2, 1.4, 1.75, 1.8, 2.0, 2.3, 3.3, 4.2, 4.5, 4.8},
    .product_point = 0.3, .product_packed_point = 0.55, .far_byte = 0.023, .fresh_byte = 0.2, .load_real = 0.3,
    .store_real = 0.2, .far_store_real = 0.2, .peak_real = 0.1, .best_real = 0.3, .block_real = 0.25, .vector_product = 0.3,
    .transposed_real = 0.4, .spilled_real = 0.24, .energy_real = 6, .gain_real = 0.2,
};

/* Return the nanoseconds of a transform. */
static double fft_cost(const double *point_costs, int64_t points)
{
    const int power = 63 - __builtin_clzll((unsigned long long)points);
    const int64_t odd_part = points >> __builtin_ctzll((unsigned long long)points);
    const double slower = odd_part > 1 ? 2 : 1;         /* FFTW's estimated plans of other lengths are slower */
    return slower * (double)points * point_costs[power < POWERS ? power : POWERS - 1];
}

/* Return the nanoseconds per real, in or out, for transposing a tile of channels; 0 if time is fast. */
static double tile_cost(const struct costs *costs, const struct lw_cpu_ols_shape *shape)
{
    const double buffers = shape->keeps && shape->method != LW_CPU_OLS_DIRECT ? 3 : 1;
    const double reals = (double)(shape->tile * shape->length * shape->width);
    const double spills = buffers * reals * (double)shape->kernels->real_bytes / SPILL_BYTES;
    if (shape->tile == 1)
        return 0;
    return costs->transposed_real + costs->spilled_real * (spills < MOST_SPILLS ? spills : MOST_SPILLS);
}

/* Return the nanoseconds of one filter's product, and with the inverse transform. */
static double product_cost(const struct costs *costs, const struct lw_cpu_ols_shape *shape)
{
    const bool is_packed = shape->method == LW_CPU_OLS_PACKED, is_long = shape->kernels->fft_shape(shape->points).rows > 1;
    const double points = (double)shape->points, point_bytes = (double)shape->kernels->real_bytes * (is_packed ? 4 : 2);
    const double far_bytes = point_bytes * points * (double)(shape->n_bank * shape->own) < FAR_BYTES ? 0
                             : is_long ? point_bytes - HIDDEN_BYTES : point_bytes;
    const double near_cost = is_packed ? costs->product_packed_point : costs->product_point;
    const double summed_bytes = shape->folded ? point_bytes : 0;        /* spectra of channels, from the farthest cache */
    return points * (near_cost + (far_bytes / (double)shape->run + summed_bytes) * costs->far_byte);
}

static double filter_cost(const struct costs *costs, const struct lw_cpu_ols_shape *shape, bool is_only_searched)
{
    const bool is_long = shape->kernels->fft_shape(shape->points).rows > 1;
    return fft_cost(is_only_searched && is_long ? costs->strip_point : costs->inverse_point, shape->points) +
           product_cost(costs, shape);
}

/* Return the nanoseconds per real of what is made of a filter's outputs. */
static double products_cost(const struct costs *costs, const struct lw_cpu_ols_shape *shape, unsigned products)
{
    const double segment = 2 * (double)(shape->points * (int64_t)shape->kernels->real_bytes) * 4;
    const double store = costs->store_real + (segment < FAR_SEGMENT ? 0 : costs->far_store_real) + tile_cost(costs, shape);
    return (products & LW_FILTERED ? store : 0) + (products & LW_PEAKS ? costs->peak_real : 0) +
           (products & LW_BEST ? costs->best_real : 0) + (products & LW_BLOCKS ? costs->block_real : 0);
}

/* Return the nanoseconds for one segment of one channel and all filters; of a stack, for one segment of all its outputs. */
static double segment_cost(const struct costs *costs, const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape)
{
    const unsigned products = lw_search_products(&spec->ols.search);
    const double reals_in = (double)(shape->length * shape->width);
    const double reals_out = (double)(shape->hop * shape->width * shape->rate);
    double per_filter = products_cost(costs, shape, products) * reals_out;
    double once = (costs->load_real + tile_cost(costs, shape)) * reals_in;
    if (shape->method == LW_CPU_OLS_DIRECT) {
        const double per_vector = (double)shape->kernels->direct_step / 8, reals = (double)(shape->hop * shape->width);
        per_filter += reals * (double)shape->n_taps * (spec->ols.taps_complex ? 2 : 1) * costs->vector_product / per_vector;
    } else {
        once += fft_cost(costs->forward_point, shape->points);
        per_filter += filter_cost(costs, shape, products == LW_PEAKS && !lw_op_is_array(spec));
    }
    if (spec->ols.normalize != LW_NORMALIZE_NONE) {
        once += costs->energy_real * reals_in;
        per_filter += costs->gain_real * reals_out;
    }
    if (shape->folded)
        return (double)shape->summed * once + (per_filter + (double)(shape->summed - 1) * product_cost(costs, shape)) *
                                                  (double)shape->n_bank;
    if (shape->summed > 0) {            /* delays need parts of one segment more than a task's own */
        const double made = products_cost(costs, shape, products) * reals_out, run = (double)shape->run;
        per_filter += costs->gain_real * reals_out - made;
        return ((double)shape->rows / run * once + (double)shape->summed * (run + 1) / run * per_filter * (double)shape->n_bank) +
               made * (double)shape->n_bank;
    }
    return once + per_filter * (double)shape->n_bank;
}

/* Return the nanoseconds to prepare a filter. */
static double prepare_cost(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape)
{
    const struct costs *const costs = spec->precision == LW_DOUBLE ? &double_costs : &single_costs;
    const int parts = shape->method == LW_CPU_OLS_PACKED ? 2 : 1;
    if (shape->method == LW_CPU_OLS_DIRECT)
        return 0;
    if (shape->kernels->fft_shape(shape->points).rows == 1)
        return STEP_COST * lw_op_prepare_steps(spec, shape->length) / (double)spec->ols.n_filters;
    return fft_cost(costs->forward_point, shape->points) +
           parts * (double)(shape->points * 2 * (int64_t)shape->kernels->real_bytes) * costs->fresh_byte;
}

/* Return the nanoseconds per output. The last segment of an axis is computed whole. */
static double output_cost(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape)
{
    const struct costs *const costs = spec->precision == LW_DOUBLE ? &double_costs : &single_costs;
    const bool is_cut = shape->method != LW_CPU_OLS_DIRECT && spec->n_outputs > 0;
    const double used = is_cut ? (double)spec->n_outputs / (double)lw_divide_up(spec->n_outputs, shape->hop) : (double)shape->hop;
    return segment_cost(costs, spec, shape) / (used * (double)shape->n_bank);
}

/* Set the segments that share spectra in a lane: of a stack so many that delays need few others, as far as memory allows. */
static void share_spectra(const struct lw_op_spec *spec, struct lw_cpu_ols_shape *shape)
{
    const struct lw_op_reach reach = lw_op_reach_of(spec);
    const int64_t most = spec->n_outputs > 0 ? lw_divide_up(spec->n_outputs, shape->hop) : LW_CPU_MOST_RUN;
    const int64_t segment = (4 * shape->points + shape->hop) * (int64_t)shape->kernels->real_bytes * lw_max64(1, shape->summed);
    shape->run = shape->block = 1;
    shape->rows = shape->tile;
    if (shape->summed == 0)
        return;
    const int64_t others = lw_divide_up(reach.before, shape->hop) + lw_divide_up(reach.after, shape->hop);
    if (shape->folded) {
        shape->run = lw_max64(1, lw_min64(lw_min64(most, LW_CPU_MOST_RUN), LANE_BYTES / segment));
        shape->rows = shape->run * shape->summed;
        return;
    }
    shape->run = lw_max64(1, lw_min64(lw_min64(most, LW_CPU_MOST_RUN), LANE_BYTES / segment - others));
    shape->block = lw_min64(shape->n_bank, LW_CPU_MOST_BLOCK);
    shape->rows = (shape->run + others) * shape->summed;
}

/* Return the sizes. @param folded  whether delays of stacks are folded into taps */
static struct lw_cpu_ols_shape shape_of(const struct lw_op_spec *spec, int segment, bool folded)
{
    const int64_t delayed = folded ? spec->ols.stacks->before + spec->ols.stacks->after : 0;
    const bool is_complex = spec->input.is_complex || spec->ols.taps_complex;
    const struct lw_reach reach = lw_post_reach(spec->ols.post);
    const bool folds = lw_post_folds(spec->ols.post);
    struct lw_cpu_ols_shape shape = {
        .kernels = lw_cpu_kernels(spec->precision),
        .method = segment == 0 ? LW_CPU_OLS_DIRECT : is_complex || segment % 2 != 0 ? LW_CPU_OLS_COMPLEX : LW_CPU_OLS_PACKED,
        .n_filters = spec->ols.n_filters, .n_bank = lw_ols_bank(&spec->ols),
        .n_taps = spec->ols.n_taps + delayed + (folds ? reach.before + reach.after : 0),
        .folded = folded, .own = spec->ols.own_taps || folded ? lw_op_inputs(spec, spec->n_channels) : 1,
        .before = folds ? 0 : reach.before, .after = folds ? 0 : reach.after, .rate = lw_post_rate(spec->ols.post),
    };
    shape.narrows = !is_complex && shape.method == LW_CPU_OLS_COMPLEX;
    shape.width = is_complex || shape.method == LW_CPU_OLS_COMPLEX ? 2 : 1;
    shape.summed = spec->ols.stacks ? lw_op_inputs(spec, 1) : 0;
    shape.keeps = shape.n_bank > 1 || shape.summed > 0;
    shape.halo = shape.n_taps - 1 + (shape.summed > 0 && !folded ? 0 : shape.before + shape.after);
    shape.length = segment > 0 ? segment : DIRECT_HOP + shape.halo;
    shape.hop = shape.length - shape.halo;
    /* the last DIRECT step of outputs reads beyond the segment */
    shape.turned = lw_round_up(shape.length * shape.width + shape.kernels->direct_step,
                               LW_ALIGNMENT / (int64_t)shape.kernels->real_bytes);
    shape.points = shape.method == LW_CPU_OLS_PACKED ? segment / 2 : segment;
    while (segment > 0 && !lw_has_factors_up_to(7, shape.points))
        shape.points++;
    shape.tile = spec->layout == LW_TIME_FAST ? 1 : lw_min64(lw_op_inputs(spec, spec->n_channels), LW_CPU_TILE_CHANNELS);
    share_spectra(spec, &shape);
    shape.widens = shape.width == 2 && !spec->input.is_complex;
    shape.series_width = is_complex ? 2 : 1;
    return shape;
}

/* Delays are folded if that costs less: normalized outputs have no sum of spectra. */
struct lw_cpu_ols_shape lw_cpu_ols_shape(const struct lw_op_spec *spec, int segment)
{
    const struct lw_cpu_ols_shape apart = shape_of(spec, segment, false);
    const struct lw_op_reach reach = lw_op_reach_of(spec);
    const bool fits = segment >= spec->ols.n_taps + reach.before + reach.after;
    if (!spec->ols.stacks || spec->ols.normalize != LW_NORMALIZE_NONE || segment == 0 || !fits)
        return apart;
    const struct lw_cpu_ols_shape folded = shape_of(spec, segment, true);
    return output_cost(spec, &folded) < output_cost(spec, &apart) ? folded : apart;
}

/* Return the number of samples that one output is made of. */
static int64_t least_segment(const struct lw_op_spec *spec)
{
    const struct lw_reach reach = lw_post_reach(spec->ols.post);
    return spec->ols.n_taps + reach.before + reach.after;
}

/* Return the nanoseconds per output, for segments beyond LONG_SEGMENT with a share of the preparation: it weighs where the axis has
 * few of them. */
static double whole_cost(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape)
{
    const double outputs = (double)spec->n_outputs * (double)spec->n_channels;
    const bool is_beyond = shape->length > LONG_SEGMENT && outputs > 0;
    return output_cost(spec, shape) + (is_beyond ? prepare_cost(spec, shape) / outputs : 0);
}

/* Return the cheapest of the direct method (0) and the powers of two; of equal costs the shorter. */
static int choose_segment(const struct lw_op_spec *spec)
{
    const struct lw_cpu_ols_shape direct = lw_cpu_ols_shape(spec, 0);
    const int64_t least = least_segment(spec);
    int64_t longest = LONG_SEGMENT;
    while (longest < MOST_TAPS_PER_SEGMENT * least && longest < MOST_SEGMENT)
        longest *= 2;
    double best_cost = whole_cost(spec, &direct);
    int best = 0;
    for (int64_t segment = LEAST_SEGMENT; segment <= longest; segment *= 2) {
        if (segment < least)
            continue;
        const struct lw_cpu_ols_shape shape = lw_cpu_ols_shape(spec, (int)segment);
        const double cost = whole_cost(spec, &shape);
        if (cost < best_cost * (segment > LONG_SEGMENT && best > 0 ? CLEARLY : 1)) {
            best_cost = cost;
            best = (int)segment;
        }
    }
    return best;
}

static int check(const struct lw_op_spec *spec, struct lw_error *err)
{
    const struct lw_ols_spec *const ols = &spec->ols;
    const struct lw_search *const search = &ols->search;
    const unsigned products = lw_search_products(search);
    assert(spec->kind == LW_OP_OLS && ols->n_filters >= 1 && ols->n_taps >= 1 && spec->n_channels >= 1);
    assert(spec->output.is_complex == ((spec->input.is_complex || ols->taps_complex) && !lw_post_has(ols->post, LW_POST_REAL)));
    assert(spec->n_outputs > 0 || !lw_post_is_needed(ols->post));
    assert(!lw_search_is_needed(search) || (spec->n_outputs > 0 && !lw_post_is_needed(ols->post)));
    assert(!(products & LW_PEAKS) || (search->threshold > 0 && search->cluster >= 0 && search->cluster <= LW_SEARCH_MOST_CLUSTER));
    assert(!(products & LW_BLOCKS) || (search->every >= 1 && search->every <= LW_SEARCH_MOST_EVERY));
    (void)products;
    const int64_t least = least_segment(spec);
    if (lw_op_is_array(spec) && lw_post_folds(ols->post))
        return lw_fail(err, LW_ECONFIG, "--post derivative cannot be made of stacks, of normalized outputs, or of filters that "
                       "differ from channel to channel: leave it out");
    if (least > MOST_TAPS)
        return lw_fail(err, LW_ECONFIG, "the filter has %" PRId64 " taps, more than the %" PRId64 " that the cpu "
                       "engine takes%s", ols->n_taps, MOST_TAPS - (least - ols->n_taps),
                       least > ols->n_taps ? " with --post or --interpolate" : "");
    if (ols->segment != 0 && (ols->segment < least || ols->segment > MOST_SEGMENT))
        return lw_fail(err, LW_ECONFIG, "--segment %d is not in %" PRId64 "..%d: it must hold the filter%s (or leave it out)",
                       ols->segment, least, MOST_SEGMENT, least > ols->n_taps ? " and what --post or --interpolate needs" : "");
    return LW_OK;
}

static void describe(const struct lw_cpu_ols_shape *shape, struct lw_post post, char *text, size_t size)
{
    static const char *const methods[] = {
        [LW_CPU_OLS_COMPLEX] = "complex transforms",
        [LW_CPU_OLS_PACKED] = "real segments as half as many complex points",
    };
    const int64_t padded = shape->method == LW_CPU_OLS_PACKED ? 2 * shape->points : shape->points;
    if (shape->method == LW_CPU_OLS_DIRECT) {
        snprintf(text, size, "direct sum of %" PRId64 " taps", shape->n_taps);
    } else {
        const int used = snprintf(text, size, "overlap-save, N = %" PRId64 ", hop %" PRId64 ", %s%s", shape->length, shape->hop,
                                  methods[shape->method], shape->folded ? ", summed as spectra" : "");
        if (padded > shape->length)
            snprintf(text + used, size - (size_t)used, ", padded with zeros to %" PRId64, padded);
    }
    lw_post_describe(post, text, size);
}

int lw_cpu_ols_plan(const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err)
{
    int rc;
    if ((spec->ols.beams && (rc = lw_op_refuse_array(spec, "cpu", err))) || (rc = check(spec, err)))
        return rc;
    const int segment = spec->ols.segment > 0 ? spec->ols.segment : choose_segment(spec);
    const struct lw_cpu_ols_shape shape = lw_cpu_ols_shape(spec, segment);
    const struct lw_op_reach reach = lw_op_reach_of(spec);
    const bool folds = lw_post_folds(spec->ols.post);
    const bool is_uncut = shape.method == LW_CPU_OLS_DIRECT && !lw_search_is_needed(&spec->ols.search) && !lw_op_is_array(spec);
    *plan = (struct lw_op_plan){
        .halo = (folds ? shape.n_taps : spec->ols.n_taps + reach.before + reach.after) - 1, .unit = is_uncut ? 1 : shape.hop,
        .channel_unit = 1, .input_width = 1, .n_outputs = spec->n_outputs, .segment = segment,
        .seconds_per_output = 1e-9 * output_cost(spec, &shape) / shape.rate,
        .seconds_to_prepare = 1e-9 * (double)shape.n_filters * prepare_cost(spec, &shape),
    };
    lw_op_ols_products(spec, plan);
    describe(&shape, spec->ols.post, plan->text, sizeof plan->text);
    return LW_OK;
}
