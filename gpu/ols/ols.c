/* ols.c - the operation `ols` of the CUDA engine: the choice of a path, its memory, and the steps of a block:
 *
 *     input -> NaN to zero -> filter (segments, direct or long), and --post
 *           -> spoilt outputs marked as NaN -> ends of a derivative -> thinned out, converted to the output type
 *
 * Only the steps that a block needs are launched. The filter itself stores outputs of a narrow type (gpu/device/narrow.h), unless
 * later steps change outputs: in blocks with an end of a derivative's axis, and in blocks with samples that are not finite. The
 * latter are computed again (`repeat`). A search (gpu/ols/search.c) runs after these steps, or in their place if the
 * series itself is not wanted. Where every D-th output is wanted, a kernel that stores only these is taken if there is one;
 * else they are picked during the conversion to the output type. A derivative that is not interpolated is folded into the taps, and
 * needs a kernel of its own only for the two ends of the axis. */
#include "base/integers.h"
#include "base/memory.h"
#include "gpu/device/convert.h"
#include "gpu/host/error.h"
#include "gpu/ols/ends.h"
#include "gpu/ols/ols.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- plan -------------------------------------------------------------------------------------------------------- */

/* Return the taps of a filter that the kernels apply: a derivative that is folded into the filters makes them longer. */
static int64_t kernel_taps(const struct lw_op_spec *spec)
{
    return spec->ols.n_taps + (lw_post_folds(spec->ols.post) ? 2 * (int64_t)lw_post_every(spec->ols.post) : 0);
}

/* Return the spec for the filtering kernel. A search needs the whole series: thinning out is then left to a later step. */
static struct lw_cuda_ols_spec kernel_spec(const struct lw_op_spec *spec)
{
    const struct lw_post post = spec->ols.post;
    const int every = lw_search_is_needed(&spec->ols.search) ? 1 : lw_post_every(post);
    return (struct lw_cuda_ols_spec){
        .precision = spec->precision, .layout = spec->layout, .input = spec->input.scalar, .input_complex = spec->input.is_complex,
        .taps_complex = spec->ols.taps_complex, .n_channels = spec->n_channels, .n_outputs = spec->n_outputs,
        .n_filters = lw_ols_bank(&spec->ols), .n_taps = kernel_taps(spec),
        .post = {lw_post_folds(post) ? LW_POST_NONE : post.kind, lw_post_rate(post), every}, .segment = spec->ols.segment,
        .is_searched = lw_ols_may_find(spec),
    };
}

/* Choose the path for the whole bank: a kernel if there is one for the filter and the wanted segment, else the long path, which
 * takes any segment. If no segment is wanted and both paths can do it, choose the cheaper path. */
static int choose_path(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_ols_resolved *out,
                       struct lw_error *err)
{
    const struct lw_cuda_arch arch = {device->major, device->minor, device->shared_bytes};
    const struct lw_cuda_ols_spec wanted = kernel_spec(spec);
    out->kernel = (struct lw_cuda_ols_plan){0};
    const int rc = lw_cuda_ols_choose(&wanted, &arch, &out->kernel, NULL);
    out->is_long = rc || out->kernel.path == LW_CUDA_TOO_LONG;
    if (out->is_long)
        return lw_long_ols_choose(&wanted, &arch, spec->n_outputs, &out->long_plan, err);
    out->is_long = !out->kernel.finds && lw_long_ols_is_cheaper(&out->kernel, spec->n_outputs, &out->long_plan);
    return LW_OK;
}

/* Choose the path, and let it hold the operation's filters. */
static int resolve(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_ols_resolved *out, struct lw_error *err)
{
    const int rc = choose_path(device, spec, out, err);
    if (rc)
        return rc;
    if (out->is_long)
        lw_long_ols_hold(&out->long_plan, spec->ols.n_filters);
    else
        lw_cuda_ols_hold(&out->kernel, spec->ols.n_filters);
    return LW_OK;
}

static const char *pairing_text(int64_t unit, int64_t hop, int64_t channel_unit)
{
    return channel_unit > 1 ? ", adjacent channels paired" : unit > hop ? ", adjacent segments paired" : "";
}

