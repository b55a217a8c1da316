#include "plot/subject.h"

#include "base/memory.h"

#include <ctype.h>
#include <stdio.h>

/* ---- which dataset ------------------------------------------------------------------------------------------------- */

/* Datasets to draw if the user names none: the first of these that is in the file. */
static const char *const preferred[] = {
    "/filtered", "/convolved", "/spectrum", "/peaks", "/best/value", "/blocks/rms", "/blocks/max", "/blocks/mean", "/taps",
    "/signal", "/image",
};
enum { N_PREFERRED = sizeof preferred / sizeof *preferred };

struct choice {
    int best, count;
    char last[LW_MAX_PATH];
};

static void look_at(const struct lw_listing *dataset, void *context)
{
    struct choice *const choice = context;
    choice->count++;
    snprintf(choice->last, sizeof choice->last, "%s", dataset->path);
    for (int i = 0; i < choice->best; i++)
        if (strcmp(dataset->path, preferred[i]) == 0)
            choice->best = i;
}

static void name_it(struct lw_plot_subject *subject)
{
    snprintf(subject->name, sizeof subject->name, "%s", lw_name_of(subject->info.file, subject->info.path).text);
}

/* Let the format choose the dataset with the data, or refuse, if the file has no preferred dataset. */
static int let_format_choose(const struct lw_hints *hints, struct lw_plot_subject *subject, struct lw_error *err)
{
    const int rc = lw_examine_dataset(subject->name, hints, LW_USE_NUMBERS, &subject->info, err);
    if (rc == LW_OK && subject->info.path[0])
        name_it(subject);
    return rc;
}

static int choose_dataset(const char *name, const struct lw_subject_hints *hints, struct lw_plot_subject *subject,
                          struct lw_error *err)
{
    struct lw_object object;
    struct choice choice = {.best = N_PREFERRED};
    int rc;
    snprintf(subject->name, sizeof subject->name, "%s", name);
    if ((rc = lw_object_parse(name, &object, err)) || object.path[0])
        return rc;
    if (hints->file.format[0])
        return let_format_choose(&hints->file, subject, err);
    if ((rc = lw_list_check(object.file, err)) || (rc = lw_list_file(object.file, look_at, &choice, err)))
        return rc;
    const char *const path = choice.best < N_PREFERRED ? preferred[choice.best] : choice.count == 1 ? choice.last : "";
    if (path[0] != '/')
        return let_format_choose(&hints->file, subject, err);
    snprintf(subject->name, sizeof subject->name, "%s", lw_name_of(object.file, path).text);
    return LW_OK;
}

/* ---- meaning of the dimensions --------------------------------------------------------------------------------------- */

const char *lw_subject_dimension(const struct lw_plot_subject *subject, int dimension)
{
    const char *const name = subject->info.coordinates[dimension].name;
    return name[0] ? name : subject->notes->dimensions[dimension];
}

static int find_dimension(const struct lw_plot_subject *subject, const char *name)
{
    for (int d = 0; d < subject->info.n_dims; d++)
        if (strcmp(lw_subject_dimension(subject, d), name) == 0)
            return d;
    return -1;
}

/* Return the last dimension longer than 1 that is neither `one` nor `two`; -1: there is none. */
static int find_other(const struct lw_plot_subject *subject, int one, int two)
{
    for (int d = subject->info.n_dims - 1; d >= 0; d--)
        if (d != one && d != two && subject->info.dims[d] > 1)
            return d;
    return -1;
}

static int find_longest(const struct lw_dataset_info *info)
{
    int longest = info->n_dims - 1;
    for (int d = longest - 1; d >= 0; d--)
        longest = info->dims[d] > info->dims[longest] ? d : longest;
    return longest;
}

static int find_axis(const struct lw_plot_subject *subject)
{
    static const char *const names[] = {"time", "tap", "stretch"};
    int axis = subject->info.metadata_axis;
    for (size_t n = 0; n < sizeof names / sizeof *names && axis < 0; n++)
        axis = find_dimension(subject, names[n]);
    return axis;
}

/* A dataset of two dimensions without a rate and without a named axis is an image. */
static bool looks_like_image(const struct lw_plot_subject *subject, const struct lw_subject_hints *hints)
{
    if (hints->shape != LW_SHAPE_AUTO || hints->axis >= 0)
        return hints->shape == LW_SHAPE_IMAGE;
    const bool has_two = find_other(subject, find_longest(&subject->info), -1) >= 0;
    return find_dimension(subject, "row") >= 0 || (has_two && find_axis(subject) < 0 && subject->info.axis.sample_rate_hz <= 0);
}

