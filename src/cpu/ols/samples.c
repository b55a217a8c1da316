/* samples.c - loads samples into a lane, and stores outputs from there. */
#include "cpu/ols/ols.h"

#include "cpu/dispatch.h"

#include <float.h>

/* Most bytes of a filter's outputs of a segment that are prefetched: half of the nearest cache. */
#define MOST_FETCHED (16 << 10)

/* ---- load ------------------------------------------------------------------------------------------------------------ */

static void load_time_slow(const struct lw_cpu_segment *s, int64_t first, int64_t count)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const int64_t bytes = (int64_t)lw_type_bytes(ols->spec.input), width = ols->shape.width;
    const int64_t row_bytes = lw_op_inputs(&ols->spec, s->slot->block.n_channels) * bytes;
    const char *const stored = (const char *)s->slot->input + first * row_bytes + s->channel * bytes;
    for (int64_t row = 0; row < count; row += LW_CPU_PANEL_ROWS) {
        const int64_t rows = lw_min64(LW_CPU_PANEL_ROWS, count - row);
        struct lw_cpu_panel panel = lw_cpu_panel_of(ols->spec.input, rows, s->n_channels);
        panel.stored_stride = row_bytes;
        lw_cpu_load(ols->shape.kernels, &panel, ols->shape.widens, stored + row * row_bytes, s->lane->panel);
        ols->shape.kernels->transpose(s->lane->panel, s->n_channels * width, rows, s->n_channels, (int)width,
                                      lw_cpu_real_at(ols, lw_cpu_x(s, 0), row * width), ols->strides.x);
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
    lw_cpu_load(ols->shape.kernels, &panel, ols->shape.widens, (const char *)s->slot->input + at, lw_cpu_x(s, 0));
}

void lw_cpu_load_channel(const struct lw_cpu_ols *ols, const struct lw_cpu_kernels *kernels, const struct lw_slot *slot,
                         int64_t channel, int64_t first, int64_t n, void *to)
{
    const int64_t bytes = (int64_t)lw_type_bytes(ols->spec.input), n_channels = lw_op_inputs(&ols->spec, slot->block.n_channels);
    const bool is_fast = ols->spec.layout == LW_TIME_FAST;
    const int64_t axis = ols->plan.halo + slot->block.count;
    const int64_t at = is_fast ? channel * axis + first : first * n_channels + channel;
    struct lw_cpu_panel panel = lw_cpu_panel_of(ols->spec.input, is_fast ? 1 : n, is_fast ? n : 1);
    panel.stored_stride = n_channels * bytes;
    kernels->load(&panel, (const char *)slot->input + at * bytes, to);
}

static bool is_normalized(const struct lw_cpu_ols *ols) { return ols->spec.ols.normalize != LW_NORMALIZE_NONE; }

static double *wide_of(const struct lw_cpu_segment *s, int c) { return s->lane->wide + c * s->ols->strides.wide; }

void lw_cpu_segment_load(const struct lw_cpu_segment *s)
{
    if (!is_normalized(s->ols))
        load(s, s->ols->lead + s->first, s->n_samples);
    for (int c = 0; is_normalized(s->ols) && c < s->n_channels; c++)
        lw_cpu_load_channel(s->ols, lw_cpu_kernels(LW_DOUBLE), s->slot, s->channel + c, s->ols->lead + s->first, s->n_samples,
                            wide_of(s, c));
}

/* ---- transforms ------------------------------------------------------------------------------------------------------ */

void lw_cpu_forward(const struct lw_cpu_segment *s, void *x, void *z)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const struct lw_cpu_kernels *const k = ols->shape.kernels;
    if (ols->shape.method != LW_CPU_OLS_DIRECT)
        k->fft_forward(ols->fft, x, z, s->lane->work);
    else if (ols->spec.ols.taps_complex)
        k->quarter_turn(x, lw_cpu_real_at(ols, x, ols->shape.turned), ols->shape.length);
    if (ols->shape.method == LW_CPU_OLS_PACKED)
        k->mirror(ols->fft, z, x);
}

void *lw_cpu_backward(const struct lw_cpu_segment *s, int64_t row, const void *x, const void *z, void *y)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const struct lw_cpu_kernels *const k = ols->shape.kernels;
    const void *const h = lw_cpu_real_at(ols, ols->filters.data, row * ols->filters.stride);
    if (ols->shape.method == LW_CPU_OLS_DIRECT) {
        const struct lw_cpu_terms terms = {h, ols->filters.offsets, ols->filters.n_terms};
        k->direct(&terms, x, y, s->n_sums * ols->shape.width);
        return y;
    }
    k->fft_multiply(ols->fft, h, z, ols->shape.method == LW_CPU_OLS_PACKED ? x : NULL, s->lane->work);
    k->fft_inverse(ols->fft, s->lane->work, y);
    return lw_cpu_real_at(ols, y, (ols->shape.n_taps - 1) * ols->shape.width);
}

/* ---- samples that are not finite, and out of range ------------------------------------------------------------------- */

/* Return whether own samples are counted separately. If outputs beyond a block's own are computed, or delayed ones, the last sample
 * of an own output is not an own sample. */
static bool counts_apart(const struct lw_cpu_ols *ols) { return ols->plan.after > 0 || ols->shape.summed > 0; }

/* Replace samples x of channel c, reals of `kernels`, that are not finite by zero, and mark the outputs that they touch. If
 * is_counted, the task with the segment's first filters counts them.
 * @param found  numbers of samples, outputs and taps, and the width */
