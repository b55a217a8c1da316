/* undo.c - fuzz target of undo files, whole or damaged: the parts of a result that are kept while it is completed. The first byte
 * selects whether the file gets a correct checksum. */
#include "target.h"

#include "io/journal/journal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES = 4096, MOST_BYTES = 1 << 16 };

static const char *store(const uint8_t *data, size_t size, bool is_summed)
{
    static char name[300];
    static uint8_t bytes[MOST_BYTES];
    const char *const folder = getenv("TMPDIR");
    snprintf(name, sizeof name, "%.200s/lapwing-fuzz-undo-%d", folder ? folder : "/dev/shm", (int)getpid());
    size = size < sizeof bytes ? size : sizeof bytes;
    memcpy(bytes, data, size);
    if (is_summed && size >= sizeof(uint64_t)) {
        const uint64_t sum = lw_replace_checksum(LW_CHECKSUM_START, bytes, (int64_t)(size - sizeof sum));
        memcpy(bytes + size - sizeof sum, &sum, sizeof sum);
    }
    const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && close(fd) == 0, "%s is written", name);
    return name;
}

/* Check that a refused undo file changes nothing, and that an accepted one is gone. */
static void check(int fd, const char *undo, int rc, const struct lw_error *err, const char before[FILE_BYTES])
{
    char now[FILE_BYTES];
    REQUIRE(rc == LW_OK || ((rc == LW_EDATA || rc == LW_EIO) && err->message[0]), "code %d: %s", rc, err->message);
    REQUIRE((access(undo, F_OK) == 0) == (rc != LW_OK), "code %d", rc);
    if (rc == LW_EDATA)
        REQUIRE(pread(fd, now, sizeof now, 0) == FILE_BYTES && memcmp(now, before, sizeof now) == 0, "%s", err->message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char before[FILE_BYTES];
    struct lw_error err = {0};
    if (size == 0)
        return 0;
    const int fd = memfd_create("result", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && write(fd, before, sizeof before) == FILE_BYTES, "the result is written");
    const char *const undo = store(data + 1, size - 1, data[0] % 2);
    const int rc = lw_undo_apply(fd, undo, &err);
    check(fd, undo, rc, &err, before);
    unlink(undo);
    close(fd);
    return 0;
}
