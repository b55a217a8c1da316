/* conv2d.c - 2-D convolution of one block: threads take tiles, or the pairs of tiles of a transform, each in its own buffers.
 *
 *   DIRECT, SEPARABLE   load the window -> repair -> per row of outputs, or per several rows: sum, or a pass along the columns and
 *                       one along the row -> finish -> store
 *   TILES               find flaws and magnitude -> per row: load, pack, transform -> columns forward, product and back -> per row
 *                       that is kept: transform back, unpack -> finish -> store
 *   PADDED              the same, one window after the other; all threads share the rows, then the columns, then the rows
 *
 * All kernels of a bank use the window once it is loaded. Its columns are then transformed once and kept, and product and inverse
 * are made for one kernel after the other.
 *
 * A search for peaks also computes rows before and after a block's own, in whole tiles, and looks for crossings in finished rows.
 * No result depends on the thread, the block or the slot. */
#include "cpu/conv2d/conv2d.h"

#include "cpu/dispatch.h"

/* ---- the memory of a thread ----------------------------------------------------------------------------------------- */

static int64_t strengths_bytes(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape)
{
    const bool is_kept = lw_search_products(&spec->conv2d.search) & LW_BEST;
    return is_kept ? shape->hop_rows * shape->hop_columns * (int64_t)sizeof(double) : 0;
}

static int64_t lay_out(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, char *memory,
                       struct lw_cpu_conv2d_lane *lane)
{
    const int64_t real = (int64_t)shape->kernels->real_bytes, planes = lw_cpu_shape2d_planes(shape);
    const struct lw_cpu_fft2d fft = lw_cpu_shape2d_fft(shape);
    const bool is_repeated = spec->conv2d.boundary != LW_BOUNDARY_ZERO && !shape->has_weights;
    const bool is_tiled = lw_cpu_shape2d_has_fft(shape);
    const bool is_padded = shape->method == LW_CPU_CONV2D_PADDED;
    const int64_t points = is_padded ? 0 : planes * shape->rows * fft.pitch * 2;
    const int64_t turned = shape->window_turned * (shape->kernel_complex ? 2 : planes);
    const int64_t passes = shape->method == LW_CPU_CONV2D_SEPARABLE ? 2 * shape->between_turned : 0;
    const int64_t kept = is_padded || shape->n_kernels == 1 ? 0 : planes * shape->rows * fft.bins * 2;
    const int64_t window = shape->has_window && is_tiled ? planes * shape->rows * shape->window_stride : 0;
    const bool has_sky = spec->conv2d.background || spec->conv2d.weights == LW_WEIGHTS_MESH;
    const int64_t sky = shape->columns + (is_repeated ? spec->conv2d.columns : 0);
    struct lw_arena arena = {.base = memory};
    lane->x = lw_cpu_take(&arena, (is_tiled ? points : turned) * real);
    lane->between = lw_cpu_take(&arena, (is_tiled ? shape->rows * fft.strip * 2 : passes) * real);
    lane->row = lw_cpu_take(&arena, is_tiled ? planes * shape->columns * 2 * real : 0);
    lane->repeated_row = lw_cpu_take(&arena, is_repeated ? shape->columns * (int64_t)lw_type_bytes(spec->input) : 0);
    lane->sky = lw_cpu_take(&arena, has_sky ? sky * (int64_t)sizeof *lane->sky : 0);
    lane->kept = lw_cpu_take(&arena, kept * real);
    for (int i = 0; i < shape->pair_rows * shape->pair_columns; i++) {
        lane->window[i] = lw_cpu_take(&arena, window * real);
        lane->strengths[i] = lw_cpu_take(&arena, is_padded ? 0 : strengths_bytes(spec, shape));
        lane->y[i] = lw_cpu_take(&arena, planes * shape->outputs * real);
        lw_cpu_flaws2d_lay_out_own(spec, shape, &arena, &lane->flaws[i]);
        if (!is_padded)
            lw_cpu_flaws2d_lay_out(spec, shape, &arena, &lane->flaws[i]);
    }
    return arena.used;
}

