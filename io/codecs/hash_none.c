/* hash_none.c - stubs of the functions of hash.h for a build without xxHash. lw_hash_is_there returns false. */
#include "io/codecs/hash.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

bool lw_hash_is_there(void) { return false; }

uint64_t lw_hash_of(const void *data, size_t bytes) { return bytes; }

void lw_hash_begin(struct lw_hash *hash) {}

void lw_hash_add(struct lw_hash *hash, const void *data, size_t bytes) {}

uint64_t lw_hash_end(const struct lw_hash *hash) { return 0; }
