#include "io/journal/journal.h"

#include "base/file.h"
#include "base/memory.h"
#include "io/bytes/transfer.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TITLE "lapwing journal 1\n"
#define CHECKSUM "checksum = "

enum { CHECKSUM_BYTES = sizeof CHECKSUM - 1 + 16 + 1, MOST_BYTES = 64 << 20 };

struct lw_journal {
    int64_t used, room;
    bool is_full;
    char text[];                /* [room + 1] the lines as written; in a parsed journal "key\0value\0" for each line */
};

/* ---- files replaced as a whole --------------------------------------------------------------------------------------- */

uint64_t lw_replace_checksum(uint64_t start, const void *bytes, int64_t n_bytes)
{
    const unsigned char *const all = bytes;
    for (int64_t i = 0; i < n_bytes; i++)
        start = (start ^ all[i]) * UINT64_C(0x100000001b3);
    return start;
}

static int fail_write(const char *file, const char *reason, struct lw_error *err)
{
    return lw_fail(err, LW_EIO, "cannot write '%.600s': %.200s", file, reason);
}

static int write_parts(int fd, const char *file, const struct lw_replace_part *parts, int n_parts, struct lw_error *err)
{
    struct lw_error reason;
    int64_t at = 0;
    for (int p = 0; p < n_parts; at += parts[p++].n_bytes)
        if (lw_bytes_write(fd, parts[p].bytes, at, parts[p].n_bytes, &reason) != LW_OK)
            return fail_write(file, reason.message, err);
    return fsync(fd) == 0 ? LW_OK : fail_write(file, strerror(errno), err);
}

/* fsync of a folder fails with EINVAL on file systems that cannot sync folders; this counts as success. */
bool lw_replace_sync_folder(const char *file)
{
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", file);
    const int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int cause = folder < 0 || (fsync(folder) != 0 && errno != EINVAL) ? errno : 0;
    if (folder >= 0)
        close(folder);
    errno = cause;
    return cause == 0;
}

