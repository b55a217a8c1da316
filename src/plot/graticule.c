/* graticule.c - draws labelled lines of the sky's coordinates over an image. Each line is followed in small steps. A step is drawn
 * only if its middle lies between its ends in the picture: no line crosses the picture where a projection cuts the sky open. */
#include "plot/kinds.h"

#include "base/text.h"

#include <stdlib.h>

enum { LONGITUDE, LATITUDE };
enum { MOST_LINES = 7, LATTICE = 33, N_LATTICE = LATTICE * LATTICE, N_STEPS = 400, N_POINTS = 2 * N_STEPS + 1 };

/* Visible range of longitude or latitude, in degrees, and the spacing of its lines. */
struct range {
    double low, high;
    double per_degree;          /* seconds of time or of arc per degree */
    double step_s;              /* distance between lines, in these seconds */
};

struct drawing {
    struct lw_graticule *graticule;
    FILE *file;
    struct range ranges[2];
};

/* ---- which lines ----------------------------------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Find the range of `values`, which are sorted. On a circle, the range is what remains without the largest gap. */
static void find_range(double *values, int n, double circle, struct range *range)
{
    qsort(values, (size_t)n, sizeof *values, compare);
    *range = (struct range){.low = values[0], .high = values[n - 1]};
    for (int i = 1; i < n; i++)
        if (values[i] - values[i - 1] > circle - (range->high - range->low)) {
            range->low = values[i];
            range->high = values[i - 1] + circle;
        }
    const double room = (range->high - range->low) / 16;        /* margin for the places between sampled pixels */
    range->low -= room;
    range->high += room;
}

/* Return the least of the usual steps that is not below `least_s`. */
static double choose_step(double least_s)
{
    static const double steps[] = {
        1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02,  0.05,  0.1,   0.2,   0.5,    1,
        2,    5,    10,   20,   30,   60,   120,  300,  600,  1200, 1800, 3600, 7200, 14400, 18000, 36000, 72000, 108000, 216000,
    };
    size_t s = 0;
    while (s + 1 < sizeof steps / sizeof *steps && steps[s] < least_s)
        s++;
    return steps[s];
}

/* Choose the range and step of lines. @return  false: nothing in the picture lies on the sky */
static bool choose_lines(struct drawing *d)
{
    struct lw_sky_point pixels[N_LATTICE], places[N_LATTICE];
    double values[2][N_LATTICE];
    int n = 0;
    for (int i = 0; i < 2 * N_LATTICE; i++) {
        const double part = (double)(i % 2 ? i / 2 / LATTICE : i / 2 % LATTICE) / (LATTICE - 1);
        pixels[i / 2].at[i % 2] = d->graticule->low[i % 2] + part * (d->graticule->high[i % 2] - d->graticule->low[i % 2]);
    }
    lw_sky_find(&d->graticule->sky, false, N_LATTICE, pixels, places);
    for (int i = 0; i < N_LATTICE; i++)
        if (isfinite(places[i].at[LONGITUDE]) && isfinite(places[i].at[LATITUDE])) {
            values[LONGITUDE][n] = places[i].at[LONGITUDE] - 360 * floor(places[i].at[LONGITUDE] / 360);
            values[LATITUDE][n++] = places[i].at[LATITUDE];
        }
    for (int axis = 0; axis < 2 && n > 0; axis++) {
        struct range *const range = &d->ranges[axis];
        find_range(values[axis], n, axis == LONGITUDE ? 360 : INFINITY, range);
        range->low = axis == LATITUDE ? fmax(range->low, -90) : range->low;
        range->high = fmin(range->high, axis == LATITUDE ? 90 : range->low + 360);
        range->per_degree = axis == LONGITUDE && d->graticule->sky.is_in_hours ? 240 : 3600;
        range->step_s = choose_step((range->high - range->low) * range->per_degree / MOST_LINES);
    }
    return n > 0;
}

/* ---- labels ---------------------------------------------------------------------------------------------------------------- */

/* Write "13h29m52.5s" or "+47°11′40″", with as many parts and digits as the step needs. */
static void write_text(const struct range *range, int axis, double value_s, char *text, size_t size)
{
    const bool is_hours = range->per_degree < 3600;
    const int digits = range->step_s < 0.99 ? (int)ceil(-log10(range->step_s) - 1e-6) : 0;
    const long long second = llround(pow(10, digits)), all = llround(fabs(value_s) * (double)second), whole = all / second;
    const char *const sign = axis == LONGITUDE ? "" : value_s < 0 ? "-" : "+";
    snprintf(text, size, "%s%02lld%s", sign, whole / 3600, is_hours ? "h" : "°");
    if (range->step_s < 3600)
        lw_append(text, size, "%02lld%s", whole / 60 % 60, is_hours ? "m" : "′");
    if (range->step_s < 60 && digits == 0)
        lw_append(text, size, "%02lld%s", whole % 60, is_hours ? "s" : "″");
    else if (range->step_s < 60)
        lw_append(text, size, "%02lld.%0*lld%s", whole % 60, digits, all % second, is_hours ? "s" : "″");
}

