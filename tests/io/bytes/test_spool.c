/* test_spool.c - tests of spools. Rows come back sorted, equal rows in the order of their arrival, for any order of arrival and
 * any number of rows: in memory, in one run of a file, and in runs that are merged in one, two or three steps. A failure of the
 * file is an error that names the folder. */
#include "../../check.h"
#include "base/integers.h"
#include "calls.h"
#include "io/bytes/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* HALF: rows of a run, which are half of the spool's memory. STEP: rows that one step of merging makes one run of. */
enum { HALF = 66, STEP = HALF * LW_MERGE_MOST, MOST = STEP * LW_MERGE_MOST + 1 };

struct row {
    int64_t key, number;        /* `number` counts the rows in the order of their arrival */
};

static struct row *rows, *sorted;       /* [MOST] */
static char folder[] = "/tmp/lapwing-spool-XXXXXX";

static int by_key(const void *left, const void *right)
{
    const struct row *const a = left, *const b = right;
    return (a->key > b->key) - (a->key < b->key);
}

static int by_key_and_number(const void *left, const void *right)
{
    const struct row *const a = left, *const b = right;
    const int order = by_key(a, b);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

/* ---- calls that may fail ---------------------------------------------------------------------------------------------- */

static bool needs_names;        /* whether the file system can make files only with a name */
static int sync_errno;          /* error of each fdatasync; 0: success */

int __real_open(const char *path, int flags, ...);
int __real_fdatasync(int fd);
int __wrap_open(const char *path, int flags, ...);
int __wrap_fdatasync(int fd);

int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    errno = EOPNOTSUPP;
    return needs_names && (flags & O_TMPFILE) == O_TMPFILE ? -1 : __real_open(path, flags, mode);
}

int __wrap_fdatasync(int fd)
{
    errno = sync_errno;
    return sync_errno ? -1 : __real_fdatasync(fd);
}

/* ---- orders in which rows come ------------------------------------------------------------------------------------------ */

enum order { RANDOM, ASCENDING, DESCENDING, EQUAL, NEARLY, N_ORDERS };
static const char *const order_names[] = {"random", "ascending", "descending", "equal", "nearly ascending"};

static int64_t key(enum order order, int64_t i, int64_t n)
{
    const int64_t hash = (int64_t)(((uint64_t)i * 0x9e3779b97f4a7c15u) >> 33);
    switch (order) {
    case RANDOM: return hash % (n / 2 + 1) - n / 4;         /* most keys occur several times */
    case ASCENDING: return i / 3;
    case DESCENDING: return -i / 3;
    case NEARLY: return i + hash % 200;
    default: return 7;
    }
}

static void make_rows(enum order order, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sorted[i] = rows[i] = (struct row){key(order, i, n), i};
    qsort(sorted, (size_t)n, sizeof *sorted, by_key_and_number);
}

/* ---- a spool's life ----------------------------------------------------------------------------------------------------- */

static struct lw_spool *open_spool(const char *where)
{
    const struct lw_spool_spec spec = {.row = {sizeof *rows, by_key}, .name = "/table", .folder = where,
                                       .memory_bytes = 2 * HALF * (int64_t)sizeof *rows};
    struct lw_spool *spool = NULL;
    struct lw_error err;
    CHECK(lw_spool_create(&spec, &spool, &err) == LW_OK, "%s", err.message);
    return spool;
}

static int append_all(struct lw_spool *spool, int64_t n, int64_t at_a_time, struct lw_error *err)
{
    int rc = LW_OK;
    for (int64_t first = 0; first < n && rc == LW_OK; first += at_a_time)
        rc = lw_spool_append(spool, rows + first, lw_min64(at_a_time, n - first), err);
    return rc;
}

/* @param n_wrong number of rows that differ from `sorted`, are missing or are too many */
static int take_all(struct lw_spool *spool, int64_t n, int64_t *n_wrong, struct lw_error *err)
{
    const void *some;
    int64_t taken = 0, count = 0;
    int rc = lw_spool_sort(spool, err);
    *n_wrong = 0;
    while (rc == LW_OK && (rc = lw_spool_next(spool, &some, &count, err)) == LW_OK && count > 0) {
        const int64_t known = lw_min64(count, n - taken);
        *n_wrong += count - known + (memcmp(some, sorted + taken, (size_t)known * sizeof *sorted) != 0);
        taken += known;
    }
    *n_wrong += n - taken;
    return rc;
}

