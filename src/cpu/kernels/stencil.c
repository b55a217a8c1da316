/* stencil.c - 2-D convolution in the space domain, for small kernels: several rows of outputs at a time. Compiled per precision and
 * instruction set.
 *
 * A register of pixels is multiplied by every tap of one kernel column that the rows of outputs need, so most multiply-adds need no
 * load. Every output is the same chain of fused multiply-adds, wherever it lies among the rows: tap after tap, row after row of the
 * kernel. A batch is as many whole rows as 16 taps hold, at least one. After each batch the chain is added to the result. */
#include "cpu/kernels/real.h"

/* ROWS x N_VECTORS sums hide the latency of multiply-adds. They take half of the 32 (AVX-512) or 16 registers: pixels need some. */
enum { ROWS = LW_CPU_STENCIL_ROWS, N_VECTORS = VECTOR_BYTES == 64 ? 4 : 2, BATCH = 16 };
enum { STEP = N_VECTORS * VECTOR_BYTES / sizeof(real) };

#define ALWAYS_INLINE inline __attribute__((always_inline))

typedef vector sums_of_rows[ROWS][N_VECTORS];

/* Keep a vector of pixels in its register. Otherwise compilers make it a memory operand of the multiply-add of every tap. Such
 * loads are not aligned and take twice as long as the multiply-adds. */
static ALWAYS_INLINE void keep_in_register(vector *pixel)
{
#if defined __x86_64__
    __asm__("" : "+v"(*pixel));
#else
    (void)pixel;
#endif
}

/* Add one row of pixels, times taps, to the sums of output rows [first, last]. taps: the kernel row for output row 0. */
static ALWAYS_INLINE void add_row(const struct lw_cpu_stencil *s, const real *taps, const real *x, int first, int last,
                                  sums_of_rows sums)
{
    for (int64_t n = 0; n < s->columns; n++) {
        const loose_vector *const from = (const loose_vector *)(x + n * s->step);
        vector pixels[N_VECTORS];
#pragma GCC unroll 4
        for (int i = 0; i < N_VECTORS; i++) {
            pixels[i] = from[i];
            keep_in_register(&pixels[i]);
        }
#pragma GCC unroll 4
        for (int r = first; r <= last; r++)
#pragma GCC unroll 4
            for (int i = 0; i < N_VECTORS; i++)
                sums[r][i] += taps[n - r * s->columns] * pixels[i];
    }
}

/* Add the sums of an output row to its result y if a batch ends with row m of the kernel; then clear the sums. */
static ALWAYS_INLINE void end_batch(const struct lw_cpu_stencil *s, int64_t batch, int64_t m, vector sums[N_VECTORS], real *y)
{
    vector *const to = (vector *)y;
    if ((m + 1) % batch != 0 && m + 1 != s->rows)
        return;
#pragma GCC unroll 4
    for (int i = 0; i < N_VECTORS; i++) {
        to[i] = sums[i] + (m < batch ? (vector){0} : to[i]);
        sums[i] = (vector){0};
    }
}

/* Compute ROWS x STEP outputs. Most rows of pixels add to all rows of outputs; the first ones add only to the first rows of
 * outputs, the last ones only to the last. */
static ALWAYS_INLINE void add_rows(const struct lw_cpu_stencil *s, const real *x, real *y, int64_t stride)
{
    const int64_t batch = s->columns < BATCH ? BATCH / s->columns : 1;
    sums_of_rows sums = {{{0}}};
    for (int64_t row = 0; row < s->rows + ROWS - 1; row++, x += s->stride) {
        const real *const taps = (const real *)s->taps + row * s->columns;
        const int64_t first = row < s->rows ? 0 : row - s->rows + 1, last = row < ROWS ? row : ROWS - 1;
        switch (first * ROWS + last) {
        case 0: add_row(s, taps, x, 0, 0, sums); break;
        case 1: add_row(s, taps, x, 0, 1, sums); break;
        case 2: add_row(s, taps, x, 0, 2, sums); break;
        case 3: add_row(s, taps, x, 0, 3, sums); break;
        case ROWS + 1: add_row(s, taps, x, 1, 1, sums); break;
        case ROWS + 2: add_row(s, taps, x, 1, 2, sums); break;
        case ROWS + 3: add_row(s, taps, x, 1, 3, sums); break;
        case 2 * ROWS + 2: add_row(s, taps, x, 2, 2, sums); break;
        case 2 * ROWS + 3: add_row(s, taps, x, 2, 3, sums); break;
        default: add_row(s, taps, x, 3, 3, sums); break;
        }
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; r++)
            if (r >= first && r <= last)
                end_batch(s, batch, row - r, sums[r], y + r * stride);
    }
}

void KERNEL(lw_stencil)(const struct lw_cpu_stencil *stencil, const void *x, int64_t n, void *y, int64_t stride)
{
    const struct lw_cpu_stencil s = *stencil;
    for (int64_t i = 0; i < n; i += STEP)
        add_rows(&s, (const real *)x + i, (real *)y + i, stride);
}
