/* conv2d_cuda.c - the operation `conv2d` of the CUDA engine: its memory, and the steps of a block:
 *
 *     input -> byte order -> convolution (what is not finite as zero) -> NaN marked or weighted -> output type -> byte order
 *
 * Steps that a type does not need are not launched. */
#include "arena.h"
#include "conv2d_bands.h"
#include "conv2d_direct.h"
#include "conv2d_nan.h"
#include "conv2d_passes.h"
#include "conv2d_plan.h"
#include "convert.h"
#include "cuda_error.h"
#include "op_cuda.h"
#include "../src/memory.h"
#include "../src/separable.h"

#include <math.h>

struct conv2d {
    struct lw_conv2d_plan plan;
    int exponent;                   /* taps on the device, and tables, were divided by 2^exponent */
    float unrolled[LW_CONV2D_MOST_SIDE * LW_CONV2D_MOST_SIDE];
    void *memory;                   /* device, see struct kept */
    cudaEvent_t idle;               /* BANDS: the work area is free again */
    double sum;                     /* of the kernel; to interpolate */
};

/* Parts of the operation's device memory. */
struct kept {
    void *bank;                     /* taps, column and row, or spectrum and tables, as the method wants them */
    void *row;                      /* PASSES: where the row's taps begin */
    void *work;                     /* BANDS: one area, which slots use one after the other */
    double *sums;                   /* to interpolate, see struct lw_conv2d_flaws */
};

/* Device memory only while the operation is created. */
struct setup {
    double *taps;
    void *work;
};

/* ---- plan -------------------------------------------------------------------------------------------------------- */

static bool has_transforms(const struct lw_conv2d_plan *plan)
{
    return plan->method == LW_CONV2D_TILES || plan->method == LW_CONV2D_BANDS;
}

static int plan_conv2d(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err)
{
    struct lw_conv2d_plan chosen;
    const int rc = lw_conv2d_choose(device, spec, &chosen, err);
    if (rc)
        return rc;
    *plan = (struct lw_op_plan){
        .halo = spec->conv2d.kernel_rows - 1,
        .unit = has_transforms(&chosen) ? chosen.grid.hop_rows * chosen.grid.pair_rows : 1,
        .channel_unit = 1,
        .n_planes = 1,
        .segment = has_transforms(&chosen) ? (int)chosen.grid.columns : 0,
        .seconds_per_output = chosen.seconds,
    };
    lw_conv2d_describe(&chosen, spec, plan->text, sizeof plan->text);
    return LW_OK;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static int tap_parts(const struct lw_op_spec *spec) { return spec->conv2d.kernel_complex ? 2 : 1; }

static int64_t n_taps(const struct lw_op_spec *spec) { return spec->conv2d.kernel_rows * spec->conv2d.kernel_columns; }

static enum lw_scalar computed_scalar(const struct lw_op_spec *spec)
{
    return spec->precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64;
}

/* Of `n` taps in the computing precision. */
static int64_t taps_bytes(const struct lw_op_spec *spec, int64_t n)
{
    return n * tap_parts(spec) * (int64_t)lw_scalar_bytes(computed_scalar(spec));
}

static int64_t sums_bytes(const struct lw_op_spec *spec)
{
    return spec->conv2d.kernel_rows * (spec->conv2d.kernel_columns + 1) * (int64_t)sizeof(double);
}

static int64_t bank_bytes(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan)
{
    const int rows = (int)plan->grid.rows, columns = (int)plan->grid.columns;
    switch (plan->method) {
    case LW_CONV2D_UNROLLED: return 0;
    case LW_CONV2D_DIRECT: return taps_bytes(spec, n_taps(spec));
    case LW_CONV2D_PASSES: return taps_bytes(spec, spec->conv2d.kernel_rows);
    case LW_CONV2D_TILES: return lw_conv2d_tile_bytes(spec->precision, rows);
    default: return lw_conv2d_bands_bytes(spec->precision, rows, columns);
    }
}

static int64_t lay_out_kept(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan, void *memory, struct kept *kept)
{
    const int rows = (int)plan->grid.rows, columns = (int)plan->grid.columns;
    struct lw_arena arena = {.base = memory};
    kept->bank = lw_arena_take(&arena, bank_bytes(spec, plan));
    kept->row = lw_arena_take(&arena, plan->method == LW_CONV2D_PASSES ? taps_bytes(spec, spec->conv2d.kernel_columns) : 0);
    kept->work = lw_arena_take(&arena, plan->method == LW_CONV2D_BANDS
                                           ? lw_conv2d_bands_work_bytes(spec->precision, rows, columns, plan->batch) : 0);
    kept->sums = lw_arena_take(&arena, spec->nan == LW_NAN_INTERPOLATE ? sums_bytes(spec) : 0);
    return arena.used;
}

static int64_t lay_out_setup(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan, void *memory, struct setup *setup)
{
    const int rows = (int)plan->grid.rows, columns = (int)plan->grid.columns;
    const int64_t work = plan->method == LW_CONV2D_TILES ? lw_conv2d_tile_setup_bytes(rows, spec->conv2d.kernel_rows)
                         : plan->method == LW_CONV2D_BANDS
                             ? lw_conv2d_bands_setup_bytes(rows, columns, spec->conv2d.kernel_rows) : 0;
    struct lw_arena arena = {.base = memory};
    setup->taps = lw_arena_take(&arena, has_transforms(plan) ? n_taps(spec) * tap_parts(spec) * (int64_t)sizeof(double) : 0);
    setup->work = lw_arena_take(&arena, work);
    return arena.used;
}

static bool converts_output(const struct lw_op_spec *spec) { return spec->output.scalar != computed_scalar(spec); }

static int64_t output_scalars(const struct lw_op_spec *spec, int64_t count, int64_t n_channels)
{
    return count * n_channels * spec->conv2d.output_columns * (spec->output.is_complex ? 2 : 1);
}

/* What the kernels are told about a block, without its buffers. */
static struct lw_conv2d_block block_of(const struct lw_op_spec *spec, int64_t first, int64_t count, int64_t n_channels)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    return (struct lw_conv2d_block){
        .scalar = spec->input.scalar,
        .input_complex = spec->input.is_complex,
        .output_complex = spec->output.is_complex,
        .boundary = c->boundary,
        .outside = c->outside,
        .rows = c->rows,
        .columns = c->columns,
        .first_row = first + c->look_ahead_rows - (c->kernel_rows - 1),
        .first_column = c->look_ahead_columns - (c->kernel_columns - 1),
        .output_columns = c->output_columns,
        .kernel_rows = c->kernel_rows,
        .kernel_columns = c->kernel_columns,
        .count = count,
        .n_channels = n_channels,
    };
}

