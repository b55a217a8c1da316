#include "base/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int lw_standard_open(struct lw_error *err)
{
    /* Standard output is opened for reading, so that a write to it fails, as one to a closed descriptor does. */
    static const int modes[] = {[STDIN_FILENO] = O_RDONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_WRONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)      /* open takes the lowest number that is free */
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
