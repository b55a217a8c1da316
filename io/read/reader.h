/* reader.h - read one dataset of an archive file, or of several files joined to one axis.
 *
 *     axis     |  file 0  |  file 1  |  gap  |  file 2  |       in the order of start times, or of names where there are none
 *
 * Samples that two files share must be equal in both, unless the request chooses a file. Samples in a gap are zeros or NaN; with
 * NaN, integers are given as float32 (int32 as float64), which hold them exactly. Packed samples (io/bytes/packing.h) are given as
 * the values that they encode, in the precision requested, and float16 as float32. Other samples keep their stored type and byte
 * order.
 *
 * A reader shows its dataset as a view: a piece of the axis and a selection of channels. The view keeps the stored layout, which is
 * [channel][axis] (time fast) or [axis][channel] (time slow). Images are shown as [channel][axis]; each sample is a row of pixels.
 * A slab is the part of a view that one call reads. The path of the data; each part of this folder uses only the parts above it:
 *
 *     source    an open dataset of one file; boxes read by its format
 *     cells     boxes read by a pool's threads: read, decode, copy
 *     view      the view of one file; slabs read by the format or by cells
 *     sequence  the axis that many files make (describe.c describes the files, overlap.c compares samples that they share)
 *     reader    slabs across all files, converted, with gaps filled; stretches.h: groups of files without gaps
 *     box       many boxes across all files at a time, as real numbers; whole small datasets
 *
 * Each rank reads by itself. Its pool's threads read samples that lie uncompressed, or in chunks whose filters io/bytes/decode.h
 * undoes. HDF5 reads everything else. Each rank has its own HDF5 handle without MPI-IO, which reports every failed read, while Open
 * MPI's collective reads hide failed and short reads. HDF5 reads zeros beyond the end of a file that has shrunk. So after the last
 * read the caller must check that the files are unchanged (lw_job_check_inputs). */
#pragma once

#include "base/pool.h"
#include "comm/comm.h"
#include "engine/engine.h"
#include "io/names.h"

struct lw_reader;

/* The filling of gaps between files: the choices of --gaps. */
enum lw_gaps {
    LW_GAPS_SPLIT,              /* gaps become NaN; with --each stretch, a gap ends a result */
    LW_GAPS_ZERO,               /* gaps become zeros */
    LW_GAPS_ERROR,              /* a gap is an error */
};

/* The file whose samples are taken where several files overlap: the choices of --overlap. */
enum lw_overlap_choice {
    LW_OVERLAP_ERROR,           /* the file that begins first; different samples are an error */
    LW_OVERLAP_FIRST,           /* the file that begins first, unchecked */
    LW_OVERLAP_LAST,            /* the file that begins last, unchecked */
};

/* The dimension along which files are joined, where the request gives no number. */
enum { LW_JOIN_TIME = -1, LW_JOIN_ROWS = -2 };      /* TIME: called time by the metadata, or the only one; ROWS: last but one */

struct lw_reader_request {
    const char *names;          /* the input, a text for io/names.h */
    const char *beside;         /* neighbouring files that are not shown, likewise a text; NULL: none. Where no gap lies between, a
                                 * view may reach into them: begin before sample 0, or end behind the last */
    struct lw_hints hints;
    int least_dims, most_dims;  /* data with more than most_dims dimensions lose some of length 1, but keep least_dims */
    int join;                   /* dimension along which files are joined: a number, or LW_JOIN_... */
    enum lw_gaps gaps;
    enum lw_overlap_choice overlap;
    enum lw_precision precision;        /* precision of the values of packed samples */
};

/** Call lw_names_expand on rank 0 and broadcast the names. Errors: those of lw_names_expand. Collective. */
int lw_names_find(struct lw_comm *comm, const char *names, struct lw_names *out, struct lw_error *err);

/** Return the dimension that several files are joined along; negative: the metadata do not name the time axis. */
int lw_reader_axis(const struct lw_reader_request *request, const struct lw_dataset_info *info);

