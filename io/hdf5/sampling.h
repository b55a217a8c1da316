/* sampling.h - what a file's own metadata says about the time axis of a dataset.
 *
 * Looked at, the first find counts:
 *   - rate: attributes sample_rate_hz, sample_rate, fs, dt, ... of the dataset; Xspacing (GWOSC); a regular dimension scale
 *     of the time dimension (netCDF, h5py); for time series (one or two dimensions, more than one value, not named "time")
 *     also the rate attributes of the groups above, innermost first (ProdML)
 *   - start: attributes start_time with start_unit; Xstart; the first value of the scale; an ISO 8601 text
 *   - which dimension: dimension labels and scales named "time" or "t" */
#ifndef LW_IO_HDF5_SAMPLING_H
#define LW_IO_HDF5_SAMPLING_H

#include "base/error.h"
#include "io/dataset.h"

#include <hdf5.h>

/** Fill metadata_axis and axis. LW_EDATA, LW_EIO: an attribute or scale that was looked at is there, but cannot be read.
 * @param info  with path, n_dims and dims already set */
int lw_sampling_find(hid_t file, hid_t dataset, struct lw_dataset_info *info, struct lw_error *err);

/** "4096 Hz from 1126259446 GPS second (Xspacing)", or "" if nothing is known. Returns `text`. */
const char *lw_sampling_text(const struct lw_axis_metadata *axis, char *text, size_t size);

#endif
