/* conv2d.c - the operation `conv2d` of the CUDA engine: its memory, and the steps of a block:
 *
 *     input -> byte order -> convolution (what is not finite as zero) -> NaN marked or weighted -> every D-th row and column,
 *     output type -> byte order
 *
 * Steps that a type does not need are not launched. */
#include "base/integers.h"
#include "base/memory.h"
#include "gpu/conv2d/nan.h"
#include "gpu/conv2d/prepared.h"
#include "gpu/device/convert.h"
#include "gpu/host/arena.h"
#include "gpu/host/error.h"
#include "gpu/host/op.h"

struct conv2d {
    struct lw_conv2d_prepared prepared;
    void *memory;                   /* device: what is prepared */
    cudaEvent_t idle;               /* the work area, which the slots share, is free again */
};

/* ---- plan -------------------------------------------------------------------------------------------------------- */

static int plan_conv2d(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_op_plan *plan,
                       struct lw_error *err)
{
    struct lw_conv2d_plan chosen;
    const int rc = lw_conv2d_choose(device, spec, &chosen, err);
    if (rc)
        return rc;
    const bool is_cut = chosen.method == LW_CONV2D_TILES || chosen.method == LW_CONV2D_BANDS;
    const struct lw_op_product series = lw_op_conv2d_product(spec);
    *plan = (struct lw_op_plan){
        .halo = spec->conv2d.kernel_rows - 1,
        .unit = is_cut ? chosen.grid.hop_rows * chosen.grid.pair_rows : 1,
        .channel_unit = 1,
        .input_width = spec->conv2d.columns,
        .n_outputs = spec->n_outputs,
        .products = {series},
        .n_products = 1,
        .segment = is_cut ? (int)chosen.grid.columns : 0,
        .seconds_per_output = chosen.seconds * (double)spec->conv2d.output_columns / (double)series.width,
    };
    lw_conv2d_describe(&chosen, spec, plan->text, sizeof plan->text);
    return LW_OK;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static enum lw_scalar computed_scalar(const struct lw_op_spec *spec)
{
    return spec->precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64;
}

/* Whether outputs are not stored as they are computed. */
static bool converts_output(const struct lw_op_spec *spec)
{
    return spec->output.scalar != computed_scalar(spec) || lw_conv2d_every(&spec->conv2d) > 1;
}

static int n_parts(const struct lw_op_spec *spec) { return spec->output.is_complex ? 2 : 1; }

static int64_t computed_scalars(const struct lw_op_spec *spec, int64_t count, int64_t n_channels)
{
    return count * n_channels * spec->conv2d.output_columns * n_parts(spec);
}

/* Parts of a slot's work memory. */
struct work {
    void *computed;                 /* outputs before they are converted */
    void *flaws;
};

static int64_t lay_out_work(const struct lw_op_spec *spec, const struct lw_conv2d_block *block, void *memory,
                            struct work *work)
{
    const int64_t scalars = converts_output(spec) ? computed_scalars(spec, block->count, block->n_channels) : 0;
    struct lw_arena arena = {.base = memory};
    work->computed = lw_arena_take(&arena, scalars * (int64_t)lw_scalar_bytes(computed_scalar(spec)));
    work->flaws = lw_arena_take(&arena, lw_conv2d_flaws_bytes(block));
    return arena.used;
}

static void measure(const struct lw_device *device, const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                    struct lw_cuda_op_memory *memory)
{
    (void)plan;
    struct lw_conv2d_plan chosen;
    if (lw_conv2d_choose(device, spec, &chosen, NULL))
        return;                     /* cannot be: the plan was made from the same spec */
    struct work work;
    const struct lw_conv2d_block block = lw_conv2d_block_of(spec, 0, memory->count, memory->n_channels);
    memory->op_bytes = lw_conv2d_prepared_bytes(spec, &chosen);
    memory->setup_bytes = lw_conv2d_setup_bytes(spec, &chosen);
    memory->work_bytes = lay_out_work(spec, &block, NULL, &work);
    memory->host_bytes = (int64_t)sizeof(struct lw_op) + (int64_t)sizeof(struct conv2d);
}

/* ---- create ------------------------------------------------------------------------------------------------------ */

static int allocate(int64_t bytes, const char *what, void **memory, struct lw_error *err)
{
    const cudaError_t status = bytes > 0 ? cudaMalloc(memory, (size_t)bytes) : cudaSuccess;
    return status == cudaSuccess ? LW_OK : lw_cuda_no_memory(status, what, bytes, 1, err);
}

/* The set-up memory is gone again afterwards. */
static int prepare(const struct lw_op *op, const struct lw_conv2d_plan *plan, struct conv2d *conv2d,
                   cudaStream_t stream, struct lw_error *err)
{
    void *setup = NULL;
    int rc = allocate(op->memory.setup_bytes, "transforming the kernel", &setup, err);
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
        (rc = allocate(op->memory.op_bytes, "the kernel's spectrum and the work area", &conv2d->memory, err)))
        return rc;
    return prepare(op, &plan, conv2d, stream, err);
}

