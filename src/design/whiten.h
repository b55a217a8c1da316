/* whiten.h - filters divided by the power spectrum of the noise: matched filters for this noise, scaled so that their outputs are
 * signal-to-noise ratios.
 *
 *     S      the one-sided power spectrum of the noise at n / 2 + 1 frequencies
 *     q      the inverse transform of 1 / sqrt(S): n samples, symmetric about t = 0. 1 / sqrt(S) is taken as 0 at the first and
 *            last frequency and outside of low_hz .. high_hz
 *     w      q times the Hann window cos^2(pi t / n), convolved with itself: 2 n - 3 samples about t = 0. Its transform is 1 / S
 *            smoothed, and never negative (the inverse spectrum is truncated, as in Allen et al. 2012, section VII B)
 *     h'     h convolved with w: M + 2 n - 4 taps. w is symmetric, so that mode `same` keeps the times of the outputs
 *     scale  h' is scaled so that the power of the noise behind it is 1, or 2 with complex taps, 1 for each part. This power is the
 *            sum of S2 |H'|^2 rate / n over all frequencies k rate / n, negative ones included, with the two-sided spectrum S2 */
#pragma once

#include "base/error.h"
#include "design/stored_taps.h"

#include <stdint.h>

struct lw_whiten_spec {
    struct lw_stored_taps filters;      /* [n_filters][n_taps] */
    int64_t first;              /* number of the first of them, for messages */
    int n_filters;
    int64_t n_taps;
    int parts;                  /* doubles of a tap: 2 if complex, else 1 */
    const double *spectrum;     /* [n / 2 + 1] S */
    int64_t n;                  /* samples of q, even, at least 4 */
    double rate_hz, low_hz, high_hz;
    int n_threads;
};

/** Return M + 2 n - 4, the taps of a whitened filter of M taps. */
int64_t lw_whitened_taps(int64_t n_taps, int64_t n);

/** Return the host bytes that lw_whiten allocates and frees again. */
int64_t lw_whiten_bytes(int64_t n_taps, int64_t n, int n_threads);

/** Whiten filters. LW_EDATA: the spectrum is 0 or NaN within low_hz .. high_hz, or a filter passes nothing of the noise.
 * LW_ESYSTEM: no memory.
 * @param taps  set; [n_filters][lw_whitened_taps] taps of `parts` doubles; the bits do not depend on the number of threads */
int lw_whiten(const struct lw_whiten_spec *spec, double *taps, struct lw_error *err);