/* Lay out the memory that all threads share, and let a lane point to it. */
static int64_t lay_out_shared(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, void *memory,
                              struct lw_cpu_conv2d_lane *lane)
{
    const struct lw_cpu_fft2d fft = lw_cpu_shape2d_fft(shape);
    struct lw_arena arena = {.base = memory};
    if (shape->method != LW_CPU_CONV2D_PADDED)
        return 0;
    const int64_t complex_bytes = 2 * (int64_t)shape->kernels->real_bytes;
    lane->x = lw_cpu_take(&arena, fft.rows * fft.pitch * complex_bytes);
    lane->kept = lw_cpu_take(&arena, shape->n_kernels == 1 ? 0 : fft.rows * fft.bins * complex_bytes);
    lane->strengths[0] = lw_cpu_take(&arena, strengths_bytes(spec, shape));
    lw_cpu_flaws2d_lay_out(spec, shape, &arena, &lane->flaws[0]);
    return arena.used;
}

/* ---- lifecycle ------------------------------------------------------------------------------------------------------ */

static int64_t n_tasks(const struct lw_cpu_shape2d *shape, int64_t count, int64_t n_channels)
{
    if (shape->method == LW_CPU_CONV2D_PADDED)
        return LW_CPU_PADDED_TASKS;
    return n_channels * lw_divide_up(count, shape->hop_rows * shape->pair_rows) *
           lw_divide_up(shape->n_across, shape->pair_columns);
}

static int n_lanes(const struct lw_cpu_shape2d *shape, const struct lw_op_plan *plan, const struct lw_cpu_op_size *size)
{
    return lw_cpu_lanes_needed(size->n_threads, n_tasks(shape, plan->before + size->count + plan->after, size->n_channels));
}

static int64_t n_noises(const struct lw_op_spec *spec)
{
    return lw_search_is_needed(&spec->conv2d.search) ? spec->n_channels * spec->conv2d.n_kernels : 0;
}

static int64_t mesh_bytes(const struct lw_mesh *mesh) { return mesh ? lw_mesh_values(mesh) * (int64_t)sizeof *mesh->tables : 0; }

/* Return whether windows with bright stars are transformed in double precision; find the operation that does so. */
static bool is_widened(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, struct lw_op_spec *wide,
                       struct lw_cpu_shape2d *wide_shape)
{
    *wide = *spec;
    wide->precision = LW_DOUBLE;
    wide->nan = LW_NAN_ZERO;
    wide->conv2d.background = wide->conv2d.sigma = NULL;
    wide->conv2d.weights = LW_WEIGHTS_INVERSE;
    wide->conv2d.search = (struct lw_search){0};
    *wide_shape = *shape;
    wide_shape->kernels = lw_cpu_kernels(LW_DOUBLE);
    wide_shape->has_window = false;     /* it takes that of the tile in single precision */
    return shape->has_weights && spec->precision == LW_SINGLE && lw_cpu_shape2d_has_fft(shape);
}

static int64_t bytes_of(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, const struct lw_op_plan *plan,
                        const struct lw_cpu_op_size *size)
{
    struct lw_cpu_conv2d_lane lane;
    const int64_t lane_bytes = (int64_t)sizeof lane + lay_out(spec, shape, NULL, &lane);
    /* FFTW's tables of roots: about one complex number per point of a plan, for each direction. */
    const int64_t tables = 4 * (shape->rows + shape->columns) * (int64_t)shape->kernels->real_bytes;
    const int64_t work = (lw_cpu_shape2d_has_fft(shape) ? tables : 0) + lay_out_shared(spec, shape, NULL, &lane) +
                         n_lanes(shape, plan, size) * lane_bytes;
    const int64_t kernel = (int64_t)sizeof(struct lw_cpu_kernel2d) + lw_cpu_kernel2d_bytes(shape, spec->nan);
    const int64_t kept = (int64_t)sizeof(struct lw_cpu_conv2d) + shape->n_kernels * kernel +
                         n_noises(spec) * (int64_t)sizeof(double) + mesh_bytes(spec->conv2d.background) +
                         mesh_bytes(spec->conv2d.sigma);
    return kept + lw_max64(work, lw_cpu_kernel2d_setup_bytes(shape));      /* the kernel is prepared before the lanes are opened */
}

