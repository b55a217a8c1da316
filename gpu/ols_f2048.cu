/* ols_f2048.cu - overlap-save, single precision, 2048 points: two warps a segment. */
#include "ols_instance.cuh"

static const OlsKernel list[] = {
    LW_OLS_BOTH(float, 32, 2, 6, 256),
    LW_OLS_BOTH(float, 32, 2, 6, 512),
    LW_OLS_BOTH(float, 32, 2, 6, -1),
};
const OlsKernels lw_ols_f2048 = LW_OLS_LIST(list);
