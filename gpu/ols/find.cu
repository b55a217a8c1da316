/* find.cu - kernels that search a filtered series in device memory.
 *
 * find_crossings has a thread for each output of each filter; find_best has one for the outputs of all filters at one place, and
 * join_best one for the two best outputs of a place.
 * Adjacent threads take adjacent outputs: loads are coalesced. Other warps hide the loads. find_blocks is described below. */
#include "gpu/ols/find.h"

#include "gpu/device/launch.cuh"
#include "gpu/device/search.cuh"

static constexpr int block_threads = 256;

/* Call start(x), which launches: x has the type of the series' outputs. */
template <typename Start> static cudaError_t launch(const lw_series &s, Start start)
{
    if (s.precision == LW_SINGLE)
        s.is_complex ? start(float2{}) : start(float{});
    else
        s.is_complex ? start(double2{}) : start(double{});
    return cudaGetLastError();
}

template <typename Value> __device__ static const Value *values_of(const lw_series &s)
{
    return static_cast<const Value *>(s.values);
}

/* Return the scales of all filters for a channel at output `index` of the axis. */
template <typename Value> __device__ static auto scales_of(const lw_series &s, int64_t channel, int64_t index)
{
    const int64_t number = s.stretch > 0 && index > s.first_stretch ? (index - s.first_stretch) / s.stretch : 0;
    const int64_t row = min(number, s.last_stretch) * s.all_channels;
    return static_cast<const RealPart<Value> *>(s.scales) + (row + s.channel + channel) * s.pitch;
}

/* Return the place of output o of a channel in a plane of `count` outputs per channel. */
__device__ static int64_t place_of(const lw_series &s, int64_t channel, int64_t o, int64_t count)
{
    return s.layout == LW_TIME_SLOW ? o * s.n_channels + channel : channel * count + o;
}

/* ---- crossings ----------------------------------------------------------------------------------------------------- */

/* Outputs are searched row by row: of a channel of a filter, or of all channels of a filter where channels vary fastest. The loads
 * of a thread's AT_ONCE outputs are in flight together; 0 is no crossing. */
static constexpr int AT_ONCE = 8;

template <typename Value> __global__ void find_crossings(lw_series s, lw_crossings table)
{
    const bool is_slow = s.layout == LW_TIME_SLOW;
    const int64_t wide = is_slow ? s.n_channels : 1, in_filter = s.n_channels / wide, length = s.count * wide;
    const int64_t rows = (table.end_filter - table.filter) * in_filter, each = int64_t(AT_ONCE) * block_threads;
    for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
        const int filter = table.filter + static_cast<int>(row / in_filter);
        const Value *const values = values_of<Value>(s) + (table.filter * in_filter + row) * length;
        for (int64_t first = blockIdx.x * each + threadIdx.x; first < length; first += gridDim.x * each) {
            Value y[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                y[k] = first + k * block_threads < length ? values[first + k * block_threads] : Value{};
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++) {
                const int64_t i = first + k * block_threads, channel = is_slow ? i % s.n_channels : row % in_filter;
                const int64_t index = s.first + (is_slow ? i / s.n_channels : i);
                if (index >= table.first && index < table.end && has_sign(table.sign, real_of(y[k])) &&
                    crosses(y[k], scales_of<Value>(s, channel, index)[s.first_filter + filter]))
                    append_crossing(table.rows, table.most_rows, table.n_rows, index, s.channel + channel, filter, y[k]);
            }
        }
    }
}

cudaError_t lw_cuda_find_crossings(const struct lw_series *series, const struct lw_crossings *table, cudaStream_t stream)
{
    const lw_series s = *series;
    const lw_crossings t = *table;
    const bool is_slow = s.layout == LW_TIME_SLOW;
    const int64_t length = s.count * (is_slow ? s.n_channels : 1), rows = (t.end_filter - t.filter) * (is_slow ? 1 : s.n_channels);
    if (length * rows <= 0)
        return cudaSuccess;
    const dim3 grid(blocks_for(length, AT_ONCE * block_threads), static_cast<unsigned>(rows < 65535 ? rows : 65535));
    return launch(s, [=](auto value) { find_crossings<decltype(value)><<<grid, block_threads, 0, stream>>>(s, t); });
}

