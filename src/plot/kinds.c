#include "plot/kinds.h"

#include "base/log.h"
#include "base/memory.h"
#include "job/selection.h"

#include <inttypes.h>

static int read_frequency(const struct lw_plot *plot, const char *name, double *hz, struct lw_error *err)
{
    const char *const text = lw_options_text(plot->given, name);
    if (!text || lw_parse_frequency(text, hz) == LW_PARSE_OK)
        return LW_OK;
    return lw_fail(err, LW_EUSAGE, "--%s: '%s' is not a frequency such as 60, 2.5kHz or 1.2GHz (without a unit: Hz)", name, text);
}

int lw_plot_band(const struct lw_plot *plot, double *low_hz, double *high_hz, struct lw_error *err)
{
    int rc;
    if ((rc = read_frequency(plot, "from", low_hz, err)) || (rc = read_frequency(plot, "to", high_hz, err)))
        return rc;
    return *low_hz < *high_hz ? LW_OK : lw_fail(err, LW_EUSAGE, "the band from %g Hz to %g Hz is empty: --from must be below --to",
                                                *low_hz, *high_hz);
}

int lw_plot_channels(const struct lw_plot *plot, struct lw_option_range *range, struct lw_error *err)
{
    struct lw_range chosen;
    const int rc = lw_job_choose_channels(plot->given, &plot->subject.info, plot->subject.y, &chosen, err);
    *range = (struct lw_option_range){chosen.begin, chosen.end, chosen.step};
    return rc;
}

bool lw_plot_is_chosen(const struct lw_option_range *range, int64_t channel)
{
    const int64_t begin = range->begin < 0 ? 0 : range->begin, step = range->step < 0 ? 1 : range->step;
    return channel >= begin && (range->end < 0 || channel < range->end) && (channel - begin) % step == 0;
}

int lw_plot_filters_chosen(const struct lw_plot *plot, int64_t n, struct lw_option_range *range, struct lw_error *err)
{
    *range = lw_options_range(plot->given, "filters");
    range->begin = range->begin < 0 ? 0 : range->begin;
    range->end = range->end < 0 ? n : range->end;
    range->step = range->step < 0 ? 1 : range->step;
    if (range->begin >= n || range->end > n)
        return lw_fail(err, LW_ECONFIG, "--filters %s: %.500s has %" PRId64 " filters, 0 to %" PRId64,
                       lw_options_text(plot->given, "filters"), plot->subject.name, n, n - 1);
    return LW_OK;
}

void lw_plot_frame(struct lw_plot *plot, int width, int height)
{
    plot->script.width = plot->width > 0 ? plot->width : width;
    plot->script.height = plot->height > 0 ? plot->height : height;
}

void lw_plot_limit(const struct lw_plot *plot, struct lw_colours *colours)
{
    if (isnan(plot->low) && isnan(plot->high))
        return;
    colours->low = isnan(plot->low) ? colours->low : plot->low;
    colours->high = isnan(plot->high) ? colours->high : plot->high;
    colours->is_signed = colours->low == -colours->high;
    if (!(colours->low < colours->high))        /* the limit given lies beyond all values: choose the other */
        *(isnan(plot->low) ? &colours->low : &colours->high) = isnan(plot->low) ? colours->high / 2 - 1 : 2 * colours->low + 1;
}

struct lw_input_map lw_plot_map_input(const struct lw_plot *plot)
{
    const struct lw_said *const notes = &plot->subject.notes->dataset;
    const double every = lw_said_real(notes, "block_length", lw_said_real(notes, "decimate", 1));
    const bool is_image = plot->subject.is_image, is_sum = lw_plot_n_summed(&plot->subject) > 0;
    const char *const first = is_image ? "first_input_row" : is_sum ? "first_summed_channel" : "first_channel";
    const char *const step = is_sum ? "summed_channel_step" : "channel_step";
    return (struct lw_input_map){
        .first = lw_said_real(notes, is_image ? "first_input_column" : "first_input_sample", 0),
        .step = every / lw_said_real(notes, "interpolate", 1),
        .channels.begin = (int64_t)lw_said_real(notes, first, 0), .channels.end = -1,
        .channels.step = is_image ? (int64_t)every : (int64_t)lw_said_real(notes, step, 1),
    };
}

/* ---- panels of samples ------------------------------------------------------------------------------------------------ */

