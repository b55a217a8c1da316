#include "gpu/conv2d/prepared.h"

#include "base/integers.h"
#include "base/memory.h"
#include "gpu/host/arena.h"
#include "gpu/host/error.h"
#include "signal/separable.h"

#include <assert.h>

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static int tap_parts(const struct lw_op_spec *spec) { return spec->conv2d.kernel_complex ? 2 : 1; }

static int64_t n_taps(const struct lw_op_spec *spec) { return spec->conv2d.kernel_rows * spec->conv2d.kernel_columns; }

/* Bytes of n taps in the computing precision. */
static int64_t taps_bytes(const struct lw_op_spec *spec, int64_t n)
{
    return n * tap_parts(spec) * (int64_t)lw_scalar_bytes(lw_computed_scalar(spec->precision));
}

static int64_t sums_bytes(const struct lw_op_spec *spec)
{
    return spec->conv2d.kernel_rows * (spec->conv2d.kernel_columns + 1) * (int64_t)sizeof(double);
}

/* @param kept  with n_kernels kernels, or `kernels` NULL: only bytes are counted */
static int64_t lay_out(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan, void *memory,
                       struct lw_conv2d_prepared *kept)
{
    const int rows = (int)plan->grid.rows, columns = (int)plan->grid.columns;
    const int64_t sums = spec->nan == LW_NAN_INTERPOLATE ? sums_bytes(spec) : 0;
    int64_t bank = 0, row = 0, work = 0, area = 0;
    switch (plan->method) {
    case LW_CONV2D_UNROLLED:
    case LW_CONV2D_PRODUCT: break;
    case LW_CONV2D_DIRECT: bank = taps_bytes(spec, n_taps(spec)); break;
    case LW_CONV2D_PASSES:
        bank = taps_bytes(spec, spec->conv2d.kernel_rows);
        row = taps_bytes(spec, spec->conv2d.kernel_columns);
        break;
    case LW_CONV2D_TILES: bank = lw_conv2d_tile_bytes(spec->precision, rows, columns); break;
    case LW_CONV2D_BANDS:
        bank = lw_conv2d_bands_bytes(spec->precision, rows, columns);
        work = lw_conv2d_bands_work_bytes(spec->precision, &plan->grid, plan->batch);
        break;
    case LW_CONV2D_PADDED:
        bank = work = lw_conv2d_padded_bytes(spec, &plan->grid);
        area = lw_conv2d_padded_area_bytes(spec, &plan->grid);
    }
    struct lw_arena arena = {.base = memory};
    kept->work = lw_arena_take(&arena, work);
    for (int k = 0; k < spec->conv2d.n_kernels; k++) {
        struct lw_conv2d_kernel counted, *const kernel = kept->kernels ? &kept->kernels[k] : &counted;
        kernel->bank = lw_arena_take(&arena, bank);
        kernel->row = lw_arena_take(&arena, row);
        kernel->sums = lw_arena_take(&arena, sums);
    }
    kept->largest = lw_arena_take(&arena, plan->method == LW_CONV2D_PADDED ? sizeof *kept->largest : 0);
    kept->area = lw_arena_take(&arena, area);
    return arena.used;
}

int64_t lw_conv2d_prepared_bytes(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan)
{
    struct lw_conv2d_prepared kept = {0};
    return lay_out(spec, plan, NULL, &kept);
}

/* Parts of the memory that only the preparation needs. */
struct setup {
    double *taps;
    void *work;
};

static int64_t lay_out_setup(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan, void *memory, struct setup *setup)
{
    struct lw_arena arena = {.base = memory};
    *setup = (struct setup){0};
    if (lw_conv2d_has_transforms(plan)) {
        setup->taps = lw_arena_take(&arena, n_taps(spec) * tap_parts(spec) * (int64_t)sizeof(double));
        if (plan->method != LW_CONV2D_PADDED)
            setup->work = lw_arena_take(&arena, lw_conv2d_spectrum_setup_bytes(&plan->grid, spec->conv2d.kernel_rows));
    }
    return arena.used;
}

int64_t lw_conv2d_setup_bytes(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan)
{
    struct setup setup;
    return lay_out_setup(spec, plan, NULL, &setup);
}

/* ---- preparing --------------------------------------------------------------------------------------------------- */

/* Exponent of the largest power of two not above the largest of n magnitudes. */
static int exponent_of(const double *values, int64_t n)
{
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(values[i]));
    return largest > 0 ? ilogb(largest) : 0;
}

