/* stacks.c - overlap-save operations with stacks (signal/array.h) on the CUDA engine: memory, and the steps of a block:
 *
 *     input -> NaN to zero -> spectra, gains -> for each piece: sums of filters -> converted, thinned out -> series
 *                                                                              \-> crossings, best filter, block statistics
 *
 * A piece is as many filters as a buffer has room for. Crossings are looked for piece by piece; other products need all filters. */
#include "base/integers.h"
#include "base/memory.h"
#include "gpu/array/stack.h"
#include "gpu/device/convert.h"
#include "gpu/host/arena.h"
#include "gpu/host/error.h"
#include "gpu/host/op.h"
#include "gpu/ols/ols.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define SERIES_BYTES ((int64_t)1 << 30)     /* bytes of a piece's series that keep a device busy */
#define PRODUCTS_BYTES ((int64_t)512 << 20) /* the same of sums of spectra */

struct stacks {
    struct lw_ols_state ols;                /* the first member: lw_op.state points to it. Its memory begins with the bank */
    struct lw_stack_shape shape;
    struct lw_stack_bank bank;
    struct lw_stack_term *host_terms;       /* [n_filters][inputs], then ranges [n_filters] */
};

static int64_t inputs_of(const struct lw_op_spec *spec) { return spec->ols.stacks->n_inputs; }

static unsigned wanted(const struct lw_op_spec *spec) { return lw_search_products(&spec->ols.search); }

static int64_t rows_per_filter(const struct lw_op_spec *spec) { return spec->ols.own_taps ? inputs_of(spec) : 1; }

/* ---- plan -------------------------------------------------------------------------------------------------------- */

static int refuse(const struct lw_op_spec *spec, struct lw_error *err)
{
    const char *const what = spec->input.is_complex || spec->ols.taps_complex ? "complex samples or taps"
                             : spec->precision != LW_SINGLE                  ? "double precision"
                             : spec->ols.post.kind != LW_POST_NONE || lw_post_rate(spec->ols.post) > 1 ? "--post or interpolation"
                                                                                                      : NULL;
    return what ? lw_fail(err, LW_ECONFIG, "--engine cuda cannot make stacks of %s: choose --engine cpu", what) : LW_OK;
}

