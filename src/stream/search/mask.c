#include "stream/search/mask.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/notes/notes.h"
#include "stream/pipeline.h"
#include "stream/plan.h"

#include <inttypes.h>

enum shape { BY_SAMPLE, BY_CHANNEL, BY_BOTH };      /* one mark for each sample of the axis; channel; sample of a channel */

/* Most bytes of a packed mask that are read at a time. */
#define BITS_READ ((int64_t)4 << 20)

/* Marks of the samples in one slot. */
struct marks {
    char *numbers;                      /* owned; marks in the stored type; NULL unless read slot by slot */
    struct lw_window_part part;         /* window part of the marks; its channels are the mask's: BY_SAMPLE has one */
    int64_t channel;                    /* first channel of the samples, in the view */
};

struct lw_mask {
    struct lw_reader *reader;
    enum shape shape;
    struct lw_type type;
    struct lw_stream_window *window;           /* NULL unless marks are read slot by slot */
    double *channels;                   /* marks of a mask BY_CHANNEL: [channels of the view] */
    unsigned char *bits;                /* packed or good-data mask, unless BY_CHANNEL: [rows][pitch] bytes; else NULL */
    int64_t rows, pitch;
    struct lw_view_spec view;           /* view of the input */
    enum lw_boundary boundary;
    int64_t n_samples;                  /* samples of the view */
    struct marks marks[LW_MAX_DEPTH];
    enum lw_layout layout;              /* layout of a slot */
    int64_t sample_bytes;               /* bytes of a sample of the input */
};

static void stop(struct lw_mask *mask)
{
    for (int i = 0; i < LW_MAX_DEPTH; i++) {
        lw_free(mask->marks[i].numbers);
        mask->marks[i].numbers = NULL;
    }
    lw_window_destroy(mask->window);
    mask->window = NULL;
}

/* ---- a dataset of marks ------------------------------------------------------------------------------------------------- */

/* Find the shape of a mask.
 * @param per  marks in an element of the dataset: 1, or 8 if the mask is packed
 * @return     whether the shape fits the input */
static bool has_shape(const struct lw_dataset_info *info, const struct lw_dataset_info *input, int axis, int64_t per,
                      enum shape *shape)
{
    const int64_t n_axis = input->dims[axis], n_channels = input->n_dims == 2 ? input->dims[1 - axis] : 1;
    const int last = info->n_dims - 1;
    if (info->n_dims == 2) {
        *shape = BY_BOTH;
        return input->n_dims == 2 && info->dims[0] == input->dims[0] && info->dims[last] == lw_divide_up(input->dims[last], per);
    }
    *shape = info->dims[0] == lw_divide_up(n_axis, per) ? BY_SAMPLE : BY_CHANNEL;
    return info->n_dims == 1 && (*shape == BY_SAMPLE || info->dims[0] == lw_divide_up(n_channels, per));
}

