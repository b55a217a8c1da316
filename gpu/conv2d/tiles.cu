#include "gpu/conv2d/tiles.cuh"

template <class F_, int BLOCKS_> struct TileKernel {
    using F = F_;
    static constexpr int BLOCKS = BLOCKS_;
};

template <class With> static cudaError_t with_tile(enum lw_precision precision, int side, With with)
{
    if (precision == LW_DOUBLE && side == 64)
        return with(TileKernel<Tile<double, 16>, 1>{});
    if (precision == LW_SINGLE && side == 64)
        return with(TileKernel<Tile<float, 16>, 4>{});
    if (precision == LW_SINGLE && side == 128)
        return with(TileKernel<Tile<float, 32>, 1>{});
    return cudaErrorInvalidValue;
}

const int *lw_conv2d_tile_sides(enum lw_precision precision)
{
    static const int of_single[] = {64, 128, 0}, of_double[] = {64, 0};
    return precision == LW_SINGLE ? of_single : of_double;
}

int lw_conv2d_tile_shared_bytes(enum lw_precision precision, int side)
{
    int bytes = 0;
    with_tile(precision, side, [&](auto kernel) {
        bytes = decltype(kernel)::F::SHARED_BYTES;
        return cudaSuccess;
    });
    return bytes;
}

int64_t lw_conv2d_tile_bytes(enum lw_precision precision, int side)
{
    return ((int64_t)side * side + side) * (precision == LW_SINGLE ? 8 : 16);
}

int64_t lw_conv2d_tile_setup_bytes(int side, int64_t kernel_rows)
{
    KernelSpectrum s = {};
    s.rows = s.columns = side;
    s.kernel_rows = kernel_rows;
    return lay_out_spectrum(s, nullptr);
}

template <class C> static __global__ void round_roots(const double2 *roots, C *to, int n)
{
    using Real = decltype(C::x);
    if ((int)threadIdx.x < n)
        to[threadIdx.x] = {(Real)roots[threadIdx.x].x, (Real)roots[threadIdx.x].y};
}

template <class Kernel> static cudaError_t allow_shared(Kernel kernel, int bytes)
{
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

cudaError_t lw_conv2d_tile_prepare(enum lw_precision precision, int side, const double *taps, bool is_complex,
                                   int64_t kernel_rows, int64_t kernel_columns, void *setup, void *bank,
                                   cudaStream_t stream)
{
    KernelSpectrum s = {taps, is_complex, kernel_rows, kernel_columns, side, side};
    lay_out_spectrum(s, setup);
    return with_tile(precision, side, [=](auto kernel) {
        using K = decltype(kernel);
        using F = typename K::F;
        using C = typename F::C;
        cudaError_t status = allow_shared(conv2d_tile<F, K::BLOCKS, true>, F::SHARED_BYTES);
        if (status == cudaSuccess)
            status = allow_shared(conv2d_tile<F, K::BLOCKS, false>, F::SHARED_BYTES);
        if (status == cudaSuccess)
            status = fill_spectrum(s, F{}, static_cast<C *>(bank) + F::S, stream);
        if (status != cudaSuccess)
            return status;
        round_roots<<<1, F::S, 0, stream>>>(s.row_roots, static_cast<C *>(bank), F::S);
        return cudaGetLastError();
    });
}

int64_t lw_conv2d_cut(const struct lw_conv2d_block *block, struct lw_conv2d_grid *grid)
{
    const int64_t rows = grid->hop_rows * grid->pair_rows, down = (block->count + rows - 1) / rows;
    grid->transforms_down = (int)down;
    return grid->transforms_across * down * block->n_channels;
}

cudaError_t lw_conv2d_tiles(const struct lw_conv2d_block *block, const struct lw_conv2d_grid *grid,
                            enum lw_precision precision,
                            const void *bank, cudaStream_t stream)
{
    struct lw_conv2d_grid g = *grid;
    const int64_t n = lw_conv2d_cut(block, &g);
    if (n == 0)
        return cudaSuccess;
    if (n > INT32_MAX)
        return cudaErrorInvalidConfiguration;
    return with_tile(precision, (int)grid->rows, [=](auto kernel) {
        using K = decltype(kernel);
        using F = typename K::F;
        const auto run = block->output_complex ? conv2d_tile<F, K::BLOCKS, false> : conv2d_tile<F, K::BLOCKS, true>;
        run<<<static_cast<unsigned>(n), F::T, F::SHARED_BYTES, stream>>>(*block, g,
                                                                         static_cast<const typename F::C *>(bank));
        return cudaGetLastError();
    });
}
