/* table.c - prints rows of a table, such as /peaks, for `lapwing info FILE:/table`. */
#include "cli/facts.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "io/notes/notes.h"
#include "plot/plot.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SHOWN = 20, CELL_SIZE = 40 };

struct table {
    struct lw_notes notes;
    const char *columns[LW_MOST_COLUMNS];       /* names of the columns that hold numbers */
    int n_columns;
    int strength;                               /* index in `columns` of the column that ranks rows; -1: none */
    double *rows;                               /* owned; [MOST_SHOWN + 1 x n_columns], rows to print */
    int n_rows;
    int place[2];                               /* indices in `columns` of a source's column and row; -1: none */
    struct lw_sky_point places[MOST_SHOWN];     /* places of the rows on the sky */
    struct lw_sky sky;                          /* names of the coordinates in `text`; "": unknown */
};

static void take_row(void *context, const double *row)
{
    struct table *const t = context;
    const size_t size = (size_t)t->n_columns * sizeof *row;
    int place = t->n_rows;
    for (; t->strength >= 0 && place > 0; place--) {
        const double other = t->rows[(place - 1) * t->n_columns + t->strength];
        if (!(row[t->strength] > other || isnan(other)))
            break;
    }
    if (place == MOST_SHOWN)
        return;
    memmove(t->rows + (place + 1) * t->n_columns, t->rows + place * t->n_columns, (size_t)(t->n_rows - place) * size);
    memcpy(t->rows + place * t->n_columns, row, size);
    t->n_rows += t->n_rows < MOST_SHOWN;
}

/* Write a cell: a whole number in full, a time or frequency with six decimals (GPS times need microseconds), else seven digits. */
static const char *cell(const struct table *t, int row, int c, char text[CELL_SIZE])
{
    const double value = t->rows[row * t->n_columns + c];
    const bool is_place = strcmp(t->columns[c], "time") == 0 || strcmp(t->columns[c], "frequency") == 0;
    const double whole = fabs(value) >= 1 ? floor(log10(fabs(value))) + 1 : 0;
    snprintf(text, CELL_SIZE, "%.*g", value == floor(value) ? 16 : is_place ? (int)fmin(16, whole + 6) : 7, value);
    return text;
}

static void print_rows(const struct table *t)
{
    char text[CELL_SIZE], name[4 * LW_NOTE_NAME];
    int widths[LW_MOST_COLUMNS];
    for (int c = 0; c < t->n_columns; c++) {
        widths[c] = (int)strlen(lw_escape(t->columns[c], "", name, sizeof name));
        for (int i = 0; i < t->n_rows; i++)
            widths[c] = (int)lw_max64(widths[c], (int64_t)strlen(cell(t, i, c, text)));
        printf("%s%*s", c ? "  " : "", widths[c], name);
    }
    printf(!t->sky.text[0] ? "\n" : t->sky.is_in_hours ? "            ra           dec\n" : "     longitude      latitude\n");
    for (int i = 0; i < t->n_rows; i++) {
        for (int c = 0; c < t->n_columns; c++)
            printf("%s%*s", c ? "  " : "", widths[c], cell(t, i, c, text));
        printf(t->sky.text[0] ? "  %12.8f  %12.8f\n" : "\n", t->places[i].at[0], t->places[i].at[1]);
    }
}

static void print_title(const struct table *t, const char *name)
{
    char shown[4 * sizeof(struct lw_name)];
    const char *const unit = lw_said_text(&t->notes.dataset, "start_unit");
    printf("%s: %" PRId64 " row%s", lw_escape(name, "", shown, sizeof shown), t->notes.n_rows, t->notes.n_rows == 1 ? "" : "s");
    if (t->n_rows < t->notes.n_rows)
        printf(", the %s %d", t->strength >= 0 ? "strongest" : "first", t->n_rows);
    else if (t->strength >= 0 && t->n_rows > 1)
        printf(", the strongest first");
    printf("%s%s", unit[0] ? "; time: " : "", lw_escape(unit, "", shown, sizeof shown));
    printf(t->sky.text[0] ? "; degrees of %s\n" : "\n", lw_escape(t->sky.text, "", shown, sizeof shown));
}

/* Choose the columns of numbers, and find among them the strength and a source's place. */
static void choose_columns(struct table *t)
{
    t->strength = t->place[0] = t->place[1] = -1;
    for (int c = 0; c < t->notes.n_columns; c++) {
        const struct lw_note_column *const column = &t->notes.columns[c];
        if (!column->is_number)
            continue;
        if (strcmp(column->name, "snr") == 0 || strcmp(column->name, "magnitude") == 0)
            t->strength = t->n_columns;
        if (strcmp(column->name, "column") == 0 || strcmp(column->name, "row") == 0)
            t->place[column->name[0] == 'r'] = t->n_columns;
        t->columns[t->n_columns++] = column->name;
    }
}

static int print(struct table *t, const char *name, struct lw_error *err)
{
    t->rows = lw_alloc_array((int64_t)(MOST_SHOWN + 1) * t->n_columns, sizeof *t->rows, "rows", err);
    const int64_t count = t->strength >= 0 ? t->notes.n_rows : lw_min64(MOST_SHOWN, t->notes.n_rows);
    const struct lw_rows rows = {0, count, t->columns, t->n_columns};
    const int rc = t->rows ? lw_notes_each_row(name, &rows, take_row, t, err) : LW_ESYSTEM;
    if (rc == LW_OK && t->place[0] >= 0 && t->place[1] >= 0) {
        for (int i = 0; i < 2 * t->n_rows; i++)
            t->places[i / 2].at[i % 2] = t->rows[i / 2 * t->n_columns + t->place[i % 2]];
        lw_plot_find_sources(name, t->n_rows, t->places, &t->sky);
    }
    if (rc == LW_OK) {
        print_title(t, name);
        print_rows(t);
    }
    lw_free(t->rows);
    return rc;
}

int lw_table_print(const char *name, bool *is_table, struct lw_error *err)
{
    struct table *const t = lw_alloc(sizeof *t, "a table", err);
    if (!t)
        return LW_ESYSTEM;
    struct lw_error ignored;
    if (lw_notes_read(name, NULL, &t->notes, &ignored) == LW_OK)
        choose_columns(t);
    *is_table = t->n_columns > 0;
    const int rc = *is_table ? print(t, name, err) : LW_OK;
    lw_free(t);
    return rc;
}
