/* count.cu - a block of threads counts one piece after the other in a table of all bins, then stores the bins that are not empty.
 *
 * Noise is spread over some hundred bins, none of which holds more than a hundredth of the values: of the 32 threads of a warp two
 * meet in a bin. Tables of single precision lie in shared memory, four on a multiprocessor, and those of double precision in device
 * memory, where the second cache holds them. A thread loads several values before it counts them. */
#include "gpu/device/count.h"

#include "gpu/device/search.cuh"
#include "signal/spread.h"

static constexpr int count_threads = 256, at_a_time = 8, warp = 32;
static constexpr int blocks_per_multiprocessor = 4;

template <class Real> struct Bins {
    static constexpr int exponents = sizeof(Real) == 4 ? 255 : 2047;       /* finite numbers have less */
    static constexpr unsigned end = exponents << LW_SPREAD_BITS;            /* the first bin of numbers that are not finite */
    static constexpr unsigned in_shared = sizeof(Real) == 4 ? end : 1;
};

/* ---- bins, as in signal/spread.c: no operation may be fused with another ---- */

__device__ static unsigned bin_of(float y)
{
    const int shift = 23 - LW_SPREAD_BITS;
    return ((__float_as_uint(y) & 0x7fffffff) + (1u << (shift - 1))) >> shift;
}

__device__ static unsigned bin_of(double y)
{
    const int shift = 52 - LW_SPREAD_BITS;
    const unsigned long long bits = (unsigned long long)__double_as_longlong(y) & 0x7fffffffffffffffull;
    return (unsigned)((bits + (1ull << (shift - 1))) >> shift);
}

__device__ static unsigned bin_of(float2 y)
{
    return bin_of((float)sqrt((double)y.x * y.x + (double)y.y * y.y));      /* these products are exact, fused or not */
}

__device__ static unsigned bin_of(double2 y)
{
    const double a = fabs(y.x), b = fabs(y.y), larger = fmax(a, b), ratio = larger > 0 ? fmin(a, b) / larger : 0;
    return bin_of(isnan(a + b) ? CUDART_NAN : larger * sqrt(__dadd_rn(1, __dmul_rn(ratio, ratio))));
}

/* Read a table: in shared memory, or behind the first cache, which atomic additions do not change. */
template <class Real> __device__ static uint32_t in_bin(const uint32_t *table, unsigned bin)
{
    return sizeof(Real) == 4 ? table[bin] : __ldcg(&table[bin]);
}

/* ---- pieces ---- */

/* A rectangle of values: rows of n values, `step` values apart, each `pitch` behind the one before. */
struct Rectangle {
    int64_t first, skip, rows, n, step, pitch, skip_pitch;
};

__device__ static Rectangle rectangle_of(const lw_cuda_counting &c, int64_t piece)
{
    const lw_counting &what = c.what;
    const int64_t cell = piece % (what.n_rows * what.n_columns), pair = piece / (what.n_rows * what.n_columns);
    const int64_t row = cell / what.n_columns * what.tall, column = cell % what.n_columns * what.wide;
    const int64_t channel = pair % c.n_channels, filter = pair / c.n_channels;
    const int64_t begin = max(row, what.begin), end = min(row + what.tall, what.end);
    const int64_t n = min(what.wide, c.width - column);
    Rectangle r = {0, 0, max(end - begin, int64_t(0)), max(n, int64_t(0)), 1, c.width, c.width};
    r.first = c.is_slow ? (filter * c.count + begin) * c.n_channels + channel : (pair * c.count + begin) * c.width + column;
    r.skip = channel * what.skip_pitch + begin * c.width + column;
    if (n == c.width) {             /* the rows are one row */
        r.step = c.is_slow ? c.n_channels : 1;
        r.n *= r.rows;
        r.rows = r.n > 0 ? 1 : 0;
    }
    return r;
}

