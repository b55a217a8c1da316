/* gather.c - reads the samples of a panel into its raster, or an evenly spread part of them.
 *
 * plan() divides the slow and the fast dimension of the file into blocks: all samples if --read allows, else whole rows of the fast
 * dimension, else places on a lattice. Blocks are read in batches of boxes, and each batch is added to the raster. */
#include "plot/kinds.h"

#include "base/integers.h"
#include "base/memory.h"

enum {
    BATCH_VALUES = 4 << 20,             /* values of a batch */
    BATCH_BOXES = 4096,
    BLOCK_VALUES = 1 << 18,             /* values of a block if all samples are read */
    PLACE_BYTES = 16 << 10,             /* least cost of reading at one place of the file, in bytes */
    LEAST_PLACES = 4096,                /* places to read even if --read allows fewer */
    LEAST_CHUNKS = 64, ENOUGH_CHUNKS = 256,     /* chunks to read in any case; chunks to read if MOST_TIMES allows */
    MOST_TIMES = 4,                     /* factor by which ENOUGH_CHUNKS may exceed the bytes of --read */
};

/* State of reading a subject into a raster. In `y`, channels are counted among the chosen ones. */
struct reading {
    struct lw_plot_subject *subject;
    struct lw_shown *shown;
    struct lw_thinning x, y;
    struct lw_sample_box *boxes;        /* boxes of a batch, [BATCH_BOXES] */
    int n_boxes;
    int64_t n_values;                   /* values in the boxes of the batch */
    double *values;                     /* [BATCH_VALUES] */
    int64_t n_read;
};

/* One dimension of the file, the slow or the fast one. */
struct extent {
    int64_t length, offset;
    int64_t unit;                       /* samples that storage reads together: a chunk, or one sample */
    int64_t pixels;
    int64_t blocks;                     /* blocks to read, each of `block` samples */
    int64_t block;
};

static int64_t count_units(const struct extent *e) { return lw_divide_up(e->length, e->unit); }

/* Return the most blocks that the picture can show: one for each pixel. */
static int64_t wanted(const struct extent *e) { return lw_min64(count_units(e), e->pixels); }

/* Choose places on a lattice: each is a run of the fast dimension, or some chunks side by side. Both dimensions get fewer blocks
 * than the picture can show, by about the same factor. At least LEAST_CHUNKS are read, as fewer make no picture. */
static void choose_lattice(struct extent *slow, struct extent *fast, int64_t sample_bytes, int64_t most_bytes)
{
    const int64_t unit_bytes = slow->unit * fast->unit * sample_bytes;
    const bool is_chunked = slow->unit * fast->unit > 1;
    const int64_t least =
        is_chunked ? lw_max64(LEAST_CHUNKS, lw_min64(ENOUGH_CHUNKS, MOST_TIMES * most_bytes / unit_bytes)) : LEAST_PLACES;
    const int64_t most = lw_max64(most_bytes / lw_max64(unit_bytes, PLACE_BYTES), least);
    const double factor = sqrt((double)most / ((double)wanted(slow) * (double)wanted(fast)));
    slow->blocks = lw_max64(lw_min64((int64_t)((double)wanted(slow) * factor), wanted(slow)), 1);
    fast->blocks = lw_max64(lw_min64(most / slow->blocks, wanted(fast)), 1);
    slow->blocks = lw_max64(lw_min64(most / fast->blocks, wanted(slow)), 1);
    slow->block = slow->unit;
    fast->block = lw_max64(most_bytes / (slow->blocks * fast->blocks) / unit_bytes, 1) * fast->unit;
    if (fast->block >= fast->length / fast->blocks)             /* rows are whole: read as many as --read allows */
        slow->blocks = lw_max64(lw_min64(most_bytes / (count_units(fast) * unit_bytes), wanted(slow)), slow->blocks);
}

/* Choose whole rows of the fast dimension. @return  false: they are too long for --read
 * @param row  bytes of the rows in one unit of the slow dimension */
