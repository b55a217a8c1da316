/* series.c - series one above the other. Where more samples than pixels are there, each column of pixels shows the range from the
 * least to the largest of its samples. */
#include "plot/kinds.h"

#include "base/integers.h"

#include <math.h>
#include <string.h>

enum { MOST_PANELS = 8, MOST_FREQUENCIES = 1 << 15 };    /* columns of pixels are no steps on a logarithmic axis */

struct trace {
    struct lw_shown shown;              /* a channel as y, a filter as z */
    double low, high;                   /* of values, both 0: as they are */
};

struct traces {
    struct trace list[MOST_PANELS];
    int count;
    bool is_psd;                        /* powers over frequencies: logarithmic in both */
    int64_t left_out;
    struct lw_span span;
    struct lw_plot_axis axis;           /* of the result's samples */
    const struct lw_panels *panels;
};

/* ---- which ones ---------------------------------------------------------------------------------------------------- */

static void add_trace(struct traces *traces, const struct trace *trace)
{
    if (traces->count < MOST_PANELS)
        traces->list[traces->count++] = *trace;
    else
        traces->left_out++;
}

static void name_result(const struct lw_plot *plot, int64_t n_channels, struct trace *trace)
{
    const struct lw_plot_subject *const subject = &plot->subject;
    struct lw_plot_axis y;
    char filter[40] = "", channel[120] = "";
    lw_subject_label_y(subject, &y);
    if (subject->n_z > 1)
        snprintf(filter, sizeof filter, "filter %lld", (long long)trace->shown.z);
    if (n_channels > 1 || subject->n_y > 1)
        snprintf(channel, sizeof channel, "%s%.60s %.7g%s%.30s", filter[0] ? ", " : "", y.name,
                 lw_plot_axis_at(&y, (double)trace->shown.y.begin), y.unit[0] ? " " : "", y.unit);
    snprintf(trace->shown.title, sizeof trace->shown.title, "%s%s%s%s", plot->has_input ? "result" : "",
             plot->has_input && (filter[0] || channel[0]) ? ", " : "", filter, channel);
}

static void name_input(const struct lw_plot *plot, struct trace *trace)
{
    char channel[60] = "";
    if (plot->input.n_y > 1)
        snprintf(channel, sizeof channel, ", channel %lld", (long long)trace->shown.y.begin);
    snprintf(trace->shown.title, sizeof trace->shown.title, "input%s: %.300s", channel, plot->input.info.path);
}

/* A channel of the result with all its filters below the input's. */
static void add_channel(struct lw_plot *plot, struct traces *traces, int64_t channel, const struct lw_option_range *filters,
                        int64_t n_channels)
{
    struct lw_input_map map;
    if (plot->has_input) {
        lw_plot_map_input(plot, &map);
        const int64_t own = map.channels.begin + channel * map.channels.step;
        struct trace input = {.shown = {.subject = &plot->input, .y = {own, own + 1, 1}, .first = -map.first / map.step,
                                        .step = 1 / map.step}};
        name_input(plot, &input);
        if (own < plot->input.n_y)
            add_trace(traces, &input);
    }
    for (int64_t f = filters->begin; f < filters->end; f += filters->step) {
        struct trace result = {.shown = {.subject = &plot->subject, .y = {channel, channel + 1, 1}, .z = f, .step = 1}};
        name_result(plot, n_channels, &result);
        add_trace(traces, &result);
    }
}

/* The power spectrum that whitened the filters of a result. */
static bool is_psd(const struct lw_plot_subject *subject)
{
    return strcmp(subject->info.path, "/psd") == 0 && strcmp(lw_subject_dimension(subject, subject->x), "frequency") == 0;
}

