#include "io/archive/fits/header.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/bytes/transfer.h"
#include "options/parse.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Most headers have some hundred cards; headers of tables with many columns, some thousand. */
#define MOST_HEADER_BYTES ((int64_t)LW_FITS_BLOCK * 1024)

/* ---- cards ------------------------------------------------------------------------------------------------------------- */

static void copy_trimmed(const char *from, size_t length, char *to, size_t size)
{
    while (length > 0 && from[length - 1] == ' ')
        length--;
    if (length >= size)
        length = size - 1;
    memcpy(to, from, length);
    to[length] = '\0';
}

/* Parse a number; its exponent may be FORTRAN's D instead of E. */
static void parse_number(const char *at, struct lw_fits_card *out)
{
    char text[LW_FITS_CARD + 1];
    copy_trimmed(at, strcspn(at, "/ "), text, sizeof text);
    for (char *c = text; *c; c++)
        *c = *c == 'D' || *c == 'd' ? 'E' : *c;
    const char *const digits = text + (text[0] == '+');
    if (lw_parse_real(digits, &out->real) != LW_PARSE_OK)
        return;
    out->kind = LW_FITS_REAL;
    if (strspn(digits, "-0123456789") == strlen(digits) && lw_parse_int(digits, &out->integer) == LW_PARSE_OK)
        out->kind = LW_FITS_INTEGER;
}

/* Parse a value. A quote in a text is doubled ('It''s'), and blanks at the end of a text do not count. */
static void parse_value(const char *at, struct lw_fits_card *out)
{
    size_t n = 0;
    at += strspn(at, " ");
    if (*at == '\'') {
        for (at++; *at && (*at != '\'' || at[1] == '\''); at++) {
            at += *at == '\'';
            out->text[n++] = *at;
        }
        while (n > 0 && out->text[n - 1] == ' ')
            n--;
        out->text[n] = '\0';
        out->kind = LW_FITS_TEXT;
    } else if ((*at == 'T' || *at == 'F') && (at[1] == ' ' || at[1] == '/' || !at[1])) {
        out->kind = LW_FITS_LOGICAL;
        out->logical = *at == 'T';
    } else {
        parse_number(at, out);
    }
}

void lw_fits_card(const struct lw_fits_unit *unit, int64_t index, struct lw_fits_card *out)
{
    static const char hierarch[] = "HIERARCH ";
    const size_t length = strlen(hierarch);
    char card[LW_FITS_CARD + 1];
    memcpy(card, unit->cards + index * LW_FITS_CARD, LW_FITS_CARD);
    card[LW_FITS_CARD] = '\0';
    *out = (struct lw_fits_card){.kind = LW_FITS_NOTHING};
    if (strlen(card) < LW_FITS_CARD)
        return;
    copy_trimmed(card, 8, out->keyword, sizeof out->keyword);
    const char *const equals = strchr(card, '=');       /* words after HIERARCH contain no "=" */
    if (memcmp(card, hierarch, length) == 0 && equals) {
        copy_trimmed(card + length, (size_t)(equals - card) - length, out->keyword, sizeof out->keyword);
        parse_value(equals + 1, out);
    } else if (memcmp(card + 8, "= ", 2) == 0 || memcmp(card, "CONTINUE  ", 10) == 0) {
        parse_value(card + 10, out);
    }
}

static bool find(const struct lw_fits_unit *unit, const char *keyword, struct lw_fits_card *out)
{
    char padded[8];
    memset(padded, ' ', sizeof padded);
    memcpy(padded, keyword, strnlen(keyword, sizeof padded));
    for (int64_t c = 0; c < unit->n_cards; c++)
        if (memcmp(unit->cards + c * LW_FITS_CARD, padded, sizeof padded) == 0) {
            lw_fits_card(unit, c, out);
            return true;
        }
    return false;
}

bool lw_fits_int(const struct lw_fits_unit *unit, const char *keyword, int64_t *value)
{
    struct lw_fits_card card;
    if (!find(unit, keyword, &card) || card.kind != LW_FITS_INTEGER)
        return false;
    *value = card.integer;
    return true;
}

bool lw_fits_real(const struct lw_fits_unit *unit, const char *keyword, double *value)
{
    struct lw_fits_card card;
    if (!find(unit, keyword, &card) || (card.kind != LW_FITS_INTEGER && card.kind != LW_FITS_REAL))
        return false;
    *value = card.real;
    return true;
}

bool lw_fits_logical(const struct lw_fits_unit *unit, const char *keyword, bool *value)
{
    struct lw_fits_card card;
    if (!find(unit, keyword, &card) || card.kind != LW_FITS_LOGICAL)
        return false;
    *value = card.logical;
    return true;
}

