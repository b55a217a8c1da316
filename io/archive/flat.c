#include "io/archive/flat.h"

#include "base/file.h"
#include "base/integers.h"
#include "io/archive/shared.h"
#include "io/bytes/transfer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* Size of the buffer for numbers to be converted, on the stack of the reading thread. */
enum { BUFFER_BYTES = 64 << 10 };

/* ---- describe ---------------------------------------------------------------------------------------------------------- */

/* Return the array's size in bytes; -1: 64 bits cannot count them. */
static int64_t count_bytes(const struct lw_flat *flat)
{
    int64_t bytes = lw_values_bytes(&flat->values);
    for (int d = 0; d < flat->n_dims; d++)
        if (flat->dims[d] < 0 || __builtin_mul_overflow(bytes, flat->dims[d], &bytes))
            return -1;
    return bytes;
}

static int check_room(const struct lw_flat *flat, const struct lw_dataset_info *info, struct lw_error *err)
{
    const int64_t bytes = count_bytes(flat), file_bytes = flat->file_bytes > 0 ? flat->file_bytes : info->file_bytes;
    int64_t end;
    if (bytes == 0)
        return lw_fail(err, LW_EDATA, "%s holds no data", lw_dataset_name(info).text);
    if (bytes < 0 || __builtin_add_overflow(flat->offset, bytes, &end))
        return lw_fail(err, LW_EDATA, "%s claims more bytes than 64 bits can count: its header is damaged",
                       lw_dataset_name(info).text);
    if (end > file_bytes)
        return lw_fail(err, LW_EDATA, "%s is cut short: by its header %" PRId64 " bytes of samples begin at byte %" PRId64 ", "
                       "but the file has %" PRId64 " bytes", lw_dataset_name(info).text, bytes, flat->offset,
                       file_bytes);
    return LW_OK;
}

int lw_flat_describe(const struct lw_flat *flat, bool is_tiled, struct lw_dataset_info *info, struct lw_error *err)
{
    info->n_dims = flat->n_dims;
    memcpy(info->dims, flat->dims, sizeof info->dims);
    info->type = lw_values_type(&flat->values);
    return is_tiled ? LW_OK : check_room(flat, info, err);
}

int lw_flat_check_same(const struct lw_flat *flat, const struct lw_dataset_info *info, struct lw_error *err)
{
    struct lw_dataset_info now = {0};
    lw_flat_describe(flat, true, &now, err);           /* true: skips the check of the file's size */
    return lw_archive_check_same(&now, info, err);
}

void lw_flat_list(const struct lw_flat *flat, const char *path, const char *tiles, int64_t stored_bytes, lw_list_fn *visit,
                  void *context)
{
    const struct lw_values *const values = &flat->values;
    const char *const order = lw_field_is_swapped(true) ? " (big endian)" : " (little endian)";
    struct lw_listing row = {.path = path, .stored_bytes = tiles ? stored_bytes : lw_max64(0, count_bytes(flat))};
    lw_archive_shape(flat->dims, flat->n_dims, &row);
    snprintf(row.type, sizeof row.type, "%s%s%s", values->is_complex ? "complex " : "", lw_number_text(values->number),
             values->is_swapped && lw_number_bytes(values->number) > 1 ? order : "");
    if (tiles)
        snprintf(row.storage, sizeof row.storage, "%s", tiles);
    else
        snprintf(row.storage, sizeof row.storage, "contiguous%s%s", flat->is_column_major ? ", column-major" : "",
                 values->is_about_middle || values->is_scaled ? ", scaled" : "");
    visit(&row, context);
}

/* ---- open -------------------------------------------------------------------------------------------------------------- */

void lw_flat_close(void *dataset)
{
    const struct lw_flat_opened *const opened = dataset;
    if (opened->fd >= 0)
        close(opened->fd);
}

int lw_flat_open(struct lw_flat_opened *opened, const struct lw_dataset_info *info, struct lw_error *err)
{
    const int rc = lw_flat_check_same(&opened->flat, info, err);
    return rc || opened->fd >= 0 ? rc : lw_file_open_input(info->file, &opened->fd, err);
}

bool lw_flat_locate(void *dataset, struct lw_stored *out)
{
    const struct lw_flat_opened *const opened = dataset;
    *out = (struct lw_stored){.fd = opened->fd, .offset = opened->flat.offset};
    return lw_values_are_flat(&opened->flat.values) && !opened->flat.is_column_major;
}

/* ---- read -------------------------------------------------------------------------------------------------------------- */

/* Numbers of the array along one dimension, evenly spaced in the file. */
struct piece {
    int64_t first, step, count;         /* indices of the numbers in the file, from the array's first: first, step, how many */
    char *to;
    int64_t to_step;                    /* distance in memory, in samples */
};

static int64_t sample_bytes(const struct lw_flat_opened *opened)
{
    return (int64_t)lw_type_bytes(lw_values_type(&opened->flat.values));
}

