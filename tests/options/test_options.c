/* test_options.c - tests of options: every kind of value, every error and its message, defaults, and the resolved configuration. */
#include "../check.h"
#include "base/memory.h"
#include "options/options.h"
#include "options/parse.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct lw_option first_table[] = {
    {.name = "input", .kind = LW_OPTION_TEXT, .argument = "FILE:/dataset", .is_required = true, .help = "in"},
    {.name = "overwrite", .kind = LW_OPTION_FLAG, .help = "over"},
    {.name = "count", .kind = LW_OPTION_INT, .argument = "N", .minimum = 1, .maximum = 9e18, .help = "count"},
    {.name = "channels", .kind = LW_OPTION_RANGE, .argument = "A:B:STEP", .help = "channels"},
    {.name = NULL},
};
static const struct lw_option second_table[] = {
    {.name = "segment", .kind = LW_OPTION_INT, .argument = "N", .minimum = 8, .maximum = 65536, .help = "segment"},
    {.name = "any", .kind = LW_OPTION_INT, .argument = "N", .fallback = "7", .help = "no limits"},
    {.name = "mode", .kind = LW_OPTION_CHOICE, .choices = "full|same|valid", .fallback = "same", .help = "mode"},
    {.name = "axis", .kind = LW_OPTION_CHOICE, .choices = "0|1", .help = "axis"},
    {.name = "memory", .kind = LW_OPTION_BYTES, .argument = "BYTES", .minimum = 1 << 20, .help = "memory"},
    {.name = "rate", .kind = LW_OPTION_FREQUENCY, .argument = "HZ", .minimum = 0.5, .maximum = 1e6, .help = "rate"},
    {.name = "time", .kind = LW_OPTION_DURATION, .argument = "S", .minimum = 0, .maximum = 3600, .help = "time"},
    {.name = "free", .kind = LW_OPTION_REAL, .argument = "X", .help = "no limits"},
    {.name = "output", .kind = LW_OPTION_FILE, .argument = "FILE", .help = "output"},
    {.name = NULL},
};
static const struct lw_option *const tables[] = {first_table, second_table, NULL};

static struct lw_options *make(void)
{
    struct lw_options *options = NULL;
    struct lw_error err;
    CHECK(lw_options_create(tables, &options, &err) == LW_OK, "%s", err.message);
    return options;
}

/* ---- numbers ---- */

static void check_int(const char *text, enum lw_parse expected, int64_t value)
{
    int64_t found = 12345;
    CHECK(lw_parse_int(text, &found) == expected, "'%s'", text);
    CHECK(found == (expected == LW_PARSE_OK ? value : 12345), "'%s' gave %" PRId64, text, found);
}

static void test_int(void)
{
    check_int("0", LW_PARSE_OK, 0);
    check_int("4096", LW_PARSE_OK, 4096);
    check_int("+5", LW_PARSE_OK, 5);
    check_int("-3", LW_PARSE_OK, -3);
    check_int("007", LW_PARSE_OK, 7);
    check_int("10k", LW_PARSE_OK, 10000);
    check_int("16M", LW_PARSE_OK, 16000000);
    check_int("3G", LW_PARSE_OK, INT64_C(3000000000));
    check_int("2T", LW_PARSE_OK, INT64_C(2000000000000));
    check_int("-2k", LW_PARSE_OK, -2000);
    check_int("2147483648", LW_PARSE_OK, INT64_C(1) << 31);
    check_int("9223372036854775807", LW_PARSE_OK, INT64_MAX);
    check_int("9223372036854775808", LW_PARSE_TOO_LARGE, 0);
    check_int("99999999999999999999999", LW_PARSE_TOO_LARGE, 0);
    check_int("9223372036854776k", LW_PARSE_TOO_LARGE, 0);
    check_int("9223372T", LW_PARSE_OK, INT64_C(9223372000000000000));
    check_int("9223373T", LW_PARSE_TOO_LARGE, 0);
    check_int("2^31", LW_PARSE_OK, INT64_C(1) << 31);
    check_int("2^62", LW_PARSE_OK, INT64_C(1) << 62);
    check_int("2^63", LW_PARSE_TOO_LARGE, 0);
    check_int("2^99999999999", LW_PARSE_TOO_LARGE, 0);
    check_int("2^99999999999999999999", LW_PARSE_TOO_LARGE, 0);
    check_int("10^18", LW_PARSE_OK, INT64_C(1000000000000000000));
    check_int("10^19", LW_PARSE_TOO_LARGE, 0);
    check_int("5^0", LW_PARSE_OK, 1);
    check_int("0^0", LW_PARSE_OK, 1);
    check_int("0^5", LW_PARSE_OK, 0);
    check_int("0^1000", LW_PARSE_OK, 0);
    check_int("1^1000000000000", LW_PARSE_OK, 1);
    check_int("1e6", LW_PARSE_OK, 1000000);
    check_int("1E6", LW_PARSE_OK, 1000000);
    check_int("1e+6", LW_PARSE_OK, 1000000);
    check_int("-2.5e3", LW_PARSE_OK, -2500);
    check_int("2.50e1", LW_PARSE_OK, 25);
    check_int("5000e-3", LW_PARSE_OK, 5);
    check_int("2.0", LW_PARSE_OK, 2);
    check_int("1.5M", LW_PARSE_OK, 1500000);
    check_int("0.001k", LW_PARSE_OK, 1);
    check_int("0e99999999999999999999", LW_PARSE_OK, 0);
    check_int("0e-99999999999999999999", LW_PARSE_OK, 0);
    check_int("9e18", LW_PARSE_OK, INT64_C(9000000000000000000));
    check_int("9.223372036854775807e18", LW_PARSE_OK, INT64_MAX);
    check_int("9.223372036854775808e18", LW_PARSE_TOO_LARGE, 0);
    check_int("1e19", LW_PARSE_TOO_LARGE, 0);
    check_int("1e99999999999999999999", LW_PARSE_TOO_LARGE, 0);
    static const char *const malformed[] = {"", " ", "x", "-", "+", "--5", "1.5", "10K", "10m", "10kk", "10 k", " 10", "10 ",
                                            "0x10", "2^", "2^-1", "^2", "2^3k", "k", "10KiB", "1,000", "5\n", "1.", ".5e1",
                                            "1e", "1e-", "1e+-3", "1e-3", "2.55e1", "1.2345k", "1e6k", "1e1.5", "1.5.e3", "e3",
                                            "1e-99999999999999999999", "1.5^2", "1.2.3", "10s"};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        check_int(malformed[i], LW_PARSE_MALFORMED, 0);
}

