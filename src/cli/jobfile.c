#include "cli/jobfile.h"

#include "base/file.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "options/expand.h"

#include <errno.h>
#include <ini.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The ini parser's own limits, with its defaults: a line in a buffer of 200 bytes, names of less than 50 characters. */
enum { MAX_LINE = 196, MAX_NAME = 48, MAX_KEYS = 100 };

/* What is longer is data; a command line of two million characters, which are names of files, makes a job file of 3 MiB. */
enum { MAX_BYTES = 64 << 20 };

#define BYTE_ORDER_MARK "\xef\xbb\xbf"      /* some editors begin UTF-8 with it */

/* ---- reading ---- */

/* All of a regular file, which may be longer by now than the system has just said. */
static int read_open(struct lw_jobfile *jobfile, FILE *file, struct lw_error *err)
{
    struct stat status = {0};
    fstat(fileno(file), &status);
    if (status.st_size > MAX_BYTES)
        return lw_fail(err, LW_ECONFIG, "%s: not a job file: it is longer than 64 MiB", jobfile->path);
    if (!(jobfile->text = lw_alloc((size_t)status.st_size + 1, "the job file", err)))
        return LW_ESYSTEM;
    errno = 0;
    jobfile->bytes = (int64_t)fread(jobfile->text, 1, (size_t)status.st_size, file);
    if (ferror(file))
        return lw_fail(err, LW_EIO, "%s: cannot read the job file: %s", jobfile->path, strerror(errno));
    if (memchr(jobfile->text, '\0', (size_t)jobfile->bytes))
        return lw_fail(err, LW_ECONFIG, "%s: not a job file: it holds null bytes; 'lapwing info FILE' shows what is in a "
                       "data file", jobfile->path);
    return LW_OK;
}

static int read_text(struct lw_jobfile *jobfile, struct lw_error *err)
{
    char why[96];
    const int fd = lw_file_open(jobfile->path, why);
    FILE *const file = fd < 0 ? NULL : fdopen(fd, "r");
    if (fd >= 0 && !file)
        close(fd);
    if (!file)
        return lw_fail(err, LW_EIO, "%s: cannot read the job file: %s", jobfile->path, fd < 0 ? why : strerror(errno));
    const int rc = read_open(jobfile, file, err);
    fclose(file);
    return rc;
}

/* The value that a configuration has for an option, which a newline or a break of the line ends; NULL: none. */
static const char *find_value(const char *configuration, const char *name)
{
    const size_t length = strlen(name);
    for (const char *line = configuration; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0 && strncmp(line + length, " = ", 3) == 0)
            return line + length + 3;
    }
    return NULL;
}

static bool is_searched(const char *configuration)
{
    char words[80] = "";
    const char *const products = find_value(configuration, "products");
    if (products)
        snprintf(words, sizeof words, "%.*s", (int)strcspn(products, "\n"), products);
    return strstr(words, "peaks") || strstr(words, "best");
}

const char *lw_jobfile_added(const struct lw_listing_origin *origin, char lines[LW_JOBFILE_ADDED])
{
    const char *const said = origin->configuration;
    const struct lw_job_ops *const job = lw_job_find(origin->job);
    const bool has_no_sign = is_searched(said) && !find_value(said, "sign");
    const bool was_measured = has_no_sign && !find_value(said, "noise") && !find_value(said, "whiten");
    const bool was_isolated = job && !job->is_isolated && !find_value(said, "isolated");
    snprintf(lines, LW_JOBFILE_ADDED, "%s%s%s%s", has_no_sign ? "sign = both\n" : "", was_measured ? "noise = rms\n" : "",
             find_value(said, "overlap") ? "" : "overlap = first\n", was_isolated ? "isolated = yes\n" : "");
    return lines;
}

static int take_origin(struct lw_jobfile *jobfile, struct lw_error *err)
{
    struct lw_listing_origin origin;
    int rc = LW_OK;
    if (!lw_list_origin(jobfile->path, &origin)) {
        rc = lw_fail(err, LW_EDATA, "'%.600s' keeps no job file, so that its job is not known", jobfile->path);
    } else {
        char lines[LW_JOBFILE_ADDED];
        const char *const added = lw_jobfile_added(&origin, lines);
        const size_t room = strlen(origin.job) + strlen(origin.configuration) + strlen(added) + sizeof "[]\n";
        jobfile->text = lw_alloc(room, "the job file", err);
        rc = jobfile->text ? LW_OK : LW_ESYSTEM;
        if (rc == LW_OK)
            jobfile->bytes = snprintf(jobfile->text, room, "[%s]\n%s%s", origin.job, origin.configuration, added);
    }
    lw_list_origin_release(&origin);
    return rc;
}

/* Whether the text has ${NAME in it, where `variable` is "NAME=value". */
static bool has_variable(const char *text, const char *variable)
{
    const size_t length = strcspn(variable, "=");
    for (const char *at = text; (at = strstr(at, "${")); at += 2)
        if (strncmp(at + 2, variable, length) == 0 && (at[2 + length] == '}' || at[2 + length] == ':'))
            return true;
    return false;
}

