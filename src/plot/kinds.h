/* kinds.h - the kinds of pictures. Each gathers samples or rows of a table, and writes gnuplot's text. */
#pragma once

#include "options/options.h"
#include "plot/script.h"
#include "io/archive/fits/sky.h"
#include "plot/subject.h"

/* The value of a kind is the index of its name among the choices of --kind. */
enum lw_plot_kind {
    LW_PLOT_SERIES = 1, LW_PLOT_WATERFALL, LW_PLOT_IMAGE, LW_PLOT_SPECTRUM, LW_PLOT_PEAKS, LW_PLOT_FILTERS,
    LW_PLOT_DETECTION, LW_PLOT_FOLD,
};

/* A picture while it is made. */
struct lw_plot {
    const struct lw_options *given;
    enum lw_plot_kind kind;
    struct lw_plot_subject subject;
    struct lw_plot_subject input;            /* input of the result; without notes: unknown or not found */
    bool has_input;                     /* the input is drawn beside the result */
    bool is_log;
    double low, high;                   /* values of the first and the last colour (--limits); NaN: chosen from the data */
    int64_t n_files;                    /* number of files that the subject consists of */
    double part;                        /* fraction of the samples that was read: the least of all panels */
    int width, height;                  /* --size, pixels; 0: the kind chooses */
    struct lw_script script;
};

/* A graticule: lines of equal longitude or latitude on the sky over an image (such as right ascension), with labels. */
enum { LW_GRATICULE_MOST_LABELS = 40 };

/* Index 0 counts columns and 1 rows of the image to which `sky` belongs; whole numbers are centres of its pixels. */
struct lw_graticule {
    struct lw_sky sky;
    double low[2], high[2];     /* visible range, in pixels of the image */
    double scale[2];            /* pixels of the picture per pixel of the image; set by lw_graticule_make */
    bool is_downward;           /* the first row is at the top of the picture */
    int data;                   /* number of the data block with the lines (lw_script_data) */
    int n_labels;
    struct lw_graticule_label {
        char text[40];
        enum { LW_GRATICULE_TOP, LW_GRATICULE_RIGHT, LW_GRATICULE_INSIDE } side;
        double at[2];
    } labels[LW_GRATICULE_MOST_LABELS];
};

/* Part of the axis: samples [begin, end) of the subject. */
struct lw_span {
    int64_t begin, end;
};

/* A panel of samples: it shows a part of the subject, or of its input. */
struct lw_shown {
    struct lw_plot_subject *subject;
    struct lw_span x;
    struct lw_option_range y;
    int64_t z;
    double first, step;                 /* sample 0 of `subject` as a result sample; result samples per sample */
    char title[400];
    struct lw_raster raster;            /* owned cells; a row for each chosen channel or for several successive ones */
    int64_t n_channels;                 /* number of chosen channels */
    int data;
    double low, high;                   /* series: range of the vertical axis; both 0: gnuplot chooses */
    enum lw_show show;                  /* image: which value of a cell is shown */
    struct lw_colours colours;
    struct lw_graticule graticule;      /* image: lines of the sky */
};

enum { LW_MOST_SHOWN = 8 };

/* A picture of samples: panels one above the other. First `gather` is called for each panel and writes its data, then `draw`. */
struct lw_samples {
    struct lw_shown list[LW_MOST_SHOWN];
    int count, most;
    int64_t left_out;                   /* panels that were left out, as there was no room */
    struct lw_span span;
    struct lw_option_range channels, filters;   /* chosen channels and filters of the subject */
    struct lw_plot_axis axis;           /* axis of the result's samples */
    struct lw_panels panels;
    int (*gather)(struct lw_plot *plot, struct lw_samples *samples, struct lw_shown *shown, struct lw_error *err);
    void (*draw)(const struct lw_plot *plot, const struct lw_samples *samples, int number);
};

/** Read the span of --start and --count or --from and --to, the channels of --channels, --distance or --frequency, and the filters
 * of --filters. Errors: those of lw_job_choose_piece and lw_job_choose_channels; LW_ECONFIG: --filters goes beyond the filters. */
int lw_samples_choose(const struct lw_plot *plot, struct lw_samples *samples, struct lw_error *err);

/** Add a panel. @return  the panel, all zeros; NULL: there is no room for it */
struct lw_shown *lw_samples_add(struct lw_samples *samples);

/** Gather and draw all panels. @param what  word for the panels in the note: "series" @param more  end of the note, or "" */
int lw_samples_draw(struct lw_plot *plot, struct lw_samples *samples, const char *what, const char *more, struct lw_error *err);
void lw_samples_release(struct lw_samples *samples);

