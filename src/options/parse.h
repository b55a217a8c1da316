/* parse.h - numbers, times, bytes and ranges as people write them, and the name that a misspelt one probably means. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum lw_parse {
    LW_PARSE_OK,
    LW_PARSE_MALFORMED,         /* not a number of that kind, or something follows the number */
    LW_PARSE_TOO_LARGE,         /* a number of that kind, but too large for the type */
};

/** Parse a whole number: 4096, -3, 2^20, 10k, 1.5M, 2G, 1T, 1e6. Suffixes are powers of 1000. Values are set only on success. */
enum lw_parse lw_parse_int(const char *text, int64_t *value);

/** Parse a number of bytes: 1000, 512M, 4g, 1.5GiB, 4 GB, 2T, 1e9. Suffixes are powers of 1024; B and iB are optional. */
enum lw_parse lw_parse_bytes(const char *text, int64_t *value);

/** Parse a finite decimal number. */
enum lw_parse lw_parse_real(const char *text, double *value);

/** Parse a finite number and its unit, with or without blanks between them. A number alone is in seconds or Hz.
 * Durations: 0.1s, 20 ms, 500us, 10ns, 2min, 1h, 3d. Frequencies: 4kHz, 1.2 MHz, 500 Hz, 5mHz, 1GHz, 1THz. */
enum lw_parse lw_parse_duration(const char *text, double *seconds);
enum lw_parse lw_parse_frequency(const char *text, double *hz);

/** Parse a rate likewise, in bytes per second: 500MB/s and 25 GB/s are powers of 1000, 1.5GiB/s of 1024. */
enum lw_parse lw_parse_rate(const char *text, double *bytes_per_second);

/* The length of a piece of a series, in samples or in seconds. */
struct lw_stretch {
    bool is_time;
    int64_t samples;            /* 0 if is_time */
    double seconds;             /* 0 unless is_time */
};

/** Parse a duration if the text has a unit of time, else a whole number of samples: 10s, 4096, 10k. */
enum lw_parse lw_parse_stretch(const char *text, struct lw_stretch *stretch);

/** Parse A:B, A:B:STEP or A (A:A+1), of numbers >= 0 as for lw_parse_int. A part left out becomes -1. B <= A is legal here. */
enum lw_parse lw_parse_range(const char *text, int64_t parts[3]);

/** Return the number of `text` among the items of a list such as "full|same|valid"; -1: the list lacks it. */
int lw_parse_choice(const char *choices, const char *text);

/** Return the number of single-letter changes (add, drop, replace, swap neighbours) that turn a into b (the optimal string
 * alignment distance). Only the first 31 letters count. */
int lw_edit_distance(const char *a, const char *b);

/** Return the distance of `candidate` from `text`, smaller for more alike; -1: too far to have been meant. */
int lw_nearness(const char *text, const char *candidate);
