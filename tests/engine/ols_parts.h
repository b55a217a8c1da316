/* ols_parts.h - what the files of the overlap-save suite share. The engine under test is that of ols.c. */
#pragma once

#include "trial.h"

extern const struct trial conformance_plain;

int64_t conformance_pick(uint64_t *state, const int64_t *list, int n);

/** Mean and spread of the samples that suit the input's type. */
void conformance_suit_type(struct trial *t);

/** Run one trial with a cut drawn from `state` and check it. */
void conformance_try(const struct trial *t, uint64_t *state, const char *what);

/** The same with samples that are not finite, at the seams of segments if so wished. */
void conformance_bad_samples(const struct trial *t, int n_spots, bool at_seams, uint64_t *state);

/** Every bad sample is counted once, by the block that owns it; the earliest is named, the lowest channel first. */
void conformance_check_report(const struct trial_data *data, const struct trial_result *result);

/** Many ways to cut and queue a trial, on the engine under test and on `other`: the same bytes. */
void conformance_cuts(const struct trial *t, struct lw_engine *other);

/** A trial's data through the engine under test, with one block. @return as trial_run */
bool conformance_run(const struct trial_data *data, struct trial_result *result);

/** ols_post.c: everything that signal/post.h makes of a series. */
void conformance_of_post(void);
void conformance_cuts_of_post(struct lw_engine *other);
