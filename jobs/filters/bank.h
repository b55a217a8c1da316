/* bank.h - a bank of filters of one kind while it is made, and what the kinds have in common: their options and lists. */
#pragma once

#include "design/response.h"
#include "design/window.h"
#include "io/write/writer.h"
#include "jobs/filters/kinds.h"
#include "options/parse.h"

#define LW_BANK_MOST_TAPS (1 << 20)                     /* of one filter */
#define LW_BANK_MOST_FILTERS LW_ATTRIBUTE_MOST_REALS    /* each has a place in the attributes */
#define LW_BANK_MOST_VALUES ((int64_t)1 << 26)          /* taps of all filters: 512 MiB */

#define LW_BANK_NOTES 8

/* Entries of the kinds' tables. */
#define LW_OPTION_RATE                                                                                                     \
    {.name = "rate", .kind = LW_OPTION_FREQUENCY, .argument = "HZ", .minimum = 1e-9, .maximum = 1e18, .is_required = true, \
     .help = "Sampling rate of the signals to filter. ols refuses signals of another rate."}
#define LW_OPTION_NORM(default)                                                                                                   \
    {.name = "norm", .kind = LW_OPTION_CHOICE, .choices = "gain|energy", .fallback = default,                                     \
     .help = "What is 1: gain, or energy. gain: at the frequency that the description names. energy: the sum of |h|^2, so that "   \
             "white noise keeps its power."}

struct lw_bank {
    const struct lw_filter_kind *kind;
    double rate_hz;                     /* 0: not known */
    int n_filters;
    int64_t n_taps;
    bool is_complex;
    double *taps;                       /* owned; [n_filters x n_taps], or [n_filters x n_taps x 2] */

    /* for each filter, owned: */
    double *parameters;                 /* what tells it from the others, in the unit of `parameter_name` */
    double *references;                 /* where its gain is told, as a fraction of the rate */
    double *delays;                     /* in samples */
    struct lw_filter_figures *figures;  /* filled once the taps are final */

    const char *parameter_name;         /* attribute: "width_samples"; static storage; NULL: there are no parameters */
    const char *parameter_text;         /* message: "width %.6g samples"; static storage */
    const char *design;                 /* how the taps were found; static storage */
    const char *norm;                   /* "gain", "energy": what is 1; static storage */
    bool has_bands;
    struct lw_filter_bands *bands;      /* owned; of each filter */
    double attenuation_wanted_db;       /* where there are bands */
    struct lw_attribute notes[LW_BANK_NOTES];   /* further attributes of the dataset; their arrays are owned */
    int n_notes;
};

/** Give the bank its shape and its memory, with delays in the middle of the taps; a shape that it had is released. LW_EUSAGE if it
 * is larger than can be, naming the remedy, such as "a wider --transition".
 * @param n_taps  a whole number that may be beyond any length */
int lw_bank_shape(struct lw_bank *bank, int n_filters, double n_taps, bool is_complex, const char *remedy, struct lw_error *err);
void lw_bank_release(struct lw_bank *bank);

static inline int lw_bank_parts(const struct lw_bank *bank)             /* of one tap */
{
    return bank->is_complex ? 2 : 1;
}

static inline int64_t lw_bank_values(const struct lw_bank *bank)        /* of one filter */
{
    return bank->n_taps * lw_bank_parts(bank);
}

static inline double *lw_bank_filter(const struct lw_bank *bank, int f) { return bank->taps + f * lw_bank_values(bank); }

/** Add an attribute to /taps. `name` is borrowed. */
void lw_bank_note_real(struct lw_bank *bank, const char *name, double value);
void lw_bank_note_int(struct lw_bank *bank, const char *name, int64_t value);

/** Add an attribute that has a number for each filter. @return  [n_filters] to be filled, the bank's; NULL: LW_ESYSTEM */
double *lw_bank_note_each(struct lw_bank *bank, const char *name, struct lw_error *err);

/** An option that is a frequency, which must not be beyond half of the bank's rate. LW_EUSAGE. */
int lw_bank_read_frequency(const struct lw_bank *bank, const struct lw_options *given, const char *name, double *hz,
                           struct lw_error *err);

/* An option that is a list: numbers divided by commas. */
struct lw_bank_list {
    const char *option, *unit;  /* "widths", "samples" */
    double least, most;         /* legal numbers */
    bool is_whole;
    enum lw_parse (*parse)(const char *text, double *number);      /* numbers with units; NULL: they have none */
};

/** Number of items of a list. LW_EUSAGE if a bank cannot have so many filters. */
int lw_bank_count_items(const char *option, const char *text, int *count, struct lw_error *err);

/** Read it. LW_EUSAGE. @param numbers  [*count], the caller's to release with lw_free */
int lw_bank_read_list(const struct lw_options *given, const struct lw_bank_list *list, double **numbers, int *count,
                      struct lw_error *err);

/** Find the figures of all filters, as their taps are now. */
int lw_bank_measure(struct lw_bank *bank, struct lw_error *err);

/** Turn each filter about, for correlations (lw_taps_reverse), and its delay. Figures are those of either. */
void lw_bank_reverse(const struct lw_bank *bank);

/** Scale each filter so that what bank->norm says is 1. LW_EUSAGE where a filter has no gain. */
int lw_bank_scale(const struct lw_bank *bank, struct lw_error *err);

/* The attributes of the dataset that holds a bank's taps. */
#define LW_BANK_FIGURES 6
#define LW_BANK_ATTRIBUTES (LW_BANK_NOTES + LW_BANK_FIGURES + 6)

struct lw_bank_attributes {
    struct lw_attribute list[LW_BANK_ATTRIBUTES];
    int count;
    double *numbers;            /* owned; [LW_BANK_FIGURES][n_filters] */
};

/** Fill them, from a bank that has been measured and is borrowed as long as they are used. LW_ESYSTEM. */
int lw_bank_describe(const struct lw_bank *bank, struct lw_bank_attributes *attributes, struct lw_error *err);
void lw_bank_attributes_release(struct lw_bank_attributes *attributes);

/** Fill a bank with boxcars of the widths, in samples, that stand in bank->parameters, but for their scale. LW_EUSAGE.
 * @param baseline  samples over which the mean is taken from each boxcar, more than the widest has; 0: none is */
int lw_boxcar_design(int count, int64_t baseline, struct lw_bank *bank, struct lw_error *err);

/** A width of boxcars in samples, from "16" or "2ms". LW_EUSAGE, also for a time where rate_hz is 0. */
int lw_boxcar_read_width(const char *option, const char *item, double rate_hz, double *width, struct lw_error *err);

/** The option baseline likewise; 0 where it is not given. */
int lw_boxcar_read_baseline(const struct lw_options *given, double rate_hz, int64_t *samples, struct lw_error *err);

/** The help of --baseline, which `ols` and `filters boxcar` have. */
#define LW_BASELINE_HELP                                                                                                           \
    "Subtract the signal's mean over LENGTH samples, or a time such as 2s. Each boxcar gives its sum less that of as many "        \
    "samples of a running mean around it. It is for powers, whose mean is not 0. Use it with --boundary edge or reflect, since "   \
    "zeros beyond the ends would be a step. LENGTH must exceed the widest boxcar. Default: nothing is subtracted."

/** Say what each filter does. @param is_single  whether the taps are rounded to float32 */
void lw_bank_report(const struct lw_bank *bank, bool is_single);
