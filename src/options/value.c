#include "options/value.h"

#include "base/memory.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool has_limits(const struct lw_option *option) { return option->minimum < option->maximum; }

/* Return a limit as text; whole numbers have no decimal point. */
static const char *limit_text(double limit, char text[32])
{
    snprintf(text, 32, fabs(limit) < 1e15 && limit == floor(limit) ? "%.0f" : "%g", limit);
    return text;
}

/* Fail with the legal range. Maxima above 1e15 are not shown: they exceed any data set and only prevent overflows. */
static int fail_limits(const struct lw_option *option, const char *text, const char *origin, struct lw_error *err)
{
    char low[32], high[32];
    limit_text(option->minimum, low);
    if (option->maximum > 1e15)
        return lw_fail(err, LW_EUSAGE, "%s: %s is not allowed; the least is %s", origin, text, low);
    return lw_fail(err, LW_EUSAGE, "%s: %s is not in %s..%s", origin, text, low, limit_text(option->maximum, high));
}

static int fail_too_large(const char *text, const char *origin, struct lw_error *err)
{
    return lw_fail(err, LW_EUSAGE, "%s: %s is too large, it does not fit 64 bits", origin, text);
}

static int set_flag(struct lw_option_value *value, const char *text, const char *origin, struct lw_error *err)
{
    const int choice = lw_parse_choice("no|yes", text);
    if (choice < 0)
        return lw_fail(err, LW_EUSAGE, "%s: '%s' is neither yes nor no", origin, text);
    value->integer = choice;
    return LW_OK;
}

static int set_text(const char *text, const char *origin, struct lw_error *err)
{
    for (const char *at = text; *at; at++)
        if (iscntrl((unsigned char)*at))
            return lw_fail(err, LW_EUSAGE, "%s: the value holds a control character (code %d)", origin, *at);
    return LW_OK;
}

static int set_int(struct lw_option_value *value, const char *text, const char *origin, struct lw_error *err)
{
    const struct lw_option *const option = value->option;
    int64_t number;
    const enum lw_parse found = lw_parse_int(text, &number);
    if (found == LW_PARSE_MALFORMED)
        return lw_fail(err, LW_EUSAGE, "%s: '%s' is not a whole number such as 4096, 2^20, 1e6, 10k or 16M "
                       "(k, M, G, T: powers of 1000)", origin, text);
    if (found == LW_PARSE_TOO_LARGE && !has_limits(option))
        return fail_too_large(text, origin, err);
    if (found == LW_PARSE_TOO_LARGE ||
        (has_limits(option) && ((double)number < option->minimum || (double)number > option->maximum)))
        return fail_limits(option, text, origin, err);
    value->integer = number;
    return LW_OK;
}

static int set_stretch(struct lw_option_value *value, const char *text, const char *origin, struct lw_error *err)
{
    struct lw_stretch stretch;
    const enum lw_parse found = lw_parse_stretch(text, &stretch);
    if (found == LW_PARSE_MALFORMED)
        return lw_fail(err, LW_EUSAGE, "%s: '%s' is neither a whole number of samples such as 4096, 2^20 or 10k, nor a time such "
                       "as 20ms, 10s or 2min", origin, text);
    value->real = 0;
    if (found != LW_PARSE_OK || !stretch.is_time)
        return set_int(value, text, origin, err);
    if (stretch.seconds <= 0)
        return lw_fail(err, LW_EUSAGE, "%s: %s is not allowed; a time must be above 0", origin, text);
    value->integer = 0;
    value->real = stretch.seconds;
    return LW_OK;
}

static int set_bytes(struct lw_option_value *value, const char *text, const char *origin, struct lw_error *err)
{
    int64_t bytes;
    char least[24];
    const enum lw_parse found = lw_parse_bytes(text, &bytes);
    if (found == LW_PARSE_MALFORMED)
        return lw_fail(err, LW_EUSAGE, "%s: '%s' is not a number of bytes such as 512M, 4GB or 1.5GiB "
                       "(K, M, G, T: powers of 1024)", origin, text);
    if (found == LW_PARSE_TOO_LARGE)
        return fail_too_large(text, origin, err);
    if ((double)bytes < value->option->minimum)
        return lw_fail(err, LW_EUSAGE, "%s: %s is too little; the least is %s", origin, text,
                       lw_bytes_text((int64_t)value->option->minimum, least));
    value->integer = bytes;
    return LW_OK;
}

