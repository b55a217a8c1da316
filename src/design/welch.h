/* welch.h - power spectra of segments of a real signal, and their median: P. D. Welch, IEEE Trans. Audio Electroacoust. 15 (1967)
 * 70, with the median in place of the mean, as in B. Allen et al., Phys. Rev. D 85 (2012) 122006 (FINDCHIRP), section VI.
 *
 * A segment has n samples, n even. Segments overlap by half: segment s begins at sample s n / 2. Each is multiplied by the Hann
 * window sin^2(pi m / n); its mean is not subtracted. The spectrum is one-sided, in the samples' unit squared per Hz:
 *
 *     P[k] = c[k] |sum_m w[m] x[m] exp(-2 pi i k m / n)|^2 / (rate sum_m w[m]^2),     c = 2, but 1 for k = 0 and k = n / 2
 *
 * That is scipy.signal.welch(x, rate, "hann", n, detrend=False, average="median"). */
#pragma once

#include "base/error.h"

#include <stdint.h>

struct lw_welch;

/** Prepare spectra of segments. LW_ESYSTEM: no memory. @param n  samples of a segment, even, at least 4 */
int lw_welch_create(int64_t n, double rate_hz, int n_threads, struct lw_welch **out, struct lw_error *err);
void lw_welch_destroy(struct lw_welch *welch);                  /* NULL is legal */

/** Return the host bytes that lw_welch_create takes. */
int64_t lw_welch_bytes(int64_t n, int n_threads);

/** Return the number of frequencies of a spectrum, n / 2 + 1; number k is k rate / n. */
static inline int64_t lw_welch_frequencies(int64_t n) { return n / 2 + 1; }

/** Find the spectra of the segments that begin at samples 0, n / 2, n, ... of x. The spectrum of a segment with a non-finite sample
 * has -1 at frequency 0.
 * @param x        [(n_segments + 1) n / 2]
 * @param spectra  set; [n_segments][n / 2 + 1] */
void lw_welch_spectra(struct lw_welch *welch, const double *x, int64_t n_segments, double *spectra);

/** Find the median of the `n` > 0 numbers of each of `count` columns, divided by lw_welch_bias(n).
 * @param columns  [count][n]; overwritten: partly sorted */
void lw_welch_medians(double *columns, int64_t n, int64_t count, int n_threads, double *medians);

/** Return the expected median of n exponentially distributed numbers of mean 1: 1 - 1/2 + ... + 1/n; n even: up to 1/(n - 1). */
double lw_welch_bias(int64_t n);
