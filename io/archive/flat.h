/* flat.h - read an array of numbers that is stored as one piece: a NumPy array, raw numbers, an image of a FITS file. Samples are
 * read by pread, from any number of threads at the same time.
 *
 * The bytes of a row-major array whose numbers are samples already can be located in the file. Other arrays are converted on their
 * way to memory (values.h). In a column-major array the elements along the first dimension are neighbours in the file. */
#pragma once

#include "io/archive/values.h"
#include "io/format.h"

struct lw_flat {
    int64_t offset;                     /* byte of the file at which the numbers begin */
    int64_t file_bytes;                 /* size of the file that holds the array; 0: size of the described file */
    struct lw_values values;
    int n_dims;
    int64_t dims[LW_MAX_DIMS];
    bool is_column_major;
};

/* An array that is open for reading samples. */
struct lw_flat_opened {
    struct lw_flat flat;
    int fd;
};

/** Fill dims and type of `info`. Unless `is_tiled`, check that the file holds the whole array. LW_EDATA: the file is shorter than
 * the array, or the array is empty. @param is_tiled  the array is not stored as one piece */
int lw_flat_describe(const struct lw_flat *flat, bool is_tiled, struct lw_dataset_info *info, struct lw_error *err);

/** Open an array that has been described. LW_EDATA: shape or type has changed since.
 * @param opened  `flat` is set already; a file with fd -1 is opened by its name. To be closed, also after an error */
int lw_flat_open(struct lw_flat_opened *opened, const struct lw_dataset_info *info, struct lw_error *err);

/* Functions read, close and locate of lw_format, for an array that lw_flat_open has opened. */
int lw_flat_read(void *dataset, const struct lw_box *box, struct lw_error *err);
void lw_flat_close(void *dataset);
bool lw_flat_locate(void *dataset, struct lw_stored *out);

/* Functions open and read_numbers of lw_format, for a format whose `find(info, &flat, err)` finds the described array. */
#define LW_FLAT_OPERATIONS(find)                                                                                         \
    static int open_flat(void *dataset, const struct lw_dataset_info *info, struct lw_error *err)                        \
    {                                                                                                                    \
        struct lw_flat_opened *const opened = dataset;                                                                   \
        opened->fd = -1;                                                                                                 \
        const int rc = find(info, &opened->flat, err);                                                                   \
        return rc ? rc : lw_flat_open(opened, info, err);                                                                \
    }                                                                                                                    \
    static int read_flat_numbers(const struct lw_dataset_info *info, double *values, struct lw_error *err)               \
    {                                                                                                                    \
        struct lw_flat flat;                                                                                             \
        const int rc = find(info, &flat, err);                                                                           \
        return rc ? rc : lw_flat_read_numbers(&flat, info, -1, values, err);                                             \
    }

/** Read a whole array as float64: lw_format.read_numbers. @param fd  open file, which is closed; -1: opened by its name */
int lw_flat_read_numbers(const struct lw_flat *flat, const struct lw_dataset_info *info, int fd, double *values,
                         struct lw_error *err);

/** Return the box that covers the whole array. */
struct lw_box lw_flat_whole(const struct lw_flat *flat, void *into);

/** Call `visit` with a description of the array, for lw_format.list.
 * @param tiles         how a tiled array is stored; NULL: the array is one piece
 * @param stored_bytes  stored size of a tiled array */
void lw_flat_list(const struct lw_flat *flat, const char *path, const char *tiles, int64_t stored_bytes, lw_list_fn *visit,
                  void *context);

/** Check that shape and type are still those that were described. LW_EDATA: the file has changed. */
int lw_flat_check_same(const struct lw_flat *flat, const struct lw_dataset_info *info, struct lw_error *err);
