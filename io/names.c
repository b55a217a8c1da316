#include "io/names.h"

#include "base/file.h"
#include "base/memory.h"
#include "options/words.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- one name -------------------------------------------------------------------------------------------------------- */

int lw_object_parse(const char *name, struct lw_object *object, struct lw_error *err)
{
    const char *colon = NULL;
    for (const char *at = name; (at = strstr(at, ":/")); at++)
        colon = at;
    const size_t length = colon ? (size_t)(colon - name) : strlen(name);
    const char *const rest = colon ? colon + 1 : "";
    if (length == 0)
        return lw_fail(err, LW_EUSAGE, "'%.200s' names no file: give FILE:/path/in/file", name);
    if (length >= LW_MAX_PATH || strlen(rest) >= LW_MAX_PATH)
        return lw_fail(err, LW_EUSAGE, "the name '%.200s...' is longer than %d characters", name, LW_MAX_PATH - 1);
    *object = (struct lw_object){.name = name};
    memcpy(object->file, name, length);
    memcpy(object->path, rest, strlen(rest) + 1);
    return LW_OK;
}

/* ---- names one by one, each as given or as the files that match it ----------------------------------------------------- */

/* Names collected so far: `n` texts in a memory stream. */
struct collector {
    FILE *into;
    int64_t n;
};

enum { LONGEST = 2 * LW_MAX_PATH + 2 };

static void add(struct collector *c, const char *name)
{
    fwrite(name, 1, strlen(name) + 1, c->into);
    c->n++;
}

static bool is_pattern(const char *file) { return strpbrk(file, "*?[") != NULL; }

static int add_matches(struct collector *c, const struct lw_object *object, struct lw_error *err)
{
    glob_t found;
    const int result = glob(object->file, GLOB_BRACE, NULL, &found);
    int rc = LW_OK;
    if (result == GLOB_NOMATCH)
        return lw_fail(err, LW_EIO, "no file matches '%.600s'", object->file);
    if (result != 0)
        return lw_fail(err, result == GLOB_NOSPACE ? LW_ESYSTEM : LW_EIO, "cannot look for files that match '%.600s'",
                       object->file);
    for (size_t f = 0; rc == LW_OK && f < found.gl_pathc; f++) {
        if (strlen(found.gl_pathv[f]) >= LW_MAX_PATH)
            rc = lw_fail(err, LW_EUSAGE, "the name '%.200s...' is longer than %d characters", found.gl_pathv[f], LW_MAX_PATH - 1);
        else
            add(c, lw_name_of(found.gl_pathv[f], object->path).text);
    }
    globfree(&found);
    return rc;
}

static int add_name(struct collector *c, const char *name, struct lw_error *err)
{
    struct lw_object object;
    const int rc = lw_object_parse(name, &object, err);
    if (rc)
        return rc;
    if (is_pattern(object.file) && access(object.file, F_OK) != 0)
        return add_matches(c, &object, err);
    add(c, name);
    return LW_OK;
}

/* ---- lists ------------------------------------------------------------------------------------------------------------- */

static char *trim(char *line)
{
    while (isspace((unsigned char)*line))
        line++;
    for (size_t n = strlen(line); n > 0 && isspace((unsigned char)line[n - 1]); n--)
        line[n - 1] = '\0';
    return line;
}

static int add_list(struct collector *c, const char *list, struct lw_error *err)
{
    char why[96], *line = NULL;
    size_t size = 0;
    int rc = LW_OK;
    const int fd = lw_file_open(list, why);
    FILE *const file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file) {
        if (fd >= 0)
            close(fd);
        return lw_fail(err, LW_EIO, "cannot read the list '%.600s': %s", list, fd < 0 ? why : strerror(errno));
    }
    for (ssize_t length; rc == LW_OK && (length = getline(&line, &size, file)) >= 0; ) {
        const bool is_text = !memchr(line, '\0', (size_t)length);
        const char *const name = trim(line);
        if (!is_text)
            rc = lw_fail(err, LW_EDATA, "'%.600s' is no list of names: it holds bytes of value 0", list);
        else if (name[0] && name[0] != '#')
            rc = add_name(c, name, err);
    }
    if (rc == LW_OK && ferror(file))
        rc = lw_fail(err, LW_EIO, "cannot read the list '%.600s': %s", list, strerror(errno));
    free(line);
    fclose(file);
    return rc;
}

/* ---- all ---------------------------------------------------------------------------------------------------------------- */

/* Return whether a text with blanks is the name of one existing file or dataset. It is several names if the file's part has no
 * blank, and the word behind the last blank is a file, list or pattern. */
static bool is_one_file(const char *names)
{
    struct lw_object object, last;
    if (!strchr(names, ' ') || strchr(names, '\\') || lw_object_parse(names, &object, NULL) != LW_OK ||
        access(object.file, F_OK) != 0)
        return false;
    const char *const word = strrchr(names, ' ') + 1;
    const bool is_followed = word[0] == '@' || (lw_object_parse(word, &last, NULL) == LW_OK &&
                                                (is_pattern(last.file) || access(last.file, F_OK) == 0));
    return strchr(object.file, ' ') || !is_followed;
}

static int add_all(struct collector *c, const char *names, struct lw_error *err)
{
    char name[LONGEST];
    int rc = LW_OK;
    if (is_one_file(names)) {
        add(c, names);
        return LW_OK;
    }
    for (const char *at = names; rc == LW_OK && at[strspn(at, " ")]; ) {
        at = lw_words_take(at, name, sizeof name);
        if (!at)
            return lw_fail(err, LW_EUSAGE, "the name '%.200s...' is longer than %d characters", names, LONGEST - 1);
        rc = name[0] == '@' ? add_list(c, name + 1, err) : add_name(c, name, err);
    }
    if (rc == LW_OK && c->n == 0)
        return lw_fail(err, LW_EUSAGE, "'%.600s' names no file", names);
    return rc;
}

int lw_names_expand(const char *names, struct lw_names *out, struct lw_error *err)
{
    size_t bytes = 0;
    *out = (struct lw_names){0};
    struct collector c = {.into = open_memstream(&out->memory, &bytes)};
    if (!c.into)
        return lw_fail(err, LW_ESYSTEM, "no memory for the names of files");
    int rc = add_all(&c, names, err);
    const bool is_whole = !ferror(c.into);
    if ((fclose(c.into) != 0 || !is_whole) && rc == LW_OK)
        rc = lw_fail(err, LW_ESYSTEM, "no memory for the names of files");
    out->bytes = (int64_t)bytes;
    out->n = c.n;
    if (rc)
        lw_names_release(out);
    return rc;
}

void lw_names_release(struct lw_names *names)
{
    lw_free(names->memory);         /* open_memstream has used malloc, and lw_free is free */
    *names = (struct lw_names){0};
}

const char *lw_names_next(const struct lw_names *names, const char *name)
{
    const char *const next = name ? name + strlen(name) + 1 : names->memory;
    return next && next < names->memory + names->bytes ? next : NULL;
}
