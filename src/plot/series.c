/* series.c - draws series one above the other. If there are more samples than pixels, each column of pixels shows the range from
 * its least to its largest sample. */
#include "plot/kinds.h"

enum { MOST_FREQUENCIES = 1 << 15 };     /* columns of a logarithmic axis: more than pixels, as low frequencies are stretched */

/* Return whether the subject is the power spectrum that whitened a result's filters; both its axes are logarithmic. */
static bool is_psd(const struct lw_plot *plot)
{
    return strcmp(plot->subject.info.path, "/psd") == 0 &&
           strcmp(lw_subject_dimension(&plot->subject, plot->subject.x), "frequency") == 0;
}

static void name_result(const struct lw_plot *plot, bool has_many, struct lw_shown *shown)
{
    struct lw_plot_axis y;
    char filter[40] = "", channel[120] = "";
    lw_subject_label_y(&plot->subject, &y);
    if (plot->subject.n_z > 1)
        snprintf(filter, sizeof filter, "filter %lld", (long long)shown->z);
    if (has_many || plot->subject.n_y > 1)
        snprintf(channel, sizeof channel, "%s%.60s %.7g%s%.30s", filter[0] ? ", " : "", y.name,
                 lw_plot_axis_at(&y, (double)shown->y.begin), y.unit[0] ? " " : "", y.unit);
    snprintf(shown->title, sizeof shown->title, "%s%s%s%s", plot->has_input ? "result" : "",
             plot->has_input && (filter[0] || channel[0]) ? ", " : "", filter, channel);
}

static void add_input(struct lw_plot *plot, struct lw_samples *series, int64_t channel)
{
    const struct lw_input_map map = lw_plot_map_input(plot);
    const int64_t own = map.channels.begin + channel * map.channels.step;
    struct lw_shown *const shown = own < plot->input.n_y ? lw_samples_add(series) : NULL;
    if (!shown)
        return;
    *shown = (struct lw_shown){.subject = &plot->input, .y = {own, own + 1, 1}};
    shown->first = -map.first / map.step;
    shown->step = 1 / map.step;
    if (plot->input.n_y > 1)
        snprintf(shown->title, sizeof shown->title, "input, channel %lld: %.300s", (long long)own, plot->input.info.path);
    else
        snprintf(shown->title, sizeof shown->title, "input: %.300s", plot->input.info.path);
}

/* Choose the panels. Each channel of the input stands above the same channel of the result, which has a panel for each filter. */
static int choose(struct lw_plot *plot, struct lw_samples *series, struct lw_error *err)
{
    const int rc = lw_samples_choose(plot, series, err);
    if (rc)
        return rc;
    plot->is_log |= is_psd(plot);
    if (is_psd(plot) && series->span.begin == 0 && series->span.end > 1)
        series->span.begin = 1;         /* a logarithmic axis has no place for frequency 0 */
    lw_subject_label_x(&plot->subject, series->span.begin, series->span.end, &series->axis);
    const struct lw_option_range *const channels = &series->channels, *const filters = &series->filters;
    for (int64_t c = channels->begin; c < channels->end; c += channels->step) {
        if (plot->has_input)
            add_input(plot, series, c);
        for (int64_t f = filters->begin; f < filters->end; f += filters->step) {
            struct lw_shown *const shown = lw_samples_add(series);
            if (!shown)
                continue;
            *shown = (struct lw_shown){.subject = &plot->subject, .y = {c, c + 1, 1}, .z = f, .step = 1};
            name_result(plot, channels->end - channels->begin > channels->step, shown);
        }
    }
    return LW_OK;
}

/* Write a column: its position, least and largest value. If each column is one sample, draw() joins the columns by a line. */
static void write_column(const struct lw_plot *plot, const struct lw_samples *series, const struct lw_shown *shown, int column)
{
    const struct lw_raster *const raster = &shown->raster;
    const struct lw_cell *const cell = &raster->cells[column];
    const int64_t low = lw_raster_begin(raster, column), high = lw_raster_begin(raster, column + 1);
    const bool is_line = raster->n_columns == raster->length;
    const double sample = (double)shown->x.begin + (is_line ? (double)low : (double)(low + high - 1) / 2);
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
    fprintf(plot->script.file, "%.15g %.9g %.9g\n", lw_plot_axis_at(&series->axis, shown->first + sample * shown->step), least,
            largest);
}

