/* notes.h - lw_format.visit_attributes, read_notes and read_rows of HDF5 files. */
#pragma once

#include "io/attribute.h"
#include "io/dataset.h"
#include "io/notes/notes.h"

/** lw_format.visit_attributes: those of the dataset, then of the group that it is in, unless that is the root of a result of this
 * program, which speaks of the run that made it. Texts and numbers, up to LW_ATTRIBUTE_MOST_REALS of them as float64, in the order
 * of their names; what cannot be read is left out. */
void lw_hdf5_visit_attributes(const struct lw_dataset_info *info, lw_attribute_fn *visit, void *context);

int lw_hdf5_read_notes(const struct lw_object *object, struct lw_notes *notes, struct lw_error *err);
int lw_hdf5_read_rows(const struct lw_object *object, const struct lw_rows *rows, double *values, struct lw_error *err);
