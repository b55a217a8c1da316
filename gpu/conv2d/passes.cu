/* passes.cu - separable kernels: one block makes both passes, and keeps the intermediate result in shared memory.
 *
 * A block of 32 x 8 threads makes 64 columns of 8 V rows (V = 8 for float). It takes the taps in chunks, 32 of the column and 32
 * of the row at a time, padded with zeros to multiples of 8:
 *
 *     pixels     (8 V + chunk - 1) x (64 + chunk - 1) pixels are loaded with lanes along a row (coalesced)
 *     columns    thread (x, y) sums V rows of columns x, x + 32 ..; its sums stay in registers over all of the column's chunks
 *     between    [column][row], with an odd pitch: the column pass writes and the row pass reads it without bank conflicts
 *     rows       a thread sums neighbouring columns of one row; lanes take neighbouring rows
 *     outputs    pass through shared memory once more, so that lanes store along a row
 *
 * Per 8 taps a thread of the column pass reads V + 7 pixels and makes 8 V products; in the row pass, V is H = 64 ROWS / 256. */
#include "gpu/conv2d/window.cuh"

static constexpr int lanes = 32, groups = 8, threads = lanes * groups, step = 8;

template <class Pixel_, class Tap_> struct Passes {
    using Pixel = Pixel_;
    using Tap = Tap_;
    static constexpr int BYTES = (int)sizeof(Pixel);
    static constexpr int CHUNK = BYTES <= 8 ? 32 : 16;          /* taps per chunk */
    static constexpr int V = BYTES == 4 ? 8 : BYTES == 8 ? 4 : 2;
    static constexpr int ROWS = groups * V, COLUMNS = 64, H = ROWS * COLUMNS / threads;
    static constexpr int WINDOW_ROWS = ROWS + CHUNK - 1, WINDOW_COLUMNS = COLUMNS + CHUNK - 1;
    static constexpr int STRIPS = (WINDOW_COLUMNS + lanes - 1) / lanes;
    static constexpr int PITCH = STRIPS * lanes + 1, BETWEEN_PITCH = ROWS + 1;

    Pixel pixels[WINDOW_ROWS * PITCH];          /* later also the outputs */
    Pixel between[STRIPS * lanes * BETWEEN_PITCH];
    Tap column[CHUNK], row[CHUNK];
};

/* Taps of the chunk that starts at `first`, rounded up to a multiple of `step`. */
template <class P> LW_DEVICE int chunk_taps(int64_t n_taps, int64_t first)
{
    const int64_t left = n_taps - first;
    return left >= P::CHUNK ? P::CHUNK : (int)((left + step - 1) / step * step);
}

template <class Tap> LW_DEVICE void load_taps(const Tap *taps, int64_t n_taps, int64_t first, int n, Tap *to)
{
    const int i = threadIdx.y * lanes + threadIdx.x;
    if (i < n)
        to[i] = first + i < n_taps ? __ldg(taps + first + i) : Tap{};
}

/* sums[i] += taps[m] x[i + m] for m < step; consecutive x are `stride` apart in memory. */
template <int N, class Pixel, class Tap>
LW_DEVICE void add_step(Pixel (&sums)[N], const Pixel *x, int stride, const Tap *taps)
{
    Pixel values[N + step - 1];
#pragma unroll
    for (int i = 0; i < N + step - 1; ++i)
        values[i] = x[i * stride];
#pragma unroll
    for (int m = 0; m < step; ++m)
#pragma unroll
        for (int i = 0; i < N; ++i)
            accumulate(sums[i], taps[m], values[i + m]);
}

/* The column pass for all columns that n_taps of the row's taps, from n on, need. Results go to memory.between. */
template <class P>
LW_DEVICE void pass_columns(const lw_conv2d_block &b, const Patch &place, const typename P::Tap *column, int64_t n,
                            int n_taps, P &memory)
{
    typename P::Pixel sums[P::STRIPS][P::V] = {};
    bool met = false;
    for (int64_t m = 0; m < b.kernel_rows; m += P::CHUNK) {
        const int m_taps = chunk_taps<P>(b.kernel_rows, m);
        __syncthreads();
        load_taps(column, b.kernel_rows, m, m_taps, memory.column);
        met |= with_stored(b.scalar, [&](auto stored) {
            const Window<typename P::Pixel, decltype(stored)> window = {b, place.channel, place.row + m,
                                                                        b.first_column + place.column + n};
            return load_window<lanes, groups>(window, P::ROWS + m_taps - 1, P::COLUMNS + n_taps - 1, memory.pixels, P::PITCH);
        });
        __syncthreads();
        for (int first = 0; first < m_taps; first += step)
#pragma unroll
            for (int s = 0; s < P::STRIPS; ++s)
                if (lanes * s < P::COLUMNS + n_taps - 1)
                    add_step(sums[s], memory.pixels + (threadIdx.y * P::V + first) * P::PITCH + threadIdx.x + lanes * s,
                             P::PITCH, memory.column + first);
    }
    if (met)
        *b.not_finite = 1;
#pragma unroll
    for (int s = 0; s < P::STRIPS; ++s)
#pragma unroll
        for (int i = 0; i < P::V; ++i)
            memory.between[(threadIdx.x + lanes * s) * P::BETWEEN_PITCH + threadIdx.y * P::V + i] = sums[s][i];
}

