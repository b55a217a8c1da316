/* bank.h - a bank of filters while it is made, and what the designs of all kinds share: reading lists, scaling, figures, report. */
#pragma once

#include "design/response.h"
#include "design/window.h"
#include "job/hints.h"
#include "job/selection.h"
#include "jobs/filters/kinds.h"

#define LW_BANK_MOST_TAPS (1 << 20)                     /* taps of a filter */
#define LW_BANK_MOST_SIDE 1023                          /* rows and columns of a kernel for images */
#define LW_BANK_MOST_FILTERS LW_ATTRIBUTE_MOST_REALS    /* attributes have a number for each filter */
#define LW_BANK_MOST_VALUES ((int64_t)1 << 26)          /* taps of all filters: 512 MiB */

#define LW_BANK_NOTES 8

/* Options that several kinds of filters have in their tables. */
#define LW_OPTION_RATE                                                                                                     \
    {.name = "rate", .kind = LW_OPTION_FREQUENCY, .argument = "HZ", .minimum = 1e-9, .maximum = 1e18, .is_required = true, \
     .help = "Sampling rate of the signals to filter. ols refuses signals of another rate."}
#define LW_OPTION_NORM(default)                                                                                                   \
    {.name = "norm", .kind = LW_OPTION_CHOICE, .choices = "gain|energy", .fallback = default,                                     \
     .help = "What is 1: gain, or energy. gain: at the frequency that the description names. energy: the sum of |h|^2, so that "   \
             "white noise keeps its power."}

/* Entries of a table of options, of kinds that are made for data. */
#define LW_FOR_OPTIONS                                                                                                          \
    {.name = "for", .kind = LW_OPTION_NAMES, .argument = "FILE:/dataset ...", .is_required = true,                              \
     .help = "The data, as --input of ols. Several files are joined."},                                                            \
    {.name = "axis", .kind = LW_OPTION_CHOICE, .choices = "0|1", .is_rare = true, .help = "Time dimension, as for ols."},       \
    {.name = "channels", .kind = LW_OPTION_RANGE, .argument = "A:B:STEP",                                                       \
     .help = "Channels to use, from A to before B, every STEP-th; give ols the same. Default: all."},                              \
    LW_OPTIONS_COORDINATES, LW_OPTIONS_HINTS

/* The data that a kind of filters is made for: the option --for, the chosen channels and their coordinate. */
struct lw_for {
    struct lw_reader *reader;           /* owned; describes the files, opens none */
    struct lw_dataset_info info;
    int axis, channel_dim;              /* channel_dim: -1: there is one channel */
    struct lw_range channels;           /* chosen channels */
    const struct lw_coordinate *places; /* coordinates of channel_dim, in `info`; NULL: none */
};

/* A series of filters that ranks make one by one and write, so that the bank may be larger than memory. Each filter has a row in a
 * table. */
struct lw_bank_series {
    void *context;                      /* owned by the bank */
    const struct lw_column *columns;    /* columns of the table /templates; static storage */
    int n_columns;                      /* 0: there is no table */
    int64_t work_doubles;

    /** Make filter f in its final scale. Several threads may make filters at a time, unless they are made for data.
     * @param work  [work_doubles], aligned as by lw_alloc; the taps are at its start @param row  set; [n_columns] */
    int (*make)(const void *context, int f, double *work, double *row, struct lw_error *err);

    /** Log the figures of all filters. @param rows  [n_filters x n_columns] */
    void (*report)(const struct lw_bank *bank, const double *rows);
    void (*release)(void *context);
};

struct lw_bank {
    const struct lw_filter_kind *kind;
    double rate_hz;                     /* 0: not known */
    int n_filters;
    int64_t n_taps;
    int64_t columns;                    /* kernels of images: columns of a row; n_taps are the elements of all rows. Filters of
                                           signals: 0 */
    bool is_complex;
    double *taps;                       /* owned; [n_filters x n_taps], or [n_filters x n_taps x 2]; NULL for a series */
    struct lw_for data;                 /* data that a kind with the option --for makes the filters for */
    struct lw_writer_dataset layout;    /* dataset of the filters, without its attributes; a path that `plan` sets stays */
    struct lw_bank_series series;       /* make == NULL: none. A series has no arrays of the following */

    /* arrays [n_filters], owned: */
    double *parameters;                 /* the number in which a filter differs from the others, see kind->parameter_name */
    double *references;                 /* frequency of figures.gain, as a fraction of the rate */
    double *delays;                     /* group delays, in samples */
    struct lw_filter_figures *figures;  /* set by lw_bank_measure, once the taps are final */
    double *shown;                      /* [LW_BANK_FIGURES][n_filters] figures as attributes have them, set by lw_bank_describe */

    const char *design;                 /* formula or method of the taps; static storage */
    const char *norm;                   /* the figure that is scaled to 1: "gain" or "energy"; static storage; NULL: none */
    bool has_bands;
    struct lw_filter_bands *bands;      /* [n_filters], owned */
    double attenuation_wanted_db;       /* only if has_bands */
    struct lw_attribute notes[LW_BANK_NOTES];   /* attributes that only this kind of filters has; their arrays are owned */
    int n_notes;
};

