#include "stream/search/counted.h"

#include "base/integers.h"
#include "signal/convolution.h"

#include <string.h>

/* Least side of a square of equal pixels whose output does not count; LW_COUNTED_ALIKE is its area. */
enum { ALIKE_SIDE = 4 };

/* ---- samples that do not count -------------------------------------------------------------------------------------------- */

/* Return the samples from the oldest to the newest that an output needs, with the delays of its sum over channels. */
static int64_t n_touched(const struct lw_op_spec *op)
{
    const struct lw_shifts *const sums = lw_op_sums(op);
    return lw_op_taps(op) + (sums ? sums->before + sums->after : 0);
}

static bool zeroes_nan(const struct lw_op_spec *op) { return op->nan == LW_NAN_ZERO && !lw_scalar_is_integer(op->input.scalar); }

static bool can_touch(const struct lw_counted *counted) { return counted->masks || zeroes_nan(&counted->job->op); }

/* Return whether sample `at` of the slot's input is not finite. */
static bool is_flawed(const struct lw_op_spec *op, const struct lw_slot *slot, int64_t at)
{
    int64_t lowest;
    return lw_type_not_finite(op->input, op->precision, (const char *)slot->input + (size_t)at * lw_type_bytes(op->input), 1,
                              &lowest) > 0;
}

static bool is_bad(const struct lw_counted *counted, const struct lw_slot *slot, int number, int64_t c, int64_t i)
{
    const struct lw_op_spec *const op = &counted->job->op;
    const int64_t length = counted->op->halo + slot->block.count;
    const int64_t at = op->layout == LW_TIME_FAST ? c * length + i : i * lw_op_inputs(op, slot->block.n_channels) + c;
    if (counted->masks && lw_mask_is_set(counted->mask, number, c, i))
        return true;
    return zeroes_nan(op) && is_flawed(op, slot, at);
}

static bool is_bad_pixel(const struct lw_counted *counted, const struct lw_slot *slot, int64_t c, int64_t i, int64_t column)
{
    const struct lw_op_spec *const op = &counted->job->op;
    const int64_t inside = lw_boundary_index(op->conv2d.boundary, column, op->conv2d.columns);
    const int64_t row = c * (counted->op->halo + slot->block.count) + i;
    return inside >= 0 && is_flawed(op, slot, row * op->conv2d.columns + inside);
}

/* ---- ends ---------------------------------------------------------------------------------------------------------- */

/* Outputs [first, end) that touch no boundary samples. */
struct inside {
    int64_t first, end;
};

static struct inside inside_of(int64_t n_outputs, int64_t n, int64_t n_taps, int64_t look_ahead)
{
    const int64_t first = lw_max64(0, n_taps - 1 - look_ahead);
    return (struct inside){first, lw_max64(first, lw_min64(n_outputs, n - look_ahead))};
}

static struct inside inside_axis(const struct lw_job *job)
{
    return inside_of(job->n_outputs, job->n_samples, n_touched(&job->op), job->look_ahead);
}

static struct inside inside_columns(const struct lw_conv2d_spec *c)
{
    return inside_of(c->output_columns, c->columns, c->kernel_columns, c->look_ahead_columns);
}

/* Return whether outputs that touch boundary samples are to be skipped; a few of them do not change the noise. */
static bool skips_ends(const struct lw_job *job)
{
    const struct inside axis = inside_axis(job);
    double part = (double)(axis.end - axis.first) / (double)job->n_outputs;
    if (lw_op_has_pixels(&job->op)) {
        const struct inside columns = inside_columns(&job->op.conv2d);
        part *= (double)(columns.end - columns.first) / (double)job->op.conv2d.output_columns;
    }
    return job->boundary != LW_BOUNDARY_WRAP && part >= 0.5 && part < 1 - 1.0 / LW_COUNTED_ENDS;
}

struct lw_counted lw_counted_of(const struct lw_setup *setup, const struct lw_op_plan *op)
{
    struct lw_counted counted = {.job = &setup->job, .op = op, .mask = setup->mask, .skips_ends = skips_ends(&setup->job)};
    counted.masks = setup->mask && !(lw_op_sums_channels(&setup->job.op) && lw_mask_is_by_channel(setup->mask));
    counted.n_gaps = lw_reader_gaps(setup->reader, &counted.gaps);
    return counted;
}

/* Return the window position of a slot's first sample. */
static int64_t begin_of(const struct lw_counted *counted, const struct lw_slot *slot)
{
    return slot->block.first + counted->job->look_ahead + counted->op->after - counted->op->halo;
}

/* ---- a signal ------------------------------------------------------------------------------------------------------ */

