#include "io/dataset.h"

#include "base/integers.h"
#include "options/parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>

struct lw_name lw_name_of(const char *file, const char *path)
{
    struct lw_name name;
    snprintf(name.text, sizeof name.text, "%.*s%s%.*s", LW_MAX_PATH - 1, file, path[0] ? ":" : "", LW_MAX_PATH - 1, path);
    return name;
}

struct lw_name lw_dataset_name(const struct lw_dataset_info *info)
{
    struct lw_name name = lw_name_of(info->file, info->path);
    const size_t used = strlen(name.text);
    if (info->n_files > 1)
        snprintf(name.text + used, sizeof name.text - used, " (and %" PRId64 " more file%s)", info->n_files - 1,
                 info->n_files == 2 ? "" : "s");
    return name;
}

const char *lw_last_part(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int64_t lw_dataset_chunk_bytes(const struct lw_dataset_info *info)
{
    return (int64_t)lw_type_bytes(info->type) * lw_product64(info->chunk, info->n_dims);
}

int lw_dataset_check_unchanged(const struct lw_dataset_info *info, const char *what, struct lw_error *err)
{
    struct stat now;
    if (stat(info->file, &now) != 0)
        return lw_fail(err, LW_EDATA, "%s'%s' has vanished while it was read (%s): there is no result", what, info->file,
                       strerror(errno));
    if (now.st_size != info->file_bytes || (int64_t)now.st_mtim.tv_sec * 1000000000 + now.st_mtim.tv_nsec != info->modified_ns)
        return lw_fail(err, LW_EDATA, "%s'%s' has changed while it was read (%" PRId64 " bytes at first, %" PRId64 " now): there "
                       "is no result; run again when nobody writes it", what, info->file, info->file_bytes, (int64_t)now.st_size);
    return LW_OK;
}

/* ---- the start as a number with a unit and as an instant ------------------------------------------------------------------ */

double lw_sampling_unit_seconds(const char *unit)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {
        {"s", 1}, {"sec", 1}, {"second", 1}, {"seconds", 1},
        {"ms", 1e-3}, {"millisecond", 1e-3}, {"milliseconds", 1e-3},
        {"us", 1e-6}, {"microsecond", 1e-6}, {"microseconds", 1e-6},
        {"ns", 1e-9}, {"nanosecond", 1e-9}, {"nanoseconds", 1e-9},
        {"min", 60}, {"minute", 60}, {"minutes", 60}, {"h", 3600}, {"hour", 3600}, {"hours", 3600},
        {"d", 86400}, {"day", 86400}, {"days", 86400},
    };
    const size_t length = strcspn(unit, " ");
    for (size_t u = 0; u < sizeof units / sizeof *units; u++)
        if (strlen(units[u].name) == length && strncasecmp(unit, units[u].name, length) == 0)
            return units[u].seconds;
    return 0;
}

/* Find the instant that lies `number` units behind a date. Whole numbers of ms, us or ns are exact; others are doubles. */
static bool find_since(double number, double unit_seconds, const char *date, struct lw_instant *out)
{
    struct lw_instant epoch, since;
    const double per_second = nearbyint(1 / unit_seconds);
    const bool is_count = unit_seconds < 1 && number == nearbyint(number) && fabs(number) < 9e18;
    if (!lw_instant_parse(date, &epoch) ||
        !(is_count ? lw_instant_from_ticks((int64_t)number, (int64_t)per_second, &since)
                   : lw_instant_from_seconds(unit_seconds == 1 ? number : number * unit_seconds, &since)))
        return false;
    const int64_t attoseconds = epoch.attoseconds + since.attoseconds, carry = attoseconds / LW_ATTOSECONDS;
    *out = (struct lw_instant){epoch.seconds + since.seconds + carry, attoseconds - carry * LW_ATTOSECONDS};
    return true;
}

/* ---- hints of the user ----------------------------------------------------------------------------------------------- */

