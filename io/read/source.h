/* source.h - one dataset of one file, open on this rank: how its samples lie, and boxes of them by its format. */
#pragma once

#include "base/pool.h"
#include "io/format.h"

#include <stdbool.h>

/* A box of samples of the dataset, in the dimensions that it is described in, and where it goes. At most three counts are more than
 * 1; in dimensions that there are not, one sample from 0 on. */
struct lw_target {
    int64_t first[LW_MAX_DIMS], step[LW_MAX_DIMS], count[LW_MAX_DIMS];
    int64_t pitch[LW_MAX_DIMS];         /* bytes from one to the next in memory, where there are several */
    char *into;
};

struct lw_source {
    struct lw_pool *pool;       /* borrowed; NULL: the format's library reads */
    struct lw_dataset_info described;       /* as its format has it */
    struct lw_dataset_info info;            /* without dimensions of length 1, where there were too many */
    int described_dim[LW_MAX_DIMS];         /* dimension of `described` that each of `info` is */
    const struct lw_format *format;         /* NULL: the samples lie flat, and only their place is needed */
    void *dataset;              /* the format's; NULL: not open */
    int fd;                     /* of a flat file; -1: none */
    bool is_pooled;             /* the pool's threads read it: from where its samples lie, as `stored` says, */
    bool is_by_format;          /* or by the format, made for several threads; `stored` says nothing */
    struct lw_stored stored;
};

/** Leave out dimensions of length 1, of data with more than `most` dimensions, as long as there are more than `least`.
 * @param described_dim  set for each dimension that is left; may be NULL */
void lw_source_squeeze(struct lw_dataset_info *info, int least, int most, int described_dim[LW_MAX_DIMS]);

/** Open what was described, for reading on this rank. Errors: lw_formats_find, lw_format.open. @param pool  as for lw_reader_use */
int lw_source_open(const struct lw_dataset_info *described, int least_dims, int most_dims, struct lw_pool *pool,
                   struct lw_source **out, struct lw_error *err);
void lw_source_close(struct lw_source *source);             /* no read is under way; NULL is legal */
void lw_source_use(struct lw_source *source, struct lw_pool *pool);

/** Read a target by calls of the format. Any thread may call where source->is_by_format says so. Errors: lw_format.read. */
int lw_source_read(const struct lw_source *source, const struct lw_target *target, struct lw_error *err);

/** "cannot read samples A..B of FILE:PATH: reason", of the dataset's axis. @return  the reason's code */
int lw_source_fail(const struct lw_source *source, int64_t begin, int64_t end, const struct lw_error *reason, struct lw_error *err);

/* Whether chunks are decoded by the pool's threads. */
static inline bool lw_source_decodes(const struct lw_source *source)
{
    return source->is_pooled && source->stored.filters.n > 0;
}
