/* page.h - a page of documentation, written as plain text (80 columns) or as roff for man. The one who writes it says what
 * a piece is - heading, paragraph, item, code - and the page how it looks. */
#ifndef LW_PAGE_H
#define LW_PAGE_H

#include <stdbool.h>
#include <stdio.h>

enum lw_page_format { LW_PAGE_TEXT, LW_PAGE_MAN };

struct lw_page {
    FILE *file;                 /* borrowed */
    enum lw_page_format format;
    bool needs_gap;             /* text: a paragraph or code stands just above. Begins as false */
};

/** For man only, first of all: the page's name in capitals and what stands in its foot line. */
void lw_page_title(struct lw_page *page, const char *name, const char *foot);

void lw_page_heading(struct lw_page *page, const char *text);

/** A paragraph, filled and wrapped. NULL or empty: nothing. */
void lw_page_paragraph(struct lw_page *page, const char *text);

/** A term and what it means: an option, a command, an exit code. */
void lw_page_item(struct lw_page *page, const char *term, const char *text);

/** Lines shown as they are, divided by newlines. */
void lw_page_code(struct lw_page *page, const char *lines);

#endif
