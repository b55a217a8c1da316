/* ols_d256.cu - overlap-save, double precision, 256 points. */
#include "ols_instance.cuh"

static const OlsKernel list[] = {
    LW_OLS_BOTH(double, 16, 1, 8, -1),
};
const OlsKernels lw_ols_d256 = LW_OLS_LIST(list);
