/* stage.h - a stage of the sparse transform: one random permutation of the spectrum, seen through buckets. Pure arithmetic.
 *
 * A stage permutes the frequencies, f' = sigma f mod n, and divides the permuted spectrum into B buckets; bucket b is centred on
 * n b / B. It has D shifts s[d] of the signal, and for each one a value in every bucket:
 *
 *     U[d][b] = sum over |i| <= h of g[i] x[(sigma (s[d] + i) + tau) mod n] exp(-2 pi i b i / B)
 *
 * A line of amplitude a at frequency f (x[t] = a exp(2 pi i f t / n)) appears in the bucket nearest to f' and its two neighbours as
 *
 *     a exp(2 pi i f (sigma s[d] + tau) / n) G(f' B / n - b)
 *
 * The phases between shifts yield f': the first shift to within a bucket, each further one 2^r times finer. */
#pragma once

#include "sfft/flat_window.h"

LW_C_BEGIN

#define LW_SFFT_SHIFTS 48           /* most shifts of a stage: enough for r = 1 and any n */
#define LW_SFFT_ATTEMPTS 3
#define LW_SFFT_STAGES 16           /* most stages of all attempts; LW_SFFT_PLANES: most planes of buckets, one for each shift */
#define LW_SFFT_PLANES 256

/* The chosen parameters of a stage; they and the seed determine everything else. */
struct lw_sfft_stage_spec {
    int64_t n;                      /* samples of the signal */
    int64_t n_buckets;              /* B; an even number if there are several shifts */
    int n_shifts;                   /* D; with 1 the stage cannot locate lines */
    uint64_t seed;
};

struct lw_sfft_stage {
    struct lw_sfft_stage_spec spec;
    const struct lw_sfft_window *window;            /* borrowed */
    int64_t shift[LW_SFFT_SHIFTS];
    double ratio;                   /* ratio of each shift to the one before, from the second shift on */
    int64_t sigma, sigma_inverse, tau;
};

/* Position of a frequency in a stage, from lw_sfft_stage_place. */
struct lw_sfft_place {
    int64_t permuted;               /* f' */
    int64_t bucket;                 /* nearest bucket, 0 .. B-1 */
    double distance;                /* f' B / n - bucket, in -0.5 .. 0.5 */
};

/** Return the shifts that locate one of n frequencies with r bits each: 1 + ceil(log2(2 n / B) / r), at most LW_SFFT_SHIFTS. */
int lw_sfft_count_shifts(int64_t n, int64_t n_buckets, double bits_per_shift);

struct lw_sfft_stage lw_sfft_stage_make(const struct lw_sfft_stage_spec *spec, const struct lw_sfft_window *window);

/** Return the number of samples that a stage reads: D rows of 2 h + 1. */
int64_t lw_sfft_stage_samples(const struct lw_sfft_stage *stage);

/** Return sample i of row d: (sigma (s[d] + i - h) + tau) mod n. The next sample of the row lies sigma further on, modulo n. */
int64_t lw_sfft_stage_sample(const struct lw_sfft_stage *stage, int d, int64_t i);

struct lw_sfft_place lw_sfft_stage_place(const struct lw_sfft_stage *stage, int64_t frequency);

/** Return the least amplitude of a line that can be located, in standard deviations of the noise in a bucket. At this amplitude
 * four standard deviations of the phase between two shifts are a turn over twice the ratio, the most it may be wrong. */
double lw_sfft_stage_least_amplitude(const struct lw_sfft_stage *stage);

/** Return f (sigma s[d] + tau) / n in turns, reduced to [0, 1). `permuted` is f'. */
double lw_sfft_stage_turns(const struct lw_sfft_stage *stage, int d, int64_t frequency, int64_t permuted);

LW_C_END
