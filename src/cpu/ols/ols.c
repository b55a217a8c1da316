/* ols.c - overlap-save filtering of one block: threads take segments, each in buffers of its own.
 *
 * Per segment and tile of channels:  load (convert, transpose) -> repair, scale -> forward transform
 *                                    per filter: multiply -> inverse transform -> scale, blank -> what signal/search.h finds
 *                                                -> what signal/post.h makes of it -> store
 * Where something is searched, segments before and after a block's own are computed, too, as far as its products need them.
 * Nothing that is computed depends on the thread, the block or the slot. */
#include "cpu/ols/lane.h"
#include "cpu/ols/post.h"
#include "cpu/ols/samples.h"
#include "cpu/ols/search.h"
#include "cpu/op.h"
#include "cpu/pick.h"

#include <assert.h>

/* Working samples that a thread takes at a time, so that sharing out short segments costs little. */
#define CHUNK_SAMPLES 32768

/* Segments times tiles: what the threads share out. */
static int64_t n_tasks(const struct lw_cpu_ols_shape *shape, int64_t count, int64_t n_channels)
{
    return lw_divide_up(count, shape->hop) * lw_divide_up(n_channels, shape->tile);
}

static int n_lanes(const struct lw_cpu_ols_shape *shape, const struct lw_op_plan *plan, const struct lw_cpu_op_size *size)
{
    return lw_cpu_lanes_needed(size->n_threads, n_tasks(shape, plan->before + size->count + plan->after, size->n_channels));
}

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */
static int64_t ols_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_cpu_op_size *size)
{
    const struct lw_cpu_ols_shape shape = lw_cpu_ols_shape(spec, plan->segment);
    const int64_t fft = shape.method == LW_CPU_OLS_DIRECT ? 0 : shape.kernels->fft_bytes(shape.points);
    const int64_t lane = (int64_t)sizeof(struct lw_cpu_ols_lane) + lw_cpu_ols_lane_sizes(spec, &shape).total_bytes;
    return (int64_t)sizeof(struct lw_cpu_ols) + lw_cpu_filters_bytes(&shape, &spec->ols) + fft +
           lw_cpu_post_bytes(spec, &shape) + lw_cpu_search_bytes(spec, &shape, plan, size) + n_lanes(&shape, plan, size) * lane;
}

