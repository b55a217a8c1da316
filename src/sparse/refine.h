/* refine.h - tones at any frequencies (sfft/tones/tones.h) from the lines of a search. --refine fits tones, and searches
 * the rest, samples minus tones, until it is noise. Otherwise a few tones are fitted to see whether any lie between frequencies. */
#pragma once

#include "sfft/tones/tones.h"
#include "sparse/state.h"

/* Work space of a search, besides its solver. */
struct lw_sparse_refine {
    struct lw_sfft_tones *tones;    /* owned, like lines */
    struct lw_sfft_line *lines;     /* [tones->spec.capacity] */
};

/** Return the spec of the search: with --refine for four times the lines, as a tone between frequencies shows as several lines. */
struct lw_sfft_spec lw_sparse_search_spec(const struct lw_sfft_request *request);

int64_t lw_sparse_refine_bytes(const struct lw_sparse *run);
int lw_sparse_refine_create(const struct lw_sparse *run, const struct lw_sfft_layout *layout, struct lw_sparse_refine *refine,
                            struct lw_error *err);
void lw_sparse_refine_release(struct lw_sparse_refine *refine);     /* may be called again */

/** Search samples again with the first n_attempts attempts.
 * @param values  samples of these attempts, (re, im), finite */
int lw_sparse_search_again(struct lw_sfft_solver *solver, int n_attempts, const double *values, struct lw_sfft_result *result,
                           struct lw_error *err);

/** Fit tones to the result of attempts 0 .. attempt. The solver then holds samples minus tones.
 * @param values  samples of these attempts, (re, im)
 * @param result  in: result of the search; out: tones, at most request.spec.sparsity */
int lw_sparse_refine(const struct lw_sparse *run, struct lw_sparse_refine *refine, struct lw_sfft_solver *solver, int attempt,
                     const double *values, struct lw_sfft_result *result, struct lw_error *err);

/** Count the strongest lines that lie between two frequencies, if the lines leave enough energy to make this worthwhile.
 * @param values  samples of attempt 0; overwritten */
int lw_sparse_off_grid(const struct lw_sparse_refine *refine, double *values, const struct lw_sfft_result *result);

/** Count the refined lines that lie between two frequencies. */
int lw_sparse_count_off_grid(const struct lw_sfft_result *result);
