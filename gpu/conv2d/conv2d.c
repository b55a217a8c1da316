/* conv2d.c - the operation `conv2d` of the CUDA engine: its memory, and the steps of a block:
 *
 *     input -> byte order -> with a background: less it; with weights: w x and w
 *     for each kernel (several at a time, where they share transforms):
 *           -> convolution (pixels that are not finite count as zero) -> their outputs become NaN or are reweighted
 *              with weights: two convolutions -> A / sqrt(B)
 *           -> crossings, best kernel -> own rows, every D-th row and column, output type -> byte order
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

/* A kernel with weights. It is divided by 2^exponent, so that its norm is below 1, and B below the largest weight. */
struct matched {
    int exponent;
    double share;                   /* see struct lw_conv2d_matched */
};

struct conv2d {
    struct lw_conv2d_prepared prepared;     /* the kernels; with weights also their squares */
    void *memory;                   /* device, owned: the prepared kernels, then what follows */
    void *scales;                   /* scales of a search, see gpu/host/noise_scales.h */
    struct lw_conv2d_mesh background, sigma;
    double *taps;                   /* weights: [n_kernels][kernel_rows][kernel_columns], see struct lw_conv2d_matched */
    struct matched *matched;        /* weights: [n_kernels], host, owned */
    cudaEvent_t idle;               /* signals that the work area, which the slots share, is free again */
};

/* ---- plan -------------------------------------------------------------------------------------------------------- */