template <class P> LW_DEVICE void store_outputs(const lw_conv2d_block &b, const Patch &place, const P &memory)
{
    using Pixel = typename P::Pixel;
    const int n_rows = (int)min(b.count - place.row, (int64_t)P::ROWS);
    const int n_columns = (int)min(b.output_columns - place.column, (int64_t)P::COLUMNS);
    Pixel *const output = (Pixel *)b.output + (place.channel * b.count + place.row) * b.output_columns + place.column;
    for (int y = threadIdx.y; y < n_rows; y += groups)
        for (int x = threadIdx.x; x < n_columns; x += lanes)
            __stcs(output + y * b.output_columns + x, memory.pixels[y * P::PITCH + x]);
}

template <class P> __global__ void __launch_bounds__(threads, P::BYTES == 4 ? 2 : 1)
separable(const lw_conv2d_block b, const typename P::Tap *column, const typename P::Tap *row)
{
    static_assert(sizeof(P) <= 99 << 10, "what a block has on the smaller architectures");
    extern __shared__ __align__(128) unsigned char bytes[];
    P &memory = *(P *)bytes;
    const Patch place = patch_of(b, blockIdx.x, P::ROWS, P::COLUMNS);
    const int thread = threadIdx.y * lanes + threadIdx.x, y = thread % P::ROWS, x = thread / P::ROWS * P::H;
    typename P::Pixel sums[1][P::H] = {};
    for (int64_t n = 0; n < b.kernel_columns; n += P::CHUNK) {
        const int n_taps = chunk_taps<P>(b.kernel_columns, n);
        __syncthreads();
        load_taps(row, b.kernel_columns, n, n_taps, memory.row);
        pass_columns(b, place, column, n, n_taps, memory);
        __syncthreads();
        for (int first = 0; first < n_taps; first += step)
            add_step(sums[0], memory.between + (x + first) * P::BETWEEN_PITCH + y, P::BETWEEN_PITCH, memory.row + first);
    }
    scale_sums(sums, b.exponent);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < P::H; ++j)
        memory.pixels[y * P::PITCH + x + j] = sums[0][j];
    __syncthreads();
    store_outputs(b, place, memory);
}

/* ---- launchers --------------------------------------------------------------------------------------------------- */

cudaError_t lw_conv2d_passes(const struct lw_conv2d_block *block, enum lw_precision precision, bool kernel_complex,
                             const void *column, const void *row, cudaStream_t stream)
{
    if (block->count == 0 || block->n_channels == 0)
        return cudaSuccess;
    return with_pixel(precision, block->input_complex, kernel_complex, [=](auto pixel, auto tap) {
        using P = Passes<decltype(pixel), decltype(tap)>;
        using Tap = typename P::Tap;
        const unsigned blocks = patches_of(*block, P::ROWS, P::COLUMNS);
        if (blocks == 0)
            return cudaErrorInvalidConfiguration;
        separable<P><<<blocks, dim3(lanes, groups), sizeof(P), stream>>>(*block, static_cast<const Tap *>(column),
                                                                         static_cast<const Tap *>(row));
        return cudaGetLastError();
    });
}

cudaError_t lw_conv2d_passes_prepare(enum lw_precision precision)
{
    cudaError_t status = cudaSuccess;
    for (int kind = 0; status == cudaSuccess && kind < 3; ++kind)       /* real, complex pixels, complex both */
        status = with_pixel(precision, kind > 0, kind > 1, [](auto pixel, auto tap) {
            using P = Passes<decltype(pixel), decltype(tap)>;
            return cudaFuncSetAttribute(separable<P>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sizeof(P));
        });
    return status;
}
