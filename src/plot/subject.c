#include "plot/subject.h"

#include "base/instant.h"
#include "base/integers.h"
#include "base/memory.h"
#include "base/proc.h"
#include "io/examine.h"
#include "io/list.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- which dataset ------------------------------------------------------------------------------------------------- */

/* What is shown of a file if nothing else is said: the first of these that it has. */
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

/* Where the file has none of these, its format says which dataset is the data, or refuses. */
static int let_format_choose(struct lw_subject *subject, struct lw_error *err)
{
    const int rc = lw_examine_dataset(subject->name, NULL, LW_USE_NUMBERS, &subject->info, err);
    if (rc == LW_OK && subject->info.path[0])
        snprintf(subject->name, sizeof subject->name, "%s:%s", subject->info.file, subject->info.path);
    return rc;
}

static int choose_dataset(const char *name, struct lw_subject *subject, struct lw_error *err)
{
    struct lw_object object;
    struct choice choice = {.best = N_PREFERRED};
    int rc;
    snprintf(subject->name, sizeof subject->name, "%s", name);
    if ((rc = lw_object_parse(name, &object, err)) || object.path[0])
        return rc;
    if ((rc = lw_list_check(object.file, err)) || (rc = lw_list_file(object.file, look_at, &choice, err)))
        return rc;
    const char *const path = choice.best < N_PREFERRED ? preferred[choice.best] : choice.count == 1 ? choice.last : "";
    if (path[0] != '/')
        return let_format_choose(subject, err);
    snprintf(subject->name, sizeof subject->name, "%s:%s", object.file, path);
    return LW_OK;
}

/* ---- what its dimensions are --------------------------------------------------------------------------------------- */

/* As the format names it, or as the file labels it. */
const char *lw_subject_dimension(const struct lw_subject *subject, int dimension)
{
    const char *const name = subject->info.coordinates[dimension].name;
    return name[0] ? name : subject->notes->dimensions[dimension];
}

static int find_dimension(const struct lw_subject *subject, const char *name)
{
    for (int d = 0; d < subject->info.n_dims; d++)
        if (strcmp(lw_subject_dimension(subject, d), name) == 0)
            return d;
    return -1;
}

/* The last dimension that is none of two others and longer than 1; -1: none. */
static int find_other(const struct lw_subject *subject, int one, int two)
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

static void choose_image(struct lw_subject *subject)
{
    subject->is_image = true;
    subject->x = subject->info.n_dims - 1;
    subject->y = subject->x > 0 ? subject->x - 1 : -1;
    subject->z = find_other(subject, subject->x, subject->y);
}

static int find_axis(const struct lw_subject *subject)
{
    static const char *const names[] = {"time", "tap"};
    int axis = subject->info.metadata_axis;
    for (size_t n = 0; n < sizeof names / sizeof *names && axis < 0; n++)
        axis = find_dimension(subject, names[n]);
    return axis;
}

static void choose_series(struct lw_subject *subject, int axis)
{
    const int filter = find_dimension(subject, "filter");
    const int known = axis >= 0 ? axis : find_axis(subject);
    subject->is_axis_known = known >= 0 || subject->info.n_dims == 1;
    subject->x = known >= 0 ? known : find_longest(&subject->info);
    subject->z = filter;
    subject->y = find_other(subject, subject->x, filter);
    if (filter < 0 && subject->y >= 0)
        subject->z = find_other(subject, subject->x, subject->y);
}

static int check_dimensions(const struct lw_subject *subject, struct lw_error *err)
{
    const struct lw_dataset_info *const info = &subject->info;
    for (int d = 0; d < info->n_dims; d++)
        if (d != subject->x && d != subject->y && d != subject->z && info->dims[d] > 1)
            return lw_fail(err, LW_EDATA, "%s:%s has %d dimensions: pictures are made of up to 3 that are longer than 1",
                           info->file, info->path, info->n_dims);
    return LW_OK;
}

/* Samples without a rate and without an axis that anybody has named are pixels. */
static bool looks_like_image(const struct lw_subject *subject, const struct lw_subject_hints *hints)
{
    if (hints->shape != LW_SHAPE_AUTO || hints->axis >= 0)
        return hints->shape == LW_SHAPE_IMAGE;
    const bool has_two = find_other(subject, find_longest(&subject->info), -1) >= 0;
    return find_dimension(subject, "row") >= 0 || (has_two && find_axis(subject) < 0 && subject->info.axis.sample_rate_hz <= 0);
}

