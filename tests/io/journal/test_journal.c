/* test_journal.c - tests of the files beside a result. Journals are read exactly as written, or refused; a file is replaced as a
 * whole; and changes to a file are undone byte by byte. */
#include "../../check.h"
#include "base/memory.h"
#include "io/journal/journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/lapwing-journal-XXXXXX";

static const char *name_of(const char *file)
{
    static char names[2][160];
    static int turn;
    turn = !turn;
    snprintf(names[turn], sizeof names[turn], "%s/%s", folder, file);
    return names[turn];
}

static int64_t read_file(const char *name, char *bytes, int64_t most)
{
    const int fd = open(name, O_RDONLY);
    const ssize_t n = fd < 0 ? -1 : read(fd, bytes, (size_t)most);
    if (fd >= 0)
        close(fd);
    return n;
}

/* ---- journal ---------------------------------------------------------------------------------------------------------- */

enum { ROOM = 2000 };

static const char odd[] = "line\nfeed, \\x41, tab\t, = , \x01 and \xc3\xa9";

static void make(const char *name, int64_t room, int code)
{
    struct lw_journal *journal;
    struct lw_error err;
    CHECK(lw_journal_create(room, &journal, &err) == LW_OK, "%s", err.message);
    lw_journal_add(journal, "old", "to be forgotten");
    lw_journal_clear(journal);
    lw_journal_add(journal, "job", "ols");
    lw_journal_add(journal, "odd key of 2-3 words", odd);
    lw_journal_add(journal, "empty", "");
    lw_journal_add_format(journal, "number", "%d", 42);
    for (int twice = 0; twice < 2; twice++)
        CHECK(lw_journal_store(journal, name, &err) == code, "%s", err.message);
    lw_journal_destroy(journal);
}

static void check_value(const struct lw_journal *journal, const char *key, const char *value)
{
    const char *const found = lw_journal_find(journal, key);
    CHECK(found ? value && strcmp(found, value) == 0 : !value, "%s is '%s', not '%s'", key, found ? found : "(nothing)",
          value ? value : "(nothing)");
}

static void check_read(const char *name)
{
    struct lw_journal *journal;
    struct lw_error err;
    CHECK(lw_journal_load(name, &journal, &err) == LW_OK, "%s", err.message);
    check_value(journal, "job", "ols");
    check_value(journal, "odd key of 2-3 words", odd);
    check_value(journal, "empty", "");
    check_value(journal, "number", "42");
    check_value(journal, "old", NULL);
    check_value(journal, "ols", NULL);
    check_value(journal, "checksum", NULL);
    lw_journal_destroy(journal);
}

static void check_refused(const char *text, int64_t bytes, const char *what, int64_t where)
{
    struct lw_journal *journal = NULL;
    struct lw_error err = {0};
    CHECK(lw_journal_parse(text, bytes, "it", &journal, &err) == LW_EDATA && strstr(err.message, "'it'"), "%s at %d is taken", what,
          (int)where);
}

/* A journal with any byte changed, or cut at any place, is refused. */
static void check_damage(const char *name)
{
    char text[ROOM + 1], changed[ROOM + 1];
    const int64_t bytes = read_file(name, text, ROOM);
    for (int64_t i = 0; i < bytes; i++) {
        memcpy(changed, text, (size_t)bytes);
        changed[i] = (char)(changed[i] ^ 1 << i % 8);
        check_refused(changed, bytes, "a damaged journal", i);
        check_refused(text, i, "a journal that ends early", i);
    }
    text[bytes] = '\n';
    check_refused(text, bytes + 1, "a longer journal", bytes);
}

/* Texts with a valid checksum that are not journals. */
static void check_nonsense(void)
{
    static const char *const lines[] = {"no equals\n",   "key = \\\n",    "key = \\x0\n",
                                        "key = \\x00\n", "key = \\xG0\n", "key = \\n\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[200];
        int used = snprintf(text, sizeof text, "lapwing journal 1\n%s", lines[i]);
        used += snprintf(text + used, sizeof text - (size_t)used, "checksum = %016llx\n",
                         (unsigned long long)lw_replace_checksum(LW_CHECKSUM_START, text, used));
        check_refused(text, used, lines[i], 0);
    }
}

static void check_journal(void)
{
    char name[160];
    struct lw_journal *journal;
    struct lw_error err;
    snprintf(name, sizeof name, "%s", name_of("journal"));
    CHECK(lw_journal_load(name, &journal, &err) == LW_EIO && strstr(err.message, "No such file"), "%s", err.message);
    make(name, 30, LW_ESYSTEM);
    CHECK(access(name, F_OK) != 0, "a journal that is too long was stored");
    make(name, ROOM, LW_OK);
    check_read(name);
    check_damage(name);
    check_nonsense();
}

/* ---- replace ------------------------------------------------------------------------------------------------------------ */

