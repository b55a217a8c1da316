/* scales.h - dimension scales of a result's datasets (HDF5 dimension scale specification), as netCDF-4 wants them: each is a
 * dataset named as the dimension, in the group of what it belongs to.
 *
 * A scale that is short, or short beside its dataset, is written out, in chunks, shuffled and deflated: 1000 Hz take 0.1 bytes a
 * sample. Another one would take as long to write as the dataset (35 ns a value; tests/bench/results/files.md): it is what netCDF
 * calls a dimension without a variable, which has a name and a length and takes no room, and the attributes of the dataset say
 * where its elements lie. */
#pragma once

#include "io/write/writer.h"

#include <hdf5.h>

#define LW_SCALE_SHORT_VALUES ((int64_t)1 << 18)        /* 10 ms */
#define LW_SCALE_MOST_VALUES ((int64_t)1 << 27)
#define LW_SCALE_LEAST_BYTES 512                        /* of the dataset, for each value of a scale that is not short */

/** Attach a scale to each dimension of a dataset, one that is there or a new one, and give it the CF attributes that go with its
 * type. A scale of another product that bears the name and is another one keeps it: the new one is named PRODUCT_NAME.
 * LW_EIO, LW_ESYSTEM. */
int lw_scales_attach(hid_t file, hid_t dataset, const struct lw_writer_dataset *spec, struct lw_error *err);

/** A dataset of `length` coordinates, which is no dimension scale yet. @param out  [out] open; after an error it is none
 * LW_EIO, LW_ESYSTEM. */
int lw_scale_create(hid_t file, const char *name, const struct lw_writer_scale *scale, int64_t length, hid_t *out,
                    struct lw_error *err);

/** Whether the scale of dimension `d` is written out. */
bool lw_scale_is_written(const struct lw_writer_dataset *spec, int d);

/** The value of element i, float64 or, of numbers, as it is. */
double lw_scale_value(const struct lw_writer_scale *scale, int64_t i);

/** Bytes on disk, generously. */
int64_t lw_scales_room(const struct lw_writer_dataset *spec);
