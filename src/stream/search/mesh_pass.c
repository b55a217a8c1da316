#include "stream/search/mesh_pass.h"

#include "base/arena.h"
#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "job/weights.h"
#include "resume/stop.h"
#include "signal/mesh_cells.h"
#include "stream/map.h"

#include <float.h>
#include <inttypes.h>
#include <omp.h>

/* Bytes that are read, or written, at a time, unless a row of cells, or of pixels, has more: few enough for the cache of a core. */
static const int64_t piece_bytes = (int64_t)1 << 20;

/* Measured time of a thread for one pixel. */
static const double seconds_per_pixel = 5e-9;

/* The rows of cells of all images, image after image, are shared by ranks and read in bands. */
struct cells {
    const struct lw_mesh *mesh;
    struct lw_type type;
    int64_t pixel_bytes;
    struct lw_type map_type;
    int64_t map_bytes;          /* bytes of a number of the map of weights; 0: there is none */
    bool shares_map;            /* the map of one image serves all */
    int64_t all, share;         /* rows of cells of all images; of a rank */
    int64_t most_rows;          /* rows of cells of a band of one image, */
    int64_t most_images;        /* or whole images of a band */
};

/* A band: n_rows rows of cells of each of n_images images. */
struct band {
    int64_t at, next;           /* its first row among all rows of cells, and the row behind its last */
    int64_t image, n_images, row, n_rows;
    int64_t n_pixel_rows;       /* pixel rows of each image */
    char *stored;               /* [n_images][n_pixel_rows][columns], as in the file */
    char *map;                  /* weights of the same pixels, of one image if they serve all; NULL: none */
};

/* Space of a thread. */
struct space {
    struct lw_cell_work work;
    double numbers[LW_CELL_LEVELS];
    float weights[LW_CELL_LEVELS];
    float pixels[];             /* those of the largest cell */
};

static int64_t space_bytes(const struct lw_mesh *mesh)
{
    const int64_t pixels = lw_min64(mesh->cell, mesh->rows) * lw_min64(mesh->cell, mesh->columns);
    return lw_round_up((int64_t)sizeof(struct space) + pixels * (int64_t)sizeof(float), LW_ALIGNMENT);
}

/* A node as ranks send it: its background and its noise. */
struct node {
    float background, noise;
};

/* A pass, with the memory for it. */
struct pass {
    struct lw_reader *reader, *map;     /* map: NULL without one */
    const struct lw_job *job;
    struct cells cells;
    struct lw_view_spec view, shown;    /* views of the image and of the map */
    int n_ranks, n_threads;
    void *memory;               /* owned; that of all pointers below */
    struct band bands[2];       /* one is read while the other is measured */
    char *spaces;               /* [n_threads x space_bytes] */
    struct node *mine, *all;    /* nodes of this rank, [share][node_columns], and of all ranks */
    float *nodes;               /* [node_rows][node_columns] of an image */
    void *work;                 /* work space of lw_nodes_smooth */
};

static struct pass pass_of(const struct lw_job *job, const struct lw_reader *map, int n_ranks, int n_threads)
{
    const struct lw_mesh *const mesh = &job->mesh->background;
    const int64_t bytes = (int64_t)lw_type_bytes(job->op.input), all = mesh->n_channels * mesh->node_rows;
    const int64_t rows = lw_max64(1, piece_bytes / (mesh->cell * mesh->columns * bytes));
    struct pass pass = {.job = job, .view = job->view, .n_ranks = n_ranks, .n_threads = n_threads, .cells = {
        .mesh = mesh, .type = job->op.input, .pixel_bytes = bytes, .map_type = job->op.conv2d.map,
        .map_bytes = map ? (int64_t)lw_type_bytes(job->op.conv2d.map) : 0, .all = all, .share = lw_divide_up(all, n_ranks),
        .most_rows = lw_min64(rows, mesh->node_rows),
        .most_images = lw_min64(lw_max64(1, rows / mesh->node_rows), mesh->n_channels),
    }};
    pass.view.start = job->mesh->start;
    pass.view.count = mesh->rows;
    pass.view.max_axis = lw_min64(pass.cells.most_rows * mesh->cell, mesh->rows);
    pass.view.max_channels = pass.cells.most_images;
    pass.view.chunks = LW_CHUNKS_WHOLE;
    pass.shown = pass.view;
    pass.cells.shares_map = map && lw_map_show(map, &pass.shown);
    return pass;
}

