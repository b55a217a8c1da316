/* peaks.c - draws the peaks of a table as discs, larger for stronger peaks. The axes are time and filter; with one filter, time and
 * channel; with one of both, time and signal-to-noise ratio; for peaks in beams, time and their coordinate, such as the dispersion
 * measure; for peaks in images, column and row. Of peaks in the same cell of CELL_PIXELS pixels only the strongest is shown. */
#include "plot/kinds.h"

#include "base/integers.h"
#include "base/memory.h"
#include "job/selection.h"

#include <stdlib.h>

enum { CELL_PIXELS = 4 };

/* Columns of the table. In a table of sources `column` is X, `row` is TIME, and `image` is both FILTER and CHANNEL. TRIAL is the
 * coordinate of beams, in the table's last column; without beams `snr` takes its place. */
enum { X, TIME, FILTER, CHANNEL, SNR, TRIAL, N_COLUMNS, N_IMAGE_COLUMNS = 4 };
static const char *const of_images[N_IMAGE_COLUMNS] = {"column", "row", "image", "snr"};

struct peak {
    double x, y, snr;
};

struct peaks {
    struct lw_plot *plot;
    bool is_image;
    const char *trial;                  /* name of the coordinate of beams; NULL: the channels are no beams */
    void (*visit)(struct peaks *p, const double *row);     /* called for each chosen row in the pass under way */
    struct lw_option_range channels;    /* chosen channels; -1: open end */
    double begin, end;                  /* --from and --to, seconds from the start of the signal; infinite: not given */
    double low[N_COLUMNS], high[N_COLUMNS];     /* least and largest value of each column, over the chosen rows */
    int64_t count;
    int by;                             /* column of the table on the vertical axis */
    double x_zero;                      /* the signal's start, subtracted from times, which then begin at 0 */
    char start[80];                     /* label of the start: "2019-03-01T07:55:45 UTC", "GPS second 1126259446"; "": not known */
    struct lw_notes *bank;              /* owned; notes of the bank of filters; NULL: filters have no names */
    double view_low[2], view_high[2];   /* visible range of the horizontal (0) and the vertical axis (1) */
    struct lw_graticule graticule;      /* sky of a table of sources */
    struct lw_panels panels;
    int n_x, n_y;
    struct peak *cells;                 /* [n_y x n_x], strongest peak of each cell; snr -INFINITY: none */
};

static void visit_row(void *context, const double *row)
{
    struct peaks *const p = context;
    const double of_image[N_COLUMNS] = {row[0], row[1], row[2], row[2], row[3], row[3]};
    const double *const uniform = p->is_image ? of_image : row;
    const double time = uniform[TIME] - p->x_zero;
    if (lw_plot_is_chosen(&p->channels, (int64_t)uniform[CHANNEL]) && isfinite(uniform[SNR]) &&
        (p->is_image || (time >= p->begin && time < p->end)))
        p->visit(p, uniform);
}

static int each_row(struct peaks *p, void (*visit)(struct peaks *p, const double *row), struct lw_error *err)
{
    const struct lw_plot_subject *const subject = &p->plot->subject;
    const char *const of_series[N_COLUMNS] = {"index", "time", "filter", "channel", "snr", p->trial ? p->trial : "snr"};
    const struct lw_rows rows = {0, subject->notes->n_rows, p->is_image ? of_images : of_series,
                                 p->is_image ? N_IMAGE_COLUMNS : N_COLUMNS};
    p->visit = visit;
    return lw_notes_each_row(subject->name, &rows, visit_row, p, err);
}

static void note_range(struct peaks *p, const double *row)
{
    for (int c = 0; c < N_COLUMNS; c++) {
        p->low[c] = fmin(p->low[c], row[c]);
        p->high[c] = fmax(p->high[c], row[c]);
    }
    p->count++;
}

/* Return the column for the horizontal axis: if all times are equal, as without a sampling rate, the index. */
static int x_column(const struct peaks *p) { return !p->is_image && p->high[TIME] > p->low[TIME] ? TIME : X; }

