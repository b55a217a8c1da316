/* codec.h - decode compressed bytes: each library is a codec, one table of functions. A library that the build lacks has none.
 *
 * io/codecs turns a stored chunk of an HDF5 dataset back into samples, and makes checksums of results (hash.h):
 *
 *     chunk -> filter.h: for each filter of the dataset, the last one first
 *                 codec (this file) | blocks decoded by a codec | bits.c: shuffle, bitshuffle | Fletcher's checksum -> samples
 *
 * lw_gunzip, below, decompresses files and parts of files that are in gzip's format. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum lw_codec_id { LW_CODEC_DEFLATE, LW_CODEC_LZ4, LW_CODEC_ZSTD, LW_CODEC_LZF, LW_CODEC_BLOSC, LW_N_CODECS };

/* Values that decode returns in place of a number of bytes. */
enum { LW_CODEC_DAMAGED = -1, LW_CODEC_FULL = -2 };

struct lw_codec {
    const char *failure;                /* message for data that the codec cannot decode */
    int64_t state_bytes;                /* most host bytes of the state; without a state, of a call of decode */
    void *(*create)(void);              /* make one thread's state; returns NULL: no memory. create NULL: decode has no state */
    void (*destroy)(void *state);

    /** Decode `bytes` bytes at `from`, damaged ones safely, into at most `room` bytes at `to`.
     * @return  bytes written; LW_CODEC_DAMAGED; LW_CODEC_FULL: `room` is too small, if the library tells this from damage */
    int64_t (*decode)(void *state, const char *from, int64_t bytes, char *to, int64_t room);

    /** Return the number of decoded bytes that the data's head states; 0: none. claim NULL: the codec's data never states it. */
    int64_t (*claim)(const char *from, int64_t bytes);
};

/** Return a codec's table; NULL: this build lacks the library. */
const struct lw_codec *lw_codec_find(enum lw_codec_id id);

/** Return the codec's name ("LZ4"), or the Debian package that a build needs for it ("liblz4-dev"). */
const char *lw_codec_name(enum lw_codec_id id);
const char *lw_codec_package(enum lw_codec_id id);

extern const struct lw_codec lw_codec_deflate, lw_codec_lz4, lw_codec_zstd, lw_codec_lzf, lw_codec_blosc;

/* ---- deflate.c: decompress data in gzip's format (RFC 1952). Each lw_gunzip serves one thread at a time. ---- */

struct lw_gunzip;

int lw_gunzip_create(struct lw_gunzip **out, struct lw_error *err);
void lw_gunzip_destroy(struct lw_gunzip *gunzip);       /* NULL is legal */

enum lw_gunzip_result { LW_GUNZIP_DONE, LW_GUNZIP_FULL, LW_GUNZIP_DAMAGED };

/** Decompress the first member of the data; gzip files may have several. LW_GUNZIP_FULL: the member decompresses to more than
 * `room` bytes. After a failure `to` may hold some of its bytes.
 * @param taken, made  number of compressed and decompressed bytes of the member, set with LW_GUNZIP_DONE */
enum lw_gunzip_result lw_gunzip_member(struct lw_gunzip *gunzip, const void *from, size_t bytes, void *to, size_t room,
                                       size_t *taken, size_t *made);
