/* ols_f4096.cu - overlap-save, single precision, 4096 points: four warps a segment. */
#include "ols_instance.cuh"

static const OlsKernel list[] = {
    LW_OLS_BOTH(float, 32, 4, 3, 512),
    LW_OLS_BOTH(float, 32, 4, 3, 1024),
    LW_OLS_BOTH(float, 32, 4, 3, -1),
};
const OlsKernels lw_ols_f4096 = LW_OLS_LIST(list);
