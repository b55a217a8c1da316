/* shape.h - the shape of an HDF5 dataset, and numbers of a list. */
#pragma once

#include <hdf5.h>
#include <stdbool.h>

/** How many dimensions there are: none of a single value, nor of a dataset without data. @param dims  set */
int lw_hdf5_shape(hid_t dataset, hsize_t dims[H5S_MAX_RANK]);

/** The length of a dataset with one dimension; 0: it has another number of them. */
hsize_t lw_hdf5_length(hid_t dataset);

/** Whether as many bytes are stored as shape and type need; HDF5 copies those of a compact dataset unchecked. */
bool lw_hdf5_is_all_there(hid_t dataset);

/** Read `count` elements of a dataset with one dimension, or one that is longer than 1, from `first` on, `stride` apart.
 * @param type  of `into` */
bool lw_hdf5_read_list(hid_t dataset, hid_t type, hsize_t first, hsize_t stride, hsize_t count, void *into);
