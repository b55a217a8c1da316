/* store.h - let several threads write one file side by side, each piece to its place. lw_storage_find names the file system, and
 * finds whether several nodes may write one file on it.
 *
 *     open -> put ... put (any thread, any order) -> close
 *
 * Pieces may share a page or a disk block, but must not overlap. A read of the file sees all bytes that have been put. Long pieces
 * start on their way to the disk at once; fsync by the caller waits for their end. */
#pragma once

#include "base/error.h"

#include <stdint.h>

/* Ways in which threads put bytes into one file side by side. */
enum lw_store_way {
    LW_STORE_WRITE,             /* pwrite */
    LW_STORE_MAP,               /* a shared mapping of the file, filled in parts of LW_MAPPING_BYTES */
};

struct lw_storage {
    char name[32];              /* "tmpfs", "ext4", "Lustre", "0x1234 (unknown)" */
    bool is_coherent;           /* writers of one file keep each other's bytes, on any nodes that share it */
    bool is_memory;             /* files are kept in memory, with no disk behind them */
    bool is_striped;            /* nodes get locks on stripes of a file, which several servers keep: Lustre, GPFS */
    int64_t stripe_bytes;       /* bytes of the file's stripes (Lustre) or blocks (GPFS); 0: unknown */
    int n_stripes;              /* servers that keep the file; 0: unknown */
    enum lw_store_way way;      /* best way for several threads, chosen without measuring */
};

/** Find the file system of an open file by fstatfs. It counts as not coherent if it is unknown or if fstatfs fails. */
void lw_storage_find(int fd, struct lw_storage *storage);

/** Read the stripes of a file from Lustre's attribute "lustre.lov". Unknown, cut and unsettled layouts change nothing. In a layout
 * of parts the last one counts, because it holds most of a large file. */
void lw_storage_read_layout(const void *layout, int64_t bytes, struct lw_storage *storage);

/** Return whether the kernel makes huge pages of a file in memory on request (Linux 6.1 and later). */
bool lw_storage_knows_huge_pages(void);

/** Return "pwrite" or "shared mapping", a constant text. */
const char *lw_store_way_text(enum lw_store_way way);

/* Bytes of a part of a mapped file: a huge page of x86 and most other processors. A thread fills one part at a time. */
#define LW_MAPPING_BYTES ((int64_t)2 << 20)

struct lw_store;

/** Prepare to write an open file. If a mapping needs more addresses than the process may have, pwrite takes its place. The
 * kernel answers a write to a mapping with SIGBUS where the disk is full or another program has truncated the file. The store
 * catches this SIGBUS, and put returns LW_EIO; SIGBUS of other causes acts as before. LW_ESYSTEM: no memory.
 * @param fd       open for reading and writing, borrowed until close. For LW_STORE_MAP the file must have its full length already
 * @param storage  file system of the file, by lw_storage_find */
int lw_store_open(int fd, const struct lw_storage *storage, enum lw_store_way way, struct lw_store **out, struct lw_error *err);
void lw_store_close(struct lw_store *store);            /* NULL is legal; the descriptor stays open */

/** Write `bytes` bytes at byte `offset` of the file. Allocates nothing. LW_EIO: the message is only the reason. */
int lw_store_put(struct lw_store *store, const void *data, int64_t offset, int64_t bytes, struct lw_error *err);

/** Return the most host bytes of a store, for both ways, while n_threads put. Mapped pages count as memory of the process. */
int64_t lw_store_bytes(int n_threads);