/* ---- the best filter ----------------------------------------------------------------------------------------------- */

/* Call each(place, channel, output) for places at .. at + n - 1 of the best outputs. */
template <typename Each> __device__ static void for_places(const lw_series &s, int64_t count, int64_t at, int64_t n, Each each)
{
    const int64_t stride = int64_t(gridDim.x) * block_threads;
    for (int64_t i = at + int64_t(blockIdx.x) * block_threads + threadIdx.x; i < at + n; i += stride) {
        const bool is_slow = s.layout == LW_TIME_SLOW;
        each(i, is_slow ? i % s.n_channels : i / count, is_slow ? i / s.n_channels : i % count);
    }
}

template <typename Value> __global__ void find_best(lw_series s, lw_best_outputs b, bool goes_on)
{
    Value *const best = static_cast<Value *>(b.values);
    for_places(s, b.count, 0, s.n_channels * b.count, [&](int64_t place, int64_t channel, int64_t o) {
        const Value *const y = values_of<Value>(s) + place_of(s, channel, b.first - s.first + o, s.count);
        const auto *const scales = scales_of<Value>(s, channel, b.first + o);
        keep_best(best + place, b.filters + place, goes_on, y, s.n_channels * s.count, scales, s.first_filter, s.n_filters, s.sign);
    });
}

/* Return whether kernels find y stronger than x. The common power of two makes the larger of complex outputs about 1. */
template <typename Value, typename Real>
__device__ static bool beats(Value y, Real scale, Value x, Real its_scale, enum lw_sign sign)
{
    if constexpr (sizeof(Value) == sizeof(Real))
        return compared(y, scale, sign) > compared(x, its_scale, sign);
    else {
        const int size = exponent_of(max(size_of(y.x), size_of(y.y))) + exponent_of(scale),
                  its_size = exponent_of(max(size_of(x.x), size_of(x.y))) + exponent_of(its_scale), power = -max(size, its_size);
        return compared(y, SplitScale<Real>(ldexp(scale, power))) > compared(x, SplitScale<Real>(ldexp(its_scale, power)));
    }
}

template <typename Value>
__global__ void join_best(lw_series s, bool by_kernels, lw_best_outputs b, int64_t at, int64_t n, const Value *later,
                          const int32_t *filters)
{
    Value *const best = static_cast<Value *>(b.values);
    for_places(s, b.count, at, n, [&](int64_t place, int64_t channel, int64_t o) {
        const auto *const scales = scales_of<Value>(s, channel, b.first + o);
        const Value y = later[place - at], x = best[place];
        const int filter = filters[place - at], its = b.filters[place];
        if (filter < 0 || (its >= 0 && !(by_kernels ? beats(y, scales[filter], x, scales[its], s.sign)
                                                    : strength_of(y, scales[filter], s.sign) >
                                                          strength_of(x, scales[its], s.sign))))
            return;
        best[place] = y;
        b.filters[place] = filter;
    });
}

cudaError_t lw_cuda_find_best(const struct lw_series *series, const struct lw_best_outputs *best, bool goes_on,
                              cudaStream_t stream)
{
    const lw_series s = *series;
    const lw_best_outputs b = *best;
    const int64_t n = s.n_channels * b.count;
    if (n <= 0)
        return cudaSuccess;
    return launch(s, [=](auto value) {
        find_best<decltype(value)><<<blocks_for(n, block_threads), block_threads, 0, stream>>>(s, b, goes_on);
    });
}

