/* test_instant.c - tests of instants and periods: text and numbers convert exactly both ways, and every sample has its instant. */
#include "../check.h"
#include "base/instant.h"

#include <math.h>
#include <string.h>

static void expect_text(const char *in, const char *out)
{
    char text[LW_INSTANT_TEXT];
    struct lw_instant instant;
    const bool is_one = lw_instant_parse(in, &instant);
    CHECK(is_one == (out != NULL), "'%s' is %s", in, is_one ? "taken" : "refused");
    if (is_one && out)
        CHECK(strcmp(lw_instant_text(instant, text), out) == 0, "'%s' gives '%s', not '%s'", in, text, out);
}

static void check_texts(void)
{
    expect_text("1970-01-01T00:00:00Z", "1970-01-01T00:00:00");
    expect_text("2023-09-22T18:29:26.158", "2023-09-22T18:29:26.158");
    expect_text("2022-08-23T23:09:54.373836288", "2022-08-23T23:09:54.373836288");
    expect_text("2019-05-31T08:38:50.626928+00:00", "2019-05-31T08:38:50.626928");
    expect_text("2019-05-31T10:38:50+0200", "2019-05-31T08:38:50");
    expect_text("2019-05-31T00:08-03:30", "2019-05-31T03:38:00");
    expect_text("20150914T095045", "2015-09-14T09:50:45");
    expect_text("2015-09-14 09:50:45.5 UTC", "2015-09-14T09:50:45.5");
    expect_text("2015-09-14", "2015-09-14T00:00:00");
    expect_text("1858-11-17", "1858-11-17T00:00:00");
    expect_text("2000-02-29", "2000-02-29T00:00:00");
    expect_text("2016-12-31T23:59:60", "2017-01-01T00:00:00");
    expect_text("0001-01-01T00:00:00.000000000000000001", "0001-01-01T00:00:00.000000000000000001");
    expect_text("2015-09-14T09:50:45.1234567890123456789", "2015-09-14T09:50:45.123456789012345678");
    static const char *const wrong[] = {"",
                                        "2015",
                                        "2015-13-01",
                                        "2015-02-29",
                                        "1900-02-29",
                                        "2015-09-31",
                                        "2015-09-14T",
                                        "2015-09-14T24:00",
                                        "2015-09-14T09:60",
                                        "2015-09-14T09:50:45.5x",
                                        "2015-09-14T09:50+1",
                                        "2015-9-14",
                                        "1126259462",
                                        "9969-12-31T23:59:59"};
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++)
        expect_text(wrong[w], NULL);
}

/* The calendar formula agrees with counting every day of 800 years. */
static void check_calendar(void)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    struct lw_instant instant;
    char date[40], text[LW_INSTANT_TEXT];
    int64_t expected = 0;
    lw_instant_parse("1600-01-01", &instant);
    expected = instant.seconds;
    for (int year = 1600; year < 2400; year++)
        for (int month = 0; month < 12; month++) {
            const bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
            const int days = lengths[month] + (month == 1 && is_leap);
            for (int day = 1; day <= days; day++, expected += 86400) {
                snprintf(date, sizeof date, "%04d-%02d-%02dT00:00:00", year, month + 1, day);
                if (!lw_instant_parse(date, &instant) || instant.seconds != expected ||
                    strcmp(lw_instant_text(instant, text), date) != 0) {
                    CHECK(false, "%s is at %lld, not %lld", date, (long long)instant.seconds, (long long)expected);
                    return;
                }
            }
        }
    CHECK(expected == 13569465600, "the year 2400 begins at %lld", (long long)expected);
}

static void expect_instant(bool is_one, struct lw_instant instant, const char *expected)
{
    char text[LW_INSTANT_TEXT];
    CHECK(is_one && strcmp(lw_instant_text(instant, text), expected) == 0, "'%s', not '%s'", is_one ? text : "nothing", expected);
}

static void check_numbers(void)
{
    struct lw_instant instant;
    bool is_one = lw_instant_from_mjd(58543.330387241345, &instant);
    expect_instant(is_one, instant, "2019-03-01T07:55:45.457652208");
    is_one = lw_instant_from_seconds(1698416617.02, &instant);
    expect_instant(is_one, instant, "2023-10-27T14:23:37.02");
    is_one = lw_instant_from_seconds(-0.25, &instant);
    expect_instant(is_one, instant, "1969-12-31T23:59:59.75");
    is_one = lw_instant_from_ticks(1661296194373836288, 1000000000, &instant);
    expect_instant(is_one, instant, "2022-08-23T23:09:54.373836288");
    is_one = lw_instant_from_ticks(-1, 1000000, &instant);
    expect_instant(is_one, instant, "1969-12-31T23:59:59.999999");
    is_one = lw_instant_from_seconds(1e-30, &instant);
    expect_instant(is_one, instant, "1970-01-01T00:00:00");
    CHECK(!lw_instant_from_seconds(1e300, &instant) && !lw_instant_from_seconds(NAN, &instant) &&
          !lw_instant_from_seconds(-INFINITY, &instant) && !lw_instant_from_mjd(1e17, &instant),
          "an instant beyond the calendar is not refused");
}

