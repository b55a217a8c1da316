/* choose.c - chooses a method by a cost model with fixed numbers, so that every rank, run and memory budget makes the same choice.
 * The numbers were measured on an H200 (`bench_conv2d_gpu methods`); only their ratios need be right. */
#include "gpu/conv2d/prepared.h"

#include "base/integers.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static const double memory_rate = 4.0e12;           /* bytes per second */
static const double pixel_rate = 1.9e12;            /* the same of passes before and behind the convolutions, on an H100 */
static const double launch_seconds = 2e-6;
static const double direct_seconds = 5.5e-6;         /* fixed cost of direct sums with any kernel, however small the image */
static const double strips_seconds = 2e-6;           /* fixed cost of sums in strips */
static const double passes_seconds = 5e-6;          /* fixed cost of sums with any separable kernel */
static const double tile_seconds = 4.2e-6;          /* fixed cost of tiles, beyond the cost of each */
static const double large_seconds = 2e-6;            /* additional fixed cost of large tiles */
static const double repeated_seconds = 1e-5;         /* the same of the largest ones, if a multiprocessor makes several */
static const double product_rate = 29.6e12;         /* fused multiply-adds per second of the device, single precision */
static const double wanted_points = 3 << 24;         /* points of a work area that fills the device, 384 MiB */
static const double padded_rate = 1.05e11;           /* bytes of a transform per second: cuFFT, both ways, with padding */
static const int64_t padded_bytes = (int64_t)5 << 29;   /* most bytes of a transform by cuFFT; the kernel's spectrum has as many */
enum { MULTIPROCESSORS = 132 };

static bool is_complex(const struct lw_op_spec *spec) { return spec->input.is_complex || spec->conv2d.kernel_complex; }

static int64_t output_rows(const struct lw_op_spec *spec) { return spec->n_outputs > 0 ? spec->n_outputs : 1 << 16; }

static double n_outputs(const struct lw_op_spec *spec)
{
    return (double)spec->n_channels * (double)output_rows(spec) * (double)spec->conv2d.output_columns;
}

/* Seconds to read a pixel and write an output: the least that any method takes. */
static double memory_seconds(const struct lw_op_spec *spec)
{
    const double reals = is_complex(spec) ? 2 : 1, real = spec->precision == LW_DOUBLE ? 8 : 4;
    return ((double)lw_type_bytes(spec->input) + reals * real) / memory_rate;
}

/* Seconds per output of the passes before and behind the convolutions (weigh.cu). */
static double pixel_seconds(const struct lw_op_spec *spec)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    const bool has_weights = c->weights != LW_WEIGHTS_NONE;
    if (!has_weights && !c->background)
        return 0;
    const double real = spec->precision == LW_DOUBLE ? 8 : 4, map = lw_op_has_map(spec) ? (double)lw_type_bytes(c->map) : 0;
    const double before = (double)lw_type_bytes(spec->input) + map + (has_weights ? 2 : 1) * real;
    return (before / (double)c->n_kernels + (has_weights ? 4 : 0) * real) / pixel_rate;
}

/* ---- strips ---------------------------------------------------------------------------------------------------------- */

enum { MOST_ROWS = 128 };

static const double row_latency = 0.5e-6;      /* seconds from row to row of a strip that has a multiprocessor to itself */

/* Pace of a multiprocessor: how many strips it holds at a time, and seconds per row of one strip when it is full. */
struct pace {
    int side;                   /* side of the kernel, separable from 15 on */
    int64_t at_a_time;
    double row_seconds;
};

static struct pace pace_of(int side)
{
    static const struct pace paces[] = {{3, 24, 11e-9},  {5, 24, 20e-9},  {7, 24, 33.5e-9}, {9, 16, 57e-9},
                                        {15, 16, 35e-9}, {23, 12, 45e-9}, {31, 8, 66e-9}};
    size_t i = 0;
    while (i < sizeof paces / sizeof *paces - 1 && paces[i].side != side)
        i++;
    return paces[i];
}

/* Seconds until each of the n strips on a multiprocessor has advanced by a row. */
static double step_seconds(int64_t n, struct pace pace)
{
    const double work = (double)n * pace.row_seconds;
    return n > 0 ? sqrt(work * work + row_latency * row_latency) : 0;
}

