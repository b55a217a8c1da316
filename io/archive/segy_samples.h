/* segy_samples.h - the formats of samples in SEG-Y files. Pure. */
#pragma once

#include "base/type.h"

#include <stdint.h>

/** Make `n` samples of the scalar, in this machine's byte order. What is read may lie at the end of what is written: no sample
 * is written over one that is still to be read. */
typedef void lw_segy_convert_fn(const unsigned char *from, int64_t n, void *to);

struct lw_segy_format {
    int code;
    int bytes;                          /* of a sample in the file */
    enum lw_scalar scalar;              /* that it is given as */
    lw_segy_convert_fn *convert[2];     /* from little and big endian; NULL: samples are given as they lie there */
};

/** The format of that code; NULL: none that is read. */
const struct lw_segy_format *lw_segy_format_find(int code);

/** Name of any format of the standard, for messages; NULL: there is none of that code. */
const char *lw_segy_format_text(int code);
