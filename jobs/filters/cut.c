/* cut.c - templates cut from data around given times: a series of filters with taps of their own for each channel.
 *
 *     times --> samples of the data --> box of each --> taps [template x channel x tap], float32 --> command.c: file */
#include "base/log.h"
#include "base/memory.h"
#include "io/notes/notes.h"
#include "io/read/box.h"
#include "job/coordinates.h"
#include "jobs/filters/bank.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const struct lw_option options[] = {
    LW_FOR_OPTIONS,
    {.name = "at", .kind = LW_OPTION_NAMES, .argument = "TIME ...", .is_required = true,
     .help = "Times of the templates, such as arrivals. A whole number is a sample, as for --start of ols. Others are as for "
             "--from: UTC (2015-09-14T09:50:45.4), or since the start (10s, 12.5). @FILE is a text with a line for each. "
             "FILE:/dataset is a table with a column time or sample, such as /peaks, or a list of times as in /peaks. "
             "The nearest sample is taken."},
    {.name = "before", .kind = LW_OPTION_STRETCH, .argument = "TIME", .fallback = "0", .minimum = 0, .maximum = 1e9,
     .help = "Begin so long before the time: a number of samples, or a time such as 0.5s."},
    {.name = "after", .kind = LW_OPTION_STRETCH, .argument = "TIME", .is_required = true, .minimum = 1, .maximum = 1e9,
     .help = "End so long behind the time. Templates have before + after taps; the first behind the end is at TIME."},
    {.name = "delays", .kind = LW_OPTION_FILE, .argument = "FILE:/dataset",
     .help = "Cut each channel later, by its delay: [template x channel], or [channel] for all templates. ols --stack --delays "
             "takes the same table and lines the channels up again."},
    {.name = "delay-unit", .kind = LW_OPTION_CHOICE, .choices = "samples|s", .fallback = "samples", .is_rare = true,
     .help = "Unit of --delays. Seconds (s) are rounded to the nearest sample, halves to the even one."},
    {.name = "type", .kind = LW_OPTION_NONE},
    {0},
};

enum { SAMPLE, TIME, COLUMNS };

static const struct lw_column columns[COLUMNS] = {{"sample", LW_COLUMN_REAL}, {"time", LW_COLUMN_REAL}};

/* A series of templates. */
struct cut {
    const struct lw_for *data;
    struct lw_boxes *boxes;             /* owned */
    FILE *into;                         /* memory stream that collects `samples` */
    int64_t *samples;                   /* owned, by malloc; [n] sample of the data under the reference tap */
    int32_t *delays;                    /* owned; [n][n_channels], samples; NULL: 0 */
    int64_t n, before, n_taps, n_channels;
    int parts;                          /* numbers of a sample */
};

/* ---- times --------------------------------------------------------------------------------------------------------------- */

/* Return the number that the column `time` of /peaks has at sample 0. */
static double start_of(const struct lw_for *data) { return data->info.axis.has_start ? data->info.axis.start : 0; }

/* Add samples that are numbers, or times in the unit of /peaks. */
static int add_numbers(struct cut *cut, const double *numbers, int64_t n, bool is_time, struct lw_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        const double at = is_time ? (numbers[i] - start_of(cut->data)) * cut->data->info.axis.sample_rate_hz : numbers[i];
        if (!(fabs(at) < 9e18))
            return lw_fail(err, LW_EDATA, "--at: %.17g, number %" PRId64 " of a dataset, is no time: leave it out", numbers[i], i);
        fwrite(&(int64_t){llround(at)}, sizeof(int64_t), 1, cut->into);
    }
    return LW_OK;
}

