#include "job/marks.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/notes/notes.h"

#include <inttypes.h>
#include <string.h>

/* Most bytes of packed marks that are read at a time. */
#define BITS_READ ((int64_t)4 << 20)

/* ---- a dataset of marks ------------------------------------------------------------------------------------------------- */

/* Find the shape of a mask.
 * @param per  marks in an element of the dataset: 1, or 8 if the mask is packed
 * @return     whether the shape fits the input */
static bool has_shape(const struct lw_dataset_info *info, const struct lw_dataset_info *input, int axis, int64_t per,
                      enum lw_marks_shape *shape)
{
    const int64_t n_axis = input->dims[axis], n_channels = input->n_dims == 2 ? input->dims[1 - axis] : 1;
    const int last = info->n_dims - 1;
    if (info->n_dims == 2) {
        *shape = LW_MARKS_BY_BOTH;
        return input->n_dims == 2 && info->dims[0] == input->dims[0] && info->dims[last] == lw_divide_up(input->dims[last], per);
    }
    *shape = info->dims[0] == lw_divide_up(n_axis, per) ? LW_MARKS_BY_SAMPLE : LW_MARKS_BY_CHANNEL;
    return info->n_dims == 1 && (*shape == LW_MARKS_BY_SAMPLE || info->dims[0] == lw_divide_up(n_channels, per));
}

static int find_shape(const struct lw_dataset_info *info, const struct lw_dataset_info *input, int axis, enum lw_marks_shape *shape,
                      bool *is_packed, struct lw_error *err)
{
    const int64_t n_axis = input->dims[axis], n_channels = input->n_dims == 2 ? input->dims[1 - axis] : 1;
    char text[40];
    if (info->type.is_complex)
        return lw_fail(err, LW_EDATA, "--mask %.600s is %s: a mask holds whole or real numbers, 0 where a sample counts",
                       lw_dataset_name(info).text, lw_type_text(info->type, text));
    *is_packed = !has_shape(info, input, axis, 1, shape);
    if (!*is_packed || (info->type.scalar == LW_UINT8 && has_shape(info, input, axis, 8, shape)))
        return LW_OK;
    return lw_fail(err, LW_EDATA, "--mask %.600s has %d dimension%s, the first of %" PRId64 ": give a mask with a number for each "
                   "of the %" PRId64 " samples, for each of the %" PRId64 " channels, or for both in the shape of the input; or "
                   "with bits for these, packed by numpy.packbits", lw_dataset_name(info).text, info->n_dims,
                   info->n_dims == 1 ? "" : "s", info->dims[0], n_axis, n_channels);
}

/* Return bit i of packed bytes; the first bit of a byte is in the highest place. */
static bool bit_of(const unsigned char *bytes, int64_t i) { return bytes[i / 8] >> (7 - i % 8) & 1; }

/* Read a mask LW_MARKS_BY_CHANNEL, and keep the marks of the view's channels. */
static int read_channels(struct lw_comm *comm, const char *name, const struct lw_job *job, bool is_packed, struct lw_marks *marks,
                         struct lw_error *err)
{
    struct lw_dataset_info info;
    LW_FREED double *numbers = NULL;
    int rc = lw_reader_read_numbers(comm, name, 2, &info, &numbers, err);
    const int64_t n_channels = lw_op_inputs(&job->op, job->op.n_channels);
    if (rc == LW_OK && !(marks->channels = lw_alloc_array(n_channels, sizeof *numbers, "the mask", err)))
        rc = LW_ESYSTEM;
    for (int64_t c = 0; rc == LW_OK && c < n_channels; c++) {
        const int64_t channel = job->view.channels.begin + c * job->view.channels.step;
        const unsigned char byte = is_packed ? (unsigned char)numbers[channel / 8] : 0;
        marks->channels[c] = is_packed ? bit_of(&byte, channel % 8) : numbers[channel];
    }
    return lw_comm_agree(comm, rc, err);
}

