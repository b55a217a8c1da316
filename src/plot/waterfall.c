/* waterfall.c - values as colours: channels over the axis, and images, with lines of right ascension and declination. */
#include "plot/kinds.h"

#include "base/integers.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { MOST_PANELS = 4 };

struct tile {
    struct lw_shown shown;
    enum lw_show show;
    struct lw_colours colours;
    struct lw_graticule graticule;      /* of an image */
};

struct tiles {
    struct tile list[MOST_PANELS];
    int count;
    int64_t left_out;
    struct lw_span span;
    struct lw_plot_axis axis;
    struct lw_panels panels;
};

/* ---- which ones ---------------------------------------------------------------------------------------------------- */

static int add_input(struct lw_plot *plot, struct tiles *tiles, const struct lw_option_range *y, struct lw_error *err)
{
    struct lw_input_map map;
    lw_plot_map_input(plot, &map);
    struct tile *const tile = &tiles->list[tiles->count++];
    *tile = (struct tile){.shown = {.subject = &plot->input, .first = -map.first / map.step, .step = 1 / map.step}};
    tile->shown.x = lw_plot_clip(map.first + (double)tiles->span.begin * map.step, map.first + (double)tiles->span.end * map.step,
                   plot->input.n_x);
    tile->shown.y.begin = map.channels.begin + y->begin * map.channels.step;
    tile->shown.y.step = y->step * map.channels.step;
    if (tile->shown.y.begin < 0)              /* of mode full, whose first rows lie before the input's */
        tile->shown.y.begin += lw_divide_up(-tile->shown.y.begin, tile->shown.y.step) * tile->shown.y.step;
    tile->shown.y.end = lw_min64(map.channels.begin + (y->end - 1) * map.channels.step + 1, plot->input.n_y);
    snprintf(tile->shown.title, sizeof tile->shown.title, "input: %.300s", plot->input.info.path);
    if (tile->shown.x.begin >= tile->shown.x.end || tile->shown.y.begin >= tile->shown.y.end)
        return lw_fail(err, LW_ECONFIG, "%.400s has no samples in what is shown of the result", plot->input.name);
    return LW_OK;
}

static void add_result(struct lw_plot *plot, struct tiles *tiles, const struct lw_option_range *y, int64_t z)
{
    const bool is_many = plot->subject.n_z > 1;
    if (tiles->count == MOST_PANELS) {
        tiles->left_out++;
        return;
    }
    struct tile *const tile = &tiles->list[tiles->count++];
    *tile = (struct tile){.shown = {.subject = &plot->subject, .z = z, .x = tiles->span, .y = *y, .step = 1}};
    if (is_many)
        snprintf(tile->shown.title, sizeof tile->shown.title, "%s%s %lld", plot->has_input ? "result, " : "",
                 plot->kind == LW_PLOT_IMAGE ? "image" : "filter", (long long)z);
    else if (plot->has_input)
        snprintf(tile->shown.title, sizeof tile->shown.title, "result");
}

static int choose(struct lw_plot *plot, struct tiles *tiles, struct lw_error *err)
{
    struct lw_option_range y, z;
    int rc;
    if ((rc = lw_plot_span(plot, &tiles->span, err)) ||
        (rc = lw_plot_channels(plot, &y, err)) ||
        (rc = lw_plot_filters_chosen(plot, plot->subject.n_z, &z, err)) ||
        (plot->has_input && (rc = add_input(plot, tiles, &y, err))))
        return rc;
    lw_subject_label_x(&plot->subject, tiles->span.begin, tiles->span.end, &tiles->axis);
    for (int64_t i = z.begin; i < z.end; i += z.step)
        add_result(plot, tiles, &y, i);
    return LW_OK;
}

static int open_sky(const struct lw_plot *plot, struct tile *tile, struct lw_error *err)
{
    const struct lw_shown *const shown = &tile->shown;
    const double half_row = 0.5 * (double)shown->y.step;
    const double last_row = (double)(shown->y.begin + (shown->y.end - 1 - shown->y.begin) / shown->y.step * shown->y.step);
    const double low[2] = {(double)shown->x.begin - 0.5, (double)shown->y.begin - half_row};
    const double high[2] = {(double)shown->x.end - 0.5, last_row + half_row};
    return lw_plot_open_sky(plot, shown->subject, low, high, &tile->graticule, err);
}

/* ---- data ---------------------------------------------------------------------------------------------------------- */

