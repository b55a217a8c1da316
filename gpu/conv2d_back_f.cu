#include "conv2d_rows.cuh"

const BandKernel lw_conv2d_back_f[] = {
    back_kernel<RowPass<float, 16, 2, 4>, 4>(LW_SINGLE),
    back_kernel<RowPass<float, 32, 1, 4>, 4>(LW_SINGLE),
    back_kernel<RowPass<float, 16, 8, 1>, 8>(LW_SINGLE),
    back_kernel<RowPass<float, 16, 16, 1>, 4>(LW_SINGLE),
    back_kernel<RowPass<float, 32, 8, 1>, 2>(LW_SINGLE),
};
