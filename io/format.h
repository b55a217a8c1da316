/* format.h - a kind of archive file, as one table of operations. A further format is a file with such a table and a line in
 * formats.c.
 *
 *     recognise                   by its content, not by its name
 *     list, find_origin           for `lapwing info FILE`
 *     describe                    what a dataset holds, or what is wrong with it
 *     open, read, close           samples, box by box
 *     read_numbers                all of a small dataset
 *
 * Every operation is one process' own: none is collective. One rank first lists or describes a file in a child process
 * (shield.h), so that a library may crash on a damaged file; the ranks then open a file that has been described. */
#ifndef LW_IO_FORMAT_H
#define LW_IO_FORMAT_H

#include "base/error.h"
#include "io/dataset.h"
#include "io/list.h"

#include <stdbool.h>
#include <stdint.h>

/* What a dataset is read for. */
enum lw_use {
    LW_USE_SAMPLES,             /* in their stored type, one of LW_SCALARS */
    LW_USE_NUMBERS,             /* as float64: any type of numbers; what is not one of LW_SCALARS is described as float64 */
};

/* A hyperslab of a dataset, and where it goes: in dimension d, `count` elements from `first` on, `step` apart. They come
 * row-major, in runs of `run` elements, each `pitch` elements behind the one before. */
struct lw_box {
    int64_t first[LW_MAX_DIMS], step[LW_MAX_DIMS], count[LW_MAX_DIMS];
    int64_t run, pitch, n_runs;         /* run x n_runs: the product of the counts */
    void *into;
};

struct lw_format {
    const char *name;           /* "HDF5" */
    const char *file_text;      /* "an HDF5 file" */

    /** Make the library ready. Called before a child process is made; may be called often. NULL: there is nothing to do. */
    void (*start)(void);

    /** Whether a regular file that can be read is of this format. LW_EIO: it cannot be read after all. */
    int (*recognise)(const char *file, bool *is_one, struct lw_error *err);

    /** lw_list_file of a file of this format. */
    int (*list)(const char *file, lw_list_fn *visit, void *context, struct lw_error *err);

    /** lw_list_origin of a file of this format; *origin is all zero before. NULL: no result has this format. */
    bool (*find_origin)(const char *file, struct lw_listing_origin *origin);

    /** Fill `info`, of which file, path, file_bytes and modified_ns are set. LW_EUSAGE: a path is needed and not given.
     * LW_EDATA: damaged, no such dataset (name those there are), no data, more than LW_MAX_DIMS dimensions, a type that does
     * not suit the use. LW_EIO: unreadable. */
    int (*describe)(struct lw_dataset_info *info, enum lw_use use, struct lw_error *err);

    /** Open what was described for reading samples. @param info  borrowed until close */
    int (*open)(const struct lw_dataset_info *info, void **dataset, struct lw_error *err);

    /** LW_EIO, or LW_EDATA where stored samples cannot be decoded; the message is the reason alone, "" if it is not known. */
    int (*read)(void *dataset, const struct lw_box *box, struct lw_error *err);
    void (*close)(void *dataset);

    /** Read all of what was described for its numbers. LW_EDATA if it has another shape by now.
     * @param values  row-major, complex ones as pairs */
    int (*read_numbers)(const struct lw_dataset_info *info, double *values, struct lw_error *err);

    /** Where the dataset's bytes lie in one piece in its file. NULL: not known. @return  -1: they do not */
    int64_t (*offset)(void *dataset);

    /* Datasets in chunks, where describe tells of any. Those that need no decoding are best read whole up to this size. */
    int64_t most_whole_bytes;

    /** Prepare for reads that take each chunk whole, or only the samples wanted. */
    int (*prepare_chunks)(void *dataset, bool whole, struct lw_error *err);

    /** Host bytes that the library takes for one read that touches so many chunks. */
    int64_t (*chunks_bytes)(const struct lw_dataset_info *info, bool whole, int64_t n_chunks);
};

/** lw_format.start of every format. */
void lw_formats_start(void);

/** The format of a file. LW_EIO: missing, unreadable, a folder. LW_EDATA: none of ours. */
int lw_formats_find(const char *file, const struct lw_format **out, struct lw_error *err);

/** Bytes of one chunk, decoded. */
int64_t lw_format_chunk_bytes(const struct lw_dataset_info *info);

#endif
