#include "verify/state.h"

#include "base/file.h"
#include "base/integers.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/codecs/hash.h"
#include "io/list.h"
#include "stream/sums/sums.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- datasets with checksums ----------------------------------------------------------------------------------------- */

enum { MOST = 16 };

struct datasets {
    char sums[MOST][LW_NOTE_NAME]; /* paths of datasets of checksums: "/checksums/filtered" */
    char tables[MOST][LW_NOTE_NAME];
    int n_sums, n_tables;
};

static void look_at(const struct lw_listing *dataset, void *context)
{
    struct datasets *const found = context;
    const bool is_sums = strncmp(dataset->path, LW_SUMS_GROUP "/", sizeof LW_SUMS_GROUP) == 0;
    const bool is_table = strncmp(dataset->type, "compound {", strlen("compound {")) == 0 && strchr(dataset->path + 1, '/') == NULL;
    if (is_sums && found->n_sums < MOST)
        snprintf(found->sums[found->n_sums++], LW_NOTE_NAME, "%s", dataset->path);
    else if (is_table && found->n_tables < MOST)
        snprintf(found->tables[found->n_tables++], LW_NOTE_NAME, "%s", dataset->path);
}

/* ---- the file in memory ------------------------------------------------------------------------------------------ */

struct mapped {
    const char *bytes;
    int64_t size;
};

/* Return the elements of a dataset in the mapped file; NULL: they do not lie within it. */
static const char *place_of(const struct mapped *mapped, const struct lw_notes *notes)
{
    const bool is_inside = notes->bytes > 0 && notes->offset > 0 && notes->bytes <= mapped->size - notes->offset;
    return is_inside ? mapped->bytes + notes->offset : NULL;
}

static int map_file(const char *file, struct mapped *mapped, struct lw_error *err)
{
    struct stat status;
    int fd;
    const int rc = lw_file_open_input(file, &fd, err);
    if (rc)
        return rc;
    void *const bytes = fstat(fd, &status) == 0 ? mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    const int reason = errno;
    close(fd);
    if (bytes == MAP_FAILED)
        return lw_fail(err, LW_EIO, "cannot read '%s': %s", file, strerror(reason));
    *mapped = (struct mapped){bytes, (int64_t)status.st_size};
    return LW_OK;
}

/* ---- blocks of arrays -------------------------------------------------------------------------------------------- */

/* An array, its checksums, and the shape of their blocks, taken from the attributes of the checksums. */
struct array {
    struct lw_notes *notes, *sums; /* owned */
    struct lw_sums_shape shape;
    int filter, block, channel; /* dimensions of the dataset of checksums; -1: missing */
    int64_t n_sums;
};

static int find_dimension(const struct lw_notes *notes, const char *name)
{
    for (int d = 0; d < notes->n_dims; d++)
        if (strcmp(notes->dimensions[d], name) == 0)
            return d;
    return -1;
}

static int64_t number_of(const struct lw_notes *notes, const char *name)
{
    const double value = lw_said_real(&notes->dataset, name, 0);
    return value >= 1 && value < 0x1p53 ? (int64_t)value : 0;
}

/* Find array->shape. @return  false: array and checksums do not fit each other */
static bool find_shape(struct array *array)
{
    const struct lw_notes *const notes = array->notes, *const sums = array->sums;
    struct lw_sums_shape *const shape = &array->shape;
    array->filter = find_dimension(sums, "filter");
    if (array->filter < 0)
        array->filter = find_dimension(sums, "kernel");
    array->block = find_dimension(sums, "block");
    array->channel = find_dimension(sums, "channel_block");
    if (array->block < 0 || notes->n_dims < sums->n_dims || notes->n_dims > sums->n_dims + 1)
        return false;
    *shape = (struct lw_sums_shape){
        .layout = array->channel > array->block ? LW_TIME_SLOW : LW_TIME_FAST,
        .n_planes = array->filter >= 0 ? notes->dims[array->filter] : 1,
        .n_channels = array->channel >= 0 ? notes->dims[array->channel] : 1, .unit = number_of(sums, "block_outputs"),
        .channel_unit = number_of(sums, "block_channels"), .rate = (int)number_of(sums, "elements_per_output"),
        .every = number_of(sums, "outputs_per_element"), .width = notes->n_dims > sums->n_dims ? notes->dims[notes->n_dims - 1] : 1,
    };
    const int64_t length = notes->dims[array->block], blocks = sums->dims[array->block];
    const int64_t n = lw_product64(notes->dims, notes->n_dims);
    if (shape->unit == 0 || shape->channel_unit == 0 || shape->rate == 0 || shape->every == 0 || n == 0 || notes->bytes % n != 0)
        return false;
    array->n_sums = lw_product64(sums->dims, sums->n_dims);
    shape->value_bytes = notes->bytes / n;
    shape->n_outputs = lw_min64(shape->rate > 1 ? (length - 1) / shape->rate + 1 : length * shape->every, blocks * shape->unit);
    return shape->value_bytes <= 16 && blocks == lw_sums_blocks(shape, shape->n_outputs) &&
           array->n_sums * (int64_t)sizeof(uint64_t) == sums->bytes &&
           array->n_sums == shape->n_planes * blocks * lw_sums_channel_blocks(shape, shape->n_channels);
}