/* Return how many outputs at either end depend on samples beyond it. Results of earlier versions tell for mode same only. */
static double count_ends(const struct lw_said *notes)
{
    const double taps = lw_said_real(notes, "filter_taps", 0);
    const char *const mode = lw_said_text(notes, "mode");
    if (taps == 0)
        return lw_said_real(notes, "group_delay_removed_samples", 0);
    return strcmp(mode, "valid") == 0 ? 0 : strcmp(mode, "full") == 0 ? taps - 1 : floor(taps / 2);
}

static int gather(struct lw_plot *plot, struct lw_samples *series, struct lw_shown *shown, struct lw_error *err)
{
    const int most = is_psd(plot) ? MOST_FREQUENCIES : lw_panels_width(&plot->script, &series->panels);
    shown->x = lw_plot_clip(((double)series->span.begin - shown->first) / shown->step,
                            ((double)series->span.end - shown->first) / shown->step, shown->subject->n_x);
    const int rc = lw_plot_gather(plot, shown, series->count, 1, most, err);
    if (rc)
        return rc;
    /* Filters ring at the ends of the signal: outputs that depend on samples beyond the ends do not set the scale. */
    const struct lw_raster *const raster = &shown->raster;
    const double ends = count_ends(&shown->subject->notes->dataset) / lw_plot_map_input(plot).step;
    double low = INFINITY, high = -INFINITY;
    bool has_values = false;
    for (int column = 0; column < raster->n_columns; column++) {
        const double begin = (double)(shown->x.begin + lw_raster_begin(raster, column));
        const double end = (double)(shown->x.begin + lw_raster_begin(raster, column + 1));
        has_values |= raster->cells[column].count > 0;
        if (begin < ends || end > (double)shown->subject->n_x - ends || raster->cells[column].count == 0)
            continue;
        low = fmin(low, raster->cells[column].least);
        high = fmax(high, raster->cells[column].largest);
    }
    if (ends > 0 && !plot->is_log && low < high) {
        shown->low = low - 0.05 * (high - low);
        shown->high = high + 0.05 * (high - low);
    } else if (!has_values) {           /* gnuplot finds no range without a finite value */
        shown->high = 1;
    }
    shown->data = lw_script_data(&plot->script);
    for (int column = 0; column < shown->raster.n_columns; column++)
        write_column(plot, series, shown, column);
    lw_script_data_end(&plot->script);
    return LW_OK;
}

static void draw(const struct lw_plot *plot, const struct lw_samples *series, int number)
{
    const struct lw_shown *const shown = &series->list[number];
    char label[200];
    const struct lw_panel panel = {
        .number = number, .title = shown->title[0] ? shown->title : NULL, .is_utc = series->axis.is_utc,
        .x_label = number + 1 == series->count ? series->axis.label : NULL,
        .y_label = lw_subject_label_values(shown->subject, "", label, sizeof label), .y_low = shown->low, .y_high = shown->high,
        .x_low = lw_plot_axis_at(&series->axis, (double)series->span.begin),
        .x_high = lw_plot_axis_at(&series->axis, (double)series->span.end), .log_y = plot->is_log, .log_x = is_psd(plot),
    };
    lw_script_panel(&plot->script, &series->panels, &panel);
    if (shown->raster.n_columns == shown->raster.length)
        fprintf(plot->script.file, "plot $data%d using 1:3 with lines linestyle 1\n", shown->data);
    else
        fprintf(plot->script.file, "plot $data%d using 1:2:3 with filledcurves fillcolor rgb '#2a6fb0' fillstyle solid noborder, "
                "'' using 1:2 with lines linestyle 1 linewidth 0.6, '' using 1:3 with lines linestyle 1 linewidth 0.6\n",
                shown->data);
}

int lw_plot_series(struct lw_plot *plot, struct lw_error *err)
{
    struct lw_samples series = {.most = LW_MOST_SHOWN, .gather = gather, .draw = draw};
    int rc = choose(plot, &series, err);
    if (rc == LW_OK) {
        const bool has_titles = series.count > 1 || series.list[0].title[0];
        series.panels = (struct lw_panels){.count = series.count, .left = 110, .right = 30, .gap = has_titles ? 34 : 16,
                                           .has_titles = has_titles};
        lw_plot_frame(plot, 1200, series.count == 1 ? 500 : 120 + 210 * series.count);
        rc = lw_samples_draw(plot, &series, "series", "", err);
    }
    lw_samples_release(&series);
    return rc;
}