struct lw_conv2d_strips lw_conv2d_cut_strips(int64_t n_rows, int64_t n_columns, int64_t n_channels, int side)
{
    const int64_t across = lw_divide_up(n_columns, LW_CONV2D_STRIP_COLUMNS) * n_channels;
    const struct pace pace = pace_of(side);
    const double full_step = step_seconds(pace.at_a_time, pace);
    struct lw_conv2d_strips best = {.seconds = INFINITY};
    for (int even = MOST_ROWS; even >= 0; even -= 2) {          /* rows are read in pairs */
        const int rows = even > 0 ? even : 1;
        const int64_t each = lw_divide_up(lw_divide_up(n_rows, rows) * across, MULTIPROCESSORS);
        const double step = (double)(each / pace.at_a_time) * full_step + step_seconds(each % pace.at_a_time, pace);
        const double seconds = step * (rows + side - 1);
        if (seconds < 0.98 * best.seconds)                      /* shorter strips only for a clear gain */
            best = (struct lw_conv2d_strips){rows, seconds};
    }
    return best;
}

/* ---- in the space domain ----------------------------------------------------------------------------------------- */

/* Real multiply-adds per tap and pixel; double precision counts twice, as it has half the rate. */
static double products_per_tap(const struct lw_op_spec *spec)
{
    return (is_complex(spec) ? 2 : 1) * (spec->conv2d.kernel_complex ? 2 : 1) * (spec->precision == LW_DOUBLE ? 2 : 1);
}

/* The plan for sums in strips, with its seconds per output. The kernel must have a side for which strips exist. */
static struct lw_conv2d_plan in_strips(const struct lw_op_spec *spec, enum lw_conv2d_method method, int side)
{
    const struct lw_conv2d_strips strips =
        lw_conv2d_cut_strips(output_rows(spec), spec->conv2d.output_columns, spec->n_channels, side);
    const double n = n_outputs(spec);
    return (struct lw_conv2d_plan){
        .method = method, .side = side, .seconds = fmax(1.1 * memory_seconds(spec), strips.seconds / n) + strips_seconds / n,
    };
}

/* Side of the compiled kernel that takes this one, padded with zeros; 0 if there is none. */
static int strips_side(const struct lw_op_spec *spec, bool is_product)
{
    const int64_t larger = lw_max64(spec->conv2d.kernel_rows, spec->conv2d.kernel_columns);
    const int most = is_product ? LW_CONV2D_MOST_PRODUCT_SIDE : LW_CONV2D_MOST_SIDE;
    if (spec->precision != LW_SINGLE || is_complex(spec) || larger > most)
        return 0;
    if (is_product)
        return larger <= 15 ? 15 : larger <= 23 ? 23 : 31;
    return larger <= 3 ? 3 : (int)(larger | 1);
}

static struct lw_conv2d_plan direct(const struct lw_op_spec *spec)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    const int side = strips_side(spec, false);
    if (side > 0)
        return in_strips(spec, LW_CONV2D_UNROLLED, side);
    /* squares of 8 x 8 taps (direct.cu) */
    const double taps = 64 * (double)lw_divide_up(c->kernel_rows, 8) * (double)lw_divide_up(c->kernel_columns, 8);
    return (struct lw_conv2d_plan){
        .method = LW_CONV2D_DIRECT,
        .seconds = fmax(1.1 * memory_seconds(spec), taps * products_per_tap(spec) / (0.3 * product_rate)) +
                   direct_seconds / n_outputs(spec),
    };
}

/* Seconds of both passes (passes.cu). A few blocks take as long as all that the device holds at a time. The sums of the columns are
 * repeated for each chunk of the row's taps. */
static double passes_of(const struct lw_op_spec *spec)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    const int bytes = (spec->precision == LW_DOUBLE ? 8 : 4) * (is_complex(spec) ? 2 : 1);
    const int rows = 256 / bytes, columns = 64, chunk = bytes <= 8 ? 32 : 16;
    const int64_t at_a_time = MULTIPROCESSORS * (bytes == 4 ? 2 : 1);
    const int64_t blocks = spec->n_channels * lw_divide_up(output_rows(spec), rows) * lw_divide_up(c->output_columns, columns);
    const int64_t row_taps = lw_round_up(c->kernel_columns, 8), column_taps = lw_round_up(c->kernel_rows, 8);
    const double taps = (double)(lw_divide_up(row_taps, chunk) * (column_taps + lw_min64(row_taps, chunk) + 90));
    const double pixels = (double)(lw_round_up(blocks, at_a_time) * rows * columns);
    return pixels * taps * products_per_tap(spec) / (0.3 * product_rate) + passes_seconds;
}

