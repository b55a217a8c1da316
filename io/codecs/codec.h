/* codec.h - the libraries that decompress, each behind one table. A library that the build has not found has no table.
 *
 * io/codecs turns a stored chunk back into samples:
 *
 *     chunk -> filter.h: for each filter of the dataset, the last one first
 *                 a codec (this file) | blocks of a codec | bits.c: shuffle, bitshuffle | Fletcher's checksum -> samples
 *
 * gzip members of compressed files go through lw_gunzip below; hash.h makes checksums. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum lw_codec_id { LW_CODEC_DEFLATE, LW_CODEC_LZ4, LW_CODEC_ZSTD, LW_CODEC_LZF, LW_CODEC_BLOSC, LW_N_CODECS };

/* Values that decode returns in place of a number of bytes. */
enum { LW_CODEC_DAMAGED = -1, LW_CODEC_FULL = -2 };

struct lw_codec {
    const char *failure;                /* message for data that the codec cannot decode */
    int64_t state_bytes;                /* host bytes that create allocates, or one call of decode, at most */
    void *(*create)(void);              /* make the state of one thread; returns NULL: no memory. No function: there is no state */
    void (*destroy)(void *state);

    /** Decode `bytes` bytes at `from`, which may be anything, into at most `room` bytes.
     * @return  bytes decoded; LW_CODEC_DAMAGED; LW_CODEC_FULL: `room` is too small, where the library can tell */
    int64_t (*decode)(void *state, const char *from, int64_t bytes, char *to, int64_t room);

    /** Return the decoded size that the data claims, in bytes; 0: the data claims none. No function: no data of this codec does. */
    int64_t (*claim)(const char *from, int64_t bytes);
};

/** Return a codec's table; NULL: this build has none. */
const struct lw_codec *lw_codec_find(enum lw_codec_id id);

/** Return the codec's name ("LZ4"), and the Debian package to build with ("liblz4-dev"). */
const char *lw_codec_name(enum lw_codec_id id);
const char *lw_codec_package(enum lw_codec_id id);

extern const struct lw_codec lw_codec_deflate, lw_codec_lz4, lw_codec_zstd, lw_codec_lzf, lw_codec_blosc;

/* ---- deflate.c: data compressed with gzip (RFC 1952). One thread at a time uses a lw_gunzip --- */

struct lw_gunzip;

int lw_gunzip_create(struct lw_gunzip **out, struct lw_error *err);
void lw_gunzip_destroy(struct lw_gunzip *gunzip);       /* NULL is legal */

enum lw_gunzip_result { LW_GUNZIP_DONE, LW_GUNZIP_FULL, LW_GUNZIP_DAMAGED };

/** Decompress the first member of the data, which may be the only one. LW_GUNZIP_FULL: more than `room` bytes come out. After a
 * failure `to` may hold a part of them.
 * @param taken, made  set to the compressed and the decompressed bytes of the member, when done */
enum lw_gunzip_result lw_gunzip_member(struct lw_gunzip *gunzip, const void *from, size_t bytes, void *to, size_t room,
                                       size_t *taken, size_t *made);
