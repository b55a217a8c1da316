/* ols_slow_f.cu - overlap-save, time slow, single precision. */
#include "ols_instance.cuh"

static const OlsKernel list[] = {
    LW_OLS_SLOW(float, 32, 1, 4, 3, true),
    LW_OLS_SLOW(float, 32, 1, 8, 2, false),
    ols_abreast_kernel<32, 16, 1, 256>(),
    ols_abreast_kernel<32, 16, 1, -1>(),
    ols_abreast_kernel<32, 8, 2, 256>(),
    ols_abreast_kernel<32, 8, 2, -1>(),
    LW_OLS_SLOW(float, 32, 4, 2, 1, true),
    LW_OLS_SLOW(float, 32, 8, 1, 1, true),
};
const OlsKernels lw_ols_slow_f = LW_OLS_LIST(list);
