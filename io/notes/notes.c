#include "io/notes/notes.h"

#include "io/format.h"
#include "io/shield.h"

#include <string.h>

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
    if (!format->read_rows)
        return lw_fail(err, LW_EDATA, "'%s' is %s: it holds no tables", object.file, format->file_text);
    return format->read_rows(&object, rows, values, err);
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