/* Read one piece. Skipped numbers are read with the wanted ones if both fit the buffer; otherwise single numbers are read. */
static int read_piece(const struct lw_flat_opened *opened, const struct piece *piece, struct lw_error *err)
{
    _Alignas(16) char buffer[BUFFER_BYTES];
    const struct lw_values *const values = &opened->flat.values;
    const int64_t bytes = lw_values_bytes(values), most = lw_max64(1, (BUFFER_BYTES / bytes - 1) / piece->step + 1);
    const int64_t offset = opened->flat.offset, to_bytes = piece->to_step * sample_bytes(opened);
    int rc = LW_OK;
    if (lw_values_are_flat(values) && piece->step == 1 && piece->to_step == 1)
        return lw_bytes_read(opened->fd, piece->to, offset + piece->first * bytes, piece->count * bytes, err);
    for (int64_t at = 0, n; at < piece->count && rc == LW_OK; at += n) {
        n = lw_min64(most, piece->count - at);
        const int64_t first = piece->first + at * piece->step;
        rc = lw_bytes_read(opened->fd, buffer, offset + first * bytes, ((n - 1) * piece->step + 1) * bytes, err);
        if (rc == LW_OK)
            lw_values_convert(values, buffer, piece->step, n, piece->to + at * to_bytes, piece->to_step);
    }
    return rc;
}

/* Return the distance of neighbours along dimension d in the file, in numbers. */
static int64_t stride_of(const struct lw_flat *flat, int d)
{
    int64_t stride = 1;
    if (flat->is_column_major)
        for (int e = 0; e < d; e++)
            stride *= flat->dims[e];
    else
        for (int e = d + 1; e < flat->n_dims; e++)
            stride *= flat->dims[e];
    return stride;
}

/* Return the file's index of an element of a box. @param number  the element's row-major number in dimensions [from, to) */
static int64_t place_in_file(const struct lw_flat *flat, const struct lw_box *box, int from, int to, int64_t number)
{
    int64_t place = 0;
    for (int d = to - 1; d >= from; d--) {
        place += (box->first[d] + number % box->count[d] * box->step[d]) * stride_of(flat, d);
        number /= box->count[d];
    }
    return place;
}

/* Read a box in pieces along the dimension `inner`, whose elements are neighbours in the file. In a column-major array this is the
 * first; its elements then lie n samples apart in memory, n being the product of the other counts. */
int lw_flat_read(void *dataset, const struct lw_box *box, struct lw_error *err)
{
    const struct lw_flat_opened *const opened = dataset;
    const struct lw_flat *const flat = &opened->flat;
    const bool by_columns = flat->is_column_major, is_packed = box->n_runs == 1 || box->pitch == box->run;
    int inner = by_columns ? 0 : flat->n_dims - 1, rc = LW_OK;
    struct piece piece = {.step = box->step[inner], .count = box->count[inner], .to_step = 1};
    /* Whole rows that follow each other both in the file and in memory are joined to one piece. */
    while (!by_columns && inner > 0 && box->count[inner] == flat->dims[inner] && box->step[inner - 1] == 1 &&
           box->run % (piece.count * box->count[inner - 1]) == 0) {
        piece.count *= box->count[--inner];
        piece.step = 1;
    }
    const int from = by_columns ? 1 : 0, to = by_columns ? flat->n_dims : inner;
    const int64_t n = lw_product64(box->count + from, to - from);
    assert(!by_columns || is_packed || box->run == n);
    if (by_columns)
        piece.to_step = is_packed ? n : box->pitch;
    for (int64_t i = 0; i < n && rc == LW_OK; i++) {
        const int64_t element = by_columns ? i : i * piece.count;
        piece.first = place_in_file(flat, box, from, to, i) + box->first[inner] * stride_of(flat, inner);
        piece.to = (char *)box->into + (element / box->run * box->pitch + element % box->run) * sample_bytes(opened);
        rc = read_piece(opened, &piece, err);
    }
    return rc;
}

struct lw_box lw_flat_whole(const struct lw_flat *flat, void *into)
{
    struct lw_box box = {.n_runs = 1, .run = 1, .into = into};
    for (int d = 0; d < flat->n_dims; d++) {
        box.step[d] = 1;
        box.count[d] = flat->dims[d];
        box.run *= flat->dims[d];
    }
    box.pitch = box.run;
    return box;
}

int lw_flat_read_numbers(const struct lw_flat *flat, const struct lw_dataset_info *info, int fd, double *values,
                         struct lw_error *err)
{
    const struct lw_box box = lw_flat_whole(flat, values);
    struct lw_flat_opened opened = {.flat = *flat, .fd = fd};
    struct lw_error reason;
    int rc = lw_flat_open(&opened, info, err);
    opened.flat.values.as_float64 = true;
    if (rc == LW_OK && (rc = lw_flat_read(&opened, &box, &reason)))
        lw_fail(err, (enum lw_code)rc, "cannot read %s: %s", lw_dataset_name(info).text, reason.message);
    lw_flat_close(&opened);
    return rc;
}