/* The plan for a separable kernel. */
static struct lw_conv2d_plan passes(const struct lw_op_spec *spec)
{
    const struct lw_conv2d_plan any = {.method = LW_CONV2D_PASSES, .seconds = passes_of(spec) / n_outputs(spec)};
    const int side = strips_side(spec, true);
    if (side == 0)
        return any;
    const struct lw_conv2d_plan product = in_strips(spec, LW_CONV2D_PRODUCT, side);
    return product.seconds <= any.seconds ? product : any;
}

/* ---- transforms -------------------------------------------------------------------------------------------------- */

/* Set how many pieces share a transform. */
static void pair(struct lw_conv2d_grid *grid, int rows, int columns)
{
    grid->pair_rows = rows;
    grid->pair_columns = columns;
    grid->transforms_across = (int)lw_divide_up(grid->n_across, columns);
}

/* Make a grid of tiles of this size; false if the kernel is larger than a tile. */
static bool cut(const struct lw_op_spec *spec, int64_t rows, int64_t columns, struct lw_conv2d_grid *grid)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    if (c->kernel_rows > rows || c->kernel_columns > columns)
        return false;
    *grid = (struct lw_conv2d_grid){
        .rows = rows, .columns = columns, .hop_rows = rows - c->kernel_rows + 1, .hop_columns = columns - c->kernel_columns + 1,
    };
    grid->n_across = lw_divide_up(c->output_columns, grid->hop_columns);
    pair(grid, 1, 1);
    return true;
}

static int64_t n_transforms(const struct lw_op_spec *spec, const struct lw_conv2d_grid *grid)
{
    return spec->n_channels * grid->transforms_across * lw_divide_up(output_rows(spec), grid->hop_rows * grid->pair_rows);
}

/* Return whether a tile fills the shared memory of a multiprocessor. */
static bool is_large(const struct lw_conv2d_grid *grid) { return grid->columns == 256; }

bool lw_conv2d_is_large(const struct lw_conv2d_plan *plan) { return plan->method == LW_CONV2D_TILES && is_large(&plan->grid); }

void lw_conv2d_align(const struct lw_conv2d_spec *spec, struct lw_conv2d_grid *grid)
{
    const int64_t unit = spec->columns % 4 != 0 ? 1 : spec->output_columns % 8 != 0 ? 4 : 8;
    const int64_t delay = (lw_round_up(spec->look_ahead_columns, 4) - spec->look_ahead_columns) * (unit > 1);
    const int64_t lead = spec->kernel_columns - 1 + delay, even = lw_round_up(lead, unit);
    if (even >= grid->columns)
        return;
    grid->delay_columns = (int)delay;
    grid->spare_columns = (int)(even - lead);
    grid->hop_columns = grid->columns - even;
    grid->n_across = lw_divide_up(spec->output_columns, grid->hop_columns);
    pair(grid, 1, 1);
}

/* Microseconds that a multiprocessor needs per tile when it holds as many as it can. A large tile takes longer the more outputs it
 * stores, and where pixels cannot be copied unchanged while another tile is transformed. */
static double tile_microseconds(const struct lw_op_spec *spec, const struct lw_conv2d_grid *grid)
{
    const double thousands = 1e-3 * (double)(grid->hop_rows * grid->hop_columns);
    const double loading = spec->input.scalar == LW_FLOAT32 && spec->conv2d.outside == 0 ? 1 : 1.25;
    if (is_large(grid))
        return loading * (grid->rows == 224 ? 15.7 + 0.145 * thousands : 10.2 + 0.09 * thousands);
    return spec->precision == LW_DOUBLE ? 16 : grid->columns == 64 ? 2.85 : 14.8;
}

/* The plan for tiles that are transformed once for several kernels (bank.cuh). Times of a tile of 98 x 224 outputs on one
 * multiprocessor, measured on an H100: 2, 4 and 8 kernels took 2.05, 3.33 and 5.94 ms for 16384 x 16384 pixels. */