/* Add the times of a table: its column `time` where the data have a rate, else `sample`; or of a list of times. */
static int add_dataset(struct cut *cut, const char *name, struct lw_error *err)
{
    static const char *const names[] = {"time", NULL}, *const samples[] = {"sample", NULL};
    LW_FREED struct lw_notes *const notes = lw_alloc(sizeof *notes, "times", err);
    LW_FREED double *values = NULL;
    struct lw_dataset_info info;
    int rc = notes ? lw_notes_read(name, NULL, notes, err) : LW_ESYSTEM;
    if (rc == LW_OK && notes->n_columns == 0) {
        if ((rc = lw_numbers_read(name, 1, &info, &values, err)) == LW_OK)
            rc = info.type.is_complex ? lw_fail(err, LW_EDATA, "--at %.600s has complex numbers: give real ones", name)
                                      : add_numbers(cut, values, info.dims[0], true, err);
    } else if (rc == LW_OK) {
        const bool has_time = cut->data->info.axis.sample_rate_hz > 0 && lw_notes_have_columns(notes, names);
        if (!has_time && !lw_notes_have_columns(notes, samples))
            rc = lw_fail(err, LW_EDATA, "--at %.600s has no column time or sample that places templates", name);
        else if ((rc = lw_notes_read_column(name, notes, has_time ? *names : *samples, &values, err)) == LW_OK)
            rc = add_numbers(cut, values, notes->n_rows, has_time, err);
    }
    return rc;
}

static int add_text(struct cut *cut, const char *text, struct lw_error *err)
{
    int64_t sample = 0;
    double off;
    const bool is_number = lw_parse_int(text, &sample) == LW_PARSE_OK;
    const int rc = is_number ? LW_OK : lw_job_nearest_sample("at", text, &cut->data->info, &sample, &off, err);
    fwrite(&sample, sizeof sample, 1, cut->into);
    return rc;
}

/* Return the samples by which a channel is late. */
static int64_t delay_of(const struct cut *cut, int64_t f, int64_t channel)
{
    return cut->delays ? cut->delays[f * cut->n_channels + channel] : 0;
}

static int read_delays(const struct lw_options *given, struct cut *cut, struct lw_error *err)
{
    const char *const name = lw_options_text(given, "delays");
    const struct lw_for *const data = cut->data;
    const int64_t n_all = data->channel_dim >= 0 ? data->info.dims[data->channel_dim] : 1;
    LW_FREED double *all = NULL, *values = NULL;
    struct lw_dataset_info info;
    int rc;
    if (!name)
        return LW_OK;
    if ((rc = lw_numbers_read(name, 2, &info, &all, err)) ||
        (rc = lw_job_channel_values("delays", &info, all, cut->n, n_all, &data->channels, &values, err)))
        return rc;
    if (!(cut->delays = lw_alloc_array(cut->n * cut->n_channels, sizeof *cut->delays, "delays", err)))
        return LW_ESYSTEM;
    return lw_job_round_delays(given, "delays", &data->info, values, cut->n, cut->n_channels, cut->delays, err);
}

/* Refuse templates that reach beyond the data. */
static int check_times(const struct cut *cut, struct lw_error *err)
{
    const int64_t last = cut->data->info.dims[cut->data->axis] - cut->n_taps + cut->before;      /* samples are within +-9e18 */
    for (int64_t f = 0, c = 0; f < cut->n; c = (c + 1) % cut->n_channels, f += c == 0)
        if (cut->samples[f] < cut->before - delay_of(cut, f, c) || cut->samples[f] > last - delay_of(cut, f, c))
            return lw_fail(err, LW_ECONFIG, "template %" PRId64 ", at sample %" PRId64 ", would leave %.600s, which has %" PRId64
                           " samples: leave its time out, or give less --before or --after", f,
                           cut->samples[f] + delay_of(cut, f, c), lw_dataset_name(&cut->data->info).text,
                           cut->data->info.dims[cut->data->axis]);
    return LW_OK;
}

static int read_times(const struct lw_options *given, struct cut *cut, struct lw_error *err)
{
    struct lw_names names = {0};
    size_t bytes = 0;
    int rc = lw_names_expand(lw_options_text(given, "at"), &names, err);
    if (rc == LW_OK && !(cut->into = open_memstream((char **)&cut->samples, &bytes)))
        rc = lw_fail(err, LW_ESYSTEM, "no memory for times");
    for (const char *name = NULL; rc == LW_OK && (name = lw_names_next(&names, name)); )
        rc = strstr(name, ":/") ? add_dataset(cut, name, err) : add_text(cut, name, err);
    if (cut->into && fclose(cut->into) && rc == LW_OK)
        rc = lw_fail(err, LW_ESYSTEM, "no memory for times");
    cut->n = (int64_t)(bytes / sizeof *cut->samples);
    lw_names_release(&names);
    if (rc == LW_OK && (cut->n < 1 || cut->n > INT32_MAX))
        rc = lw_fail(err, LW_EUSAGE, "--at names %" PRId64 " times: give one at least, and at most 2^31 - 1", cut->n);
    rc = rc ? rc : read_delays(given, cut, err);
    return rc ? rc : check_times(cut, err);
}

