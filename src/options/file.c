#include "options/file.h"

#include "base/memory.h"
#include "options/words.h"

#include <ini.h>
#include <stdio.h>
#include <string.h>

/* Limits of inih, the ini parser, as it is built by default: a buffer of 200 bytes for a line, names below 50 characters. */
enum { MAX_LINE = 196, MAX_NAME = LW_SECTION_NAME - 1, MAX_KEYS = 100 };

#define BYTE_ORDER_MARK "\xef\xbb\xbf"      /* some editors put this mark before UTF-8 text */

/* ---- parsing: read_line counts the lines, joins continued ones and hands them to inih, which splits them for take_value ---- */

struct parse {
    const struct lw_options_file *file;
    lw_section_fn *knows;       /* checks the section's name */
    const char *at;             /* the part of the text that is still to be read */
    int line;                   /* number of the line that inih got last, from 1 */
    int section_line;           /* number of the line with [section]; 0: not read yet */
    bool is_continued;          /* the line that inih got last ends with a backslash */
    bool is_continuation;       /* the line before that line ends with a backslash */

    char section[MAX_NAME + 1]; /* name of the section; "": not read yet */
    struct lw_options *options; /* the options to set; NULL: only the section is wanted */

    char name[MAX_NAME + 1];    /* the option being read, "": none */
    char *value;                /* its value so far; owned, as large as the whole text */
    size_t value_length;
    int value_line;
    struct {
        char name[MAX_NAME + 1];
        int line;
    } seen[MAX_KEYS];
    int n_seen;

    int code;                   /* code of the first error, which *err holds */
    struct lw_error *err;
};

static void fail(struct parse *parse, int line, const char *message)
{
    if (parse->code == LW_OK)
        parse->code = lw_fail(parse->err, LW_ECONFIG, "%s:%d: %s", parse->file->path, line, message);
}

/* Return the place of the first `sign` behind a blank; `length`: there is none. */
static int find_behind_blank(const char *line, int length, char sign)
{
    for (int i = 1; i < length; i++)
        if (line[i] == sign && (line[i - 1] == ' ' || line[i - 1] == '\t'))
            return i;
    return length;
}

/* Drop blanks at both ends, a comment behind ' ;', and the backslash that continues a line. Old versions of inih keep such comments
 * in continuation lines. A # behind a blank begins no comment for inih, but its author probably meant one. It is an error: the
 * value would silently hold the comment. */
static int trim(struct parse *parse, const char **line, int length)
{
    length = find_behind_blank(*line, length, ';');
    while (length > 0 && strchr(" \t\r", (*line)[length - 1]))
        length--;
    for (; length > 0 && strchr(" \t", **line); length--)
        ++*line;
    parse->is_continuation = parse->is_continued;
    const bool has_value = length > 0 && !strchr("#;", **line) && (**line != '[' || parse->is_continuation);
    if (has_value && find_behind_blank(*line, length, '#') < length)
        fail(parse, parse->line, "a # behind a value begins no comment: write ' ;' before the comment, or put it on its own line; "
             "if the # is part of the value, write \\#");
    parse->is_continued = has_value && (*line)[length - 1] == '\\';
    return length - parse->is_continued;
}

/* The ini_reader of inih, called like fgets. Continuation lines go to inih indented, as it expects them. All other lines lose their
 * indentation: a job file may be indented at will. The first error ends the text. */
static char *read_line(char *buffer, int size, void *context)
{
    struct parse *const parse = context;
    if (parse->code != LW_OK || !*parse->at)
        return NULL;
    const char *line = parse->at;
    int length = (int)strcspn(line, "\n");
    parse->at += length + (line[length] == '\n');
    parse->line++;

    length = trim(parse, &line, length);
    if (length > MAX_LINE) {
        char message[80];
        snprintf(message, sizeof message, "the line is longer than %d characters; break it after a backslash", MAX_LINE);
        fail(parse, parse->line, message);
        return NULL;
    }
    if (*line == '[' && !parse->is_continuation) {
        if (!memchr(line, ']', (size_t)length))
            fail(parse, parse->line, "the section's name does not end with ]");
        if (parse->section_line > 0)
            fail(parse, parse->line, "this is a second section, but a job file describes one job");
        parse->section_line = parse->line;
    }
    snprintf(buffer, (size_t)size, "%s%.*s\n", parse->is_continuation ? " " : "", length, line);
    return buffer;
}

