/* script.h - the text that gnuplot draws from: its head, data, and panels one above the other.
 *
 *     begin -> data ... -> panels begin -> panel, plot lines ... -> end
 *
 * Numbers are written by whoever has them, to `file`; texts from outside only by lw_script_text: between double quotes,
 * with all but letters, digits and a few signs as \ooo, which gnuplot decodes when it has parsed the line and substituted in it
 * what it substitutes. (Doubled single quotes are not safe: it takes those that begin a string for an empty one.) No file is named
 * in the text: gnuplot draws to its standard output, and the data stand in the text itself, which is all that a picture
 * needs. */
#pragma once

#include "plot/raster.h"

#include <stdio.h>

enum lw_picture { LW_PICTURE_PNG, LW_PICTURE_PDF, LW_PICTURE_SVG, LW_PICTURE_TEXT };

/* All widths and heights are in pixels; of a PDF, a hundredth of an inch. */
struct lw_script {
    FILE *file;                 /* borrowed */
    enum lw_picture picture;
    int width, height;
    const char *title;          /* above all panels; borrowed */
    char note[200];             /* small, below them: what the picture leaves out */
    int n_data;                 /* blocks of data so far */
};

/* Where the panels are: the same for all of a picture but for their place one above the other. */
struct lw_panels {
    int count;
    int left, right;            /* room beside them, for labels and the scale of colours */
    int gap;                    /* between two */
    int over, beside;           /* room for labels between a panel and what stands above it, and its scale of colours */
    bool has_titles;            /* of their own */
    double aspect;              /* height of one divided by its width; 0: as it fits */
};

/* One of them. */
struct lw_panel {
    int number;                 /* from 0, the topmost */
    const char *title;          /* NULL: none */
    const char *x_label, *y_label;      /* NULL: none, and for x no numbers either */
    double x_low, x_high, y_low, y_high;        /* y_low == y_high: as the data are; low > high: downwards */
    bool is_utc;                /* x is in seconds since 1970: ticks are times of the day */
    bool log_x, log_y;
};

/** The head: terminal, size, fonts. */
void lw_script_begin(struct lw_script *script);

/** A text from outside as a string. */
void lw_script_text(const struct lw_script *script, const char *text);

/** The same, shortened in the middle to what a line of so many pixels holds. */
void lw_script_line(const struct lw_script *script, const char *text, int width);

/** Begin a block of data: lines of numbers, or empty ones, until lw_script_data_end. @return  its number, for "$data%d" */
int lw_script_data(struct lw_script *script);
void lw_script_data_end(const struct lw_script *script);

void lw_script_panels(struct lw_script *script, const struct lw_panels *panels);
void lw_script_panel(const struct lw_script *script, const struct lw_panels *panels, const struct lw_panel *panel);
void lw_script_end(const struct lw_script *script);

/** Pixels of a panel. */
int lw_panels_width(const struct lw_script *script, const struct lw_panels *panels);
int lw_panels_height(const struct lw_script *script, const struct lw_panels *panels);

/** Colours from low to high, for the panel that follows: their scale beside it, and above that what it is of. */
void lw_script_colours(const struct lw_script *script, const struct lw_panels *panels, int number, const struct lw_colours *colours,
                       const char *label, bool is_log);
