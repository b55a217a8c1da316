#include "conv2d_rows.cuh"

const BandKernel lw_conv2d_rows_f[] = {
    rows_kernel<RowPass<float, 16, 2, 4>, 4>(LW_SINGLE),
    rows_kernel<RowPass<float, 32, 1, 4>, 4>(LW_SINGLE),
    rows_kernel<RowPass<float, 16, 8, 1>, 8>(LW_SINGLE),
    rows_kernel<RowPass<float, 16, 16, 1>, 4>(LW_SINGLE),
    rows_kernel<RowPass<float, 32, 8, 1>, 2>(LW_SINGLE),
};
const int lw_conv2d_n_rows_f = sizeof lw_conv2d_rows_f / sizeof *lw_conv2d_rows_f;
