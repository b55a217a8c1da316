/* numbers.c - a dataset small enough for every rank to hold: read by rank 0 alone, broadcast as float64. */
#include "base/integers.h"
#include "base/memory.h"
#include "io/format.h"
#include "io/read/box.h"
#include "io/read/source.h"

#include <inttypes.h>

/* ---- by one process ---------------------------------------------------------------------------------------------------- */

/* Real samples, some rows of the first dimension at a time. */
static int read_boxes(const struct lw_dataset_info *info, double *values, struct lw_error *err)
{
    enum { BLOCK_VALUES = 1 << 17 };
    const struct lw_boxes_spec spec = {.info = info, .keeps_parts = true};
    struct lw_sample_box box = {.count = {1, 1, 1, 1}, .step = {1, 1, 1, 1}};
    struct lw_boxes *boxes = NULL;
    int64_t row = 1;
    for (int d = 1; d < info->n_dims; d++)
        row *= box.count[d] = info->dims[d];
    int rc = lw_boxes_open(&spec, &boxes, err);
    for (; rc == LW_OK && box.first[0] < info->dims[0]; box.first[0] += box.count[0]) {
        box.count[0] = lw_min64(lw_max64(1, BLOCK_VALUES / row), info->dims[0] - box.first[0]);
        rc = lw_boxes_read(boxes, &box, 1, values + box.first[0] * row * (info->type.is_complex ? 2 : 1), err);
    }
    lw_boxes_close(boxes);
    return rc;
}

int lw_format_read_numbers(const struct lw_format *format, const struct lw_dataset_info *info, double *values, struct lw_error *err)
{
    int64_t n = 1;
    if (!format->read_numbers)
        return read_boxes(info, values, err);
    for (int d = 0; d < info->n_dims; d++)
        n *= info->dims[d];
    const int rc = format->read_numbers(info, values, err);
    if (rc == LW_OK)
        lw_packing_undo(&info->packing, info->type, n, values);
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

static int read_alone(const char *name, int most_dims, struct lw_dataset_info *info, double **values, struct lw_error *err)
{
    const struct lw_format *format;
    struct lw_dataset_info described;
    int rc = lw_examine_dataset(name, NULL, LW_USE_NUMBERS, &described, err);
    if (rc)
        return rc;
    *info = described;
    lw_source_squeeze(info, 1, most_dims, NULL);
    if (info->n_dims > most_dims || info->n_dims < 1)
        return lw_fail(err, LW_EDATA, "%s has %d dimensions: it must have 1 %s %d", lw_dataset_name(info).text, info->n_dims,
                       most_dims > 2 ? "to" : "or", most_dims);
    const int64_t count = count_doubles(info);
    if (count < 0)
        return lw_fail(err, LW_EDATA, "%s has %" PRId64 " x %" PRId64 "%s elements: more than any memory holds",
                       lw_dataset_name(info).text, info->dims[0], info->dims[1], info->n_dims > 2 ? " x .." : "");
    if (!(*values = lw_alloc_array(count, sizeof **values, lw_dataset_name(info).text, err)))
        return LW_ESYSTEM;
    (void)((rc = lw_formats_find(info->file, NULL, &format, err)) ||
           (rc = lw_format_read_numbers(format, &described, *values, err)));
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
