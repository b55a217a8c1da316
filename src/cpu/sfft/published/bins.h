/* bins.h - permute, filter and fold: from a signal in memory to the B sums of a loop, which are then transformed.
 *
 *     plane[b] = sum over i = b mod B, |i| <= h, of g[i] x[(sigma i + tau) mod n]
 *
 * Each sum is added in the order of i, whatever the number of threads. */
#pragma once

#include "engine/published/solver.h"

static inline double _Complex lw_cpu_published_sample(const struct lw_published_signal *signal, int64_t i)
{
    return signal->is_real ? signal->samples[i] : __builtin_complex(signal->samples[2 * i], signal->samples[2 * i + 1]);
}

struct lw_published_bins {
    const struct lw_sfft_stage *loops;              /* [n_loops], all with the same number of buckets */
    int n_loops;
    double _Complex *const *planes;                 /* [n_loops][B] */
    int n_threads;
};

void lw_cpu_published_bin(const struct lw_published_bins *bins, const struct lw_published_signal *signal);
