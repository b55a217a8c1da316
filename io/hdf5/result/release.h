/* release.h - which HDF5 this program runs with. Does not need hdf5.h. */
#pragma once

/** "HDF5 1.10.8, parallel". Static storage. */
const char *lw_hdf5_text(void);
