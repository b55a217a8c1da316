/* beams.c - sums of shifted rows, and stored integers turned from rows of channels to rows of time. Compiled per precision and
 * instruction set.
 *
 * A step of sums stays in registers while the rows are added. The last step is made in a buffer, and may read as far beyond the
 * rows' ends. So every sum is the same chain of additions, wherever it lies. Sums of integers fit their types: the caller adds
 * no more rows than they have room for. */
#include "cpu/kernels/real.h"

enum { STEP = LW_CPU_SUM_STEP, REGISTERS = 4 };

#define VECTOR(name, type, bytes) typedef type name __attribute__((vector_size(bytes), may_alias, aligned(__alignof__(type))))
VECTOR(bytes_half, int8_t, VECTOR_BYTES / 2);
VECTOR(shorts, int16_t, VECTOR_BYTES);
VECTOR(shorts_half, int16_t, VECTOR_BYTES / 2);
VECTOR(words, int32_t, VECTOR_BYTES);

/* Add rows [begin, end) from sample i on; vectors of the type `from` are widened to the type `to`. `out` gets STEP numbers. */
#define ADD(name, from, to, element)                                                                                \
    static inline void name(const struct lw_cpu_rows *rows, int64_t begin, int64_t end, int64_t i, element *out)    \
    {                                                                                                               \
        enum { LANES = sizeof(to) / sizeof(element), AT_ONCE = LANES * REGISTERS };                                 \
        for (int64_t j = 0; j < STEP; j += AT_ONCE) {                                                               \
            to sums[REGISTERS] = {{0}};                                                                             \
            for (int64_t r = begin; r < end; r++) {                                                                 \
                const __typeof__(((from){0})[0]) *const row = rows->rows[r];                                        \
                const from *const x = (const from *)(row + i + j);                                                  \
                _Pragma("GCC unroll 8") for (int k = 0; k < REGISTERS; k++) sums[k] += __builtin_convertvector(x[k], to); \
            }                                                                                                       \
            _Pragma("GCC unroll 8") for (int k = 0; k < REGISTERS; k++) ((to *)(out + j))[k] = sums[k];             \
        }                                                                                                           \
    }
ADD(add_bytes, bytes_half, shorts, int16_t)
ADD(add_shorts, shorts, shorts, int16_t)
ADD(add_shorts_wide, shorts_half, words, int32_t)
ADD(add_words, words, words, int32_t)

/* The first row begins the sum. */
static inline void add_reals(const struct lw_cpu_rows *rows, int64_t i, real *out)
{
    enum { LANES = VECTOR_BYTES / sizeof(real), AT_ONCE = LANES * REGISTERS };
    for (int64_t j = 0; j < STEP; j += AT_ONCE) {
        vector sums[REGISTERS] = {{0}};
        for (int64_t r = 0; r < rows->n; r++) {
            const loose_vector *const x = (const loose_vector *)((const real *)rows->rows[r] + i + j);
            const real weight = rows->weights ? (real)rows->weights[r] : 1;
#pragma GCC unroll 8
            for (int k = 0; k < REGISTERS; k++)
                sums[k] += x[k] * weight;
        }
#pragma GCC unroll 8
        for (int k = 0; k < REGISTERS; k++)
            ((loose_vector *)(out + j))[k] = sums[k];
    }
}

/* Add rows of 16 bits: `narrow` of them have a sum of 16 bits. */
static inline void add_all_shorts(const struct lw_cpu_rows *rows, int64_t i, int32_t *sums)
{
    memset(sums, 0, STEP * sizeof *sums);
    for (int64_t r = 0; r < rows->n; r += rows->narrow) {
        int16_t some[STEP] __attribute__((aligned(LW_ALIGNMENT)));
        add_shorts(rows, r, r + rows->narrow < rows->n ? r + rows->narrow : rows->n, i, some);
        for (int j = 0; j < STEP; j++)
            sums[j] += some[j];
    }
}

