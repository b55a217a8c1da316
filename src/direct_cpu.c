/* direct_cpu.c - convolution in the time domain, for short filters. Compiled per precision and instruction set.
 *
 * A tile of outputs stays in registers while the taps go by. Every output is the same chain of fused multiply-adds
 * wherever it stands in a tile. After BATCH taps the tile is added to the result, so that rounding errors grow with
 * the square root of the number of batches and not of taps. */
#include "real_cpu.h"

enum { N_SUMS = LW_DIRECT_SUMS, BATCH = 16 };

static inline void add_batch(const real *taps, const int64_t *offsets, int64_t n, const real *x, real *y, bool is_first)
{
    vector sums[N_SUMS] = {{0}};
    for (int64_t t = 0; t < n; t++) {
        const loose_vector *const from = (const loose_vector *)(x + offsets[t]);
#pragma GCC unroll 8
        for (int i = 0; i < N_SUMS; i++)
            sums[i] += taps[t] * from[i];
    }
    vector *const to = (vector *)y;
#pragma GCC unroll 8
    for (int i = 0; i < N_SUMS; i++)
        to[i] = sums[i] + (is_first ? (vector){0} : to[i]);
}

void KERNEL(lw_direct)(const struct lw_terms_cpu *terms, const void *x, void *y, int64_t n)
{
    const real *const in = x, *const taps = terms->taps;
    real *const out = y;
    for (int64_t i = 0; i < n; i += LW_DIRECT_STEP) {
        for (int64_t t = 0; t < terms->n_terms; t += BATCH) {
            const int64_t left = terms->n_terms - t;
            add_batch(taps + t, terms->offsets + t, left < BATCH ? left : BATCH, in + i, out + i, t == 0);
        }
    }
}