/* Lay out the memory of a pass. @param memory  NULL: only count the bytes @return  the bytes */
static int64_t lay_out(struct pass *pass, void *memory)
{
    struct lw_arena arena = {.base = memory};
    const struct lw_mesh *const mesh = pass->cells.mesh;
    const int64_t share = pass->cells.share * mesh->node_columns * (int64_t)sizeof(struct node);
    const int64_t band = pass->view.max_channels * pass->view.max_axis * mesh->columns * pass->cells.pixel_bytes;
    const int64_t map = pass->shown.max_channels * pass->shown.max_axis * mesh->columns * pass->cells.map_bytes;
    for (int i = 0; i < 2; i++) {
        pass->bands[i].stored = lw_arena_take(&arena, band);
        pass->bands[i].map = map > 0 ? lw_arena_take(&arena, map) : NULL;
    }
    pass->spaces = lw_arena_take(&arena, pass->n_threads * space_bytes(mesh));
    pass->mine = lw_arena_take(&arena, share);
    pass->all = lw_arena_take(&arena, pass->n_ranks * share);
    pass->nodes = lw_arena_take(&arena, mesh->node_rows * mesh->node_columns * (int64_t)sizeof *pass->nodes);
    pass->work = lw_arena_take(&arena, lw_nodes_bytes(mesh));
    return arena.used;
}

int64_t lw_mesh_kept_bytes(const struct lw_job *job)
{
    return job->mesh ? 2 * lw_mesh_values(&job->mesh->background) * (int64_t)sizeof(float) : 0;
}

int64_t lw_mesh_pass_bytes(const struct lw_job *job, const struct lw_engine *engine, const struct lw_reader *reader,
                           const struct lw_reader *map, int n_ranks)
{
    if (!job->mesh)
        return 0;
    struct pass pass = pass_of(job, map, n_ranks, lw_engine_host_threads(engine));
    return lw_reader_bytes(reader, &pass.view) + (map ? lw_reader_bytes(map, &pass.shown) : 0) + lay_out(&pass, NULL);
}

double lw_mesh_pass_seconds(const struct lw_job *job, int64_t n_threads)
{
    const struct lw_mesh *const mesh = job->mesh ? &job->mesh->background : NULL;
    return mesh ? (double)mesh->n_channels * (double)mesh->rows * (double)mesh->columns * seconds_per_pixel / (double)n_threads : 0;
}

/* ---- a cell ---------------------------------------------------------------------------------------------------------- */

/* Append the finite ones of n numbers to pixels. @return  their number */
static int64_t keep_finite(const float *from, int64_t n, float *pixels)
{
    float rest = 0;             /* NaN if one is not finite */
    for (int64_t i = 0; i < n; i++)
        rest += from[i] - from[i];
    if (rest == 0) {
        memcpy(pixels, from, (size_t)n * sizeof *pixels);
        return n;
    }
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(from[i]))
            pixels[kept++] = from[i];
    return kept;
}

/* Convert n <= LW_CELL_LEVELS stored numbers to float32. */
static void take_floats(struct lw_type type, const void *stored, int64_t n, double *numbers, float *floats)
{
    const bool is_float = type.scalar == LW_FLOAT32;
    if (!is_float)
        lw_type_numbers(type, stored, n, numbers);
    for (int64_t i = 0; !is_float && i < n; i++)
        floats[i] = (float)numbers[i];
    if (is_float)
        memcpy(floats, stored, (size_t)n * sizeof *floats);
    uint32_t bits;
    for (int64_t i = 0; is_float && type.is_swapped && i < n; i++) {
        memcpy(&bits, floats + i, sizeof bits);
        bits = __builtin_bswap32(bits);
        memcpy(floats + i, &bits, sizeof bits);
    }
}

/* Append those of n <= LW_CELL_LEVELS stored pixels that are finite and have weight. @return  their number
 * @param map  numbers of the map at these pixels, as stored; NULL: all have weight */
static int64_t take_pixels(const struct cells *cells, const void *stored, const void *map, int64_t n, struct space *space,
                           float *pixels)
{
    take_floats(cells->type, stored, n, space->numbers, pixels);
    if (map)
        take_floats(cells->map_type, map, n, space->numbers, space->weights);
    for (int64_t i = 0; map && i < n; i++)
        pixels[i] = space->weights[i] > 0 && space->weights[i] <= FLT_MAX ? pixels[i] : NAN;
    return keep_finite(pixels, n, pixels);
}

