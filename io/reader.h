/* reader.h - reading one dataset of an archive file.
 *
 * A reader shows its dataset as a view [channel][axis] or [axis][channel] (the layout it is stored in), after the choice of
 * the axis, a piece of the axis and a selection of channels. Images are shown as [channel][axis], each sample a row of pixels.
 * Samples come in their stored type and byte order.
 *
 * Each rank reads by itself. Where it has a pool, and samples lie as they are or in chunks whose filters io/bytes/decode.h undoes,
 * the pool's threads read. Else HDF5 does, through a plain handle of its own, which reports every failed read. MPI-IO does not:
 * Open MPI's collective reads swallow failed and short ones. HDF5 itself reads zeros beyond the end of a file that has become
 * shorter, so the caller checks after the last read that the file is still the one that was opened (lw_job_check_inputs). */
#ifndef LW_IO_READER_H
#define LW_IO_READER_H

#include "base/pool.h"
#include "comm/comm.h"
#include "engine/engine.h"
#include "io/dataset.h"

struct lw_reader;

/* A range with a step, as in A:B:STEP; begin <= end, step >= 1. */
struct lw_range {
    int64_t begin, end, step;
};

/* What becomes of a chunk, where the dataset is stored in chunks. Those that a filter must decode are never read in place,
 * and very large ones that need no decoding always are. */
enum lw_chunks {
    LW_CHUNKS_IN_PLACE,         /* only the samples wanted are read, row by row of the chunk */
    LW_CHUNKS_WHOLE,            /* every read takes each chunk that it touches whole */
    LW_CHUNKS_KEPT,             /* and keeps what the next read will want of the last ones (lw_reader_bytes counts it) */
};

struct lw_view_spec {
    int axis;                   /* dimension of the dataset that is the axis */
    int64_t start, count;       /* piece of the axis */
    struct lw_range channels;   /* of the other dimension; where there is none: 0:1:1 */
    bool has_rows;              /* the last dimension is neither axis nor channels: each sample is a whole row of it */
    int64_t max_axis, max_channels;     /* largest single read */
    enum lw_chunks chunks;
};

/* Part of the view, and where it goes: `into` has the layout's two dimensions with the axis dimension `into_axis` long
 * (time fast: [n_channels][into_axis]; time slow: [into_axis][n_channels]); the samples are placed from `into_first` on. */
struct lw_slab {
    int64_t first, count;               /* axis of the view; count 0: nothing */
    int64_t channel, n_channels;
    void *into;
    int64_t into_axis, into_first;
};

/* Samples of the view that lie in a file as they are: sample i of channel c in the bytes from
 * offset + i x axis_bytes + c x channel_bytes on. */
struct lw_reader_place {
    int fd;                             /* the reader's */
    int64_t offset, axis_bytes, channel_bytes;
};

/** Open "FILE:/path/in/file" on every rank. The last colon that is followed by "/" parts file and path.
 * Errors: LW_EUSAGE (no path given: lists the datasets), LW_EIO (missing or unreadable file), LW_EDATA (no format that is
 * known; no such dataset: lists those there are; a type outside LW_SCALARS; rank 0 or above LW_MAX_DIMS; no data). Collective:
 * every rank returns the same code. */
int lw_reader_open(struct lw_comm *comm, const char *name, struct lw_reader **out, struct lw_error *err);
void lw_reader_close(struct lw_reader *reader);             /* NULL is legal. */

const struct lw_dataset_info *lw_reader_info(const struct lw_reader *reader);

/** Let a pool's threads read and decode from now on, where they can; the format's library reads the rest on the main thread.
 * Before lw_reader_select. @param pool  borrowed until the reader is closed */
void lw_reader_use(struct lw_reader *reader, struct lw_pool *pool);

/** What lw_reader_select would refuse about the view, whatever its max_axis and max_channels. Not collective. */
int lw_reader_check(const struct lw_reader *reader, const struct lw_view_spec *view, struct lw_error *err);

/** Choose the view. LW_ECONFIG if a range leaves the dataset. Not collective. */
int lw_reader_select(struct lw_reader *reader, const struct lw_view_spec *view, struct lw_error *err);

/** Host bytes that selecting and reading take: buffers of threads, chunks, and HDF5's own for the chunks it works on. */
int64_t lw_reader_bytes(const struct lw_reader *reader, const struct lw_view_spec *view);

/** Channels of the view in a chunk; 0: chunks do not matter. */
int64_t lw_reader_chunk_width(const struct lw_reader *reader, const struct lw_view_spec *view);

/* The reads of a run: pieces of the view, one after the other along the axis, for one group of channels after the other. */
struct lw_reads {
    int64_t axis, channels;     /* samples and channels in one */
    int n_axis_ranks;           /* ranks that take the pieces of the axis in turn */
    int n_ranks;                /* that read at the same time */
};

/* Each chunk is taken so many times on average, over all ranks; and the seconds that this takes beyond reading the file once,
 * at an assumed rate. */
struct lw_chunk_cost {
    double times, seconds;
};

struct lw_chunk_cost lw_reader_chunk_cost(const struct lw_reader *reader, const struct lw_view_spec *view,
                                          const struct lw_reads *reads);

/** Begin to read part of the view; what `into` points to is the reader's until end, and one read is under way at a time. Not
 * collective. LW_EIO, or LW_EDATA where a filter cannot decode a chunk; names the samples. */
int lw_reader_begin(struct lw_reader *reader, const struct lw_slab *slab, struct lw_error *err);

/** Wait until what was begun is there; nothing may have been begun. Errors are those of begin. */
int lw_reader_end(struct lw_reader *reader, struct lw_error *err);

/** Both. */
int lw_reader_read(struct lw_reader *reader, const struct lw_slab *slab, struct lw_error *err);

/** Where the samples of the view lie, if they lie in one file uncompressed and in rows: for reads of single samples. After
 * lw_reader_select; without a pool: false. */
bool lw_reader_locate(const struct lw_reader *reader, struct lw_reader_place *place);

int64_t lw_reader_bytes_read(const struct lw_reader *reader);   /* by this rank, so far, stored type */

/** A small dataset (filters, kernels) of rank 1 or 2 as float64, or complex float64 pairs, on every rank: rank 0 reads and
 * broadcasts; any integer or floating type. Collective.
 * @param values  returned, [dims[0] x dims[1]] row-major (x 2 if complex), release with lw_free */
int lw_reader_read_numbers(struct lw_comm *comm, const char *name, struct lw_dataset_info *info, double **values,
                           struct lw_error *err);

#endif
