/* listing.h - the datasets of an HDF5 file, for `lapwing info FILE` and for messages. */
#ifndef LW_IO_HDF5_LISTING_H
#define LW_IO_HDF5_LISTING_H

#include "io/list.h"

#include <hdf5.h>

/** lw_list_file and lw_list_origin of an HDF5 file. */
int lw_listing_visit(const char *file, lw_list_fn *visit, void *context, struct lw_error *err);
bool lw_listing_find_origin(const char *file, struct lw_listing_origin *origin);

/** Write an error about a dataset that the file has not: what `mistake` says, and as its list the datasets that there are, at most
 * 20, first those whose names are near to the one that was wanted. Returns `code`. */
int lw_listing_fail(hid_t file, const char *wanted, enum lw_code code, const char *mistake, struct lw_error *err);

#endif