static struct lw_conv2d_plan shared_tile(const struct lw_op_spec *spec, const struct lw_conv2d_grid *grid)
{
    struct lw_conv2d_plan plan = {.method = LW_CONV2D_TILES, .grid = *grid, .shares_transforms = true};
    const int kernels = spec->conv2d.n_kernels, each = lw_conv2d_at_a_time(&plan, kernels);
    const double forward = 7e-6 / each, back = 6.9e-6;
    const int64_t most = lw_divide_up(n_transforms(spec, grid), MULTIPROCESSORS);
    plan.seconds = (tile_seconds + large_seconds + (forward + back) * (double)most) / n_outputs(spec);
    return plan;
}

static struct lw_conv2d_plan tile(const struct lw_op_spec *spec, const struct lw_conv2d_grid *grid)
{
    struct lw_conv2d_plan plan = {.method = LW_CONV2D_TILES, .grid = *grid};
    const int64_t n = n_transforms(spec, grid), most = lw_divide_up(n, MULTIPROCESSORS);   /* tiles of the busiest one */
    const double each = 1e-6 * tile_microseconds(spec, grid) * (double)most;
    /* Blocks of large tiles start one by one (late_cycles in tiles.cu); `late`: start of the last block with one tile more. */
    const int64_t gaining = lw_min64(n / lw_min64(n, MULTIPROCESSORS) - 1, 5);
    const double late = 2.1e-6 * (double)gaining * (double)((n - 1) % MULTIPROCESSORS + 1) / MULTIPROCESSORS;
    const double repeated = grid->rows == 224 && most > 1 ? repeated_seconds : 0;
    const double beyond = tile_seconds + (is_large(grid) ? large_seconds + late + repeated : 0);
    plan.seconds = (beyond + each) / n_outputs(spec);
    return plan;
}

/* Bytes per second of the column pass. Long columns are slower: few of them fit side by side into shared memory. The kernel's
 * spectrum, which the pass also reads, does not count as bytes. */
static double column_rate(int64_t rows)
{
    switch (rows) {
    case 512: return 2.25e12;
    case 2048: return 1.5e12;
    case 4096: return 1.35e12;
    default: return 2.4e12;
    }
}

/* Seconds of the three passes for one strip of transforms. The row passes move `lines` and later down * hop rows in and out; the
 * column pass reads the window and writes the hop. Rows of neighbours are shared, except by two pieces one above the other. */
static double strip_seconds(const struct lw_op_spec *spec, const struct lw_conv2d_grid *grid)
{
    const double row_bytes = (spec->precision == LW_DOUBLE ? 16 : 8) * (double)grid->columns;
    const double row_rate = grid->columns <= 2048 ? 4.1e12 : grid->columns < 8192 ? 3.7e12 : 3.3e12;     /* bytes a second */
    const double window = (double)grid->rows, hop = (double)grid->hop_rows, lead = (double)spec->conv2d.kernel_rows - 1;
    const int64_t each = grid->pair_rows * grid->hop_rows, rest = output_rows(spec) % each;
    /* The last transform may be partial: only the rows that it touches count. */
    const double touched = rest > 0 ? ((double)lw_min64(rest, grid->hop_rows) + lead) / window : 0;
    const double down = (double)(output_rows(spec) / each) + touched;
    const double lines = grid->pair_rows == 1 ? (double)(output_rows(spec) + spec->conv2d.kernel_rows - 1) : down * window;
    return row_bytes * (2 * (lines + down * hop) / row_rate + down * (window + hop) / column_rate(grid->rows));
}

static struct lw_conv2d_plan bands(const struct lw_op_spec *spec, const struct lw_conv2d_grid *grid)
{
    struct lw_conv2d_plan plan = {.method = LW_CONV2D_BANDS, .grid = *grid};
    const int64_t n = n_transforms(spec, grid);
    const int64_t wanted = (int64_t)(wanted_points / (double)((grid->rows + grid->hop_rows) * grid->columns));
    plan.batch = lw_min64(n, lw_max64(wanted, grid->transforms_across));
    const double launches = 3 * (double)lw_divide_up(n, plan.batch);
    const double strips = (double)(spec->n_channels * grid->transforms_across);
    plan.seconds = (strips * strip_seconds(spec, grid) + launches * launch_seconds) / n_outputs(spec);
    return plan;
}