/* ---- a template ---------------------------------------------------------------------------------------------------------- */

/* Read a template behind its place in `work`, and turn it there to [channel x tap]. */
static int make(const void *context, int f, double *work, double *row, struct lw_error *err)
{
    const struct cut *const cut = context;
    const struct lw_for *const data = cut->data;
    const int64_t n = cut->n_channels * cut->n_taps, parts = cut->parts;
    const int64_t n_boxes = cut->delays ? cut->n_channels : 1;          /* a box of each channel, or one of all */
    const bool by_time = data->channel_dim == 1 && !cut->delays;
    const int64_t by_tap = by_time ? cut->n_channels : 1, by_channel = by_time ? 1 : cut->n_taps;
    LW_FREED struct lw_sample_box *const boxes = lw_alloc_array(n_boxes, sizeof *boxes, "templates", err);
    struct lw_sample_box box = {.count = {1, 1, 1, 1}, .step = {1, 1, 1, 1}};
    box.first[data->axis] = cut->samples[f] - cut->before;
    box.count[data->axis] = cut->n_taps;
    if (data->channel_dim >= 0) {
        box.first[data->channel_dim] = data->channels.begin;
        box.step[data->channel_dim] = data->channels.step;
        box.count[data->channel_dim] = cut->delays ? 1 : cut->n_channels;
    }
    for (int64_t b = 0; boxes && b < n_boxes; b++) {
        boxes[b] = box;
        boxes[b].first[data->axis] += delay_of(cut, f, b);
        if (data->channel_dim >= 0)
            boxes[b].first[data->channel_dim] += b * data->channels.step;
    }
    const int rc = boxes ? lw_boxes_read(cut->boxes, boxes, (int)n_boxes, work + n * parts, err) : LW_ESYSTEM;
    if (rc)
        return rc;
    for (int64_t i = 0; i < n * parts; i++) {
        const int64_t channel = i / parts / cut->n_taps, tap = i / parts % cut->n_taps;
        work[i] = work[(n + channel * by_channel + tap * by_tap) * parts + i % parts];
        if (isfinite(work[i]))
            continue;
        char time[LW_INSTANT_TEXT];
        const int64_t sample = box.first[data->axis] + delay_of(cut, f, channel) + tap;
        lw_sampling_time_text(&data->info.axis, sample, time);
        return lw_fail(err, LW_EDATA, "template %d: sample %" PRId64 "%s%s of channel %" PRId64 " of %.600s is missing or not a "
                       "number: leave its time or the channel out", f, sample, time[0] ? ", " : "", time,
                       data->channels.begin + channel * data->channels.step, lw_dataset_name(&data->info).text);
    }
    row[SAMPLE] = (double)cut->samples[f];
    row[TIME] = data->info.axis.sample_rate_hz > 0 ? start_of(data) + row[SAMPLE] / data->info.axis.sample_rate_hz : NAN;
    return LW_OK;
}

/* ---- the series ---------------------------------------------------------------------------------------------------------- */

static void report(const struct lw_bank *bank, const double *rows)
{
    const struct cut *const cut = bank->series.context;
    (void)rows;
    lw_log_info("%" PRId64 " templates of %" PRId64 " channels x %" PRId64 " taps; tap %" PRId64 " is at the time", cut->n,
                cut->n_channels, cut->n_taps, cut->before);
}

static void release(void *context)
{
    struct cut *const cut = context;
    lw_boxes_close(cut->boxes);
    free(cut->samples);
    lw_free(cut->delays);
    lw_free(cut);
}

