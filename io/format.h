/* format.h - a kind of archive file, as one table of operations. A further format is a file with such a table and a line in
 * formats.c.
 *
 *     recognise                   by its content, not by its name
 *     list, find_origin           for `lapwing info FILE`
 *     describe                    what a dataset holds, or what is wrong with it
 *     find_stretches              where its samples follow each other in time, of datasets with gaps
 *     open, read, close           samples, box by box
 *     locate                      where they lie, for those that read the file themselves
 *     read_numbers                all of a small dataset
 *     read_notes                  attributes, for those who show data (io/notes)
 *     library                     chunks and tables, of formats that a library reads
 *
 * Every operation is one process' own: none is collective. Where a library reads the format, one rank first lists or describes a
 * file in a child process (shield.h), so that the library may crash on a damaged file; the ranks then open a file that has been
 * described. */
#pragma once

#include "base/error.h"
#include "io/bytes/decode.h"
#include "io/dataset.h"
#include "io/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lw_notes;
struct lw_object;
struct lw_qualities;
struct lw_rows;

/* A hyperslab of a dataset, and where it goes: in dimension d, `count` elements from `first` on, `step` apart. They come
 * row-major, in runs of `run` elements, each `pitch` elements behind the one before. */
struct lw_box {
    int64_t first[LW_MAX_DIMS], step[LW_MAX_DIMS], count[LW_MAX_DIMS];
    int64_t run, pitch, n_runs;         /* run x n_runs: the product of the counts */
    void *into;
};

/* Of a sample, the largest one: complex float64. */
enum { LW_MAX_SAMPLE_BYTES = 16 };

/* How the samples of a dataset lie in its file: as they are, row-major, or in chunks that are so. */
struct lw_stored {
    int fd;                             /* the format's, until the dataset is closed */
    bool is_chunked;
    int64_t offset;                     /* of the first sample, where there are no chunks */
    struct lw_filters filters;          /* of the chunks */
    char fill[LW_MAX_SAMPLE_BYTES];     /* a sample of chunks that were never written */
};

struct lw_stored_chunk {
    int64_t offset, bytes;              /* 0 bytes: never written */
    uint32_t skipped;                   /* filters, as lw_decoder_decode wants them */
};

/* Operations of a format whose files are read by a library that may crash on damaged ones (shield.h): HDF5. */
struct lw_library {
    /** lw_notes_read_rows and lw_quality_find of a file of this format. */
    int (*read_rows)(const struct lw_object *object, const struct lw_rows *rows, double *values, struct lw_error *err);
    int (*find_quality)(const char *file, const char *tests, struct lw_qualities *out, struct lw_error *err);

    /** Find the chunk that begins at a sample of a dataset that was located. Errors as for read.
     * @param first  in the dataset's dimensions */
    int (*find_chunk)(void *dataset, const int64_t first[LW_MAX_DIMS], struct lw_stored_chunk *out, struct lw_error *err);

    /* Datasets in chunks, where describe tells of any. Those that need no decoding are best read whole up to this size. */
    int64_t most_whole_bytes;

    /** Prepare for reads that take each chunk whole, or only the samples wanted. */
    int (*prepare_chunks)(void *dataset, bool whole, struct lw_error *err);

    /** Host bytes that the library takes for one read that touches so many chunks. */
    int64_t (*chunks_bytes)(const struct lw_dataset_info *info, bool whole, int64_t n_chunks);
};

struct lw_format {
    const char *name;           /* "HDF5"; --format takes it, in either case */
    const char *file_text;      /* "an HDF5 file" */
    const struct lw_library *library;       /* that reads its files and may crash; NULL: there is none */

    /** Make what reads its files ready. Called before a child process is made; may be called often. NULL: there is nothing to
     * do. */
    void (*start)(void);

    /** Whether a regular file that can be read is of this format. LW_EIO: it cannot be read after all. NULL: nothing in a file
     * tells; only hints name it. */
    int (*recognise)(const char *file, bool *is_one, struct lw_error *err);

