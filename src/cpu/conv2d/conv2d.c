/* conv2d.c - 2-D convolution of one block: threads take pieces, or the pairs of pieces of a transform, each in buffers of
 * its own.
 *
 *   SUM, PASSES  load the window -> repair -> per row: sum, or along the columns and then along the row -> finish -> store
 *   TILES        look for flaws and magnitude -> per row: load, pack, transform -> columns forward, product and back
 *                -> per row that is kept: transform back, unpack -> finish -> store
 *
 * Nothing that is computed depends on the thread, the block or the slot. */
#include "cpu/conv2d/conv2d.h"

#include "base/integers.h"
#include "base/memory.h"
#include "cpu/conv2d/window.h"

#include <math.h>
#include <omp.h>

/* Pieces of one transform: side by side or one above the other. */
enum { MOST_PIECES = 2 };

/* What one thread works in; sizes in lane_sizes. */
struct lane {
    char *arena;
    char *x;                            /* SUM, PASSES: the window, and its copy turned by i; TILES: the points */
    char *between;                      /* PASSES: a row between them, and turned; TILES: a strip */
    char *row;                          /* TILES: a row of points */
    char *y[MOST_PIECES];               /* a row of pixels of a piece, before and after */
    struct lw_cpu_window2d window;
    struct lw_cpu_flaws2d flaws[MOST_PIECES];
    int exponents[MOST_PIECES];         /* pixels of the piece were divided by 2^exponent */
    struct lw_cpu_tally2d not_finite;   /* of the block so far */
    struct lw_loss loss;                /* likewise */
};

struct lane_sizes {
    int64_t x, between, row, y;         /* bytes, each a multiple of LW_ALIGNMENT */
    int64_t staging, flaws;
    int64_t total;
};

struct lw_cpu_conv2d {
    struct lw_op_spec spec;
    struct lw_cpu_shape2d shape;
    struct lw_cpu_kernel2d kernel;
    struct lw_cpu_fft2d *tile;          /* NULL: no transforms */
    int n_pieces;                       /* of a transform */
    int n_lanes;
    struct lane *lanes;
};

static void *real_at(const struct lw_cpu_conv2d *conv2d, void *buffer, int64_t real)
{
    return (char *)buffer + (size_t)real * conv2d->shape.kernels->real_bytes;
}

/* ---- memory --------------------------------------------------------------------------------------------------------- */

static int n_pieces(const struct lw_cpu_shape2d *shape) { return shape->pair_rows * shape->pair_columns; }

/* Whole cache lines, and one more so that the buffers of a lane do not all start in the same cache set. */
static int64_t padded(int64_t bytes) { return bytes > 0 ? (divide_up(bytes, LW_ALIGNMENT) + 1) * LW_ALIGNMENT : 0; }

static struct lane_sizes lane_sizes(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape)
{
    const int64_t real = (int64_t)shape->kernels->real_bytes, step = shape->kernels->direct_step;
    const struct lw_cpu_fft2d tile = shape->kernels->tile_shape(shape->rows, shape->columns);
    struct lane_sizes s = {
        .staging = lw_cpu_window2d_needs_staging(spec) ? padded(shape->columns * (int64_t)lw_type_bytes(spec->input)) : 0,
        .flaws = padded(lw_cpu_flaws2d_bytes(spec, shape)),
        .y = padded((shape->columns * shape->width + step) * real),
    };
    if (shape->method == LW_CPU_CONV2D_TILES) {
        s.x = padded(shape->rows * tile.pitch * 2 * real);
        s.between = padded(shape->rows * tile.strip * 2 * real);
        s.row = padded(shape->columns * 2 * real);
    } else {
        s.x = padded(lw_cpu_window2d_turned(shape) * (shape->kernel_complex ? 2 : 1) * real);
        s.between = shape->method == LW_CPU_CONV2D_SEPARABLE ? padded(2 * lw_cpu_between2d_turned(shape) * real) : 0;
    }
    s.total = s.x + s.between + s.row + s.staging + n_pieces(shape) * (s.y + s.flaws);
    return s;
}

static int64_t n_tasks(const struct lw_cpu_shape2d *shape, int64_t count, int64_t n_channels)
{
    return n_channels * divide_up(count, shape->hop_rows * shape->pair_rows) * divide_up(shape->n_across, shape->pair_columns);
}

static int n_lanes(const struct lw_cpu_shape2d *shape, int64_t count, int64_t n_channels, int n_threads)
{
    return (int)min64(n_threads, n_tasks(shape, count, n_channels));
}

