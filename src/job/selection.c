#include "job/selection.h"

#include "base/integers.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- samples by number ---------------------------------------------------------------------------------------------------- */

static int fail_unknown_rate(const char *option, const char *text, const struct lw_dataset_info *input, struct lw_error *err)
{
    return lw_fail(err, LW_ECONFIG, "--%s %s: the metadata of %s have no sampling rate: give --sample-rate", option, text,
                   lw_dataset_name(input).text);
}

int lw_job_count_samples(const struct lw_options *given, const char *option, const struct lw_dataset_info *input, int64_t *samples,
                         struct lw_error *err)
{
    const struct lw_stretch stretch = lw_options_stretch(given, option);
    const double n = stretch.seconds * input->axis.sample_rate_hz;
    *samples = stretch.samples;
    if (!stretch.is_time)
        return LW_OK;
    if (input->axis.sample_rate_hz <= 0)
        return fail_unknown_rate(option, lw_options_text(given, option), input, err);
    *samples = n < 9e18 ? llround(n) : INT64_MAX;
    return LW_OK;
}

static int take_numbers(const struct lw_options *given, const struct lw_dataset_info *input, int64_t n, struct lw_view_spec *view,
                        struct lw_error *err)
{
    int rc = lw_job_count_samples(given, "start", input, &view->start, err);
    if (rc)
        return rc;
    if (view->start >= n)
        return lw_fail(err, LW_ECONFIG, "--start %s is not in 0..%" PRId64 ", the samples on the axis",
                       lw_options_text(given, "start"), n - 1);
    view->count = n - view->start;
    if (!lw_options_given(given, "count"))
        return LW_OK;
    const char *const text = lw_options_text(given, "count");
    if ((rc = lw_job_count_samples(given, "count", input, &view->count, err)))
        return rc;
    if (view->count < 1)
        return lw_fail(err, LW_ECONFIG, "--count %s is less than a sample at %.9g Hz", text, input->axis.sample_rate_hz);
    if (view->count > n - view->start)
        return lw_fail(err, LW_ECONFIG, "--count %s: only %" PRId64 " of %" PRId64 " samples follow --start %s", text,
                       n - view->start, n, lw_options_text(given, "start"));
    return LW_OK;
}

/* ---- samples by time ------------------------------------------------------------------------------------------------------- */

/* Least number taken for seconds of GPS (1983 and later); a smaller number is seconds since the start of the file. */
#define LEAST_GPS 1e8

/* Read a time as an instant on the axis's time scale. @param is_since  set: the text is a time since the start of the axis, and
 * `at` counts from that start */
static int read_time(const char *option, const char *text, const struct lw_dataset_info *input, struct lw_instant *at,
                     bool *is_since, struct lw_error *err)
{
    const enum lw_time_scale scale = input->axis.scale;
    double seconds;
    *is_since = false;
    if (lw_instant_parse(text, at)) {
        if (scale == LW_TIME_GPS)
            *at = lw_instant_to_gps(*at);
    } else if (lw_parse_duration(text, &seconds) == LW_PARSE_OK && lw_instant_from_seconds(seconds, at)) {
        *is_since = seconds < LEAST_GPS;
        if (!*is_since && scale == LW_TIME_UTC)
            *at = lw_instant_from_gps(*at);
    } else {
        return lw_fail(err, LW_EUSAGE, "--%s %s is neither a time in UTC such as 2015-09-14T09:50:45, nor seconds of GPS, nor a "
                       "time since the start such as 10s or 2min", option, text);
    }
    if (*is_since || scale != LW_TIME_UNKNOWN)
        return LW_OK;
    return lw_fail(err, LW_ECONFIG, "--%s %s: the metadata of %s have no start time: give --start-time, or a time since the start "
                   "such as 10s", option, text, lw_dataset_name(input).text);
}

