/* cells.h - boxes of samples of an open dataset, read by the threads of its pool. The threads bypass the format's library, or call
 * the format if its `read` is thread-safe. Otherwise the format reads each box on the caller's thread.
 *
 *     tile      what lies in one place of the file: a chunk, or all of a dataset without chunks
 *     cell      what one thread reads at a time: a whole chunk if it must be decoded, else a few MiB of a tile
 *     target    place that samples go to; each cell is read once for all targets of a read
 *
 *     create -> (begin -> end), for any number of reads at the same time -> release */
#pragma once

#include "io/bytes/transfer.h"
#include "io/bytes/decode.h"
#include "io/read/source.h"

/* The state shared by all reads of a dataset. */
struct lw_cells {
    const struct lw_source *source;     /* borrowed */
    int64_t most_bytes;                 /* most that one thread reads at a time; decoded chunks are exempt */
    int64_t bounce_bytes;               /* buffer of each thread for short scattered samples; 0: none */
    int axis;                           /* dimension of source->info whose samples errors name; -1: errors name the dataset */
    struct lw_decoders *decoders;       /* owned, like bounce */
    char *bounce;
};

/** Allocate decoders and bounce buffers; the caller has set the members above them. LW_ESYSTEM. @param n_decoders  most decoders
 * at work at a time, for a dataset that is decoded */
int lw_cells_create(struct lw_cells *cells, int n_decoders, struct lw_error *err);
void lw_cells_release(struct lw_cells *cells);              /* call when no read is under way */

struct lw_cells_read {
    struct lw_target targets[2];
    int n_targets;
    struct lw_stored_chunk *chunks;     /* borrowed, room for the chunks of all tiles; NULL: begin allocates it */

    /* Private to begin and end. */
    const struct lw_cells *cells;
    int64_t origin[LW_MAX_DIMS], tile[LW_MAX_DIMS], cell[LW_MAX_DIMS];
    int64_t first_cell[LW_MAX_DIMS], n_cells[LW_MAX_DIMS];
    int64_t first_tile[LW_MAX_DIMS], n_tiles[LW_MAX_DIMS];
    struct lw_stored_chunk flat, *own_chunks, *places;   /* places: the chunk of each tile */
    struct lw_batch batch;
};

/** Start to read the targets. `read` stays in place until end. LW_EIO, LW_EDATA: the message names the samples or the dataset. */
int lw_cells_begin(const struct lw_cells *cells, struct lw_cells_read *read, struct lw_error *err);

/** Prepare a read without starting threads: the caller runs lw_cells_do for cells 0 to read->batch.n_pieces - 1, then calls end.
 * @param read  a struct lw_cells_read */
int lw_cells_plan(const struct lw_cells *cells, struct lw_cells_read *read, struct lw_error *err);
int lw_cells_do(void *read, int64_t cell, int thread, struct lw_error *err);

/** Wait for a read, if one is under way. Errors as for begin. */
int lw_cells_end(struct lw_cells_read *read, struct lw_error *err);

/** Return the samples of a tile in dimension d of source->described. */
int64_t lw_cells_tile(const struct lw_source *source, int d);

/** Return the bytes from one sample of a tile to the next, in each dimension of source->described. */
void lw_cells_pitch(const struct lw_source *source, int64_t pitch[LW_MAX_DIMS]);

/** Compute which of the samples [begin, end) of the tile at `tile` a target takes, as a box of bytes. @return  whether it takes any
 * @param from, to  set to the bytes from the beginning of tile and target to the box */
bool lw_cells_box(const struct lw_source *source, const struct lw_target *target, const int64_t *tile, const int64_t *begin,
                  const int64_t *end, struct lw_bytes_box *box, int64_t *from, int64_t *to);
