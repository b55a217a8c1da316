/* listing.h - what formats of archives share: a row for `lapwing info`. */
#ifndef LW_IO_ARCHIVE_LISTING_H
#define LW_IO_ARCHIVE_LISTING_H

#include "io/format.h"

/** Call `visit` with what was described. @param storage  how samples lie: "1 bit, low bits first" */
void lw_archive_list(const struct lw_dataset_info *info, const char *storage, int64_t stored_bytes, lw_list_fn *visit,
                     void *context);

/** Write row->shape: "[3 x 500]". */
void lw_archive_shape(const int64_t *dims, int n_dims, struct lw_listing *row);

/** Set info->file_bytes. LW_EIO. */
int lw_archive_file_bytes(struct lw_dataset_info *info, struct lw_error *err);

#endif