static void repair(const struct lw_cpu_segment *s, int c, const struct lw_cpu_kernels *kernels, void *x,
                   struct lw_cpu_repair found, bool is_counted)
{
    found.touched = lw_cpu_touched(s, c);
    kernels->repair(&found, x);
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
            repair(s, c, ols->shape.kernels, lw_cpu_x(s, c),
                   (struct lw_cpu_repair){.width = ols->shape.width, .n_taps = 1, .n_samples = n, .n_outputs = n}, true);
}

void lw_cpu_segment_condition(const struct lw_cpu_segment *s, int c)
{
    const struct lw_cpu_ols_shape *const shape = &s->ols->shape;
    const bool is_wide = is_normalized(s->ols);
    const struct lw_cpu_kernels *const k = is_wide ? lw_cpu_kernels(LW_DOUBLE) : shape->kernels;
    const int width = !is_wide ? shape->width : s->ols->spec.input.is_complex ? 2 : 1, safe = shape->kernels->safe_exponent;
    struct lw_cpu_row *const row = lw_cpu_row(s, c);
    void *const x = is_wide ? (void *)wide_of(s, c) : lw_cpu_x(s, c);
    const int64_t n = s->n_samples * width;
    const int64_t reals = is_wide || shape->method == LW_CPU_OLS_DIRECT ? shape->length * width : 2 * shape->points;
    k->fill((char *)x + (size_t)n * k->real_bytes, reals - n, 0);
    *row = (struct lw_cpu_row){0};
    double largest = lw_scalar_is_integer(s->ols->spec.input.scalar) ? 0 : k->largest(x, n);
    if (is_wide && largest > FLT_MAX && s->ols->spec.precision == LW_SINGLE) {      /* beyond the computing precision: infinite */
        double *const wide = x;
        for (int64_t i = 0; i < n; i++)
            wide[i] = fabs(wide[i]) > FLT_MAX ? INFINITY : wide[i];
        largest = INFINITY;
    }
    if (isinf(largest)) {
        const int64_t n_delayed = shape->folded ? shape->n_taps - s->ols->spec.ols.n_taps : 0;
        const struct lw_cpu_repair found = {.width = width, .n_taps = shape->n_taps - n_delayed, .halo = shape->halo,
                                            .n_samples = s->n_samples, .n_outputs = s->n_sums + n_delayed};
        repair(s, c, k, x, found, !counts_apart(s->ols));
        row->is_blanked = s->ols->spec.nan != LW_NAN_ZERO;
        largest = k->largest(x, n);
    }
    const bool is_safe = largest == 0 || (largest > ldexp(1, -safe) && largest < ldexp(1, safe));
    if (!is_safe && (is_wide || shape->method != LW_CPU_OLS_DIRECT)) {
        row->exponent = ilogb(largest);
        k->scale(x, n, -row->exponent);
    }
    if (is_wide)
        lw_cpu_segment_weigh(s, c, x);
}

void lw_cpu_segment_finish(const struct lw_cpu_segment *s, int filter, int c, void *y)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const struct lw_cpu_kernels *const k = ols->shape.kernels;
    const bool is_scaled = !is_normalized(ols);         /* coefficients have no unit */
    const int exponent = is_scaled ? ols->filters.exponents[lw_cpu_taps_row(s, filter, c)] + lw_cpu_row(s, c)->exponent : 0;
    const double least = is_scaled ? INFINITY : lw_cpu_segment_least_gain(s, filter, c, y);
    if (exponent != 0)
        k->scale(y, s->n_sums * ols->shape.width, exponent);
    if (ols->shape.narrows)
        k->narrow(y, s->n_sums);
    if (isfinite(least))
        lw_cpu_segment_refine(s, filter, c, least, y);
    if (lw_cpu_row(s, c)->is_blanked)
        k->blank(y, lw_cpu_touched(s, c), s->n_sums, ols->shape.series_width);
}

/* ---- store ----------------------------------------------------------------------------------------------------------- */

char *lw_cpu_output_at(const struct lw_cpu_ols *ols, const struct lw_slot *slot, int filter, int64_t channel, int64_t output)
{
    const struct lw_block *const block = &slot->block;
    const int64_t n_channels = block->n_channels;
    const int64_t n_outputs = lw_post_outputs(ols->spec.ols.post, ols->spec.n_outputs, block->first, block->count);
    const int64_t in_plane = ols->layout == LW_TIME_FAST ? channel * n_outputs + output : output * n_channels + channel;
    const int64_t at = filter * n_outputs * n_channels + in_plane;
    return (char *)slot->products[0].data + at * (int64_t)lw_type_bytes(ols->spec.output);
}

void lw_cpu_segment_fetch(const struct lw_cpu_segment *s, int filter)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const int64_t bytes = s->n_outputs * (int64_t)lw_type_bytes(ols->spec.output);
    const bool is_in_a_row = ols->layout == LW_TIME_FAST && !ols->post && lw_post_every(ols->spec.ols.post) == 1;
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
    if (ols->layout == LW_TIME_SLOW) {
        store_time_slow(s, outputs, stored);
        return;
    }
    struct lw_cpu_panel panel = lw_cpu_output_panel(&ols->spec, 1, outputs->count);
    panel.squares = outputs->squares;
    ols->shape.kernels->store(&panel, outputs->y, stored, &s->lane->base.loss);
}