static bool is_repeated(struct parse *parse)
{
    for (int i = 0; i < parse->n_seen; i++)
        if (strcmp(parse->seen[i].name, parse->name) == 0) {
            char message[120];
            snprintf(message, sizeof message, "%s: already set in line %d", parse->name, parse->seen[i].line);
            fail(parse, parse->value_line, message);
            return true;
        }
    if (parse->n_seen < MAX_KEYS) {
        strcpy(parse->seen[parse->n_seen].name, parse->name);
        parse->seen[parse->n_seen++].line = parse->value_line;
    }
    return false;
}

static const char *find_variable(const char *name, const void *context)
{
    const struct lw_options_file *const file = context;
    const size_t length = strlen(name);
    for (const char *at = file->variables; *at; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    return NULL;
}

/* Set the option whose value is now complete. */
static void set_option(struct parse *parse)
{
    if (parse->code != LW_OK || !parse->name[0] || !parse->options || is_repeated(parse))
        return;
    char origin[512];
    size_t all = 1, room = parse->value_length + 1;         /* each ${NAME} gets room for all variables together */
    for (const char *at = parse->file->variables; *at; at += strlen(at) + 1)
        all += strlen(at);
    for (const char *at = parse->value; (at = strstr(at, "${")); at += 2)
        room += all;
    LW_FREED char *const value = lw_alloc(room, "the value of an option", parse->err);
    snprintf(origin, sizeof origin, "%.400s:%d: %s", parse->file->path, parse->value_line, parse->name);
    parse->code = value ? lw_expand_variables(parse->value, find_variable, parse->file, origin, value, room, parse->err)
                        : LW_ESYSTEM;
    if (parse->code == LW_OK)
        parse->code = lw_options_set(parse->options, parse->name, value, origin, parse->err);
    if (parse->code == LW_EUSAGE)
        parse->code = parse->err->code = LW_ECONFIG;
}

/* The ini_handler of inih, called for each line; it returns 1 for success. Continuation lines come with the name of the line they
 * continue. The name of the section is checked when its first option comes. */
static int take_value(void *context, const char *section, const char *name, const char *value)
{
    struct parse *const parse = context;
    char why[LW_SECTION_WHY];
    if (parse->code != LW_OK)
        return 0;
    if (!parse->section[0] && !parse->knows(section, why)) {
        fail(parse, section[0] ? parse->section_line : parse->line, why);
        return 0;
    }
    if (!parse->section[0])
        snprintf(parse->section, sizeof parse->section, "%s", section);
    if (!*name) {
        fail(parse, parse->line, "the name of an option is missing before the equals sign");
        return 0;
    }
    if (!parse->is_continuation) {
        set_option(parse);
        snprintf(parse->name, sizeof parse->name, "%s", name);
        parse->value_length = 0;
        parse->value_line = parse->line;
    }
    strcpy(parse->value + parse->value_length, value);
    parse->value_length += strlen(value);
    return 1;
}

static int parse_text(struct parse *parse)
{
    if (!(parse->value = lw_alloc((size_t)parse->file->bytes + 1, "the values of a job file", parse->err)))
        return LW_ESYSTEM;
    if (strncmp(parse->at, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0)
        parse->at += strlen(BYTE_ORDER_MARK);
    const int bad_line = ini_parse_stream(read_line, parse, take_value, parse);
    set_option(parse);
    lw_free(parse->value);
    if (bad_line > 0)
        fail(parse, bad_line, "the line is neither [section] nor 'option = value' nor a comment");
    else if (bad_line < 0)
        fail(parse, 0, "the ini parser found no memory");
    if (parse->code == LW_OK && !parse->section[0])
        fail(parse, parse->line > 0 ? parse->line : 1, "the file has no options; a job file has a section such as [ols] and lines "
             "'option = value'");
    return parse->code;
}

int lw_options_file_section(const struct lw_options_file *file, lw_section_fn *knows, char section[LW_SECTION_NAME],
                            struct lw_error *err)
{
    struct parse parse = {.file = file, .knows = knows, .at = file->text, .err = err};
    const int code = parse_text(&parse);
    if (code == LW_OK)
        strcpy(section, parse.section);
    return code;
}

int lw_options_file_apply(const struct lw_options_file *file, lw_section_fn *knows, struct lw_options *options,
                          struct lw_error *err)
{
    struct parse parse = {.file = file, .knows = knows, .at = file->text, .options = options, .err = err};
    return parse_text(&parse);
}
