/* direct.c - convolution in the time domain, for short filters. Compiled per precision and instruction set.
 *
 * A tile of LW_DIRECT_STEP outputs stays in registers during the loop over taps. Every output is the same chain of fused
 * multiply-adds, wherever it lies in a tile. After each BATCH of taps the tile is added to the result. More than GROUP taps are
 * halved, again and again, and the halves summed separately. So the error stays within a few roundings of the sum of the products'
 * magnitudes, even if all products are equal (Higham 1993, "The accuracy of floating point summation"). */
#include "cpu/kernels/real.h"

enum { N_SUMS = LW_DIRECT_SUMS, BATCH = 16, GROUP = 128 };

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

/* Compute a tile of outputs from the terms [begin, end) alone, batch after batch. */
static inline void add_batches(const struct lw_cpu_terms *terms, int64_t begin, int64_t end, const real *x, real *y)
{
    const real *const taps = terms->taps;
    for (int64_t t = begin; t < end; t += BATCH)
        add_batch(taps + t, terms->offsets + t, end - t < BATCH ? end - t : BATCH, x, y, t == begin);
}

/* Compute a tile from the terms [begin, end): more than GROUP are halved, again and again, and the halves added. */
static void add_halves(const struct lw_cpu_terms *terms, int64_t begin, int64_t end, const real *x, real *y)
{
    const int64_t middle = begin + (end - begin) / (2 * BATCH) * BATCH;
    vector half[N_SUMS], *const to = (vector *)y;
    if (end - begin <= GROUP) {
        add_batches(terms, begin, end, x, y);
        return;
    }
    add_halves(terms, begin, middle, x, y);
    add_halves(terms, middle, end, x, (real *)half);
#pragma GCC unroll 8
    for (int i = 0; i < N_SUMS; i++)
        to[i] += half[i];
}

void KERNEL(lw_direct)(const struct lw_cpu_terms *terms, const void *x, void *y, int64_t n)
{
    const real *const in = x;
    real *const out = y;
    for (int64_t i = 0; i < n; i += LW_DIRECT_STEP) {
        if (terms->n_terms > GROUP)
            add_halves(terms, 0, terms->n_terms, in + i, out + i);
        else
            add_batches(terms, 0, terms->n_terms, in + i, out + i);
    }
}
