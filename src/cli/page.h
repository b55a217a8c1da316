/* page.h - a page of documentation, written as plain text (80 columns) or as roff for man. The one who writes it says what
 * a piece is - heading, paragraph, item, code - and the page how it looks. */
#pragma once

#include <stdio.h>

enum lw_page_format { LW_PAGE_TEXT, LW_PAGE_MAN };
enum lw_page_piece { LW_PAGE_HEADING, LW_PAGE_ITEM, LW_PAGE_BLOCK };

struct lw_page {
    FILE *file;                 /* borrowed */
    enum lw_page_format format;
    enum lw_page_piece last;    /* what stands just above; begins as LW_PAGE_HEADING */
};

/** For man only, first of all: the page's name in capitals and what stands in its foot line. */
void lw_page_title(struct lw_page *page, const char *name, const char *foot);

void lw_page_heading(struct lw_page *page, const char *text);
void lw_page_subheading(struct lw_page *page, const char *text);

/** A paragraph, filled and wrapped. NULL or empty: nothing. */
void lw_page_paragraph(struct lw_page *page, const char *text);

/** A term and what it means: an option, a command, an exit code. */
void lw_page_item(struct lw_page *page, const char *term, const char *text);

/** Lines shown as they are, divided by newlines. */
void lw_page_code(struct lw_page *page, const char *lines);
