#include "plot/script.h"

#include "base/log.h"
#include "io/dataset.h"

#include <ctype.h>

/* ---- texts --------------------------------------------------------------------------------------------------------- */

/* Return whether a byte continues a character of UTF-8. */
static bool is_continued(char byte) { return ((unsigned char)byte & 0xc0) == 0x80; }

void lw_script_text(const struct lw_script *script, const char *text)
{
    char safe[4 * LW_MAX_PATH * 2];
    fputc('"', script->file);
    for (const char *at = lw_escape(text, "", safe, sizeof safe); *at; at++) {
        const unsigned char byte = (unsigned char)*at;
        const bool is_plain = isalnum(byte) || byte & 0x80 || strchr(" _-+.,:;/()=%<>", byte);
        fprintf(script->file, is_plain ? "%c" : "\\%03o", byte);
    }
    fputc('"', script->file);
}

/* A character is assumed to be 7 pixels wide. */
void lw_script_line(const struct lw_script *script, const char *text, int width)
{
    char shortened[2048];
    const size_t length = strlen(text), most = (size_t)(width > 140 ? width / 7 : 20);
    size_t head = most * 2 / 3, tail = length - (most - most * 2 / 3);
    if (length <= most || most + 8 > sizeof shortened) {
        lw_script_text(script, text);
        return;
    }
    while (head > 0 && is_continued(text[head]))
        head--;
    while (is_continued(text[tail]))
        tail++;
    snprintf(shortened, sizeof shortened, "%.*s\xe2\x80\xa6%s", (int)head, text, text + tail);
    lw_script_text(script, shortened);
}

/* ---- head ---------------------------------------------------------------------------------------------------------- */

static const char foreground[] = "#303030", background[] = "#ffffff";

void lw_script_begin(struct lw_script *script)
{
    fprintf(script->file, "# Made by lapwing plot. To draw it: gnuplot THIS_FILE > picture.png\nset encoding utf8\n");
    if (script->picture == LW_PICTURE_PDF)
        fprintf(script->file, "set terminal pdfcairo noenhanced size %.2fin,%.2fin font 'Sans,10' fontscale 1 background '%s' "
                              "linewidth 0.7\n", script->width / 100.0, script->height / 100.0, background);
    else
        fprintf(script->file, "set terminal %s noenhanced size %d,%d font 'Sans,11' background '%s'\n",
                script->picture == LW_PICTURE_SVG ? "svg" : "pngcairo", script->width, script->height, background);
    fprintf(script->file, "set datafile missing 'NaN'\n"
                          "set border 3 linecolor rgb '%s'\n"
                          "set tics out nomirror scale 0.6 textcolor rgb '%s'\n"
                          "set style line 1 linecolor rgb '#2a6fb0' linewidth 1.2\n"
                          "unset key\n", foreground, foreground);
}

/* ---- data ---------------------------------------------------------------------------------------------------------- */

int lw_script_data(struct lw_script *script)
{
    fprintf(script->file, "$data%d << EOD\n", script->n_data);
    return script->n_data++;
}

void lw_script_data_end(const struct lw_script *script) { fputs("EOD\n", script->file); }

/* ---- panels -------------------------------------------------------------------------------------------------------- */

enum { TOP = 44, TOP_WITH_TITLES = 64, BOTTOM = 62 };

static int top_of(const struct lw_panels *panels) { return (panels->has_titles ? TOP_WITH_TITLES : TOP) + panels->over; }

int lw_panels_width(const struct lw_script *script, const struct lw_panels *panels)
{
    return script->width - panels->left - panels->right;
}

int lw_panels_height(const struct lw_script *script, const struct lw_panels *panels)
{
    const int all = script->height - top_of(panels) - BOTTOM - (panels->count - 1) * panels->gap;
    return all > panels->count ? all / panels->count : 1;
}

void lw_script_panels(struct lw_script *script, const struct lw_panels *panels)
{
    fprintf(script->file, "set multiplot\nset label 1 ");
    lw_script_line(script, script->title, script->width - 2 * panels->left);
    fprintf(script->file, " at screen %.6f,%.6f left font ',12' textcolor rgb '%s'\n", (double)panels->left / script->width,
            1 - 18.0 / script->height, foreground);
    if (script->note[0]) {
        fputs("set label 2 ", script->file);
        lw_script_line(script, script->note, script->width);
        fprintf(script->file, " at screen %.6f,%.6f right font ',8' textcolor rgb '#707070'\n", 1 - 12.0 / script->width,
                10.0 / script->height);
    }
}

/* Edges of a panel, in pixels from the lower left corner of the picture. */
struct place {
    double left, right, bottom, top;
};

/* A panel with a fixed aspect is as large as fits, at the left edge. */
static struct place place_of(const struct lw_script *script, const struct lw_panels *panels, int number)
{
    const int height = lw_panels_height(script, panels), width = lw_panels_width(script, panels);
    const double top = script->height - top_of(panels) - number * (height + panels->gap);
    double w = width, h = height;
    if (panels->aspect > 0) {
        w = height / panels->aspect < width ? height / panels->aspect : width;
        h = w * panels->aspect;
    }
    return (struct place){panels->left, panels->left + w, top - h, top};
}