int lw_replace(const char *file, const struct lw_replace_part *parts, int n_parts, struct lw_error *err)
{
    char other[PATH_MAX];
    if (snprintf(other, sizeof other, "%s.new", file) >= (int)sizeof other)
        return fail_write(file, strerror(ENAMETOOLONG), err);
    unlink(other);
    const int fd = open(other, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail_write(file, strerror(errno), err);
    int rc = write_parts(fd, file, parts, n_parts, err);
    if (close(fd) != 0 && rc == LW_OK)
        rc = fail_write(file, strerror(errno), err);
    if (rc == LW_OK && rename(other, file) != 0)
        rc = fail_write(file, strerror(errno), err);
    if (rc) {
        unlink(other);
        return rc;
    }
    return lw_replace_sync_folder(file) ? LW_OK : fail_write(file, strerror(errno), err);
}

/* ---- writing a journal ----------------------------------------------------------------------------------------------- */

int lw_journal_create(int64_t room, struct lw_journal **out, struct lw_error *err)
{
    const int64_t all = room + (int64_t)sizeof TITLE + CHECKSUM_BYTES;
    struct lw_journal *const journal = lw_alloc(sizeof *journal + (size_t)all + 1, "the journal", err);
    if (!journal)
        return LW_ESYSTEM;
    journal->room = all;
    lw_journal_clear(journal);
    *out = journal;
    return LW_OK;
}

void lw_journal_destroy(struct lw_journal *journal)
{
    lw_free(journal);
}

static void put(struct lw_journal *journal, const char *bytes, size_t length)
{
    if ((int64_t)length > journal->room - journal->used) {
        journal->is_full = true;
        return;
    }
    memcpy(journal->text + journal->used, bytes, length);
    journal->used += (int64_t)length;
}

void lw_journal_clear(struct lw_journal *journal)
{
    journal->used = 0;
    journal->is_full = false;
    put(journal, TITLE, sizeof TITLE - 1);
}

void lw_journal_add(struct lw_journal *journal, const char *key, const char *value)
{
    put(journal, key, strlen(key));
    put(journal, " = ", 3);
    for (; *value; value++) {
        char escaped[8];
        if (iscntrl((unsigned char)*value) || *value == '\\')
            put(journal, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\x%02x", (unsigned char)*value));
        else
            put(journal, value, 1);
    }
    put(journal, "\n", 1);
}

void lw_journal_add_format(struct lw_journal *journal, const char *key, const char *format, ...)
{
    char value[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    lw_journal_add(journal, key, value);
}

int lw_journal_store(struct lw_journal *journal, const char *file, struct lw_error *err)
{
    char line[CHECKSUM_BYTES + 1];
    const int64_t used = journal->used;
    snprintf(line, sizeof line, CHECKSUM "%016" PRIx64 "\n", lw_replace_checksum(LW_CHECKSUM_START, journal->text, used));
    put(journal, line, CHECKSUM_BYTES);
    const struct lw_replace_part whole = {journal->text, journal->used};
    journal->used = used;
    if (journal->is_full)
        return lw_fail(err, LW_ESYSTEM, "the journal '%.600s' is larger than the memory that was planned for it", file);
    return lw_replace(file, &whole, 1, err);
}

/* ---- reading a journal ----------------------------------------------------------------------------------------------- */

static int fail_damaged(const char *name, struct lw_error *err)
{
    return lw_fail(err, LW_EDATA, "'%.600s' is damaged, or no journal of this version of lapwing", name);
}

/* Return whether the text begins with the title and ends with the right checksum of all lines before the last. */
static bool is_whole(const char *text, int64_t bytes)
{
    char line[CHECKSUM_BYTES + 1];
    const int64_t before = bytes - CHECKSUM_BYTES;
    if (before < (int64_t)sizeof TITLE - 1 || memcmp(text, TITLE, sizeof TITLE - 1) != 0 || memchr(text, '\0', (size_t)bytes))
        return false;
    snprintf(line, sizeof line, CHECKSUM "%016" PRIx64 "\n", lw_replace_checksum(LW_CHECKSUM_START, text, before));
    return memcmp(text + before, line, CHECKSUM_BYTES) == 0;
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Replace each \xNN of a value by its character, in place. @return  false: an escape is malformed */
static bool take_escapes(char *value)
{
    char *to = value;
    for (; *value; value++, to++) {
        *to = *value;
        if (*value != '\\')
            continue;
        if (value[1] != 'x' || digit(value[2]) < 0 || digit(value[3]) < 0 || digit(value[2]) + digit(value[3]) == 0)
            return false;
        *to = (char)(16 * digit(value[2]) + digit(value[3]));
        value += 3;
    }
    *to = '\0';
    return true;
}

/* Store each line as "key\0value\0" in journal->text. @return  false: a line is malformed */
static bool split_lines(struct lw_journal *journal, const char *text, int64_t bytes)
{
    const char *line = text + sizeof TITLE - 1;
    for (const char *const end = text + bytes - CHECKSUM_BYTES; line < end;) {
        const char *const stop = memchr(line, '\n', (size_t)(end - line));
        const char *const equals = stop ? memmem(line, (size_t)(stop - line), " = ", 3) : NULL;
        if (!equals)
            return false;
        char *const value = journal->text + journal->used + (equals - line) + 1;
        put(journal, line, (size_t)(equals - line));
        put(journal, "", 1);
        put(journal, equals + 3, (size_t)(stop - equals - 3));
        put(journal, "", 1);
        if (!take_escapes(value))
            return false;
        journal->used = value + strlen(value) + 1 - journal->text;
        line = stop + 1;
    }
    return true;
}

int lw_journal_parse(const char *text, int64_t bytes, const char *name, struct lw_journal **out, struct lw_error *err)
{
    struct lw_journal *journal;
    if (!is_whole(text, bytes))
        return fail_damaged(name, err);
    const int rc = lw_journal_create(bytes, &journal, err);
    if (rc)
        return rc;
    journal->used = 0;
    if (!split_lines(journal, text, bytes)) {
        lw_journal_destroy(journal);
        return fail_damaged(name, err);
    }
    *out = journal;
    return LW_OK;
}

int lw_journal_load(const char *file, struct lw_journal **out, struct lw_error *err)
{
    struct stat status;
    LW_FREED char *text = NULL;
    int fd, rc = lw_file_open_input(file, &fd, err);
    if (rc)
        return rc;
    if (fstat(fd, &status) != 0)
        rc = lw_fail(err, LW_EIO, "cannot read '%.600s': %s", file, strerror(errno));
    else if (status.st_size > MOST_BYTES)
        rc = fail_damaged(file, err);
    else if (!(text = lw_alloc((size_t)status.st_size + 1, "the journal", err)))
        rc = LW_ESYSTEM;
    else if ((rc = lw_bytes_read_file(fd, file, text, 0, status.st_size, err)) == LW_OK)
        rc = lw_journal_parse(text, status.st_size, file, out, err);
    close(fd);
    return rc;
}

const char *lw_journal_find(const struct lw_journal *journal, const char *key)
{
    const char *at = journal->text;
    while (at < journal->text + journal->used) {
        const char *const value = at + strlen(at) + 1;
        if (strcmp(at, key) == 0)
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

int lw_journal_progress(const char *result, struct lw_journal_progress *progress, struct lw_error *err)
{
    char name[PATH_MAX + sizeof LW_JOURNAL_SUFFIX];
    struct lw_journal *journal;
    snprintf(name, sizeof name, "%.*s" LW_JOURNAL_SUFFIX, PATH_MAX, result);
    const int rc = lw_journal_load(name, &journal, err);
    if (rc)
        return rc;
    const char *const done = lw_journal_find(journal, "done"), *const time = lw_journal_find(journal, "time");
    const char *const version = lw_journal_find(journal, "version");
    snprintf(progress->done, sizeof progress->done, "%s", done ? done : "some");
    snprintf(progress->time, sizeof progress->time, "%s", time ? time : "some time");
    snprintf(progress->version, sizeof progress->version, "%s", version ? version : "");
    lw_journal_destroy(journal);
    return LW_OK;
}