static int plan_conv2d(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_op_plan *plan, struct lw_error *err)
{
    struct lw_conv2d_plan chosen;
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

/* Return whether pixels are changed before they are convolved. */
static bool changes_pixels(const struct lw_op_spec *spec) { return lw_op_is_weighted(spec) || spec->conv2d.background; }

/* Return whether only some of the computed rows and columns are stored. */
static bool thins_output(const struct lw_op_spec *spec)
{
    return lw_conv2d_every(&spec->conv2d) > 1 || lw_search_is_needed(&spec->conv2d.search);
}

/* Return whether outputs are converted between computing and storing. */
static bool converts_output(const struct lw_op_spec *spec)
{
    return spec->output.scalar != lw_computed_scalar(spec->precision) || thins_output(spec);
}

/* Return whether tiles search their outputs while they make them; whether these are then not stored. */
static bool tiles_search(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan)
{
    return plan->shares_transforms && (lw_search_products(&spec->conv2d.search) & LW_PEAKS) && !lw_op_is_weighted(spec) &&
           spec->nan != LW_NAN_INTERPOLATE;
}

static bool only_searches(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan)
{
    return tiles_search(spec, plan) && lw_search_products(&spec->conv2d.search) == LW_PEAKS;
}

static int n_parts(const struct lw_op_spec *spec) { return spec->output.is_complex ? 2 : 1; }

static int64_t n_taps(const struct lw_op_spec *spec) { return spec->conv2d.kernel_rows * spec->conv2d.kernel_columns; }

static int64_t real_bytes(const struct lw_op_spec *spec) { return (int64_t)lw_scalar_bytes(lw_computed_scalar(spec->precision)); }

/* Scalars of a kernel's computed outputs. */
static int64_t computed_scalars(const struct lw_op_spec *spec, const struct lw_conv2d_block *block)
{
    return block->count * block->n_channels * spec->conv2d.output_columns * n_parts(spec);
}

/* The spec of the convolutions, which see the changed pixels and, with weights, twice as many kernels. */
static struct lw_op_spec convolved(const struct lw_op_spec *spec)
{
    struct lw_op_spec s = *spec;
    if (changes_pixels(spec))
        s.input = (struct lw_type){.scalar = lw_computed_scalar(spec->precision)};
    if (lw_op_is_weighted(spec)) {
        s.conv2d.n_kernels *= 2;
        s.conv2d.boundary = LW_BOUNDARY_ZERO;
        s.conv2d.outside = 0;
        s.nan = LW_NAN_ZERO;
    }
    return s;
}

/* The parts of a slot's work memory. */
struct work {
    void *computed;                 /* outputs before they are converted, of the kernels at a time */
    void *b;                        /* weights: B, likewise */
    void *value, *weight;           /* changed pixels, see struct lw_conv2d_pixels */
    int *largest, *limits;
    void *bright;                   /* weights, transforms: bright pixels likewise */
    uint32_t *bright_bits;
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

/* The block as the convolutions see it: its own rows of changed pixels, or the input. */
static struct lw_conv2d_block convolved_block(const struct lw_op_spec *spec, const struct lw_conv2d_block *block)
{
    const struct lw_op_spec s = convolved(spec);
    struct lw_conv2d_block b = *block;
    if (!changes_pixels(spec))
        return b;
    b.input_first = 0;
    b.input_pitch = b.kernel_rows - 1 + b.count;
    b.scalar = s.input.scalar;
    b.boundary = s.conv2d.boundary;
    b.outside = s.conv2d.outside;
    return b;
}

static int64_t lay_out_work(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan, const struct lw_conv2d_block *block,
                            void *memory, struct work *work)
{
    const struct lw_conv2d_block changed = convolved_block(spec, block);
    const int64_t outputs = computed_scalars(spec, block) * real_bytes(spec) * lw_conv2d_at_a_time(plan, spec->conv2d.n_kernels);
    const int64_t pixels = changed.n_channels * changed.input_pitch * changed.columns * real_bytes(spec);
    const bool weighs = lw_op_is_weighted(spec);
    const bool transforms = weighs && lw_conv2d_has_transforms(plan);
    struct lw_conv2d_grid grid = plan->grid;
    struct lw_arena arena = {.base = memory};
    work->computed = lw_arena_take(&arena, converts_output(spec) && !only_searches(spec, plan) ? outputs : 0);
    work->b = lw_arena_take(&arena, weighs ? outputs : 0);
    work->value = lw_arena_take(&arena, changes_pixels(spec) ? pixels : 0);
    work->weight = lw_arena_take(&arena, weighs ? pixels : 0);
    work->largest = lw_arena_take(&arena, weighs ? lw_conv2d_largest_bytes(&changed) : 0);
    work->limits = lw_arena_take(&arena, transforms ? 2 * lw_conv2d_cut(block, &grid) * (int64_t)sizeof(int) : 0);
    work->bright = transforms ? lw_arena_take(&arena, pixels) : NULL;
    work->bright_bits = transforms ? lw_arena_take(&arena, lw_conv2d_largest_bytes(&changed)) : NULL;
    work->flaws = lw_arena_take(&arena, weighs ? 0 : lw_conv2d_flaws_bytes(&changed));
    return arena.used;
}

static int64_t mesh_bytes(const struct lw_mesh *mesh) { return mesh ? lw_mesh_values(mesh) * (int64_t)sizeof(float) : 0; }

static struct lw_conv2d_mesh lay_out_mesh(const struct lw_mesh *mesh, struct lw_arena *arena)
{
    if (!mesh)
        return (struct lw_conv2d_mesh){0};
    return (struct lw_conv2d_mesh){lw_arena_take(arena, mesh_bytes(mesh)), mesh->cell, mesh->node_rows, mesh->node_columns,
                                   mesh->first_row, mesh->is_noise};
}

static int64_t n_scales(const struct lw_op_spec *spec) { return spec->n_channels * spec->conv2d.n_kernels; }

/* Lay out the device memory that the operation keeps; return its bytes. */
static int64_t lay_out_kept(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan, void *memory, struct conv2d *conv2d)
{
    const struct lw_op_spec s = convolved(spec);
    const int64_t taps = lw_op_is_weighted(spec) ? spec->conv2d.n_kernels * n_taps(spec) * (int64_t)sizeof(double) : 0;
    struct lw_arena arena = {.base = memory};
    conv2d->memory = lw_arena_take(&arena, lw_conv2d_prepared_bytes(&s, plan));
    conv2d->scales = lw_arena_take(&arena, lw_cuda_scales_bytes(&spec->conv2d.search, n_scales(spec), spec->precision));
    conv2d->background = lay_out_mesh(spec->conv2d.background, &arena);
    conv2d->sigma = lay_out_mesh(spec->conv2d.sigma, &arena);
    conv2d->taps = lw_arena_take(&arena, taps);
    return arena.used;
}

static void measure(const struct lw_device *device, const struct lw_op_spec *spec, const struct lw_op_plan *plan,
                    struct lw_cuda_op_memory *memory)
{
    struct lw_conv2d_plan chosen;
    if (lw_conv2d_choose(device, spec, &chosen, NULL))
        return;                     /* cannot happen: the plan was made from the same spec */
    struct work work;
    const struct lw_op_spec s = convolved(spec);
    const int64_t rows = plan->before + memory->count + plan->after;
    const struct lw_conv2d_block block = lw_conv2d_block_of(spec, 0, rows, memory->n_channels);
    memory->op_bytes = lay_out_kept(spec, &chosen, NULL, &(struct conv2d){0});
    memory->setup_bytes = lw_conv2d_setup_bytes(&s, &chosen);
    memory->work_bytes = lay_out_work(spec, &chosen, &block, NULL, &work);
    memory->host_bytes = (int64_t)(sizeof(struct lw_op) + sizeof(struct conv2d)) +
                         s.conv2d.n_kernels * (int64_t)sizeof(struct lw_conv2d_kernel) +
                         (lw_op_is_weighted(spec) ? spec->conv2d.n_kernels * (int64_t)sizeof(struct matched) : 0);
}

/* ---- create ------------------------------------------------------------------------------------------------------ */

/* Upload the scales of a search, and wait until they are on the device. */
static int make_scales(const struct lw_op *op, void *scales, cudaStream_t stream, struct lw_error *err)
{
    const struct lw_search *const search = &op->spec.conv2d.search;
    const int64_t bytes = lw_cuda_scales_bytes(search, n_scales(&op->spec), op->spec.precision);
    if (bytes == 0)
        return LW_OK;
    LW_FREED void *const host = lw_alloc((size_t)bytes, "the noise of the images", err);
    if (!host)
        return LW_ESYSTEM;
    lw_cuda_scales(search, n_scales(&op->spec), op->spec.precision, host);
    return lw_cuda_upload(scales, host, bytes, stream, "copying the noise of the images", err);
}

static int send_mesh(const struct lw_mesh *mesh, const struct lw_conv2d_mesh *to, cudaStream_t stream, struct lw_error *err)
{
    return mesh ? lw_cuda_upload(to->tables, mesh->tables, mesh_bytes(mesh), stream, "copying a mesh to the device", err) : LW_OK;
}

/* Make the kernels of both convolutions with weights: [2][n_kernels][n_taps], and upload the turned ones.
 * @param taps  set, to be freed by the caller */
static int make_matched(const struct lw_op *op, struct conv2d *conv2d, double **taps, cudaStream_t stream, struct lw_error *err)
{
    /* The least B beside the largest. Transforms err by up to 3e-7 (double: 6e-16) of the largest weight in B, and of 64 times its
     * root in A, as brighter pixels are left out. From 0.02 on, y errs by 8e-6 of itself and by 1e-4, as engine.h promises. */
    const double least = op->spec.precision == LW_SINGLE ? 0.02 : 0x1p-10;
    const struct lw_conv2d_spec *const c = &op->spec.conv2d;
    const int64_t n = n_taps(&op->spec), all = c->n_kernels * n;
    double *const plain = lw_alloc_array(3 * all, sizeof *plain, "the kernels", err), *const squares = plain + all;
    conv2d->matched = lw_alloc_array(c->n_kernels, sizeof *conv2d->matched, "the kernels", err);
    *taps = plain;
    if (!plain || !conv2d->matched)
        return LW_ESYSTEM;
    double *const turned = squares + all;
    for (int k = 0; k < c->n_kernels; k++) {
        const double *const from = c->kernel + k * n;
        double norm = 0, sum = 0;
        for (int64_t i = 0; i < n; i++)
            norm = hypot(norm, from[i]);
        const int exponent = norm > 0 ? ilogb(norm) + 1 : 0;
        for (int64_t i = 0; i < n; i++) {
            const double tap = ldexp(from[i], -exponent);
            plain[k * n + i] = turned[k * n + n - 1 - i] = tap;
            squares[k * n + i] = tap * tap;
            sum += tap * tap;
        }
        conv2d->matched[k] = (struct matched){exponent, least * sum};
    }
    return lw_cuda_upload(conv2d->taps, turned, all * (int64_t)sizeof *turned, stream, "copying the kernels to the device", err);
}

/* Prepare the kernels; the set-up memory is freed before the return. */
static int prepare(const struct lw_op *op, const struct lw_conv2d_plan *plan, struct conv2d *conv2d,
                   cudaStream_t stream, struct lw_error *err)
{
    struct lw_op_spec spec = convolved(&op->spec);
    void *setup = NULL;
    double *taps = NULL;
    int rc = lw_cuda_allocate(op->memory.setup_bytes, "transforming the kernel", &setup, err);
    if (rc)
        return rc;
    if (lw_op_is_weighted(&op->spec)) {
        rc = make_matched(op, conv2d, &taps, stream, err);
        spec.conv2d.kernel = taps;
    }
    rc = rc ? rc : lw_conv2d_prepare(&spec, plan, conv2d->memory, setup, stream, &conv2d->prepared, err);
    const cudaError_t status = cudaStreamSynchronize(stream);
    cudaFree(setup);
    lw_free(taps);
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
    if ((rc = make_scales(op, conv2d->scales, stream, err)) ||
        (rc = send_mesh(op->spec.conv2d.background, &conv2d->background, stream, err)) ||
        (rc = send_mesh(op->spec.conv2d.sigma, &conv2d->sigma, stream, err)))
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
    lw_conv2d_release(&conv2d->prepared);
    cudaFree(conv2d->memory);
    lw_free(conv2d->matched);
    lw_free(conv2d);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* The outputs that a call makes. */
struct task {
    const struct lw_cuda_op_block *from;
    struct lw_conv2d_block block;   /* its input is what the convolutions see */
    int64_t first_row, channel;     /* number of the block's first output row and channel in the whole data set */
    int64_t begin, end;             /* axis rows whose crossings are wanted */
    int kernel, end_kernel;
    bool is_part;                   /* only crossings are wanted */
    struct work work;
};

/* Make the changed pixels of a block.
 * @param stored  the block of stored pixels */
static int change_pixels(const struct lw_op *op, const struct task *t, const struct lw_conv2d_block *stored, struct lw_error *err)
{
    const struct conv2d *const conv2d = op->state;
    const struct lw_conv2d_spec *const c = &op->spec.conv2d;
    struct lw_conv2d_pixels pixels = {
        .block = *stored, .precision = op->spec.precision, .channel = t->channel,
        .background = conv2d->background, .sigma = conv2d->sigma, .map = t->from->map, .map_scalar = c->map.scalar,
        .weights = c->weights, .report = t->from->report, .value = t->work.value,
        .weight = lw_op_is_weighted(&op->spec) ? t->work.weight : NULL, .largest = t->work.largest, .bright = t->work.bright,
        .bright_bits = t->work.bright_bits,
    };
    pixels.block.boundary = t->block.boundary;
    return lw_cuda_check(lw_conv2d_make_pixels(&pixels, t->from->stream), "weighing pixels", err);
}

/* Convolve the changed pixels, or the input, with n kernels. @param search  NULL, or for tiles_search */
static int convolve(const struct lw_op *op, const struct task *t, int kernel, int n, const struct lw_conv2d_search *search,
                    struct lw_error *err)
{
    const struct conv2d *const conv2d = op->state;
    const bool is_shared = lw_conv2d_shares_work(&conv2d->prepared.plan);
    const cudaStream_t stream = t->from->stream;
    struct lw_conv2d_block weights = t->block;
    weights.input = t->work.weight;
    weights.output = t->work.b;
    int rc;
    if ((is_shared && (rc = lw_cuda_check(cudaStreamWaitEvent(stream, conv2d->idle, 0), "waiting for the work area", err))) ||
        (rc = lw_conv2d_run(&conv2d->prepared, kernel, n, &t->block, search, stream, err)) ||
        (lw_op_is_weighted(&op->spec) &&
         (rc = lw_conv2d_run(&conv2d->prepared, op->spec.conv2d.n_kernels + kernel, n, &weights, NULL, stream, err))))
        return rc;
    return is_shared ? lw_cuda_check(cudaEventRecord(conv2d->idle, stream), "releasing the work area", err) : LW_OK;
}

static struct lw_conv2d_flaws flaws_of(const struct lw_op *op, const struct task *t, int kernel)
{
    const struct lw_conv2d_kernel *const k = &((const struct conv2d *)op->state)->prepared.kernels[kernel];
    struct lw_conv2d_flaws flaws = {
        .report = t->from->report, .precision = op->spec.precision, .nan = op->spec.nan, .sums = k->sums, .sum = k->sum,
    };
    lw_conv2d_flaws_place(&t->block, t->work.flaws, &flaws);
    return flaws;
}

static struct lw_conv2d_matched matched_of(const struct lw_op *op, const struct task *t, int kernel, void *b)
{
    const struct conv2d *const conv2d = op->state;
    return (struct lw_conv2d_matched){
        .block = t->block, .precision = op->spec.precision, .b = b, .value = t->work.value, .weight = t->work.weight,
        .bright = t->work.bright, .largest = t->work.largest, .bright_bits = t->work.bright_bits,
        .taps = conv2d->taps + kernel * n_taps(&op->spec), .exponent = conv2d->matched[kernel].exponent,
        .has_transforms = lw_conv2d_has_transforms(&conv2d->prepared.plan), .grid = conv2d->prepared.plan.grid,
        .limits = t->work.limits, .share = conv2d->matched[kernel].share,
    };
}

/* Find the places of pixels that are not finite, or the limits of small sums, which all kernels need. The first are convolved. */
static int look_at_pixels(const struct lw_op *op, const struct task *t, struct lw_error *err)
{
    if (lw_op_is_weighted(&op->spec)) {
        const struct lw_conv2d_matched matched = matched_of(op, t, t->kernel, t->work.b);
        return lw_cuda_check(lw_conv2d_find_limits(&matched, t->from->stream), "looking for large weights", err);
    }
    const struct lw_conv2d_flaws flaws = flaws_of(op, t, t->kernel);
    return lw_cuda_check(lw_conv2d_note_flaws(&t->block, &flaws, t->from->stream), "looking for pixels that are not finite", err);
}

/* The search for crossings of a kernel; its table is empty if they are no product. */
static struct lw_conv2d_search search_of(const struct lw_op *op, const struct task *t, int kernel, const void *errors)
{
    const int crossings = lw_op_find_product(&op->plan, LW_OP_CROSSINGS);
    return (struct lw_conv2d_search){
        .image = t->block.output, .precision = op->spec.precision, .is_complex = op->spec.output.is_complex,
        .n_channels = t->block.n_channels, .count = t->block.count, .columns = t->block.output_columns, .first_row = t->first_row,
        .channel = t->channel, .scales = ((const struct conv2d *)op->state)->scales, .begin = lw_max64(0, t->begin - t->first_row),
        .end = lw_min64(t->block.count, t->end - t->first_row), .sign = op->spec.conv2d.search.sign, .kernel = kernel,
        .n_kernels = op->spec.conv2d.n_kernels, .errors = errors, .n_rows = &t->from->report->n_rows,
        .rows = crossings >= 0 ? t->from->products[crossings] : NULL,
        .most_rows = crossings >= 0 ? t->from->most_rows[crossings] : 0,
    };
}

/* Let the outputs of n kernels, which t->block.output points to, compete for the best. */
static int keep_best(const struct lw_op *op, const struct task *t, int kernel, int n, struct lw_error *err)
{
    const int best = lw_op_find_product(&op->plan, LW_OP_BEST_VALUE), numbers = lw_op_find_product(&op->plan, LW_OP_BEST_FILTER);
    struct lw_conv2d_search s = search_of(op, t, kernel, NULL);
    if (best < 0 || t->is_part)
        return LW_OK;
    s.begin = t->from->block.first - t->first_row;
    s.end = s.begin + t->from->block.count;
    return lw_cuda_check(lw_conv2d_keep_best(&s, n, t->from->products[best], t->from->products[numbers], t->from->stream),
                         "looking for the best kernel", err);
}

/* Convert a kernel's outputs to the result's type; a search or thinning keeps only own rows, and every D-th row and column. */
static int convert_output(const struct lw_op *op, const struct task *t, int kernel, struct lw_error *err)
{
    const struct lw_cuda_op_block *const from = t->from;
    const int series = lw_op_find_product(&op->plan, LW_OP_SERIES);
    if (series < 0 || t->is_part || !converts_output(&op->spec))
        return LW_OK;
    const int64_t every = lw_conv2d_every(&op->spec.conv2d), rows = lw_op_outputs(&op->plan, series, &from->block);
    const int64_t plane = rows * from->block.n_channels * op->plan.products[series].width * (int64_t)lw_type_bytes(op->spec.output);
    void *const to = (char *)from->products[series] + kernel * plane;
    const struct lw_image_thinning thinning = {
        .n_images = from->block.n_channels, .rows = t->block.count, .columns = op->spec.conv2d.output_columns,
        .parts = n_parts(&op->spec), .first = lw_round_up(from->block.first, every) - t->first_row, .every = every,
        .kept_rows = rows, .factor = lw_op_output_factor(&op->spec),
    };
    if (thins_output(&op->spec))
        return lw_cuda_check(lw_cuda_thin_images(t->block.output, op->spec.precision, to, op->spec.output.scalar, &thinning,
                                                 from->report, from->stream), "thinning out a block", err);
    return lw_cuda_check(lw_cuda_convert(t->block.output, op->spec.precision, to, op->spec.output.scalar,
                                         computed_scalars(&op->spec, &t->block), thinning.factor, from->report, from->stream),
                         "converting a block", err);
}

/* Finish the outputs of a kernel, which t->block.output points to; with weights B is `offset` behind work.b. */
static int finish(const struct lw_op *op, const struct task *t, int kernel, int64_t offset, struct lw_error *err)
{
    const bool weighs = lw_op_is_weighted(&op->spec);
    void *const b = weighs ? (char *)t->work.b + offset : NULL;
    int rc;
    if (weighs) {
        const struct lw_conv2d_matched matched = matched_of(op, t, kernel, b);
        rc = lw_cuda_check(lw_conv2d_match(&matched, t->from->stream), "making signal-to-noise ratios", err);
    } else {
        const struct lw_conv2d_flaws flaws = flaws_of(op, t, kernel);
        rc = lw_cuda_check(lw_conv2d_treat_flaws(&t->block, &flaws, t->from->stream), "treating pixels that are not finite", err);
    }
    const struct lw_conv2d_search s = search_of(op, t, kernel, b);
    if (rc == LW_OK && s.rows && !tiles_search(&op->spec, &((const struct conv2d *)op->state)->prepared.plan))
        rc = lw_cuda_check(lw_conv2d_find(&s, t->from->stream), "looking for crossings", err);
    return rc ? rc : convert_output(op, t, kernel, err);
}

/* Make NaN the crossings that tiles found near pixels that are not finite. */
static int spoil_crossings(const struct lw_op *op, const struct task *t, struct lw_error *err)
{
    const struct lw_conv2d_search s = search_of(op, t, t->kernel, NULL);
    const struct lw_conv2d_flaws flaws = flaws_of(op, t, t->kernel);
    return lw_cuda_check(lw_conv2d_spoil_crossings(&t->block, &flaws, &s, t->from->stream), "looking for crossings", err);
}

/* Compute a block, or a part of it.
 * @param stored  the block of stored pixels, without buffers */
static int compute(const struct lw_op *op, struct task *t, struct lw_conv2d_block *stored, struct lw_error *err)
{
    const struct lw_conv2d_plan *const plan = &((const struct conv2d *)op->state)->prepared.plan;
    const int at_a_time = lw_conv2d_at_a_time(plan, op->spec.conv2d.n_kernels);
    const int64_t plane = computed_scalars(&op->spec, stored) * real_bytes(&op->spec);
    stored->input = t->from->input;
    stored->not_finite = &t->from->report->flag;
    t->block = convolved_block(&op->spec, stored);
    t->first_row = stored->first_row - op->spec.conv2d.look_ahead_rows + stored->kernel_rows - 1;
    lay_out_work(&op->spec, plan, stored, t->from->work, &t->work);
    int rc = LW_OK;
    if (changes_pixels(&op->spec)) {
        rc = change_pixels(op, t, stored, err);
        t->block.input = t->work.value;
    }
    const bool stores = !only_searches(&op->spec, plan), searches = tiles_search(&op->spec, plan);
    for (int kernel = t->kernel, n; kernel < t->end_kernel && rc == LW_OK; kernel += n) {
        n = t->end_kernel - kernel < at_a_time ? t->end_kernel - kernel : at_a_time;
        char *const to = converts_output(&op->spec) ? t->work.computed : (char *)t->from->products[0] + kernel * plane;
        t->block.output = stores ? to : NULL;
        const struct lw_conv2d_search s = search_of(op, t, kernel, NULL);
        rc = convolve(op, t, kernel, n, searches ? &s : NULL, err);
        if (rc == LW_OK && kernel == t->kernel)
            rc = look_at_pixels(op, t, err);
        for (int i = 0; i < n && rc == LW_OK && stores; i++) {
            t->block.output = to + i * plane;
            rc = finish(op, t, kernel + i, i * plane, err);
        }
        t->block.output = to;
        rc = rc ? rc : keep_best(op, t, kernel, n, err);
    }
    return rc || !searches ? rc : spoil_crossings(op, t, err);
}

static int enqueue(struct lw_op *op, const struct lw_cuda_op_block *from, struct lw_error *err)
{
    const int64_t first = from->block.first, end = first + from->block.count, cluster = op->spec.conv2d.search.cluster;
    struct lw_conv2d_block block = block_of(&op->spec, &op->plan, &from->block, first - op->plan.before, end + op->plan.after);
    struct task task = {.from = from, .channel = from->block.channel, .begin = first - cluster, .end = end + cluster,
                        .end_kernel = op->spec.conv2d.n_kernels};
    return compute(op, &task, &block, err);
}

static int enqueue_again(struct lw_op *op, const struct lw_cuda_op_block *from, const struct lw_part *part, struct lw_error *err)
{
    const int64_t end = part->first + part->count, cluster = op->spec.conv2d.search.cluster;
    const int64_t first = part->first - op->plan.before;
    struct lw_conv2d_block block = block_of(&op->spec, &op->plan, &from->block, first, end + op->plan.after);
    struct task task = {.from = from, .channel = part->channel, .begin = part->first - cluster, .end = end + cluster,
                        .kernel = part->filter, .end_kernel = part->filter + part->n_filters, .is_part = true};
    block.input_first += (part->channel - from->block.channel) * block.input_pitch;
    block.n_channels = part->n_channels;
    return compute(op, &task, &block, err);
}

const struct lw_cuda_op_ops lw_cuda_op_conv2d = {
    .plan = plan_conv2d, .measure = measure, .create = create, .destroy = destroy, .enqueue = enqueue, .again = enqueue_again,
};
