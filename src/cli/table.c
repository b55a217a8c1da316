/* table.c - prints rows of a table, such as /peaks, for `lapwing info FILE:/table`. */
#include "cli/info.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "io/notes/notes.h"

#include <inttypes.h>
#include <stdio.h>

enum { MOST_SHOWN = 20, CELL_SIZE = 40 };

struct table {
    struct lw_notes notes;
    const char *columns[LW_MOST_COLUMNS];       /* names of the columns that hold numbers */
    int n_columns;
    int strength;                               /* index in `columns` of the column that ranks rows; -1: none */
    double *rows;                               /* owned; [MOST_SHOWN + 1 x n_columns], rows to print */
    int n_rows;
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

/* Return the decimals of a column of places: GPS times need microseconds, degrees a part of a milliarcsecond. -1: no places. */
static int decimals(const char *column)
{
    static const struct {
        const char *column;
        int n;
    } places[] = {{"time", 6}, {"frequency", 6}, {"x", 3}, {"y", 3}, {"ra", 8}, {"dec", 8}};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        if (strcmp(column, places[p].column) == 0)
            return places[p].n;
    return -1;
}

/* Write a cell: a whole number in full, a place with its decimals, else seven digits. */
static const char *cell(const struct table *t, int row, int c, char text[CELL_SIZE])
{
    const double value = t->rows[row * t->n_columns + c];
    const int n = decimals(t->columns[c]), whole = fabs(value) >= 1 ? (int)floor(log10(fabs(value))) + 1 : 0;
    snprintf(text, CELL_SIZE, "%.*g", value == floor(value) ? 16 : n >= 0 ? (int)lw_min64(16, whole + n) : 7, value);
    return text;
}

/* Return whether some row has a number in a column. Columns that are NaN, such as places on the sky not known, are not shown. */
static bool is_known(const struct table *t, int c)
{
    bool is = t->n_rows == 0;
    for (int i = 0; i < t->n_rows && !is; i++)
        is = !isnan(t->rows[i * t->n_columns + c]);
    return is;
}

static void print_rows(const struct table *t)
{
    char text[CELL_SIZE], name[4 * LW_NOTE_NAME];
    int widths[LW_MOST_COLUMNS];            /* 0: the column is not shown */
    for (int c = 0, shown = 0; c < t->n_columns; c++) {
        widths[c] = is_known(t, c) ? (int)strlen(lw_escape(t->columns[c], "", name, sizeof name)) : 0;
        for (int i = 0; i < t->n_rows && widths[c] > 0; i++)
            widths[c] = (int)lw_max64(widths[c], (int64_t)strlen(cell(t, i, c, text)));
        if (widths[c] > 0)
            printf("%s%*s", shown++ ? "  " : "", widths[c], name);
    }
    for (int i = 0; i < t->n_rows; i++)
        for (int c = 0, shown = 0; c < t->n_columns; c++)
            if (widths[c] > 0)
                printf("%s%*s", shown++ ? "  " : "\n", widths[c], cell(t, i, c, text));
    printf("\n");
}

static void print_title(const struct table *t, const char *name)
{
    char shown[4 * sizeof(struct lw_name)];
    const char *const unit = lw_said_text(&t->notes.dataset, "start_unit");
    const char *const frame = lw_said_text(&t->notes.dataset, "RADESYS");
    printf("%s: %" PRId64 " row%s", lw_escape(name, "", shown, sizeof shown), t->notes.n_rows, t->notes.n_rows == 1 ? "" : "s");
    if (t->n_rows < t->notes.n_rows)
        printf(", the %s %d", t->strength >= 0 ? "strongest" : "first", t->n_rows);
    else if (t->strength >= 0 && t->n_rows > 1)
        printf(", the strongest first");
    printf("%s%s", unit[0] ? "; time: " : "", lw_escape(unit, "", shown, sizeof shown));
    printf("%s%s\n", frame[0] ? "; sky: " : "", lw_escape(frame, "", shown, sizeof shown));
}

/* Choose the columns of numbers, and find among them the strength. */
static void choose_columns(struct table *t)
{
    t->strength = -1;
    for (int c = 0; c < t->notes.n_columns; c++) {
        const struct lw_note_column *const column = &t->notes.columns[c];
        if (!column->is_number)
            continue;
        if (strcmp(column->name, "snr") == 0 || strcmp(column->name, "magnitude") == 0)
            t->strength = t->n_columns;
        t->columns[t->n_columns++] = column->name;
    }
}

static int print(struct table *t, const char *name, struct lw_error *err)
{
    t->rows = lw_alloc_array((int64_t)(MOST_SHOWN + 1) * t->n_columns, sizeof *t->rows, "rows", err);
    const int64_t count = t->strength >= 0 ? t->notes.n_rows : lw_min64(MOST_SHOWN, t->notes.n_rows);
    const struct lw_rows rows = {0, count, t->columns, t->n_columns};
    const int rc = t->rows ? lw_notes_each_row(name, &rows, take_row, t, err) : LW_ESYSTEM;
    if (rc == LW_OK) {
        print_title(t, name);
        print_rows(t);
    }
    lw_free(t->rows);
    return rc;
}

int lw_table_print(const char *name, bool *is_table, struct lw_error *err)
{
    LW_FREED struct table *const t = lw_alloc(sizeof *t, "a table", err);
    if (!t)
        return LW_ESYSTEM;
    struct lw_error ignored;
    if (lw_notes_read(name, NULL, &t->notes, &ignored) == LW_OK)
        choose_columns(t);
    *is_table = t->n_columns > 0;
    if (lw_candidates_are(&t->notes))
        return lw_candidates_print(name, &t->notes, err);
    return *is_table ? print(t, name, err) : LW_OK;
}
