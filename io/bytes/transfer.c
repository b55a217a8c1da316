#include "io/bytes/transfer.h"

#include "base/integers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* Linux moves at most 2 GiB less a page in one call, and some file systems count bytes in 32 bits. */
#define CALL_BYTES ((int64_t)1 << 30)

/* Move bytes from a file `into` memory, or `from` memory to a file; the other pointer is NULL. */
static int move(int fd, char *into, const char *from, int64_t offset, int64_t bytes, struct lw_error *err)
{
    for (int64_t done = 0; done < bytes; ) {
        const size_t n = (size_t)lw_min64(bytes - done, CALL_BYTES);
        const ssize_t moved = into ? pread(fd, into + done, n, offset + done) : pwrite(fd, from + done, n, offset + done);
        if (moved < 0 && errno != EINTR)
            return lw_fail(err, LW_EIO, "%s", strerror(errno));
        if (moved == 0)
            return lw_fail(err, LW_EIO, into ? "the file ends at byte %" PRId64 : "nothing can be written at byte %" PRId64,
                           offset + done);
        done += moved > 0 ? moved : 0;
    }
    return LW_OK;
}

int lw_bytes_read(int fd, void *into, int64_t offset, int64_t bytes, struct lw_error *err)
{
    return move(fd, into, NULL, offset, bytes, err);
}

int lw_bytes_read_file(int fd, const char *file, void *into, int64_t offset, int64_t bytes, struct lw_error *err)
{
    struct lw_error reason;
    const int rc = lw_bytes_read(fd, into, offset, bytes, &reason);
    return rc ? lw_fail(err, LW_EIO, "cannot read '%.600s': %.300s", file, reason.message) : LW_OK;
}

int lw_bytes_write(int fd, const void *from, int64_t offset, int64_t bytes, struct lw_error *err)
{
    return move(fd, NULL, from, offset, bytes, err);
}
