/* image.h - one convolution of made-up images: what to compute, the pixels, a run through an engine, and the truth. */
#pragma once

#include "engine/engine.h"
#include "signal/peaks.h"

#include <complex.h>

/* What to compute. */
struct image {
    struct lw_type input, output;       /* output.is_complex follows from the rest */
    double output_scale;                /* of outputs that saturate; 0 counts as 1 */
    enum lw_precision precision;
    enum lw_nan nan;
    enum lw_mode mode;
    enum lw_boundary boundary;
    enum lw_conv2d_algorithm algorithm;
    double outside;
    int64_t n_images, rows, columns, kernel_rows, kernel_columns;
    int64_t origin_rows, origin_columns;        /* mode SAME: position of output (0, 0); -1: the middle */
    int every;                          /* rows and columns that are kept; 0 counts as 1 */
    struct lw_search search;
    bool kernel_complex, kernel_separable, kernel_positive;
    double mean, spread;                /* of the pixels, before they are rounded to the stored type */
    uint64_t seed;
};

struct image_data {
    struct image image;
    int64_t out_rows, out_columns, ahead_rows, ahead_columns;
    int64_t kept_rows, kept_columns;    /* of the outputs */
    double complex *pixels;             /* [image][row][column], as the stored type holds them */
    double *kernel;                     /* as struct lw_conv2d_spec wants it */
    char *stored;                       /* [image][row][column] in the stored type */
    double rms;                         /* of the finite pixels, and those beyond the sides */
};

struct image_result {
    struct lw_op_plan plan;
    char *outputs;                      /* [image][kept_rows][kept_columns]; not set where the image is not wanted */
    size_t bytes;
    struct lw_peak *peaks;              /* of a search: those of all blocks, sorted */
    int64_t n_peaks, n_again;           /* blocks whose tables were too small */
    int64_t n_not_finite, first_row, first_image, first_column;     /* row: of the window, see signal/convolution.h */
};

void image_make(const struct image *image, struct image_data *data);
void image_store(struct image_data *data);          /* pixels -> stored; call again after changing pixels */
void image_free(struct image_data *data);

struct lw_op_spec image_spec(const struct image_data *data);

/** Rows of image_run's unit for sums, which can be cut between any two rows: 1 but where a suite has no time for each. */
extern int64_t image_rows_at_once;

/** Run it in blocks of `units` grid units (0: all rows in one); failures are reported by CHECK.
 * @return whether there is a result, to be freed with free(result->outputs) and free(result->peaks) */
bool image_run(struct lw_engine *engine, const struct image_data *data, int64_t units, struct image_result *result);

/** Compare with the float64 direct sum: rms and largest error, and exactly which outputs are not a number. */
void image_check(const struct image_data *data, const struct image_result *result, const char *what);

/** What signal/search.h finds: against the definition on the image that the engine delivers, and the same for all cuts. */
void image_test_neighbourhoods(struct lw_engine *engine);
void image_test_peaks(struct lw_engine *engine);

/** One line about it, for messages. Returns `text`. */
const char *image_text(const struct image *image, char text[320]);
