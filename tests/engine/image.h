/* image.h - one convolution of synthetic images: its description, pixels and kernel, a run through an engine, and a check against
 * direct sums. The suite conv2d.c is built from such convolutions. */
#pragma once

#include "engine/engine.h"
#include "signal/peaks.h"

#include <complex.h>

/* Description of a convolution. */
struct image {
    struct lw_type input, output;       /* output.is_complex is derived from the other fields */
    double output_scale;                /* unit of outputs that saturate; 0 counts as 1 */
    enum lw_precision precision;
    enum lw_nan nan;
    enum lw_mode mode;
    enum lw_boundary boundary;
    enum lw_conv2d_algorithm algorithm;
    enum lw_padding padding;            /* rule of the algorithm PADDED, and its most rows of outputs per transform */
    int64_t band;
    double outside;
    int64_t n_images, rows, columns, kernel_rows, kernel_columns;
    int n_kernels;                      /* 0 counts as 1 */
    enum lw_weights weights;
    struct lw_type map;                 /* stored type of the map, with weights SIGMA and INVERSE */
    bool has_background;                /* a mesh, as with weights MESH; see image_data.c */
    double contrast;                    /* largest ratio of two sigmas of pixels; 0 counts as 1 */
    int64_t origin_rows, origin_columns;        /* position of output (0, 0) with mode SAME; -1: the kernel's middle */
    int every;                          /* every how many rows and columns one is kept; 0 counts as 1 */
    struct lw_search search;
    bool kernel_complex, kernel_separable, kernel_positive;
    double mean, spread;                /* mean and size of the pixels before rounding to the stored type */
    uint64_t seed;
};

struct image_data {
    struct image image;
    int64_t out_rows, out_columns, ahead_rows, ahead_columns;
    int64_t kept_rows, kept_columns;    /* outputs that are kept on each axis */
    double complex *pixels;             /* [image][row][column], exactly as the stored type holds them */
    double *kernel;                     /* layout as struct lw_conv2d_spec requires */
    char *stored;                       /* [image][row][column] in the stored type */
    struct lw_mesh background, sigma;   /* tables NULL: none */
    char *map;                          /* [image][row][column] in the map's type; NULL: none */
    double *sky, *weights;              /* [image][row][column]: background; weight before pixels are looked at; NULL: 0 and 1 */
    double rms;                         /* rms value of the finite pixels, those beyond the sides included */
};

struct image_result {
    struct lw_op_plan plan;
    char *outputs;                      /* [kernel][image][kept_rows][kept_columns]; undefined if no product */
    size_t bytes;
    char *best_values;                  /* [image][out_rows][out_columns]; NULL if no product */
    int32_t *best_filters;
    struct lw_peak *peaks;              /* one kernel without weights: the peaks that a search found in all blocks, sorted */
    int64_t n_peaks, n_again;           /* n_again: blocks whose tables were too small */
    struct lw_crossing *crossings;      /* the crossings of all blocks' own rows, sorted */
    int64_t n_crossings;
    int64_t n_not_finite, first_row, first_image, first_column;     /* the first pixel that is not finite; first_row counts on the
                                                                     * window's axis, see signal/convolution.h */
};

void image_make(const struct image *image, struct image_data *data);
void image_store(struct image_data *data);          /* convert pixels to stored; call again after changing pixels */
void image_free(struct image_data *data);

struct lw_op_spec image_spec(const struct image_data *data);

/** Rows of the grid unit of image_run for direct sums, which can be cut between any two rows: 1, or more where a suite has no
 * time for every cut. */
extern int64_t image_rows_at_once;

/** One in so many algorithms runs a case that is for all, by turns. */
extern int image_algorithm_turns;

/** Run the convolution in blocks of `units` grid units (0: all rows in one block). CHECK reports failures.
 * @return whether there is a result; image_forget frees it in any case */
bool image_run(struct lw_engine *engine, const struct image_data *data, int64_t units, struct image_result *result);

void image_forget(struct image_result *result);

/* An output by the definition, in double precision. */
struct image_truth {
    double complex value;
    double gain;                /* factor >= 1 by which the weights for missing pixels multiply a sum and its error */
    bool is_nan;
    double b, scale;            /* weights: B, and the sum of |kernel| w |x| / sqrt(B) */
};

struct image_truth image_truth(const struct image_data *data, int kernel, int64_t image, int64_t row, int64_t column);

/** Compare the outputs with float64 direct sums: rms error, largest error, and exactly which outputs are not a number. With weights
 * each output is compared, see engine.h for its error. */
void image_check(const struct image_data *data, const struct image_result *result, const char *what);

/** Tests of a search of images (signal/search.h): against the definition on the image that the engine delivers, and with the same
 * result for all cuts.
 * @param every one in so many cases is tried, here and below */
void image_test_neighbourhoods(struct lw_engine *engine, int every);
void image_test_peaks(struct lw_engine *engine, int every);

/** Tests of banks of kernels and of the best of them, of backgrounds, and of weights. What the engine refuses is left out. */
void image_test_banks(struct lw_engine *engine, int every);

/** Describe a convolution in one line, for messages. Return `text`. */
const char *image_text(const struct image *image, char text[400]);
