#include "io/bytes/store.h"

#include "base/memory.h"
#include "io/bytes/mapping.h"
#include "io/bytes/transfer.h"

#include <fcntl.h>

#define WRITE_BACK_BYTES ((int64_t)256 << 10)

struct lw_store {
    int fd;
    bool is_memory;
    struct lw_mapping *mapping; /* NULL: by pwrite */
};

int64_t lw_store_bytes(int n_threads)
{
    return n_threads * LW_MAPPING_BYTES;
}

/* The disk begins at once with a long piece. The kernel would leave it in the page cache, and the fsync at the end would find
 * all of the file there. Short pieces share too many pages, each of which would be written more than once. */
static void begin_write_back(const struct lw_store *store, int64_t offset, int64_t bytes)
{
    if (!store->is_memory && bytes >= WRITE_BACK_BYTES)
        sync_file_range(store->fd, offset, bytes, SYNC_FILE_RANGE_WRITE);
}

int lw_store_put(struct lw_store *store, const void *data, int64_t offset, int64_t bytes, struct lw_error *err)
{
    const int rc = store->mapping ? lw_mapping_write(store->mapping, data, offset, bytes, err)
                                  : lw_bytes_write(store->fd, data, offset, bytes, err);
    if (rc == LW_OK)
        begin_write_back(store, offset, bytes);
    return rc;
}

int lw_store_open(int fd, const struct lw_storage *storage, enum lw_store_way way, struct lw_store **out,
                  struct lw_error *err)
{
    struct lw_store *const store = lw_alloc(sizeof *store, "a file to be written", err);
    if (!store)
        return LW_ESYSTEM;
    *store = (struct lw_store){.fd = fd, .is_memory = storage->is_memory};
    if (way == LW_STORE_MAP)
        lw_mapping_open(fd, &store->mapping, NULL);     /* stays NULL where that is refused */
    *out = store;
    return LW_OK;
}

void lw_store_close(struct lw_store *store)
{
    if (!store)
        return;
    lw_mapping_close(store->mapping);
    lw_free(store);
}