/* Read all bytes of a packed marks, on each rank. */
static int read_bits(const struct lw_dataset_info *info, struct lw_marks *marks, struct lw_error *err)
{
    const int last = info->n_dims - 1;
    marks->rows = last ? info->dims[0] : 1;
    marks->pitch = info->dims[last];
    const int64_t bytes = lw_min64(marks->pitch, BITS_READ), rows = lw_min64(marks->rows, BITS_READ / bytes);
    const struct lw_view_spec view = {
        .axis = last, .count = marks->pitch, .channels = {0, marks->rows, 1}, .max_axis = bytes, .max_channels = rows,
        .chunks = LW_CHUNKS_WHOLE,
    };
    int rc;
    if (!(marks->bits = lw_alloc((size_t)(marks->rows * marks->pitch), "the mask", err)))
        return LW_ESYSTEM;
    rc = lw_reader_select(marks->reader, &view, err);
    for (int64_t row = 0; row < marks->rows && rc == LW_OK; row += rows)
        for (int64_t first = 0; first < marks->pitch && rc == LW_OK; first += bytes) {
            const struct lw_slab slab = {
                .first = first, .count = lw_min64(bytes, marks->pitch - first), .channel = row,
                .n_channels = lw_min64(rows, marks->rows - row),
                .into = marks->bits + row * marks->pitch, .into_axis = marks->pitch, .into_first = first,
            };
            rc = lw_reader_read(marks->reader, &slab, err);
        }
    return rc;
}

/* Open a dataset of marks, and add it to the job's inputs. */
static int open_dataset(struct lw_comm *comm, struct lw_job *job, struct lw_marks *marks, struct lw_error *err)
{
    int rc = lw_reader_open(comm, job->search.mask, &marks->reader, err);
    if (rc)
        return rc;
    const struct lw_dataset_info *const info = lw_reader_info(marks->reader);
    marks->type = info->type;
    bool is_packed;
    if ((rc = find_shape(info, &job->inputs[0], job->view.axis, &marks->shape, &is_packed, err)))
        return rc;
    if (marks->shape == LW_MARKS_BY_CHANNEL)
        rc = read_channels(comm, job->search.mask, job, is_packed, marks, err);
    else if (is_packed)
        rc = lw_comm_agree(comm, read_bits(info, marks, err), err);
    job->inputs[job->n_inputs] = *info;
    job->input_names[job->n_inputs++] = "mask";
    return rc;
}

/* ---- good-data: results of tests in the input files, as series on axes of their own (io/notes/notes.h) ------------------- */

/* Axis of the input, and its samples that fail a test. */
struct axis {
    const struct lw_axis_metadata *times;
    int64_t n;
    unsigned char *failed;      /* bits: samples that failed in any series so far */
    unsigned char *doubtful;    /* bits: samples that no file has reported as good in the current series */
};

static int64_t bit_bytes(int64_t n) { return lw_divide_up(n, 8); }

/* Return the first sample of the axis that is not earlier than an entry of a series. */
static int64_t sample_from(const struct axis *axis, const struct lw_axis_metadata *series, int64_t entry)
{
    double late;
    struct lw_instant at = lw_instant_of_sample(series->instant, series->period, entry);
    if (series->scale != axis->times->scale)
        at = axis->times->scale == LW_TIME_GPS ? lw_instant_to_gps(at) : lw_instant_from_gps(at);
    const int64_t sample = lw_instant_to_sample(axis->times->instant, axis->times->period, at, &late) + (late > 0);
    return lw_min64(axis->n, lw_max64(0, sample));
}

static void clear_bits(unsigned char *bits, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++)
        if (i % 8 == 0 && end - i >= 8) {
            bits[i / 8] = 0;
            i += 7;
        } else {
            bits[i / 8] &= (unsigned char)~(0x80 >> i % 8);
        }
}

