/* cells.h - boxes of samples of an open dataset, read by the threads of its pool. The threads bypass the format's library, or call
 * the format if its `read` is thread-safe. Otherwise the format reads each box on the caller's thread.
 *
 *     tile      samples that lie in one place of the file: a chunk, or the whole of a dataset without chunks
 *     cell      samples that one thread reads at a time: a whole chunk if it has filters, else a few MiB of a tile
 *     target    a box of samples and its place in memory; each cell is read once for all targets of a read
 *
 *     create -> (begin -> end), for any number of reads at the same time -> release */
#pragma once

#include "io/bytes/transfer.h"
#include "io/read/source.h"

/* The state shared by all reads of a dataset. */
struct lw_cells {
    const struct lw_source *source;     /* borrowed */
    int64_t most_bytes;                 /* most bytes in a cell; chunks with filters may have more */
    int64_t bounce_bytes;               /* size of each thread's buffer for short scattered pieces; 0: none */
    int axis;                           /* errors name samples along this dimension of source->info; -1: only the dataset */
    struct lw_decoders *decoders;       /* owned, like bounce */
    char *bounce;
};

/** Allocate decoders and bounce buffers; the caller has set the other members. LW_ESYSTEM: no memory. @param n_decoders  most
 * decoders at work at a time; used where the chunks have filters */
int lw_cells_create(struct lw_cells *cells, int n_decoders, struct lw_error *err);
void lw_cells_release(struct lw_cells *cells);              /* call when no read is under way */

struct lw_cells_read {
    struct lw_target targets[2];
    int n_targets;
    struct lw_stored_chunk *chunks;     /* borrowed, room for the chunks of all tiles in a read; NULL: begin allocates it */

    /* Members private to begin and end. */
    const struct lw_cells *cells;
    int64_t origin[LW_MAX_DIMS], tile[LW_MAX_DIMS], cell[LW_MAX_DIMS];
    int64_t first_cell[LW_MAX_DIMS], n_cells[LW_MAX_DIMS];
    int64_t first_tile[LW_MAX_DIMS], n_tiles[LW_MAX_DIMS];
    struct lw_stored_chunk flat, *own_chunks, *places;   /* places: [product of n_tiles] */
    struct lw_batch batch;
};

/** Start to read the targets. `read` must not move until end. LW_EIO, LW_EDATA: the message names the samples or the dataset. */
int lw_cells_begin(const struct lw_cells *cells, struct lw_cells_read *read, struct lw_error *err);

/** Prepare a read. The caller runs lw_cells_do for cells 0 to read->batch.n_pieces - 1 on any threads, then calls lw_cells_end.
 * @param read  a struct lw_cells_read */
int lw_cells_plan(const struct lw_cells *cells, struct lw_cells_read *read, struct lw_error *err);
int lw_cells_do(void *read, int64_t cell, int thread, struct lw_error *err);

/** Wait for a read, if one is under way. Errors: those of lw_cells_begin. */
int lw_cells_end(struct lw_cells_read *read, struct lw_error *err);

/** Return the length of a tile in dimension d of source->described, samples. */
int64_t lw_cells_tile(const struct lw_source *source, int d);

/** Set pitch[d] to the bytes from one sample of a tile to the next in dimension d of source->described. */
void lw_cells_pitch(const struct lw_source *source, int64_t pitch[LW_MAX_DIMS]);

/** Find the samples that a target takes of [begin, end), as a box of bytes. @return  whether there are any
 * @param tile  first sample of the tile @param from, to  set to the bytes from the beginning of the tile and target to the box */
bool lw_cells_box(const struct lw_source *source, const struct lw_target *target, const int64_t *tile, const int64_t *begin,
                  const int64_t *end, struct lw_bytes_box *box, int64_t *from, int64_t *to);
