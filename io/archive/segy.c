/* segy.c - SEG-Y as one of the formats of archive files: traces of one length, [channel x time], or [time] of a single one.
 *
 * No library reads it: the headers are a few numbers in fixed places, which are checked here one by one, and samples are read by
 * byte offset, by several threads at a time. */
#include "io/format.h"

#include "base/memory.h"
#include "io/archive/field.h"
#include "io/archive/segy_header.h"
#include "io/archive/shared.h"
#include "io/bytes/box.h"
#include "io/notes/recorder.h"

#include <inttypes.h>
#include <stdio.h>

static int recognise(const char *file, bool *is_one, struct lw_error *err)
{
    struct lw_segy_file segy;
    const int rc = lw_segy_open(file, &segy, err);
    *is_one = rc == LW_OK && lw_segy_is_plausible(&segy);
    if (rc == LW_OK)
        lw_segy_close(&segy);
    return rc == LW_EIO ? rc : LW_OK;
}

/* ---- describe ------------------------------------------------------------------------------------------------------ */

static void set_shape(const struct lw_segy_file *file, struct lw_dataset_info *info)
{
    const struct lw_segy_format *const format = file->format;
    const bool has_channels = file->n_traces > 1, is_as_stored = !format->convert[0] && format->bytes > 1;
    info->n_dims = has_channels ? 2 : 1;
    info->metadata_axis = info->n_dims - 1;
    info->dims[0] = file->n_traces;
    info->dims[info->metadata_axis] = file->n_samples;
    info->type = (struct lw_type){.scalar = format->scalar, .is_swapped = is_as_stored && lw_field_is_swapped(file->is_big)};
    lw_archive_name(info, info->metadata_axis, "time");
}

static int describe_open(struct lw_segy_file *file, struct lw_dataset_info *info, struct lw_error *err)
{
    const int64_t job = lw_segy_field(file, 3201, 4), line = lw_segy_field(file, 3205, 4);
    struct lw_coordinate where;
    const int rc = lw_segy_check_traces(file, info, &where, err);
    if (rc)
        return rc;
    lw_segy_find_sampling(file, info);
    set_shape(file, info);
    if (job != 0)
        lw_recorder_add_number(&info->recorder, "job number", (double)job);
    if (line != 0)
        lw_recorder_add_number(&info->recorder, "line number", (double)line);
    if (info->n_dims == 2)
        info->coordinates[0] = where;
    snprintf(info->convention, sizeof info->convention, "SEG-Y revision %d", file->revision);
    return LW_OK;
}

/* All its formats that are read are among LW_SCALARS, or are given as one of them. */
static int describe(struct lw_dataset_info *info, enum lw_use use, struct lw_error *err)
{
    struct lw_segy_file file;
    (void)use;
    int rc;
    if ((rc = lw_archive_take_no_path(info, "a SEG-Y file", err)) || (rc = lw_segy_open(info->file, &file, err)))
        return rc;
    rc = describe_open(&file, info, err);
    lw_segy_close(&file);
    return rc;
}

static int list(const char *file, lw_list_fn *visit, void *context, struct lw_error *err)
{
    struct lw_dataset_info info = {.metadata_axis = -1};
    struct lw_segy_file segy;
    char storage[120];
    snprintf(info.file, sizeof info.file, "%s", file);
    int rc = lw_segy_open(file, &segy, err);
    if (rc)
        return rc;
    if ((rc = describe_open(&segy, &info, err)) == LW_OK) {
        snprintf(storage, sizeof storage, "%" PRId64 " trace%s of %s, %s endian", segy.n_traces, segy.n_traces == 1 ? "" : "s",
                 segy.format->text, segy.is_big ? "big" : "little");
        lw_archive_list(&info, storage, segy.n_traces * segy.pitch, visit, context);
    }
    lw_segy_close(&segy);
    return rc;
}

/* ---- samples ------------------------------------------------------------------------------------------------------- */