    /** lw_list_file of a file of this format. */
    int (*list)(const char *file, lw_list_fn *visit, void *context, struct lw_error *err);

    /** lw_list_origin of a file of this format; *origin is all zero before. NULL: no result has this format. */
    bool (*find_origin)(const char *file, struct lw_listing_origin *origin);

    /** Fill `info`, of which file, path, hints, use, file_bytes and modified_ns are set, and set the path where none is given and
     * the file holds one dataset, or one that its convention calls the data. LW_EUSAGE: a path is needed and not given. LW_EDATA:
     * damaged, no such dataset (name those there are), no data, more than LW_MAX_DIMS dimensions, a type that does not suit the
     * use. LW_EIO: unreadable. */
    int (*describe)(struct lw_dataset_info *info, struct lw_error *err);

    /** The stretches of a dataset that was described as having more than one, in the order of its samples; release *out with
     * lw_free. LW_EDATA if it has others by now. NULL: none has. */
    int (*find_stretches)(const struct lw_dataset_info *info, struct lw_file_stretch **out, struct lw_error *err);

    /** Open what was described for reading samples, in memory of `open_bytes` bytes, all zero: lw_format_open calls it. What it has
     * left half done where it fails is closed. @param info  borrowed until close */
    int (*open)(void *dataset, const struct lw_dataset_info *info, struct lw_error *err);
    size_t open_bytes;

    /** LW_EIO, or LW_EDATA where stored samples cannot be decoded; the message is the reason alone, "" if it is not known. */
    int (*read)(void *dataset, const struct lw_box *box, struct lw_error *err);
    bool reads_in_threads;      /* several threads may read one dataset at the same time */
    void (*close)(void *dataset);

    /** Whether the samples can be read without the library; how they lie then. NULL: none can. */
    bool (*locate)(void *dataset, struct lw_stored *out);

    /** Call `visit` for each attribute of a dataset that says more than `info` does and may be carried over to a result, in a fixed
     * order. By one process, after describe. NULL: there are none. */
    void (*visit_attributes)(const struct lw_dataset_info *info, lw_attribute_fn *visit, void *context);

    /** Read all of what was described for its numbers, as they are stored. LW_EDATA if it has another shape by now.
     * NULL: what is described are real samples, to be read by open, read and close.
     * @param values  row-major, complex ones as pairs */
    int (*read_numbers)(const struct lw_dataset_info *info, double *values, struct lw_error *err);

    /** lw_notes_read of a file of this format. NULL: it has no attributes. */
    int (*read_notes)(const struct lw_object *object, struct lw_notes *notes, struct lw_error *err);
};

/** Open a dataset, and close it. Errors: lw_format.open, LW_ESYSTEM. @param dataset  set on success; NULL is legal for close */
int lw_format_open(const struct lw_format *format, const struct lw_dataset_info *info, void **dataset, struct lw_error *err);
void lw_format_close(const struct lw_format *format, void *dataset);

/** lw_format.start of every format. */
void lw_formats_start(void);

/** The format of a file: that of the hints, or what its content says. LW_EIO: missing, unreadable, a folder. LW_EDATA: none of
 * ours. LW_EUSAGE: hints that name none. @param hints  NULL: none */
int lw_formats_find(const char *file, const struct lw_hints *hints, const struct lw_format **out, struct lw_error *err);

/** Describe the dataset of that name, before anybody opens it: where a library reads its format by lw_shield; the hints overrule
 * what the file says. The hints in `info` name its format. Before any GPU is touched (shield.h). Errors: lw_object_parse,
 * lw_formats_find, lw_format.describe, lw_sampling_settle, lw_shield.
 * @param hints  NULL: none */
int lw_examine_dataset(const char *name, const struct lw_hints *hints, enum lw_use use, struct lw_dataset_info *info,
                       struct lw_error *err);

/** All formats, NULL-ended, in the order in which they are tried. */
const struct lw_format *const *lw_formats_all(void);
