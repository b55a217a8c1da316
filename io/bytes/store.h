/* store.h - a file that several threads write side by side, each piece to its place; and what is known of its file system: the
 * name, and how threads and nodes may write it.
 *
 *     open -> put ... put (any thread, any order) -> close
 *
 * Pieces may share a page or a block, but must not overlap. What has been put is what a read of the file gives. The disk
 * begins with long pieces at once; to wait for it by fsync is the caller's. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* How threads put bytes into a file side by side. */
enum lw_store_way {
    LW_STORE_WRITE,             /* pwrite */
    LW_STORE_MAP,               /* a shared mapping, in parts of LW_MAPPING_BYTES */
};

struct lw_storage {
    char name[32];              /* "tmpfs", "ext4", "Lustre", "0x1234 (unknown)" */
    bool is_coherent;           /* several writers of one file, on several nodes too, keep each other's bytes */
    bool is_memory;             /* its files are memory: there is no disk to which they are written back */
    enum lw_store_way way;      /* best for several threads, as far as can be told without measuring */
};

/** Of an open file's file system, by fstatfs; one that is not known, or does not say, counts as not coherent. */
void lw_storage_find(int fd, struct lw_storage *storage);

/** Whether the kernel makes huge pages of a file in memory when it is asked to (Linux from 6.1 on). */
bool lw_storage_knows_huge_pages(void);

/** "pwrite" or "shared mapping". Static storage. */
const char *lw_store_way_text(enum lw_store_way way);

/* Threads fill a mapped file in such parts, one at a time each: a huge page of x86 and of most other processors. */
#define LW_MAPPING_BYTES ((int64_t)2 << 20)

struct lw_store;

/** Prepare to write an open file. Where a mapping of the file would have more addresses than the process may, pwrite takes its
 * place. A mapping has no return value: where the disk is full, or another program has cut the file off, the kernel sends SIGBUS.
 * It is caught and becomes an error of put; SIGBUS of other causes does what it did before. LW_ESYSTEM: no memory.
 * @param fd       open for reading and writing, borrowed until close. For LW_STORE_MAP the file has its full length already
 * @param storage  of the file: lw_storage_find */
int lw_store_open(int fd, const struct lw_storage *storage, enum lw_store_way way, struct lw_store **out, struct lw_error *err);
void lw_store_close(struct lw_store *store);            /* NULL is legal; the descriptor stays open */

/** Put `bytes` of `data` to `offset` of the file. Nothing is allocated. LW_EIO, the reason alone: "No space left on device",
 * "the file ends at byte 17". */
int lw_store_put(struct lw_store *store, const void *data, int64_t offset, int64_t bytes, struct lw_error *err);

/** Host memory that a store takes at most, either way: pages count as the process' while they are mapped.
 * @param n_threads  that put at a time */
int64_t lw_store_bytes(int n_threads);
