/* ols.c - overlap-save filtering of one block: threads take segments, each in its own buffers.
 *
 * Per segment and tile of channels:  load (convert, transpose) -> repair, scale -> forward transform
 *                                    per filter: multiply -> inverse transform -> scale, blank -> search -> --post -> store
 *
 * A search also computes segments before and after a block's own, as far as its products need them. No result depends on the
 * thread, the block or the slot. */
#include "cpu/ols/ols.h"

#include "cpu/dispatch.h"

#include <assert.h>

/* Working samples that a thread takes at a time, so that sharing out short segments costs little. */
#define CHUNK_SAMPLES 32768

/* The filters of few segments are divided among tasks: TASKS_PER_LANE for each thread, so that all end at about the same time,
 * with at least LEAST_FILTERS each, since every task transforms the segment for itself. */
#define TASKS_PER_LANE 4
#define LEAST_FILTERS 8

/* ---- the memory of a thread ------------------------------------------------------------------------------------ */

/* Return lw_cpu_padded of a buffer, in reals. */
static int64_t padded(const struct lw_cpu_ols_shape *shape, int64_t reals)
{
    const int64_t real_bytes = (int64_t)shape->kernels->real_bytes;
    return lw_cpu_padded(reals * real_bytes) / real_bytes;
}

/* Lay out a lane. @param memory  NULL: only count the bytes @return  the bytes */
static int64_t lay_out(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape, char *memory,
                       struct lw_cpu_ols_strides *strides, struct lw_cpu_ols_lane *lane)
{
    const int64_t real = (int64_t)shape->kernels->real_bytes, tile = shape->tile;
    const int64_t sums = shape->before + shape->hop + shape->after;     /* sums of a whole segment */
    const bool is_direct = shape->method == LW_CPU_OLS_DIRECT, is_stack = shape->summed > 0;
    const int64_t windows = spec->ols.normalize == LW_NORMALIZE_NONE ? 0 : shape->length - shape->n_taps + 1;
    const int width = spec->input.is_complex ? 2 : 1;
    const struct lw_cpu_kernels *const wide = lw_cpu_kernels(LW_DOUBLE);
    const struct lw_cpu_fft fft = shape->kernels->fft_shape(shape->points);
    const int64_t spectrum = is_direct ? 0 : padded(shape, 2 * shape->points);
    struct lw_cpu_ols_strides s = {.x = spectrum, .y = spectrum, .z = shape->keeps ? spectrum : 0};
    if (is_direct) {
        s.x = padded(shape, shape->turned * (spec->ols.taps_complex ? 2 : 1));
        s.y = padded(shape, lw_round_up(sums * shape->width, shape->kernels->direct_step));
    }
    s.post = shape->rate > 1 ? padded(shape, LW_CPU_POST_OUTPUTS * shape->width) : 0;
    if (lw_search_products(&spec->ols.search) & LW_BEST) {
        s.best_values = lw_cpu_padded(shape->hop * shape->width * real);
        s.best_strengths = lw_cpu_padded(shape->hop * (int64_t)sizeof(double));
        s.best_filters = lw_cpu_padded(shape->hop * (int64_t)sizeof(int32_t));
    }
    s.touched = lw_scalar_is_integer(spec->input.scalar) ? 0 : sums + (shape->folded ? shape->n_taps - spec->ols.n_taps : 0);
    s.gains = padded(shape, windows);
    s.wide = windows > 0 ? lw_cpu_padded(shape->length * width * (int64_t)sizeof(double)) / (int64_t)sizeof(double) : 0;
    const int64_t task = (shape->before + shape->run * shape->hop + shape->after) * shape->series_width;
    s.sums = shape->folded ? spectrum : is_stack ? padded(shape, task) : 0;
    const int64_t windows_sums = lw_round_up(LW_CPU_EXACT * 2, wide->direct_step);
    const int64_t exact = windows > 0 ? 2 * lw_cpu_exact_turned(shape, &spec->ols) + windows_sums : 0;
    const int64_t panel = spec->layout == LW_TIME_SLOW ? padded(shape, LW_CPU_PANEL_ROWS * tile * shape->width) : 0;

