#include "io/archive/fits/cards.h"

#include "io/archive/fits/header.h"

#include <inttypes.h>
#include <stdlib.h>

enum { TEXT_ROOM = 68, HISTORY_ROOM = 72 };

/* ---- memory ------------------------------------------------------------------------------------------------------------ */

int lw_fits_cards_begin(struct lw_fits_cards *cards, struct lw_error *err)
{
    *cards = (struct lw_fits_cards){0};
    cards->stream = open_memstream(&cards->text, &cards->bytes);
    return cards->stream ? LW_OK : lw_fail(err, LW_ESYSTEM, "no memory for a FITS header");
}

/* Add a card of 80 characters: `card` filled up with blanks, or cut. */
static void put(struct lw_fits_cards *cards, const char *card)
{
    char plain[LW_FITS_CARD + 1];
    snprintf(plain, sizeof plain, "%-80.80s", card);
    for (char *c = plain; *c; c++)
        *c = *c >= ' ' && *c <= '~' ? *c : '?';
    fputs(plain, cards->stream);
    cards->n++;
}

int lw_fits_cards_finish(struct lw_fits_cards *cards, struct lw_error *err)
{
    put(cards, "END");
    while (cards->n % (LW_FITS_BLOCK / LW_FITS_CARD) != 0)
        put(cards, "");
    FILE *const stream = cards->stream;
    cards->stream = NULL;
    return fclose(stream) == 0 && cards->bytes == (size_t)cards->n * LW_FITS_CARD
               ? LW_OK
               : lw_fail(err, LW_ESYSTEM, "no memory for a FITS header");
}

void lw_fits_cards_release(struct lw_fits_cards *cards)
{
    if (cards->stream)
        fclose(cards->stream);
    free(cards->text);
    *cards = (struct lw_fits_cards){0};
}

/* ---- values ------------------------------------------------------------------------------------------------------------ */

/* Write the fewest digits, 15 to 17, that read back as `value`. A real number in FITS must have a point or an exponent. */
static void real_text(double value, char text[40])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, 40, "%.*G", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    if (!strpbrk(text, ".E"))
        strcat(text, ".0");
}

static void put_value(struct lw_fits_cards *cards, const char *keyword, const char *value, const char *comment)
{
    char card[160];
    snprintf(card, sizeof card, "%-8.8s= %20s%s%.60s", keyword, value, comment ? " / " : "", comment ? comment : "");
    put(cards, card);
}

void lw_fits_put_logical(struct lw_fits_cards *cards, const char *keyword, bool value, const char *comment)
{
    put_value(cards, keyword, value ? "T" : "F", comment);
}

void lw_fits_put_int(struct lw_fits_cards *cards, const char *keyword, int64_t value, const char *comment)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    put_value(cards, keyword, text, comment);
}

/* FITS lacks infinity and not a number: for both the card has no value. */
void lw_fits_put_real(struct lw_fits_cards *cards, const char *keyword, double value, const char *comment)
{
    char text[40] = "";
    if (isfinite(value))
        real_text(value, text);
    put_value(cards, keyword, text, comment);
}

/* Copy as much of a text as fits into `room`, with quotes doubled. @return  number of the text's characters that fit */
static size_t quote(const char *text, size_t room, char *to)
{
    size_t used = 0, n = 0;
    for (; text[n] && used + (text[n] == '\'' ? 2 : 1) <= room; n++) {
        if (text[n] == '\'')
            to[used++] = '\'';
        to[used++] = text[n];
    }
    to[used] = '\0';
    return n;
}

void lw_fits_put_text(struct lw_fits_cards *cards, const char *keyword, const char *text)
{
    char name[16], quoted[TEXT_ROOM + 1], card[LW_FITS_CARD + 8];
    snprintf(name, sizeof name, "%-8.8s= ", keyword);
    size_t n = quote(text, TEXT_ROOM, quoted);
    if (!text[n]) {
        snprintf(card, sizeof card, "%s'%-8s'", name, quoted);
        put(cards, card);
        return;
    }
    for (const char *prefix = name; *text; prefix = "CONTINUE  ", text += n) {
        n = quote(text, TEXT_ROOM - 1, quoted);
        snprintf(card, sizeof card, "%s'%s%s'", prefix, quoted, text[n] ? "&" : "");
        put(cards, card);
    }
}

/* ---- attributes -------------------------------------------------------------------------------------------------------- */

static bool is_made_of(const char *name, const char *characters)
{
    return name[0] && strspn(name, characters) == strlen(name);
}

