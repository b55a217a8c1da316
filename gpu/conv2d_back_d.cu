#include "conv2d_rows.cuh"

const BandKernel lw_conv2d_back_d[] = {
    back_kernel<RowPass<double, 16, 2, 4>, 2>(LW_DOUBLE),
    back_kernel<RowPass<double, 16, 8, 1>, 2>(LW_DOUBLE),
    back_kernel<RowPass<double, 16, 16, 1>, 1>(LW_DOUBLE),
};