static void take(struct peaks *p, const double *row)
{
    const double zero = x_column(p) == TIME ? p->x_zero : 0;
    const double x = row[x_column(p)] - zero, low = p->low[x_column(p)] - zero;
    const double width = p->high[x_column(p)] - p->low[x_column(p)], height = p->high[p->by] - p->low[p->by];
    const int64_t column = width > 0 ? lw_min64((int64_t)((x - low) / width * p->n_x), p->n_x - 1) : 0;
    const int64_t line = height > 0 ? lw_min64((int64_t)((row[p->by] - p->low[p->by]) / height * p->n_y), p->n_y - 1) : 0;
    struct peak *const peak = &p->cells[line * p->n_x + column];
    if (row[SNR] > peak->snr)
        *peak = (struct peak){x, row[p->by], row[SNR]};
}

/* Read --from and --to as seconds since the signal's start, which the table's attributes give, in UTC if known. */
static int limit_time(struct peaks *p, struct lw_error *err)
{
    const struct lw_said *const notes = &p->plot->subject.notes->dataset;
    double *const limits[] = {&p->begin, &p->end};
    const char *const names[] = {"from", "to"};
    struct lw_dataset_info info = p->plot->subject.info;
    struct lw_axis_metadata *const axis = &info.axis;
    struct lw_attribute start;
    char utc[LW_INSTANT_TEXT];
    axis->start = p->x_zero;
    axis->has_start = lw_said_find(notes, "start_time", &start);
    snprintf(axis->start_unit, sizeof axis->start_unit, "%.60s", lw_said_text(notes, "start_unit"));
    int rc = lw_sampling_settle(&info, err);
    if (rc == LW_OK && axis->scale == LW_TIME_UTC)
        snprintf(p->start, sizeof p->start, "%s UTC", lw_instant_text(axis->instant, utc));
    else if (rc == LW_OK && axis->has_start && axis->start != 0 && axis->start_unit[0])
        snprintf(p->start, sizeof p->start, "%.60s %.12g", axis->start_unit, axis->start);
    for (int i = 0; i < 2 && rc == LW_OK; i++)
        if (lw_options_given(p->plot->given, names[i]))
            rc = lw_job_read_time(names[i], lw_options_text(p->plot->given, names[i]), &info, limits[i], err);
    return rc;
}

/* Find the visible range: all chosen peaks, with a margin. */
static void find_view(struct peaks *p)
{
    const int x = x_column(p);
    const double zero = x == TIME ? p->x_zero : 0, margin = p->high[x] > p->low[x] ? 0.02 * (p->high[x] - p->low[x]) : 0.5;
    const double height = p->high[p->by] - p->low[p->by];
    const double least = p->by == TRIAL && height > 0 ? 0 : 0.5;
    const double room = p->by == SNR ? 0.05 * fmax(height, 1) : fmax(least, 0.04 * height);
    p->view_low[0] = p->low[x] - zero - margin;
    p->view_high[0] = p->high[x] - zero + margin;
    p->view_low[1] = p->low[p->by] - room;
    p->view_high[1] = p->high[p->by] + room;
}

static int collect(struct peaks *p, struct lw_error *err)
{
    int rc;
    for (int c = 0; c < N_COLUMNS; c++) {
        p->low[c] = INFINITY;
        p->high[c] = -INFINITY;
    }
    if ((rc = limit_time(p, err)) || (rc = each_row(p, note_range, err)))
        return rc;
    if (p->count == 0)
        return lw_fail(err, LW_EDATA, "%.500s has no peaks%s: there is nothing to draw", p->plot->subject.name,
                       p->plot->subject.notes->n_rows > 0 ? " in the part that is chosen" : "");
    if (p->is_image)
        p->by = TIME;                   /* rows of images */
    else if (p->trial)
        p->by = TRIAL;
    else if (p->high[FILTER] > p->low[FILTER])
        p->by = FILTER;
    else
        p->by = p->high[CHANNEL] > p->low[CHANNEL] ? CHANNEL : SNR;
    find_view(p);
    p->panels = (struct lw_panels){.count = 1, .left = 110, .right = 120};
    if (p->is_image && (rc = lw_plot_open_sky(p->plot, &p->plot->subject, p->view_low, p->view_high, &p->graticule, err)))
        return rc;
    lw_graticule_make_room(&p->graticule, &p->panels);
    lw_plot_frame(p->plot, p->is_image ? 900 : 1200, p->is_image ? 760 : 560);
    p->n_x = lw_panels_width(&p->plot->script, &p->panels) / CELL_PIXELS;
    p->n_y = lw_panels_height(&p->plot->script, &p->panels) / CELL_PIXELS;
    p->cells = lw_alloc_array((int64_t)p->n_x * p->n_y, sizeof *p->cells, "the picture", err);
    if (!p->cells)
        return LW_ESYSTEM;
    for (int64_t i = 0; i < (int64_t)p->n_x * p->n_y; i++)
        p->cells[i].snr = -INFINITY;
    return each_row(p, take, err);
}

