#include "io/codecs/hash.h"

#include <assert.h>
#define XXH_STATIC_LINKING_ONLY /* makes xxhash.h define the members of XXH3_state_t */
#include <xxhash.h>

static_assert(sizeof(XXH3_state_t) <= sizeof(struct lw_hash), "the library's state has room");

bool lw_hash_is_there(void) { return true; }

uint64_t lw_hash_of(const void *data, size_t bytes) { return XXH3_64bits(data, bytes); }

/* Cast the bytes of the state to the library's type. */
static XXH3_state_t *state_of(struct lw_hash *hash) { return (void *)hash->state; }

void lw_hash_begin(struct lw_hash *hash) { XXH3_64bits_reset(state_of(hash)); }

void lw_hash_add(struct lw_hash *hash, const void *data, size_t bytes) { XXH3_64bits_update(state_of(hash), data, bytes); }

uint64_t lw_hash_end(const struct lw_hash *hash) { return XXH3_64bits_digest((const void *)hash->state); }
