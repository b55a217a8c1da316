/* reader.h - reading one dataset of an archive file, or of several files that are one axis.
 *
 *     axis     |  file 0  |  file 1  |  gap  |  file 2  |       in the order of their start times, else of their names
 *
 * What two files have in common must be the same in both, unless it is said which of them is taken. The samples of a gap are zeros,
 * or they are not numbers; then integers are given as float32 (int32 as float64), which hold them exactly. Samples of which a file
 * says that they are packed (io/bytes/packing.h) are given as what they stand for, in the precision asked for, and float16 as
 * float32.
 *
 * A reader shows its dataset as a view [channel][axis] or [axis][channel] (the layout it is stored in), after the choice of
 * the axis, a piece of the axis and a selection of channels. Images are shown as [channel][axis], each sample a row of pixels.
 * Other samples come in their stored type and byte order.
 *
 * What passes through, each file of this folder using only those above it:
 *
 *     source    one dataset of one file, open; boxes of it by its format
 *     cells     the same by a pool's threads: read, decode, copy
 *     view      which part of it is shown, and a slab of that, by calls of the format or by cells
 *     sequence  what many files hold, and the axis that they make; overlap, describe: found by looking at them
 *     reader    a slab of all files, converted, with gaps filled; stretches: which files go together
 *     box       any boxes of all files as real numbers, many at a time; all of a small dataset
 *
 * Each rank reads by itself. Where it has a pool, and samples lie as they are or in chunks whose filters io/bytes/decode.h undoes,
 * the pool's threads read. Else HDF5 does, through a plain handle of its own, which reports every failed read. MPI-IO does not:
 * Open MPI's collective reads swallow failed and short ones. HDF5 itself reads zeros beyond the end of a file that has become
 * shorter, so the caller checks after the last read that the file is still the one that was opened (lw_job_check_inputs). */
#pragma once

#include "base/pool.h"
#include "comm/comm.h"
#include "engine/engine.h"
#include "io/names.h"

struct lw_reader;

/* What becomes of the samples that no file has, between two files. */
enum lw_gaps {
    LW_GAPS_SPLIT,              /* they are not numbers; where results are made one by one, a gap also ends one of them */
    LW_GAPS_ZERO,
    LW_GAPS_ERROR,              /* there must be none */
};

/* Of samples that several files have. */
enum lw_overlap_choice {
    LW_OVERLAP_ERROR,           /* they must be the same; those of the file that begins first stand */
    LW_OVERLAP_FIRST,           /* those of the file that begins first stand, whatever the others hold */
    LW_OVERLAP_LAST,            /* those of the file that begins last */
};

/* Which dimension several files are joined along, where it is not said by its number. */
enum { LW_JOIN_TIME = -1, LW_JOIN_ROWS = -2 };      /* what the metadata calls time, or the only one; the last but one */

struct lw_reader_request {
    const char *names;          /* as io/names.h takes them */
    const char *beside;         /* likewise; files that are not shown, but whose samples can be read beyond the ends, where they
                                   follow without a gap: a view may begin before sample 0 and end behind the last. NULL: none */
    struct lw_hints hints;
    int least_dims, most_dims;  /* of data with more than `most` dimensions, those of length 1 are left out, down to `least` */
    int join;                   /* a dimension, or one of the above */
    enum lw_gaps gaps;
    enum lw_overlap_choice overlap;
    enum lw_precision precision;        /* of samples that are packed */
};

/** lw_names_expand by rank 0, for all ranks. Collective. */
int lw_names_find(struct lw_comm *comm, const char *names, struct lw_names *out, struct lw_error *err);

/** The dimension that several files are joined along; negative: the metadata do not say which is time. */
int lw_reader_axis(const struct lw_reader_request *request, const struct lw_dataset_info *info);

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
 * offset + i x axis_bytes + c x channel_bytes on, as they are stored. */
struct lw_reader_place {
    int fd;                             /* the reader's */
    int64_t offset, axis_bytes, channel_bytes;
    struct lw_type type;
    struct lw_packing packing;
};

/** Open what is asked for on every rank; the ranks share the looking at many files.
 * Errors: those of lw_names_expand, and for each file those of lw_reader_open; LW_EDATA (files that do not fit each other: names
 * both and says what differs; a gap where there must be none). Collective: every rank returns the same code. */
int lw_reader_open_all(struct lw_comm *comm, const struct lw_reader_request *request, struct lw_reader **out, struct lw_error *err);

/** The same without opening a file: for lw_reader_info, lw_boxes_open (box.h) and lw_reader_close alone. */
int lw_reader_describe(struct lw_comm *comm, const struct lw_reader_request *request, struct lw_reader **out, struct lw_error *err);

/** Open "FILE:/path/in/file" on every rank. The last colon that is followed by "/" parts file and path.
 * Errors: LW_EUSAGE (no path given: lists the datasets), LW_EIO (missing or unreadable file), LW_EDATA (no format that is
 * known; no such dataset: lists those there are; a type outside LW_SCALARS; rank 0 or above LW_MAX_DIMS; no data). Collective:
 * every rank returns the same code. */
int lw_reader_open(struct lw_comm *comm, const char *name, struct lw_reader **out, struct lw_error *err);
void lw_reader_close(struct lw_reader *reader);             /* NULL is legal. */

/** What the dataset is; of several files, of all together. */
const struct lw_dataset_info *lw_reader_info(const struct lw_reader *reader);

/* Samples [first, first + count) of the axis. */
struct lw_gap {
    int64_t first, count;
};

/** The gaps between files, in their order. @param gaps  borrowed for the reader's life */
int64_t lw_reader_gaps(const struct lw_reader *reader, const struct lw_gap **gaps);

/** One of the n_files files that are read, as it is described, in the order of their names. */
void lw_reader_file(const struct lw_reader *reader, int64_t number, struct lw_dataset_info *info);

/** Whether `file`, by whatever name, is one of those that are read. Not collective. */
bool lw_reader_has_file(const struct lw_reader *reader, const char *file);

/** After the last read: refuse files whose size or modification time is no longer what it was when they were described. The ranks
 * share the files: each returns what its own say, LW_EDATA. Not collective. */
int lw_reader_check_unchanged(const struct lw_reader *reader, struct lw_error *err);

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

/** Where the samples of the view lie, if they lie in one file, uncompressed and in rows: for reads of single samples. After
 * lw_reader_select; without a pool: false. */
bool lw_reader_locate(const struct lw_reader *reader, struct lw_reader_place *place);

/** A small dataset (filters, kernels) of rank 1 to `most_dims` as float64, or complex float64 pairs, on every rank: rank 0 reads
 * and broadcasts; any integer or floating type. Collective.
 * @param values  returned, [dims[0] x dims[1] ..] row-major (x 2 if complex), release with lw_free */
int lw_reader_read_numbers(struct lw_comm *comm, const char *name, int most_dims, struct lw_dataset_info *info, double **values,
                           struct lw_error *err);