static int choose_dimensions(const struct lw_subject_hints *hints, struct lw_plot_subject *subject, struct lw_error *err)
{
    const struct lw_dataset_info *const info = &subject->info;
    if (hints->axis >= info->n_dims)
        return lw_fail(err, LW_ECONFIG, "--axis %d: %s has dimensions 0 to %d", hints->axis, lw_dataset_name(info).text,
                       info->n_dims - 1);
    subject->is_image = looks_like_image(subject, hints);
    if (subject->is_image) {
        subject->x = info->n_dims - 1;
        subject->y = subject->x > 0 ? subject->x - 1 : -1;
        subject->z = find_other(subject, subject->x, subject->y);
    } else {
        const int filter = find_dimension(subject, "filter");
        const int known = hints->axis >= 0 ? hints->axis : find_axis(subject);
        subject->is_axis_known = known >= 0 || subject->info.n_dims == 1;
        subject->x = known >= 0 ? known : find_longest(&subject->info);
        subject->z = filter;
        subject->y = find_other(subject, subject->x, filter);
        if (filter < 0 && subject->y >= 0)
            subject->z = find_other(subject, subject->x, subject->y);
    }
    subject->n_x = info->dims[subject->x];
    subject->n_y = subject->y >= 0 ? info->dims[subject->y] : 1;
    subject->n_z = subject->z >= 0 ? info->dims[subject->z] : 1;
    for (int d = 0; d < info->n_dims; d++)
        if (d != subject->x && d != subject->y && d != subject->z && info->dims[d] > 1)
            return lw_fail(err, LW_EDATA, "%s has %d dimensions: a picture shows up to 3 that are longer than 1",
                           lw_dataset_name(info).text, info->n_dims);
    return LW_OK;
}

/* ---- open ---------------------------------------------------------------------------------------------------------- */

int lw_subject_open(const char *name, const struct lw_subject_hints *hints, struct lw_plot_subject *subject, struct lw_error *err)
{
    struct lw_object object;
    int rc;
    *subject = (struct lw_plot_subject){.x = -1, .y = -1, .z = -1};
    if (!(subject->notes = lw_alloc(sizeof *subject->notes, "attributes", err)))
        return LW_ESYSTEM;
    if (hints->joined) {    /* the first of many files gives names and attributes */
        subject->info = *lw_reader_info(hints->joined);
        name_it(subject);
    } else if ((rc = choose_dataset(name, hints, subject, err))) {
        return rc;
    }
    if ((rc = lw_notes_read(subject->name, &hints->file, subject->notes, err)))
        return rc;
    subject->is_table = !hints->joined && subject->notes->n_columns > 2;        /* two columns are a complex number, not a table */
    if (!subject->is_table) {
        if ((!subject->info.n_dims &&
             (rc = lw_examine_dataset(subject->name, &hints->file, LW_USE_NUMBERS, &subject->info, err))) ||
            (rc = choose_dimensions(hints, subject, err)))
            return rc;
        const struct lw_boxes_spec spec = {.info = &subject->info, .files = hints->joined, .is_pooled = true};
        return lw_boxes_open(&spec, &subject->samples, err);
    }
    subject->is_image = lw_notes_have_columns(subject->notes, (const char *const[]){"row", NULL});
    lw_object_parse(subject->name, &object, err);
    snprintf(subject->info.file, sizeof subject->info.file, "%s", object.file);
    snprintf(subject->info.path, sizeof subject->info.path, "%s", object.path);
    return LW_OK;
}

void lw_subject_release(struct lw_plot_subject *subject)
{
    lw_boxes_close(subject->samples);
    lw_free(subject->notes);
    *subject = (struct lw_plot_subject){0};
}

/* ---- read ---------------------------------------------------------------------------------------------------------- */

bool lw_subject_is_x_fast(const struct lw_plot_subject *subject) { return subject->y < subject->x; }

int64_t lw_subject_chunk(const struct lw_plot_subject *subject, int dimension)
{
    return dimension >= 0 && subject->info.chunk[dimension] > 0 ? subject->info.chunk[dimension] : 1;
}

struct lw_sample_box lw_subject_box(const struct lw_plot_subject *subject, int64_t x, int64_t n_x, int64_t y, int64_t n_y,
                                    int64_t y_step, int64_t z)
{
    struct lw_sample_box box;
    for (int d = 0; d < LW_MAX_DIMS; d++) {
        box.first[d] = d == subject->x ? x : d == subject->y ? y : d == subject->z ? z : 0;
        box.count[d] = d == subject->x ? n_x : d == subject->y ? n_y : 1;
        box.step[d] = d == subject->y ? y_step : 1;
    }
    return box;
}

/* ---- which way rows go ------------------------------------------------------------------------------------------------ */

static bool is_fits(const char *file, const struct lw_hints *hints)
{
    const struct lw_format *format;
    struct lw_error none;
    return lw_formats_find(file, hints, &format, &none) == LW_OK && strcmp(format->name, "FITS") == 0;
}

bool lw_subject_is_upward(const struct lw_plot_subject *subject)
{
    struct lw_object input;
    const char *const name = lw_said_text(&subject->notes->file, "input");
    if (is_fits(subject->info.file, &subject->info.hints))
        return true;
    return name[0] && lw_object_parse(name, &input, NULL) == LW_OK && is_fits(input.file, NULL);
}

/* ---- labels -------------------------------------------------------------------------------------------------------- */

