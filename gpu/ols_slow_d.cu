/* ols_slow_d.cu - overlap-save, time slow, double precision. */
#include "ols_instance.cuh"

static const OlsKernel list[] = {
    LW_OLS_SLOW(double, 16, 4, 2, 2, true),
    LW_OLS_SLOW(double, 16, 16, 1, 1, true),
};
const OlsKernels lw_ols_slow_d = LW_OLS_LIST(list);
