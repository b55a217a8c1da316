/* rules.h - thresholds of recovery, the same on every engine: when a bucket holds a line, and when to stop. C and CUDA C. */
#pragma once

enum {
    LW_SFFT_LOOKS = 3,              /* most passes of peeling and fitting */
    LW_SFFT_ROUNDS = 40,            /* most rounds of a peeling pass, each through all stages */
    LW_SFFT_FIT_STEPS = 40,
    LW_SFFT_TOLERANCES = 4,
};

/* Part of a bucket's energy that one line may leave unexplained. The values are used in turn: the purest buckets first. */
#define LW_SFFT_TOLERANCE_VALUES {1e-4, 1e-3, 0.01, 0.05}

/* A line may leave the noise energy in its bucket, plus this many standard deviations of the noise's sum over the shifts. */
#define LW_SFFT_SPREAD 3.0

/* Leakage between lines counts as noise. Its amplitude is this part of the window's tolerance. */
#define LW_SFFT_LEAK 0.3

/* Peeling ends when the energy left is at most this many times the energy of the leakage. The second number is for a round without
 * a new frequency. Weaker lines appear after the fit. */
#define LW_SFFT_EXHAUSTED 4.0
#define LW_SFFT_EXHAUSTED_SAME 100.0

/* A fitted line is kept if its energy is at least SIGNIFICANCE times the noise's. A fit ends when the energy of its gradient is
 * at most FIT_ENOUGH of the energy that noise alone gives it. */
#define LW_SFFT_SIGNIFICANCE 20.0
#define LW_SFFT_FIT_ENOUGH 1e-2

/* Quantiles of the bucket energies that give the noise: before any line is found, while peeling finds lines, after a fit. */
#define LW_SFFT_QUANTILE_FULL 0.1
#define LW_SFFT_QUANTILE_PEELING 0.3
#define LW_SFFT_QUANTILE_FITTED 0.5
