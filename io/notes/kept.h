/* kept.h - which attributes of its input a result keeps, in their own names.
 *
 * Left out are names by which readers find coordinates, sampling, types or structure, since the result has its own: what was right
 * for the input would be wrong for it; long texts and arrays; and what is beyond the bounds below, as the header of an HDF5 object
 * holds 64 KiB. */
#pragma once

#include "io/notes/said.h"

enum { LW_KEPT_MOST = 64, LW_KEPT_NAME = 64, LW_KEPT_TEXT_BYTES = 16384, LW_KEPT_REALS = 1024, LW_KEPT_MOST_TEXT = 1024,
       LW_KEPT_MOST_REALS = 64 };

/** Put those whose names are not taken yet behind the `n` attributes that are there. @return  how many there are then
 * @param attributes  room for LW_KEPT_MOST more; the new ones borrow from `said` */
int lw_kept_add(const struct lw_said *said, struct lw_attribute *attributes, int n);
