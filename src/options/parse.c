#include "options/parse.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORD = 31 };

static enum lw_parse parse_digits(const char **at, int64_t *value)
{
    if (!isdigit((unsigned char)**at))
        return LW_PARSE_MALFORMED;
    char *end;
    errno = 0;
    *value = strtoll(*at, &end, 10);
    *at = end;
    return errno == ERANGE ? LW_PARSE_TOO_LARGE : LW_PARSE_OK;
}

static enum lw_parse multiply(int64_t *value, int64_t factor, int times)
{
    for (int i = 0; i < times; i++)
        if (__builtin_mul_overflow(*value, factor, value))
            return LW_PARSE_TOO_LARGE;
    return LW_PARSE_OK;
}

/* Parse ^E behind the base `*value`, which becomes the power. Bases 0 and 1 never overflow: for them E > 62 counts as 1. */
static enum lw_parse parse_power(const char **at, int64_t *value)
{
    int64_t exponent;
    ++*at;
    const enum lw_parse found = parse_digits(at, &exponent);
    if (found != LW_PARSE_OK)
        return found;
    if (exponent > 62 && *value > 1)
        return LW_PARSE_TOO_LARGE;
    const int64_t base = *value;
    *value = 1;
    return multiply(value, base, exponent > 62 ? 1 : (int)exponent);
}

/* Return the power that a suffix stands for: 1 for the first `cases` letters of `suffixes`, 2 for the next, ...; 0: no suffix. */
static int parse_suffix(const char **at, const char *suffixes, int cases)
{
    const char *const found = **at ? strchr(suffixes, **at) : NULL;
    if (!found)
        return 0;
    ++*at;
    return (int)(found - suffixes) / cases + 1;
}

/* Parse decimal places: 7 and .25 give `*value` = 725 and `*shift` = -2. */
static enum lw_parse parse_places(const char **at, int64_t *value, int *shift)
{
    if (!isdigit((unsigned char)*++*at))
        return LW_PARSE_MALFORMED;
    for (; isdigit((unsigned char)**at); ++*at, --*shift)
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, **at - '0', value))
            return LW_PARSE_TOO_LARGE;
    return LW_PARSE_OK;
}

/* Parse an exponent, e6 or e-3, and add it to `*shift`. */
static enum lw_parse parse_exponent(const char **at, int *shift)
{
    ++*at;
    const bool is_negative = **at == '-';
    *at += is_negative || **at == '+';
    int64_t exponent;
    const enum lw_parse found = parse_digits(at, &exponent);
    if (found == LW_PARSE_MALFORMED)
        return found;
    const int most = 10000;     /* too large for any int64_t, and small enough that `*shift` cannot overflow */
    const int bounded = found == LW_PARSE_TOO_LARGE || exponent > most ? most : (int)exponent;
    *shift += is_negative ? -bounded : bounded;
    return LW_PARSE_OK;
}

/* Multiply `*value` by 10^shift; the product must be whole. */
static enum lw_parse scale(int64_t *value, int shift)
{
    for (; shift < 0 && *value != 0; shift++, *value /= 10)
        if (*value % 10 != 0)
            return LW_PARSE_MALFORMED;
    return *value == 0 ? LW_PARSE_OK : multiply(value, 10, shift);
}

static enum lw_parse parse_natural(const char **at, int64_t *value)
{
    int shift = 0;
    enum lw_parse found = parse_digits(at, value);
    if (found != LW_PARSE_OK)
        return found;
    if (**at == '^')
        return parse_power(at, value);
    if (**at == '.' && (found = parse_places(at, value, &shift)) != LW_PARSE_OK)
        return found;
    if (**at == 'K')
        return LW_PARSE_MALFORMED;          /* K is refused: 10K is 10 * 1024 to some people */
    if (**at == 'e' || **at == 'E')
        found = parse_exponent(at, &shift);
    else
        shift += 3 * parse_suffix(at, "kMGT", 1);
    return found != LW_PARSE_OK ? found : scale(value, shift);
}

enum lw_parse lw_parse_int(const char *text, int64_t *value)
{
    const char *at = text;
    const bool is_negative = *at == '-';
    at += is_negative || *at == '+';

    int64_t number;
    const enum lw_parse found = parse_natural(&at, &number);
    if (found != LW_PARSE_OK)
        return found;
    if (*at)
        return LW_PARSE_MALFORMED;
    *value = is_negative ? -number : number;
    return LW_PARSE_OK;
}

