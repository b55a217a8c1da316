#include "stream/search/sources.h"

#include "base/integers.h"
#include "base/memory.h"
#include "base/select.h"
#include "signal/source.h"

#include <omp.h>

/* Most threads that measure. */
enum { MOST_THREADS = 16 };

struct lw_sources {
    const struct lw_job *job;
    const struct lw_op_plan *op;
    struct lw_source_shape *shapes;     /* [n_kernels] */
    double *scratch;                    /* [n_threads][n_scratch] */
    int64_t n_scratch, most_columns;    /* most_columns: of a window */
    int n_threads;
    const struct lw_sky *sky;
};

/* ---- lifecycle --------------------------------------------------------------------------------------------------------- */

static int count_threads(const struct lw_engine *engine)
{
    return engine ? (int)lw_min64(MOST_THREADS, lw_engine_host_threads(engine)) : 1;
}

static bool has_sources(const struct lw_job *job)
{
    return lw_op_has_pixels(&job->op) && (lw_search_products(lw_op_search(&job->op)) & LW_PEAKS);
}

static int64_t most_of_window(int64_t taps) { return lw_min64(taps, 2 * LW_SOURCE_REACH + 1); }

/* Return the numbers of a thread's scratch: a window, four of its rows, and the kernel's border. */
static int64_t count_scratch(const struct lw_conv2d_spec *c)
{
    const int64_t columns = most_of_window(c->kernel_columns);
    return (most_of_window(c->kernel_rows) + 4) * columns + 2 * (c->kernel_rows + c->kernel_columns);
}

int64_t lw_sources_bytes(const struct lw_job *job, const struct lw_engine *engine)
{
    const int64_t numbers = count_threads(engine) * count_scratch(&job->op.conv2d);
    const int64_t shapes = job->op.conv2d.n_kernels * (int64_t)sizeof(struct lw_source_shape);
    return has_sources(job) ? (int64_t)sizeof(struct lw_sources) + shapes + numbers * (int64_t)sizeof(double) : 0;
}

int lw_sources_create(const struct lw_job *job, const struct lw_op_plan *op, const struct lw_engine *engine,
                      const struct lw_sky *sky, struct lw_sources **out, struct lw_error *err)
{
    const struct lw_conv2d_spec *const c = &job->op.conv2d;
    if (!has_sources(job) || lw_op_is_complex(&job->op))
        return LW_OK;
    struct lw_sources *const sources = *out = lw_alloc(sizeof *sources, "what measures sources", err);
    if (!sources)
        return LW_ESYSTEM;
    *sources = (struct lw_sources){.job = job, .op = op, .sky = sky, .n_threads = count_threads(engine),
                                   .n_scratch = count_scratch(c), .most_columns = most_of_window(c->kernel_columns)};
    if (!(sources->shapes = lw_alloc_array(c->n_kernels, sizeof *sources->shapes, "the shapes of kernels", err)) ||
        !(sources->scratch = lw_alloc_array(sources->n_threads * sources->n_scratch, sizeof(double), "windows of sources", err)))
        return LW_ESYSTEM;
    for (int k = 0; k < c->n_kernels; k++)
        sources->shapes[k] = lw_source_shape_of(c->kernel + k * c->kernel_rows * c->kernel_columns, c->kernel_rows,
                                                c->kernel_columns);
    return LW_OK;
}

void lw_sources_destroy(struct lw_sources *sources)
{
    if (!sources)
        return;
    lw_free(sources->shapes);
    lw_free(sources->scratch);
    lw_free(sources);
}

/* ---- a window ------------------------------------------------------------------------------------------------------------ */

/* Rows and columns of an image, both ends included. */
struct box {
    int64_t top, bottom, left, right;
};

/* A source under way. Places are window positions (stream/window.h) and columns of the image. */
struct source {
    const struct lw_sources *sources;
    const struct lw_slot *slot;
    const struct lw_peak *peak;
    const struct lw_source_shape *shape;
    struct box extent, window;          /* pixels under the kernel, pixels that are looked at; both inside the image */
    double row, column;                 /* place of the peak */
    double *pixels;                     /* [rows x columns of the window], less the background; 0: left out */
    double *line, *weights, *border;    /* two rows of the window, one behind the other; pixels along the border of the extent */
    float *map;                         /* a row of a mesh */
    int flags;
};