    struct lw_arena arena = {.base = memory};
    lane->x = lw_cpu_take(&arena, shape->rows * s.x * real);
    lane->z = lw_cpu_take(&arena, (shape->keeps ? shape->rows : 1) * spectrum * real);
    lane->work = lw_cpu_take(&arena, is_direct ? 0 : padded(shape, 2 * fft.work) * real);
    lane->panel = lw_cpu_take(&arena, panel * real);
    lane->post = lw_cpu_take(&arena, tile * s.post * real);
    lane->y = is_direct || shape->keeps ? lw_cpu_take(&arena, (is_stack ? 1 : tile) * s.y * real) : lane->x;
    lane->best = lw_cpu_take(&arena, (is_stack ? shape->run : tile) * (s.best_values + s.best_strengths + s.best_filters));
    lane->touched = lw_cpu_take(&arena, lw_cpu_padded(shape->rows * s.touched));
    lane->rows = lw_cpu_take(&arena, lw_cpu_padded(shape->rows * (int64_t)sizeof *lane->rows));
    lane->gains = lw_cpu_take(&arena, shape->rows * s.gains * real);
    lane->wide = lw_cpu_take(&arena, tile * s.wide * (int64_t)sizeof(double));
    lane->energies = lw_cpu_take(&arena, lw_cpu_padded(windows * (int64_t)sizeof(double)));
    lane->scratch = lw_cpu_take(&arena, windows > 0 ? lw_cpu_padded(4 * shape->n_taps * (int64_t)sizeof(double)) : 0);
    lane->quiet = lw_cpu_take(&arena, windows > 0 ? 3 * spectrum * real : 0);
    lane->exact = lw_cpu_take(&arena, lw_cpu_padded(exact * (int64_t)sizeof(double)));
    lane->sums = lw_cpu_take(&arena, (shape->folded ? shape->run : shape->block) * s.sums * real);
    *strides = s;
    return arena.used;
}

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

/* Return the number of segments times tiles. */
static int64_t n_segments(const struct lw_cpu_ols_shape *shape, int64_t count, int64_t n_channels)
{
    return lw_divide_up(count, shape->run * shape->hop) * (shape->summed > 0 ? 1 : lw_divide_up(n_channels, shape->tile));
}

/* Return the most parts that the filters of a segment are divided into. The best filter is chosen among all, in one lane. */
static int64_t most_parts(const struct lw_search *search, int64_t n_filters)
{
    return lw_search_products(search) & LW_BEST ? 1 : lw_max64(1, n_filters / LEAST_FILTERS);
}

static int n_lanes(const struct lw_op_spec *spec, const struct lw_cpu_ols_shape *shape, const struct lw_op_plan *plan,
                   const struct lw_cpu_op_size *size)
{
    const int64_t segments = n_segments(shape, plan->before + size->count + plan->after, size->n_channels);
    return lw_cpu_lanes_needed(size->n_threads, segments * most_parts(&spec->ols.search, shape->n_filters));
}

static int64_t ols_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_cpu_op_size *size)
{
    const struct lw_cpu_ols_shape shape = lw_cpu_ols_shape(spec, plan->segment);
    const int64_t fft = shape.method == LW_CPU_OLS_DIRECT ? 0 : shape.kernels->fft_bytes(shape.points);
    struct lw_cpu_ols_strides strides;
    struct lw_cpu_ols_lane lane;
    const int64_t lane_bytes = (int64_t)sizeof lane + lay_out(spec, &shape, NULL, &strides, &lane);
    return (int64_t)sizeof(struct lw_cpu_ols) + lw_cpu_filters_bytes(&shape, &spec->ols) + fft +
           lw_cpu_post_bytes(spec, &shape) + lw_cpu_search_bytes(spec, &shape, plan, size) +
           n_lanes(spec, &shape, plan, size) * lane_bytes;
}

/* Open the lanes, and plan the transform for their memory. */
static int open_lanes(struct lw_cpu_ols *ols, int n, struct lw_error *err)
{
    struct lw_cpu_ols_lane counted;
    const int64_t bytes = lay_out(&ols->spec, &ols->shape, NULL, &ols->strides, &counted);
    const int rc = lw_cpu_lanes_open(&ols->lanes, n, sizeof counted, bytes, err);
    for (int i = 0; rc == LW_OK && i < n; i++) {
        struct lw_cpu_ols_lane *const lane = lw_cpu_lane_at(&ols->lanes, i);
        lay_out(&ols->spec, &ols->shape, lane->base.memory, &ols->strides, lane);
    }
    if (rc || ols->shape.method == LW_CPU_OLS_DIRECT)
        return rc;
    const struct lw_cpu_ols_lane *const lane = lw_cpu_lane_at(&ols->lanes, 0);
    return ols->shape.kernels->fft_create(ols->shape.points, lane->x, lane->z, &ols->fft, err);
}

static void ols_destroy(void *state)
{
    struct lw_cpu_ols *const ols = state;
    if (!ols)
        return;
    ols->shape.kernels->fft_destroy(ols->fft);
    lw_cpu_lanes_close(&ols->lanes);
    lw_cpu_post_destroy(ols->post);
    lw_cpu_search_destroy(ols->search);
    lw_cpu_filters_release(&ols->filters);
    lw_free(ols);
}