/* Parse the digits behind a point, 5 of .5, as a fraction of `unit` bytes, a power of 1024; a double's precision is enough. */
static int64_t parse_fraction(const char **at, int64_t unit)
{
    double fraction = 0, digit = 0.1;
    for (; isdigit((unsigned char)**at); ++*at, digit /= 10)
        fraction += digit * (**at - '0');
    return llround(fraction * (double)unit);
}

/* Skip B or, behind a suffix, iB. */
static void skip_bytes_unit(const char **at, bool has_power) { *at += has_power && strncmp(*at, "iB", 2) == 0 ? 2 : **at == 'B'; }

/* Parse bytes with an exponent: 1e9 or 1e9 B. */
static enum lw_parse parse_plain_bytes(const char *text, int64_t *value)
{
    const char *at = text;
    int64_t number;
    const enum lw_parse found = parse_natural(&at, &number);
    if (found != LW_PARSE_OK)
        return found;
    at += strspn(at, " ");
    skip_bytes_unit(&at, false);
    if (*at)
        return LW_PARSE_MALFORMED;
    *value = number;
    return LW_PARSE_OK;
}

enum lw_parse lw_parse_bytes(const char *text, int64_t *value)
{
    if (strpbrk(text, "eE"))
        return parse_plain_bytes(text, value);
    const char *at = text;
    int64_t number;
    enum lw_parse found = parse_digits(&at, &number);
    if (found != LW_PARSE_OK)
        return found;

    const char *fraction = NULL;
    if (*at == '.') {
        fraction = ++at;
        at += strspn(at, "0123456789");
        if (at == fraction)
            return LW_PARSE_MALFORMED;
    }
    const char *const behind = at;
    at += strspn(at, " ");
    const int power = parse_suffix(&at, "kKmMgGtT", 2);
    skip_bytes_unit(&at, power > 0);
    if (at > behind && at[-1] == ' ')
        return LW_PARSE_MALFORMED;          /* the text has blanks, but no unit behind them */
    if (*at || (fraction && !power))
        return LW_PARSE_MALFORMED;

    int64_t unit = 1;
    if ((found = multiply(&unit, 1024, power)) || (found = multiply(&number, unit, 1)))
        return found;
    const int64_t rest = fraction ? parse_fraction(&fraction, unit) : 0;
    if (__builtin_add_overflow(number, rest, &number))
        return LW_PARSE_TOO_LARGE;
    *value = number;
    return LW_PARSE_OK;
}

enum lw_parse lw_parse_real(const char *text, double *value)
{
    if (!isdigit((unsigned char)*text) && !strchr("+-.", *text))
        return LW_PARSE_MALFORMED;          /* this refuses blanks, inf, nan and the empty text */
    char *end;
    const double number = strtod(text, &end);
    if (end == text || *end)
        return LW_PARSE_MALFORMED;
    if (!isfinite(number))
        return LW_PARSE_TOO_LARGE;
    *value = number;
    return LW_PARSE_OK;
}

/* ---- numbers with units ---- */

/* A unit is times / parts base units; one of the two is 1. Numbers are multiplied or divided in long double, so that 1.001 kHz
 * becomes the double nearest to 1001. */
struct unit {
    const char *name;
    long double times, parts;
};

static const struct unit durations[] = {
    {"s", 1, 1}, {"ms", 1, 1e3L}, {"us", 1, 1e6L}, {"\xc2\xb5s", 1, 1e6L}, {"\xce\xbcs", 1, 1e6L}, {"ns", 1, 1e9L},
    {"min", 60, 1}, {"h", 3600, 1}, {"d", 86400, 1}, {NULL, 0, 0},
};
static const struct unit frequencies[] = {
    {"Hz", 1, 1}, {"mHz", 1, 1e3L}, {"kHz", 1e3L, 1}, {"KHz", 1e3L, 1}, {"MHz", 1e6L, 1}, {"GHz", 1e9L, 1}, {"THz", 1e12L, 1},
    {NULL, 0, 0},
};
static const struct unit rates[] = {
    {"B/s", 1, 1}, {"kB/s", 1e3L, 1}, {"MB/s", 1e6L, 1}, {"GB/s", 1e9L, 1}, {"TB/s", 1e12L, 1}, {"MiB/s", 0x1p20L, 1},
    {"GiB/s", 0x1p30L, 1}, {"TiB/s", 0x1p40L, 1}, {NULL, 0, 0},
};

