/* detection.c - draws the strongest row of a table of peaks of a stack: the input's channels around it, each moved by its delay,
 * and above them their mean. A trace is divided by its largest sample. */
#include "plot/kinds.h"

#include "base/integers.h"
#include "base/memory.h"
#include "job/selection.h"

#include <inttypes.h>

enum { MOST_TRACES = 40, MOST_POINTS = 4000 };

enum { INDEX, FILTER, SNR, N_COLUMNS };
static const char *const columns[N_COLUMNS] = {"index", "filter", "snr"};

struct detection {
    struct lw_plot *plot;
    struct lw_input_map map;            /* input sample of an index */
    struct lw_span piece;               /* samples of the input that --from and --to choose */
    struct lw_option_range filters;
    double row[N_COLUMNS];              /* the strongest row; snr -INFINITY: none */
    int64_t n_channels;                 /* channels of the stack */
    double *delays, *weights;           /* owned; [n_channels] of the row's filter; NULL: 0, 1 */
    int64_t first, n;                   /* samples of a trace, from `first` on, in a channel of delay 0 */
    double *mean, *trace;               /* owned; [n] */
};

static double sample_of(const struct detection *d, double index) { return d->map.first + index * d->map.step; }

static void visit_row(void *context, const double *row)
{
    struct detection *const d = context;
    const double sample = sample_of(d, row[INDEX]);
    if (lw_plot_is_chosen(&d->filters, (int64_t)row[FILTER]) && row[SNR] > d->row[SNR] && sample >= (double)d->piece.begin &&
        sample < (double)d->piece.end)
        memcpy(d->row, row, sizeof d->row);
}

static int find_row(struct detection *d, struct lw_error *err)
{
    struct lw_plot *const plot = d->plot;
    const struct lw_rows rows = {0, plot->subject.notes->n_rows, columns, N_COLUMNS};
    struct lw_view_spec view;
    int rc = lw_job_choose_piece(plot->given, &plot->input.info, plot->input.x, &view, err);
    d->piece = (struct lw_span){view.start, view.start + view.count};
    rc = rc ? rc : lw_notes_each_row(plot->subject.name, &rows, visit_row, d, err);
    if (rc == LW_OK && d->row[SNR] < 0)
        return lw_fail(err, LW_EDATA, "%.500s has no peaks in the part that is chosen: there is nothing to draw",
                       plot->subject.name);
    return rc;
}

/* Read the row of the detection's filter from a table that the run was given, delays or weights.
 * @param values  set to [n_channels]; NULL: the run was given no such table */
static int read_table(const struct detection *d, const char *option, double scale, double **values, struct lw_error *err)
{
    const char *const given = lw_said_text(&d->plot->subject.notes->file, option);
    char name[2 * LW_MAX_PATH];
    LW_FREED double *all = NULL;
    struct lw_dataset_info info;
    if (!given[0])
        return LW_OK;
    const int rc = lw_numbers_read(lw_plot_find(&d->plot->subject, option, name, sizeof name) ? name : given, 2, &info, &all, err);
    if (rc)
        return rc;
    const int64_t n_columns = info.dims[info.n_dims - 1], rows = info.n_dims == 2 ? info.dims[0] : 1;
    const int64_t row = rows > 1 ? (int64_t)d->row[FILTER] : 0;
    const bool has_all = n_columns == d->plot->input.n_y;
    if (info.type.is_complex || row >= rows || (!has_all && n_columns != d->n_channels))
        return lw_fail(err, LW_EDATA, "%.500s is no table of --%s for %.500s any more", name, option, d->plot->subject.name);
    if (!(*values = lw_alloc_array(d->n_channels, sizeof **values, option, err)))
        return LW_ESYSTEM;
    for (int64_t c = 0; c < d->n_channels; c++)
        (*values)[c] = scale * all[row * n_columns + (has_all ? d->map.channels.begin + c * d->map.channels.step : c)];
    return LW_OK;
}