/* Copy n taps to device memory: in reverse order, divided by 2^exponent, in the computing precision. */
static int send_turned(const struct lw_op_spec *spec, const double *taps, int64_t n, int exponent, void *to,
                       cudaStream_t stream, struct lw_error *err)
{
    const int parts = tap_parts(spec);
    LW_FREED void *const turned = lw_alloc((size_t)taps_bytes(spec, n), "the kernel", err);
    if (!turned)
        return LW_ESYSTEM;
    for (int64_t i = 0; i < n * parts; i++) {
        const double tap = ldexp(taps[parts * (n - 1 - i / parts) + i % parts], -exponent);
        if (spec->precision == LW_SINGLE)
            ((float *)turned)[i] = (float)tap;
        else
            ((double *)turned)[i] = tap;
    }
    return lw_cuda_upload(to, turned, taps_bytes(spec, n), stream, "copying the kernel to the device", err);
}

static void turn_unrolled(const struct lw_op_spec *spec, int side, const double *taps, struct lw_conv2d_kernel *kernel)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    for (int64_t m = 0; m < c->kernel_rows; m++)
        for (int64_t n = 0; n < c->kernel_columns; n++)
            kernel->unrolled[m * side + n] =
                (float)ldexp(taps[n_taps(spec) - 1 - (m * c->kernel_columns + n)], -kernel->exponent);
}

/* A separable kernel's two factors, each with the exponent of its largest tap. */
struct factors {
    double *column, *row;           /* one allocation, which begins at `column` */
    int of_column, of_row;
};

static int factor(const struct lw_op_spec *spec, const double *taps, struct factors *f, struct lw_error *err)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    const int64_t rows = c->kernel_rows, columns = c->kernel_columns, parts = tap_parts(spec);
    f->column = lw_alloc_array(parts * (rows + columns), sizeof *f->column, "the kernel's factors", err);
    if (!f->column)
        return LW_ESYSTEM;
    f->row = f->column + parts * rows;
    lw_separate(taps, rows, columns, c->kernel_complex, f->column, f->row);
    f->of_column = exponent_of(f->column, parts * rows);
    f->of_row = exponent_of(f->row, parts * columns);
    return LW_OK;
}

/* Scale each factor so that its largest tap is near 1. */
static int prepare_passes(const struct lw_op_spec *spec, const double *taps, struct lw_conv2d_kernel *kernel, cudaStream_t stream,
                          struct lw_error *err)
{
    struct factors f;
    int rc = factor(spec, taps, &f, err);
    if (rc)
        return rc;
    kernel->exponent = f.of_column + f.of_row;
    rc = send_turned(spec, f.column, spec->conv2d.kernel_rows, f.of_column, kernel->bank, stream, err);
    if (rc == LW_OK)
        rc = send_turned(spec, f.row, spec->conv2d.kernel_columns, f.of_row, kernel->row, stream, err);
    lw_free(f.column);
    return rc ? rc : lw_cuda_check(lw_conv2d_passes_prepare(spec->precision), "preparing the passes", err);
}

/* Scale the row so that its largest tap is near 1; the column keeps the rest of the kernel's exponent. */
static int turn_product(const struct lw_op_spec *spec, int side, const double *taps, struct lw_conv2d_kernel *kernel,
                        struct lw_error *err)
{
    const int64_t rows = spec->conv2d.kernel_rows, columns = spec->conv2d.kernel_columns;
    struct factors f;
    const int rc = factor(spec, taps, &f, err);
    if (rc)
        return rc;
    float *const column = kernel->unrolled, *const row = column + side;
    for (int64_t m = 0; m < rows; m++)
        column[m] = (float)ldexp(f.column[rows - 1 - m], f.of_row - kernel->exponent);
    for (int64_t n = 0; n < columns; n++)
        row[n] = (float)ldexp(f.row[columns - 1 - n], -f.of_row);
    lw_free(f.column);
    return LW_OK;
}

static int prepare_transforms(const struct setup *setup, struct lw_conv2d_prepared *p, const double *own,
                              const struct lw_conv2d_kernel *kernel, cudaStream_t stream, struct lw_error *err)
{
    const struct lw_conv2d_spec *const c = &p->spec.conv2d;
    const int64_t n = n_taps(&p->spec) * tap_parts(&p->spec);
    LW_FREED double *const taps = lw_alloc_array(n, sizeof *taps, "the kernel", err);
    if (!taps)
        return LW_ESYSTEM;
    for (int64_t i = 0; i < n; i++)
        taps[i] = ldexp(own[i], -kernel->exponent);
    const int rc = lw_cuda_upload(setup->taps, taps, n * (int64_t)sizeof *taps, stream, "transforming the kernel", err);
    if (rc || p->plan.method == LW_CONV2D_PADDED)
        return rc ? rc : lw_conv2d_padded_prepare(p, kernel->bank, setup->taps, stream, err);
    const cudaError_t status =
        p->plan.method == LW_CONV2D_TILES
            ? lw_conv2d_tile_prepare(p->spec.precision, &p->plan.grid, c, setup->taps, setup->work, kernel->bank, stream)
            : lw_conv2d_bands_prepare(p->spec.precision, &p->plan.grid, c, setup->taps, setup->work, kernel->bank, stream);
    return lw_cuda_check(status, "transforming the kernel", err);
}