/* Read one series of one file, and clear the doubtful bits of samples that it reports as good. */
static int read_series(struct lw_comm *comm, struct axis *axis, const char *file, const struct lw_quality *quality,
                       struct lw_error *err)
{
    struct lw_dataset_info info;
    LW_FREED double *values = NULL;
    int rc = lw_reader_read_numbers(comm, lw_name_of(file, quality->path).text, 2, &info, &values, err);
    if (rc == LW_OK &&
        (info.n_dims != 1 || info.type.is_complex || info.axis.scale == LW_TIME_UNKNOWN || info.axis.period.numerator <= 0))
        rc = lw_fail(err, LW_EDATA, "--mask good-data: %.600s is not a series of whole numbers with a start time and a sampling "
                     "period", lw_dataset_name(&info).text);
    for (int64_t k = 0; rc == LW_OK && k < info.dims[0]; k++) {
        const bool is_number = values[k] >= 0 && values[k] < 9e15;
        if (is_number && ((uint64_t)values[k] & quality->bits) == quality->bits)
            clear_bits(axis->doubtful, sample_from(axis, &info.axis, k), sample_from(axis, &info.axis, k + 1));
    }
    return rc;
}

static int read_all(struct lw_comm *comm, const struct lw_reader *input, const char *tests, struct axis *axis, struct lw_error *err)
{
    const int64_t n_files = lw_reader_info(input)->n_files;
    struct lw_dataset_info file;
    struct lw_qualities found;
    int n_series = 1;
    for (int s = 0; s < n_series; s++) {
        memset(axis->doubtful, 0xff, (size_t)bit_bytes(axis->n));
        for (int64_t f = 0; f < n_files; f++) {
            lw_reader_file(input, f, &file);
            int rc = lw_comm_rank(comm) == 0 ? lw_quality_find(file.file, &file.hints, tests, &found, err) : LW_OK;
            if ((rc = lw_comm_agree(comm, rc, err)))
                return rc;
            lw_comm_broadcast(comm, &found, sizeof found);
            if (s < found.n && (rc = read_series(comm, axis, file.file, &found.of[s], err)))
                return rc;
            n_series = found.n;
        }
        for (int64_t b = 0; b < bit_bytes(axis->n); b++)
            axis->failed[b] |= axis->doubtful[b];
    }
    return LW_OK;
}

/* Read the good-data marks, on every rank. A sample's bit is set if a test failed, or if no file has a result for the sample. */
static int read_good_data(struct lw_comm *comm, const struct lw_reader *input, const struct lw_job *job, struct lw_marks *marks,
                          struct lw_error *err)
{
    const struct lw_dataset_info *const info = lw_reader_info(input);
    struct axis axis = {.times = &info->axis, .n = info->dims[job->view.axis]};
    const size_t bytes = (size_t)bit_bytes(axis.n);
    if (info->axis.scale == LW_TIME_UNKNOWN || info->axis.period.numerator <= 0)
        return lw_fail(err, LW_EDATA, "--mask good-data: %.600s has no start time or no sample rate: give --start-time and "
                       "--sample-rate", lw_dataset_name(info).text);
    marks->shape = LW_MARKS_BY_SAMPLE;
    marks->rows = 1;
    marks->pitch = bit_bytes(axis.n);
    axis.failed = marks->bits = lw_alloc(bytes, "the mask", err);
    axis.doubtful = lw_alloc(bytes, "the mask", err);
    int rc = lw_comm_agree(comm, axis.failed && axis.doubtful ? LW_OK : LW_ESYSTEM, err);
    if (rc == LW_OK) {
        memset(axis.failed, 0, bytes);
        rc = read_all(comm, input, job->search.good_data, &axis, err);
    }
    lw_free(axis.doubtful);
    return rc;
}

int lw_marks_open(struct lw_comm *comm, const struct lw_reader *input, struct lw_job *job, struct lw_marks *marks,
                  struct lw_error *err)
{
    return job->search.mask ? open_dataset(comm, job, marks, err) : read_good_data(comm, input, job, marks, err);
}

void lw_marks_close(struct lw_marks *marks)
{
    lw_reader_close(marks->reader);
    lw_free(marks->channels);
    lw_free(marks->bits);
}

bool lw_marks_bit(const struct lw_marks *marks, int axis, int64_t channel, int64_t sample)
{
    if (marks->shape == LW_MARKS_BY_SAMPLE)
        return bit_of(marks->bits, sample);
    return axis == 1 ? bit_of(marks->bits + channel * marks->pitch, sample) : bit_of(marks->bits + sample * marks->pitch, channel);
}