static int spool_all(struct lw_spool *spool, int64_t n, int64_t at_a_time, int64_t *n_wrong, struct lw_error *err)
{
    const int rc = append_all(spool, n, at_a_time, err);
    return rc ? rc : take_all(spool, n, n_wrong, err);
}

static void check_rows(enum order order, int64_t n, int64_t at_a_time)
{
    struct lw_error err = {.code = LW_OK};
    int64_t n_wrong = -1;
    struct lw_spool *const spool = open_spool(folder);
    make_rows(order, n);
    CHECK(spool_all(spool, n, at_a_time, &n_wrong, &err) == LW_OK && n_wrong == 0, "%d rows, %s: %d wrong, %s", (int)n,
          order_names[order], (int)n_wrong, err.message);
    CHECK(lw_spool_rows(spool) == n, "%d rows, not %d", (int)lw_spool_rows(spool), (int)n);
    const void *some;
    int64_t count = -1;
    CHECK(lw_spool_next(spool, &some, &count, &err) == LW_OK && count == 0, "%d rows behind the end", (int)count);
    lw_spool_destroy(spool);
}

static void check_orders(void)
{
    static const int64_t counts[] = {0, 1, 2, 3, HALF - 1, HALF, HALF + 1, 2 * HALF, 2 * HALF + 1, 1000, STEP - 1, STEP, STEP + 1,
                                     5 * STEP + 17};
    for (int order = 0; order < N_ORDERS; order++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            check_rows((enum order)order, counts[c], 1);
            check_rows((enum order)order, counts[c], 29);
            check_rows((enum order)order, counts[c], 3 * HALF);
        }
    check_rows(RANDOM, MOST, 1000);
}

/* ---- the file ----------------------------------------------------------------------------------------------------------- */

static int count_names(void)
{
    int n = 0;
    DIR *const opened = opendir(folder);
    while (opened && readdir(opened))
        n++;
    closedir(opened);
    return n - 2;
}

static void check_without_name(bool names)
{
    struct lw_error err = {.code = LW_OK};
    int64_t n_wrong = -1;
    struct lw_spool *const spool = open_spool(folder);
    needs_names = names;
    make_rows(RANDOM, STEP);
    CHECK(append_all(spool, STEP, STEP, &err) == LW_OK, "%s", err.message);
    CHECK(count_names() == 0, "%d names in the folder", count_names());
    CHECK(take_all(spool, STEP, &n_wrong, &err) == LW_OK && n_wrong == 0, "%d wrong, %s", (int)n_wrong, err.message);
    needs_names = false;
    lw_spool_destroy(spool);
}

/* Rows that fit into memory need no folder; more rows do. */
static void check_memory(void)
{
    struct lw_error err = {.code = LW_OK};
    int64_t n_wrong = -1;
    make_rows(DESCENDING, HALF + 1);
    struct lw_spool *spool = open_spool("/nowhere/at/all");
    CHECK(append_all(spool, HALF + 1, 1, &err) == LW_EIO && strstr(err.message, "rows of /table") &&
              strstr(err.message, "'/nowhere/at/all': No such file or directory"), "%s", err.message);
    lw_spool_destroy(spool);
    spool = open_spool("/nowhere/at/all");
    make_rows(DESCENDING, HALF);
    CHECK(spool_all(spool, HALF, 1, &n_wrong, &err) == LW_OK && n_wrong == 0, "%d wrong, %s", (int)n_wrong, err.message);
    lw_spool_destroy(spool);
    lw_spool_destroy(NULL);
}

/* Rows that arrive in order are written once. Rows in another order, if there are so many that merging takes two steps, are
 * written twice. */
