/* store.h - a file that several threads write side by side, each piece to its place.
 *
 *     open -> put ... put (any thread, any order) -> close
 *
 * Pieces may share a page or a block, but must not overlap. What has been put is what a read of the file gives. The disk
 * begins with long pieces at once; to wait for it by fsync is the caller's. */
#pragma once

#include "base/error.h"
#include "io/bytes/storage.h"

#include <stdint.h>

struct lw_store;

/** Prepare to write an open file. Where a mapping of the file would have more addresses than the process may, pwrite takes its
 * place. LW_ESYSTEM: no memory.
 * @param fd       open for reading and writing, borrowed until close. For LW_STORE_MAP the file has its full length already
 * @param storage  of the file: lw_storage_find */
int lw_store_open(int fd, const struct lw_storage *storage, enum lw_store_way way, struct lw_store **out,
                  struct lw_error *err);
void lw_store_close(struct lw_store *store);            /* NULL is legal; the descriptor stays open */

/** Put `bytes` of `data` to `offset` of the file. Nothing is allocated. LW_EIO, the reason alone: "No space left on device",
 * "the file ends at byte 17". */
int lw_store_put(struct lw_store *store, const void *data, int64_t offset, int64_t bytes, struct lw_error *err);

/** Host memory that a store takes at most, either way: pages count as the process' while they are mapped.
 * @param n_threads  that put at a time */
int64_t lw_store_bytes(int n_threads);