int lw_job_read_time(const char *option, const char *text, const struct lw_dataset_info *input, double *since_start_s,
                     struct lw_error *err)
{
    struct lw_instant at;
    bool is_since;
    const int rc = read_time(option, text, input, &at, &is_since, err);
    const struct lw_instant start = input->axis.instant;
    if (rc == LW_OK && is_since)
        *since_start_s = lw_instant_seconds(at);
    else if (rc == LW_OK)
        *since_start_s =
            (double)(at.seconds - start.seconds) + (double)(at.attoseconds - start.attoseconds) / (double)LW_ATTOSECONDS;
    return rc;
}

int lw_job_nearest_sample(const char *option, const char *text, const struct lw_dataset_info *input, int64_t *sample, double *off,
                          struct lw_error *err)
{
    static const struct lw_instant zero = {0, 0};
    struct lw_instant at;
    bool is_since;
    if (input->axis.period.numerator == 0)
        return fail_unknown_rate(option, text, input, err);
    const int rc = read_time(option, text, input, &at, &is_since, err);
    if (rc == LW_OK)
        *sample = lw_instant_to_sample(is_since ? zero : input->axis.instant, input->axis.period, at, off);
    return rc;
}

/* Find the first sample at or after the option's time; a sample up to a millionth of a step before the time counts, too. */
static int find_sample(const struct lw_options *given, const char *option, const struct lw_dataset_info *input, int64_t n,
                       int64_t *sample, struct lw_error *err)
{
    const char *const text = lw_options_text(given, option);
    double off;
    const int rc = lw_job_nearest_sample(option, text, input, sample, &off, err);
    if (rc)
        return rc;
    *sample += off > 1e-6;
    if (0 <= *sample && *sample <= n)
        return LW_OK;
    char first[LW_INSTANT_TEXT], last[LW_INSTANT_TEXT];
    return lw_fail(err, LW_ECONFIG, "--%s %s is outside of %.600s, which lasts %.9g s%s%s%s%s", option, text,
                   lw_dataset_name(input).text, (double)n * lw_period_seconds(input->axis.period),
                   input->axis.scale == LW_TIME_UNKNOWN ? "" : ", from ", lw_sampling_time_text(&input->axis, 0, first),
                   input->axis.scale == LW_TIME_UNKNOWN ? "" : " to ", lw_sampling_time_text(&input->axis, n, last));
}

int lw_job_choose_piece(const struct lw_options *given, const struct lw_dataset_info *input, int axis, struct lw_view_spec *view,
                        struct lw_error *err)
{
    const int64_t n = input->dims[axis];
    if (!lw_options_given(given, "from") && !lw_options_given(given, "to"))
        return take_numbers(given, input, n, view, err);
    const struct lw_stretch start = lw_options_stretch(given, "start");
    if (start.is_time || start.samples != 0 || lw_options_given(given, "count"))
        return lw_fail(err, LW_EUSAGE, "--from and --to choose a piece by its times, --start and --count by its samples: give one "
                       "pair or the other");
    int64_t begin = 0, end = n;
    int rc = LW_OK;
    if (lw_options_given(given, "from"))
        rc = find_sample(given, "from", input, n, &begin, err);
    if (rc == LW_OK && lw_options_given(given, "to"))
        rc = find_sample(given, "to", input, n, &end, err);
    if (rc)
        return rc;
    if (begin >= end)
        return lw_fail(err, LW_ECONFIG, "no sample of %s lies from --from %s to --to %s: the piece would be samples %" PRId64 "..%"
                       PRId64, lw_dataset_name(input).text,
                       lw_options_given(given, "from") ? lw_options_text(given, "from") : "(its start)",
                       lw_options_given(given, "to") ? lw_options_text(given, "to") : "(its end)", begin, end - 1);
    view->start = begin;
    view->count = end - begin;
    return LW_OK;
}

/* ---- channels ------------------------------------------------------------------------------------------------------------- */

int64_t lw_range_length(const struct lw_range *range) { return (range->end - range->begin + range->step - 1) / range->step; }