static void close_dataset(void *dataset)
{
    struct lw_segy_file *const file = dataset;
    lw_segy_close(file);
    lw_free(file);
}

static int open_file(void *dataset, const struct lw_dataset_info *info, struct lw_error *err)
{
    struct lw_segy_file *const file = dataset;
    struct lw_dataset_info now = {0};
    const int rc = lw_segy_open(info->file, file, err);
    if (rc)
        return rc;
    const int64_t length = info->dims[info->n_dims - 1];
    if (file->n_samples != length)
        lw_segy_set_length(file, info->file, length, NULL);        /* what the traces say was taken */
    set_shape(file, &now);
    return lw_archive_check_same(&now, info, err);
}

static int open_dataset(const struct lw_dataset_info *info, void **dataset, struct lw_error *err)
{
    return lw_archive_open(sizeof(struct lw_segy_file), open_file, close_dataset, info, dataset, err);
}

/* Samples to be converted are read to the end of their row in memory first. */
static int read_box(void *dataset, const struct lw_box *box, struct lw_error *err)
{
    const struct lw_segy_file *const file = dataset;
    const struct lw_segy_format *const format = file->format;
    const struct lw_box_rows rows = lw_archive_rows(box, file->n_traces > 1 ? 2 : 1);
    const int64_t bytes = (int64_t)lw_scalar_bytes(format->scalar), behind = rows.count * (bytes - format->bytes);
    const struct lw_bytes_box from_file = {
        .count = {1, rows.n, rows.count}, .element_bytes = format->bytes,
        .from = {0, rows.row_step * file->pitch, rows.step * format->bytes},
        .to = {0, rows.pitch * bytes, format->bytes},
    };
    const int64_t samples = file->first_byte + rows.row * file->pitch + file->header_bytes;
    char bounce[64 << 10], *const into = box->into;
    const int rc = lw_bytes_read_box(&from_file, file->fd, samples + rows.first * format->bytes, into + behind, bounce,
                                     sizeof bounce, err);
    for (int64_t r = 0; rc == LW_OK && format->convert[0] && r < rows.n; r++) {
        char *const row = into + r * rows.pitch * bytes;
        format->convert[file->is_big]((const unsigned char *)row + behind, rows.count, row);
    }
    return rc;
}

/* Names as segyio has them, where it has; of a trace, the first one's. */
static void visit_attributes(const struct lw_dataset_info *info, lw_attribute_fn *visit, void *context)
{
    static const struct {
        const char *name;
        int byte, bytes;
    } fields[] = {
        {"JobID", 3201, 4}, {"LineNumber", 3205, 4}, {"ReelNumber", 3209, 4}, {"EnsembleFold", 3227, 2}, {"SortingCode", 3229, 2},
        {"MeasurementSystem", 3255, 2}, {"FieldRecord", 9, 4}, {"DelayRecordingTime", 109, 2}, {"TimeBaseCode", 167, 2},
    };
    struct lw_segy_file file;
    char text[LW_SEGY_TEXT_BYTES + 41];
    if (lw_segy_open(info->file, &file, NULL))
        return;
    const struct lw_attribute header = {.name = "TextHeader", .kind = LW_ATTRIBUTE_TEXT, .text = lw_segy_text(&file, text)};
    if (text[0])
        visit(&header, context);
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        const struct lw_attribute field = {.name = fields[f].name, .kind = LW_ATTRIBUTE_INT,
                                           .integer = lw_segy_field(&file, fields[f].byte, fields[f].bytes)};
        if (field.integer != 0)
            visit(&field, context);
    }
    lw_segy_close(&file);
}

const struct lw_format lw_format_segy = {
    .name = "SEG-Y",
    .file_text = "a SEG-Y file",
    .recognise = recognise,
    .list = list,
    .describe = describe,
    .open = open_dataset,
    .read = read_box,
    .reads_in_threads = true,
    .close = close_dataset,
    .visit_attributes = visit_attributes,
};