/* One channel of a slot: its samples, from the halo on. */
struct line {
    const struct lw_counted *counted;
    const struct lw_slot *slot;
    int number;
    int64_t c, n_channels;      /* the channel; of a sum over channels, the first and their number */
    const char *samples;
    size_t bytes;               /* bytes of a sample */
    int64_t pitch;              /* bytes from one sample to the next */
    int64_t channel_pitch;      /* bytes from one channel to the next */
    int64_t length, n_taps;     /* samples; those from the oldest to the newest that an output needs */
    int64_t begin;              /* window position of the first sample */
};

/* Return the index of the newest sample that the block's first output touches. */
static int64_t newest(const struct line *line) { return line->counted->op->before + line->n_taps - 1; }

/* Return whether two samples are equal. With a constant length the compiler replaces memcmp, for most types. */
static inline bool are_alike(const char *a, const char *b, size_t bytes)
{
    return bytes == 4 ? memcmp(a, b, 4) == 0 : bytes == 2 ? memcmp(a, b, 2) == 0 : memcmp(a, b, bytes) == 0;
}

/* Return whether sample i equals sample i - 1. Boundary samples match any sample. */
static inline bool is_as_before(const struct line *line, int64_t i)
{
    const char *const sample = line->samples + i * line->pitch;
    const int64_t begin = -line->begin;
    return i <= begin || i >= begin + line->counted->job->n_samples || are_alike(sample, sample - line->pitch, line->bytes);
}

/* Mark outputs that touch only equal samples. A run that matters has more than `step` samples, so every step-th one is tried. */
static void mark_alike(const struct line *line, unsigned char *skip)
{
    const int64_t step = lw_max64(line->n_taps, LW_COUNTED_ALIKE) - 1, first = newest(line), end = first + line->slot->block.count;
    for (int64_t i = step; i < line->length; i += step) {
        int64_t from = i, to = i;
        if (!is_as_before(line, i))
            continue;
        while (from > 1 && is_as_before(line, from - 1))
            from--;
        while (to < line->length && is_as_before(line, to))
            to++;
        for (int64_t j = lw_max64(from + step - 1, first); j < lw_min64(to, end); j++)
            skip[j - first] = 1;
        i = to / step * step;
    }
}

/* Count bad samples, in each of the channels of a sum. @param bad  set: [line's length] @return  whether any sample is bad */
static bool count_bad(const struct line *line, uint16_t *bad)
{
    const struct lw_counted *const counted = line->counted;
    const int64_t start = counted->job->view.start + line->begin, n = line->n_channels;
    bool has_any = false;
    memset(bad, 0, (size_t)line->length * sizeof *bad);
    for (int64_t c = line->c; can_touch(counted) && c < line->c + n; c++)
        for (int64_t i = 0; i < line->length; i++)
            if (bad[i] < UINT16_MAX && is_bad(counted, line->slot, line->number, c, i)) {
                bad[i]++;
                has_any = true;
            }
    for (int64_t g = 0; g < counted->n_gaps; g++) {
        const int64_t from = lw_max64(counted->gaps[g].first - start, 0);
        const int64_t to = lw_min64(counted->gaps[g].first + counted->gaps[g].count - start, line->length);
        for (int64_t i = from; i < to; i++)
            bad[i] = (uint16_t)lw_min64(n, UINT16_MAX);
        has_any = has_any || from < to;
    }
    return has_any;
}

static void mark_touched(const struct line *line, uint16_t *bad, unsigned char *skip)
{
    const int64_t first = newest(line), all = line->n_taps * line->n_channels;
    const int64_t most = (int64_t)(line->counted->job->search.masked_fraction * (double)all);
    int64_t met = 0;
    if (!(can_touch(line->counted) || line->counted->n_gaps > 0) || !count_bad(line, bad))
        return;
    for (int64_t i = line->counted->op->before; i < first + line->slot->block.count; i++) {
        met += bad[i];
        if (i - line->n_taps >= line->counted->op->before)
            met -= bad[i - line->n_taps];
        if (i >= first && met > most)
            skip[i - first] = 1;
    }
}

/* Mark outputs of a sum all of whose channels touch only equal samples. @param work  [outputs] */
static void mark_all_alike(const struct line *first, unsigned char *work, unsigned char *skip)
{
    struct line line = *first;
    const int64_t n = line.slot->block.count;
    mark_alike(&line, skip);
    for (int64_t c = 1; c < first->n_channels && memchr(skip, 1, (size_t)n); c++) {
        line.samples += line.channel_pitch;
        memset(work, 0, (size_t)n);
        mark_alike(&line, work);
        for (int64_t i = 0; i < n; i++)
            skip[i] &= work[i];
    }
}

/* ---- an image ------------------------------------------------------------------------------------------------------ */

struct image {
    const struct lw_counted *counted;
    const struct lw_conv2d_spec *conv2d;
    const struct lw_slot *slot;
    int64_t c;
    size_t bytes;               /* bytes of a pixel */
    int64_t begin;              /* image row of the slot's first row */
    /* Counts of each output column: consecutive rows, up to the current one, in which the pixels that the output touches are
     * all equal (alike), or all finite (good). */
    int32_t *alike, *good;
};