/* Add a label, if there is room. @return  false: another label on its side of the picture is too near */
static bool add_label(struct lw_graticule *graticule, const struct lw_graticule_label *label)
{
    const double room[2] = {7 * (double)strlen(label->text), 14};       /* size of the label, roughly, in the picture's pixels */
    bool is_free = graticule->n_labels < LW_GRATICULE_MOST_LABELS;
    for (int l = 0; l < graticule->n_labels && is_free; l++) {
        const struct lw_graticule_label *const other = &graticule->labels[l];
        is_free = other->side != label->side;
        for (int a = 0; a < 2; a++)
            is_free = is_free || fabs(other->at[a] - label->at[a]) * graticule->scale[a] > room[a];
    }
    if (is_free)
        graticule->labels[graticule->n_labels++] = *label;
    return is_free;
}

/* Find where a step crosses the edge `value` of `axis`. @return  false: it does not */
static bool find_crossing(const struct lw_sky_point *p, int axis, double value, double at[2])
{
    const double t = (value - p[0].at[axis]) / (p[2].at[axis] - p[0].at[axis]);
    at[axis] = value;
    at[1 - axis] = p[0].at[1 - axis] + t * (p[2].at[1 - axis] - p[0].at[1 - axis]);
    return t >= 0 && t <= 1;
}

/* ---- lines ----------------------------------------------------------------------------------------------------------------- */

static bool is_inside(const struct lw_graticule *view, const double at[2])
{
    return at[0] >= view->low[0] && at[0] <= view->high[0] && at[1] >= view->low[1] && at[1] <= view->high[1];
}

/* Return whether a step is drawn. @param p  ends (0 and 2) and middle (1) of the step, in pixels */
static bool is_drawn(const struct drawing *d, const struct lw_sky_point *p)
{
    const double x = (p[2].at[0] - p[0].at[0]) / 2, y = (p[2].at[1] - p[0].at[1]) / 2;
    return hypot(p[1].at[0] - p[0].at[0] - x, p[1].at[1] - p[0].at[1] - y) <= hypot(x, y) / 2 &&
           (is_inside(d->graticule, p[0].at) || is_inside(d->graticule, p[2].at));
}

/* Label a line: a longitude at the top edge, a latitude at the right edge, else at the other edge, else at the line's middle. */
static void put_label(struct drawing *d, int axis, double value_s, struct lw_graticule_label labels[3], const bool is_there[3])
{
    const struct range *const range = &d->ranges[axis];
    const double circle_s = axis == LONGITUDE ? 360 * range->per_degree : INFINITY;
    bool is_done = false;
    for (int i = 0; i < 3 && !is_done; i++) {
        const int side = i < 2 && axis == LATITUDE ? 1 - i : i;
        labels[side].side = side;
        write_text(range, axis, value_s < 0 && axis == LONGITUDE ? value_s + circle_s : fmod(value_s, circle_s), labels[side].text,
                   sizeof labels->text);
        is_done = is_there[side] && add_label(d->graticule, &labels[side]);
    }
}

/* Draw the line of constant longitude or latitude (`axis`) at value_s seconds. */
static void draw_line(struct drawing *d, int axis, double value_s)
{
    const struct range *const along = &d->ranges[1 - axis];
    const struct lw_graticule *const graticule = d->graticule;
    const double edges[2] = {graticule->is_downward ? graticule->low[1] : graticule->high[1], graticule->high[0]};
    struct lw_sky_point places[N_POINTS], pixels[N_POINTS];
    struct lw_graticule_label labels[3];
    bool is_there[3] = {false};
    int drawn[N_STEPS], n_drawn = 0;
    for (int i = 0; i < N_POINTS; i++) {
        places[i].at[axis] = value_s / d->ranges[axis].per_degree;
        places[i].at[1 - axis] = along->low + (along->high - along->low) * i / (N_POINTS - 1);
    }
    lw_sky_find(&graticule->sky, true, N_POINTS, places, pixels);
    for (int i = 0; i + 2 < N_POINTS; i += 2) {
        const struct lw_sky_point *const p = pixels + i;
        if (!is_drawn(d, p))
            continue;
        if (n_drawn == 0 || drawn[n_drawn - 1] != i - 2)
            fprintf(d->file, "\n%.10g %.10g\n", p[0].at[0], p[0].at[1]);
        fprintf(d->file, "%.10g %.10g\n", p[2].at[0], p[2].at[1]);
        drawn[n_drawn++] = i;
        for (int side = LW_GRATICULE_TOP; side <= LW_GRATICULE_RIGHT; side++)
            is_there[side] = is_there[side] || (find_crossing(p, side == LW_GRATICULE_TOP, edges[side], labels[side].at) &&
                                                is_inside(graticule, labels[side].at));
    }
    if ((is_there[LW_GRATICULE_INSIDE] = n_drawn > 0)) {
        const struct lw_sky_point *const p = pixels + drawn[n_drawn / 2];
        memcpy(labels[LW_GRATICULE_INSIDE].at, p[is_inside(graticule, p->at) ? 0 : 2].at, sizeof labels->at);
    }
    put_label(d, axis, value_s, labels, is_there);
}

