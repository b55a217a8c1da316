/* instant.h - times and sampling periods without rounding, so that the time of every sample of a survey is exact, however long
 * it is. Pure.
 *
 *     instant   seconds and attoseconds (1e-18 s) since an epoch
 *     period    a fraction of whole numbers, in seconds: of 4096 Hz 1/4096, of 512 us 64/125000
 *
 * The epoch is 1970-01-01T00:00:00 UTC with days of 86400 s, as POSIX counts, or that of GPS, 1980-01-06T00:00:00 UTC, from which
 * all seconds are counted, leap seconds too. Numbers that files store in binary are taken as the shortest decimal number that
 * reads back as the same: 0.000512 is 512 us. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LW_ATTOSECONDS ((int64_t)1000000000000000000)      /* in one second */

struct lw_instant {
    int64_t seconds;            /* at most LW_MOST_SECONDS from the epoch, on either side */
    int64_t attoseconds;        /* 0 <= attoseconds < LW_ATTOSECONDS */
};

#define LW_MOST_SECONDS ((int64_t)250000000000)             /* about 8000 years */

/* Lowest terms; both positive. numerator 0: not known. */
struct lw_period {
    int64_t numerator, denominator;
};

enum { LW_INSTANT_TEXT = 48 };

/** "2015-09-14T09:50:45.39", "2015-09-14 09:50:45Z", "2015-09-14", "20150914T095045", with an offset such as +02:00; UTC if
 * there is none. Digits beyond the 18th are dropped. False: no such text, a day that does not exist, or one beyond
 * LW_MOST_SECONDS. */
bool lw_instant_parse(const char *text, struct lw_instant *out);

/** "2015-09-14T09:50:45.39": to the last digit that is not 0. */
const char *lw_instant_text(struct lw_instant instant, char text[LW_INSTANT_TEXT]);

/* False: not finite, or beyond LW_MOST_SECONDS. */
bool lw_instant_from_seconds(double seconds, struct lw_instant *out);
bool lw_instant_from_ticks(int64_t ticks, int64_t per_second, struct lw_instant *out);     /* nanoseconds: 1000000000 */
bool lw_instant_from_mjd(double days, struct lw_instant *out);      /* modified Julian date: days since 1858-11-17 */

double lw_instant_seconds(struct lw_instant instant);               /* rounded */

/** The same moment in the other count. UTC had a leap second at the end of 2016 for the last time; the second itself is taken as
 * the one after it. */
struct lw_instant lw_instant_from_gps(struct lw_instant gps);
struct lw_instant lw_instant_to_gps(struct lw_instant utc);

int lw_instant_compare(struct lw_instant a, struct lw_instant b);   /* as for qsort */

/* False: not positive, not finite, or no fraction of 64-bit numbers. */
bool lw_period_from_seconds(double seconds, struct lw_period *out);
bool lw_period_from_rate(double hertz, struct lw_period *out);
bool lw_period_make(int64_t numerator, int64_t denominator, struct lw_period *out);         /* of any terms */

double lw_period_rate(struct lw_period period);         /* in Hz, rounded; 0: not known */
double lw_period_seconds(struct lw_period period);

/** Of sample `i` of an axis that starts there, to the attosecond below. */
struct lw_instant lw_instant_of_sample(struct lw_instant start, struct lw_period period, int64_t i);

/** The sample nearest to `at`, on an axis that starts there. No further away than 4e18
 * samples. @param off  in samples, -0.5 to 0.5: how much later `at` is; may be NULL */
int64_t lw_instant_to_sample(struct lw_instant start, struct lw_period period, struct lw_instant at, double *off);