static int64_t conv2d_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_cpu_op_size *size)
{
    struct lw_cpu_shape2d shape, wide_shape;
    struct lw_op_spec wide;
    if (lw_cpu_shape2d(spec, &shape, NULL))
        return 0;                       /* cannot happen: the plan was made from the same spec */
    return bytes_of(spec, &shape, plan, size) +
           (is_widened(spec, &shape, &wide, &wide_shape) ? bytes_of(&wide, &wide_shape, plan, size) : 0);
}

static int take_noise(const struct lw_op_spec *spec, double **out, struct lw_error *err)
{
    const double *const given = spec->conv2d.search.noise;
    const int64_t n = n_noises(spec);
    double *const noise = lw_alloc_array(n, sizeof *noise, "the noise of the images", err);
    for (int64_t i = 0; noise && i < n; i++)
        noise[i] = given ? given[i] : 1;
    *out = noise;
    return noise ? LW_OK : LW_ESYSTEM;
}

/* Copy a mesh; none if `given` is NULL. */
static int take_mesh(const struct lw_mesh *given, struct lw_mesh *out, struct lw_error *err)
{
    if (!given)
        return LW_OK;
    *out = *given;
    out->tables = lw_alloc((size_t)mesh_bytes(given), "a mesh", err);
    if (!out->tables)
        return LW_ESYSTEM;
    memcpy(out->tables, given->tables, (size_t)mesh_bytes(given));
    return LW_OK;
}

static int take_kernels(struct lw_cpu_conv2d *conv2d, const struct lw_op_spec *spec, struct lw_error *err)
{
    const int n = conv2d->shape.n_kernels;
    if (!(conv2d->kernels = lw_alloc_array(n, sizeof *conv2d->kernels, "the kernels", err)))
        return LW_ESYSTEM;
    int rc = LW_OK;
    for (int k = 0; rc == LW_OK && k < n; k++)
        rc = lw_cpu_kernel2d_create(spec, &conv2d->shape, k, &conv2d->kernels[k], err);
    return rc;
}

/* Open the lanes, and plan the transform for their memory. */
static int open_lanes(struct lw_cpu_conv2d *conv2d, int n, struct lw_error *err)
{
    const struct lw_cpu_shape2d *const shape = &conv2d->shape;
    struct lw_cpu_conv2d_lane counted;
    const int64_t bytes = lay_out(&conv2d->spec, shape, NULL, &counted);
    const int64_t shared = lay_out_shared(&conv2d->spec, shape, NULL, &counted);
    int rc = lw_cpu_lanes_open(&conv2d->lanes, n, sizeof counted, bytes, err);
    if (rc == LW_OK && shared > 0 && !(conv2d->shared = lw_alloc((size_t)shared, "a padded image", err)))
        rc = LW_ESYSTEM;
    for (int i = 0; rc == LW_OK && i < n; i++) {
        struct lw_cpu_conv2d_lane *const lane = lw_cpu_lane_at(&conv2d->lanes, i);
        lay_out(&conv2d->spec, shape, lane->base.memory, lane);
        lay_out_shared(&conv2d->spec, shape, conv2d->shared, lane);
    }
    if (rc || !lw_cpu_shape2d_has_fft(shape))
        return rc;
    const struct lw_cpu_conv2d_lane *const lane = lw_cpu_lane_at(&conv2d->lanes, 0);
    const struct lw_cpu_fft2d fft = lw_cpu_shape2d_fft(shape);
    return shape->kernels->fft2d_create(&fft, lane->row, lane->x, lane->between, &conv2d->fft, err);
}

