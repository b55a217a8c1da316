/* kinds.h - the kinds of pictures: each gathers what it shows and writes gnuplot's text. */
#pragma once

#include "options/options.h"
#include "plot/gather.h"
#include "plot/graticule.h"
#include "plot/script.h"

/* The order is that of the choices of --kind, from 1 on. */
enum lw_plot_kind {
    LW_PLOT_SERIES = 1,
    LW_PLOT_WATERFALL,
    LW_PLOT_IMAGE,
    LW_PLOT_SPECTRUM,
    LW_PLOT_PEAKS,
    LW_PLOT_FILTERS,
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
    struct lw_gathered gathered;
    int data;
    char title[400];
};

/** The samples [begin, end) that there are of `n`. */
struct lw_span lw_plot_clip(double begin, double end, int64_t n);

/** Gather a panel of a picture with so many, of at most so many rows and columns. LW_ECONFIG: there is nothing in it. */
int lw_plot_gather(struct lw_plot *plot, struct lw_shown *shown, int n_panels, int most_rows, int most_columns,
                   struct lw_error *err);

/* A picture of samples: after all panels have been gathered and their data written, each is drawn. */
struct lw_panels_drawing {
    void *context;
    int count;
    int (*gather)(struct lw_plot *plot, void *context, int number, struct lw_error *err);
    void (*draw)(const struct lw_plot *plot, void *context, int number);
    int64_t left_out;                   /* panels for which there is no room, */
    const char *what;                   /* and what they are called, "series" */
    const char *more;                   /* of the note below; "" */
};
int lw_plot_draw_panels(struct lw_plot *plot, const struct lw_panels *panels, const struct lw_panels_drawing *drawing,
                        struct lw_error *err);

/** That of --start and --count or --from and --to. Errors: those of lw_job_choose_piece. */
int lw_plot_span(const struct lw_plot *plot, struct lw_span *span, struct lw_error *err);

/** That of --from and --to where the axis is a frequency; what is not given stays as it is. */
int lw_plot_band(const struct lw_plot *plot, double *low_hz, double *high_hz, struct lw_error *err);

/** The channels of the subject that --channels, --distance or --frequency choose. Errors: those of lw_job_choose_channels. */
int lw_plot_channels(const struct lw_plot *plot, struct lw_option_range *range, struct lw_error *err);

/** The choice of --filters among `n`. LW_ECONFIG: it leaves them. */
int lw_plot_filters_chosen(const struct lw_plot *plot, int64_t n, struct lw_option_range *range, struct lw_error *err);

/** Colours within what --limits says. */
void lw_plot_limit(const struct lw_plot *plot, struct lw_colours *colours);

/** Width and height: those of --size, or as given here. And the title. */
void lw_plot_frame(struct lw_plot *plot, int width, int height);

/** The same span of the input: `map` gives the input's sample for sample 0 of the result, and samples for one. */
struct lw_input_map {
    double first, step;
    struct lw_option_range channels;    /* of the input, for those of the result */
};
void lw_plot_map_input(const struct lw_plot *plot, struct lw_input_map *map);

/** Find where on the sky what is shown of an image, or of a table of sources, lies. Where nothing says so, `graticule->sky`
 * stays empty. It is to be closed in any case. Errors: those of lw_notes_collect; LW_ESYSTEM.
 * @param low, high  what is shown, in columns and rows of `subject`, which is one of the plot's */
int lw_plot_open_sky(const struct lw_plot *plot, const struct lw_plot_subject *subject, const double low[2], const double high[2],
                     struct lw_graticule *graticule, struct lw_error *err);

/* The kinds. */
int lw_plot_series(struct lw_plot *plot, struct lw_error *err);
int lw_plot_waterfall(struct lw_plot *plot, struct lw_error *err);      /* and images */
int lw_plot_spectrum(struct lw_plot *plot, struct lw_error *err);
int lw_plot_peaks(struct lw_plot *plot, struct lw_error *err);
int lw_plot_filters(struct lw_plot *plot, struct lw_error *err);
