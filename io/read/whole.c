#include "io/read/whole.h"

#include "base/integers.h"
#include "base/memory.h"
#include "base/proc.h"
#include "options/words.h"

#include <math.h>
#include <string.h>

/* Bytes of one read: enough for every thread of a pool, and bounded where the reader has buffers. */
#define READ_BYTES ((int64_t)256 << 20)

/* Open the dataset as samples in their stored type; packed samples become float64. */
static int open_samples(struct lw_comm *comm, struct lw_pool *pool, const char *name, int most_dims, struct lw_reader **reader,
                        struct lw_error *err)
{
    char names[8 * LW_MAX_PATH] = "";
    if (lw_words_room(name) > sizeof names)
        return LW_EUSAGE;
    lw_words_append(name, names, names);
    const struct lw_reader_request request = {
        .names = names, .least_dims = 1, .most_dims = most_dims, .join = LW_JOIN_TIME, .precision = LW_DOUBLE,
    };
    const int rc = lw_reader_open_all(comm, &request, reader, err);
    if (rc == LW_OK)
        lw_reader_use(*reader, pool);
    return rc;
}

static bool is_same_shape(const struct lw_dataset_info *a, const struct lw_dataset_info *b)
{
    return a->n_dims == b->n_dims && memcmp(a->dims, b->dims, (size_t)a->n_dims * sizeof *a->dims) == 0 && a->n_dims <= 2;
}

/* Read this rank's share of the rows. */
static int read_share(struct lw_reader *reader, struct lw_whole *whole, struct lw_error *err)
{
    int64_t begin, end;
    lw_shared_part(&whole->memory, &begin, &end);
    const int64_t row_bytes = whole->memory.row_bytes, most = lw_max64(1, READ_BYTES / row_bytes);
    const struct lw_view_spec view = {
        .axis = whole->info.n_dims - 1, .count = whole->row, .channels = {0, whole->rows, 1}, .max_axis = whole->row,
        .max_channels = lw_min64(most, whole->rows), .chunks = LW_CHUNKS_WHOLE,
    };
    int rc = begin < end ? lw_reader_select(reader, &view, err) : LW_OK;
    for (int64_t at = begin; rc == LW_OK && at < end; at += most) {
        const struct lw_slab slab = {
            .count = whole->row, .channel = at, .n_channels = lw_min64(most, end - at),
            .into = (char *)whole->memory.data + at * row_bytes, .into_axis = whole->row,
        };
        rc = lw_reader_read(reader, &slab, err);
    }
    return rc;
}

static int create_memory(struct lw_comm *comm, struct lw_whole *whole, struct lw_error *err)
{
    const int64_t row_bytes = whole->row * (int64_t)lw_type_bytes(whole->type);
    return lw_shared_create(comm, whole->rows, row_bytes, lw_dataset_name(&whole->info).text, &whole->memory, err);
}

/* Read the numbers of a type that no sample has, as float64. */
static int read_numbers(struct lw_comm *comm, const char *name, int most_dims, struct lw_whole *out, struct lw_error *err)
{
    double *values = NULL;
    int64_t begin, end;
    int rc = lw_reader_read_numbers(comm, name, most_dims, &out->info, &values, err);
    out->type = (struct lw_type){.scalar = LW_FLOAT64, .is_complex = out->info.type.is_complex};
    if (rc == LW_OK && (rc = create_memory(comm, out, err)) == LW_OK) {
        lw_shared_part(&out->memory, &begin, &end);
        const size_t row_bytes = (size_t)out->memory.row_bytes;
        memcpy((char *)out->memory.data + (size_t)begin * row_bytes, (const char *)values + (size_t)begin * row_bytes,
               (size_t)(end - begin) * row_bytes);
        lw_shared_complete(&out->memory);
    }
    lw_free(values);
    return rc;
}

int lw_whole_read(struct lw_comm *comm, struct lw_pool *pool, const char *name, int most_dims, struct lw_whole *out,
                  struct lw_error *err)
{
    struct lw_reader *reader = NULL;
    struct lw_error unread = {0};
    *out = (struct lw_whole){.rows = 1};
    int rc = lw_reader_examine_numbers(comm, name, most_dims, &out->info, err);
    if (rc)
        return rc;
    const struct lw_dataset_info *const info = &out->info;
    for (int d = 0; d < info->n_dims - 1; d++)
        out->rows *= info->dims[d];
    out->row = info->dims[info->n_dims - 1];
    const int opened = open_samples(comm, pool, name, most_dims, &reader, &unread);
    if (opened == LW_ESYSTEM) {
        *err = unread;
        return LW_ESYSTEM;
    }
    if (opened == LW_OK && is_same_shape(lw_reader_info(reader), info)) {
        out->type = lw_reader_info(reader)->type;
        rc = create_memory(comm, out, err);
        if (rc == LW_OK && (rc = lw_comm_agree(comm, read_share(reader, out, err), err)) == LW_OK)
            lw_shared_complete(&out->memory);
    } else {
        rc = read_numbers(comm, name, most_dims, out, err);
    }
    if (opened == LW_OK)
        lw_reader_close(reader);
    out->data = out->memory.data;
    if (rc)
        lw_whole_release(out);
    return rc;
}

void lw_whole_release(struct lw_whole *whole)
{
    lw_shared_destroy(&whole->memory);
    whole->data = NULL;
}

/* Return the number of the first value of a row that is not finite; -1: there is none. */
static int64_t find_in_row(const struct lw_whole *whole, int64_t row)
{
    enum { BLOCK = 1024 };
    const int parts = whole->type.is_complex ? 2 : 1;
    const char *const stored = (const char *)whole->data + row * whole->memory.row_bytes;
    double numbers[BLOCK];
    for (int64_t at = 0, count; at < whole->row; at += count) {
        count = lw_min64(BLOCK / parts, whole->row - at);
        lw_type_numbers(whole->type, stored + at * (int64_t)lw_type_bytes(whole->type), count * parts, numbers);
        double sum = 0;         /* not finite if a number is not */
        for (int64_t i = 0; i < count * parts; i++)
            sum += numbers[i] * 0;
        for (int64_t i = 0; !isfinite(sum) && i < count * parts; i++)
            if (!isfinite(numbers[i]))
                return row * whole->row + at + i / parts;
    }
    return -1;
}

int64_t lw_whole_not_finite(struct lw_comm *comm, const struct lw_whole *whole)
{
    int64_t begin, end, found = INT64_MAX;
    lw_shared_part(&whole->memory, &begin, &end);
    const int n_threads = (int)lw_max64(1, lw_min64(lw_proc_cores(), end - begin));
#pragma omp parallel for num_threads(n_threads) schedule(static) reduction(min : found)
    for (int64_t row = begin; row < end; row++) {
        const int64_t first = lw_scalar_is_integer(whole->type.scalar) ? -1 : find_in_row(whole, row);
        found = first >= 0 ? lw_min64(found, first) : found;
    }
    found = lw_comm_min(comm, found);
    return found == INT64_MAX ? -1 : found;
}
