#include "cli/page.h"

#include <ctype.h>
#include <string.h>

enum { WIDTH = 80, INDENT = 2, ITEM_INDENT = 26 };

/* ---- roff ---- */

/* A dot or quote that begins a line would be a request, a plain minus would become a hyphen. */
static void roff_text(FILE *file, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", file);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", file);
        else if (*text == '-')
            fputs("\\-", file);
        else
            fputc(*text, file);
        if (*text == '\n' && (text[1] == '.' || text[1] == '\''))
            fputs("\\&", file);
    }
    fputc('\n', file);
}

static void roff_heading(FILE *file, const char *text)
{
    fputs(".SH \"", file);
    for (; *text; text++)
        fputc(toupper((unsigned char)*text), file);
    fputs("\"\n", file);
}

/* ---- plain text ---- */

/* Fill `text` into lines from `indent` to WIDTH, the first of which already stands at `column`. */
static void fill(FILE *file, const char *text, int indent, int column)
{
    while (*text) {
        const int word = (int)strcspn(text, " \n");
        if (column > indent && column + 1 + word > WIDTH) {
            fputc('\n', file);
            column = 0;
        }
        if (column < indent)
            column += fprintf(file, "%*s", indent - column, "");
        else if (column > indent)
            column += fprintf(file, " ");
        column += fprintf(file, "%.*s", word, text);
        text += word;
        text += strspn(text, " \n");
    }
    fputc('\n', file);
}

static void text_item(FILE *file, const char *term, const char *text)
{
    int column = fprintf(file, "%*s%s", INDENT, "", term);
    if (column + 2 > ITEM_INDENT) {
        fputc('\n', file);
        column = 0;
    }
    fill(file, text, ITEM_INDENT, column);
}

static void text_code(FILE *file, const char *lines)
{
    while (*lines) {
        const int length = (int)strcspn(lines, "\n");
        fprintf(file, "%*s%.*s\n", length > 0 ? 2 * INDENT : 0, "", length, lines);
        lines += length + (lines[length] == '\n');
    }
}

/* ---- pages ---- */

void lw_page_title(struct lw_page *page, const char *name, const char *foot)
{
    if (page->format == LW_PAGE_MAN)
        fprintf(page->file, ".TH %s 1 \"\" \"%s\"\n", name, foot);
}

void lw_page_heading(struct lw_page *page, const char *text)
{
    if (page->format == LW_PAGE_MAN)
        roff_heading(page->file, text);
    else
        fprintf(page->file, "\n%s\n", text);
    page->last = LW_PAGE_HEADING;
}

void lw_page_subheading(struct lw_page *page, const char *text)
{
    if (page->format == LW_PAGE_MAN)
        fprintf(page->file, ".SS \"%s\"\n", text);
    else
        fprintf(page->file, "\n%s\n", text);
    page->last = LW_PAGE_HEADING;
}

/* An empty line between paragraphs, code and lists; none below a heading and between items. */
static void begin_piece(struct lw_page *page, enum lw_page_piece piece)
{
    if (page->format == LW_PAGE_TEXT && (page->last == LW_PAGE_BLOCK || (page->last == LW_PAGE_ITEM && piece == LW_PAGE_BLOCK)))
        fputc('\n', page->file);
    page->last = piece;
}

void lw_page_paragraph(struct lw_page *page, const char *text)
{
    if (!text || !*text)
        return;
    begin_piece(page, LW_PAGE_BLOCK);
    if (page->format == LW_PAGE_MAN) {
        fputs(".PP\n", page->file);
        roff_text(page->file, text);
    } else {
        fill(page->file, text, INDENT, 0);
    }
}

void lw_page_item(struct lw_page *page, const char *term, const char *text)
{
    begin_piece(page, LW_PAGE_ITEM);
    if (page->format == LW_PAGE_MAN) {
        fputs(".TP\n.B ", page->file);
        roff_text(page->file, term);
        roff_text(page->file, text);
    } else {
        text_item(page->file, term, text);
    }
}

void lw_page_code(struct lw_page *page, const char *lines)
{
    begin_piece(page, LW_PAGE_BLOCK);
    if (page->format == LW_PAGE_MAN) {
        fputs(".PP\n.nf\n.RS 4\n", page->file);
        roff_text(page->file, lines);
        fputs(".RE\n.fi\n", page->file);
    } else {
        text_code(page->file, lines);
    }
}
