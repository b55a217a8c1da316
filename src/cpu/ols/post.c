/* post.c - --post (signal/post.h) on a segment's sums. */
#include "cpu/ols/ols.h"

struct lw_cpu_post {
    double least, most;                 /* see lw_op_power_range */
    struct lw_cpu_phases phases[LW_POST_PLACES];
    void *weights;                      /* [LW_POST_PLACES][LW_POST_SPAN][rate] reals */
    void *samples;                      /* ends: the working samples of one output */
};

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */
static int64_t n_weights(const struct lw_cpu_ols_shape *shape)
{
    return shape->rate > 1 ? LW_POST_PLACES * LW_POST_SPAN * shape->rate : 0;
}

static int64_t end_reals(const struct lw_op_spec *spec)
{
    return lw_post_folds(spec->ols.post) ? lw_post_end_taps(spec->ols.post, spec->ols.n_taps) * (spec->input.is_complex ? 2 : 1)
                                         : 0;
}

int64_t lw_cpu_post_bytes(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape)
{
    if (!lw_post_is_needed(spec->ols.post))
        return 0;
    return (int64_t)sizeof(struct lw_cpu_post) + (n_weights(shape) + end_reals(spec)) * (int64_t)shape->kernels->real_bytes;
}

int lw_cpu_post_create(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape, struct lw_cpu_post **out,
                       struct lw_error *err)
{
    if (!lw_post_is_needed(spec->ols.post))
        return LW_OK;
    struct lw_cpu_post *const post = *out = lw_alloc(sizeof *post, "post-processing", err);
    if (!post)
        return LW_ESYSTEM;
    post->weights = lw_alloc_array(n_weights(shape), shape->kernels->real_bytes, "the weights of interpolation", err);
    post->samples = lw_alloc_array(end_reals(spec), shape->kernels->real_bytes, "the ends' samples", err);
    if (!post->weights || !post->samples)
        return LW_ESYSTEM;
    lw_op_power_range(spec, &post->least, &post->most);
    const int rate = shape->rate;
    for (int place = 0; rate > 1 && place < LW_POST_PLACES; place++) {
        struct lw_post_weights w;
        char *const to = (char *)post->weights + (size_t)(place * LW_POST_SPAN * rate) * shape->kernels->real_bytes;
        lw_post_weigh(spec->ols.post, spec->n_outputs, place, &w);
        for (int k = 0; k < LW_POST_SPAN; k++)
            shape->kernels->round_reals(w.weights[k], to + (size_t)(k * rate) * shape->kernels->real_bytes, rate);
        post->phases[place] = (struct lw_cpu_phases){rate, {w.begin[0], w.begin[1]}, {w.end[0], w.end[1]}, to};
    }
    return LW_OK;
}

void lw_cpu_post_destroy(struct lw_cpu_post *post)
{
    if (!post)
        return;
    lw_free(post->weights);
    lw_free(post->samples);
    lw_free(post);
}

/* ---- a segment --------------------------------------------------------------------------------------------------- */

/* Apply the operation to each output in place, and store the outputs in the slot. */
static void finish_outputs(const struct lw_cpu_segment *s, struct lw_cpu_segment_outputs *outputs)
{
    const struct lw_cpu_ols *const ols = s->ols;
    lw_cpu_make_fn *const make = ols->shape.kernels->make[lw_op_made(&ols->spec)];
    outputs->squares = lw_op_squares(&ols->spec);
    for (int c = 0; c < s->n_channels; c++)
        s->lane->base.is_out_of_range |= make(lw_cpu_real_at(ols, outputs->y, c * outputs->pitch), outputs->count,
                                              ols->shape.series_width, ols->post->least, ols->post->most);
    lw_cpu_segment_store(s, outputs);
}

/* Interpolate after samples [i, end) of the axis, which share one place (lw_post_place). sums: sample i, first channel. */
static void interpolate_outputs(const struct lw_cpu_segment *s, int filter, int64_t i, int64_t end, void *sums)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const struct lw_op_spec *const spec = &ols->spec;
    const struct lw_cpu_phases *const phases = &ols->post->phases[lw_post_place(spec->n_outputs, i)];
    const int n_phases = (int)lw_post_outputs(spec->ols.post, spec->n_outputs, end - 1, 1);
    struct lw_cpu_segment_outputs outputs = {
        .filter = filter, .first = (i - s->slot->block.first) * ols->shape.rate,
        .count = lw_post_outputs(spec->ols.post, spec->n_outputs, i, end - i), .y = s->lane->post, .pitch = ols->strides.post,
    };
    for (int c = 0; c < s->n_channels; c++)
        ols->shape.kernels->interpolate(phases, lw_cpu_real_at(ols, sums, c * ols->strides.y), end - i, n_phases,
                                        ols->shape.series_width, lw_cpu_real_at(ols, s->lane->post, c * ols->strides.post));
    finish_outputs(s, &outputs);
}

