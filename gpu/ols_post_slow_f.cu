/* ols_post_slow_f.cu - overlap-save with something made of the series, single precision, time slow. */
#include "ols_instance.cuh"
#include "ols_post.cuh"

static const OlsKernel list[] = {
    LW_OLS_SLOW_POST(float, 32, 1, 4, 2),
    LW_OLS_SLOW_POST(float, 32, 4, 2, 1),
    LW_OLS_SLOW_POST(float, 32, 8, 1, 1),
};
const OlsKernels lw_ols_post_slow_f = LW_OLS_LIST(list);
