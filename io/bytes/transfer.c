#include "io/bytes/transfer.h"

#include "base/integers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* Linux moves 2 GiB less a page at most in a call, and some file systems count in 32 bits. */
#define CALL_BYTES ((int64_t)1 << 30)

int lw_bytes_read(int fd, void *into, int64_t offset, int64_t bytes, struct lw_error *err)
{
    char *to = into;
    while (bytes > 0) {
        const ssize_t n = pread(fd, to, (size_t)lw_min64(bytes, CALL_BYTES), offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return lw_fail(err, LW_EIO, "%s", strerror(errno));
        if (n == 0)
            return lw_fail(err, LW_EIO, "the file ends at byte %" PRId64, offset);
        to += n;
        offset += n;
        bytes -= n;
    }
    return LW_OK;
}

int lw_bytes_read_file(int fd, const char *file, void *into, int64_t offset, int64_t bytes, struct lw_error *err)
{
    struct lw_error reason;
    const int rc = lw_bytes_read(fd, into, offset, bytes, &reason);
    return rc ? lw_fail(err, LW_EIO, "cannot read '%.600s': %.300s", file, reason.message) : LW_OK;
}

int lw_bytes_write(int fd, const void *from, int64_t offset, int64_t bytes, struct lw_error *err)
{
    const char *rest = from;
    while (bytes > 0) {
        const ssize_t n = pwrite(fd, rest, (size_t)lw_min64(bytes, CALL_BYTES), offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return lw_fail(err, LW_EIO, "%s", strerror(errno));
        if (n == 0)
            return lw_fail(err, LW_EIO, "nothing can be written at byte %" PRId64, offset);
        rest += n;
        offset += n;
        bytes -= n;
    }
    return LW_OK;
}
