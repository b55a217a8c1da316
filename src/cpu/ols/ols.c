/* ols.c - overlap-save filtering of one block: threads take segments, each in buffers of its own.
 *
 * Per segment and tile of channels:  load (convert, transpose) -> repair, scale -> forward transform
 *                                    per filter: multiply -> inverse transform -> scale, blank -> what signal/post.h
 *                                                makes of it -> store
 * Nothing that is computed depends on the thread, the block or the slot. */
#include "base/integers.h"
#include "cpu/ols/lane.h"

#include "base/memory.h"

#include <omp.h>

/* Working samples that a thread takes at a time, so that sharing out short segments costs little. */
#define CHUNK_SAMPLES 32768

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */
static int plan_fft(struct lw_cpu_ols *ols, struct lw_error *err)
{
    if (ols->shape.method == LW_CPU_OLS_DIRECT)
        return LW_OK;
    const struct lw_cpu_lane *const lane = &ols->lanes[0];
    return ols->shape.kernels->fft_create(ols->shape.points, lane->x, lane->z, lane->work, &ols->fft, err);
}

int lw_cpu_ols_create(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count, int64_t n_channels,
                      int n_threads, struct lw_cpu_ols **out, struct lw_error *err)
{
    struct lw_cpu_ols *const ols = lw_alloc(sizeof *ols, "an operation", err);
    if (!ols)
        return LW_ESYSTEM;
    ols->spec = *spec;
    ols->spec.ols.taps = NULL;                  /* borrowed during this call only */
    ols->shape = lw_cpu_ols_shape(spec, plan->segment);

    int rc;
    if ((rc = lw_cpu_filters_create(&ols->shape, &spec->ols, &ols->filters, err)) ||
        (rc = lw_cpu_post_create(&ols->spec, &ols->shape, &ols->post, err)) ||
        (rc = lw_cpu_lanes_open(ols, count, n_channels, n_threads, err)) || (rc = plan_fft(ols, err))) {
        lw_cpu_ols_destroy(ols);
        return rc;
    }
    *out = ols;
    return LW_OK;
}

void lw_cpu_ols_destroy(struct lw_cpu_ols *ols)
{
    if (!ols)
        return;
    ols->shape.kernels->fft_destroy(ols->fft);
    lw_cpu_lanes_close(ols);
    lw_cpu_post_destroy(ols->post);
    lw_cpu_filters_release(&ols->filters);
    lw_free(ols);
}

/* ---- one piece --------------------------------------------------------------------------------------------------- */

/* Channel c's spectrum, or what the direct method needs. */
static void prepare(const struct lw_cpu_ols *ols, struct lw_cpu_lane *lane, const struct lw_cpu_segment *piece, int c)
{
    const struct lw_cpu_kernels *const k = ols->shape.kernels;
    void *const x = lw_cpu_x(ols, lane, c), *const z = lw_cpu_z(ols, lane, c);
    lw_cpu_segment_condition(ols, lane, piece, c);
    if (ols->shape.method != LW_CPU_OLS_DIRECT)
        k->fft_forward(ols->fft, x, z, lane->work);
    else if (ols->spec.ols.taps_complex)
        k->quarter_turn(x, lw_cpu_real_at(ols, x, lw_cpu_turned_offset(&ols->shape)), ols->shape.length);
    if (ols->shape.method == LW_CPU_OLS_PACKED)
        k->mirror(ols->fft, z, x);
}

static void *sum_directly(const struct lw_cpu_ols *ols, struct lw_cpu_lane *lane, const struct lw_cpu_segment *piece,
                          const void *taps, int c)
{
    const struct lw_cpu_terms terms = {taps, ols->filters.offsets, ols->filters.n_terms};
    void *const y = lw_cpu_y(ols, lane, c);
    ols->shape.kernels->direct(&terms, lw_cpu_x(ols, lane, c), y, piece->n_sums * ols->shape.width);
    return y;
}

/* The first n_taps - 1 points of a segment are wrapped around: outputs begin behind them. */
static void *multiply_spectrum(const struct lw_cpu_ols *ols, struct lw_cpu_lane *lane, const void *spectrum, int c)
{
    const struct lw_cpu_kernels *const k = ols->shape.kernels;
    const void *const x = lw_cpu_x(ols, lane, c), *const z = lw_cpu_z(ols, lane, c);
    void *const y = lw_cpu_y(ols, lane, c);
    if (ols->shape.method == LW_CPU_OLS_PACKED)
        k->multiply_half(spectrum, z, x, lane->product, ols->shape.points);
    else
        k->multiply(spectrum, z, lane->product, ols->shape.points);
    k->fft_inverse(ols->fft, lane->product, y, lane->work);
    return lw_cpu_real_at(ols, y, (ols->shape.n_taps - 1) * ols->shape.width);
}

/* Filter channel c.
 * @return  its sums */
static void *apply(const struct lw_cpu_ols *ols, struct lw_cpu_lane *lane, const struct lw_cpu_segment *piece, int filter,
                   int c)
{
    const void *const h = lw_cpu_real_at(ols, ols->filters.data, filter * ols->filters.stride);
    void *const y = ols->shape.method == LW_CPU_OLS_DIRECT ? sum_directly(ols, lane, piece, h, c)
                                                   : multiply_spectrum(ols, lane, h, c);
    lw_cpu_segment_finish(ols, lane, piece, filter, c, y);
    return y;
}

