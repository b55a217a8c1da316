#include "io/read/whole.h"

#include "base/integers.h"
#include "base/memory.h"
#include "base/proc.h"

#include <assert.h>

/* Bytes of one read: enough for every thread of a pool, and bounded where the reader has buffers. */
#define READ_BYTES ((int64_t)256 << 20)

static bool has_channels(const struct lw_whole *whole) { return whole->info.n_dims == 3; }

static int64_t n_channels(const struct lw_whole *whole)
{
    return lw_divide_up(whole->channels.end - whole->channels.begin, whole->channels.step);
}

static int select_rows(const struct lw_whole *whole, struct lw_error *err)
{
    struct lw_view_spec view = {
        .axis = whole->info.n_dims - 1, .count = whole->row, .channels = {0, whole->rows, 1},
        .max_channels = lw_min64(whole->at_once, whole->rows), .chunks = LW_CHUNKS_WHOLE,
    };
    if (has_channels(whole)) {
        view.axis = 1;
        view.has_rows = true;
        view.start = whole->channels.begin;
        view.count = whole->channels.end - whole->channels.begin;
    }
    view.max_axis = view.count;
    return lw_reader_select(whole->reader, &view, err);
}

static int begin_rows(const struct lw_whole *whole, int64_t first, int64_t n, char *into, struct lw_error *err)
{
    const int64_t length = has_channels(whole) ? n_channels(whole) : whole->row;
    const struct lw_slab slab = {.count = length, .channel = first, .n_channels = n, .into = into, .into_axis = length};
    return lw_reader_begin(whole->reader, &slab, err);
}

/* Return whether the channels of a row lie apart, so that each is read by itself. */
static bool are_apart(const struct lw_whole *whole) { return has_channels(whole) && whole->channels.step > 1; }

static int read_apart(const struct lw_whole *whole, int64_t first, int64_t n, char *into, struct lw_error *err)
{
    struct lw_slab slab = {.count = 1, .channel = first, .n_channels = n, .into = into, .into_axis = n_channels(whole)};
    int rc = LW_OK;
    for (; rc == LW_OK && slab.into_first < slab.into_axis; slab.into_first++, slab.first += whole->channels.step)
        rc = lw_reader_read(whole->reader, &slab, err);
    return rc;
}

/* Read rows [begin, end). @param into  memory of row `begin` */
static int read_rows(const struct lw_whole *whole, int64_t begin, int64_t end, char *into, struct lw_error *err)
{
    const int64_t row_bytes = lw_whole_row_bytes(whole), most = whole->at_once;
    int rc = begin < end ? select_rows(whole, err) : LW_OK;
    for (int64_t at = begin; rc == LW_OK && at < end; at += most) {
        char *const its = into + (at - begin) * row_bytes;
        const int64_t n = lw_min64(most, end - at);
        rc = are_apart(whole) ? read_apart(whole, at, n, its, err) : begin_rows(whole, at, n, its, err);
        const int end_rc = lw_reader_end(whole->reader, rc ? NULL : err);
        rc = rc ? rc : end_rc;
    }
    return rc;
}

static int create_memory(struct lw_comm *comm, struct lw_whole *whole, struct lw_error *err)
{
    return lw_shared_create(comm, whole->rows, lw_whole_row_bytes(whole), lw_dataset_name(&whole->info).text, &whole->memory, err);
}

/* Make all rows known to all ranks, once each has filled its share. */
static void complete(struct lw_whole *whole)
{
    lw_shared_complete(&whole->memory);
    whole->data = whole->memory.data;
    whole->first = 0;
    whole->n = whole->rows;
}

/* Move the chosen channels of each row together, over all numbers of the dataset. */
static void choose_numbers(const struct lw_whole *whole, char *values)
{
    const struct lw_dataset_info *const info = &whole->info;
    const size_t piece = (size_t)info->dims[2] * lw_type_bytes(whole->type);
    char *into = values;
    for (int64_t row = 0; row < whole->rows; row++)
        for (int64_t c = whole->channels.begin; c < whole->channels.end; c += whole->channels.step, into += piece)
            memmove(into, values + (size_t)(row * info->dims[1] + c) * piece, piece);
}

