/* samples.c - loads samples into a lane, and stores outputs from there. */
#include "cpu/ols/ols.h"

#include <math.h>

/* Most bytes of a filter's outputs of a segment that are prefetched: half of the nearest cache. */
#define MOST_FETCHED (16 << 10)

/* ---- load ------------------------------------------------------------------------------------------------------------ */

static void load_time_slow(const struct lw_cpu_segment *s, int64_t first, int64_t count)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const int64_t bytes = (int64_t)lw_type_bytes(ols->spec.input), width = ols->shape.width;
    const int64_t row_bytes = s->slot->block.n_channels * bytes;
    const char *const stored = (const char *)s->slot->input + first * row_bytes + s->channel * bytes;
    for (int64_t row = 0; row < count; row += LW_CPU_PANEL_ROWS) {
        const int64_t rows = lw_min64(LW_CPU_PANEL_ROWS, count - row);
        struct lw_cpu_panel panel = lw_cpu_panel_of(ols->spec.input, rows, s->n_channels);
        panel.stored_stride = row_bytes;
        lw_cpu_load(ols->shape.kernels, &panel, ols->shape.widens, stored + row * row_bytes, s->lane->panel);
        ols->shape.kernels->transpose(s->lane->panel, s->n_channels * width, rows, s->n_channels, (int)width,
                                      lw_cpu_real_at(ols, s->lane->x, row * width), ols->strides.x);
    }
}

/* Load samples [first, first + count) of the slot's input. */
static void load(const struct lw_cpu_segment *s, int64_t first, int64_t count)
{
    const struct lw_cpu_ols *const ols = s->ols;
    if (ols->spec.layout == LW_TIME_SLOW) {
        load_time_slow(s, first, count);
        return;
    }
    const int64_t axis = ols->plan.halo + s->slot->block.count;
    const int64_t at = (s->channel * axis + first) * (int64_t)lw_type_bytes(ols->spec.input);
    const struct lw_cpu_panel panel = lw_cpu_panel_of(ols->spec.input, 1, count);
    lw_cpu_load(ols->shape.kernels, &panel, ols->shape.widens, (const char *)s->slot->input + at, s->lane->x);
}

void lw_cpu_segment_load(const struct lw_cpu_segment *s) { load(s, s->ols->plan.before + s->first, s->n_samples); }

/* ---- samples that are not finite, and out of range ------------------------------------------------------------------- */

/* Return whether own samples are counted separately. If outputs beyond a block's own are computed, the last sample of an own output
 * is not an own sample. */
static bool counts_apart(const struct lw_cpu_ols *ols) { return ols->plan.after > 0; }

/* Replace samples of channel c that are not finite by zero, and mark the outputs that they touch. If is_counted, the task with the
 * segment's first filters counts them.
 * @param found  numbers of samples, outputs and taps */
static void repair(const struct lw_cpu_segment *s, int c, struct lw_cpu_repair found, bool is_counted)
{
    found.width = s->ols->shape.width;
    found.touched = s->lane->touched + c * s->ols->strides.touched;
    s->ols->shape.kernels->repair(&found, lw_cpu_x(s, c));
    if (is_counted && s->counts)
        lw_cpu_tally_add(&s->lane->base.not_finite,
                         (struct lw_cpu_tally){found.n_own, s->first + found.first_own, s->channel + c, 0});
}

void lw_cpu_segment_count(const struct lw_cpu_segment *s)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const int64_t n = s->n_outputs;
    if (!s->counts || !counts_apart(ols) || !lw_cpu_segment_is_own(s) || lw_scalar_is_integer(ols->spec.input.scalar))
        return;
    load(s, ols->plan.halo + s->first, n);
    for (int c = 0; c < s->n_channels; c++)
        if (isinf(ols->shape.kernels->largest(lw_cpu_x(s, c), n * ols->shape.width)))
            repair(s, c, (struct lw_cpu_repair){.n_taps = 1, .n_samples = n, .n_outputs = n}, true);
}

