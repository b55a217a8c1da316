#include "cpu/ols/samples.h"

#include <math.h>

/* Bytes of a filter's outputs of a segment that are asked for beforehand: half of the nearest cache. */
#define MOST_FETCHED (16 << 10)

/* ---- in ---------------------------------------------------------------------------------------------------------- */

static void load_time_fast(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment,
                           int64_t first, int64_t count)
{
    const int64_t axis = ols->plan.halo + segment->slot->block.count;
    const int64_t at = (segment->channel * axis + first) * (int64_t)lw_type_bytes(ols->spec.input);
    const struct lw_cpu_panel panel = lw_cpu_panel_of(ols->spec.input, 1, count);
    lw_cpu_load(ols->shape.kernels, &panel, ols->shape.widens, (const char *)segment->slot->input + at, lane->x);
}

static void load_time_slow(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment,
                           int64_t first, int64_t count)
{
    const int64_t bytes = (int64_t)lw_type_bytes(ols->spec.input), width = ols->shape.width;
    const int64_t row_bytes = segment->slot->block.n_channels * bytes;
    const char *const stored = (const char *)segment->slot->input + first * row_bytes + segment->channel * bytes;
    for (int64_t row = 0; row < count; row += LW_CPU_PANEL_ROWS) {
        const int64_t rows = lw_min64(LW_CPU_PANEL_ROWS, count - row);
        struct lw_cpu_panel panel = lw_cpu_panel_of(ols->spec.input, rows, segment->n_channels);
        panel.stored_stride = row_bytes;
        lw_cpu_load(ols->shape.kernels, &panel, ols->shape.widens, stored + row * row_bytes, lane->panel);
        ols->shape.kernels->transpose(lane->panel, segment->n_channels * width, rows, segment->n_channels, (int)width,
                                      lw_cpu_real_at(ols, lane->x, row * width), ols->sizes.x);
    }
}

/* Samples [first, first + count) of the slot's input. */
static void load(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment, int64_t first,
                 int64_t count)
{
    if (ols->spec.layout == LW_TIME_FAST)
        load_time_fast(ols, lane, segment, first, count);
    else
        load_time_slow(ols, lane, segment, first, count);
}

void lw_cpu_segment_load(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment)
{
    load(ols, lane, segment, ols->plan.before + segment->first, segment->n_samples);
}

/* ---- not a number, and out of range ------------------------------------------------------------------------------ */

/* Where outputs beyond a block's own are computed, the last sample of an own output is not an own sample. */
static bool counts_apart(const struct lw_cpu_ols *ols) { return ols->plan.after > 0; }

void lw_cpu_segment_count(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment)
{
    const struct lw_cpu_kernels *const k = ols->shape.kernels;
    if (!counts_apart(ols) || !lw_cpu_segment_is_own(segment) || lw_scalar_is_integer(ols->spec.input.scalar))
        return;
    load(ols, lane, segment, ols->plan.halo + segment->first, segment->n_outputs);
    for (int c = 0; c < segment->n_channels; c++) {
        void *const x = lw_cpu_x(ols, lane, c);
        struct lw_cpu_repair found = {.width = ols->shape.width, .n_taps = 1, .n_samples = segment->n_outputs,
                                      .n_outputs = segment->n_outputs, .touched = lane->touched + c * ols->sizes.touched};
        if (!isinf(k->largest(x, segment->n_outputs * ols->shape.width)))
            continue;
        k->repair(&found, x);
        lw_cpu_tally_add(&lane->base.not_finite,
                         (struct lw_cpu_tally){found.n_own, segment->first + found.first_own, segment->channel + c, 0});
    }
}

/* Replace what is not finite by zeros, count what is the segment's own, and mark the outputs that it touches. */
static void repair(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment, int c)
{
    struct lw_cpu_repair found = {
        .width = ols->shape.width,
        .n_taps = ols->shape.n_taps,
        .halo = lw_cpu_ols_halo(&ols->shape),
        .n_samples = segment->n_samples,
        .n_outputs = segment->n_sums,
        .touched = lane->touched + c * ols->sizes.touched,
    };
    ols->shape.kernels->repair(&found, lw_cpu_x(ols, lane, c));
    lane->is_blanked[c] = ols->spec.nan != LW_NAN_ZERO;
    const struct lw_cpu_tally own = {found.n_own, segment->first + found.first_own, segment->channel + c, 0};
    if (!counts_apart(ols))
        lw_cpu_tally_add(&lane->base.not_finite, own);
}

void lw_cpu_segment_condition(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment,
                              int c)
{
    const struct lw_cpu_kernels *const k = ols->shape.kernels;
    void *const x = lw_cpu_x(ols, lane, c);
    const int64_t width = ols->shape.width, n = segment->n_samples * width;
    const int64_t reals = ols->shape.method == LW_CPU_OLS_DIRECT ? ols->shape.length * width : 2 * ols->shape.points;
    k->fill(lw_cpu_real_at(ols, x, n), reals - n, 0);
    lane->exponents[c] = 0;
    lane->is_blanked[c] = false;
    if (lw_scalar_is_integer(ols->spec.input.scalar))
        return;
    double largest = k->largest(x, n);
    if (isinf(largest)) {
        repair(ols, lane, segment, c);
        largest = k->largest(x, n);
    }
    const bool is_safe =
        largest == 0 || (largest > ldexp(1, -k->safe_exponent) && largest < ldexp(1, k->safe_exponent));
    if (is_safe || ols->shape.method == LW_CPU_OLS_DIRECT)
        return;
    lane->exponents[c] = ilogb(largest);
    k->scale(x, n, -lane->exponents[c]);
}

