/* ols_post_f8192.cu - overlap-save with something made of the series, single precision, time fast, 8192 points. */
#include "ols_instance.cuh"
#include "ols_post.cuh"

static const OlsKernel list[] = {
    LW_OLS_POST(float, 32, 8, 1),
};
const OlsKernels lw_ols_post_f8192 = LW_OLS_LIST(list);