static void keep_cheaper(struct lw_conv2d_plan plan, struct lw_conv2d_plan *best)
{
    if (plan.seconds < best->seconds)
        *best = plan;
}

static void choose_tile(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_conv2d_plan *best)
{
    struct lw_conv2d_grid grid;
    for (const struct lw_conv2d_tile *t = lw_conv2d_tile_shapes(spec->precision, is_complex(spec)); t->rows; t++) {
        if (t->shared_bytes > device->shared_bytes || !cut(spec, t->rows, t->columns, &grid))
            continue;
        if (is_large(&grid))
            lw_conv2d_align(&spec->conv2d, &grid);
        keep_cheaper(tile(spec, &grid), best);
        if (t->bank_bytes > 0 && t->bank_bytes <= device->shared_bytes && spec->conv2d.n_kernels > 1)
            keep_cheaper(shared_tile(spec, &grid), best);
    }
}

/* Consider bands of this size. Pieces are only as wide as needed, in multiples of 32 pixels if possible, so that rows of outputs
 * start at multiples of 128 bytes. The pieces of a transform lie side by side or one above the other. */
static void choose_band(const struct lw_device *device, const struct lw_op_spec *spec, int rows, int columns,
                        struct lw_conv2d_plan *best)
{
    const int pieces = is_complex(spec) ? 1 : 2;
    struct lw_conv2d_grid grid;
    if (lw_conv2d_bands_shared_bytes(spec->precision, rows, columns) > device->shared_bytes || !cut(spec, rows, columns, &grid))
        return;
    const int64_t even = lw_round_up(lw_divide_up(spec->conv2d.output_columns, grid.n_across), 32);
    grid.hop_columns = lw_min64(grid.hop_columns, even);
    for (int down = 1; down <= pieces; down++) {
        pair(&grid, down, pieces / down);
        keep_cheaper(bands(spec, &grid), best);
    }
}

static void choose_bands(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_conv2d_plan *best)
{
    for (int i = 0, rows; (rows = lw_conv2d_column_length(spec->precision, i)) > 0; i++)
        for (int j = 0, columns; (columns = lw_conv2d_row_length(spec->precision, j)) > 0; j++)
            choose_band(device, spec, rows, columns, best);
}

/* ---- the padded image through cuFFT ------------------------------------------------------------------------------ */

