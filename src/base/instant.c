#include "base/instant.h"

#include "base/integers.h"

#include <ctype.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

__extension__ typedef __int128 wide;

enum { DAY = 86400, ATTOSECOND_DIGITS = 18 };

/* ---- dates of the Gregorian calendar ---- */

/* Return the days from 1970-01-01 to a date, month 1 to 12. Counting years from March puts the leap day at the end of a year. */
static int64_t days_of_date(int64_t year, int month, int day)
{
    const int64_t y = month > 2 ? year : year - 1;
    const int64_t era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
    const int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void date_of_days(int64_t days, int64_t *year, int *month, int *day)
{
    const int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, of_era = z - era * 146097;
    const int64_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * y + y / 4 - y / 100), m = (5 * of_year + 2) / 153;
    *day = (int)(of_year - (153 * m + 2) / 5 + 1);
    *month = (int)(m < 10 ? m + 3 : m - 9);
    *year = y + era * 400 + (*month <= 2);
}

/* ---- texts ---- */

/* Parse exactly `n` digits. @param separator  the character required before them; 0: none */
static bool take_digits(const char **at, char separator, int n, int *value)
{
    if (separator && *(*at)++ != separator)
        return false;
    *value = 0;
    for (int i = 0; i < n; i++, ++*at) {
        if (!isdigit((unsigned char)**at))
            return false;
        *value = *value * 10 + **at - '0';
    }
    return true;
}

static bool take_date(const char **at, int64_t *days)
{
    int year, month, day;
    if (!take_digits(at, 0, 4, &year))
        return false;
    const char separator = **at == '-' ? '-' : 0;
    if (!take_digits(at, separator, 2, &month) || !take_digits(at, separator, 2, &day))
        return false;
    if (month < 1 || month > 12 || day < 1 || day > 31)
        return false;
    int64_t found_year;
    int found_month, found_day;
    *days = days_of_date(year, month, day);
    date_of_days(*days, &found_year, &found_month, &found_day);
    return found_month == month && found_day == day;
}

/* Parse a time of day; seconds are optional. @param attoseconds  0 on entry */
static bool take_time(const char **at, int64_t *seconds, int64_t *attoseconds)
{
    int hour, minute, second = 0;
    if (!take_digits(at, 0, 2, &hour))
        return false;
    const char separator = **at == ':' ? ':' : 0;
    if (!take_digits(at, separator, 2, &minute))
        return false;
    if (separator ? **at == ':' : isdigit((unsigned char)**at)) {
        if (!take_digits(at, separator, 2, &second))
            return false;
        if ((**at == '.' || **at == ',') && isdigit((unsigned char)(*at)[1])) {
            int64_t digit = LW_ATTOSECONDS / 10;
            for (++*at; isdigit((unsigned char)**at); ++*at, digit /= 10)
                *attoseconds += digit * (**at - '0');
        }
    }
    *seconds = hour * 3600 + minute * 60 + second;
    return hour <= 23 && minute <= 59 && second <= 60;
}

/* Parse Z, +02:00, -0330, +02 or nothing. @param seconds  set to the offset ahead of UTC */
static bool take_offset(const char **at, int64_t *seconds)
{
    int hours, minutes = 0;
    *seconds = 0;
    if (**at == 'Z' || **at == 'z') {
        ++*at;
        return true;
    }
    if (**at != '+' && **at != '-')
        return true;
    const int sign = *(*at)++ == '-' ? -1 : 1;
    if (!take_digits(at, 0, 2, &hours))
        return false;
    if (**at == ':' || isdigit((unsigned char)**at))
        if (!take_digits(at, **at == ':' ? ':' : 0, 2, &minutes))
            return false;
    *seconds = sign * (hours * 3600 + minutes * 60);
    return hours <= 23 && minutes <= 59;
}

bool lw_instant_parse(const char *text, struct lw_instant *out)
{
    const char *at = text;
    int64_t days, seconds = 0, attoseconds = 0, offset = 0;
    if (!take_date(&at, &days))
        return false;
    if (*at == 'T' || *at == 't' || (*at == ' ' && isdigit((unsigned char)at[1]))) {
        at++;
        if (!take_time(&at, &seconds, &attoseconds))
            return false;
        at += strspn(at, " ");
        if (strncmp(at, "UTC", 3) == 0)
            at += 3;
        else if (!take_offset(&at, &offset))
            return false;
    }
    at += strspn(at, " ");
    const int64_t all = days * DAY + seconds - offset;
    if (*at || all > LW_MOST_SECONDS || all < -LW_MOST_SECONDS)
        return false;
    *out = (struct lw_instant){all, attoseconds};
    return true;
}