/* Parts of a slot's work memory. */
struct work {
    void *computed;                 /* outputs before they are converted */
    void *flaws;
};

static int64_t lay_out_work(const struct lw_op_spec *spec, const struct lw_conv2d_block *block, void *memory, struct work *work)
{
    const int64_t scalars = converts_output(spec) ? output_scalars(spec, block->count, block->n_channels) : 0;
    struct lw_arena arena = {.base = memory};
    work->computed = lw_arena_take(&arena, scalars * (int64_t)lw_scalar_bytes(computed_scalar(spec)));
    work->flaws = lw_arena_take(&arena, lw_conv2d_flaws_bytes(block));
    return arena.used;
}

static void measure(const struct lw_device *device, const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                    struct lw_op_shape *shape)
{
    (void)plan;
    struct lw_conv2d_plan chosen;
    if (lw_conv2d_choose(device, spec, &chosen, NULL))
        return;                     /* cannot be: the plan was made from the same spec */
    struct kept kept;
    struct setup setup;
    struct work work;
    const struct lw_conv2d_block block = block_of(spec, 0, shape->count, shape->n_channels);
    shape->op_bytes = lay_out_kept(spec, &chosen, NULL, &kept);
    shape->setup_bytes = lay_out_setup(spec, &chosen, NULL, &setup);
    shape->work_bytes = lay_out_work(spec, &block, NULL, &work);
    shape->host_bytes = (int64_t)sizeof(struct lw_op) + (int64_t)sizeof(struct conv2d);
}

/* ---- create ------------------------------------------------------------------------------------------------------ */

static int allocate(int64_t bytes, const char *what, void **memory, struct lw_error *err)
{
    const cudaError_t status = bytes > 0 ? cudaMalloc(memory, (size_t)bytes) : cudaSuccess;
    return status == cudaSuccess ? LW_OK : lw_cuda_no_memory(status, what, bytes, 1, err);
}

/* The largest power of two not above the largest of `n` numbers, as its exponent. */
static int exponent_of(const double *values, int64_t n)
{
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(values[i]));
    return largest > 0 ? ilogb(largest) : 0;
}