/* The table has each unit and the smallest span for which it is used. */
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

/* Label an axis of plain numbers; `unit` may be "". */
static void label_plain(double first, double step, const char *name, const char *unit, struct lw_plot_axis *axis)
{
    *axis = (struct lw_plot_axis){.first = first, .step = step, .factor = 1};
    snprintf(axis->name, sizeof axis->name, "%.80s", name);
    snprintf(axis->unit, sizeof axis->unit, "%.60s", unit);
    if (unit[0])
        snprintf(axis->label, sizeof axis->label, "%.80s (%.60s)", name, unit);
    else
        snprintf(axis->label, sizeof axis->label, "%.80s", name);
}

static void label_time(const struct lw_axis_metadata *metadata, double span_s, struct lw_plot_axis *axis)
{
    enum { LEAST_UTC_SPAN_S = 60 };
    const bool has_utc = metadata->scale != LW_TIME_UNKNOWN;
    const struct lw_instant start = metadata->scale == LW_TIME_GPS ? lw_instant_from_gps(metadata->instant) : metadata->instant;
    char text[LW_INSTANT_TEXT] = "";
    const char *unit;
    if (has_utc && span_s >= LEAST_UTC_SPAN_S) {
        axis->is_utc = true;
        axis->first = lw_instant_seconds(start);
        snprintf(axis->label, sizeof axis->label, "time (UTC), from %.10s on", lw_instant_text(start, text));
        return;
    }
    axis->factor = lw_label_time_unit(span_s, &unit);
    if (has_utc)
        snprintf(axis->label, sizeof axis->label, "time (%s) since %s UTC", unit, lw_instant_text(start, text));
    else if (metadata->has_start && metadata->start != 0)
        snprintf(axis->label, sizeof axis->label, "time (%s) since %.12g %.60s", unit, metadata->start, metadata->start_unit);
    else
        snprintf(axis->label, sizeof axis->label, "time (%s)", unit);
}

/* Label a dimension by its coordinates in the file, if they are regular. */
static void label_coordinate(const struct lw_plot_subject *subject, int dimension, const char *fallback, struct lw_plot_axis *axis)
{
    const struct lw_coordinate *const c = &subject->info.coordinates[dimension];
    const char *const name = lw_subject_dimension(subject, dimension);
    const bool is_pixel = subject->is_image && strcmp(name, "row") != 0 && strcmp(name, "column") != 0;
    if (c->is_regular && c->step != 0)
        label_plain(c->first, c->step, name[0] ? name : fallback, c->unit, axis);
    else    /* celestial coordinates are mostly projected, and not linear along an axis */
        label_plain(0, 1, name[0] && !is_pixel ? name : fallback, is_pixel ? "pixels" : "", axis);
}

void lw_subject_label_x(const struct lw_plot_subject *subject, int64_t begin, int64_t end, struct lw_plot_axis *axis)
{
    const struct lw_axis_metadata *const metadata = &subject->info.axis;
    const char *const name = lw_subject_dimension(subject, subject->x);
    const bool is_time = !name[0] || strcmp(name, "time") == 0;
    if (subject->is_image || metadata->sample_rate_hz <= 0) {
        if (is_time && !subject->is_image)
            label_plain(0, 1, "sample", "", axis);
        else
            label_coordinate(subject, subject->x, "column", axis);
        return;
    }
    *axis = (struct lw_plot_axis){.step = 1 / metadata->sample_rate_hz, .factor = 1};
    label_time(metadata, (double)(end - begin) * axis->step, axis);
}

/* Channels of a result without coordinates have the numbers of the input's channels. */
void lw_subject_label_y(const struct lw_plot_subject *subject, struct lw_plot_axis *axis)
{
    const struct lw_said *const notes = &subject->notes->dataset;
    if (subject->y < 0)
        label_plain(0, 1, "channel", "", axis);
    else
        label_coordinate(subject, subject->y, subject->is_image ? "row" : "channel", axis);
    if (subject->is_image || (subject->y >= 0 && subject->info.coordinates[subject->y].is_regular))
        return;
    axis->first = lw_said_real(notes, "first_channel", 0);
    axis->step = lw_said_real(notes, "channel_step", 1);
}

/* The values' name is the file's long_name, else the dataset's name if that begins with a letter, else "value". */
const char *lw_subject_label_values(const struct lw_plot_subject *subject, const char *what, char *text, size_t size)
{
    const char *const name = lw_last_part(subject->info.path);
    const char *const said = lw_said_text(&subject->notes->dataset, "long_name");
    const char *const quantity = said[0] ? said : isalpha((unsigned char)name[0]) ? name : "value";
    const char *const unit = subject->info.axis.unit;
    const char *const shown = subject->info.type.is_complex && !what[0] ? "magnitude" : what;
    const int used = snprintf(text, size, "%.30s%s%.60s", shown, shown[0] ? " of " : "", quantity);
    if (unit[0] && used < (int)size)
        snprintf(text + used, size - (size_t)used, " (%.60s)", unit);
    return text;
}
