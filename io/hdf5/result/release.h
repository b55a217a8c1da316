/* release.h - the version of HDF5 that this program runs with. Does not need hdf5.h. */
#pragma once

/** Return a text such as "HDF5 1.10.8, parallel", in static storage. */
const char *lw_hdf5_text(void);
