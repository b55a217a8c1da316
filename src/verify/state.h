/* state.h - what the files of src/verify share: the result's job made again, samples of its input, outputs by the definition. */
#pragma once

#include "io/notes/notes.h"
#include "stream/plan.h"
#include "stream/search/mask.h"
#include "verify/verify.h"

#include <complex.h>
#include <math.h>

/* Most products of an input sample and a tap that are summed for one dataset, and most input values that are read for it. Fewer
 * values than --sample are checked where these would be exceeded. */
#define LW_VERIFY_PRODUCTS ((int64_t)1 << 28)
#define LW_VERIFY_VALUES ((int64_t)1 << 27)

/* The operation as a convolution of images: a series is an image of one column, a filter a kernel of one column.
 *
 *     y[f][c][i][j] = sum_m sum_n taps[f][m][n] x[c][i + ahead_rows - m][j + ahead_columns - n]    */
struct lw_verify_shape {
    const double *taps; /* [n_filters x tap_rows x tap_columns] (x 2 if complex) */
    int n_filters, parts;
    int64_t tap_rows, tap_columns;
    int64_t ahead_rows, ahead_columns;
    int64_t n_channels, n_rows, columns; /* size of the input */
    int64_t n_outputs, output_columns;   /* size of y */
    enum lw_boundary boundary;
    double outside;      /* value that boundary zero puts outside */
    struct lw_post post; /* operation on y along the rows; columns are only thinned */
    const struct lw_search *search;
    bool is_image;
    int64_t segment_rows, segment_columns; /* size of a transform, or of a direct sum's taps: outputs in it share their roundings */
    double segment_values;                 /* least number of values that share roundings: their energy gives an rms value */
    double *promises;                      /* owned; [n_filters], error bound of an output whose segment has an rms value of 1 */
};

/* Findings on one dataset, a line of the table. */
struct lw_verify_row {
    char name[64];
    int64_t n_checked, n_wrong;
    int64_t n_all;    /* values or rows of the dataset; 0: not known */
    double largest;   /* largest error, relative to its bound */
    char worst[320];  /* place of that error; "": none */
    bool is_sums;     /* checksums are compared: of blocks of an array, or of a table's rows */
    char remark[160]; /* "": none */
};

enum { LW_VERIFY_ROWS = 2 * LW_JOB_PRODUCTS + 4 };

struct lw_verify {
    struct lw_comm *comm;
    const struct lw_verify_request *request;
    bool is_fits;
    struct lw_notes *notes; /* owned; notes of the first product */
    struct lw_job job;
    struct lw_verify_shape shape; /* not set for a sparse transform */
    bool as_stored;               /* the input is taken as stored, as an earlier version did */
    struct lw_pool *pool;         /* owned */
    struct lw_reader *reader;
    struct lw_mask *mask;     /* NULL: none */
    struct lw_stream_window *window; /* see lw_verify_open_window */
    struct lw_plan plan;      /* plan of that window, as far as the mask needs one */
    char *raw;                /* rows of the window as they are stored */
    int64_t n_wanted;         /* --sample */
    uint64_t seed, n_drawn;
    struct lw_verify_row rows[LW_VERIFY_ROWS];
    int n_rows;
};

/* ---- open.c ------------------------------------------------------------------------------------------------------ */

/** Prepare the result's job again. LW_EDATA: an input is not the one of the result; other errors are those of the preparation.
 * Close `verify` whatever the outcome. Collective. */
int lw_verify_open(struct lw_verify *verify, struct lw_error *err);
void lw_verify_close(struct lw_verify *verify); /* Collective. */

/** Name a dataset of the result for readers: "RESULT:/path"; in a FITS result, by the name of its extension. */
struct lw_name lw_verify_name(const struct lw_verify *verify, const char *path);

/** Read the notes of a dataset. Free *notes in any case; NULL: no memory. Errors: those of lw_notes_read; LW_ESYSTEM. */
int lw_verify_read_notes(const struct lw_verify *verify, const char *path, struct lw_notes **notes, struct lw_error *err);

/** Add a line to the table. */
struct lw_verify_row *lw_verify_add_row(struct lw_verify *verify, const char *name);

/** Draw a random number of [0, n). */
int64_t lw_verify_draw(struct lw_verify *verify, int64_t n);