/* The variables that the text names. @param bytes  set to their length, the last null byte included */
static char *gather_variables(const char *text, int64_t *bytes, struct lw_error *err)
{
    char *variables = NULL;
    size_t size = 0;
    FILE *const file = open_memstream(&variables, &size);
    for (char **variable = environ; file && *variable; variable++)
        if (has_variable(text, *variable))
            fwrite(*variable, 1, strlen(*variable) + 1, file);
    if (file)
        fputc('\0', file);
    const bool is_whole = file && !ferror(file);
    if (!file || fclose(file) != 0 || !is_whole) {
        lw_free(variables);
        lw_fail(err, LW_ESYSTEM, "no memory for the variables of the job file");
        return NULL;
    }
    *bytes = (int64_t)size;
    return variables;       /* lw_free is free, and open_memstream allocates with malloc */
}

/* Rank 0's text to the others, which get memory for it. @param bytes  with a null byte at the end. Collective. */
static int share_text(struct lw_comm *comm, char **text, int64_t bytes, struct lw_error *err)
{
    lw_comm_broadcast(comm, &bytes, sizeof bytes);
    if (lw_comm_rank(comm) != 0)
        *text = lw_alloc((size_t)bytes, "the job file", err);
    const int code = lw_comm_agree(comm, *text ? LW_OK : LW_ESYSTEM, err);
    if (code == LW_OK)
        lw_comm_broadcast(comm, *text, bytes);
    return code;
}

/* @param read  by rank 0, which allocates the text */
static int share(struct lw_comm *comm, const char *path, int (*read)(struct lw_jobfile *, struct lw_error *),
                 struct lw_jobfile *jobfile, struct lw_error *err)
{
    int64_t variables_bytes = 0;
    *jobfile = (struct lw_jobfile){.path = lw_alloc(strlen(path) + 1, "a file name", err)};
    int code = jobfile->path ? LW_OK : LW_ESYSTEM;
    if (code == LW_OK)
        strcpy(jobfile->path, path);
    if (code == LW_OK && lw_comm_rank(comm) == 0 && (code = read(jobfile, err)) == LW_OK)
        code = (jobfile->variables = gather_variables(jobfile->text, &variables_bytes, err)) ? LW_OK : LW_ESYSTEM;
    if ((code = lw_comm_agree(comm, code, err)))
        return code;
    lw_comm_broadcast(comm, &jobfile->bytes, sizeof jobfile->bytes);
    if ((code = share_text(comm, &jobfile->text, jobfile->bytes + 1, err)) == LW_OK)
        code = share_text(comm, &jobfile->variables, variables_bytes, err);
    return code;
}

int lw_jobfile_read(struct lw_comm *comm, const char *path, struct lw_jobfile *jobfile, struct lw_error *err)
{
    return share(comm, path, read_text, jobfile, err);
}

int lw_jobfile_of_result(struct lw_comm *comm, const char *path, struct lw_jobfile *jobfile, struct lw_error *err)
{
    return share(comm, path, take_origin, jobfile, err);
}

void lw_jobfile_release(struct lw_jobfile *jobfile)
{
    lw_free(jobfile->path);
    lw_free(jobfile->text);
    lw_free(jobfile->variables);
    *jobfile = (struct lw_jobfile){0};
}

/* ---- parsing: inih takes lines apart; lines are counted and continued by the reader that feeds it ---- */

struct parse {
    const struct lw_jobfile *jobfile;
    const char *at;             /* the rest of the text */
    int line;                   /* number of the line that inih has, from 1 */
    int section_line;           /* of the [section], 0: none yet */
    bool is_continued;          /* that line ends with a backslash */
    bool is_continuation;       /* the line before it did */

    const struct lw_job_ops *job;
    struct lw_options *options; /* NULL: only the job is asked for */

    char name[MAX_NAME + 1];    /* the option being read, "": none */
    char *value;                /* owned; with room for all of the text */
    size_t value_length;
    int value_line;
    struct {
        char name[MAX_NAME + 1];
        int line;
    } seen[MAX_KEYS];
    int n_seen;

    int code;                   /* of the first error, which is in *err */
    struct lw_error *err;
};

static void fail(struct parse *parse, int line, const char *message)
{
    if (parse->code == LW_OK)
        parse->code = lw_fail(parse->err, LW_ECONFIG, "%s:%d: %s", parse->jobfile->path, line, message);
}