/* Count this thread's values. All threads share a row that is the only one; else each warp has rows of its own. */
template <class Value>
__device__ static void count_rectangle(const lw_cuda_counting &c, const Rectangle &r, uint32_t *table, unsigned *low,
                                       unsigned *high)
{
    const bool is_one = r.rows == 1;
    const int stride = is_one ? count_threads : warp, from = is_one ? threadIdx.x : threadIdx.x % warp;
    for (int64_t row = is_one ? 0 : threadIdx.x / warp; row < r.rows; row += count_threads / warp) {
        const Value *const values = static_cast<const Value *>(c.values) + r.first + row * r.pitch;
        const unsigned char *const skip = c.what.skip ? c.what.skip + r.skip + row * r.skip_pitch : nullptr;
        for (int64_t i = from; i < r.n; i += at_a_time * stride) {
            const Value *next = values + i * r.step;
            const bool all = !skip && i + (at_a_time - 1) * stride < r.n;
            Value y[at_a_time];
#pragma unroll
            for (int k = 0; k < at_a_time; k++, next += stride * r.step) {
                const int64_t at = i + k * stride;
                y[k] = all || (at < r.n && !(skip && skip[at])) ? *next : not_a_number<Value>();
            }
#pragma unroll
            for (int k = 0; k < at_a_time; k++) {
                const unsigned bin = bin_of(y[k]);
                if (bin >= Bins<RealPart<Value>>::end)
                    continue;
                atomicAdd(&table[bin], 1u);
                *low = min(*low, bin);
                *high = max(*high, bin);
            }
        }
    }
}

template <class Value>
__global__ void __launch_bounds__(count_threads, sizeof(RealPart<Value>) == 4 ? blocks_per_multiprocessor : 1)
count_values(lw_cuda_counting c)
{
    using Real = RealPart<Value>;
    constexpr unsigned n_all = Bins<Real>::end;
    __shared__ uint32_t in_shared[Bins<Real>::in_shared];
    __shared__ unsigned lowest, highest, n_bins, place;
    __shared__ bool fits;
    uint32_t *const table = sizeof(Real) == 4 ? in_shared : c.tables + blockIdx.x * n_all;
    const unsigned thread = threadIdx.x;
    for (unsigned bin = thread; bin < n_all; bin += count_threads)
        table[bin] = 0;
    const int64_t n_pieces = c.n_filters * c.n_channels * c.what.n_rows * c.what.n_columns;
    for (int64_t piece = blockIdx.x; piece < n_pieces; piece += gridDim.x) {
        if (c.done[piece]) {
            if (thread == 0)
                c.pieces[piece] = {LW_COUNTED_ELSEWHERE, 0};
            continue;
        }
        if (thread == 0) {
            lowest = n_all;
            highest = n_bins = 0;
        }
        __syncthreads();
        unsigned low = n_all, high = 0, mine = 0;
        count_rectangle<Value>(c, rectangle_of(c, piece), table, &low, &high);
        for (int other = warp / 2; other > 0; other /= 2) {
            low = min(low, __shfl_xor_sync(~0u, low, other));
            high = max(high, __shfl_xor_sync(~0u, high, other));
        }
        if (thread % warp == 0) {
            atomicMin(&lowest, low);
            atomicMax(&highest, high);
        }
        __syncthreads();
        for (unsigned bin = lowest + thread; bin <= highest; bin += count_threads)
            mine += in_bin<Real>(table, bin) > 0;
        atomicAdd(&n_bins, mine);
        __syncthreads();
        if (thread == 0) {
            place = atomicAdd(&c.state->n_bins, n_bins);
            fits = place + n_bins <= c.most_bins;
            c.pieces[piece] = {fits ? place : LW_COUNTED_ELSEWHERE, n_bins};
            c.done[piece] = fits;
            atomicAdd(&c.state->n_left, fits ? 0u : 1u);
        }
        __syncthreads();
        for (unsigned bin = lowest + thread; bin <= highest; bin += count_threads) {
            const uint32_t n = in_bin<Real>(table, bin);
            table[bin] = 0;
            if (n > 0 && fits)
                c.bins[atomicAdd(&place, 1u)] = {bin, n};
        }
        __syncthreads();
    }
}

template <class Value> static void launch(const lw_cuda_counting &c, cudaStream_t stream)
{
    const int64_t n_pieces = c.n_filters * c.n_channels * c.what.n_rows * c.what.n_columns;
    const int64_t most = sizeof(RealPart<Value>) == 4 ? c.n_multiprocessors * blocks_per_multiprocessor : LW_COUNT_TABLES;
    const unsigned blocks = (unsigned)(n_pieces < most ? n_pieces : most);
    count_values<Value><<<blocks, count_threads, 0, stream>>>(c);
}

cudaError_t lw_cuda_count(const struct lw_cuda_counting *counting, cudaStream_t stream)
{
    const lw_cuda_counting c = *counting;
    if (c.precision == LW_SINGLE)
        c.is_complex ? launch<float2>(c, stream) : launch<float>(c, stream);
    else
        c.is_complex ? launch<double2>(c, stream) : launch<double>(c, stream);
    return cudaGetLastError();
}
