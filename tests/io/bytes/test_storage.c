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

/* Layouts of Lustre with 8 stripes of 4 MiB: plain, on chosen servers, and as the last of two parts. */
static void check_layouts(void)
{
    unsigned char parts[32 + 2 * 48 + 2 * 56] = {0};
    const uint32_t list = 0x0bd60bd0, plain = 0x0bd10bd0, pooled = 0x0bd30bd0, at[] = {128, 184}, sizes[] = {1 << 20, 4 << 20};
    const uint16_t n_parts = 2, counts[] = {1, 8}, all = 0xffff;
    struct lw_storage found = {0};
    memcpy(parts, &list, 4);
    memcpy(parts + 14, &n_parts, 2);
    for (int p = 0; p < 2; p++) {
        memcpy(parts + 32 + p * 48 + 24, &at[p], 4);
        memcpy(parts + at[p], p ? &pooled : &plain, 4);
        memcpy(parts + at[p] + 24, &sizes[p], 4);
        memcpy(parts + at[p] + 28, &counts[p], 2);
    }
    for (int64_t bytes = 0; bytes < at[1] + 32; bytes++)
        lw_storage_read_layout(parts, bytes, &found);
    CHECK(found.n_stripes == 0 && found.stripe_bytes == 0, "a cut layout has %d stripes", found.n_stripes);
    lw_storage_read_layout(parts, at[1] + 32, &found);
    CHECK(found.n_stripes == 8 && found.stripe_bytes == 4 << 20, "%d stripes of %d", found.n_stripes, (int)found.stripe_bytes);
    lw_storage_read_layout(parts + at[0], 32, &found);
    CHECK(found.n_stripes == 1 && found.stripe_bytes == 1 << 20, "%d stripes of %d", found.n_stripes, (int)found.stripe_bytes);
    memcpy(parts + at[1] + 28, &all, 2);
    memset(parts + 56, 0, 4);
    lw_storage_read_layout(parts, sizeof parts, &found);
    lw_storage_read_layout("no layout, but long enough to be one", 32, &found);
    memset(parts + 32 + 48 + 24, 0, 4);                     /* a part whose layout would be the list itself */
    lw_storage_read_layout(parts, sizeof parts, &found);
    lw_storage_read_layout(NULL, -1, &found);               /* the file has no such attribute */
    CHECK(found.n_stripes == 1 && found.stripe_bytes == 1 << 20, "unsettled or unknown layouts: %d stripes", found.n_stripes);
}

int main(void)
{
    check_layouts();
    const struct lw_storage shared = storage_of("/dev/shm"), proc = storage_of("/proc/self/stat"), none = storage_of("/none");
    CHECK(strcmp(shared.name, "tmpfs") == 0 && shared.is_coherent && shared.is_memory, "%s", shared.name);
    CHECK(!shared.is_striped && shared.stripe_bytes == 0 && shared.n_stripes == 0, "%s has stripes", shared.name);
    const long enough = lw_storage_knows_huge_pages() ? 2 : 4;
    CHECK(shared.way == (sysconf(_SC_NPROCESSORS_ONLN) >= enough ? LW_STORE_MAP : LW_STORE_WRITE), "%s",
          lw_store_way_text(shared.way));
    CHECK(strcmp(proc.name, "0x9fa0 (unknown)") == 0 && !proc.is_coherent, "%s", proc.name);
    CHECK(strcmp(none.name, "unknown") == 0 && !none.is_coherent, "%s", none.name);
    CHECK(none.way == LW_STORE_WRITE, "%s", lw_store_way_text(none.way));
    return check_result("storage");
}