static int plan_fft(struct lw_cpu_ols *ols, struct lw_error *err)
{
    if (ols->shape.method == LW_CPU_OLS_DIRECT)
        return LW_OK;
    const struct lw_cpu_ols_lane *const lane = lw_cpu_lane_at(&ols->lanes, 0);
    return ols->shape.kernels->fft_create(ols->shape.points, lane->x, lane->z, lane->work, &ols->fft, err);
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

static int ols_create(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_cpu_op_size *size,
                      void **out, struct lw_error *err)
{
    struct lw_cpu_ols *const ols = lw_alloc(sizeof *ols, "an operation", err);
    if (!ols)
        return LW_ESYSTEM;
    ols->spec = *spec;
    ols->spec.ols.taps = ols->spec.ols.search.noise = NULL;     /* borrowed during this call only */
    ols->plan = *plan;
    ols->shape = lw_cpu_ols_shape(spec, plan->segment);
    ols->sizes = lw_cpu_ols_lane_sizes(spec, &ols->shape);

    int rc;
    if ((rc = lw_cpu_filters_create(&ols->shape, &spec->ols, &ols->filters, err)) ||
        (rc = lw_cpu_post_create(&ols->spec, &ols->shape, &ols->post, err)) ||
        (rc = lw_cpu_search_create(spec, &ols->shape, plan, size, &ols->search, err)) ||
        (rc = lw_cpu_ols_lanes_open(ols, n_lanes(&ols->shape, plan, size), err)) || (rc = plan_fft(ols, err))) {
        ols_destroy(ols);
        return rc;
    }
    *out = ols;
    return LW_OK;
}

/* ---- one segment --------------------------------------------------------------------------------------------------- */

/* Make channel c ready for the filters: its spectrum, or for complex taps and DIRECT its copy turned by i. */
static void prepare(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment, int c)
{
    const struct lw_cpu_kernels *const k = ols->shape.kernels;
    void *const x = lw_cpu_x(ols, lane, c), *const z = lw_cpu_z(ols, lane, c);
    lw_cpu_segment_condition(ols, lane, segment, c);
    if (ols->shape.method != LW_CPU_OLS_DIRECT)
        k->fft_forward(ols->fft, x, z, lane->work);
    else if (ols->spec.ols.taps_complex)
        k->quarter_turn(x, lw_cpu_real_at(ols, x, lw_cpu_ols_turned_offset(&ols->shape)), ols->shape.length);
    if (ols->shape.method == LW_CPU_OLS_PACKED)
        k->mirror(ols->fft, z, x);
}

static void *sum_directly(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment,
                          const void *taps, int c)
{
    const struct lw_cpu_terms terms = {taps, ols->filters.offsets, ols->filters.n_terms};
    void *const y = lw_cpu_y(ols, lane, c);
    ols->shape.kernels->direct(&terms, lw_cpu_x(ols, lane, c), y, segment->n_sums * ols->shape.width);
    return y;
}

/* The first n_taps - 1 points of a filtered segment are wrapped around; the sums begin after them. */
static void *multiply_spectrum(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const void *spectrum, int c)
{
    const struct lw_cpu_kernels *const k = ols->shape.kernels;
    const void *const x = lw_cpu_x(ols, lane, c), *const z = lw_cpu_z(ols, lane, c);
    void *const y = lw_cpu_y(ols, lane, c);
    if (ols->shape.method == LW_CPU_OLS_PACKED)
        k->multiply_packed(spectrum, z, x, lane->product, ols->shape.points);
    else
        k->multiply(spectrum, z, lane->product, ols->shape.points);
    k->fft_inverse(ols->fft, lane->product, y, lane->work);
    return lw_cpu_real_at(ols, y, (ols->shape.n_taps - 1) * ols->shape.width);
}

/* Filter channel c, and search what comes out.
 * @return  its sums */
static void *apply(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment, int filter,
                   int c)
{
    const void *const h = lw_cpu_real_at(ols, ols->filters.data, filter * ols->filters.stride);
    void *const y = ols->shape.method == LW_CPU_OLS_DIRECT ? sum_directly(ols, lane, segment, h, c)
                                                   : multiply_spectrum(ols, lane, h, c);
    lw_cpu_segment_finish(ols, lane, segment, filter, c, y);
    if (ols->search)
        lw_cpu_segment_search(ols, lane, segment, filter, c, y);
    return y;
}

/* Keep every D-th sample of the axis, in place. */
static void thin(const struct lw_cpu_ols *ols, const struct lw_cpu_segment *segment, struct lw_cpu_segment_outputs *outputs)
{
    const int64_t every = lw_post_every(ols->spec.ols.post), block = segment->slot->block.first, begin = block + segment->first;
    const size_t bytes = (size_t)(ols->shape.narrows ? 1 : ols->shape.width) * ols->shape.kernels->real_bytes;
    outputs->first = lw_divide_up(begin, every) - lw_divide_up(block, every);
    outputs->count = lw_divide_up(begin + segment->n_outputs, every) - lw_divide_up(begin, every);
    for (int c = 0; c < segment->n_channels; c++) {
        char *const to = lw_cpu_real_at(ols, outputs->y, c * outputs->pitch);
        lw_cpu_pick(to, to + (size_t)(lw_round_up(begin, every) - begin) * bytes, outputs->count, every, bytes);
    }
}

static void put(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment, int filter,
                void *y)
{
    struct lw_cpu_segment_outputs outputs = {filter, segment->first, segment->n_outputs, y, ols->sizes.y, false};
    if (!lw_cpu_segment_is_put(segment))
        return;
    if (lw_post_every(ols->spec.ols.post) > 1)
        thin(ols, segment, &outputs);
    if (outputs.count == 0)
        return;
    if (ols->post)
        lw_cpu_segment_post(ols, lane, segment, &outputs);
    else
        lw_cpu_segment_store(ols, lane, segment, &outputs);
}

/* One filter: channel by channel, so that little memory is touched. */
static void run_single(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment)
{
    void *first = NULL;
    lw_cpu_segment_fetch(ols, segment, 0);
    for (int c = 0; c < segment->n_channels; c++) {
        prepare(ols, lane, segment, c);
        void *const y = apply(ols, lane, segment, 0, c);
        first = c == 0 ? y : first;
    }
    put(ols, lane, segment, 0, first);
}

/* Several filters: the spectra of all channels are made first and kept for every filter. */
static void run_bank(const struct lw_cpu_ols *ols, struct lw_cpu_ols_lane *lane, const struct lw_cpu_segment *segment)
{
    for (int c = 0; c < segment->n_channels; c++)
        prepare(ols, lane, segment, c);
    const int end = segment->work->filter + segment->work->n_filters;
    for (int filter = segment->work->filter; filter < end; filter++) {
        void *first = NULL;
        lw_cpu_segment_fetch(ols, segment, filter);
        for (int c = 0; c < segment->n_channels; c++) {
            void *const y = apply(ols, lane, segment, filter, c);
            first = c == 0 ? y : first;
        }
        put(ols, lane, segment, filter, first);
    }
}

/* The segment is filled in place: copying it would wait until the outputs before it have left the processor's store buffer. What
 * it holds depends on its place on the axis only, whoever computes it. */
static void cut_segment(const struct lw_cpu_work *work, const struct lw_slot *slot, int64_t task, struct lw_cpu_segment *segment)
{
    const struct lw_cpu_ols_shape *const shape = &work->ols->shape;
    const int64_t tiles = lw_divide_up(work->n_channels, shape->tile), begin = work->begin + task / tiles * shape->hop;
    const int64_t left = work->axis_end - begin, in_group = task % tiles * shape->tile;
    segment->slot = slot;
    segment->work = work;
    segment->first = begin - slot->block.first;
    segment->channel = work->channel + in_group;
    segment->n_outputs = lw_min64(shape->hop, left);
    segment->n_sums = shape->before + segment->n_outputs + shape->after;
    segment->n_samples = lw_min64(shape->length, left + lw_cpu_ols_halo(shape));
    segment->n_channels = (int)lw_min64(shape->tile, work->n_channels - in_group);
}

static void compute(const void *state, void *lane, const struct lw_slot *slot, int64_t task)
{
    const struct lw_cpu_work *const work = state;
    const struct lw_cpu_ols *const ols = work->ols;
    struct lw_cpu_segment segment;
    cut_segment(work, slot, task, &segment);
    lw_cpu_segment_count(ols, lane, &segment);
    lw_cpu_segment_load(ols, lane, &segment);
    if (ols->search)
        lw_cpu_segment_search_begin(ols, lane, &segment);
    if (ols->shape.n_filters == 1)
        run_single(ols, lane, &segment);
    else
        run_bank(ols, lane, &segment);
    if (ols->search)
        lw_cpu_segment_search_end(ols, lane, &segment);
}

static void compute_all(const struct lw_cpu_work *work, const struct lw_slot *slot)
{
    const struct lw_cpu_ols_shape *const shape = &work->ols->shape;
    const int64_t samples = shape->length * shape->tile;
    const int chunk = (int)(samples < CHUNK_SAMPLES ? CHUNK_SAMPLES / samples : 1);
    lw_cpu_lanes_run(&work->ols->lanes, compute, work, slot, n_tasks(shape, work->end - work->begin, work->n_channels), chunk);
}

/* ---- a block ----------------------------------------------------------------------------------------------------- */
static struct lw_cpu_work whole_work(const struct lw_cpu_ols *ols, const struct lw_block *block)
{
    struct lw_cpu_work work = {
        .ols = ols,
        .products = lw_search_products(&ols->spec.ols.search),
        .begin = block->first,
        .end = block->first + block->count,
        .axis_end = block->first + block->count,
        .n_channels = block->n_channels,
        .n_filters = ols->spec.ols.n_filters,
    };
    if (!ols->search || block->count == 0)
        return work;
    assert(block->first % ols->shape.hop == 0 && (work.end % ols->shape.hop == 0 || work.end == ols->spec.n_outputs));
    lw_cpu_search_crossings_range(&ols->spec, block->first, block->count, &work.crossings_begin, &work.crossings_end);
    lw_cpu_search_range(&ols->spec, block, &work.begin, &work.end);
    work.begin -= work.begin % ols->shape.hop;
    work.axis_end = ols->spec.n_outputs;
    return work;
}

static void combine(const void *state, void *lane, const struct lw_slot *slot, int64_t task)
{
    const struct lw_cpu_work *const work = state;
    (void)lane;
    lw_cpu_search_combine(work->ols, work, slot, task);
}

static void ols_run(void *state, struct lw_slot *slot)
{
    const struct lw_cpu_ols *const ols = state;
    const struct lw_cpu_work work = whole_work(ols, &slot->block);
    if (ols->search)
        lw_cpu_search_begin(ols, slot);
    compute_all(&work, slot);
    if (ols->filters.ends)
        lw_cpu_post_ends(ols, lw_cpu_lane_at(&ols->lanes, 0), slot);
    if (ols->search && lw_cpu_search_has_cells(ols))
        lw_cpu_lanes_continue(&ols->lanes, combine, &work, slot, work.n_filters * work.n_channels, 1);
    if (ols->search)
        lw_cpu_search_end(ols);
    lw_cpu_lanes_report(&ols->lanes, slot);
}

static void ols_again(void *state, struct lw_slot *slot, const struct lw_part *part)
{
    const struct lw_cpu_ols *const ols = state;
    struct lw_cpu_work work = {
        .ols = ols,
        .products = LW_PEAKS,
        .axis_end = ols->spec.n_outputs,
        .channel = part->channel - slot->block.channel,
        .n_channels = part->n_channels,
        .filter = part->filter,
        .n_filters = part->n_filters,
    };
    lw_cpu_search_crossings_range(&ols->spec, part->first, part->count, &work.crossings_begin, &work.crossings_end);
    work.begin = work.crossings_begin - work.crossings_begin % ols->shape.hop;
    work.end = work.crossings_end;
    lw_cpu_search_begin(ols, slot);
    compute_all(&work, slot);
    lw_cpu_search_end(ols);
}

static void ols_warm_up(void *state) { lw_cpu_lanes_warm_up(&((struct lw_cpu_ols *)state)->lanes); }

const struct lw_cpu_op_ops lw_cpu_op_ols = {
    .plan = lw_cpu_ols_plan,
    .bytes = ols_bytes,
    .create = ols_create,
    .destroy = ols_destroy,
    .warm_up = ols_warm_up,
    .run = ols_run,
    .again = ols_again,
};