static void describe_long(const struct lw_long_ols_plan *from, struct lw_op_plan *plan)
{
    plan->unit = from->unit;
    plan->channel_unit = from->channel_unit;
    plan->segment = (int)from->segment;
    plan->seconds_per_output = from->seconds_per_output;
    snprintf(plan->text, sizeof plan->text, "overlap-save %s, N = %" PRId64 ", hop %" PRId64 "%s",
             from->method->text, from->segment, from->hop, pairing_text(from->unit, from->hop, from->channel_unit));
}

static void describe_kernel(const struct lw_cuda_ols_plan *from, struct lw_op_plan *plan)
{
    char folded[32] = "";
    if (from->fold > 1)
        snprintf(folded, sizeof folded, ", folded by %d", from->fold);
    plan->unit = from->unit;
    plan->channel_unit = from->channel_unit;
    plan->segment = from->segment;
    plan->seconds_per_output = from->seconds_per_output;
    if (from->path == LW_CUDA_DIRECT)
        snprintf(plan->text, sizeof plan->text, "direct sum of %" PRId64 " taps", from->spec.n_taps);
    else
        snprintf(plan->text, sizeof plan->text, "overlap-save in shared memory, N = %d, hop %d%s%s", from->segment,
                 from->hop, pairing_text(from->unit, from->hop, from->channel_unit), folded);
}