/* @param is_large  set: the transforms take much memory; may be NULL */
static struct lw_conv2d_plan padded(const struct lw_op_spec *spec, bool *is_large)
{
    const int64_t real = spec->precision == LW_DOUBLE ? 8 : 4;
    const struct lw_bands bands = lw_op_conv2d_bands(spec, 2, 2, padded_bytes / real);
    const double bytes = (double)(bands.rows * bands.columns * real) * (is_complex(spec) ? 2 : 1);
    const double seconds = (double)(bands.n * spec->n_channels) * (bytes / padded_rate + 8 * launch_seconds);
    if (is_large)
        *is_large = bands.is_large;
    return (struct lw_conv2d_plan){
        .method = LW_CONV2D_PADDED, .seconds = seconds / n_outputs(spec),
        .grid = {.rows = bands.rows, .columns = bands.columns, .hop_rows = bands.hop_rows,
                 .hop_columns = spec->conv2d.output_columns, .n_across = 1, .pair_rows = 1, .pair_columns = 1,
                 .transforms_across = 1},
    };
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

static int take_transform(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_conv2d_plan *plan,
                          struct lw_error *err)
{
    struct lw_conv2d_plan best = {.seconds = INFINITY};
    if (spec->conv2d.algorithm == LW_CONV2D_ALGORITHM_TILES)
        choose_tile(device, spec, &best);
    if (isinf(best.seconds))
        choose_bands(device, spec, &best);
    if (isfinite(best.seconds)) {
        *plan = best;
        return LW_OK;
    }
    return lw_fail(err, LW_ECONFIG, "a kernel of %" PRId64 " x %" PRId64 " is too large for the transforms "
                   "of the CUDA engine: use --algorithm padded", spec->conv2d.kernel_rows,
                   spec->conv2d.kernel_columns);
}

static int take_cheapest(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_conv2d_plan *plan,
                         struct lw_error *err)
{
    struct lw_conv2d_plan best = direct(spec);
    choose_tile(device, spec, &best);
    choose_bands(device, spec, &best);
    bool is_large;
    const struct lw_conv2d_plan whole = padded(spec, &is_large);
    /* Few large transforms take much memory and leave ranks idle. So they must gain clearly. */
    if (!is_large && whole.seconds < 0.8 * best.seconds)
        best = whole;
    const struct lw_conv2d_plan separable = passes(spec);
    bool is_product = false;
    const int rc = separable.seconds < best.seconds ? lw_op_conv2d_separable(spec, &is_product, err) : LW_OK;
    if (rc)
        return rc;
    *plan = is_product ? separable : best;
    return LW_OK;
}

static int choose_method(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_conv2d_plan *plan,
                         struct lw_error *err)
{
    switch (spec->conv2d.algorithm) {
    case LW_CONV2D_ALGORITHM_DIRECT: *plan = direct(spec); return LW_OK;
    case LW_CONV2D_ALGORITHM_PADDED: *plan = padded(spec, NULL); return LW_OK;
    case LW_CONV2D_ALGORITHM_SEPARABLE: *plan = passes(spec); return lw_op_conv2d_separable(spec, NULL, err);
    case LW_CONV2D_ALGORITHM_TILES:
    case LW_CONV2D_ALGORITHM_FULL: return take_transform(device, spec, plan, err);
    default: return take_cheapest(device, spec, plan, err);
    }
}

int lw_conv2d_choose(const struct lw_device *device, const struct lw_op_spec *spec, struct lw_conv2d_plan *plan,
                     struct lw_error *err)
{
    assert(spec->kind == LW_OP_CONV2D && spec->layout == LW_TIME_FAST && spec->n_channels >= 1);
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    if (is_complex(spec) && c->weights != LW_WEIGHTS_NONE)
        return lw_fail(err, LW_ECONFIG, "weights are for real images and kernels, and the %s complex: leave the weights out",
                       spec->input.is_complex ? "image is" : "kernel is");
    if (spec->input.is_complex && c->background)
        return lw_fail(err, LW_ECONFIG, "a background mesh is for real images, and the image is complex: leave the mesh out");
    const int rc = choose_method(device, spec, plan, err);
    if (rc == LW_OK)
        plan->seconds = plan->seconds * (c->weights != LW_WEIGHTS_NONE ? 2 : 1) + pixel_seconds(spec);
    return rc;
}

/* ---- in words ---------------------------------------------------------------------------------------------------- */

void lw_conv2d_describe(const struct lw_conv2d_plan *plan, const struct lw_op_spec *spec, char *text, size_t size)
{
    const struct lw_conv2d_spec *const c = &spec->conv2d;
    const struct lw_conv2d_grid *const g = &plan->grid;
    switch (plan->method) {
    case LW_CONV2D_UNROLLED:
    case LW_CONV2D_DIRECT:
        snprintf(text, size, "direct sum of %" PRId64 " x %" PRId64 " taps", c->kernel_rows, c->kernel_columns);
        return;
    case LW_CONV2D_PRODUCT:
        snprintf(text, size, "separable kernel: sums of %" PRId64 " taps along the rows and of %" PRId64 " along the columns",
                 c->kernel_columns, c->kernel_rows);
        return;
    case LW_CONV2D_PASSES:
        snprintf(text, size, "separable kernel: a pass of %" PRId64 " taps along the columns and one of %" PRId64
                 " along the rows", c->kernel_rows, c->kernel_columns);
        return;
    case LW_CONV2D_PADDED:
        snprintf(text, size, "padded to %" PRId64 " x %" PRId64 ", one transform by cuFFT for %" PRId64 " rows of outputs", g->rows,
                 g->columns, g->hop_rows);
        return;
    default:
        snprintf(text, size, "overlap-save on tiles of %" PRId64 " x %" PRId64 " %s, hop %" PRId64 " x %" PRId64 "%s%s",
                 g->rows, g->columns, plan->method == LW_CONV2D_TILES ? "in shared memory" : "in three passes", g->hop_rows,
                 g->hop_columns, is_complex(spec) || plan->method == LW_CONV2D_TILES ? "" : ", two real ones as one complex",
                 plan->shares_transforms ? ", transformed once for several kernels" : "");
    }
}
