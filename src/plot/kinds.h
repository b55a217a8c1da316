/* kinds.h - the kinds of pictures: each gathers what it shows and writes gnuplot's text. */
#pragma once

#include "options/options.h"
#include "plot/raster.h"
#include "plot/script.h"
#include "plot/sky.h"
#include "plot/subject.h"

/* The order is that of the choices of --kind, from 1 on. */
enum lw_plot_kind {
    LW_PLOT_SERIES = 1, LW_PLOT_WATERFALL, LW_PLOT_IMAGE, LW_PLOT_SPECTRUM, LW_PLOT_PEAKS, LW_PLOT_FILTERS,
};

/* A picture while it is made. */
struct lw_plot {
    const struct lw_options *given;
    enum lw_plot_kind kind;
    struct lw_plot_subject subject;
    struct lw_plot_subject input;            /* what the result was made of; without notes: not known, or not there */
    bool has_input;                     /* it is shown */
    bool is_log;
    double low, high;                   /* of colours: --limits; NaN: as the values are */
    int64_t n_files;                    /* of the subject */
    double part;                        /* the least part of the samples of a panel that was read */
    int width, height;                  /* of the picture; 0: as the kind has it */
    struct lw_script script;
};

/* Lines of equal right ascension and declination over an image, or of what else its coordinates of the sky are, and labels. */
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

/* The part of the axis that is shown, in samples of the subject. */
struct lw_span {
    int64_t begin, end;
};

/* What one panel of samples shows of the subject, or of its input. */
struct lw_shown {
    struct lw_plot_subject *subject;
    struct lw_span x;
    struct lw_option_range y;
    int64_t z;
    double first, step;                 /* the sample of the result for sample 0, and for one */
    char title[400];
    struct lw_raster raster;            /* its cells are owned; rows are channels, the first one first */
    int64_t n_channels;                 /* chosen */
    int data;
    double low, high;                   /* of series: of values, both 0: as they are */
    enum lw_show show;                  /* of images: what of each cell, in which colours, */
    struct lw_colours colours;
    struct lw_graticule graticule;      /* and where on the sky */
};

enum { LW_MOST_SHOWN = 8 };

/* A picture of samples: panels one above the other. After all have been gathered and their data written, each is drawn. */
struct lw_samples {
    struct lw_shown list[LW_MOST_SHOWN];
    int count, most;
    int64_t left_out;                   /* panels for which there is no room */
    struct lw_span span;
    struct lw_option_range channels, filters;   /* of the subject, that are chosen */
    struct lw_plot_axis axis;           /* of the result's samples */
    struct lw_panels panels;
    int (*gather)(struct lw_plot *plot, struct lw_samples *samples, struct lw_shown *shown, struct lw_error *err);
    void (*draw)(const struct lw_plot *plot, const struct lw_samples *samples, int number);
};

/** The span of --start and --count or --from and --to, the channels of --channels, --distance or --frequency, and the filters of
 * --filters. Errors: those of lw_job_choose_piece and lw_job_choose_channels; LW_ECONFIG: --filters leaves them. */
int lw_samples_choose(const struct lw_plot *plot, struct lw_samples *samples, struct lw_error *err);

/** A new panel, all zeros; NULL: there is no room for it. */
struct lw_shown *lw_samples_add(struct lw_samples *samples);

/** Draw all panels. @param what  they are called: "series" @param more  of the picture's note; "" */
int lw_samples_draw(struct lw_plot *plot, struct lw_samples *samples, const char *what, const char *more, struct lw_error *err);
void lw_samples_release(struct lw_samples *samples);

/** The samples [begin, end) that there are of `n`. */
struct lw_span lw_plot_clip(double begin, double end, int64_t n);

/** Read the samples of a panel into its raster of at most so many rows and columns: all of them, or, where that would take too
 * long, blocks of the axis and channels spread evenly; `plot->part` says which part of them. `n_panels` share what --read allows.
 * LW_ECONFIG: there is nothing in it. Other errors: those of lw_boxes_read; LW_ESYSTEM. */
int lw_plot_gather(struct lw_plot *plot, struct lw_shown *shown, int n_panels, int most_rows, int most_columns,
                   struct lw_error *err);

/** That of --from and --to where the axis is a frequency; what is not given stays as it is. */
int lw_plot_band(const struct lw_plot *plot, double *low_hz, double *high_hz, struct lw_error *err);

/** The channels of the subject that --channels, --distance or --frequency choose. Errors: those of lw_job_choose_channels. */
int lw_plot_channels(const struct lw_plot *plot, struct lw_option_range *range, struct lw_error *err);

/** Whether a range of --channels, any part of which may be open, holds a channel. */
bool lw_plot_is_chosen(const struct lw_option_range *range, int64_t channel);

/** The choice of --filters among `n`. LW_ECONFIG: it leaves them. */
int lw_plot_filters_chosen(const struct lw_plot *plot, int64_t n, struct lw_option_range *range, struct lw_error *err);

/** Colours within what --limits says. */
void lw_plot_limit(const struct lw_plot *plot, struct lw_colours *colours);

/** Width and height: those of --size, or as given here. And the title. */
void lw_plot_frame(struct lw_plot *plot, int width, int height);

/** The same span of the input: its map gives the input's sample for sample 0 of the result, and samples for one. */
struct lw_input_map {
    double first, step;
    struct lw_option_range channels;    /* of the input, for those of the result */
};
struct lw_input_map lw_plot_map_input(const struct lw_plot *plot);

/** Find where on the sky what is shown of an image, or of a table of sources, lies. Where nothing says so, `graticule->sky`
 * stays empty. It is to be closed in any case. Errors: those of lw_notes_collect; LW_ESYSTEM.
 * @param low, high  what is shown, in columns and rows of `subject`, which is one of the plot's */
int lw_plot_open_sky(const struct lw_plot *plot, const struct lw_plot_subject *subject, const double low[2], const double high[2],
                     struct lw_graticule *graticule, struct lw_error *err);

/* ---- graticule.c: where there are no coordinates, these do nothing, but for the rest of the plot line ---- */

/** Room for labels around the panels, and what the lines are, at the end of the picture's note. */
void lw_graticule_make_room(const struct lw_graticule *graticule, struct lw_panels *panels);
void lw_graticule_note(const struct lw_graticule *graticule, char *note, size_t size);

/** Write the lines as a block of data, and choose the labels. */
void lw_graticule_make(struct lw_graticule *graticule, const struct lw_panels *panels, struct lw_script *script);

/** Write a panel's plot line with the lines between what gnuplot draws below and above them ("": nothing), and their labels;
 * then no label is set. @param low, high  the edges of what is shown on the panel's axes */
void lw_graticule_plot(const struct lw_graticule *graticule, const double low[2], const double high[2], const char *below,
                       const char *above, const struct lw_script *script);

/* The kinds. */
int lw_plot_series(struct lw_plot *plot, struct lw_error *err);
int lw_plot_waterfall(struct lw_plot *plot, struct lw_error *err);      /* and images */
int lw_plot_spectrum(struct lw_plot *plot, struct lw_error *err);
int lw_plot_peaks(struct lw_plot *plot, struct lw_error *err);
int lw_plot_filters(struct lw_plot *plot, struct lw_error *err);
