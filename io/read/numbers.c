/* numbers.c - a dataset small enough for every rank to hold: read by rank 0 alone, broadcast as float64. */
#include "io/read/numbers.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/examine.h"
#include "io/read/reader.h"
#include "io/read/source.h"

#include <inttypes.h>

/* Of a dataset that is read as numbers, at a time. */
#define BLOCK_BYTES ((int64_t)1 << 20)

/* ---- by one process ---------------------------------------------------------------------------------------------------- */

static int64_t row_samples(const struct lw_dataset_info *info)
{
    int64_t samples = 1;
    for (int d = 1; d < info->n_dims; d++)
        samples *= info->dims[d];
    return samples;
}

/* Rows [first, first + count) of the first dimension. */
static struct lw_box box_of_rows(const struct lw_dataset_info *info, int64_t first, int64_t count, void *into)
{
    struct lw_box box = {.n_runs = 1, .run = count * row_samples(info), .into = into};
    for (int d = 0; d < info->n_dims; d++) {
        box.step[d] = 1;
        box.count[d] = d == 0 ? count : info->dims[d];
    }
    box.first[0] = first;
    box.pitch = box.run;
    return box;
}

static int read_blocks(const struct lw_format *format, const struct lw_dataset_info *info, void *dataset, double *values,
                       struct lw_error *err)
{
    const int64_t samples = row_samples(info);
    const int64_t row_bytes = samples * (int64_t)lw_type_bytes(info->type), rows = max64(1, BLOCK_BYTES / row_bytes);
    void *const block = lw_alloc_array(min64(rows, info->dims[0]), (size_t)row_bytes, "a dataset that is read as numbers", err);
    int rc = block ? LW_OK : LW_ESYSTEM;
    struct lw_error reason;
    for (int64_t r = 0; rc == LW_OK && r < info->dims[0]; r += rows) {
        const struct lw_box box = box_of_rows(info, r, min64(rows, info->dims[0] - r), block);
        if ((rc = format->read(dataset, &box, &reason)))
            lw_fail(err, rc, "cannot read %.600s: %.300s", lw_dataset_name(info).text, reason.message);
        for (int64_t i = 0; rc == LW_OK && i < box.run; i++)
            values[r * samples + i] = lw_type_number(info->type, block, i);
    }
    lw_free(block);
    return rc;
}

static int read_through(const struct lw_format *format, const struct lw_dataset_info *info, double *values, struct lw_error *err)
{
    void *dataset;
    int rc = format->open(info, &dataset, err);
    if (rc)
        return rc;
    rc = read_blocks(format, info, dataset, values, err);
    format->close(dataset);
    return rc;
}

int lw_format_read_numbers(const struct lw_format *format, const struct lw_dataset_info *info, double *values, struct lw_error *err)
{
    const int rc = format->read_numbers ? format->read_numbers(info, values, err) : read_through(format, info, values, err);
    if (rc == LW_OK)
        lw_packing_undo(&info->packing, info->type, info->dims[0] * row_samples(info), values);
    return rc;
}

/* ---- by all ranks ------------------------------------------------------------------------------------------------------ */

/* Doubles that all elements are; -1 if that is more than can be counted. */
static int64_t count_doubles(const struct lw_dataset_info *info)
{
    int64_t count = info->type.is_complex ? 2 : 1;
    for (int d = 0; d < info->n_dims; d++)
        if (__builtin_mul_overflow(count, info->dims[d], &count))
            return -1;
    return count;
}

static int check_shape(const struct lw_dataset_info *info, int most_dims, struct lw_error *err)
{
    if (info->n_dims > most_dims || info->n_dims < 1)
        return lw_fail(err, LW_EDATA, "%s has %d dimensions: it must have 1 %s %d", lw_dataset_name(info).text, info->n_dims,
                       most_dims > 2 ? "to" : "or", most_dims);
    if (count_doubles(info) < 0)
        return lw_fail(err, LW_EDATA, "%s has %" PRId64 " x %" PRId64 "%s elements: more than any memory holds",
                       lw_dataset_name(info).text, info->dims[0], info->dims[1], info->n_dims > 2 ? " x .." : "");
    return LW_OK;
}

static int read_alone(const char *name, int most_dims, struct lw_dataset_info *info, double **values, struct lw_error *err)
{
    const struct lw_format *format;
    struct lw_dataset_info described;
    int rc = lw_examine_dataset(name, NULL, LW_USE_NUMBERS, &described, err);
    if (rc)
        return rc;
    *info = described;
    lw_source_squeeze(info, 1, most_dims, NULL);
    if ((rc = check_shape(info, most_dims, err)))
        return rc;
    *values = lw_alloc_array(count_doubles(info), sizeof **values, lw_dataset_name(info).text, err);
    if (!*values)
        return LW_ESYSTEM;
    (void)((rc = lw_formats_find(info->file, NULL, &format, err)) || (rc = lw_format_read_numbers(format, &described, *values, err)));
    return rc;
}

int lw_reader_read_numbers(struct lw_comm *comm, const char *name, int most_dims, struct lw_dataset_info *info, double **values,
                           struct lw_error *err)
{
    const bool reads = lw_comm_rank(comm) == 0;
    struct lw_dataset_info found = {0};
    double *all = NULL;
    int rc = lw_comm_agree(comm, reads ? read_alone(name, most_dims, &found, &all, err) : LW_OK, err);
    if (rc)
        goto fail;
    lw_comm_broadcast(comm, &found, sizeof found);
    const int64_t count = count_doubles(&found);
    if (!reads)
        all = lw_alloc_array(count, sizeof *all, lw_dataset_name(&found).text, err);
    if ((rc = lw_comm_agree(comm, all ? LW_OK : LW_ESYSTEM, err)))
        goto fail;
    lw_comm_broadcast(comm, all, count * (int64_t)sizeof *all);
    *info = found;
    *values = all;
    return LW_OK;
fail:
    lw_free(all);
    return rc;
}
