/* ols_cpu.c - overlap-save filtering of one block: threads take segments, each in buffers of its own.
 *
 * Per segment and tile of channels:  load (convert, transpose) -> repair, scale -> forward transform
 *                                    per filter: multiply -> inverse transform -> scale, blank -> store
 * Nothing that is computed depends on the thread, the block or the slot. */
#include "ols_cpu.h"

#include "memory.h"

#include <limits.h>
#include <math.h>
#include <omp.h>

/* Rows of a tile that are converted at a time where time is slow. */
#define PANEL_ROWS 64

/* Working samples that a thread takes at a time, so that sharing out short segments costs little. */
#define CHUNK_SAMPLES 32768

/* Sizes of a lane's buffers, in reals; a tile's channels lie `x`, `z`, `y` apart. */
struct lane_sizes {
    int64_t x, z, y;
    int64_t product, work, panel;
    int64_t touched;            /* bytes, per channel */
    int64_t total_bytes;
};

/* Own samples that were not finite, and the earliest of them on the axis. */
struct tally {
    int64_t n, sample, channel;
};

/* What one thread works in. */
struct lane {
    char *arena;
    char *x;                    /* samples; then, for HALF, the mirrored spectrum; y too where there is one filter */
    char *z;                    /* spectrum */
    char *y;                    /* outputs of one filter */
    char *product, *work, *panel;
    uint8_t *touched;           /* per output: whether a tap touches a sample that is not finite */
    int exponents[LW_TILE_CPU];          /* per channel of the tile: samples were divided by 2^exponent */
    bool is_blanked[LW_TILE_CPU];
    struct tally not_finite;    /* of the block so far */
};

struct lw_ols_cpu {
    struct lw_op_spec spec;
    struct lw_ols_shape_cpu shape;
    struct lw_filters_cpu filters;
    struct lw_fft_cpu *fft;     /* NULL: direct */
    struct lane_sizes sizes;
    int n_lanes;
    struct lane *lanes;
};

/* One segment of one tile of channels of a block. */
struct piece {
    const struct lw_slot *slot;
    int64_t first, n_outputs;           /* outputs on the axis of the block */
    int64_t n_samples;                  /* working samples that the block holds; beyond them zeros */
    int64_t channel;
    int n_channels;
};

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* ---- memory --------------------------------------------------------------------------------------------------------- */

/* Whole cache lines, and one more so that the buffers of a lane do not all start in the same cache set. */
static int64_t padded(const struct lw_ols_shape_cpu *shape, int64_t reals)
{
    const int64_t line = LW_ALIGNMENT / (int64_t)shape->kernels->real_bytes;
    return reals > 0 ? (ceil_div(reals, line) + 1) * line : 0;
}

static struct lane_sizes lane_sizes(const struct lw_op_spec *spec, const struct lw_ols_shape_cpu *shape)
{
    const bool is_direct = shape->method == LW_DIRECT;
    const struct lw_fft_cpu fft = shape->kernels->fft_shape(is_direct ? 1 : shape->points);
    const int64_t step = shape->kernels->direct_step, reals = shape->length * shape->width;
    struct lane_sizes s = {
        .x = padded(shape, is_direct ? lw_turned_offset_cpu(shape) * (spec->ols.taps_complex ? 2 : 1) : reals),
        .z = is_direct ? 0 : padded(shape, reals),
        .product = is_direct ? 0 : padded(shape, reals),
        .work = !is_direct && lw_fft_needs_work_cpu(&fft) ? padded(shape, reals) : 0,
        .panel = spec->layout == LW_TIME_SLOW ? padded(shape, PANEL_ROWS * shape->tile * shape->width) : 0,
        .touched = lw_scalar_is_integer(spec->input.scalar) ? 0 : shape->hop,
    };
    if (is_direct)
        s.y = padded(shape, ceil_div(shape->hop * shape->width, step) * step);
    else if (shape->n_filters > 1)
        s.y = padded(shape, reals);
    s.total_bytes = (shape->tile * (s.x + s.z + s.y) + s.product + s.work + s.panel) * (int64_t)shape->kernels->real_bytes +
                    shape->tile * s.touched;
    return s;
}

static int64_t n_tasks(const struct lw_ols_shape_cpu *shape, int64_t count, int64_t n_channels)
{
    return ceil_div(count, shape->hop) * ceil_div(n_channels, shape->tile);
}

