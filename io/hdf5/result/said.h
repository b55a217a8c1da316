/* said.h - what an HDF5 file says of an object, of a dataset and its group: attributes, one by one. */
#ifndef LW_IO_HDF5_RESULT_SAID_H
#define LW_IO_HDF5_RESULT_SAID_H

#include "io/attribute.h"
#include "io/dataset.h"

#include <hdf5.h>

/** Call `visit` for texts and numbers, up to LW_ATTRIBUTE_MOST_REALS of them, of an object that is open, in the order of their names.
 * Arrays come as float64. What cannot be read is left out. */
void lw_hdf5_visit_object(hid_t object, lw_attribute_fn *visit, void *context);

/** lw_format.visit_attributes: those of the dataset, then of the group that it is in, unless that is the root of a result of this
 * program, which speaks of the run that made it. */
void lw_hdf5_visit_attributes(const struct lw_dataset_info *info, lw_attribute_fn *visit, void *context);

#endif
