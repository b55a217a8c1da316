/* steps.h - steps of the published transform (published.h) for the cpu engine. Pure arithmetic.
 *
 *     cut       the largest buckets of a loop
 *     vote      from these back to the frequencies that fall into them
 *     estimate  lines at the elected frequencies
 *     check     the lines against the checking loop */
#pragma once

#include "sfft/published/published.h"

/* ---- the largest buckets --------------------------------------------------------------------------------------------- */

/** List the indices of the `most` largest of values[0 .. count-1], none negative, in ascending order; of equal ones the lower.
 * @param places  [most]
 * @return        number listed: `most`, or `count` if that is less */
int64_t lw_published_cut(const double *values, int64_t count, int64_t most, int64_t *places);

/* ---- votes ----------------------------------------------------------------------------------------------------------- */

/* Residues of frequencies modulo `size`; only frequencies with an approved residue get votes. */
struct lw_published_comb {
    int64_t size;                   /* 0: no comb, all frequencies get votes */
    int64_t *approved;              /* [count], ascending */
    int64_t count;
    int64_t *permuted;              /* [count] work: the approved residues after a loop's permutation, ascending */
};

struct lw_published_ballot {
    int64_t n_frequencies;          /* frequencies 0 .. n_frequencies - 1 get votes: n, or n/2 + 1 for a real signal */
    uint8_t *votes;                 /* [n_frequencies] votes so far */
    int needed;
    int64_t *elected;               /* [capacity] frequencies with `needed` votes or more, in the order of loops */
    int64_t n_elected, capacity;    /* n_elected may exceed the capacity; the excess is lost */
    int64_t *counts;                /* [most places] work array */
    int n_threads;
};

/** Give one vote to each frequency in buckets places[0 .. n_places-1] (ascending) of a loop. A loop meets no frequency twice, so
 * that threads need no atomics. */
void lw_published_vote(struct lw_published_ballot *ballot, const struct lw_sfft_stage *loop,
                       const struct lw_published_comb *comb, const int64_t *places, int64_t n_places);

/* ---- lines ----------------------------------------------------------------------------------------------------------- */

/* The transformed buckets of all loops. */
struct lw_published_buckets {
    const struct lw_published_plan *plan;
    const struct lw_sfft_stage *loops;              /* [n_loops + 1]; the last one checks */
    double _Complex *const *planes;                 /* [n_loops + 1][B] */
    double *energies;                               /* [B] work array */
    int n_threads;
};

/** Set `energies` to |.|^2 of the buckets of a loop. @return  their sum */
double lw_published_energies(const struct lw_published_buckets *buckets, int loop, double *energies);

/** Estimate lines at the given frequencies; keep those that stand out of the noise, strongest first.
 * @param lines  [count]
 * @return       number of lines */
int64_t lw_published_estimate(const struct lw_published_buckets *buckets, const int64_t *frequencies, int64_t count,
                              struct lw_sfft_line *lines);

/** Return the least energy of a line in a bucket, in variances of the noise there. */
double lw_published_significance(int64_t n_buckets);

/** Subtract the lines from the checking loop, test whether only noise is left, and report the strongest lines, sorted by frequency.
 * @param lines    [count] strongest first; reordered; the result points into this array
 * @param is_sure  false: some lines are known to be missing */
void lw_published_check(const struct lw_published_buckets *buckets, struct lw_sfft_line *lines, int64_t count, bool is_sure,
                        struct lw_sfft_result *result);

/** Judge whether the lines of a result explain the signal, and how well. Sets all members but the lines and their numbers. Pure.
 * @param weight   energy of the loop's window
 * @param is_sure  false: some lines are known to be missing */
void lw_published_conclude(const struct lw_published_plan *plan, double weight, const struct lw_published_figures *figures,
                           bool is_sure, struct lw_sfft_result *result);
