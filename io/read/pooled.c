/* pooled.c - reading a view by the threads of a pool (cells.h).
 *
 *     axis      |       chunks       |       chunks       |       chunks       |
 *     reads     |       0       |       1       |       2       |
 *     row       .               |kept|          .               that of read 0 goes to read 1, which decodes the second chunks
 *                                                               and keeps the rest of them for read 2
 *
 * The main thread looks up where the chunks of a slab are, copies what is kept, and starts the batch. */
#include "io/read/slabs.h"

#include "base/integers.h"
#include "base/memory.h"

#include <string.h>

#define MIB ((int64_t)1 << 20)

/* What one thread reads at a time: several pieces of a read for each, as long as no storage needs them longer; where it goes
 * through a buffer, no more than a cache holds. */
#define LEAST_CELL_BYTES (MIB / 4)
#define MOST_CELL_BYTES (4 * MIB)
#define BOUNCE_BYTES MIB
enum { PIECES_PER_THREAD = 4 };

/* ---- select --------------------------------------------------------------------------------------------------------- */

/* Whether short pieces are read, for a slab that is longer than the read. */
static bool needs_bounce(const struct lw_source *source, const struct lw_view_spec *spec)
{
    const struct lw_slab largest = {.count = spec->max_axis, .n_channels = spec->max_channels, .into_axis = spec->max_axis + 1};
    struct lw_target target = lw_view_target(source, spec, &largest);
    struct lw_bytes_box box;
    int64_t begin[LW_MAX_DIMS] = {0}, end[LW_MAX_DIMS], from, to;
    memset(target.first, 0, sizeof target.first);
    for (int d = 0; d < LW_MAX_DIMS; d++)
        end[d] = lw_cells_tile(source, d);
    lw_cells_box(source, &target, begin, begin, end, &box, &from, &to);
    return lw_bytes_box_bounces(&box);
}

/* What does not depend on the read. */
static struct lw_cells plan(const struct lw_source *source, const struct lw_view_spec *spec)
{
    struct lw_cells cells = {.source = source, .axis = spec->axis};
    if (lw_source_decodes(source))
        return cells;
    const int64_t samples = spec->max_axis * spec->max_channels, pieces = PIECES_PER_THREAD * lw_pool_threads(source->pool);
    cells.bounce_bytes = !source->is_by_format && needs_bounce(source, spec) ? BOUNCE_BYTES : 0;
    cells.most_bytes = lw_max64(LEAST_CELL_BYTES, lw_min64(MOST_CELL_BYTES, samples / pieces * lw_view_sample_bytes(source, spec)));
    if (cells.bounce_bytes > 0)
        cells.most_bytes = lw_min64(cells.most_bytes, BOUNCE_BYTES);
    return cells;
}

static int64_t count_tiles(const struct lw_source *source, const struct lw_view_spec *spec)
{
    return source->stored.is_chunked ? lw_view_chunks_touched(source, spec) : 1;
}

int64_t lw_pooled_bytes(const struct lw_source *source, const struct lw_view_spec *spec)
{
    const int64_t chunks = count_tiles(source, spec) * (int64_t)sizeof(struct lw_stored_chunk);
    if (lw_source_decodes(source))
        return chunks + lw_decoders_bytes(&source->stored.filters, lw_view_decoders(source, spec));
    return chunks + plan(source, spec).bounce_bytes * lw_pool_threads(source->pool);
}

void lw_pooled_release(struct lw_view *view)
{
    if (view->read.cells)
        lw_cells_end(&view->read, NULL);
    lw_cells_release(&view->cells);
    lw_free(view->read.chunks);
    view->read = (struct lw_cells_read){0};
}

int lw_pooled_select(struct lw_view *view, struct lw_error *err)
{
    const struct lw_source *const source = view->source;
    view->cells = plan(source, &view->spec);
    if (source->stored.is_chunked && !(view->read.chunks = lw_alloc_array(count_tiles(source, &view->spec),
                                                                          sizeof *view->read.chunks, "the places of chunks", err)))
        return LW_ESYSTEM;
    return lw_cells_create(&view->cells, lw_source_decodes(source) ? lw_view_decoders(source, &view->spec) : 0, err);
}

/* ---- read ----------------------------------------------------------------------------------------------------------- */

/* Take the beginning of a slab from the row, should it be there. */
static void take_kept(const struct lw_view *view, struct lw_slab *slab)
{
    struct lw_slab part = *slab;
    if (!lw_view_holds(view, slab, slab->first))
        return;
    part.count = lw_min64(slab->count, view->row.first + view->row.count - slab->first);
    lw_view_copy_kept(view, &part);
    slab->first += part.count;
    slab->into_first += part.count;
    slab->count -= part.count;
}

/* Make the row that of what is behind the end of a slab in its last chunks; nothing, should it end where they do. */
static void keep_rest(struct lw_view *view, const struct lw_slab *slab)
{
    const struct lw_view_spec *const spec = &view->spec;
    const int64_t end = slab->first + slab->count;
    const int64_t next = lw_round_up(spec->start + end, lw_view_chunk_height(view->source, spec)) - spec->start;
    view->row = (struct lw_chunk_row){.memory = view->row.memory, .first = end, .count = lw_min64(next, spec->count) - end,
                                      .channel = slab->channel, .n_channels = slab->n_channels};
    const struct lw_slab row = lw_view_kept_slab(view);
    if (row.count > 0)
        view->read.targets[view->read.n_targets++] = lw_view_target(view->source, spec, &row);
}

int lw_pooled_begin(struct lw_view *view, const struct lw_slab *slab, struct lw_error *err)
{
    struct lw_slab rest = *slab;
    if (rest.count > 0 && view->row.memory)
        take_kept(view, &rest);
    if (rest.count == 0 || rest.n_channels == 0)
        return LW_OK;
    view->read.targets[0] = lw_view_target(view->source, &view->spec, &rest);
    view->read.n_targets = 1;
    if (view->row.memory)
        keep_rest(view, &rest);
    const int rc = lw_cells_begin(&view->cells, &view->read, err);
    if (rc)
        view->row.count = 0;
    return rc;
}

int lw_pooled_end(struct lw_view *view, struct lw_error *err)
{
    const int rc = lw_cells_end(&view->read, err);
    if (rc)
        view->row.count = 0;
    return rc;
}
