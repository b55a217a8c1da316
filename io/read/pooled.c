#include "io/read/pooled.h"

#include "base/integers.h"
#include "base/leave.h"
#include "base/memory.h"
#include "io/bytes/box.h"
#include "io/bytes/transfer.h"
#include "io/read/chunks.h"

#include <inttypes.h>
#include <string.h>

#define MIB ((int64_t)1 << 20)

/* What one thread reads at a time: several pieces of a read for each, as long as no storage needs them longer; where it goes
 * through a buffer, no more than a cache holds. */
#define LEAST_CELL_BYTES (MIB / 4)
#define MOST_CELL_BYTES (4 * MIB)
#define BOUNCE_BYTES MIB
enum { PIECES_PER_THREAD = 4 };

/* Chunks being decoded, of all threads together. One is, whatever its size. */
#define DECODING_BYTES (128 * MIB)

enum { DIMS = 3 };

/* ---- sizes ---------------------------------------------------------------------------------------------------------- */

/* Of the dimensions that the dataset has, the view's [slow][fast][pixel]; `size` holds 1 for the others. */
static void in_view(const struct lw_source *source, const struct lw_view_spec *view, const int64_t *dims, int64_t size[DIMS])
{
    const int skip = 2 - lw_view_dims(source, view);
    for (int d = 0; d < DIMS; d++)
        size[d] = d < skip || d - skip >= source->info.n_dims ? 1 : dims[d - skip];
}

static int axis_of(const struct lw_source *source, const struct lw_view_spec *view)
{
    return lw_view_is_time_slow(source, view) ? 0 : 1;
}

static int64_t value_bytes(const struct lw_source *source)
{
    return (int64_t)lw_type_bytes(source->info.type);
}

/* Bytes from one sample of a tile to the next in each dimension. */
static void tile_pitch(const struct lw_source *source, const int64_t tile[DIMS], int64_t pitch[DIMS])
{
    pitch[2] = value_bytes(source);
    pitch[1] = tile[2] * pitch[2];
    pitch[0] = tile[1] * pitch[1];
}

/* The most that a read takes of a tile, what is between picked channels included. */
static void most_of_tile(const struct lw_source *source, const struct lw_view_spec *view, const int64_t tile[DIMS],
                         int64_t most[DIMS])
{
    const int axis = axis_of(source, view);
    most[axis] = min64(tile[axis], view->max_axis);
    most[1 - axis] = min64(tile[1 - axis], lw_view_extent(view, view->max_channels));
    most[2] = tile[2];
}

/* Whether short pieces are read, for a slab that is longer than the read. */
static bool needs_bounce(const struct lw_source *source, const struct lw_view_spec *view, const int64_t tile[DIMS])
{
    const int axis = axis_of(source, view);
    struct lw_bytes_box box = {.element_bytes = value_bytes(source)};
    most_of_tile(source, view, tile, box.count);
    tile_pitch(source, tile, box.from);
    box.from[1 - axis] *= view->channels.step;
    box.to[2] = box.element_bytes;
    box.to[1] = lw_view_sample_bytes(source, view);
    box.to[0] = axis == 0 ? view->max_channels * box.to[1] : (view->max_axis + 1) * box.to[1];
    return lw_bytes_box_bounces(&box);
}

/* Samples of a tile that one thread reads at a time: long ones of the fast dimension, and as many side by side as lie in so
 * many bytes, with what lies between them where that is little. */
static void choose_cell(const struct lw_source *source, const struct lw_view_spec *view, const int64_t tile[DIMS], int64_t bytes,
                        int64_t cell[DIMS])
{
    enum { NEAR_BYTES = 4096 };
    int64_t most[DIMS], pitch[DIMS];
    most_of_tile(source, view, tile, most);
    tile_pitch(source, tile, pitch);
    cell[2] = max64(1, min64(most[2], bytes / pitch[2]));
    cell[1] = max64(1, min64(most[1], bytes / pitch[1]));
    const int64_t row = cell[1] * pitch[1];
    cell[0] = max64(1, min64(most[0], bytes / (pitch[0] - row <= NEAR_BYTES ? pitch[0] : row)));
}