static void check_gps(void)
{
    char text[LW_INSTANT_TEXT];
    const struct lw_instant gw150914 = lw_instant_from_gps((struct lw_instant){1126259462, 424000000000000000});
    CHECK(strcmp(lw_instant_text(gw150914, text), "2015-09-14T09:50:45.424") == 0, "%s", text);
    CHECK(lw_instant_from_gps((struct lw_instant){0, 0}).seconds == 315964800, "the GPS epoch");
    /* 2017-01-01 begins at 1167264018; the leap second is 1167264017. */
    CHECK(lw_instant_from_gps((struct lw_instant){1167264018, 0}).seconds == 1483228800, "the second after the leap second");
    CHECK(lw_instant_from_gps((struct lw_instant){1167264016, 0}).seconds == 1483228799, "the second before the leap second");
    for (int64_t second = 0; second < 2000000000; second += 86399) {
        const struct lw_instant utc = lw_instant_from_gps((struct lw_instant){second, 5});
        const struct lw_instant back = lw_instant_to_gps(utc);
        CHECK(back.seconds == second && back.attoseconds == 5, "%lld there and back is %lld", (long long)second,
              (long long)back.seconds);
    }
}

static void check_periods(void)
{
    struct lw_period period;
    CHECK(lw_period_from_rate(4096, &period) && period.numerator == 1 && period.denominator == 4096, "4096 Hz");
    CHECK(lw_period_from_seconds(0.000512, &period) && period.numerator == 8 && period.denominator == 15625, "512 us");
    CHECK(lw_period_rate(period) == 1953.125, "%.17g", lw_period_rate(period));
    CHECK(lw_period_from_seconds(0.000244140625, &period) && period.numerator == 1 && period.denominator == 4096, "1/4096 s");
    CHECK(lw_period_make(310771, 1000000000, &period) && period.numerator == 310771, "310771 ns");
    CHECK(lw_period_from_rate(1e9, &period) && period.denominator == 1000000000, "1 GHz");
    CHECK(!lw_period_from_rate(0, &period) && !lw_period_from_rate(-1, &period) && !lw_period_from_rate(NAN, &period) &&
          !lw_period_from_rate(1e300, &period) && !lw_period_from_seconds(1e-300, &period), "an invalid rate is not refused");
}

/* Instants of samples agree with whole-number arithmetic, over 10^10 samples and over the largest number of samples. */
static void check_samples(void)
{
    const struct lw_instant start = {1661296194, 373836288000000000};
    struct lw_period period;
    lw_period_make(310771, 1000000000, &period);
    static const int64_t samples[] = {0, 1, 2, 999999, 10000000000, 10000000001, 1000000000000000};
    for (size_t s = 0; s < sizeof samples / sizeof *samples; s++) {
        const int64_t i = samples[s];
        const struct lw_instant at = lw_instant_of_sample(start, period, i);
        __extension__ const __int128 ns = (__int128)i * 310771 + 373836288;
        CHECK(at.seconds == 1661296194 + (int64_t)(ns / 1000000000) && at.attoseconds == (int64_t)(ns % 1000000000) * 1000000000,
              "sample %lld is at %lld.%018lld", (long long)i, (long long)at.seconds, (long long)at.attoseconds);
        double off;
        CHECK(lw_instant_to_sample(start, period, at, &off) == i && fabs(off) < 1e-6, "and back: off by %g", off);
    }
    const struct lw_instant before = lw_instant_of_sample(start, period, -3);
    CHECK(lw_instant_to_sample(start, period, before, NULL) == -3, "number of a sample before the start");
    lw_period_from_rate(3, &period);
    for (int64_t i = 9999999990; i < 10000000010; i++) {
        double off;
        const struct lw_instant at = lw_instant_of_sample(start, period, i);
        CHECK(lw_instant_to_sample(start, period, at, &off) == i && fabs(off) < 1e-15, "of thirds of a second: %lld", (long long)i);
    }
    const struct lw_instant between = {1661296194, 573836288000000000};      /* 0.2 s = 0.6 samples */
    double off;
    CHECK(lw_instant_to_sample(start, period, between, &off) == 1 && fabs(off + 0.4) < 1e-12, "off by %g", off);
}

int main(void)
{
    check_texts();
    check_calendar();
    check_numbers();
    check_gps();
    check_periods();
    check_samples();
    return check_result("instant");
}