/* Read the numbers of a type that no sample has, as float64. */
static int read_numbers(struct lw_comm *comm, const char *name, int most_dims, struct lw_whole *out, struct lw_error *err)
{
    LW_FREED double *values = NULL;
    int64_t begin, end;
    int rc = lw_reader_read_numbers(comm, name, most_dims, &out->info, &values, err);
    out->type = (struct lw_type){.scalar = LW_FLOAT64, .is_complex = out->info.type.is_complex};
    if (rc == LW_OK && has_channels(out))
        choose_numbers(out, (char *)values);
    if (rc == LW_OK && (rc = create_memory(comm, out, err)) == LW_OK) {
        lw_shared_part(&out->memory, &begin, &end);
        const size_t row_bytes = (size_t)out->memory.row_bytes;
        memcpy((char *)out->memory.data + (size_t)begin * row_bytes, (const char *)values + (size_t)begin * row_bytes,
               (size_t)(end - begin) * row_bytes);
        complete(out);
    }
    return rc;
}

int lw_whole_open(struct lw_comm *comm, struct lw_pool *pool, const char *name, const struct lw_range *channels,
                  struct lw_whole *out, struct lw_error *err)
{
    struct lw_reader *reader = NULL;
    struct lw_error unread = {0};
    const int most_dims = channels ? 3 : 2;
    *out = (struct lw_whole){0};
    const int rc = lw_reader_examine_numbers(comm, name, most_dims, &out->info, err);
    if (rc)
        return rc;
    const struct lw_dataset_info *const info = &out->info;
    out->rows = info->n_dims > 1 ? info->dims[0] : 1;
    out->row = info->dims[info->n_dims - 1];
    if (has_channels(out)) {
        out->channels = *channels;
        out->row *= n_channels(out);
    }
    const int opened = lw_reader_open_one(comm, name, most_dims, LW_DOUBLE, &reader, &unread);
    if (opened == LW_ESYSTEM) {
        *err = unread;
        return LW_ESYSTEM;
    }
    const struct lw_dataset_info *const its = opened ? NULL : lw_reader_info(reader);
    if (its && its->n_dims == info->n_dims && memcmp(its->dims, info->dims, (size_t)its->n_dims * sizeof *its->dims) == 0) {
        out->type = its->type;
        out->reader = reader;
        out->at_once = lw_max64(1, READ_BYTES / lw_whole_row_bytes(out));
        lw_reader_use(reader, pool);
        return LW_OK;
    }
    lw_reader_close(reader);
    return read_numbers(comm, name, most_dims, out, err);
}

int64_t lw_whole_row_bytes(const struct lw_whole *whole) { return whole->row * (int64_t)lw_type_bytes(whole->type); }

int64_t lw_whole_bytes(const struct lw_whole *whole) { return whole->rows * lw_whole_row_bytes(whole); }

/* Wait for the read of expected rows that is under way. If it fails, these are read again. */
static void end_ahead(struct lw_whole *whole)
{
    if (!whole->ahead.is_reading)
        return;
    whole->ahead.is_reading = false;
    if (lw_reader_end(whole->reader, NULL) == LW_OK)
        whole->ahead.done = lw_min64(whole->ahead.n, whole->ahead.done + whole->at_once);
}

int lw_whole_hold(struct lw_comm *comm, struct lw_whole *whole, struct lw_error *err)
{
    int64_t begin, end;
    if (lw_whole_is_held(whole))
        return LW_OK;
    end_ahead(whole);
    int rc = create_memory(comm, whole, err);
    if (rc)
        return rc;
    lw_shared_part(&whole->memory, &begin, &end);
    rc = read_rows(whole, begin, end, (char *)whole->memory.data + begin * whole->memory.row_bytes, err);
    if ((rc = lw_comm_agree(comm, rc, err)))
        return rc;
    complete(whole);
    lw_reader_close(whole->reader);
    whole->reader = NULL;
    return LW_OK;
}

