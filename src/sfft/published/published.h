/* published.h - the published sparse Fourier transform with flat windows and voting: `--algorithm sfft2`.
 *
 *     a loop:   permute    x[(sigma i + tau) mod n], random sigma and tau
 *               bin        multiply by a flat window, fold to B buckets, transform
 *     locating  cutoff     select the M largest buckets of a loop
 *               vote       one vote for each frequency that the permutation sends to a selected bucket
 *     all       estimate   each frequency with enough votes: the median over all loops, re and im separately
 *
 * Hassanieh, Indyk, Katabi, Price, "Simple and practical algorithm for sparse Fourier transform", SODA 2012 (sFFT 1.0; sFFT 2.0
 * adds the comb, which leaves only few residues of frequencies to vote for). Wang, Chandrasekaran, Chapman, "cusFFT", IPDPS 2016
 * (its parallel forms: loop partition with index mapping, data layout transformation, k-selection). Two additions to the papers:
 * n need not be a power of two; and one more loop, from which nothing is recovered, checks the result.
 *
 * The method reads tens of times the samples of the default algorithm and needs the signal in memory; it serves for comparison.
 *
 * No MPI, no files. A loop is a stage of one shift (sfft/stage.h). The result does not depend on the number of threads. */
#pragma once

#include "base/linkage.h"
#include "sfft/sfft.h"

LW_C_BEGIN

#define LW_PUBLISHED_LOOPS 64       /* most loops, locating and estimating together */
#define LW_PUBLISHED_COMBS 8
#define LW_PUBLISHED_ATTEMPTS 2
#define LW_PUBLISHED_MAX_SAMPLES ((int64_t)1 << 38)

enum lw_published_window { LW_PUBLISHED_DOLPH_CHEBYSHEV, LW_PUBLISHED_GAUSSIAN };

/* Parameters that a user may choose; 0 leaves a number to the plan, except `comb`. */
struct lw_published_choice {
    enum lw_published_window window;
    int64_t n_buckets;              /* B, at least as many as lines */
    int location_loops, votes;      /* 1 <= votes <= location_loops */
    int estimation_loops;           /* further loops; the locating loops' buckets are used as well */
    int64_t comb;                   /* residues, a divisor of n; 0: no comb */
    int comb_loops;
};

struct lw_published_plan {
    struct lw_sfft_spec spec;
    struct lw_published_choice choice; /* all numbers set */
    struct lw_sfft_window_spec window;
    double box_half;                /* half width of the window's box, buckets */
    int64_t n_selected;             /* M, buckets selected of B */
    int64_t n_louder;               /* buckets louder than the one that tells the noise, which is the median of those that no line
                                       reaches: half of all, or more if lines fill most */
    double by_chance;               /* frequencies that get enough votes if M buckets are selected at random */
    int64_t n_residues;             /* residues approved of each comb */
    int64_t capacity;               /* most frequencies with enough votes; more is a failure */
    int64_t samples;                /* samples read */
};

/** Complete a choice for attempt 0 .. LW_PUBLISHED_ATTEMPTS - 1. Each attempt has new random numbers and, unless the user chose
 * the buckets, twice as many. Where lines share few buckets, more loops estimate. LW_ECONFIG: the spec does not
 * allow the choice; the message gives the legal range. */
int lw_published_plan_make(const struct lw_sfft_spec *spec, const struct lw_published_choice *choice, int attempt,
                           struct lw_published_plan *plan, struct lw_error *err);

/** Return the number of window taps on either side of the middle tap. */
int64_t lw_published_window_half(const struct lw_published_plan *plan);

/** Return the stage of loop l: locating loops come first, then estimating loops, then the checking loop. */
struct lw_sfft_stage lw_published_loop(const struct lw_published_plan *plan, int attempt, int l,
                                       const struct lw_sfft_window *window);

/** Return the first sample of comb `number`, 0 .. comb_loops - 1. */
int64_t lw_published_first_tooth(const struct lw_published_plan *plan, int attempt, int number);

static inline int lw_published_count_loops(const struct lw_published_plan *plan)
{
    return plan->choice.location_loops + plan->choice.estimation_loops;
}

/* Data derived from a plan and the seed, the same for every engine. The flat window is a box in frequency, times a
 * Dolph-Chebyshev or a Gaussian window; the loops use it. */
struct lw_published_layout {
    struct lw_published_plan plan;
    int attempt;
    struct lw_sfft_window *window;                  /* owned */
    struct lw_sfft_stage loops[LW_PUBLISHED_LOOPS]; /* [n_loops + 1]; the last one checks */
    int n_loops;
};

/** Create a layout. FFTW computes the Dolph-Chebyshev window by a transform of its length: the same bits for every engine. */
int lw_published_layout_create(const struct lw_published_plan *plan, int attempt, struct lw_published_layout **out,
                               struct lw_error *err);
void lw_published_layout_destroy(struct lw_published_layout *layout); /* NULL is legal */
int64_t lw_published_layout_bytes(const struct lw_published_plan *plan);    /* estimated peak host bytes of create */

/* Measurements of the checking loop. */
struct lw_published_figures {
    double before, after;           /* energy of its buckets, before and after the lines are subtracted */
    double median, largest;         /* median and largest energy of one bucket, after */
    double left_out;                /* |X|^2 of the lines found but not reported, and of their mirror images */
};

/* Seconds of each step. An engine that estimates lines while it votes counts both under `vote`. */
struct lw_published_profile {
    double comb, bin, transform, cutoff, vote, estimate, check;
};
#define LW_PUBLISHED_STEPS(X) X(comb) X(bin) X(transform) X(cutoff) X(vote) X(estimate) X(check)

LW_C_END
