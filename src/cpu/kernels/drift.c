/* drift.c - powers of drifting signals and their sums over harmonics. Compiled per precision and instruction set.
 *
 * A transform of n = R V points, V the lanes of a vector, is a matrix: R-point transforms over its columns, which lie in lanes, and
 * after a transposition in registers V-point transforms. Products with the templates are made as the first pass takes its points,
 * and powers as the last one puts them down, so that a convolution passes over its points, which the nearest cache holds, but four
 * times. */
#include "cpu/kernels/passes.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

/* Reals between the two halves of the work memory, in addition to their length: two cache lines. */
#define PADDING (2 * LW_ALIGNMENT / (int64_t)sizeof(real))

struct lw_cpu_drift {
    int64_t n;
    struct passes passes;
    real *twiddles;                     /* [R] split vectors, behind them those of the passes */
    int64_t *order;
};

static int64_t table_reals(int64_t n) { return 2 * n + twiddle_reals(n / LANES); }

int64_t KERNEL(lw_drift_work)(int64_t n) { return 4 * n + PADDING; }

int64_t KERNEL(lw_drift_bytes)(int64_t n)
{
    return (int64_t)sizeof(struct lw_cpu_drift) + table_reals(n) * (int64_t)sizeof(real) + n / LANES * (int64_t)sizeof(int64_t);
}

void KERNEL(lw_drift_destroy)(struct lw_cpu_drift *drift)
{
    if (!drift)
        return;
    lw_free(drift->twiddles);
    lw_free(drift->order);
    lw_free(drift);
}

int KERNEL(lw_drift_create)(int64_t n, struct lw_cpu_drift **out, struct lw_error *err)
{
    struct lw_cpu_drift *const drift = lw_alloc(sizeof *drift, "a transform", err);
    if (!drift)
        return LW_ESYSTEM;
    drift->n = n;
    drift->twiddles = lw_alloc_array(table_reals(n), sizeof(real), "the transform's twiddle factors", err);
    drift->order = lw_alloc_array(n / LANES, sizeof(int64_t), "the transform's order", err);
    if (!drift->twiddles || !drift->order) {
        KERNEL(lw_drift_destroy)(drift);
        return LW_ESYSTEM;
    }
    fill_vectors(n, n / LANES, drift->twiddles);
    fill_passes(n / LANES, drift->twiddles + 2 * n, drift->order, &drift->passes);
    *out = drift;
    return LW_OK;
}

INLINED void transform_all(const struct lw_cpu_drift *drift, enum end first, const struct ends *in, enum end last, struct ends out,
                           real *work)
{
    const struct passes *const passes = &drift->passes;
    real *const between = work + 2 * drift->n + PADDING;
    start(passes, first, in, work);
    finish_all(passes, SPLIT, (struct ends){.y = between, .y_stride = 2 * LANES, .fine = drift->twiddles}, 1, work, 0);
    for (int64_t k = 0; k < passes->size; k += LANES) {
        transform_lanes(between + k * 2 * LANES, last, &out);
        out.y += 2 * LANES;
        out.levels += LANES;
    }
}

void KERNEL(lw_drift_forward)(const struct lw_cpu_drift *drift, const void *x, void *spectrum, void *work)
{
    transform_all(drift, PLAIN, &(struct ends){.x = x, .x_stride = 2 * LANES}, KEPT,
                  (struct ends){.y = spectrum, .y_stride = 2 * drift->passes.size}, work);
}

void KERNEL(lw_drift_powers)(const struct lw_cpu_drift *drift, const void *h, const void *z, bool is_conjugate, uint16_t *to,
                             void *work)
{
    const struct ends even = {.x = z, .h = h}, odd = {.x = z, .h = (const real *)h + 2 * drift->n};
    struct ends out = {.levels = (uint32_t *)to, .y_stride = drift->passes.size};
    if (!is_conjugate) {
        transform_all(drift, PRODUCT, &even, EVEN_POWERS, out, work);
        transform_all(drift, PRODUCT, &odd, ODD_POWERS, out, work);
    } else {
        transform_all(drift, CONJUGATE_PRODUCT, &even, EVEN_POWERS, out, work);
        out.levels--;
        transform_all(drift, CONJUGATE_PRODUCT, &odd, ODD_POWERS, out, work);
    }
}

/* ---- sums over harmonics ------------------------------------------------------------------------------------------- */
enum { WIDE = LW_CPU_HARMONICS_LANES };
typedef float sums __attribute__((vector_size(4 * WIDE), may_alias));

/* Return the point of harmonic k of H of a cell's point i. */
INLINED int place(int i, int k, int H) { return (2 * i * k + H) / (2 * H); }

/* Return the powers of harmonic k of H of the points first .. first + WIDE - 1 of a cell, H a divisor of 16. Their places are
 * within WIDE levels: a shuffle of bytes brings each level to the upper half of its word. */
INLINED sums harmonic(const uint16_t *row, int first, int k, int H)
{
    const uint16_t *const from = row + place(first, k, H);
#ifdef __AVX2__
    typedef uint8_t bytes __attribute__((vector_size(4 * WIDE)));
    bytes order;
    for (int i = 0; i < WIDE; i++) {
        const int at = 2 * (place(first + i, k, H) - place(first, k, H));
        order[4 * i] = order[4 * i + 1] = 128;
        order[4 * i + 2] = (uint8_t)at;
        order[4 * i + 3] = (uint8_t)(at + 1);
    }
    const __m256i both = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)from));
    return (sums)_mm256_srli_epi32(_mm256_shuffle_epi8(both, (__m256i)order), 16 - LW_CPU_LEVEL_SHIFT);
#else
    typedef uint32_t words __attribute__((vector_size(4 * WIDE)));
    words word;
    for (int i = 0; i < WIDE; i++)
        word[i] = from[place(first + i, k, H) - place(first, k, H)];
    return (sums)(word << LW_CPU_LEVEL_SHIFT);
#endif
}

INLINED sums larger(sums a, sums b)
{
    sums c;
    for (int i = 0; i < WIDE; i++)
        c[i] = a[i] > b[i] ? a[i] : b[i];
    return c;
}

INLINED void add_stages(const uint16_t *const *rows, int n_stages, int64_t n_cells, float *largest)
{
    for (int64_t cell = 0; cell < n_cells; cell++) {
        sums sum[2] = {harmonic(rows[0] + 16 * cell, 0, 1, 1), harmonic(rows[0] + 16 * cell, WIDE, 1, 1)};
#pragma GCC unroll 5
        for (int stage = 0; stage < n_stages; stage++) {
            const int H = 1 << stage;
#pragma GCC unroll 8
            for (int k = 1; k < H; k += 2) {
                const uint16_t *const row = rows[(H + k - 1) / 2] + 16 * k / H * cell;
                sum[0] += harmonic(row, 0, k, H);
                sum[1] += harmonic(row, WIDE, k, H);
            }
            sums *const to = (sums *)(largest + (stage * n_cells + cell) * WIDE);
            *to = larger(*to, larger(sum[0], sum[1]));
        }
    }
}

void KERNEL(lw_add_harmonics)(const uint16_t *const *rows, int n_stages, int64_t n_cells, float *largest)
{
    switch (n_stages) {
    case 1: add_stages(rows, 1, n_cells, largest); break;
    case 2: add_stages(rows, 2, n_cells, largest); break;
    case 3: add_stages(rows, 3, n_cells, largest); break;
    case 4: add_stages(rows, 4, n_cells, largest); break;
    default: add_stages(rows, 5, n_cells, largest);
    }
}
