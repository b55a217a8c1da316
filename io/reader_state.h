/* reader_state.h - inside of the reader, shared by reader.c (open, close), reader_view.c (select, read) and chunks.c. */
#ifndef LW_IO_READER_STATE_H
#define LW_IO_READER_STATE_H

#include "io/format.h"
#include "io/reader.h"

#include <stdbool.h>

/* How one read is made of file calls: of at most slow x fast samples of the view's two dimensions each.
 * `bounce_bytes` > 0: through the bounce buffer. */
struct calls {
    int64_t slow, fast;
    int64_t bounce_bytes;
};

/* Samples [first, first + count) of the view that are kept for the next read. */
struct lw_chunk_row {
    char *memory;               /* in the layout of a slab, with the channels between picked ones; NULL: none are kept */
    int64_t first, count;
    int64_t channel, n_channels;
};

struct lw_reader {
    struct lw_comm *comm;
    struct lw_pool *pool;       /* borrowed; NULL: the format's library reads */
    struct lw_dataset_info info;
    const struct lw_format *format;
    void *dataset;              /* the format's; NULL: not open */
    struct lw_view_spec view;
    struct calls calls;
    struct lw_chunk_row row;
    char *bounce;
    int fd;                     /* of the file, for lw_reader_locate; -1: not open */
    int64_t bytes_read;
};

/* Dimensions that are axis or channels. */
static inline int lw_view_dims(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    return reader->info.n_dims - (view->has_rows ? 1 : 0);
}

static inline bool lw_view_is_time_slow(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    return lw_view_dims(reader, view) == 2 && view->axis == 0;
}

/* Values in one sample of the view. */
static inline int64_t lw_view_row_length(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    return view->has_rows ? reader->info.dims[reader->info.n_dims - 1] : 1;
}

static inline int64_t lw_view_sample_bytes(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    return lw_view_row_length(reader, view) * (int64_t)lw_type_bytes(reader->info.type);
}

/* Whether channels are picked out of rows of all. */
static inline bool lw_view_picks(const struct lw_reader *reader, const struct lw_view_spec *view)
{
    return lw_view_is_time_slow(reader, view) && view->channels.step > 1;
}

/* Channels of the file from the first to the last of `n` of the view. */
static inline int64_t lw_view_extent(const struct lw_view_spec *view, int64_t n) { return (n - 1) * view->channels.step + 1; }

/* Copy every `step`-th sample of rows that are as long as `n_channels` are apart, to rows `pitch` samples apart. */
void lw_view_pick(const struct lw_reader *reader, const char *rows, int64_t n_rows, int64_t n_channels, char *into,
                  int64_t pitch);

/* Read part of the view by calls of the format. */
int lw_view_read(struct lw_reader *reader, const struct lw_slab *slab, struct lw_error *err);

#endif