void lw_cpu_segment_condition(const struct lw_cpu_segment *s, int c)
{
    const struct lw_cpu_ols_shape *const shape = &s->ols->shape;
    const struct lw_cpu_kernels *const k = shape->kernels;
    void *const x = lw_cpu_x(s, c);
    const int64_t n = s->n_samples * shape->width;
    const int64_t reals = shape->method == LW_CPU_OLS_DIRECT ? shape->length * shape->width : 2 * shape->points;
    k->fill(lw_cpu_real_at(s->ols, x, n), reals - n, 0);
    s->lane->exponents[c] = 0;
    s->lane->is_blanked[c] = false;
    if (lw_scalar_is_integer(s->ols->spec.input.scalar))
        return;
    double largest = k->largest(x, n);
    if (isinf(largest)) {
        const struct lw_cpu_repair found = {.n_taps = shape->n_taps, .halo = shape->halo, .n_samples = s->n_samples,
                                            .n_outputs = s->n_sums};
        repair(s, c, found, !counts_apart(s->ols));
        s->lane->is_blanked[c] = s->ols->spec.nan != LW_NAN_ZERO;
        largest = k->largest(x, n);
    }
    const bool is_safe = largest == 0 || (largest > ldexp(1, -k->safe_exponent) && largest < ldexp(1, k->safe_exponent));
    if (is_safe || shape->method == LW_CPU_OLS_DIRECT)
        return;
    s->lane->exponents[c] = ilogb(largest);
    k->scale(x, n, -s->lane->exponents[c]);
}

void lw_cpu_segment_finish(const struct lw_cpu_segment *s, int filter, int c, void *y)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const struct lw_cpu_kernels *const k = ols->shape.kernels;
    const int exponent = ols->filters.exponents[filter] + s->lane->exponents[c];
    if (exponent != 0)
        k->scale(y, s->n_sums * ols->shape.width, exponent);
    if (s->lane->is_blanked[c])
        k->blank(y, s->lane->touched + c * ols->strides.touched, s->n_sums, ols->shape.width);
    if (ols->shape.narrows)
        k->narrow(y, s->n_sums);
}

/* ---- store ----------------------------------------------------------------------------------------------------------- */

char *lw_cpu_output_at(const struct lw_cpu_ols *ols, const struct lw_slot *slot, int filter, int64_t channel, int64_t output)
{
    const struct lw_block *const block = &slot->block;
    const int64_t n_channels = block->n_channels;
    const int64_t n_outputs = lw_post_outputs(ols->spec.ols.post, ols->spec.n_outputs, block->first, block->count);
    const int64_t in_plane = ols->spec.layout == LW_TIME_FAST ? channel * n_outputs + output : output * n_channels + channel;
    const int64_t at = filter * n_outputs * n_channels + in_plane;
    return (char *)slot->products[0].data + at * (int64_t)lw_type_bytes(ols->spec.output);
}

void lw_cpu_segment_fetch(const struct lw_cpu_segment *s, int filter)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const int64_t bytes = s->n_outputs * (int64_t)lw_type_bytes(ols->spec.output);
    const bool is_in_a_row = ols->spec.layout == LW_TIME_FAST && !ols->post && lw_post_every(ols->spec.ols.post) == 1;
    if (lw_cpu_segment_is_put(s) && is_in_a_row && ols->shape.method != LW_CPU_OLS_DIRECT && bytes <= MOST_FETCHED)
        lw_cpu_fetch(lw_cpu_output_at(ols, s->slot, filter, s->channel, s->first), bytes);
}

static void store_time_slow(const struct lw_cpu_segment *s, const struct lw_cpu_segment_outputs *outputs, char *stored)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const int64_t width = ols->spec.output.is_complex ? 2 : 1;
    const int64_t row_bytes = s->slot->block.n_channels * (int64_t)lw_type_bytes(ols->spec.output);
    for (int64_t row = 0; row < outputs->count; row += LW_CPU_PANEL_ROWS) {
        const int64_t rows = lw_min64(LW_CPU_PANEL_ROWS, outputs->count - row);
        struct lw_cpu_panel panel = lw_cpu_output_panel(&ols->spec, rows, s->n_channels);
        panel.stored_stride = row_bytes;
        panel.squares = outputs->squares;
        ols->shape.kernels->transpose(lw_cpu_real_at(ols, outputs->y, row * width), outputs->pitch, s->n_channels, rows,
                                      (int)width, s->lane->panel, s->n_channels * width);
        ols->shape.kernels->store(&panel, s->lane->panel, stored + row * row_bytes, &s->lane->base.loss);
    }
}

void lw_cpu_segment_store(const struct lw_cpu_segment *s, const struct lw_cpu_segment_outputs *outputs)
{
    const struct lw_cpu_ols *const ols = s->ols;
    char *const stored = lw_cpu_output_at(ols, s->slot, outputs->filter, s->channel, outputs->first);
    if (ols->spec.layout == LW_TIME_SLOW) {
        store_time_slow(s, outputs, stored);
        return;
    }
    struct lw_cpu_panel panel = lw_cpu_output_panel(&ols->spec, 1, outputs->count);
    panel.squares = outputs->squares;
    ols->shape.kernels->store(&panel, outputs->y, stored, &s->lane->base.loss);
}
