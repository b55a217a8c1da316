#include "cpu/accel/accel.h"

#include "base/leave.h"
#include "base/select.h"
#include "cpu/dispatch.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* Samples are scaled by a power of two, so that their powers stay within the range of floats. */
static void load(struct lw_accel_search *search)
{
    const struct lw_accel_spec *const spec = &search->plan->spec;
    int exponent = 0;
    frexp(search->kernels->largest(search->series, spec->n), &exponent);
    memcpy(search->spectrum, search->series, (size_t)spec->n * sizeof(float));
    memset(search->spectrum + spec->n, 0, (size_t)(spec->n_fft + 2 - spec->n) * sizeof(float));
    search->kernels->scale(search->spectrum, spec->n, -exponent);
}

static void zap(struct lw_accel_search *search)
{
    for (int64_t i = 0; i < search->n_zaps; i++) {
        const int64_t first = lw_max64(search->zaps[i].first, 0), end = lw_min64(search->zaps[i].end, search->plan->n_bins);
        if (first < end)
            memset(search->spectrum + 2 * first, 0, (size_t)(end - first) * 2 * sizeof(float));
    }
}

/* Find the median of a block's powers. `z` is the first of the zaps that may reach into it. */
static void measure(struct lw_accel_search *search, double *powers, int64_t block)
{
    int64_t n = 0, z = 0;
    for (int64_t r = search->edges[block]; r < search->edges[block + 1]; r++) {
        while (z < search->n_zaps && search->zaps[z].end <= r)
            z++;
        const float re = search->spectrum[2 * r], im = search->spectrum[2 * r + 1];
        powers[n] = re * re + im * im;
        n += z == search->n_zaps || r < search->zaps[z].first;
    }
    search->counted[block] = n;
    search->medians[block] = n > 0 ? (float)lw_select(powers, n, (n - 1) / 2) : 0;
}

int lw_cpu_accel_spectrum(struct lw_accel_search *search, struct lw_error *err)
{
    load(search);
    fftwf_execute(search->transform);
    zap(search);
#pragma omp parallel for num_threads(search->lanes.n) schedule(dynamic, 16)
    for (int64_t block = 0; block < search->n_blocks; block++)
        measure(search, ((struct lw_cpu_accel_lane *)lw_cpu_lane_at(&search->lanes, omp_get_thread_num()))->powers, block);
    lw_accel_factors(search->n_blocks, search->counted, search->medians, search->factors, search->variances);
#pragma omp parallel for num_threads(search->lanes.n) schedule(dynamic, 16)
    for (int64_t block = 0; block < search->n_blocks; block++)
        for (int64_t i = 2 * search->edges[block]; i < 2 * search->edges[block + 1]; i++)
            search->spectrum[i] *= search->factors[block];
    return lw_leave_check(err);
}
