/* state.h - types and functions that the files of src/verify share.
 *
 *     y         the filtered series, or the convolved image, before post-processing (signal/post.h) and storing
 *     product   dataset of the result: y or what is made of it; its elements are compared with their values by the definition
 *     part      error of a value divided by the allowed error: above 1 the value is wrong */
#pragma once

#include "io/notes/notes.h"
#include "stream/map.h"
#include "stream/search/mask.h"
#include "verify/verify.h"

#include <complex.h>

/* Limits for one dataset: products of a sample and a tap to sum, and input values to read. If --sample values would exceed them,
 * fewer values are checked. */
#define LW_VERIFY_PRODUCTS ((int64_t)1 << 28)
#define LW_VERIFY_VALUES ((int64_t)1 << 27)

/* The operation as a convolution of images: a series is an image of one column, a filter a kernel of one column.
 *
 *     y[f][c][i][j] = sum_m sum_n taps[f][m][n] x[c][i + ahead_rows - m][j + ahead_columns - n]
 *
 * Sums over the channels of an array (signal/array.h) add up such series of all channels of the input, with their delays. */
struct lw_verify_shape {
    const double *taps; /* [n_filters x tap_rows x tap_columns x parts], parts: 2 if complex */
    int n_filters, parts;
    int64_t tap_rows, tap_columns;
    int64_t own;                   /* rows of taps of a filter: 1, or one for each channel of the input */
    const struct lw_shifts *sums;  /* beams or stacks; NULL: none */
    int64_t n_series;              /* channels of the input in an output: 1, or those of a sum */
    int64_t reach;                 /* rows of the input from the oldest to the newest in an output */
    int64_t ahead_rows, ahead_columns;
    int64_t n_channels, n_rows, columns; /* size of the input */
    int64_t n_outputs, output_columns;   /* size of y */
    enum lw_boundary boundary;
    double outside;      /* samples outside of the input with boundary zero */
    struct lw_post post; /* post-processing of y along the rows; columns are only thinned */
    const struct lw_search *search;
    bool is_image;
    int64_t segment_rows, segment_columns; /* size of a segment, or of a direct sum's taps; its outputs share rounding errors */
    double segment_values;                 /* values in a segment: its energy divided by these is its mean square */
    bool is_weighted;    /* y is a signal-to-noise ratio of weighted pixels (struct lw_conv2d_spec) */
    double *promises;                      /* owned; [n_filters x own][2], error bound of outputs whose segment has an rms of 1:
                                              of the filter, and of its squares if is_weighted */
};

/* Findings on one dataset: a line of the table that is printed. */
struct lw_verify_row {
    char name[64];
    int64_t n_checked, n_wrong;
    int64_t n_all;    /* values or rows of the dataset; 0: not known */
    double largest;   /* largest part */
    char worst[320];  /* place of the largest part; "": none */
    bool is_sums;     /* the values are checksums, of blocks of an array or of a table's rows */
    char remark[160]; /* end of the line; "": none */
};

enum { LW_VERIFY_ROWS = 2 * LW_JOB_PRODUCTS + 4 };

/* Maps of a job's mesh. */
enum { LW_VERIFY_BACKGROUND, LW_VERIFY_NOISE, LW_VERIFY_MESHES };

struct lw_verify {
    struct lw_comm *comm;
    const struct lw_verify_request *request;
    bool is_fits;
    struct lw_notes *notes; /* owned; attributes of the first product and of the root group */
    struct lw_job job;
    struct lw_verify_shape shape; /* unset for the job sfft */
    bool as_stored;               /* the input is read without unpacking, as by the earlier version that made the result */
    struct lw_pool *pool;         /* owned */
    struct lw_reader *reader;
    struct lw_mask *mask;     /* owned; NULL: none */
    struct lw_reader *map_reader; /* owned; NULL: no map of weights */
    struct lw_map *map;       /* owned; set by lw_verify_open_window */
    char *raw_map;            /* owned; the map of the rows in `raw` */
    struct lw_stream_window *window; /* owned; set by lw_verify_open_window */
    struct lw_plan plan;      /* plan for `window` and `mask`; only fields that these use are set */
    double *taps;             /* owned; filters in float64; NULL: there are none, or the job has them */
    char *raw;                /* owned; rows read through the window, in the stored type */
    float *meshes[LW_VERIFY_MESHES];    /* owned; maps at the pixels of `raw`; NULL: the operation uses none */
    int64_t n_wanted;         /* values to check in a dataset (--sample) */
    uint64_t seed, n_drawn;
    struct lw_verify_row rows[LW_VERIFY_ROWS];
    int n_rows;
};

