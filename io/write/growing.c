#include "io/write/structure.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/bytes/transfer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a dataset's description, copied --------------------------------------------------------------------------------- */

/* Memory for copies, one behind the other. If `memory` is NULL, bytes are only counted and each copy is NULL. */
struct copies {
    char *memory;
    int64_t bytes;
};

static void *copy(struct copies *copies, const void *from, size_t bytes)
{
    char *const to = copies->memory ? copies->memory + copies->bytes : NULL;
    if (to)
        memcpy(to, from, bytes);
    copies->bytes += lw_round_up((int64_t)bytes, LW_ALIGNMENT);
    return to;
}

static const char *copy_text(struct copies *copies, const char *text)
{
    return text ? copy(copies, text, strlen(text) + 1) : NULL;
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
    struct lw_column *const columns = copy(copies, spec->columns, (size_t)spec->n_columns * sizeof *columns);
    for (int c = 0; c < spec->n_columns; c++) {
        const char *const name = copy_text(copies, spec->columns[c].name);
        if (columns)
            columns[c].name = name;
    }
    own.columns = columns;
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

static int make_spool(struct lw_growing *table, int (*compare)(const void *a, const void *b), struct lw_error *err)
{
    const struct lw_spool_spec spec = {
        .row = {.bytes = table->dataset.n_columns * 8, .compare = compare},
        .name = table->dataset.path, .folder = table->folder, .memory_bytes = LW_SPOOL_BYTES,
    };
    return lw_spool_create(&spec, &table->spool, err);
}

int lw_growing_create(const struct lw_writer_dataset *spec, const char *result, const char *log, struct lw_growing **out,
                      struct lw_error *err)
{
    assert(spec->grows && spec->n_columns > 0 && spec->compare && spec->n_dims == 1 && spec->dims[0] == 0);
    struct lw_growing *const table = *out = lw_alloc(sizeof *table, "a table", err);
    if (!table)
        return LW_ESYSTEM;
    table->fd = -1;
    snprintf(table->log, sizeof table->log, "%s", log);
    char name[LW_MAX_PATH];
    snprintf(name, sizeof name, "%s", result);
    snprintf(table->folder, sizeof table->folder, "%s", dirname(name));
    const int rc = keep_dataset(table, spec, err);
    return rc ? rc : make_spool(table, spec->gathered ? spec->gathered : spec->compare, err);
}

/* ---- rows ------------------------------------------------------------------------------------------------------------ */

static int64_t row_bytes(const struct lw_growing *table)
{
    return table->dataset.n_columns * (int64_t)8;
}

static int fail_log(const struct lw_growing *table, const char *what, const char *reason, struct lw_error *err)
{
    return lw_fail(err, LW_EIO, "cannot %s the rows of %.100s %s '%.600s': %.100s", what, table->dataset.path,
                   what[0] == 'k' ? "in" : "from", table->log, reason);
}

int lw_growing_append(struct lw_growing *table, const void *rows, int64_t n, struct lw_error *err)
{
    struct lw_error reason;
    const bool is_logged = table->log[0] && n > 0 && !table->is_sifted;
    if (is_logged && table->fd < 0)
        table->fd = open(table->log, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (is_logged && table->fd < 0)
        return fail_log(table, "keep", strerror(errno), err);
    if (is_logged && lw_bytes_write(table->fd, rows, table->n_rows * row_bytes(table), n * row_bytes(table), &reason) != LW_OK)
        return fail_log(table, "keep", reason.message, err);
    table->n_rows += n;
    return lw_spool_append(table->spool, rows, n, err);
}

static int open_log(struct lw_growing *table, int64_t n, struct lw_error *err)
{
    struct stat status;
    table->fd = open(table->log, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (table->fd < 0 || fstat(table->fd, &status) != 0)
        return fail_log(table, "take", strerror(errno), err);
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || status.st_size < n * row_bytes(table))
        return lw_fail(err, LW_EDATA,
                       "'%.600s' does not hold the %" PRId64 " rows of %.100s that an earlier run has found; start over with "
                       "--resume never", table->log, n, table->dataset.path);
    return ftruncate(table->fd, n * row_bytes(table)) == 0 ? LW_OK : fail_log(table, "take", strerror(errno), err);
}

int lw_growing_recall(struct lw_growing *table, int64_t n, lw_rows_fn *see, void *context, struct lw_error *err)
{
    enum { BYTES = 1 << 20 };
    struct lw_error reason;
    if (n == 0) {               /* the earlier run may have logged rows that its journal does not have */
        unlink(table->log);
        return LW_OK;
    }
    LW_FREED char *const rows = lw_alloc(BYTES, "rows of a table", err);
    const int64_t bytes = row_bytes(table);
    int rc = rows ? open_log(table, n, err) : LW_ESYSTEM;
    while (rc == LW_OK && table->n_rows < n) {
        const int64_t count = lw_min64(BYTES / bytes, n - table->n_rows);
        if (lw_bytes_read(table->fd, rows, table->n_rows * bytes, count * bytes, &reason) != LW_OK) {
            rc = fail_log(table, "take", reason.message, err);
            break;
        }
        see(context, rows, count);
        table->n_rows += count;
        rc = lw_spool_append(table->spool, rows, count, err);
    }
    return rc;
}

int lw_growing_sift(struct lw_growing *table, lw_sift_fn *sift, void *context, struct lw_error *err)
{
    struct lw_spool *const gathered = table->spool;
    const void *rows;
    int64_t n;
    table->spool = NULL;
    table->is_sifted = true;
    int rc = make_spool(table, table->dataset.compare, err);
    rc = rc ? rc : lw_spool_sort(gathered, err);
    while (rc == LW_OK && (rc = lw_spool_next(gathered, &rows, &n, err)) == LW_OK && n > 0)
        rc = sift(context, rows, n, err);
    lw_spool_destroy(gathered);
    return rc;
}

int lw_growing_sync(const struct lw_growing *table, struct lw_error *err)
{
    const int fd = table->is_sifted ? -1 : table->fd;     /* a later run goes on from what a checkpoint has synced */
    return fd < 0 || fsync(fd) == 0 ? LW_OK : fail_log(table, "keep", strerror(errno), err);
}

void lw_growing_destroy(struct lw_growing *table)
{
    if (!table)
        return;
    if (table->fd >= 0)
        close(table->fd);
    lw_spool_destroy(table->spool);
    lw_free(table->memory);
    lw_free(table);
}
