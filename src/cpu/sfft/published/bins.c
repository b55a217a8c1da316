#include "cpu/sfft/published/bins.h"

#include "sfft/number.h"

#include <complex.h>
#include <string.h>

enum {
    RUN = 1024,                     /* samples gathered at a time: they stay in the first cache */
    AHEAD = 32,                     /* samples from the one that is read to the one that is prefetched */
};

/* Make buckets begin .. end - 1 of a loop from all their samples. Each piece of the window begins at an index of its own. Samples
 * lie far apart: a piece's are prefetched, gathered, and folded as vectors. */
static void bin_buckets(const struct lw_published_bins *bins, const struct lw_published_signal *signal, int l, int64_t begin,
                        int64_t end)
{
    const struct lw_sfft_stage *const loop = &bins->loops[l];
    const int64_t half = loop->window->half, n_buckets = loop->spec.n_buckets, n = loop->spec.n, sigma = loop->sigma;
    memset(bins->planes[l] + begin, 0, (size_t)(end - begin) * sizeof(double complex));
    for (int64_t first = -(half / n_buckets + 1) * n_buckets; first + begin <= half; first += n_buckets) {
        const int64_t lo = first + begin > -half ? first + begin : -half;
        const int64_t hi = first + end < half + 1 ? first + end : half + 1;
        if (lo >= hi)
            continue;
        double complex x[RUN], *const plane = bins->planes[l] + (lo - first);
        int64_t at = lw_sfft_stage_sample(loop, 0, lo + half), ahead = lw_mod_add(at, lw_mod_multiply(sigma, AHEAD % n, n), n);
        for (int64_t i = 0; i < hi - lo; i++) {
            __builtin_prefetch(signal->samples + (signal->is_real ? ahead : 2 * ahead));
            x[i] = lw_cpu_published_sample(signal, at);
            at = lw_mod_add(at, sigma, n);
            ahead = lw_mod_add(ahead, sigma, n);
        }
        const double *const taps = loop->window->taps + half + lo;
        for (int64_t i = 0; i < hi - lo; i++)
            plane[i] += taps[i] * x[i];
    }
}

void lw_cpu_published_bin(const struct lw_published_bins *bins, const struct lw_published_signal *signal)
{
    const int64_t n_buckets = bins->loops[0].spec.n_buckets, n_parts = (n_buckets + RUN - 1) / RUN;
    #pragma omp parallel for collapse(2) num_threads(bins->n_threads) schedule(static)
    for (int l = 0; l < bins->n_loops; l++) {
        for (int64_t part = 0; part < n_parts; part++) {
            const int64_t begin = part * RUN, end = begin + RUN < n_buckets ? begin + RUN : n_buckets;
            bin_buckets(bins, signal, l, begin, end);
        }
    }
}
