/* responses.c - draws a bank of filters: impulse responses above, magnitudes of the frequency responses below. */
#include "plot/kinds.h"

#include "base/integers.h"
#include "base/memory.h"
#include "design/response.h"

enum { MOST_FILTERS = 8 };

struct bank {
    struct lw_plot *plot;
    int64_t n_taps;
    int parts;
    double rate_hz;                     /* sampling rate; 0: not known */
    int64_t filters[MOST_FILTERS];
    int n_filters;
    int64_t left_out;
    double *all;                        /* taps of all filters of the bank, [filters x n_taps x parts] */
    const double *taps;                 /* taps of the filter that is drawn, part of `all` */
    double *work;
    int64_t points;
    double largest_db;
    int columns;
    struct lw_panels panels;
};

/* Colours of the filters, most from Brewer's Dark2, which colour-blind readers can mostly tell apart. */
static const char *const colours[MOST_FILTERS] = {
    "#1b6ca8", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#66a61e", "#a6761d", "#444444",
};

static int choose(struct bank *bank, struct lw_error *err)
{
    const int64_t most = (int64_t)1 << 22, most_values = (int64_t)1 << 27;
    const struct lw_dataset_info *const info = &bank->plot->subject.info;
    struct lw_option_range range;
    if (info->n_dims > 2)
        return lw_fail(err, LW_EDATA, "%.500s is not a bank of filters, whose shape is [taps] or [filters x taps]",
                       bank->plot->subject.name);
    const int rc = lw_plot_filters_chosen(bank->plot, info->n_dims == 2 ? info->dims[0] : 1, &range, err);
    if (rc)
        return rc;
    for (int64_t f = range.begin; f < range.end; f += range.step)
        if (bank->n_filters < MOST_FILTERS)
            bank->filters[bank->n_filters++] = f;
        else
            bank->left_out++;
    if (bank->n_taps <= most && (info->n_dims == 1 || info->dims[0] <= most_values / bank->n_taps))
        return LW_OK;
    return lw_fail(err, LW_EDATA, "%.500s is larger than any bank of filters: is it a signal (--kind series, --kind waterfall)?",
                   bank->plot->subject.name);
}

static int read_taps(struct bank *bank, struct lw_error *err)
{
    bank->points = lw_response_points(bank->n_taps);
    const struct lw_dataset_info *const info = &bank->plot->subject.info;
    const int64_t n = bank->n_taps * (info->n_dims == 2 ? info->dims[0] : 1) * bank->parts;
    bank->all = lw_alloc_array(n, sizeof *bank->all, "filters", err);
    bank->work = lw_alloc_array(lw_response_work(bank->points), sizeof *bank->work, "the responses", err);
    const struct lw_format *format;
    const int rc = bank->all && bank->work ? lw_formats_find(info->file, &info->hints, &format, err) : LW_ESYSTEM;
    return rc ? rc : lw_format_read_numbers(format, info, bank->all, err);
}

/* Return tap m; of a complex tap, the magnitude. */
static double impulse(const struct bank *bank, int64_t m)
{
    return bank->parts == 2 ? hypot(bank->taps[2 * m], bank->taps[2 * m + 1]) : bank->taps[m];
}

/* Write the impulse response. If there are more taps than columns, each column shows its least and its largest tap, in order. */
static void write_impulse(struct bank *bank, double step)
{
    FILE *const file = bank->plot->script.file;
    const int64_t columns = lw_min64(bank->n_taps, bank->columns);
    lw_script_data(&bank->plot->script);
    for (int64_t c = 0; c < columns; c++) {
        const int64_t begin = bank->n_taps * c / columns, end = bank->n_taps * (c + 1) / columns;
        int64_t least = begin, largest = begin;
        for (int64_t m = begin; m < end; m++) {
            least = impulse(bank, m) < impulse(bank, least) ? m : least;
            largest = impulse(bank, m) > impulse(bank, largest) ? m : largest;
        }
        fprintf(file, "%.12g %.9g\n", (double)lw_min64(least, largest) * step, impulse(bank, lw_min64(least, largest)));
        if (least != largest)
            fprintf(file, "%.12g %.9g\n", (double)lw_max64(least, largest) * step, impulse(bank, lw_max64(least, largest)));
    }
    lw_script_data_end(&bank->plot->script);
}

/* Return the magnitude at frequency k / points, k negative for negative frequencies (the upper half of `work`). */
static double response(const struct bank *bank, int64_t k) { return bank->work[(k + bank->points) % bank->points]; }

static void write_response(struct bank *bank, double low, double high, double factor)
{
    const double step = 1 / (double)bank->points;
    lw_response_magnitudes(bank->taps, bank->n_taps, bank->parts, bank->points, bank->work);
    const int64_t begin = (int64_t)floor(low / step), end = (int64_t)ceil(high / step) + 1, n = end - begin;
    const int64_t columns = lw_min64(n, 2 * bank->columns);
    lw_script_data(&bank->plot->script);
    for (int64_t c = 0; c < columns; c++) {
        int64_t largest = begin + n * c / columns;
        for (int64_t k = largest; k < begin + n * (c + 1) / columns; k++)
            largest = response(bank, k) > response(bank, largest) ? k : largest;
        const double db = 20 * log10(fmax(response(bank, largest), 1e-15));
        bank->largest_db = fmax(bank->largest_db, db);
        fprintf(bank->plot->script.file, "%.12g %.6g\n", (double)largest * step * factor, db);
    }
    lw_script_data_end(&bank->plot->script);
}

