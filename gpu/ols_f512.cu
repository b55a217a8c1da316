/* ols_f512.cu - overlap-save, single precision, 512 points: a warp a segment. */
#include "ols_instance.cuh"

static const OlsKernel list[] = {
    LW_OLS_BOTH(float, 16, 2, 20, -1),
};
const OlsKernels lw_ols_f512 = LW_OLS_LIST(list);
