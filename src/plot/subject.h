/* subject.h - a dataset as pictures see it: what each of its dimensions is, how samples on its axis are labelled, and its samples
 * as real numbers, box by box; and what stands beside an axis: quantities in units that fit their range.
 *
 *     x   the axis, or the columns of an image
 *     y   channels, or the rows of an image
 *     z   filters, or the images of a stack
 *
 * Each may be missing. One process opens and reads it. */
#pragma once

#include "io/notes/notes.h"
#include "io/read/box.h"

/* Coordinates of an axis, and how they are shown: sample i stands at (first + i x step) x factor. */
struct lw_plot_axis {
    double first, step;
    double factor;              /* to the unit shown */
    char label[160];            /* "distance (m)" */
    char name[81], unit[61];    /* of what has one as it is: "distance", "m" */
    bool is_utc;                /* seconds since 1970, shown as time of the day */
};

static inline double lw_plot_axis_at(const struct lw_plot_axis *axis, double sample)
{
    return (axis->first + sample * axis->step) * axis->factor;
}

struct lw_plot_subject {
    char name[sizeof(struct lw_name)];  /* as given */
    struct lw_dataset_info info;
    struct lw_notes *notes;             /* owned */
    bool is_table;                      /* then nothing below counts but is_image, which says that it is one of sources, nor does
                                         * `info` but for file and path */
    struct lw_boxes *samples;           /* owned */

    int x, y, z;                        /* dimensions of the dataset, -1: there is none */
    bool is_image;
    bool is_axis_known;                 /* the file, or the caller, says which dimension is the axis */
    int64_t n_x, n_y, n_z;              /* their lengths, 1 where there is none */
};

/* What is to be taken of a dataset whose metadata do not say it. */
enum lw_subject_shape { LW_SHAPE_AUTO, LW_SHAPE_SERIES, LW_SHAPE_IMAGE };

struct lw_subject_hints {
    int axis;                           /* -1: not given */
    enum lw_subject_shape shape;
    struct lw_hints file;
    const struct lw_reader *joined;     /* borrowed, described; many files, whatever the name; NULL: one */
};

/** Open "FILE:/path"; without a path, the first result of lapwing in the file, or else its only dataset. Errors: those of
 * lw_examine_dataset and lw_notes_read; LW_EUSAGE: a path is needed; LW_ECONFIG: the hints do not fit. `subject` is to be released
 * in any case. */
int lw_subject_open(const char *name, const struct lw_subject_hints *hints, struct lw_plot_subject *subject, struct lw_error *err);
void lw_subject_release(struct lw_plot_subject *subject);

/** The name of a dimension, "" if nobody gives one. */
const char *lw_subject_dimension(const struct lw_plot_subject *subject, int dimension);

/** Whether x varies fastest in the file: else y does. */
bool lw_subject_is_x_fast(const struct lw_plot_subject *subject);

/** Every y_step-th channel of a part, to be read by lw_boxes_read: [n_y x n_x] if x is fast, else [n_x x n_y]. */
struct lw_sample_box lw_subject_box(const struct lw_plot_subject *subject, int64_t x, int64_t n_x, int64_t y, int64_t n_y,
                                    int64_t y_step, int64_t z);

/** Samples along a dimension that storage hands out together. @param dimension  x or y; -1: none */
int64_t lw_subject_chunk(const struct lw_plot_subject *subject, int dimension);

/** Whether row 0 of an image is drawn at the bottom, as astronomers have it: of FITS, and of results that were made from it. */
bool lw_subject_is_upward(const struct lw_plot_subject *subject);

/** The axis x labelled for samples [begin, end): times, or the numbers of samples. */
void lw_subject_label_x(const struct lw_plot_subject *subject, int64_t begin, int64_t end, struct lw_plot_axis *axis);
void lw_subject_label_y(const struct lw_plot_subject *subject, struct lw_plot_axis *axis);

/** What the values are: "rms of Acoustic (m/s)", "filtered (m/s)", "magnitude of signal", "value". Returns `text`. */
const char *lw_subject_label_values(const struct lw_plot_subject *subject, const char *what, char *text, size_t size);

/** Units for a span of seconds: ns to days. @param unit  set to "ms", ... @return  the factor from seconds */
double lw_label_time_unit(double span_s, const char **unit);

/** Units for frequencies up to one: Hz to GHz. */
double lw_label_frequency_unit(double most_hz, const char **unit);
