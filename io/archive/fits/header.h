/* header.h - headers of FITS files (FITS Standard 4.0, sections 3 and 4), read without a library, so that whatever a damaged one
 * says is checked here.
 *
 *     unit (HDU)   header, of 2880-byte blocks of 80-character cards up to END; data, filled up to 2880 bytes
 *     card         KEYWORD = value / comment */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LW_FITS_BLOCK = 2880, LW_FITS_CARD = 80, LW_FITS_MOST_AXES = 999 };

/* A header and where its data lie. */
struct lw_fits_unit {
    int number;                         /* 0: primary */
    char *cards;                        /* owned; [n_cards x LW_FITS_CARD], without END */
    int64_t n_cards;
    int64_t header_offset, data_offset, data_bytes;
    int bitpix, n_axes;
    int64_t axes[LW_FITS_MOST_AXES];    /* NAXIS1, NAXIS2, ... */
};

/* A walk through the units of a file. */
struct lw_fits_walk {
    const char *file;                   /* borrowed, for messages */
    int fd;
    int64_t file_bytes;                 /* unpacked */
    bool is_unpacked;                   /* gzip was undone: `fd` is that of memory */
    struct lw_fits_unit *unit;          /* the one that the walk is at; NULL: there are no more */
};

/** Open the file and go to its primary unit. LW_EIO, LW_EDATA: no FITS file, or a header that is damaged. Whatever the outcome, the
 * walk may be closed. */
int lw_fits_begin(const char *file, struct lw_fits_walk *walk, struct lw_error *err);

/** Go on to the next unit. */
int lw_fits_next(struct lw_fits_walk *walk, struct lw_error *err);
void lw_fits_end(struct lw_fits_walk *walk);

/** Values of keywords. False: there is no such card, or its value is of another kind. Of several the first counts. */
bool lw_fits_int(const struct lw_fits_unit *unit, const char *keyword, int64_t *value);
bool lw_fits_real(const struct lw_fits_unit *unit, const char *keyword, double *value);
bool lw_fits_logical(const struct lw_fits_unit *unit, const char *keyword, bool *value);
bool lw_fits_text(const struct lw_fits_unit *unit, const char *keyword, char *text,
                  size_t size); /* cut; without blanks at its end */

/** The same of keywords with a number behind: "NAXIS" and 1. */
bool lw_fits_int_of(const struct lw_fits_unit *unit, const char *keyword, int number, int64_t *value);
bool lw_fits_real_of(const struct lw_fits_unit *unit, const char *keyword, int number, double *value);
bool lw_fits_text_of(const struct lw_fits_unit *unit, const char *keyword, int number, char *text, size_t size);

/** Bytes that a column takes in a row, by its TFORM: "1664E", "D", "1PB(40)". -1: none that the standard knows (its table 18), or
 * too many.
 * @param count  set, 1 where it is left out */
int64_t lw_fits_column_bytes(const char *form, int64_t *count, char *type);

/* One card, parsed. */
enum lw_fits_kind { LW_FITS_NOTHING, LW_FITS_TEXT, LW_FITS_LOGICAL, LW_FITS_INTEGER, LW_FITS_REAL };

struct lw_fits_card {
    char keyword[72];                   /* of ESO's HIERARCH cards the words behind it */
    enum lw_fits_kind kind;             /* LW_FITS_NOTHING: a comment, or a value that is none of the others */
    char text[LW_FITS_CARD];
    bool logical;
    int64_t integer;
    double real;                        /* of integers, too */
};

/** Card number `index` of a unit, a CONTINUE card as the text that it goes on with. */
void lw_fits_card(const struct lw_fits_unit *unit, int64_t index, struct lw_fits_card *out);
