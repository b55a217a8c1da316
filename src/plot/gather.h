/* gather.h - the samples of a subject read into a raster: all of them, or, where that would take too long, blocks of the axis and
 * channels spread evenly. */
#pragma once

#include "plot/raster.h"
#include "plot/subject.h"

struct lw_gather {
    int64_t begin, end;                 /* of x */
    int64_t y_begin, y_end, y_step;
    int64_t z;
    int most_rows, most_columns;
    int64_t most_bytes;                 /* to read, about */
};

/* The raster, and what it was made of. */
struct lw_gathered {
    struct lw_raster raster;                /* owned; rows are channels, the first one first */
    int64_t n_channels;                 /* chosen */
    double part;                        /* of the samples chosen that was read */
};

/** Errors: those of lw_boxes_read; LW_ESYSTEM. Release it in any case. */
int lw_gather(struct lw_plot_subject *subject, const struct lw_gather *what, struct lw_gathered *gathered, struct lw_error *err);
void lw_gathered_release(struct lw_gathered *gathered);

/** "drawn from 4.2% of the samples", "" if from all. @param least  the smallest part of several rasters */
const char *lw_gathered_note(double least, char *text, size_t size);