static int choose(struct lw_plot *plot, struct traces *traces, struct lw_error *err)
{
    struct lw_option_range channels, filters;
    int rc;
    traces->is_psd = is_psd(&plot->subject);
    plot->is_log |= traces->is_psd;
    if ((rc = lw_plot_span(plot, &traces->span, err)) ||
        (rc = lw_plot_channels(plot, &channels, err)) ||
        (rc = lw_plot_filters_chosen(plot, plot->subject.n_z, &filters, err)))
        return rc;
    if (traces->is_psd && traces->span.begin == 0 && traces->span.end > 1)
        traces->span.begin = 1;         /* frequency 0 has no place on such an axis */
    lw_subject_label_x(&plot->subject, traces->span.begin, traces->span.end, &traces->axis);
    const int64_t n_channels = lw_divide_up(channels.end - channels.begin, channels.step);
    for (int64_t c = channels.begin; c < channels.end; c += channels.step)
        add_channel(plot, traces, c, &filters, n_channels);
    return LW_OK;
}

/* ---- data ---------------------------------------------------------------------------------------------------------- */

static double position(const struct traces *traces, const struct trace *trace, double sample)
{
    return lw_plot_axis_at(&traces->axis, trace->shown.first + sample * trace->shown.step);
}

/* One sample for each column: a line through them; else a step for each column. */
static void write_column(const struct lw_plot *plot, const struct traces *traces, const struct trace *trace, int column,
                         bool is_line)
{
    const struct lw_raster *const raster = &trace->shown.gathered.raster;
    const struct lw_cell *const cell = &raster->cells[column];
    const int64_t low = lw_raster_begin(raster, column), high = lw_raster_begin(raster, column + 1);
    const double middle = is_line ? (double)low : (double)(low + high - 1) / 2;
    double least = cell->least, largest = cell->largest;
    if (cell->count == 0) {
        fputc('\n', plot->script.file);
        return;
    }
    if (plot->is_log) {
        const double size = fmax(fabs(least), fabs(largest));
        least = least > 0 || largest < 0 ? fmin(fabs(least), fabs(largest)) : size;
        largest = size;
    }
    fprintf(plot->script.file, "%.15g %.9g %.9g\n", position(traces, trace, (double)trace->shown.x.begin + middle), least, largest);
}

static void write_data(struct lw_plot *plot, const struct traces *traces, struct trace *trace)
{
    const struct lw_raster *const raster = &trace->shown.gathered.raster;
    const bool is_line = raster->n_columns == raster->length;
    trace->shown.data = lw_script_data(&plot->script);
    for (int column = 0; column < raster->n_columns; column++)
        write_column(plot, traces, trace, column, is_line);
    lw_script_data_end(&plot->script);
}

/* gnuplot finds no scale where nothing is finite. */
static bool has_values(const struct lw_raster *raster)
{
    for (int column = 0; column < raster->n_columns; column++)
        if (raster->cells[column].count > 0)
            return true;
    return false;
}

/* Outputs at either end that depend on what is beyond it. Results of earlier versions say it for mode same alone. */
static double count_ends(const struct lw_said *notes)
{
    const double taps = lw_said_real(notes, "filter_taps", 0);
    const char *const mode = lw_said_text(notes, "mode");
    if (taps == 0)
        return lw_said_real(notes, "group_delay_removed_samples", 0);
    return strcmp(mode, "valid") == 0 ? 0 : strcmp(mode, "full") == 0 ? taps - 1 : floor(taps / 2);
}

/* A filter rings where the signal begins and ends: outputs that depend on what is beyond do not set the scale. */
static void choose_scale(const struct lw_plot *plot, struct trace *trace)
{
    const struct lw_raster *const raster = &trace->shown.gathered.raster;
    struct lw_input_map map;
    double low = INFINITY, high = -INFINITY;
    lw_plot_map_input(plot, &map);
    const double ends = count_ends(&trace->shown.subject->notes->dataset) / map.step;
    for (int column = 0; column < raster->n_columns; column++) {
        const double begin = (double)(trace->shown.x.begin + lw_raster_begin(raster, column));
        const double end = (double)(trace->shown.x.begin + lw_raster_begin(raster, column + 1));
        if (begin < ends || end > (double)trace->shown.subject->n_x - ends || raster->cells[column].count == 0)
            continue;
        low = fmin(low, raster->cells[column].least);
        high = fmax(high, raster->cells[column].largest);
    }
    if (ends <= 0 || plot->is_log || !(low < high)) {
        trace->high = has_values(raster) ? 0 : 1;
        return;
    }
    trace->low = low - 0.05 * (high - low);
    trace->high = high + 0.05 * (high - low);
}