static int compare(const void *left, const void *right)
{
    const struct peak *const a = left, *const b = right;
    return (a->snr > b->snr) - (a->snr < b->snr);
}

/* Write the peaks, the strongest last, so that they lie on top. @return  number of peaks shown */
static int64_t write_data(struct peaks *p, double factor)
{
    const int64_t n = (int64_t)p->n_x * p->n_y;
    const double range = p->high[SNR] - p->low[SNR];
    int64_t shown = 0;
    qsort(p->cells, (size_t)n, sizeof *p->cells, compare);
    lw_script_data(&p->plot->script);
    for (int64_t i = 0; i < n; i++) {
        const struct peak *const peak = &p->cells[i];
        if (!isfinite(peak->snr))
            continue;
        const double size = 0.5 + 2.2 * (range > 0 ? sqrt((peak->snr - p->low[SNR]) / range) : 0.4);
        fprintf(p->plot->script.file, "%.15g %.9g %.6g %.3g\n", peak->x * factor, peak->y, peak->snr, size);
        shown++;
    }
    lw_script_data_end(&p->plot->script);
    return shown;
}

/* Label the horizontal axis. Times count from the signal's start. @return  factor from x to the unit of the label */
static double label_x(const struct peaks *p, char *label, size_t size)
{
    const char *unit;
    if (x_column(p) == X) {
        snprintf(label, size, p->is_image ? "column" : "sample");
        return 1;
    }
    const double factor = lw_label_time_unit(p->high[TIME] - p->low[TIME], &unit);
    snprintf(label, size, "time (%s)%s%s", unit, p->start[0] ? " since " : "", p->start);
    return factor;
}

/* Label the vertical axis by the coordinate of beams and its unit: "dm (pc cm-3)". */
static const char *label_trial(const struct peaks *p, char *label, size_t size)
{
    const char *const unit = lw_said_text(&p->plot->subject.notes->dataset, "trial_unit");
    snprintf(label, size, unit[0] ? "%s (%.60s)" : "%s", p->trial, unit);
    return label;
}

/* ---- names of filters ------------------------------------------------------------------------------------------------- */

/* Attributes of a bank that distinguish its filters; a band has a second one, `until`, for its upper edge. */
static const struct {
    const char *attribute, *until, *label;
} parameters[] = {
    {"width_samples", NULL, "width (samples)"}, {"sigma_s", NULL, "sigma (s)"}, {"frequency_hz", NULL, "frequency (Hz)"},
    {"chirp_mass_solar", NULL, "chirp mass (solar masses)"}, {"from_hz", "to_hz", "band (Hz)"}, {"from_hz", NULL, "from (Hz)"},
    {"to_hz", NULL, "to (Hz)"},
};

struct filter_names {
    const char *label;                  /* label of the axis; NULL: filters are numbered */
    struct lw_attribute values, until;  /* borrowed from the bank's notes */
    bool is_band;
};

static void find_names(struct peaks *p, const char *dataset, struct filter_names *names)
{
    const int n = (int)p->high[FILTER] + 1;
    const struct lw_said *const said = &p->bank->dataset;
    struct lw_error none;
    if (lw_notes_read(dataset, NULL, p->bank, &none) != LW_OK)
        return;
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters && !names->label; i++) {
        names->is_band = parameters[i].until;
        if (lw_said_find(said, parameters[i].attribute, &names->values) && names->values.n_reals >= n &&
            (!names->is_band || (lw_said_find(said, parameters[i].until, &names->until) && names->until.n_reals >= n)))
            names->label = parameters[i].label;
    }
}