static void check_length(enum order order, int code)
{
    struct lw_error err = {.code = LW_OK};
    struct rlimit before, limit;
    int64_t n_wrong = -1;
    struct lw_spool *const spool = open_spool(folder);
    make_rows(order, STEP + 1);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = (STEP + 1) * sizeof *rows;
    setrlimit(RLIMIT_FSIZE, &limit);
    const int rc = spool_all(spool, STEP + 1, 100, &n_wrong, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(rc == code && (rc || n_wrong == 0), "%s: %d, %d wrong, %s", order_names[order], rc, (int)n_wrong, err.message);
    CHECK(rc == LW_OK || (strstr(err.message, folder) && strstr(err.message, "File too large")), "%s", err.message);
    lw_spool_destroy(spool);
}

/* ---- calls that fail ---------------------------------------------------------------------------------------------------- */

static void check_mishap(enum mishap mishap, int every, bool survives, const char *reason)
{
    struct lw_error err = {.code = LW_OK};
    int64_t n_wrong = -1;
    struct lw_spool *const spool = open_spool(folder);
    make_rows(RANDOM, STEP + 1);
    mishaps_set(mishap, every);
    const int rc = spool_all(spool, STEP + 1, 100, &n_wrong, &err);
    mishaps_set(NO_MISHAP, 0);
    CHECK(rc == (survives ? LW_OK : LW_EIO) && (rc || n_wrong == 0), "mishap %d: %d, %d wrong, %s", (int)mishap, rc, (int)n_wrong,
          err.message);
    CHECK(survives || (strstr(err.message, folder) && strstr(err.message, reason)), "mishap %d: %s", (int)mishap, err.message);
    lw_spool_destroy(spool);
}

/* One call fails after `after` others, in the writing of the last run or in the reading that follows. */
static void check_fault(int64_t n, int after, const char *says)
{
    struct lw_error err = {.code = LW_OK};
    int64_t n_wrong;
    struct lw_spool *const spool = open_spool(folder);
    make_rows(RANDOM, n);
    CHECK(append_all(spool, n, n, &err) == LW_OK, "%s", err.message);
    mishaps_set(FAULTY, 1 << 30);
    mishaps.seen = (1 << 30) - after;
    CHECK(take_all(spool, n, &n_wrong, &err) == LW_EIO && strstr(err.message, says) && strstr(err.message, "/table") &&
              strstr(err.message, folder), "after %d calls: %s", after, err.message);
    mishaps_set(NO_MISHAP, 0);
    lw_spool_destroy(spool);
}

static void check_mishaps(void)
{
    check_mishap(INTERRUPTED, 2, true, "");
    check_mishap(SHORT, 2, true, "");
    check_mishap(FAULTY, 1, false, "Input/output error");
    check_mishap(OVER_QUOTA, 1, false, "Disk quota exceeded");
    check_mishap(NOTHING, 1, false, "nothing can be written");
    check_fault(1000, 0, "cannot keep");        /* write of the last run */
    check_fault(1000, 1, "cannot read");        /* first read of the first run */
    check_fault(1000, 20, "cannot read");       /* later read of one of the 16 runs */
    check_fault(STEP + 1, 2 + LW_MERGE_MOST, "cannot keep");    /* write of the first merged rows */
}

static void check_sync(int64_t n)
{
    struct lw_error err = {.code = LW_OK};
    int64_t n_wrong;
    struct lw_spool *const spool = open_spool(folder);
    make_rows(RANDOM, n);
    sync_errno = ENOSPC;
    CHECK(spool_all(spool, n, 100, &n_wrong, &err) == LW_EIO && strstr(err.message, folder) &&
              strstr(err.message, "No space left on device"), "%d rows: %s", (int)n, err.message);
    sync_errno = 0;
    lw_spool_destroy(spool);
}

int main(void)
{
    signal(SIGXFSZ, SIG_IGN);
    rows = malloc(MOST * sizeof *rows);
    sorted = malloc(MOST * sizeof *sorted);
    CHECK(mkdtemp(folder) != NULL, "%s", folder);
    check_orders();
    check_without_name(false);
    check_without_name(true);
    check_memory();
    check_length(ASCENDING, LW_OK);
    check_length(RANDOM, LW_EIO);
    check_mishaps();
    check_sync(1000);
    check_sync(STEP + 1);
    CHECK(rmdir(folder) == 0, "something is left in %s", folder);
    free(sorted);
    free(rows);
    return check_result("spool");
}
