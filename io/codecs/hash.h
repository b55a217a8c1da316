/* hash.h - a checksum of bytes: XXH3 with 64 bits, by the library xxHash (https://xxhash.com). It finds what has changed by
 * accident, not what somebody has changed on purpose. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LW_HASH_NAME "XXH3, 64 bits"

/** Whether this build has the library; without it the functions below are not to be called. */
bool lw_hash_is_there(void);

/** Of `bytes` bytes. */
uint64_t lw_hash_of(const void *data, size_t bytes);

/* The same of bytes that come in several parts: begin, add ..., end. */
struct lw_hash {
    _Alignas(64) unsigned char state[640];
};

void lw_hash_begin(struct lw_hash *hash);
void lw_hash_add(struct lw_hash *hash, const void *data, size_t bytes);
uint64_t lw_hash_end(const struct lw_hash *hash);
