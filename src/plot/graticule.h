/* graticule.h - lines of equal right ascension and declination over an image, or of what else its coordinates of the sky are, and labels. */
#ifndef LW_PLOT_GRATICULE_H
#define LW_PLOT_GRATICULE_H

#include "plot/script.h"
#include "plot/sky.h"

enum { LW_GRATICULE_MOST_LABELS = 40 };

/* Columns (0) and rows (1) are those of the sky's pixels; whole numbers are centres of pixels. */
struct lw_graticule {
    struct lw_sky sky;
    double low[2], high[2];     /* what is shown */
    double scale[2];            /* the picture's pixels for one */
    bool is_downward;           /* the first row is at the top */
    int data;                   /* the number of the block of data with the lines */
    int n_labels;
    struct lw_graticule_label {
        char text[40];
        enum { LW_GRATICULE_TOP, LW_GRATICULE_RIGHT, LW_GRATICULE_INSIDE } side;
        double at[2];
    } labels[LW_GRATICULE_MOST_LABELS];
};

/** Write the lines as a block of data, and choose the labels. */
void lw_graticule_make(struct lw_graticule *graticule, struct lw_script *script);

/** The labels, ahead of a panel's plot line, until "unset label"; and the lines, as the last part of that line.
 * @param low, high  the edges of what is shown on the panel's axes */
void lw_graticule_write_labels(const struct lw_graticule *graticule, const double low[2], const double high[2], const struct lw_script *script);
void lw_graticule_write_lines(const struct lw_graticule *graticule, const double low[2], const double high[2], const struct lw_script *script);

#endif