static void check_bytes(const char *text, enum lw_parse expected, int64_t value)
{
    int64_t found = 12345;
    CHECK(lw_parse_bytes(text, &found) == expected, "'%s'", text);
    CHECK(found == (expected == LW_PARSE_OK ? value : 12345), "'%s' gave %" PRId64, text, found);
}

static void test_bytes(void)
{
    check_bytes("0", LW_PARSE_OK, 0);
    check_bytes("1000", LW_PARSE_OK, 1000);
    check_bytes("1K", LW_PARSE_OK, 1024);
    check_bytes("1k", LW_PARSE_OK, 1024);
    check_bytes("512M", LW_PARSE_OK, INT64_C(512) << 20);
    check_bytes("512MiB", LW_PARSE_OK, INT64_C(512) << 20);
    check_bytes("4g", LW_PARSE_OK, INT64_C(4) << 30);
    check_bytes("2T", LW_PARSE_OK, INT64_C(2) << 40);
    check_bytes("1.5GiB", LW_PARSE_OK, INT64_C(3) << 29);
    check_bytes("0.25K", LW_PARSE_OK, 256);
    check_bytes("1.125M", LW_PARSE_OK, (1 << 20) + (1 << 17));
    check_bytes("8388607T", LW_PARSE_OK, INT64_C(8388607) << 40);
    check_bytes("8388608T", LW_PARSE_TOO_LARGE, 0);
    check_bytes("9223372036854775808", LW_PARSE_TOO_LARGE, 0);
    check_bytes("4GB", LW_PARSE_OK, INT64_C(4) << 30);
    check_bytes("4kB", LW_PARSE_OK, 4096);
    check_bytes("4KB", LW_PARSE_OK, 4096);
    check_bytes("4 GiB", LW_PARSE_OK, INT64_C(4) << 30);
    check_bytes("4  G", LW_PARSE_OK, INT64_C(4) << 30);
    check_bytes("1.5 GB", LW_PARSE_OK, INT64_C(3) << 29);
    check_bytes("100B", LW_PARSE_OK, 100);
    check_bytes("100 B", LW_PARSE_OK, 100);
    check_bytes("1e9", LW_PARSE_OK, 1000000000);
    check_bytes("2.5e9 B", LW_PARSE_OK, INT64_C(2500000000));
    check_bytes("1e19", LW_PARSE_TOO_LARGE, 0);
    static const char *const malformed[] = {"", "M", "-1M", "+1M", "1.5", "1.G", ".5G", "1Mb", "1.5B", "1KiBs", "1iB", "1 iB", "4 ",
                                            "4 G ", "4G B", "1.5.5G", "4GG", "4Gi", "4P", "1e9G", "1.5e0", "-1e9", "4GBB", "4BB"};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        check_bytes(malformed[i], LW_PARSE_MALFORMED, 0);
}

