/* whiten.h - filters divided by a power spectrum: what filters are for in noise of that spectrum (matched filters), scaled so that
 * their outputs are signal-to-noise ratios.
 *
 *     q      the inverse transform of 1 / sqrt(S), of n samples, even about sample 0, where S is the one-sided spectrum of n / 2
 *            + 1 frequencies; 0 for the first and the last of them, and for those outside of low_hz .. high_hz
 *     w      q times cos^2(pi t / n), a Hann window of n samples about 0, convolved with itself: 2 n - 3 samples about 0, whose
 *            transform is not negative, 1 / S smoothed (the inverse spectrum is truncated, as in Allen et al. 2012, section VII B)
 *     h'     h convolved with w: M + 2 n - 4 taps. w is even, so that outputs keep their times where the group delay of the middle
 *            is taken off (mode `same`)
 *     scale  the noise behind h', whose power is the sum over all frequencies k rate / n, negative ones included, of
 *            S2 |H'|^2 rate / n with the two-sided spectrum S2, becomes 1; 2 behind complex taps, 1 for each part */
#pragma once

#include "base/error.h"

#include <stdint.h>

struct lw_whiten_spec {
    const double *filters;      /* [n_filters][n_taps], or [n_filters][n_taps][2] */
    int n_filters;
    int64_t n_taps;
    int parts;                  /* 2: complex taps */
    const double *spectrum;     /* [n / 2 + 1] */
    int64_t n;                  /* even, at least 4 */
    double rate_hz, low_hz, high_hz;
    int n_threads;
};

/** M + 2 n - 4 */
int64_t lw_whitened_taps(int64_t n_taps, int64_t n);

/** Host bytes that lw_whiten takes for a while. */
int64_t lw_whiten_bytes(int64_t n_taps, int64_t n, int n_threads);

/** LW_EDATA: the spectrum is 0 where it is to divide, or a filter passes nothing of it; LW_ESYSTEM.
 * @param taps  [n_filters][lw_whitened_taps] of `parts` doubles; the bits do not depend on the threads */
int lw_whiten(const struct lw_whiten_spec *spec, double *taps, struct lw_error *err);
