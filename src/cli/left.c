#include "cli/left.h"

#include "base/log.h"
#include "io/journal/journal.h"
#include "io/list.h"
#include "io/writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The name without an ending. @return  false: it has another one */
static bool take_ending(const char *name, const char *ending, char result[PATH_MAX])
{
    const size_t length = strlen(name), end = strlen(ending);
    if (length <= end || strcmp(name + length - end, ending) != 0)
        return false;
    snprintf(result, PATH_MAX, "%.*s", (int)(length - end), name);
    return true;
}

/* A run that writes a file holds its lock. */
static bool is_being_written(const char *part)
{
    const int fd = open(part, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const bool is_held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    return is_held;
}

static void print_journal(const char *result)
{
    char name[PATH_MAX + 32], done[400];
    struct lw_journal *journal;
    struct lw_error err;
    snprintf(name, sizeof name, "%s" LW_JOURNAL_SUFFIX, result);
    if (access(name, F_OK) != 0) {
        printf("no checkpoint: a run starts over\n");
        return;
    }
    if (lw_journal_load(name, &journal, &err) != LW_OK) {
        printf("no checkpoint that can be read: --resume never starts over\n");
        return;
    }
    const char *const text = lw_journal_find(journal, "done"), *const time = lw_journal_find(journal, "time");
    printf("done are %s, of %s: a run goes on from there\n", text ? lw_escape(text, "", done, sizeof done) : "some", time ? time : "some time");
    lw_journal_destroy(journal);
}

void lw_left_print(const char *part)
{
    char result[PATH_MAX];
    if (!take_ending(part, LW_PART_SUFFIX, result))
        return;
    printf("# %s; ", is_being_written(part) ? "a run is writing it" : "nobody is writing it");
    print_journal(result);
}

/* FITS files say it in cards, which are not looked at here. */
static void print_command(const char *part)
{
    struct lw_listing_origin origin;
    struct lw_error damaged;
    char command[4 * sizeof origin.command];
    if (lw_list_check(part, &damaged) == LW_OK && lw_list_origin(part, &origin) && origin.command[0])
        printf("    %s\n", lw_escape(origin.command, "", command, sizeof command));
}

static void print_left(const char *folder, const char *name)
{
    char part[2 * PATH_MAX], result[PATH_MAX], shown[4 * NAME_MAX];
    snprintf(part, sizeof part, "%s/%s", folder, name);
    if (!take_ending(part, LW_PART_SUFFIX, result))
        return;
    printf("%s\n    ", lw_escape(name, "", shown, sizeof shown));
    if (is_being_written(part)) {
        printf("a run is writing it\n");
        return;
    }
    print_journal(result);
    print_command(part);
}

static int is_part(const struct dirent *entry)
{
    char result[PATH_MAX];
    return take_ending(entry->d_name, LW_PART_SUFFIX, result);
}

int lw_left_print_folder(const char *folder, struct lw_error *err)
{
    struct dirent **entries;
    char shown[4 * PATH_MAX];
    const int n = scandir(folder, &entries, is_part, alphasort);
    if (n < 0)
        return lw_fail(err, LW_EIO, "cannot read the folder '%.600s': %s", folder, strerror(errno));
    if (n == 0)
        printf("%s holds nothing that a run of lapwing has left unfinished\n", lw_escape(folder, "", shown, sizeof shown));
    for (int e = 0; e < n; e++) {
        print_left(folder, entries[e]->d_name);
        free(entries[e]);
    }
    free(entries);
    return LW_OK;
}
