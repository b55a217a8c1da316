/* state.h - what the files of src/verify share. */
#pragma once

#include "io/notes/notes.h"
#include "stream/plan.h"
#include "stream/search/mask.h"
#include "verify/verify.h"

#include <complex.h>
#include <math.h>

/* Products of an input sample and a tap that are summed for one dataset of a result, and input values that are read: where the
 * samples wanted would take more, fewer are checked. */
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
    int64_t n_channels, n_rows, columns; /* of the input */
    int64_t n_outputs, output_columns;   /* of y */
    enum lw_boundary boundary;
    double outside;      /* what boundary zero puts there */
    struct lw_post post; /* what is made of y along both dimensions, but only thinned along the columns */
    const struct lw_search *search;
    bool is_image;
    int64_t segment_rows, segment_columns; /* of a transform, or the taps of a direct sum: outputs share their roundings */
    double segment_values;                 /* that share their roundings, at least: the energy of so many makes an rms value */
    double *promises;                      /* [n_filters], owned: of an output whose segment has an rms value of 1 */
};

/* What was found of a product. */
struct lw_verify_row {
    char name[64];
    int64_t n_checked, n_wrong;
    int64_t n_all;    /* values or rows that there are; 0: it is not known */
    double largest;   /* error, as a part of what is promised */
    char worst[320];  /* where that was, "" nowhere */
    bool is_sums;     /* checksums were compared: of their blocks, or of a table's rows */
    char remark[160]; /* "" none */
};

enum { LW_VERIFY_ROWS = 2 * LW_JOB_PRODUCTS + 4 };

struct lw_verify {
    struct lw_comm *comm;
    const struct lw_verify_request *request;
    bool is_fits;
    struct lw_notes *notes; /* owned; of the first product */
    struct lw_job job;
    struct lw_verify_shape shape; /* not of a sparse transform */
    bool as_stored;               /* the input was taken so by an earlier version */
    struct lw_pool *pool;         /* owned */
    struct lw_reader *reader;
    struct lw_mask *mask;     /* NULL: none */
    struct lw_stream_window *window; /* see lw_verify_open_window */
    struct lw_plan plan;      /* of that window: what the mask asks for */
    char *raw;                /* rows of the window as they are stored */
    int64_t n_wanted;         /* --sample */
    uint64_t seed, n_drawn;
    struct lw_verify_row rows[LW_VERIFY_ROWS];
    int n_rows;
};

/* ---- open.c ------------------------------------------------------------------------------------------------------ */

/** Make the job again. Errors are those of its preparation; LW_EDATA: an input is another one than that of the result. `verify`
 * may be closed whatever the outcome. Collective. */
int lw_verify_open(struct lw_verify *verify, struct lw_error *err);
void lw_verify_close(struct lw_verify *verify); /* Collective. */

/** "RESULT:/path", as readers take it; of a FITS result by the name of its extension. */
struct lw_name lw_verify_name(const struct lw_verify *verify, const char *path);

/** Notes of a dataset, owned by the caller in any case; NULL: no memory. Errors: those of lw_notes_read; LW_ESYSTEM. */
int lw_verify_read_notes(const struct lw_verify *verify, const char *path, struct lw_notes **notes, struct lw_error *err);

/** A new line of the table. */
struct lw_verify_row *lw_verify_add_row(struct lw_verify *verify, const char *name);

/** A random number of [0, n). */
int64_t lw_verify_draw(struct lw_verify *verify, int64_t n);

