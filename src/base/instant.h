/* instant.h - times and sampling periods without rounding: the time of every sample is exact, however long the survey.
 *
 *     instant   seconds and attoseconds (1e-18 s) since an epoch
 *     period    seconds as a fraction of whole numbers: 1/4096 for 4096 Hz, 64/125000 for 512 us
 *
 * There are two epochs. The POSIX epoch is 1970-01-01T00:00:00 UTC; every day counts 86400 s. The GPS epoch is 1980-01-06T00:00:00
 * UTC; leap seconds are counted. A floating-point number in a file stands for the shortest decimal number that reads back as
 * the same floating-point number: 0.000512 means exactly 512 us. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LW_ATTOSECONDS ((int64_t)1000000000000000000)      /* attoseconds of one second */

struct lw_instant {
    int64_t seconds;            /* magnitude at most LW_MOST_SECONDS */
    int64_t attoseconds;        /* 0 <= attoseconds < LW_ATTOSECONDS */
};

#define LW_MOST_SECONDS ((int64_t)250000000000)             /* some 8000 years */

/* Sampling period: a fraction in lowest terms, both numbers positive. numerator 0: the period is unknown. */
struct lw_period {
    int64_t numerator, denominator;     /* period = numerator / denominator, s */
};

enum { LW_INSTANT_TEXT = 48 };

/** Parse "2015-09-14T09:50:45.39", "2015-09-14 09:50:45Z", "2015-09-14" or "20150914T095045", each with an optional offset such
 * as +02:00; without an offset the time is UTC. Digits beyond the 18th are dropped. Return false for any other text, a date that
 * does not exist, or a time beyond LW_MOST_SECONDS. */
bool lw_instant_parse(const char *text, struct lw_instant *out);

/** Write an instant as "2015-09-14T09:50:45.39", without trailing zeros. Return `text`. */
const char *lw_instant_text(struct lw_instant instant, char text[LW_INSTANT_TEXT]);
const char *lw_instant_now(char text[LW_INSTANT_TEXT]);     /* the second that it is now, such as "2015-09-14T09:50:45Z" */

/* Convert seconds, ticks or days to an instant. Return false if they are not finite or the instant is beyond LW_MOST_SECONDS. */
bool lw_instant_from_seconds(double seconds, struct lw_instant *out);
bool lw_instant_from_ticks(int64_t ticks, int64_t per_second, struct lw_instant *out);     /* nanoseconds: per_second 1e9 */
bool lw_instant_from_mjd(double days, struct lw_instant *out);      /* modified Julian date (from 1858-11-17) to POSIX epoch */

double lw_instant_seconds(struct lw_instant instant);               /* seconds since the epoch, rounded */

/** Convert between the GPS and the POSIX epoch. The last leap second known here is at the end of 2016. A leap second, which the
 * POSIX epoch does not count, maps to the second after it. */
struct lw_instant lw_instant_from_gps(struct lw_instant gps);
struct lw_instant lw_instant_to_gps(struct lw_instant utc);

int lw_instant_compare(struct lw_instant a, struct lw_instant b);   /* negative, 0 or positive, as for qsort */

/* Make a period. Return false if a number is not positive or not finite, or no fraction of 64-bit integers equals the period. */
bool lw_period_from_seconds(double seconds, struct lw_period *out);
bool lw_period_from_rate(double hertz, struct lw_period *out);
bool lw_period_make(int64_t numerator, int64_t denominator, struct lw_period *out);         /* seconds; reduced to lowest terms */

double lw_period_rate(struct lw_period period);         /* Hz, rounded; 0: period unknown */
double lw_period_seconds(struct lw_period period);

/** Return the time of sample `i` of an axis that begins at `start`, rounded down to an attosecond. */
struct lw_instant lw_instant_of_sample(struct lw_instant start, struct lw_period period, int64_t i);

/** Return the sample nearest to `at` on an axis that begins at `start`, limited to +-4e18.
 * @param off  set to the distance from the returned sample to `at`, in samples, -0.5 to 0.5; may be NULL */
int64_t lw_instant_to_sample(struct lw_instant start, struct lw_period period, struct lw_instant at, double *off);
