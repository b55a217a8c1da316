/* direct.cu - direct sums with any kernel, real or complex, in either precision.
 *
 * A block of 32 x 8 threads makes 64 x 32 outputs: thread (x, y) makes columns x and x + 32 of rows 4 y .. 4 y + 3. The loop goes
 * over the kernel in squares of 8 x 8 taps, padded with zeros. A square's taps and the pixels that they meet (39 rows of 71) are
 * loaded into shared memory, 11 to 45 KB. Lanes are neighbours in a row of shared and global memory: coalesced, without bank
 * conflicts; a tap is a broadcast. Per column of taps a thread reads 22 pixels and 8 taps for 64 products. */
#include "gpu/conv2d/window.cuh"

static constexpr int lanes = 32, groups = 8, across = 2, down = 4, square = 8;
static constexpr int tile_columns = lanes * across, tile_rows = groups * down;
static constexpr int window_columns = tile_columns + square - 1, window_rows = tile_rows + square - 1;

template <class Pixel, class Tap> struct SquareMemory {
    Pixel pixels[window_rows][window_columns + 1];
    Tap taps[square][square];
};

/* Load the square of taps from (m0, n0) on, and the pixels that they meet. */
template <class Pixel, class Tap>
LW_DEVICE void load_square(const lw_conv2d_block &b, const Patch &p, const Tap *taps, int64_t m0, int64_t n0,
                           SquareMemory<Pixel, Tap> &memory)
{
    const int thread = threadIdx.y * lanes + threadIdx.x;
    if (thread < square * square) {
        const int64_t m = m0 + thread / square, n = n0 + thread % square;
        const bool exists = m < b.kernel_rows && n < b.kernel_columns;
        memory.taps[thread / square][thread % square] = exists ? __ldg(taps + m * b.kernel_columns + n) : Tap{};
    }
    if (with_stored(b.scalar, [&](auto stored) {
            const Window<Pixel, decltype(stored)> window = {b, p.channel, p.row + m0, b.first_column + p.column + n0};
            return load_window<lanes, groups>(window, window_rows, window_columns, &memory.pixels[0][0], window_columns + 1);
        }))
        *b.not_finite = 1;
}

template <class Pixel, class Tap>
LW_DEVICE void add_square(const SquareMemory<Pixel, Tap> &memory, Pixel (&sums)[down][across])
{
#pragma unroll
    for (int n = 0; n < square; ++n) {
#pragma unroll
        for (int j = 0; j < across; ++j) {
            Pixel x[down + square - 1];
#pragma unroll
            for (int i = 0; i < down + square - 1; ++i)
                x[i] = memory.pixels[threadIdx.y * down + i][threadIdx.x + lanes * j + n];
#pragma unroll
            for (int m = 0; m < square; ++m)
#pragma unroll
                for (int i = 0; i < down; ++i)
                    accumulate(sums[i][j], memory.taps[m][n], x[i + m]);
        }
    }
}

template <class Pixel, class Tap>
__global__ void __launch_bounds__(lanes * groups, 2) direct_any(const lw_conv2d_block b, const Tap *taps)
{
    __shared__ SquareMemory<Pixel, Tap> memory;
    const Patch p = patch_of(b, blockIdx.x, tile_rows, tile_columns);
    Pixel sums[down][across] = {};
    for (int64_t m = 0; m < b.kernel_rows; m += square) {
        for (int64_t n = 0; n < b.kernel_columns; n += square) {
            __syncthreads();
            load_square(b, p, taps, m, n, memory);
            __syncthreads();
            Pixel more[down][across] = {};
            add_square(memory, more);       /* a sum of its own first: rounding errors grow with the number of terms */
#pragma unroll
            for (int i = 0; i < down; ++i)
#pragma unroll
                for (int j = 0; j < across; ++j)
                    accumulate(sums[i][j], (RealPart<Pixel>)1, more[i][j]);
        }
    }
    scale_sums(sums, b.exponent);
#pragma unroll
    for (int i = 0; i < down; ++i)
#pragma unroll
        for (int j = 0; j < across; ++j) {
            const int64_t row = p.row + threadIdx.y * down + i, column = p.column + threadIdx.x + lanes * j;
            if (row < b.count && column < b.output_columns)
                ((Pixel *)b.output)[(p.channel * b.count + row) * b.output_columns + column] = sums[i][j];
        }
}

cudaError_t lw_conv2d_direct(const struct lw_conv2d_block *block, enum lw_precision precision, bool kernel_complex,
                             const void *taps, cudaStream_t stream)
{
    const unsigned blocks = patches_of(*block, tile_rows, tile_columns);
    if (block->count == 0 || block->n_channels == 0)
        return cudaSuccess;
    if (blocks == 0)
        return cudaErrorInvalidConfiguration;
    return with_pixel(precision, block->input_complex, kernel_complex, [=](auto pixel, auto tap) {
        using Tap = decltype(tap);
        direct_any<decltype(pixel), Tap><<<blocks, dim3(lanes, groups), 0, stream>>>(*block, static_cast<const Tap *>(taps));
        return cudaGetLastError();
    });
}