static void put(const struct lw_cpu_ols *ols, struct lw_cpu_lane *lane, const struct lw_cpu_segment *piece, int filter,
                void *y)
{
    const struct lw_cpu_segment_outputs run = {filter, piece->first, piece->n_outputs, y, ols->sizes.y, false};
    if (ols->post)
        lw_cpu_segment_post(ols, lane, piece, filter, y);
    else
        lw_cpu_segment_store(ols, lane, piece, &run);
}

/* Channel by channel, so that little memory is touched. */
static void run_single(const struct lw_cpu_ols *ols, struct lw_cpu_lane *lane, const struct lw_cpu_segment *piece)
{
    void *first = NULL;
    for (int c = 0; c < piece->n_channels; c++) {
        prepare(ols, lane, piece, c);
        void *const y = apply(ols, lane, piece, 0, c);
        first = c == 0 ? y : first;
    }
    put(ols, lane, piece, 0, first);
}

/* All spectra first: they are kept while the filters go by. */
static void run_bank(const struct lw_cpu_ols *ols, struct lw_cpu_lane *lane, const struct lw_cpu_segment *piece)
{
    for (int c = 0; c < piece->n_channels; c++)
        prepare(ols, lane, piece, c);
    for (int filter = 0; filter < ols->spec.ols.n_filters; filter++) {
        void *first = NULL;
        for (int c = 0; c < piece->n_channels; c++) {
            void *const y = apply(ols, lane, piece, filter, c);
            first = c == 0 ? y : first;
        }
        put(ols, lane, piece, filter, first);
    }
}

/* Filled in place: a copy would wait until the outputs before it have left the processor's store buffer. */
static void cut_piece(const struct lw_cpu_ols *ols, const struct lw_slot *slot, int64_t task,
                      struct lw_cpu_segment *piece)
{
    const struct lw_cpu_ols_shape *const shape = &ols->shape;
    const int64_t tiles = (slot->block.n_channels + shape->tile - 1) / shape->tile;
    piece->slot = slot;
    piece->first = task / tiles * shape->hop;
    piece->channel = task % tiles * shape->tile;
    const int64_t left = slot->block.count - piece->first;
    piece->n_outputs = min64(shape->hop, left);
    piece->n_sums = shape->before + piece->n_outputs + shape->after;
    piece->n_samples = min64(shape->length, left + lw_cpu_ols_halo(shape));
    piece->n_channels = (int)min64(shape->tile, slot->block.n_channels - piece->channel);
}

/* ---- a block ----------------------------------------------------------------------------------------------------- */
static void report(const struct lw_cpu_ols *ols, struct lw_slot *slot)
{
    struct lw_cpu_tally all = {0};
    slot->is_out_of_range = false;
    slot->loss = (struct lw_loss){0};
    for (int i = 0; i < ols->n_lanes; i++) {
        lw_cpu_tally_add(&all, &ols->lanes[i].not_finite);
        slot->is_out_of_range |= ols->lanes[i].is_out_of_range;
        slot->loss.n_saturated += ols->lanes[i].loss.n_saturated;
        slot->loss.n_nan += ols->lanes[i].loss.n_nan;
    }
    slot->n_not_finite = all.n;
    slot->not_finite_channel = all.channel;
    slot->not_finite_sample = all.sample;
}

void lw_cpu_ols_run(struct lw_cpu_ols *ols, struct lw_slot *slot)
{
    const int64_t tasks = lw_cpu_ols_tasks(&ols->shape, slot->block.count, slot->block.n_channels);
    const int64_t samples = ols->shape.length * ols->shape.tile;
    const int chunk = (int)(samples < CHUNK_SAMPLES ? CHUNK_SAMPLES / samples : 1);
    for (int i = 0; i < ols->n_lanes; i++) {
        ols->lanes[i].not_finite = (struct lw_cpu_tally){0};
        ols->lanes[i].is_out_of_range = false;
        ols->lanes[i].loss = (struct lw_loss){0};
    }
#pragma omp parallel for num_threads(ols->n_lanes) schedule(dynamic, chunk)
    for (int64_t task = 0; task < tasks; task++) {
        struct lw_cpu_lane *const lane = &ols->lanes[omp_get_thread_num()];
        struct lw_cpu_segment piece;
        cut_piece(ols, slot, task, &piece);
        lw_cpu_segment_load(ols, lane, &piece);
        if (ols->shape.n_filters == 1)
            run_single(ols, lane, &piece);
        else
            run_bank(ols, lane, &piece);
    }
    if (ols->filters.ends)
        lw_cpu_post_ends(ols, slot);
    report(ols, slot);
}

void lw_cpu_ols_warm_up(struct lw_cpu_ols *ols)
{
    omp_set_dynamic(0);
    /* The same kind of loop as above: OpenMP allocates for it when a team first meets one. */
#pragma omp parallel for num_threads(ols->n_lanes) schedule(dynamic, 1)
    for (int i = 0; i < ols->n_lanes; i++)
        ols->lanes[i].not_finite.n = 0;
}
