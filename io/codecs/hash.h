/* hash.h - make checksums: 64-bit XXH3 by the library xxHash (https://xxhash.com). They detect accidental changes, not forgery. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LW_HASH_NAME "XXH3, 64 bits"

/** Return whether this build has xxHash. Without it, the functions below must not be called. */
bool lw_hash_is_there(void);

/** Return the checksum of `bytes` bytes. */
uint64_t lw_hash_of(const void *data, size_t bytes);

/* State of a checksum over bytes that are added part by part: begin, add ..., end. */
struct lw_hash {
    _Alignas(64) unsigned char state[640];
};

void lw_hash_begin(struct lw_hash *hash);
void lw_hash_add(struct lw_hash *hash, const void *data, size_t bytes);
uint64_t lw_hash_end(const struct lw_hash *hash);
