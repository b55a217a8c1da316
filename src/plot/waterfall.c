/* waterfall.c - draws values as colours: channels over the axis, or images, these with lines of the sky's coordinates. */
#include "plot/kinds.h"

#include "base/integers.h"
#include "base/memory.h"

enum { MOST_PANELS = 4 };

static int add_input(struct lw_plot *plot, struct lw_samples *images, struct lw_error *err)
{
    const int64_t n_summed = lw_plot_n_summed(&plot->subject);
    const struct lw_option_range all = {0, n_summed, 1}, *const y = n_summed > 0 ? &all : &images->channels;
    const struct lw_input_map map = lw_plot_map_input(plot);
    struct lw_shown *const shown = lw_samples_add(images);
    *shown = (struct lw_shown){.subject = &plot->input, .first = -map.first / map.step, .step = 1 / map.step};
    shown->x = lw_plot_clip(map.first + (double)images->span.begin * map.step, map.first + (double)images->span.end * map.step,
                            plot->input.n_x);
    shown->y.begin = map.channels.begin + y->begin * map.channels.step;
    shown->y.step = y->step * map.channels.step;
    if (shown->y.begin < 0)              /* the result's first rows lie before the input's first row (--mode full) */
        shown->y.begin += lw_divide_up(-shown->y.begin, shown->y.step) * shown->y.step;
    shown->y.end = lw_min64(map.channels.begin + (y->end - 1) * map.channels.step + 1, plot->input.n_y);
    snprintf(shown->title, sizeof shown->title, "input: %.300s", plot->input.info.path);
    if (shown->x.begin >= shown->x.end || shown->y.begin >= shown->y.end)
        return lw_fail(err, LW_ECONFIG, "%.400s has no samples in the part shown of the result", plot->input.name);
    return LW_OK;
}

static int choose(struct lw_plot *plot, struct lw_samples *images, struct lw_error *err)
{
    const int z = plot->subject.z;
    const bool has_kernels = z >= 0 && strcmp(lw_subject_dimension(&plot->subject, z), "kernel") == 0;
    int rc;
    if ((rc = lw_samples_choose(plot, images, err)) || (plot->has_input && (rc = add_input(plot, images, err))))
        return rc;
    lw_subject_label_x(&plot->subject, images->span.begin, images->span.end, &images->axis);
    for (int64_t i = images->filters.begin; i < images->filters.end; i += images->filters.step) {
        struct lw_shown *const shown = lw_samples_add(images);
        if (!shown)
            continue;
        *shown = (struct lw_shown){.subject = &plot->subject, .z = i, .x = images->span, .y = images->channels, .step = 1};
        if (plot->subject.n_z > 1)
            snprintf(shown->title, sizeof shown->title, "%s%s %lld", plot->has_input ? "result, " : "",
                     plot->kind != LW_PLOT_IMAGE ? "filter" : has_kernels ? "kernel" : "image", (long long)i);
        else if (plot->has_input)
            snprintf(shown->title, sizeof shown->title, "result");
    }
    return LW_OK;
}

/* Return the value shown of a cell: its magnitude on a logarithmic scale. */
static double shown_value(const struct lw_plot *plot, const struct lw_shown *shown, int64_t cell)
{
    const double value = lw_cell_value(&shown->raster.cells[cell], shown->show);
    return plot->is_log ? fabs(value) : value;
}

/* Write the values of all cells. On a logarithmic scale, values below its range (as 0) get the lowest colour. */
static void write_data(struct lw_plot *plot, struct lw_shown *shown)
{
    const struct lw_raster *const raster = &shown->raster;
    shown->data = lw_script_data(&plot->script);
    for (int row = 0; row < raster->n_rows; row++) {
        for (int column = 0; column < raster->n_columns; column++) {
            const double value = shown_value(plot, shown, (int64_t)row * raster->n_columns + column);
            if (isfinite(value))
                fprintf(plot->script.file, "%.5g ", plot->is_log ? fmax(value, shown->colours.low) : value);
            else
                fputs("NaN ", plot->script.file);
        }
        fputc('\n', plot->script.file);
    }
    lw_script_data_end(&plot->script);
}

static int gather(struct lw_plot *plot, struct lw_samples *images, struct lw_shown *shown, struct lw_error *err)
{
    const int rc = lw_plot_gather(plot, shown, images->count, lw_panels_height(&plot->script, &images->panels),
                            lw_panels_width(&plot->script, &images->panels), err);
    if (rc)
        return rc;
    /* Values of one sign: a cell shows the mean. Values of both signs: the sample farthest from zero, so that waves stay waves;
     * with many samples in a cell the rms value, as a mean would only show that they cancel. */
    enum { MOST_FOR_EXTREMES = 32 };
    const struct lw_raster *const raster = &shown->raster;
    int64_t negative = 0, filled = 0, samples = 0;
    for (int64_t i = 0; i < (int64_t)raster->n_rows * raster->n_columns; i++) {
        const struct lw_cell *const cell = &raster->cells[i];
        filled += cell->count > 0;
        negative += cell->count > 0 && cell->least < 0;
        samples += cell->count;
    }
    const bool is_signed = negative > filled / 20;
    const bool is_full = samples > MOST_FOR_EXTREMES * lw_max64(filled, 1);
    shown->show = plot->kind == LW_PLOT_IMAGE || !is_signed ? LW_SHOW_MEAN : is_full ? LW_SHOW_RMS : LW_SHOW_EXTREME;
    if (plot->is_log && shown->show == LW_SHOW_EXTREME)
        shown->show = LW_SHOW_RMS;
    const int64_t n = (int64_t)raster->n_rows * raster->n_columns;
    LW_FREED double *const values = lw_alloc_array(n, sizeof *values, "the picture", err);
    if (!values)
        return LW_ESYSTEM;
    for (int64_t i = 0; i < n; i++)
        values[i] = shown_value(plot, shown, i);
    shown->colours = lw_colours_choose(values, n, plot->is_log);
    lw_plot_limit(plot, &shown->colours);
    write_data(plot, shown);
    lw_graticule_make(&shown->graticule, &images->panels, &plot->script);
    return LW_OK;
}

