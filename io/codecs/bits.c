#include "io/codecs/filter.h"

#include "base/integers.h"

#include <string.h>

/* ---- shuffle ---- */

/* Undo shuffle for n whole elements. Inlined with a constant `size`, the loops become vector code. */
static inline __attribute__((always_inline)) void gather(const char *restrict from, int64_t n, char *restrict to, int64_t size)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t b = 0; b < size; b++)
            to[i * size + b] = from[b * n + i];
}

void lw_shuffle_restore(const char *restrict from, int64_t bytes, char *restrict to, int64_t size)
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

/* ---- bitshuffle ---- */

/* A tile is 16 bytes from each of eight rows: the bits of one byte k (rows 8 k to 8 k + 7) of 128 elements. */
enum { ROW_BYTES = 16, TILE = 8 * ROW_BYTES };

typedef uint8_t vector __attribute__((vector_size(ROW_BYTES)));
typedef uint16_t pairs __attribute__((vector_size(ROW_BYTES)));
typedef uint32_t fours __attribute__((vector_size(ROW_BYTES)));
typedef uint64_t words __attribute__((vector_size(ROW_BYTES)));

/* Exchange the bits of b that `mask` selects with the bits of a that are `shift` places higher. */
#define EXCHANGE(a, b, shift, mask)                                             \
    do {                                                                        \
        const words both = ((words)(a) >> (shift) ^ (words)(b)) & (mask);       \
        b ^= (vector)both;                                                      \
        a ^= (vector)(both << (shift));                                         \
    } while (0)

/* Interleave the units (`type`) of a and b: a gets the units of both first halves in turn, b those of both second halves. */
#define INTERLEAVE(type, a, b, low, high)                                       \
    do {                                                                        \
        const type first = (type)(a), second = (type)(b);                       \
        a = (vector)__builtin_shuffle(first, second, (type)low);                \
        b = (vector)__builtin_shuffle(first, second, (type)high);               \
    } while (0)
#define LOW_BYTES {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23}
#define HIGH_BYTES {8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31}
#define LOW_PAIRS {0, 8, 1, 9, 2, 10, 3, 11}
#define HIGH_PAIRS {4, 12, 5, 13, 6, 14, 7, 15}
#define LOW_FOURS {0, 4, 1, 5}
#define HIGH_FOURS {2, 6, 3, 7}

/* Transpose a tile. Bytes at the same place of the eight rows are an 8 x 8 matrix of bits. Three steps transpose it: they exchange
 * blocks of 4 x 4 bits, then of 2 x 2 bits, then single bits. Now each vector holds the bytes of every eighth element. Three more
 * steps interleave the vectors into the order of the elements. @param pitch  bytes from row to row @param to  [TILE] bytes */
static inline __attribute__((always_inline)) void transpose_tile(const char *rows, int64_t pitch, char *to)
{
    static const int order[8] = {0, 4, 2, 6, 1, 5, 3, 7};
    vector v[8];
#pragma GCC unroll 8
    for (int b = 0; b < 8; b++)
        memcpy(&v[b], rows + b * pitch, ROW_BYTES);
#pragma GCC unroll 4
    for (int b = 0; b < 4; b++)
        EXCHANGE(v[b], v[b + 4], 4, 0x0f0f0f0f0f0f0f0fu);
#pragma GCC unroll 4
    for (int b = 0; b < 4; b++)
        EXCHANGE(v[b + (b & 2)], v[b + (b & 2) + 2], 2, 0x3333333333333333u);
#pragma GCC unroll 4
    for (int b = 0; b < 8; b += 2)
        EXCHANGE(v[b], v[b + 1], 1, 0x5555555555555555u);
#pragma GCC unroll 4
    for (int b = 0; b < 8; b += 2)
        INTERLEAVE(vector, v[b], v[b + 1], LOW_BYTES, HIGH_BYTES);
#pragma GCC unroll 4
    for (int b = 0; b < 4; b++)
        INTERLEAVE(pairs, v[b + (b & 2)], v[b + (b & 2) + 2], LOW_PAIRS, HIGH_PAIRS);
#pragma GCC unroll 4
    for (int b = 0; b < 4; b++)
        INTERLEAVE(fours, v[b], v[b + 4], LOW_FOURS, HIGH_FOURS);
#pragma GCC unroll 8
    for (int b = 0; b < 8; b++)
        memcpy(to + b * ROW_BYTES, &v[order[b]], ROW_BYTES);
}

/* Restore one byte of each of n elements from its eight rows. @param pitch  bytes from row to row @param n  a multiple of 8 */
static void restore_bytes(const char *from, int64_t pitch, int64_t n, char *to)
{
    int64_t i = 0;
    for (; i + TILE <= n; i += TILE)
        transpose_tile(from + i / 8, pitch, to + i);
    if (i == n)
        return;
    char rows[8 * ROW_BYTES] = {0}, whole[TILE];
    for (int b = 0; b < 8; b++)
        memcpy(rows + b * ROW_BYTES, from + i / 8 + b * pitch, (size_t)(n - i) / 8);
    transpose_tile(rows, ROW_BYTES, whole);
    memcpy(to + i, whole, (size_t)(n - i));
}

/* Up to MOST elements are restored at once, through a buffer in the order of shuffle; if above LARGEST bytes, byte by byte. */
enum { LARGEST = 16, MOST = 8 * TILE };

static void restore_elements(const char *from, int64_t pitch, int64_t n, int64_t size, char *to)
{
    char shuffled[LARGEST * MOST];
    for (int64_t k = 0; k < size; k++)
        restore_bytes(from + 8 * k * pitch, pitch, n, shuffled + k * n);
    lw_shuffle_restore(shuffled, n * size, to, size);
}

static void restore_long_elements(const char *from, int64_t pitch, int64_t n, int64_t size, char *to)
{
    char bytes[MOST];
    for (int64_t k = 0; k < size; k++) {
        restore_bytes(from + 8 * k * pitch, pitch, n, bytes);
        for (int64_t i = 0; i < n; i++)
            to[i * size + k] = bytes[i];
    }
}

void lw_bits_restore(const char *restrict from, int64_t n, int64_t size, char *restrict to)
{
    if (size == 1) {
        restore_bytes(from, n / 8, n, to);
        return;
    }
    for (int64_t i = 0; i < n; i += MOST) {
        const int64_t count = lw_min64(MOST, n - i);
        (size <= LARGEST ? restore_elements : restore_long_elements)(from + i / 8, n / 8, count, size, to + i * size);
    }
}

void lw_bits_restore_blocks(const char *restrict from, int64_t bytes, int64_t size, int64_t block_bytes, char *restrict to)
{
    const int64_t end = bytes / size / 8 * 8 * size;
    for (int64_t done = 0; done < end; done += block_bytes)
        lw_bits_restore(from + done, lw_min64(block_bytes, end - done) / size, size, to + done);
    memcpy(to + end, from + end, (size_t)(bytes - end));
}

int64_t lw_bits_default_block(int64_t size) { return lw_max64(8192 / size / 8 * 8, 128); }
