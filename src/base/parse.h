/* parse.h - numbers as people write them on a command line, and the name they probably meant. Pure. */
#ifndef LW_BASE_PARSE_H
#define LW_BASE_PARSE_H

#include <stdint.h>

enum lw_parse {
    LW_PARSE_OK,
    LW_PARSE_MALFORMED,         /* not a number of that kind, or something follows it */
    LW_PARSE_TOO_LARGE,         /* well written, but its size does not fit */
};

/** 4096, -3, 2^20, 10k, 16M, 2G, 1T: the suffixes are powers of 1000. `*value` is set only on success. */
enum lw_parse lw_parse_int(const char *text, int64_t *value);

/** 1000, 512M, 4G, 1.5GiB, 2T: the suffixes, in either case and with or without iB, are powers of 1024. */
enum lw_parse lw_parse_bytes(const char *text, int64_t *value);

/** A finite decimal number. */
enum lw_parse lw_parse_real(const char *text, double *value);

/** A:B or A:B:STEP with parts as for lw_parse_int, none negative; a part that was left out becomes -1. Whether B lies
 * behind A is not looked at. `parts` is set only on success. */
enum lw_parse lw_parse_range(const char *text, int64_t parts[3]);

/** Number of the item of "full|same|valid" that `text` is, -1: none. */
int lw_parse_choice(const char *choices, const char *text);

/** Number of single-letter changes (add, drop, replace, swap neighbours) that turn a into b: the optimal string alignment
 * distance. Only the first 31 letters count. */
int lw_edit_distance(const char *a, const char *b);

/** How near `candidate` is to `text` (small = near), -1 if it is too far to be what was meant. */
int lw_nearness(const char *text, const char *candidate);

#endif
