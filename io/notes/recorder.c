#include "io/notes/recorder.h"

#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

/* The text of a recorder is a list of fields, each a line "name\tvalue\n". */

/* Copy a value without blanks at its ends. A long value is cut. Control characters become blanks, since two separate fields. */
static void clean(const char *value, char out[LW_RECORDER_VALUE])
{
    enum { KEPT = 32 };
    value += strspn(value, " ");
    const size_t length = strlen(value);
    uint32_t sum = 2166136261u;         /* checksum: FNV-1a, 32 bits */
    for (const char *c = value; *c; c++)
        sum = (sum ^ (unsigned char)*c) * 16777619u;
    if (length < LW_RECORDER_VALUE)
        snprintf(out, LW_RECORDER_VALUE, "%s", value);
    else
        snprintf(out, LW_RECORDER_VALUE, "%.*s.. (%08x)", KEPT, value, (unsigned)sum);
    for (char *c = out; *c; c++)
        *c = iscntrl((unsigned char)*c) ? ' ' : *c;
    for (size_t n = strlen(out); n > 0 && out[n - 1] == ' '; n--)
        out[n - 1] = '\0';
}

void lw_recorder_add(struct lw_recorder *recorder, const char *what, const char *value)
{
    static const char *const nothing[] = {"",    "*",    "-",    "?",   "NaN",     "N/A",   "NA",
                                          "nil", "none", "null", "TBD", "unknown", "unset", "undefined"};
    char text[LW_RECORDER_VALUE], there[LW_RECORDER_VALUE];
    bool says_nothing = false;
    clean(value, text);
    for (size_t w = 0; w < sizeof nothing / sizeof *nothing; w++)
        says_nothing |= strcasecmp(text, nothing[w]) == 0;
    const size_t used = strlen(recorder->text);
    if (says_nothing || lw_recorder_find(recorder, what, there) ||
        used + strlen(what) + strlen(text) + 3 > sizeof recorder->text)
        return;
    snprintf(recorder->text + used, sizeof recorder->text - used, "%s\t%s\n", what, text);
}

void lw_recorder_add_number(struct lw_recorder *recorder, const char *what, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.12g", value);
    lw_recorder_add(recorder, what, text);
}

double lw_recorder_angle(const char *text)
{
    double whole, minutes, seconds;
    if (sscanf(text + (text[0] == '-' || text[0] == '+'), "%lf:%lf:%lf", &whole, &minutes, &seconds) != 3)
        return NAN;
    return (text[0] == '-' ? -1 : 1) * (whole + minutes / 60 + seconds / 3600);
}

void lw_recorder_point(struct lw_recorder *recorder, double ra_deg, double dec_deg)
{
    if (!(ra_deg >= 0 && ra_deg <= 360 && dec_deg >= -90 && dec_deg <= 90) || (ra_deg == 0 && dec_deg == 0))
        return;
    recorder->has_pointing = true;
    recorder->ra_deg = ra_deg;
    recorder->dec_deg = dec_deg;
}

bool lw_recorder_next(const char **at, char what[LW_RECORDER_VALUE], char value[LW_RECORDER_VALUE])
{
    const size_t name = strcspn(*at, "\t");
    if ((*at)[name] != '\t')
        return false;
    const size_t length = strcspn(*at + name + 1, "\n");
    snprintf(what, LW_RECORDER_VALUE, "%.*s", (int)name, *at);
    snprintf(value, LW_RECORDER_VALUE, "%.*s", (int)length, *at + name + 1);
    *at += name + 1 + length;
    *at += **at == '\n';
    return true;
}

bool lw_recorder_find(const struct lw_recorder *recorder, const char *what, char value[LW_RECORDER_VALUE])
{
    char name[LW_RECORDER_VALUE];
    for (const char *at = recorder->text; lw_recorder_next(&at, name, value); )
        if (strcmp(name, what) == 0)
            return true;
    return false;
}

/* Bring an angle in degrees to the range -180 to 180. */
static double turn(double degrees) { return remainder(degrees, 360); }

bool lw_recorder_is_pointing(const struct lw_recorder *a, const struct lw_recorder *b, double seconds)
{
    const double reach = 5.0 / 3600, sidereal = 360 / 86164.0905;
    if (!a->has_pointing || !b->has_pointing)
        return true;
    const double along = cos((a->dec_deg + b->dec_deg) / 2 * M_PI / 180), moved = turn(b->ra_deg - a->ra_deg);
    const double drifted = turn(moved - seconds * sidereal);
    return fabs(a->dec_deg - b->dec_deg) <= reach &&
           (fabs(moved) * along <= reach || (isfinite(seconds) && fabs(drifted) * along <= reach));
}

const char *lw_recorder_text(const struct lw_recorder *recorder, char *text, size_t size)
{
    char what[LW_RECORDER_VALUE], value[LW_RECORDER_VALUE];
    text[0] = '\0';
    for (const char *at = recorder->text; lw_recorder_next(&at, what, value); )
        lw_append(text, size, "%s%s %s", text[0] ? ", " : "", what, value);
    if (recorder->has_pointing)
        lw_append(text, size, "%spointing %.6f %+.6f degrees", text[0] ? ", " : "", recorder->ra_deg, recorder->dec_deg);
    return text;
}
