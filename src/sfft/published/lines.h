/* lines.h - from the frequencies that were elected to lines, and the check of these. */
#pragma once

#include "sfft/published/published.h"

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