/** Count one value that was checked; @param part  its error, as a part of what is promised: above 1 it is wrong, and so is NaN. */
void lw_verify_count(struct lw_verify_row *row, double part, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- samples.c --------------------------------------------------------------------------------------------------- */

enum { LW_MARK_BAD = 1, LW_MARK_MASKED = 2 };

/* Rows of the input, continued beyond its ends, of one channel. */
struct lw_verify_samples {
    int64_t channel, begin, end;     /* positions of rows */
    double complex *values;          /* [(end - begin) x columns]; 0 where they are masked or not finite */
    unsigned char *marks;            /* the same shape */
    double *levels;                  /* [n_levels] the largest rms value that a segment may have which meets the outputs in */
    int64_t n_levels, level_columns; /* columns k level_columns .. */
};

/** Prepare for reading at most so many rows at a time. */
int lw_verify_open_window(struct lw_verify *verify, int64_t most_rows, struct lw_error *err);

/** Read what the outputs [first, end) of y, all columns, are made of. Release in any case. */
int lw_verify_read(struct lw_verify *verify, int64_t channel, int64_t first, int64_t end, struct lw_verify_samples *samples,
                   struct lw_error *err);
void lw_verify_samples_release(struct lw_verify_samples *samples);

/** Rows that this reads for so many outputs. */
int64_t lw_verify_rows_read(const struct lw_verify_shape *shape, int64_t n_outputs);

/** Rows of outputs that a random piece holds, whose memory stays small. */
int64_t lw_verify_piece_rows(const struct lw_verify_shape *shape);

/* ---- truth.c ----------------------------------------------------------------------------------------------------- */

struct lw_verify_truth {
    double complex value;
    bool is_nan;
    double allowed; /* the largest error of a single output, before it is stored */
};

/** y at a place. */
struct lw_verify_truth lw_verify_series(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter,
                                        int64_t row, int64_t column);

/** What lw_post makes of it: element (row, column) of the product. */
struct lw_verify_truth lw_verify_made(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter,
                                      int64_t row, int64_t column);

/** The rows [*first, *end) of y that row `row` of the product is made of. */
void lw_verify_made_of(const struct lw_verify_shape *shape, int64_t row, int64_t *first, int64_t *end);

/** Whether an output is no peak and nobody's neighbour, since it touches too many samples that do not count. */
bool lw_verify_is_excluded(const struct lw_verify *verify, const struct lw_verify_samples *samples, int filter, int64_t row,
                           int64_t column);

/** sigma of a channel behind a filter at an output, of images a row. */
double lw_verify_sigma(const struct lw_verify *verify, int64_t channel, int filter, int64_t row);

/** The largest error of one output of y behind a filter whose segment has an rms value of 1: 6 times the promised rms error.
 * @param n  N of the promise: values that are transformed together, or taps of a direct sum */
double lw_verify_promise(const struct lw_verify *verify, int filter, double n);

/** The larger of two numbers; where one of them is not a number, that. */
static inline double lw_verify_larger(double a, double b) { return isnan(a) || isnan(b) ? (double)NAN : fmax(a, b); }

/** The error of a stored value, as a part of what is allowed. @param scale  what a stored sample of a type that saturates counts */
double lw_verify_part(const struct lw_verify *verify, struct lw_type type, double scale, double complex got,
                      const struct lw_verify_truth *truth);

/** Count it. @param where  it stands: begins what is said of it */
void lw_verify_compare(const struct lw_verify *verify, struct lw_type type, double scale, double complex got,
                       const struct lw_verify_truth *truth, const char *where, struct lw_verify_row *row);

/* ---- spots.c ----------------------------------------------------------------------------------------------------- */

/* Which outputs are checked: random ones of random pieces of a dataset's axis, among which are the first and the last, and none
 * twice. */

/* The numbers 0 .. n - 1 in a random order. */
struct lw_verify_deck {
    uint64_t seed;
    int64_t n;
};

struct lw_verify_deck lw_verify_shuffle(struct lw_verify *verify, int64_t n);

/** Number `i` of them, 0 <= i < n. */
int64_t lw_verify_card(const struct lw_verify_deck *deck, int64_t i);

/* What is to be chosen from: the elements of a dataset, n_rows of each channel with `in_row` each. */
struct lw_verify_choice {
    int64_t n_channels, n_rows, in_row;
    int64_t span;      /* rows of a piece whose memory stays small */
    int64_t products;  /* that one element costs */
    int64_t rows_read; /* of the input, that a piece costs at least */
};

/* Pieces of so many rows, of each channel; n of them are taken, and so many elements of each. */
struct lw_verify_pieces {
    struct lw_verify_choice choice;
    int64_t rows;
    int64_t n, n_each;
    struct lw_verify_deck deck; /* of all pieces */
    int64_t ends[2], n_dealt;   /* the first two that are taken; and cards of the deck that are gone */
};

struct lw_verify_piece {
    int64_t channel, first, rows, n;
    struct lw_verify_deck deck; /* of its elements */
};

/** Choose them. Where --sample asks for all elements, and they do not cost too much, all are taken. */
struct lw_verify_pieces lw_verify_choose(struct lw_verify *verify, const struct lw_verify_choice *choice);

/** Elements that there are. */
int64_t lw_verify_all(const struct lw_verify_pieces *pieces);

/** The next piece, of pieces->n. */
struct lw_verify_piece lw_verify_next(struct lw_verify *verify, struct lw_verify_pieces *pieces, int64_t i);

/** Number k of its elements that are taken. @param rest  which one of its row */
int64_t lw_verify_row_of(const struct lw_verify_pieces *pieces, const struct lw_verify_piece *piece, int64_t k, int64_t *rest);

/** "filter 2, channel 0, sample 1234". Returns `text`. */
const char *lw_verify_where(const struct lw_verify *verify, int64_t filter, int64_t channel, int64_t row, int64_t column,
                            char text[160]);

/** "1.5" or "1.5 + 2i". Returns `text`. */
const char *lw_verify_number(double complex value, bool is_complex, char text[64]);

/* ---- what is checked, a line or more of the table each; by rank 0 ------------------------------------------------ */

int lw_verify_sums(struct lw_verify *verify, struct lw_error *err); /* before lw_verify_open: from the file alone */
int lw_verify_series_product(struct lw_verify *verify, const struct lw_product *product, struct lw_error *err);
int lw_verify_best(struct lw_verify *verify, const struct lw_product *value, const struct lw_product *filter, struct lw_error *err);
int lw_verify_blocks(struct lw_verify *verify, const struct lw_product *product, struct lw_error *err);
int lw_verify_given(struct lw_verify *verify, const struct lw_product *product, struct lw_error *err);
int lw_verify_peaks(struct lw_verify *verify, const struct lw_product *product, struct lw_error *err);
int lw_verify_lines(struct lw_verify *verify, struct lw_error *err);