/* Read a channel's samples into d->trace, divided by the largest. @return  the divisor; 0: the channel has none, or weight 0 */
static int read_trace(struct detection *d, int64_t channel, double *largest, struct lw_error *err)
{
    struct lw_plot_subject *const input = &d->plot->input;
    const int64_t begin = d->first + (d->delays ? (int64_t)rint(d->delays[channel]) : 0);
    const struct lw_span there = lw_plot_clip((double)begin, (double)(begin + d->n), input->n_x);
    const struct lw_sample_box box = lw_subject_box(input, there.begin, there.end - there.begin,
                                                    d->map.channels.begin + channel * d->map.channels.step, 1, 1, 0);
    int rc = LW_OK;
    *largest = 0;
    for (int64_t i = 0; i < d->n; i++)
        d->trace[i] = NAN;
    if (there.begin < there.end && (!d->weights || d->weights[channel] != 0))
        rc = lw_boxes_read(input->samples, &box, 1, d->trace + there.begin - begin, err);
    for (int64_t i = 0; i < d->n && rc == LW_OK; i++)
        *largest = fabs(d->trace[i]) > *largest && isfinite(d->trace[i]) ? fabs(d->trace[i]) : *largest;
    for (int64_t i = 0; i < d->n && *largest > 0; i++)
        d->trace[i] /= *largest;
    return rc;
}

/* Write a trace around the height `at`; of several samples for a point, the one farthest from zero. */
static int write_trace(const struct detection *d, const double *trace, double at, double scale)
{
    const double rate = d->plot->input.info.axis.sample_rate_hz, reference = sample_of(d, d->row[INDEX]);
    const int64_t every = lw_divide_up(d->n, MOST_POINTS);
    const int number = lw_script_data(&d->plot->script);
    for (int64_t i = 0; i < d->n; i += every) {
        double value = trace[i];
        for (int64_t k = i + 1; k < lw_min64(i + every, d->n); k++)
            value = fabs(trace[k]) > fabs(value) ? trace[k] : value;
        const double x = (double)(d->first + i) - reference;
        if (isfinite(value))
            fprintf(d->plot->script.file, "%.9g %.6g\n", rate > 0 ? x / rate : x, at + scale * value);
        else
            fputc('\n', d->plot->script.file);
    }
    lw_script_data_end(&d->plot->script);
    return number;
}

/* Return the number of a channel in the input, which is its height in the picture. */
static double height_of(const struct detection *d, double channel)
{
    return (double)d->map.channels.begin + channel * (double)d->map.channels.step;
}

static double height_of_mean(const struct detection *d, int64_t every)
{
    return height_of(d, (double)(d->n_channels - 1) + 1.6 * (double)every);
}

/* Read and write all channels, evenly chosen ones as traces of the picture, and their mean. @return  data blocks through `data` */
static int write_traces(struct detection *d, int64_t every, int data[MOST_TRACES + 1], int *n_data, struct lw_error *err)
{
    double largest, most = 0;
    int64_t n_used = 0;
    int rc = LW_OK;
    for (int64_t c = 0; c < d->n_channels && rc == LW_OK; c++) {
        if ((rc = read_trace(d, c, &largest, err)) || largest == 0)
            continue;
        n_used++;
        for (int64_t i = 0; i < d->n; i++)
            d->mean[i] += isfinite(d->trace[i]) ? d->trace[i] : 0;
        if (c % every == 0)
            data[(*n_data)++] = write_trace(d, d->trace, height_of(d, (double)c), 0.48 * (double)(every * d->map.channels.step));
    }
    for (int64_t i = 0; i < d->n; i++)
        most = fmax(most, fabs(d->mean[i]));
    if (rc == LW_OK && most == 0)
        return lw_fail(err, LW_EDATA, "the channels of %.500s have no samples around the peak", d->plot->input.name);
    if (rc == LW_OK)
        data[(*n_data)++] = write_trace(d, d->mean, height_of_mean(d, every), 0.9 / most * (double)(every * d->map.channels.step));
    return rc;
}