static void destroy(struct lw_op *op)
{
    struct conv2d *const conv2d = op->state;
    if (!conv2d)
        return;
    if (conv2d->idle)
        cudaEventDestroy(conv2d->idle);
    cudaFree(conv2d->memory);
    lw_free(conv2d);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static int swap_bytes(void *data, enum lw_scalar scalar, int64_t n, cudaStream_t stream, struct lw_error *err)
{
    return lw_cuda_check(lw_cuda_swap_bytes(data, scalar, n, stream), "swapping bytes", err);
}

static int order_input(const struct lw_op *op, const struct lw_cuda_op_block *work, struct lw_error *err)
{
    if (!op->spec.input.is_swapped)
        return LW_OK;
    const int64_t pixels = (op->plan.halo + work->block.count) * work->block.n_channels * op->spec.conv2d.columns;
    return swap_bytes(work->input, op->spec.input.scalar, pixels * (op->spec.input.is_complex ? 2 : 1), work->stream,
                      err);
}

static int convolve(const struct conv2d *conv2d, const struct lw_conv2d_block *block, cudaStream_t stream,
                    struct lw_error *err)
{
    int rc;
    if (conv2d->prepared.plan.method != LW_CONV2D_BANDS)
        return lw_conv2d_run(&conv2d->prepared, block, stream, err);
    if ((rc = lw_cuda_check(cudaStreamWaitEvent(stream, conv2d->idle, 0), "waiting for the work area", err)) ||
        (rc = lw_conv2d_run(&conv2d->prepared, block, stream, err)))
        return rc;
    return lw_cuda_check(cudaEventRecord(conv2d->idle, stream), "releasing the work area", err);
}

static int treat_flaws(const struct lw_op *op, const struct lw_cuda_op_block *from, const struct lw_conv2d_block *block,
                       void *memory, struct lw_error *err)
{
    const struct lw_conv2d_prepared *const prepared = &((const struct conv2d *)op->state)->prepared;
    struct lw_conv2d_flaws flaws = {
        .report = from->report,
        .precision = op->spec.precision,
        .nan = op->spec.nan,
        .sums = prepared->sums,
        .sum = prepared->sum,
    };
    lw_conv2d_flaws_place(block, memory, &flaws);
    return lw_cuda_check(lw_conv2d_treat_flaws(block, &flaws, from->stream), "treating what is not a number", err);
}

/* Every D-th row and column of the image, converted. */
static int thin_output(const struct lw_op *op, const struct lw_cuda_op_block *from, const void *computed, struct lw_error *err)
{
    const int64_t every = lw_conv2d_every(&op->spec.conv2d), first = from->block.first;
    const struct lw_image_thinning thinning = {
        .n_images = from->block.n_channels,
        .rows = from->block.count,
        .columns = op->spec.conv2d.output_columns,
        .parts = n_parts(&op->spec),
        .first = round_up(first, every) - first,
        .every = every,
        .kept_rows = lw_op_outputs(&op->plan, 0, &from->block),
        .factor = lw_op_output_factor(&op->spec),
    };
    return lw_cuda_check(lw_cuda_thin_images(computed, op->spec.precision, from->products[0], op->spec.output.scalar, &thinning,
                                             from->report, from->stream), "thinning out a block", err);
}

static int convert_output(const struct lw_op *op, const struct lw_cuda_op_block *from, const void *computed,
                          struct lw_error *err)
{
    if (!converts_output(&op->spec))
        return LW_OK;
    if (lw_conv2d_every(&op->spec.conv2d) > 1)
        return thin_output(op, from, computed, err);
    const int64_t n = computed_scalars(&op->spec, from->block.count, from->block.n_channels);
    return lw_cuda_check(lw_cuda_convert(computed, op->spec.precision, from->products[0], op->spec.output.scalar, n,
                                         lw_op_output_factor(&op->spec), from->report, from->stream), "converting a block", err);
}

static int order_output(const struct lw_op *op, const struct lw_cuda_op_block *from, struct lw_error *err)
{
    if (!op->spec.output.is_swapped)
        return LW_OK;
    const int64_t n_rows = lw_op_outputs(&op->plan, 0, &from->block) * from->block.n_channels;
    return swap_bytes(from->products[0], op->spec.output.scalar, n_rows * op->plan.products[0].width * n_parts(&op->spec),
                      from->stream, err);
}

static int enqueue(struct lw_op *op, const struct lw_cuda_op_block *from, struct lw_error *err)
{
    const struct conv2d *const conv2d = op->state;
    struct lw_conv2d_block block = lw_conv2d_block_of(&op->spec, from->block.first, from->block.count,
                                                      from->block.n_channels);
    struct work work;
    lay_out_work(&op->spec, &block, from->work, &work);
    block.input = from->input;
    block.output = converts_output(&op->spec) ? work.computed : from->products[0];
    block.not_finite = &from->report->flag;
    int rc;
    if ((rc = order_input(op, from, err)) || (rc = convolve(conv2d, &block, from->stream, err)) ||
        (rc = treat_flaws(op, from, &block, work.flaws, err)) || (rc = convert_output(op, from, work.computed, err)))
        return rc;
    return order_output(op, from, err);
}

const struct lw_cuda_op_ops lw_cuda_op_conv2d = {
    .plan = plan_conv2d,
    .measure = measure,
    .create = create,
    .destroy = destroy,
    .enqueue = enqueue,
};