/** Return the span [begin, end), with both ends rounded up and limited to 0 .. n. */
struct lw_span lw_plot_clip(double begin, double end, int64_t n);

/** Read the samples of a panel into its raster of at most `most_rows` x `most_columns` cells. If they exceed the panel's share of
 * --read (one of `n_panels`), evenly spread blocks are read, and plot->part becomes at most the fraction read. LW_ECONFIG: the
 * panel has no samples. LW_ESYSTEM, and errors of lw_boxes_read. */
int lw_plot_gather(struct lw_plot *plot, struct lw_shown *shown, int n_panels, int most_rows, int most_columns,
                   struct lw_error *err);

/** Read --from and --to as frequencies; without an option its value stays. LW_EUSAGE: no frequency, or an empty band. */
int lw_plot_band(const struct lw_plot *plot, double *low_hz, double *high_hz, struct lw_error *err);

/** Find a file that a run was given for `option`, here or relative to the result's folder. @return  false: it is not there */
bool lw_plot_find(const struct lw_plot_subject *subject, const char *option, char *name, size_t size);

/** Return the channels of the input that a result has summed, as beams or stacks; 0: none. */
static inline int64_t lw_plot_n_summed(const struct lw_plot_subject *subject)
{
    return (int64_t)lw_said_real(&subject->notes->dataset, "summed_channels", 0);
}

/** Read the subject's channels that --channels, --distance or --frequency choose. Errors: those of lw_job_choose_channels. */
int lw_plot_channels(const struct lw_plot *plot, struct lw_option_range *range, struct lw_error *err);

/** Return whether a range of --channels, in which -1 is an open end, contains a channel. */
bool lw_plot_is_chosen(const struct lw_option_range *range, int64_t channel);

/** Read --filters as a range of `n` filters. LW_ECONFIG: the range goes beyond them. */
int lw_plot_filters_chosen(const struct lw_plot *plot, int64_t n, struct lw_option_range *range, struct lw_error *err);

/** Replace the ends of the colours by those of --limits. */
void lw_plot_limit(const struct lw_plot *plot, struct lw_colours *colours);

/** Set the picture's width and height in pixels: --size, else the given ones. */
void lw_plot_frame(struct lw_plot *plot, int width, int height);

/** Map from the result to its input: the input's sample at sample 0 of the result, and samples of the input per sample. */
struct lw_input_map {
    double first, step;
    struct lw_option_range channels;    /* channels of the input that became the result's channels; the end is open */
};
struct lw_input_map lw_plot_map_input(const struct lw_plot *plot);

/** Set the graticule's sky from the metadata of an image or table of sources, else of its input, and its visible range. Without
 * coordinates graticule->sky stays empty; close it in any case. Errors: those of lw_notes_collect; LW_ESYSTEM.
 * @param low, high  visible range in columns and rows of `subject`, which is the plot's subject or input */
int lw_plot_open_sky(const struct lw_plot *plot, const struct lw_plot_subject *subject, const double low[2], const double high[2],
                     struct lw_graticule *graticule, struct lw_error *err);

/* ---- graticule.c: without coordinates of the sky, nothing is drawn or written but lw_graticule_plot's plot command ---- */

/** Make room for the labels around the panels; append the names of the coordinates to the picture's note. */
void lw_graticule_make_room(const struct lw_graticule *graticule, struct lw_panels *panels);
void lw_graticule_note(const struct lw_graticule *graticule, char *note, size_t size);

/** Write the lines as a data block, and choose their labels. */
void lw_graticule_make(struct lw_graticule *graticule, const struct lw_panels *panels, struct lw_script *script);

/** Write the plot command of a panel: `below`, then the lines of the sky, then `above` (both may be ""). The lines' labels are set
 * before the command and unset after it.
 * @param low, high  visible range on the panel's axes */
void lw_graticule_plot(const struct lw_graticule *graticule, const double low[2], const double high[2], const char *below,
                       const char *above, const struct lw_script *script);

/* Gather and draw a picture of one kind. */
int lw_plot_series(struct lw_plot *plot, struct lw_error *err);
int lw_plot_waterfall(struct lw_plot *plot, struct lw_error *err);      /* images, too */
int lw_plot_spectrum(struct lw_plot *plot, struct lw_error *err);
int lw_plot_peaks(struct lw_plot *plot, struct lw_error *err);
int lw_plot_filters(struct lw_plot *plot, struct lw_error *err);
int lw_plot_detection(struct lw_plot *plot, struct lw_error *err);
int lw_plot_fold(struct lw_plot *plot, struct lw_error *err);
