/* test_transfer.c - tests of transfers from and to a file: all bytes arrive, whatever the system calls return, and errors name
 * their cause. */
#include "../../check.h"
#include "calls.h"
#include "io/bytes/transfer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LENGTH = 10000 };

static int make_file(void)
{
    char path[] = "/tmp/lapwing-transfer-XXXXXX";
    const int fd = mkstemp(path);
    unlink(path);
    return fd;
}

static void check_whole(enum mishap kind, int every)
{
    static char out[LENGTH], in[LENGTH];
    struct lw_error err = {.code = LW_OK};
    const int fd = make_file();
    for (int i = 0; i < LENGTH; i++)
        out[i] = (char)(i * 7 + i / 256);
    mishaps_set(kind, every);
    CHECK(lw_bytes_write(fd, out, 5, LENGTH, &err) == LW_OK, "mishap %d: %s", kind, err.message);
    CHECK(lw_bytes_read(fd, in, 5, LENGTH, &err) == LW_OK, "mishap %d: %s", kind, err.message);
    CHECK(kind == NO_MISHAP || mishaps.seen > 2, "%d calls", mishaps.seen);
    CHECK(memcmp(in, out, LENGTH) == 0, "mishap %d: other bytes", kind);
    CHECK(lseek(fd, 0, SEEK_END) == LENGTH + 5, "%d bytes", (int)lseek(fd, 0, SEEK_END));
    mishaps_set(NO_MISHAP, 1);
    close(fd);
}

static void check_failure(enum mishap kind, const char *read, const char *written)
{
    char buffer[100] = "";
    struct lw_error err;
    const int fd = make_file();
    CHECK(lw_bytes_write(fd, buffer, 0, sizeof buffer, &err) == LW_OK, "%s", err.message);
    mishaps_set(kind, 1);
    CHECK(lw_bytes_read(fd, buffer, 3, 50, &err) == LW_EIO && strcmp(err.message, read) == 0, "%d %s", err.code, err.message);
    CHECK(lw_bytes_write(fd, buffer, 3, 50, &err) == LW_EIO && strcmp(err.message, written) == 0, "%d %s", err.code,
          err.message);
    mishaps_set(NO_MISHAP, 1);
    close(fd);
}

/* The file is cut off between two reads; the first read gets half of the bytes. */
static void check_cut_off(void)
{
    char buffer[100] = "";
    struct lw_error err;
    const int fd = make_file();
    CHECK(ftruncate(fd, 70) == 0, "the file cannot be cut off");
    mishaps_set(SHORT, 2);
    CHECK(lw_bytes_read(fd, buffer, 10, 60, &err) == LW_OK, "%s", err.message);
    CHECK(lw_bytes_read(fd, buffer, 10, 61, &err) == LW_EIO && strcmp(err.message, "the file ends at byte 70") == 0, "%s",
          err.message);
    CHECK(lw_bytes_read(fd, buffer, 200, 0, &err) == LW_OK, "nothing can be read anywhere: %s", err.message);
    mishaps_set(NO_MISHAP, 1);
    close(fd);
}

/* A transfer of more bytes than one call can carry. */
static void check_long(void)
{
    const int64_t bytes = (int64_t)5 << 30;
    struct lw_error err;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *const memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    mishaps_set(PRETENDED, 1);
    CHECK(lw_bytes_read(-1, memory, 7, bytes, &err) == LW_OK && mishaps.seen == 5, "%d reads", mishaps.seen);
    CHECK(lw_bytes_write(-1, memory, 7, bytes, &err) == LW_OK && mishaps.seen == 10, "%d calls", mishaps.seen);
    CHECK(mishaps.longest == (size_t)1 << 30, "%zu bytes in a call", mishaps.longest);
    mishaps_set(NO_MISHAP, 1);
    munmap(memory, (size_t)bytes);
}

int main(void)
{
    check_whole(NO_MISHAP, 1);
    for (int every = 1; every <= 3; every++)
        check_whole(SHORT, every);
    for (int every = 2; every <= 3; every++)
        check_whole(INTERRUPTED, every);
    check_failure(FAULTY, "Input/output error", "Input/output error");
    check_failure(OVER_QUOTA, "Disk quota exceeded", "Disk quota exceeded");
    check_failure(NOTHING, "the file ends at byte 3", "nothing can be written at byte 3");
    check_cut_off();
    check_long();
    return check_result("transfer");
}
