#include "io/growing.h"

#include "base/integers.h"
#include "base/memory.h"

#include <assert.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>

/* ---- a dataset's description, copied --------------------------------------------------------------------------------- */

/* Where copies go, one behind the other. Without memory their bytes are only counted, and what is copied is NULL. */
struct copies {
    char *memory;
    int64_t bytes;
};

static void *copy(struct copies *copies, const void *from, size_t bytes)
{
    char *const to = copies->memory ? copies->memory + copies->bytes : NULL;
    if (to)
        memcpy(to, from, bytes);
    copies->bytes += round_up((int64_t)bytes, LW_ALIGNMENT);
    return to;
}

static const char *copy_text(struct copies *copies, const char *text)
{
    return text ? copy(copies, text, strlen(text) + 1) : NULL;
}

static struct lw_column *copy_columns(struct copies *copies, const struct lw_column *columns, int n)
{
    struct lw_column *const own = copy(copies, columns, (size_t)n * sizeof *columns);
    for (int c = 0; c < n; c++) {
        const char *const name = copy_text(copies, columns[c].name);
        if (own)
            own[c].name = name;
    }
    return own;
}

static struct lw_attribute *copy_attributes(struct copies *copies, const struct lw_attribute *attributes, int n)
{
    struct lw_attribute *const own = n > 0 ? copy(copies, attributes, (size_t)n * sizeof *attributes) : NULL;
    for (int a = 0; a < n; a++) {
        struct lw_attribute attribute = attributes[a];
        attribute.name = copy_text(copies, attribute.name);
        attribute.text = copy_text(copies, attribute.text);
        if (attribute.kind == LW_ATTRIBUTE_REALS)
            attribute.reals = copy(copies, attribute.reals, (size_t)attribute.n_reals * sizeof *attribute.reals);
        if (own)
            own[a] = attribute;
    }
    return own;
}

static struct lw_writer_dataset copy_dataset(struct copies *copies, const struct lw_writer_dataset *spec)
{
    struct lw_writer_dataset own = *spec;
    own.path = copy_text(copies, spec->path);
    own.dim_names[0] = copy_text(copies, spec->dim_names[0]);
    own.columns = copy_columns(copies, spec->columns, spec->n_columns);
    own.attributes = copy_attributes(copies, spec->attributes, spec->n_attributes);
    return own;
}

static int keep_dataset(struct lw_growing *table, const struct lw_writer_dataset *spec, struct lw_error *err)
{
    struct copies copies = {0};
    copy_dataset(&copies, spec);
    table->memory = lw_alloc((size_t)copies.bytes, "the description of a table", err);
    if (!table->memory)
        return LW_ESYSTEM;
    copies = (struct copies){.memory = table->memory};
    table->dataset = copy_dataset(&copies, spec);
    return LW_OK;
}

/* ---- create -------------------------------------------------------------------------------------------------------- */

static int make_spool(struct lw_growing *table, const char *result, struct lw_error *err)
{
    char name[LW_MAX_PATH];
    snprintf(name, sizeof name, "%s", result);
    snprintf(table->folder, sizeof table->folder, "%s", dirname(name));
    const struct lw_spool_spec spec = {
        .row = {.bytes = table->dataset.n_columns * 8, .compare = table->dataset.compare},
        .name = table->dataset.path, .folder = table->folder, .memory_bytes = LW_SPOOL_BYTES,
    };
    return lw_spool_create(&spec, &table->spool, err);
}

int lw_growing_create(const struct lw_writer_dataset *spec, const char *result, struct lw_growing **out, struct lw_error *err)
{
    assert(spec->grows && spec->n_columns > 0 && spec->compare && spec->n_dims == 1 && spec->dims[0] == 0);
    struct lw_growing *const table = lw_alloc(sizeof *table, "a table", err);
    int rc;
    if (!table)
        return LW_ESYSTEM;
    if ((rc = keep_dataset(table, spec, err)) || (rc = make_spool(table, result, err))) {
        lw_growing_destroy(table);
        return rc;
    }
    *out = table;
    return LW_OK;
}

void lw_growing_destroy(struct lw_growing *table)
{
    if (!table)
        return;
    lw_spool_destroy(table->spool);
    lw_free(table->memory);
    lw_free(table);
}
