/* ols_post_d.cu - overlap-save with something made of the series, double precision, time fast. */
#include "ols_instance.cuh"
#include "ols_post.cuh"

static const OlsKernel list[] = {
    LW_OLS_POST(double, 16, 4, 4),
    LW_OLS_POST(double, 16, 16, 1),
};
const OlsKernels lw_ols_post_d = LW_OLS_LIST(list);
