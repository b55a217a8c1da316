/* virtual.h - virtual datasets: made of parts of other datasets. HDF5 loses itself in those that are in the end made of
 * themselves. */
#pragma once

#include "base/error.h"

#include <hdf5.h>

/** LW_EDATA: the dataset is virtual, and one of its sources, or of theirs, is the dataset itself.
 * @param file, file_name  the file that it was opened in */
int lw_virtual_check(hid_t file, const char *file_name, hid_t dataset, struct lw_error *err);
