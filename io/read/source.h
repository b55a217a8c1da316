/* source.h - one dataset of one file, open on this rank: where its samples lie in the file, and boxes read by its format. */
#pragma once

#include "base/pool.h"
#include "io/format.h"

/* A box of samples to read, in the dimensions that the dataset was described in, and its place in memory. At most three counts
 * exceed 1. Dimensions beyond the dataset's have first 0 and count 1. */
struct lw_target {
    int64_t first[LW_MAX_DIMS], step[LW_MAX_DIMS], count[LW_MAX_DIMS];
    int64_t pitch[LW_MAX_DIMS];         /* bytes from one sample to the next in memory, for counts above 1 */
    char *into;
};

struct lw_source {
    struct lw_pool *pool;       /* borrowed; NULL: the format's library reads */
    struct lw_dataset_info described;       /* description by the format */
    struct lw_dataset_info info;            /* the same without surplus dimensions of length 1 */
    int described_dim[LW_MAX_DIMS];         /* [d]: the number in `described` of dimension d of `info` */
    const struct lw_format *format;         /* NULL: the dataset is flat, and is read without its format */
    void *dataset;              /* the format's handle; NULL: not open */
    int fd;                     /* owned descriptor of a flat file; -1: none */
    bool is_pooled;             /* the pool's threads read, at the places in `stored` */
    bool is_by_format;          /* the pool's threads read by calls of a thread-safe format instead */
    struct lw_stored stored;
};

/** Drop dimensions of length 1 if the data have more than `most` dimensions, but keep at least `least`.
 * @param described_dim  set, for each dimension kept, to its old number; may be NULL */
void lw_source_squeeze(struct lw_dataset_info *info, int least, int most, int described_dim[LW_MAX_DIMS]);

/** Open a described dataset on this rank; lw_source_use changes its pool. Errors: those of lw_formats_find and lw_format.open.
 * @param least_dims, most_dims  as for lw_source_squeeze @param pool  borrowed; NULL: the format's library reads */
int lw_source_open(const struct lw_dataset_info *described, int least_dims, int most_dims, struct lw_pool *pool,
                   struct lw_source **out, struct lw_error *err);
void lw_source_close(struct lw_source *source);             /* call when no read is under way; NULL is legal */
void lw_source_use(struct lw_source *source, struct lw_pool *pool);

/** Read a target by a call of the format, on any thread if source->is_by_format. Errors: those of lw_format.read. */
int lw_source_read(const struct lw_source *source, const struct lw_target *target, struct lw_error *err);

/** Write "cannot read samples A..B of FILE:PATH: reason". @return  the reason's code, or LW_EDATA if the file has changed */
int lw_source_fail(const struct lw_source *source, int64_t begin, int64_t end, const struct lw_error *reason, struct lw_error *err);

/* Return whether the pool's threads decode chunks. */
static inline bool lw_source_decodes(const struct lw_source *source)
{
    return source->is_pooled && source->stored.filters.n > 0;
}