/* Write the place of the block of checksum i: filter or kernel, channels, indices. */
static void place_sum(const struct array *array, int64_t i, char text[160])
{
    const struct lw_sums_shape *const shape = &array->shape;
    int64_t place[LW_MAX_DIMS] = {0};
    for (int d = array->sums->n_dims - 1; d >= 0; i /= array->sums->dims[d], d--)
        place[d] = i % array->sums->dims[d];
    const int64_t first = lw_divide_up(place[array->block] * shape->unit, shape->every) * shape->rate;
    const int64_t end = lw_divide_up((place[array->block] + 1) * shape->unit, shape->every) * shape->rate;
    if (array->filter >= 0)
        lw_append(text, 160, "%s %" PRId64 ", ", array->sums->dimensions[array->filter], place[array->filter]);
    if (array->channel >= 0)
        lw_append(text, 160, "channel %" PRId64, place[array->channel] * shape->channel_unit);
    if (array->channel >= 0 && shape->channel_unit > 1)
        lw_append(text, 160, "..%" PRId64,
                  lw_min64((place[array->channel] + 1) * shape->channel_unit, shape->n_channels) - 1);
    lw_append(text, 160, "%sindex %" PRId64 "..%" PRId64, array->channel >= 0 ? ", " : "", first,
              lw_min64(end, array->notes->dims[array->block]) - 1);
}

static int compare_sums(struct lw_verify *verify, const struct mapped *mapped, const struct array *array,
                        struct lw_verify_row *report, struct lw_error *err)
{
    const struct lw_block all = {.count = array->shape.n_outputs, .n_channels = array->shape.n_channels};
    const char *const data = place_of(mapped, array->notes), *const stored = place_of(mapped, array->sums);
    LW_FREED uint64_t *const sums = lw_alloc_array(array->n_sums, sizeof *sums, "checksums", err);
    LW_FREED char *const gather = lw_alloc((size_t)(lw_pool_threads(verify->pool) * LW_SUMS_GATHER_BYTES), "checksums", err);
    const int rc = sums && gather ? LW_OK : LW_ESYSTEM;
    if (rc == LW_OK)
        lw_sums_of_block(&array->shape, &all, data, gather, verify->pool, sums);
    for (int64_t i = 0; rc == LW_OK && i < array->n_sums; i++) {
        char where[160] = "";
        const bool is_same = memcmp(&sums[i], stored + i * (int64_t)sizeof *sums, sizeof *sums) == 0;
        if (!is_same)
            place_sum(array, i, where);
        lw_verify_count(report, is_same ? 0 : INFINITY, "%s", where);
    }
    return rc;
}

static int check_array(struct lw_verify *verify, const struct mapped *mapped, const char *path, struct lw_error *err)
{
    const char *const of = path + strlen(LW_SUMS_GROUP);
    struct array array = {0};
    int rc;
    if ((rc = lw_verify_read_notes(verify, path, &array.sums, err)) == LW_OK &&
        (rc = lw_verify_read_notes(verify, of, &array.notes, err)) == LW_OK) {
        struct lw_verify_row *const report = lw_verify_add_row(verify, of);
        report->is_sums = true;
        rc = find_shape(&array) && place_of(mapped, array.notes) && place_of(mapped, array.sums)
                 ? compare_sums(verify, mapped, &array, report, err)
                 : lw_fail(err, LW_EDATA, "the checksums %s of '%.600s' do not fit %s: the file is damaged", path,
                           verify->request->file, of);
    }
    lw_free(array.notes);
    lw_free(array.sums);
    return rc;
}

/* ---- rows of tables ---------------------------------------------------------------------------------------------- */

static int check_table(struct lw_verify *verify, const struct mapped *mapped, const char *path, struct lw_error *err)
{
    LW_FREED struct lw_notes *notes = NULL;
    const int rc = lw_verify_read_notes(verify, path, &notes, err);
    const char *const stored = rc == LW_OK ? lw_said_text(&notes->dataset, LW_WRITER_SUM) : "";
    const char *const rows = rc == LW_OK ? place_of(mapped, notes) : NULL;
    if (stored[0]) {
        struct lw_verify_row *const report = lw_verify_add_row(verify, path);
        char found[sizeof LW_WRITER_NO_SUM];
        snprintf(found, sizeof found, "%016" PRIx64, lw_hash_of(rows ? rows : "", rows ? (size_t)notes->bytes : 0));
        report->is_sums = true;
        lw_verify_count(report, strcmp(found, stored) == 0 ? 0 : INFINITY, "its %" PRId64 " rows", notes->n_rows);
    }
    return rc;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

int lw_verify_sums(struct lw_verify *verify, struct lw_error *err)
{
    struct datasets found = {0};
    struct mapped mapped = {0};
    int rc;
    if (!lw_options_flag(verify->request->options, "checksum"))
        return LW_OK;
    if (!lw_hash_is_there())
        return lw_fail(err, LW_ECONFIG, "'%.600s' has checksums, and this build of lapwing has none: build it with xxHash "
                       "(Debian's libxxhash-dev)", verify->request->file);
    if ((rc = lw_list_file(verify->request->file, look_at, &found, err)) || (rc = map_file(verify->request->file, &mapped, err)))
        return rc;
    for (int s = 0; s < found.n_sums && rc == LW_OK; s++)
        rc = check_array(verify, &mapped, found.sums[s], err);
    for (int t = 0; t < found.n_tables && rc == LW_OK; t++)
        rc = check_table(verify, &mapped, found.tables[t], err);
    munmap((void *)(uintptr_t)mapped.bytes, (size_t)mapped.size);
    return rc;
}
