/* kinds.h - the kinds of pictures: each gathers its samples or rows, and writes gnuplot's text. */
#pragma once

#include "options/options.h"
#include "plot/raster.h"
#include "plot/script.h"
#include "plot/sky.h"
#include "plot/subject.h"

/* Values: index into the choices of --kind. */
enum lw_plot_kind {
    LW_PLOT_SERIES = 1, LW_PLOT_WATERFALL, LW_PLOT_IMAGE, LW_PLOT_SPECTRUM, LW_PLOT_PEAKS, LW_PLOT_FILTERS,
};

/* A picture in the making. */
struct lw_plot {
    const struct lw_options *given;
    enum lw_plot_kind kind;
    struct lw_plot_subject subject;
    struct lw_plot_subject input;            /* input of the result; without notes: not known, or not there */
    bool has_input;                     /* the input is drawn, too */
    bool is_log;
    double low, high;                   /* --limits of the colours; NaN: follow the values */
    int64_t n_files;                    /* files that make up the subject */
    double part;                        /* fraction of its samples that was read, for the panel with the least */
    int width, height;                  /* --size, pixels; 0: the kind chooses */
    struct lw_script script;
};

/* Lines of equal right ascension and declination over an image, or of its other coordinates of the sky, with labels. */
enum { LW_GRATICULE_MOST_LABELS = 40 };

/* Columns (0) and rows (1) are those of the sky's pixels; whole numbers are centres of pixels. */
struct lw_graticule {
    struct lw_sky sky;
    double low[2], high[2];     /* range that is shown */
    double scale[2];            /* the picture's pixels per pixel of the sky; set by lw_graticule_make */
    bool is_downward;           /* the first row is at the top */
    int data;                   /* number of the block of data with the lines */
    int n_labels;
    struct lw_graticule_label {
        char text[40];
        enum { LW_GRATICULE_TOP, LW_GRATICULE_RIGHT, LW_GRATICULE_INSIDE } side;
        double at[2];
    } labels[LW_GRATICULE_MOST_LABELS];
};

/* Part of the axis that is shown, in samples of the subject. */
struct lw_span {
    int64_t begin, end;
};

/* A panel of samples: a part of the subject, or of its input. */
struct lw_shown {
    struct lw_plot_subject *subject;
    struct lw_span x;
    struct lw_option_range y;
    int64_t z;
    double first, step;                 /* the result's sample at sample 0 of `subject`, and samples of the result per sample */
    char title[400];
    struct lw_raster raster;            /* owned cells; rows are channels, in their order */
    int64_t n_channels;                 /* number of chosen channels */
    int data;
    double low, high;                   /* series: range of values; both 0: gnuplot's own */
    enum lw_show show;                  /* image: value shown of each cell */
    struct lw_colours colours;
    struct lw_graticule graticule;      /* image: lines of the sky */
};

enum { LW_MOST_SHOWN = 8 };

/* A picture of samples: panels one above the other. All are gathered and their data written, then each one is drawn. */
struct lw_samples {
    struct lw_shown list[LW_MOST_SHOWN];
    int count, most;
    int64_t left_out;                   /* panels for which there is no room */
    struct lw_span span;
    struct lw_option_range channels, filters;   /* chosen of the subject */
    struct lw_plot_axis axis;           /* axis of the result's samples */
    struct lw_panels panels;
    int (*gather)(struct lw_plot *plot, struct lw_samples *samples, struct lw_shown *shown, struct lw_error *err);
    void (*draw)(const struct lw_plot *plot, const struct lw_samples *samples, int number);
};

/** Read the span of --start and --count or --from and --to, the channels of --channels, --distance or --frequency, and the filters
 * of --filters. Errors: those of lw_job_choose_piece and lw_job_choose_channels; LW_ECONFIG: --filters goes beyond the filters. */
int lw_samples_choose(const struct lw_plot *plot, struct lw_samples *samples, struct lw_error *err);

/** Add a panel, all zeros. @return  NULL: there is no room for it */
struct lw_shown *lw_samples_add(struct lw_samples *samples);