static bool choose_rows(struct extent *slow, struct extent *fast, double row, int64_t most_bytes)
{
    if (row * (double)wanted(slow) > (double)most_bytes)
        return false;
    slow->blocks = wanted(slow);
    slow->block = (int64_t)((double)most_bytes / row / (double)slow->blocks) * slow->unit;
    fast->blocks = count_units(fast);
    fast->block = fast->length;
    return true;
}

/* Divide a dimension into blocks of at most `longest` samples. */
static struct lw_thinning thin(const struct extent *e, int64_t longest)
{
    struct lw_thinning t = lw_thinning_spread(e->length, e->offset, e->unit, e->blocks, e->block);
    if (t.is_whole)
        return lw_thinning_whole(e->length, e->offset, e->unit, longest);
    t.block = lw_min64(t.block, lw_max64(longest / t.unit * t.unit, t.unit));
    return t;
}

static void plan(struct reading *r, int most_rows, int most_columns, int64_t most_bytes)
{
    const struct lw_plot_subject *const subject = r->subject;
    const struct lw_option_range *const channels = &r->shown->y;
    const bool is_x_fast = lw_subject_is_x_fast(subject);
    struct extent x = {.length = r->shown->x.end - r->shown->x.begin, .offset = r->shown->x.begin, .pixels = most_columns};
    struct extent y = {.length = lw_divide_up(channels->end - channels->begin, channels->step), .pixels = most_rows};
    x.unit = lw_min64(lw_subject_chunk(subject, subject->x), BATCH_VALUES);
    y.unit = lw_max64(lw_min64(lw_subject_chunk(subject, subject->y) / channels->step, BATCH_VALUES / x.unit), 1);
    y.offset = channels->begin / channels->step;
    /* If channels are the fast dimension, the samples between chosen channels are read, too. */
    const int64_t sample = (int64_t)lw_type_bytes(subject->info.type) * (is_x_fast ? 1 : channels->step);
    struct extent *const slow = is_x_fast ? &y : &x, *const fast = is_x_fast ? &x : &y;

    /* Bytes that are read for each unit of the slow dimension: storage reads whole chunks and whole pages. */
    enum { PAGE = 4096 };
    const int64_t all = (is_x_fast ? subject->n_x : subject->n_y) * (int64_t)lw_type_bytes(subject->info.type);
    const double row = (double)slow->unit * (double)lw_max64(count_units(fast) * fast->unit * sample, lw_min64(PAGE, all));
    if (row * (double)count_units(slow) <= (double)most_bytes) {
        slow->blocks = slow->block = slow->length;
        fast->blocks = fast->block = fast->length;
    } else if (!choose_rows(slow, fast, row, most_bytes)) {
        choose_lattice(slow, fast, sample, most_bytes);
    }
    const struct lw_thinning of_fast = thin(fast, lw_max64(BLOCK_VALUES / slow->unit, 1));
    const struct lw_thinning of_slow = thin(slow, lw_max64(BATCH_VALUES / of_fast.block, 1));
    r->x = is_x_fast ? of_fast : of_slow;
    r->y = is_x_fast ? of_slow : of_fast;
}

/* Read a batch, and add its boxes in order, so that sums do not depend on which thread is done first. */
static int read_batch(struct reading *r, struct lw_error *err)
{
    const int rc = lw_boxes_read(r->subject->samples, r->boxes, r->n_boxes, r->values, err);
    const double *values = r->values;
    const struct lw_plot_subject *const subject = r->subject;
    const struct lw_raster *const raster = &r->shown->raster;
    /* Row i of the raster begins with channel i x n_channels / n_rows, rounded down; columns do likewise. */
    const struct lw_raster rows = {.n_columns = raster->n_rows, .length = r->y.length};
    const bool is_x_fast = lw_subject_is_x_fast(subject);
    for (int b = 0; b < r->n_boxes && rc == LW_OK; b++) {
        const struct lw_sample_box *const box = &r->boxes[b];
        const int64_t n_x = box->count[subject->x], n_y = subject->y >= 0 ? box->count[subject->y] : 1;
        const int64_t along = is_x_fast ? 1 : n_y, across = is_x_fast ? n_x : 1;
        const int64_t first = subject->y >= 0 ? (box->first[subject->y] - r->shown->y.begin) / r->shown->y.step : 0;
        for (int64_t c = 0; c < n_y; c++)
            lw_raster_add(raster, lw_raster_column(&rows, first + c), box->first[subject->x] - r->shown->x.begin, n_x,
                          values + c * across, along);
        values += n_x * n_y;
    }
    r->n_read += r->n_values;
    r->n_values = r->n_boxes = 0;
    return rc;
}

