#include "io/bytes/decode.h"

#include "base/integers.h"
#include "base/memory.h"

#include <inttypes.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <string.h>

/* What libdeflate 1.14 takes for the tables of its decompressor, and some more. */
enum { INFLATE_BYTES = 16 << 10 };

struct lw_decoder {
    struct lw_filters filters;
    struct libdeflate_decompressor *inflate;
    char *stored, *other;       /* filters go from one to the other and back */
    char memory[];
};

int64_t lw_decoder_room(const struct lw_filters *filters)
{
    return round_up(filters->chunk_bytes + filters->chunk_bytes / 8 + 1024, LW_ALIGNMENT);
}

static int64_t memory_bytes(const struct lw_filters *filters)
{
    return (int64_t)sizeof(struct lw_decoder) + 2 * lw_decoder_room(filters);
}

int64_t lw_decoder_bytes(const struct lw_filters *filters)
{
    return memory_bytes(filters) + INFLATE_BYTES;
}

int lw_decoder_create(const struct lw_filters *filters, struct lw_decoder **out, struct lw_error *err)
{
    struct lw_decoder *const decoder = lw_alloc((size_t)memory_bytes(filters), "decoding chunks", err);
    if (!decoder)
        return LW_ESYSTEM;
    decoder->filters = *filters;
    decoder->stored = decoder->memory;
    decoder->other = decoder->memory + lw_decoder_room(filters);
    if (!(decoder->inflate = libdeflate_alloc_decompressor())) {
        lw_decoder_destroy(decoder);
        return lw_fail(err, LW_ESYSTEM, "no memory for decoding chunks: lower --memory or run fewer ranks on a node");
    }
    *out = decoder;
    return LW_OK;
}

void lw_decoder_destroy(struct lw_decoder *decoder)
{
    if (!decoder)
        return;
    if (decoder->inflate)
        libdeflate_free_decompressor(decoder->inflate);
    lw_free(decoder);
}

char *lw_decoder_stored(struct lw_decoder *decoder)
{
    return decoder->memory;
}

/* ---- the filters, each from `bytes` bytes at `from` ------------------------------------------------------------------- */

static int64_t inflate(struct lw_decoder *decoder, const char *from, int64_t bytes, char *to, struct lw_error *err)
{
    size_t used, made;
    const enum libdeflate_result result = libdeflate_zlib_decompress_ex(decoder->inflate, from, (size_t)bytes, to,
                                                                        (size_t)lw_decoder_room(&decoder->filters), &used, &made);
    if (result == LIBDEFLATE_SUCCESS)
        return (int64_t)made;
    lw_fail(err, LW_EDATA, "%s", result == LIBDEFLATE_INSUFFICIENT_SPACE ? "more is compressed there than a chunk holds"
                                                                         : "inflate() failed");
    return -1;
}

/* Elements of a size that the compiler knows. */
static inline __attribute__((always_inline)) void gather(const char *restrict from, int64_t n, char *restrict to, int64_t size)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t b = 0; b < size; b++)
            to[i * size + b] = from[b * n + i];
}

static void unshuffle(const char *restrict from, int64_t bytes, char *restrict to, int64_t size)
{
    const int64_t n = bytes / size;
    switch (size) {
    case 1: memcpy(to, from, (size_t)n); break;
    case 2: gather(from, n, to, 2); break;
    case 4: gather(from, n, to, 4); break;
    case 8: gather(from, n, to, 8); break;
    case 16: gather(from, n, to, 16); break;
    default: gather(from, n, to, size);
    }
    memcpy(to + n * size, from + n * size, (size_t)(bytes - n * size));
}

/* Sums in ones' complement: only of zeros alone is the sum 0. */
static uint64_t fold(uint64_t sum)
{
    return sum == 0 ? 0 : 1 + (sum - 1) % 65535;
}

static uint32_t word(const unsigned char *data)
{
    return (uint32_t)data[0] << 8 | data[1];
}

/* Fletcher's sums: of the words, and of these sums after every word. */
struct sums {
    uint64_t first, second;
};

