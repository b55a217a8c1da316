#include "io/write/result_file.h"

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/journal/journal.h"
#include "io/write/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Suffix of a file that is about to replace another. */
#define NEW_SUFFIX ".new"

/* The longest suffix of a file beside the result. */
#define LONGEST_SUFFIX LW_JOURNAL_SUFFIX NEW_SUFFIX

int lw_result_file_name(struct lw_result_file *result, const char *file, bool overwrite, struct lw_error *err)
{
    *result = (struct lw_result_file){.way = "direct", .overwrite = overwrite, .fd = -1};
    const size_t most = sizeof result->part - sizeof LONGEST_SUFFIX;
    if (strlen(file) > most)
        return lw_fail(err, LW_EIO, "the name of the result, '%.100s...', is longer than %zu characters", file, most);
    snprintf(result->part, sizeof result->part, "%s" LW_PART_SUFFIX, file);
    snprintf(result->name, sizeof result->name, "%s", file);
    return LW_OK;
}

void lw_result_file_beside(const struct lw_result_file *result, const char *suffix, char name[LW_MAX_PATH])
{
    snprintf(name, LW_MAX_PATH, "%.*s%s", (int)(LW_MAX_PATH - sizeof LONGEST_SUFFIX), result->name, suffix);
}

void lw_result_file_forget(const struct lw_result_file *result)
{
    static const char *const suffixes[] = {
        LW_JOURNAL_SUFFIX, LW_UNDO_SUFFIX, LW_ROWS_SUFFIX,
        LW_JOURNAL_SUFFIX NEW_SUFFIX, LW_UNDO_SUFFIX NEW_SUFFIX, LW_PART_SUFFIX NEW_SUFFIX,
    };
    for (size_t s = 0; s < sizeof suffixes / sizeof *suffixes; s++) {
        char name[LW_MAX_PATH];
        lw_result_file_beside(result, suffixes[s], name);
        unlink(name);
    }
}

/* ---- the final name ------------------------------------------------------------------------------------------------ */

/* Check the final name. A link there counts as an existing file, even if it points nowhere, because a rename replaces the link. */
static int check_name(const struct lw_result_file *result, struct lw_error *err)
{
    struct stat status;
    if (lstat(result->name, &status) != 0)
        return errno == ENOENT ? LW_OK : lw_fail(err, LW_EIO, "cannot write '%s': %s", result->name, strerror(errno));
    if (!result->overwrite && S_ISLNK(status.st_mode))
        return lw_fail(err, LW_EIO, "'%s' exists, as a link: give --overwrite to replace it, or another name", result->name);
    const bool is_there = stat(result->name, &status) == 0;
    if (!is_there && errno != ENOENT)       /* such as a link to itself; a link to nothing is replaced */
        return lw_fail(err, LW_EIO, "cannot write '%s': %s", result->name, strerror(errno));
    if (is_there && !S_ISREG(status.st_mode))
        return lw_fail(err, LW_EIO, "cannot write '%s': it is a %s", result->name,
                       S_ISDIR(status.st_mode) ? "folder; give a file in it" : "device or pipe");
    if (!result->overwrite)
        return lw_fail(err, LW_EIO, "'%s' exists: give --overwrite to replace it, or another name", result->name);
    return LW_OK;
}

int lw_result_file_check(const struct lw_result_file *result, struct lw_error *err)
{
    const int rc = check_name(result, err);
    if (rc)
        return rc;
    char copy[LW_MAX_PATH];
    snprintf(copy, sizeof copy, "%s", result->name);
    if (access(dirname(copy), W_OK | X_OK) != 0)
        return lw_fail(err, LW_EIO, "cannot write '%s' in its folder: %s", result->name, strerror(errno));
    return LW_OK;
}

/* ---- claim --------------------------------------------------------------------------------------------------------- */

/* Return whether the temporary name still belongs to the open file. */
static bool bears_name(const struct lw_result_file *result)
{
    struct stat mine, there;
    return fstat(result->fd, &mine) == 0 && lstat(result->part, &there) == 0 && mine.st_dev == there.st_dev &&
           mine.st_ino == there.st_ino;
}

/* Refuse an existing temporary file unless a run of the same user can have left it. */
static int check_leftover(const struct lw_result_file *result, struct lw_error *err)
{
    struct stat status;
    const char *trouble = NULL;
    if (fstat(result->fd, &status) != 0)
        trouble = strerror(errno);
    else if (!S_ISREG(status.st_mode))
        trouble = "it is no plain file; remove it";
    else if (status.st_uid != geteuid())
        trouble = "it belongs to another user; remove it, or give another --output";
    else if (status.st_nlink > 1)
        trouble = "it is a hard link to another file; remove it";
    return trouble ? lw_fail(err, LW_EIO, "cannot write '%s': %s", result->part, trouble) : LW_OK;
}

