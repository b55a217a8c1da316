/* test_full.c - test of a full disk: test_full FOLDER NAME. Each way writes a file that is longer than the folder's free space,
 * and a spool gets more rows than fit. Each must return LW_EIO with the reason, and must not crash. NAME is the name of the
 * folder's file system. */
#include "../../check.h"
#include "calls.h"
#include "io/bytes/spool.h"
#include "io/bytes/store.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { BYTES = 64 << 20 };

static void check_full(const char *folder, const char *data, enum lw_store_way way)
{
    char path[1024];
    struct lw_error err = {.code = LW_OK};
    struct lw_storage storage;
    struct lw_store *store = NULL;
    snprintf(path, sizeof path, "%s/file", folder);
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0 && ftruncate(fd, BYTES) == 0, "%s", path);
    lw_storage_find(fd, &storage);
    CHECK(lw_store_open(fd, &storage, way, &store, &err) == LW_OK, "%s", err.message);
    const int rc = lw_store_put(store, data, 0, BYTES, &err);
    CHECK(rc == LW_EIO && strcmp(err.message, "No space left on device") == 0, "%s: %d %s", lw_store_way_text(way), rc,
          err.message);
    CHECK(lw_store_put(store, data, 0, 1000, &err) == LW_OK, "%s: existing bytes cannot be overwritten: %s",
          lw_store_way_text(way), err.message);
    lw_store_close(store);
    close(fd);
    unlink(path);
}

static int by_first(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* @param per_cent size of the rows as a percentage of the folder's free space; the rows come in descending order */
static void check_spool(const char *folder, int64_t per_cent, bool fits, bool merges)
{
    struct lw_error err = {.code = LW_OK};
    struct statvfs disk;
    struct lw_spool *spool = NULL;
    const struct lw_spool_spec spec = {.row = {8, by_first}, .name = "/table", .folder = folder, .memory_bytes = 32 << 10};
    statvfs(folder, &disk);
    const int64_t n = (int64_t)(disk.f_bavail * disk.f_frsize) / 100 * per_cent / 8;
    CHECK(lw_spool_create(&spec, &spool, &err) == LW_OK, "%s", err.message);
    int rc = LW_OK;
    for (int64_t i = n; i > 0 && rc == LW_OK; i--)
        rc = lw_spool_append(spool, &i, 1, &err);
    CHECK(rc == (fits ? LW_OK : LW_EIO), "%d%%: %d %s", (int)per_cent, rc, err.message);
    if (fits)
        rc = lw_spool_sort(spool, &err);
    CHECK(rc == (merges ? LW_OK : LW_EIO), "%d%%: %d %s", (int)per_cent, rc, err.message);
    CHECK(merges || (strstr(err.message, folder) && strstr(err.message, "No space left on device; make room there")), "%s",
          err.message);
    lw_spool_destroy(spool);
}

static void check_name(const char *folder, const char *name)
{
    struct lw_storage storage;
    const int fd = open(folder, O_RDONLY);
    lw_storage_find(fd, &storage);
    const bool is_memory = strcmp(name, "tmpfs") == 0;
    CHECK(strcmp(storage.name, name) == 0, "'%s'", storage.name);
    CHECK(storage.is_coherent && storage.is_memory == is_memory, "%s", storage.name);
    CHECK(is_memory || storage.way == LW_STORE_WRITE, "%s", lw_store_way_text(storage.way));
    close(fd);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    char *const data = malloc(BYTES);
    memset(data, 1, BYTES);
    check_name(argv[1], argv[2]);
    mishaps.is_kernel_old = true;       /* pages are mapped one by one */
    check_full(argv[1], data, LW_STORE_MAP);
    mishaps.is_kernel_old = false;
    check_full(argv[1], data, LW_STORE_MAP);
    check_full(argv[1], data, LW_STORE_WRITE);
    check_spool(argv[1], 200, false, false);
    check_spool(argv[1], 70, true, false);      /* the rows are merged in two steps */
    check_spool(argv[1], 40, true, true);
    free(data);
    return check_result(argv[2]);
}