static int64_t cell_bytes(const struct lw_source *source, const struct lw_view_spec *view)
{
    const int64_t samples = view->max_axis * view->max_channels;
    const int64_t bytes = lw_view_sample_bytes(source, view), pieces = PIECES_PER_THREAD * lw_pool_threads(source->pool);
    return max64(LEAST_CELL_BYTES, min64(MOST_CELL_BYTES, samples / pieces * bytes));
}

/* What does not depend on the read. */
static struct lw_direct plan(const struct lw_source *source, const struct lw_view_spec *view)
{
    struct lw_direct plan = {.is_on = true, .is_by_format = source->direct.is_by_format, .stored = source->direct.stored};
    in_view(source, view, source->info.dims, plan.dims);
    in_view(source, view, plan.stored.is_chunked ? source->info.chunk : source->info.dims, plan.tile);
    if (lw_direct_decodes(source)) {
        memcpy(plan.cell, plan.tile, sizeof plan.cell);
        return plan;
    }
    plan.bounce_bytes = !plan.is_by_format && needs_bounce(source, view, plan.tile) ? BOUNCE_BYTES : 0;
    const int64_t bytes = cell_bytes(source, view);
    choose_cell(source, view, plan.tile, plan.bounce_bytes > 0 ? min64(bytes, BOUNCE_BYTES) : bytes, plan.cell);
    return plan;
}

static int64_t count_tiles(const struct lw_source *source, const struct lw_view_spec *view)
{
    return source->direct.stored.is_chunked ? lw_chunks_touched(source, view) : 1;
}

bool lw_direct_decodes(const struct lw_source *source)
{
    return source->direct.is_on && source->direct.stored.filters.n > 0;
}

int lw_direct_decoders(const struct lw_source *source, const struct lw_view_spec *view)
{
    const int64_t room = max64(1, DECODING_BYTES / lw_decoder_bytes(&source->direct.stored.filters));
    return (int)min64(lw_pool_threads(source->pool), min64(room, count_tiles(source, view)));
}

int64_t lw_direct_bytes(const struct lw_source *source, const struct lw_view_spec *view)
{
    const int64_t chunks = count_tiles(source, view) * (int64_t)sizeof(struct lw_stored_chunk);
    if (lw_direct_decodes(source))
        return chunks + lw_decoders_bytes(&source->direct.stored.filters, lw_direct_decoders(source, view));
    return chunks + plan(source, view).bounce_bytes * lw_pool_threads(source->pool);
}

/* ---- select --------------------------------------------------------------------------------------------------------- */

void lw_direct_use(struct lw_source *source)
{
    struct lw_direct *const direct = &source->direct;
    const struct lw_format *const format = source->format;
    if (source->fd >= 0) {
        *direct = (struct lw_direct){.is_on = true, .stored = {.fd = source->fd, .offset = source->described.flat_offset}};
        return;
    }
    const bool is_located = source->pool && format->locate && format->locate(source->dataset, &direct->stored);
    direct->is_by_format = source->pool && !is_located && format->reads_in_threads;
    direct->is_on = is_located || direct->is_by_format;
    if (direct->is_by_format)
        direct->stored = (struct lw_stored){.fd = -1};
}

void lw_direct_release(struct lw_source *source)
{
    struct lw_direct *const direct = &source->direct;
    if (direct->batch.is_started)
        lw_pool_wait(source->pool, &direct->batch, NULL);
    lw_decoders_destroy(direct->decoders);
    lw_free(direct->bounce);
    lw_free(direct->chunks);
    direct->decoders = NULL;
    direct->bounce = NULL;
    direct->chunks = NULL;
}

int lw_direct_select(struct lw_source *source, struct lw_error *err)
{
    const struct lw_view_spec *const view = &source->view;
    struct lw_direct *const direct = &source->direct;
    lw_direct_release(source);
    *direct = plan(source, view);
    if (!(direct->chunks = lw_alloc_array(count_tiles(source, view), sizeof *direct->chunks, "the places of chunks", err)))
        return LW_ESYSTEM;
    if (lw_direct_decodes(source))
        return lw_decoders_create(&direct->stored.filters, lw_direct_decoders(source, view), &direct->decoders, err);
    const int64_t bytes = direct->bounce_bytes * lw_pool_threads(source->pool);
    if (bytes > 0 && !(direct->bounce = lw_alloc((size_t)bytes, "short pieces of a file", err)))
        return LW_ESYSTEM;
    return LW_OK;
}