static struct sums fold_sums(uint64_t first, uint64_t second)
{
    return (struct sums){fold(first), fold(second)};
}

/* The words of a block, in lanes side by side: with a[j] and b[j] the two sums of lane j, those of all words are the sum of
 * a[j], and of LANES b[j] - j a[j]. A lane has few enough words for 32 bits. */
enum { LANES = 16, LANE_WORDS = 256, BLOCK_WORDS = LANES * LANE_WORDS };

static struct sums add_block(struct sums sums, const unsigned char *data)
{
    uint32_t a[LANES] = {0}, b[LANES] = {0};
    for (int w = 0; w < LANE_WORDS; w++, data += 2 * LANES)
        for (int j = 0; j < LANES; j++) {
            a[j] += word(data + 2 * j);
            b[j] += a[j];
        }
    sums.second += BLOCK_WORDS * sums.first;
    for (uint64_t j = 0; j < LANES; j++) {
        sums.first += a[j];
        sums.second += LANES * (uint64_t)b[j] - j * a[j];
    }
    return fold_sums(sums.first, sums.second);
}

/* Of 16-bit words, the first byte the higher one; an odd last byte is the higher one of a word. */
static uint32_t checksum(const char *from, int64_t bytes)
{
    const unsigned char *data = (const unsigned char *)from, *const end = data + bytes;
    struct sums sums = {0, 0};
    for (; end - data >= 2 * BLOCK_WORDS; data += 2 * BLOCK_WORDS)
        sums = add_block(sums, data);
    for (; end - data > 0; data += 2) {
        sums.first += end - data > 1 ? word(data) : (uint32_t)data[0] << 8;
        sums.second += sums.first;
    }
    sums = fold_sums(sums.first, sums.second);
    return (uint32_t)(sums.second << 16 | sums.first);
}

static int64_t fail_sum(struct lw_error *err)
{
    lw_fail(err, LW_EDATA, "data error detected by Fletcher32 checksum");
    return -1;
}

/* Least byte first; HDF5 before 1.6.3 exchanged the bytes of both sums on such machines, and still reads that, too. */
static int64_t check_sum(const char *from, int64_t bytes, struct lw_error *err)
{
    const int64_t n = bytes - 4;
    if (n < 0)
        return fail_sum(err);
    const unsigned char *const b = (const unsigned char *)from + n;
    const uint32_t stored = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    const uint32_t sum = checksum(from, n), swapped = (sum & 0x00ff00ffu) << 8 | (sum >> 8 & 0x00ff00ffu);
    return stored == sum || stored == swapped ? n : fail_sum(err);
}

/* Undo one filter. @return  the bytes there are then, at decoder->stored; -1: failed */
static int64_t undo(struct lw_decoder *decoder, enum lw_filter filter, int64_t bytes, struct lw_error *err)
{
    char *const from = decoder->stored, *const to = decoder->other;
    if (filter == LW_FILTER_FLETCHER32)
        return check_sum(from, bytes, err);
    if (filter == LW_FILTER_DEFLATE)
        bytes = inflate(decoder, from, bytes, to, err);
    else
        unshuffle(from, bytes, to, decoder->filters.element_bytes);
    decoder->stored = to;
    decoder->other = from;
    return bytes;
}

int lw_decoder_decode(struct lw_decoder *decoder, int64_t stored_bytes, uint32_t skipped, const char **out,
                      struct lw_error *err)
{
    const struct lw_filters *const filters = &decoder->filters;
    int64_t bytes = stored_bytes;
    decoder->stored = decoder->memory;
    decoder->other = decoder->memory + lw_decoder_room(filters);
    for (int f = filters->n - 1; f >= 0 && bytes >= 0; f--)
        if (!(skipped >> f & 1))
            bytes = undo(decoder, filters->filter[f], bytes, err);
    if (bytes < 0)
        return LW_EDATA;
    if (bytes != filters->chunk_bytes)
        return lw_fail(err, LW_EDATA, "a chunk of %" PRId64 " bytes has %" PRId64 " there", filters->chunk_bytes, bytes);
    *out = decoder->stored;
    return LW_OK;
}