static int fail_open(const struct lw_result_file *result, struct lw_error *err)
{
    return lw_fail(err, LW_EIO, "cannot write '%s': %s", result->part,
                   errno == ELOOP ? "it is a symbolic link; remove it" : strerror(errno));
}

enum { OPEN_FLAGS = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };

/* Open the temporary file without following links; create it unless it is resumed. If an existing file vanishes, `fd` stays -1. */
static int open_part(struct lw_result_file *result, struct lw_error *err)
{
    if (!result->is_resumed) {
        result->fd = open(result->part, OPEN_FLAGS | O_CREAT | O_EXCL, 0666);
        if (result->fd >= 0)
            return LW_OK;
        if (errno != EEXIST)
            return fail_open(result, err);
    }
    result->fd = open(result->part, OPEN_FLAGS);
    if (result->fd < 0)
        return errno == ENOENT && !result->is_resumed ? LW_OK : fail_open(result, err);
    return check_leftover(result, err);
}

bool lw_result_file_is_held(const char *part)
{
    const int fd = open(part, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const bool is_held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    return is_held;
}

/* Open and lock the temporary file. Another run may rename it between open and lock; then the lock is on a file without the
 * name, and a further attempt is made. */
static int hold_part(struct lw_result_file *result, struct lw_error *err)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        int rc;
        if ((rc = check_name(result, err)) == LW_OK && (rc = open_part(result, err)) == LW_OK && result->fd >= 0 &&
            flock(result->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
            rc = lw_fail(err, LW_EIO, "another run is writing '%s' (it holds '%s')", result->name, result->part);
        if (rc) {
            lw_result_file_leave(result);
            return rc;
        }
        if (result->fd >= 0 && bears_name(result))
            return LW_OK;
        lw_result_file_leave(result);
    }
    return lw_fail(err, LW_EIO, "cannot write '%s': other programs create and delete it all the time", result->part);
}

int lw_result_file_mark(const struct lw_result_file *result, uint64_t *mark, struct lw_error *err)
{
    unsigned char bytes[LW_MARKED_BYTES];
    const ssize_t length = pread(result->fd, bytes, sizeof bytes, 0);
    if (length < 0)
        return lw_fail(err, LW_EIO, "cannot read '%s': %s", result->part, strerror(errno));
    *mark = lw_replace_checksum(LW_CHECKSUM_START, bytes, length);
    return LW_OK;
}

int lw_result_file_join(struct lw_result_file *result, uint64_t mark, struct lw_error *err)
{
    uint64_t here;
    result->fd = open(result->part, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (result->fd < 0)
        return lw_fail(err, LW_EIO, "cannot write '%s' here (%s): all ranks need it, on a file system that their nodes share",
                       result->part, strerror(errno));
    const int rc = lw_result_file_mark(result, &here, err);
    if (rc || here == mark)
        return rc;
    return lw_fail(err, LW_EIO, "'%s' is another file here than for rank 0: all ranks need one, on a file system that their nodes "
                   "share", result->part);
}

static int64_t free_bytes(int fd)
{
    struct statvfs disk;
    return fstatvfs(fd, &disk) == 0 ? (int64_t)(disk.f_bavail * disk.f_frsize) : INT64_MAX;
}

/* Return the bytes that the file still needs on disk until its first `bytes` are allocated. */
static int64_t missing_bytes(int fd, int64_t bytes)
{
    struct stat status;
    return fstat(fd, &status) == 0 ? bytes - status.st_blocks * 512 : bytes;
}

static int fail_room(const struct lw_result_file *result, int64_t bytes, const char *why, struct lw_error *err)
{
    char needed[24], there[24];
    return lw_fail(err, LW_EIO, "no room for '%s': it needs %s (%" PRId64 " bytes), but %s are free: %s; free some, or write to "
                   "another disk", result->name, lw_bytes_text(bytes, needed), bytes,
                   lw_bytes_text(free_bytes(result->fd), there), why);
}

static int check_room(const struct lw_result_file *result, int64_t bytes, struct lw_error *err)
{
    char needed[24], limit_text[24];
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && (rlim_t)bytes > limit.rlim_cur)
        return lw_fail(err, LW_EIO, "no room for '%s': it needs %s (%" PRId64 " bytes), but files may have %s at most; raise "
                       "the limit with ulimit -f", result->name, lw_bytes_text(bytes, needed), bytes,
                       lw_bytes_text((int64_t)limit.rlim_cur, limit_text));
    if (free_bytes(result->fd) < missing_bytes(result->fd, bytes))
        return fail_room(result, bytes, strerror(ENOSPC), err);
    return LW_OK;
}

static void end_new(struct lw_result_file *result)
{
    result->is_new = false;
    result->part[strlen(result->part) - strlen(NEW_SUFFIX)] = '\0';
}

int lw_result_file_place(struct lw_result_file *result, struct lw_error *err)
{
    char name[LW_MAX_PATH];
    if (!result->is_new)
        return LW_OK;
    lw_result_file_beside(result, LW_PART_SUFFIX, name);
    if (rename(result->part, name) != 0)
        return lw_fail(err, LW_EIO, "cannot rename '%s' to '%s': %s", result->part, name, strerror(errno));
    close(result->old_fd);
    end_new(result);
    return LW_OK;
}

int lw_result_file_claim(struct lw_result_file *result, int64_t bytes, struct lw_error *err)
{
    int rc = hold_part(result, err);
    if (rc)
        return rc;
    rc = check_name(result, err);       /* another run may have taken the name before the lock */
    if (rc == LW_OK && result->is_kept) {       /* claim another name; the file with the temporary name stays locked */
        result->is_new = true;
        result->old_fd = result->fd;
        result->fd = -1;
        lw_append(result->part, sizeof result->part, "%s", NEW_SUFFIX);
        rc = hold_part(result, err);
    } else if (rc == LW_OK) {
        lw_result_file_forget(result);          /* they describe the old contents, so they go before the contents */
    }
    if (rc == LW_OK && ftruncate(result->fd, 0) != 0)
        rc = lw_fail(err, LW_EIO, "cannot write '%s': %s", result->part, strerror(errno));
    rc = rc ? rc : check_room(result, bytes, err);
    if (rc)
        lw_result_file_discard(result);
    return rc;
}

int lw_result_file_resume(struct lw_result_file *result, struct lw_error *err)
{
    result->is_resumed = result->is_kept = true;
    return hold_part(result, err);
}

/* ---- reserve ------------------------------------------------------------------------------------------------------- */

/* Reserving a page of a RAM disk means zeroing it, which takes as long as writing it; so only the free space is checked. */
int lw_result_file_reserve(const struct lw_result_file *result, int64_t bytes, struct lw_error *err)
{
    struct statfs disk;
    if (fstatfs(result->fd, &disk) == 0 && disk.f_type == TMPFS_MAGIC)
        return check_room(result, bytes, err);
    while (bytes > 0 && fallocate(result->fd, 0, 0, bytes) != 0) {
        char needed[24], there[24];
        switch (errno) {
        case EINTR:
            continue;
        case EOPNOTSUPP:        /* posix_fallocate would write every block instead */
        case ENOSYS:
            if (free_bytes(result->fd) < missing_bytes(result->fd, bytes))
                lw_log_warn("'%s' needs %s, but %s are free, and this file system cannot reserve space", result->name,
                            lw_bytes_text(bytes, needed), lw_bytes_text(free_bytes(result->fd), there));
            return LW_OK;
        default:
            return fail_room(result, bytes, strerror(errno), err);
        }
    }
    return LW_OK;
}

/* ---- publish ------------------------------------------------------------------------------------------------------- */

/* Another file that has taken the final name since the claim is kept, unless --overwrite is given. */
int lw_result_file_publish(struct lw_result_file *result, struct lw_error *err)
{
    if (fsync(result->fd) != 0)
        return lw_fail(err, LW_EIO, "cannot write '%s' to disk: %s", result->part, strerror(errno));
    if (!bears_name(result))
        return lw_fail(err, LW_EIO, "'%s' was deleted or replaced while it was written: the result is lost; run again",
                       result->part);
    const int cause = (result->overwrite ? rename : lw_file_rename_new)(result->part, result->name) == 0 ? 0 : errno;
    lw_result_file_leave(result);
    if (cause)
        return lw_fail(err, LW_EIO, "the result is complete but cannot be renamed to '%s' (%s): it stays as '%s'",
                       result->name, strerror(cause), result->part);
    if (!lw_replace_sync_folder(result->name))      /* only a power failure could still undo the renaming */
        lw_log_warn("cannot sync the folder of '%s': %s", result->name, strerror(errno));
    return LW_OK;
}

void lw_result_file_discard(struct lw_result_file *result)
{
    if (result->is_new) {
        if (result->fd >= 0 && bears_name(result))
            unlink(result->part);
        lw_result_file_leave(result);
        result->fd = result->old_fd;
        end_new(result);
    }
    if (result->fd >= 0 && !result->is_kept && bears_name(result)) {
        unlink(result->part);
        lw_result_file_forget(result);
    }
    lw_result_file_leave(result);
}

void lw_result_file_leave(struct lw_result_file *result)
{
    if (result->fd >= 0)
        close(result->fd);
    result->fd = -1;
}
