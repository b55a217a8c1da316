/* test_full FOLDER NAME - writes a file that is longer than the folder's free space, each way: no crash, LW_EIO, and the
 * reason. NAME is what the folder's file system is called. */
#include "../../check.h"
#include "calls.h"
#include "io/bytes/store.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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
    CHECK(lw_store_put(store, data, 0, 1000, &err) == LW_OK, "%s: what is there can be written again: %s",
          lw_store_way_text(way), err.message);
    lw_store_close(store);
    close(fd);
    unlink(path);
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
    mishaps.is_kernel_old = true;       /* pages one by one */
    check_full(argv[1], data, LW_STORE_MAP);
    mishaps.is_kernel_old = false;
    check_full(argv[1], data, LW_STORE_MAP);
    check_full(argv[1], data, LW_STORE_WRITE);
    free(data);
    return check_result(argv[2]);
}
