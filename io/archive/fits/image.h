/* image.h - what a unit of a FITS file says of the image in it. Pure, but for finding the unit. */
#pragma once

#include "io/archive/fits/header.h"
#include "io/archive/fits/tiling.h"
#include "io/archive/flat.h"

/* Of a result that is not complete, F. */
#define LW_FITS_COMPLETE "LAPWDONE"

/* Dimensions are in C's order: NAXIS1 is the last one. Where FITS has more than LW_MAX_DIMS, the slowest of length 1 are left
 * out. */
struct lw_fits_image {
    int unit;
    bool is_tiled;                      /* compressed, in a table: offset and byte order of `flat` say nothing */
    struct lw_flat flat;
    struct lw_fits_tiling tiling;
};

/** Whether a unit holds an image: an array with data, or tiles. */
bool lw_fits_has_image(const struct lw_fits_unit *unit);

/** The image in the unit that the walk is at, which holds one. LW_EDATA: damaged, or more dimensions than can be told. */
int lw_fits_find_image(const struct lw_fits_walk *walk, struct lw_fits_image *out, struct lw_error *err);

/** "/SCI", or "/2" where the unit has no name. */
void lw_fits_path(const struct lw_fits_unit *unit, char *path, size_t size);

/** Go to the unit that a path names ("/2", "/SCI", "/SCI,2", case does not count), or without one to the first that holds an image.
 * LW_EDATA: there is none (says which there are), or it holds no image. */
int lw_fits_seek(struct lw_fits_walk *walk, const char *path, struct lw_error *err);
