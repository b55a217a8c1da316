/* transpose.c - transposition of working samples. Compiled per precision and instruction set.
 *
 * Blocks of 8 x 8 elements of 4 bytes (4 x 4 of 8 bytes) are transposed in registers: first as blocks of 2 x 2 elements, then of
 * 2 x 2 pairs, then of fours. Elements at the edges, and all of 16 bytes, are moved one by one. */
#include "cpu/kernels/real.h"

typedef uint32_t words __attribute__((vector_size(32), may_alias));
typedef uint32_t loose_words __attribute__((vector_size(32), may_alias, aligned(4)));
typedef uint64_t longs __attribute__((vector_size(32), may_alias));
typedef uint64_t loose_longs __attribute__((vector_size(32), may_alias, aligned(8)));

/* Set row a to the even elements (pairs, fours) of both rows, alternating, and row b to the odd ones. */
#define MIX(a, b, even, odd)                    \
    do {                                        \
        const __typeof__(a) first = (a);        \
        a = __builtin_shuffle(first, b, even);  \
        b = __builtin_shuffle(first, b, odd);   \
    } while (0)
#define EVEN_ONES ((words){0, 8, 2, 10, 4, 12, 6, 14})
#define ODD_ONES ((words){1, 9, 3, 11, 5, 13, 7, 15})
#define EVEN_TWOS ((words){0, 1, 8, 9, 4, 5, 12, 13})
#define ODD_TWOS ((words){2, 3, 10, 11, 6, 7, 14, 15})
#define EVEN_FOURS ((words){0, 1, 2, 3, 8, 9, 10, 11})
#define ODD_FOURS ((words){4, 5, 6, 7, 12, 13, 14, 15})

static inline void transpose_block_4(const uint32_t *in, int64_t in_stride, uint32_t *out, int64_t out_stride)
{
    words row[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        row[i] = *(const loose_words *)(in + i * in_stride);
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2)
        MIX(row[i], row[i + 1], EVEN_ONES, ODD_ONES);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        MIX(row[i + (i & 2)], row[i + (i & 2) + 2], EVEN_TWOS, ODD_TWOS);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        MIX(row[i], row[i + 4], EVEN_FOURS, ODD_FOURS);
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        *(loose_words *)(out + i * out_stride) = row[i];
}

static inline void transpose_block_8(const uint64_t *in, int64_t in_stride, uint64_t *out, int64_t out_stride)
{
    longs row[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        row[i] = *(const loose_longs *)(in + i * in_stride);
#pragma GCC unroll 2
    for (int i = 0; i < 4; i += 2)
        MIX(row[i], row[i + 1], ((longs){0, 4, 2, 6}), ((longs){1, 5, 3, 7}));
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
        MIX(row[i], row[i + 2], ((longs){0, 1, 4, 5}), ((longs){2, 3, 6, 7}));
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        *(loose_longs *)(out + i * out_stride) = row[i];
}

#define X(bytes, type, side)                                                                                          \
    static void transpose_##bytes(const type *in, int64_t in_stride, int64_t rows, int64_t columns, type *out,        \
                                  int64_t out_stride)                                                                 \
    {                                                                                                                 \
        const int64_t whole_rows = rows / side * side, whole_columns = columns / side * side;                         \
        for (int64_t c = 0; c < whole_columns; c += side)                                                             \
            for (int64_t r = 0; r < whole_rows; r += side)                                                            \
                transpose_block_##bytes(in + r * in_stride + c, in_stride, out + c * out_stride + r, out_stride);     \
        for (int64_t c = 0; c < columns; c++)                                                                         \
            for (int64_t r = c < whole_columns ? whole_rows : 0; r < rows; r++)                                       \
                out[c * out_stride + r] = in[r * in_stride + c];                                                      \
    }
X(4, uint32_t, 8)
X(8, uint64_t, 4)
#undef X

struct element_16 {
    uint64_t halves[2];
};

static void transpose_16(const struct element_16 *in, int64_t in_stride, int64_t rows, int64_t columns,
                         struct element_16 *out, int64_t out_stride)
{
    for (int64_t c = 0; c < columns; c++)
        for (int64_t r = 0; r < rows; r++)
            out[c * out_stride + r] = in[r * in_stride + c];
}

void KERNEL(lw_transpose)(const void *in, int64_t in_stride, int64_t rows, int64_t columns, int width, void *out,
                          int64_t out_stride)
{
    const int64_t from = in_stride / width, to = out_stride / width;
    switch (sizeof(real) * (size_t)width) {
    case 4: transpose_4(in, from, rows, columns, out, to); break;
    case 8: transpose_8(in, from, rows, columns, out, to); break;
    default: transpose_16(in, from, rows, columns, out, to);
    }
}