static inline void make_reals(const struct lw_cpu_rows *rows, const int32_t *sums, real *out)
{
    const int32_t bias = rows->bias;
    const real scale = (real)rows->scale;
    for (int j = 0; j < STEP; j++)
        out[j] = (real)(sums[j] + bias) * scale;
}

static inline void finish_shorts(const struct lw_cpu_rows *rows, int64_t i, real *out)
{
    int32_t sums[STEP] __attribute__((aligned(LW_ALIGNMENT)));
    add_all_shorts(rows, i, sums);
    make_reals(rows, sums, out);
}

static inline void finish_words(const struct lw_cpu_rows *rows, int64_t i, real *out)
{
    int32_t sums[STEP] __attribute__((aligned(LW_ALIGNMENT)));
    add_words(rows, 0, rows->n, i, sums);
    make_reals(rows, sums, out);
}

static inline void finish_reals(const struct lw_cpu_rows *rows, int64_t i, real *out)
{
    const real scale = (real)rows->scale;
    add_reals(rows, i, out);
    for (int j = 0; j < STEP; j++)
        out[j] *= scale;
}

#define EVERY_STEP(element, call)                                               \
    do {                                                                        \
        element *const all = out, last[STEP] __attribute__((aligned(64)));      \
        int64_t i = 0;                                                          \
        for (element *to = all; i + STEP <= n; i += STEP, to += STEP)           \
            call;                                                               \
        if (i < n) {                                                            \
            element *const to = (element *)last;                                \
            call;                                                               \
            memcpy(all + i, last, (size_t)(n - i) * sizeof *all);               \
        }                                                                       \
    } while (0)

void KERNEL(lw_add_rows)(enum lw_cpu_sum kind, const struct lw_cpu_rows *rows, int64_t n, void *out)
{
    switch (kind) {
    case LW_CPU_BYTES_TO_SHORTS: EVERY_STEP(int16_t, add_bytes(rows, 0, rows->n, i, to)); break;
    case LW_CPU_SHORTS_TO_SHORTS: EVERY_STEP(int16_t, add_shorts(rows, 0, rows->n, i, to)); break;
    case LW_CPU_SHORTS_TO_WORDS: EVERY_STEP(int32_t, add_shorts_wide(rows, 0, rows->n, i, to)); break;
    case LW_CPU_WORDS_TO_WORDS: EVERY_STEP(int32_t, add_words(rows, 0, rows->n, i, to)); break;
    case LW_CPU_SHORTS_TO_REALS: EVERY_STEP(real, finish_shorts(rows, i, to)); break;
    case LW_CPU_WORDS_TO_REALS: EVERY_STEP(real, finish_words(rows, i, to)); break;
    case LW_CPU_REALS_TO_REALS: EVERY_STEP(real, finish_reals(rows, i, to)); break;
    }
}

/* ---- integers, turned ------------------------------------------------------------------------------------------------
 *
 * Blocks of 16 x 16 bytes, or 8 x 8 integers of 16 bits, lie side by side in a register's lanes of 16 bytes. Interleaving the first
 * half of the rows with the second, as often as it takes to halve them to one, turns all of them. */
typedef uint8_t byte_lanes __attribute__((vector_size(VECTOR_BYTES), may_alias, aligned(1)));
typedef uint16_t short_lanes __attribute__((vector_size(VECTOR_BYTES), may_alias, aligned(1)));
typedef uint64_t lane __attribute__((vector_size(16), may_alias, aligned(1)));

#define PAIRS4(n, l) l, n + l, l + 1, n + l + 1, l + 2, n + l + 2, l + 3, n + l + 3
#define PAIRS8(n, l) PAIRS4(n, l), PAIRS4(n, l + 4)
#if VECTOR_BYTES == 64
#define ALL_LANES(pairs, n, l, step) {pairs(n, l), pairs(n, l + step), pairs(n, l + 2 * step), pairs(n, l + 3 * step)}
#elif VECTOR_BYTES == 32
#define ALL_LANES(pairs, n, l, step) {pairs(n, l), pairs(n, l + step)}
#else
#define ALL_LANES(pairs, n, l, step) {pairs(n, l)}
#endif

