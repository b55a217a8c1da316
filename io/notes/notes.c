#include "io/notes/notes.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/format.h"
#include "io/notes/recorder.h"
#include "io/shield.h"

#include <stdio.h>

static int look(const struct lw_object *object, void *result, struct lw_error *err)
{
    const struct lw_format *format;
    struct lw_notes *const notes = result;
    memset(notes, 0, sizeof *notes);
    const int rc = lw_formats_find(object->file, &object->hints, &format, err);
    return rc || !format->read_notes ? rc : format->read_notes(object, notes, err);
}

int lw_notes_read(const char *name, const struct lw_hints *hints, struct lw_notes *notes, struct lw_error *err)
{
    struct lw_object object;
    const int rc = lw_object_parse(name, &object, err);
    if (hints)
        object.hints = *hints;
    return rc ? rc : lw_shield(look, &object, notes, sizeof *notes, err);
}

int lw_notes_read_rows(const char *name, const struct lw_rows *rows, double *values, struct lw_error *err)
{
    struct lw_object object;
    const struct lw_format *format;
    int rc;
    if ((rc = lw_object_parse(name, &object, err)) || (rc = lw_formats_find(object.file, NULL, &format, err)))
        return rc;
    if (!format->library)
        return lw_fail(err, LW_EDATA, "'%s' is %s: it holds no tables", object.file, format->file_text);
    return format->library->read_rows(&object, rows, values, err);
}

int lw_notes_read_column(const char *name, const struct lw_notes *table, const char *column, double **values, struct lw_error *err)
{
    const struct lw_rows rows = {.count = table->n_rows, .columns = &column, .n_columns = 1};
    *values = lw_alloc_array(rows.count, sizeof **values, "a table", err);
    return *values ? lw_notes_read_rows(name, &rows, *values, err) : LW_ESYSTEM;
}

int lw_notes_each_row(const char *name, const struct lw_rows *rows, lw_row_fn *visit, void *context, struct lw_error *err)
{
    enum { BLOCK_ROWS = 1 << 16 };
    struct lw_rows block = *rows;
    LW_FREED double *const values =
        lw_alloc_array(lw_min64(BLOCK_ROWS, rows->count) * rows->n_columns, sizeof *values, "a table", err);
    int rc = values ? LW_OK : LW_ESYSTEM;
    for (int64_t done = 0; done < rows->count && rc == LW_OK; done += block.count) {
        block.first = rows->first + done;
        block.count = lw_min64(BLOCK_ROWS, rows->count - done);
        rc = lw_notes_read_rows(name, &block, values, err);
        for (int64_t i = 0; i < block.count && rc == LW_OK; i++)
            visit(context, values + i * block.n_columns);
    }
    return rc;
}

static bool has_column(const struct lw_notes *notes, const char *name)
{
    for (int c = 0; c < notes->n_columns; c++)
        if (notes->columns[c].is_number && strcmp(notes->columns[c].name, name) == 0)
            return true;
    return false;
}

bool lw_notes_have_columns(const struct lw_notes *notes, const char *const *names)
{
    for (; *names; names++)
        if (!has_column(notes, *names))
            return false;
    return true;
}

/* ---- the attributes alone --------------------------------------------------------------------------------------------- */

static int look_at_attributes(const struct lw_object *object, void *result, struct lw_error *err)
{
    const struct lw_format *format;
    struct lw_dataset_info info = {.hints = object->hints, .metadata_axis = -1};
    memset(result, 0, sizeof(struct lw_said));
    snprintf(info.file, sizeof info.file, "%s", object->file);
    snprintf(info.path, sizeof info.path, "%s", object->path);
    const int rc = lw_formats_find(info.file, &info.hints, &format, err);
    if (rc == LW_OK && format->visit_attributes)
        format->visit_attributes(&info, lw_said_add, result);
    return rc;
}

/* Add the recorder's fields as attributes: some conventions store them outside the dataset's attributes. */
static void add_recorder(const struct lw_recorder *recorder, struct lw_said *said)
{
    char name[LW_RECORDER_VALUE], value[LW_RECORDER_VALUE];
    for (const char *at = recorder->text; lw_recorder_next(&at, name, value); ) {
        const struct lw_attribute attribute = {.name = name, .kind = LW_ATTRIBUTE_TEXT, .text = value};
        for (char *c = name; *c; c++)
            *c = *c == ' ' ? '_' : *c;
        lw_said_add(&attribute, said);
    }
}

int lw_notes_collect(const struct lw_dataset_info *info, struct lw_said *said, struct lw_error *err)
{
    const struct lw_name name = lw_name_of(info->file, info->path);
    struct lw_object object = {.name = name.text, .hints = info->hints};
    snprintf(object.file, sizeof object.file, "%s", info->file);
    snprintf(object.path, sizeof object.path, "%s", info->path);
    const int rc = lw_shield(look_at_attributes, &object, said, sizeof *said, err);
    if (rc == LW_OK && info->convention[0])
        add_recorder(&info->recorder, said);
    return rc;
}

/* ---- good samples ------------------------------------------------------------------------------------------------------ */

/* Find the series that hold the tests, in the child process. object->path holds the tests in place of a path. */
static int look_at_quality(const struct lw_object *object, void *result, struct lw_error *err)
{
    const struct lw_format *format;
    const int rc = lw_formats_find(object->file, &object->hints, &format, err);
    if (rc)
        return rc;
    if (format->library)
        return format->library->find_quality(object->file, object->path, result, err);
    return lw_fail(err, LW_EDATA,
                   "--mask good-data: '%.600s' is %s, a format without marks of good samples; --mask can take marks from "
                   "another file",
                   object->file, format->file_text);
}

int lw_quality_find(const char *file, const struct lw_hints *hints, const char *tests, struct lw_qualities *out,
                    struct lw_error *err)
{
    struct lw_object object = {.name = file, .hints = *hints};
    if (strlen(file) >= sizeof object.file || strlen(tests) >= sizeof object.path)
        return lw_fail(err, LW_EUSAGE, "--mask good-data=%.100s... is longer than %d characters", tests, LW_MAX_PATH - 1);
    memcpy(object.file, file, strlen(file) + 1);
    memcpy(object.path, tests, strlen(tests) + 1);
    return lw_shield(look_at_quality, &object, out, sizeof *out, err);
}
