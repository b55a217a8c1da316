/* format.h - a format of archive files as a table of operations. To add a format, write a file with its table and add a line to
 * formats.c.
 *
 *     recognise                   tells a format by a file's content, not by its name
 *     list, find_origin           for `lapwing info FILE`
 *     describe                    what a dataset holds, or what is wrong with it
 *     find_stretches              which samples of a dataset with gaps follow each other in time
 *     open, read, close           samples, box by box
 *     locate                      where the samples lie in the file, for readers that bypass the format
 *     read_numbers                all of a small dataset
 *     read_notes                  attributes, for commands that show data (io/notes)
 *     library                     chunks and tables, where a library reads the format
 *
 * No operation is collective: each process calls them by itself. A library that reads the format may crash on a damaged file. So
 * one rank first lists or describes the file in a child process (shield.h); the ranks then open only described files. */
#pragma once

#include "io/bytes/decode.h"
#include "io/list.h"

struct lw_notes;
struct lw_object;
struct lw_qualities;
struct lw_rows;

/* A box (hyperslab) of a dataset and its place in memory. Dimension d has `count` elements from `first` on, `step` apart. The
 * elements arrive row-major in `n_runs` runs of `run` elements; `pitch` elements separate the beginnings of two runs. */
struct lw_box {
    int64_t first[LW_MAX_DIMS], step[LW_MAX_DIMS], count[LW_MAX_DIMS];
    int64_t run, pitch, n_runs;         /* run x n_runs = the product of the counts */
    void *into;
};

enum { LW_MAX_SAMPLE_BYTES = 16 };      /* complex float64 */

/* The storage of a dataset's samples in its file: one row-major array, or chunks that are row-major arrays. */
struct lw_stored {
    int fd;                             /* owned by the format, open until the dataset is closed */
    bool is_chunked;
    int64_t offset;                     /* byte of the first sample, where there are no chunks */
    struct lw_filters filters;          /* filters that encoded the chunks */
    char fill[LW_MAX_SAMPLE_BYTES];     /* value of every sample in a chunk that was never written */
};

struct lw_stored_chunk {
    int64_t offset, bytes;              /* place in the file; bytes 0: the chunk was never written */
    uint32_t skipped;                   /* bit mask of the filters that were not applied to the chunk, for lw_decoder_decode */
};

/* Operations of formats whose library may crash on damaged files (shield.h): HDF5. */
struct lw_library {
    /** Implement lw_notes_read_rows and lw_quality_find for files of this format. */
    int (*read_rows)(const struct lw_object *object, const struct lw_rows *rows, double *values, struct lw_error *err);
    int (*find_quality)(const char *file, const char *tests, struct lw_qualities *out, struct lw_error *err);

    /** Find the chunk that begins at a sample of a located dataset. Errors: those of lw_format.read.
     * @param first  the sample's position, in the dataset's dimensions */
    int (*find_chunk)(void *dataset, const int64_t first[LW_MAX_DIMS], struct lw_stored_chunk *out, struct lw_error *err);

    /* Largest chunk without filters that is best read whole, bytes. This and the next two members serve datasets in chunks. */
    int64_t most_whole_bytes;

    /** Prepare an open dataset for reads of whole chunks (`whole`), or else of only the samples wanted. */
    int (*prepare_chunks)(void *dataset, bool whole, struct lw_error *err);

    /** Return the host bytes that the library takes for one read that touches n_chunks chunks. @param whole  as above */
    int64_t (*chunks_bytes)(const struct lw_dataset_info *info, bool whole, int64_t n_chunks);
};

struct lw_format {
    const char *name;           /* "HDF5"; also the word for --format, in upper or lower case */
    const char *file_text;      /* name in messages: "an HDF5 file" */
    const struct lw_library *library;       /* a library that reads the files and may crash on damaged ones; NULL: none */

    /** Prepare the format's library. Called before a child process is made, possibly often. NULL: nothing to prepare. */
    void (*start)(void);

    /** Set *is_one to whether a regular file is of this format. LW_EIO: it is unreadable. NULL: a user must name the format. */
    int (*recognise)(const char *file, bool *is_one, struct lw_error *err);

