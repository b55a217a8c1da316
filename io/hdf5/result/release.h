/* release.h - which HDF5 this program runs with. Does not need hdf5.h. */
#ifndef LW_IO_HDF5_RESULT_RELEASE_H
#define LW_IO_HDF5_RESULT_RELEASE_H

/** "HDF5 1.10.8, parallel". Static storage. */
const char *lw_hdf5_text(void);

#endif
