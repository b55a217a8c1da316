/* ols_f1024.cu - overlap-save, single precision, 1024 points: a warp a segment. */
#include "ols_instance.cuh"

static const OlsKernel list[] = {
    LW_OLS_BOTH(float, 32, 1, 12, 64),
    LW_OLS_BOTH(float, 32, 1, 12, 128),
    LW_OLS_BOTH(float, 32, 1, 12, 256),
    LW_OLS_BOTH(float, 32, 1, 12, -1),
    LW_OLS_ONE_FILTER(32, 16, 64),
    LW_OLS_ONE_FILTER(32, 16, 256),
    LW_OLS_ONE_FILTER(32, 16, -1),
};
const OlsKernels lw_ols_f1024 = LW_OLS_LIST(list);
