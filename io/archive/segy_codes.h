/* segy_codes.h - convert the samples of SEG-Y files, and the text at their beginning. Pure functions. */
#pragma once

#include "base/type.h"

/* Convert n samples to the format's scalar type, in this machine's byte order. `from` may be the end of the memory at `to`: each
 * stored sample is read before it is overwritten. */
typedef void lw_segy_convert_fn(const unsigned char *from, int64_t n, void *to);

/* One of SEG-Y's sample formats. */
struct lw_segy_format {
    int code;
    const char *text;
    int bytes;                          /* bytes of a stored sample; 0: lapwing does not read this format */
    enum lw_scalar scalar;              /* type of the samples as read */
    lw_segy_convert_fn *convert[2];     /* functions for little and big endian; NULL: no conversion */
};

/** Return the sample format with a code; NULL: the standard has no such code. */
const struct lw_segy_format *lw_segy_format_find(int code);

enum { LW_SEGY_TEXT_BYTES = 3200, LW_SEGY_TEXT_ROOM = LW_SEGY_TEXT_BYTES + 41 };

/** Return whether the bytes are a text in EBCDIC or ASCII. @param has_cards  set to whether it begins with C, like punched cards */
bool lw_segy_is_text(const unsigned char text[LW_SEGY_TEXT_BYTES], bool *has_cards);

/** Convert EBCDIC or ASCII to up to 40 lines of ASCII without blanks at their ends, and return `text`. */
const char *lw_segy_text(const unsigned char from[LW_SEGY_TEXT_BYTES], char text[LW_SEGY_TEXT_ROOM]);
