/* search.h - what is sought in the series of a block (signal/search.h): memory and steps. C.
 *
 * Where a kernel finds crossings and the best filter itself (lw_cuda_ols_plan.finds), it is launched for the former, for the
 * latter, and for the series. Elsewhere the series of the block's own outputs and of those before and after it that are needed is
 * computed to work memory, at its full rate, and the kernels of gpu/ols/find.h look through it. Outputs beyond the axis are not
 * computed. */
#pragma once

#include "gpu/ols/state.h"

/** Bytes of the scales that are kept, [stretches][n_channels][n_filters] reals of the computing precision: 1 / (threshold sigma),
 * and 0 where sigma is 0. */
int64_t lw_ols_scales_bytes(const struct lw_op_spec *spec);

/** Make them. @param scales  host */
void lw_ols_scales(const struct lw_op_spec *spec, void *scales);

/** The same for the best filter: 1 / sigma with a factor for each channel, so that the strongest output of a signal of size 1 is of
 * that size; negative where outputs of the negative sign are sought, NaN where sigma is 0. No bytes where it is not wanted. */
int64_t lw_ols_strengths_bytes(const struct lw_op_spec *spec);
void lw_ols_strengths(const struct lw_op_spec *spec, void *strengths);

/** Whether a kernel may find what is wanted. Statistics of blocks need the series. */
bool lw_ols_may_find(const struct lw_op_spec *spec);

/** Bytes of a slot's work memory, where the series is needed, for blocks of at most so many outputs and channels. */
int64_t lw_ols_search_bytes(const struct lw_op_spec *spec, const struct lw_op_plan *plan, int64_t count, int64_t n_channels);

/** Enqueue the search in one block. @param memory  lw_ols_search_bytes of the slot's work memory, where the series is needed */
int lw_ols_search(const struct lw_op *op, const struct lw_cuda_op_block *work, void *memory, struct lw_error *err);

/** Enqueue the search for the crossings of a part of it, whose input is still there. */
int lw_ols_search_again(const struct lw_op *op, const struct lw_cuda_op_block *work, const struct lw_part *part, void *memory,
                        struct lw_error *err);
