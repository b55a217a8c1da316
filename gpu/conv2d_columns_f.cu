#include "conv2d_columns.cuh"

const BandKernel lw_conv2d_columns_f[] = {
    columns_kernel<ColumnPass<float, 16, 1, 8>, 4>(LW_SINGLE),
    columns_kernel<ColumnPass<float, 16, 2, 8>, 3>(LW_SINGLE),
    columns_kernel<ColumnPass<float, 32, 1, 8>, 2>(LW_SINGLE),
    columns_kernel<ColumnPass<float, 32, 2, 4>, 2>(LW_SINGLE),
    columns_kernel<ColumnPass<float, 32, 4, 4>, 1>(LW_SINGLE),
};
const int lw_conv2d_n_columns_f = sizeof lw_conv2d_columns_f / sizeof *lw_conv2d_columns_f;