static int set_real(struct lw_option_value *value, const char *text, const char *origin, struct lw_error *err)
{
    static const struct {
        enum lw_parse (*parse)(const char *text, double *number);
        const char *what;
    } kinds[] = {
        [LW_OPTION_REAL] = {lw_parse_real, "a finite number such as 0.5 or 1e-3"},
        [LW_OPTION_DURATION] = {lw_parse_duration,
                                "a time such as 0.5, 20ms, 500us, 1.5s, 2min, 1h or 3d (a number alone: seconds)"},
        [LW_OPTION_FREQUENCY] = {lw_parse_frequency, "a frequency such as 500, 5mHz, 4kHz, 1.2MHz or 1GHz (a number alone: Hz)"},
        [LW_OPTION_RATE] = {lw_parse_rate, "a rate such as 500MB/s, 200GB/s or 1.5GiB/s (a number alone: bytes a second)"},
    };
    const struct lw_option *const option = value->option;
    double number;
    if (kinds[option->kind].parse(text, &number) != LW_PARSE_OK)
        return lw_fail(err, LW_EUSAGE, "%s: '%s' is not %s", origin, text, kinds[option->kind].what);
    if (has_limits(option) && (number < option->minimum || number > option->maximum))
        return fail_limits(option, text, origin, err);
    value->real = number;
    return LW_OK;
}

/* Copy the item of a list "full|same|valid" that is nearest to `text` to `found`; return false if no item is near. */
static bool nearest_choice(const char *choices, const char *text, char *found, size_t size)
{
    int best = -1;
    for (const char *at = choices; *at; at += strspn(at, "|")) {
        char item[32];
        const size_t length = strcspn(at, "|");
        snprintf(item, sizeof item, "%.*s", (int)length, at);
        at += length;
        const int distance = lw_nearness(text, item);
        if (distance >= 0 && (best < 0 || distance < best)) {
            best = distance;
            snprintf(found, size, "%s", item);
        }
    }
    return best >= 0;
}

static int set_choice(struct lw_option_value *value, const char *text, const char *origin, struct lw_error *err)
{
    const char *const choices = value->option->choices;
    const int choice = lw_parse_choice(choices, text);
    if (choice < 0) {
        char near[32];
        const bool has_near = nearest_choice(choices, text, near, sizeof near);
        return lw_fail(err, LW_EUSAGE, "%s: '%s' is none of %s%s%s%s", origin, text, choices,
                       has_near ? "; did you mean " : "", has_near ? near : "", has_near ? "?" : "");
    }
    value->integer = choice;
    return LW_OK;
}

static int set_range(struct lw_option_value *value, const char *text, const char *origin, struct lw_error *err)
{
    int64_t parts[3];
    const enum lw_parse found = lw_parse_range(text, parts);
    if (found == LW_PARSE_MALFORMED)
        return lw_fail(err, LW_EUSAGE, "%s: '%s' is not a range A:B or A:B:STEP of whole numbers >= 0. B itself is not included, "
                       "any part may be left out (:100, 0::2), and A alone selects one", origin, text);
    if (found == LW_PARSE_TOO_LARGE)
        return lw_fail(err, LW_EUSAGE, "%s: a number in %s does not fit 64 bits", origin, text);
    if (parts[2] == 0)
        return lw_fail(err, LW_EUSAGE, "%s: the step in %s must be 1 or more", origin, text);
    if (parts[1] >= 0 && parts[1] <= (parts[0] < 0 ? 0 : parts[0]))
        return lw_fail(err, LW_EUSAGE, "%s: %s selects nothing; in A:B, B must be larger than A", origin, text);
    value->range = (struct lw_option_range){parts[0], parts[1], parts[2]};
    return LW_OK;
}

int lw_option_value_set(struct lw_option_value *value, const char *text, const char *origin, struct lw_error *err)
{
    switch (value->option->kind) {
    case LW_OPTION_FLAG: return set_flag(value, text, origin, err);
    case LW_OPTION_NAMES:
    case LW_OPTION_TEXT:
    case LW_OPTION_FILE: return set_text(text, origin, err);
    case LW_OPTION_INT: return set_int(value, text, origin, err);
    case LW_OPTION_STRETCH: return set_stretch(value, text, origin, err);
    case LW_OPTION_BYTES: return set_bytes(value, text, origin, err);
    case LW_OPTION_REAL:
    case LW_OPTION_DURATION:
    case LW_OPTION_RATE:
    case LW_OPTION_FREQUENCY: return set_real(value, text, origin, err);
    case LW_OPTION_CHOICE: return set_choice(value, text, origin, err);
    case LW_OPTION_RANGE: return set_range(value, text, origin, err);
    case LW_OPTION_NONE:
    case LW_OPTION_GONE: break;
    }
    assert(!"an option of no known kind");
    return LW_EUSAGE;
}
