/* ols_post_f.cu - overlap-save with something made of the series, single precision, time fast. */
#include "ols_instance.cuh"
#include "ols_post.cuh"

static const OlsKernel list[] = {
    LW_OLS_POST(float, 32, 1, 8),
    LW_OLS_POST(float, 32, 2, 4),
    LW_OLS_POST(float, 32, 4, 2),
};
const OlsKernels lw_ols_post_f = LW_OLS_LIST(list);