static void conv2d_destroy(void *state)
{
    struct lw_cpu_conv2d *const conv2d = state;
    if (!conv2d)
        return;
    if (conv2d->fft)
        conv2d->shape.kernels->fft2d_destroy(conv2d->fft);
    lw_cpu_lanes_close(&conv2d->lanes);
    for (int k = 0; conv2d->kernels && k < conv2d->shape.n_kernels; k++)
        lw_cpu_kernel2d_release(&conv2d->kernels[k]);
    lw_free(conv2d->kernels);
    lw_free(conv2d->background.tables);
    lw_free(conv2d->sigma.tables);
    lw_free(conv2d->shared);
    lw_free(conv2d->noise);
    conv2d_destroy(conv2d->wide);
    lw_free(conv2d);
}

static int create_of(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, const struct lw_op_plan *plan,
                     const struct lw_cpu_op_size *size, struct lw_cpu_conv2d **out, struct lw_error *err)
{
    struct lw_cpu_conv2d *const conv2d = *out = lw_alloc(sizeof *conv2d, "an operation", err);
    if (!conv2d)
        return LW_ESYSTEM;
    conv2d->spec = *spec;
    conv2d->spec.conv2d.kernel = conv2d->spec.conv2d.search.noise = NULL;       /* borrowed during this call only */
    conv2d->spec.conv2d.background = spec->conv2d.background ? &conv2d->background : NULL;
    conv2d->spec.conv2d.sigma = spec->conv2d.sigma ? &conv2d->sigma : NULL;
    if (spec->conv2d.weights != LW_WEIGHTS_NONE) {      /* pixels beyond the sides have no weight */
        conv2d->spec.conv2d.boundary = LW_BOUNDARY_ZERO;
        conv2d->spec.conv2d.outside = 0;
    }
    conv2d->plan = *plan;
    conv2d->series = lw_op_find_product(plan, LW_OP_SERIES);
    conv2d->crossings = lw_op_find_product(plan, LW_OP_CROSSINGS);
    conv2d->best_value = lw_op_find_product(plan, LW_OP_BEST_VALUE);
    conv2d->best_filter = lw_op_find_product(plan, LW_OP_BEST_FILTER);
    conv2d->shape = *shape;
    conv2d->n_tiles = shape->pair_rows * shape->pair_columns;
    int rc;
    if ((rc = take_noise(spec, &conv2d->noise, err)) ||
        (rc = take_mesh(spec->conv2d.background, &conv2d->background, err)) ||
        (rc = take_mesh(spec->conv2d.sigma, &conv2d->sigma, err)) || (rc = take_kernels(conv2d, spec, err)))
        return rc;
    return open_lanes(conv2d, n_lanes(&conv2d->shape, plan, size), err);
}

static int conv2d_create(const struct lw_op_spec *spec, const struct lw_op_plan *plan, const struct lw_cpu_op_size *size,
                         void **out, struct lw_error *err)
{
    struct lw_cpu_shape2d shape, wide_shape;
    struct lw_op_spec wide;
    struct lw_cpu_conv2d *conv2d = NULL;
    int rc = lw_cpu_shape2d(spec, &shape, err);
    if (rc)
        return rc;
    rc = create_of(spec, &shape, plan, size, &conv2d, err);
    *out = conv2d;
    return rc || !is_widened(spec, &shape, &wide, &wide_shape)
        ? rc : create_of(&wide, &wide_shape, plan, size, &conv2d->wide, err);
}

/* ---- a block -------------------------------------------------------------------------------------------------------- */

/* Compute the tiles of one transform, or a single tile. */
static void compute(const void *state, void *lane, const struct lw_slot *slot, int64_t task)
{
    const struct lw_cpu_work2d *const work = state;
    const struct lw_cpu_shape2d *const shape = &work->conv2d->shape;
    const int64_t across = lw_divide_up(shape->n_across, shape->pair_columns);
    const int64_t down = lw_divide_up(work->end - work->begin, shape->hop_rows * shape->pair_rows);
    const int64_t channel = task / across / down, row = task / across % down, column = task % across;
    struct lw_cpu_tile2d tiles[LW_CPU_CONV2D_PAIR] = {{0}};
    for (int i = 0; i < work->conv2d->n_tiles; i++)
        tiles[i] = lw_cpu_tile2d_of(work, slot, lane, i, channel, row * shape->pair_rows + i % shape->pair_rows,
                           column * shape->pair_columns + i % shape->pair_columns);
    if (shape->method == LW_CPU_CONV2D_TILES)
        lw_cpu_conv2d_transform(tiles);
    else
        lw_cpu_conv2d_sum(&tiles[0]);
    if (work->table)
        lw_cpu_crossings_flush(&tiles->lane->found, work->table);
}

