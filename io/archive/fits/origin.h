/* origin.h - where a FITS file comes from, if this program has made it: read from the HISTORY that result.c writes. */
#ifndef LW_IO_ARCHIVE_FITS_ORIGIN_H
#define LW_IO_ARCHIVE_FITS_ORIGIN_H

#include "io/list.h"

/** lw_format.find_origin. */
bool lw_fits_find_origin(const char *file, struct lw_listing_origin *origin);

#endif