/** Allocate the bank's arrays for a shape, in place of earlier ones, with delays at the middle of the taps. LW_EUSAGE: it is too
 * large.
 * @param n_taps  a whole number, of any size
 * @param remedy  advice for the message: "a wider --transition" */
int lw_bank_shape(struct lw_bank *bank, int n_filters, double n_taps, bool is_complex, const char *remedy, struct lw_error *err);

/** Do the same for square kernels, with --size rows and columns or, if that is not given, `reach` pixels on either side of the
 * middle. LW_EUSAGE: the size is even, or too large. */
int lw_bank_shape_kernels(struct lw_bank *bank, const struct lw_options *given, int n_kernels, double reach, struct lw_error *err);
void lw_bank_release(struct lw_bank *bank);

static inline int lw_bank_parts(const struct lw_bank *bank)             /* doubles of a tap */
{
    return bank->is_complex ? 2 : 1;
}

static inline int64_t lw_bank_values(const struct lw_bank *bank)        /* doubles of a filter */
{
    return bank->n_taps * lw_bank_parts(bank);
}

static inline double *lw_bank_filter(const struct lw_bank *bank, int f) { return bank->taps + f * lw_bank_values(bank); }

static inline double lw_bank_largest(const double *numbers, int count)  /* largest of at least one number */
{
    return count > 1 ? fmax(*numbers, lw_bank_largest(numbers + 1, count - 1)) : *numbers;
}

/** Add an attribute to /taps. `name` is borrowed. */
void lw_bank_note_real(struct lw_bank *bank, const char *name, double value);
void lw_bank_note_int(struct lw_bank *bank, const char *name, int64_t value);

/** Add an attribute with a number for each filter. @return  [n_filters], owned by the bank, for the caller to fill; NULL: error */
double *lw_bank_note_each(struct lw_bank *bank, const char *name, struct lw_error *err);

/** Read an option that is a frequency. LW_EUSAGE: it is beyond half of the bank's rate. */
int lw_bank_read_frequency(const struct lw_bank *bank, const struct lw_options *given, const char *name, double *hz,
                           struct lw_error *err);

/* An option whose value is a list of numbers, separated by commas. */
struct lw_bank_list {
    const char *option, *unit;  /* "widths", "samples" */
    double least, most;         /* range of legal numbers */
    bool is_whole;              /* only whole numbers are legal */
    enum lw_parse (*parse)(const char *text, double *number);      /* parser of numbers with units; NULL: numbers have no unit */
};

/** Count the items of a list. LW_EUSAGE: more than LW_BANK_MOST_FILTERS. */
int lw_bank_count_items(const char *option, const char *text, int *count, struct lw_error *err);

/** Read a list. LW_EUSAGE. @param numbers  set; [*count], to be released with lw_free */
int lw_bank_read_list(const struct lw_options *given, const struct lw_bank_list *list, double **numbers, int *count,
                      struct lw_error *err);

/** Find the figures of all filters from their taps. LW_ESYSTEM: no memory. */
int lw_bank_measure(struct lw_bank *bank, struct lw_error *err);

/** Reverse each filter (lw_taps_reverse) and its delay, for a correlation. The figures stay valid. */
void lw_bank_reverse(const struct lw_bank *bank);

/** Scale each filter so that the figure bank->norm is 1. LW_EUSAGE: a filter has no gain. */
int lw_bank_scale(const struct lw_bank *bank, struct lw_error *err);

/* The attributes of a dataset that holds a bank's taps. */
#define LW_BANK_FIGURES 6
#define LW_BANK_ATTRIBUTES (LW_BANK_NOTES + LW_BANK_FIGURES + 6)

struct lw_bank_attributes {
    struct lw_attribute list[LW_BANK_ATTRIBUTES];
    int count;
};

/** Make the attributes of a measured bank, once. They last as long as the bank. LW_ESYSTEM: no memory. */
int lw_bank_describe(struct lw_bank *bank, struct lw_bank_attributes *attributes, struct lw_error *err);

/** Fill a bank with boxcars, without their final scale; bank->parameters holds their widths in samples. LW_EUSAGE.
 * @param baseline  samples over which each boxcar's mean is subtracted, more than the widest boxcar has; 0: it is not */
int lw_boxcar_design(int count, int64_t baseline, struct lw_bank *bank, struct lw_error *err);

/** Read a width such as "16" or "2ms", as samples. LW_EUSAGE: no width, or a time while rate_hz is 0. */
int lw_boxcar_read_width(const char *option, const char *item, double rate_hz, double *width, struct lw_error *err);

/** Read the option baseline, as samples; 0 if it is not given. */
int lw_boxcar_read_baseline(const struct lw_options *given, double rate_hz, int64_t *samples, struct lw_error *err);

/** Help text of the option baseline of `ols` and `filters boxcar`. */
#define LW_BASELINE_HELP                                                                                                           \
    "Subtract the signal's mean over LENGTH samples, or a time such as 2s. Each boxcar gives its sum less that of as many "        \
    "samples of a running mean around it. It is for powers, whose mean is not 0. Use it with --boundary edge or reflect, since "   \
    "zeros beyond the ends would be a step. LENGTH must exceed the widest boxcar. Default: nothing is subtracted."

/** Log the figures of each filter. @param is_single  whether the taps are rounded to float32 */
void lw_bank_report(const struct lw_bank *bank, bool is_single);