/* Name a filter by its number and an attribute of the bank that has a value for each filter. */
static void name_filter(const struct bank *bank, int f, char *text, size_t size)
{
    static const struct {
        const char *attribute, *before, *behind;
    } names[] = {{"width_samples", "width ", " samples"}, {"sigma_s", "sigma ", " s"}, {"frequency_hz", "", " Hz"}};
    const int64_t filter = bank->filters[f];
    snprintf(text, size, "filter %lld", (long long)filter);
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        struct lw_attribute found;
        if (lw_said_find(&bank->plot->subject.notes->dataset, names[n].attribute, &found) && filter < found.n_reals)
            snprintf(text, size, "filter %lld: %s%g%s", (long long)filter, names[n].before, found.reals[filter], names[n].behind);
    }
}

static void write_curves(const struct bank *bank, int which, bool has_key, const char *style)
{
    const struct lw_script *const script = &bank->plot->script;
    char name[120];
    fputs(has_key ? "set key top right noenhanced samplen 1.5 font ',9'\nplot " : "unset key\nplot ", script->file);
    for (int f = 0; f < bank->n_filters; f++) {
        name_filter(bank, f, name, sizeof name);
        fprintf(script->file, "%s$data%d using 1:2 with %s linewidth 1.4 linecolor rgb '%s' title ", f ? ", " : "", 2 * f + which,
                style, colours[f]);
        lw_script_text(script, name);
    }
    fputc('\n', script->file);
}

static void draw_impulses(const struct bank *bank, double length, const char *x_label)
{
    enum { MOST_POINTS = 128 };
    const struct lw_panel panel = {
        .number = 0, .title = "impulse response", .x_label = x_label, .x_high = length,
        .y_label = bank->parts == 2 ? "magnitude of the tap" : "tap",
    };
    lw_script_panel(&bank->plot->script, &bank->panels, &panel);
    fputs("set offsets 0,0,graph 0.05,graph 0.05\n", bank->plot->script.file);
    write_curves(bank, 0, bank->n_filters > 1, bank->n_taps <= MOST_POINTS ? "linespoints pointtype 7 pointsize 0.4" : "lines");
    fputs("set offsets\n", bank->plot->script.file);
}

static void draw_responses(const struct bank *bank, double low, double high, const char *x_label)
{
    enum { RANGE_DB = 110 };
    const bool is_log = bank->plot->is_log;
    const struct lw_panel panel = {
        .number = 1, .title = "frequency response", .x_label = x_label, .y_label = "gain (dB)",
        .x_low = is_log && low <= 0 ? high / 1000 : low, .x_high = high,
        .y_low = floor(bank->largest_db / 10) * 10 - RANGE_DB, .y_high = ceil(bank->largest_db / 10) * 10 + 5, .log_x = is_log,
    };
    lw_script_panel(&bank->plot->script, &bank->panels, &panel);
    write_curves(bank, 1, false, "lines");
}

static int draw(struct bank *bank, struct lw_error *err)
{
    const char *time_unit = "", *frequency_unit = "cycles per sample";
    char time[60] = "tap", frequency[60];
    double low = bank->parts == 2 ? -0.5 : 0, high = 0.5, tap_step = 1, factor = 1;
    int rc = LW_OK;
    if (bank->rate_hz > 0) {
        double low_hz = low * bank->rate_hz, high_hz = high * bank->rate_hz;
        if ((rc = lw_plot_band(bank->plot, &low_hz, &high_hz, err)))
            return rc;
        low = fmax(low_hz / bank->rate_hz, low);
        high = fmin(high_hz / bank->rate_hz, high);
        if (!(low < high))
            return lw_fail(err, LW_EUSAGE, "no frequency up to %.6g Hz lies between --from and --to", bank->rate_hz / 2);
        factor = bank->rate_hz * lw_label_frequency_unit(fmax(-low, high) * bank->rate_hz, &frequency_unit);
        tap_step = lw_label_time_unit((double)bank->n_taps / bank->rate_hz, &time_unit) / bank->rate_hz;
        snprintf(time, sizeof time, "time (%s)", time_unit);
    }
    snprintf(frequency, sizeof frequency, "frequency (%s)", frequency_unit);
    bank->panels = (struct lw_panels){.count = 2, .left = 110, .right = 30, .gap = 90, .has_titles = true};
    lw_plot_frame(bank->plot, 1000, 760);
    bank->columns = lw_panels_width(&bank->plot->script, &bank->panels);
    lw_script_begin(&bank->plot->script);
    for (int f = 0; f < bank->n_filters; f++) {
        bank->taps = bank->all + bank->filters[f] * bank->n_taps * bank->parts;
        write_impulse(bank, tap_step);
        write_response(bank, low, high, factor);
    }
    if (bank->left_out > 0)
        snprintf(bank->plot->script.note, sizeof bank->plot->script.note, "the first %d of %lld filters", bank->n_filters,
                 (long long)(bank->n_filters + bank->left_out));
    lw_script_panels(&bank->plot->script, &bank->panels);
    draw_impulses(bank, (double)lw_max64(bank->n_taps - 1, 1) * tap_step, time);
    draw_responses(bank, low * factor, high * factor, frequency);
    lw_script_end(&bank->plot->script);
    return LW_OK;
}

int lw_plot_filters(struct lw_plot *plot, struct lw_error *err)
{
    const struct lw_dataset_info *const info = &plot->subject.info;
    struct bank bank = {
        .plot = plot, .n_taps = info->dims[info->n_dims - 1], .parts = info->type.is_complex ? 2 : 1,
        .rate_hz = info->axis.sample_rate_hz, .largest_db = -INFINITY,
    };
    int rc;
    (void)((rc = choose(&bank, err)) || (rc = read_taps(&bank, err)) || (rc = draw(&bank, err)));
    lw_free(bank.all);
    lw_free(bank.work);
    return rc;
}