/* A range with a step, as in A:B:STEP; begin <= end, step >= 1. */
struct lw_range {
    int64_t begin, end, step;
};

/* How to read a chunked dataset. Chunks with filters are never read IN_PLACE; very large chunks without filters always are. */
enum lw_chunks {
    LW_CHUNKS_IN_PLACE,         /* read only the samples wanted, row by row of the chunk */
    LW_CHUNKS_WHOLE,            /* read the whole of every chunk that a slab touches */
    LW_CHUNKS_KEPT,             /* do as WHOLE, and keep the last chunks for the next read (lw_reader_bytes counts them) */
};

struct lw_view_spec {
    int axis;                   /* dimension of the dataset that is the axis */
    int64_t start, count;       /* samples [start, start + count) of the axis are shown */
    struct lw_range channels;   /* channels, in the other dimension; 0:1:1 where there is none */
    bool has_rows;              /* the last dimension is neither axis nor channels: each sample is a row of pixels */
    int64_t max_axis, max_channels;     /* largest single read, samples and channels */
    enum lw_chunks chunks;
};

/* A part of the view, and its place in memory. `into` is [n_channels][into_axis] where time is fast and [into_axis][n_channels]
 * where time is slow. The first sample goes to place `into_first` of the axis. */
struct lw_slab {
    int64_t first, count;               /* samples of the view's axis; count 0: nothing is read */
    int64_t channel, n_channels;
    void *into;
    int64_t into_axis, into_first;
};

/* The place of a view's samples that lie uncompressed in one file.
 *     byte of sample i of channel c = offset + i x axis_bytes + c x channel_bytes */
struct lw_reader_place {
    int fd;                             /* owned by the reader */
    int64_t offset, axis_bytes, channel_bytes;
    struct lw_type type;
    struct lw_packing packing;
};

/** Open a request's input on every rank; the ranks share the work of describing many files. Errors: those of lw_names_expand, and
 * for each file those of lw_reader_open. LW_EDATA also if two files do not fit together (the message names both files and
 * the difference), or for a gap with LW_GAPS_ERROR. Collective: every rank returns the same code. */
int lw_reader_open_all(struct lw_comm *comm, const struct lw_reader_request *request, struct lw_reader **out, struct lw_error *err);

/** Do as lw_reader_open_all, but open no file: *out serves only lw_reader_info, lw_boxes_open (box.h) and lw_reader_close. */
int lw_reader_describe(struct lw_comm *comm, const struct lw_reader_request *request, struct lw_reader **out, struct lw_error *err);

/** Open "FILE:/path/in/file" (lw_object_parse) on every rank. LW_EUSAGE: a path is needed and not given (the message lists the
 * datasets). LW_EIO: missing or unreadable file. LW_EDATA: unknown format; no such dataset (the message lists the
 * existing ones); a type outside LW_SCALARS; 0 or more than LW_MAX_DIMS dimensions; no data. Collective: every rank returns the
 * same code. */
int lw_reader_open(struct lw_comm *comm, const char *name, struct lw_reader **out, struct lw_error *err);

/** Open as lw_reader_open does, without dimensions of length 1 beyond most_dims, and with packed samples in a precision. */
int lw_reader_open_one(struct lw_comm *comm, const char *name, int most_dims, enum lw_precision precision, struct lw_reader **out,
                       struct lw_error *err);
void lw_reader_close(struct lw_reader *reader);             /* NULL is legal */

/** Return the description of the dataset that is shown, of all files joined. */
const struct lw_dataset_info *lw_reader_info(const struct lw_reader *reader);

/* A gap: samples [first, first + count) of the axis. */
struct lw_gap {
    int64_t first, count;
};

/** Return the number of gaps. @param gaps  set to the gaps in their order, borrowed until the reader is closed */
int64_t lw_reader_gaps(const struct lw_reader *reader, const struct lw_gap **gaps);

/** Return the bytes of the tables that describe the files, on each rank. */
int64_t lw_reader_table_bytes(const struct lw_reader *reader);

