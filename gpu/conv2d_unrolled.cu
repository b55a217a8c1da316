/* Direct sums with a small real kernel in single precision.
 *
 * A block of 32 x 8 threads makes 128 columns of 8 ROWS rows: thread (x, y) the columns 4 x .. 4 x + 3 of rows ROWS y
 * .. ROWS y + ROWS - 1. The pixels that the block needs are brought into shared memory, lanes side by side: coalesced.
 * A thread then goes through its rows of pixels from above, reads each by 16-byte loads (contiguous over the warp: no
 * bank conflicts), and adds what the row contributes to all ROWS outputs at once. Everything is unrolled; the taps are
 * kernel parameters, so that a fused multiply-add takes its tap from constant memory without an instruction of its own.
 *
 * For SIDE = 7 and 8 rows: 1568 fused multiply-adds, 42 shared loads, and 45 pixels loaded and stored per thread of 32
 * outputs. */
#include "conv2d_direct.h"

#include "conv2d_window.cuh"

static constexpr int lanes = 32, groups = 8, across = 4;

template <int SIDE_, int ROWS_> struct Unrolled {
    static constexpr int SIDE = SIDE_, ROWS = ROWS_;
    static constexpr int TILE_ROWS = groups * ROWS, TILE_COLUMNS = lanes * across;
    static constexpr int WINDOW_ROWS = TILE_ROWS + SIDE - 1, WINDOW_COLUMNS = TILE_COLUMNS + SIDE - 1;
    static constexpr int LOADS = (across + SIDE - 1 + 3) / 4;           /* of 16 bytes for a row of pixels */
    static constexpr int PITCH = TILE_COLUMNS + 4 * LOADS - 4;
};

template <int SIDE> struct UnrolledTaps {
    float tap[SIDE * SIDE];
};

template <class U, class Stored> LW_DEVICE bool load_pixels(const Window<float, Stored> &window, float *pixels)
{
    return load_window<lanes, groups>(window, U::WINDOW_ROWS, U::WINDOW_COLUMNS, pixels, U::PITCH);
}

/* Row r of a thread's pixels: what it adds to the outputs. */
template <class U>
LW_DEVICE void add_row(int r, const float *row, const UnrolledTaps<U::SIDE> &taps, float (&sums)[U::ROWS][across])
{
    constexpr int SIDE = U::SIDE;
    float x[4 * U::LOADS];
#pragma unroll
    for (int l = 0; l < U::LOADS; ++l) {
        const float4 four = *(const float4 *)(row + 4 * l);
        x[4 * l] = four.x, x[4 * l + 1] = four.y, x[4 * l + 2] = four.z, x[4 * l + 3] = four.w;
    }
#pragma unroll
    for (int i = 0; i < U::ROWS; ++i) {
        const int m = r - i;
        if (m < 0 || m >= SIDE)
            continue;
#pragma unroll
        for (int n = 0; n < SIDE; ++n)
#pragma unroll
            for (int j = 0; j < across; ++j)
                sums[i][j] = fma(taps.tap[m * SIDE + n], x[j + n], sums[i][j]);
    }
}

template <int ROWS> LW_DEVICE void store_sums(const lw_conv2d_block &b, int64_t channel, int64_t row, int64_t column,
                                              const float (&sums)[ROWS][across])
{
    const bool aligned = b.output_columns % across == 0;
    float *const output = (float *)b.output + (channel * b.count + row) * b.output_columns + column;
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        float *const at = output + i * b.output_columns;
        if (row + i >= b.count)
            return;
        if (aligned && column < b.output_columns)
            __stcs((float4 *)at, make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]));
        else
#pragma unroll
            for (int j = 0; j < across; ++j)
                if (column + j < b.output_columns)
                    at[j] = sums[i][j];
    }
}

template <class U> __global__ void __launch_bounds__(lanes * groups, 3)
direct_unrolled(const lw_conv2d_block b, const UnrolledTaps<U::SIDE> taps)
{
    __shared__ __align__(16) float pixels[U::WINDOW_ROWS][U::PITCH];
    const Patch p = patch_of(b, U::TILE_ROWS, U::TILE_COLUMNS);
    bool met = false;
    LW_WITH_STORED(b.scalar,
                   (met = load_pixels<U, Stored>({b, p.channel, p.row, b.first_column + p.column}, &pixels[0][0])))
    if (met)
        *b.not_finite = 1;
    __syncthreads();
    float sums[U::ROWS][across] = {};
#pragma unroll
    for (int r = 0; r < U::ROWS + U::SIDE - 1; ++r)
        add_row<U>(r, &pixels[threadIdx.y * U::ROWS + r][across * threadIdx.x], taps, sums);
    scale_sums(sums, b.exponent);
    store_sums(b, p.channel, p.row + threadIdx.y * U::ROWS, p.column + across * threadIdx.x, sums);
}

template <class U>
static cudaError_t launch_as(const lw_conv2d_block &b, const UnrolledTaps<U::SIDE> &taps, cudaStream_t stream)
{
    const unsigned blocks = patches_of(b, U::TILE_ROWS, U::TILE_COLUMNS);
    if (blocks == 0)
        return cudaErrorInvalidConfiguration;
    direct_unrolled<U><<<blocks, dim3(lanes, groups), 0, stream>>>(b, taps);
    return cudaGetLastError();
}

/* Few rows a thread where an image is too small to fill the device; every output is the same sum either way. */
template <int SIDE> static cudaError_t launch(const lw_conv2d_block &b, const float *from, cudaStream_t stream)
{
    using Large = Unrolled<SIDE, SIDE <= 7 ? 8 : 4>;
    using Small = Unrolled<SIDE, 1>;
    const unsigned wanted = 400;
    UnrolledTaps<SIDE> taps;
    for (int i = 0; i < SIDE * SIDE; ++i)
        taps.tap[i] = from[i];
    const unsigned blocks = patches_of(b, Large::TILE_ROWS, Large::TILE_COLUMNS);
    return blocks > 0 && blocks < wanted ? launch_as<Small>(b, taps, stream) : launch_as<Large>(b, taps, stream);
}

int lw_conv2d_unrolled_side(int64_t kernel_rows, int64_t kernel_columns)
{
    const int64_t most = kernel_rows > kernel_columns ? kernel_rows : kernel_columns;
    return most > LW_CONV2D_MOST_SIDE ? 0 : most <= 3 ? 3 : (int)(most | 1);
}

cudaError_t lw_conv2d_unrolled(const struct lw_conv2d_block *block, int side, const float *taps, cudaStream_t stream)
{
    if (block->count == 0 || block->n_channels == 0)
        return cudaSuccess;
    switch (side) {
    case 3: return launch<3>(*block, taps, stream);
    case 5: return launch<5>(*block, taps, stream);
    case 7: return launch<7>(*block, taps, stream);
    case 9: return launch<9>(*block, taps, stream);
    case 11: return launch<11>(*block, taps, stream);
    default: return cudaErrorInvalidValue;
    }
}