static void check_real(const char *text, enum lw_parse expected, double value)
{
    double found = 12345;
    CHECK(lw_parse_real(text, &found) == expected, "'%s'", text);
    CHECK(found == (expected == LW_PARSE_OK ? value : 12345), "'%s' gave %g", text, found);
}

static void test_real(void)
{
    check_real("0", LW_PARSE_OK, 0);
    check_real("-2.5", LW_PARSE_OK, -2.5);
    check_real("+.5", LW_PARSE_OK, 0.5);
    check_real("1e-3", LW_PARSE_OK, 1e-3);
    check_real("1e999", LW_PARSE_TOO_LARGE, 0);
    static const char *const malformed[] = {"", " 1", "1 ", "nan", "inf", "-inf", "-", ".", "1x", "1,5", "e5"};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        double value = 0;
        CHECK(lw_parse_real(malformed[i], &value) != LW_PARSE_OK, "'%s' gave %g", malformed[i], value);
    }
}

typedef enum lw_parse parse_fn(const char *text, double *number);

/* A quantity is exactly the nearest number: the product or quotient with its unit is rounded once. */
static void check_quantity(parse_fn *parse, const char *text, enum lw_parse expected, double value)
{
    double found = 12345;
    CHECK(parse(text, &found) == expected, "'%s'", text);
    CHECK(found == (expected == LW_PARSE_OK ? value : 12345), "'%s' gave %.17g", text, found);
}

static void test_quantities(void)
{
    static const struct {
        const char *text;
        double value;
    } durations[] = {{"0.1s", 0.1},          {"20ms", 0.02}, {"20 ms", 0.02}, {"500us", 5e-4}, {"500\xc2\xb5s", 5e-4},
                     {"500\xce\xbcs", 5e-4}, {"10ns", 1e-8}, {"2min", 120},   {"1h", 3600},    {"1.5h", 5400},
                     {"3d", 259200},         {"7", 7},       {"-2.5", -2.5},  {"1e3ms", 1},    {"1.001ms", 1.001e-3},
                     {"0.3us", 3e-7},        {"+.5s", 0.5},  {"1e-3", 1e-3}},
      frequencies[] = {{"4kHz", 4000},     {"4KHz", 4000},  {"1.2 MHz", 1.2e6},          {"500 Hz", 500},
                       {"500", 500},       {"5mHz", 0.005}, {"1.001kHz", 1001},          {"2.4GHz", 2.4e9},
                       {"1.9THz", 1.9e12}, {"0", 0},        {"4096.000001", 4096.000001}};
    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++)
        check_quantity(lw_parse_duration, durations[i].text, LW_PARSE_OK, durations[i].value);
    for (size_t i = 0; i < sizeof frequencies / sizeof *frequencies; i++)
        check_quantity(lw_parse_frequency, frequencies[i].text, LW_PARSE_OK, frequencies[i].value);

    check_quantity(lw_parse_duration, "1e308d", LW_PARSE_TOO_LARGE, 0);
    check_quantity(lw_parse_duration, "1e9999", LW_PARSE_TOO_LARGE, 0);
    check_quantity(lw_parse_frequency, "1e308kHz", LW_PARSE_TOO_LARGE, 0);
    static const char *const malformed[] = {"",     "s",    "Hz",   " 1s",  "1 ",    "1s ",  "1ss",     "1 m s", "nan",
                                            "inf",  "infs", "0x1d", "1m",   "1S",    "1sec", "1h30min", "1e",    "--1s",
                                            "1,5s", "hz",   "4khz", "4Mhz", "1kHzs", "1xs",  "k"};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        check_quantity(lw_parse_duration, malformed[i], LW_PARSE_MALFORMED, 0);
        check_quantity(lw_parse_frequency, malformed[i], LW_PARSE_MALFORMED, 0);
    }
    check_quantity(lw_parse_duration, "1Hz", LW_PARSE_MALFORMED, 0);
    check_quantity(lw_parse_frequency, "1s", LW_PARSE_MALFORMED, 0);
}