/** Fill `info` with the description of one of the n_files files, numbered in the order given. */
void lw_reader_file(const struct lw_reader *reader, int64_t number, struct lw_dataset_info *info);

/** Return whether `file`, under any name, is one of the files read. Not collective. */
bool lw_reader_has_file(const struct lw_reader *reader, const char *file);

/** Refuse files whose size or modification time has changed since they were described. Call after the last read. The ranks share
 * the files; each returns the result of its own share, LW_EDATA. Not collective. */
int lw_reader_check_unchanged(const struct lw_reader *reader, struct lw_error *err);

/** Let a pool's threads read and decode from now on, where they can; the format's library reads the rest on the main thread. Call
 * before lw_reader_select. @param pool  borrowed until the reader is closed */
void lw_reader_use(struct lw_reader *reader, struct lw_pool *pool);

/** Check a view as lw_reader_select does, without choosing it; max_axis and max_channels are ignored. Not collective. */
int lw_reader_check(const struct lw_reader *reader, const struct lw_view_spec *view, struct lw_error *err);

/** Choose the view to read. LW_ECONFIG: a range leaves the dataset. LW_ESYSTEM: no memory. Not collective. */
int lw_reader_select(struct lw_reader *reader, const struct lw_view_spec *view, struct lw_error *err);

/** Return the host bytes for reading a view: buffers of threads, chunks, and HDF5's own buffers for chunks. */
int64_t lw_reader_bytes(const struct lw_reader *reader, const struct lw_view_spec *view);

/** Return the number of the view's channels in one chunk; 0: chunks are not read whole, so their width does not matter. */
int64_t lw_reader_chunk_width(const struct lw_reader *reader, const struct lw_view_spec *view);

/* The reads of a run. Each group of channels is read in pieces along the axis, one group after the other. */
struct lw_reads {
    int64_t axis, channels;     /* samples and channels of one read */
    int n_axis_ranks;           /* ranks that take turns at the pieces of the axis */
    int n_ranks;                /* ranks that read at the same time */
};

/* The cost of reading chunks whole. times: how often each is read on average, over all ranks. seconds: time for decoding all of
 * them, or, without filters, for the repeated reads; rates are assumed. */
struct lw_chunk_cost {
    double times, seconds;
};

struct lw_chunk_cost lw_reader_chunk_cost(const struct lw_reader *reader, const struct lw_view_spec *view,
                                          const struct lw_reads *reads);

/** Begin to read a slab. The memory at `into` belongs to the reader until lw_reader_end. One read is under way at a time. Not
 * collective. LW_EIO, or LW_EDATA where a filter cannot decode a chunk; the message names the samples. */
int lw_reader_begin(struct lw_reader *reader, const struct lw_slab *slab, struct lw_error *err);

/** Wait for the read, if one was begun, and complete its slab. Errors: those of lw_reader_begin. */
int lw_reader_end(struct lw_reader *reader, struct lw_error *err);

/** Read a slab: begin, then end. */
int lw_reader_read(struct lw_reader *reader, const struct lw_slab *slab, struct lw_error *err);

/** Set *place to where the view's samples lie, for reads of single samples. Returns false unless the reader has a pool and the
 * samples lie row-major in one file, without chunks. Call after lw_reader_select. */
bool lw_reader_locate(const struct lw_reader *reader, struct lw_reader_place *place);

/** Read a small dataset (filters, kernels) of 1 to `most_dims` dimensions on rank 0 and broadcast it. Any integer or floating type
 * becomes float64, complex types pairs of float64. Errors: those of lw_reader_open. Collective.
 * @param values  set to [dims[0] x dims[1] ..] row-major (x 2 if complex), to be released with lw_free */
int lw_reader_read_numbers(struct lw_comm *comm, const char *name, int most_dims, struct lw_dataset_info *info, double **values,
                           struct lw_error *err);

/** Describe a dataset as lw_reader_read_numbers does, without reading it. Collective. */
int lw_reader_examine_numbers(struct lw_comm *comm, const char *name, int most_dims, struct lw_dataset_info *info,
                              struct lw_error *err);
