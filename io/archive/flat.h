/* flat.h - read a flat array: numbers stored as one piece, such as a NumPy array, raw numbers, or an image of a FITS file. Any
 * number of threads read samples at the same time, by pread.
 *
 * A row-major array whose numbers need no conversion can be located: callers may read its bytes from the file themselves. Other
 * arrays are converted on reading (values.h). Column-major: elements along the first dimension are neighbours in the file. */
#pragma once

#include "io/archive/values.h"
#include "io/format.h"

struct lw_flat {
    int64_t offset;                     /* first byte of the numbers in the file */
    int64_t file_bytes;                 /* bytes of the file after unpacking; 0: as in lw_dataset_info */
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

/** Fill dims and type of `info`. Unless `is_tiled`, check the file's size. LW_EDATA: the array is empty or reaches beyond the
 * end of the file. @param is_tiled  the array is stored in tiles, not as one piece */
int lw_flat_describe(const struct lw_flat *flat, bool is_tiled, struct lw_dataset_info *info, struct lw_error *err);

/** Open an array that has been described. LW_EDATA: shape or type has changed since.
 * @param opened  the caller sets `flat` and `fd` (-1: open the file by name), and closes it even after an error */
int lw_flat_open(struct lw_flat_opened *opened, const struct lw_dataset_info *info, struct lw_error *err);

/* lw_format.read, close and locate for an array that lw_flat_open has opened. */
int lw_flat_read(void *dataset, const struct lw_box *box, struct lw_error *err);
void lw_flat_close(void *dataset);
bool lw_flat_locate(void *dataset, struct lw_stored *out);

/* Define lw_format.open and read_numbers. @param find  function that sets `flat` for a described array: find(info, &flat, err) */
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

/** Read a whole array as float64: lw_format.read_numbers. @param fd  open file, closed here; -1: open the file by name */
int lw_flat_read_numbers(const struct lw_flat *flat, const struct lw_dataset_info *info, int fd, double *values,
                         struct lw_error *err);

/** Return the box that covers the whole array. */
struct lw_box lw_flat_whole(const struct lw_flat *flat, void *into);

/** Call `visit` with a description of the array, for lw_format.list.
 * @param tiles         how a tiled array is stored; NULL: the array is one piece
 * @param stored_bytes  stored size of a tiled array */
void lw_flat_list(const struct lw_flat *flat, const char *path, const char *tiles, int64_t stored_bytes, lw_list_fn *visit,
                  void *context);

/** Check that shape and type are still as described. LW_EDATA: the file has changed. */
int lw_flat_check_same(const struct lw_flat *flat, const struct lw_dataset_info *info, struct lw_error *err);