static int prepare_taps(const struct setup *setup, struct lw_conv2d_prepared *p, const double *taps,
                        struct lw_conv2d_kernel *kernel, cudaStream_t stream, struct lw_error *err)
{
    const struct lw_op_spec *const spec = &p->spec;
    const bool has_transforms = lw_conv2d_has_transforms(&p->plan);
    const int exponent = exponent_of(taps, n_taps(spec) * tap_parts(spec)), harmless = has_transforms ? 20 : 40;
    /* Transforms need a largest tap near 1. Direct sums and large tiles need it only where numbers might leave the range. */
    const bool is_kept = (!has_transforms || lw_conv2d_is_large(&p->plan)) && exponent > -harmless && exponent < harmless;
    kernel->exponent = is_kept ? 0 : exponent;
    switch (p->plan.method) {
    case LW_CONV2D_UNROLLED: turn_unrolled(spec, p->plan.side, taps, kernel); return LW_OK;
    case LW_CONV2D_PRODUCT: return turn_product(spec, p->plan.side, taps, kernel, err);
    case LW_CONV2D_DIRECT: return send_turned(spec, taps, n_taps(spec), kernel->exponent, kernel->bank, stream, err);
    case LW_CONV2D_PASSES: return prepare_passes(spec, taps, kernel, stream, err);
    default: return prepare_transforms(setup, p, taps, kernel, stream, err);
    }
}

/* Upload running sums along the rows of the reversed kernel: the weight of a run of pixels is a difference of two of them. */
static int send_sums(const struct lw_op_spec *spec, const double *taps, struct lw_conv2d_kernel *kernel, cudaStream_t stream,
                     struct lw_error *err)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    if (spec->nan != LW_NAN_INTERPOLATE)
        return LW_OK;
    LW_FREED double *const sums = lw_alloc((size_t)sums_bytes(spec), "sums of the kernel", err);
    if (!sums)
        return LW_ESYSTEM;
    for (int64_t m = 0; m < c->kernel_rows; m++) {
        double *const line = sums + m * (c->kernel_columns + 1);
        for (int64_t n = 0; n < c->kernel_columns; n++)
            line[n + 1] = line[n] + taps[n_taps(spec) - 1 - (m * c->kernel_columns + n)];
        kernel->sum += line[c->kernel_columns];
    }
    return lw_cuda_upload(kernel->sums, sums, sums_bytes(spec), stream, "copying sums of the kernel to the device", err);
}

int lw_conv2d_prepare(const struct lw_op_spec *spec, const struct lw_conv2d_plan *plan, void *memory, void *setup,
                      cudaStream_t stream, struct lw_conv2d_prepared *out, struct lw_error *err)
{
    struct setup parts;
    *out = (struct lw_conv2d_prepared){.spec = *spec, .plan = *plan};
    out->kernels = lw_alloc_array(spec->conv2d.n_kernels, sizeof *out->kernels, "the kernels", err);
    if (!out->kernels)
        return LW_ESYSTEM;
    lay_out(spec, plan, memory, out);
    lay_out_setup(spec, plan, setup, &parts);
    int rc = plan->method == LW_CONV2D_PADDED ? lw_conv2d_padded_plan(out, err) : LW_OK;
    for (int k = 0; k < spec->conv2d.n_kernels && rc == LW_OK; k++) {
        const double *const taps = spec->conv2d.kernel + k * n_taps(spec) * tap_parts(spec);
        rc = prepare_taps(&parts, out, taps, &out->kernels[k], stream, err);
        if (rc == LW_OK)
            rc = send_sums(spec, taps, &out->kernels[k], stream, err);
    }
    out->spec.conv2d.kernel = NULL;         /* borrowed during this call only */
    return rc;
}

