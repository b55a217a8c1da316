#include "io/read/cells.h"

#include "base/integers.h"
#include "base/leave.h"
#include "base/memory.h"

#include <inttypes.h>

enum { DIMS = LW_MAX_DIMS };

static int64_t value_bytes(const struct lw_source *source) { return (int64_t)lw_type_bytes(source->described.type); }

/* ---- memory that reads share ---------------------------------------------------------------------------------------- */

int lw_cells_create(struct lw_cells *cells, int n_decoders, struct lw_error *err)
{
    const struct lw_source *const source = cells->source;
    if (lw_source_decodes(source))
        return lw_decoders_create(&source->stored.filters, n_decoders, &cells->decoders, err);
    const int64_t bytes = source->is_pooled && !source->is_by_format ? cells->bounce_bytes * lw_pool_threads(source->pool) : 0;
    if (bytes > 0 && !(cells->bounce = lw_alloc((size_t)bytes, "short pieces of a file", err)))
        return LW_ESYSTEM;
    return LW_OK;
}

void lw_cells_release(struct lw_cells *cells)
{
    lw_decoders_destroy(cells->decoders);
    lw_free(cells->bounce);
    cells->decoders = NULL;
    cells->bounce = NULL;
}

/* ---- tiles and cells ------------------------------------------------------------------------------------------------- */

int64_t lw_cells_tile(const struct lw_source *source, int d)
{
    return d >= source->described.n_dims ? 1 : source->stored.is_chunked ? source->described.chunk[d] : source->described.dims[d];
}

void lw_cells_pitch(const struct lw_source *source, int64_t pitch[DIMS])
{
    pitch[DIMS - 1] = value_bytes(source);
    for (int d = DIMS - 1; d > 0; d--)
        pitch[d - 1] = pitch[d] * lw_cells_tile(source, d);
}

static int64_t last_of(const struct lw_target *target, int d)
{
    return target->first[d] + (target->count[d] - 1) * target->step[d];
}

/* Choose the size of a cell: long in the fast dimension, and as many rows as most_bytes hold. Up to NEAR_BYTES between rows are
 * read, too. @param all  number of samples from the first to the last wanted one, in each dimension */
static void choose_cell(struct lw_cells_read *read, const int64_t all[DIMS])
{
    enum { NEAR_BYTES = 4096 };
    const struct lw_source *const source = read->cells->source;
    const int64_t bytes = read->cells->most_bytes;
    int64_t pitch[DIMS], row = value_bytes(source);
    lw_cells_pitch(source, pitch);
    for (int d = DIMS - 1; d >= 0; d--) {
        const int64_t one = pitch[d] - row <= NEAR_BYTES ? pitch[d] : row;
        read->cell[d] = lw_max64(1, lw_min64(lw_min64(read->tile[d], all[d]), bytes / one));
        row += (read->cell[d] - 1) * pitch[d];
    }
    if (lw_source_decodes(source))
        memcpy(read->cell, read->tile, sizeof read->cell);
}

/* Cells are numbered from the dataset's first chunk, or, without chunks, from the first wanted sample. No cell leaves its tile. */
static int64_t cells_per_tile(const struct lw_cells_read *read, int d) { return lw_divide_up(read->tile[d], read->cell[d]); }

static int64_t cell_of(const struct lw_cells_read *read, int d, int64_t position)
{
    const int64_t at = position - read->origin[d];
    return at / read->tile[d] * cells_per_tile(read, d) + at % read->tile[d] / read->cell[d];
}

/* Find the cells and tiles from the first to the last sample of all targets. */
static void find_cells(struct lw_cells_read *read)
{
    const struct lw_source *const source = read->cells->source;
    int64_t first[DIMS], last[DIMS], all[DIMS];
    for (int d = 0; d < DIMS; d++) {
        first[d] = read->targets[0].first[d];
        last[d] = last_of(&read->targets[0], d);
        for (int t = 1; t < read->n_targets; t++) {
            first[d] = lw_min64(first[d], read->targets[t].first[d]);
            last[d] = lw_max64(last[d], last_of(&read->targets[t], d));
        }
        all[d] = last[d] - first[d] + 1;
        read->tile[d] = lw_cells_tile(source, d);
        read->origin[d] = source->stored.is_chunked ? 0 : first[d];
    }
    choose_cell(read, all);
    for (int d = 0; d < DIMS; d++) {
        read->first_cell[d] = cell_of(read, d, first[d]);
        read->n_cells[d] = cell_of(read, d, last[d]) + 1 - read->first_cell[d];
        read->first_tile[d] = (first[d] - read->origin[d]) / read->tile[d];
        read->n_tiles[d] = (last[d] - read->origin[d]) / read->tile[d] + 1 - read->first_tile[d];
    }
}

/* Split number n of a row-major box of n_all[] into its indices. */
static void split_number(int64_t n, const int64_t n_all[DIMS], int64_t at[DIMS])
{
    for (int d = DIMS - 1; d >= 0; d--) {
        at[d] = n % n_all[d];
        n /= n_all[d];
    }
}