/* Let the hints overrule the metadata. --channel-spacing sets the dimension that is not time; if none is named, dimension 1. */
static int take_hints(struct lw_dataset_info *info, struct lw_error *err)
{
    struct lw_axis_metadata *const axis = &info->axis;
    const char *const start = info->hints.start_time;
    double seconds;
    if (info->hints.sample_rate_hz > 0) {
        axis->sample_rate_hz = info->hints.sample_rate_hz;
        axis->rate_accuracy = 0;
        axis->period = (struct lw_period){0};
        snprintf(axis->source, sizeof axis->source, "--sample-rate");
    }
    if (start[0]) {
        if (lw_instant_parse(start, &axis->instant))
            axis->scale = LW_TIME_UTC;
        else if (lw_parse_real(start, &seconds) == LW_PARSE_OK && lw_instant_from_seconds(seconds, &axis->instant))
            axis->scale = LW_TIME_GPS;
        else
            return lw_fail(err, LW_EUSAGE, "--start-time %s is neither a time in UTC such as 2015-09-14T09:50:45.39 nor seconds of "
                           "GPS", start);
        axis->has_start = false;
    }
    if (info->hints.channel_spacing == 0)
        return LW_OK;
    if (info->n_dims < 2)
        return lw_fail(err, LW_EUSAGE, "--channel-spacing is given, but %s has one dimension, without channels",
                       lw_dataset_name(info).text);
    struct lw_coordinate *const distance = &info->coordinates[info->metadata_axis == 1 ? 0 : 1];
    const double first = distance->is_regular && strcmp(distance->name, "distance") == 0 ? distance->first : 0;
    *distance = (struct lw_coordinate){.name = "distance", .unit = "m", .is_regular = true, .first = first,
                                       .step = info->hints.channel_spacing};
    return LW_OK;
}

int lw_sampling_settle(struct lw_dataset_info *info, struct lw_error *err)
{
    struct lw_axis_metadata *const axis = &info->axis;
    char text[LW_INSTANT_TEXT];
    const int rc = take_hints(info, err);
    if (rc)
        return rc;
    if (axis->period.numerator > 0)
        axis->sample_rate_hz = lw_period_rate(axis->period);
    else if (!lw_period_from_rate(axis->sample_rate_hz, &axis->period))
        axis->period = (struct lw_period){0};
    if (axis->has_start && axis->scale == LW_TIME_UNKNOWN) {
        const char *const since = strstr(axis->start_unit, " since ");
        const double seconds = lw_sampling_unit_seconds(axis->start_unit);
        if (strncmp(axis->start_unit, "GPS", 3) == 0 && lw_instant_from_seconds(axis->start, &axis->instant))
            axis->scale = LW_TIME_GPS;
        else if (since && seconds > 0 && find_since(axis->start, seconds, since + strlen(" since "), &axis->instant))
            axis->scale = LW_TIME_UTC;
    }
    if (axis->has_start || axis->scale == LW_TIME_UNKNOWN)
        return LW_OK;
    axis->has_start = true;
    axis->start = axis->scale == LW_TIME_GPS ? lw_instant_seconds(axis->instant) : 0;
    if (axis->scale == LW_TIME_GPS)
        snprintf(axis->start_unit, sizeof axis->start_unit, "GPS second");
    else
        snprintf(axis->start_unit, sizeof axis->start_unit, "s since %s", lw_instant_text(axis->instant, text));
    return LW_OK;
}

/* ---- texts ----------------------------------------------------------------------------------------------------------- */

const char *lw_sampling_time_text(const struct lw_axis_metadata *axis, int64_t i, char text[LW_INSTANT_TEXT])
{
    text[0] = '\0';
    if (axis->scale == LW_TIME_UNKNOWN || (i != 0 && axis->period.numerator == 0))
        return text;
    const struct lw_instant at = i == 0 ? axis->instant : lw_instant_of_sample(axis->instant, axis->period, i);
    return lw_instant_text(axis->scale == LW_TIME_GPS ? lw_instant_from_gps(at) : at, text);
}

const char *lw_sampling_text(const struct lw_axis_metadata *axis, char *text, size_t size)
{
    char time[LW_INSTANT_TEXT];
    int used = 0;
    text[0] = '\0';
    if (axis->sample_rate_hz > 0)
        used = snprintf(text, size, "%.12g Hz", axis->sample_rate_hz);
    if (!axis->has_start || used < 0 || (size_t)used >= size)
        return text;
    lw_sampling_time_text(axis, 0, time);
    char *const rest = text + used;
    const char *const from = used ? " from " : "from ";
    if (axis->scale == LW_TIME_UTC)
        snprintf(rest, size - (size_t)used, "%s%s", from, time);
    else if (axis->scale == LW_TIME_GPS)
        snprintf(rest, size - (size_t)used, "%s%s (GPS second %.17g)", from, time, axis->start);
    else
        snprintf(rest, size - (size_t)used, "%s%.17g %s", from, axis->start, axis->start_unit);
    return text;
}