const char *lw_instant_text(struct lw_instant instant, char text[LW_INSTANT_TEXT])
{
    int64_t year;
    int month, day;
    const int64_t days = (instant.seconds >= 0 ? instant.seconds : instant.seconds - DAY + 1) / DAY;
    const int64_t second = instant.seconds - days * DAY;
    date_of_days(days, &year, &month, &day);
    int used = snprintf(text, LW_INSTANT_TEXT, "%04" PRId64 "-%02d-%02dT%02d:%02d:%02d", year, month, day, (int)(second / 3600),
                        (int)(second / 60 % 60), (int)(second % 60));
    if (instant.attoseconds == 0)
        return text;
    used += snprintf(text + used, (size_t)(LW_INSTANT_TEXT - used), ".%0*" PRId64, ATTOSECOND_DIGITS, instant.attoseconds);
    while (text[used - 1] == '0')
        text[--used] = '\0';
    return text;
}

const char *lw_instant_now(char text[LW_INSTANT_TEXT])
{
    lw_instant_text((struct lw_instant){.seconds = time(NULL)}, text);
    return strcat(text, "Z");
}

/* ---- decimal numbers ---- */

/* The number digits x 10^exponent. */
struct decimal {
    int64_t digits;
    int exponent;
};

static bool shortest_decimal(double value, struct decimal *out)
{
    char text[40];
    if (!isfinite(value))
        return false;
    for (int precision = 0; precision < DBL_DECIMAL_DIG; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, value);
        if (strtod(text, NULL) == value)
            break;
    }
    const char *at = text;
    const bool is_negative = *at == '-';
    *out = (struct decimal){0};
    for (at += is_negative; *at != 'e'; at++)
        if (*at != '.')
            out->digits = out->digits * 10 + *at - '0';
    const char *const point = strchr(text, '.');
    out->exponent = atoi(at + 1) - (point ? (int)(at - point) - 1 : 0);
    for (; out->digits != 0 && out->digits % 10 == 0; out->digits /= 10)
        out->exponent++;
    out->digits = is_negative ? -out->digits : out->digits;
    return true;
}

/* Make an instant from a number of attoseconds since the epoch. */
static bool make_instant(wide all, struct lw_instant *out)
{
    wide seconds = all / LW_ATTOSECONDS;
    if (all % LW_ATTOSECONDS < 0)
        seconds--;
    if (seconds > LW_MOST_SECONDS || seconds < -LW_MOST_SECONDS)
        return false;
    *out = (struct lw_instant){(int64_t)seconds, (int64_t)(all - seconds * LW_ATTOSECONDS)};
    return true;
}

/* Make an instant `number` units after the epoch. Decimal places beyond the attosecond are dropped. */
static bool from_units(double number, int64_t unit_seconds, struct lw_instant *out)
{
    struct decimal value;
    if (!shortest_decimal(number, &value) || (value.exponent > 11 && value.digits != 0))
        return false;                   /* the number is 10^12 units or more */
    wide all = (wide)value.digits * unit_seconds;
    int exponent = value.digits == 0 ? 0 : value.exponent + ATTOSECOND_DIGITS;
    for (; exponent > 0; exponent--)
        if (__builtin_mul_overflow(all, (wide)10, &all))
            return false;
    for (; exponent < 0 && all != 0; exponent++)
        all /= 10;
    return make_instant(all, out);
}

bool lw_instant_from_seconds(double seconds, struct lw_instant *out) { return from_units(seconds, 1, out); }

bool lw_instant_from_mjd(double days, struct lw_instant *out)
{
    if (!from_units(days, DAY, out))
        return false;
    out->seconds += days_of_date(1858, 11, 17) * DAY;
    return true;
}

bool lw_instant_from_ticks(int64_t ticks, int64_t per_second, struct lw_instant *out)
{
    const wide whole = ticks / per_second, rest = ticks % per_second;
    return make_instant(whole * LW_ATTOSECONDS + rest * LW_ATTOSECONDS / per_second, out);
}

double lw_instant_seconds(struct lw_instant instant)
{
    return (double)instant.seconds + (double)instant.attoseconds / (double)LW_ATTOSECONDS;
}

int lw_instant_compare(struct lw_instant a, struct lw_instant b)
{
    if (a.seconds != b.seconds)
        return a.seconds < b.seconds ? -1 : 1;
    return (a.attoseconds > b.attoseconds) - (a.attoseconds < b.attoseconds);
}

/* ---- leap seconds: Bulletin C of the International Earth Rotation Service ---- */

#define GPS_EPOCH ((int64_t)315964800)         /* 1980-01-06, in seconds of POSIX */