/* No more lanes than there are segments in a block. */
static int n_lanes(const struct lw_ols_shape_cpu *shape, int64_t count, int64_t n_channels, int n_threads)
{
    return (int)min64(n_threads, n_tasks(shape, count, n_channels));
}

int64_t lw_ols_bytes_cpu(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count, int64_t n_channels,
                         int n_threads)
{
    const struct lw_ols_shape_cpu shape = lw_ols_shape_cpu(spec, plan->segment);
    const int64_t fft = shape.method == LW_DIRECT ? 0 : shape.kernels->fft_bytes(shape.points);
    const int64_t lane = (int64_t)sizeof(struct lane) + lane_sizes(spec, &shape).total_bytes;
    return (int64_t)sizeof(struct lw_ols_cpu) + lw_filters_bytes_cpu(&shape, spec->ols.taps_complex) + fft +
           n_lanes(&shape, count, n_channels, n_threads) * lane;
}

static int open_lane(const struct lw_ols_cpu *ols, struct lane *lane, struct lw_error *err)
{
    const struct lane_sizes *const s = &ols->sizes;
    const int64_t tile = ols->shape.tile, bytes = (int64_t)ols->shape.kernels->real_bytes;
    lane->arena = lw_alloc((size_t)s->total_bytes, "the work space of a thread", err);
    if (!lane->arena)
        return LW_ESYSTEM;
    lane->x = lane->arena;
    lane->z = lane->x + tile * s->x * bytes;
    lane->y = lane->z + tile * s->z * bytes;
    lane->product = lane->y + tile * s->y * bytes;
    lane->work = lane->product + s->product * bytes;
    lane->panel = lane->work + s->work * bytes;
    lane->touched = (uint8_t *)(lane->panel + s->panel * bytes);
    if (s->y == 0)
        lane->y = lane->x;
    return LW_OK;
}

static int open_lanes(struct lw_ols_cpu *ols, struct lw_error *err)
{
    ols->lanes = lw_alloc_array(ols->n_lanes, sizeof *ols->lanes, "the threads' work space", err);
    if (!ols->lanes)
        return LW_ESYSTEM;
    for (int i = 0; i < ols->n_lanes; i++) {
        const int rc = open_lane(ols, &ols->lanes[i], err);
        if (rc)
            return rc;
    }
    if (ols->sizes.y == 0)
        ols->sizes.y = ols->sizes.x;
    return LW_OK;
}

static int plan_fft(struct lw_ols_cpu *ols, struct lw_error *err)
{
    if (ols->shape.method == LW_DIRECT)
        return LW_OK;
    const struct lane *const lane = &ols->lanes[0];
    return ols->shape.kernels->fft_create(ols->shape.points, lane->x, lane->z, lane->work, &ols->fft, err);
}

int lw_ols_create_cpu(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count, int64_t n_channels,
                      int n_threads, struct lw_ols_cpu **out, struct lw_error *err)
{
    struct lw_ols_cpu *const ols = lw_alloc(sizeof *ols, "an operation", err);
    if (!ols)
        return LW_ESYSTEM;
    ols->spec = *spec;
    ols->spec.ols.taps = NULL;                  /* borrowed during this call only */
    ols->shape = lw_ols_shape_cpu(spec, plan->segment);
    ols->sizes = lane_sizes(spec, &ols->shape);
    ols->n_lanes = n_lanes(&ols->shape, count, n_channels, n_threads);

    int rc;
    if ((rc = lw_filters_create_cpu(&ols->shape, &spec->ols, &ols->filters, err)) || (rc = open_lanes(ols, err)) ||
        (rc = plan_fft(ols, err))) {
        lw_ols_destroy_cpu(ols);
        return rc;
    }
    *out = ols;
    return LW_OK;
}

void lw_ols_destroy_cpu(struct lw_ols_cpu *ols)
{
    if (!ols)
        return;
    ols->shape.kernels->fft_destroy(ols->fft);
    for (int i = 0; ols->lanes && i < ols->n_lanes; i++)
        lw_free(ols->lanes[i].arena);
    lw_free(ols->lanes);
    lw_filters_release_cpu(&ols->filters);
    lw_free(ols);
}

/* ---- samples in ----------------------------------------------------------------------------------------------------- */
static int64_t parts(struct lw_type type) { return type.is_complex ? 2 : 1; }

