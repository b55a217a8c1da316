/* ols_d2048.cu - overlap-save, double precision, 2048 points. */
#include "ols_instance.cuh"

static const OlsKernel list[] = {
    LW_OLS_BOTH(double, 16, 8, 2, -1),
};
const OlsKernels lw_ols_d2048 = LW_OLS_LIST(list);
