#include "cli/left.h"

#include "base/log.h"
#include "io/journal/journal.h"
#include "io/list.h"
#include "io/write/result_file.h"
#include "io/write/writer.h"
#include "version.h"

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

static void print_journal(const char *result)
{
    struct lw_journal_progress progress;
    struct lw_error err;
    char done[400], time[200], version[300] = "";
    const int rc = lw_journal_progress(result, &progress, &err);
    const bool is_other = rc == LW_OK && strcmp(progress.version, LW_VERSION " " LW_COMMIT) != 0;
    if (is_other)
        lw_escape(progress.version, "", version, sizeof version);
    if (rc == LW_OK)
        printf("done are %s, of %s: a run %s%s%sgoes on from there\n", lw_escape(progress.done, "", done, sizeof done),
               lw_escape(progress.time, "", time, sizeof time), is_other ? "of lapwing " : "", version,
               is_other ? ", and no other, " : "");
    else if (rc == LW_EIO)
        printf("no checkpoint: a run starts over\n");
    else
        printf("no checkpoint that can be read: --resume never starts over\n");
}

void lw_left_print(const char *part)
{
    char result[PATH_MAX];
    if (!take_ending(part, LW_PART_SUFFIX, result))
        return;
    printf("# %s; ", lw_result_file_is_held(part) ? "a run is writing it" : "nobody is writing it");
    print_journal(result);
}

/* FITS files say it in cards, which are not looked at here. */
static void print_command(const char *part)
{
    struct lw_listing_origin origin = {0};
    struct lw_error damaged;
    char command[8192];
    if (lw_list_check(part, &damaged) == LW_OK && lw_list_origin(part, &origin) && origin.command)
        printf("    %s%s\n", lw_escape(origin.command, "", command, sizeof command),
               strlen(origin.command) >= sizeof command ? " ..." : "");
    lw_list_origin_release(&origin);
}

static void print_left(const char *folder, const char *name)
{
    char part[2 * PATH_MAX], result[PATH_MAX], shown[4 * NAME_MAX];
    snprintf(part, sizeof part, "%s/%s", folder, name);
    if (!take_ending(part, LW_PART_SUFFIX, result))
        return;
    printf("%s\n    ", lw_escape(name, "", shown, sizeof shown));
    if (lw_result_file_is_held(part)) {
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