static int ols_fill(void *state, const struct lw_ols_part *part, struct lw_error *err)
{
    struct lw_cpu_ols *const ols = state;
    ols->first = part->first;
    ols->n_held = part->n;
    lw_cpu_search_fill(ols, part);
    return lw_cpu_filters_fill(ols, part, err);
}

static int ols_create(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_cpu_op_size *size,
                      void **out, struct lw_error *err)
{
    struct lw_cpu_ols *const ols = *out = lw_alloc(sizeof *ols, "an operation", err);
    if (!ols)
        return LW_ESYSTEM;
    ols->spec = *spec;
    ols->spec.ols.taps.data = ols->spec.ols.search.noise = NULL;        /* borrowed during this call only */
    ols->plan = *plan;
    ols->shape = lw_cpu_ols_shape(spec, plan->segment);
    ols->layout = lw_op_output_layout(spec);
    ols->lead = plan->before + (ols->shape.summed > 0 && !ols->shape.folded ? lw_op_reach_of(spec).before : 0);

    const struct lw_ols_part part = {spec->ols.taps, spec->ols.search.noise, 0, spec->ols.n_filters};
    int rc;
    if ((rc = lw_cpu_filters_create(&ols->shape, &spec->ols, &ols->filters, err)) ||
        (rc = lw_cpu_post_create(&ols->spec, &ols->shape, &ols->post, err)) ||
        (rc = lw_cpu_search_create(spec, &ols->shape, plan, size, &ols->search, err)) ||
        (rc = open_lanes(ols, n_lanes(spec, &ols->shape, plan, size), err)))
        return rc;
    return part.taps.data ? ols_fill(ols, &part, err) : LW_OK;
}

/* ---- one segment --------------------------------------------------------------------------------------------------- */

/* One filter goes channel by channel, which touches little memory. Several filters first make and keep all channels' spectra. */
static void run(const struct lw_cpu_segment *s)
{
    const bool is_bank = s->ols->shape.keeps;
    for (int c = 0; is_bank && c < s->n_channels; c++)
        lw_cpu_segment_prepare(s, c);
    for (int filter = s->filter; filter < s->filter_end; filter++) {
        void *first = NULL;
        lw_cpu_segment_fetch(s, filter);
        for (int c = 0; c < s->n_channels; c++) {
            if (!is_bank)
                lw_cpu_segment_prepare(s, c);
            void *const y = lw_cpu_segment_filter(s, filter, c, lw_cpu_real_at(s->ols, s->lane->y, c * s->ols->strides.y));
            if (!y)
                continue;
            if (lw_cpu_gains(s, c))
                s->ols->shape.kernels->gain(y, lw_cpu_gains(s, c), s->n_sums, s->ols->shape.series_width);
            if (s->ols->search)
                lw_cpu_segment_search(s, filter, c, y);
            first = c == 0 ? y : first;
        }
        lw_cpu_segment_put(s, filter, first);
    }
}

/* The segment is filled in place: a copy would wait until the outputs before it have left the processor's store buffer. Its content
 * depends on its place on the axis only, whoever computes it. */
static void cut_segment(const struct lw_cpu_work *work, const struct lw_slot *slot, int64_t task, struct lw_cpu_segment *s)
{
    const struct lw_cpu_ols_shape *const shape = &work->ols->shape;
    const int64_t tiles = n_segments(shape, 1, work->n_channels), part = task % work->n_parts, place = task / work->n_parts;
    const int64_t begin = work->begin + place / tiles * shape->run * shape->hop;
    const int64_t left = work->axis_end - begin, in_group = place % tiles * shape->tile;
    s->ols = work->ols;
    s->work = work;
    s->slot = slot;
    s->first = begin - slot->block.first;
    s->channel = work->channel + in_group;
    s->n_outputs = lw_min64(lw_min64(shape->run * shape->hop, lw_round_up(work->end, shape->hop) - begin), left);
    s->n_sums = shape->before + s->n_outputs + shape->after;
    s->n_samples = lw_min64(shape->length, left + shape->halo);
    s->n_channels = (int)lw_min64(shape->tile, work->n_channels - in_group);
    s->row = 0;
    s->filter = work->filter + (int)(part * work->n_filters / work->n_parts);
    s->filter_end = work->filter + (int)((part + 1) * work->n_filters / work->n_parts);
    s->counts = part == 0;
}

