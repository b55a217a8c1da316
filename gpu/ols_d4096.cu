/* ols_d4096.cu - overlap-save, double precision, 4096 points. */
#include "ols_instance.cuh"

static const OlsKernel list[] = {
    LW_OLS_BOTH(double, 16, 16, 1, -1),
};
const OlsKernels lw_ols_d4096 = LW_OLS_LIST(list);