static int choose_dimensions(const struct lw_subject_hints *hints, struct lw_subject *subject, struct lw_error *err)
{
    const struct lw_dataset_info *const info = &subject->info;
    if (hints->axis >= info->n_dims)
        return lw_fail(err, LW_ECONFIG, "--axis %d: %s:%s has dimensions 0 to %d", hints->axis, info->file, info->path,
                       info->n_dims - 1);
    if (looks_like_image(subject, hints))
        choose_image(subject);
    else
        choose_series(subject, hints->axis);
    subject->n_x = info->dims[subject->x];
    subject->n_y = subject->y >= 0 ? info->dims[subject->y] : 1;
    subject->n_z = subject->z >= 0 ? info->dims[subject->z] : 1;
    return check_dimensions(subject, err);
}

/* ---- open ---------------------------------------------------------------------------------------------------------- */

static int open_samples(const struct lw_subject_hints *hints, struct lw_subject *subject, struct lw_error *err)
{
    enum { MOST_THREADS = 8 };
    int rc;
    if ((!subject->info.n_dims && (rc = lw_examine_dataset(subject->name, NULL, LW_USE_NUMBERS, &subject->info, err))) ||
        (rc = choose_dimensions(hints, subject, err)) ||
        (rc = lw_formats_find(subject->info.file, &subject->info.hints, &subject->format, err)) ||
        (rc = subject->format->open(&subject->info, &subject->dataset, err)))
        return rc;
    subject->scale = lw_note_real(&subject->notes->dataset, "scale_factor", 1);
    subject->offset = lw_note_real(&subject->notes->dataset, "add_offset", 0);
    subject->raw = lw_alloc((size_t)LW_SUBJECT_VALUES * lw_type_bytes(subject->info.type), "samples", err);
    return subject->raw ? lw_pool_create((int)min64(MOST_THREADS, 2 * lw_proc_cores()), &subject->pool, err) : LW_ESYSTEM;
}

int lw_subject_open(const char *name, const struct lw_subject_hints *hints, struct lw_subject *subject, struct lw_error *err)
{
    struct lw_object object;
    int rc;
    *subject = (struct lw_subject){.x = -1, .y = -1, .z = -1};
    if (!(subject->notes = lw_alloc(sizeof *subject->notes, "attributes", err)))
        return LW_ESYSTEM;
    if ((rc = choose_dataset(name, subject, err)) || (rc = lw_notes_read(subject->name, subject->notes, err)))
        return rc;
    subject->is_table = subject->notes->n_columns > 2;        /* two: a complex number */
    if (!subject->is_table)
        return open_samples(hints, subject, err);
    lw_object_parse(subject->name, &object, err);
    snprintf(subject->info.file, sizeof subject->info.file, "%s", object.file);
    snprintf(subject->info.path, sizeof subject->info.path, "%s", object.path);
    return LW_OK;
}

void lw_subject_release(struct lw_subject *subject)
{
    if (subject->dataset)
        subject->format->close(subject->dataset);
    lw_pool_destroy(subject->pool);
    lw_free(subject->raw);
    lw_free(subject->notes);
    *subject = (struct lw_subject){0};
}

/* ---- read ---------------------------------------------------------------------------------------------------------- */

bool lw_subject_is_x_fast(const struct lw_subject *subject)
{
    return subject->y < subject->x;
}

static int64_t unit_of(const struct lw_subject *subject, int dimension)
{
    return dimension >= 0 && subject->info.chunk[dimension] > 0 ? subject->info.chunk[dimension] : 1;
}

int64_t lw_subject_unit_x(const struct lw_subject *subject) { return unit_of(subject, subject->x); }
int64_t lw_subject_unit_y(const struct lw_subject *subject) { return unit_of(subject, subject->y); }

static struct lw_box make_box(const struct lw_subject *subject, const struct lw_subject_box *part)
{
    struct lw_box box = {.into = subject->raw, .n_runs = 1};
    for (int d = 0; d < subject->info.n_dims; d++) {
        box.first[d] = d == subject->x ? part->x : d == subject->y ? part->y : d == subject->z ? part->z : 0;
        box.count[d] = d == subject->x ? part->n_x : d == subject->y ? part->n_y : 1;
        box.step[d] = d == subject->y ? part->y_step : 1;
    }
    box.run = box.pitch = part->n_x * part->n_y;
    return box;
}