static int plan_stacks(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err)
{
    struct lw_stack_shape shape;
    int rc;
    if ((rc = refuse(spec, err)) || (rc = lw_stack_choose(spec, device->shared_bytes, &shape, err)))
        return rc;
    const struct lw_op_reach reach = lw_op_reach_of(spec);
    *plan = (struct lw_op_plan){
        .halo = spec->ols.n_taps - 1 + reach.before + reach.after, .unit = shape.tile, .channel_unit = 1, .input_width = 1,
        .n_outputs = spec->n_outputs, .segment = shape.segment,
        .seconds_per_output = lw_stack_seconds(&shape, inputs_of(spec)) * (double)inputs_of(spec),
    };
    snprintf(plan->text, sizeof plan->text, "stacks of %" PRId64 " channels, overlap-save in shared memory, N = %d, hop %d, "
             "adjacent segments paired", inputs_of(spec), shape.segment, shape.hop);
    lw_op_ols_products(spec, plan);
    const int64_t span = shape.is_fused ? lw_round_up(shape.span, plan->unit) : 0;      /* delayed taps need earlier samples */
    const int64_t before = lw_round_up(plan->before + reach.before, plan->unit) + span - reach.before;
    const int64_t after = lw_round_up(plan->after + reach.after, plan->unit) - reach.after;
    plan->halo += before - plan->before + (after - plan->after);
    plan->before = before;
    plan->after = after;
    plan->seconds_to_prepare = 7e-12 * lw_op_prepare_steps(spec, plan->segment) * (double)rows_per_filter(spec);
    return LW_OK;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Choose the shape. Of the path, a filler needs what makes spectra, which the stacks take from it. */
static int choose(const struct lw_device *device, const struct lw_op_spec *spec, struct stacks *stacks, struct lw_error *err)
{
    const int rc = lw_stack_choose(spec, device->shared_bytes, &stacks->shape, err);
    stacks->ols.rows = (int)rows_per_filter(spec);
    stacks->ols.resolved.kernel.segment = stacks->shape.segment;
    stacks->ols.resolved.kernel.spec.n_taps = spec->ols.n_taps;
    return rc;
}

static int64_t terms_bytes(const struct lw_op_spec *spec)
{
    return spec->ols.n_filters * inputs_of(spec) * (int64_t)sizeof(struct lw_stack_term);
}

static int64_t ranges_bytes(const struct lw_op_spec *spec) { return spec->ols.n_filters * (int64_t)sizeof(struct lw_stack_range); }

static int64_t lay_out_kept(const struct lw_op_spec *spec, struct stacks *stacks)
{
    const int64_t rows = spec->ols.n_filters * rows_per_filter(spec);
    const int64_t taps = spec->ols.normalize == LW_NORMALIZE_NONE ? 0 : rows * spec->ols.n_taps * (int64_t)sizeof(float);
    const int64_t spectra = stacks->shape.is_fused ? spec->ols.n_filters * inputs_of(spec) : rows;
    struct lw_arena arena = {.base = stacks->ols.memory};
    stacks->bank = (struct lw_stack_bank){
        .powers = lw_arena_take(&arena, lw_stack_powers_bytes(&stacks->shape)),
        .spectra = lw_arena_take(&arena, spectra * (int64_t)stacks->shape.segment * 2 * (int64_t)sizeof(float)),
        .peaks = lw_arena_take(&arena, spectra * (int64_t)sizeof(float)),
        .taps = lw_arena_take(&arena, taps),
        .terms = lw_arena_take(&arena, terms_bytes(spec)),
        .ranges = lw_arena_take(&arena, ranges_bytes(spec)),
        .n_taps = spec->ols.n_taps, .n_inputs = (int)inputs_of(spec), .own_taps = spec->ols.own_taps,
        .normalize = spec->ols.normalize,
    };
    lw_ols_lay_out(spec, &arena, &stacks->ols);
    return arena.used;
}

/* Return the filters of a piece for `count` outputs. @param room  outputs of all filters that the buffer has room for */
static int filters_of_piece(const struct lw_op_spec *spec, int64_t count, int64_t room)
{
    const int64_t all = spec->ols.n_filters;
    return (int)(wanted(spec) & (LW_BEST | LW_BLOCKS) ? all : lw_max64(1, lw_min64(all, room / lw_max64(count, 1))));
}

/* Return the filters whose sums of spectra are in memory together. */
static int filters_of_products(const struct lw_op_spec *spec, const struct lw_stack_shape *shape, int64_t n_tiles)
{
    const int64_t each = n_tiles * shape->segment * 2 * (int64_t)sizeof(float);
    return shape->is_fused ? (int)lw_min64(spec->ols.n_filters, lw_round_up(lw_max64(PRODUCTS_BYTES / each, 1), 32)) : 0;
}

/* Parts of a slot's work memory. */
struct parts {
    struct lw_stack_block block;
    float *series;
    int64_t room;                           /* outputs that `series` has room for */
    unsigned *touched;
};

static int64_t lay_out_work(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_stack_shape *shape,
                            int64_t count, void *memory, struct parts *parts)
{
    const int64_t n_samples = plan->halo + count, n_tiles = lw_stack_tiles(shape, n_samples - spec->ols.n_taps + 1);
    const int64_t tiles = n_tiles * inputs_of(spec), bytes = (int64_t)sizeof(float);
    const int64_t outputs = lw_min64(plan->before + count + plan->after, lw_max64(plan->n_outputs, count));
    struct lw_arena arena = {.base = memory};
    *parts = (struct parts){.block = {
        .type = spec->input, .is_slow = spec->layout == LW_TIME_SLOW, .propagates = spec->nan != LW_NAN_ZERO,
        .n_samples = n_samples, .n_tiles = (int)n_tiles, .spectra = lw_arena_take(&arena, tiles * shape->segment * 2 * bytes),
        .gains = lw_arena_take(&arena, tiles * shape->tile * bytes), .rms = lw_arena_take(&arena, tiles * bytes),
        .most = lw_arena_take(&arena, tiles * bytes), .n_products = filters_of_products(spec, shape, n_tiles),
    }};
    parts->block.products = lw_arena_take(&arena, parts->block.n_products * n_tiles * shape->segment * 2 * bytes);
    parts->room = filters_of_piece(spec, outputs, SERIES_BYTES / bytes) * outputs;
    parts->series = lw_arena_take(&arena, parts->room * bytes);
    parts->touched = lw_arena_take(&arena, spec->ols.n_filters * bytes);
    return arena.used;
}

static void measure(const struct lw_device *device, const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                    struct lw_cuda_op_memory *memory)
{
    struct stacks counted = {0};
    struct parts parts;
    if (choose(device, spec, &counted, NULL))
        return;                     /* cannot happen: `plan` was made from the same spec */
    memory->op_bytes = lay_out_kept(spec, &counted);
    memory->host_bytes = (int64_t)(sizeof(struct lw_op) + sizeof(struct stacks)) + terms_bytes(spec) + ranges_bytes(spec);
    lw_ols_measure(spec, &counted.ols, memory);
    memory->work_bytes = lay_out_work(spec, plan, &counted.shape, memory->count, NULL, &parts);
}

/* ---- filters ----------------------------------------------------------------------------------------------------- */

/* Fill the terms of the filters that are held. */
static int fill_terms(const struct lw_op *op, struct stacks *stacks, const struct lw_ols_part *part, cudaStream_t stream,
                      struct lw_error *err)
{
    const struct lw_shifts *const shifts = op->spec.ols.stacks;
    const int64_t n_inputs = shifts->n_inputs, n_filters = op->spec.ols.n_filters;
    struct lw_stack_range *const ranges = (struct lw_stack_range *)(void *)(stacks->host_terms + n_filters * n_inputs);
    for (int64_t f = 0; f < n_filters; f++) {
        struct lw_stack_term *const terms = stacks->host_terms + f * n_inputs;
        struct lw_stack_range range = {0};
        bool is_empty = true;
        for (int32_t c = 0; c < n_inputs; c++) {
            terms[c] = (struct lw_stack_term){.channel = c};
            if (f >= part->n || lw_shifts_weight(shifts, part->first + f, c) == 0)
                continue;
            terms[c].weight = lw_shifts_weight(shifts, part->first + f, c);
            const int32_t delay = terms[c].delay = shifts->delays[(part->first + f) * n_inputs + c];
            range.least = is_empty || delay < range.least ? delay : range.least;
            range.most = is_empty || delay > range.most ? delay : range.most;
            is_empty = false;
        }
        ranges[f] = range;
        stacks->bank.most.least = f == 0 || range.most < stacks->bank.most.least ? range.most : stacks->bank.most.least;
        stacks->bank.most.most = f == 0 || range.most > stacks->bank.most.most ? range.most : stacks->bank.most.most;
    }
    const char *const what = "copying the delays to the device";
    const int rc = lw_cuda_upload(stacks->bank.terms, stacks->host_terms, terms_bytes(&op->spec), stream, what, err);
    return rc ? rc : lw_cuda_upload(stacks->bank.ranges, ranges, ranges_bytes(&op->spec), stream, what, err);
}

static int fill(struct lw_op *op, const struct lw_ols_part *part, cudaStream_t stream, struct lw_error *err)
{
    struct stacks *const stacks = op->state;
    const struct lw_filler_target target = {.shape = &stacks->shape, .stacks = &stacks->bank};
    const int rc = fill_terms(op, stacks, part, stream, err);
    return rc ? rc : lw_ols_fill(op, part, &target, stream, err);
}

static int create(struct lw_op *op, cudaStream_t stream, struct lw_error *err)
{
    const struct lw_op_spec *const spec = &op->spec;
    struct stacks *const stacks = lw_alloc(sizeof *stacks, "the filters", err);
    if (!stacks)
        return LW_ESYSTEM;
    op->state = stacks;
    int rc;
    if ((rc = choose(op->device, spec, stacks, err)) ||
        (rc = lw_cuda_allocate(op->memory.op_bytes, "the filters' spectra", &stacks->ols.memory, err)))
        return rc;
    lay_out_kept(spec, stacks);
    if (!(stacks->host_terms = lw_alloc((size_t)(terms_bytes(spec) + ranges_bytes(spec)), "the delays", err)))
        return LW_ESYSTEM;
    rc = lw_cuda_check(lw_stack_prepare(&stacks->shape, &stacks->bank, stream), "preparing the kernels", err);
    return rc ? rc : lw_ols_hold(op, stream, err);
}

static void destroy(struct lw_op *op)
{
    struct stacks *const stacks = op->state;
    if (!stacks)
        return;
    lw_ols_drop(&stacks->ols);
    lw_free(stacks->host_terms);
    lw_free(stacks);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Outputs of some filters, and their series in work memory. */
struct piece {
    int filter, n_filters;
    int64_t first, count;
    float *series;
};

static int sum(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct parts *parts, const struct piece *piece,
               struct lw_error *err)
{
    const struct stacks *const stacks = op->state;
    const struct lw_stack_piece to = {
        .filter = piece->filter, .n_filters = piece->n_filters,
        .first = piece->first - (work->block.first - op->plan.before - op->spec.ols.stacks->before), .count = piece->count,
        .series = piece->series, .touched = parts->touched,
    };
    return lw_cuda_check(lw_stack_sum(&stacks->shape, &stacks->bank, &parts->block, &to, work->stream), "stacking channels", err);
}

/* Enqueue the conversion of every D-th own output of a piece to the series that is a product. */
static int store(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct piece *piece, struct lw_error *err)
{
    const int64_t every = lw_post_every(op->spec.ols.post), kept = lw_op_outputs(&op->plan, 0, &work->block);
    const struct lw_cuda_thinning thinning = {
        .rows = piece->n_filters, .row = piece->count, .width = 1,
        .first = lw_round_up(work->block.first, every) - piece->first, .every = every, .kept = kept,
        .factor = lw_op_output_factor(&op->spec),
    };
    char *const to = (char *)work->products[0] + piece->filter * kept * (int64_t)lw_type_bytes(op->spec.output);
    return lw_cuda_check(lw_cuda_thin(piece->series, LW_SINGLE, to, op->spec.output.scalar, &thinning, work->report, work->stream),
                         "converting a block", err);
}

/* Return the series of all filters, of which the piece has some. */
static struct lw_series series_of(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct piece *piece)
{
    const struct lw_ols_piece outputs = {.first = piece->first, .count = piece->count, .n_channels = 1};
    return lw_ols_series(op, &work->block, &outputs, piece->series - piece->filter * piece->count);
}

static struct lw_repair repair_of(const struct lw_op *op, const struct lw_cuda_op_block *work)
{
    return (struct lw_repair){
        .input = work->input, .report = work->report, .input_type = op->spec.input, .precision = LW_SINGLE,
        .layout = op->spec.layout,
        .n_taps = op->spec.ols.n_taps, .halo = op->plan.halo, .count = work->block.count, .n_channels = inputs_of(&op->spec),
        .input_channels = inputs_of(&op->spec), .every = 1, .post = {.rate = 1},
    };
}

/* Set the parts of the slot's work memory, whose layout is that of the largest block. */
static void find_parts(const struct lw_op *op, const struct lw_cuda_op_block *work, struct parts *parts)
{
    const struct stacks *const stacks = op->state;
    lay_out_work(&op->spec, &op->plan, &stacks->shape, op->memory.count, work->work, parts);
    parts->block.own_first = op->plan.before + op->spec.ols.stacks->before;
    parts->block.own_count = work->block.count;
    parts->block.input = work->input;
    parts->block.report = work->report;
    parts->block.n_samples = op->plan.halo + work->block.count;
    parts->block.n_tiles = (int)lw_stack_tiles(&stacks->shape, parts->block.n_samples - op->spec.ols.n_taps + 1);
}

/* Enqueue what is made of outputs first .. end - 1: the products of the filters that are held, or the crossings of a part. */
static int make(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct parts *parts, int64_t first, int64_t end,
                const struct lw_part *part, struct lw_error *err)
{
    const struct stacks *const stacks = op->state;
    const int each = filters_of_piece(&op->spec, end - first, parts->room);
    const int last = part ? part->filter + part->n_filters : stacks->ols.n_held;
    int rc = LW_OK;
    for (int filter = part ? part->filter : 0; filter < last && !rc; filter += each) {
        const struct piece piece = {filter, (int)lw_min64(each, last - filter), first, end - first, parts->series};
        const struct lw_series series = series_of(op, work, &piece);
        rc = sum(op, work, parts, &piece, err);
        if (!rc && !part && wanted(&op->spec) & LW_FILTERED)
            rc = store(op, work, &piece, err);
        rc = rc ? rc : lw_ols_find(op, work, &series, part, filter, piece.n_filters, err);
    }
    return rc;
}

static int enqueue(struct lw_op *op, const struct lw_cuda_op_block *work, struct lw_error *err)
{
    const struct stacks *const stacks = op->state;
    const struct lw_repair repair = repair_of(op, work);
    const bool is_zeroed = op->spec.nan == LW_NAN_ZERO;
    struct parts parts;
    int rc = LW_OK;
    find_parts(op, work, &parts);
    if (is_zeroed)
        rc = lw_cuda_check(lw_cuda_zero_nan(&repair, work->stream), "zeroing samples that are not a number", err);
    if (!rc)
        rc = lw_cuda_check(lw_stack_load(&stacks->shape, &stacks->bank, &parts.block, work->stream), "transforming a block", err);
    if (!rc && !is_zeroed)
        rc = lw_cuda_check(lw_cuda_repair_nan(&repair, work->stream), "looking for samples that are not a number", err);
    const int64_t first = lw_max64(work->block.first - op->plan.before, 0);     /* a search needs some beside the block's own */
    const int64_t end = lw_min64(work->block.first + work->block.count + op->plan.after, op->plan.n_outputs);
    return rc ? rc : make(op, work, &parts, first, end, NULL, err);
}

/* The spectra of the block are still in the slot's work memory. */
static int enqueue_again(struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_part *part, struct lw_error *err)
{
    const int64_t cluster = lw_search_reach(&op->spec.ols.search, op->plan.n_outputs);
    const int64_t end = lw_min64(part->first + part->count + cluster, op->plan.n_outputs);
    struct parts parts;
    find_parts(op, work, &parts);
    return make(op, work, &parts, lw_max64(part->first - cluster, 0), end, part, err);
}

const struct lw_cuda_op_ops lw_cuda_op_stacks = {
    .plan = plan_stacks, .measure = measure, .create = create, .fill = fill, .destroy = destroy, .enqueue = enqueue,
    .again = enqueue_again, .join_best = lw_ols_join_best,
};