static int plan_ols(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err)
{
    assert(spec->output.is_complex ==
           ((spec->input.is_complex || spec->ols.taps_complex) && !lw_post_has(spec->ols.post, LW_POST_REAL)));
    struct lw_ols_resolved resolved;
    int rc;
    if ((rc = lw_op_refuse_array(spec, "cuda", err)) || (rc = resolve(device, spec, &resolved, err)))
        return rc;
    const struct lw_reach reach = lw_post_reach(spec->ols.post);
    *plan = (struct lw_op_plan){
        .halo = spec->ols.n_taps - 1 + reach.before + reach.after, .input_width = 1, .n_outputs = spec->n_outputs,
    };
    if (resolved.is_long)
        describe_long(&resolved.long_plan, plan);
    else
        describe_kernel(&resolved.kernel, plan);
    lw_op_ols_products(spec, plan);
    plan->seconds_per_output /= lw_post_rate(spec->ols.post);
    plan->seconds_to_prepare = 7e-12 * lw_op_prepare_steps(spec, plan->segment);
    lw_post_describe(spec->ols.post, plan->text, sizeof plan->text);
    return LW_OK;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static int64_t ends_bytes(const struct lw_op_spec *spec)
{
    const int64_t doubles = lw_post_end_taps(spec->ols.post, spec->ols.n_taps) * (spec->ols.taps_complex ? 2 : 1);
    return lw_post_folds(spec->ols.post) ? spec->ols.n_filters * doubles * (int64_t)sizeof(double) : 0;
}

/* Lay out the device memory for the operation's life, and return its bytes. */
static int64_t lay_out_kept(const struct lw_op_spec *spec, struct lw_ols_state *ols)
{
    const struct lw_ols_resolved *const resolved = &ols->resolved;
    struct lw_arena arena = {.base = ols->memory};
    lw_arena_take(&arena, resolved->is_long ? lw_long_ols_bytes(&resolved->long_plan) : (int64_t)resolved->kernel.bank_bytes);
    ols->weights = lw_arena_take(&arena, (int64_t)lw_cuda_post_weights_bytes(spec));
    ols->ends = lw_arena_take(&arena, ends_bytes(spec));
    lw_ols_lay_out(spec, &arena, ols);
    return arena.used;
}

/* Return whether the filtering kernel itself stores only every D-th output. */
static bool is_thin(const struct lw_ols_resolved *resolved) { return !resolved->is_long && resolved->kernel.fold > 0; }

/* Return the reals in the series of all filters, for `count` outputs of each of n_channels channels. */
static int64_t output_scalars(const struct lw_op_spec *spec, int64_t count, int64_t n_channels)
{
    return spec->ols.n_filters * count * n_channels * (spec->output.is_complex ? 2 : 1);
}

int64_t lw_ols_series_bytes(const struct lw_op_spec *spec, int64_t count, int64_t n_channels)
{
    return output_scalars(spec, count, n_channels) * (int64_t)lw_scalar_bytes(lw_computed_scalar(spec->precision));
}

/* Return whether a step after the filter thins out the series. */
static bool thins_output(const struct lw_op_spec *spec, const struct lw_ols_resolved *resolved)
{
    return lw_post_every(spec->ols.post) > 1 && !is_thin(resolved);
}

/* Return whether the outputs need a step after the filter that converts them or thins them out, if the filter does not. */
static bool converts_output(const struct lw_op_spec *spec, const struct lw_ols_resolved *resolved)
{
    return spec->output.scalar != lw_computed_scalar(spec->precision) || thins_output(spec, resolved);
}

/* Return whether the filter stores the outputs of blocks in a narrow type, and whether it does so for all blocks. */
static bool narrows(const struct lw_op_spec *spec, const struct lw_ols_resolved *resolved)
{
    return lw_narrowing_exists(spec->precision, spec->output.scalar) && !thins_output(spec, resolved);
}

static bool narrows_all(const struct lw_op_spec *spec, const struct lw_ols_resolved *resolved)
{
    return narrows(spec, resolved) && !lw_post_folds(spec->ols.post) &&
           (lw_scalar_is_integer(spec->input.scalar) || spec->nan == LW_NAN_ZERO);
}

static bool wants_series(const struct lw_op_spec *spec) { return lw_search_products(&spec->ols.search) & LW_FILTERED; }

/* Parts of a slot's work memory. */
struct parts {
    void *computed;                 /* outputs in the computing precision, until they are converted */
    void *search;                   /* the series that is searched, see lw_ols_search */
};

static int64_t lay_out_work(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_ols_resolved *resolved,
                            const struct lw_cuda_op_memory *largest, void *memory, struct parts *parts)
{
    const int64_t count = largest->count, n_channels = largest->n_channels;
    const int64_t samples = is_thin(resolved) ? lw_divide_up(count, lw_post_every(spec->ols.post)) : count;
    const bool is_converted = wants_series(spec) && converts_output(spec, resolved) && !narrows_all(spec, resolved);
    const int64_t most = is_converted ? samples * lw_post_rate(spec->ols.post) : 0;
    const bool finds = resolved->kernel.finds;
    struct lw_arena arena = {.base = memory};
    parts->computed = lw_arena_take(&arena, lw_ols_series_bytes(spec, most, n_channels));
    parts->search = lw_arena_take(&arena, finds ? 0 : lw_ols_search_bytes(spec, plan, count, n_channels));
    return arena.used;
}

static struct parts parts_of(const struct lw_op *op, const struct lw_cuda_op_block *work)
{
    const struct lw_ols_state *const ols = op->state;
    struct parts parts;
    lay_out_work(&op->spec, &op->plan, &ols->resolved, &op->memory, work->work, &parts);
    return parts;
}

static void measure(const struct lw_device *device, const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                    struct lw_cuda_op_memory *memory)
{
    struct lw_ols_state counted = {.rows = 1};
    if (resolve(device, spec, &counted.resolved, NULL))
        return;                     /* cannot happen: `plan` was made from the same spec */
    memory->op_bytes = lay_out_kept(spec, &counted);
    memory->host_bytes = (int64_t)sizeof(struct lw_op) + (int64_t)sizeof(struct lw_ols_state);
    lw_ols_measure(spec, &counted, memory);
    struct parts parts;
    memory->work_bytes = lay_out_work(spec, plan, &counted.resolved, memory, NULL, &parts);
}

/* ---- create ------------------------------------------------------------------------------------------------------ */

static int fill_weights(const struct lw_op_spec *spec, const struct lw_ols_state *ols, cudaStream_t stream, struct lw_error *err)
{
    const int64_t bytes = (int64_t)lw_cuda_post_weights_bytes(spec);
    if (bytes == 0)
        return LW_OK;
    LW_FREED void *const weights = lw_alloc((size_t)bytes, "the weights of interpolation", err);
    if (!weights)
        return LW_ESYSTEM;
    lw_cuda_post_weights(spec, weights);
    return lw_cuda_upload(ols->weights, weights, bytes, stream, "copying the weights of interpolation to the device", err);
}

/* Fill the tables of the path that filters, which do not depend on the filters. */
static int fill_tables(struct lw_ols_state *ols, cudaStream_t stream, struct lw_error *err)
{
    if (ols->resolved.is_long)
        return lw_long_ols_create(&ols->resolved.long_plan, ols->memory, stream, &ols->long_ols, err);
    return lw_cuda_check((cudaError_t)lw_cuda_ols_prepare(&ols->resolved.kernel, ols->memory, stream), "preparing the kernels",
                         err);
}

static int fill(struct lw_op *op, const struct lw_ols_part *part, cudaStream_t stream, struct lw_error *err)
{
    const struct lw_ols_state *const ols = op->state;
    const struct lw_filler_target target = {
        .bank = ols->memory, .long_ols = ols->long_ols, .ends = lw_post_folds(op->spec.ols.post) ? ols->ends : NULL,
    };
    return lw_ols_fill(op, part, &target, stream, err);
}

static int create(struct lw_op *op, cudaStream_t stream, struct lw_error *err)
{
    struct lw_ols_state *const ols = lw_alloc(sizeof *ols, "the filters", err);
    if (!ols)
        return LW_ESYSTEM;
    op->state = ols;
    ols->rows = 1;
    int rc;
    if ((rc = resolve(op->device, &op->spec, &ols->resolved, err)) ||
        (rc = lw_cuda_allocate(op->memory.op_bytes, "the filters' spectra", &ols->memory, err)))
        return rc;
    lay_out_kept(&op->spec, ols);
    lw_cuda_post_args(&op->spec, &ols->post);
    ols->post.weights = ols->weights;
    if ((rc = fill_tables(ols, stream, err)) || (rc = fill_weights(&op->spec, ols, stream, err)))
        return rc;
    return lw_ols_hold(op, stream, err);
}

static void destroy(struct lw_op *op)
{
    struct lw_ols_state *const ols = op->state;
    if (!ols)
        return;
    lw_long_ols_destroy(ols->long_ols);
    lw_ols_drop(ols);
    lw_free(ols);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static struct lw_post_args post_of(const struct lw_op *op, const struct lw_cuda_op_block *work)
{
    struct lw_post_args post = ((const struct lw_ols_state *)op->state)->post;
    post.first = work->block.first;
    post.out_of_range = &work->report->out_of_range;
    return post;
}

static bool is_slow(const struct lw_op *op) { return op->spec.layout == LW_TIME_SLOW; }

/* Return the place of sample `skip` of the piece's first channel in the block's input. */
static void *input_of(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece, int64_t skip)
{
    const int64_t row = op->plan.halo + work->block.count;
    const int64_t at = is_slow(op) ? skip * work->block.n_channels + piece->channel : piece->channel * row + skip;
    return (char *)work->input + at * (int64_t)lw_type_bytes(op->spec.input);
}

int lw_ols_filter(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece, void *output,
                  const struct lw_cuda_ols_search *search, struct lw_error *err)
{
    const struct lw_ols_state *const ols = op->state;
    const struct lw_post_args post = post_of(op, work);
    const struct lw_cuda_ols_block block = {
        .input = input_of(op, work, piece, piece->skip), .output = output, .bank = ols->memory, .not_finite = &work->report->flag,
        .count = piece->count, .more = piece->more, .best_pitch = piece->pitch,
        .input_pitch = is_slow(op) ? work->block.n_channels : op->plan.halo + work->block.count,
        .post = lw_cuda_post_is_needed(op->spec.ols.post) || is_thin(&ols->resolved) ? &post : NULL,
        .n_channels = piece->n_channels, .narrow = piece->narrow, .search = search,
    };
    if (ols->long_ols)
        return lw_long_ols_launch(ols->long_ols, &block, work->stream, err);
    return lw_cuda_check((cudaError_t)lw_cuda_ols_launch(&ols->resolved.kernel, &block, work->stream), "filtering a block", err);
}

struct lw_repair lw_ols_repair(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece,
                               void *output)
{
    return (struct lw_repair){
        .input = input_of(op, work, piece, 0), .output = output, .report = work->report, .input_type = op->spec.input,
        .output_complex = op->spec.output.is_complex, .precision = op->spec.precision, .layout = op->spec.layout,
        .n_taps = op->spec.ols.n_taps, .halo = op->plan.halo, .count = work->block.count, .n_channels = piece->n_channels,
        .input_channels = work->block.n_channels, .skip = piece->skip, .span = op->plan.halo - op->plan.before - op->plan.after,
        .n_outputs = piece->count, .n_planes = op->spec.ols.n_filters,
        .every = is_thin(&((const struct lw_ols_state *)op->state)->resolved) ? lw_post_every(op->spec.ols.post) : 1,
        .post = post_of(op, work),
    };
}

int lw_ols_mark(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_ols_piece *piece, void *output,
                bool is_silent, struct lw_error *err)
{
    struct lw_repair repair = lw_ols_repair(op, work, piece, output);
    repair.is_silent = is_silent;
    return op->spec.nan == LW_NAN_ZERO ? LW_OK : lw_cuda_check(lw_cuda_repair_nan(&repair, work->stream),
                                                               "marking outputs that are not a number", err);
}

static const struct lw_ols_resolved *resolved_of(const struct lw_op *op)
{
    return &((const struct lw_ols_state *)op->state)->resolved;
}

/* Return the array that the filter stores to: work memory if a later step converts the outputs, else the product itself. */
static void *computed(const struct lw_op *op, const struct lw_cuda_op_block *work)
{
    return converts_output(&op->spec, resolved_of(op)) ? parts_of(op, work).computed : work->products[0];
}

/* Return the piece that holds the block's own outputs. */
static struct lw_ols_piece own_piece(const struct lw_op *op, const struct lw_block *block)
{
    return (struct lw_ols_piece){
        .first = block->first, .count = block->count, .n_channels = block->n_channels, .skip = op->plan.before,
    };
}

/* Enqueue the conversion of every D-th output of the axis, from work memory to the product. */
static int thin_output(const struct lw_op *op, const struct lw_cuda_op_block *work, struct lw_error *err)
{
    const struct lw_block *const block = &work->block;
    const bool is_fast = op->spec.layout == LW_TIME_FAST;
    const int64_t every = lw_post_every(op->spec.ols.post), n_channels = block->n_channels;
    const int64_t parts = op->spec.output.is_complex ? 2 : 1;
    const struct lw_cuda_thinning thinning = {
        .rows = op->spec.ols.n_filters * (is_fast ? n_channels : 1), .row = block->count,
        .width = (is_fast ? 1 : n_channels) * parts, .first = lw_round_up(block->first, every) - block->first, .every = every,
        .kept = lw_op_outputs(&op->plan, 0, block), .squares = lw_op_squares(&op->spec), .factor = lw_op_output_factor(&op->spec),
    };
    return lw_cuda_check(lw_cuda_thin(computed(op, work), op->spec.precision, work->products[0], op->spec.output.scalar, &thinning,
                                      work->report, work->stream), "thinning out a block", err);
}

static int convert_output(const struct lw_op *op, const struct lw_cuda_op_block *work, struct lw_error *err)
{
    if (!converts_output(&op->spec, resolved_of(op)))
        return LW_OK;
    if (thins_output(&op->spec, resolved_of(op)))
        return thin_output(op, work, err);
    const int64_t n = output_scalars(&op->spec, lw_op_outputs(&op->plan, 0, &work->block), work->block.n_channels);
    if (lw_op_squares(&op->spec))
        return lw_cuda_check(lw_cuda_square(computed(op, work), work->products[0], n, work->stream), "squaring a block", err);
    return lw_cuda_check(lw_cuda_convert(computed(op, work), op->spec.precision, work->products[0], op->spec.output.scalar, n,
                                         lw_op_output_factor(&op->spec), work->report, work->stream), "converting a block", err);
}

/* Return the axis' last kept output, counted from the block's first output at the full rate. */
static int64_t last_output(const struct lw_op *op, const struct lw_block *block)
{
    const int64_t every = lw_post_every(op->spec.ols.post);
    return (op->spec.n_outputs - 1) / every * every - block->first;
}

/* Return whether a block has an end of a folded derivative's axis. */
static bool has_end(const struct lw_op *op, const struct lw_block *block)
{
    const int64_t last = last_output(op, block);
    return lw_post_folds(op->spec.ols.post) && (block->first == 0 || (last >= 0 && last < block->count));
}

static int make_ends(const struct lw_op *op, const struct lw_cuda_op_block *work, struct lw_error *err)
{
    const struct lw_block *const block = &work->block;
    if (!has_end(op, block))
        return LW_OK;
    const int64_t every = lw_post_every(op->spec.ols.post), last = last_output(op, block);
    const bool thin = is_thin(resolved_of(op));
    const struct lw_ends ends = {
        .input = work->input, .output = computed(op, work), .taps = ((const struct lw_ols_state *)op->state)->ends,
        .input_type = op->spec.input, .output_complex = op->spec.output.is_complex, .precision = op->spec.precision,
        .layout = op->spec.layout, .nan = op->spec.nan, .taps_complex = op->spec.ols.taps_complex,
        .n_filters = op->spec.ols.n_filters, .n_taps = lw_post_end_taps(op->spec.ols.post, op->spec.ols.n_taps),
        .halo = op->plan.halo, .count = block->count, .n_channels = block->n_channels, .every = every, .last = last,
        .row = thin ? lw_op_outputs(&op->plan, 0, block) : block->count,
        .last_place = thin ? lw_op_outputs(&op->plan, 0, block) - 1 : last, .has_first = block->first == 0,
        .has_last = last >= 0 && last < block->count,
    };
    return lw_cuda_check(lw_cuda_ols_ends(&ends, work->stream), "computing the ends of the axis", err);
}

/* Enqueue the filter, which stores the product in its narrow type. */
static int make_narrow_series(const struct lw_op *op, const struct lw_cuda_op_block *work, struct lw_error *err)
{
    struct lw_ols_piece piece = own_piece(op, &work->block);
    piece.narrow = lw_narrowing_to(op->spec.output.scalar, lw_op_output_factor(&op->spec), work->report);
    return lw_ols_filter(op, work, &piece, work->products[0], NULL, err);
}

/* Enqueue the steps from the filter to the product. They report no flaws if there is a search, which reports them itself. */
static int make_series(const struct lw_op *op, const struct lw_cuda_op_block *work, struct lw_error *err)
{
    const struct lw_ols_piece piece = own_piece(op, &work->block);
    const bool is_searched = lw_search_is_needed(&op->spec.ols.search);
    void *const output = computed(op, work);
    int rc;
    if ((rc = lw_ols_filter(op, work, &piece, output, NULL, err)) ||
        (rc = lw_ols_mark(op, work, &piece, output, is_searched, err)) || (rc = make_ends(op, work, err)))
        return rc;
    return convert_output(op, work, err);
}

static int enqueue_steps(const struct lw_op *op, const struct lw_cuda_op_block *work, bool is_narrow, struct lw_error *err)
{
    const struct lw_ols_piece piece = own_piece(op, &work->block);
    const struct lw_repair repair = lw_ols_repair(op, work, &piece, NULL);
    int rc = LW_OK;
    if (op->spec.nan == LW_NAN_ZERO)
        rc = lw_cuda_check(lw_cuda_zero_nan(&repair, work->stream), "zeroing samples that are not a number", err);
    if (!rc && wants_series(&op->spec))
        rc = is_narrow ? make_narrow_series(op, work, err) : make_series(op, work, err);
    return rc ? rc : lw_ols_search(op, work, parts_of(op, work).search, err);
}

/* Return whether the filter stores the block's outputs in their narrow type. */
static bool is_narrow(const struct lw_op *op, const struct lw_block *block)
{
    return wants_series(&op->spec) && narrows(&op->spec, resolved_of(op)) && !has_end(op, block);
}

static int enqueue(struct lw_op *op, const struct lw_cuda_op_block *work, struct lw_error *err)
{
    return enqueue_steps(op, work, is_narrow(op, &work->block), err);
}

/* Samples that are not finite spoil outputs. If the filter has stored these in a narrow type, some may have been counted as losses,
 * and a later step could not tell which. */
static bool must_repeat(const struct lw_op *op, const struct lw_block *block, const struct lw_nan_report *report)
{
    return report->flag && is_narrow(op, block) && op->spec.nan != LW_NAN_ZERO;
}

static int repeat(struct lw_op *op, const struct lw_cuda_op_block *work, struct lw_error *err)
{
    return enqueue_steps(op, work, false, err);
}

static int enqueue_again(struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_part *part, struct lw_error *err)
{
    return lw_ols_search_again(op, work, part, parts_of(op, work).search, err);
}

const struct lw_cuda_op_ops lw_cuda_op_ols = {
    .plan = plan_ols, .measure = measure, .create = create, .fill = fill, .destroy = destroy, .enqueue = enqueue,
    .must_repeat = must_repeat, .repeat = repeat, .again = enqueue_again, .join_best = lw_ols_join_best,
};