static void check_replace(void)
{
    char name[160], other[200], text[16] = "";
    struct lw_error err;
    const struct lw_replace_part first[] = {{"one", 3}, {"", 0}, {"two", 3}}, second = {"3", 1};
    snprintf(name, sizeof name, "%s", name_of("replaced"));
    snprintf(other, sizeof other, "%s.new", name);
    CHECK(symlink(name_of("elsewhere"), other) == 0, "the symbolic link cannot be made");
    CHECK(lw_replace(name, first, 3, &err) == LW_OK, "%s", err.message);
    CHECK(access(name_of("elsewhere"), F_OK) != 0, "the new file was written through a symbolic link");
    CHECK(read_file(name, text, sizeof text) == 6 && memcmp(text, "onetwo", 6) == 0, "%s", text);
    CHECK(mkdir(other, 0700) == 0, "%s", other);
    CHECK(lw_replace(name, &second, 1, &err) == LW_EIO && strstr(err.message, name), "%s", err.message);
    CHECK(read_file(name, text, sizeof text) == 6, "a failed replacement changed the file");
    CHECK(rmdir(other) == 0 && lw_replace(name, &second, 1, &err) == LW_OK, "%s", err.message);
    CHECK(read_file(name, text, sizeof text) == 1 && text[0] == '3', "%s", text);
    CHECK(access(other, F_OK) != 0, "a temporary file is left");
    CHECK(lw_replace(name_of("no/such/folder"), &second, 1, &err) == LW_EIO, "a missing folder is no error");
}

/* ---- undo --------------------------------------------------------------------------------------------------------------- */

enum { LENGTH = 5000, LONGER = 9000 };

static char byte_at(int64_t i) { return (char)(i * 37 + i / 256); }

static int make_file(void)
{
    char bytes[LENGTH];
    const int fd = open(name_of("result"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int64_t i = 0; i < LENGTH; i++)
        bytes[i] = byte_at(i);
    CHECK(fd >= 0 && write(fd, bytes, LENGTH) == LENGTH, "the file cannot be made");
    return fd;
}

static bool is_in(const struct lw_undo_range *ranges, int n, int64_t i)
{
    for (int r = 0; r < n; r++)
        if (i >= ranges[r].begin && i < ranges[r].end)
            return true;
    return false;
}

/* All bytes change, and the file grows or shrinks. Undo restores the kept bytes and the length, and leaves the ranges `samples`
 * as they are. */
static void check_undo(const struct lw_undo_range *samples, int n, int64_t length)
{
    static char bytes[LONGER];
    char undo[160];
    struct lw_error err;
    struct stat status;
    snprintf(undo, sizeof undo, "%s", name_of("undo"));
    const int fd = make_file();
    CHECK(lw_undo_apply(fd, undo, &err) == LW_OK, "there is nothing: %s", err.message);
    CHECK(lw_undo_store(fd, samples, n, undo, &err) == LW_OK, "%s", err.message);
    memset(bytes, 'x', sizeof bytes);
    CHECK(pwrite(fd, bytes, (size_t)length, 0) == length && ftruncate(fd, length) == 0, "the file cannot be changed");
    CHECK(lw_undo_apply(fd, undo, &err) == LW_OK, "%s", err.message);
    CHECK(fstat(fd, &status) == 0 && status.st_size == LENGTH, "the length is %d again", (int)status.st_size);
    CHECK(pread(fd, bytes, LENGTH, 0) == LENGTH, "the file cannot be read");
    for (int64_t i = 0; i < LENGTH; i++)
        if (i < length || !is_in(samples, n, i))
            CHECK(bytes[i] == (is_in(samples, n, i) ? 'x' : byte_at(i)), "byte %d", (int)i);
    CHECK(access(undo, F_OK) != 0, "the undo file is left after it was applied");
    close(fd);
}

static void check_damaged_undo(void)
{
    static char kept[LONGER];
    char undo[160];
    struct lw_error err;
    struct stat status;
    snprintf(undo, sizeof undo, "%s", name_of("undo"));
    const int fd = make_file();
    CHECK(lw_undo_store(fd, &(struct lw_undo_range){1000, 4000}, 1, undo, &err) == LW_OK, "%s", err.message);
    const int64_t bytes = read_file(undo, kept, sizeof kept);
    for (int64_t i = 0; i < bytes; i += i < 100 ? 1 : 41) {
        const int its = open(undo, O_RDWR);
        const char changed = (char)(kept[i] ^ 4);
        CHECK(pwrite(its, &changed, 1, i) == 1, "the undo file cannot be damaged");
        CHECK(lw_undo_apply(fd, undo, &err) == LW_EDATA && strstr(err.message, "--resume never"), "byte %d: %s", (int)i,
              err.message);
        CHECK(pwrite(its, &kept[i], 1, i) == 1, "the undo file cannot be restored");
        close(its);
    }
    CHECK(truncate(undo, bytes - 1) == 0 && lw_undo_apply(fd, undo, &err) == LW_EDATA,
          "an undo file without its last byte is not refused");
    CHECK(truncate(undo, 10) == 0 && lw_undo_apply(fd, undo, &err) == LW_EDATA, "an undo file of 10 bytes is not refused");
    CHECK(fstat(fd, &status) == 0 && status.st_size == LENGTH, "a refused undo file changed the length");
    unlink(undo);
    close(fd);
}

int main(void)
{
    char command[80];
    if (!mkdtemp(folder))
        return 1;
    check_journal();
    check_replace();
    check_undo(NULL, 0, LONGER);
    check_undo(&(struct lw_undo_range){0, LENGTH}, 1, LONGER);
    check_undo(&(struct lw_undo_range){100, 4000}, 1, LONGER);
    check_undo(&(struct lw_undo_range){100, 4000}, 1, 50);
    check_undo(&(struct lw_undo_range){4000, 6000}, 1, LONGER);
    check_undo((struct lw_undo_range[]){{0, 10}, {10, 20}, {3000, 3001}, {4096, LENGTH}}, 4, LONGER);
    check_damaged_undo();
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(system(command) == 0, "%s", command);
    return check_result("journal");
}
