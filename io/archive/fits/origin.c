#include "io/archive/fits/origin.h"

#include "io/archive/fits/cards.h"
#include "io/archive/fits/header.h"
#include "io/archive/fits/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lines of HISTORY, one after the other, put together again where they were cut (cards.h). */
struct history {
    const struct lw_fits_unit *unit;
    int64_t card;                       /* the next one */
    char line[4096];                    /* cut where it is longer */
};

static bool next_line(struct history *history)
{
    enum { ROOM = LW_FITS_CARD - 8 };
    size_t used = 0;
    bool goes_on = false;
    for (; history->card < history->unit->n_cards; history->card++) {
        const char *const card = history->unit->cards + history->card * LW_FITS_CARD;
        if (memcmp(card, "HISTORY ", 8) != 0 && goes_on)
            break;
        if (memcmp(card, "HISTORY ", 8) != 0)
            continue;
        size_t length = ROOM;
        while (length > 0 && card[8 + length - 1] == ' ')
            length--;
        goes_on = length == ROOM && card[LW_FITS_CARD - 1] == '\\';
        const size_t room = sizeof history->line - 1 - used, taken = length - goes_on < room ? length - goes_on : room;
        memcpy(history->line + used, card + 8, taken);
        used += taken;
        if (!goes_on) {
            history->card++;
            break;
        }
    }
    history->line[used] = '\0';
    return used > 0;
}

static bool take(const char *line, const char *name, char *text, size_t size)
{
    const size_t length = strlen(name);
    if (strncmp(line, name, length) != 0 || strncmp(line + length, " = ", 3) != 0)
        return false;
    snprintf(text, size, "%.*s", (int)size - 1, line + length + 3);
    return true;
}

/* The lines of the configuration stand behind its name, indented. */
static void take_line(const char *line, bool *is_configuration, FILE *configuration, struct lw_listing_origin *origin)
{
    const bool is_indented = strncmp(line, LW_FITS_INDENT, strlen(LW_FITS_INDENT)) == 0;
    *is_configuration = strcmp(line, "configuration =") == 0 || (*is_configuration && is_indented);
    if (*is_configuration && is_indented)
        fprintf(configuration, "%s\n", line + strlen(LW_FITS_INDENT));
    else if (!take(line, "version", origin->version, sizeof origin->version) && !take(line, "job", origin->job, sizeof origin->job))
        take(line, "end_time_utc", origin->end, sizeof origin->end);
}

bool lw_fits_find_origin(const char *file, struct lw_listing_origin *origin)
{
    struct lw_fits_walk walk;
    bool is_complete = true, is_configuration = false, is_ours = false;
    size_t bytes = 0;
    FILE *const configuration = open_memstream(&origin->configuration, &bytes);     /* lw_free is free */
    if (!configuration)
        return false;
    if (lw_fits_begin(file, &walk, NULL) == LW_OK) {
        struct history history = {.unit = walk.unit};
        is_ours = lw_fits_logical(walk.unit, LW_FITS_COMPLETE, &is_complete);
        while (is_ours && next_line(&history))
            take_line(history.line, &is_configuration, configuration, origin);
    }
    lw_fits_end(&walk);
    origin->is_incomplete = !is_complete;
    return fclose(configuration) == 0 && is_ours && origin->job[0] && bytes > 0;
}

/* The lines of the configuration are left out. */
static void note_line(char *line, struct lw_said *said)
{
    char *const equals = strstr(line, " = "), *const value = equals ? equals + 3 : NULL, *end;
    if (!equals || line[0] == ' ')
        return;
    *equals = '\0';
    const double number = strtod(value, &end);
    const bool is_number = end > value && !*end;
    lw_said_add(
        &(struct lw_attribute){
            .name = line, .kind = is_number ? LW_ATTRIBUTE_REAL : LW_ATTRIBUTE_TEXT, .text = value, .real = number},
        said);
}

int lw_fits_read_notes(const struct lw_object *object, struct lw_notes *notes, struct lw_error *err)
{
    struct lw_fits_walk walk;
    bool is_complete;
    const int rc = lw_fits_begin(object->file, &walk, err);
    if (rc == LW_OK && lw_fits_logical(walk.unit, LW_FITS_COMPLETE, &is_complete)) {
        struct history history = {.unit = walk.unit};
        while (next_line(&history))
            note_line(history.line, &notes->file);
    }
    lw_fits_end(&walk);
    return rc;
}
