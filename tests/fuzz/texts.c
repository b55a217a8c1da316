/* texts.c - fuzz target of numbers, stretches, times and words as people write them. The first byte selects the kind of the rest,
 * which goes to all parsers of that kind. */
#include "target.h"

#include "base/instant.h"
#include "base/memory.h"
#include "io/names.h"
#include "options/parse.h"
#include "options/words.h"

#include <math.h>
#include <string.h>

static void take_numbers(const char *text)
{
    int64_t whole, parts[3];
    double real;
    struct lw_stretch stretch;
    lw_parse_int(text, &whole);
    if (lw_parse_bytes(text, &whole) == LW_PARSE_OK)
        REQUIRE(whole >= 0, "%s: %lld bytes", text, (long long)whole);
    if (lw_parse_real(text, &real) == LW_PARSE_OK)
        REQUIRE(isfinite(real), "%s", text);
    if (lw_parse_duration(text, &real) == LW_PARSE_OK)
        REQUIRE(isfinite(real), "%s", text);
    if (lw_parse_frequency(text, &real) == LW_PARSE_OK)
        REQUIRE(isfinite(real), "%s", text);
    lw_parse_stretch(text, &stretch);
    if (lw_parse_range(text, parts) == LW_PARSE_OK)
        for (int i = 0; i < 3; i++)
            REQUIRE(parts[i] >= -1, "%s: part %d is %lld", text, i, (long long)parts[i]);
    lw_parse_choice("full|same|valid", text);
    lw_nearness(text, "threshold");
}

/* Check that the text of an instant is read as the same instant. */
static void take_instant(const char *text)
{
    struct lw_instant instant, again;
    char back[LW_INSTANT_TEXT];
    if (!lw_instant_parse(text, &instant))
        return;
    REQUIRE(instant.attoseconds >= 0 && instant.attoseconds < LW_ATTOSECONDS, "%s", text);
    REQUIRE(instant.seconds >= -LW_MOST_SECONDS && instant.seconds <= LW_MOST_SECONDS, "%s", text);
    REQUIRE(lw_instant_parse(lw_instant_text(instant, back), &again) && lw_instant_compare(instant, again) == 0, "%s becomes %s",
            text, back);
    lw_instant_to_gps(lw_instant_from_gps(instant));
}

/* Binary numbers: times and periods as the headers of files hold them. */
static void take_periods(const uint8_t *data, size_t size)
{
    struct lw_instant instant;
    struct lw_period period;
    double real = 0;
    int64_t whole[2] = {0};
    memcpy(&real, data, size < sizeof real ? size : sizeof real);
    memcpy(whole, data, size < sizeof whole ? size : sizeof whole);
    lw_instant_from_mjd(real, &instant);
    lw_instant_from_ticks(whole[0], 1000000000, &instant);
    if (!lw_instant_from_seconds(real, &instant))
        instant = (struct lw_instant){0};
    lw_period_from_seconds(real, &period);
    lw_period_make(whole[0], whole[1], &period);
    if (!lw_period_from_rate(real, &period))
        return;
    REQUIRE(period.numerator > 0 && period.denominator > 0, "%g Hz", real);
    lw_period_rate(period);
    lw_period_seconds(period);
    lw_instant_of_sample(instant, period, 0);
    lw_instant_of_sample(instant, period, 1);
}

static const char *no_variable(const char *name, const void *context)
{
    (void)context;
    return strcmp(name, "HOME") == 0 ? "/home/fuzz" : NULL;
}

static void take_words(const char *text)
{
    char word[64], value[128], *home;
    struct lw_object object;
    for (const char *at = text; at && at[strspn(at, " ")]; )
        at = lw_words_take(at, word, sizeof word);
    lw_expand_variables(text, no_variable, NULL, "fuzz", value, sizeof value, NULL);
    if (lw_expand_home(text, "/home/fuzz", "fuzz", &home, NULL) == LW_OK)
        lw_free(home);
    if (lw_expand_homes(text, "/home/fuzz", "fuzz", &home, NULL) == LW_OK)
        lw_free(home);
    lw_object_parse(text, &object, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *const text = fuzz_text(data + 1, size - 1);
    switch (data[0] % 4) {
    case 0:
        take_numbers(text);
        break;
    case 1:
        take_instant(text);
        break;
    case 2:
        take_periods(data + 1, size - 1);
        break;
    default:
        take_words(text);
    }
    return 0;
}
