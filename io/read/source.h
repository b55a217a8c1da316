/* source.h - one dataset of one file, open on this rank: source.c (open, close), view.c (select, read), chunks.c (the format's
 * library reads) and direct.c (a pool's threads do). A reader has one for each file that it reads at the moment. */
#ifndef LW_IO_READ_SOURCE_H
#define LW_IO_READ_SOURCE_H

#include "io/format.h"
#include "io/read/pooled.h"
#include "io/read/reader.h"

#include <stdbool.h>

/* How one read is made of file calls: of at most slow x fast samples of the view's two dimensions each.
 * `bounce_bytes` > 0: through the bounce buffer. */
struct calls {
    int64_t slow, fast;
    int64_t bounce_bytes;
};

/* Samples [first, first + count) of the view that are kept for the next read. */
struct lw_chunk_row {
    char *memory;               /* in the layout of a slab, from the library with the channels between picked ones; NULL: none
                                   are kept */
    int64_t first, count;
    int64_t channel, n_channels;
};

struct lw_source {
    struct lw_pool *pool;       /* borrowed; NULL: the format's library reads */
    struct lw_dataset_info described;       /* as its format has it */
    struct lw_dataset_info info;            /* without dimensions of length 1, where there were too many */
    int described_dim[LW_MAX_DIMS];         /* dimension of `described` that each of `info` is */
    const struct lw_format *format;         /* NULL: the samples lie flat, and only their place is needed */
    void *dataset;              /* the format's; NULL: not open */
    int fd;                     /* of a flat file; -1: none */
    struct lw_view_spec view;
    struct calls calls;
    struct lw_chunk_row row;
    struct lw_direct direct;
    char *bounce;
};

/** Leave out dimensions of length 1, of data with more than `most` dimensions, as long as there are more than `least`.
 * @param described_dim  set for each dimension that is left; may be NULL */
void lw_source_squeeze(struct lw_dataset_info *info, int least, int most, int described_dim[LW_MAX_DIMS]);

/** Open what was described, for reading on this rank. Errors: lw_formats_find, lw_format.open. @param pool  as for lw_reader_use */
int lw_source_open(const struct lw_dataset_info *described, int least_dims, int most_dims, struct lw_pool *pool,
                   struct lw_source **out, struct lw_error *err);
void lw_source_close(struct lw_source *source);             /* waits for a read under way; NULL is legal */
void lw_source_use(struct lw_source *source, struct lw_pool *pool);

/* As the functions of io/read/reader.h that are called alike. */
int lw_source_select(struct lw_source *source, const struct lw_view_spec *view, struct lw_error *err);
int64_t lw_source_bytes(const struct lw_source *source, const struct lw_view_spec *view);
int64_t lw_source_chunk_width(const struct lw_source *source, const struct lw_view_spec *view);
struct lw_chunk_cost lw_source_chunk_cost(const struct lw_source *source, const struct lw_view_spec *view,
                                          const struct lw_reads *reads);
int lw_source_begin(struct lw_source *source, const struct lw_slab *slab, struct lw_error *err);
int lw_source_end(struct lw_source *source, struct lw_error *err);

/** lw_format.read of a box of `info`. Any thread may call where lw_direct.is_by_format says so. */
int lw_source_read_box(const struct lw_source *source, const struct lw_box *box, struct lw_error *err);

/** lw_reader_check, of the dataset that `info` tells of. */
int lw_view_check(const struct lw_dataset_info *info, const struct lw_view_spec *view, struct lw_error *err);

/* Dimensions that are axis or channels. */
static inline int lw_view_dims(const struct lw_source *source, const struct lw_view_spec *view)
{
    return source->info.n_dims - (view->has_rows ? 1 : 0);
}

static inline bool lw_view_is_time_slow(const struct lw_source *source, const struct lw_view_spec *view)
{
    return lw_view_dims(source, view) == 2 && view->axis == 0;
}

/* Values in one sample of the view. */
static inline int64_t lw_view_row_length(const struct lw_source *source, const struct lw_view_spec *view)
{
    return view->has_rows ? source->info.dims[source->info.n_dims - 1] : 1;
}

static inline int64_t lw_view_sample_bytes(const struct lw_source *source, const struct lw_view_spec *view)
{
    return lw_view_row_length(source, view) * (int64_t)lw_type_bytes(source->info.type);
}

/* Whether channels are picked out of rows of all. */
static inline bool lw_view_picks(const struct lw_source *source, const struct lw_view_spec *view)
{
    return lw_view_is_time_slow(source, view) && view->channels.step > 1;
}

/* Channels of the file from the first to the last of `n` of the view. */
static inline int64_t lw_view_extent(const struct lw_view_spec *view, int64_t n) { return (n - 1) * view->channels.step + 1; }

/* Copy every `step`-th sample of rows that are as long as `n_channels` are apart, to rows `pitch` samples apart. */
void lw_view_pick(const struct lw_source *source, const char *rows, int64_t n_rows, int64_t n_channels, char *into,
                  int64_t pitch);

/** "cannot read samples A..B of FILE:PATH: reason", of the dataset's axis. @return  the reason's code */
int lw_view_fail(const struct lw_source *source, int64_t begin, int64_t end, const struct lw_error *reason,
                 struct lw_error *err);

/* Read part of the view by calls of the format. */
int lw_view_read(struct lw_source *source, const struct lw_slab *slab, struct lw_error *err);

#endif