static int choose_length(const struct lw_options *given, struct cut *cut, struct lw_error *err)
{
    const int64_t length = cut->data->info.dims[cut->data->axis];
    int64_t after;
    int rc;
    if ((rc = lw_job_count_samples(given, "before", &cut->data->info, &cut->before, err)) ||
        (rc = lw_job_count_samples(given, "after", &cut->data->info, &after, err)))
        return rc;
    if (after < 1 || cut->before > length || after > length - cut->before)
        return lw_fail(err, LW_ECONFIG, "templates would begin %" PRId64 " samples before their times and end %" PRId64 " behind: "
                       "they must have 1 to %" PRId64 ", the samples of the data", cut->before, after, length);
    cut->n_taps = cut->before + after;
    return LW_OK;
}

/* Set the bank's shape and dataset: [template x channel x tap], or [template x tap] of data with one dimension. */
static void set_shape(const struct cut *cut, struct lw_bank *bank)
{
    const bool has_channels = cut->data->channel_dim >= 0;
    bank->n_filters = (int)cut->n;
    bank->n_taps = cut->n_channels * cut->n_taps;
    bank->is_complex = cut->parts == 2;
    bank->rate_hz = cut->data->info.axis.sample_rate_hz;
    bank->series.work_doubles = 2 * lw_bank_values(bank);
    bank->design = "samples of the data, in their order";
    lw_bank_note_int(bank, "reference_tap", cut->before);
    bank->layout = (struct lw_writer_dataset){
        .path = "/taps", .n_dims = has_channels ? 3 : 2,
        .dims = {cut->n, has_channels ? cut->n_channels : cut->n_taps, cut->n_taps},
        .dim_names = {"filter", has_channels ? "channel" : "tap", "tap"}, .has_scales = true,
        .type = {.scalar = LW_FLOAT32, .is_complex = bank->is_complex},
    };
    if (has_channels)
        lw_coordinates_channels(cut->data->places, &cut->data->channels, "channel", &bank->layout, 1);
}

/* Every rank reads the times, and then its share of the templates. */
static int plan(const struct lw_options *given, struct lw_comm *comm, struct lw_bank *bank, struct lw_error *err)
{
    const struct lw_for *const data = &bank->data;
    const struct lw_boxes_spec spec = {.info = &data->info, .files = data->reader, .is_pooled = true, .keeps_parts = true};
    struct cut *const cut = lw_alloc(sizeof *cut, "templates", err);
    int rc;
    (void)comm;
    if (!cut)
        return LW_ESYSTEM;
    bank->series = (struct lw_bank_series){.context = cut, .columns = columns, .n_columns = COLUMNS, .make = make, .report = report,
                                           .release = release};
    *cut = (struct cut){.data = data, .n_channels = lw_range_length(&data->channels), .parts = data->info.type.is_complex ? 2 : 1};
    if ((rc = choose_length(given, cut, err)) == LW_OK && (rc = read_times(given, cut, err)) == LW_OK &&
        (rc = lw_boxes_open(&spec, &cut->boxes, err)) == LW_OK)
        set_shape(cut, bank);
    return rc;
}

const struct lw_filter_kind lw_filter_cut = {
    .name = "cut", .title = "templates cut from data around given times",
    .description = "Templates for ols --correlate: taps [template x channel x tap] are the data's samples in the order of time, "
                   "unscaled. The attribute reference_tap marks the tap at the given time, so that a peak in /peaks has that "
                   "time. --delays cuts each channel at its own arrival. The table /templates, beside /taps, has a row for each: "
                   "sample, and time as in /peaks. A sample in a template that is missing or not a number ends the "
                   "command with a message.",
    .example = "lapwing filters cut --for network.mseed --at 2018-08-31T07:01:12.5 8s \\\n"
               "    --delays moveout.h5:/delays --before 0.5s --after 2.5s \\\n"
               "    --output templates.h5\n"
               "lapwing ols --input network.mseed --filters templates.h5:/taps --correlate \\\n"
               "    --delays moveout.h5:/delays --normalize demeaned --stack sum \\\n"
               "    --products peaks --threshold 8 --noise-unit mad --output detections.h5\n"
               "lapwing plot detections.h5:/peaks --kind detection",
    .options = options, .plan = plan,
};
