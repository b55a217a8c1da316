/* search_truth.h - the expected products of a trial's search, by the definitions of signal/search.h, from a series of direct
 * sums.
 *
 * A search compares pairs of numbers: an output with the threshold, or two outputs. The truth is *settled* if no compared pair is
 * so close that the engine's guaranteed error could reverse the comparison. */
#pragma once

#include "trial.h"

struct search_truth {
    const struct trial_data *data;
    double complex *y;              /* [filter][channel][output]; NaN: the output touches a sample that is not finite */
    double *snr;                    /* [filter][channel][output]; NaN: the output does not count */
    double *margin;                 /* [filter]: largest error of an engine's output, rounding excluded */
};

/** Compute the series. @param is_exact whether engines compute it without any error */
void search_truth_make(const struct trial_data *data, const struct lw_op_plan *plan, bool is_exact, struct search_truth *truth);
void search_truth_free(struct search_truth *truth);

/** Set the threshold of `data` so that about `wanted` outputs reach it.
 * @return whether the truth is settled: no error within the margins changes the crossings or the peaks */
bool search_truth_settle(const struct search_truth *truth, struct trial_data *data, int64_t wanted);

/** Compare all products except the series. */
void search_truth_check(const struct search_truth *truth, const struct trial_result *result, const struct trial_found *found,
                        const char *what);
