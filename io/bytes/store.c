#include "io/bytes/store.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/bytes/mapping.h"
#include "io/bytes/transfer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES ((int64_t)4096)             /* what O_DIRECT asks for of places, lengths and memory is never more */
#define BOUNCE_BYTES ((int64_t)2 << 20)
#define WRITE_BACK_BYTES ((int64_t)256 << 10)

struct lw_store {
    int fd;
    enum lw_store_way way;
    bool is_memory;
    struct lw_mapping *mapping; /* NULL: not that way */
    int direct_fd;              /* the same file with O_DIRECT; -1: not that way */
    char *bounce_memory;
    char *bounces;              /* in it, aligned: BOUNCE_BYTES of each thread */
};

int64_t lw_store_bytes(enum lw_store_way way, int n_threads)
{
    switch (way) {
    case LW_STORE_MAP: return n_threads * LW_MAPPING_BYTES;
    case LW_STORE_DIRECT: return n_threads * BOUNCE_BYTES + BLOCK_BYTES;
    default: return 0;
    }
}

/* ---- O_DIRECT ------------------------------------------------------------------------------------------------------- */

static int open_direct(int fd)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);
}

static int start_direct(struct lw_store *store, int n_threads, struct lw_error *err)
{
    if ((store->direct_fd = open_direct(store->fd)) < 0) {
        store->way = LW_STORE_WRITE;
        return LW_OK;
    }
    store->bounce_memory = lw_alloc((size_t)lw_store_bytes(LW_STORE_DIRECT, n_threads), "buffers of the I/O threads", err);
    if (!store->bounce_memory)
        return LW_ESYSTEM;
    store->bounces = store->bounce_memory + (-(uintptr_t)store->bounce_memory & (uintptr_t)(BLOCK_BYTES - 1));
    return LW_OK;
}

/* Whole blocks. What a file system refuses to write directly, or leaves half done, goes through the page cache. */
static int write_blocks(struct lw_store *store, const char *bounce, int64_t offset, int64_t bytes, struct lw_error *err)
{
    const ssize_t n = pwrite(store->direct_fd, bounce, (size_t)bytes, offset);
    if (n == bytes)
        return LW_OK;
    if (n < 0 && errno != EINVAL && errno != EINTR)
        return lw_fail(err, LW_EIO, "%s", strerror(errno));
    return lw_bytes_write(store->fd, bounce, offset, bytes, err);
}

/* The data is copied even where it is aligned: the memory that a GPU's driver has pinned need not be fit for O_DIRECT. */
static int put_blocks(struct lw_store *store, int thread, const char *data, int64_t offset, int64_t bytes,
                      struct lw_error *err)
{
    char *const bounce = store->bounces + thread * BOUNCE_BYTES;
    int rc = LW_OK;
    for (int64_t done = 0; done < bytes && rc == LW_OK; done += BOUNCE_BYTES) {
        const int64_t part = min64(bytes - done, BOUNCE_BYTES);
        memcpy(bounce, data + done, (size_t)part);
        rc = write_blocks(store, bounce, offset + done, part, err);
    }
    return rc;
}

/* Blocks that a piece shares with its neighbours go through the page cache, the others past it. */
static int put_direct(struct lw_store *store, int thread, const char *data, int64_t offset, int64_t bytes,
                      struct lw_error *err)
{
    const int64_t head = min64(bytes, round_up(offset, BLOCK_BYTES) - offset);
    const int64_t tail = (bytes - head) % BLOCK_BYTES, whole = bytes - head - tail;
    int rc;
    if ((rc = lw_bytes_write(store->fd, data, offset, head, err)) ||
        (rc = put_blocks(store, thread, data + head, offset + head, whole, err)))
        return rc;
    return lw_bytes_write(store->fd, data + head + whole, offset + head + whole, tail, err);
}

/* ---- all ways ------------------------------------------------------------------------------------------------------- */

/* The disk begins at once with a long piece. The kernel would leave it in the page cache, and the fsync at the end would find
 * all of the file there. Short pieces share too many pages, each of which would be written more than once. */
static void begin_write_back(const struct lw_store *store, int64_t offset, int64_t bytes)
{
    if (!store->is_memory && bytes >= WRITE_BACK_BYTES)
        sync_file_range(store->fd, offset, bytes, SYNC_FILE_RANGE_WRITE);
}

static int put(struct lw_store *store, int thread, const void *data, int64_t offset, int64_t bytes, struct lw_error *err)
{
    switch (store->way) {
    case LW_STORE_MAP: return lw_mapping_write(store->mapping, data, offset, bytes, err);
    case LW_STORE_DIRECT: return put_direct(store, thread, data, offset, bytes, err);
    default: return lw_bytes_write(store->fd, data, offset, bytes, err);
    }
}

int lw_store_put(struct lw_store *store, int thread, const void *data, int64_t offset, int64_t bytes, struct lw_error *err)
{
    const int rc = put(store, thread, data, offset, bytes, err);
    if (rc == LW_OK)
        begin_write_back(store, offset, bytes);
    return rc;
}

int lw_store_open(int fd, const struct lw_storage *storage, enum lw_store_way way, int n_threads, struct lw_store **out,
                  struct lw_error *err)
{
    assert(n_threads >= 1);
    struct lw_store *const store = lw_alloc(sizeof *store, "a file to be written", err);
    if (!store)
        return LW_ESYSTEM;
    *store = (struct lw_store){.fd = fd, .way = way, .is_memory = storage->is_memory, .direct_fd = -1};
    if (way == LW_STORE_MAP && lw_mapping_open(fd, &store->mapping, err))
        store->way = LW_STORE_WRITE;
    if (way == LW_STORE_DIRECT && start_direct(store, n_threads, err)) {
        lw_store_close(store);
        return LW_ESYSTEM;
    }
    *out = store;
    return LW_OK;
}

void lw_store_close(struct lw_store *store)
{
    if (!store)
        return;
    lw_mapping_close(store->mapping);
    if (store->direct_fd >= 0)
        close(store->direct_fd);
    lw_free(store->bounce_memory);
    lw_free(store);
}

enum lw_store_way lw_store_way(const struct lw_store *store)
{
    return store->way;
}
