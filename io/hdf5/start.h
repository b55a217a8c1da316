/* start.h - what HDF5 needs before its first call. */
#pragma once

/** Start HDF5, quiet, with the program's own decoders, and with its say over the locks on files. May be called often. */
void lw_hdf5_start(void);
