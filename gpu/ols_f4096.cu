/* ols_f4096.cu - overlap-save, single precision, 4096 points: four warps a segment. */
#include "ols_instance.cuh"

static const OlsKernel list[] = {
    LW_OLS_BOTH(float, 32, 4, 3, 512, true),
    LW_OLS_BOTH(float, 32, 4, 3, 1024, true),
    LW_OLS_BOTH(float, 32, 4, 3, -1, true),
    LW_OLS_DESIGN(float, 32, 4, 3, 512, OLS_AHEAD),
    LW_OLS_DESIGN(float, 32, 4, 3, 1024, OLS_AHEAD),
    LW_OLS_DESIGN(float, 32, 4, 3, -1, OLS_AHEAD),
    LW_OLS_DESIGN(float, 32, 4, 3, 512, OLS_FOLLOW),
    LW_OLS_DESIGN(float, 32, 4, 3, 1024, OLS_FOLLOW),
    LW_OLS_DESIGN(float, 32, 4, 3, -1, OLS_FOLLOW),
};
const OlsKernels lw_ols_f4096 = LW_OLS_LIST(list);
