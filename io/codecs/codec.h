/* codec.h - the libraries that decompress, behind one table each. Those that the build has not found are left out. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum lw_codec_id { LW_CODEC_DEFLATE, LW_CODEC_LZ4, LW_CODEC_ZSTD, LW_CODEC_LZF, LW_CODEC_BLOSC, LW_N_CODECS };

/* What decode returns instead of a number of bytes. */
enum { LW_CODEC_DAMAGED = -1, LW_CODEC_FULL = -2 };

struct lw_codec {
    const char *failure;                /* what is said of data that it cannot decode */
    int64_t state_bytes;                /* host bytes that create, or one call, takes at most */
    void *(*create)(void);              /* what it needs in one thread; NULL: no memory. No function: it needs nothing */
    void (*destroy)(void *state);

    /** Decode all of the `bytes` at `from`, whatever they are, to at most `room` bytes.
     * @return  how many came out; LW_CODEC_DAMAGED; LW_CODEC_FULL: they are more than that, where the library tells */
    int64_t (*decode)(void *state, const char *from, int64_t bytes, char *to, int64_t room);

    /** How many bytes the data claims to make; 0: it does not say. No function: none ever does. */
    int64_t (*claim)(const char *from, int64_t bytes);
};

/** NULL: this build has none. */
const struct lw_codec *lw_codec_find(enum lw_codec_id id);

/** "LZ4"; and Debian's package to build with: "liblz4-dev". */
const char *lw_codec_name(enum lw_codec_id id);
const char *lw_codec_package(enum lw_codec_id id);

extern const struct lw_codec lw_codec_deflate, lw_codec_lz4, lw_codec_zstd, lw_codec_lzf, lw_codec_blosc;

/* ---- deflate.c: bytes that were put through gzip (RFC 1952). One thread uses one at a time ---- */

struct lw_gunzip;

int lw_gunzip_create(struct lw_gunzip **out, struct lw_error *err);
void lw_gunzip_destroy(struct lw_gunzip *gunzip);       /* NULL is legal */

enum lw_gunzip_result { LW_GUNZIP_DONE, LW_GUNZIP_FULL, LW_GUNZIP_DAMAGED };

/** Undo the first member, or the only one. LW_GUNZIP_FULL: more than `room` bytes come out. What was made until it failed may stay
 * in `to`.
 * @param taken, made  set to the bytes of the member and those that come out, where it is done */
enum lw_gunzip_result lw_gunzip_member(struct lw_gunzip *gunzip, const void *from, size_t bytes, void *to, size_t room,
                                       size_t *taken, size_t *made);
