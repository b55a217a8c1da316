#include "gpu/conv2d/bank.cuh"

/* Allow a kernel its shared memory, on devices that have as much. */
template <class Kernel> static cudaError_t allow(Kernel kernel, int bytes)
{
    int device = 0, most = 0;
    cudaError_t status = cudaGetDevice(&device);
    if (status == cudaSuccess)
        status = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (status != cudaSuccess || bytes > most)
        return status;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

/* A tile of S x S points: complex pixels, or 2 S rows of real ones. */
template <class F_, int BLOCKS, bool REAL> struct Square {
    using F = F_;
    static constexpr int ROWS = REAL ? 2 * F::S : F::S, COLUMNS = F::S, POINTS = F::S * F::S, QUARTERS = REAL ? 3 : 0;
    static constexpr int SHARED_BYTES = F::SHARED_BYTES, BANK_BYTES = 0;
    static constexpr auto kernel = conv2d_tile<F, BLOCKS, REAL>;

    static cudaError_t prepare() { return allow(kernel, SHARED_BYTES); }

    static cudaError_t run(const lw_conv2d_block &b, const lw_conv2d_grid &g, int64_t n, const lw_conv2d_spectra &spectra,
                           const lw_conv2d_search *, cudaStream_t stream)
    {
        kernel<<<static_cast<unsigned>(n), F::T, SHARED_BYTES, stream>>>(b, g, static_cast<const typename F::C *>(spectra.bank[0]));
        return cudaGetLastError();
    }
};

/* Return whether pixels can be copied unchanged, four at a time. */
static bool has_aligned_pixels(const lw_conv2d_block &b, const lw_conv2d_grid &g)
{
    const int64_t first = b.first_column - g.spare_columns;
    return b.scalar == LW_FLOAT32 && b.outside == 0 && b.columns % 4 == 0 && first % 4 == 0 && g.hop_columns % 4 == 0 &&
           reinterpret_cast<uintptr_t>(b.input) % 16 == 0;
}

/* Blocks that start together would all load at the same time, then all compute. So they start one after the other, the last this
 * many cycles after the first. More tiles per block gain more from the delay, so it grows with their number. */
static unsigned late_cycles(int64_t tiles) { return static_cast<unsigned>(4000 * (tiles < 6 ? tiles - 1 : 5)); }

/* A tile of 8 E x 256 real pixels, which has a multiprocessor to itself. Tiles with a region for each warp take several kernels. */
template <int E> struct Large {
    using F = Lone<E>;
    static constexpr bool HAS_BANK = E == F::WARPS;
    static constexpr int ROWS = 2 * F::R, COLUMNS = F::COLUMNS, POINTS = F::R * F::COLUMNS, QUARTERS = 3;
    static constexpr int SHARED_BYTES = F::SHARED_BYTES, BANK_BYTES = HAS_BANK ? LoneBank<F>::SHARED_BYTES : 0;
    static constexpr auto kernel = conv2d_lone<F>;

    static cudaError_t prepare()
    {
        const cudaError_t status = allow(kernel, SHARED_BYTES);
        if constexpr (HAS_BANK)
            return status == cudaSuccess ? allow(conv2d_bank<F>, BANK_BYTES) : status;
        return status;
    }

    static cudaError_t run(const lw_conv2d_block &b, const lw_conv2d_grid &g, int64_t n, const lw_conv2d_spectra &spectra,
                           const lw_conv2d_search *search, cudaStream_t stream)
    {
        int device = 0, multiprocessors = 0;
        cudaError_t status = cudaGetDevice(&device);
        if (status == cudaSuccess)
            status = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
        if (status != cudaSuccess)
            return status;
        const unsigned blocks = static_cast<unsigned>(n < multiprocessors ? n : multiprocessors);
        const LoneWork work = {static_cast<unsigned>(n), late_cycles(n / blocks), has_aligned_pixels(b, g)};
        if (!spectra.is_bank)
            kernel<<<blocks, F::T, SHARED_BYTES, stream>>>(b, g, spectra, work);
        else if constexpr (HAS_BANK)
            conv2d_bank<F><<<blocks, F::T, BANK_BYTES, stream>>>(b, g, spectra, search ? *search : lw_conv2d_search{}, work);
        else
            return cudaErrorInvalidValue;
        return cudaGetLastError();
    }
};

template <class With> static cudaError_t with_tile(enum lw_precision precision, int rows, int columns, With with)
{
    const bool is_single = precision == LW_SINGLE;
    if (rows == 64 && columns == 64)
        return is_single ? with(Square<Tile<float, 16>, 4, false>{}) : with(Square<Tile<double, 16>, 1, false>{});
    if (rows == 128 && columns == 64)
        return is_single ? with(Square<Tile<float, 16>, 4, true>{}) : with(Square<Tile<double, 16>, 1, true>{});
    if (is_single && rows == 128 && columns == 128)
        return with(Square<Tile<float, 32>, 1, false>{});
    if (is_single && rows == 128 && columns == 256)
        return with(Large<16>{});
    if (is_single && rows == 224 && columns == 256)
        return with(Large<28>{});
    return cudaErrorInvalidValue;
}

template <class Shape>
static constexpr struct lw_conv2d_tile tile_of = {Shape::ROWS, Shape::COLUMNS, Shape::SHARED_BYTES, Shape::BANK_BYTES};

const struct lw_conv2d_tile *lw_conv2d_tile_shapes(enum lw_precision precision, bool is_complex)
{
    static const struct lw_conv2d_tile of_single[] = {tile_of<Square<Tile<float, 16>, 4, true>>, tile_of<Large<16>>,
                                                      tile_of<Large<28>>, {}};
    static const struct lw_conv2d_tile of_double[] = {tile_of<Square<Tile<double, 16>, 1, true>>, {}};
    static const struct lw_conv2d_tile of_complex[] = {tile_of<Square<Tile<float, 16>, 4, false>>,
                                                       tile_of<Square<Tile<float, 32>, 1, false>>, {}};
    static const struct lw_conv2d_tile of_double_complex[] = {tile_of<Square<Tile<double, 16>, 1, false>>, {}};
    if (precision == LW_SINGLE)
        return is_complex ? of_complex : of_single;
    return is_complex ? of_double_complex : of_double;
}

int64_t lw_conv2d_tile_bytes(enum lw_precision precision, int rows, int columns)
{
    int64_t bytes = 0;
    with_tile(precision, rows, columns, [&](auto tile) {
        using Shape = decltype(tile);
        bytes = (Shape::POINTS + Shape::F::TABLES) * static_cast<int64_t>(sizeof(typename Shape::F::C));
        return cudaSuccess;
    });
    return bytes;
}

template <class F> static __global__ void round_tables(const KernelSpectrum s, typename F::C *to)
{
    using Real = decltype(to->x);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= F::TABLES)
        return;
    const double2 value = F::table(s, i);
    to[i] = {(Real)value.x, (Real)value.y};
}

