#include "io/read/slabs.h"

#include "base/memory.h"

#include <assert.h>

int lw_view_open(const struct lw_dataset_info *described, int least_dims, int most_dims, struct lw_pool *pool, struct lw_view **out,
                 struct lw_error *err)
{
    struct lw_view *const view = lw_alloc(sizeof *view, "the reader", err);
    if (!view)
        return LW_ESYSTEM;
    *view = (struct lw_view){0};
    const int rc = lw_source_open(described, least_dims, most_dims, pool, &view->source, err);
    if (rc)
        lw_view_close(view);
    else
        *out = view;
    return rc;
}

/* What select has made. */
static void release(struct lw_view *view)
{
    lw_pooled_release(view);
    lw_free(view->row.memory);
    lw_free(view->bounce);
    view->row = (struct lw_chunk_row){0};
    view->bounce = NULL;
}

void lw_view_close(struct lw_view *view)
{
    if (!view)
        return;
    release(view);
    lw_source_close(view->source);
    lw_free(view);
}

int64_t lw_view_bytes(const struct lw_source *source, const struct lw_view_spec *spec)
{
    const int64_t row = lw_view_is_chunked(source) && lw_view_keeps_chunks(source, spec) ? lw_view_kept_bytes(source, spec) : 0;
    return source->described.opened_bytes + row +
           (source->is_pooled ? lw_pooled_bytes(source, spec) : lw_library_bytes(source, spec));
}

int lw_view_select(struct lw_view *view, const struct lw_view_spec *spec, struct lw_error *err)
{
    const struct lw_source *const source = view->source;
    const int rc = lw_view_check(&source->info, spec, err);
    if (rc)
        return rc;
    assert(spec->max_axis > 0 && spec->max_channels > 0);
    release(view);
    view->spec = *spec;
    if (lw_view_is_chunked(source) && lw_view_keeps_chunks(source, spec) &&
        !(view->row.memory = lw_alloc((size_t)lw_view_kept_bytes(source, spec), "a row of chunks", err)))
        return LW_ESYSTEM;
    return source->is_pooled ? lw_pooled_select(view, err) : lw_library_select(view, err);
}

bool lw_view_locate(const struct lw_view *view, struct lw_reader_place *place)
{
    const struct lw_source *const source = view->source;
    const struct lw_view_spec *const spec = &view->spec;
    int64_t pitch[LW_MAX_DIMS];
    if (!source->is_pooled || source->stored.is_chunked || source->is_by_format)
        return false;
    lw_cells_pitch(source, pitch);
    const int64_t axis = pitch[source->described_dim[spec->axis]];
    const int64_t channel = lw_view_dims(source, spec) == 2 ? pitch[source->described_dim[1 - spec->axis]] : 0;
    *place = (struct lw_reader_place){
        .fd = source->stored.fd, .axis_bytes = axis, .channel_bytes = channel * spec->channels.step,
        .offset = source->stored.offset + spec->start * axis + spec->channels.begin * channel,
        .type = source->info.type, .packing = source->info.packing,
    };
    return true;
}

int lw_view_begin(struct lw_view *view, const struct lw_slab *slab, struct lw_error *err)
{
    assert(slab->count <= view->spec.max_axis && slab->n_channels <= view->spec.max_channels);
    assert(slab->count == 0 || slab->first + slab->count <= view->spec.count);
    return view->source->is_pooled ? lw_pooled_begin(view, slab, err) : lw_library_read(view, slab, err);
}

int lw_view_end(struct lw_view *view, struct lw_error *err)
{
    return view->source->is_pooled ? lw_pooled_end(view, err) : LW_OK;
}
