/* dense.h - the k largest coefficients by the transform of all samples: where a signal is not sparse, and the
 * tests' oracle. */
#ifndef LW_CPU_SFFT_DENSE_H
#define LW_CPU_SFFT_DENSE_H

#include "engine/sparse.h"

/** Bytes that FFTW takes for itself beside the n samples of a transform in place, at most, as measured. */
int64_t lw_sfft_fftw_bytes(int64_t n, bool is_real);

/** Bytes of the samples that lw_cpu_sfft_dense works in, and of all that it takes. */
int64_t lw_sfft_dense_bytes(const struct lw_sfft_spec *spec);

/** The largest coefficients of spec->n samples, at most spec->sparsity and none below spec->min_magnitude; of a real signal
 * only those at 0 .. n/2. Bit by bit the same whatever the number of threads: one computes.
 * @param samples  [n] (re, im) pairs, or [n] doubles if is_real, in lw_sfft_dense_samples_bytes; overwritten; aligned as
 *                 lw_alloc does
 * @param lines    [spec->sparsity]
 * @param result   lines, n_lines and residual are set; the rest is zero */
int lw_cpu_sfft_dense(const struct lw_sfft_spec *spec, double *samples, struct lw_sfft_line *lines,
                      struct lw_sfft_result *result, struct lw_error *err);

#endif
