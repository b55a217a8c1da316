/* conv2d.c - the operation `conv2d` of the CUDA engine: its memory, and the steps of a block:
 *
 *     input -> byte order -> convolution (pixels that are not finite count as zero) -> their outputs become NaN or are reweighted
 *           -> crossings -> own rows, every D-th row and column, output type -> byte order
 *
 * A search for peaks also computes the rows before and after a block's own that neighbouring peaks may lie in. Steps that a type
 * does not need are not launched. */
#include "base/integers.h"
#include "base/memory.h"
#include "gpu/conv2d/prepared.h"
#include "gpu/device/convert.h"
#include "gpu/host/arena.h"
#include "gpu/host/error.h"
#include "gpu/host/noise_scales.h"
#include "gpu/host/op.h"

struct conv2d {
    struct lw_conv2d_prepared prepared;
    void *memory;                   /* device, owned: the prepared kernel, then the scales */
    void *scales;                   /* scales of a search, see gpu/host/noise_scales.h */
    cudaEvent_t idle;               /* signals that the work area, which the slots share, is free again */
};

/* ---- plan -------------------------------------------------------------------------------------------------------- */

static int plan_conv2d(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err)
{
    struct lw_conv2d_plan chosen;
    if (spec->conv2d.n_kernels > 1 || lw_search_products(&spec->conv2d.search) & LW_BEST)
        return lw_fail(err, LW_ECONFIG, "the cuda engine convolves with one kernel at a time: give one, or --engine cpu");
    const int rc = lw_conv2d_choose(device, spec, &chosen, err);
    if (rc)
        return rc;
    const bool is_cut = lw_conv2d_has_transforms(&chosen);
    *plan = (struct lw_op_plan){
        .halo = spec->conv2d.kernel_rows - 1, .unit = is_cut ? chosen.grid.hop_rows * chosen.grid.pair_rows : 1, .channel_unit = 1,
        .input_width = spec->conv2d.columns, .n_outputs = spec->n_outputs, .segment = is_cut ? (int)chosen.grid.columns : 0,
        .seconds_per_output = chosen.seconds,
    };
    lw_op_conv2d_products(spec, plan);
    lw_conv2d_describe(&chosen, spec, plan->text, sizeof plan->text);
    return LW_OK;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Return whether only some of the computed rows and columns are stored. */
static bool thins_output(const struct lw_op_spec *spec)
{
    return lw_conv2d_every(&spec->conv2d) > 1 || lw_search_is_needed(&spec->conv2d.search);
}

/* Return whether outputs are converted between computing and storing. */
static bool converts_output(const struct lw_op_spec *spec)
{
    return spec->output.scalar != lw_conv2d_computed_scalar(spec) || thins_output(spec);
}

static int n_parts(const struct lw_op_spec *spec) { return spec->output.is_complex ? 2 : 1; }

static int64_t computed_scalars(const struct lw_op_spec *spec, int64_t count, int64_t n_channels)
{
    return count * n_channels * spec->conv2d.output_columns * n_parts(spec);
}

/* The parts of a slot's work memory. */
struct work {
    void *computed;                 /* outputs before they are converted */
    void *flaws;
};

/* The block that makes output rows [first, end) of all images of a slot; rows beyond the image are cut off. */
static struct lw_conv2d_block block_of(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_block *slot,
                                       int64_t first, int64_t end)
{
    const int64_t begin = lw_max64(first, 0), rows = (plan->n_outputs > 0 ? lw_min64(end, plan->n_outputs) : end) - begin;
    struct lw_conv2d_block block = lw_conv2d_block_of(spec, begin, rows, slot->n_channels);
    block.input_pitch = plan->halo + slot->count;
    block.input_first = begin - (slot->first - plan->before);
    block.own_row = plan->halo - block.input_first;
    return block;
}

static int64_t lay_out_work(const struct lw_op_spec *spec, const struct lw_conv2d_block *block, void *memory, struct work *work)
{
    const int64_t scalars = converts_output(spec) ? computed_scalars(spec, block->count, block->n_channels) : 0;
    struct lw_arena arena = {.base = memory};
    work->computed = lw_arena_take(&arena, scalars * (int64_t)lw_scalar_bytes(lw_conv2d_computed_scalar(spec)));
    work->flaws = lw_arena_take(&arena, lw_conv2d_flaws_bytes(block));
    return arena.used;
}

/* Lay out the device memory that the operation keeps; return its bytes. */
static int64_t lay_out_kept(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan, void *memory, struct conv2d *conv2d)
{
    struct lw_arena arena = {.base = memory};
    conv2d->memory = lw_arena_take(&arena, lw_conv2d_prepared_bytes(spec, plan));
    conv2d->scales = lw_arena_take(&arena, lw_cuda_scales_bytes(&spec->conv2d.search, spec->n_channels, spec->precision));
    return arena.used;
}

static void measure(const struct lw_device *device, const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                    struct lw_cuda_op_memory *memory)
{
    struct lw_conv2d_plan chosen;
    if (lw_conv2d_choose(device, spec, &chosen, NULL))
        return;                     /* cannot happen: the plan was made from the same spec */
    struct work work;
    const int64_t rows = plan->before + memory->count + plan->after;
    const struct lw_conv2d_block block = lw_conv2d_block_of(spec, 0, rows, memory->n_channels);
    memory->op_bytes = lay_out_kept(spec, &chosen, NULL, &(struct conv2d){0});
    memory->setup_bytes = lw_conv2d_setup_bytes(spec, &chosen);
    memory->work_bytes = lay_out_work(spec, &block, NULL, &work);
    memory->host_bytes = (int64_t)sizeof(struct lw_op) + (int64_t)sizeof(struct conv2d);
}

/* ---- create ------------------------------------------------------------------------------------------------------ */

/* Upload the scales of a search, and wait until they are on the device. */
static int make_scales(const struct lw_op *op, void *scales, cudaStream_t stream, struct lw_error *err)
{
    const struct lw_search *const search = &op->spec.conv2d.search;
    const int64_t bytes = lw_cuda_scales_bytes(search, op->spec.n_channels, op->spec.precision);
    if (bytes == 0)
        return LW_OK;
    void *const host = lw_alloc((size_t)bytes, "the noise of the images", err);
    if (!host)
        return LW_ESYSTEM;
    lw_cuda_scales(search, op->spec.n_channels, op->spec.precision, host);
    const int rc = lw_cuda_upload(scales, host, bytes, stream, "copying the noise of the images", err);
    lw_free(host);
    return rc;
}

/* Prepare the kernel; the set-up memory is freed before the return. */
static int prepare(const struct lw_op *op, const struct lw_conv2d_plan *plan, struct conv2d *conv2d,
                   cudaStream_t stream, struct lw_error *err)
{
    void *setup = NULL;
    int rc = lw_cuda_allocate(op->memory.setup_bytes, "transforming the kernel", &setup, err);
    if (rc)
        return rc;
    rc = lw_conv2d_prepare(&op->spec, plan, conv2d->memory, setup, stream, &conv2d->prepared, err);
    const cudaError_t status = cudaStreamSynchronize(stream);
    cudaFree(setup);
    return rc ? rc : lw_cuda_check(status, "transforming the kernel", err);
}

static int create(struct lw_op *op, cudaStream_t stream, struct lw_error *err)
{
    struct conv2d *const conv2d = lw_alloc(sizeof *conv2d, "the kernel", err);
    if (!conv2d)
        return LW_ESYSTEM;
    op->state = conv2d;
    struct lw_conv2d_plan plan;
    int rc;
    if ((rc = lw_conv2d_choose(op->device, &op->spec, &plan, err)) ||
        (rc = lw_cuda_check(cudaEventCreateWithFlags(&conv2d->idle, cudaEventDisableTiming), "making an event", err)) ||
        (rc = lw_cuda_allocate(op->memory.op_bytes, "the kernel's spectrum and the work area", &conv2d->memory, err)))
        return rc;
    lay_out_kept(&op->spec, &plan, conv2d->memory, conv2d);
    rc = make_scales(op, conv2d->scales, stream, err);
    return rc ? rc : prepare(op, &plan, conv2d, stream, err);
}

static void destroy(struct lw_op *op)
{
    struct conv2d *const conv2d = op->state;
    if (!conv2d)
        return;
    if (conv2d->idle)
        cudaEventDestroy(conv2d->idle);
    lw_conv2d_release(&conv2d->prepared);
    cudaFree(conv2d->memory);
    lw_free(conv2d);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Append the crossings of the axis rows [begin, end) of a block to the slot's table. */
static int find_crossings(const struct lw_op *op, const struct lw_cuda_op_block *from, const struct lw_conv2d_block *block,
                          int64_t channel, int64_t begin, int64_t end, struct lw_error *err)
{
    const int product = lw_op_find_product(&op->plan, LW_OP_CROSSINGS);
    const int64_t first_row = block->first_row - op->spec.conv2d.look_ahead_rows + block->kernel_rows - 1;
    if (product < 0)
        return LW_OK;
    const struct lw_conv2d_search search = {
        .image = block->output, .precision = op->spec.precision, .is_complex = op->spec.output.is_complex,
        .n_channels = block->n_channels, .count = block->count, .columns = block->output_columns, .first_row = first_row,
        .channel = channel, .scales = ((const struct conv2d *)op->state)->scales, .begin = lw_max64(0, begin - first_row),
        .end = lw_min64(block->count, end - first_row), .sign = op->spec.conv2d.search.sign, .rows = from->products[product],
        .most_rows = from->most_rows[product], .n_rows = &from->report->n_rows,
    };
    return lw_cuda_check(lw_conv2d_find(&search, from->stream), "looking for crossings", err);
}

/* Convert the outputs to the result's type; a search or thinning keeps only own rows, and every D-th row and column. */
static int convert_output(const struct lw_op *op, const struct lw_cuda_op_block *from, const struct lw_conv2d_block *block,
                          struct lw_error *err)
{
    const int series = lw_op_find_product(&op->plan, LW_OP_SERIES);
    if (series < 0 || !converts_output(&op->spec))
        return LW_OK;
    const int64_t every = lw_conv2d_every(&op->spec.conv2d), first = from->block.first;
    const struct lw_image_thinning thinning = {
        .n_images = from->block.n_channels, .rows = block->count, .columns = op->spec.conv2d.output_columns,
        .parts = n_parts(&op->spec), .first = lw_round_up(first, every) - lw_max64(0, first - op->plan.before), .every = every,
        .kept_rows = lw_op_outputs(&op->plan, series, &from->block), .factor = lw_op_output_factor(&op->spec),
    };
    if (thins_output(&op->spec))
        return lw_cuda_check(lw_cuda_thin_images(block->output, op->spec.precision, from->products[series], op->spec.output.scalar,
                                                 &thinning, from->report, from->stream), "thinning out a block", err);
    const int64_t n = computed_scalars(&op->spec, block->count, block->n_channels);
    return lw_cuda_check(lw_cuda_convert(block->output, op->spec.precision, from->products[series], op->spec.output.scalar, n,
                                         thinning.factor, from->report, from->stream), "converting a block", err);
}

/* Compute the finished outputs of a block or of a part of it. */
static int compute(struct lw_op *op, const struct lw_cuda_op_block *from, struct lw_conv2d_block *block, struct lw_error *err)
{
    const struct conv2d *const conv2d = op->state;
    struct work work;
    lay_out_work(&op->spec, block, from->work, &work);
    block->input = from->input;
    block->output = converts_output(&op->spec) ? work.computed : from->products[0];
    block->not_finite = &from->report->flag;
    const bool is_shared = lw_conv2d_shares_work(&conv2d->prepared.plan);
    int rc;
    if ((is_shared && (rc = lw_cuda_check(cudaStreamWaitEvent(from->stream, conv2d->idle, 0), "waiting for the work area", err))) ||
        (rc = lw_conv2d_run(&conv2d->prepared, block, from->stream, err)) ||
        (is_shared && (rc = lw_cuda_check(cudaEventRecord(conv2d->idle, from->stream), "releasing the work area", err))))
        return rc;
    struct lw_conv2d_flaws flaws = {
        .report = from->report, .precision = op->spec.precision, .nan = op->spec.nan, .sums = conv2d->prepared.sums,
        .sum = conv2d->prepared.sum,
    };
    lw_conv2d_flaws_place(block, work.flaws, &flaws);
    return lw_cuda_check(lw_conv2d_treat_flaws(block, &flaws, from->stream), "treating pixels that are not finite", err);
}

static int enqueue(struct lw_op *op, const struct lw_cuda_op_block *from, struct lw_error *err)
{
    const int64_t first = from->block.first, end = first + from->block.count, cluster = op->spec.conv2d.search.cluster;
    struct lw_conv2d_block block = block_of(&op->spec, &op->plan, &from->block, first - op->plan.before, end + op->plan.after);
    int rc;
    if ((rc = compute(op, from, &block, err)) ||
        (rc = find_crossings(op, from, &block, from->block.channel, first - cluster, end + cluster, err)))
        return rc;
    return convert_output(op, from, &block, err);
}

static int enqueue_again(struct lw_op *op, const struct lw_cuda_op_block *from, const struct lw_part *part, struct lw_error *err)
{
    const int64_t end = part->first + part->count, cluster = op->spec.conv2d.search.cluster;
    const int64_t first = part->first - op->plan.before;
    struct lw_conv2d_block block = block_of(&op->spec, &op->plan, &from->block, first, end + op->plan.after);
    block.input_first += (part->channel - from->block.channel) * block.input_pitch;
    block.n_channels = part->n_channels;
    const int rc = compute(op, from, &block, err);
    return rc ? rc : find_crossings(op, from, &block, part->channel, part->first - cluster, end + cluster, err);
}

const struct lw_cuda_op_ops lw_cuda_op_conv2d = {
    .plan = plan_conv2d, .measure = measure, .create = create, .destroy = destroy, .enqueue = enqueue, .again = enqueue_again,
};
