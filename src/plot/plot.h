/* plot.h - `lapwing plot FILE[:/dataset]`: draws a picture of a dataset with gnuplot.
 *
 *     options --> subject: the dataset and its dimensions --> a kind of picture gathers samples or rows in cells (raster)
 *             --> gnuplot's text (script) --> gnuplot's process --> the picture's file
 *
 * A picture has one or several panels (axes with data), one above the other. A panel of samples has a raster of cells, at most one
 * for each pixel; a cell sums up its samples. The note is small print on what the picture leaves out.
 *
 *     plot.c        options, what is drawn and how, the order of the steps
 *     subject.c     a dataset, the meaning of its dimensions, units
 *     gather.c      reads samples into a raster; raster.c: the raster itself
 *     kinds.c       steps that several kinds of pictures share
 *     series.c, waterfall.c, lines.c, peaks.c, detection.c, fold.c, responses.c   the kinds of pictures
 *     graticule.c   lines of the sky's coordinates
 *     script.c      gnuplot's text
 *     picture.c     gnuplot's process, and the picture's file */
#pragma once

#include "comm/comm.h"
#include "options/options.h"

extern const struct lw_option lw_plot_options[];

/** Draw a picture as the options `given` ask. Rank 0 draws; all ranks return the same code. Collective.
 * @param names  "FILE", "FILE:/dataset", or several files that form one axis, in the form of io/names.h */
int lw_plot_run(struct lw_comm *comm, const char *names, const struct lw_options *given, struct lw_error *err);