static int next(int32_t *rows, bool goes_on) { return *rows = goes_on ? (*rows < INT32_MAX ? *rows + 1 : *rows) : 0; }

/* Return whether a pixel equals its left neighbour and, after the first row, the pixel above. Boundary pixels match any pixel. */
static bool is_alike(const struct image *image, int64_t i, int64_t column)
{
    const int64_t row = image->begin + i;
    if (column < 0 || column >= image->conv2d->columns || row < 0 || row >= image->counted->job->n_samples)
        return true;
    const int64_t rows = image->counted->op->halo + image->slot->block.count;
    const int64_t at = (image->c * rows + i) * image->conv2d->columns + column;
    const char *const pixel = (const char *)image->slot->input + (size_t)at * image->bytes;
    const bool is_first = row == 0 || i == image->counted->op->before;
    return (column == 0 || memcmp(pixel, pixel - image->bytes, image->bytes) == 0) &&
           (is_first || memcmp(pixel, pixel - (size_t)image->conv2d->columns * image->bytes, image->bytes) == 0);
}

/* Add row i to `alike` and `good`. The last column that an output touches is look_ahead_columns to the right of its own. */
static void take_row(struct image *image, int64_t i, bool touches)
{
    const struct lw_conv2d_spec *const c = image->conv2d;
    const int64_t ahead = c->look_ahead_columns, least = lw_max64(c->kernel_columns, ALIKE_SIDE);
    int32_t alike = 0;
    int64_t good = 0;
    for (int64_t column = ahead - (c->kernel_columns - 1); column < c->output_columns + ahead; column++) {
        next(&alike, is_alike(image, i, column));
        good = touches && is_bad_pixel(image->counted, image->slot, image->c, i, column) ? 0 : good + 1;
        if (column < ahead)
            continue;
        next(&image->alike[column - ahead], alike >= least);
        next(&image->good[column - ahead], good >= c->kernel_columns);
    }
}

static void mark_row(const struct image *image, int64_t row, unsigned char *skip)
{
    const struct lw_conv2d_spec *const c = image->conv2d;
    const struct inside rows = inside_axis(image->counted->job), columns = inside_columns(c);
    const bool skips = image->counted->skips_ends, is_end = row < rows.first || row >= rows.end;
    for (int64_t j = 0; j < c->output_columns; j++) {
        const bool reaches = skips && (is_end || j < columns.first || j >= columns.end);
        skip[j] = reaches || image->alike[j] >= lw_max64(c->kernel_rows, ALIKE_SIDE) || image->good[j] < c->kernel_rows;
    }
}

static void mark_image(const struct lw_counted *counted, const struct lw_slot *slot, int64_t c, unsigned char *skip,
                       int32_t *scratch)
{
    const struct lw_conv2d_spec *const conv2d = &counted->job->op.conv2d;
    const int64_t before = counted->op->before, width = conv2d->output_columns, newest = before + conv2d->kernel_rows - 1;
    const bool touches = can_touch(counted);
    struct image image = {
        .counted = counted, .conv2d = conv2d, .slot = slot, .c = c, .bytes = lw_type_bytes(counted->job->op.input),
        .begin = begin_of(counted, slot), .alike = scratch, .good = scratch + width,
    };
    memset(scratch, 0, (size_t)(2 * width) * sizeof *scratch);
    for (int64_t i = before; i < newest + slot->block.count; i++) {
        take_row(&image, i, touches);
        if (i >= newest)
            mark_row(&image, slot->block.first + i - newest, skip + (i - newest) * width);
    }
}

/* ---- both ---------------------------------------------------------------------------------------------------------- */

int64_t lw_counted_bytes(const struct lw_job *job, const struct lw_op_plan *op, int64_t count)
{
    return lw_op_has_pixels(&job->op) ? 2 * job->op.conv2d.output_columns * (int64_t)sizeof(int32_t)
                                     : (op->halo + count) * (int64_t)sizeof(uint16_t);
}

