/* cards.h - headers of FITS files as they are written: cards of 80 characters, one behind the other, in memory. */
#pragma once

#include "base/error.h"
#include "io/dataset.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct lw_fits_cards {
    FILE *stream;               /* into memory */
    char *text;                 /* owned, from lw_fits_cards_finish on */
    size_t bytes;               /* a multiple of 2880 */
    int64_t n;                  /* so far */
};

/** LW_ESYSTEM: no memory. To be released whatever the outcome. */
int lw_fits_cards_begin(struct lw_fits_cards *cards, struct lw_error *err);
int lw_fits_cards_finish(struct lw_fits_cards *cards, struct lw_error *err);    /* END, filled up with blanks */
void lw_fits_cards_release(struct lw_fits_cards *cards);

/* Keywords have at most eight characters. Texts are cut into CONTINUE cards where they are long; characters that FITS does not
 * know become '?'. */
void lw_fits_put_logical(struct lw_fits_cards *cards, const char *keyword, bool value, const char *comment);
void lw_fits_put_int(struct lw_fits_cards *cards, const char *keyword, int64_t value, const char *comment);
void lw_fits_put_real(struct lw_fits_cards *cards, const char *keyword, double value, const char *comment);
void lw_fits_put_text(struct lw_fits_cards *cards, const char *keyword, const char *text);

/** An attribute: as a card of its own where its name is a keyword, as HIERARCH card where it is made of capitals and fits, else in
 * HISTORY as "name = value"; a text of several lines follows its name, each line indented. A line that is cut ends with a backslash
 * in the last column and goes on in the next card. */
#define LW_FITS_INDENT "  "
void lw_fits_put_attribute(struct lw_fits_cards *cards, const struct lw_attribute *attribute);

/** One card "HISTORY name = value" without a line's end, as lw_fits_put_attribute makes it; of a number or a short text. */
void lw_fits_history_card(const struct lw_attribute *attribute, char card[81]);