/* Channel c of the tile in a buffer whose channels lie `reals` apart. */
static void *channel(const struct lw_ols_cpu *ols, char *buffer, int64_t reals, int c)
{
    return buffer + (size_t)(c * reals) * ols->shape.kernels->real_bytes;
}

static void *real_at(const struct lw_ols_cpu *ols, void *buffer, int64_t real)
{
    return (char *)buffer + (size_t)real * ols->shape.kernels->real_bytes;
}

static struct lw_panel_cpu panel_of(struct lw_type type, int64_t rows, int64_t samples)
{
    return (struct lw_panel_cpu){
        .scalar = type.scalar,
        .is_swapped = type.is_swapped,
        .rows = rows,
        .columns = samples * parts(type),
    };
}

/* Convert a panel of samples to working samples. */
static void load_panel(const struct lw_ols_cpu *ols, const struct lw_panel_cpu *panel, const char *stored, void *to)
{
    const int64_t n = panel->rows * panel->columns;
    ols->shape.kernels->load(panel, stored, ols->shape.widens ? real_at(ols, to, n) : to);
    if (ols->shape.widens)
        ols->shape.kernels->widen(to, n);
}

static void load_time_fast(const struct lw_ols_cpu *ols, struct lane *lane, const struct piece *piece)
{
    const int64_t axis = ols->shape.n_taps - 1 + piece->slot->block.count;
    const int64_t at = (piece->channel * axis + piece->first) * (int64_t)lw_type_bytes(ols->spec.input);
    const struct lw_panel_cpu panel = panel_of(ols->spec.input, 1, piece->n_samples);
    load_panel(ols, &panel, (const char *)piece->slot->input + at, lane->x);
}

static void load_time_slow(const struct lw_ols_cpu *ols, struct lane *lane, const struct piece *piece)
{
    const int64_t bytes = (int64_t)lw_type_bytes(ols->spec.input), width = ols->shape.width;
    const int64_t row_bytes = piece->slot->block.n_channels * bytes;
    const char *const stored = (const char *)piece->slot->input + piece->first * row_bytes + piece->channel * bytes;
    for (int64_t row = 0; row < piece->n_samples; row += PANEL_ROWS) {
        struct lw_panel_cpu panel = panel_of(ols->spec.input, min64(PANEL_ROWS, piece->n_samples - row), piece->n_channels);
        panel.stored_stride = row_bytes;
        load_panel(ols, &panel, stored + row * row_bytes, lane->panel);
        ols->shape.kernels->transpose(lane->panel, piece->n_channels * width, panel.rows, piece->n_channels, (int)width,
                                      real_at(ols, lane->x, row * width), ols->sizes.x);
    }
}

static void add(struct tally *to, struct tally more)
{
    const bool is_earlier = more.sample < to->sample || (more.sample == to->sample && more.channel < to->channel);
    if (more.n > 0 && (to->n == 0 || is_earlier)) {
        to->sample = more.sample;
        to->channel = more.channel;
    }
    to->n += more.n;
}

/* Replace what is not finite by zeros, count what is the segment's own, and mark the outputs that it touches. */
static void repair(const struct lw_ols_cpu *ols, struct lane *lane, const struct piece *piece, int c)
{
    struct lw_repair_cpu found = {
        .width = ols->shape.width,
        .n_taps = ols->shape.n_taps,
        .n_samples = piece->n_samples,
        .n_outputs = piece->n_outputs,
        .touched = lane->touched + c * ols->sizes.touched,
    };
    ols->shape.kernels->repair(&found, channel(ols, lane->x, ols->sizes.x, c));
    lane->is_blanked[c] = ols->spec.nan != LW_NAN_ZERO;
    add(&lane->not_finite, (struct tally){found.n_own, piece->first + found.first_own, piece->channel + c});
}