/** Count one checked value, whose place `format` names. @param part  error relative to its bound: wrong above 1, and if NaN */
void lw_verify_count(struct lw_verify_row *row, double part, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- samples.c --------------------------------------------------------------------------------------------------- */

enum { LW_MARK_BAD = 1, LW_MARK_MASKED = 2 };

/* Rows of one channel of the input, continued beyond its ends. */
struct lw_verify_samples {
    int64_t channel, begin, end;     /* positions of the rows */
    double complex *values;          /* [(end - begin) x columns]; 0 where masked or not finite */
    unsigned char *marks;            /* LW_MARK_..., as many as `values` */
    double *levels;                  /* [n_levels]; level k: largest rms value of a segment that meets an output */
    int64_t n_levels, level_columns; /* whose column is in [k, k + 1) x level_columns */
};

/** Prepare for reading at most `most_rows` rows at a time. */
int lw_verify_open_window(struct lw_verify *verify, int64_t most_rows, struct lw_error *err);

/** Read the input that the outputs [first, end) of y, in all columns, are made of. Release `samples` in any case. */
int lw_verify_read(struct lw_verify *verify, int64_t channel, int64_t first, int64_t end, struct lw_verify_samples *samples,
                   struct lw_error *err);
void lw_verify_samples_release(struct lw_verify_samples *samples);

/** Return the rows that lw_verify_read reads for n_outputs. */
int64_t lw_verify_rows_read(const struct lw_verify_shape *shape, int64_t n_outputs);

/** Return the rows of outputs in a random piece, few enough for a small memory. */
int64_t lw_verify_piece_rows(const struct lw_verify_shape *shape);

/* ---- truth.c ----------------------------------------------------------------------------------------------------- */

struct lw_verify_truth {
    double complex value;
    bool is_nan;
    double allowed; /* largest error of the output, before it is stored */
};

/** Compute y at a place. */
struct lw_verify_truth lw_verify_series(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter,
                                        int64_t row, int64_t column);

/** Compute element (row, column) of the product that lw_post makes of y. */
struct lw_verify_truth lw_verify_made(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter,
                                      int64_t row, int64_t column);

/** Find the rows [*first, *end) of y that row `row` of the product is made of. */
void lw_verify_made_of(const struct lw_verify_shape *shape, int64_t row, int64_t *first, int64_t *end);

/** Whether an output is neither peak nor neighbour, since it touches too many samples that do not count. */
bool lw_verify_is_excluded(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter, int64_t row,
                           int64_t column);

/** Return sigma of a channel behind a filter at an output; for images, `row` is a row of pixels. */
double lw_verify_sigma(const struct lw_verify *verify, int64_t channel, int filter, int64_t row);

/** Return the error bound of an output of y behind a filter whose segment has an rms value of 1: 6 times the guaranteed rms error.
 * @param n  N of the guarantee: values that are transformed together, or taps of a direct sum */
double lw_verify_promise(const struct lw_verify *verify, int filter, double n);

/** Return the larger of two numbers, or NaN if one of them is NaN. */
static inline double lw_verify_larger(double a, double b) { return isnan(a) || isnan(b) ? (double)NAN : fmax(a, b); }

/** Return the error of a stored value, relative to the allowed error.
 * @param scale  value of a stored 1, in a type that saturates */
double lw_verify_part(const struct lw_verify *verify, struct lw_type type, double scale, double complex got,
                      const struct lw_verify_truth *truth);

/** Count that error. @param where  place of the value, with which the message begins */
void lw_verify_compare(const struct lw_verify *verify, struct lw_type type, double scale, double complex got,
                       const struct lw_verify_truth *truth, const char *where, struct lw_verify_row *row);

/* ---- spots.c ----------------------------------------------------------------------------------------------------- */

/* Outputs to check: random ones in random pieces of a dataset's axis, the first and the last piece among them, and none twice. */

/* The numbers 0 .. n - 1 in a random order. */
struct lw_verify_deck {
    uint64_t seed;
    int64_t n;
};

struct lw_verify_deck lw_verify_shuffle(struct lw_verify *verify, int64_t n);

/** Return number `i` of them, 0 <= i < n. */
int64_t lw_verify_card(const struct lw_verify_deck *deck, int64_t i);

/* Elements to choose from: those of a dataset, n_rows of each channel with `in_row` elements each. */
struct lw_verify_choice {
    int64_t n_channels, n_rows, in_row;
    int64_t span;      /* rows of a piece, few enough for a small memory */
    int64_t products;  /* products of a sample and a tap for one element */
    int64_t rows_read; /* rows of the input to read for a piece, at least */
};

/* Pieces of `rows` rows of one channel. n pieces are taken, and n_each elements of each. */
struct lw_verify_pieces {
    struct lw_verify_choice choice;
    int64_t rows;
    int64_t n, n_each;
    struct lw_verify_deck deck; /* all pieces */
    int64_t ends[2], n_dealt;   /* first two pieces taken; cards dealt so far */
};

struct lw_verify_piece {
    int64_t channel, first, rows, n;
    struct lw_verify_deck deck; /* its elements */
};

/** Choose the pieces. All elements are taken, if --sample asks for so many and they do not cost too much. */
struct lw_verify_pieces lw_verify_choose(struct lw_verify *verify, const struct lw_verify_choice *choice);

/** Return the number of elements to choose from. */
int64_t lw_verify_all(const struct lw_verify_pieces *pieces);

/** Return piece i of pieces->n; to be called in that order. */
struct lw_verify_piece lw_verify_next(struct lw_verify *verify, struct lw_verify_pieces *pieces, int64_t i);

/** Return the row of the piece's k-th chosen element. @param rest  number of the element in its row */
int64_t lw_verify_row_of(const struct lw_verify_pieces *pieces, const struct lw_verify_piece *piece, int64_t k, int64_t *rest);

/** Write "filter 2, channel 0, index 1234" or "image 0, row 5, column 6". @return  `text` */
const char *lw_verify_where(const struct lw_verify *verify, int64_t filter, int64_t channel, int64_t row, int64_t column,
                            char text[160]);

/** Write "1.5" or "1.5+2i". @return  `text` */
const char *lw_verify_number(double complex value, bool is_complex, char text[64]);

/* ---- the checks, each for a line or more of the table; rank 0 only --------------------------------------------- */

int lw_verify_sums(struct lw_verify *verify, struct lw_error *err); /* needs no lw_verify_open: reads the file alone */
int lw_verify_series_product(struct lw_verify *verify, const struct lw_product *product, struct lw_error *err);
int lw_verify_best(struct lw_verify *verify, const struct lw_product *value, const struct lw_product *filter, struct lw_error *err);
int lw_verify_blocks(struct lw_verify *verify, const struct lw_product *product, struct lw_error *err);
int lw_verify_given(struct lw_verify *verify, const struct lw_product *product, struct lw_error *err);
int lw_verify_peaks(struct lw_verify *verify, const struct lw_product *product, struct lw_error *err);
int lw_verify_lines(struct lw_verify *verify, struct lw_error *err);