bool lw_counted_mark(const struct lw_counted *counted, const struct lw_slot *slot, int number, int64_t c, unsigned char *skip,
                     void *scratch)
{
    const struct lw_job *const job = counted->job;
    const int64_t width = lw_op_width(&job->op);
    const size_t n = (size_t)(slot->block.count * width);
    const bool is_slow = job->op.layout == LW_TIME_SLOW, sums = lw_op_sums_channels(&job->op);
    const int64_t length = counted->op->halo + slot->block.count, bytes = (int64_t)lw_type_bytes(job->op.input);
    const int64_t n_inputs = lw_op_inputs(&job->op, slot->block.n_channels), first = sums ? 0 : c;
    const struct line line = {
        .counted = counted, .slot = slot, .number = number, .c = first, .n_channels = sums ? n_inputs : 1,
        .samples = (const char *)slot->input + (is_slow ? first : first * length) * bytes,
        .bytes = (size_t)bytes, .pitch = is_slow ? n_inputs * bytes : bytes, .channel_pitch = is_slow ? bytes : length * bytes,
        .length = length, .n_taps = n_touched(&job->op), .begin = begin_of(counted, slot),
    };
    memset(skip, 0, n);
    if (lw_op_has_pixels(&job->op)) {
        mark_image(counted, slot, c, skip, scratch);
    } else {
        mark_all_alike(&line, scratch, skip);
        mark_touched(&line, scratch, skip);
        const struct lw_block *const block = &slot->block;
        const struct inside inside = inside_axis(job);
        for (int64_t i = block->first; counted->skips_ends && i < block->first + block->count; i++)
            if (i < inside.first || i >= inside.end)
                skip[i - block->first] = 1;
    }
    return memchr(skip, 1, n) != NULL;
}

/* ---- peaks ----------------------------------------------------------------------------------------------------------- */

/* Energies of an output's taps, of all channels, and of those that meet bad samples. */
struct met {
    double all, bad;
};

/* Add the taps of an output in a channel of the slot's input. Tap 0 multiplies the newest sample.
 * @param oldest  place in the slot of the sample under the last tap @param weight  weight of the channel in a sum */
static void add_taps(const struct lw_counted *counted, const struct lw_slot *slot, int number, int64_t c, int64_t oldest,
                     double weight, const struct lw_stored_taps *taps, int64_t row, struct met *met)
{
    const int64_t n_taps = counted->job->op.ols.n_taps;
    const bool is_strict = counted->job->search.masked_fraction == 0;          /* no energies are needed */
    for (int64_t tap = 0; tap < n_taps && !(is_strict && met->bad > 0); tap++) {
        const bool meets = is_bad(counted, slot, number, c, oldest + n_taps - 1 - tap);
        const double its = is_strict ? 1 : weight * weight * lw_stored_energy(taps, n_taps, row, tap);
        met->all += its;
        met->bad += meets ? its : 0;
    }
}

/* Return whether taps on bad samples have more than the allowed part of a filter's energy, in all channels of a sum together. The
 * oldest sample of the block's first output is number `before` of the slot. */
static bool is_touched(const struct lw_counted *counted, const struct lw_slot *slot, int number, const struct lw_crossing *crossing)
{
    const struct lw_op_spec *const op = &counted->job->op;
    const struct lw_shifts *const sums = lw_op_sums(op);
    const struct lw_stored_taps taps = lw_job_filter(counted->job, crossing->filter);
    const int64_t first = crossing->index - slot->block.first + counted->op->before;
    struct met met = {0};
    if (!sums)
        add_taps(counted, slot, number, crossing->channel - slot->block.channel, first, 1, &taps,
                 op->ols.own_taps ? crossing->channel : 0, &met);
    for (int64_t c = 0; sums && c < sums->n_inputs; c++) {
        const int64_t sum = op->ols.beams ? crossing->channel : crossing->filter;
        const float weight = lw_shifts_weight(sums, sum, c);
        if (weight != 0)
            add_taps(counted, slot, number, c, first + sums->before + sums->delays[sum * sums->n_inputs + c], weight, &taps,
                     op->ols.own_taps ? c : 0, &met);
    }
    return met.bad > counted->job->search.masked_fraction * met.all;
}

/* Return whether a crossing of an image touches a non-finite pixel; images have no mask. */
static bool is_pixel_touched(const struct lw_counted *counted, const struct lw_slot *slot, const struct lw_crossing *crossing)
{
    const struct lw_conv2d_spec *const conv2d = &counted->job->op.conv2d;
    const int64_t first = crossing->index - slot->block.first + counted->op->before,
                  last_column = crossing->column + conv2d->look_ahead_columns;
    for (int64_t row = 0; row < conv2d->kernel_rows; row++)
        for (int64_t column = 0; column < conv2d->kernel_columns; column++)
            if (is_bad_pixel(counted, slot, crossing->channel - slot->block.channel, first + row, last_column - column))
                return true;
    return false;
}

int64_t lw_counted_drop(const struct lw_counted *counted, const struct lw_slot *slot, int number, struct lw_crossing *crossings,
                      int64_t n)
{
    const bool is_image = lw_op_has_pixels(&counted->job->op);
    int64_t kept = 0;
    if (!can_touch(counted))
        return n;
    for (int64_t i = 0; i < n; i++)
        if (!(is_image ? is_pixel_touched(counted, slot, &crossings[i]) : is_touched(counted, slot, number, &crossings[i])))
            crossings[kept++] = crossings[i];
    return kept;
}