/* Values of both signs: the one farthest from zero where few samples share a cell, so that waves stay waves, and the rms value
 * where many do, as a mean would only show that they cancel. Values of one sign: their mean. */
static void choose_show(const struct lw_plot *plot, struct tile *tile)
{
    enum { MOST_FOR_EXTREMES = 32 };
    const struct lw_raster *const raster = &tile->shown.gathered.raster;
    int64_t negative = 0, filled = 0, samples = 0;
    for (int64_t i = 0; i < (int64_t)raster->n_rows * raster->n_columns; i++) {
        const struct lw_cell *const cell = &raster->cells[i];
        filled += cell->count > 0;
        negative += cell->count > 0 && cell->least < 0;
        samples += cell->count;
    }
    const bool is_signed = negative > filled / 20;
    const bool is_full = samples > MOST_FOR_EXTREMES * lw_max64(filled, 1);
    tile->show = plot->kind == LW_PLOT_IMAGE || !is_signed ? LW_SHOW_MEAN : is_full ? LW_SHOW_RMS : LW_SHOW_EXTREME;
    if (plot->is_log && tile->show == LW_SHOW_EXTREME)
        tile->show = LW_SHOW_RMS;
}

/* On a logarithmic scale the magnitude counts. */
static double shown_value(const struct lw_plot *plot, const struct tile *tile, int64_t cell)
{
    const double value = lw_cell_value(&tile->shown.gathered.raster.cells[cell], tile->show);
    return plot->is_log ? fabs(value) : value;
}

static int choose_colours(const struct lw_plot *plot, struct tile *tile, struct lw_error *err)
{
    const struct lw_raster *const raster = &tile->shown.gathered.raster;
    const int64_t n = (int64_t)raster->n_rows * raster->n_columns;
    double *const values = lw_alloc_array(n, sizeof *values, "the picture", err);
    if (!values)
        return LW_ESYSTEM;
    for (int64_t i = 0; i < n; i++)
        values[i] = shown_value(plot, tile, i);
    tile->colours = lw_colours_choose(values, n, plot->is_log);
    lw_plot_limit(plot, &tile->colours);
    lw_free(values);
    return LW_OK;
}

/* On a logarithmic scale the least colour stands for what has no logarithm. */
static void write_value(const struct lw_plot *plot, double value, double low)
{
    if (isfinite(value))
        fprintf(plot->script.file, "%.5g ", plot->is_log && value < low ? low : value);
    else
        fputs("NaN ", plot->script.file);
}

static void write_data(struct lw_plot *plot, struct tile *tile)
{
    const struct lw_raster *const raster = &tile->shown.gathered.raster;
    tile->shown.data = lw_script_data(&plot->script);
    for (int row = 0; row < raster->n_rows; row++) {
        for (int column = 0; column < raster->n_columns; column++)
            write_value(plot, shown_value(plot, tile, (int64_t)row * raster->n_columns + column), tile->colours.low);
        fputc('\n', plot->script.file);
    }
    lw_script_data_end(&plot->script);
}

static int gather(struct lw_plot *plot, void *context, int number, struct lw_error *err)
{
    struct tiles *const tiles = context;
    struct tile *const tile = &tiles->list[number];
    int rc = lw_plot_gather(plot, &tile->shown, tiles->count, lw_panels_height(&plot->script, &tiles->panels),
                            lw_panels_width(&plot->script, &tiles->panels), err);
    if (rc)
        return rc;
    choose_show(plot, tile);
    if ((rc = choose_colours(plot, tile, err)))
        return rc;
    write_data(plot, tile);
    lw_graticule_make(&tile->graticule, &tiles->panels, &plot->script);
    return LW_OK;
}

/* ---- picture ------------------------------------------------------------------------------------------------------- */

static const char *show_text(const struct lw_plot *plot, enum lw_show show)
{
    return show == LW_SHOW_RMS ? "rms" : plot->is_log ? "magnitude" : "";
}

