/* refine.h - tones at any frequencies (sfft/tones/tones.h) from the lines of a search: with --refine they are fitted, and what they
 * leave is searched again until it is noise; without, a few of them tell whether there are such tones. */
#pragma once

#include "sfft/tones/tones.h"
#include "sparse/state.h"

/* What a search uses beside its solver. */
struct lw_sparse_refine {
    struct lw_sfft_tones *tones;    /* owned, as what follows */
    struct lw_sfft_line *lines;     /* [tones->spec.capacity] */
};

/** The signal as the search sees it: with --refine as one of four times as many lines, since a tone between two frequencies is as
 * many strong ones and more. */
struct lw_sfft_spec lw_sparse_search_spec(const struct lw_sfft_request *request);

int64_t lw_sparse_refine_bytes(const struct lw_sparse *run);
int lw_sparse_refine_create(const struct lw_sparse *run, const struct lw_sfft_layout *layout, struct lw_sparse_refine *refine,
                            struct lw_error *err);
void lw_sparse_refine_release(struct lw_sparse_refine *refine);     /* may be called again */

/** Search samples with the first attempts, all anew.
 * @param values  of these attempts, (re, im), finite */
int lw_sparse_search_again(struct lw_sfft_solver *solver, int n_attempts, const double *values, struct lw_sfft_result *result,
                           struct lw_error *err);

/** The result of attempts 0 .. attempt as tones. The solver is left with what they leave.
 * @param values  samples of these attempts, (re, im)
 * @param result  in: of the search; out: of the tones, at most request.spec.sparsity */
int lw_sparse_refine(const struct lw_sparse *run, struct lw_sparse_refine *refine, struct lw_sfft_solver *solver, int attempt,
                     const double *values, struct lw_sfft_result *result, struct lw_error *err);

/** How many of the strongest lines lie between two frequencies, where the lines leave so much that it is worth a look.
 * @param values  samples of attempt 0; overwritten */
int lw_sparse_off_grid(const struct lw_sparse_refine *refine, double *values, const struct lw_sfft_result *result);

/** Of refined lines, those that lie between two frequencies. */
int lw_sparse_count_off_grid(const struct lw_sfft_result *result);