/* gnuplot takes the centres of cells: cell i begins at x_low + i dx, y_low + i dy. */
static void draw(const struct lw_plot *plot, const struct lw_samples *images, int number)
{
    const struct lw_shown *const shown = &images->list[number];
    const struct lw_raster *const raster = &shown->raster;
    const bool is_image = plot->kind == LW_PLOT_IMAGE, is_last = number + 1 == images->count;
    const bool is_downward = is_image && !lw_subject_is_upward(&plot->subject);
    struct lw_plot_axis y;
    char label[200], image[200];
    lw_subject_label_y(shown->subject, &y);
    const double half = is_image ? 0.5 : 0;
    const double x_low = lw_plot_axis_at(&images->axis, shown->first + ((double)shown->x.begin - half) * shown->step);
    const double x_high = lw_plot_axis_at(&images->axis, shown->first + ((double)shown->x.end - half) * shown->step);
    const double first_row = (double)shown->y.begin - 0.5 * (double)shown->y.step;
    const double y_low = lw_plot_axis_at(&y, first_row);
    const double y_high = lw_plot_axis_at(&y, first_row + (double)(shown->n_channels * shown->y.step));
    const double dx = (x_high - x_low) / raster->n_columns, dy = (y_high - y_low) / raster->n_rows;
    const struct lw_panel panel = {
        .number = number, .title = shown->title[0] ? shown->title : NULL, .is_utc = images->axis.is_utc,
        .x_label = is_last ? images->axis.label : NULL, .y_label = y.label,
        .x_low = lw_plot_axis_at(&images->axis, (double)images->span.begin - half),
        .x_high = lw_plot_axis_at(&images->axis, (double)images->span.end - half),
        .y_low = is_downward ? fmax(y_low, y_high) : is_image ? y_low : fmin(y_low, y_high),
        .y_high = is_downward ? fmin(y_low, y_high) : is_image ? y_high : fmax(y_low, y_high),
    };
    lw_subject_label_values(shown->subject, shown->show == LW_SHOW_RMS ? "rms" : plot->is_log ? "magnitude" : "", label,
                            sizeof label);
    lw_script_colours(&plot->script, &images->panels, number, &shown->colours, label, plot->is_log);
    lw_script_panel(&plot->script, &images->panels, &panel);
    const double low[2] = {x_low, y_low}, high[2] = {x_high, y_high};
    snprintf(image, sizeof image, "$data%d matrix using (%.15g+%.15g*$1):(%.15g+%.15g*$2):3 with image", shown->data,
             x_low + dx / 2, dx, y_low + dy / 2, dy);
    lw_graticule_plot(&shown->graticule, low, high, image, "", &plot->script);
}

static int choose_frame(struct lw_plot *plot, struct lw_samples *images, struct lw_error *err)
{
    const bool is_image = plot->kind == LW_PLOT_IMAGE;
    const struct lw_shown *const last = &images->list[images->count - 1];
    int rc = LW_OK;
    images->panels = (struct lw_panels){.count = images->count, .left = is_image ? 72 : 110, .right = is_image ? 100 : 120,
                                        .gap = 36, .has_titles = images->list[0].title[0] != '\0'};
    if (is_image)
        images->panels.aspect = (double)(last->y.end - last->y.begin) / (double)(last->x.end - last->x.begin);
    for (int p = 0; p < images->count && is_image && rc == LW_OK; p++) {
        struct lw_shown *const shown = &images->list[p];
        const struct lw_option_range *const y = &shown->y;
        const double half_row = 0.5 * (double)y->step, last_row = (double)(y->begin + (y->end - 1 - y->begin) / y->step * y->step);
        const double low[2] = {(double)shown->x.begin - 0.5, (double)y->begin - half_row};
        const double high[2] = {(double)shown->x.end - 0.5, last_row + half_row};
        rc = lw_plot_open_sky(plot, shown->subject, low, high, &shown->graticule, err);
        lw_graticule_make_room(&shown->graticule, &images->panels);
    }
    const int height = is_image ? 640 : images->count == 1 ? 500 : 400;
    lw_plot_frame(plot, is_image ? 900 : 1200, 120 + height * images->count);
    return rc;
}

int lw_plot_waterfall(struct lw_plot *plot, struct lw_error *err)
{
    struct lw_samples images = {.most = MOST_PANELS, .gather = gather, .draw = draw};
    char more[160] = "";
    int rc;
    if ((rc = choose(plot, &images, err)) == LW_OK && (rc = choose_frame(plot, &images, err)) == LW_OK) {
        lw_graticule_note(&images.list[images.count - 1].graticule, more, sizeof more);
        rc = lw_samples_draw(plot, &images, "panels", more, err);
    }
    lw_samples_release(&images);
    return rc;
}