bool lw_direct_locate(const struct lw_source *source, struct lw_reader_place *place)
{
    const struct lw_direct *const direct = &source->direct;
    const struct lw_view_spec *const view = &source->view;
    const int axis = axis_of(source, view);
    int64_t pitch[DIMS];
    if (direct->stored.is_chunked || direct->is_by_format)
        return false;
    tile_pitch(source, direct->tile, pitch);
    *place = (struct lw_reader_place){
        .fd = direct->stored.fd, .axis_bytes = pitch[axis], .channel_bytes = pitch[1 - axis] * view->channels.step,
        .offset = direct->stored.offset + view->start * pitch[axis] + view->channels.begin * pitch[1 - axis],
        .type = source->info.type, .packing = source->info.packing,
    };
    return true;
}

/* ---- what a read takes ---------------------------------------------------------------------------------------------- */

static struct lw_target target_of(const struct lw_source *source, const struct lw_slab *slab)
{
    const struct lw_view_spec *const view = &source->view;
    const int axis = axis_of(source, view), channel = 1 - axis;
    const int64_t bytes = lw_view_sample_bytes(source, view);
    struct lw_target target = {.step = {1, 1, 1}, .count = {1, 1, lw_view_row_length(source, view)}};
    target.first[axis] = view->start + slab->first;
    target.count[axis] = slab->count;
    target.first[channel] = view->channels.begin + slab->channel * view->channels.step;
    target.step[channel] = view->channels.step;
    target.count[channel] = slab->n_channels;
    target.pitch[2] = value_bytes(source);
    target.pitch[1] = bytes;
    target.pitch[0] = (axis == 0 ? slab->n_channels : slab->into_axis) * bytes;
    target.into = (char *)slab->into + slab->into_first * target.pitch[axis];
    return target;
}

static int64_t last_of(const struct lw_target *target, int d)
{
    return target->first[d] + (target->count[d] - 1) * target->step[d];
}

/* Cells are numbered from the dataset's first sample on; none reaches from one tile to the next. */
static int64_t cells_per_tile(const struct lw_direct *direct, int d)
{
    return divide_up(direct->tile[d], direct->cell[d]);
}

static int64_t cell_of(const struct lw_direct *direct, int d, int64_t position)
{
    return position / direct->tile[d] * cells_per_tile(direct, d) + position % direct->tile[d] / direct->cell[d];
}

/* From the first to the last sample of all targets. */
static void find_cells(struct lw_direct *direct)
{
    for (int d = 0; d < DIMS; d++) {
        int64_t first = direct->targets[0].first[d], last = last_of(&direct->targets[0], d);
        for (int t = 1; t < direct->n_targets; t++) {
            first = min64(first, direct->targets[t].first[d]);
            last = max64(last, last_of(&direct->targets[t], d));
        }
        direct->first_cell[d] = cell_of(direct, d, first);
        direct->n_cells[d] = cell_of(direct, d, last) + 1 - direct->first_cell[d];
        direct->first_tile[d] = first / direct->tile[d];
        direct->n_tiles[d] = last / direct->tile[d] + 1 - direct->first_tile[d];
    }
}

/* Number n of a box of n_all[], row-major. */
static void split_number(int64_t n, const int64_t n_all[DIMS], int64_t at[DIMS])
{
    for (int d = DIMS - 1; d >= 0; d--) {
        at[d] = n % n_all[d];
        n /= n_all[d];
    }
}

/* ---- one cell ------------------------------------------------------------------------------------------------------- */

struct cell {
    const struct lw_stored_chunk *chunk;    /* of its tile */
    int64_t tile[DIMS];                     /* where that begins */
    int64_t begin[DIMS], end[DIMS];         /* samples of the dataset */
};

