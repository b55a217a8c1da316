/* segy_codes.h - how SEG-Y files code samples, and the text before them. Pure. */
#pragma once

#include "base/type.h"

#include <stdbool.h>
#include <stdint.h>

/* Make `n` samples of the scalar, in this machine's byte order. What is read may lie at the end of what is written: no sample is
 * written over one that is still to be read. */
typedef void lw_segy_convert_fn(const unsigned char *from, int64_t n, void *to);

/* A format of samples. */
struct lw_segy_format {
    int code;
    const char *text;
    int bytes;                          /* of a sample in the file; 0: samples of this format are not read */
    enum lw_scalar scalar;              /* that it is given as */
    lw_segy_convert_fn *convert[2];     /* from little and big endian; NULL: samples are given as they lie there */
};

/** The format of that code; NULL: the standard has none. */
const struct lw_segy_format *lw_segy_format_find(int code);

enum { LW_SEGY_TEXT_BYTES = 3200, LW_SEGY_TEXT_ROOM = LW_SEGY_TEXT_BYTES + 41 };

/** Whether it is a text, in EBCDIC or ASCII. @param has_cards  set: its lines begin with a C, as punched cards did */
bool lw_segy_is_text(const unsigned char text[LW_SEGY_TEXT_BYTES], bool *has_cards);

/** The text, its 40 lines without the blanks at their ends; from EBCDIC where it is in that. Returns `text`. */
const char *lw_segy_text(const unsigned char from[LW_SEGY_TEXT_BYTES], char text[LW_SEGY_TEXT_ROOM]);
