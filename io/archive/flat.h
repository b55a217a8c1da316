/* flat.h - an array of numbers that lies in a file as one piece: NumPy's, raw ones, images of FITS. Its samples are read by pread,
 * by any number of threads at the same time.
 *
 * Row-major arrays whose numbers are samples as they are can be located; the rest is converted on its way to memory
 * (values.h). Of column-major ones the first dimension is the one whose elements are neighbours in the file. */
#pragma once

#include "io/archive/values.h"
#include "io/format.h"

struct lw_flat {
    int64_t offset;                     /* of the first number in the file */
    int64_t file_bytes;                 /* 0: as many as the file has that was described */
    struct lw_values values;
    int n_dims;
    int64_t dims[LW_MAX_DIMS];
    bool is_column_major;
};

/* One that is open for reading samples. */
struct lw_flat_opened {
    struct lw_flat flat;
    int fd;
};

/** Fill dims and type of `info`, and check the array against the file unless it is no one piece. LW_EDATA: the file is shorter than
 * the array, or there is no data. */
int lw_flat_describe(const struct lw_flat *flat, bool is_tiled, struct lw_dataset_info *info, struct lw_error *err);

/** Open an array that has been described. LW_EDATA: it is no longer as described.
 * @param opened  whose array is set; its file is opened by its name where `fd` is -1; to be closed whatever the outcome */
int lw_flat_open(struct lw_flat_opened *opened, const struct lw_dataset_info *info, struct lw_error *err);

/* lw_format.read, close and locate of what lw_flat_open has opened. */
int lw_flat_read(void *dataset, const struct lw_box *box, struct lw_error *err);
void lw_flat_close(void *dataset);
bool lw_flat_locate(void *dataset, struct lw_stored *out);

/* lw_format.open and read_numbers of a format whose `find(info, &flat, err)` finds the array that was described. */
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

/** lw_format.read_numbers. @param fd  of the file, which is closed; -1: it is opened by its name */
int lw_flat_read_numbers(const struct lw_flat *flat, const struct lw_dataset_info *info, int fd, double *values,
                         struct lw_error *err);

/** All of the array. */
struct lw_box lw_flat_whole(const struct lw_flat *flat, void *into);

/** Tell `visit` of the array, for lw_format.list.
 * @param tiles         how it is stored where it is no one piece; NULL: it is
 * @param stored_bytes  of such an array */
void lw_flat_list(const struct lw_flat *flat, const char *path, const char *tiles, int64_t stored_bytes, lw_list_fn *visit,
                  void *context);

/** LW_EDATA: the file has changed since it was described. */
int lw_flat_check_same(const struct lw_flat *flat, const struct lw_dataset_info *info, struct lw_error *err);