/* FFTW's tables of roots: about one complex number per point of a plan, for each direction. */
static int64_t plan_bytes(const struct lw_cpu_shape2d *shape)
{
    return shape->method == LW_CPU_CONV2D_TILES ? 4 * (shape->rows + shape->columns) * (int64_t)shape->kernels->real_bytes : 0;
}

int64_t lw_cpu_conv2d_bytes(const struct lw_op_spec *spec, int64_t count, int64_t n_channels, int n_threads)
{
    struct lw_cpu_shape2d shape;
    if (lw_cpu_shape2d(spec, &shape, NULL))
        return 0;                       /* the plan has said why */
    const int64_t lane = (int64_t)sizeof(struct lane) + lane_sizes(spec, &shape).total;
    return (int64_t)sizeof(struct lw_cpu_conv2d) + lw_cpu_kernel2d_bytes(&shape, spec->nan) + plan_bytes(&shape) +
           n_lanes(&shape, count, n_channels, n_threads) * lane;
}

static char *take(char **free, int64_t bytes)
{
    char *const taken = *free;
    *free += bytes;
    return taken;
}

static int open_lane(const struct lw_cpu_conv2d *conv2d, const struct lane_sizes *s, struct lane *lane, struct lw_error *err)
{
    lane->arena = lw_alloc((size_t)s->total, "the work space of a thread", err);
    if (!lane->arena)
        return LW_ESYSTEM;
    char *free = lane->arena;
    lane->x = take(&free, s->x);
    lane->between = take(&free, s->between);
    lane->row = take(&free, s->row);
    lane->window = (struct lw_cpu_window2d){&conv2d->spec, &conv2d->shape, take(&free, s->staging)};
    for (int i = 0; i < conv2d->n_pieces; i++) {
        lane->y[i] = take(&free, s->y);
        lw_cpu_flaws2d_init(&conv2d->spec, &conv2d->shape, take(&free, s->flaws), &lane->flaws[i]);
    }
    return LW_OK;
}

static int open_lanes(struct lw_cpu_conv2d *conv2d, struct lw_error *err)
{
    const struct lane_sizes sizes = lane_sizes(&conv2d->spec, &conv2d->shape);
    conv2d->lanes = lw_alloc_array(conv2d->n_lanes, sizeof *conv2d->lanes, "the threads' work space", err);
    if (!conv2d->lanes)
        return LW_ESYSTEM;
    for (int i = 0; i < conv2d->n_lanes; i++) {
        const int rc = open_lane(conv2d, &sizes, &conv2d->lanes[i], err);
        if (rc)
            return rc;
    }
    return LW_OK;
}

static int plan_tile(struct lw_cpu_conv2d *conv2d, struct lw_error *err)
{
    if (conv2d->shape.method != LW_CPU_CONV2D_TILES)
        return LW_OK;
    const struct lane *const lane = &conv2d->lanes[0];
    return conv2d->shape.kernels->tile_create(conv2d->shape.rows, conv2d->shape.columns, lane->row, lane->x, lane->between,
                                              &conv2d->tile, err);
}

int lw_cpu_conv2d_create(const struct lw_op_spec *spec, int64_t count, int64_t n_channels, int n_threads,
                         struct lw_cpu_conv2d **out, struct lw_error *err)
{
    struct lw_cpu_conv2d *const conv2d = lw_alloc(sizeof *conv2d, "an operation", err);
    if (!conv2d)
        return LW_ESYSTEM;
    conv2d->spec = *spec;
    int rc;
    if ((rc = lw_cpu_shape2d(spec, &conv2d->shape, err)) ||
        (rc = lw_cpu_kernel2d_create(spec, &conv2d->shape, &conv2d->kernel, err)))
        goto fail;
    conv2d->spec.conv2d.kernel = NULL;          /* borrowed during this call only */
    conv2d->n_pieces = n_pieces(&conv2d->shape);
    conv2d->n_lanes = n_lanes(&conv2d->shape, count, n_channels, n_threads);
    if ((rc = open_lanes(conv2d, err)) || (rc = plan_tile(conv2d, err)))
        goto fail;
    *out = conv2d;
    return LW_OK;
fail:
    lw_cpu_conv2d_destroy(conv2d);
    return rc;
}

void lw_cpu_conv2d_destroy(struct lw_cpu_conv2d *conv2d)
{
    if (!conv2d)
        return;
    if (conv2d->tile)
        conv2d->shape.kernels->tile_destroy(conv2d->tile);
    for (int i = 0; conv2d->lanes && i < conv2d->n_lanes; i++)
        lw_free(conv2d->lanes[i].arena);
    lw_free(conv2d->lanes);
    lw_cpu_kernel2d_release(&conv2d->kernel);
    lw_free(conv2d);
}