/* A stretch is a number of samples, or a time if it has a unit of time. */
static void test_stretch(void)
{
    struct lw_stretch stretch;
    CHECK(lw_parse_stretch("10k", &stretch) == LW_PARSE_OK && !stretch.is_time && stretch.samples == 10000, "10k samples");
    CHECK(lw_parse_stretch("1e6", &stretch) == LW_PARSE_OK && !stretch.is_time && stretch.samples == 1000000, "1e6 samples");
    CHECK(lw_parse_stretch("10", &stretch) == LW_PARSE_OK && !stretch.is_time && stretch.samples == 10, "10 samples");
    CHECK(lw_parse_stretch("10s", &stretch) == LW_PARSE_OK && stretch.is_time && stretch.seconds == 10, "10 seconds");
    CHECK(lw_parse_stretch("1.5 h", &stretch) == LW_PARSE_OK && stretch.is_time && stretch.seconds == 5400, "1.5 hours");
    stretch.samples = 77;
    CHECK(lw_parse_stretch("1.5", &stretch) == LW_PARSE_MALFORMED && stretch.samples == 77,
          "a fraction of a sample is not refused");
    CHECK(lw_parse_stretch("1e30", &stretch) == LW_PARSE_TOO_LARGE, "1e30 samples are not refused");
    CHECK(lw_parse_stretch("1e999s", &stretch) == LW_PARSE_TOO_LARGE, "an infinite time is not refused");
    CHECK(lw_parse_stretch("ten", &stretch) == LW_PARSE_MALFORMED, "a word is not refused");
}

static void check_range(const char *text, enum lw_parse expected, int64_t begin, int64_t end, int64_t step)
{
    int64_t parts[3] = {77, 77, 77};
    CHECK(lw_parse_range(text, parts) == expected, "'%s'", text);
    if (expected == LW_PARSE_OK)
        CHECK(parts[0] == begin && parts[1] == end && parts[2] == step, "'%s' gave %" PRId64 ":%" PRId64 ":%" PRId64, text,
              parts[0], parts[1], parts[2]);
    else
        CHECK(parts[0] == 77 && parts[1] == 77 && parts[2] == 77, "'%s' changed its result", text);
}

static void test_range(void)
{
    check_range("1:5", LW_PARSE_OK, 1, 5, -1);
    check_range("1:5:2", LW_PARSE_OK, 1, 5, 2);
    check_range(":", LW_PARSE_OK, -1, -1, -1);
    check_range("::", LW_PARSE_OK, -1, -1, -1);
    check_range("::3", LW_PARSE_OK, -1, -1, 3);
    check_range("3:", LW_PARSE_OK, 3, -1, -1);
    check_range(":100", LW_PARSE_OK, -1, 100, -1);
    check_range("1k:2^12:", LW_PARSE_OK, 1000, 4096, -1);
    check_range("0:99999999999999999999", LW_PARSE_TOO_LARGE, 0, 0, 0);
    check_range("5", LW_PARSE_OK, 5, 6, -1);
    check_range("0", LW_PARSE_OK, 0, 1, -1);
    check_range("1e3", LW_PARSE_OK, 1000, 1001, -1);
    check_range("0:1e3", LW_PARSE_OK, 0, 1000, -1);
    check_range("9223372036854775807", LW_PARSE_TOO_LARGE, 0, 0, 0);
    static const char *const malformed[] = {"",    "-5",   "5 ",   "1.5", "a:b",  "1:5:2:", "1:5:2:3",
                                            ":::", "-1:5", "1:-5", "1-5", "1:5 ", " 1:5"};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        check_range(malformed[i], LW_PARSE_MALFORMED, 0, 0, 0);
}

