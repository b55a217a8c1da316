/* packing.h - how the attributes of an HDF5 dataset say that its samples are packed. */
#pragma once

#include "base/error.h"
#include "io/dataset.h"

#include <hdf5.h>

/** Set info->packing by scale_factor, add_offset, _FillValue, missing_value, valid_range, valid_min, valid_max and _Unsigned, which
 * stand before what a convention has set already. Off, if the hints say as stored, or every number is its own value.
 * LW_EDATA: an attribute is not what the CF conventions say. @param info  with its type */
int lw_hdf5_packing_find(hid_t dataset, struct lw_dataset_info *info, struct lw_error *err);