/** Gather and draw all panels. @param what  name of the panels: "series" @param more  end of the picture's note; "" */
int lw_samples_draw(struct lw_plot *plot, struct lw_samples *samples, const char *what, const char *more, struct lw_error *err);
void lw_samples_release(struct lw_samples *samples);

/** Return the samples [begin, end), rounded up and limited to 0 .. n. */
struct lw_span lw_plot_clip(double begin, double end, int64_t n);

/** Read the samples of a panel into its raster of at most `most_rows` x `most_columns` cells. Where reading all would take too
 * long, blocks of the axis and of channels are read, evenly spread, and plot->part becomes the fraction read. The `n_panels` panels
 * share the bytes of --read. LW_ECONFIG: the panel has no samples. LW_ESYSTEM, and errors of lw_boxes_read. */
int lw_plot_gather(struct lw_plot *plot, struct lw_shown *shown, int n_panels, int most_rows, int most_columns,
                   struct lw_error *err);

/** Read --from and --to as frequencies; an option that is not given leaves its value as it is. LW_EUSAGE. */
int lw_plot_band(const struct lw_plot *plot, double *low_hz, double *high_hz, struct lw_error *err);

/** Read the subject's channels that --channels, --distance or --frequency choose. Errors: those of lw_job_choose_channels. */
int lw_plot_channels(const struct lw_plot *plot, struct lw_option_range *range, struct lw_error *err);

/** Whether a range of --channels, whose parts may be open (-1), contains a channel. */
bool lw_plot_is_chosen(const struct lw_option_range *range, int64_t channel);

/** Read --filters as a range among `n` filters. LW_ECONFIG: it goes beyond them. */
int lw_plot_filters_chosen(const struct lw_plot *plot, int64_t n, struct lw_option_range *range, struct lw_error *err);

/** Limit the colours to --limits. */
void lw_plot_limit(const struct lw_plot *plot, struct lw_colours *colours);

/** Set the picture's width and height: --size, else the given ones. */
void lw_plot_frame(struct lw_plot *plot, int width, int height);

/** Map from the result to its input: the input's sample for sample 0 of the result, and samples of the input per sample. */
struct lw_input_map {
    double first, step;
    struct lw_option_range channels;    /* channels of the input that belong to the result's */
};
struct lw_input_map lw_plot_map_input(const struct lw_plot *plot);

/** Find where on the sky the visible part of an image, or of a table of sources, lies. Without any coordinates graticule->sky stays
 * empty. Close graticule->sky in any case. Errors: those of lw_notes_collect; LW_ESYSTEM.
 * @param low, high  the visible part, in columns and rows of `subject`, which is the plot's subject or input */
int lw_plot_open_sky(const struct lw_plot *plot, const struct lw_plot_subject *subject, const double low[2], const double high[2],
                     struct lw_graticule *graticule, struct lw_error *err);

/* ---- graticule.c: without coordinates of the sky, these do nothing but write the rest of the plot line ---- */

/** Make room for labels around the panels; name the lines in the picture's note. */
void lw_graticule_make_room(const struct lw_graticule *graticule, struct lw_panels *panels);
void lw_graticule_note(const struct lw_graticule *graticule, char *note, size_t size);

/** Write the lines as a block of data, and choose the labels. */
void lw_graticule_make(struct lw_graticule *graticule, const struct lw_panels *panels, struct lw_script *script);

/** Write a panel's plot line: the lines of the sky between what gnuplot draws below and above them ("": nothing). Their labels are
 * set before, and unset after it.
 * @param low, high  edges of the visible part on the panel's axes */
void lw_graticule_plot(const struct lw_graticule *graticule, const double low[2], const double high[2], const char *below,
                       const char *above, const struct lw_script *script);

/* The kinds of pictures. */
int lw_plot_series(struct lw_plot *plot, struct lw_error *err);
int lw_plot_waterfall(struct lw_plot *plot, struct lw_error *err);      /* and images */
int lw_plot_spectrum(struct lw_plot *plot, struct lw_error *err);
int lw_plot_peaks(struct lw_plot *plot, struct lw_error *err);
int lw_plot_filters(struct lw_plot *plot, struct lw_error *err);
