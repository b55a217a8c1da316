/* test_sampling.c - tests of the costs of scattered reads against their definition, up to extreme values; and of the trial that
 * measures them: its numbers have the right order of magnitude for any part and any number of threads, and it reports a file that
 * is cut off. */
#include "base/log.h"
#include "io/bytes/scatter.h"

#include "../check.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((int64_t)1 << 20)

static void check_costs(void)
{
    const struct lw_bytes_pace even = {.bytes_per_s = 4e9, .reads_per_s = 1e6};
    CHECK(lw_bytes_gap(&even) == 4000, "%" PRId64, lw_bytes_gap(&even));
    CHECK(lw_bytes_seconds(&even, 1000000, 4000000000) == 2, "%g s", lw_bytes_seconds(&even, 1000000, 4000000000));
    const struct lw_bytes_pace free_reads = {.bytes_per_s = 1e9, .reads_per_s = 1e30};
    CHECK(lw_bytes_gap(&free_reads) == 0, "reads cost nothing: %" PRId64, lw_bytes_gap(&free_reads));
    const struct lw_bytes_pace free_bytes = {.bytes_per_s = 1e30, .reads_per_s = 1e-3};
    CHECK(lw_bytes_gap(&free_bytes) == (int64_t)1 << 60, "bytes cost nothing: %" PRId64, lw_bytes_gap(&free_bytes));
    CHECK(!lw_bytes_assumed_pace.is_measured && lw_bytes_gap(&lw_bytes_assumed_pace) == 250000, "assumed: %" PRId64,
          lw_bytes_gap(&lw_bytes_assumed_pace));
}

static int make_file(char *name, int64_t bytes)
{
    const char *const parent = getenv("TMPDIR");
    snprintf(name, 256, "%s/lapwing-sampling-XXXXXX", parent ? parent : "/tmp");
    const int fd = mkstemp(name);
    char *const data = malloc((size_t)bytes);
    memset(data, 1, (size_t)bytes);
    CHECK(fd >= 0 && write(fd, data, (size_t)bytes) == bytes, "cannot write %s", name);
    free(data);
    return fd;
}

static void check_trial(int fd, int n_threads, int64_t bytes, int64_t read_bytes)
{
    const struct lw_bytes_part part = {.fd = fd, .offset = 123, .bytes = bytes - 123, .read_bytes = read_bytes};
    struct lw_bytes_pace pace = {.bytes_per_s = -1};
    struct lw_pool *pool = NULL;
    struct lw_error err = {.code = LW_OK};
    CHECK(lw_pool_create(n_threads, &pool, &err) == LW_OK, "%s", err.message);
    const double start = lw_now();
    CHECK(lw_bytes_try(pool, &part, &pace, &err) == LW_OK, "%s", err.message);
    CHECK(lw_now() - start < 2, "the trial took %g s", lw_now() - start);
    CHECK(pace.is_measured, "the pace is not marked as measured");
    /* the limits include a crowded disk and the fastest memory */
    CHECK(pace.bytes_per_s > 1e5 && pace.bytes_per_s < 1e13, "%g B/s", pace.bytes_per_s);
    CHECK(pace.reads_per_s > 1 && pace.reads_per_s < 1e9, "%g reads/s", pace.reads_per_s);
    /* the last places are now beyond the end of the file */
    struct lw_bytes_pace unchanged = {.bytes_per_s = -1};
    const struct lw_bytes_part longer = {.fd = fd, .offset = bytes, .bytes = bytes, .read_bytes = read_bytes};
    CHECK(lw_bytes_try(pool, &longer, &unchanged, &err) == LW_EIO && strstr(err.message, "the file ends at byte"),
          "beyond the end: %s", err.message);
    CHECK(unchanged.bytes_per_s == -1, "a failed trial changed the pace");
    lw_pool_destroy(pool);
}

int main(void)
{
    char name[256];
    const int64_t bytes = LW_BYTES_LEAST_TRIAL + 123;
    const int fd = make_file(name, bytes);
    static const int threads[] = {1, 3, 16, 64};
    for (int t = 0; t < 4; t++) {
        check_trial(fd, threads[t], bytes, 16);
        check_trial(fd, threads[t], bytes, MIB);
    }
    check_costs();
    close(fd);
    unlink(name);
    return check_result("sampling");
}