/* Read the filters' names from the bank in the result, else from the file that the filters were read from. */
static void name_filters(struct peaks *p, struct filter_names *names)
{
    const struct lw_plot_subject *const subject = &p->plot->subject;
    const char *const named = lw_said_text(&subject->notes->file, "filters");
    struct lw_error none;
    if (p->by != FILTER || p->is_image || !(p->bank = lw_alloc(sizeof *p->bank, "attributes", &none)))
        return;
    find_names(p, lw_name_of(subject->info.file, "/filters").text, names);
    if (!names->label && named[0])
        find_names(p, named, names);
}

/* Write the filters' names at the ticks, about 20 at most. */
static void write_names(const struct peaks *p, const struct filter_names *names)
{
    enum { MOST_TICKS = 20 };
    FILE *const file = p->plot->script.file;
    const int64_t low = (int64_t)p->low[FILTER], high = (int64_t)p->high[FILTER], step = (high - low) / MOST_TICKS + 1;
    fputs("set ytics (", file);
    for (int64_t f = low; f <= high; f += step) {
        fprintf(file, "%s\"%.6g", f > low ? ", " : "", names->values.reals[f]);
        if (names->is_band)
            fprintf(file, "-%.6g", names->until.reals[f]);
        fprintf(file, "\" %lld", (long long)f);
    }
    fputs(")\n", file);
}

static void draw(struct peaks *p)
{
    static const char *const names[] = {"", "row", "filter", "channel", "signal-to-noise ratio"};
    struct lw_script *const script = &p->plot->script;
    const bool is_downward = p->is_image && !lw_subject_is_upward(&p->plot->subject);
    char label[160], trial[2 * LW_NOTE_NAME];
    const double factor = label_x(p, label, sizeof label);
    const double *const low = p->view_low, *const high = p->view_high;
    struct lw_colours colours = {.low = p->low[SNR], .high = p->high[SNR] > p->low[SNR] ? p->high[SNR] : p->low[SNR] + 1};
    lw_plot_limit(p->plot, &colours);
    struct filter_names filters = {0};
    name_filters(p, &filters);
    const struct lw_panel panel = {
        .x_label = label,
        .y_label = p->by == TRIAL ? label_trial(p, trial, sizeof trial) : filters.label ? filters.label : names[p->by],
        .x_low = low[0] * factor, .x_high = high[0] * factor,
        .y_low = is_downward ? high[1] : low[1], .y_high = is_downward ? low[1] : high[1], .log_y = p->plot->is_log && p->by == SNR,
    };
    lw_script_begin(script);
    const int64_t shown = write_data(p, factor);
    if (shown < p->count)
        snprintf(script->note, sizeof script->note, "the strongest %lld of %lld peaks", (long long)shown, (long long)p->count);
    lw_graticule_make(&p->graticule, &p->panels, script);
    lw_graticule_note(&p->graticule, script->note, sizeof script->note);
    lw_script_panels(script, &p->panels);
    lw_script_colours(script, &p->panels, 0, &colours, "signal-to-noise ratio", p->plot->is_log);
    lw_script_panel(script, &p->panels, &panel);
    if (filters.label)
        write_names(p, &filters);
    else if (p->by != SNR && p->by != TRIAL && p->high[p->by] - p->low[p->by] < 16)
        fputs("set ytics 1\n", script->file);
    lw_graticule_plot(&p->graticule, low, high, "",
                      "$data0 using 1:2:4:3 with points pointtype 7 pointsize variable linecolor palette", script);
    lw_script_end(script);
}

int lw_plot_peaks(struct lw_plot *plot, struct lw_error *err)
{
    const struct lw_notes *const notes = plot->subject.notes;
    struct peaks p = {
        .plot = plot, .is_image = plot->subject.is_image,
        .trial = !plot->subject.is_image && notes->n_columns == LW_PEAK_COLUMNS + 1 ? notes->columns[LW_PEAK_COLUMNS].name : NULL,
        .channels = lw_options_range(plot->given, "channels"), .begin = -INFINITY, .end = INFINITY,
        .x_zero = lw_said_real(&notes->dataset, "start_time", 0),
    };
    const int rc = collect(&p, err);
    if (rc == LW_OK)
        draw(&p);
    lw_sky_close(&p.graticule.sky);
    lw_free(p.bank);
    lw_free(p.cells);
    return rc;
}
