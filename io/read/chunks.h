/* chunks.h - reading a dataset that is stored in chunks. The library of its format hands out any part of a chunk, but
 * to do so it reads and decodes the chunk whole, each time anew. (Where a pool's threads read instead, direct.h says how.)
 *
 *     axis       |       chunks       |       chunks       |       chunks       |
 *     reads       |  0  |  1  |  2  |  3  |  4  |  5  | ...
 *     row kept    decoded once for reads 0 to 3, then the next one for 3 to ..., parts copied from there
 *
 * A row of chunks is all of them at one place of the axis, over the channels of a read. */
#ifndef LW_IO_CHUNKS_H
#define LW_IO_CHUNKS_H

#include "io/read/source.h"

/** Whether chunks go through memory of their own: all that must be decoded, and small ones where the view wants it so. */
bool lw_chunks_are_whole(const struct lw_source *source, const struct lw_view_spec *view);

/** Whether a row of them stays from one read to the next. */
bool lw_chunks_are_kept(const struct lw_source *source, const struct lw_view_spec *view);

/** Chunks that one read touches at most. */
int64_t lw_chunks_touched(const struct lw_source *source, const struct lw_view_spec *view);

/** Host bytes for chunks: what the format's library takes should it read them, and the row that is kept. */
int64_t lw_chunks_bytes(const struct lw_source *source, const struct lw_view_spec *view);

/** Prepare the dataset for such reads of source->view, and make room for the row. */
int lw_chunks_select(struct lw_source *source, struct lw_error *err);

/** lw_source_read, where a row is kept and the library reads. */
int lw_chunks_read(struct lw_source *source, const struct lw_slab *slab, struct lw_error *err);

#endif
