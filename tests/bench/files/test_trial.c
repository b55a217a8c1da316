/* test_trial.c - tests of trials: a trial moves each requested byte once and in the given time, leaves no file behind, and
 * reports errors. */
#include "../../check.h"
#include "base/log.h"
#include "calls.h"
#include "io/bytes/transfer.h"
#include "trial.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB ((int64_t)1 << 20)

static struct lw_pool *pool;
static char folder[] = "/tmp/lapwing-trial-XXXXXX";

static int n_entries(void)
{
    int n = 0;
    DIR *const entries = opendir(folder);
    while (readdir(entries))
        n++;
    closedir(entries);
    return n - 2;
}

static int make_file(int64_t bytes)
{
    struct lw_error err;
    int fd = -1;
    CHECK(lw_trial_file(folder, bytes, &fd, &err) == LW_OK, "%s", err.message);
    CHECK(lseek(fd, 0, SEEK_END) == bytes, "%d bytes", (int)lseek(fd, 0, SEEK_END));
    return fd;
}

/* Check that the bytes of a trial's file are ones where they were written. */
static void check_content(int fd, int64_t bytes)
{
    char *const content = mmap(NULL, (size_t)bytes + 1, PROT_READ, MAP_SHARED, fd, 0);
    int64_t n_written = 0;
    while (n_written <= bytes && content[n_written] == 1)
        n_written++;
    CHECK(n_written == bytes, "%d bytes of %d", (int)n_written, (int)bytes);
    munmap(content, (size_t)bytes + 1);
}

/* A trial writes every byte once, and given enough time reads the whole file. */
static void check_whole(int n_threads, int64_t bytes)
{
    struct lw_error err;
    const struct lw_trial trial = {pool, n_threads, bytes, 60};
    double written = 0, read = 0, pages = 0;
    const int fd = make_file(bytes + 1);
    const double start = lw_now();
    CHECK(lw_trial_write(&trial, fd, LW_STORE_WRITE, true, &written, &err) == LW_OK, "%s", err.message);
    const double seconds = lw_now() - start;
    CHECK(written >= (double)bytes / seconds, "%g B/s, %g s", written, seconds);
    check_content(fd, bytes);
    CHECK(lw_trial_read(&trial, fd, &read, &err) == LW_OK && read > 0, "%s", err.message);
    CHECK(lw_trial_read_pages(&trial, fd, &pages, &err) == LW_OK && pages > 0, "%s", err.message);
    close(fd);
}

/* A trial reads each piece of a file once. */
static void check_order(int64_t bytes)
{
    struct lw_error err;
    const struct lw_trial trial = {pool, 2, bytes, 60};
    double rate = 0;
    const int fd = make_file(bytes);
    mishaps_set(PRETENDED, 1);
    mishaps.seen_at = calloc((size_t)(bytes / MIB) + 1, 1);
    CHECK(lw_trial_read(&trial, fd, &rate, &err) == LW_OK, "%s", err.message);
    int wrong = 0;
    for (int64_t i = 0; i < bytes; i += 4 * MIB)
        wrong += mishaps.seen_at[i / MIB] != 1;
    CHECK(wrong == 0, "%d of %d pieces are not read once", wrong, (int)(bytes / MIB / 4));
    free(mishaps.seen_at);
    mishaps_set(NO_MISHAP, 1);
    close(fd);
}

static void check_new(enum lw_store_way way)
{
    struct lw_error err;
    const struct lw_trial trial = {pool, 2, 9 * MIB, 60};
    double rate = 0;
    CHECK(lw_trial_write_new(&trial, folder, way, &rate, &err) == LW_OK && rate > 0, "%s: %s", lw_store_way_text(way),
          err.message);
    CHECK(n_entries() == 0, "%d files are left", n_entries());
}

/* A trial bypasses the page cache if the file system allows it; procfs never does. */
static void check_direct(int64_t bytes)
{
    struct lw_error err = {.code = LW_OK};
    const struct lw_trial trial = {pool, 2, bytes, 60};
    double rate = -1;
    const int fd = make_file(bytes + 1), direct = lw_trial_open_direct(fd), proc = open("/proc/self/stat", O_RDONLY);
    CHECK(lw_trial_write_direct(&trial, fd, &rate, &err) == LW_OK && (rate > 0) == (direct >= 0), "%g B/s: %s", rate,
          err.message);
    check_content(fd, direct >= 0 ? bytes : 0);
    CHECK(lw_trial_write_direct(&trial, proc, &rate, &err) == LW_OK && rate == 0, "%g B/s to procfs", rate);
    close(proc);
    if (direct >= 0)
        close(direct);
    close(fd);
}

/* A trial of more bytes than it can move ends when its time is over. */
static void check_time(void)
{
    struct lw_error err;
    const struct lw_trial trial = {pool, 2, (int64_t)1 << 40, 0.2};
    double rate = 0;
    const int fd = make_file(5 * MIB);
    const double start = lw_now();
    CHECK(lw_trial_read_pages(&trial, fd, &rate, &err) == LW_OK && rate > 0, "%s", err.message);
    const double seconds = lw_now() - start;
    CHECK(seconds > 0.19 && seconds < 5, "%g s", seconds);
    close(fd);
}

static void check_failures(void)
{
    struct lw_error err;
    const struct lw_trial trial = {pool, 2, 5 * MIB, 60};
    double rate = -1;
    const int fd = make_file(5 * MIB), empty = make_file(1);
    CHECK(ftruncate(empty, 0) == 0, "the file cannot be emptied");
    CHECK(lw_trial_read(&trial, empty, &rate, &err) == LW_OK && rate == 0, "%g B/s from nothing", rate);
    CHECK(lw_trial_read_pages(&trial, empty, &rate, &err) == LW_OK && rate == 0, "%g reads/s from nothing", rate);
    CHECK(lw_trial_read(&trial, -1, &rate, &err) == LW_EIO && strcmp(err.message, "Bad file descriptor") == 0, "%s",
          err.message);
    CHECK(lw_trial_write_new(&trial, "/tmp/none", LW_STORE_WRITE, &rate, &err) == LW_EIO, "a missing folder is no error");
    CHECK(strcmp(err.message, "No such file or directory") == 0, "%s", err.message);
    mishaps_set(FAULTY, 1);
    CHECK(lw_trial_read(&trial, fd, &rate, &err) == LW_EIO && strcmp(err.message, "Input/output error") == 0, "%s",
          err.message);
    CHECK(lw_trial_write_new(&trial, folder, LW_STORE_WRITE, &rate, &err) == LW_EIO, "a failed write is no error");
    mishaps_set(NO_MISHAP, 1);
    close(empty);
    close(fd);
}

int main(void)
{
    struct lw_error err;
    CHECK(mkdtemp(folder) && lw_pool_create(4, &pool, &err) == LW_OK, "%s", folder);
    for (int n_threads = 1; n_threads <= 4; n_threads++) {
        check_whole(n_threads, 1);
        check_whole(n_threads, 4 * MIB);
        check_whole(n_threads, 9 * MIB + 5);
    }
    for (int64_t mib = 4; mib <= 800; mib = mib * 5 / 4 + 1)
        check_order(mib * MIB);
    check_new(LW_STORE_WRITE);
    check_new(LW_STORE_MAP);
    check_direct(9 * MIB + 4096 + 5);
    check_direct(100);
    check_time();
    check_failures();
    CHECK(lw_trial_bytes(2) > lw_trial_bytes(1), "each thread has memory of its own");
    CHECK(n_entries() == 0, "%d files are left", n_entries());
    lw_pool_destroy(pool);
    rmdir(folder);
    return check_result("trial");
}
