/* ols_d1024.cu - overlap-save, double precision, 1024 points. */
#include "ols_instance.cuh"

static const OlsKernel list[] = {
    LW_OLS_BOTH(double, 16, 4, 4, -1),
};
const OlsKernels lw_ols_d1024 = LW_OLS_LIST(list);
