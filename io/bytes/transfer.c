#include "io/bytes/transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

int lw_bytes_read(int fd, void *into, int64_t offset, int64_t bytes, struct lw_error *err)
{
    for (int64_t done = 0; done < bytes;) {
        const ssize_t n = pread(fd, (char *)into + done, (size_t)(bytes - done), offset + done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return lw_fail(err, LW_EIO, "%s", strerror(errno));
        if (n == 0)
            return lw_fail(err, LW_EIO, "the file ends at byte %" PRId64, offset + done);
        done += n;
    }
    return LW_OK;
}