bool lw_fits_text(const struct lw_fits_unit *unit, const char *keyword, char *text, size_t size)
{
    struct lw_fits_card card;
    if (!find(unit, keyword, &card) || card.kind != LW_FITS_TEXT)
        return false;
    copy_trimmed(card.text, strlen(card.text), text, size);
    return true;
}

struct lw_fits_keyword lw_fits_numbered(const char *root, int number)
{
    struct lw_fits_keyword keyword;
    snprintf(keyword.text, sizeof keyword.text, "%s%d", root, number);
    return keyword;
}

bool lw_fits_next_column(const struct lw_fits_unit *unit, struct lw_fits_column *column)
{
    enum { MOST_COLUMNS = 999 };
    static const char types[] = "LXBIJKAEDCMPQ";
    static const int64_t bytes[] = {1, 1, 1, 2, 4, 8, 1, 4, 8, 8, 16, 8, 16};
    int64_t n = 0, size;
    char form[72] = "", *at = form;
    lw_fits_int(unit, "TFIELDS", &n);
    if (column->number >= lw_min64(n, MOST_COLUMNS))
        return false;
    *column = (struct lw_fits_column){.number = column->number + 1, .place = column->place + column->bytes, .count = 1};
    lw_fits_text(unit, lw_fits_numbered("TTYPE", column->number).text, column->name, sizeof column->name);
    lw_fits_text(unit, lw_fits_numbered("TFORM", column->number).text, form, sizeof form);
    if (isdigit((unsigned char)*form))
        column->count = strtoll(form, &at, 10);
    const char *const known = *at ? strchr(types, *at) : NULL, element = *at ? at[1] : '\0';
    column->type = *at;
    column->element_bytes = element == 'I' ? 2 : element == 'J' || element == 'E' ? 4 : element == 'K' || element == 'D' ? 8 : 1;
    if (!known || __builtin_mul_overflow(column->count, bytes[known - types], &size))
        size = -1;
    column->bytes = *at == 'X' && size >= 0 ? lw_divide_up(column->count, 8) : size;
    if (column->bytes > unit->axes[0] - column->place)
        column->bytes = -1;
    return column->bytes >= 0;
}

/* ---- a unit ------------------------------------------------------------------------------------------------------------ */

static int fail_unit(const struct lw_fits_walk *walk, const struct lw_fits_unit *unit, const char *what, struct lw_error *err)
{
    return lw_fail(err, LW_EDATA, "'%s': header %d of the FITS file %s", walk->file, unit->number, what);
}

/* Read the cards up to END: first count them, then allocate memory and read them into it. */
static int read_cards(const struct lw_fits_walk *walk, struct lw_fits_unit *unit, struct lw_error *err)
{
    const int64_t end = lw_min64(walk->file_bytes, unit->header_offset + MOST_HEADER_BYTES);
    enum { PER_BLOCK = LW_FITS_BLOCK / LW_FITS_CARD };
    char block[LW_FITS_BLOCK];
    for (int64_t at = unit->header_offset; at + LW_FITS_BLOCK <= end; at += LW_FITS_BLOCK) {
        const int rc = lw_bytes_read_file(walk->fd, walk->file, block, at, LW_FITS_BLOCK, err);
        if (rc)
            return rc;
        int card = 0;
        while (card < PER_BLOCK && memcmp(block + card * LW_FITS_CARD, "END     ", 8) != 0)
            card++;
        if (card == PER_BLOCK)
            continue;
        unit->n_cards = (at - unit->header_offset) / LW_FITS_CARD + card;
        unit->data_offset = at + LW_FITS_BLOCK;
        const int64_t bytes = unit->n_cards * LW_FITS_CARD;
        unit->cards = lw_alloc((size_t)bytes, "a header", err);
        return unit->cards ? lw_bytes_read_file(walk->fd, walk->file, unit->cards, unit->header_offset, bytes, err) : LW_ESYSTEM;
    }
    return fail_unit(walk, unit, end == walk->file_bytes ? "is cut short: it has no END" : "has no END in its first 36864 cards",
                     err);
}