static void compute(const void *state, void *lane, const struct lw_slot *slot, int64_t task)
{
    struct lw_cpu_segment segment;
    cut_segment(state, slot, task, &segment);
    segment.lane = lane;
    if (segment.ols->shape.summed > 0) {
        lw_cpu_segment_stack(&segment);
        return;
    }
    lw_cpu_segment_count(&segment);
    lw_cpu_segment_load(&segment);
    if (segment.ols->search)
        lw_cpu_segment_search_begin(&segment);
    run(&segment);
    if (segment.ols->search)
        lw_cpu_segment_search_end(&segment);
}

static void compute_all(struct lw_cpu_work *work, const struct lw_slot *slot)
{
    const struct lw_cpu_ols *const ols = work->ols;
    const int64_t samples = ols->shape.length * ols->shape.rows;
    const int64_t segments = n_segments(&ols->shape, work->end - work->begin, work->n_channels);
    const int64_t wanted = ols->lanes.n > 1 && segments > 0 ? lw_divide_up(TASKS_PER_LANE * ols->lanes.n, segments) : 1;
    work->n_parts = lw_min64(wanted, most_parts(&ols->spec.ols.search, work->n_filters));
    const int chunk = (int)(work->n_parts == 1 && samples < CHUNK_SAMPLES ? CHUNK_SAMPLES / samples : 1);
    lw_cpu_lanes_run(&ols->lanes, compute, work, slot, segments * work->n_parts, chunk);
}

/* ---- a block ----------------------------------------------------------------------------------------------------- */

/* Return in [*begin, *end) the outputs of the axis among which the crossings of `count` outputs from `first` on are chosen. */
static void crossings_range(const struct lw_op_spec *spec, int64_t first, int64_t count, int64_t *begin, int64_t *end)
{
    *begin = lw_max64(0, first - spec->ols.search.cluster);
    *end = lw_min64(spec->n_outputs, first + count + spec->ols.search.cluster);
}

/* Return the work for all products of a block: its own outputs, and neighbours as far as a search needs them. */
static struct lw_cpu_work whole_work(const struct lw_cpu_ols *ols, const struct lw_block *block)
{
    const int64_t every = ols->spec.ols.search.every;
    struct lw_cpu_work work = {
        .ols = ols, .products = lw_search_products(&ols->spec.ols.search), .begin = block->first,
        .end = block->first + block->count, .axis_end = block->first + block->count, .n_channels = block->n_channels,
        .n_filters = ols->spec.ols.n_filters,
    };
    if (!ols->search || block->count == 0)
        return work;
    assert(block->first % ols->shape.hop == 0 && (work.end % ols->shape.hop == 0 || work.end == ols->spec.n_outputs));
    crossings_range(&ols->spec, block->first, block->count, &work.crossings_begin, &work.crossings_end);
    if (work.products & LW_PEAKS) {
        work.begin = work.crossings_begin;
        work.end = work.crossings_end;
    }
    const int64_t last = work.products & LW_BLOCKS ? (block->first + block->count - 1) / every * every : -1;
    if (last >= block->first)
        work.end = lw_max64(work.end, lw_min64(ols->spec.n_outputs, last + every));
    work.begin -= work.begin % ols->shape.hop;
    work.axis_end = ols->spec.n_outputs;
    return work;
}

static void ols_run(void *state, struct lw_slot *slot)
{
    const struct lw_cpu_ols *const ols = state;
    struct lw_cpu_work work = whole_work(ols, &slot->block);
    if (ols->search)
        lw_cpu_search_begin(ols, slot);
    compute_all(&work, slot);
    if (ols->filters.ends)
        lw_cpu_post_ends(ols, lw_cpu_lane_at(&ols->lanes, 0), slot);
    if (ols->search)
        lw_cpu_search_end(&work, slot);
    lw_cpu_lanes_report(&ols->lanes, slot);
}

static void ols_again(void *state, struct lw_slot *slot, const struct lw_part *part)
{
    const struct lw_cpu_ols *const ols = state;
    struct lw_cpu_work work = {
        .ols = ols, .products = LW_PEAKS, .axis_end = ols->spec.n_outputs, .channel = part->channel - slot->block.channel,
        .n_channels = part->n_channels, .filter = part->filter, .n_filters = part->n_filters,
    };
    crossings_range(&ols->spec, part->first, part->count, &work.crossings_begin, &work.crossings_end);
    work.begin = work.crossings_begin - work.crossings_begin % ols->shape.hop;
    work.end = work.crossings_end;
    lw_cpu_search_begin(ols, slot);
    compute_all(&work, slot);
    lw_cpu_search_end(&work, slot);
}

const struct lw_cpu_op_ops lw_cpu_op_ols = {
    .plan = lw_cpu_ols_plan, .bytes = ols_bytes, .create = ols_create, .fill = ols_fill, .destroy = ols_destroy, .run = ols_run,
    .again = ols_again, .join_best = lw_cpu_search_join,
};
