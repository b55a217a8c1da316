/* cells.h - boxes of the samples of an open dataset, read by the threads of its pool: without the format's library, or by the
 * format where its `read` is made for several threads. Where neither can be, the format reads a box on the caller's thread.
 *
 *     tile      what lies in one place of the file: a chunk; or all of a dataset that has none
 *     cell      what one thread reads at a time: a chunk that must be decoded, else a few MiB of a tile
 *     target    where samples go; a cell is read once for all targets of a read
 *
 *     create -> (begin -> end) of as many reads at the same time as there are -> release */
#pragma once

#include "io/bytes/transfer.h"
#include "io/bytes/decode.h"
#include "io/read/source.h"

/* What the reads of a dataset share. */
struct lw_cells {
    const struct lw_source *source;     /* borrowed */
    int64_t most_bytes;                 /* that one thread reads at a time, unless it decodes a chunk */
    int64_t bounce_bytes;               /* for each thread, for short samples that do not follow each other; 0: none */
    int axis;                           /* of source->info, whose samples errors name; -1: they name the dataset */
    struct lw_decoders *decoders;       /* owned, like the next */
    char *bounce;
};

/** Allocate what the first members ask for. LW_ESYSTEM. @param n_decoders  of a dataset that is decoded: that work at a time */
int lw_cells_create(struct lw_cells *cells, int n_decoders, struct lw_error *err);
void lw_cells_release(struct lw_cells *cells);              /* no read is under way */

struct lw_cells_read {
    struct lw_target targets[2];
    int n_targets;
    struct lw_stored_chunk *chunks;     /* borrowed, room for those of all tiles; NULL: it is made by begin */

    /* Of begin and end alone. */
    const struct lw_cells *cells;
    int64_t origin[LW_MAX_DIMS], tile[LW_MAX_DIMS], cell[LW_MAX_DIMS];
    int64_t first_cell[LW_MAX_DIMS], n_cells[LW_MAX_DIMS];
    int64_t first_tile[LW_MAX_DIMS], n_tiles[LW_MAX_DIMS];
    struct lw_stored_chunk flat, *own_chunks, *places;   /* places: of the tiles */
    struct lw_batch batch;
};

/** Start a read of the targets. `read` stays where it is until end. LW_EIO, LW_EDATA: names the samples or the dataset. */
int lw_cells_begin(const struct lw_cells *cells, struct lw_cells_read *read, struct lw_error *err);

/** Begin without the threads: the caller's batch does cells 0 to read->batch.n_pieces - 1 before end.
 * @param read  a struct lw_cells_read */
int lw_cells_plan(const struct lw_cells *cells, struct lw_cells_read *read, struct lw_error *err);
int lw_cells_do(void *read, int64_t cell, int thread, struct lw_error *err);

/** Wait for a read; one that is not under way included. Errors are those of begin. */
int lw_cells_end(struct lw_cells_read *read, struct lw_error *err);

/** Samples of a tile in a dimension that the dataset is described in. */
int64_t lw_cells_tile(const struct lw_source *source, int d);

/** Bytes from one sample of a tile to the next in each dimension that the dataset is described in. */
void lw_cells_pitch(const struct lw_source *source, int64_t pitch[LW_MAX_DIMS]);

/** What a target takes of samples [begin, end) of each dimension of a tile that begins at `tile`, as a box of bytes. @return
 * whether it takes anything. @param from, to  set to where the box begins, from the beginnings of tile and target on */
bool lw_cells_box(const struct lw_source *source, const struct lw_target *target, const int64_t *tile, const int64_t *begin,
                  const int64_t *end, struct lw_bytes_box *box, int64_t *from, int64_t *to);