static void note_section(struct parse *parse, const char *line, int length)
{
    if (!memchr(line, ']', (size_t)length))
        fail(parse, parse->line, "the section's name does not end with ]");
    if (parse->section_line > 0)
        fail(parse, parse->line, "a second section; a job file describes one job");
    parse->section_line = parse->line;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Length without a comment: inih drops those that follow a blank and a semicolon, but in old versions not where a line goes
 * on the one before. */
static int without_comment(const char *line, int length)
{
    for (int i = 1; i < length; i++)
        if (line[i] == ';' && is_blank(line[i - 1]))
            return i;
    return length;
}

/* A # behind a blank is no comment to inih, but its author means one: the value would silently hold all of it. */
static void refuse_comment(struct parse *parse, const char *line, int length)
{
    for (int i = 1; i < length; i++)
        if (line[i] == '#' && is_blank(line[i - 1])) {
            fail(parse, parse->line, "a # behind a value begins no comment: put the comment behind ' ;' or on a line of its own; "
                 "where the # belongs to the value, write \\#");
            return;
        }
}

/* Drop blanks at both ends, a comment, and the backslash that continues a line. */
static int trim(struct parse *parse, const char **line, int length)
{
    length = without_comment(*line, length);
    while (length > 0 && strchr(" \t\r", (*line)[length - 1]))
        length--;
    for (; length > 0 && strchr(" \t", **line); length--)
        ++*line;
    parse->is_continuation = parse->is_continued;
    const bool has_value = length > 0 && !strchr("#;", **line) && (**line != '[' || parse->is_continuation);
    if (has_value)
        refuse_comment(parse, *line, length);
    parse->is_continued = has_value && (*line)[length - 1] == '\\';
    return length - parse->is_continued;
}

/* The ini_reader: like fgets. A line that goes on the one before is handed over indented, as inih wants it; all others are
 * not, so that a job file may be indented as its author likes. An error ends the text. */
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
    if (*line == '[' && !parse->is_continuation)
        note_section(parse, line, length);
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
    const struct lw_jobfile *const jobfile = context;
    const size_t length = strlen(name);
    for (const char *at = jobfile->variables; *at; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    return NULL;
}

/* What a value takes at most with its variables: one variable is no longer than all. */
static size_t expanded_room(const struct parse *parse)
{
    size_t all = 1, room = parse->value_length + 1;
    for (const char *at = parse->jobfile->variables; *at; at += strlen(at) + 1)
        all += strlen(at);
    for (const char *at = parse->value; (at = strstr(at, "${")); at += 2)
        room += all;
    return room;
}

/* Set the option whose value is now complete. */
static void set_option(struct parse *parse)
{
    if (parse->code != LW_OK || !parse->name[0] || !parse->options || is_repeated(parse))
        return;
    char origin[512];
    const size_t room = expanded_room(parse);
    char *const value = lw_alloc(room, "the value of an option", parse->err);
    snprintf(origin, sizeof origin, "%.400s:%d: %s", parse->jobfile->path, parse->value_line, parse->name);
    parse->code = value ? lw_expand_variables(parse->value, find_variable, parse->jobfile, origin, value, room, parse->err)
                        : LW_ESYSTEM;
    if (parse->code == LW_OK)
        parse->code = lw_options_set(parse->options, parse->name, value, origin, parse->err);
    if (parse->code == LW_EUSAGE)
        parse->code = parse->err->code = LW_ECONFIG;
    lw_free(value);
}

static bool find_job(struct parse *parse, const char *section)
{
    char message[400], names[LW_WORD_LIST];
    if (parse->job)
        return true;
    parse->job = lw_job_find(section);
    if (parse->job)
        return true;
    if (!section[0])
        snprintf(message, sizeof message, "an option before the section that names the job (one of: %s)", lw_word_list(LW_WORD_JOB, ", ", names));
    else
        snprintf(message, sizeof message, "[%s] is no job; the jobs are: %s", section, lw_word_list(LW_WORD_JOB, ", ", names));
    fail(parse, section[0] ? parse->section_line : parse->line, message);
    return false;
}

/* The ini_handler: non-zero is success. Called once a line; a continuation comes under the same name. */
static int take_value(void *context, const char *section, const char *name, const char *value)
{
    struct parse *const parse = context;
    if (parse->code != LW_OK || !find_job(parse, section))
        return 0;
    if (!*name) {
        fail(parse, parse->line, "there is no option's name before the equals sign");
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
    if (!(parse->value = lw_alloc((size_t)parse->jobfile->bytes + 1, "the values of a job file", parse->err)))
        return LW_ESYSTEM;
    if (strncmp(parse->at, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0)
        parse->at += strlen(BYTE_ORDER_MARK);
    const int bad_line = ini_parse_stream(read_line, parse, take_value, parse);
    set_option(parse);
    lw_free(parse->value);
    if (bad_line > 0)
        fail(parse, bad_line, "neither [section] nor 'option = value' nor a comment");
    else if (bad_line < 0)
        fail(parse, 0, "the ini parser found no memory");
    if (parse->code == LW_OK && !parse->job)
        fail(parse, parse->line > 0 ? parse->line : 1, "no options; a job file holds a section such as [ols] and lines "
             "'option = value'");
    return parse->code;
}

int lw_jobfile_job(const struct lw_jobfile *jobfile, const struct lw_job_ops **out, struct lw_error *err)
{
    struct parse parse = {.jobfile = jobfile, .at = jobfile->text, .err = err};
    const int code = parse_text(&parse);
    if (code == LW_OK)
        *out = parse.job;
    return code;
}

int lw_jobfile_apply(const struct lw_jobfile *jobfile, struct lw_options *options, struct lw_error *err)
{
    struct parse parse = {.jobfile = jobfile, .at = jobfile->text, .options = options, .err = err};
    return parse_text(&parse);
}
