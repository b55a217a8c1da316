/* ols_d512.cu - overlap-save, double precision, 512 points. */
#include "ols_instance.cuh"

static const OlsKernel list[] = {
    LW_OLS_BOTH(double, 16, 2, 8, -1),
};
const OlsKernels lw_ols_d512 = LW_OLS_LIST(list);
