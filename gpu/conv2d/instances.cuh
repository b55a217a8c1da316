/* instances.cuh - the compiled passes of large tiles, in groups that build in parallel: see gpu/ols/kernels/instances.cuh. */

#if defined(LW_INSTANCES_rows_f)
#include "gpu/conv2d/rows.cuh"

const BandKernel lw_conv2d_rows_f[] = {
    rows_kernel<RowPass<float, 16, 2, 4>, 4>(),
    rows_kernel<RowPass<float, 32, 1, 4>, 4>(),
    rows_kernel<RowPass<float, 16, 8, 1>, 8>(),
    rows_kernel<RowPass<float, 24, 4, 1>, 6>(),
    rows_kernel<RowPass<float, 16, 16, 1>, 4>(),
    rows_kernel<RowPass<float, 32, 8, 1>, 2>(),
    {},
};

#elif defined(LW_INSTANCES_rows_d)
#include "gpu/conv2d/rows.cuh"

const BandKernel lw_conv2d_rows_d[] = {
    rows_kernel<RowPass<double, 16, 2, 4>, 2>(),
    rows_kernel<RowPass<double, 16, 8, 1>, 2>(),
    rows_kernel<RowPass<double, 16, 16, 1>, 1>(),
    {},
};

#elif defined(LW_INSTANCES_back_f)
#include "gpu/conv2d/rows.cuh"

const BandKernel lw_conv2d_back_f[] = {
    back_kernel<RowPass<float, 16, 2, 4>, 4>(),
    back_kernel<RowPass<float, 32, 1, 4>, 4>(),
    back_kernel<RowPass<float, 16, 8, 1>, 8>(),
    back_kernel<RowPass<float, 24, 4, 1>, 7>(),
    back_kernel<RowPass<float, 16, 16, 1>, 4>(),
    back_kernel<RowPass<float, 32, 8, 1>, 2>(),
    {},
};

#elif defined(LW_INSTANCES_back_d)
#include "gpu/conv2d/rows.cuh"

const BandKernel lw_conv2d_back_d[] = {
    back_kernel<RowPass<double, 16, 2, 4>, 2>(),
    back_kernel<RowPass<double, 16, 8, 1>, 2>(),
    back_kernel<RowPass<double, 16, 16, 1>, 1>(),
    {},
};

#elif defined(LW_INSTANCES_columns_f)
#include "gpu/conv2d/columns.cuh"

const BandKernel lw_conv2d_columns_f[] = {
    columns_kernel<ColumnPass<float, 16, 1, 8>, 4>(),
    columns_kernel<ColumnPass<float, 16, 2, 8>, 3>(),
    columns_kernel<ColumnPass<float, 32, 1, 8>, 2>(),
    columns_kernel<ColumnPass<float, 32, 2, 4>, 2>(),
    columns_kernel<ColumnPass<float, 32, 4, 4>, 1>(),
    {},
};

#elif defined(LW_INSTANCES_columns_d)
#include "gpu/conv2d/columns.cuh"

const BandKernel lw_conv2d_columns_d[] = {
    columns_kernel<ColumnPass<double, 16, 1, 4>, 2>(),
    columns_kernel<ColumnPass<double, 16, 4, 4>, 1>(),
    columns_kernel<ColumnPass<double, 16, 8, 2>, 1>(),
    {},
};

#else
#error "no group of kernels is chosen: define LW_INSTANCES_<group>"
#endif
