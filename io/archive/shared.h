/* shared.h - what formats of archive files share: how they are recognised, described and listed, and numbers in their headers. */
#pragma once

#include "io/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Read the first bytes of a file, if it has as many. LW_EIO: it cannot be opened. @param is_there  set */
int lw_archive_read_start(const char *file, void *start, size_t bytes, bool *is_there, struct lw_error *err);

/** Forget the path "/" of a file that holds one dataset, without a name. LW_EDATA: another path is given.
 * @param what  "a SEG-Y file" */
int lw_archive_take_no_path(struct lw_dataset_info *info, const char *what, struct lw_error *err);

/** LW_EDATA: the file is no longer as it was described. */
int lw_archive_fail_changed(const char *file, struct lw_error *err);

/** The same where shape or type of what the file holds now are not those that were described. */
int lw_archive_check_same(const struct lw_dataset_info *now, const struct lw_dataset_info *described, struct lw_error *err);

/** The dimension's name: "time". */
void lw_archive_name(struct lw_dataset_info *info, int dimension, const char *name);

/** Call `visit` with what was described. @param storage  how samples lie: "1 bit, low bits first" */
void lw_archive_list(const struct lw_dataset_info *info, const char *storage, int64_t stored_bytes, lw_list_fn *visit,
                     void *context);

/** Write row->shape: "[3 x 500]". */
void lw_archive_shape(const int64_t *dims, int n_dims, struct lw_listing *row);

/** Begin an `info` to be listed: the name and size of its file. LW_EIO. */
int lw_archive_info(const char *file, struct lw_dataset_info *info, struct lw_error *err);

/* A box of one or two dimensions as rows of samples. */
struct lw_box_rows {
    int64_t row, row_step, n;           /* rows of the dataset; 0 alone where it has one dimension */
    int64_t first, step, count;         /* samples of each */
    int64_t pitch;                      /* samples in memory, from one row to the next */
};

/** @param box  whose runs are one row each, or all of them in one */
struct lw_box_rows lw_archive_rows(const struct lw_box *box, int n_dims);

/** The last of n numbers, in order, that is not above `value`; 0 if all are.
 * @param numbers  the first of them, `step` bytes apart */
int64_t lw_archive_find_last(const int64_t *numbers, size_t step, int64_t n, int64_t value);

/* ---- numbers in the headers of files, of either byte order ---- */

/** An unsigned number of 1 to 8 bytes. */
static inline uint64_t lw_field_unsigned(const unsigned char *at, int bytes, bool is_big)
{
    uint64_t value = 0;
    for (int b = 0; b < bytes; b++)
        value = value << 8 | at[is_big ? b : bytes - 1 - b];
    return value;
}

/** A number in two's complement of 1 to 8 bytes. */
static inline int64_t lw_field_signed(const unsigned char *at, int bytes, bool is_big)
{
    const int unused = 64 - 8 * bytes;
    return (int64_t)(lw_field_unsigned(at, bytes, is_big) << unused) >> unused;
}

static inline float lw_field_float32(const unsigned char *at, bool is_big)
{
    const uint32_t bits = (uint32_t)lw_field_unsigned(at, 4, is_big);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double lw_field_float64(const unsigned char *at, bool is_big)
{
    const uint64_t bits = lw_field_unsigned(at, 8, is_big);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/** Whether numbers of that byte order must be swapped on this machine. */
static inline bool lw_field_is_swapped(bool is_big)
{
    return is_big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}