static struct cell cell_number(const struct lw_direct *direct, int64_t number)
{
    struct cell cell;
    int64_t at[DIMS], chunk = 0;
    split_number(number, direct->n_cells, at);
    for (int d = 0; d < DIMS; d++) {
        const int64_t n = cells_per_tile(direct, d), c = direct->first_cell[d] + at[d];
        cell.tile[d] = c / n * direct->tile[d];
        cell.begin[d] = cell.tile[d] + c % n * direct->cell[d];
        cell.end[d] = min64(cell.begin[d] + direct->cell[d], cell.tile[d] + direct->tile[d]);
        chunk = chunk * direct->n_tiles[d] + c / n - direct->first_tile[d];
    }
    cell.chunk = &direct->chunks[chunk];
    return cell;
}

/* What a target takes of samples [begin, end): those of its own from `low` on. @return  how many */
static int64_t common(const struct lw_target *target, int d, int64_t begin, int64_t end, int64_t *low)
{
    const int64_t first = target->first[d], step = target->step[d];
    *low = divide_up(max64(0, begin - first), step);
    return min64(target->count[d], divide_up(max64(0, end - first), step)) - *low;
}

/* What a target takes of a cell, as a box of bytes. @return  whether it takes anything
 * @param from, to  set to where the box begins, from the beginnings of tile and target on */
static bool box_of(const struct lw_source *source, const struct cell *cell, const struct lw_target *target,
                   struct lw_bytes_box *box, int64_t *from, int64_t *to)
{
    int64_t pitch[DIMS];
    tile_pitch(source, source->direct.tile, pitch);
    box->element_bytes = value_bytes(source);
    *from = *to = 0;
    for (int d = 0; d < DIMS; d++) {
        int64_t low;
        box->count[d] = common(target, d, cell->begin[d], cell->end[d], &low);
        if (box->count[d] <= 0)
            return false;
        box->from[d] = target->step[d] * pitch[d];
        box->to[d] = target->pitch[d];
        *from += (target->first[d] + low * target->step[d] - cell->tile[d]) * pitch[d];
        *to += low * target->pitch[d];
    }
    return true;
}

static bool is_wanted(const struct lw_source *source, const struct cell *cell)
{
    struct lw_bytes_box box;
    int64_t from, to;
    for (int t = 0; t < source->direct.n_targets; t++)
        if (box_of(source, cell, &source->direct.targets[t], &box, &from, &to))
            return true;
    return false;
}

/* From a decoded chunk to all targets; from the one sample of the fill value, should there be no chunk. */
static void copy_cell(const struct lw_source *source, const struct cell *cell, const char *samples)
{
    const struct lw_direct *const direct = &source->direct;
    for (int t = 0; t < direct->n_targets; t++) {
        struct lw_bytes_box box;
        int64_t from, to;
        if (!box_of(source, cell, &direct->targets[t], &box, &from, &to))
            continue;
        if (!samples) {
            memset(box.from, 0, sizeof box.from);
            lw_bytes_copy_box(&box, direct->stored.fill, direct->targets[t].into + to);
        } else {
            lw_bytes_copy_box(&box, samples + from, direct->targets[t].into + to);
        }
    }
}

static int decode(const struct lw_source *source, const struct cell *cell, struct lw_decoder *decoder, struct lw_error *err)
{
    const struct lw_direct *const direct = &source->direct;
    const struct lw_stored_chunk *const chunk = cell->chunk;
    const char *samples;
    int rc;
    if ((rc = lw_bytes_read(direct->stored.fd, lw_decoder_stored(decoder), chunk->offset, chunk->bytes, err)) ||
        (rc = lw_decoder_decode(decoder, chunk->bytes, chunk->skipped, &samples, err)))
        return rc;
    copy_cell(source, cell, samples);
    return LW_OK;
}

