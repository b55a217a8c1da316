/* stack.c - filters the channels of a segment, and adds those of a stack: delayed, and each with its weight.
 *
 *     a task's outputs                             |<- run segments of the axis ->|
 *     segments of a channel            |...........|..............................|.......|     as far as delays reach
 *
 * All segments lie on the grid of the axis, so that an output of a channel has the same bits for all tasks. A stack's channels are
 * added in their order. Several filters take turns at a segment's spectrum while it is in the near caches.
 *
 * Outputs that are not normalized may be added before the way back: with delays folded into the taps, a filter needs one inverse
 * transform for each of the task's segments. The cost model decides (choose.c). */
#include "cpu/ols/ols.h"

#include <assert.h>
#include <limits.h>

/* ---- one channel --------------------------------------------------------------------------------------------------- */

void lw_cpu_segment_prepare(const struct lw_cpu_segment *s, int c)
{
    lw_cpu_segment_condition(s, c);
    lw_cpu_forward(s, lw_cpu_x(s, c), lw_cpu_z(s, c));
}

void *lw_cpu_segment_filter(const struct lw_cpu_segment *s, int filter, int c, void *y)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const int64_t row = lw_cpu_taps_row(s, filter, c);
    if (lw_cpu_segment_is_only_searched(s, filter, c)) {
        const void *const h = lw_cpu_real_at(ols, ols->filters.data, row * ols->filters.stride);
        const void *const r = ols->shape.method == LW_CPU_OLS_PACKED ? lw_cpu_x(s, c) : NULL;
        ols->shape.kernels->fft_multiply(ols->fft, h, lw_cpu_z(s, c), r, s->lane->work);
        lw_cpu_segment_search_strips(s, filter, c);
        return NULL;
    }
    void *const sums = lw_cpu_backward(s, row, lw_cpu_x(s, c), lw_cpu_z(s, c), y);
    lw_cpu_segment_finish(s, filter, c, sums);
    return sums;
}

/* Keep every D-th sample of the axis, in place. */
static void thin(const struct lw_cpu_segment *s, struct lw_cpu_segment_outputs *outputs)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const int64_t every = lw_post_every(ols->spec.ols.post), block = s->slot->block.first, begin = block + s->first;
    const size_t bytes = (size_t)ols->shape.series_width * ols->shape.kernels->real_bytes;
    outputs->first = lw_divide_up(begin, every) - lw_divide_up(block, every);
    outputs->count = lw_divide_up(begin + s->n_outputs, every) - lw_divide_up(begin, every);
    for (int c = 0; c < s->n_channels; c++) {
        char *const to = lw_cpu_real_at(ols, outputs->y, c * outputs->pitch);
        lw_cpu_pick(to, 1, to + (size_t)(lw_round_up(begin, every) - begin) * bytes, every, outputs->count, bytes);
    }
}

void lw_cpu_segment_put(const struct lw_cpu_segment *s, int filter, void *y)
{
    struct lw_cpu_segment_outputs outputs = {filter, s->first, s->n_outputs, y, s->ols->strides.y, false};
    if (!lw_cpu_segment_is_put(s))
        return;
    if (lw_post_every(s->ols->spec.ols.post) > 1)
        thin(s, &outputs);
    if (outputs.count == 0)
        return;
    if (s->ols->post)
        lw_cpu_segment_post(s, &outputs);
    else
        lw_cpu_segment_store(s, &outputs);
}

/* ---- stacks -------------------------------------------------------------------------------------------------------- */

/* Return a segment of the input: `count` channels in segment number g of a task, counted from the first that it needs. */
static struct lw_cpu_segment input_of(const struct lw_cpu_segment *s, int64_t first, int64_t g, int64_t channel, int count)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const struct lw_block *const block = &s->slot->block;
    struct lw_cpu_segment in = *s;
    in.first = first + g * ols->shape.hop;
    in.n_outputs = lw_min64(ols->shape.hop, lw_max64(0, block->count - in.first));
    in.n_sums = ols->shape.folded ? ols->shape.before + ols->shape.hop + ols->shape.after : ols->shape.hop;
    in.n_samples = lw_min64(ols->shape.length, ols->plan.halo + block->count - ols->lead - in.first);
    if (ols->shape.folded)
        in.n_samples = lw_min64(in.n_samples, s->work->axis_end - (block->first + in.first) + ols->shape.halo);
    in.channel = channel;
    in.n_channels = count;
    in.row = g * ols->shape.summed + channel;
    in.counts = s->counts && in.first >= s->first && in.first < s->first + s->n_outputs;
    return in;
}

