#include "conv2d_rows.cuh"

const BandKernel lw_conv2d_rows_d[] = {
    rows_kernel<RowPass<double, 16, 2, 4>, 2>(LW_DOUBLE),
    rows_kernel<RowPass<double, 16, 8, 1>, 2>(LW_DOUBLE),
    rows_kernel<RowPass<double, 16, 16, 1>, 1>(LW_DOUBLE),
};
const int lw_conv2d_n_rows_d = sizeof lw_conv2d_rows_d / sizeof *lw_conv2d_rows_d;
