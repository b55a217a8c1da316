/* ols_parts.h - functions shared by the files of the overlap-save suite. The engine under test is that of ols.c. */
#pragma once

#include "trial.h"

extern const struct trial conformance_plain;

int64_t conformance_pick(uint64_t *state, const int64_t *list, int n);

/** Set a mean and spread of samples that suit the input's type. */
void conformance_suit_type(struct trial *t);

/** Run one trial with a cut drawn from `state` and check it. */
void conformance_try(const struct trial *t, uint64_t *state, const char *what);

/** Run one trial with samples that are not finite, at the seams of segments if `at_seams`. */
void conformance_bad_samples(const struct trial *t, int n_spots, bool at_seams, uint64_t *state);

/** Check the report: every non-finite sample is counted once, by the block that owns it; the earliest is named, in the lowest
 * channel. */
void conformance_check_report(const struct trial_data *data, const struct trial_result *result);

/** Check that many ways to cut and queue a trial give the same bytes, on the engine under test and on `other`. */
void conformance_cuts(const struct trial *t, struct lw_engine *other);

/** Run a trial's data through the engine under test in one block. @return as trial_run */
bool conformance_run(const struct trial_data *data, struct trial_result *result);

/** Tests of all derived series of signal/post.h; implemented in ols_post.c. */
void conformance_of_post(void);
void conformance_cuts_of_post(struct lw_engine *other);