static int find_shape(const struct lw_dataset_info *info, const struct lw_dataset_info *input, int axis, enum shape *shape,
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

/* Read a mask BY_CHANNEL, and keep the marks of the view's channels. */
static int read_channels(struct lw_comm *comm, const char *name, const struct lw_job *job, bool is_packed, struct lw_mask *mask,
                         struct lw_error *err)
{
    struct lw_dataset_info info;
    LW_FREED double *numbers = NULL;
    int rc = lw_reader_read_numbers(comm, name, 2, &info, &numbers, err);
    const int64_t n_channels = lw_op_inputs(&job->op, job->op.n_channels);
    if (rc == LW_OK && !(mask->channels = lw_alloc_array(n_channels, sizeof *numbers, "the mask", err)))
        rc = LW_ESYSTEM;
    for (int64_t c = 0; rc == LW_OK && c < n_channels; c++) {
        const int64_t channel = job->view.channels.begin + c * job->view.channels.step;
        const unsigned char byte = is_packed ? (unsigned char)numbers[channel / 8] : 0;
        mask->channels[c] = is_packed ? bit_of(&byte, channel % 8) : numbers[channel];
    }
    return lw_comm_agree(comm, rc, err);
}

/* Read all bytes of a packed mask, on each rank. */
static int read_bits(const struct lw_dataset_info *info, struct lw_mask *mask, struct lw_error *err)
{
    const int last = info->n_dims - 1;
    mask->rows = last ? info->dims[0] : 1;
    mask->pitch = info->dims[last];
    const int64_t bytes = lw_min64(mask->pitch, BITS_READ), rows = lw_min64(mask->rows, BITS_READ / bytes);
    const struct lw_view_spec view = {
        .axis = last, .count = mask->pitch, .channels = {0, mask->rows, 1}, .max_axis = bytes, .max_channels = rows,
        .chunks = LW_CHUNKS_WHOLE,
    };
    int rc;
    if (!(mask->bits = lw_alloc((size_t)(mask->rows * mask->pitch), "the mask", err)))
        return LW_ESYSTEM;
    rc = lw_reader_select(mask->reader, &view, err);
    for (int64_t row = 0; row < mask->rows && rc == LW_OK; row += rows)
        for (int64_t first = 0; first < mask->pitch && rc == LW_OK; first += bytes) {
            const struct lw_slab slab = {
                .first = first, .count = lw_min64(bytes, mask->pitch - first), .channel = row,
                .n_channels = lw_min64(rows, mask->rows - row),
                .into = mask->bits + row * mask->pitch, .into_axis = mask->pitch, .into_first = first,
            };
            rc = lw_reader_read(mask->reader, &slab, err);
        }
    return rc;
}

/* Open a dataset of marks, and add it to the job's inputs. */
static int open_dataset(struct lw_comm *comm, struct lw_job *job, struct lw_mask *mask, struct lw_error *err)
{
    int rc = lw_reader_open(comm, job->search.mask, &mask->reader, err);
    if (rc)
        return rc;
    const struct lw_dataset_info *const info = lw_reader_info(mask->reader);
    mask->type = info->type;
    bool is_packed;
    if ((rc = find_shape(info, &job->inputs[0], job->view.axis, &mask->shape, &is_packed, err)))
        return rc;
    if (mask->shape == BY_CHANNEL)
        rc = read_channels(comm, job->search.mask, job, is_packed, mask, err);
    else if (is_packed)
        rc = lw_comm_agree(comm, read_bits(info, mask, err), err);
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

/* Read the good-data mask, on every rank. A sample's bit is set if a test failed, or if no file has a result for the sample. */
static int read_good_data(struct lw_comm *comm, const struct lw_reader *input, const struct lw_job *job, struct lw_mask *mask,
                          struct lw_error *err)
{
    const struct lw_dataset_info *const info = lw_reader_info(input);
    struct axis axis = {.times = &info->axis, .n = info->dims[job->view.axis]};
    const size_t bytes = (size_t)bit_bytes(axis.n);
    if (info->axis.scale == LW_TIME_UNKNOWN || info->axis.period.numerator <= 0)
        return lw_fail(err, LW_EDATA, "--mask good-data: %.600s has no start time or no sample rate: give --start-time and "
                       "--sample-rate", lw_dataset_name(info).text);
    mask->shape = BY_SAMPLE;
    mask->rows = 1;
    mask->pitch = bit_bytes(axis.n);
    axis.failed = mask->bits = lw_alloc(bytes, "the mask", err);
    axis.doubtful = lw_alloc(bytes, "the mask", err);
    int rc = lw_comm_agree(comm, axis.failed && axis.doubtful ? LW_OK : LW_ESYSTEM, err);
    if (rc == LW_OK) {
        memset(axis.failed, 0, bytes);
        rc = read_all(comm, input, job->search.good_data, &axis, err);
    }
    lw_free(axis.doubtful);
    return rc;
}

int lw_mask_open(struct lw_comm *comm, const struct lw_reader *input, struct lw_job *job, struct lw_mask **out,
                 struct lw_error *err)
{
    if (!job->search.mask && !job->search.good_data)
        return LW_OK;
    struct lw_mask *const mask = *out = lw_alloc(sizeof *mask, "the mask", err);
    const int rc = lw_comm_agree(comm, mask ? LW_OK : LW_ESYSTEM, err);
    if (mask) {
        mask->layout = job->op.layout;
        mask->view = job->view;
        mask->boundary = job->boundary;
        mask->n_samples = job->n_samples;
        mask->sample_bytes = (int64_t)lw_type_bytes(job->op.input);
    }
    return rc ? rc : job->search.mask ? open_dataset(comm, job, mask, err) : read_good_data(comm, input, job, mask, err);
}

void lw_mask_close(struct lw_mask *mask)
{
    if (!mask)
        return;
    stop(mask);
    lw_reader_close(mask->reader);
    lw_free(mask->channels);
    lw_free(mask->bits);
    lw_free(mask);
}

static bool is_read_by_slot(const struct lw_mask *mask) { return mask->shape != BY_CHANNEL && !mask->bits; }

/* ---- memory -------------------------------------------------------------------------------------------------------------- */

static int64_t mask_channels(const struct lw_mask *mask, const struct lw_plan *plan)
{
    return mask->shape == BY_BOTH ? lw_op_inputs(&plan->spec, plan->rounds.group) : 1;
}

static int64_t numbers_bytes(const struct lw_mask *mask, const struct lw_plan *plan)
{
    return (plan->op.halo + plan->rounds.slice) * mask_channels(mask, plan) * (int64_t)lw_type_bytes(mask->type);
}

static struct lw_window_spec window_of(const struct lw_mask *mask, const struct lw_job *job, const struct lw_plan *plan)
{
    struct lw_window_spec window = lw_plan_window(plan, job, mask->reader);
    window.sample_bytes = (int64_t)lw_type_bytes(mask->type);
    window.max_channels = mask_channels(mask, plan);
    return window;
}

static struct lw_view_spec planned_view(const struct lw_mask *mask, const struct lw_job *job, const struct lw_plan *plan)
{
    const struct lw_window_spec window = window_of(mask, job, plan);
    struct lw_view_spec view = job->view;
    if (mask->shape == BY_SAMPLE) {
        view.axis = 0;
        view.channels = (struct lw_range){0, 1, 1};
    }
    view.max_axis = lw_max64(plan->rounds.slice + plan->op.halo, lw_window_max_read(&window));
    view.max_channels = window.max_channels;
    view.chunks = LW_CHUNKS_WHOLE;
    return view;
}

int64_t lw_mask_bytes(const struct lw_mask *mask, const struct lw_job *job, const struct lw_plan *plan)
{
    if (!mask || mask->shape == BY_CHANNEL)
        return 0;
    if (mask->bits)
        return mask->rows * mask->pitch;
    const struct lw_window_spec window = window_of(mask, job, plan);
    const struct lw_view_spec view = planned_view(mask, job, plan);
    return lw_window_bytes(&window) + lw_reader_bytes(mask->reader, &view) + plan->depth * numbers_bytes(mask, plan);
}

int lw_mask_start(struct lw_mask *mask, const struct lw_job *job, const struct lw_plan *plan, struct lw_error *err)
{
    stop(mask);
    if (!is_read_by_slot(mask))
        return LW_OK;
    const struct lw_window_spec window = window_of(mask, job, plan);
    const struct lw_view_spec view = planned_view(mask, job, plan);
    for (int i = 0; i < plan->depth; i++)
        if (!(mask->marks[i].numbers = lw_alloc((size_t)numbers_bytes(mask, plan), "the mask of a slot", err)))
            return LW_ESYSTEM;
    const int rc = lw_reader_select(mask->reader, &view, err);
    return rc ? rc : lw_window_create(&window, &mask->window, err);
}

/* ---- a slot ---------------------------------------------------------------------------------------------------------------- */

/* Return a sample's bit. A boundary sample has the bit of its source sample, or 0 without one. */
static bool is_bit_set(const struct lw_mask *mask, const struct marks *marks, int64_t c, int64_t i)
{
    const int64_t place = marks->part.begin + i,
                  channel = mask->view.channels.begin + (marks->channel + c) * mask->view.channels.step;
    const int64_t inside =
        place >= 0 && place < mask->n_samples ? place : lw_boundary_index(mask->boundary, place, mask->n_samples);
    const int64_t sample = mask->view.start + inside;
    if (inside < 0)
        return false;
    if (mask->shape == BY_SAMPLE)
        return bit_of(mask->bits, sample);
    return mask->view.axis == 1 ? bit_of(mask->bits + channel * mask->pitch, sample)
                                : bit_of(mask->bits + sample * mask->pitch, channel);
}

bool lw_mask_is_set(const struct lw_mask *mask, int number, int64_t c, int64_t i)
{
    const struct marks *const marks = &mask->marks[number];
    if (mask->shape == BY_CHANNEL)
        return mask->channels[marks->channel + c] != 0;
    if (mask->bits)
        return is_bit_set(mask, marks, c, i);
    const struct lw_window_part *const part = &marks->part;
    const int64_t of_channel = mask->shape == BY_SAMPLE ? 0 : c;
    const int64_t at = mask->layout == LW_TIME_FAST ? of_channel * part->into_axis + i : i * part->n_channels + of_channel;
    if (lw_type_bytes(mask->type) == 1)
        return marks->numbers[at] != 0;
    return lw_type_number(mask->type, marks->numbers, at) != 0;
}

bool lw_mask_is_by_channel(const struct lw_mask *mask) { return mask->shape == BY_CHANNEL; }

int lw_mask_apply(struct lw_mask *mask, int number, const struct lw_window_part *part, struct lw_error *err)
{
    struct marks *const marks = &mask->marks[number];
    marks->channel = part->channel;
    marks->part = *part;
    marks->part.into = marks->numbers;
    if (mask->shape == BY_SAMPLE) {
        marks->part.channel = 0;
        marks->part.n_channels = 1;
    }
    const int rc = !is_read_by_slot(mask) || part->end <= part->begin ? LW_OK : lw_window_read(mask->window, &marks->part, err);
    const bool is_fast = mask->layout == LW_TIME_FAST;
    for (int64_t c = 0; rc == LW_OK && c < part->n_channels; c++)
        for (int64_t i = 0; i < part->into_axis; i++) {
            const int64_t at = is_fast ? c * part->into_axis + i : i * part->n_channels + c;
            if (lw_mask_is_set(mask, number, c, i))
                memset((char *)part->into + at * mask->sample_bytes, 0, (size_t)mask->sample_bytes);
        }
    return rc;
}
