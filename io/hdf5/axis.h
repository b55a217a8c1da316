/* axis.h - what a file's own metadata says about the time axis of a dataset.
 *
 * Looked at, the first find counts:
 *   - a convention (conventions/): which dimension, start, rate, coordinates, unit
 *   - rate: attributes sample_rate_hz, sample_rate, fs, dt, ... of the dataset; Xspacing (GWOSC); a regular dimension scale
 *     of the time dimension (netCDF, h5py); for time series (one or two dimensions, more than one value, not named "time")
 *     also the rate attributes of the groups above, innermost first (ProdML)
 *   - attributes x0, dx and xunit (GWpy)
 *   - start: attributes start_time with start_unit, or with delta_t (PyCBC: seconds of GPS); Xstart; the first value of the scale;
 *     an ISO 8601 text
 *   - which dimension: dimension labels and scales named "time" or "t"
 *   - a dataset of times beside the dataset, as long as one of its dimensions: whatever of these is not known yet. A rate that is
 *     known has to be that of the times, unless the user gives another one */
#pragma once

#include "base/error.h"
#include "io/dataset.h"

#include <hdf5.h>

/** Fill metadata_axis, axis, coordinates and convention, and the shape of blocks that are joined. LW_EDATA, LW_EIO: what was looked
 * at is there, but cannot be read; or it contradicts itself.
 * @param info  with path, n_dims and dims already set */
int lw_hdf5_sampling_find(hid_t file, hid_t dataset, struct lw_dataset_info *info, struct lw_error *err);
