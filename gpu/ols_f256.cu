/* ols_f256.cu - overlap-save, single precision, 256 points: two segments a warp. */
#include "ols_instance.cuh"

static const OlsKernel list[] = {
    LW_OLS_BOTH(float, 16, 1, 20, -1),
};
const OlsKernels lw_ols_f256 = LW_OLS_LIST(list);
