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
static int plan_fft(struct lw_ols_cpu *ols, struct lw_error *err)
{
    if (ols->shape.method == LW_DIRECT)
        return LW_OK;
    const struct lw_lane_cpu *const lane = &ols->lanes[0];
    return ols->shape.kernels->fft_create(ols->shape.points, lane->x, lane->z, lane->work, &ols->fft, err);
}

int lw_ols_create_cpu(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count, int64_t n_channels,
                      int n_threads, struct lw_ols_cpu **out, struct lw_error *err)
{
    struct lw_ols_cpu *const ols = lw_alloc(sizeof *ols, "an operation", err);
    if (!ols)
        return LW_ESYSTEM;
    ols->spec = *spec;
    ols->spec.ols.taps = NULL;                  /* borrowed during this call only */
    ols->shape = lw_ols_shape_cpu(spec, plan->segment);

    int rc;
    if ((rc = lw_filters_create_cpu(&ols->shape, &spec->ols, &ols->filters, err)) ||
        (rc = lw_post_create_cpu(&ols->spec, &ols->shape, &ols->post, err)) ||
        (rc = lw_lanes_open_cpu(ols, count, n_channels, n_threads, err)) || (rc = plan_fft(ols, err))) {
        lw_ols_destroy_cpu(ols);
        return rc;
    }
    *out = ols;
    return LW_OK;
}

void lw_ols_destroy_cpu(struct lw_ols_cpu *ols)
{
    if (!ols)
        return;
    ols->shape.kernels->fft_destroy(ols->fft);
    lw_lanes_close_cpu(ols);
    lw_post_destroy_cpu(ols->post);
    lw_filters_release_cpu(&ols->filters);
    lw_free(ols);
}

/* ---- one piece --------------------------------------------------------------------------------------------------- */

/* Channel c's spectrum, or what the direct method needs. */
static void prepare(const struct lw_ols_cpu *ols, struct lw_lane_cpu *lane, const struct lw_piece_cpu *piece, int c)
{
    const struct lw_kernels_cpu *const k = ols->shape.kernels;
    void *const x = lw_x_cpu(ols, lane, c), *const z = lw_z_cpu(ols, lane, c);
    lw_piece_condition_cpu(ols, lane, piece, c);
    if (ols->shape.method != LW_DIRECT)
        k->fft_forward(ols->fft, x, z, lane->work);
    else if (ols->spec.ols.taps_complex)
        k->quarter_turn(x, lw_real_at_cpu(ols, x, lw_turned_offset_cpu(&ols->shape)), ols->shape.length);
    if (ols->shape.method == LW_HALF)
        k->mirror(ols->fft, z, x);
}

static void *sum_directly(const struct lw_ols_cpu *ols, struct lw_lane_cpu *lane, const struct lw_piece_cpu *piece,
                          const void *taps, int c)
{
    const struct lw_terms_cpu terms = {taps, ols->filters.offsets, ols->filters.n_terms};
    void *const y = lw_y_cpu(ols, lane, c);
    ols->shape.kernels->direct(&terms, lw_x_cpu(ols, lane, c), y, piece->n_sums * ols->shape.width);
    return y;
}

/* The first n_taps - 1 points of a segment are wrapped around: outputs begin behind them. */
static void *multiply_spectrum(const struct lw_ols_cpu *ols, struct lw_lane_cpu *lane, const void *spectrum, int c)
{
    const struct lw_kernels_cpu *const k = ols->shape.kernels;
    const void *const x = lw_x_cpu(ols, lane, c), *const z = lw_z_cpu(ols, lane, c);
    void *const y = lw_y_cpu(ols, lane, c);
    if (ols->shape.method == LW_HALF)
        k->multiply_half(spectrum, z, x, lane->product, ols->shape.points);
    else
        k->multiply(spectrum, z, lane->product, ols->shape.points);
    k->fft_inverse(ols->fft, lane->product, y, lane->work);
    return lw_real_at_cpu(ols, y, (ols->shape.n_taps - 1) * ols->shape.width);
}

/* Filter channel c.
 * @return  its sums */
static void *apply(const struct lw_ols_cpu *ols, struct lw_lane_cpu *lane, const struct lw_piece_cpu *piece, int filter,
                   int c)
{
    const void *const h = lw_real_at_cpu(ols, ols->filters.data, filter * ols->filters.stride);
    void *const y = ols->shape.method == LW_DIRECT ? sum_directly(ols, lane, piece, h, c)
                                                   : multiply_spectrum(ols, lane, h, c);
    lw_piece_finish_cpu(ols, lane, piece, filter, c, y);
    return y;
}

