#include "cli/info.h"

#include "base/log.h"
#include "base/memory.h"
#include "io/format.h"
#include "io/notes/recorder.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Print one fact as a line. The text is escaped, because texts from a file may contain anything. */
__attribute__((format(printf, 2, 3)))
static void row(const char *name, const char *format, ...)
{
    char text[2 * LW_MAX_PATH], shown[8 * LW_MAX_PATH], title[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    printf("%-12s %s\n", lw_escape(name, "", title, sizeof title), lw_escape(text, "", shown, sizeof shown));
}

static int axis_of(const struct lw_dataset_info *info) { return info->n_dims == 1 ? 0 : info->metadata_axis; }

static void print_shape(const struct lw_dataset_info *info)
{
    char text[256] = "";
    for (int d = 0; d < info->n_dims; d++) {
        const size_t used = strlen(text);
        const char *const name = info->coordinates[d].name;
        snprintf(text + used, sizeof text - used, "%s%" PRId64 "%s%s", d ? " x " : "", info->dims[d], name[0] ? " " : "", name);
    }
    if (info->blocks.n > 0)
        row("shape", "%s, joined from %" PRId64 " x %" PRId64, text, info->blocks.n, info->blocks.rows);
    else
        row("shape", "%s", text);
}

/* Write the period as "2 ms" if it is a whole number of nanoseconds, else "". @return  `text` */
static const char *period_text(struct lw_period period, char text[40])
{
    static const struct {
        int64_t ns;
        const char *name;
    } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
    int64_t ns;
    text[0] = '\0';
    if (period.numerator == 0 || __builtin_mul_overflow(period.numerator, INT64_C(1000000000), &ns) || ns % period.denominator != 0)
        return text;
    ns /= period.denominator;
    for (size_t u = 0; u < sizeof units / sizeof *units && !text[0]; u++)
        if (ns % units[u].ns == 0)
            snprintf(text, 40, "%" PRId64 " %s", ns / units[u].ns, units[u].name);
    return text;
}

/* Write GPS seconds with all digits. @return  `text` */
static const char *gps_text(struct lw_instant gps, char text[LW_INSTANT_TEXT])
{
    const int64_t fraction = gps.seconds < 0 && gps.attoseconds > 0 ? LW_ATTOSECONDS - gps.attoseconds : gps.attoseconds;
    const int64_t whole = gps.seconds < 0 && gps.attoseconds > 0 ? gps.seconds + 1 : gps.seconds;
    int used =
        snprintf(text, LW_INSTANT_TEXT, "%s%" PRId64 ".%018" PRId64, gps.seconds < 0 && whole == 0 ? "-" : "", whole, fraction);
    while (text[used - 1] == '0')
        text[--used] = '\0';
    if (text[used - 1] == '.')
        text[--used] = '\0';
    return text;
}

static void print_time(const char *name, const struct lw_axis_metadata *axis, int64_t i)
{
    char utc[LW_INSTANT_TEXT], gps[LW_INSTANT_TEXT];
    const struct lw_instant at = i == 0 ? axis->instant : lw_instant_of_sample(axis->instant, axis->period, i);
    row(name, "%s (GPS %s)", lw_sampling_time_text(axis, i, utc),
        gps_text(axis->scale == LW_TIME_GPS ? at : lw_instant_to_gps(at), gps));
}

static void print_times(const struct lw_dataset_info *info)
{
    const struct lw_axis_metadata *const axis = &info->axis;
    const int d = axis_of(info);
    char period[40];
    if (axis->sample_rate_hz > 0)
        row("rate", "%.12g Hz%s%s%s%s%s", axis->sample_rate_hz, period_text(axis->period, period)[0] ? ", every " : "", period,
            axis->source[0] ? " (" : "", axis->source, axis->source[0] ? ")" : "");
    if (axis->scale != LW_TIME_UNKNOWN)
        print_time("start", axis, 0);
    else if (axis->has_start)
        row("start", "%.17g %s", axis->start, axis->start_unit);
    if (axis->scale != LW_TIME_UNKNOWN && d >= 0 && axis->period.numerator > 0)
        print_time("end", axis, info->dims[d] + info->n_missing - 1);
    if (info->n_stretches > 1)
        row("stretches", "%" PRId64 ", between which %" PRId64 " samples %s", info->n_stretches,
            info->n_missing < 0 ? -info->n_missing : info->n_missing, info->n_missing < 0 ? "are there twice" : "are missing");
}

static void print_coordinates(const struct lw_dataset_info *info)
{
    for (int d = 0; d < info->n_dims; d++) {
        const struct lw_coordinate *const place = &info->coordinates[d];
        const char *const between = place->unit[0] ? " " : "";
        if (d == axis_of(info) || !place->is_regular)
            continue;
        row(place->name[0] ? place->name : "coordinate", "%.12g to %.12g%s%s, every %.12g%s%s", place->first,
            place->first + (double)(info->dims[d] - 1) * place->step, between, place->unit, place->step, between, place->unit);
    }
}

/* Print all facts. @param type  "uint32", as in the file's listing; "": print the type as which samples are read
 * @param storage  "contiguous", as in the listing; "": unknown */
static void print_facts(const struct lw_dataset_info *info, const char *format, const char *type, const char *storage)
{
    char read_as[40], bytes[24], whose[400], packing[LW_PACKING_TEXT];
    row("format", "%s%s%s", format, info->convention[0] ? ", " : "", info->convention);
    if (info->path[0])
        row("dataset", "%s", info->path);
    print_shape(info);
    row("type", "%s", type[0] ? type : lw_type_text(info->type, read_as));
    if (info->packing.is_on)
        row("values", "%s", lw_packing_text(&info->packing, packing));
    print_times(info);
    print_coordinates(info);
    if (info->axis.unit[0])
        row("unit", "%s", info->axis.unit);
    if (lw_recorder_text(&info->recorder, whose, sizeof whose)[0])
        row("recorded by", "%s", whose);
    row("storage", "%s%sfile of %s", storage, storage[0] ? ", " : "", lw_bytes_text(info->file_bytes, bytes));
}

/* Copy the listing of the dataset whose path is found->path into *found. */
static void find_listing(const struct lw_listing *dataset, void *context)
{
    struct lw_listing *const found = context;
    const char *const path = found->path;
    if (strcmp(dataset->path, path) == 0) {
        *found = *dataset;
        found->path = path;             /* dataset->path becomes invalid after this call */
    }
}

int lw_facts_print(const char *name, const struct lw_hints *hints, struct lw_error *err)
{
    struct lw_dataset_info info;
    const struct lw_format *format;
    int rc = lw_examine_dataset(name, hints, LW_USE_SAMPLES, &info, err);
    if (rc == LW_EDATA)
        rc = lw_examine_dataset(name, hints, LW_USE_NUMBERS, &info, err);    /* a type that only small datasets may have */
    if (rc || (rc = lw_formats_find(info.file, &info.hints, &format, err)))
        return rc;
    struct lw_listing stored = {.path = info.path};
    if (!hints || !hints->format[0])
        lw_list_file(info.file, find_listing, &stored, err);
    print_facts(&info, format->name, stored.type, stored.storage);
    return LW_OK;
}
