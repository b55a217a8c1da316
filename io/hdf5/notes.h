/* notes.h - lw_format.read_notes and read_rows of HDF5 files. */
#ifndef LW_IO_HDF5_NOTES_H
#define LW_IO_HDF5_NOTES_H

#include "io/notes/notes.h"

int lw_hdf5_read_notes(const struct lw_object *object, struct lw_notes *notes, struct lw_error *err);
int lw_hdf5_read_rows(const struct lw_object *object, const struct lw_rows *rows, double *values, struct lw_error *err);

#endif
