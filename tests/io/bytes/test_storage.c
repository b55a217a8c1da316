/* test_storage.c - tests of the descriptions of file systems that every Linux has, and of a path without one. */
#include "../../check.h"
#include "io/bytes/store.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct lw_storage storage_of(const char *path)
{
    struct lw_storage storage;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    lw_storage_find(fd, &storage);
    close(fd);
    return storage;
}

int main(void)
{
    const struct lw_storage shared = storage_of("/dev/shm"), proc = storage_of("/proc/self/stat"), none = storage_of("/none");
    CHECK(strcmp(shared.name, "tmpfs") == 0 && shared.is_coherent && shared.is_memory, "%s", shared.name);
    const long enough = lw_storage_knows_huge_pages() ? 2 : 4;
    CHECK(shared.way == (sysconf(_SC_NPROCESSORS_ONLN) >= enough ? LW_STORE_MAP : LW_STORE_WRITE), "%s",
          lw_store_way_text(shared.way));
    CHECK(strcmp(proc.name, "0x9fa0 (unknown)") == 0 && !proc.is_coherent, "%s", proc.name);
    CHECK(strcmp(none.name, "unknown") == 0 && !none.is_coherent, "%s", none.name);
    CHECK(none.way == LW_STORE_WRITE, "%s", lw_store_way_text(none.way));
    return check_result("storage");
}