/* Make the spectra of all channels in n segments. */
static void prepare_all(const struct lw_cpu_segment *s, int64_t first, int64_t n)
{
    const int64_t channels = s->ols->shape.summed;
    for (int64_t g = 0; g < n; g++) {
        for (int64_t channel = 0; channel < channels; channel += s->ols->shape.tile) {
            const struct lw_cpu_segment in = input_of(s, first, g, channel, (int)lw_min64(s->ols->shape.tile, channels - channel));
            lw_cpu_segment_count(&in);
            lw_cpu_segment_load(&in);
            for (int c = 0; c < in.n_channels; c++)
                lw_cpu_segment_prepare(&in, c);
        }
    }
}

/* Return the sums of a filter of the task's block of filters. */
static void *sums_of(const struct lw_cpu_segment *s, int filter)
{
    return lw_cpu_real_at(s->ols, s->lane->sums, filter % s->ols->shape.block * s->ols->strides.sums);
}

/* Add a segment's outputs of a channel to a filter's sums, as far as they belong there. */
static void add(const struct lw_cpu_segment *s, const struct lw_cpu_segment *in, int filter)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const struct lw_cpu_ols_shape *const shape = &ols->shape;
    const struct lw_shifts *const stacks = ols->spec.ols.stacks;
    const int64_t sum = ols->first + filter, delay = stacks->delays[sum * stacks->n_inputs + in->channel];
    const double weight = (double)lw_shifts_weight(stacks, sum, in->channel);
    const int64_t begin = s->first - shape->before, n = shape->before + s->n_outputs + shape->after, at = in->first - delay - begin;
    const int64_t from = lw_max64(0, at), count = lw_min64(n, at + shape->hop) - from;
    const void *const gains = lw_cpu_gains(in, 0);
    if (weight == 0 || count <= 0)
        return;
    const void *const y = lw_cpu_segment_filter(in, filter, 0, s->lane->y);
    const int64_t skipped = (from - at) * shape->series_width;
    shape->kernels->add_weighted(lw_cpu_real_at(ols, sums_of(s, filter), from * shape->series_width),
                                 (const char *)y + (size_t)skipped * shape->kernels->real_bytes,
                                 gains ? (const char *)gains + (size_t)(from - at) * shape->kernels->real_bytes : NULL, weight,
                                 count, shape->series_width);
}

/* Search, change and store a filter's sums, segment by segment. */
static void deliver(const struct lw_cpu_segment *s, struct lw_cpu_segment *parts, int64_t n, int filter)
{
    const struct lw_cpu_ols *const ols = s->ols;
    for (int64_t i = 0; i < n; i++) {
        void *const y = lw_cpu_real_at(ols, sums_of(s, filter), i * ols->shape.hop * ols->shape.series_width);
        if (ols->search)
            lw_cpu_segment_search(&parts[i], filter, 0, y);
        lw_cpu_segment_put(&parts[i], filter, y);
    }
}

/* ---- sums of spectra ----------------------------------------------------------------------------------------------- */

/* Return the exponent of a channel's product with a filter: it must still be multiplied by 2^exponent. */
static int exponent_of(const struct lw_cpu_segment *in, int filter)
{
    return in->ols->filters.exponents[lw_cpu_taps_row(in, filter, 0)] + lw_cpu_row(in, 0)->exponent;
}

static float weight_of(const struct lw_cpu_segment *s, int filter, int64_t channel)
{
    return lw_shifts_weight(s->ols->spec.ols.stacks, s->ols->first + filter, channel);
}

/* Add the product of a channel with a filter, as a multiple of 2^exponent. @param g  number of the segment in the task */
static void add_product(const struct lw_cpu_segment *s, int64_t g, int64_t channel, int filter, int exponent, void *sum)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const struct lw_cpu_segment in = input_of(s, s->first, g, channel, 1);
    const double factor = ldexp((double)weight_of(s, filter, channel), exponent_of(&in, filter) - exponent);
    const void *const h = lw_cpu_real_at(ols, ols->filters.data, lw_cpu_taps_row(&in, filter, 0) * ols->filters.stride);
    ols->shape.kernels->fft_add(ols->fft, h, lw_cpu_z(&in, 0), ols->shape.method == LW_CPU_OLS_PACKED ? lw_cpu_x(&in, 0) : NULL,
                                factor, sum);
}

/* Transform a segment's sum of spectra back. */
static void *finish_sum(const struct lw_cpu_segment *s, int64_t g, int64_t n_sums, int filter, int exponent, const void *sum)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const struct lw_cpu_ols_shape *const shape = &ols->shape;
    const struct lw_cpu_kernels *const k = shape->kernels;
    const struct lw_shifts *const stacks = ols->spec.ols.stacks;
    void *const y = lw_cpu_real_at(ols, s->lane->y, (shape->n_taps - 1) * shape->width);
    k->fft_multiply(ols->fft, NULL, sum, NULL, s->lane->work);
    k->fft_inverse(ols->fft, s->lane->work, s->lane->y);
    if (exponent != 0)
        k->scale(y, n_sums * shape->width, exponent);
    if (shape->narrows)
        k->narrow(y, n_sums);
    for (int64_t channel = 0; channel < shape->summed && filter < ols->n_held; channel++) {
        const struct lw_cpu_segment in = input_of(s, s->first, g, channel, 1);
        const int64_t delay = stacks->delays[(ols->first + filter) * stacks->n_inputs + channel];
        if (lw_cpu_row(&in, 0)->is_blanked && weight_of(s, filter, channel) != 0)
            k->blank(y, lw_cpu_touched(&in, 0) + stacks->before + delay, n_sums, shape->series_width);
    }
    return y;
}