/* Let the processor fetch n numbers from number `first` on: it does not foresee the short rows of cells by itself. */
static void ask_ahead(const char *from, int64_t first, int64_t n, int64_t each)
{
    for (int64_t at = 0; at < n * each; at += 64)
        __builtin_prefetch(from + first * each + at);
}

/* Measure one cell of a band. @param row, column  of the cell, in the band's image number `image` */
static struct node measure_cell(const struct cells *cells, const struct band *band, int64_t image, int64_t row, int64_t column,
                                struct space *space)
{
    const struct lw_mesh *const mesh = cells->mesh;
    const int64_t first = row * mesh->cell, end = lw_min64(first + mesh->cell, band->n_pixel_rows);
    const int64_t left = column * mesh->cell, width = lw_min64(mesh->cell, mesh->columns - left);
    struct node node;
    int64_t n = 0;
    for (int64_t i = first; i < end; i++) {
        const int64_t at = (image * band->n_pixel_rows + i) * mesh->columns + left;
        const int64_t on_map = at - (cells->shares_map ? image * band->n_pixel_rows * mesh->columns : 0);
        ask_ahead(band->stored, at + 4 * mesh->columns, end - i > 4 ? width : 0, cells->pixel_bytes);
        ask_ahead(band->map, on_map + 4 * mesh->columns, band->map && end - i > 4 ? width : 0, cells->map_bytes);
        n += take_pixels(cells, band->stored + at * cells->pixel_bytes, band->map ? band->map + on_map * cells->map_bytes : NULL,
                         width, space, space->pixels + n);
    }
    lw_cell_measure(space->pixels, n, (end - first) * width, &space->work, &node.background, &node.noise);
    return node;
}

/* ---- a rank's share -------------------------------------------------------------------------------------------------- */

static int open_pass(struct pass *pass, struct lw_error *err)
{
    if (!(pass->memory = lw_alloc((size_t)lay_out(pass, NULL), "cells of pixels", err)))
        return LW_ESYSTEM;
    lay_out(pass, pass->memory);
    const int rc = lw_reader_select(pass->reader, &pass->view, err);
    return rc || !pass->map ? rc : lw_reader_select(pass->map, &pass->shown, err);
}

/* Begin to read the band at row number `at` of all rows of cells; from `end` on there is none. */
static int begin_band(struct pass *pass, int64_t at, int64_t end, struct band *band, struct lw_error *err)
{
    const struct cells *const cells = &pass->cells;
    const struct lw_mesh *const mesh = cells->mesh;
    band->at = band->next = at;
    if (at >= end)
        return LW_OK;
    band->image = at / mesh->node_rows;
    band->row = at % mesh->node_rows;
    band->n_images = 1;
    band->n_rows = lw_min64(lw_min64(cells->most_rows, mesh->node_rows - band->row), end - at);
    if (band->n_rows == mesh->node_rows)
        band->n_images = lw_min64(cells->most_images, (end - at) / mesh->node_rows);
    band->next = at + band->n_images * band->n_rows;
    const int64_t first = band->row * mesh->cell;
    band->n_pixel_rows = lw_min64(band->n_rows * mesh->cell, mesh->rows - first);
    struct lw_slab slab = {.first = first, .count = band->n_pixel_rows, .channel = band->image, .n_channels = band->n_images,
                           .into = band->stored, .into_axis = band->n_pixel_rows};
    const int rc = lw_reader_begin(pass->reader, &slab, err);
    if (rc || !pass->map)
        return rc;
    slab.into = band->map;
    if (cells->shares_map) {
        slab.channel = 0;
        slab.n_channels = 1;
    }
    return lw_reader_begin(pass->map, &slab, err);
}

/* Wait for the reads in progress. */
static int end_band(struct pass *pass, struct lw_error *err)
{
    const int rc = lw_reader_end(pass->reader, err);
    const int map_rc = pass->map ? lw_reader_end(pass->map, rc ? NULL : err) : LW_OK;
    return rc ? rc : map_rc;
}

/* Measure the cells of a band. @param nodes  set; [n_images][n_rows][node_columns] */
static void measure_band(const struct pass *pass, const struct band *band, struct node *nodes)
{
    const struct cells *const cells = &pass->cells;
    const int64_t columns = cells->mesh->node_columns, of_image = band->n_rows * columns;
#pragma omp parallel for num_threads(pass->n_threads) schedule(dynamic, 4)
    for (int64_t k = 0; k < band->n_images * of_image; k++) {
        struct space *const space = (struct space *)(pass->spaces + omp_get_thread_num() * space_bytes(cells->mesh));
        nodes[k] = measure_cell(cells, band, k / of_image, k % of_image / columns, k % columns, space);
    }
}

