#include "job/hints.h"

#include <stdio.h>
#include <strings.h>

/* Copy an option's text; "" if it is not given. A text that is too long is cut, which makes it illegal. */
static void take_text(const struct lw_options *options, const char *name, char *out, size_t size)
{
    const char *const text = lw_options_text(options, name);
    snprintf(out, size, "%s", text ? text : "");
}

/* raw= alone implies --format raw. */
int lw_hints_take(const struct lw_options *options, struct lw_hints *hints, struct lw_error *err)
{
    take_text(options, "format", hints->format, sizeof hints->format);
    take_text(options, "raw", hints->raw, sizeof hints->raw);
    take_text(options, "start-time", hints->start_time, sizeof hints->start_time);
    hints->sample_rate_hz = lw_options_real(options, "sample-rate");
    hints->channel_spacing = lw_options_real(options, "channel-spacing");
    hints->as_stored = lw_options_flag(options, "as-stored");
    if (hints->raw[0] && !hints->format[0])
        snprintf(hints->format, sizeof hints->format, "raw");
    if (hints->raw[0] && strcasecmp(hints->format, "raw") != 0)
        return lw_fail(err, LW_EUSAGE, "--format %s,raw=...: raw= describes numbers without a header, so it does not go with "
                       "another format", hints->format);
    return LW_OK;
}
