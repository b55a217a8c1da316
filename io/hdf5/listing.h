/* listing.h - the datasets of an HDF5 file, for `lapwing info FILE` and for messages. */
#ifndef LW_IO_HDF5_LISTING_H
#define LW_IO_HDF5_LISTING_H

#include "io/list.h"

#include <hdf5.h>

/** lw_list_file and lw_list_origin of an HDF5 file. */
int lw_listing_visit(const char *file, lw_list_fn *visit, void *context, struct lw_error *err);
bool lw_listing_find_origin(const char *file, struct lw_listing_origin *origin);

/** For messages: "/a float64 [10], /b int16 [2 x 3]", cut with the number left out, or "no datasets". Returns `text`. */
const char *lw_listing_line(hid_t file, char *text, size_t size);

#endif
