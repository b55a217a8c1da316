#include "conv2d_columns.cuh"

const BandKernel lw_conv2d_columns_d[] = {
    columns_kernel<ColumnPass<double, 16, 1, 4>, 2>(LW_DOUBLE),
    columns_kernel<ColumnPass<double, 16, 4, 4>, 1>(LW_DOUBLE),
    columns_kernel<ColumnPass<double, 16, 8, 2>, 1>(LW_DOUBLE),
};
const int lw_conv2d_n_columns_d = sizeof lw_conv2d_columns_d / sizeof *lw_conv2d_columns_d;
