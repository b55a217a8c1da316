/* post.h - the last step of the long path where something is made of the series: lw_long_store with what post.h says. */
#ifndef LW_GPU_OLS_LONG_POST_H
#define LW_GPU_OLS_LONG_POST_H

#include "gpu/host/post_args.h"
#include "gpu/ols/long/steps.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The outputs of items first .. first + n - 1 to one plane of the output, float or double. An item's series is
 * products[N - hop - reach .. N): `before` samples, the hop, and those after it. */
cudaError_t lw_long_post(const struct lw_long_geometry *geometry, const struct lw_post_args *post, const void *products,
                         int64_t first, int n, void *plane, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
