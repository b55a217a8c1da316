/* tiles.h - samples of images that are compressed by tiles: found, decoded and put to their places, by any number of threads.
 *
 * Tiles of few bytes are decoded side by side. Large ones are decoded one at a time, and the last one is kept, since the pieces
 * that threads read may be smaller. */
#pragma once

#include "io/archive/fits/image.h"

struct lw_fits_tiles;

/** Open an image for reading samples in the type that lw_values_type gives. LW_ESYSTEM.
 * @param fd  of the file, closed with the tiles or on failure */
int lw_fits_tiles_open(int fd, const struct lw_fits_image *image, struct lw_fits_tiles **out, struct lw_error *err);

/** lw_format.read. Any thread may call. LW_EDATA: a tile is damaged; LW_EIO. */
int lw_fits_tiles_read(struct lw_fits_tiles *tiles, const struct lw_box *box, struct lw_error *err);
void lw_fits_tiles_close(struct lw_fits_tiles *tiles);      /* NULL is legal */