/* Months right after a leap second: from their first day on, UTC is one more second behind GPS. */
static const struct {
    short year, month;
} leaps[] = {
    {1981, 7}, {1982, 7}, {1983, 7}, {1985, 7}, {1988, 1}, {1990, 1}, {1991, 1}, {1992, 7}, {1993, 7},
    {1994, 7}, {1996, 1}, {1997, 7}, {1999, 1}, {2006, 1}, {2009, 1}, {2012, 7}, {2015, 7}, {2017, 1},
};
enum { N_LEAPS = sizeof leaps / sizeof *leaps };

static int64_t leap_second(int l) { return days_of_date(leaps[l].year, leaps[l].month, 1) * DAY; }

struct lw_instant lw_instant_to_gps(struct lw_instant utc)
{
    int count = 0;
    while (count < N_LEAPS && utc.seconds >= leap_second(count))
        count++;
    return (struct lw_instant){utc.seconds - GPS_EPOCH + count, utc.attoseconds};
}

struct lw_instant lw_instant_from_gps(struct lw_instant gps)
{
    int count = 0;
    while (count < N_LEAPS && gps.seconds + GPS_EPOCH - count > leap_second(count))
        count++;
    return (struct lw_instant){gps.seconds + GPS_EPOCH - count, gps.attoseconds};
}

/* ---- periods ---- */

bool lw_period_make(int64_t numerator, int64_t denominator, struct lw_period *out)
{
    if (numerator <= 0 || denominator <= 0)
        return false;
    const int64_t divisor = lw_common_divisor(numerator, denominator);
    *out = (struct lw_period){numerator / divisor, denominator / divisor};
    return true;
}

/* A power of ten has only the factors 2 and 5: dividing the numerator by them first keeps the fraction in lowest terms. */
bool lw_period_from_seconds(double seconds, struct lw_period *out)
{
    struct decimal decimal;
    if (!shortest_decimal(seconds, &decimal) || decimal.digits <= 0)
        return false;
    int64_t numerator = decimal.digits, denominator = 1;
    for (; decimal.exponent > 0; decimal.exponent--)
        if (__builtin_mul_overflow(numerator, (int64_t)10, &numerator))
            return false;
    for (; decimal.exponent < 0; decimal.exponent++) {
        int64_t ten = 10;
        for (int factor = 2; factor <= 5; factor += 3)
            if (numerator % factor == 0) {
                numerator /= factor;
                ten /= factor;
            }
        if (__builtin_mul_overflow(denominator, ten, &denominator))
            return false;
    }
    return lw_period_make(numerator, denominator, out);
}

bool lw_period_from_rate(double hertz, struct lw_period *out)
{
    struct lw_period rate;
    if (!lw_period_from_seconds(hertz, &rate))          /* Hz as a fraction; its inverse is the period */
        return false;
    *out = (struct lw_period){rate.denominator, rate.numerator};
    return true;
}

double lw_period_seconds(struct lw_period period)
{
    return period.numerator == 0 ? 0 : (double)period.numerator / (double)period.denominator;
}

double lw_period_rate(struct lw_period period)
{
    return period.numerator == 0 ? 0 : (double)period.denominator / (double)period.numerator;
}

/* ---- samples ---- */

struct lw_instant lw_instant_of_sample(struct lw_instant start, struct lw_period period, int64_t i)
{
    const wide all = (wide)i * period.numerator;
    wide seconds = all / period.denominator, rest = all % period.denominator;
    if (rest < 0) {
        seconds--;
        rest += period.denominator;
    }
    const wide attoseconds = rest * LW_ATTOSECONDS / period.denominator + start.attoseconds;
    const int64_t carry = attoseconds >= LW_ATTOSECONDS;
    return (struct lw_instant){start.seconds + (int64_t)seconds + carry, (int64_t)(attoseconds - carry * LW_ATTOSECONDS)};
}

static long double seconds_between(struct lw_instant a, struct lw_instant b)
{
    return (long double)(b.seconds - a.seconds) + (long double)(b.attoseconds - a.attoseconds) / LW_ATTOSECONDS;
}

#define FURTHEST_SAMPLE ((int64_t)4000000000000000000)

/* The first estimate is right to within rounding. The exact time of the estimated sample then gives a correction. */
int64_t lw_instant_to_sample(struct lw_instant start, struct lw_period period, struct lw_instant at, double *off)
{
    const long double seconds = seconds_between(start, at);
    const long double step = (long double)period.numerator / period.denominator;
    if (fabsl(seconds / step) > FURTHEST_SAMPLE) {
        if (off)
            *off = 0;
        return seconds > 0 ? FURTHEST_SAMPLE : -FURTHEST_SAMPLE;
    }
    const int64_t sample = llroundl(seconds / step);
    const long double late = seconds_between(lw_instant_of_sample(start, period, sample), at);
    const int64_t correction = llroundl(late / step);
    if (off)
        *off = (double)(late / step - correction);
    return sample + correction;
}
