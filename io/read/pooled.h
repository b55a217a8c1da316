/* pooled.h - a slab read by the threads of a pool: without the format's library, or by the format where its `read` is made for
 * several threads.
 *
 *     tile      what lies in one place of the file: a chunk; or all of a dataset that has none
 *     cell      what one thread reads at a time: a chunk that must be decoded, else a few MiB of a tile
 *     target    where samples go: to the slab, and, of chunks that reach beyond its end, to the row that is kept
 *
 *     axis      |       chunks       |       chunks       |       chunks       |
 *     reads     |       0       |       1       |       2       |
 *     row       .               |kept|          .               that of read 0 goes to read 1, which decodes the second chunks
 *                                                               and keeps the rest of them for read 2
 *
 * The main thread looks up where the chunks of a slab are, copies what is kept, and starts the batch. */
#ifndef LW_IO_READ_POOLED_H
#define LW_IO_READ_POOLED_H

#include "io/bytes/decoders.h"
#include "io/format.h"
#include "io/read/reader.h"

#include <stdbool.h>

struct lw_source;

/* A box of samples of the dataset, in its dimensions [slow][fast][pixel], and where it goes. */
struct lw_target {
    int64_t first[3], step[3], count[3];
    int64_t pitch[3];           /* bytes from one to the next in memory */
    char *into;
};

struct lw_direct {
    bool is_on;                 /* the dataset can be read so, and there is a pool */
    bool is_by_format;          /* its format reads; `stored` says nothing */
    struct lw_stored stored;

    /* Of the view, in samples of the dataset's dimensions. */
    int64_t dims[3], tile[3], cell[3];
    struct lw_decoders *decoders;
    char *bounce;               /* bounce_bytes for each thread; NULL: none are needed */
    int64_t bounce_bytes;

    /* Of the read that is under way. */
    struct lw_target targets[2];
    int n_targets;
    int64_t first_cell[3], n_cells[3];
    int64_t first_tile[3], n_tiles[3];
    struct lw_stored_chunk *chunks;     /* of each tile */
    struct lw_batch batch;
};

/** Find out whether the reader's dataset can be read so, by the reader's pool. */
void lw_direct_use(struct lw_source *source);

/** Whether chunks are decoded by the pool's threads. */
bool lw_direct_decodes(const struct lw_source *source);

/** Decoders that work at the same time, for a view whose chunks must be decoded. */
int lw_direct_decoders(const struct lw_source *source, const struct lw_view_spec *view);

/** Host bytes that selecting takes, but for the row that is kept. */
int64_t lw_direct_bytes(const struct lw_source *source, const struct lw_view_spec *view);

int lw_direct_select(struct lw_source *source, struct lw_error *err);
void lw_direct_release(struct lw_source *source);           /* what select has allocated; waits for a read under way */

/** lw_reader_locate. */
bool lw_direct_locate(const struct lw_source *source, struct lw_reader_place *place);

/** lw_source_begin and lw_source_end. */
int lw_direct_begin(struct lw_source *source, const struct lw_slab *slab, struct lw_error *err);
int lw_direct_end(struct lw_source *source, struct lw_error *err);

#endif
