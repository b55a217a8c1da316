/* view.h - a view (reader.h) of one dataset of one file: its check, the cost of reading it, and reads slab by slab. */
#pragma once

#include "io/read/cells.h"
#include "io/read/reader.h"

/* The calls of the format that make up one read of a slab. Each call reads at most slow x fast samples of the view's slow and fast
 * dimension. If bounce_bytes is above 0, each call reads into a bounce buffer of this size first. */
struct lw_calls {
    int64_t slow, fast;
    int64_t bounce_bytes;
};

/* The row of chunks that is kept for the next read: samples [first, first + count) of the view. */
struct lw_chunk_row {
    char *memory;               /* laid out as a slab; a library's row also has channels between the picked ones; NULL: none */
    int64_t first, count;
    int64_t channel, n_channels;
};

/* An open dataset and its view. */
struct lw_view {
    struct lw_source *source;   /* owned */
    struct lw_view_spec spec;
    struct lw_chunk_row row;

    struct lw_calls calls;      /* used where the format's library reads */
    char *bounce;

    struct lw_cells cells;      /* used where a pool's threads read */
    struct lw_cells_read read;
};

/** Check a view of the dataset that `info` describes. Errors: those of lw_reader_check. */
int lw_view_check(const struct lw_dataset_info *info, const struct lw_view_spec *view, struct lw_error *err);

/* Return whether the channels of a sample lie side by side in the file. */
static inline bool lw_view_is_time_slow(const struct lw_source *source, const struct lw_view_spec *view)
{
    return source->info.n_dims - (view->has_rows ? 1 : 0) == 2 && view->axis == 0;
}

/* Return the number of values in one sample of the view: the pixels of a row, or 1. */
static inline int64_t lw_view_row_length(const struct lw_source *source, const struct lw_view_spec *view)
{
    return view->has_rows ? source->info.dims[source->info.n_dims - 1] : 1;
}

static inline int64_t lw_view_sample_bytes(const struct lw_source *source, const struct lw_view_spec *view)
{
    return lw_view_row_length(source, view) * (int64_t)lw_type_bytes(source->info.type);
}

/* ---- open, choose, read: for one file, what the functions lw_reader_... of reader.h do for all ---- */

/** Open a described dataset. Errors: those of lw_source_open. */
int lw_view_open(const struct lw_dataset_info *described, int least_dims, int most_dims, struct lw_pool *pool, struct lw_view **out,
                 struct lw_error *err);
void lw_view_close(struct lw_view *view);                   /* waits for a read under way; NULL is legal */

int lw_view_select(struct lw_view *view, const struct lw_view_spec *spec, struct lw_error *err);
int64_t lw_view_bytes(const struct lw_source *source, const struct lw_view_spec *spec);
bool lw_view_locate(const struct lw_view *view, struct lw_reader_place *place);

int lw_view_begin(struct lw_view *view, const struct lw_slab *slab, struct lw_error *err);
int lw_view_end(struct lw_view *view, struct lw_error *err);

int64_t lw_view_chunk_width(const struct lw_source *source, const struct lw_view_spec *view);
struct lw_chunk_cost lw_view_chunk_cost(const struct lw_source *source, const struct lw_view_spec *view,
                                        const struct lw_reads *reads);