/* ---- open.c ------------------------------------------------------------------------------------------------------ */

/** Prepare the result's job again. LW_EDATA: an input is not the one that the result was made from; other errors are those of the
 * preparation. Close `verify` whatever the outcome. Collective. */
int lw_verify_open(struct lw_verify *verify, struct lw_error *err);
void lw_verify_close(struct lw_verify *verify); /* Collective. */

/** Return the name by which a dataset of the result is read: "RESULT:/path"; in a FITS result, with its extension's name. */
struct lw_name lw_verify_name(const struct lw_verify *verify, const char *path);

/** Read the notes of a dataset. Free *notes in any case; NULL: no memory. Errors: those of lw_notes_read; LW_ESYSTEM. */
int lw_verify_read_notes(const struct lw_verify *verify, const char *path, struct lw_notes **notes, struct lw_error *err);

struct lw_verify_row *lw_verify_add_row(struct lw_verify *verify, const char *name);

int64_t lw_verify_draw(struct lw_verify *verify, int64_t n);

/** Count one checked value, whose place `format` names. @param part  defined at the top; a value with part NaN is wrong */
void lw_verify_count(struct lw_verify_row *row, double part, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- samples.c --------------------------------------------------------------------------------------------------- */

enum { LW_MARK_BAD = 1, LW_MARK_MASKED = 2 };    /* marks of an input value: not finite; masked */

/* Rows of one channel of the input, continued beyond the input's ends. */
struct lw_verify_samples {
    int64_t channel, begin, end;     /* rows [begin, end), as positions in the view */
    double complex *values;          /* [n_series][(end - begin) x columns]; 0 where masked or not finite */
    unsigned char *marks;            /* LW_MARK_... of each value */
    double *weights;                 /* [(end - begin) x columns], 0 beyond the sides; NULL: pixels have no weights */
    double *levels;                  /* [n_series][n_levels], for each group of output columns: largest rms value of a segment */
    double *weight_levels;           /* the same of the weights; `levels` then are those of weighted pixels */
    int64_t n_levels, level_columns; /* number of groups; columns of a group */
};

/** Prepare verify->window for reads of at most `most_rows` rows. */
int lw_verify_open_window(struct lw_verify *verify, int64_t most_rows, struct lw_error *err);

/** Read the input on which rows [first, end) of y depend. Release `samples` in any case. */
int lw_verify_read(struct lw_verify *verify, int64_t channel, int64_t first, int64_t end, struct lw_verify_samples *samples,
                   struct lw_error *err);
void lw_verify_samples_release(struct lw_verify_samples *samples);

/** Return the number of input rows that lw_verify_read reads for n_outputs rows of y. */
int64_t lw_verify_rows_read(const struct lw_verify_shape *shape, int64_t n_outputs);

/** Return the rows of y for a piece, few enough for a small memory. */
int64_t lw_verify_piece_rows(const struct lw_verify_shape *shape);

/* ---- truth.c ----------------------------------------------------------------------------------------------------- */

struct lw_verify_truth {
    double complex value;
    bool is_nan;
    double allowed; /* allowed error of the value before it is rounded to its stored type */
    double error;   /* weighted pixels: error of the flux, 1 / sqrt(B) */
};

/** Compute y for a filter at (row, column), in the channel of `samples`. */
struct lw_verify_truth lw_verify_series(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter,
                                        int64_t row, int64_t column);

/** Compute element (row, column) of the product that post-processing makes of y. */
struct lw_verify_truth lw_verify_made(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter,
                                      int64_t row, int64_t column);

/** Find the rows [*first, *end) of y on which row `row` of that product depends. */
void lw_verify_made_of(const struct lw_verify_shape *shape, int64_t row, int64_t *first, int64_t *end);

/** Return whether an output can be neither peak nor neighbour, because its taps meet too many masked or non-finite samples. */
bool lw_verify_is_excluded(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter, int64_t row,
                           int64_t column);

/** Return sigma of a channel behind a filter at an output; `row` is an index of the series, or a row of pixels. */
double lw_verify_sigma(const struct lw_verify *verify, int64_t channel, int filter, int64_t row);

/** Return the error bound of y behind a filter, for a segment with an rms value of 1: 6 times the guaranteed rms error.
 * @param n        N of the guarantee: values that are transformed together, or taps of a direct sum
 * @param squares  the taps' squares are the filter */
double lw_verify_promise(const struct lw_verify *verify, int filter, double n, bool squares);

static inline double lw_verify_larger(double a, double b) { return isnan(a) || isnan(b) ? (double)NAN : fmax(a, b); }

/** Return the part (defined at the top) of a stored value.
 * @param scale  value of a stored 1 in types that saturate: integers, float16 */
double lw_verify_part(const struct lw_verify *verify, struct lw_type type, double scale, double complex got,
                      const struct lw_verify_truth *truth);

/** Count the part of a stored value in `row`. @param where  place of the value, with which the message begins */
void lw_verify_compare(const struct lw_verify *verify, struct lw_type type, double scale, double complex got,
                       const struct lw_verify_truth *truth, const char *where, struct lw_verify_row *row);

/* ---- spots.c ----------------------------------------------------------------------------------------------------- */

/* Elements to check: random ones in random pieces (rows of one channel), always in the first and the last, none twice. */

/* The numbers 0 .. n - 1 in a random order. */
struct lw_verify_deck {
    uint64_t seed;
    int64_t n;
};

struct lw_verify_deck lw_verify_shuffle(struct lw_verify *verify, int64_t n);

/** Return number `i` of the deck, 0 <= i < n. */
int64_t lw_verify_card(const struct lw_verify_deck *deck, int64_t i);

/* Elements to choose from: those of a dataset with n_rows rows in each channel and `in_row` elements in each row. */
struct lw_verify_choice {
    int64_t n_channels, n_rows, in_row;
    int64_t span;      /* rows of a piece, few enough for a small memory */
    int64_t products;  /* products of a sample and a tap that one element needs */
    int64_t rows_read; /* least number of input rows to read for a piece */
};

/* Division of a dataset into pieces of `rows` rows of one channel. n pieces are taken, and n_each elements from each. */
struct lw_verify_pieces {
    struct lw_verify_choice choice;
    int64_t rows;
    int64_t n, n_each;
    struct lw_verify_deck deck; /* order of all pieces */
    int64_t ends[2], n_dealt;   /* numbers of the first two pieces taken; cards used so far */
};

struct lw_verify_piece {
    int64_t channel, first, rows, n;
    struct lw_verify_deck deck; /* order of the piece's elements */
};

/** Choose the pieces. All elements are taken if they are no more than --sample and within the limits. */
struct lw_verify_pieces lw_verify_choose(struct lw_verify *verify, const struct lw_verify_choice *choice);

/** Return the number of elements to choose from. */
int64_t lw_verify_all(const struct lw_verify_pieces *pieces);

/** Return piece i of pieces->n; call with i = 0, 1, 2 and so on. */
struct lw_verify_piece lw_verify_next(struct lw_verify *verify, struct lw_verify_pieces *pieces, int64_t i);

/** Return the row of the piece's k-th chosen element. @param rest  set to the element's number in its row */
int64_t lw_verify_row_of(const struct lw_verify_pieces *pieces, const struct lw_verify_piece *piece, int64_t k, int64_t *rest);

/** Write "filter 2, channel 0, index 1234" or "image 0, row 5, column 6". @return  `text` */
const char *lw_verify_where(const struct lw_verify *verify, int64_t filter, int64_t channel, int64_t row, int64_t column,
                            char text[160]);

/** Write "1.5" or "1.5+2i". @return  `text` */
const char *lw_verify_number(double complex value, bool is_complex, char text[64]);

/* ---- the checks, each for a line or more of the table; rank 0 only --------------------------------------------- */

int lw_verify_sums(struct lw_verify *verify, struct lw_error *err); /* reads the result alone, without lw_verify_open */
int lw_verify_series_product(struct lw_verify *verify, const struct lw_product *product, struct lw_error *err);
int lw_verify_best(struct lw_verify *verify, const struct lw_product *value, const struct lw_product *filter, struct lw_error *err);
int lw_verify_blocks(struct lw_verify *verify, const struct lw_product *product, struct lw_error *err);
int lw_verify_given(struct lw_verify *verify, const struct lw_product *product, struct lw_error *err);
int lw_verify_peaks(struct lw_verify *verify, const struct lw_product *product, struct lw_error *err);
int lw_verify_lines(struct lw_verify *verify, struct lw_error *err);
int lw_verify_candidates(struct lw_verify *verify, struct lw_error *err);
