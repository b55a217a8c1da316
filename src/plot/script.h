/* script.h - the text that gnuplot draws from: its head, data, and panels one above the other.
 *
 *     begin -> data ... -> panels begin -> panel, plot lines ... -> end
 *
 * Callers write numbers to `file` themselves, but texts of files and users only by lw_script_text. It puts a text between double
 * quotes, and writes all but letters, digits and a few signs as \ooo. gnuplot decodes \ooo after it has parsed the line. (Doubled
 * single quotes are not safe: at the beginning of a string, gnuplot takes them for an empty string.)
 * The text names no file: gnuplot draws to its standard output, and the data stand in the text itself. */
#pragma once

#include "plot/raster.h"

#include <stdio.h>

enum lw_picture { LW_PICTURE_PNG, LW_PICTURE_PDF, LW_PICTURE_SVG, LW_PICTURE_TEXT };

/* All widths and heights are in pixels; in a PDF, a pixel is a hundredth of an inch. */
struct lw_script {
    FILE *file;                 /* borrowed */
    enum lw_picture picture;
    int width, height;
    const char *title;          /* title above all panels; borrowed */
    char note[200];             /* small print at the bottom: what the picture leaves out */
    int n_data;                 /* number of data blocks so far */
};

/* Layout of the panels, which have one size and stand one above the other. */
struct lw_panels {
    int count;
    int left, right;            /* pixels beside the panels, for labels and the scale of colours */
    int gap;                    /* pixels between two panels */
    int over, beside;           /* pixels for labels between a panel and its title, and between a panel and its scale of colours */
    bool has_titles;            /* panels have titles of their own */
    double aspect;              /* height of a panel divided by its width; 0: any */
};

/* A panel: axes with data. */
struct lw_panel {
    int number;                 /* number from the top, 0 first */
    const char *title;          /* NULL: no title */
    const char *x_label, *y_label;      /* NULL: no label, and for x no numbers at the ticks */
    double x_low, x_high, y_low, y_high;        /* low == high: gnuplot chooses; low > high: reversed axis */
    bool is_utc;                /* x is in seconds since 1970: ticks are times of the day */
    bool log_x, log_y;
};

/** Write the head: terminal, size, fonts. */
void lw_script_begin(struct lw_script *script);

/** Write a text that comes from a file or the user as a gnuplot string. */
void lw_script_text(const struct lw_script *script, const char *text);

/** Write a string in the same way, shortened in the middle to fit a line of `width` pixels. */
void lw_script_line(const struct lw_script *script, const char *text, int width);

/** Begin a data block; the caller then writes lines of numbers. @return  number of the block, which is named "$data%d" */
int lw_script_data(struct lw_script *script);
void lw_script_data_end(const struct lw_script *script);

void lw_script_panels(struct lw_script *script, const struct lw_panels *panels);
void lw_script_panel(const struct lw_script *script, const struct lw_panels *panels, const struct lw_panel *panel);
void lw_script_end(const struct lw_script *script);

/** Return the width or height of a panel, in pixels. */
int lw_panels_width(const struct lw_script *script, const struct lw_panels *panels);
int lw_panels_height(const struct lw_script *script, const struct lw_panels *panels);

/** Write the range of colours for the next panel: a scale of colours beside the panel, and a label above the scale. */
void lw_script_colours(const struct lw_script *script, const struct lw_panels *panels, int number, const struct lw_colours *colours,
                       const char *label, bool is_log);