/* Runs of samples that lie side by side in the file, one for each place of the slower dimension. */
struct runs {
    const struct lw_subject *subject;
    int fd;
    int64_t offset, distance;           /* in the file: of the first, from one to the next */
    int64_t bytes, total;               /* of one, the last may be shorter; of all */
};

static int read_run(void *context, int64_t piece, int thread, struct lw_error *err)
{
    const struct runs *const runs = context;
    char *into = runs->subject->raw + piece * runs->bytes;
    int64_t at = runs->offset + piece * runs->distance, left = min64(runs->bytes, runs->total - piece * runs->bytes);
    (void)thread;
    while (left > 0) {
        const ssize_t got = pread(runs->fd, into, (size_t)left, at);
        if (got == 0)
            return lw_fail(err, LW_EIO, "the file ends too early");
        if (got < 0 && errno != EINTR)
            return lw_fail(err, LW_EIO, "%s", strerror(errno));
        into += got > 0 ? got : 0;
        at += got > 0 ? got : 0;
        left -= got > 0 ? got : 0;
    }
    return LW_OK;
}

/* Bytes from one place of a dimension to the next. */
static int64_t stride_of(const struct lw_dataset_info *info, int dimension)
{
    int64_t bytes = (int64_t)lw_type_bytes(info->type);
    for (int d = info->n_dims - 1; d > dimension; d--)
        bytes *= info->dims[d];
    return bytes;
}

/* Whether the box can be read as runs. HDF5 would take 64 KiB for each that is shorter. */
static bool find_runs(const struct lw_subject *subject, const struct lw_subject_box *box, struct runs *runs, int64_t *n_runs)
{
    struct lw_stored stored;
    const struct lw_dataset_info *const info = &subject->info;
    const bool is_x_fast = lw_subject_is_x_fast(subject);
    const int fast = is_x_fast ? subject->x : subject->y, slow = is_x_fast ? subject->y : subject->x;
    const int64_t sample = (int64_t)lw_type_bytes(info->type);
    if (!subject->format->locate || !subject->format->locate(subject->dataset, &stored) || stored.is_chunked ||
        stride_of(info, fast) != sample || (!is_x_fast && box->y_step > 1))
        return false;
    *runs = (struct runs){.subject = subject, .fd = stored.fd, .offset = stored.offset + box->x * stride_of(info, subject->x)};
    runs->offset += subject->y >= 0 ? box->y * stride_of(info, subject->y) : 0;
    runs->offset += subject->z >= 0 ? box->z * stride_of(info, subject->z) : 0;
    *n_runs = is_x_fast ? box->n_y : box->n_x;
    runs->bytes = (is_x_fast ? box->n_x : box->n_y) * sample;
    runs->total = runs->bytes * *n_runs;
    runs->distance = slow >= 0 ? stride_of(info, slow) * (is_x_fast ? box->y_step : 1) : 0;
    return true;
}

/* Runs that follow each other are one, cut into pieces for the threads. */
static void join_runs(struct runs *runs, int64_t *n_runs)
{
    enum { PIECE_BYTES = 1 << 20 };
    if (runs->distance != runs->bytes)
        return;
    runs->bytes = runs->distance = min64(runs->total, PIECE_BYTES);
    *n_runs = divide_up(runs->total, runs->bytes);
}

static int read_raw(struct lw_subject *subject, const struct lw_subject_box *part, struct lw_error *err)
{
    struct runs runs;
    int64_t n_runs;
    if (find_runs(subject, part, &runs, &n_runs)) {
        join_runs(&runs, &n_runs);
        struct lw_batch batch = {.lane = LW_LANE_READ, .n_pieces = n_runs, .work = read_run, .context = &runs};
        lw_pool_start(subject->pool, &batch);
        return lw_pool_wait(subject->pool, &batch, err);
    }
    const struct lw_box box = make_box(subject, part);
    return subject->format->read(subject->dataset, &box, err);
}

/* ---- samples as real numbers ---- */

#define X(name, ctype, text)                                                                \
    static void convert_##name(const void *stored, int64_t count, double *values)           \
    {                                                                                       \
        const ctype *const samples = stored;                                                \
        for (int64_t i = 0; i < count; i++)                                                 \
            values[i] = (double)samples[i];                                                 \
    }
LW_SCALARS(X)
#undef X

