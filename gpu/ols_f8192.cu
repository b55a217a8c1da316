/* ols_f8192.cu - overlap-save, single precision, 8192 points: eight warps a segment. */
#include "ols_instance.cuh"

static const OlsKernel list[] = {
    LW_OLS_BOTH(float, 32, 8, 1, 2048),
    LW_OLS_BOTH(float, 32, 8, 1, 4096),
    LW_OLS_BOTH(float, 32, 8, 1, -1),
    LW_OLS_TWIN_BOTH(32, 8, 2048),
    LW_OLS_TWIN_BOTH(32, 8, 4096),
    LW_OLS_TWIN_BOTH(32, 8, -1),
};
const OlsKernels lw_ols_f8192 = LW_OLS_LIST(list);