/* ---- outputs of a row ----------------------------------------------------------------------------------------------- */

/* Undo the scaling, treat the flaws and store. */
static void finish_row(const struct lw_cpu_conv2d *conv2d, struct lane *lane, const struct lw_cpu_tile2d *piece, int which,
                       int64_t row, void *outputs)
{
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    const struct lw_type type = conv2d->spec.output;
    const int exponent = conv2d->kernel.exponent + lane->exponents[which];
    if (exponent != 0)
        k->scale(outputs, piece->n_columns * conv2d->shape.width, exponent);
    lw_cpu_flaws2d_apply(&conv2d->spec, &conv2d->shape, piece, row, &lane->flaws[which], outputs);

    const struct lw_cpu_panel panel = {
        .scalar = type.scalar, .is_swapped = type.is_swapped, .rows = 1, .columns = piece->n_columns * conv2d->shape.width,
    };
    const int64_t index = (piece->channel * piece->slot->block.count + piece->row + row) *
                          conv2d->spec.conv2d.output_columns + piece->column;
    k->store(&panel, outputs, (char *)piece->slot->products[0].data + (size_t)index * lw_type_bytes(type), &lane->loss);
}

/* When all rows of a piece's window have been looked at. */
static void settle_flaws(const struct lw_cpu_conv2d *conv2d, struct lane *lane, const struct lw_cpu_tile2d *piece, int which)
{
    struct lw_cpu_flaws2d *const flaws = &lane->flaws[which];
    lw_cpu_flaws2d_count(&lane->window, piece, flaws, &lane->not_finite);
    lw_cpu_flaws2d_spread(&conv2d->spec, &conv2d->shape, &conv2d->kernel, piece, flaws);
}

/* ---- in the space domain -------------------------------------------------------------------------------------------- */

/* The largest magnitude in a row of the window, whose flaws are repaired; integers have none, and theirs is not looked at. */
static double inspect_row(const struct lw_cpu_conv2d *conv2d, struct lane *lane, const struct lw_cpu_tile2d *piece, int which,
                          int64_t row, void *reals)
{
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    const int64_t n = lw_cpu_needed_columns(&conv2d->shape, piece) * conv2d->shape.width;
    if (lw_scalar_is_integer(conv2d->spec.input.scalar))
        return 0;
    const double largest = k->largest(reals, n);
    if (isfinite(largest))
        return largest;
    lw_cpu_flaws2d_repair(&conv2d->shape, piece, row, reals, &lane->flaws[which]);
    return k->largest(reals, n);
}

static void load_window(const struct lw_cpu_conv2d *conv2d, struct lane *lane, const struct lw_cpu_tile2d *piece)
{
    const int64_t stride = lw_cpu_window2d_stride(&conv2d->shape), n_rows = lw_cpu_needed_rows(&conv2d->shape, piece);
    for (int64_t row = 0; row < n_rows; row++) {
        void *const reals = real_at(conv2d, lane->x, row * stride);
        lw_cpu_window2d_load(&lane->window, piece, row, reals);
        inspect_row(conv2d, lane, piece, 0, row, reals);
    }
    if (conv2d->shape.kernel_complex)
        conv2d->shape.kernels->quarter_turn(lane->x, real_at(conv2d, lane->x, lw_cpu_window2d_turned(&conv2d->shape)),
                                            n_rows * stride / 2);
}

static void pass_columns(const struct lw_cpu_conv2d *conv2d, struct lane *lane, const void *window_row)
{
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    const int64_t n = conv2d->shape.columns * conv2d->shape.width;
    k->direct(&conv2d->kernel.first, window_row, lane->between, n);
    if (conv2d->shape.kernel_complex)
        k->quarter_turn(lane->between, real_at(conv2d, lane->between, lw_cpu_between2d_turned(&conv2d->shape)),
                        conv2d->shape.columns);
}

