/* store.h - let several threads write one file side by side, each piece to its place. lw_storage_find names the file system, and
 * finds whether several nodes may write one file on it.
 *
 *     open -> put ... put (any thread, any order) -> close
 *
 * Pieces may share a page or a block, but must not overlap. A read of the file sees all bytes that have been put. Long pieces go to
 * the disk at once; the caller waits for the disk with fsync. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Ways in which threads put bytes into one file side by side. */
enum lw_store_way {
    LW_STORE_WRITE,             /* pwrite */
    LW_STORE_MAP,               /* a shared mapping, in parts of LW_MAPPING_BYTES */
};

struct lw_storage {
    char name[32];              /* "tmpfs", "ext4", "Lustre", "0x1234 (unknown)" */
    bool is_coherent;           /* writers of one file keep each other's bytes, also from several nodes */
    bool is_memory;             /* files are kept in memory, with no disk behind them */
    enum lw_store_way way;      /* best way for several threads, chosen without measuring */
};

/** Find the file system of an open file, by fstatfs. An unknown one, or one without an answer, counts as not coherent. */
void lw_storage_find(int fd, struct lw_storage *storage);

/** Return whether the kernel makes huge pages of a file in memory on request (Linux 6.1 and later). */
bool lw_storage_knows_huge_pages(void);

/** Return "pwrite" or "shared mapping". Static storage. */
const char *lw_store_way_text(enum lw_store_way way);

/* Part of a mapped file, filled by one thread at a time: a huge page of x86 and most other processors. */
#define LW_MAPPING_BYTES ((int64_t)2 << 20)

struct lw_store;

/** Prepare to write an open file. pwrite replaces a mapping that would need more addresses than the process may have. Where the
 * disk is full, or another program has cut the file off, the kernel answers a write to a mapping with SIGBUS. The store catches
 * this signal, and put returns an error; SIGBUS of other causes has the effect that it had before. LW_ESYSTEM: no memory.
 * @param fd       open for reading and writing, borrowed until close. For LW_STORE_MAP the file must have its full length already
 * @param storage  file system of the file, by lw_storage_find */
int lw_store_open(int fd, const struct lw_storage *storage, enum lw_store_way way, struct lw_store **out, struct lw_error *err);
void lw_store_close(struct lw_store *store);            /* NULL is legal; the descriptor stays open */

/** Write `bytes` bytes at byte `offset` of the file. Allocates nothing. LW_EIO with only the reason: "No space left on device". */
int lw_store_put(struct lw_store *store, const void *data, int64_t offset, int64_t bytes, struct lw_error *err);

/** Return the most host memory of a store, either way, for n_threads that put at a time. Mapped pages count as the process's. */
int64_t lw_store_bytes(int n_threads);