static struct box clip(struct box box, int64_t rows, int64_t columns)
{
    return (struct box){lw_max64(0, box.top), lw_min64(rows - 1, box.bottom), lw_max64(0, box.left),
                        lw_min64(columns - 1, box.right)};
}

static void begin(struct source *s, double *scratch)
{
    const struct lw_sources *const sources = s->sources;
    const struct lw_job *const job = sources->job;
    const struct lw_conv2d_spec *const c = &job->op.conv2d;
    const int64_t bottom = s->peak->index + job->look_ahead, right = s->peak->column + c->look_ahead_columns;
    const int64_t reach = (int64_t)fmin(ceil(4 * s->shape->sigma), LW_SOURCE_REACH);
    s->row = (double)bottom - s->shape->row;
    s->column = (double)right - s->shape->column;
    const int64_t row = llround(s->row), column = llround(s->column);
    const struct box extent = {bottom - c->kernel_rows + 1, bottom, right - c->kernel_columns + 1, right};
    const struct box window = {lw_max64(extent.top, row - reach), lw_min64(extent.bottom, row + reach),
                               lw_max64(extent.left, column - reach), lw_min64(extent.right, column + reach)};
    s->extent = clip(extent, job->n_samples, c->columns);
    s->window = clip(window, job->n_samples, c->columns);
    s->flags = memcmp(&window, &s->window, sizeof window) == 0 ? 0 : LW_SOURCE_EDGE;
    s->line = scratch;
    s->weights = s->line + sources->most_columns;
    s->map = (float *)(s->weights + sources->most_columns);
    s->border = (double *)s->map + 2 * sources->most_columns;
    s->pixels = s->border + 2 * (c->kernel_rows + c->kernel_columns);
}

/* Read pixels of a row of the image, or of its map of weights. */
static void read_row(const struct source *s, bool of_map, int64_t row, int64_t first, int64_t n, double *values)
{
    const struct lw_op_spec *const spec = &s->sources->job->op;
    const struct lw_op_plan *const op = s->sources->op;
    const struct lw_block *const block = &s->slot->block;
    const int64_t rows = op->halo + block->count, top = block->first + s->sources->job->look_ahead + op->after - op->halo;
    const int64_t index = ((s->peak->channel - block->channel) * rows + row - top) * spec->conv2d.columns + first;
    const struct lw_type type = of_map ? spec->conv2d.map : spec->input;
    const char *const from = of_map ? s->slot->map : s->slot->input;
    lw_type_numbers(type, from + index * (int64_t)lw_type_bytes(type), n, values);
}

/* Return the median of the finite pixels along the border of the kernel's extent; 0: there is none. */
static double find_level(const struct source *s)
{
    const struct box *const e = &s->extent;
    int64_t n = 0, kept = 0;
    for (int64_t row = e->top; row <= e->bottom; row++) {
        const bool is_whole = row == e->top || row == e->bottom;
        const int64_t step = is_whole ? 1 : lw_max64(1, e->right - e->left);
        for (int64_t column = e->left; column <= e->right; column += step)
            read_row(s, false, row, column, 1, &s->border[n++]);
    }
    for (int64_t i = 0; i < n; i++)
        if (isfinite(s->border[i]))
            s->border[kept++] = s->border[i];
    return kept > 0 ? lw_select(s->border, kept, kept / 2) : 0;
}

/* Subtract the background of a row of the window: that of the mesh; without a mesh `level`. */
static void subtract(const struct source *s, int64_t row, double level, double *pixels, int64_t n)
{
    const struct lw_mesh *const mesh = s->sources->job->op.conv2d.background;
    if (mesh)
        lw_mesh_row(mesh, s->peak->channel, row, s->window.left, n, s->map);
    for (int64_t j = 0; j < n; j++)
        pixels[j] -= mesh ? (double)s->map[j] : level;
}

/* Read the weights of a row of the window, or sigma; 1 for images without weights. */
static void read_weights(const struct source *s, int64_t row, double *weights, int64_t n)
{
    const struct lw_conv2d_spec *const c = &s->sources->job->op.conv2d;
    if (lw_op_has_map(&s->sources->job->op))
        read_row(s, true, row, s->window.left, n, weights);
    else if (c->weights == LW_WEIGHTS_MESH)
        lw_mesh_row(c->sigma, s->peak->channel, row, s->window.left, n, s->map);
    for (int64_t j = 0; j < n && !s->slot->map; j++)
        weights[j] = c->weights == LW_WEIGHTS_MESH ? (double)s->map[j] : 1;
}