int lw_whole_reserve(struct lw_whole *whole, int64_t most_rows, struct lw_error *err)
{
    if (lw_whole_is_held(whole) || most_rows <= whole->most_rows)
        return LW_OK;
    lw_free(whole->part);
    whole->n = whole->most_rows = 0;
    if (!(whole->part = lw_alloc_array(most_rows, (size_t)lw_whole_row_bytes(whole), lw_dataset_name(&whole->info).text, err)))
        return LW_ESYSTEM;
    whole->most_rows = most_rows;
    return LW_OK;
}

int lw_whole_reserve_ahead(struct lw_whole *whole, int64_t most_rows, struct lw_error *err)
{
    if (lw_whole_is_held(whole) || whole->ahead.rows)
        return LW_OK;
    whole->ahead.most = most_rows;
    whole->ahead.rows = lw_alloc_array(most_rows, (size_t)lw_whole_row_bytes(whole), lw_dataset_name(&whole->info).text, err);
    return whole->ahead.rows ? LW_OK : LW_ESYSTEM;
}

void lw_whole_expect(struct lw_whole *whole, int64_t first, int64_t n)
{
    if (!whole->ahead.rows || n > whole->ahead.most || are_apart(whole))
        return;
    end_ahead(whole);
    if (whole->ahead.first != first || whole->ahead.n != n)
        whole->ahead.done = 0;
    whole->ahead.first = first;
    whole->ahead.n = n;
    const int64_t done = whole->ahead.done, count = lw_min64(n - done, whole->at_once);
    char *const into = (char *)whole->ahead.rows + done * lw_whole_row_bytes(whole);
    if (count > 0 && select_rows(whole, NULL) == LW_OK) {
        whole->ahead.is_reading = begin_rows(whole, first + done, count, into, NULL) == LW_OK;
        if (!whole->ahead.is_reading)
            lw_reader_end(whole->reader, NULL);
    }
}

int lw_whole_take(struct lw_whole *whole, int64_t first, int64_t n, struct lw_error *err)
{
    if (first >= whole->first && first + n <= whole->first + whole->n)
        return LW_OK;
    assert(n <= whole->most_rows);
    end_ahead(whole);
    const int64_t done = first == whole->ahead.first && n == whole->ahead.n ? whole->ahead.done : 0;
    if (done > 0) {
        void *const rows = whole->part;
        const int64_t most = whole->most_rows;
        whole->part = whole->ahead.rows;
        whole->most_rows = whole->ahead.most;
        whole->ahead.rows = rows;
        whole->ahead.most = most;
    }
    whole->n = whole->ahead.n = 0;
    const int rc = read_rows(whole, first + done, first + n, (char *)whole->part + done * lw_whole_row_bytes(whole), err);
    if (rc == LW_OK) {
        whole->data = whole->part;
        whole->first = first;
        whole->n = n;
    }
    return rc;
}

const void *lw_whole_row(const struct lw_whole *whole, int64_t row)
{
    return (const char *)whole->data + (row - whole->first) * lw_whole_row_bytes(whole);
}

void lw_whole_release(struct lw_whole *whole)
{
    end_ahead(whole);
    lw_reader_close(whole->reader);
    lw_free(whole->part);
    lw_free(whole->ahead.rows);
    whole->ahead.rows = NULL;
    lw_shared_destroy(&whole->memory);
    whole->reader = NULL;
    whole->part = NULL;
    whole->data = NULL;
    whole->n = whole->most_rows = 0;
}

/* Return the number of the first value of a row that is not finite; -1: there is none. */
static int64_t find_in_row(const struct lw_whole *whole, int64_t row)
{
    enum { BLOCK = 1024 };
    const int parts = whole->type.is_complex ? 2 : 1;
    const char *const stored = lw_whole_row(whole, row);
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

int64_t lw_whole_not_finite(const struct lw_whole *whole, int64_t begin, int64_t end)
{
    int64_t found = INT64_MAX;
    const int n_threads = (int)lw_max64(1, lw_min64(lw_proc_cores(), end - begin));
    if (lw_scalar_is_integer(whole->type.scalar))
        return -1;
#pragma omp parallel for num_threads(n_threads) schedule(static) reduction(min : found)
    for (int64_t row = begin; row < end; row++) {
        const int64_t first = find_in_row(whole, row);
        found = first >= 0 ? lw_min64(found, first) : found;
    }
    return found == INT64_MAX ? -1 : found;
}