static int decode_cell(const struct lw_source *source, const struct cell *cell, struct lw_error *err)
{
    const struct lw_direct *const direct = &source->direct;
    if (cell->chunk->bytes > lw_decoder_room(&direct->stored.filters))
        return lw_fail(err, LW_EDATA, "a chunk of %" PRId64 " bytes claims to be stored in %" PRId64,
                       direct->stored.filters.chunk_bytes, cell->chunk->bytes);
    struct lw_decoder *const decoder = lw_decoders_take(direct->decoders);
    const int rc = decode(source, cell, decoder, err);
    lw_decoders_give(direct->decoders, decoder);
    return rc;
}

static int read_cell(const struct lw_source *source, const struct cell *cell, int thread, struct lw_error *err)
{
    const struct lw_direct *const direct = &source->direct;
    const struct lw_target *const target = &direct->targets[0];
    struct lw_bytes_box box;
    int64_t from, to;
    box_of(source, cell, target, &box, &from, &to);
    return lw_bytes_read_box(&box, direct->stored.fd, cell->chunk->offset + from, target->into + to,
                             direct->bounce ? direct->bounce + thread * direct->bounce_bytes : NULL, direct->bounce_bytes, err);
}

/* The format takes boxes of the dataset's own dimensions. */
static int read_cell_by_format(const struct lw_source *source, const struct cell *cell, struct lw_error *err)
{
    const struct lw_target *const target = &source->direct.targets[0];
    const int skip = 2 - lw_view_dims(source, &source->view);
    struct lw_bytes_box bytes;
    struct lw_box box = {0};
    int64_t from, to;
    box_of(source, cell, target, &bytes, &from, &to);
    for (int d = skip; d < DIMS && d - skip < source->info.n_dims; d++) {
        int64_t low;
        box.count[d - skip] = common(target, d, cell->begin[d], cell->end[d], &low);
        box.first[d - skip] = target->first[d] + low * target->step[d];
        box.step[d - skip] = target->step[d];
    }
    box.n_runs = bytes.count[0];
    box.run = bytes.count[1] * bytes.count[2];
    box.pitch = target->pitch[0] / bytes.element_bytes;
    box.into = target->into + to;
    return lw_source_read_box(source, &box, err);
}

/* Names the samples on the axis that the cell holds. */
static int fail_cell(const struct lw_source *source, const struct cell *cell, const struct lw_error *reason, struct lw_error *err)
{
    const int axis = axis_of(source, &source->view);
    return lw_view_fail(source, cell->begin[axis], min64(cell->end[axis], source->direct.dims[axis]), reason, err);
}

static int do_cell(void *context, int64_t number, int thread, struct lw_error *err)
{
    const struct lw_source *const source = context;
    const struct cell cell = cell_number(&source->direct, number);
    struct lw_error reason;
    int rc = lw_leave_check(err);
    if (rc || !is_wanted(source, &cell))
        return rc;
    if (source->direct.is_by_format)
        rc = read_cell_by_format(source, &cell, &reason);
    else if (cell.chunk->bytes == 0)
        copy_cell(source, &cell, NULL);
    else
        rc = lw_direct_decodes(source) ? decode_cell(source, &cell, &reason) : read_cell(source, &cell, thread, &reason);
    return rc ? fail_cell(source, &cell, &reason, err) : LW_OK;
}

/* ---- the read ------------------------------------------------------------------------------------------------------- */

/* The chunk of a tile, as a cell of its own; those that no target touches are not looked for. */
static int find_chunk(struct lw_source *source, int64_t number, struct lw_error *err)
{
    struct lw_direct *const direct = &source->direct;
    const int skip = 2 - lw_view_dims(source, &source->view);
    int64_t at[DIMS], first[LW_MAX_DIMS] = {0};     /* those that were squeezed out begin at 0 */
    struct cell cell;
    split_number(number, direct->n_tiles, at);
    for (int d = 0; d < DIMS; d++) {
        cell.begin[d] = (direct->first_tile[d] + at[d]) * direct->tile[d];
        cell.tile[d] = cell.begin[d];
        cell.end[d] = cell.begin[d] + direct->tile[d];
        if (d >= skip && d - skip < source->info.n_dims)
            first[source->described_dim[d - skip]] = cell.begin[d];
    }
    struct lw_error reason;
    if (!is_wanted(source, &cell) ||
        source->format->library->find_chunk(source->dataset, first, &direct->chunks[number], &reason) == LW_OK)
        return LW_OK;
    return fail_cell(source, &cell, &reason, err);
}

