/* published.h - the published sparse Fourier transform with flat windows and voting, as `--algorithm sfft2`.
 *
 *     a loop:   permute    x[(sigma i + tau) mod n], sigma and tau at random
 *               bin        times a flat window, folded to B buckets, transformed
 *     locating  cutoff     the M largest buckets of a loop
 *               vote       each frequency that the permutation sends to one of those gets a vote
 *     all       estimate   each frequency with enough votes: the median of what all loops say, re and im by themselves
 *
 * Hassanieh, Indyk, Katabi, Price, "Simple and practical algorithm for sparse Fourier transform", SODA 2012 (sFFT 1.0; with
 * the comb, which leaves few residues of frequencies to vote for, sFFT 2.0). Wang, Chandrasekaran, Chapman, "cusFFT", IPDPS
 * 2016 (its parallel forms: loop partition with index mapping, data layout transformation, k-selection). Beyond the papers:
 * n need not be a power of two, and one loop more, from which nothing was recovered, checks the result.
 *
 * It takes tens of times the samples of the default algorithm, and the signal in memory; it is here to be compared with.
 *
 * No MPI, no files. A loop is a stage of one shift (sfft/stage.h). The result does not depend on the number of threads. */
#pragma once

#include "base/linkage.h"
#include "sfft/sfft.h"

LW_C_BEGIN

#define LW_PUBLISHED_LOOPS 64       /* at most, of locating and estimating together */
#define LW_PUBLISHED_COMBS 8
#define LW_PUBLISHED_ATTEMPTS 2
#define LW_PUBLISHED_MAX_SAMPLES ((int64_t)1 << 38)

enum lw_published_window { LW_PUBLISHED_DOLPH_CHEBYSHEV, LW_PUBLISHED_GAUSSIAN };

/* What may be asked for; 0 leaves a number to the plan, except for `comb`. */
struct lw_published_choice {
    enum lw_published_window window;
    int64_t n_buckets;              /* B, even */
    int location_loops, votes;      /* 1 <= votes <= location_loops */
    int estimation_loops;           /* beyond those that locate, whose buckets are used as well */
    int64_t comb;                   /* residues, a divisor of n; 0: no comb */
    int comb_loops;
};

struct lw_published_plan {
    struct lw_sfft_spec spec;
    struct lw_published_choice choice; /* complete */
    struct lw_sfft_window_spec window;
    double box_half;                /* of the window, buckets */
    int64_t n_selected;             /* M, of B buckets */
    int64_t n_residues;             /* of each comb that are approved */
    int64_t capacity;               /* frequencies that may get enough votes; more is a failure */
    int64_t samples;                /* touched */
};

/** Complete a choice for attempt 0 .. LW_PUBLISHED_ATTEMPTS - 1; each has fresh randomness and, unless they were asked for,
 * twice the buckets. LW_ECONFIG: a choice that the spec does not allow, with the legal range. */
int lw_published_plan_make(const struct lw_sfft_spec *spec, const struct lw_published_choice *choice, int attempt,
                           struct lw_published_plan *plan, struct lw_error *err);

/** Taps of the plan's window on either side of the middle one. */
int64_t lw_published_window_half(const struct lw_published_plan *plan);

/** The stage of loop l: locating loops, estimating ones, then the one that checks. */
struct lw_sfft_stage lw_published_loop(const struct lw_published_plan *plan, int attempt, int l,
                                       const struct lw_sfft_window *window);

/** The first sample of a comb, of which there are comb_loops. */
int64_t lw_published_first_tooth(const struct lw_published_plan *plan, int attempt, int number);

static inline int lw_published_count_loops(const struct lw_published_plan *plan)
{
    return plan->choice.location_loops + plan->choice.estimation_loops;
}

/* All that follows from a plan and the seed, whoever computes: the flat window, a box in frequency times a Dolph-Chebyshev
 * window or a Gaussian, and the loops that use it. */
struct lw_published_layout {
    struct lw_published_plan plan;
    int attempt;
    struct lw_sfft_window *window;                  /* owned */
    struct lw_sfft_stage loops[LW_PUBLISHED_LOOPS]; /* [n_loops + 1]: the last one checks */
    int n_loops;
};

/** The Dolph-Chebyshev window is made by a transform of its length, by FFTW: the same bits for every engine. */
int lw_published_layout_create(const struct lw_published_plan *plan, int attempt, struct lw_published_layout **out,
                               struct lw_error *err);
void lw_published_layout_destroy(struct lw_published_layout *layout); /* NULL is legal */
int64_t lw_published_layout_bytes(const struct lw_published_plan *plan);    /* on the host, while it is made, estimated */

/* What the loop that checks shows. */
struct lw_published_figures {
    double before, after;           /* energy of its buckets, with the lines and without them, */
    double median, largest;         /* and of a bucket, without them */
    double left_out;                /* |X|^2 of the lines found that are not reported, and of their mirror images */
};

/* Seconds of each step. An engine that estimates lines while it votes counts both as votes. */
struct lw_published_profile {
    double comb, bin, transform, cutoff, vote, estimate, check;
};
#define LW_PUBLISHED_STEPS(X) X(comb) X(bin) X(transform) X(cutoff) X(vote) X(estimate) X(check)

LW_C_END