void lw_cpu_segment_finish(const struct lw_cpu_ols *ols, const struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment,
                           int filter, int c, void *y)
{
    const struct lw_cpu_kernels *const k = ols->shape.kernels;
    const int exponent = ols->filters.exponents[filter] + lane->exponents[c];
    if (exponent != 0)
        k->scale(y, segment->n_sums * ols->shape.width, exponent);
    if (lane->is_blanked[c])
        k->blank(y, lane->touched + c * ols->sizes.touched, segment->n_sums, ols->shape.width);
    if (ols->shape.narrows)
        k->narrow(y, segment->n_sums);
}

/* ---- out --------------------------------------------------------------------------------------------------------- */

/* Where an output of a slot is stored. */
static char *output_at(const struct lw_cpu_ols *ols, const struct lw_slot *slot, struct lw_cpu_slot_place place)
{
    const struct lw_block *const block = &slot->block;
    const int64_t n_channels = block->n_channels;
    const int64_t n_outputs = lw_post_outputs(ols->spec.ols.post, ols->spec.n_outputs, block->first, block->count);
    const bool is_fast = ols->spec.layout == LW_TIME_FAST;
    const int64_t in_plane = is_fast ? place.channel * n_outputs + place.output : place.output * n_channels + place.channel;
    const int64_t at = place.filter * n_outputs * n_channels + in_plane;
    return (char *)slot->products[0].data + at * (int64_t)lw_type_bytes(ols->spec.output);
}

static char *first_output(const struct lw_cpu_ols *ols, const struct lw_cpu_segment *segment,
                          const struct lw_cpu_segment_outputs *outputs)
{
    return output_at(ols, segment->slot, (struct lw_cpu_slot_place){outputs->filter, segment->channel, outputs->first});
}

void lw_cpu_segment_fetch(const struct lw_cpu_ols *ols, const struct lw_cpu_segment *segment, int filter)
{
    const struct lw_cpu_slot_place place = {filter, segment->channel, segment->first};
    const int64_t bytes = segment->n_outputs * (int64_t)lw_type_bytes(ols->spec.output);
    const bool is_in_a_row = ols->spec.layout == LW_TIME_FAST && !ols->post && lw_post_every(ols->spec.ols.post) == 1;
    if (lw_cpu_segment_is_put(segment) && is_in_a_row && ols->shape.method != LW_CPU_OLS_DIRECT && bytes <= MOST_FETCHED)
        lw_cpu_fetch(output_at(ols, segment->slot, place), bytes);
}

static void store_time_fast(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment,
                            const struct lw_cpu_segment_outputs *outputs)
{
    struct lw_cpu_panel panel = lw_cpu_output_panel(&ols->spec, 1, outputs->count);
    panel.squares = outputs->squares;
    ols->shape.kernels->store(&panel, outputs->y, first_output(ols, segment, outputs),
                              &lane->base.loss);
}

static void store_time_slow(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane,
                            const struct lw_cpu_segment *segment, const struct lw_cpu_segment_outputs *outputs)
{
    const int64_t n_channels = segment->n_channels, width = ols->spec.output.is_complex ? 2 : 1;
    char *const stored = first_output(ols, segment, outputs);
    const int64_t row_bytes = segment->slot->block.n_channels * (int64_t)lw_type_bytes(ols->spec.output);
    for (int64_t row = 0; row < outputs->count; row += LW_CPU_PANEL_ROWS) {
        const int64_t rows = lw_min64(LW_CPU_PANEL_ROWS, outputs->count - row);
        struct lw_cpu_panel panel = lw_cpu_output_panel(&ols->spec, rows, n_channels);
        panel.stored_stride = row_bytes;
        panel.squares = outputs->squares;
        ols->shape.kernels->transpose(lw_cpu_real_at(ols, outputs->y, row * width), outputs->pitch, n_channels, rows,
                                      (int)width, lane->panel, n_channels * width);
        ols->shape.kernels->store(&panel, lane->panel, stored + row * row_bytes, &lane->base.loss);
    }
}

void lw_cpu_segment_store(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment,
                          const struct lw_cpu_segment_outputs *outputs)
{
    if (ols->spec.layout == LW_TIME_FAST)
        store_time_fast(ols, lane, segment, outputs);
    else
        store_time_slow(ols, lane, segment, outputs);
}

/* ---- single channels --------------------------------------------------------------------------------------------- */
void lw_cpu_slot_load(const struct lw_cpu_ols *ols, const struct lw_slot *slot, int64_t channel, int64_t first,
                      int64_t count, void *x)
{
    const int64_t bytes = (int64_t)lw_type_bytes(ols->spec.input), n_channels = slot->block.n_channels;
    const int64_t axis = ols->plan.halo + slot->block.count;
    const bool is_fast = ols->spec.layout == LW_TIME_FAST;
    struct lw_cpu_panel panel = lw_cpu_panel_of(ols->spec.input, is_fast ? 1 : count, is_fast ? count : 1);
    panel.stored_stride = n_channels * bytes;
    const int64_t at = is_fast ? channel * axis + first : first * n_channels + channel;
    ols->shape.kernels->load(&panel, (const char *)slot->input + at * bytes, x);
}

void lw_cpu_slot_store(const struct lw_cpu_ols *ols, const struct lw_slot *slot, const struct lw_cpu_slot_place *place,
                       const void *y, struct lw_loss *loss)
{
    const struct lw_cpu_panel panel = lw_cpu_output_panel(&ols->spec, 1, 1);
    ols->shape.kernels->store(&panel, y, output_at(ols, slot, *place), loss);
}