static void write_label(const struct lw_script *script, const char *axis, const char *label, int width)
{
    fprintf(script->file, label ? "set %slabel " : "unset %slabel", axis);
    if (label) {
        lw_script_line(script, label, width);
        fprintf(script->file, " textcolor rgb '%s'", foreground);
    }
    fputc('\n', script->file);
}

static void write_range(const struct lw_script *script, const char *axis, double low, double high)
{
    if (low == high)
        fprintf(script->file, "set %srange [*:*]\n", axis);
    else
        fprintf(script->file, "set %srange [%.15g:%.15g]\n", axis, low, high);
}

void lw_script_panel(const struct lw_script *script, const struct lw_panels *panels, const struct lw_panel *panel)
{
    const int width = lw_panels_width(script, panels);
    if (panel->number > 0)
        fputs("unset label 1\nunset label 2\n", script->file);       /* else each panel would draw them again */
    const struct place place = place_of(script, panels, panel->number);
    fprintf(script->file, "set lmargin at screen %.6f\nset rmargin at screen %.6f\nset tmargin at screen %.6f\n"
                          "set bmargin at screen %.6f\n",
            place.left / script->width, place.right / script->width, place.top / script->height, place.bottom / script->height);
    fprintf(script->file, "%s logscale x\n%s logscale y\n", panel->log_x ? "set" : "unset", panel->log_y ? "set" : "unset");
    write_range(script, "x", panel->x_low, panel->x_high);
    write_range(script, "y", panel->y_low, panel->y_high);
    write_label(script, "x", panel->x_label, width);
    write_label(script, "y", panel->y_label, lw_panels_height(script, panels));
    const double span_s = panel->x_high - panel->x_low;
    if (panel->is_utc)
        fputs("set xtics time\n", script->file);
    if (!panel->x_label)
        fprintf(script->file, "set format x ''%s\n", panel->is_utc ? " timedate" : "");
    else if (panel->is_utc)
        fprintf(script->file, "set format x '%s' timedate\n",
                span_s < 1200 ? "%H:%M:%S" : span_s < 86400 ? "%H:%M" : span_s < 5 * 86400 ? "%m-%d %H:%M" : "%Y-%m-%d");
    else
        fputs("set format x '%g'\n", script->file);
    fputs("set format y '%g'\nunset label 3\n", script->file);
    if (panel->title) {
        fputs("set label 3 ", script->file);
        lw_script_line(script, panel->title, width);
        fprintf(script->file, " at graph 0, screen %.6f left offset 0,0.6 font ',10' textcolor rgb '#505050'\n",
                (place.top + panels->over) / script->height);
    }
}

void lw_script_end(const struct lw_script *script) { fputs("unset multiplot\n", script->file); }

/* ---- colours ------------------------------------------------------------------------------------------------------- */

/* Colours: every sixteenth of matplotlib's viridis, perceptually uniform; for values of both signs Brewer's RdBu. */
static const char viridis[] =
    "0 '#440154',1 '#481a6c',2 '#472f7d',3 '#414487',4 '#39568c',5 '#31688e',6 '#2a788e',7 '#23888e',8 '#1f988b',9 '#22a884',"
    "10 '#35b779',11 '#54c568',12 '#7ad151',13 '#a5db36',14 '#d2e21b',15 '#fde725'";
static const char red_blue[] =
    "0 '#053061',1 '#2166ac',2 '#4393c3',3 '#92c5de',4 '#d1e5f0',5 '#f7f7f7',6 '#fddbc7',7 '#f4a582',8 '#d6604d',9 '#b2182b',"
    "10 '#67001f'";

void lw_script_colours(const struct lw_script *script, const struct lw_panels *panels, int number, const struct lw_colours *colours,
                       const char *label, bool is_log)
{
    enum { DISTANCE = 16, WIDTH = 18 };
    const struct place place = place_of(script, panels, number);
    fprintf(script->file, "set palette maxcolors 256 defined (%s)\n", colours->is_signed ? red_blue : viridis);
    fprintf(script->file, "%s logscale cb\nset cbrange [%.9g:%.9g]\nset format cb '%%g'\n", is_log ? "set" : "unset", colours->low,
            colours->high);
    fprintf(script->file, "set colorbox user origin screen %.6f,%.6f size screen %.6f,%.6f\n",
            (place.right + panels->beside + DISTANCE) / script->width, place.bottom / script->height, (double)WIDTH / script->width,
            (place.top - place.bottom) / script->height);
    fputs("set label 4 ", script->file);
    lw_script_line(script, label, script->width / 2);
    fprintf(script->file, " at screen %.6f,%.6f right font ',10' textcolor rgb '#505050'\n",
            (place.right + panels->right - 12) / script->width, (place.top + panels->over + 12) / script->height);
}
