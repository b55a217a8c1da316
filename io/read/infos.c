#include "io/read/infos.h"

#include "base/integers.h"
#include "base/memory.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The name comes first and stands by itself. Offsets and lengths are 16 bits wide. */
static_assert(offsetof(struct lw_dataset_info, file) == 0, "the name comes first");
static_assert(sizeof(struct lw_dataset_info) < UINT16_MAX, "offsets have 16 bits");

enum { NAME = LW_MAX_PATH, ALL = sizeof(struct lw_dataset_info), HEAD = 2 * sizeof(uint16_t) };

static int make_room(struct lw_infos *infos, int64_t bytes, struct lw_error *err)
{
    if (infos->bytes + bytes <= infos->room)
        return LW_OK;
    const int64_t room = lw_max64(infos->bytes + bytes, infos->room + infos->room / 2);
    char *const records = lw_alloc((size_t)room, "the files' metadata", err);
    if (!records)
        return LW_ESYSTEM;
    memcpy(records, infos->records ? infos->records : "", (size_t)infos->bytes);
    lw_free(infos->records);
    infos->records = records;
    infos->room = room;
    return LW_OK;
}

static void put(struct lw_infos *infos, const void *data, size_t bytes)
{
    memcpy(infos->records + infos->bytes, data, bytes);
    infos->bytes += (int64_t)bytes;
}

static void put_number(struct lw_infos *infos, int number) { put(infos, &(uint16_t){(uint16_t)number}, sizeof(uint16_t)); }

static int number_at(const char *at)
{
    uint16_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

/* The first byte from `from` on that differs, or ALL. */
static int next_difference(const char *a, const char *b, int from)
{
    while (from < ALL && a[from] == b[from])
        from++;
    return from;
}

int lw_infos_begin(struct lw_infos *infos, const struct lw_dataset_info *first, struct lw_error *err)
{
    *infos = (struct lw_infos){.first = lw_alloc(sizeof *first, "the files' metadata", err)};
    if (!infos->first)
        return LW_ESYSTEM;
    *infos->first = *first;
    return LW_OK;
}

int lw_infos_add(struct lw_infos *infos, const struct lw_dataset_info *info, struct lw_error *err)
{
    const char *const a = (const char *)infos->first, *const b = (const char *)info;
    const int rc = make_room(infos, 2 * ALL + 2 * HEAD, err);      /* a piece's head is no longer than the gap before it */
    if (rc)
        return rc;
    put(infos, info->file, strlen(info->file) + 1);
    const int64_t count = infos->bytes;
    int n = 0;
    put_number(infos, 0);
    for (int from = next_difference(a, b, NAME); from < ALL; n++) {
        int end = from;         /* equal bytes are taken along where a piece of its own would be no shorter */
        for (int next = from; next < ALL && next - end <= HEAD; next = next_difference(a, b, end))
            end = next + 1;
        put_number(infos, from);
        put_number(infos, end - from);
        put(infos, b + from, (size_t)(end - from));
        from = next_difference(a, b, end);
    }
    memcpy(infos->records + count, &(uint16_t){(uint16_t)n}, sizeof(uint16_t));
    return LW_OK;
}

int lw_infos_append(struct lw_infos *infos, const void *records, int64_t bytes, struct lw_error *err)
{
    const int rc = make_room(infos, bytes, err);
    if (rc == LW_OK && records)
        memcpy(infos->records + infos->bytes, records, (size_t)bytes);
    infos->bytes += rc ? 0 : bytes;
    return rc;
}

/* Go over the pieces of a record, behind its name. @param into  NULL: nothing is copied. @return  the next record */
static const char *walk(const char *at, char *into)
{
    const int n = number_at(at);
    at += sizeof(uint16_t);
    for (int p = 0; p < n; p++) {
        const int from = number_at(at), length = number_at(at + sizeof(uint16_t));
        if (into)
            memcpy(into + from, at + HEAD, (size_t)length);
        at += HEAD + length;
    }
    return at;
}

int lw_infos_index(struct lw_infos *infos, int64_t n, int64_t n_sources, struct lw_error *err)
{
    const char *at = infos->records;
    if (!(infos->begin = lw_alloc_array(n, sizeof *infos->begin, "the files' metadata", err)))
        return LW_ESYSTEM;
    for (int64_t source = 0; source < n_sources; source++)
        for (int64_t f = source; f < n; f += n_sources) {
            infos->begin[f] = at - infos->records;
            at = walk(at + strlen(at) + 1, NULL);
        }
    infos->n = n;
    assert(at == infos->records + infos->bytes);
    return LW_OK;
}

const char *lw_infos_file(const struct lw_infos *infos, int64_t number) { return infos->records + infos->begin[number]; }

const struct lw_dataset_info *lw_infos_get(const struct lw_infos *infos, int64_t number, struct lw_dataset_info *info)
{
    const char *const name = lw_infos_file(infos, number);
    *info = *infos->first;
    strcpy(info->file, name);
    walk(name + strlen(name) + 1, (char *)info);
    return info;
}

void lw_infos_release(struct lw_infos *infos)
{
    lw_free(infos->first);
    lw_free(infos->records);
    lw_free(infos->begin);
    *infos = (struct lw_infos){0};
}