/* Parse a number and one of `units`. @param has_unit  set on success: whether a unit stands behind the number */
static enum lw_parse parse_quantity(const char *text, const struct unit *units, double *value, bool *has_unit)
{
    if (!isdigit((unsigned char)*text) && !strchr("+-.", *text))
        return LW_PARSE_MALFORMED;
    char *end;
    const long double number = strtold(text, &end);
    if (end == text || (size_t)(end - text) > strspn(text, "+-.0123456789eE"))
        return LW_PARSE_MALFORMED;          /* no number, or a number that is not decimal */
    const char *const name = end + strspn(end, " ");
    const struct unit *unit = units;
    while (*end && unit->name && strcmp(unit->name, name) != 0)
        unit++;
    if (!unit->name)
        return LW_PARSE_MALFORMED;
    const double scaled = *end ? (double)(number * unit->times / unit->parts) : (double)number;
    if (!isfinite(scaled))
        return LW_PARSE_TOO_LARGE;
    *value = scaled;
    *has_unit = *end != '\0';
    return LW_PARSE_OK;
}

enum lw_parse lw_parse_duration(const char *text, double *seconds)
{
    return parse_quantity(text, durations, seconds, &(bool){false});
}

enum lw_parse lw_parse_frequency(const char *text, double *hz) { return parse_quantity(text, frequencies, hz, &(bool){false}); }

enum lw_parse lw_parse_rate(const char *text, double *bytes_per_second)
{
    return parse_quantity(text, rates, bytes_per_second, &(bool){false});
}

enum lw_parse lw_parse_stretch(const char *text, struct lw_stretch *stretch)
{
    bool has_unit = false;
    double seconds;
    const enum lw_parse found = parse_quantity(text, durations, &seconds, &has_unit);
    if (found == LW_PARSE_OK && has_unit) {
        *stretch = (struct lw_stretch){.is_time = true, .seconds = seconds};
        return LW_PARSE_OK;
    }
    int64_t samples;
    const enum lw_parse whole = lw_parse_int(text, &samples);
    if (whole == LW_PARSE_OK)
        *stretch = (struct lw_stretch){.samples = samples};
    return whole;
}

/* ---- ranges and words ---- */

enum lw_parse lw_parse_range(const char *text, int64_t parts[3])
{
    int64_t found[3] = {-1, -1, -1};
    const char *at = text;
    for (int i = 0; i < 3; i++) {
        const enum lw_parse part = *at == ':' || *at == '\0' ? LW_PARSE_OK : parse_natural(&at, &found[i]);
        if (part != LW_PARSE_OK)
            return part;
        if (*at == '\0' && i == 0 && found[0] >= 0 && __builtin_add_overflow(found[0], 1, &found[1]))
            return LW_PARSE_TOO_LARGE;
        if (*at == '\0' && (i > 0 || found[0] >= 0))
            break;
        if (*at != ':' || i == 2)
            return LW_PARSE_MALFORMED;
        at++;
    }
    memcpy(parts, found, sizeof found);
    return LW_PARSE_OK;
}

int lw_parse_choice(const char *choices, const char *text)
{
    const size_t length = strlen(text);
    int index = 0;
    for (const char *at = choices;; index++) {
        const size_t item = strcspn(at, "|");
        if (item == length && memcmp(at, text, item) == 0)
            return index;
        if (!at[item])
            return -1;
        at += item + 1;
    }
}

static int smaller(int a, int b) { return a < b ? a : b; }

int lw_edit_distance(const char *a, const char *b)
{
    const int n = smaller((int)strlen(a), MAX_WORD), m = smaller((int)strlen(b), MAX_WORD);
    int distance[MAX_WORD + 1][MAX_WORD + 1];
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                distance[i][j] = i + j;
                continue;
            }
            int best = distance[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = smaller(best, 1 + smaller(distance[i - 1][j], distance[i][j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = smaller(best, 1 + distance[i - 2][j - 2]);
            distance[i][j] = best;
        }
    return distance[n][m];
}

int lw_nearness(const char *text, const char *candidate)
{
    const size_t length = strlen(text);
    if (length > 1 && strncmp(text, candidate, length) == 0)
        return 1;                           /* the text is an abbreviation: --seg for --segment */
    const int distance = lw_edit_distance(text, candidate);
    return distance <= (int)(1 + length / 4) && distance < (int)length ? distance : -1;
}