static int measure_share(struct pass *pass, int rank, struct lw_error *err)
{
    const int64_t begin = lw_min64(rank * pass->cells.share, pass->cells.all);
    const int64_t end = lw_min64(begin + pass->cells.share, pass->cells.all);
    struct band *band = &pass->bands[0], *other = &pass->bands[1];
    int rc = begin_band(pass, begin, end, band, err);
    while (rc == LW_OK && band->at < end) {
        if ((rc = lw_stop_check(err)) || (rc = end_band(pass, err)) ||
            (rc = begin_band(pass, band->next, end, other, err)))
            break;
        if (band->map)
            lw_weights_convert(pass->job, band->map, (pass->cells.shares_map ? 1 : band->n_images) * band->n_pixel_rows *
                               pass->cells.mesh->columns);
        measure_band(pass, band, pass->mine + (band->at - begin) * pass->cells.mesh->node_columns);
        struct band *const done = band;
        band = other;
        other = done;
    }
    const int end_rc = end_band(pass, rc ? NULL : err);    /* a read in progress still uses the memory */
    return rc ? rc : end_rc;
}

/* ---- all ------------------------------------------------------------------------------------------------------------- */

/* Facts of the nodes for the log. */
struct said {
    int64_t n_empty, n_quiet;           /* cells with too few pixels, and with the noise 0 */
    float background[2], noise[2];      /* least and largest */
};

static void say(const struct said *said, const struct lw_mesh *mesh, bool uses_noise, double seconds)
{
    const int64_t n = mesh->n_channels * mesh->node_rows * mesh->node_columns;
    lw_log_info("the background is %.6g to %.6g, the noise %.6g to %.6g, measured in %" PRId64 " cells of %" PRId64 " x %" PRId64
                " pixels in %.3g s", said->background[0], said->background[1], said->noise[0], said->noise[1], n, mesh->cell,
                mesh->cell, seconds);
    if (said->n_empty > 0)
        lw_log_info("%" PRId64 " of the cells have too few pixels that are finite: they have the mean of their neighbours",
                    said->n_empty);
    if (said->n_quiet > 0 && uses_noise)
        lw_log_warn("the noise of %" PRId64 " of %" PRId64 " cells is 0, since most of their pixels are equal: pixels have no "
                    "weight there", said->n_quiet, n);
}

/* Smooth the nodes of an image in pass->nodes and fill the tables of its map. @param noise  which of the two maps */
static void finish_map(const struct pass *pass, struct lw_mesh *mesh, bool noise, int64_t image, float range[2])
{
    const int64_t n = mesh->node_rows * mesh->node_columns;
    const struct node *const from = pass->all + image * n;
    for (int64_t k = 0; k < n; k++)
        pass->nodes[k] = noise ? from[k].noise : from[k].background;
    lw_nodes_smooth(mesh, noise ? 1 : 0, pass->nodes, pass->work);
    lw_mesh_fill(mesh, image, pass->nodes);
    for (int64_t k = 0; k < n; k++) {
        range[0] = fminf(range[0], pass->nodes[k]);
        range[1] = fmaxf(range[1], pass->nodes[k]);
    }
}

static struct said finish(const struct pass *pass, struct lw_job_mesh *mesh)
{
    const int64_t n = mesh->noise.node_rows * mesh->noise.node_columns;
    struct said said = {.background = {INFINITY, -INFINITY}, .noise = {INFINITY, -INFINITY}};
    for (int64_t image = 0; image < mesh->noise.n_channels; image++) {
        finish_map(pass, &mesh->background, false, image, said.background);
        finish_map(pass, &mesh->noise, true, image, said.noise);
        for (int64_t k = 0; k < n; k++) {
            said.n_quiet += pass->nodes[k] == 0;
            said.n_empty += isnan(pass->all[image * n + k].noise);
        }
    }
    return said;
}

