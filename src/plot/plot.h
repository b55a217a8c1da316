/* plot.h - `lapwing plot FILE[:/dataset]`: a picture of a dataset, drawn by gnuplot.
 *
 *     plot.c        options, what is drawn and how, the order of the steps
 *     subject.c     a dataset and what its dimensions are, units
 *     gather.c      its samples read into a raster; raster.c: the raster itself
 *     kinds.c       what several kinds of pictures share
 *     series.c, waterfall.c, lines.c, peaks.c, responses.c    the kinds of pictures
 *     graticule.c   lines of the sky's coordinates; sky.c: WCSLIB
 *     script.c      gnuplot's text
 *     picture.c     gnuplot's process, and the file */
#pragma once

#include "comm/comm.h"
#include "options/options.h"
#include "plot/sky.h"

extern const struct lw_option lw_plot_options[];

/** Draw it. Rank 0 works, all return the same code. Collective.
 * @param names  "FILE" or "FILE:/dataset", or several that are one axis, as io/names.h takes them */
int lw_plot_run(struct lw_comm *comm, const char *names, const struct lw_options *given, struct lw_error *err);

/** Find where sources of the table "FILE:/path" lie. By one process.
 * @param places  their columns and rows, which become longitudes and latitudes in degrees; LW_SKY_MOST at most
 * @param sky  says what these are; it is closed. Without a text: nobody knows, and `places` stay as they are */
void lw_plot_find_sources(const char *name, int n, struct lw_sky_point *places, struct lw_sky *sky);
