/* scale.h - dimension scales and labels: the coordinates that a file gives for a dimension of a dataset. */
#pragma once

#include "base/error.h"

#include <hdf5.h>

/* A scale with a constant step: value i is first + i * step, in `unit`. */
struct lw_scale {
    int64_t n;                  /* number of values */
    double first, step;
    double step_accuracy;       /* relative accuracy, limited by the rounding of the values */
    char unit[64];              /* attribute "units" or "unit"; "": none */
    char path[256];             /* path of the scale's dataset */
};

/* Unreadable metadata are noted in *err, as in io/hdf5/attribute.h. Attributes that break the HDF5 dimension scale specification
 * (a wrong type or number of dimensions) are ignored, because HDF5's own functions would crash on them. */

/** Return the dimension of `dataset` whose label or scale is named "time" or "t", or -1. */
int lw_scale_time_dimension(hid_t dataset, int n_dims, struct lw_error *err);

/** Read the first scale of a dimension that has at least two numbers with a constant step. */
bool lw_scale_read(hid_t dataset, int dimension, int n_dims, struct lw_scale *out, struct lw_error *err);

/** Read a dataset as a scale; it need not be declared one. */
bool lw_scale_read_dataset(hid_t dataset, struct lw_scale *out, struct lw_error *err);

/** Read the name of a dimension, from its label or its first scale, cut to `size`. Returns false if it has none. */
bool lw_scale_name(hid_t dataset, int dimension, int n_dims, char *name, size_t size, struct lw_error *err);

/** Return whether the dataset is a dimension scale. */
bool lw_scale_is_one(hid_t dataset);

/** Return whether a dimension or dataset of that name holds times: "time" or "t", in upper or lower case. */
bool lw_scale_is_time(const char *name);
