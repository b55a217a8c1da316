#include "io/journal/replace.h"

#include "io/bytes/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

uint64_t lw_replace_checksum(uint64_t start, const void *bytes, int64_t n_bytes)
{
    const unsigned char *const all = bytes;
    for (int64_t i = 0; i < n_bytes; i++)
        start = (start ^ all[i]) * UINT64_C(0x100000001b3);
    return start;
}

static int fail(const char *file, const char *reason, struct lw_error *err)
{
    return lw_fail(err, LW_EIO, "cannot write '%.600s': %.200s", file, reason);
}

static int fill(int fd, const char *file, const struct lw_replace_part *parts, int n_parts, struct lw_error *err)
{
    struct lw_error reason;
    int64_t at = 0;
    for (int p = 0; p < n_parts; at += parts[p++].n_bytes)
        if (lw_bytes_write(fd, parts[p].bytes, at, parts[p].n_bytes, &reason) != LW_OK)
            return fail(file, reason.message, err);
    return fsync(fd) == 0 ? LW_OK : fail(file, strerror(errno), err);
}

/* EINVAL: a file system whose folders need no sync */
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
        return fail(file, strerror(ENAMETOOLONG), err);
    unlink(other);
    const int fd = open(other, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail(file, strerror(errno), err);
    int rc = fill(fd, file, parts, n_parts, err);
    if (close(fd) != 0 && rc == LW_OK)
        rc = fail(file, strerror(errno), err);
    if (rc == LW_OK && rename(other, file) != 0)
        rc = fail(file, strerror(errno), err);
    if (rc) {
        unlink(other);
        return rc;
    }
    return lw_replace_sync_folder(file) ? LW_OK : fail(file, strerror(errno), err);
}
