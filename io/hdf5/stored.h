/* stored.h - where the raw data of a dataset lies in its file, for those that read it without HDF5.
 *
 * HDF5 says where a contiguous dataset begins. Where a chunk is it says in a time that grows with the number of chunks
 * (H5Dget_chunk_info_by_coord looks through all before it); only reading one is quick. So a finder has HDF5 read raw chunks
 * through a driver that notes the place and leaves the bytes where they are: 1 us a chunk. */
#pragma once

#include "io/format.h"

#include <hdf5.h>

/** lw_format.locate of an open dataset. */
bool lw_stored_locate(hid_t file, hid_t dataset, struct lw_stored *out);

struct lw_finder;

/** @param fd  of the file, borrowed until destroy */
int lw_finder_create(const char *file, const char *path, int n_dims, int fd, struct lw_finder **out, struct lw_error *err);
void lw_finder_destroy(struct lw_finder *finder);           /* NULL is legal */

/** lw_format.find_chunk. */
int lw_finder_find(struct lw_finder *finder, const int64_t first[LW_MAX_DIMS], struct lw_stored_chunk *out,
                   struct lw_error *err);
