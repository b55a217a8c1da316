/* origin.h - where a FITS file comes from, if this program has made it: read from the HISTORY that result.c writes. */
#pragma once

#include "io/list.h"
#include "io/notes/notes.h"

/** lw_format.find_origin. */
bool lw_fits_find_origin(const char *file, struct lw_listing_origin *origin);

/** lw_format.read_notes: what HISTORY says of the file, which a result in HDF5 has as attributes of its root group. */
int lw_fits_read_notes(const struct lw_object *object, struct lw_notes *notes, struct lw_error *err);