static void run_window(const struct lw_cpu_conv2d *conv2d, struct lane *lane, const struct lw_cpu_tile2d *piece)
{
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    const int64_t stride = lw_cpu_window2d_stride(&conv2d->shape), n = piece->n_columns * conv2d->shape.width;
    const bool has_passes = conv2d->shape.method == LW_CPU_CONV2D_SEPARABLE;
    lw_cpu_flaws2d_clear(&conv2d->shape, &lane->flaws[0]);
    lane->exponents[0] = 0;
    load_window(conv2d, lane, piece);
    settle_flaws(conv2d, lane, piece, 0);
    for (int64_t row = 0; row < piece->n_rows; row++) {
        const void *const from = real_at(conv2d, lane->x, row * stride);
        if (has_passes)
            pass_columns(conv2d, lane, from);
        k->direct(has_passes ? &conv2d->kernel.second : &conv2d->kernel.first, has_passes ? lane->between : from, lane->y[0], n);
        finish_row(conv2d, lane, piece, 0, row, lane->y[0]);
    }
}

/* ---- tiles ---------------------------------------------------------------------------------------------------------- */

/* Find the flaws and the magnitude. Pieces are brought to a magnitude near 1, so that a faint one keeps its digits beside a
 * bright one in the same transform, and none leaves the range of numbers. */
static void inspect(const struct lw_cpu_conv2d *conv2d, struct lane *lane, const struct lw_cpu_tile2d *piece, int which)
{
    double largest = 0;
    lane->exponents[which] = 0;
    lw_cpu_flaws2d_clear(&conv2d->shape, &lane->flaws[which]);
    if (lw_scalar_is_integer(conv2d->spec.input.scalar))
        return;
    const int64_t n_rows = lw_cpu_needed_rows(&conv2d->shape, piece);
    for (int64_t row = 0; row < n_rows; row++) {
        lw_cpu_window2d_load(&lane->window, piece, row, lane->y[which]);
        largest = fmax(largest, inspect_row(conv2d, lane, piece, which, row, lane->y[which]));
    }
    lane->exponents[which] = largest > 0 ? ilogb(largest) : 0;
}

/* A row of the window, ready to be transformed. */
static void load_row(const struct lw_cpu_conv2d *conv2d, struct lane *lane, const struct lw_cpu_tile2d *piece, int which,
                     int64_t row, void *reals)
{
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    const int64_t n = conv2d->shape.columns * conv2d->shape.width;
    if (row >= lw_cpu_needed_rows(&conv2d->shape, piece)) {
        k->fill(reals, n, 0);
        return;
    }
    lw_cpu_window2d_load(&lane->window, piece, row, reals);
    if (lane->flaws[which].any && lane->flaws[which].is_flawed[row])
        lw_cpu_flaws2d_repair(&conv2d->shape, piece, row, reals, &lane->flaws[which]);
    if (lane->exponents[which] != 0)
        k->scale(reals, n, -lane->exponents[which]);
}

static void *points_row(const struct lw_cpu_conv2d *conv2d, const struct lane *lane, int64_t row)
{
    return real_at(conv2d, lane->x, 2 * row * conv2d->tile->pitch);
}

static void forward_row(const struct lw_cpu_conv2d *conv2d, struct lane *lane, const struct lw_cpu_tile2d *pieces, int64_t row)
{
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    const int64_t needed = max64(lw_cpu_needed_rows(&conv2d->shape, &pieces[0]),
                                 lw_cpu_needed_rows(&conv2d->shape, &pieces[conv2d->n_pieces - 1]));
    if (row >= needed) {
        k->fill(points_row(conv2d, lane, row), 2 * conv2d->shape.columns, 0);
        return;
    }
    if (conv2d->n_pieces == 1) {
        load_row(conv2d, lane, &pieces[0], 0, row, lane->row);
    } else {
        for (int i = 0; i < conv2d->n_pieces; i++)
            load_row(conv2d, lane, &pieces[i], i, row, lane->y[i]);
        k->pack(lane->y[0], lane->y[1], lane->row, conv2d->shape.columns);
    }
    k->tile_row_forward(conv2d->tile, lane->row, points_row(conv2d, lane, row));
}

static void inverse_row(const struct lw_cpu_conv2d *conv2d, struct lane *lane, const struct lw_cpu_tile2d *pieces, int64_t row)
{
    const struct lw_cpu_kernels *const k = conv2d->shape.kernels;
    k->tile_row_inverse(conv2d->tile, points_row(conv2d, lane, row + conv2d->shape.kernel_rows - 1), lane->row);
    char *const kept = real_at(conv2d, lane->row, 2 * (conv2d->shape.kernel_columns - 1));
    if (conv2d->n_pieces == 1) {
        finish_row(conv2d, lane, &pieces[0], 0, row, kept);
        return;
    }
    k->unpack(kept, lane->y[0], lane->y[1], conv2d->shape.hop_columns);
    for (int i = 0; i < conv2d->n_pieces; i++)
        if (row < pieces[i].n_rows)
            finish_row(conv2d, lane, &pieces[i], i, row, lane->y[i]);
}

