/* subject.h - a dataset to draw: the meaning of its dimensions, labels for its axes, and its samples as real numbers, box by box.
 *
 *     x   the axis, or the columns of an image
 *     y   channels, or the rows of an image
 *     z   filters, or the images of a stack
 *
 * A dimension may be missing. One process opens and reads a subject. */
#pragma once

#include "io/notes/notes.h"
#include "io/read/box.h"

/* Coordinates of an axis as shown: sample i stands at (first + i x step) x factor. */
struct lw_plot_axis {
    double first, step;
    double factor;              /* factor to the unit shown */
    char label[160];            /* "distance (m)" */
    char name[81], unit[61];    /* name and unit in the label if the axis has one unit: "distance", "m" */
    bool is_utc;                /* the axis counts seconds since 1970 and shows times of day */
};

static inline double lw_plot_axis_at(const struct lw_plot_axis *axis, double sample)
{
    return (axis->first + sample * axis->step) * axis->factor;
}

struct lw_plot_subject {
    char name[sizeof(struct lw_name)];  /* "FILE:/path", as the user gave it or as found */
    struct lw_dataset_info info;
    struct lw_notes *notes;             /* owned */
    bool is_table;                      /* a table of lines, peaks or, if is_image, sources: besides is_image only the file and path
                                           in `info` are set */
    struct lw_boxes *samples;           /* owned */

    int x, y, z;                        /* dimensions of the dataset; -1: missing */
    bool is_image;
    bool is_axis_known;                 /* the file or the user tells which dimension is the axis */
    int64_t n_x, n_y, n_z;              /* lengths of x, y and z; 1 if missing */
};

/* Shape to take for a dataset whose metadata do not define it. */
enum lw_subject_shape { LW_SHAPE_AUTO, LW_SHAPE_SERIES, LW_SHAPE_IMAGE };

struct lw_subject_hints {
    int axis;                           /* --axis; -1: not given */
    enum lw_subject_shape shape;
    struct lw_hints file;
    const struct lw_reader *joined;     /* borrowed; reader of many files, read in place of `name`; NULL: one file */
};

/** Open "FILE:/path"; without a path, the first result of lapwing in the file, or else its only dataset. Release `subject` in any
 * case. LW_EUSAGE: a path is needed; LW_ECONFIG: the hints do not fit; else errors of lw_examine_dataset and lw_notes_read. */
int lw_subject_open(const char *name, const struct lw_subject_hints *hints, struct lw_plot_subject *subject, struct lw_error *err);
void lw_subject_release(struct lw_plot_subject *subject);

/** Return the name of a dimension: the format's, else the file's own label; "": no name. */
const char *lw_subject_dimension(const struct lw_plot_subject *subject, int dimension);

/** Return whether x, not y, varies fastest in the file. */
bool lw_subject_is_x_fast(const struct lw_plot_subject *subject);

/** Return a box of n_y channels from y on, y_step apart, for lw_boxes_read: [n_y x n_x] if x is fast, else [n_x x n_y]. */
struct lw_sample_box lw_subject_box(const struct lw_plot_subject *subject, int64_t x, int64_t n_x, int64_t y, int64_t n_y,
                                    int64_t y_step, int64_t z);

/** Return the length of a storage chunk along a dimension; 1: no chunks. @param dimension  x or y; -1: none */
int64_t lw_subject_chunk(const struct lw_plot_subject *subject, int dimension);

/** Return whether row 0 of an image is at the bottom, as usual in astronomy: FITS images, and results made from them. */
bool lw_subject_is_upward(const struct lw_plot_subject *subject);

/** Choose coordinates and label of axis x, for samples [begin, end), which decide the unit of time; of axis y. */
void lw_subject_label_x(const struct lw_plot_subject *subject, int64_t begin, int64_t end, struct lw_plot_axis *axis);
void lw_subject_label_y(const struct lw_plot_subject *subject, struct lw_plot_axis *axis);

/** Write the label of the values: "rms of Acoustic (m/s)", "magnitude of signal", "value". @return  `text` */
const char *lw_subject_label_values(const struct lw_plot_subject *subject, const char *what, char *text, size_t size);

/** Choose a unit for a span of seconds, ns to days. @param unit  set to "ms", ... @return  the factor from seconds */
double lw_label_time_unit(double span_s, const char **unit);

/** Choose a unit for frequencies up to `most_hz`, Hz to GHz. @return  the factor from Hz */
double lw_label_frequency_unit(double most_hz, const char **unit);