cudaError_t lw_conv2d_tile_prepare(enum lw_precision precision, const struct lw_conv2d_grid *grid, const struct lw_conv2d_spec *c,
                                   const double *taps, void *setup, void *bank, cudaStream_t stream)
{
    return with_tile(precision, (int)grid->rows, (int)grid->columns, [=](auto tile) {
        using Shape = decltype(tile);
        using F = typename Shape::F;
        using C = typename F::C;
        constexpr int threads = 128, points_down = Shape::POINTS / Shape::COLUMNS;
        KernelSpectrum s = {taps, c->kernel_complex, c->kernel_rows, c->kernel_columns, points_down, Shape::COLUMNS,
                            grid->delay_columns, Shape::QUARTERS};
        lay_out_spectrum(s, setup);
        cudaError_t status = Shape::prepare();
        if (status == cudaSuccess)
            status = fill_spectrum(s, F{}, static_cast<C *>(bank) + F::TABLES, stream);
        if (status != cudaSuccess)
            return status;
        round_tables<F><<<(F::TABLES + threads - 1) / threads, threads, 0, stream>>>(s, static_cast<C *>(bank));
        return cudaGetLastError();
    });
}

int64_t lw_conv2d_cut(const struct lw_conv2d_block *block, struct lw_conv2d_grid *grid)
{
    const int64_t rows = grid->hop_rows * grid->pair_rows, down = (block->count + rows - 1) / rows;
    grid->transforms_down = (int)down;
    return grid->transforms_across * down * block->n_channels;
}

cudaError_t lw_conv2d_tiles(const struct lw_conv2d_block *block, const struct lw_conv2d_grid *grid, enum lw_precision precision,
                            const struct lw_conv2d_spectra *spectra, const struct lw_conv2d_search *search, cudaStream_t stream)
{
    struct lw_conv2d_grid g = *grid;
    struct lw_conv2d_block b = *block;
    const int64_t n = lw_conv2d_cut(block, &g);
    b.exponent = spectra->exponent[0];
    if (n == 0)
        return cudaSuccess;
    if (n > INT32_MAX)
        return cudaErrorInvalidConfiguration;
    return with_tile(precision, (int)grid->rows, (int)grid->columns, [=](auto tile) {
        return decltype(tile)::run(b, g, n, *spectra, search, stream);
    });
}
