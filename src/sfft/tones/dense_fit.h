/* dense_fit.h - tones at any frequencies, fitted to all coefficients of a transform.
 *
 *     X[f] = sum over tones of value K(index + offset - f)      (real signals: plus conj(value) K(-index - offset - f))
 *     K(d) = mean over t of exp(2 pi i d t / n)
 *
 * A tone stands where the spectrum behind a Hann window has a peak, as that has next to no leakage: tones closer than 2 bins are
 * one. Place and value are fitted by Gauss-Newton to the few coefficients around, less what all other tones leak there, one tone
 * after the other until none moves.
 *
 * Harris, "On the use of windows for harmonic analysis with the discrete Fourier transform", Proc. IEEE 66, 1978.
 *
 * Pure arithmetic in double precision; the same bits for any number of threads. */
#pragma once

#include "sfft/sfft.h"

/** Whether so many tones of so many samples can be fitted. */
bool lw_sfft_spectrum_is_fitted(const struct lw_sfft_spec *spec);

/** Bytes that fitting takes. */
int64_t lw_sfft_spectrum_bytes(const struct lw_sfft_spec *spec);

/** Tones instead of lines, at most spec->sparsity, where they leave no more of the energy than the lines do.
 * @param spectrum  [lw_sfft_n_frequencies](re, im)
 * @param result    in: the largest coefficients, in lines with room for spec->sparsity; out: the tones, what they leave, its white
 *                  part, and as detection_limit the largest coefficient of it around them
 * @return          LW_ESYSTEM */
int lw_sfft_spectrum_refine(const struct lw_sfft_spec *spec, const double *spectrum, int n_threads, struct lw_sfft_result *result,
                            bool *is_refined, struct lw_error *err);