static void compute_all(const struct lw_cpu_work2d *work, const struct lw_slot *slot)
{
    const struct lw_cpu_conv2d *const conv2d = work->conv2d;
    if (conv2d->shape.method == LW_CPU_CONV2D_PADDED) {
        lw_cpu_conv2d_padded(work, slot);
        return;
    }
    lw_cpu_lanes_run(&conv2d->lanes, compute, work, slot, n_tasks(&conv2d->shape, work->end - work->begin, work->n_channels), 1);
}

/* Add the rows among which crossings of `count` rows from `first` on are chosen, and the tiles that hold these rows. */
static void add_search(const struct lw_cpu_conv2d *conv2d, const struct lw_block *block, int64_t first, int64_t count,
                       struct lw_cpu_work2d *work)
{
    const int64_t cluster = conv2d->spec.conv2d.search.cluster, unit = conv2d->plan.unit, rows = conv2d->spec.n_outputs;
    const int64_t begin = lw_max64(0, block->first + first - cluster);
    const int64_t end = lw_min64(rows, block->first + first + count + cluster);
    work->crossings_begin = begin - block->first;
    work->crossings_end = end - block->first;
    work->begin = begin / unit * unit - block->first;
    work->end = lw_min64(rows, lw_round_up(end, unit)) - block->first;
}

static void conv2d_run(void *state, struct lw_slot *slot)
{
    const struct lw_cpu_conv2d *const conv2d = state;
    const int64_t count = slot->block.count;
    struct lw_cpu_table table;
    struct lw_cpu_work2d work = {
        .conv2d = conv2d, .end = count, .stored_end = conv2d->series >= 0 || conv2d->best_value >= 0 ? count : 0,
        .n_channels = slot->block.n_channels, .end_kernel = conv2d->shape.n_kernels,
    };
    if (conv2d->series >= 0) {
        work.first_kept = lw_op_first_output(&conv2d->plan, conv2d->series, &slot->block);
        work.n_kept = lw_op_outputs(&conv2d->plan, conv2d->series, &slot->block);
    }
    if (conv2d->crossings >= 0 && count > 0) {
        add_search(conv2d, &slot->block, 0, count, &work);
        lw_cpu_table_begin(&table, &slot->products[conv2d->crossings]);
        work.table = &table;
    }
    compute_all(&work, slot);
    if (work.table)
        lw_cpu_table_end(&table);
    lw_cpu_lanes_report(&conv2d->lanes, slot);
}

static void conv2d_again(void *state, struct lw_slot *slot, const struct lw_part *part)
{
    const struct lw_cpu_conv2d *const conv2d = state;
    struct lw_cpu_table table;
    struct lw_cpu_work2d work = {
        .conv2d = conv2d, .channel = part->channel - slot->block.channel, .n_channels = part->n_channels,
        .kernel = part->filter, .end_kernel = part->filter + part->n_filters, .table = &table,
    };
    add_search(conv2d, &slot->block, part->first - slot->block.first, part->count, &work);
    lw_cpu_table_begin(&table, &slot->products[conv2d->crossings]);
    compute_all(&work, slot);
    lw_cpu_table_end(&table);
}

const struct lw_cpu_op_ops lw_cpu_op_conv2d = {
    .plan = lw_cpu_conv2d_plan,
    .bytes = conv2d_bytes,
    .create = conv2d_create,
    .destroy = conv2d_destroy,
    .run = conv2d_run,
    .again = conv2d_again,
};
