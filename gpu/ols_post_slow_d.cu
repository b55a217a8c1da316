/* ols_post_slow_d.cu - overlap-save with something made of the series, double precision, time slow. */
#include "ols_instance.cuh"
#include "ols_post.cuh"

static const OlsKernel list[] = {
    LW_OLS_SLOW_POST(double, 16, 4, 2, 2),
    LW_OLS_SLOW_POST(double, 16, 16, 1, 1),
};
const OlsKernels lw_ols_post_slow_d = LW_OLS_LIST(list);