void lw_conv2d_release(struct lw_conv2d_prepared *prepared)
{
    lw_cuda_fft_destroy(&prepared->forward);
    lw_cuda_fft_destroy(&prepared->backward);
    lw_free(prepared->kernels);
    prepared->kernels = NULL;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

struct lw_conv2d_block lw_conv2d_block_of(const struct lw_op_spec *spec, int64_t first, int64_t count, int64_t n_channels)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    return (struct lw_conv2d_block){
        .input_pitch = c->kernel_rows - 1 + count, .own_row = c->kernel_rows - 1, .scalar = spec->input.scalar,
        .input_complex = spec->input.is_complex, .output_complex = spec->output.is_complex, .boundary = c->boundary,
        .outside = c->outside, .rows = c->rows, .columns = c->columns,
        .first_row = first + c->look_ahead_rows - (c->kernel_rows - 1),
        .first_column = c->look_ahead_columns - (c->kernel_columns - 1), .output_columns = c->output_columns,
        .kernel_rows = c->kernel_rows, .kernel_columns = c->kernel_columns, .count = count, .n_channels = n_channels,
    };
}

static cudaError_t run_bands(const struct lw_conv2d_prepared *p, const void *bank, const struct lw_conv2d_block *block,
                             cudaStream_t stream)
{
    struct lw_conv2d_grid grid = p->plan.grid;
    const int64_t n = lw_conv2d_cut(block, &grid);
    if (n == 0)
        return cudaSuccess;
    /* Batches of equal size: a small last batch would leave the device half empty. */
    const int64_t each = lw_divide_up(n, lw_divide_up(n, p->plan.batch));
    cudaError_t status = cudaSuccess;
    for (int64_t first = 0; status == cudaSuccess && first < n; first += each)
        status = lw_conv2d_bands(block, &grid, p->spec.precision, bank, first, (int)lw_min64(each, n - first), p->work, stream);
    return status;
}

static cudaError_t run_strips(int side, const float *taps, const struct lw_conv2d_block *block, cudaStream_t stream)
{
    const int rows = lw_conv2d_cut_strips(block->count, block->output_columns, block->n_channels, side).rows;
    return lw_conv2d_in_strips(block, side, rows, taps, stream);
}

/* Convolve with one kernel, by any method but tiles. */
static int run_kernel(const struct lw_conv2d_prepared *p, const struct lw_conv2d_kernel *kernel, struct lw_conv2d_block block,
                      cudaStream_t stream, struct lw_error *err)
{
    const enum lw_precision precision = p->spec.precision;
    const bool is_complex = p->spec.conv2d.kernel_complex;
    block.exponent = kernel->exponent;
    cudaError_t status;
    switch (p->plan.method) {
    case LW_CONV2D_UNROLLED:
    case LW_CONV2D_PRODUCT: status = run_strips(p->plan.side, kernel->unrolled, &block, stream); break;
    case LW_CONV2D_DIRECT: status = lw_conv2d_direct(&block, precision, is_complex, kernel->bank, stream); break;
    case LW_CONV2D_PASSES: status = lw_conv2d_passes(&block, precision, is_complex, kernel->bank, kernel->row, stream); break;
    case LW_CONV2D_PADDED: return lw_conv2d_padded_run(p, kernel->bank, &block, stream, err);
    default: status = run_bands(p, kernel->bank, &block, stream);
    }
    return lw_cuda_check(status, "convolving a block", err);
}

int lw_conv2d_run(const struct lw_conv2d_prepared *p, int first, int n, const struct lw_conv2d_block *from,
                  const struct lw_conv2d_search *search, cudaStream_t stream, struct lw_error *err)
{
    assert(!search || p->plan.shares_transforms);
    const int64_t plane = from->n_channels * from->count * from->output_columns * (from->output_complex ? 2 : 1) *
                          (int64_t)lw_scalar_bytes(lw_computed_scalar(p->spec.precision));
    struct lw_conv2d_block block = *from;
    int rc = LW_OK, at_a_time = 1;
    for (int k = 0; k < n && rc == LW_OK; k += at_a_time) {
        const struct lw_conv2d_kernel *const kernels = p->kernels + first + k;
        block.output = from->output ? (char *)from->output + k * plane : NULL;
        if (p->plan.method != LW_CONV2D_TILES) {
            rc = run_kernel(p, kernels, block, stream, err);
            continue;
        }
        at_a_time = lw_conv2d_at_a_time(&p->plan, n - k);
        struct lw_conv2d_spectra spectra = {.n = at_a_time, .is_bank = p->plan.shares_transforms, .plane = plane};
        for (int i = 0; i < at_a_time; i++) {
            spectra.bank[i] = kernels[i].bank;
            spectra.exponent[i] = kernels[i].exponent;
        }
        struct lw_conv2d_search own = {0};
        if (search)
            own = *search;
        own.kernel = first + k;
        rc = lw_cuda_check(lw_conv2d_tiles(&block, &p->plan.grid, p->spec.precision, &spectra, search ? &own : NULL, stream),
                           "convolving a block", err);
    }
    return rc;
}