    /** Implement lw_list_file for files of this format. */
    int (*list)(const char *file, lw_list_fn *visit, void *context, struct lw_error *err);

    /** Implement lw_list_origin for files of this format; the caller zeroes *origin. NULL: no result has this format. */
    bool (*find_origin)(const char *file, struct lw_listing_origin *origin);

    /** Fill `info`; the caller has set file, path, hints, use, file_bytes and modified_ns. An empty path becomes the path of the
     * only dataset, or of the one that the file's convention calls the data. LW_EUSAGE: a path is needed and not given. LW_EDATA:
     * the file is damaged; the dataset does not exist (the message lists the existing ones), is empty, or has more than
     * LW_MAX_DIMS dimensions; its type does not suit the use. LW_EIO: the file is unreadable. */
    int (*describe)(struct lw_dataset_info *info, struct lw_error *err);

    /** Find the [info->n_stretches] stretches of a dataset that has several, in the order of its samples. Release *out with
     * lw_free. LW_EDATA: the file now has other stretches. NULL: no file of this format has several. */
    int (*find_stretches)(const struct lw_dataset_info *info, struct lw_file_stretch **out, struct lw_error *err);

    /** Open a described dataset for reading samples, in open_bytes bytes of zeroed memory. After a failure the caller
     * (lw_format_open) calls close for what was left half open. @param info  borrowed until close */
    int (*open)(void *dataset, const struct lw_dataset_info *info, struct lw_error *err);
    size_t open_bytes;

    /** Read one box. LW_EIO, or LW_EDATA where stored samples cannot be decoded. The message is only the reason, or "". */
    int (*read)(void *dataset, const struct lw_box *box, struct lw_error *err);
    bool reads_in_threads;      /* several threads may read one dataset at the same time */
    void (*close)(void *dataset);

    /** Return whether the samples can be read without the library, and set *out to their storage. NULL: they never can. */
    bool (*locate)(void *dataset, struct lw_stored *out);

    /** Call `visit`, in a fixed order, for each attribute of a described dataset that a result may keep and that `info` does not
     * hold. Not collective. NULL: the format has no attributes. */
    void (*visit_attributes)(const struct lw_dataset_info *info, lw_attribute_fn *visit, void *context);

    /** Read all of a dataset that was described for LW_USE_NUMBERS, as stored. LW_EDATA: its shape has changed. NULL: the
     * numbers are real samples, to be read by open, read and close.
     * @param values  row-major, complex numbers as pairs */
    int (*read_numbers)(const struct lw_dataset_info *info, double *values, struct lw_error *err);

    /** Implement lw_notes_read for files of this format. NULL: the format has no attributes. */
    int (*read_notes)(const struct lw_object *object, struct lw_notes *notes, struct lw_error *err);
};

/** Open a dataset; close it. Errors: lw_format.open, LW_ESYSTEM. @param dataset  set on success; NULL is legal for close */
int lw_format_open(const struct lw_format *format, const struct lw_dataset_info *info, void **dataset, struct lw_error *err);
void lw_format_close(const struct lw_format *format, void *dataset);

/** Call lw_format.start of every format. */
void lw_formats_start(void);

/** Find the format of a file: the one that the hints (NULL: none) name, else the one that its content shows. LW_EIO: the file is
 * missing, unreadable or a folder. LW_EDATA: its format is unknown. LW_EUSAGE: the hints name no known format. */
int lw_formats_find(const char *file, const struct lw_hints *hints, const struct lw_format **out, struct lw_error *err);

/** Describe a dataset before any rank opens it, in a child process (lw_shield) where a library reads its format. Hints (NULL: none)
 * overrule the file's metadata. info->hints.format is set. Call before any GPU is touched (shield.h). Errors: lw_object_parse,
 * lw_formats_find, lw_format.describe, lw_sampling_settle, lw_shield. */
int lw_examine_dataset(const char *name, const struct lw_hints *hints, enum lw_use use, struct lw_dataset_info *info,
                       struct lw_error *err);

/** Return all formats in the order in which they are tried, NULL at the end. */
const struct lw_format *const *lw_formats_all(void);