static void put_real(enum lw_precision precision, void *to, int64_t i, double value)
{
    if (precision == LW_SINGLE)
        ((float *)to)[i] = (float)value;
    else
        ((double *)to)[i] = value;
}

/* Host memory to the device, done at return. */
static cudaError_t send(void *to, const void *from, int64_t bytes, cudaStream_t stream)
{
    const cudaError_t status = cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyHostToDevice, stream);
    return status == cudaSuccess ? cudaStreamSynchronize(stream) : status;
}

/* `n` taps, last first, divided by 2^exponent, in the computing precision, to device memory. */
static int send_turned(const struct lw_op_spec *spec, const double *taps, int64_t n, int exponent, void *to, cudaStream_t stream,
                       struct lw_error *err)
{
    const int parts = tap_parts(spec);
    void *const turned = lw_alloc((size_t)taps_bytes(spec, n), "the kernel", err);
    if (!turned)
        return LW_ESYSTEM;
    for (int64_t i = 0; i < n; i++)
        for (int part = 0; part < parts; part++)
            put_real(spec->precision, turned, parts * i + part, ldexp(taps[parts * (n - 1 - i) + part], -exponent));
    const cudaError_t status = send(to, turned, taps_bytes(spec, n), stream);
    lw_free(turned);
    return lw_cuda_check(status, "copying the kernel to the device", err);
}

static void turn_unrolled(const struct lw_op_spec *spec, struct conv2d *conv2d)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    for (int64_t m = 0; m < c->kernel_rows; m++)
        for (int64_t n = 0; n < c->kernel_columns; n++)
            conv2d->unrolled[m * conv2d->plan.side + n] =
                (float)ldexp(c->kernel[(c->kernel_rows - 1 - m) * c->kernel_columns + c->kernel_columns - 1 - n], -conv2d->exponent);
}

/* Both factors get a largest tap near 1. */
static int prepare_passes(const struct lw_op_spec *spec, const struct kept *kept, struct conv2d *conv2d, cudaStream_t stream,
                          struct lw_error *err)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    const int64_t rows = c->kernel_rows, columns = c->kernel_columns, parts = tap_parts(spec);
    double *const column = lw_alloc_array(parts * (rows + columns), sizeof *column, "the kernel's factors", err);
    if (!column)
        return LW_ESYSTEM;
    double *const row = column + parts * rows;
    lw_separate(c->kernel, rows, columns, c->kernel_complex, column, row);
    const int of_column = exponent_of(column, parts * rows), of_row = exponent_of(row, parts * columns);
    conv2d->exponent = of_column + of_row;
    int rc = send_turned(spec, column, rows, of_column, kept->bank, stream, err);
    if (rc == LW_OK)
        rc = send_turned(spec, row, columns, of_row, kept->row, stream, err);
    lw_free(column);
    return rc ? rc : lw_cuda_check(lw_conv2d_passes_prepare(spec->precision), "preparing the passes", err);
}

static int prepare_transforms(const struct lw_op *op, const struct kept *kept, const struct setup *setup,
                              const struct conv2d *conv2d, cudaStream_t stream, struct lw_error *err)
{
    const struct lw_op_spec *const spec = &op->spec;
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    const int64_t n = n_taps(spec) * tap_parts(spec);
    double *const taps = lw_alloc_array(n, sizeof *taps, "the kernel", err);
    if (!taps)
        return LW_ESYSTEM;
    for (int64_t i = 0; i < n; i++)
        taps[i] = ldexp(c->kernel[i], -conv2d->exponent);
    cudaError_t status = send(setup->taps, taps, n * (int64_t)sizeof *taps, stream);
    lw_free(taps);
    const int rows = (int)conv2d->plan.grid.rows, columns = (int)conv2d->plan.grid.columns;
    if (status == cudaSuccess && conv2d->plan.method == LW_CONV2D_TILES)
        status = lw_conv2d_tile_prepare(spec->precision, rows, setup->taps, c->kernel_complex, c->kernel_rows, c->kernel_columns,
                                        setup->work, kept->bank, stream);
    else if (status == cudaSuccess)
        status = lw_conv2d_bands_prepare(spec->precision, rows, columns, setup->taps, c->kernel_complex, c->kernel_rows,
                                         c->kernel_columns, setup->work, kept->bank, stream);
    return lw_cuda_check(status, "transforming the kernel", err);
}