/* Write the value of an attribute that is one number. */
static void number_text(const struct lw_attribute *attribute, char text[40])
{
    if (attribute->kind == LW_ATTRIBUTE_INT)
        snprintf(text, 40, "%" PRId64, attribute->integer);
    else
        real_text(attribute->real, text);
}

void lw_fits_history_card(const struct lw_attribute *attribute, char card[81])
{
    const bool is_text = attribute->kind == LW_ATTRIBUTE_TEXT;
    char number[40], line[160];
    if (!is_text)
        number_text(attribute, number);
    snprintf(line, sizeof line, "HISTORY %.40s = %.100s", attribute->name, is_text ? attribute->text : number);
    snprintf(card, 81, "%-80.80s", line);
}

static void put_history_line(struct lw_fits_cards *cards, const char *indent, const char *line, size_t length)
{
    char card[LW_FITS_CARD + 1];
    size_t room = HISTORY_ROOM - strlen(indent);
    while (length > room) {
        snprintf(card, sizeof card, "HISTORY %s%.*s\\", indent, (int)room - 1, line);
        put(cards, card);
        line += room - 1;
        length -= room - 1;
        indent = "";
        room = HISTORY_ROOM;
    }
    snprintf(card, sizeof card, "HISTORY %s%.*s", indent, (int)length, line);
    put(cards, card);
}

static void put_history(struct lw_fits_cards *cards, const struct lw_attribute *attribute)
{
    const bool has_lines = strchr(attribute->text, '\n');
    char *text = NULL;
    if (asprintf(&text, "%s = %s", attribute->name, has_lines ? "" : attribute->text) < 0)
        return;
    put_history_line(cards, "", text, strlen(text));
    free(text);
    for (const char *line = attribute->text; has_lines && *line;) {
        const size_t length = strcspn(line, "\n");
        put_history_line(cards, LW_FITS_INDENT, line, length);
        line += length + (line[length] == '\n');
    }
}

/* Add a HIERARCH card. Returns false if the name or the value does not fit one card. */
static bool put_hierarch(struct lw_fits_cards *cards, const struct lw_attribute *attribute)
{
    char value[TEXT_ROOM + 3], quoted[TEXT_ROOM + 1], card[240];
    if (!is_made_of(attribute->name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_- .") || attribute->kind == LW_ATTRIBUTE_REALS)
        return false;
    if (attribute->kind != LW_ATTRIBUTE_TEXT)
        number_text(attribute, value);
    else if (attribute->text[quote(attribute->text, TEXT_ROOM, quoted)])
        return false;
    else
        snprintf(value, sizeof value, "'%s'", quoted);
    if (snprintf(card, sizeof card, "HIERARCH %.100s = %s", attribute->name, value) > LW_FITS_CARD)
        return false;
    put(cards, card);
    return true;
}

static void put_numbers(struct lw_fits_cards *cards, const struct lw_attribute *attribute)
{
    char *text = NULL, number[40];
    size_t bytes;
    FILE *const stream = open_memstream(&text, &bytes);
    if (!stream)
        return;
    for (int i = 0; i < attribute->n_reals; i++) {
        real_text(attribute->reals[i], number);
        fprintf(stream, "%s%s", i ? ", " : "", number);
    }
    if (fclose(stream) == 0)
        put_history(cards, &(struct lw_attribute){.name = attribute->name, .kind = LW_ATTRIBUTE_TEXT, .text = text});
    free(text);
}

void lw_fits_put_attribute(struct lw_fits_cards *cards, const struct lw_attribute *attribute)
{
    char card[81];
    const bool has_keyword = strlen(attribute->name) <= 8 && is_made_of(attribute->name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    if (attribute->kind == LW_ATTRIBUTE_REALS)
        put_numbers(cards, attribute);
    else if (has_keyword && attribute->kind == LW_ATTRIBUTE_TEXT)
        lw_fits_put_text(cards, attribute->name, attribute->text);
    else if (has_keyword && attribute->kind == LW_ATTRIBUTE_INT)
        lw_fits_put_int(cards, attribute->name, attribute->integer, NULL);
    else if (has_keyword)
        lw_fits_put_real(cards, attribute->name, attribute->real, NULL);
    else if (put_hierarch(cards, attribute))
        return;
    else if (attribute->kind == LW_ATTRIBUTE_TEXT)
        put_history(cards, attribute);
    else {
        lw_fits_history_card(attribute, card);
        put(cards, card);
    }
}