static void put(const struct lw_ols_cpu *ols, struct lw_lane_cpu *lane, const struct lw_piece_cpu *piece, int filter,
                void *y)
{
    const struct lw_run_cpu run = {filter, piece->first, piece->n_outputs, y, ols->sizes.y, false};
    if (ols->post)
        lw_piece_post_cpu(ols, lane, piece, filter, y);
    else
        lw_piece_store_cpu(ols, lane, piece, &run);
}

/* Channel by channel, so that little memory is touched. */
static void run_single(const struct lw_ols_cpu *ols, struct lw_lane_cpu *lane, const struct lw_piece_cpu *piece)
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
static void run_bank(const struct lw_ols_cpu *ols, struct lw_lane_cpu *lane, const struct lw_piece_cpu *piece)
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
static void cut_piece(const struct lw_ols_cpu *ols, const struct lw_slot *slot, int64_t task,
                      struct lw_piece_cpu *piece)
{
    const struct lw_ols_shape_cpu *const shape = &ols->shape;
    const int64_t tiles = (slot->block.n_channels + shape->tile - 1) / shape->tile;
    piece->slot = slot;
    piece->first = task / tiles * shape->hop;
    piece->channel = task % tiles * shape->tile;
    const int64_t left = slot->block.count - piece->first;
    piece->n_outputs = min64(shape->hop, left);
    piece->n_sums = shape->before + piece->n_outputs + shape->after;
    piece->n_samples = min64(shape->length, left + lw_ols_halo_cpu(shape));
    piece->n_channels = (int)min64(shape->tile, slot->block.n_channels - piece->channel);
}

/* ---- a block ----------------------------------------------------------------------------------------------------- */
static void report(const struct lw_ols_cpu *ols, struct lw_slot *slot)
{
    struct lw_tally_cpu all = {0};
    slot->is_out_of_range = false;
    slot->loss = (struct lw_loss){0};
    for (int i = 0; i < ols->n_lanes; i++) {
        lw_tally_add_cpu(&all, &ols->lanes[i].not_finite);
        slot->is_out_of_range |= ols->lanes[i].is_out_of_range;
        slot->loss.n_saturated += ols->lanes[i].loss.n_saturated;
        slot->loss.n_nan += ols->lanes[i].loss.n_nan;
    }
    slot->n_not_finite = all.n;
    slot->not_finite_channel = all.channel;
    slot->not_finite_sample = all.sample;
}

void lw_ols_run_cpu(struct lw_ols_cpu *ols, struct lw_slot *slot)
{
    const int64_t tasks = lw_ols_tasks_cpu(&ols->shape, slot->block.count, slot->block.n_channels);
    const int64_t samples = ols->shape.length * ols->shape.tile;
    const int chunk = (int)(samples < CHUNK_SAMPLES ? CHUNK_SAMPLES / samples : 1);
    for (int i = 0; i < ols->n_lanes; i++) {
        ols->lanes[i].not_finite = (struct lw_tally_cpu){0};
        ols->lanes[i].is_out_of_range = false;
        ols->lanes[i].loss = (struct lw_loss){0};
    }
#pragma omp parallel for num_threads(ols->n_lanes) schedule(dynamic, chunk)
    for (int64_t task = 0; task < tasks; task++) {
        struct lw_lane_cpu *const lane = &ols->lanes[omp_get_thread_num()];
        struct lw_piece_cpu piece;
        cut_piece(ols, slot, task, &piece);
        lw_piece_load_cpu(ols, lane, &piece);
        if (ols->shape.n_filters == 1)
            run_single(ols, lane, &piece);
        else
            run_bank(ols, lane, &piece);
    }
    if (ols->filters.ends)
        lw_post_ends_cpu(ols, slot);
    report(ols, slot);
}

void lw_ols_warm_up_cpu(struct lw_ols_cpu *ols)
{
    omp_set_dynamic(0);
    /* The same kind of loop as above: OpenMP allocates for it when a team first meets one. */
#pragma omp parallel for num_threads(ols->n_lanes) schedule(dynamic, 1)
    for (int i = 0; i < ols->n_lanes; i++)
        ols->lanes[i].not_finite.n = 0;
}