/* Fill the window with pixels less their background, and 0 for those that do not count. */
static void fill(struct source *s)
{
    const struct lw_job *const job = s->sources->job;
    const int64_t n = s->window.right - s->window.left + 1;
    const double level = !job->op.conv2d.background && s->shape->is_balanced ? find_level(s) : 0;
    for (int64_t row = s->window.top; row <= s->window.bottom; row++) {
        double *const pixels = s->pixels + (row - s->window.top) * n;
        read_row(s, false, row, s->window.left, n, pixels);
        read_weights(s, row, s->weights, n);
        for (int64_t j = 0; j < n; j++) {
            s->line[j] = isfinite(pixels[j]) && isfinite(s->weights[j]) && s->weights[j] > 0;
            s->flags |= s->line[j] > 0 ? 0 : LW_SOURCE_MASKED;
            s->flags |= isfinite(pixels[j]) && pixels[j] >= job->search.saturation ? LW_SOURCE_SATURATED : 0;
        }
        subtract(s, row, level, pixels, n);
        for (int64_t j = 0; j < n; j++)
            pixels[j] = s->line[j] > 0 ? pixels[j] : 0;
    }
}

/* ---- a source ------------------------------------------------------------------------------------------------------------ */

/* Set the flux: that of the kernel's profile that fits best, by least squares with the pixels' weights. */
static void set_flux(const struct source *s, struct lw_source_row *row)
{
    const struct lw_peak *const peak = s->peak;
    const bool is_weighted = lw_op_is_weighted(&s->sources->job->op);
    const double factor = is_weighted ? s->shape->total : s->shape->total / s->shape->energy;
    row->flux = peak->re * factor * (is_weighted ? peak->im : 1);
    row->flux_error = factor * (is_weighted ? peak->im : fabs(peak->re) / peak->snr);
}

static void measure(struct source *s, double *scratch, struct lw_source_row *row)
{
    begin(s, scratch);
    const struct box *const w = &s->window;
    const int64_t rows = w->bottom - w->top + 1, columns = w->right - w->left + 1;
    const int64_t i = llround(s->row) - w->top, j = llround(s->column) - w->left;
    double place[2] = {s->row - (double)w->top, s->column - (double)w->left};
    bool is_found = false;
    if (rows > 0 && columns > 0) {
        fill(s);
        is_found = lw_source_find(s->pixels, rows, columns, s->shape->sigma, s->line, place);
    }
    if (i >= 0 && i < rows && j >= 0 && j < columns)
        row->peak = s->pixels[i * columns + j];
    row->flags = s->flags | (is_found ? 0 : LW_SOURCE_NO_CENTRE);
    row->y = place[0] + (double)(w->top + s->sources->job->view.start + 1);
    row->x = place[1] + (double)(w->left + 1);
    set_flux(s, row);
}

void lw_sources_measure(const struct lw_sources *sources, const struct lw_slot *slot, const struct lw_peak *peaks, int64_t n,
                        struct lw_source_row *rows)
{
    if (!sources)
        return;
    const int n_threads = (int)lw_min64(sources->n_threads, lw_divide_up(n, 16));
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 16) if (n_threads > 1)
    for (int64_t i = 0; i < n; i++) {
        struct source source = {.sources = sources, .slot = slot, .peak = &peaks[i], .shape = &sources->shapes[peaks[i].filter]};
        measure(&source, sources->scratch + omp_get_thread_num() * sources->n_scratch, &rows[i]);
    }
}

void lw_sources_place(const struct lw_sources *sources, struct lw_source_row *rows, int64_t n)
{
    for (int64_t i = 0; i < n && sources && sources->sky && sources->sky->wcs; i++) {
        const struct lw_sky_point pixel = {{rows[i].x - 1, rows[i].y - 1}};
        struct lw_sky_point place;
        lw_sky_find(sources->sky, false, 1, &pixel, &place);
        rows[i].ra = place.at[0];
        rows[i].dec = place.at[1];
    }
}