#define TURN(name, type, lanes, side, pairs, swapped)                                                                   \
    static inline void name##_block(const char *stored, int64_t stored_stride, bool is_swapped, type flip, type *out,   \
                                    int64_t stride)                                                                     \
    {                                                                                                                   \
        enum { N = sizeof(lanes) / sizeof(type) };                                                                      \
        const lanes low = ALL_LANES(pairs, N, 0, side), high = ALL_LANES(pairs, N, side / 2, side);                     \
        lanes rows[side], next[side];                                                                                   \
        _Pragma("GCC unroll 16") for (int r = 0; r < side; r++)                                                         \
        {                                                                                                               \
            lanes x = *(const lanes *)(stored + r * stored_stride);                                                     \
            if (is_swapped)                                                                                             \
                x = swapped;                                                                                            \
            rows[r] = x ^ flip;                                                                                         \
        }                                                                                                               \
        _Pragma("GCC unroll 4") for (int halves = 1; halves < side; halves *= 2)                                        \
        {                                                                                                               \
            _Pragma("GCC unroll 16") for (int r = 0; r < side / 2; r++)                                                 \
            {                                                                                                           \
                next[2 * r] = __builtin_shuffle(rows[r], rows[r + side / 2], low);                                      \
                next[2 * r + 1] = __builtin_shuffle(rows[r], rows[r + side / 2], high);                                 \
            }                                                                                                           \
            _Pragma("GCC unroll 16") for (int r = 0; r < side; r++) rows[r] = next[r];                                  \
        }                                                                                                               \
        _Pragma("GCC unroll 16") for (int r = 0; r < side; r++)                                                         \
            _Pragma("GCC unroll 4") for (int l = 0; l < N / side; l++)                                                  \
                *(lane *)(out + (l * side + r) * stride) = ((const lane *)&rows[r])[l];                                 \
    }                                                                                                                   \
                                                                                                                        \
    static void name(const struct lw_cpu_panel *p, const char *stored, type flip, type *out, int64_t stride)            \
    {                                                                                                                   \
        enum { N = sizeof(lanes) / sizeof(type) };                                                                      \
        const bool is_whole = p->rows >= side && p->columns >= N;           /* the last blocks overlap those before */          \
        for (int64_t r = 0; r < p->rows && is_whole; r += side)                                                         \
            for (int64_t c = 0; c < p->columns; c += N) {                                                               \
                const int64_t row = r + side <= p->rows ? r : p->rows - side;                                           \
                const int64_t column = c + N <= p->columns ? c : p->columns - N;                                        \
                name##_block(stored + row * p->stored_stride + column * (int64_t)sizeof(type), p->stored_stride,        \
                             p->is_swapped, flip, out + column * stride + row, stride);                                 \
            }                                                                                                           \
        for (int64_t c = 0; c < p->columns && !is_whole; c++)                                                           \
            for (int64_t r = 0; r < p->rows; r++) {                                                                     \
                type x;                                                                                                 \
                memcpy(&x, stored + r * p->stored_stride + c * (int64_t)sizeof x, sizeof x);                            \
                out[c * stride + r] = (type)((p->is_swapped ? swapped : x) ^ flip);                                     \
            }                                                                                                           \
    }
TURN(turn_bytes, uint8_t, byte_lanes, 16, PAIRS8, x)
TURN(turn_shorts, uint16_t, short_lanes, 8, PAIRS4, x >> 8 | x << 8)

void KERNEL(lw_turn_integers)(const struct lw_cpu_panel *panel, const void *stored, void *out, int64_t stride)
{
    const bool is_unsigned = !lw_scalar_is_signed(panel->scalar);
    if (lw_scalar_bytes(panel->scalar) == 1)
        turn_bytes(panel, stored, is_unsigned ? 0x80 : 0, out, stride);
    else
        turn_shorts(panel, stored, is_unsigned ? 0x8000 : 0, out, stride);
}