static int measure(struct pass *pass, struct lw_comm *comm, struct lw_job *job, struct lw_error *err)
{
    const double start = lw_now();
    int rc;
    if ((rc = lw_comm_agree(comm, open_pass(pass, err), err)) ||
        (rc = lw_comm_agree(comm, measure_share(pass, lw_comm_rank(comm), err), err)))
        return rc;
    const int64_t bytes = pass->cells.share * pass->cells.mesh->node_columns * (int64_t)sizeof *pass->mine;
    lw_comm_gather_all(comm, pass->mine, (int)bytes, pass->all);
    const struct said said = finish(pass, job->mesh);
    say(&said, pass->cells.mesh, job->op.conv2d.weights == LW_WEIGHTS_MESH, lw_now() - start);
    return LW_OK;
}

int lw_mesh_measure(struct lw_comm *comm, struct lw_reader *reader, struct lw_reader *map, struct lw_job *job, int n_threads,
                    struct lw_error *err)
{
    if (!job->mesh)
        return LW_OK;
    struct pass pass = pass_of(job, map, lw_comm_size(comm), n_threads);
    pass.reader = reader;
    pass.map = map;
    const int rc = measure(&pass, comm, job, err);
    lw_free(pass.memory);
    return rc;
}

/* ---- maps ------------------------------------------------------------------------------------------------------------ */

/* A rank's rows of a map: `share` rows of each image, `most` at a time. */
struct writing {
    const struct lw_product *product;
    int64_t rows, columns;
    int64_t first;              /* row of the mesh, counted as in lw_mesh_row, at row 0 of the map */
    int64_t share, most;
};

static struct writing writing_of(const struct lw_job *job, int product, int n_ranks)
{
    const struct lw_product *const its = &job->products[product];
    const int row = its->axis_dim;
    struct writing writing = {.product = its, .rows = its->dataset.dims[row], .columns = its->dataset.dims[row + 1],
                              .first = job->window_start - job->view.start};
    writing.share = lw_divide_up(writing.rows, n_ranks);
    writing.most = lw_min64(writing.share, lw_max64(1, piece_bytes / (writing.columns * (int64_t)sizeof(float))));
    return writing;
}

/* Make rows [first, first + count) of an image's map, and begin to write them. */
static void begin_rows(struct lw_writer *writer, int dataset, const struct writing *writing, int64_t image, int64_t first,
                       int64_t count, int n_threads, float *rows, struct lw_write *write)
{
    const struct lw_product *const product = writing->product;
    int64_t begin[LW_MAX_DIMS] = {0}, counts[LW_MAX_DIMS] = {0};
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t i = 0; i < count; i++)
        lw_mesh_row(product->mesh, image, writing->first + first + i, 0, writing->columns, rows + i * writing->columns);
    if (product->channel_dim >= 0) {
        begin[product->channel_dim] = image;
        counts[product->channel_dim] = 1;
    }
    begin[product->axis_dim] = first;
    counts[product->axis_dim] = count;
    counts[product->axis_dim + 1] = writing->columns;
    lw_writer_begin(writer, dataset, begin, counts, rows, write);
}

/* Wait for a write; the first error stays. */
static void end_rows(struct lw_writer *writer, struct lw_write *write, int *rc, struct lw_error *err)
{
    const int its = lw_writer_end(writer, write, *rc ? NULL : err);
    *rc = *rc ? *rc : its;
}

int lw_mesh_write(struct lw_comm *comm, struct lw_writer *writer, const struct lw_job *job, int product, int n_threads,
                  struct lw_error *err)
{
    const struct writing writing = writing_of(job, product, lw_comm_size(comm));
    const int64_t begin = lw_min64(lw_comm_rank(comm) * writing.share, writing.rows);
    const int64_t end = lw_min64(begin + writing.share, writing.rows), most = writing.most;
    struct lw_write writes[2] = {0};
    int turn = 0, rc = LW_OK;
    LW_FREED float *const rows = lw_alloc_array(2 * most * writing.columns, sizeof *rows, "rows of a map", err);
    if ((rc = lw_comm_agree(comm, rows ? LW_OK : LW_ESYSTEM, err)))
        return rc;
    for (int64_t image = 0; image < writing.product->mesh->n_channels; image++)
        for (int64_t k = 0; k < writing.share; k += most, turn = !turn) {      /* equally often on all ranks: begin is collective */
            const int64_t first = lw_min64(begin + k, end), count = lw_min64(most, end - first);
            end_rows(writer, &writes[turn], &rc, err);
            begin_rows(writer, product, &writing, image, first, count, n_threads, rows + turn * most * writing.columns,
                       &writes[turn]);
        }
    for (int i = 0; i < 2; i++)
        end_rows(writer, &writes[i], &rc, err);
    return lw_comm_agree(comm, rc, err);
}