/* Make channel c's samples finite and of a magnitude that the transforms can take. */
static void condition(const struct lw_ols_cpu *ols, struct lane *lane, const struct piece *piece, int c)
{
    const struct lw_kernels_cpu *const k = ols->shape.kernels;
    void *const x = channel(ols, lane->x, ols->sizes.x, c);
    const int64_t width = ols->shape.width, n = piece->n_samples * width;
    k->fill(real_at(ols, x, n), ols->shape.length * width - n, 0);
    lane->exponents[c] = 0;
    lane->is_blanked[c] = false;
    if (lw_scalar_is_integer(ols->spec.input.scalar))
        return;
    double largest = k->largest(x, n);
    if (isinf(largest)) {
        repair(ols, lane, piece, c);
        largest = k->largest(x, n);
    }
    const bool is_safe = largest == 0 || (largest > ldexp(1, -k->safe_exponent) && largest < ldexp(1, k->safe_exponent));
    if (is_safe || ols->shape.method == LW_DIRECT)
        return;
    lane->exponents[c] = ilogb(largest);
    k->scale(x, n, -lane->exponents[c]);
}

static void prepare(const struct lw_ols_cpu *ols, struct lane *lane, const struct piece *piece, int c)
{
    const struct lw_kernels_cpu *const k = ols->shape.kernels;
    void *const x = channel(ols, lane->x, ols->sizes.x, c), *const z = channel(ols, lane->z, ols->sizes.z, c);
    condition(ols, lane, piece, c);
    if (ols->shape.method != LW_DIRECT)
        k->fft_forward(ols->fft, x, z, lane->work);
    else if (ols->filters.n_terms > ols->shape.n_taps)
        k->quarter_turn(x, real_at(ols, x, lw_turned_offset_cpu(&ols->shape)), ols->shape.length);
    if (ols->shape.method == LW_HALF)
        k->mirror(ols->fft, z, x);
}

/* ---- outputs -------------------------------------------------------------------------------------------------------- */

/* Filter channel c.
 * @return  its outputs */
static void *apply(const struct lw_ols_cpu *ols, struct lane *lane, const struct piece *piece, int filter, int c)
{
    const struct lw_kernels_cpu *const k = ols->shape.kernels;
    void *const x = channel(ols, lane->x, ols->sizes.x, c), *const z = channel(ols, lane->z, ols->sizes.z, c);
    void *const y = channel(ols, lane->y, ols->sizes.y, c);
    const void *const h = real_at(ols, ols->filters.data, filter * ols->filters.stride);
    if (ols->shape.method == LW_DIRECT) {
        const struct lw_terms_cpu terms = {h, ols->filters.offsets, ols->filters.n_terms};
        k->direct(&terms, x, y, piece->n_outputs * ols->shape.width);
        return y;
    }
    if (ols->shape.method == LW_HALF)
        k->multiply_half(h, z, x, lane->product, ols->shape.points);
    else
        k->multiply(h, z, lane->product, ols->shape.points);
    k->fft_inverse(ols->fft, lane->product, y, lane->work);
    return real_at(ols, y, (ols->shape.n_taps - 1) * ols->shape.width);
}

/* Undo the scaling, blank what is not a number, and drop imaginary parts that are not wanted. */
static void finish(const struct lw_ols_cpu *ols, const struct lane *lane, const struct piece *piece, int filter, int c, void *y)
{
    const struct lw_kernels_cpu *const k = ols->shape.kernels;
    const int exponent = ols->filters.exponents[filter] + lane->exponents[c];
    const int width = ols->shape.width;
    if (exponent != 0)
        k->scale(y, piece->n_outputs * width, exponent);
    if (lane->is_blanked[c])
        k->blank(y, lane->touched + c * ols->sizes.touched, piece->n_outputs, width);
    if (ols->shape.narrows)
        k->narrow(y, piece->n_outputs);
}

static char *output_at(const struct lw_ols_cpu *ols, const struct piece *piece, int filter, int64_t row_stride,
                       int64_t column_stride)
{
    const struct lw_block *const block = &piece->slot->block;
    const int64_t plane = (int64_t)filter * block->count * block->n_channels;
    const int64_t at = plane + piece->first * row_stride + piece->channel * column_stride;
    return (char *)piece->slot->output + at * (int64_t)lw_type_bytes(ols->spec.output);
}

static void store_time_fast(const struct lw_ols_cpu *ols, const struct piece *piece, int filter, const void *y)
{
    const struct lw_panel_cpu panel = panel_of(ols->spec.output, 1, piece->n_outputs);
    ols->shape.kernels->store(&panel, y, output_at(ols, piece, filter, 1, piece->slot->block.count));
}

