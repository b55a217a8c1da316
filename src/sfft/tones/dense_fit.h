/* dense_fit.h - tones at any frequencies, fitted to all coefficients of a dense transform.
 *
 *     X[f] = sum over tones of value K(index + offset - f)      (real signals: plus conj(value) K(-index - offset - f))
 *     K(d) = mean over t of exp(2 pi i d t / n)
 *
 * A tone is a peak of the spectrum behind a Hann window, which has next to no leakage: tones closer than 2 bins count as one.
 * Gauss-Newton fits the frequency and value of each tone to the few coefficients around it, minus the leakage of all other
 * tones. The tones are fitted one after another, until none moves.
 *
 * Harris, "On the use of windows for harmonic analysis with the discrete Fourier transform", Proc. IEEE 66, 1978.
 *
 * Pure arithmetic in double precision; the same bits for any number of threads. */
#pragma once

#include "sfft/sfft.h"

/** Return whether the tones of a spec can be fitted: neither too many tones nor too few samples. */
bool lw_sfft_spectrum_is_fitted(const struct lw_sfft_spec *spec);

/** Return the host bytes of a fit. */
int64_t lw_sfft_spectrum_bytes(const struct lw_sfft_spec *spec);

/** Replace the lines of a result by tones, at most spec->sparsity, if the tones leave no more of the energy than the lines.
 * @param spectrum    [lw_sfft_n_frequencies](re, im)
 * @param result      in: the largest coefficients, in an array for spec->sparsity lines. out: the tones, the energy they leave
 * and its white part; detection_limit is the largest coefficient left around them.
 * @param is_refined  set to whether the lines were replaced
 * LW_ESYSTEM: no memory. */
int lw_sfft_spectrum_refine(const struct lw_sfft_spec *spec, const double *spectrum, int n_threads, struct lw_sfft_result *result,
                            bool *is_refined, struct lw_error *err);
