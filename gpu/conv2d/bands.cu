/* bands.cu - launchers and tables of the three passes of large tiles, and the kernel's spectrum in the column pass's order. */
#include "gpu/conv2d/bands.cuh"

#include "base/integers.h"
#include "gpu/conv2d/spectrum.cuh"
#include "gpu/device/launch.cuh"

#include <algorithm>

/* Three lists of kernels (all lengths of one precision), or the three kernels for one tile size. */
struct BandKernels {
    const BandKernel *row, *back, *column;
};

static BandKernels lists_of(enum lw_precision precision)
{
    if (precision == LW_SINGLE)
        return {lw_conv2d_rows_f, lw_conv2d_back_f, lw_conv2d_columns_f};
    return {lw_conv2d_rows_d, lw_conv2d_back_d, lw_conv2d_columns_d};
}

int lw_conv2d_row_length(enum lw_precision precision, int i) { return lists_of(precision).row[i].length; }
int lw_conv2d_column_length(enum lw_precision precision, int i) { return lists_of(precision).column[i].length; }

static const BandKernel *find(const BandKernel *list, int64_t length)
{
    while (list->length != length)
        ++list;
    return list;
}

static BandKernels kernels_of(enum lw_precision precision, int64_t rows, int64_t columns)
{
    const BandKernels k = lists_of(precision);
    return {find(k.row, columns), find(k.back, columns), find(k.column, rows)};
}