static int draw(struct detection *d, struct lw_error *err)
{
    struct lw_script *const script = &d->plot->script;
    const struct lw_axis_metadata *const axis = &d->plot->input.info.axis;
    const int64_t every = lw_divide_up(d->n_channels, MOST_TRACES), sample = (int64_t)rint(sample_of(d, d->row[INDEX]));
    const double unit = axis->sample_rate_hz > 0 ? axis->sample_rate_hz : 1, before = (double)(d->first - sample) / unit;
    char title[200], label[160], time[LW_INSTANT_TEXT];
    int data[MOST_TRACES + 1], n_data = 0;
    const bool has_time = lw_sampling_time_text(axis, sample, time)[0] != '\0';
    snprintf(title, sizeof title, "filter %.0f, %s%ssample %" PRId64 ", signal-to-noise ratio %.4g", d->row[FILTER],
             has_time ? time : "", has_time ? " UTC, " : "", sample, d->row[SNR]);
    snprintf(label, sizeof label, "time since the peak, less the delay (%s)", axis->sample_rate_hz > 0 ? "s" : "samples");
    const struct lw_panels panels = {.count = 1, .left = 110, .right = 30, .has_titles = true};
    const struct lw_panel panel = {
        .title = title, .x_label = label, .y_label = "channel", .x_low = before,
        .x_high = before + (double)(d->n - 1) / unit, .y_low = height_of(d, -(double)every),
        .y_high = height_of(d, (double)(d->n_channels - 1) + 2.6 * (double)every),
    };
    lw_plot_frame(d->plot, 900, (int)(220 + 50 * lw_min64(MOST_TRACES / 2, d->n_channels)));
    lw_script_begin(script);
    const int rc = write_traces(d, every, data, &n_data, err);
    if (rc)
        return rc;
    if (every > 1)
        snprintf(script->note, sizeof script->note, "one of %" PRId64 " channels is shown, all are in the mean", every);
    lw_script_panels(script, &panels);
    lw_script_panel(script, &panels, &panel);
    fprintf(script->file, "set ytics %.9g, %" PRId64 ", %.9g\nset ytics add ('mean' %.9g)\n"
            "set arrow 1 from 0, graph 0 to 0, graph 1 nohead linecolor rgb '#707070' dashtype 2\nplot ",
            height_of(d, 0), d->map.channels.step * every * lw_divide_up(d->n_channels, 20 * every),
            height_of(d, (double)(d->n_channels - 1)), height_of_mean(d, every));
    for (int i = 0; i < n_data; i++)
        fprintf(script->file, "$data%d using 1:2 with lines %s", data[i],
                i + 1 < n_data ? "linestyle 1, " : "linewidth 1.6 linecolor rgb '#b2182b'\n");
    lw_script_end(script);
    return LW_OK;
}

int lw_plot_detection(struct lw_plot *plot, struct lw_error *err)
{
    const struct lw_said *const notes = &plot->subject.notes->dataset;
    const int64_t n_taps = (int64_t)lw_said_real(notes, "filter_taps", 0);
    const char *const settings = lw_said_text(&plot->subject.notes->file, "configuration");
    struct detection d = {
        .plot = plot, .map = lw_plot_map_input(plot), .row = {[SNR] = -INFINITY},
        .filters = lw_options_range(plot->given, "filters"),
        .n_channels = lw_plot_n_summed(&plot->subject),
    };
    const double in = plot->input.info.axis.sample_rate_hz, out = lw_said_real(notes, "sample_rate_hz", 0);
    const double scale = strstr(settings, "delay-unit = s\n") ? in : 1;
    int rc;
    d.map.step = in > 0 && out > 0 ? in / out : 1;
    if (d.n_channels < 1 || !lw_said_text(notes, "stack")[0] || n_taps < 1)
        return lw_fail(err, LW_EDATA, "--kind detection: %.500s has no peaks of a stack", plot->subject.name);
    if ((rc = find_row(&d, err)) == LW_OK && (rc = read_table(&d, "delays", scale, &d.delays, err)) == LW_OK &&
        (rc = read_table(&d, "weights", 1, &d.weights, err)) == LW_OK) {
        d.first = (int64_t)rint(sample_of(&d, d.row[INDEX])) - n_taps;
        d.n = 2 * n_taps + 1;
        d.mean = lw_alloc_array(d.n, sizeof *d.mean, "the picture", err);
        d.trace = lw_alloc_array(d.n, sizeof *d.trace, "the picture", err);
        rc = d.mean && d.trace ? draw(&d, err) : LW_ESYSTEM;
    }
    lw_free(d.delays);
    lw_free(d.weights);
    lw_free(d.mean);
    lw_free(d.trace);
    return rc;
}