/* ---- one cell ------------------------------------------------------------------------------------------------------- */

struct cell {
    const struct lw_stored_chunk *chunk;    /* place of the cell's tile in the file */
    int64_t tile[DIMS];                     /* first sample of the tile */
    int64_t begin[DIMS], end[DIMS];         /* the cell's samples [begin, end), in the dataset */
};

static struct cell cell_number(const struct lw_cells_read *read, int64_t number)
{
    struct cell cell;
    int64_t at[DIMS], chunk = 0;
    split_number(number, read->n_cells, at);
    for (int d = 0; d < DIMS; d++) {
        const int64_t n = cells_per_tile(read, d), c = read->first_cell[d] + at[d], tile = read->origin[d] + c / n * read->tile[d];
        cell.tile[d] = read->cells->source->stored.is_chunked ? tile : 0;
        cell.begin[d] = tile + c % n * read->cell[d];
        cell.end[d] = lw_min64(cell.begin[d] + read->cell[d], tile + read->tile[d]);
        chunk = chunk * read->n_tiles[d] + c / n - read->first_tile[d];
    }
    cell.chunk = &read->places[chunk];
    return cell;
}

/* Return how many samples of [begin, end) a target takes in dimension d. @param low  set to the first, counted in the target */
static int64_t common(const struct lw_target *target, int d, int64_t begin, int64_t end, int64_t *low)
{
    const int64_t first = target->first[d], step = target->step[d];
    *low = lw_divide_up(lw_max64(0, begin - first), step);
    return lw_min64(target->count[d], lw_divide_up(lw_max64(0, end - first), step)) - *low;
}

bool lw_cells_box(const struct lw_source *source, const struct lw_target *target, const int64_t *tile, const int64_t *begin,
                  const int64_t *end, struct lw_bytes_box *box, int64_t *from, int64_t *to)
{
    int64_t pitch[DIMS];
    int place = LW_BOX_DIMS - 1;
    lw_cells_pitch(source, pitch);
    *box = (struct lw_bytes_box){.count = {1, 1, 1}, .element_bytes = value_bytes(source)};
    *from = *to = 0;
    for (int d = DIMS - 1; d >= 0; d--) {
        int64_t low;
        const int64_t count = common(target, d, begin[d], end[d], &low);
        if (count <= 0)
            return false;
        *from += (target->first[d] + low * target->step[d] - tile[d]) * pitch[d];
        *to += low * target->pitch[d];
        if (count == 1)
            continue;
        box->count[place] = count;
        box->from[place] = target->step[d] * pitch[d];
        box->to[place--] = target->pitch[d];
    }
    return true;
}

static bool box_of(const struct lw_cells_read *read, const struct cell *cell, const struct lw_target *target,
                   struct lw_bytes_box *box, int64_t *from, int64_t *to)
{
    return lw_cells_box(read->cells->source, target, cell->tile, cell->begin, cell->end, box, from, to);
}

static bool is_wanted(const struct lw_cells_read *read, const struct cell *cell)
{
    struct lw_bytes_box box;
    int64_t from, to;
    for (int t = 0; t < read->n_targets; t++)
        if (box_of(read, cell, &read->targets[t], &box, &from, &to))
            return true;
    return false;
}

/* Copy a decoded chunk to all targets. @param samples  NULL: the chunk was never written, so every sample is the fill value */
static void copy_cell(const struct lw_cells_read *read, const struct cell *cell, const char *samples)
{
    for (int t = 0; t < read->n_targets; t++) {
        struct lw_bytes_box box;
        int64_t from, to;
        if (!box_of(read, cell, &read->targets[t], &box, &from, &to))
            continue;
        if (!samples)
            memset(box.from, 0, sizeof box.from);
        lw_bytes_copy_box(&box, samples ? samples + from : read->cells->source->stored.fill, read->targets[t].into + to);
    }
}

static int decode_cell(const struct lw_cells_read *read, const struct cell *cell, struct lw_error *err)
{
    const struct lw_stored *const stored = &read->cells->source->stored;
    const struct lw_stored_chunk *const chunk = cell->chunk;
    const char *samples;
    if (chunk->bytes > lw_decoder_room(&stored->filters))
        return lw_fail(err, LW_EDATA, "a chunk of %" PRId64 " bytes claims a stored size of %" PRId64,
                       stored->filters.chunk_bytes, chunk->bytes);
    struct lw_decoder *const decoder = lw_decoders_take(read->cells->decoders);
    int rc = lw_bytes_read(stored->fd, lw_decoder_stored(decoder), chunk->offset, chunk->bytes, err);
    if (rc == LW_OK && (rc = lw_decoder_decode(decoder, chunk->bytes, chunk->skipped, &samples, err)) == LW_OK)
        copy_cell(read, cell, samples);
    lw_decoders_give(read->cells->decoders, decoder);
    return rc;
}

