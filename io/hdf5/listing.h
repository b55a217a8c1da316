/* listing.h - the datasets of an HDF5 file, for `lapwing info FILE` and for messages. */
#pragma once

#include "io/list.h"

#include <hdf5.h>

/** Show the datasets of an open file to `visit`, in the order of their names. @return  whether the file could be read to its end */
bool lw_listing_walk(hid_t file, lw_list_fn *visit, void *context);

/** Write an error about a dataset that the file has not: what `mistake` says, and as its list the datasets that there are, at most
 * 20, first those whose names are near to the one that was wanted. Returns `code`. */
int lw_listing_fail(hid_t file, const char *wanted, enum lw_code code, const char *mistake, struct lw_error *err);
