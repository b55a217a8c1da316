/* shared.h - what formats of archive files share: how they are recognised, described, listed and opened. */
#pragma once

#include "io/format.h"

#include <stddef.h>

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
