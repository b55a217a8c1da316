/* parse.h - numbers as people write them on a command line, and the name they probably meant. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum lw_parse {
    LW_PARSE_OK,
    LW_PARSE_MALFORMED,         /* not a number of that kind, or something follows it */
    LW_PARSE_TOO_LARGE,         /* well written, but its size does not fit */
};

/** 4096, -3, 2^20, 10k, 1.5M, 2G, 1T, 1e6, 2.5e3: the suffixes are powers of 1000, and the number must be whole. `*value` is set
 * only on success. */
enum lw_parse lw_parse_int(const char *text, int64_t *value);

/** 1000, 512M, 4G, 1.5GiB, 4 GB, 2T, 1e9: the suffixes, in either case and with or without B or iB, are powers of 1024. */
enum lw_parse lw_parse_bytes(const char *text, int64_t *value);

/** A finite decimal number. */
enum lw_parse lw_parse_real(const char *text, double *value);

/** A finite number and behind it, after blanks or none, its unit; without one seconds or Hz. `*value` is in these.
 * Durations: 0.1s, 20 ms, 500us, 10ns, 2min, 1h, 3d. Frequencies: 4kHz, 1.2 MHz, 500 Hz, 5mHz, 1GHz, 1THz. */
enum lw_parse lw_parse_duration(const char *text, double *seconds);
enum lw_parse lw_parse_frequency(const char *text, double *hz);

/* A stretch of a series: of samples, or of time, which is samples where the rate is known. */
struct lw_stretch {
    bool is_time;
    int64_t samples;            /* 0 where it is time */
    double seconds;             /* 0 where it is samples */
};

/** As lw_parse_duration where there is a unit of time, else as lw_parse_int: 10s, 4096, 10k. */
enum lw_parse lw_parse_stretch(const char *text, struct lw_stretch *stretch);

/** A:B or A:B:STEP with parts as for lw_parse_int, none negative; a part that was left out becomes -1; A alone is A:A+1. Whether
 * B lies behind A is not looked at. `parts` is set only on success. */
enum lw_parse lw_parse_range(const char *text, int64_t parts[3]);

/** Number of the item of "full|same|valid" that `text` is, -1: none. */
int lw_parse_choice(const char *choices, const char *text);

/** Number of single-letter changes (add, drop, replace, swap neighbours) that turn a into b: the optimal string alignment
 * distance. Only the first 31 letters count. */
int lw_edit_distance(const char *a, const char *b);

/** How near `candidate` is to `text` (small = near), -1 if it is too far to be what was meant. */
int lw_nearness(const char *text, const char *candidate);
