/* rules.h - the numbers that recovery goes by, on every engine: when a bucket is taken for a line, how long to go on.
 * C and CUDA C. */
#pragma once

enum {
    LW_SFFT_LOOKS = 3,              /* peel and fit at most this often */
    LW_SFFT_ROUNDS = 40,            /* of peeling all stages once */
    LW_SFFT_FIT_STEPS = 40,
    LW_SFFT_TOLERANCES = 4,
};

/* Part of a bucket's energy that may be left unexplained by one line, in turn: the purest buckets first. */
#define LW_SFFT_TOLERANCE_VALUES {1e-4, 1e-3, 0.01, 0.05}

/* A line may leave as much in its bucket as the noise, and so many deviations of the noise's sum over the shifts more. */
#define LW_SFFT_SPREAD 3.0

/* What leaks between lines counts as noise: this part of the window's tolerance, as amplitude. */
#define LW_SFFT_LEAK 0.3

/* Peeling ends when this many times the energy of what leaks is left; if no frequency was new in a round, so many times. A
 * weaker line shows after the fit. */
#define LW_SFFT_EXHAUSTED 4.0
#define LW_SFFT_EXHAUSTED_SAME 100.0

/* A fitted line is kept if its energy is this many times the noise's; a fit ends when its gradient has this part of the
 * energy that the noise gives it. */
#define LW_SFFT_SIGNIFICANCE 20.0
#define LW_SFFT_FIT_ENOUGH 1e-2

/* Quantiles of the bucket energies that the noise is taken from: when nothing has been found yet, while lines are being
 * found, after a fit. */
#define LW_SFFT_QUANTILE_FULL 0.1
#define LW_SFFT_QUANTILE_PEELING 0.3
#define LW_SFFT_QUANTILE_FITTED 0.5
