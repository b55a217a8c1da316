/* cards.h - make headers of FITS files in memory: cards of 80 characters, one after the other. */
#pragma once

#include "io/dataset.h"

#include <stdio.h>

struct lw_fits_cards {
    FILE *stream;               /* writes into `text` */
    char *text;                 /* owned; valid after lw_fits_cards_finish */
    size_t bytes;               /* size of the text; after lw_fits_cards_finish a multiple of 2880 */
    int64_t n;                  /* number of cards so far */
};

/** Start a header. The caller releases `cards`, also after an error. LW_ESYSTEM: no memory. */
int lw_fits_cards_begin(struct lw_fits_cards *cards, struct lw_error *err);
int lw_fits_cards_finish(struct lw_fits_cards *cards, struct lw_error *err);    /* adds END and blank cards */
void lw_fits_cards_release(struct lw_fits_cards *cards);

/* Add a card. Keywords have at most eight characters. A long text goes on in CONTINUE cards. Unprintable characters become '?'. */
void lw_fits_put_logical(struct lw_fits_cards *cards, const char *keyword, bool value, const char *comment);
void lw_fits_put_int(struct lw_fits_cards *cards, const char *keyword, int64_t value, const char *comment);
void lw_fits_put_real(struct lw_fits_cards *cards, const char *keyword, double value, const char *comment);
void lw_fits_put_text(struct lw_fits_cards *cards, const char *keyword, const char *text);

/** Add an attribute: as its own card if its name is a keyword; as a HIERARCH card if the name has only capitals and the card fits;
 * else in HISTORY as "name = value". A text of several lines follows its name in HISTORY, each line indented. A line that is too
 * long for a card ends with a backslash in the last column and goes on in the next card. */
#define LW_FITS_INDENT "  "
void lw_fits_put_attribute(struct lw_fits_cards *cards, const struct lw_attribute *attribute);

/** Make the card "HISTORY name = value" that lw_fits_put_attribute adds for a number or a short text; longer texts are cut. */
void lw_fits_history_card(const struct lw_attribute *attribute, char card[81]);
