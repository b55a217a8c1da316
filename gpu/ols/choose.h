/* choose.h - which kernel and segment length a spec gets. Pure. C. */
#pragma once

#include "base/linkage.h"
#include "gpu/ols/kernels/kernels.h"

LW_C_BEGIN

/** Resolve a spec. A pure function; needs no device.
 * @return LW_OK; LW_ECONFIG if `segment` is no length that a kernel exists for or is too short for the taps, naming the legal
 *         ones, or if there are no more than `nth_best` kernels. With too many taps for any segment: LW_OK and
 *         LW_CUDA_TOO_LONG, and `segment` is not looked at */
int lw_cuda_ols_choose(const struct lw_cuda_ols_spec *spec, const struct lw_cuda_arch *arch, struct lw_cuda_ols_plan *out,
                       struct lw_error *err);

/** Seconds per output of the series that thinning it out takes once it has been stored; 0 where all of it is wanted. Pure. */
double lw_cuda_ols_thinning_seconds(const struct lw_cuda_ols_spec *spec);

LW_C_END