cudaError_t lw_cuda_join_best(const struct lw_series *series, bool by_kernels, const struct lw_best_outputs *best, int64_t at,
                              int64_t n, const void *values, const int32_t *filters, cudaStream_t stream)
{
    const lw_series s = *series;
    const lw_best_outputs b = *best;
    return launch(s, [=](auto value) {
        using Value = decltype(value);
        const Value *const later = static_cast<const Value *>(values);
        join_best<<<blocks_for(n, block_threads), block_threads, 0, stream>>>(s, by_kernels, b, at, n, later, filters);
    });
}

/* ---- blocks --------------------------------------------------------------------------------------------------------
 *
 * A team of 1, 32 or 256 threads adds up one block: each thread adds up every team-th output, then a tree in shared memory (256
 * sums, 10 or 14 KB) adds the threads' sums. Layout and block length alone set the team's size, and so the order of additions.
 * Loads are coalesced: for [channel][axis] a team is adjacent threads; for [axis][channel] adjacent threads belong to teams of
 * adjacent channels. Only teams of one thread (blocks below 32 outputs, [channel][axis]) rely on the caches instead. */

/* A sum of |y|^2. Squares of floats neither overflow nor underflow in double. */
template <typename Real> struct Squares {
    double sum;

    __device__ void add(double re, double im, double) { sum += re * re + im * im; }
    __device__ void add(const Squares &other) { sum += other.sum; }
    __device__ double root(double scale) const { return sqrt(sum * scale); }
};

/* Squares of doubles may overflow or underflow. So squares of large outputs have a sum of their own, divided by 2^1200, and squares
 * of small outputs another, multiplied by 2^1200. */
template <> struct Squares<double> {
    double sum, large, small;

    __device__ void add(double re, double im, double size)
    {
        if (size > 0x1p480)
            large += square(re * 0x1p-600, im * 0x1p-600);
        else if (size < 0x1p-400)
            small += square(re * 0x1p600, im * 0x1p600);
        else
            sum += square(re, im);
    }
    __device__ void add(const Squares &other)
    {
        sum += other.sum;
        large += other.large;
        small += other.small;
    }
    __device__ double root(double scale) const
    {
        if (large > 0)
            return sqrt((large + sum * 0x1p-600 * 0x1p-600) * scale) * 0x1p600;
        return sum > 0 ? sqrt((sum + small * 0x1p-600 * 0x1p-600) * scale) : sqrt(small * scale) * 0x1p-600;
    }
    __device__ static double square(double re, double im) { return re * re + im * im; }
};

template <typename Value> struct Sums {
    double max, re, im;
    Squares<RealPart<Value>> squares;
    bool has_nan;
};

template <typename Value> __device__ static void add(Sums<Value> &sums, Value y)
{
    const double re = real_of(y), im = imaginary_of(y), size = absolute(re, im);
    sums.has_nan |= isnan(re) || isnan(im);
    sums.max = size > sums.max ? size : sums.max;
    sums.re += re;
    sums.im += im;
    sums.squares.add(re, im, size);
}

template <typename Value> __device__ static void add_sums(Sums<Value> &sums, const Sums<Value> &other)
{
    sums.has_nan |= other.has_nan;
    sums.max = other.max > sums.max ? other.max : sums.max;
    sums.re += other.re;
    sums.im += other.im;
    sums.squares.add(other.squares);
}

template <typename Value>
__device__ static void put_statistics(const lw_statistics &b, int64_t i, const Sums<Value> &sums, int64_t n)
{
    using Real = RealPart<Value>;
    const double scale = sums.has_nan ? CUDART_NAN : 1.0 / static_cast<double>(n);
    if (b.max)
        static_cast<Real *>(b.max)[i] = static_cast<Real>(sums.has_nan ? CUDART_NAN : sums.max);
    if (b.mean)
        static_cast<Value *>(b.mean)[i] = value_of<Value>(sums.re * scale, sums.im * scale);
    if (b.rms)
        static_cast<Real *>(b.rms)[i] = static_cast<Real>(sums.squares.root(scale));
}

