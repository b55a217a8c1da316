/* scale.h - dimension scales and labels: the coordinates that a file gives for a dimension of a dataset. */
#pragma once

#include "base/error.h"

#include <hdf5.h>
#include <stdbool.h>

/* A scale with a constant step: value i is first + i * step, in `unit`. */
struct lw_scale {
    int64_t n;                  /* values */
    double first, step;
    double step_accuracy;       /* relative, from the rounding of the values */
    char unit[64];              /* attribute "units" or "unit"; "": none */
    char path[256];             /* of the scale's dataset */
};

/* What cannot be read is noted in *err, as io/hdf5/attribute.h says. Attributes that are not as the HDF5 dimension scale
 * specification wants them (of another type, for another number of dimensions) say nothing; HDF5's own functions would crash on
 * them. */

/** The dimension of `dataset` whose label or scale is named "time" or "t", -1 if none is. */
int lw_scale_time_dimension(hid_t dataset, int n_dims, struct lw_error *err);

/** The first regular numeric scale of that dimension with at least two values. */
bool lw_scale_read(hid_t dataset, int dimension, int n_dims, struct lw_scale *out, struct lw_error *err);

/** The same of a dataset that need not be a scale. */
bool lw_scale_read_dataset(hid_t dataset, struct lw_scale *out, struct lw_error *err);

/** The name of a dimension: that of its label or of its first scale, cut. False: it has none. */
bool lw_scale_name(hid_t dataset, int dimension, int n_dims, char *name, size_t size, struct lw_error *err);

/** Whether the dataset is a scale of others. */
bool lw_scale_is_one(hid_t dataset);

/** Whether a dimension or dataset of that name holds times: "time" or "t", in either case. */
bool lw_scale_is_time(const char *name);