static int gather(struct lw_plot *plot, void *context, int number, struct lw_error *err)
{
    struct traces *const traces = context;
    struct trace *const trace = &traces->list[number];
    struct lw_shown *const shown = &trace->shown;
    shown->x = lw_plot_clip(((double)traces->span.begin - shown->first) / shown->step,
                            ((double)traces->span.end - shown->first) / shown->step, shown->subject->n_x);
    const int rc = lw_plot_gather(plot, shown, traces->count, 1,
                                  traces->is_psd ? MOST_FREQUENCIES : lw_panels_width(&plot->script, traces->panels), err);
    if (rc == LW_OK) {
        choose_scale(plot, trace);
        write_data(plot, traces, trace);
    }
    return rc;
}

/* ---- picture ------------------------------------------------------------------------------------------------------- */

static void draw(const struct lw_plot *plot, void *context, int number)
{
    const struct traces *const traces = context;
    const struct trace *const trace = &traces->list[number];
    const struct lw_raster *const raster = &trace->shown.gathered.raster;
    char label[200];
    const struct lw_panel panel = {
        .number = number,
        .title = trace->shown.title[0] ? trace->shown.title : NULL,
        .x = &traces->axis,
        .x_label = number + 1 == traces->count ? traces->axis.label : NULL,
        .y_label = lw_subject_label_values(trace->shown.subject, "", label, sizeof label),
        .y_low = trace->low,
        .y_high = trace->high,
        .x_low = lw_plot_axis_at(&traces->axis, (double)traces->span.begin),
        .x_high = lw_plot_axis_at(&traces->axis, (double)traces->span.end),
        .log_y = plot->is_log,
        .log_x = traces->is_psd,
    };
    lw_script_panel(&plot->script, traces->panels, &panel);
    if (raster->n_columns == raster->length)
        fprintf(plot->script.file, "plot $data%d using 1:3 with lines linestyle 1\n", trace->shown.data);
    else
        fprintf(plot->script.file, "plot $data%d using 1:2:3 with filledcurves fillcolor rgb '#2a6fb0' fillstyle solid noborder, "
                "'' using 1:2 with lines linestyle 1 linewidth 0.6, '' using 1:3 with lines linestyle 1 linewidth 0.6\n",
                trace->shown.data);
}

static int draw_all(struct lw_plot *plot, struct traces *traces, struct lw_error *err)
{
    const bool has_titles = traces->count > 1 || traces->list[0].shown.title[0];
    const struct lw_panels panels = {.count = traces->count, .left = 110, .right = 30, .gap = has_titles ? 34 : 16,
                                     .has_titles = has_titles};
    const struct lw_panels_drawing drawing = {.context = traces, .count = traces->count, .gather = gather, .draw = draw,
                                              .left_out = traces->left_out, .what = "series", .more = ""};
    traces->panels = &panels;
    lw_plot_frame(plot, 1200, traces->count == 1 ? 500 : 120 + 210 * traces->count);
    return lw_plot_draw_panels(plot, &panels, &drawing, err);
}

int lw_plot_series(struct lw_plot *plot, struct lw_error *err)
{
    struct traces traces = {0};
    int rc = choose(plot, &traces, err);
    if (rc == LW_OK)
        rc = draw_all(plot, &traces, err);
    for (int t = 0; t < traces.count; t++)
        lw_gathered_release(&traces.list[t].shown.gathered);
    return rc;
}
