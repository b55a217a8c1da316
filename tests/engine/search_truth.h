/* search_truth.h - the products of a trial's search by the definitions of signal/search.h, from a series of direct sums.
 *
 * What an engine finds depends on which of two numbers is larger: an output and the threshold, or two outputs. The truth is
 * settled where no two of them are so close that the promised error of the engine could decide. */
#pragma once

#include "trial.h"

struct search_truth {
    const struct trial_data *data;
    double complex *y;              /* [filter][channel][output]; NaN where a sample touched is not finite */
    double *snr;                    /* likewise; NaN where an output does not count */
    double *margin;                 /* [filter]: an engine's outputs are no further away, their rounding aside */
};

/** The series. @param is_exact  engines compute it without any error */
void search_truth_make(const struct trial_data *data, const struct lw_op_plan *plan, bool is_exact, struct search_truth *truth);
void search_truth_free(struct search_truth *truth);

/** Set the threshold of `data` such that about `wanted` outputs reach it.
 * @return  whether no error within the margins changes which are crossings and which are peaks */
bool search_truth_settle(const struct search_truth *truth, struct trial_data *data, int64_t wanted);

/** Compare all products but the series. */
void search_truth_check(const struct search_truth *truth, const struct trial_result *result, const struct trial_found *found,
                        const char *what);
