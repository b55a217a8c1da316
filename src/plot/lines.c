/* lines.c - draws the lines of a sparse spectrum, a panel for each channel. If there are more lines than columns (half pixels),
 * each column shows its largest line. */
#include "plot/kinds.h"

#include "base/integers.h"
#include "base/memory.h"

enum { MOST_PANELS = 4 };

static const char *const columns[] = {"channel", "frequency", "magnitude"};
enum { CHANNEL, FREQUENCY, MAGNITUDE, N_COLUMNS };

struct spectrum {
    struct lw_plot *plot;
    int64_t channels[MOST_PANELS];      /* the first channels that have lines, in the table's order */
    int n_channels;
    int64_t left_out;                   /* lines of channels that are not shown */
    double low, high;                   /* range of frequencies, Hz or cycles per sample */
    bool has_rate;
    struct lw_panels panels;
    int n_columns;                      /* columns of a panel, half a pixel wide */
    struct line {
        double frequency, magnitude;
    } *columns;                         /* [n_channels x n_columns], largest line in each column; magnitude -1: no line */
};

static int each_row(struct spectrum *s, lw_row_fn *visit, struct lw_error *err)
{
    const struct lw_rows rows = {0, s->plot->subject.notes->n_rows, columns, N_COLUMNS};
    return lw_notes_each_row(s->plot->subject.name, &rows, visit, s, err);
}

static int find_channel(const struct spectrum *s, int64_t channel)
{
    for (int c = 0; c < s->n_channels; c++)
        if (s->channels[c] == channel)
            return c;
    return -1;
}

static void note_range(void *context, const double *row)
{
    struct spectrum *const s = context;
    const int64_t channel = (int64_t)row[CHANNEL];
    const struct lw_option_range chosen = lw_options_range(s->plot->given, "channels");
    if (!lw_plot_is_chosen(&chosen, channel))
        return;
    if (find_channel(s, channel) < 0 && s->n_channels < MOST_PANELS)
        s->channels[s->n_channels++] = channel;
    if (find_channel(s, channel) < 0)
        s->left_out++;
    s->low = fmin(s->low, row[FREQUENCY]);
    s->high = fmax(s->high, row[FREQUENCY]);
}

static void take_line(void *context, const double *row)
{
    struct spectrum *const s = context;
    const int channel = find_channel(s, (int64_t)row[CHANNEL]);
    const double place = (row[FREQUENCY] - s->low) / (s->high - s->low) * s->n_columns;
    if (channel < 0 || !(place >= 0 && place <= s->n_columns))
        return;
    struct line *const line = &s->columns[(int64_t)channel * s->n_columns + lw_min64((int64_t)place, s->n_columns - 1)];
    if (row[MAGNITUDE] > line->magnitude)
        *line = (struct line){row[FREQUENCY], row[MAGNITUDE]};
}

/* Find the lines to show. The frequency axis covers the whole band of the signal: up to half its rate, or up to 0.5. */
static int collect(struct spectrum *s, struct lw_error *err)
{
    const double rate = lw_said_real(&s->plot->subject.notes->dataset, "sample_rate_hz", 0);
    s->has_rate = rate > 0;
    const double whole = s->has_rate ? rate / 2 : 0.5;
    int rc = each_row(s, note_range, err);
    if (rc)
        return rc;
    s->low = s->low < 0 ? -whole : 0;
    s->high = fmax(s->high, whole);
    if ((rc = lw_plot_band(s->plot, &s->low, &s->high, err)))
        return rc;
    if (s->n_channels == 0)
        return lw_fail(err, LW_EDATA, "%.500s has no lines%s", s->plot->subject.name,
                       lw_options_given(s->plot->given, "channels") ? " of these --channels" : "");
    s->panels = (struct lw_panels){.count = s->n_channels, .left = 110, .right = 30, .gap = 36, .has_titles = s->n_channels > 1};
    lw_plot_frame(s->plot, 1200, s->n_channels == 1 ? 500 : 120 + 260 * s->n_channels);
    s->n_columns = 2 * lw_panels_width(&s->plot->script, &s->panels);
    const int64_t n = (int64_t)s->n_channels * s->n_columns;
    if (!(s->columns = lw_alloc_array(n, sizeof *s->columns, "the picture", err)))
        return LW_ESYSTEM;
    for (int64_t i = 0; i < n; i++)
        s->columns[i].magnitude = -1;
    return each_row(s, take_line, err);
}

/* Write the lines of a channel as a data block. @return  number of lines */
static int write_channel(struct spectrum *s, int channel, double factor)
{
    int count = 0;
    lw_script_data(&s->plot->script);
    for (int c = 0; c < s->n_columns; c++) {
        const struct line *const line = &s->columns[(int64_t)channel * s->n_columns + c];
        if (line->magnitude < 0)
            continue;
        fprintf(s->plot->script.file, "%.12g %.9g\n", line->frequency * factor, line->magnitude);
        count++;
    }
    lw_script_data_end(&s->plot->script);
    return count;
}

/* Write the range of the vertical axis, the same for all channels, so that they can be compared. */
static void write_scale(const struct spectrum *s)
{
    double least = INFINITY, largest = 0;
    for (int64_t i = 0; i < (int64_t)s->n_channels * s->n_columns; i++) {
        const double magnitude = s->columns[i].magnitude;
        least = magnitude > 0 ? fmin(least, magnitude) : least;
        largest = fmax(largest, magnitude);
    }
    const double top = largest > 0 ? largest : 1;
    fprintf(s->plot->script.file, "set yrange [%.6g:%.6g]\n", s->plot->is_log ? fmin(least, top) / 3 : 0,
            s->plot->is_log ? top * 2 : top * 1.08);
}

static void draw(struct spectrum *s)
{
    struct lw_script *const script = &s->plot->script;
    const char *unit = "cycles per sample";
    char label[100], title[80];
    int counts[MOST_PANELS];
    const double factor = s->has_rate ? lw_label_frequency_unit(fmax(-s->low, s->high), &unit) : 1;
    snprintf(label, sizeof label, "frequency (%s)", unit);
    lw_script_begin(script);
    for (int c = 0; c < s->n_channels; c++)
        counts[c] = write_channel(s, c, factor);
    if (s->left_out > 0)
        snprintf(script->note, sizeof script->note, "the first %d channels", s->n_channels);
    lw_script_panels(script, &s->panels);
    for (int c = 0; c < s->n_channels; c++) {
        snprintf(title, sizeof title, "channel %lld", (long long)s->channels[c]);
        const struct lw_panel panel = {
            .number = c, .title = s->n_channels > 1 ? title : NULL, .x_label = c + 1 == s->n_channels ? label : NULL,
            .y_label = "magnitude", .x_low = s->low * factor, .x_high = s->high * factor, .log_y = s->plot->is_log,
        };
        lw_script_panel(script, &s->panels, &panel);
        write_scale(s);
        fprintf(script->file, "plot $data%d using 1:2 with impulses linestyle 1%s\n", c,
                counts[c] <= 200 ? ", '' using 1:2 with points linestyle 1 pointtype 7 pointsize 0.5" : "");
    }
    lw_script_end(script);
}

int lw_plot_spectrum(struct lw_plot *plot, struct lw_error *err)
{
    struct spectrum s = {.plot = plot, .low = INFINITY, .high = -INFINITY};
    const int rc = collect(&s, err);
    if (rc == LW_OK)
        draw(&s);
    lw_free(s.columns);
    return rc;
}