static void convert(struct lw_type type, const void *stored, int64_t count, double *values)
{
    if (type.is_complex)
        for (int64_t i = 0; i < count; i++)
            values[i] = hypot(lw_type_number(type, stored, 2 * i), lw_type_number(type, stored, 2 * i + 1));
    else if (type.is_swapped)
        for (int64_t i = 0; i < count; i++)
            values[i] = lw_type_number(type, stored, i);
    else
        switch (type.scalar) {
#define X(name, ctype, text) case name: convert_##name(stored, count, values); return;
        LW_SCALARS(X)
#undef X
        case LW_FLOAT16: return;        /* described as float64 */
        }
}

int lw_subject_read(struct lw_subject *subject, const struct lw_subject_box *box, double *values, struct lw_error *err)
{
    struct lw_error reason = {0};
    const int64_t count = box->n_x * box->n_y;
    const int rc = read_raw(subject, box, &reason);
    if (rc)
        return lw_fail(err, rc, "cannot read %.400s: %.400s", subject->name, reason.message);
    convert(subject->info.type, subject->raw, count, values);
    if (subject->scale != 1 || subject->offset != 0)
        for (int64_t i = 0; i < count; i++)
            values[i] = values[i] * subject->scale + subject->offset;
    return LW_OK;
}

/* ---- labels -------------------------------------------------------------------------------------------------------- */

static bool find_utc(const struct lw_axis_metadata *axis, struct lw_instant *start)
{
    *start = axis->scale == LW_TIME_GPS ? lw_instant_from_gps(axis->instant) : axis->instant;
    return axis->scale != LW_TIME_UNKNOWN;
}

static void label_time(const struct lw_axis_metadata *metadata, double span_s, struct lw_plot_axis *axis)
{
    enum { LEAST_UTC_SPAN_S = 60 };
    struct lw_instant start;
    char text[LW_INSTANT_TEXT] = "";
    const char *unit;
    const bool has_utc = find_utc(metadata, &start);
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

/* A dimension with coordinates of its own. */
static void label_coordinate(const struct lw_subject *subject, int dimension, const char *fallback, struct lw_plot_axis *axis)
{
    const struct lw_coordinate *const c = &subject->info.coordinates[dimension];
    const char *const name = lw_subject_dimension(subject, dimension);
    if (c->is_regular && c->step != 0)
        lw_label_plain(c->first, c->step, name[0] ? name : fallback, c->unit, axis);
    else
        lw_label_plain(0, 1, name[0] ? name : fallback, "", axis);
}

void lw_subject_label_x(const struct lw_subject *subject, int64_t begin, int64_t end, struct lw_plot_axis *axis)
{
    const struct lw_axis_metadata *const metadata = &subject->info.axis;
    const char *const name = lw_subject_dimension(subject, subject->x);
    const bool is_time = !name[0] || strcmp(name, "time") == 0;
    if (subject->is_image || metadata->sample_rate_hz <= 0) {
        if (is_time && !subject->is_image)
            lw_label_plain(0, 1, "sample", "", axis);
        else
            label_coordinate(subject, subject->x, "column", axis);
        return;
    }
    *axis = (struct lw_plot_axis){.step = 1 / metadata->sample_rate_hz, .factor = 1};
    label_time(metadata, (double)(end - begin) * axis->step, axis);
}

/* Channels of a result without coordinates are counted as in its input. */
void lw_subject_label_y(const struct lw_subject *subject, struct lw_plot_axis *axis)
{
    const struct lw_note_list *const notes = &subject->notes->dataset;
    if (subject->y < 0)
        lw_label_plain(0, 1, "channel", "", axis);
    else
        label_coordinate(subject, subject->y, subject->is_image ? "row" : "channel", axis);
    if (subject->is_image || (subject->y >= 0 && subject->info.coordinates[subject->y].is_regular))
        return;
    axis->first = lw_note_real(notes, "first_channel", 0);
    axis->step = lw_note_real(notes, "channel_step", 1);
}

const char *lw_subject_label_values(const struct lw_subject *subject, const char *what, char *text, size_t size)
{
    const char *const unit = subject->info.axis.unit;
    const char *const shown = subject->info.type.is_complex ? "magnitude" : what;
    if (unit[0])
        snprintf(text, size, "%.60s%s(%.60s)", shown, shown[0] ? " " : "", unit);
    else
        snprintf(text, size, "%.60s", shown);
    return text;
}