/* In the transforms, a kernel's largest tap is near 1; direct sums need that only where numbers would leave the range. */
static int choose_exponent(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan)
{
    const int exponent = exponent_of(spec->conv2d.kernel, n_taps(spec) * tap_parts(spec)), harmless = 40;
    return !has_transforms(plan) && exponent > -harmless && exponent < harmless ? 0 : exponent;
}

static int prepare(const struct lw_op *op, const struct kept *kept, const struct setup *setup, struct conv2d *conv2d,
                   cudaStream_t stream, struct lw_error *err)
{
    conv2d->exponent = choose_exponent(&op->spec, &conv2d->plan);
    switch (conv2d->plan.method) {
    case LW_CONV2D_UNROLLED: turn_unrolled(&op->spec, conv2d); return LW_OK;
    case LW_CONV2D_DIRECT:
        return send_turned(&op->spec, op->spec.conv2d.kernel, n_taps(&op->spec), conv2d->exponent, kept->bank, stream, err);
    case LW_CONV2D_PASSES: return prepare_passes(&op->spec, kept, conv2d, stream, err);
    default: return prepare_transforms(op, kept, setup, conv2d, stream, err);
    }
}

/* Everything that needs the set-up memory, which is gone again afterwards. */
static int prepare_once(const struct lw_op *op, const struct kept *kept, struct conv2d *conv2d, cudaStream_t stream,
                        struct lw_error *err)
{
    void *memory = NULL;
    struct setup setup;
    int rc = allocate(op->shape.setup_bytes, "transforming the kernel", &memory, err);
    if (rc)
        return rc;
    lay_out_setup(&op->spec, &conv2d->plan, memory, &setup);
    rc = prepare(op, kept, &setup, conv2d, stream, err);
    const cudaError_t status = cudaStreamSynchronize(stream);
    cudaFree(memory);
    return rc ? rc : lw_cuda_check(status, "transforming the kernel", err);
}

/* Sums along the rows of the turned kernel, so that what a run of pixels weighs is a difference of two. */
static int send_sums(const struct lw_op_spec *spec, const struct kept *kept, struct conv2d *conv2d, cudaStream_t stream,
                     struct lw_error *err)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    if (spec->nan != LW_NAN_INTERPOLATE)
        return LW_OK;
    double *const sums = lw_alloc((size_t)sums_bytes(spec), "sums of the kernel", err);
    if (!sums)
        return LW_ESYSTEM;
    for (int64_t m = 0; m < c->kernel_rows; m++) {
        double *const line = sums + m * (c->kernel_columns + 1);
        for (int64_t n = 0; n < c->kernel_columns; n++)
            line[n + 1] = line[n] + c->kernel[(c->kernel_rows - 1 - m) * c->kernel_columns + c->kernel_columns - 1 - n];
        conv2d->sum += line[c->kernel_columns];
    }
    const cudaError_t status = send(kept->sums, sums, sums_bytes(spec), stream);
    lw_free(sums);
    return lw_cuda_check(status, "copying sums of the kernel to the device", err);
}