void lw_graticule_make(struct lw_graticule *graticule, const struct lw_panels *panels, struct lw_script *script)
{
    struct drawing d = {.graticule = graticule, .file = script->file};
    if (!graticule->sky.wcs)
        return;
    const double width = lw_panels_width(script, panels), height = lw_panels_height(script, panels);
    const double aspect = panels->aspect > 0 ? panels->aspect : height / width;
    graticule->scale[0] = fmin(width, height / aspect) / (graticule->high[0] - graticule->low[0]);
    graticule->scale[1] = fmin(height, width * aspect) / (graticule->high[1] - graticule->low[1]);
    graticule->data = lw_script_data(script);
    const bool has_lines = choose_lines(&d);
    for (int axis = 0; axis < 2 && has_lines; axis++) {
        const double per_line = d.ranges[axis].step_s / d.ranges[axis].per_degree, first = ceil(d.ranges[axis].low / per_line);
        for (double line = first; line <= d.ranges[axis].high / per_line && line < first + 360 / per_line - 1e-6; line++)
            draw_line(&d, axis, line * d.ranges[axis].step_s);
    }
    lw_script_data_end(script);
}

void lw_graticule_make_room(const struct lw_graticule *graticule, struct lw_panels *panels)
{
    if (!graticule->sky.wcs || panels->over)
        return;
    panels->over = 16;
    panels->beside = 84;
    panels->gap += panels->over;
    panels->right += panels->beside;
}

void lw_graticule_note(const struct lw_graticule *graticule, char *note, size_t size)
{
    if (graticule->sky.wcs)
        lw_append(note, size, "%slines: %s", note[0] ? "; " : "", graticule->sky.text);
}

static void write_labels(const struct lw_graticule *graticule, const double first[2], const double step[2],
                         const struct lw_script *script)
{
    static const char *const looks[] = {"center offset 0,0.7", "left offset 0.7,0", "center front boxed"};
    fputs("set style textbox opaque margins 0.3,0.3 fillcolor rgb '#ffffff' noborder\n", script->file);
    for (const struct lw_graticule_label *l = graticule->labels; l < graticule->labels + graticule->n_labels; l++) {
        fputs("set label ", script->file);
        lw_script_text(script, l->text);
        fprintf(script->file, " at %.10g,%.10g %s font ',8' textcolor rgb '#404040'\n", first[0] + l->at[0] * step[0],
                first[1] + l->at[1] * step[1], looks[l->side]);
    }
}

/* Each line is drawn white on a wider dark one, to be visible on any colour. */
void lw_graticule_plot(const struct lw_graticule *graticule, const double low[2], const double high[2], const char *below,
                       const char *above, const struct lw_script *script)
{
    static const char *const looks[] = {"linewidth 1.8 linecolor rgb '#90000000'", "linewidth 0.8 linecolor rgb '#40ffffff'"};
    const bool is_there = graticule->sky.wcs;
    double first[2] = {0}, step[2] = {0};           /* pixel i lies at first + i x step on the panel's axis */
    for (int a = 0; a < 2 && is_there; a++) {
        step[a] = (high[a] - low[a]) / (graticule->high[a] - graticule->low[a]);
        first[a] = low[a] - graticule->low[a] * step[a];
    }
    if (is_there)
        write_labels(graticule, first, step, script);
    fprintf(script->file, "plot %s", below);
    for (int l = 0; l < 2 && is_there; l++)
        fprintf(script->file, "%s$data%d using (%.15g+%.15g*$1):(%.15g+%.15g*$2) with lines %s notitle",
                below[0] || l > 0 ? ", " : "", graticule->data, first[0], step[0], first[1], step[1], looks[l]);
    fprintf(script->file, "%s%s\n%s", above[0] && is_there ? ", " : "", above, is_there ? "unset label\n" : "");
}
