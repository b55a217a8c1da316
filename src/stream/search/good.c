#include "stream/search/good.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/notes/quality.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The axis of the input, and its samples that fail. */
struct axis {
    const struct lw_axis_metadata *times;
    int64_t n;
    unsigned char *failed;      /* in any series so far */
    unsigned char *doubtful;    /* in the one at hand: until some file says that they are good */
};

static int64_t bytes_of(int64_t n) { return lw_divide_up(n, 8); }

static struct lw_instant in_scale(struct lw_instant at, enum lw_time_scale from, enum lw_time_scale to)
{
    if (from == to)
        return at;
    return to == LW_TIME_GPS ? lw_instant_to_gps(at) : lw_instant_from_gps(at);
}

/* The first sample that is not earlier. */
static int64_t sample_from(const struct axis *axis, const struct lw_axis_metadata *series, int64_t entry)
{
    double late;
    const struct lw_instant there = lw_instant_of_sample(series->instant, series->period, entry);
    const struct lw_instant at = in_scale(there, series->scale, axis->times->scale);
    const int64_t sample = lw_instant_to_sample(axis->times->instant, axis->times->period, at, &late) + (late > 0);
    return lw_min64(axis->n, lw_max64(0, sample));
}

static void clear(unsigned char *bits, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++)
        if (i % 8 == 0 && end - i >= 8) {
            bits[i / 8] = 0;
            i += 7;
        } else {
            bits[i / 8] &= (unsigned char)~(0x80 >> i % 8);
        }
}

static void take_series(struct axis *axis, const struct lw_dataset_info *info, const double *values, uint64_t wanted)
{
    for (int64_t k = 0; k < info->dims[0]; k++) {
        const bool is_number = values[k] >= 0 && values[k] < 9e15;
        if (is_number && ((uint64_t)values[k] & wanted) == wanted)
            clear(axis->doubtful, sample_from(axis, &info->axis, k), sample_from(axis, &info->axis, k + 1));
    }
}

static int check_series(const struct lw_dataset_info *info, struct lw_error *err)
{
    if (info->n_dims == 1 && !info->type.is_complex && info->axis.scale != LW_TIME_UNKNOWN && info->axis.period.numerator > 0)
        return LW_OK;
    return lw_fail(err, LW_EDATA, "--mask good-data: %.600s is no series of whole numbers that says when it begins and how long "
                   "each of them is valid", lw_dataset_name(info).text);
}

/* One series of one file. */
static int read_series(struct lw_comm *comm, struct axis *axis, const char *file, const struct lw_quality *quality,
                       struct lw_error *err)
{
    struct lw_dataset_info info;
    double *values = NULL;
    int rc = lw_reader_read_numbers(comm, lw_name_of(file, quality->path).text, 2, &info, &values, err);
    if (rc == LW_OK && (rc = check_series(&info, err)) == LW_OK)
        take_series(axis, &info, values, quality->bits);
    lw_free(values);
    return rc;
}

static int find(struct lw_comm *comm, const struct lw_dataset_info *file, const char *tests, struct lw_qualities *found,
                struct lw_error *err)
{
    int rc = lw_comm_rank(comm) == 0 ? lw_quality_find(file->file, &file->hints, tests, found, err) : LW_OK;
    if ((rc = lw_comm_agree(comm, rc, err)) == LW_OK)
        lw_comm_broadcast(comm, found, sizeof *found);
    return rc;
}

/* All files, series after series. */
static int read_all(struct lw_comm *comm, const struct lw_reader *input, const char *tests, struct axis *axis, struct lw_error *err)
{
    const int64_t n_files = lw_reader_info(input)->n_files;
    struct lw_dataset_info file;
    struct lw_qualities found;
    int rc, n_series = 1;
    for (int s = 0; s < n_series; s++) {
        memset(axis->doubtful, 0xff, (size_t)bytes_of(axis->n));
        for (int64_t f = 0; f < n_files; f++) {
            lw_reader_file(input, f, &file);
            if ((rc = find(comm, &file, tests, &found, err)) ||
                (s < found.n && (rc = read_series(comm, axis, file.file, &found.of[s], err))))
                return rc;
            n_series = found.n;
        }
        for (int64_t b = 0; b < bytes_of(axis->n); b++)
            axis->failed[b] |= axis->doubtful[b];
    }
    return LW_OK;
}

static int check_input(const struct lw_dataset_info *info, struct lw_error *err)
{
    if (info->axis.scale != LW_TIME_UNKNOWN && info->axis.period.numerator > 0)
        return LW_OK;
    return lw_fail(err, LW_EDATA, "--mask good-data: %.600s does not say when it begins or at which rate it was sampled: give "
                   "--start-time and --sample-rate", lw_dataset_name(info).text);
}

int lw_good_data_read(struct lw_comm *comm, const struct lw_reader *input, int axis_dim, const char *tests, unsigned char **bits,
                      struct lw_error *err)
{
    const struct lw_dataset_info *const info = lw_reader_info(input);
    struct axis axis = {.times = &info->axis, .n = info->dims[axis_dim]};
    int rc = check_input(info, err);
    if (rc)
        return rc;
    axis.failed = lw_alloc((size_t)bytes_of(axis.n), "the mask", err);
    axis.doubtful = lw_alloc((size_t)bytes_of(axis.n), "the mask", err);
    rc = lw_comm_agree(comm, axis.failed && axis.doubtful ? LW_OK : LW_ESYSTEM, err);
    if (rc == LW_OK) {
        memset(axis.failed, 0, (size_t)bytes_of(axis.n));
        rc = read_all(comm, input, tests, &axis, err);
    }
    lw_free(axis.doubtful);
    if (rc == LW_OK)
        *bits = axis.failed;
    else
        lw_free(axis.failed);
    return rc;
}
