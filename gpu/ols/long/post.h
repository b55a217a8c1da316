/* post.h - the last step of the long path where something is made of the series: lw_long_store with what post.h says. */
#pragma once

#include "base/linkage.h"
#include "gpu/host/post_args.h"
#include "gpu/ols/long/steps.h"

LW_C_BEGIN

/** The outputs of items first .. first + n - 1 to one plane of the output, float or double. An item's series is
 * products[N - hop - reach .. N): `before` samples, the hop, and those after it. */
cudaError_t lw_long_post(const struct lw_long_geometry *geometry, const struct lw_post_args *post, const void *products,
                         int64_t first, int n, void *plane, cudaStream_t stream);

LW_C_END