static int find_shape(const struct lw_fits_walk *walk, struct lw_fits_unit *unit, struct lw_error *err)
{
    int64_t bitpix, n_axes;
    if (!lw_fits_int(unit, "BITPIX", &bitpix) ||
        (bitpix != 8 && bitpix != 16 && bitpix != 32 && bitpix != 64 && bitpix != -32 && bitpix != -64))
        return fail_unit(walk, unit, "has no BITPIX that is 8, 16, 32, 64, -32 or -64", err);
    if (!lw_fits_int(unit, "NAXIS", &n_axes) || n_axes < 0 || n_axes > LW_FITS_MOST_AXES)
        return fail_unit(walk, unit, "has no NAXIS from 0 to 999", err);
    unit->bitpix = (int)bitpix;
    unit->n_axes = (int)n_axes;
    for (int a = 0; a < unit->n_axes; a++)
        if (!lw_fits_int(unit, lw_fits_numbered("NAXIS", a + 1).text, &unit->axes[a]) || unit->axes[a] < 0)
            return fail_unit(walk, unit, "lacks the length of an axis (NAXIS1, NAXIS2, ...), or it is negative", err);
    return LW_OK;
}

/* Section 4.4.1: |BITPIX| / 8 x GCOUNT x (PCOUNT + NAXIS1 x NAXIS2 x ...) bytes of data. Random groups: NAXIS1 is 0, no factor. */
static int find_bytes(const struct lw_fits_walk *walk, struct lw_fits_unit *unit, struct lw_error *err)
{
    int64_t group = 0, groups = 1, elements = unit->n_axes > 0 ? 1 : 0;
    bool has_groups = false;
    lw_fits_logical(unit, "GROUPS", &has_groups);
    const bool is_random = unit->number == 0 && has_groups && unit->n_axes > 0 && unit->axes[0] == 0;
    bool fits = true;
    for (int a = is_random ? 1 : 0; a < unit->n_axes; a++)
        fits = fits && !__builtin_mul_overflow(elements, unit->axes[a], &elements);
    if (unit->number > 0 || is_random) {
        lw_fits_int(unit, "PCOUNT", &group);
        lw_fits_int(unit, "GCOUNT", &groups);
    }
    fits = fits && group >= 0 && groups >= 0 && !__builtin_add_overflow(elements, group, &elements) &&
           !__builtin_mul_overflow(elements, groups, &elements) &&
           !__builtin_mul_overflow(elements, (int64_t)abs(unit->bitpix) / 8, &unit->data_bytes);
    return fits ? LW_OK : fail_unit(walk, unit, "claims more bytes than 64 bits can count: it is damaged", err);
}

/* ---- the walk ---------------------------------------------------------------------------------------------------------- */

static void release(struct lw_fits_unit *unit)
{
    if (unit)
        lw_free(unit->cards);
    lw_free(unit);
}

static int read_unit(struct lw_fits_walk *walk, int number, int64_t offset, struct lw_error *err)
{
    struct lw_fits_unit *const unit = lw_alloc(sizeof *unit, "a header", err);
    if (!unit)
        return LW_ESYSTEM;
    *unit = (struct lw_fits_unit){.number = number, .header_offset = offset};
    walk->unit = unit;
    int rc;
    (void)((rc = read_cards(walk, unit, err)) || (rc = find_shape(walk, unit, err)) || (rc = find_bytes(walk, unit, err)));
    return rc;
}

static bool begins_with(const struct lw_fits_walk *walk, int64_t offset, const char *text)
{
    char start[16];
    const size_t length = strlen(text);
    return pread(walk->fd, start, length, offset) == (ssize_t)length && memcmp(start, text, length) == 0;
}

int lw_fits_begin(const char *file, struct lw_fits_walk *walk, struct lw_error *err)
{
    *walk = (struct lw_fits_walk){.file = file};
    const int rc = lw_fits_open(file, &walk->fd, &walk->file_bytes, &walk->is_unpacked, err);
    if (rc)
        return rc;
    if (!begins_with(walk, 0, "SIMPLE  ="))
        return lw_fail(err, LW_EDATA, "'%s' is not a FITS file: it does not begin with SIMPLE", file);
    return read_unit(walk, 0, 0, err);
}

/* Bytes after the last unit that do not begin with XTENSION are ignored. */
int lw_fits_next(struct lw_fits_walk *walk, struct lw_error *err)
{
    struct lw_fits_unit *const last = walk->unit;
    const int number = last->number + 1;
    int64_t end, padded;
    const bool fits = !__builtin_add_overflow(last->data_offset, last->data_bytes, &end) &&
                      !__builtin_add_overflow(end, LW_FITS_BLOCK - 1, &padded);
    release(last);
    walk->unit = NULL;
    if (!fits)
        return LW_OK;
    const int64_t next = padded / LW_FITS_BLOCK * LW_FITS_BLOCK;
    return next < walk->file_bytes && begins_with(walk, next, "XTENSION=") ? read_unit(walk, number, next, err) : LW_OK;
}

void lw_fits_end(struct lw_fits_walk *walk)
{
    release(walk->unit);
    walk->unit = NULL;
    if (walk->fd >= 0)
        close(walk->fd);
    walk->fd = -1;
}