/* The cells' centres stand between their edges: cell i of n from `low` on, each `size` wide. */
static void draw(const struct lw_plot *plot, void *context, int number)
{
    const struct tiles *const tiles = context;
    const struct tile *const tile = &tiles->list[number];
    const struct lw_raster *const raster = &tile->shown.gathered.raster;
    const bool is_image = plot->kind == LW_PLOT_IMAGE, is_last = number + 1 == tiles->count;
    const bool is_downward = is_image && !lw_subject_is_upward(&plot->subject);
    struct lw_plot_axis y;
    char label[200], image[200];
    lw_subject_label_y(tile->shown.subject, &y);
    const double half = is_image ? 0.5 : 0;
    const double x_low = lw_plot_axis_at(&tiles->axis, tile->shown.first + ((double)tile->shown.x.begin - half) * tile->shown.step);
    const double x_high = lw_plot_axis_at(&tiles->axis, tile->shown.first + ((double)tile->shown.x.end - half) * tile->shown.step);
    const double first_row = (double)tile->shown.y.begin - 0.5 * (double)tile->shown.y.step;
    const double y_low = lw_plot_axis_at(&y, first_row);
    const double y_high = lw_plot_axis_at(&y, first_row + (double)(tile->shown.gathered.n_channels * tile->shown.y.step));
    const double dx = (x_high - x_low) / raster->n_columns, dy = (y_high - y_low) / raster->n_rows;
    const struct lw_panel panel = {
        .number = number, .title = tile->shown.title[0] ? tile->shown.title : NULL, .x = &tiles->axis,
        .x_label = is_last ? tiles->axis.label : NULL, .y_label = y.label,
        .x_low = lw_plot_axis_at(&tiles->axis, (double)tiles->span.begin - half),
        .x_high = lw_plot_axis_at(&tiles->axis, (double)tiles->span.end - half),
        .y_low = is_downward ? fmax(y_low, y_high) : is_image ? y_low : fmin(y_low, y_high),
        .y_high = is_downward ? fmin(y_low, y_high) : is_image ? y_high : fmax(y_low, y_high),
    };
    lw_subject_label_values(tile->shown.subject, show_text(plot, tile->show), label, sizeof label);
    lw_script_colours(&plot->script, &tiles->panels, number, &tile->colours, label, plot->is_log);
    lw_script_panel(&plot->script, &tiles->panels, &panel);
    const double low[2] = {x_low, y_low}, high[2] = {x_high, y_high};
    snprintf(image, sizeof image, "$data%d matrix using (%.15g+%.15g*$1):(%.15g+%.15g*$2):3 with image", tile->shown.data,
             x_low + dx / 2, dx, y_low + dy / 2, dy);
    lw_graticule_plot(&tile->graticule, low, high, image, "", &plot->script);
}

static int choose_frame(struct lw_plot *plot, struct tiles *tiles, struct lw_error *err)
{
    const bool is_image = plot->kind == LW_PLOT_IMAGE;
    int rc = LW_OK;
    tiles->panels = (struct lw_panels){.count = tiles->count, .left = is_image ? 72 : 110, .right = is_image ? 100 : 120, .gap = 36,
                                       .has_titles = tiles->list[0].shown.title[0] != '\0'};
    if (is_image) {
        const struct tile *const tile = &tiles->list[tiles->count - 1];
        tiles->panels.aspect =
            (double)(tile->shown.y.end - tile->shown.y.begin) / (double)(tile->shown.x.end - tile->shown.x.begin);
    }
    for (int t = 0; t < tiles->count && is_image && rc == LW_OK; t++) {
        rc = open_sky(plot, &tiles->list[t], err);
        lw_graticule_make_room(&tiles->list[t].graticule, &tiles->panels);
    }
    const int height = is_image ? 640 : tiles->count == 1 ? 500 : 400;
    lw_plot_frame(plot, is_image ? 900 : 1200, 120 + height * tiles->count);
    return rc;
}

static int draw_all(struct lw_plot *plot, struct tiles *tiles, struct lw_error *err)
{
    char more[160] = "";
    const int rc = choose_frame(plot, tiles, err);
    lw_graticule_note(&tiles->list[tiles->count - 1].graticule, more, sizeof more);
    const struct lw_panels_drawing drawing = {.context = tiles, .count = tiles->count, .gather = gather, .draw = draw,
                                              .left_out = tiles->left_out, .what = "panels", .more = more};
    return rc ? rc : lw_plot_draw_panels(plot, &tiles->panels, &drawing, err);
}

int lw_plot_waterfall(struct lw_plot *plot, struct lw_error *err)
{
    struct tiles tiles = {0};
    int rc = choose(plot, &tiles, err);
    if (rc == LW_OK)
        rc = draw_all(plot, &tiles, err);
    for (int t = 0; t < tiles.count; t++) {
        lw_gathered_release(&tiles.list[t].shown.gathered);
        lw_sky_close(&tiles.list[t].graticule.sky);
    }
    return rc;
}