static void interpolate(const struct lw_cpu_segment *s, int filter, void *y)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const int64_t at_a_time = LW_CPU_POST_OUTPUTS / ols->shape.rate, n = ols->spec.n_outputs;
    const int64_t begin = s->slot->block.first + s->first, end = begin + s->n_outputs;
    for (int64_t i = begin, next; i < end; i = next) {
        const int64_t place_end = lw_post_place(n, i) == 2 ? n - 2 : i + 1;     /* samples i .. place_end - 1 share a place */
        next = lw_min64(lw_min64(i + at_a_time, end), place_end);
        interpolate_outputs(s, filter, i, next, lw_cpu_real_at(ols, y, (ols->shape.before + i - begin) * ols->shape.series_width));
    }
}

/* Zero the first and the last output of the axis. lw_cpu_post_ends makes both anew, and counts their conversion losses. */
static void drop_ends(const struct lw_cpu_segment *s, const struct lw_cpu_segment_outputs *outputs)
{
    const struct lw_cpu_ols *const ols = s->ols;
    const struct lw_post post = ols->spec.ols.post;
    const int64_t begin = lw_divide_up(s->slot->block.first, lw_post_every(post)) + outputs->first, last = outputs->count - 1;
    const int width = ols->shape.series_width;
    for (int c = 0; c < s->n_channels; c++) {
        void *const series = lw_cpu_real_at(ols, outputs->y, c * outputs->pitch);
        if (begin == 0)
            ols->shape.kernels->fill(series, width, 0);
        if (begin + last == lw_post_length(post, ols->spec.n_outputs) - 1)
            ols->shape.kernels->fill(lw_cpu_real_at(ols, series, last * width), width, 0);
    }
}

void lw_cpu_segment_post(const struct lw_cpu_segment *s, struct lw_cpu_segment_outputs *outputs)
{
    if (s->ols->filters.ends)
        drop_ends(s, outputs);
    if (s->ols->shape.rate > 1)
        interpolate(s, outputs->filter, outputs->y);
    else
        finish_outputs(s, outputs);
}

/* ---- the two ends of the axis with a folded derivative -------------------------------------------------------------- */

/* Load the working samples first .. first + n - 1 of a channel of the slot's input, made finite.
 * @return whether their output must be NaN */
static bool load_end(const struct lw_cpu_ols *ols, const struct lw_slot *slot, int64_t channel, int64_t first, int64_t n)
{
    lw_cpu_load_channel(ols, ols->shape.kernels, slot, channel, first, n, ols->post->samples);
    uint8_t touched = 0;
    struct lw_cpu_repair repair = {
        .width = ols->spec.input.is_complex ? 2 : 1, .n_taps = n, .n_samples = n, .n_outputs = 1, .touched = &touched,
    };
    ols->shape.kernels->repair(&repair, ols->post->samples);
    return touched && ols->spec.nan != LW_NAN_ZERO;
}

/* Compute one output of the block with the filters for the ends. newest: its newest sample in the input. */
static void make_end(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_slot *slot, int64_t output,
                     int64_t newest)
{
    const struct lw_cpu_kernels *const k = ols->shape.kernels;
    const int64_t n = lw_post_end_taps(ols->spec.ols.post, ols->spec.ols.n_taps);
    const int width = ols->spec.input.is_complex ? 2 : 1, parts = ols->spec.ols.taps_complex ? 2 : 1;
    const struct lw_cpu_panel panel = lw_cpu_output_panel(&ols->spec, 1, 1);
    for (int64_t channel = 0; channel < slot->block.n_channels; channel++) {
        const bool is_nan = load_end(ols, slot, channel, newest - n + 1, n);
        for (int f = 0; f < ols->spec.ols.n_filters; f++) {
            double sum[2] = {NAN, NAN}, y[2];
            if (!is_nan)
                k->sum(ols->filters.ends + f * n * parts, parts, ols->post->samples, width, n, sum);
            k->round_reals(sum, y, 2);
            k->store(&panel, y, lw_cpu_output_at(ols, slot, f, channel, output), &lane->base.loss);
        }
    }
}

void lw_cpu_post_ends(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_slot *slot)
{
    const struct lw_block *const block = &slot->block;
    const struct lw_post post = ols->spec.ols.post;
    const int64_t halo = ols->shape.halo, every = lw_post_every(post);
    const int64_t last = lw_post_length(post, ols->spec.n_outputs) - 1, at = last * every - block->first;
    if (block->first == 0)
        make_end(ols, lane, slot, 0, halo);                             /* y[D] - y[0]: its newest sample is that of y[D] */
    if (at >= 0 && at < block->count)
        make_end(ols, lane, slot, last - lw_divide_up(block->first, every), halo + at - every);
}
