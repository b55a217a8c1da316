/* said.h - what an HDF5 file says of a dataset and of its group, for results that keep it. */
#ifndef LW_IO_HDF5_RESULT_SAID_H
#define LW_IO_HDF5_RESULT_SAID_H

#include "io/attribute.h"
#include "io/dataset.h"

/** lw_format.visit_attributes: texts and numbers of the dataset, then of the group that it is in, unless that is the root of a
 * result of this program, which speaks of the run that made it. Arrays of numbers come as float64. */
void lw_said_visit(const struct lw_dataset_info *info, lw_attribute_fn *visit, void *context);

#endif
