/* header.h - read headers of FITS files (FITS Standard 4.0, sections 3 and 4). No library is used: headers may be damaged, and each
 * value is checked here.
 *
 *     unit (HDU)   header: 80-character cards up to END, in blocks of 2880 bytes; data, filled up to 2880 bytes
 *     card         KEYWORD = value / comment
 *
 *     read:   unpacked.c (gzip) -> header.c: walk from unit to unit -> image.c: shape, type, tiling -> tiles.c, tile_codes.c
 *     write:  result_format.c: units -> cards.c: headers; world.c: coordinates        (fits.c: lw_format's functions) */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { LW_FITS_BLOCK = 2880, LW_FITS_CARD = 80, LW_FITS_MOST_AXES = 999 };

/* A unit: its header, and where header and data lie in the file, in bytes. */
struct lw_fits_unit {
    int number;                         /* 0: the primary unit */
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
    int64_t file_bytes;                 /* size after unpacking */
    bool is_unpacked;                   /* the file is gzipped, and `fd` refers to its unpacked bytes in memory */
    struct lw_fits_unit *unit;          /* the current unit; NULL: after the last one */
};

/** Open a file. A gzipped file is unpacked into memory with a descriptor (memfd_create), so that readers see no difference.
 * LW_EIO: unreadable. LW_EDATA: a gzipped file is damaged or unpacks to more than 4 GiB. LW_ESYSTEM: no memory.
 * @param fd     set to a descriptor that the caller closes; -1 on failure
 * @param bytes  set to the size of the file, unpacked */
int lw_fits_open(const char *file, int *fd, int64_t *bytes, bool *is_unpacked, struct lw_error *err);

/** Find whether a file, gzipped or not, begins as FITS files do. Only its beginning is unpacked. LW_EIO; LW_ESYSTEM: no memory. */
int lw_fits_begins(const char *file, bool *begins, struct lw_error *err);

/** Open a file and go to its primary unit. Call lw_fits_end also after an error. LW_EIO; LW_EDATA: no FITS file, or damaged. */
int lw_fits_begin(const char *file, struct lw_fits_walk *walk, struct lw_error *err);

/** Go on to the next unit. LW_EIO; LW_EDATA: its header is damaged; LW_ESYSTEM. */
int lw_fits_next(struct lw_fits_walk *walk, struct lw_error *err);
void lw_fits_end(struct lw_fits_walk *walk);

/** Read the value of a keyword from its first card. Returns false if the unit lacks the card, or the value is of another kind. */
bool lw_fits_int(const struct lw_fits_unit *unit, const char *keyword, int64_t *value);
bool lw_fits_real(const struct lw_fits_unit *unit, const char *keyword, double *value);
bool lw_fits_logical(const struct lw_fits_unit *unit, const char *keyword, bool *value);
bool lw_fits_text(const struct lw_fits_unit *unit, const char *keyword, char *text,
                  size_t size); /* cut to size, without blanks at its end */

/* A keyword with a number at its end, like "NAXIS1". */
struct lw_fits_keyword {
    char text[24];
};
struct lw_fits_keyword lw_fits_numbered(const char *root, int number);

/* A column of a table; all members are 0 before the first column. */
struct lw_fits_column {
    int number;                         /* the first column is 1 */
    char name[72], type;                /* TTYPE; letter of TFORM: 'B', 'I', 'E', 'D', 'P', .. */
    int64_t count, place, bytes;        /* elements (1 if TFORM has no number); first byte and bytes in a row */
    int element_bytes;                  /* types 'P' and 'Q': bytes of an element in the heap (image.h) */
};

/** Go on to the next column of a table, by TTYPE and TFORM ("1664E", "D", "1PB(40)"). Columns follow each other without gaps.
 * Returns false after the last column; or, with bytes -1, if table 18 of the standard lacks the type or the row is too short. */
bool lw_fits_next_column(const struct lw_fits_unit *unit, struct lw_fits_column *column);

/* A parsed card. */
enum lw_fits_kind { LW_FITS_NOTHING, LW_FITS_TEXT, LW_FITS_LOGICAL, LW_FITS_INTEGER, LW_FITS_REAL };

struct lw_fits_card {
    char keyword[72];                   /* the words after HIERARCH, in ESO's cards */
    enum lw_fits_kind kind;             /* LW_FITS_NOTHING: the card has no value, or none of the other kinds */
    char text[LW_FITS_CARD];
    bool logical;
    int64_t integer;
    double real;                        /* also set for integers */
};

/** Parse a unit's card. A CONTINUE card gives its part of a long text. @param index  from 0 */
void lw_fits_card(const struct lw_fits_unit *unit, int64_t index, struct lw_fits_card *out);
