#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_regular(const struct stat *status, char why[96])
{
    if (S_ISREG(status->st_mode))
        return true;
    snprintf(why, 96, "it is a %s, not a file", S_ISDIR(status->st_mode) ? "folder" : "device or pipe");
    return false;
}

/* The type is checked twice: before open, since opening a device may have effects; after open, in case the file was replaced. */
int lw_file_open(const char *path, char why[96])
{
    struct stat status;
    int fd = -1;
    if (stat(path, &status) == 0 && !is_regular(&status, why))
        return -1;
    if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) < 0 || fstat(fd, &status) != 0)
        snprintf(why, 96, "%s", strerror(errno));
    else if (is_regular(&status, why))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

int lw_file_open_input(const char *path, int *fd, struct lw_error *err)
{
    char why[96];
    *fd = lw_file_open(path, why);
    return *fd >= 0 ? LW_OK : lw_fail(err, LW_EIO, "cannot read '%.600s': %s", path, why);
}

/* Some file systems cannot rename without replacing. There an empty file claims the new name, and is then replaced. */
int lw_file_rename_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    const int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    close(fd);
    if (rename(from, to) == 0)
        return 0;
    const int reason = errno;
    unlink(to);
    errno = reason;
    return -1;
}

/* ---- the standard streams -------------------------------------------------------------------------------------------- */

int lw_standard_open(struct lw_error *err)
{
    /* Standard output is opened for reading, so that writing to it fails as if the descriptor were closed. */
    static const int modes[] = {[STDIN_FILENO] = O_RDONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_WRONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)      /* open returns the lowest free number */
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
            return lw_fail(err, LW_ESYSTEM, "descriptor %d is closed and cannot be opened on /dev/null: %s", fd, strerror(errno));
    return LW_OK;
}

int lw_standard_flush(struct lw_error *err)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return LW_OK;
    return lw_fail(err, LW_EIO, "cannot write to standard output: %s; what was printed there is incomplete",
                   strerror(errno ? errno : EIO));
}