static void test_words(void)
{
    CHECK(lw_parse_choice("full|same|valid", "full") == 0, "full");
    CHECK(lw_parse_choice("full|same|valid", "valid") == 2, "valid");
    static const char *const none[] = {"", "ful", "fulll", "same|valid", "|", "FULL"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        CHECK(lw_parse_choice("full|same|valid", none[i]) == -1, "'%s'", none[i]);

    CHECK(lw_edit_distance("segment", "segment") == 0, "distance of equal words");
    CHECK(lw_edit_distance("segmet", "segment") == 1, "distance with one letter left out");
    CHECK(lw_edit_distance("semgent", "segment") == 1, "distance with two neighbouring letters swapped");
    CHECK(lw_edit_distance("kitten", "sitting") == 3, "%d", lw_edit_distance("kitten", "sitting"));
    CHECK(lw_edit_distance("", "abc") == 3 && lw_edit_distance("abc", "") == 3, "distance from an empty word");
    CHECK(lw_nearness("seg", "segment") == 1, "the beginning of a word must be near it");
    CHECK(lw_nearness("s", "segment") == -1, "a single letter must not be near a word");
    CHECK(lw_nearness("banana", "segment") == -1, "different words must not be near");
}

/* ---- values ---- */

/* Set one option and expect the code and, in the message, the given words (NULL: success). */
static void check_set(const char *name, const char *text, const char *words)
{
    struct lw_options *const options = make();
    struct lw_error err = {0};
    const int code = lw_options_set(options, name, text, name, &err);
    if (!words) {
        CHECK(code == LW_OK, "%s %s: %s", name, text, err.message);
        CHECK(strcmp(lw_options_text(options, name), text) == 0, "%s %s", name, text);
    } else {
        CHECK(code == LW_EUSAGE && err.code == LW_EUSAGE, "%s %s: code %d", name, text, code);
        CHECK(strncmp(err.message, name, strlen(name)) == 0, "%s %s: '%s'", name, text, err.message);
        CHECK(strstr(err.message, words) != NULL, "%s %s: '%s' lacks '%s'", name, text, err.message, words);
    }
    lw_options_destroy(options);
}

static void test_values(void)
{
    check_set("input", "a b;c:/d", NULL);
    check_set("input", "", "empty; give FILE:/dataset");
    check_set("input", "a\nb", "control character (code 10)");
    check_set("overwrite", "yes", NULL);
    check_set("overwrite", "no", NULL);
    check_set("overwrite", "maybe", "neither yes nor no");
    check_set("count", "2^33", NULL);
    check_set("count", "0", "the least is 1");
    check_set("count", "-5", "the least is 1");
    check_set("count", "9223372036854775807", "not allowed");
    check_set("count", "many", "not a whole number");
    check_set("segment", "8", NULL);
    check_set("segment", "65536", NULL);
    check_set("segment", "7", "7 is not in 8..65536");
    check_set("segment", "65537", "65537 is not in 8..65536");
    check_set("segment", "99999999999999999999", "is not in 8..65536");
    check_set("any", "-9223372036854775807", NULL);
    check_set("any", "99999999999999999999", "does not fit 64 bits");
    check_set("mode", "valid", NULL);
    check_set("mode", "vaild", "is none of full|same|valid; did you mean valid?");
    check_set("mode", "xxxxxxxx", "is none of full|same|valid");
    check_set("mode", "full|same", "is none of full|same|valid");
    check_set("memory", "1M", NULL);
    check_set("memory", "1000", "too little; the least is 1.0 MiB");
    check_set("memory", "lots", "not a number of bytes");
    check_set("memory", "99999999T", "does not fit 64 bits");
    check_set("rate", "0.5", NULL);
    check_set("rate", "0.4", "0.4 is not in 0.5..1000000");
    check_set("rate", "1e7", "is not in 0.5..1000000");
    check_set("rate", "fast", "'fast' is not a frequency such as 500, 5mHz, 4kHz");
    check_set("rate", "1e999", "is not a frequency");
    check_set("rate", "4kHz", NULL);
    check_set("rate", "2MHz", "2MHz is not in 0.5..1000000");
    check_set("rate", "1s", "is not a frequency");
    check_set("time", "20ms", NULL);
    check_set("time", "2h", "2h is not in 0..3600");
    check_set("time", "1Hz", "'1Hz' is not a time such as 0.5, 20ms");
    check_set("free", "1x", "not a finite number");
    check_set("free", "20ms", "not a finite number");
    check_set("free", "-1e300", NULL);
    check_set("channels", "2:8:3", NULL);
    check_set("channels", "7", NULL);
    check_set("channels", "-7", "is not a range A:B or A:B:STEP");
    check_set("channels", "8:8", "selects nothing");
    check_set("channels", "9:8", "selects nothing");
    check_set("channels", ":0", "selects nothing");
    check_set("channels", "1:5:0", "step in 1:5:0 must be 1 or more");
    check_set("channels", "0:99999999999999999999", "does not fit 64 bits");
}

static void test_reading(void)
{
    struct lw_options *const options = make();
    CHECK(!lw_options_given(options, "input") && !lw_options_text(options, "input"), "an option has a value before any is set");
    CHECK(lw_options_missing(options) == &first_table[0], "the missing option must be input");
    CHECK(!lw_options_given(options, "count") && lw_options_int(options, "count") == 0, "count must have no value");
    CHECK(!lw_options_flag(options, "overwrite") && !lw_options_given(options, "overwrite"), "overwrite must not be set");
    CHECK(lw_options_choice(options, "mode") == 1 && lw_options_given(options, "mode"), "mode must have its default");
    CHECK(lw_options_choice(options, "axis") == -1 && !lw_options_given(options, "axis"), "axis must have no value");
    CHECK(lw_options_int(options, "any") == 7, "any must have its default 7");
    CHECK(lw_options_range(options, "channels").begin == -1 && lw_options_range(options, "channels").step == -1,
          "channels must have no range");

    static const char *const pairs[][2] = {{"input", "x"}, {"overwrite", "yes"}, {"count", "2^33"}, {"mode", "valid"},
                                           {"axis", "1"}, {"memory", "1.5GiB"}, {"rate", "2.5kHz"}, {"time", "2min"},
                                           {"channels", ":9:2"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        CHECK(lw_options_set(options, pairs[i][0], pairs[i][1], "test", NULL) == LW_OK, "%s", pairs[i][0]);
    CHECK(!lw_options_missing(options), "an option is reported as missing");
    CHECK(lw_options_flag(options, "overwrite"), "flag");
    CHECK(lw_options_int(options, "count") == INT64_C(1) << 33, "count");
    CHECK(lw_options_choice(options, "mode") == 2, "mode");
    CHECK(lw_options_choice(options, "axis") == 1, "axis");
    CHECK(lw_options_int(options, "memory") == INT64_C(3) << 29, "memory");
    CHECK(lw_options_real(options, "rate") == 2500, "rate");
    CHECK(lw_options_real(options, "time") == 120, "time");
    const struct lw_option_range range = lw_options_range(options, "channels");
    CHECK(range.begin == -1 && range.end == 9 && range.step == 2, "range");

    CHECK(lw_options_set(options, "overwrite", "no", "test", NULL) == LW_OK && !lw_options_flag(options, "overwrite"),
          "a flag cannot be taken back");
    CHECK(lw_options_set(options, "count", "x", "test", NULL) == LW_EUSAGE &&
          lw_options_int(options, "count") == INT64_C(1) << 33, "a refused value is not refused, or changed the option");
    lw_options_destroy(options);
    lw_options_destroy(NULL);
}

/* ---- command lines ---- */

enum { MAX_ARGS = 8 };

/* Parse a command line, expect that `used` arguments are used, and on failure the given words in the message. */
static struct lw_options *check_parse(const char *const arguments[MAX_ARGS], int used, const char *words)
{
    struct lw_options *const options = make();
    struct lw_error err = {0};
    char *argv[MAX_ARGS];
    int argc = 0, found = -1;
    for (; arguments[argc]; argc++)
        argv[argc] = (char *)(intptr_t)arguments[argc];
    const int code = lw_options_parse(options, argc, argv, &found, &err);
    CHECK(code == (words ? LW_EUSAGE : LW_OK), "%s: %s", arguments[0] ? arguments[0] : "", err.message);
    if (words)
        CHECK(strcmp(err.message, words) == 0, "'%s' is not '%s'", err.message, words);
    else
        CHECK(found == used, "used %d of %d, expected %d", found, argc, used);
    return options;
}

static void test_parsing(void)
{
    lw_options_destroy(check_parse((const char *const[MAX_ARGS]){NULL}, 0, NULL));
    lw_options_destroy(check_parse((const char *const[MAX_ARGS]){"file", "--overwrite"}, 0, NULL));
    lw_options_destroy(check_parse((const char *const[MAX_ARGS]){"--overwrite", "file"}, 1, NULL));
    lw_options_destroy(check_parse((const char *const[MAX_ARGS]){"--overwrite", "--", "file"}, 1, NULL));
    lw_options_destroy(check_parse((const char *const[MAX_ARGS]){"--overwrite", "-v"}, 1, NULL));

    struct lw_options *options = check_parse((const char *const[MAX_ARGS]){"--input", "a=b", "--mode=full", "--any", "-5",
                                             "--overwrite", "rest"}, 6, NULL);
    CHECK(strcmp(lw_options_text(options, "input"), "a=b") == 0, "a value with =");
    CHECK(lw_options_choice(options, "mode") == 0 && lw_options_int(options, "any") == -5, "values");
    CHECK(lw_options_flag(options, "overwrite"), "flag");
    lw_options_destroy(options);

    lw_options_destroy(check_parse((const char *const[MAX_ARGS]){"--any", "1", "--any", "2"}, 0,
                                   "--any is given twice: give it once"));
    lw_options_destroy(check_parse((const char *const[MAX_ARGS]){"--overwrite", "--overwrite=no"}, 0,
                                   "--overwrite is given twice: give it once"));

    options = check_parse((const char *const[MAX_ARGS]){"--input=--odd"}, 1, NULL);
    CHECK(strcmp(lw_options_text(options, "input"), "--odd") == 0, "a value that begins with dashes, after =");
    lw_options_destroy(options);

    static const struct {
        const char *arguments[MAX_ARGS], *message;
    } bad[] = {
        {{"--segmet", "8"}, "--segmet: no such option; did you mean --segment?"},
        {{"--seg=8"}, "--seg: no such option; did you mean --segment?"},
        {{"--banana"}, "--banana: no such option"},
        {{"--input"}, "--input: the value is missing; give --input FILE:/dataset"},
        {{"--input", "--overwrite"}, "--input: the value is missing; give --input FILE:/dataset"},
        {{"--input="}, "--input: the value is empty; give FILE:/dataset"},
        {{"--mode"}, "--mode: the value is missing; give --mode full|same|valid"},
        {{"--mode", "sane"}, "--mode: 'sane' is none of full|same|valid; did you mean same?"},
        {{"--overwrite=of course"}, "--overwrite: 'of course' is neither yes nor no"},
        {{"--segment", "4"}, "--segment: 4 is not in 8..65536"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        lw_options_destroy(check_parse(bad[i].arguments, 0, bad[i].message));
}

/* ---- the resolved configuration ---- */

static void count_given(const struct lw_option *option, const char *value, void *context)
{
    int *const counts = context;
    counts[0] += option->name != NULL;
    counts[1] += value != NULL;
}

static void test_resolved(void)
{
    struct lw_options *const options = make();
    char *text = lw_options_resolved(options, "", NULL);
    CHECK(text && strcmp(text, "any = 7\nmode = same\n") == 0, "'%s'", text);
    lw_free(text);

    int counts[2] = {0, 0};
    lw_options_each(options, count_given, counts);
    CHECK(counts[0] == 13 && counts[1] == 2, "%d options, %d given", counts[0], counts[1]);

    lw_options_set(options, "overwrite", "yes", "test", NULL);
    lw_options_set(options, "input", "x.h5:/y", "test", NULL);
    text = lw_options_resolved(options, "", NULL);
    CHECK(text && strcmp(text, "input = x.h5:/y\noverwrite = yes\nany = 7\nmode = same\n") == 0, "'%s'", text);
    lw_free(text);

    lw_options_set(options, "input", "#a#b #c;d ;e\\;f$${g}$h", "test", NULL);
    text = lw_options_resolved(options, "", NULL);
    CHECK(text && strstr(text, "input = \\#a#b \\#c;d \\;e\\\\;f$\\${g}$h\n") == text, "'%s'", text);
    lw_free(text);
    lw_options_destroy(options);
}

/* ~ stands for the home folder in a file's name only. */
static void test_home(void)
{
    struct lw_options *const options = make();
    struct lw_error err;
    setenv("HOME", "/home/me", 1);
    CHECK(lw_options_set(options, "output", "~/x.h5", "--output", &err) == LW_OK &&
          strcmp(lw_options_text(options, "output"), "/home/me/x.h5") == 0, "'%s'", lw_options_text(options, "output"));
    CHECK(lw_options_set(options, "input", "~/x.h5", "--input", &err) == LW_OK &&
          strcmp(lw_options_text(options, "input"), "~/x.h5") == 0, "'%s'", lw_options_text(options, "input"));
    unsetenv("HOME");
    CHECK(lw_options_set(options, "output", "~/y.h5", "--output", &err) == LW_EUSAGE &&
          strcmp(err.message, "--output: ~/y.h5 begins with ~ for the home folder, but the variable HOME is not set") == 0,
          "'%s'", err.message);
    CHECK(strcmp(lw_options_text(options, "output"), "/home/me/x.h5") == 0, "the output's name has changed");
    CHECK(lw_options_set(options, "output", "y\a.h5", "--output", &err) == LW_EUSAGE, "a control character is not refused");
    lw_options_destroy(options);
}

/* A long value is broken into lines that fit into a job file, never beside a blank. Joined again, the lines give the same value. */
static void test_resolved_long(void)
{
    struct lw_options *const options = make();
    char value[1000], joined[1100] = "";
    for (int i = 0; i < 999; i++)
        value[i] = (char)(i % 7 == 3 ? ' ' : 'a' + i % 26);
    value[999] = '\0';
    lw_options_set(options, "input", value, "test", NULL);
    char *const text = lw_options_resolved(options, "", NULL);

    size_t n_lines = 0, length = 0;
    for (const char *line = text; strncmp(line, "any", 3) != 0; n_lines++) {
        size_t end = strcspn(line, "\n");
        CHECK(end <= 196, "line of %zu characters", end);
        const char *const next = line + end + 1;
        const size_t blanks = strspn(line, " ");
        const bool goes_on = line[end - 1] == '\\';
        end -= goes_on;
        CHECK(line[end - 1] != ' ', "a line is broken after a blank");
        memcpy(joined + length, line + blanks, end - blanks);
        length += end - blanks;
        line = next;
    }
    CHECK(n_lines > 5, "%zu lines", n_lines);
    CHECK(strncmp(joined, "input = ", 8) == 0 && strcmp(joined + 8, value) == 0, "'%s'", joined);
    lw_free(text);
    lw_options_destroy(options);
}

/* An entry of an earlier table replaces or drops the entry of a later table. */
static void test_replaced(void)
{
    static const struct lw_option first[] = {
        {.name = "mode", .kind = LW_OPTION_CHOICE, .choices = "valid|odd", .fallback = "odd"},
        {.name = "segment", .kind = LW_OPTION_NONE},
        {0},
    };
    static const struct lw_option second[] = {
        {.name = "mode", .kind = LW_OPTION_CHOICE, .choices = "full|same|valid", .fallback = "same"},
        {.name = "segment", .kind = LW_OPTION_INT, .fallback = "8"},
        {.name = "count", .kind = LW_OPTION_INT, .fallback = "9"},
        {0},
    };
    const struct lw_option *const both[] = {first, second, NULL};
    struct lw_options *options;
    struct lw_error err;
    CHECK(lw_options_create(both, &options, &err) == LW_OK, "the options cannot be created");
    CHECK(lw_options_choice(options, "mode") == 1, "mode is not that of the first table");
    CHECK(lw_options_int(options, "count") == 9, "count is not that of the second table");
    CHECK(lw_options_set(options, "segment", "8", "--segment", &err) == LW_EUSAGE, "a dropped option is not refused");
    char *const text = lw_options_resolved(options, "", NULL);
    CHECK(text && strcmp(text, "mode = odd\ncount = 9\n") == 0, "'%s'", text);
    lw_free(text);
    lw_options_destroy(options);
}

/* Options inside the value of another option, options of earlier versions, and a choice of an earlier version. */
static void test_within(void)
{
    static const struct lw_option table[] = {
        {.name = "wait", .kind = LW_OPTION_TEXT},
        {.name = "wait-most", .kind = LW_OPTION_INT, .argument = "N", .fallback = "9", .within = "wait", .word = "most"},
        {.name = "wait-hard", .kind = LW_OPTION_FLAG, .within = "wait", .word = "hard"},
        {.name = "old", .kind = LW_OPTION_GONE, .help = "leave it out"},
        {.name = "mode", .kind = LW_OPTION_CHOICE, .choices = "full|same", .fallback = "same", .former = "valid"},
        {0},
    };
    static const struct {
        const char *text, *own;
        int64_t most;
        bool hard;
        const char *resolved;
    } cases[] = {
        {"1,2,hard,most=3", "1,2", 3, true, "wait = 1,2,most=3,hard\nmode = same\n"},
        {"hard", NULL, 9, true, "wait = hard\nmode = same\n"},
        {"most=3", NULL, 3, false, "wait = most=3\nmode = same\n"},
        {"a,hardly,mostly=2", "a,hardly,mostly=2", 9, false, "wait = a,hardly,mostly=2,most=9\nmode = same\n"},
        {"a,hard=no", "a", 9, false, "wait = a,most=9\nmode = same\n"},
    };
    const struct lw_option *const own_table[] = {table, NULL};
    struct lw_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lw_options *options;
        CHECK(lw_options_create(own_table, &options, &err) == LW_OK, "the options cannot be created");
        CHECK(lw_options_set(options, "wait", cases[i].text, "--wait", &err) == LW_OK, "%s", err.message);
        const char *const own = lw_options_text(options, "wait");
        CHECK(own && cases[i].own ? strcmp(own, cases[i].own) == 0 : own == cases[i].own, "%s: '%s'", cases[i].text,
              own ? own : "");
        CHECK(lw_options_int(options, "wait-most") == cases[i].most && lw_options_flag(options, "wait-hard") == cases[i].hard, "%s",
              cases[i].text);
        char *const text = lw_options_resolved(options, "", NULL);
        CHECK(text && strcmp(text, cases[i].resolved) == 0, "%s: '%s'", cases[i].text, text);
        lw_free(text);
        CHECK(lw_options_set(options, "wait", "a,most=x", "--wait", &err) == LW_EUSAGE && strstr(err.message, "--wait, most: 'x'"),
              "%s", err.message);
        CHECK(lw_options_set(options, "wait", "a,most=", "--wait", &err) == LW_EUSAGE && strstr(err.message, "empty"), "%s",
              err.message);
        CHECK(lw_options_set(options, "wait-most", "4", "job.ini:1", &err) == LW_OK && lw_options_int(options, "wait-most") == 4,
              "an option of an earlier version, given by itself in a job file");
        CHECK(lw_options_set(options, "old", "any", "job.ini:1", &err) == LW_OK, "%s", err.message);
        CHECK(lw_options_set(options, "mode", "valid", "job.ini:1", &err) == LW_OK && lw_options_choice(options, "mode") == 1,
              "a choice of an earlier version in a job file");
        char *typed[] = {(char[]){"--wait=b"}};
        int used;
        CHECK(lw_options_parse(options, 1, typed, &used, &err) == LW_OK && lw_options_int(options, "wait-most") == 9,
              "the same option on a new command line");
        lw_options_destroy(options);
    }
}

int main(void)
{
    test_replaced();
    test_within();
    test_int();
    test_bytes();
    test_real();
    test_quantities();
    test_stretch();
    test_range();
    test_words();
    test_values();
    test_reading();
    test_parsing();
    test_resolved();
    test_home();
    test_resolved_long();
    return check_result("options");
}
