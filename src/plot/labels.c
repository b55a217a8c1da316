#include "plot/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The unit and the smallest span that is shown in it. */
double lw_label_time_unit(double span_s, const char **unit)
{
    static const struct {
        const char *name;
        double size, least_span;
    } steps[] = {
        {"d", 86400, 5 * 86400}, {"h", 3600, 3 * 3600}, {"min", 60, 300}, {"s", 1, 1}, {"ms", 1e-3, 1e-3},
        {"\xc2\xb5s", 1e-6, 1e-6}, {"ns", 1e-9, 0},
    };
    size_t s = 0;
    while (span_s < steps[s].least_span)
        s++;
    *unit = steps[s].name;
    return 1 / steps[s].size;
}

double lw_label_frequency_unit(double most_hz, const char **unit)
{
    static const struct {
        const char *name;
        double size;
    } steps[] = {{"GHz", 1e9}, {"MHz", 1e6}, {"kHz", 1e3}, {"Hz", 0}};
    size_t s = 0;
    while (most_hz < 2 * steps[s].size)
        s++;
    *unit = steps[s].name;
    return steps[s].size > 0 ? 1 / steps[s].size : 1;
}

const char *lw_label_utc_format(double span_s)
{
    return span_s < 1200 ? "%H:%M:%S" : span_s < 86400 ? "%H:%M" : span_s < 5 * 86400 ? "%m-%d %H:%M" : "%Y-%m-%d";
}

void lw_label_plain(double first, double step, const char *name, const char *unit, struct lw_plot_axis *axis)
{
    *axis = (struct lw_plot_axis){.first = first, .step = step, .factor = 1};
    snprintf(axis->name, sizeof axis->name, "%.80s", name);
    snprintf(axis->unit, sizeof axis->unit, "%.60s", unit);
    if (unit[0])
        snprintf(axis->label, sizeof axis->label, "%.80s (%.60s)", name, unit);
    else
        snprintf(axis->label, sizeof axis->label, "%.80s", name);
}

int lw_label_parse_size(const char *text, int *width, int *height, struct lw_error *err)
{
    enum { LEAST = 200, MOST = 8192 };
    char *end;
    const long w = strtol(text, &end, 10);
    const bool has_both = end != text && *end == 'x';
    const char *const second = end + (has_both ? 1 : 0);
    const long h = has_both ? strtol(second, &end, 10) : 0;
    if (!has_both || end == second || *end)
        return lw_fail(err, LW_EUSAGE, "--size: '%s' is not WIDTHxHEIGHT in pixels, such as 1200x600", text);
    if (w < LEAST || w > MOST || h < LEAST || h > MOST)
        return lw_fail(err, LW_EUSAGE, "--size: %s: width and height must be in %d..%d pixels", text, LEAST, MOST);
    *width = (int)w;
    *height = (int)h;
    return LW_OK;
}