/* Size of each unit in metres or hertz. */
static const struct {
    const char *unit;
    double size;
} units[] = {
    {"mm", 1e-3}, {"cm", 1e-2}, {"m", 1}, {"km", 1e3}, {"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9},
};

double lw_job_unit_size(const char *unit)
{
    for (size_t u = 0; u < sizeof units / sizeof *units; u++)
        if (strcmp(units[u].unit, unit) == 0)
            return units[u].size;
    return 0;
}

/* Read "1.2GHz" as a value in the coordinate's unit; a number alone is in that unit already. */
static bool read_value(const char *text, const char *coordinate_unit, double *value)
{
    char number[64];
    const size_t length = strcspn(text, "mckMGH ");
    const char *const unit = text + length + strspn(text + length, " ");
    snprintf(number, sizeof number, "%.*s", (int)lw_min64((int64_t)length, 63), text);
    if (lw_parse_real(number, value) != LW_PARSE_OK)
        return false;
    if (!*unit)
        return true;
    const double size = lw_job_unit_size(unit), own = lw_job_unit_size(coordinate_unit);
    if (size == 0 || own == 0)
        return false;
    *value *= size / own;
    return true;
}

/* Read an interval "A:B"; a missing end is infinite. */
static bool read_interval(const char *text, const char *unit, double *low, double *high)
{
    char first[64];
    const char *const colon = strchr(text, ':');
    *low = -INFINITY;
    *high = INFINITY;
    if (!colon || colon - text >= (long)sizeof first || !(colon > text || colon[1]))
        return false;
    snprintf(first, sizeof first, "%.*s", (int)(colon - text), text);
    return (colon == text || read_value(first, unit, low)) && (!colon[1] || read_value(colon + 1, unit, high));
}

static int take_coordinate(const struct lw_options *given, const char *name, const struct lw_dataset_info *input, int dimension,
                           struct lw_range *channels, struct lw_error *err)
{
    const char *const text = lw_options_text(given, name);
    const struct lw_coordinate *const coordinate = dimension < 0 ? NULL : &input->coordinates[dimension];
    double low, high;
    if (!coordinate || strcmp(coordinate->name, name) != 0 || !coordinate->is_regular || coordinate->step == 0)
        return lw_fail(err, LW_ECONFIG, "--%s %s: the metadata of %s have no regular %s of the channels%s; use --channels", name,
                       text, lw_dataset_name(input).text, name,
                       strcmp(name, "distance") == 0 ? " (--channel-spacing gives one)" : "");
    if (!read_interval(text, coordinate->unit, &low, &high))
        return lw_fail(err, LW_EUSAGE, "--%s %s is not an interval A:B in %s", name, text,
                       coordinate->unit[0] ? coordinate->unit : "the unit of the file");
    /* Take the channels i with first + i x step in [low, high], to within a thousandth of a step. */
    const double a = (low - coordinate->first) / coordinate->step, b = (high - coordinate->first) / coordinate->step;
    const double begin = ceil(fmin(a, b) - 1e-3), end = floor(fmax(a, b) + 1e-3) + 1;
    const int64_t n = input->dims[dimension];
    channels->begin = begin <= 0 ? 0 : begin >= (double)n ? n : (int64_t)begin;
    channels->end = end <= 0 ? 0 : end >= (double)n ? n : (int64_t)end;
    channels->step = 1;
    if (channels->begin < channels->end)
        return LW_OK;
    return lw_fail(err, LW_ECONFIG, "--%s %s: no channel lies there; those of %s are at %.9g to %.9g %s", name, text,
                   lw_dataset_name(input).text, coordinate->first,
                   coordinate->first + (double)(n - 1) * coordinate->step, coordinate->unit);
}

int lw_job_choose_channels(const struct lw_options *given, const struct lw_dataset_info *input, int channels,
                           struct lw_range *range, struct lw_error *err)
{
    const bool by_number = lw_options_given(given, "channels"), by_distance = lw_options_given(given, "distance"),
               by_frequency = lw_options_given(given, "frequency");
    const int64_t n = channels < 0 ? 1 : input->dims[channels];
    *range = (struct lw_range){0, n, 1};
    if (by_number + by_distance + by_frequency > 1)
        return lw_fail(err, LW_EUSAGE, "--channels, --distance and --frequency all choose channels: give one of them");
    if (by_number) {
        const struct lw_option_range wanted = lw_options_range(given, "channels");
        range->begin = wanted.begin < 0 ? 0 : wanted.begin;
        range->end = wanted.end < 0 ? n : wanted.end;
        range->step = wanted.step < 0 ? 1 : wanted.step;
        if (range->begin >= range->end || range->end > n || range->step < 1)
            return lw_fail(err, LW_ECONFIG, "--channels %s selects no channel, or one beyond the %" PRId64 " there are (0:%" PRId64
                           ")", lw_options_text(given, "channels"), n, n);
        return LW_OK;
    }
    return by_distance ? take_coordinate(given, "distance", input, channels, range, err)
           : by_frequency ? take_coordinate(given, "frequency", input, channels, range, err)
                          : LW_OK;
}

/* ---- tables of channels --------------------------------------------------------------------------------------------------- */

bool lw_job_find_channels(int64_t n, int64_t n_all, const struct lw_range *chosen, struct lw_range *range)
{
    const int64_t n_chosen = lw_range_length(chosen);
    *range = n == n_all ? *chosen : (struct lw_range){0, n_chosen, 1};
    return n == n_all || n == n_chosen;
}

int lw_job_channel_values(const char *option, const struct lw_dataset_info *table, const double *all, int64_t n, int64_t n_all,
                          const struct lw_range *chosen, double **values, struct lw_error *err)
{
    const int64_t rows = table->n_dims == 2 ? table->dims[0] : 1, columns = table->dims[table->n_dims - 1];
    const int64_t n_channels = lw_range_length(chosen);
    struct lw_range channels;
    if (!lw_job_find_channels(columns, n_all, chosen, &channels) || table->type.is_complex || (rows != n && rows != 1))
        return lw_fail(err, LW_EDATA, "--%s %.600s is [%" PRId64 " x %" PRId64 "]%s: give real numbers [%" PRId64 " x %" PRId64
                       "], or [%" PRId64 "] for all, a column for each channel of the input", option, lw_dataset_name(table).text,
                       rows, columns, table->type.is_complex ? ", complex" : "", n, n_all, n_all);
    if (!(*values = lw_alloc_array(n * n_channels, sizeof **values, option, err)))
        return LW_ESYSTEM;
    for (int64_t i = 0; i < n * n_channels; i++)
        (*values)[i] = all[(rows > 1 ? i / n_channels : 0) * columns + channels.begin + i % n_channels * channels.step];
    return LW_OK;
}

int lw_job_round_delays(const struct lw_options *given, const char *option, const struct lw_dataset_info *input,
                        const double *values, int64_t n, int64_t n_channels, int32_t *delays, struct lw_error *err)
{
    const bool in_seconds = lw_options_choice(given, "delay-unit") > 0;
    const double rate_hz = in_seconds ? input->axis.sample_rate_hz : 1;
    if (rate_hz <= 0)
        return lw_fail(err, LW_EUSAGE, "--delay-unit s needs the sampling rate of %.600s, which the file does not have: give "
                       "--sample-rate", lw_dataset_name(input).text);
    for (int64_t i = 0; i < n * n_channels; i++) {
        const double delay = values ? values[i] * rate_hz : 0, whole = rint(delay);
        if (!(fabs(delay) < 0x1p30) || (!in_seconds && delay != whole))
            return lw_fail(err, LW_EDATA, "--%s: the delay of row %" PRId64 ", channel %" PRId64 ", is %.9g: give %s", option,
                           i / n_channels, i % n_channels, values[i],
                           fabs(delay) < 0x1p30 ? "whole samples, or seconds with --delay-unit s"
                                                : "finite delays of less than 2^30 samples");
        delays[i] = (int32_t)whole;
    }
    return LW_OK;
}