/* The work of a thread. */
struct Place {
    int64_t item;                   /* the team's block, as its place in lw_statistics.max */
    int lane;                       /* number of the thread in its team */
    int step;                       /* distance in threads from one member of the team to the next */
};

template <int TEAM> __device__ static Place team_place(const lw_series &s)
{
    constexpr int teams = block_threads / TEAM;
    const bool is_slow = s.layout == LW_TIME_SLOW;
    const int thread = threadIdx.x, team = is_slow ? thread % teams : thread / TEAM;
    return {int64_t(blockIdx.x) * teams + team, is_slow ? thread / teams : thread % TEAM, is_slow ? teams : 1};
}

template <typename Value>
__device__ static Sums<Value> sum_block(const lw_series &s, const Value *y, int64_t begin, int64_t n, int lane, int team)
{
    const int64_t pitch = s.layout == LW_TIME_SLOW ? s.n_channels : 1;
    Sums<Value> sums = {};
    for (int64_t i = lane; i < n; i += team)
        add(sums, y[(begin + i) * pitch]);
    return sums;
}

template <typename Value, int TEAM> __global__ void find_blocks(lw_series s, lw_statistics b, int64_t n_items)
{
    __shared__ Sums<Value> shared[block_threads];
    constexpr int teams = block_threads / TEAM;
    const int64_t stride = int64_t(gridDim.x) * teams, rounds = (n_items + stride - 1) / stride;
    Place p = team_place<TEAM>(s);
    for (int64_t round = 0; round < rounds; round++, p.item += stride) {
        const bool exists = p.item < n_items;
        const bool is_slow = s.layout == LW_TIME_SLOW;
        const int64_t item = exists ? p.item : 0, filter = item / (s.n_channels * b.count);
        const int64_t in_plane = item % (s.n_channels * b.count);
        const int64_t channel = is_slow ? in_plane % s.n_channels : in_plane / b.count;
        const int64_t begin = (b.first + (is_slow ? in_plane / s.n_channels : in_plane % b.count)) * b.every;
        const int64_t n = b.every < b.n_outputs - begin ? b.every : b.n_outputs - begin;
        const Value *const y = values_of<Value>(s) + filter * s.n_channels * s.count + place_of(s, channel, 0, s.count);
        shared[threadIdx.x] = sum_block(s, y, begin - s.first, n, p.lane, TEAM);
        for (int half = TEAM / 2; half > 0; half /= 2) {
            __syncthreads();
            if (p.lane < half)
                add_sums(shared[threadIdx.x], shared[threadIdx.x + half * p.step]);
        }
        if (exists && p.lane == 0)
            put_statistics<Value>(b, item, shared[threadIdx.x], n);
        __syncthreads();
    }
}

template <typename Value, int TEAM>
static void launch_blocks(const lw_series &s, const lw_statistics &b, int64_t n_items, cudaStream_t stream)
{
    const unsigned blocks = blocks_for(n_items, block_threads / TEAM);
    find_blocks<Value, TEAM><<<blocks, block_threads, 0, stream>>>(s, b, n_items);
}

cudaError_t lw_cuda_find_blocks(const struct lw_series *series, const struct lw_statistics *statistics, cudaStream_t stream)
{
    const lw_series s = *series;
    const lw_statistics b = *statistics;
    const int64_t n_items = s.n_filters * s.n_channels * b.count;
    if (n_items <= 0)
        return cudaSuccess;
    return launch(s, [=](auto value) {
        using Value = decltype(value);
        if (b.every < 32)
            launch_blocks<Value, 1>(s, b, n_items, stream);
        else if (b.every < 4096 || s.layout == LW_TIME_SLOW)
            launch_blocks<Value, 32>(s, b, n_items, stream);
        else
            launch_blocks<Value, block_threads>(s, b, n_items, stream);
    });
}
