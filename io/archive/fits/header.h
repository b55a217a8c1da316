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

/** Open a file: as it is, or, of one that was put through gzip, what comes out, in memory behind a descriptor (memfd_create), so
 * that all that read FITS read it, too. LW_EIO: unreadable. LW_EDATA: it begins as gzip's do, and is damaged or unpacks to more
 * than 4 GiB. LW_ESYSTEM: no memory.
 * @param fd     set to a descriptor, to be closed; -1 on failure
 * @param bytes  set to how many there are behind it */
int lw_fits_open(const char *file, int *fd, int64_t *bytes, bool *is_unpacked, struct lw_error *err);

/** Whether a file begins as FITS does, as it is or unpacked; only as much as that takes is unpacked. LW_EIO. */
int lw_fits_begins(const char *file, bool *begins, struct lw_error *err);

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

/* A keyword with a number behind: "NAXIS1". */
struct lw_fits_keyword {
    char text[24];
};
struct lw_fits_keyword lw_fits_numbered(const char *root, int number);

/* A column of a table; all 0 before the first one. */
struct lw_fits_column {
    int number;                         /* from 1 on */
    char name[72], type;                /* type: 'B', 'I', 'E', 'D', 'P', .. */
    int64_t count, place, bytes;        /* elements, 1 where it does not say; first byte in a row, and how many */
    int element_bytes;                  /* of what is in the heap, where that has the elements */
};

/** Go on to the next column of a table, by TTYPE and TFORM ("1664E", "D", "1PB(40)"). Columns lie one behind the other. False:
 * there are no more; or, with bytes -1, the next one is of no type that the standard knows (its table 18), or reaches beyond its
 * row. */
bool lw_fits_next_column(const struct lw_fits_unit *unit, struct lw_fits_column *column);

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