static int read_block(struct reading *r, int64_t block_x, int64_t block_y, struct lw_error *err)
{
    const struct lw_shown *const shown = r->shown;
    int64_t x, n_x, y, n_y;
    int rc = LW_OK;
    lw_thinning_block(&r->x, block_x, &x, &n_x);
    lw_thinning_block(&r->y, block_y, &y, &n_y);
    if (n_x <= 0 || n_y <= 0)
        return LW_OK;
    if (r->n_boxes == BATCH_BOXES || r->n_values + n_x * n_y > BATCH_VALUES)
        rc = read_batch(r, err);
    r->boxes[r->n_boxes++] =
        lw_subject_box(r->subject, shown->x.begin + x, n_x, shown->y.begin + y * shown->y.step, n_y, shown->y.step, shown->z);
    r->n_values += n_x * n_y;
    return rc;
}

/* If samples are left out, a dimension has no more cells than blocks, so that no cell is empty. */
static int count_cells(const struct lw_thinning *t, int64_t most)
{
    return (int)lw_min64(lw_min64(t->length, most), t->is_whole ? INT64_MAX : t->n_blocks);
}

int lw_plot_gather(struct lw_plot *plot, struct lw_shown *shown, int n_panels, int most_rows, int most_columns,
                   struct lw_error *err)
{
    struct reading r = {.subject = shown->subject, .shown = shown};
    struct lw_raster *const raster = &shown->raster;
    if (shown->x.begin >= shown->x.end || shown->y.begin >= shown->y.end)
        return lw_fail(err, LW_ECONFIG, "%.400s has no samples in the part shown of the result", shown->subject->name);
    plan(&r, most_rows, most_columns, lw_options_int(plot->given, "read") / n_panels);
    raster->length = r.x.length;
    raster->n_rows = count_cells(&r.y, most_rows);
    raster->n_columns = count_cells(&r.x, most_columns);
    raster->cells = lw_alloc_array((int64_t)raster->n_rows * raster->n_columns, sizeof *raster->cells, "the picture", err);
    if (!raster->cells)
        return LW_ESYSTEM;
    lw_raster_clear(raster);
    r.values = lw_alloc_array(BATCH_VALUES, sizeof *r.values, "samples", err);
    r.boxes = lw_alloc_array(BATCH_BOXES, sizeof *r.boxes, "samples", err);
    int rc = r.values && r.boxes ? LW_OK : LW_ESYSTEM;
    const bool is_x_fast = lw_subject_is_x_fast(r.subject);         /* the blocks are read in the order of the file */
    const int64_t n_slow = is_x_fast ? r.y.n_blocks : r.x.n_blocks, n_fast = is_x_fast ? r.x.n_blocks : r.y.n_blocks;
    for (int64_t s = 0; s < n_slow && rc == LW_OK; s++)
        for (int64_t f = 0; f < n_fast && rc == LW_OK; f++)
            rc = read_block(&r, is_x_fast ? f : s, is_x_fast ? s : f, err);
    rc = rc ? rc : read_batch(&r, err);
    lw_free(r.values);
    lw_free(r.boxes);
    shown->n_channels = r.y.length;
    plot->part = fmin(plot->part, (double)r.n_read / ((double)r.x.length * (double)r.y.length));
    return rc;
}