static int find_tiles(struct lw_source *source, struct lw_error *err)
{
    struct lw_direct *const direct = &source->direct;
    const int64_t n = direct->n_tiles[0] * direct->n_tiles[1] * direct->n_tiles[2];
    int rc = LW_OK;
    if (!direct->stored.is_chunked)
        direct->chunks[0] = (struct lw_stored_chunk){.offset = direct->stored.offset, .bytes = 1};
    else
        for (int64_t t = 0; rc == LW_OK && t < n; t++)
            rc = find_chunk(source, t, err);
    return rc;
}

static struct lw_slab slab_of_row(const struct lw_chunk_row *row)
{
    return (struct lw_slab){.first = row->first, .count = row->count, .channel = row->channel, .n_channels = row->n_channels,
                            .into = row->memory, .into_axis = row->count};
}

/* Take the beginning of a slab from the row, should it be there. */
static void take_kept(const struct lw_source *source, struct lw_slab *slab)
{
    const struct lw_chunk_row *const row = &source->row;
    if (slab->first < row->first || slab->first >= row->first + row->count || slab->channel != row->channel ||
        slab->n_channels != row->n_channels)
        return;
    const struct lw_slab kept = slab_of_row(row);
    const struct lw_target from = target_of(source, &kept), to = target_of(source, slab);
    const int axis = axis_of(source, &source->view);
    struct lw_bytes_box box = {.element_bytes = value_bytes(source)};
    memcpy(box.count, to.count, sizeof box.count);
    memcpy(box.from, from.pitch, sizeof box.from);
    memcpy(box.to, to.pitch, sizeof box.to);
    box.count[axis] = min64(slab->count, row->first + row->count - slab->first);
    lw_bytes_copy_box(&box, from.into + (slab->first - row->first) * from.pitch[axis], to.into);
    slab->first += box.count[axis];
    slab->into_first += box.count[axis];
    slab->count -= box.count[axis];
}

/* Make the row that of what is behind the end of a slab in its last chunks; nothing, should it end where they do. */
static void keep_rest(struct lw_source *source, const struct lw_slab *slab)
{
    const struct lw_view_spec *const view = &source->view;
    struct lw_direct *const direct = &source->direct;
    const int64_t end = slab->first + slab->count;
    const int64_t next = round_up(view->start + end, direct->tile[axis_of(source, view)]) - view->start;
    source->row = (struct lw_chunk_row){.memory = source->row.memory, .first = end, .count = min64(next, view->count) - end,
                                        .channel = slab->channel, .n_channels = slab->n_channels};
    const struct lw_slab row = slab_of_row(&source->row);
    if (row.count > 0)
        direct->targets[direct->n_targets++] = target_of(source, &row);
}

int lw_direct_begin(struct lw_source *source, const struct lw_slab *slab, struct lw_error *err)
{
    struct lw_direct *const direct = &source->direct;
    struct lw_slab rest = *slab;
    if (rest.count > 0 && source->row.memory)
        take_kept(source, &rest);
    if (rest.count == 0 || rest.n_channels == 0)
        return LW_OK;
    direct->targets[0] = target_of(source, &rest);
    direct->n_targets = 1;
    if (source->row.memory)
        keep_rest(source, &rest);
    find_cells(direct);
    const int rc = find_tiles(source, err);
    if (rc) {
        source->row.count = 0;
        return rc;
    }
    direct->batch = (struct lw_batch){.lane = LW_LANE_READ, .work = do_cell, .context = source,
                                      .n_pieces = direct->n_cells[0] * direct->n_cells[1] * direct->n_cells[2]};
    lw_pool_start(source->pool, &direct->batch);
    return LW_OK;
}

int lw_direct_end(struct lw_source *source, struct lw_error *err)
{
    const int rc = source->direct.batch.is_started ? lw_pool_wait(source->pool, &source->direct.batch, err) : LW_OK;
    if (rc)
        source->row.count = 0;
    return rc;
}
