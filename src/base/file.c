#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
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

/* Asked before it is opened, since opening a device may do something; and after, in case it was replaced meanwhile. */
int lw_file_open(const char *path, char why[96])
{
    struct stat status;
    int fd = -1;
    if (stat(path, &status) == 0 && !is_regular(&status, why))
        return -1;
    if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) < 0 || fstat(fd, &status) != 0) {
        snprintf(why, 96, "%s", strerror(errno));
    } else if (is_regular(&status, why)) {
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}
