/* steps.h - steps of the published transform (published.h) as the cpu engine takes them: the largest buckets, from these back to
 * the frequencies that fall into them, to lines, and the check of these. Pure arithmetic. */
#pragma once

#include "sfft/published/published.h"

/* ---- the largest buckets --------------------------------------------------------------------------------------------- */

/** The places of the `most` largest of values[0 .. count-1], none negative, in ascending order; of equal ones those of the
 * lower places.
 * @param places  [most]
 * @return        how many: `most`, or `count` if that is less */
int64_t lw_published_cut(const double *values, int64_t count, int64_t most, int64_t *places);

/* ---- votes ----------------------------------------------------------------------------------------------------------- */

/* Residues of frequencies modulo `size`; only frequencies with one of these are voted for. */
struct lw_published_comb {
    int64_t size;                   /* 0: no comb, all are */
    int64_t *approved;              /* [count], ascending */
    int64_t count;
    int64_t *permuted;              /* [count] work: what a loop's permutation makes of them, ascending */
};

struct lw_published_ballot {
    int64_t n_frequencies;          /* voted for are 0 .. n_frequencies - 1: n, or n/2 + 1 of a real signal */
    uint8_t *votes;                 /* [n_frequencies] so far */
    int needed;
    int64_t *elected;               /* [capacity] frequencies that have got as many as needed, in the order of loops */
    int64_t n_elected, capacity;    /* n_elected may be larger: what is beyond the capacity is lost */
    int64_t *counts;                /* [most places] work */
    int n_threads;
};

/** Give the frequencies in buckets places[0 .. n_places-1], ascending, of a loop a vote each. Within a loop no frequency is
 * met twice, so threads need no atomics. */
void lw_published_vote(struct lw_published_ballot *ballot, const struct lw_sfft_stage *loop,
                       const struct lw_published_comb *comb, const int64_t *places, int64_t n_places);

/* ---- lines ----------------------------------------------------------------------------------------------------------- */

/* The transformed buckets of all loops. */
struct lw_published_buckets {
    const struct lw_published_plan *plan;
    const struct lw_sfft_stage *loops;              /* [n_loops + 1], the last one checks */
    double _Complex *const *planes;                 /* [n_loops + 1][B] */
    double *energies;                               /* [B] work */
    int n_threads;
};

/** |.|^2 of the buckets of a loop. @return  their sum */
double lw_published_energies(const struct lw_published_buckets *buckets, int loop, double *energies);

/** Lines at those frequencies that stand out of the noise, strongest first.
 * @param lines  [count]
 * @return       how many */
int64_t lw_published_estimate(const struct lw_published_buckets *buckets, const int64_t *frequencies, int64_t count,
                              struct lw_sfft_line *lines);

/** Energy that a line must have in a bucket, in variances of the noise there. */
double lw_published_significance(int64_t n_buckets);

/** Take the lines out of the loop that checks, see whether noise is left, and report the strongest ones, sorted by frequency.
 * @param lines    [count], strongest first; reordered, and what the result points to
 * @param is_sure  false: some lines are known to be missing */
void lw_published_check(const struct lw_published_buckets *buckets, struct lw_sfft_line *lines, int64_t count, bool is_sure,
                        struct lw_sfft_result *result);

/** Whether the lines of a result explain the signal, and how well: sets everything in it but its lines and their numbers. Pure.
 * @param weight   energy of the loop's window
 * @param is_sure  false: some lines are known to be missing */
void lw_published_conclude(const struct lw_published_plan *plan, double weight, const struct lw_published_figures *figures,
                           bool is_sure, struct lw_sfft_result *result);