int lw_conv2d_bands_shared_bytes(enum lw_precision precision, int rows, int columns)
{
    const BandKernels k = kernels_of(precision, rows, columns);
    return std::max({k.row->shared_bytes, k.back->shared_bytes, k.column->shared_bytes});
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static int64_t complex_bytes(enum lw_precision precision) { return precision == LW_SINGLE ? 8 : 16; }

static int64_t table_values(const BandKernel *k) { return powers_of(k->radix, k->outer_radix); }

struct BandBank {
    void *row_table, *column_table, *spectrum;
};

static int64_t lay_out_bank(enum lw_precision precision, int rows, int columns, void *memory, BandBank &bank)
{
    const BandKernels k = kernels_of(precision, rows, columns);
    const int64_t bytes = complex_bytes(precision);
    struct lw_arena arena = {static_cast<char *>(memory), 0};
    bank.row_table = lw_arena_take(&arena, table_values(k.row) * bytes);
    bank.column_table = lw_arena_take(&arena, table_values(k.column) * bytes);
    bank.spectrum = lw_arena_take(&arena, (int64_t)rows * columns * bytes);
    return arena.used;
}

/* Sizes for the worst case: windows that share no lines with their neighbours. */
static int64_t lay_out_work(enum lw_precision precision, const lw_conv2d_grid &grid, int64_t batch, void *memory, BandArgs &args)
{
    struct lw_arena arena = {static_cast<char *>(memory), 0};
    const int64_t row_bytes = grid.columns * complex_bytes(precision);
    args.lines = lw_arena_take(&arena, batch * grid.rows * row_bytes);
    args.points = lw_arena_take(&arena, batch * grid.hop_rows * row_bytes);
    args.row_exponents = static_cast<int *>(lw_arena_take(&arena, batch * grid.rows * (int64_t)sizeof(int)));
    args.exponents = static_cast<int *>(lw_arena_take(&arena, batch * (int64_t)sizeof(int)));
    return arena.used;
}

int64_t lw_conv2d_bands_bytes(enum lw_precision precision, int rows, int columns)
{
    BandBank bank;
    return lay_out_bank(precision, rows, columns, nullptr, bank);
}

int64_t lw_conv2d_bands_work_bytes(enum lw_precision precision, const struct lw_conv2d_grid *grid, int64_t batch)
{
    BandArgs args;
    return lay_out_work(precision, *grid, batch, nullptr, args);
}

int64_t lw_conv2d_spectrum_setup_bytes(const struct lw_conv2d_grid *grid, int64_t kernel_rows)
{
    KernelSpectrum s = {};
    s.rows = static_cast<int>(grid->rows);
    s.columns = static_cast<int>(grid->columns);
    s.kernel_rows = kernel_rows;
    return lay_out_spectrum(s, nullptr);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* The bin at place i of the stored spectrum, which follows the thread order of the row and column transforms. A thread of the
 * column pass holds per_load values m, m + 1 .. side by side, one 16-byte load. */
struct BandOrder {
    int row_radix, row_outer, column_radix, column_outer, width, per_load;

    __host__ __device__ static int bin_of(int radix, int outer, int t, int m)
    {
        return outer * (t % radix) + t / radix + radix * outer * m;
    }

    __host__ __device__ Bin2d bin(int64_t i) const
    {
        const int row_threads = row_radix * row_outer, threads = column_radix * column_outer * width;
        const int thread = (int)(i / per_load % threads);
        const int m = (int)(i / per_load / threads * per_load % column_radix + i % per_load);
        const int column = (int)(i / threads / column_radix) * width + thread % width;
        return {bin_of(column_radix, column_outer, thread / width, m),
                bin_of(row_radix, row_outer, column % row_threads, column / row_threads)};
    }
};

static cudaError_t allow_shared(const BandKernel &k)
{
    const cudaError_t status = cudaFuncSetAttribute(k.single, cudaFuncAttributeMaxDynamicSharedMemorySize, k.shared_bytes);
    if (status != cudaSuccess || !k.paired)
        return status;
    return cudaFuncSetAttribute(k.paired, cudaFuncAttributeMaxDynamicSharedMemorySize, k.shared_bytes);
}

template <class C>
static cudaError_t prepare(const BandKernels &k, const KernelSpectrum &s, const BandBank &bank, cudaStream_t stream)
{
    const cudaError_t status[] = {allow_shared(*k.row), allow_shared(*k.back), allow_shared(*k.column)};
    for (const cudaError_t one : status)
        if (one != cudaSuccess)
            return one;
    fill_powers(static_cast<C *>(bank.row_table), k.row->radix, k.row->outer_radix, stream);
    fill_powers(static_cast<C *>(bank.column_table), k.column->radix, k.column->outer_radix, stream);
    const BandOrder order = {k.row->radix, k.row->outer_radix, k.column->radix, k.column->outer_radix,
                             k.column->batch, 16 / (int)sizeof(C)};
    return fill_spectrum(s, order, static_cast<C *>(bank.spectrum), stream);
}

cudaError_t lw_conv2d_bands_prepare(enum lw_precision precision, const struct lw_conv2d_grid *grid, const struct lw_conv2d_spec *c,
                                    const double *taps, void *setup, void *memory, cudaStream_t stream)
{
    const int rows = static_cast<int>(grid->rows), columns = static_cast<int>(grid->columns);
    KernelSpectrum s = {taps, c->kernel_complex, c->kernel_rows, c->kernel_columns, rows, columns};
    BandBank bank;
    lay_out_spectrum(s, setup);
    lay_out_bank(precision, rows, columns, memory, bank);
    const BandKernels k = kernels_of(precision, rows, columns);
    return precision == LW_SINGLE ? prepare<float2>(k, s, bank, stream) : prepare<double2>(k, s, bank, stream);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Launch one pass. dependent: it may start while the previous kernel ends, see gpu/device/launch.cuh. */
static cudaError_t launch(void (*kernel)(const BandArgs), const BandKernel *k, dim3 grid, bool dependent,
                          const BandArgs &args, cudaStream_t stream)
{
    return launch_kernel(Launch{grid, k->threads, (int64_t)k->shared_bytes, stream, 1, dependent}, kernel, args);
}

static unsigned blocks_of(const BandKernel *k, int64_t lines)
{
    return static_cast<unsigned>((lines + k->batch - 1) / k->batch);
}

/* Set which transforms and lines belong to the batch. */
static void cut_batch(int64_t first, int n, BandArgs &args)
{
    const lw_conv2d_grid &grid = args.grid;
    const bool is_shared = grid.pair_rows == 1;
    args.first_strip = static_cast<unsigned>(first / grid.transforms_down);
    args.first_down = static_cast<unsigned>(first % grid.transforms_down);
    args.n = n;
    args.step = static_cast<int>(is_shared ? grid.hop_rows : grid.rows);
    args.lead = is_shared ? static_cast<int>(args.block.kernel_rows - 1) : 0;
    const int strips = (static_cast<int>(args.first_down) + n - 1) / grid.transforms_down + 1;
    args.n_lines = n * args.step + strips * args.lead;
}

cudaError_t lw_conv2d_bands(const struct lw_conv2d_block *block, const struct lw_conv2d_grid *grid, enum lw_precision precision,
                            const void *memory, int64_t first, int n, void *work, cudaStream_t stream)
{
    if (n == 0)
        return cudaSuccess;
    const BandKernels k = kernels_of(precision, grid->rows, grid->columns);
    BandBank bank;
    BandArgs args = {*block, *grid};
    if (lw_conv2d_cut(block, &args.grid) > INT32_MAX)
        return cudaErrorInvalidConfiguration;
    cut_batch(first, n, args);
    /* Points before the outputs of a row. In single precision they are rounded up to a warp's width where there is room: rows of
     * outputs are then stored from multiples of 128 bytes on. */
    const int64_t least = block->kernel_columns - 1, even = precision == LW_SINGLE ? lw_round_up(least, 32) : least;
    args.before = static_cast<int>(even + grid->hop_columns <= grid->columns ? even : least);
    lay_out_bank(precision, (int)grid->rows, (int)grid->columns, const_cast<void *>(memory), bank);
    lay_out_work(precision, *grid, n, work, args);
    args.row_table = bank.row_table;
    args.column_table = bank.column_table;
    args.spectrum = bank.spectrum;
    const bool paired = !block->output_complex, may_depend = has_dependents();
    const cudaError_t status[] = {
        launch(paired ? k.row->paired : k.row->single, k.row, blocks_of(k.row, args.n_lines),
               may_depend && first > 0, args, stream),
        launch(k.column->single, k.column, dim3((unsigned)n, (unsigned)(grid->columns / k.column->batch)),
               may_depend, args, stream),
        launch(paired ? k.back->paired : k.back->single, k.back, blocks_of(k.back, n * grid->hop_rows),
               may_depend, args, stream),
    };
    for (const cudaError_t one : status)
        if (one != cudaSuccess)
            return one;
    return cudaGetLastError();
}