/* Make a filter's sums of n segments, which share its spectra. */
static void sum_spectra(const struct lw_cpu_segment *s, const struct lw_cpu_segment *parts, int64_t n, int filter)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const int64_t channels = filter < ols->n_held ? ols->shape.summed : 0;
    int exponents[LW_CPU_MOST_RUN];
    for (int64_t g = 0; g < n; g++) {
        exponents[g] = INT_MIN;
        for (int64_t channel = 0; channel < channels; channel++) {
            const struct lw_cpu_segment in = input_of(s, s->first, g, channel, 1);
            const int exponent = weight_of(s, filter, channel) == 0 ? INT_MIN : exponent_of(&in, filter);
            exponents[g] = exponent > exponents[g] ? exponent : exponents[g];
        }
        exponents[g] = exponents[g] == INT_MIN ? 0 : exponents[g];
    }
    ols->shape.kernels->fill(s->lane->sums, n * ols->strides.sums, 0);
    for (int64_t channel = 0; channel < channels; channel++)
        for (int64_t g = 0; g < n && weight_of(s, filter, channel) != 0; g++)
            add_product(s, g, channel, filter, exponents[g], lw_cpu_real_at(ols, s->lane->sums, g * ols->strides.sums));
    for (int64_t g = 0; g < n; g++) {
        void *const y = finish_sum(s, g, parts[g].n_sums, filter, exponents[g],
                                   lw_cpu_real_at(ols, s->lane->sums, g * ols->strides.sums));
        if (ols->search)
            lw_cpu_segment_search(&parts[g], filter, 0, y);
        lw_cpu_segment_put(&parts[g], filter, y);
    }
}

/* ---- a task -------------------------------------------------------------------------------------------------------- */

/* Make all filters' sums of delayed outputs. n_inputs: segments from `first` on */
static void sum_outputs(const struct lw_cpu_segment *s, struct lw_cpu_segment *parts, int64_t n, int64_t first, int64_t n_inputs)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const struct lw_cpu_ols_shape *const shape = &ols->shape;
    for (int begin = s->filter, end; begin < s->filter_end; begin = end) {
        end = (int)lw_min64(begin - begin % shape->block + shape->block, s->filter_end);
        const int held = (int)lw_min64(end, ols->n_held);
        for (int f = begin; f < end; f++)
            shape->kernels->fill(sums_of(s, f), ols->strides.sums, 0);
        for (int64_t channel = 0; channel < shape->summed; channel++) {
            for (int64_t g = 0; g < n_inputs; g++) {
                const struct lw_cpu_segment in = input_of(s, first, g, channel, 1);
                for (int f = begin; f < held; f++)
                    add(s, &in, f);
            }
        }
        for (int f = begin; f < end; f++)
            deliver(s, parts, n, f);
    }
}

void lw_cpu_segment_stack(const struct lw_cpu_segment *s)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const struct lw_cpu_ols_shape *const shape = &ols->shape;
    const struct lw_op_reach reach = shape->folded ? (struct lw_op_reach){0} : lw_op_reach_of(&ols->spec);
    const int64_t hop = shape->hop, first = s->first - lw_round_up(reach.before, hop);
    const int64_t n_inputs = lw_divide_up(s->first + s->n_outputs + reach.after - first, hop), n = lw_divide_up(s->n_outputs, hop);
    struct lw_cpu_segment parts[LW_CPU_MOST_RUN];
    assert(n <= shape->run && n_inputs * shape->summed <= shape->rows);
    for (int64_t i = 0; i < n; i++) {
        parts[i] = *s;
        parts[i].first = s->first + i * hop;
        parts[i].n_outputs = lw_min64(hop, s->n_outputs - i * hop);
        parts[i].n_sums = shape->before + parts[i].n_outputs + shape->after;
        parts[i].row = i;
        if (ols->search)
            lw_cpu_segment_search_begin(&parts[i]);
    }
    prepare_all(s, first, n_inputs);
    if (!shape->folded)
        sum_outputs(s, parts, n, first, n_inputs);
    for (int filter = s->filter; shape->folded && filter < s->filter_end; filter++)
        sum_spectra(s, parts, n, filter);
    for (int64_t i = 0; i < n && ols->search; i++)
        lw_cpu_segment_search_end(&parts[i]);
}