static int read_cell(const struct lw_cells_read *read, const struct cell *cell, int thread, struct lw_error *err)
{
    const struct lw_cells *const cells = read->cells;
    const struct lw_target *const target = &read->targets[0];
    struct lw_bytes_box box;
    int64_t from, to;
    box_of(read, cell, target, &box, &from, &to);
    return lw_bytes_read_box(&box, cells->source->stored.fd, cell->chunk->offset + from, target->into + to,
                             cells->bounce ? cells->bounce + thread * cells->bounce_bytes : NULL, cells->bounce_bytes, err);
}

static int read_cell_by_format(const struct lw_cells_read *read, const struct cell *cell, struct lw_error *err)
{
    struct lw_target part = read->targets[0];
    for (int d = 0; d < DIMS; d++) {
        int64_t low;
        part.count[d] = common(&read->targets[0], d, cell->begin[d], cell->end[d], &low);
        part.first[d] += low * part.step[d];
        part.into += low * part.pitch[d];
    }
    return lw_source_read(read->cells->source, &part, err);
}

/* Write an error that names the cell's samples of the axis, or only the dataset. */
static int fail_cell(const struct lw_cells_read *read, const struct cell *cell, const struct lw_error *reason, struct lw_error *err)
{
    const struct lw_source *const source = read->cells->source;
    const int axis = read->cells->axis, d = axis >= 0 ? source->described_dim[axis] : 0;
    if (axis < 0)
        return lw_fail(err, reason->code, "cannot read %.600s: %.400s", lw_dataset_name(&source->described).text, reason->message);
    return lw_source_fail(source, cell->begin[d], lw_min64(cell->end[d], source->described.dims[d]), reason, err);
}

int lw_cells_do(void *context, int64_t number, int thread, struct lw_error *err)
{
    const struct lw_cells_read *const read = context;
    const struct cell cell = cell_number(read, number);
    struct lw_error reason = {0};
    int rc = lw_leave_check(err);
    if (rc || !is_wanted(read, &cell))
        return rc;
    if (read->cells->source->is_by_format)
        rc = read_cell_by_format(read, &cell, &reason);
    else if (cell.chunk->bytes == 0)
        copy_cell(read, &cell, NULL);
    else
        rc = read->cells->decoders ? decode_cell(read, &cell, &reason) : read_cell(read, &cell, thread, &reason);
    return rc ? fail_cell(read, &cell, &reason, err) : LW_OK;
}

/* ---- the read ------------------------------------------------------------------------------------------------------- */

/* Find the place of a tile's chunk in the file, unless no target touches the tile. */
static int find_chunk(struct lw_cells_read *read, int64_t number, struct lw_error *err)
{
    const struct lw_source *const source = read->cells->source;
    int64_t at[DIMS];
    struct cell cell;
    split_number(number, read->n_tiles, at);
    for (int d = 0; d < DIMS; d++) {
        cell.begin[d] = cell.tile[d] = (read->first_tile[d] + at[d]) * read->tile[d];
        cell.end[d] = cell.begin[d] + read->tile[d];
    }
    struct lw_error reason;
    if (!is_wanted(read, &cell) ||
        source->format->library->find_chunk(source->dataset, cell.begin, &read->places[number], &reason) == LW_OK)
        return LW_OK;
    return fail_cell(read, &cell, &reason, err);
}

int lw_cells_plan(const struct lw_cells *cells, struct lw_cells_read *read, struct lw_error *err)
{
    const struct lw_stored *const stored = &cells->source->stored;
    struct lw_error reason = {0};
    read->cells = cells;
    read->own_chunks = NULL;
    read->batch = (struct lw_batch){.lane = LW_LANE_READ, .work = lw_cells_do, .context = read};
    if (!cells->source->is_pooled) {
        const int rc = lw_source_read(cells->source, &read->targets[0], &reason);
        return rc ? fail_cell(read, NULL, &reason, err) : LW_OK;
    }
    find_cells(read);
    read->batch.n_pieces = lw_product64(read->n_cells, DIMS);
    if (!stored->is_chunked) {
        read->flat = (struct lw_stored_chunk){.offset = stored->offset, .bytes = 1};
        read->places = &read->flat;
        return LW_OK;
    }
    const int64_t n = lw_product64(read->n_tiles, DIMS);
    if (!read->chunks && !(read->own_chunks = lw_alloc_array(n, sizeof *read->own_chunks, "the places of chunks", err)))
        return LW_ESYSTEM;
    read->places = read->chunks ? read->chunks : read->own_chunks;
    int rc = LW_OK;
    for (int64_t t = 0; rc == LW_OK && t < n; t++)
        rc = find_chunk(read, t, err);
    return rc;
}

int lw_cells_begin(const struct lw_cells *cells, struct lw_cells_read *read, struct lw_error *err)
{
    const int rc = lw_cells_plan(cells, read, err);
    if (rc == LW_OK && cells->source->is_pooled)
        lw_pool_start(cells->source->pool, &read->batch);
    return rc;
}

int lw_cells_end(struct lw_cells_read *read, struct lw_error *err)
{
    const int rc = read->batch.is_started ? lw_pool_wait(read->cells->source->pool, &read->batch, err) : LW_OK;
    lw_free(read->own_chunks);
    read->own_chunks = NULL;
    return rc;
}