static void run_tile(const struct lw_cpu_conv2d *conv2d, struct lane *lane, const struct lw_cpu_tile2d *pieces)
{
    for (int i = 0; i < conv2d->n_pieces; i++)
        inspect(conv2d, lane, &pieces[i], i);
    for (int64_t row = 0; row < conv2d->shape.rows; row++)
        forward_row(conv2d, lane, pieces, row);
    for (int i = 0; i < conv2d->n_pieces; i++)
        settle_flaws(conv2d, lane, &pieces[i], i);
    conv2d->shape.kernels->tile_columns(conv2d->tile, conv2d->kernel.spectrum, lane->x, lane->between);
    for (int64_t row = 0; row < pieces[0].n_rows; row++)
        inverse_row(conv2d, lane, pieces, row);
}

/* ---- a block -------------------------------------------------------------------------------------------------------- */

/* Piece number (down, across) of an image. */
static struct lw_cpu_tile2d piece_of(const struct lw_cpu_conv2d *conv2d, const struct lw_slot *slot, int64_t channel,
                                     int64_t down, int64_t across)
{
    const struct lw_cpu_shape2d *const shape = &conv2d->shape;
    struct lw_cpu_tile2d piece = {
        .slot = slot, .channel = channel, .row = down * shape->hop_rows, .column = across * shape->hop_columns,
    };
    piece.n_columns = min64(shape->hop_columns, conv2d->spec.conv2d.output_columns - piece.column);
    piece.n_rows = min64(shape->hop_rows, slot->block.count - piece.row);
    if (piece.n_rows <= 0 || piece.n_columns <= 0)
        piece.n_rows = piece.n_columns = 0;
    return piece;
}

static void run_task(const struct lw_cpu_conv2d *conv2d, struct lane *lane, const struct lw_slot *slot, int64_t task)
{
    const struct lw_cpu_shape2d *const shape = &conv2d->shape;
    const int64_t across = divide_up(shape->n_across, shape->pair_columns);
    const int64_t down = divide_up(slot->block.count, shape->hop_rows * shape->pair_rows);
    const int64_t channel = task / across / down, row = task / across % down, column = task % across;
    struct lw_cpu_tile2d pieces[MOST_PIECES];
    for (int i = 0; i < conv2d->n_pieces; i++)
        pieces[i] = piece_of(conv2d, slot, channel, row * shape->pair_rows + i % shape->pair_rows,
                             column * shape->pair_columns + i % shape->pair_columns);
    if (shape->method == LW_CPU_CONV2D_TILES)
        run_tile(conv2d, lane, pieces);
    else
        run_window(conv2d, lane, &pieces[0]);
}

static void report(const struct lw_cpu_conv2d *conv2d, struct lw_slot *slot)
{
    struct lw_cpu_tally2d all = {0};
    slot->loss = (struct lw_loss){0};
    for (int i = 0; i < conv2d->n_lanes; i++) {
        lw_cpu_tally2d_add(&all, conv2d->lanes[i].not_finite);
        slot->loss.n_saturated += conv2d->lanes[i].loss.n_saturated;
        slot->loss.n_nan += conv2d->lanes[i].loss.n_nan;
    }
    slot->n_not_finite = all.n;
    slot->not_finite_channel = all.channel;
    slot->not_finite_sample = all.row;
    slot->not_finite_column = all.column;
}

void lw_cpu_conv2d_run(struct lw_cpu_conv2d *conv2d, struct lw_slot *slot)
{
    const int64_t tasks = n_tasks(&conv2d->shape, slot->block.count, slot->block.n_channels);
    for (int i = 0; i < conv2d->n_lanes; i++) {
        conv2d->lanes[i].not_finite = (struct lw_cpu_tally2d){0};
        conv2d->lanes[i].loss = (struct lw_loss){0};
    }
#pragma omp parallel for num_threads(conv2d->n_lanes) schedule(dynamic)
    for (int64_t task = 0; task < tasks; task++)
        run_task(conv2d, &conv2d->lanes[omp_get_thread_num()], slot, task);
    report(conv2d, slot);
}

void lw_cpu_conv2d_warm_up(struct lw_cpu_conv2d *conv2d)
{
    omp_set_dynamic(0);
#pragma omp parallel num_threads(conv2d->n_lanes)
    conv2d->lanes[omp_get_thread_num()].not_finite.n = 0;
}