struct lw_span lw_plot_clip(double begin, double end, int64_t n)
{
    return (struct lw_span){(int64_t)fmin(fmax(ceil(begin), 0), (double)n), (int64_t)fmin(fmax(ceil(end), 0), (double)n)};
}

int lw_samples_choose(const struct lw_plot *plot, struct lw_samples *samples, struct lw_error *err)
{
    struct lw_view_spec view;
    int rc;
    if ((rc = lw_job_choose_piece(plot->given, &plot->subject.info, plot->subject.x, &view, err)) ||
        (rc = lw_plot_channels(plot, &samples->channels, err)) ||
        (rc = lw_plot_filters_chosen(plot, plot->subject.n_z, &samples->filters, err)))
        return rc;
    samples->span = (struct lw_span){view.start, view.start + view.count};
    return LW_OK;
}

struct lw_shown *lw_samples_add(struct lw_samples *samples)
{
    if (samples->count < samples->most)
        return &samples->list[samples->count++];
    samples->left_out++;
    return NULL;
}

int lw_samples_draw(struct lw_plot *plot, struct lw_samples *samples, const char *what, const char *more, struct lw_error *err)
{
    int rc = LW_OK;
    plot->part = 1;
    lw_script_begin(&plot->script);
    for (int p = 0; p < samples->count && rc == LW_OK; p++)
        rc = samples->gather(plot, samples, &samples->list[p], err);
    if (rc)
        return rc;
    /* Note what the picture leaves out. */
    char *const note = plot->script.note;
    const size_t size = sizeof plot->script.note;
    note[0] = '\0';
    if (plot->part < 1)
        snprintf(note, size, "drawn from %.2g%% of the samples, evenly spread", 100 * plot->part);
    size_t used = strlen(note);
    if (samples->left_out > 0)
        snprintf(note + used, size - used, "%sthe first %d of %" PRId64 " %s", used ? "; " : "", samples->count,
                 samples->count + samples->left_out, what);
    used = strlen(note);
    if (more[0])
        snprintf(note + used, size - used, "%s%s", used ? "; " : "", more);
    lw_script_panels(&plot->script, &samples->panels);
    for (int p = 0; p < samples->count; p++)
        samples->draw(plot, samples, p);
    lw_script_end(&plot->script);
    return LW_OK;
}

void lw_samples_release(struct lw_samples *samples)
{
    for (int p = 0; p < samples->count; p++) {
        lw_free(samples->list[p].raster.cells);
        lw_sky_close(&samples->list[p].graticule.sky);
    }
}

/* ---- the sky ---------------------------------------------------------------------------------------------------------- */

/* Read coordinates of the sky. If they cannot be read, warn, and draw no lines of the sky. */
static int read_sky(const struct lw_plot_subject *subject, struct lw_sky *sky, struct lw_error *err)
{
    struct lw_error reason;
    LW_FREED struct lw_said *const header = lw_alloc(sizeof *header, "attributes", err);
    const int rc = header ? lw_notes_collect(&subject->info, header, err) : LW_ESYSTEM;
    if (rc == LW_OK && lw_sky_open(header, sky, &reason) != LW_OK) {
        lw_log_warn("%.400s: its coordinates of the sky are not drawn: %s", subject->name, reason.message);
        lw_sky_close(sky);
    }
    return rc;
}

/* A result in HDF5 has no coordinates of its own: its input's are mapped to it. */
int lw_plot_open_sky(const struct lw_plot *plot, const struct lw_plot_subject *subject, const double low[2], const double high[2],
                     struct lw_graticule *graticule, struct lw_error *err)
{
    struct lw_input_map map = {.step = 1, .channels.step = 1};
    int rc = read_sky(subject, &graticule->sky, err);
    if (rc == LW_OK && !graticule->sky.wcs && subject != &plot->input && plot->input.notes) {
        map = lw_plot_map_input(plot);
        rc = read_sky(&plot->input, &graticule->sky, err);
    }
    const double first[2] = {map.first, (double)map.channels.begin}, step[2] = {map.step, (double)map.channels.step};
    for (int a = 0; a < 2; a++) {
        graticule->low[a] = first[a] + low[a] * step[a];
        graticule->high[a] = first[a] + high[a] * step[a];
    }
    graticule->is_downward = !lw_subject_is_upward(&plot->subject);
    return rc;
}