/* @param y  outputs of the tile's first channel */
static void store_time_slow(const struct lw_ols_cpu *ols, const struct lane *lane, const struct piece *piece, int filter,
                            void *y)
{
    const int64_t n_channels = piece->n_channels, width = parts(ols->spec.output);
    char *stored = output_at(ols, piece, filter, piece->slot->block.n_channels, 1);
    const int64_t row_bytes = piece->slot->block.n_channels * (int64_t)lw_type_bytes(ols->spec.output);
    for (int64_t row = 0; row < piece->n_outputs; row += PANEL_ROWS) {
        struct lw_panel_cpu panel = panel_of(ols->spec.output, min64(PANEL_ROWS, piece->n_outputs - row), n_channels);
        panel.stored_stride = row_bytes;
        ols->shape.kernels->transpose(real_at(ols, y, row * width), ols->sizes.y, n_channels, panel.rows, (int)width,
                                      lane->panel, n_channels * width);
        ols->shape.kernels->store(&panel, lane->panel, stored + row * row_bytes);
    }
}

/* ---- a block -------------------------------------------------------------------------------------------------------- */
static void run_piece(const struct lw_ols_cpu *ols, struct lane *lane, const struct piece *piece)
{
    const bool is_fast = ols->spec.layout == LW_TIME_FAST;
    if (is_fast)
        load_time_fast(ols, lane, piece);
    else
        load_time_slow(ols, lane, piece);
    for (int c = 0; c < piece->n_channels; c++)
        prepare(ols, lane, piece, c);
    for (int filter = 0; filter < (int)ols->shape.n_filters; filter++) {
        void *first = NULL;
        for (int c = 0; c < piece->n_channels; c++) {
            void *const y = apply(ols, lane, piece, filter, c);
            finish(ols, lane, piece, filter, c, y);
            first = c == 0 ? y : first;
        }
        if (is_fast)
            store_time_fast(ols, piece, filter, first);
        else
            store_time_slow(ols, lane, piece, filter, first);
    }
}

/* Filled in place: a copy would wait until the outputs before it have left the processor's store buffer. */
static void cut_piece(const struct lw_ols_cpu *ols, const struct lw_slot *slot, int64_t task, struct piece *piece)
{
    const struct lw_ols_shape_cpu *const shape = &ols->shape;
    const int64_t tiles = ceil_div(slot->block.n_channels, shape->tile);
    piece->slot = slot;
    piece->first = task / tiles * shape->hop;
    piece->channel = task % tiles * shape->tile;
    const int64_t left = slot->block.count - piece->first;
    piece->n_outputs = min64(shape->hop, left);
    piece->n_samples = min64(shape->length, left + shape->n_taps - 1);
    piece->n_channels = (int)min64(shape->tile, slot->block.n_channels - piece->channel);
}

static void report_not_finite(const struct lw_ols_cpu *ols, struct lw_slot *slot)
{
    struct tally all = {0};
    for (int i = 0; i < ols->n_lanes; i++)
        add(&all, ols->lanes[i].not_finite);
    slot->n_not_finite = all.n;
    slot->not_finite_channel = all.channel;
    slot->not_finite_sample = all.sample;
}

void lw_ols_run_cpu(struct lw_ols_cpu *ols, struct lw_slot *slot)
{
    const int64_t tasks = n_tasks(&ols->shape, slot->block.count, slot->block.n_channels);
    const int64_t samples = ols->shape.length * ols->shape.tile;
    const int chunk = (int)(samples < CHUNK_SAMPLES ? CHUNK_SAMPLES / samples : 1);
    for (int i = 0; i < ols->n_lanes; i++)
        ols->lanes[i].not_finite = (struct tally){0};
#pragma omp parallel for num_threads(ols->n_lanes) schedule(dynamic, chunk)
    for (int64_t task = 0; task < tasks; task++) {
        struct piece piece;
        cut_piece(ols, slot, task, &piece);
        run_piece(ols, &ols->lanes[omp_get_thread_num()], &piece);
    }
    report_not_finite(ols, slot);
}

void lw_ols_warm_up_cpu(struct lw_ols_cpu *ols)
{
    omp_set_dynamic(0);
    /* The same kind of loop as above: OpenMP allocates for it when a team first meets one. */
#pragma omp parallel for num_threads(ols->n_lanes) schedule(dynamic, 1)
    for (int i = 0; i < ols->n_lanes; i++)
        ols->lanes[i].not_finite.n = 0;
}
