/* graticule.h - lines of equal right ascension and declination over an image, or of what else its coordinates of the sky are, and
 * labels. */
#pragma once

#include "plot/script.h"
#include "plot/sky.h"

enum { LW_GRATICULE_MOST_LABELS = 40 };

/* Columns (0) and rows (1) are those of the sky's pixels; whole numbers are centres of pixels. */
struct lw_graticule {
    struct lw_sky sky;
    double low[2], high[2];     /* what is shown */
    double scale[2];            /* the picture's pixels for one; set by lw_graticule_make */
    bool is_downward;           /* the first row is at the top */
    int data;                   /* the number of the block of data with the lines */
    int n_labels;
    struct lw_graticule_label {
        char text[40];
        enum { LW_GRATICULE_TOP, LW_GRATICULE_RIGHT, LW_GRATICULE_INSIDE } side;
        double at[2];
    } labels[LW_GRATICULE_MOST_LABELS];
};

/* Where there are no coordinates, these do nothing, but for the rest of the plot line. */

/** Room for labels around the panels, and what the lines are, at the end of the picture's note. */
void lw_graticule_make_room(const struct lw_graticule *graticule, struct lw_panels *panels);
void lw_graticule_note(const struct lw_graticule *graticule, char *note, size_t size);

/** Write the lines as a block of data, and choose the labels. */
void lw_graticule_make(struct lw_graticule *graticule, const struct lw_panels *panels, struct lw_script *script);

/** Write a panel's plot line with the lines between what gnuplot draws below and above them ("": nothing), and their labels;
 * then no label is set. @param low, high  the edges of what is shown on the panel's axes */
void lw_graticule_plot(const struct lw_graticule *graticule, const double low[2], const double high[2], const char *below,
                       const char *above, const struct lw_script *script);
