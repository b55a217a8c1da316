/* shared.h - functions that the formats of archive files share: describe and list files, read numbers in headers.
 *
 * io/archive reads files of other programs. Each format is a struct lw_format, a table of functions (io/format.h), in its own file:
 *
 *     file -> recognise -> describe: shape, type, times -> open -> read: boxes of samples, from any thread -> memory
 *
 *     flat.h       one contiguous array: raw.c, npy.c, presto.c, images in fits/
 *     spectra.h    radio spectra with samples of 1 to 32 bits: sigproc.c, psrfits.c (psrfits.h: its table)
 *     mseed.c, segy.c     seismograms: records (mseed_index.h), traces (segy_codes.h)
 *     values.h     stored numbers -> samples */
#pragma once

#include "io/format.h"

/** Read the first bytes of a file. LW_EIO: the file cannot be opened. @param is_there  set to false if the file is shorter */
int lw_archive_read_start(const char *file, void *start, size_t bytes, bool *is_there, struct lw_error *err);

/** Clear the path in `info`: files of the format hold one dataset without a name. LW_EDATA: a path other than "/" is given.
 * @param what  kind of file for the message, like "a SEG-Y file" */
int lw_archive_take_no_path(struct lw_dataset_info *info, const char *what, struct lw_error *err);

/** Return LW_EDATA with the message that the file changed while it was read. */
int lw_archive_fail_changed(const char *file, struct lw_error *err);

/** Check that shape and type of a dataset are still as described. LW_EDATA: the file has changed. */
int lw_archive_check_same(const struct lw_dataset_info *now, const struct lw_dataset_info *described, struct lw_error *err);

/** Name a dimension, like "time". @param dimension  index from 0 */
void lw_archive_name(struct lw_dataset_info *info, int dimension, const char *name);

/** Call `visit` with a description of the dataset. @param storage  how its samples are stored, like "1 bit, low bits first" */
void lw_archive_list(const struct lw_dataset_info *info, const char *storage, int64_t stored_bytes, lw_list_fn *visit,
                     void *context);

/** Write a shape like "[3 x 500]" into row->shape. */
void lw_archive_shape(const int64_t *dims, int n_dims, struct lw_listing *row);

/** Set `info` to a file's name and size, and all else to unknown; for lists. LW_EIO: no file status. */
int lw_archive_info(const char *file, struct lw_dataset_info *info, struct lw_error *err);

/* A box of one or two dimensions, seen as rows of samples. */
struct lw_box_rows {
    int64_t row, row_step, n;           /* rows: first one, step, number; one dimension: only row 0 */
    int64_t first, step, count;         /* samples of each row: first one, step, number */
    int64_t pitch;                      /* distance of rows in memory, in samples */
};

/** Return a box as rows. @param box  each row is one run in memory, or one run holds all rows */
struct lw_box_rows lw_archive_rows(const struct lw_box *box, int n_dims);

/** Return the index of the last of n ascending numbers that is at most `value`; 0: all are above.
 * @param numbers  the first number; the others follow at a distance of `step` bytes */
int64_t lw_archive_find_last(const int64_t *numbers, size_t step, int64_t n, int64_t value);

/* ---- numbers in the headers of files, in either byte order ---- */

/** Return an unsigned integer of 1 to 8 bytes. */
static inline uint64_t lw_field_unsigned(const unsigned char *at, int bytes, bool is_big)
{
    uint64_t value = 0;
    for (int b = 0; b < bytes; b++)
        value = value << 8 | at[is_big ? b : bytes - 1 - b];
    return value;
}

/** Return a signed integer (two's complement) of 1 to 8 bytes. */
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

/** Return whether this machine has the other byte order, so that the bytes of numbers must be swapped. */
static inline bool lw_field_is_swapped(bool is_big)
{
    return is_big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}