static int create(struct lw_op *op, cudaStream_t stream, struct lw_error *err)
{
    struct conv2d *const conv2d = lw_alloc(sizeof *conv2d, "the kernel", err);
    if (!conv2d)
        return LW_ESYSTEM;
    op->state = conv2d;
    int rc;
    if ((rc = lw_conv2d_choose(op->device, &op->spec, &conv2d->plan, err)) ||
        (rc = lw_cuda_check(cudaEventCreateWithFlags(&conv2d->idle, cudaEventDisableTiming), "making an event", err)) ||
        (rc = allocate(op->shape.op_bytes, "the kernel's spectrum and the work area", &conv2d->memory, err)))
        return rc;
    struct kept kept;
    lay_out_kept(&op->spec, &conv2d->plan, conv2d->memory, &kept);
    rc = prepare_once(op, &kept, conv2d, stream, err);
    if (rc == LW_OK)
        rc = send_sums(&op->spec, &kept, conv2d, stream, err);
    op->spec.conv2d.kernel = NULL;          /* borrowed during this call only */
    return rc;
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

static int order_input(const struct lw_op *op, const struct lw_op_work *work, struct lw_error *err)
{
    if (!op->spec.input.is_swapped)
        return LW_OK;
    const int64_t pixels = (op->plan.halo + work->block.count) * work->block.n_channels * op->spec.conv2d.columns;
    return swap_bytes(work->input, op->spec.input.scalar, pixels * (op->spec.input.is_complex ? 2 : 1), work->stream, err);
}

/* The work area serves one block after the other. */
static cudaError_t run_bands(const struct conv2d *conv2d, const struct lw_conv2d_block *block, enum lw_precision precision,
                             const struct kept *kept, cudaStream_t stream)
{
    struct lw_conv2d_grid grid = conv2d->plan.grid;
    const int64_t n = lw_conv2d_cut(block, &grid);
    cudaError_t status = cudaStreamWaitEvent(stream, conv2d->idle, 0);
    for (int64_t first = 0; status == cudaSuccess && first < n; first += conv2d->plan.batch) {
        const int64_t left = n - first;
        status = lw_conv2d_bands(block, &grid, precision, kept->bank, first,
                                 (int)(left < conv2d->plan.batch ? left : conv2d->plan.batch), kept->work, stream);
    }
    return status == cudaSuccess ? cudaEventRecord(conv2d->idle, stream) : status;
}

static int convolve(const struct lw_op *op, const struct lw_conv2d_block *block, const struct kept *kept, cudaStream_t stream,
                    struct lw_error *err)
{
    const struct conv2d *const conv2d = op->state;
    const enum lw_precision precision = op->spec.precision;
    cudaError_t status;
    switch (conv2d->plan.method) {
    case LW_CONV2D_UNROLLED: status = lw_conv2d_unrolled(block, conv2d->plan.side, conv2d->unrolled, stream); break;
    case LW_CONV2D_DIRECT:
        status = lw_conv2d_direct(block, precision, op->spec.conv2d.kernel_complex, kept->bank, stream);
        break;
    case LW_CONV2D_PASSES:
        status = lw_conv2d_passes(block, precision, op->spec.conv2d.kernel_complex, kept->bank, kept->row, stream);
        break;
    case LW_CONV2D_TILES: status = lw_conv2d_tiles(block, &conv2d->plan.grid, precision, kept->bank, stream); break;
    default: status = run_bands(conv2d, block, precision, kept, stream);
    }
    return lw_cuda_check(status, "convolving a block", err);
}

static int treat_flaws(const struct lw_op *op, const struct lw_op_work *from, const struct lw_conv2d_block *block,
                       const struct kept *kept, void *memory, struct lw_error *err)
{
    struct lw_conv2d_flaws flaws = {
        .report = from->report,
        .precision = op->spec.precision,
        .nan = op->spec.nan,
        .sums = kept->sums,
        .sum = ((const struct conv2d *)op->state)->sum,
    };
    lw_conv2d_flaws_place(block, memory, &flaws);
    return lw_cuda_check(lw_conv2d_treat_flaws(block, &flaws, from->stream), "treating what is not a number", err);
}

static int convert_output(const struct lw_op *op, const struct lw_op_work *from, const void *computed, struct lw_error *err)
{
    const int64_t n = output_scalars(&op->spec, from->block.count, from->block.n_channels);
    int rc = LW_OK;
    if (converts_output(&op->spec))
        rc = lw_cuda_check(lw_cuda_convert(computed, op->spec.precision, from->output, op->spec.output.scalar, n, from->stream),
                           "converting a block", err);
    if (rc == LW_OK && op->spec.output.is_swapped)
        rc = swap_bytes(from->output, op->spec.output.scalar, n, from->stream, err);
    return rc;
}

static int enqueue(struct lw_op *op, const struct lw_op_work *from, struct lw_error *err)
{
    const struct conv2d *const conv2d = op->state;
    struct lw_conv2d_block block = block_of(&op->spec, from->block.first, from->block.count, from->block.n_channels);
    struct work work;
    struct kept kept;
    lay_out_work(&op->spec, &block, from->work, &work);
    lay_out_kept(&op->spec, &conv2d->plan, conv2d->memory, &kept);
    block.input = from->input;
    block.output = converts_output(&op->spec) ? work.computed : from->output;
    block.not_finite = &from->report->flag;
    block.exponent = conv2d->exponent;
    int rc;
    if ((rc = order_input(op, from, err)) || (rc = convolve(op, &block, &kept, from->stream, err)) ||
        (rc = treat_flaws(op, from, &block, &kept, work.flaws, err)))
        return rc;
    return convert_output(op, from, work.computed, err);
}

const struct lw_op_cuda_ops lw_op_cuda_conv2d = {
    .plan = plan_conv2d,
    .measure = measure,
    .create = create,
    .destroy = destroy,
    .enqueue = enqueue,
};
