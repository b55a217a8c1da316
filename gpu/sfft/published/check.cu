/* check.cu - subtracts the lines from the loop that checks, and writes the lines that are reported.
 *
 * In the first kernel some blocks subtract the lines' shares from their buckets, one thread per bucket, and sum the energies of a
 * block of buckets. The shares are linked in lists in any order, but are subtracted in the order of their frequencies. At the same
 * time the warps of other blocks sort the lines by magnitude, two lines per warp: a line's place is the number of lines before it.
 * In the second kernel one block finds the median of the energies left, and another one takes the sums. The others write the
 * strongest lines to host memory, each at its place by frequency. */
#include "gpu/device/launch.cuh"
#include "gpu/sfft/published/place.cuh"
#include "gpu/sfft/published/select.cuh"

namespace {

constexpr int THREADS = LW_PUBLISHED_SUMMED, ORDER_BLOCKS = 264, REPORT_BLOCKS = 66;
constexpr int LINES = 2;                                /* lines per warp */
constexpr int BEFORE = 0, AFTER = 1, LARGEST = 2;       /* rows of the sums */

using Line = lw_sfft_line;
using Key = lw_published_device_key;
using Share = lw_published_device_share;

struct Add {
    LW_DEVICE double operator()(double a, double b) const { return a + b; }
};

struct Most {
    LW_DEVICE double operator()(double a, double b) const { return fmax(a, b); }
};

template <class Combine> LW_DEVICE double over_warp(double mine, Combine combine)
{
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        mine = combine(mine, __shfl_xor_sync(0xffffffffu, mine, other));
    return mine;
}

/* Combine the values of a block's threads in a fixed order; the result is valid in thread 0. All threads of the block take part. */
template <class Combine> LW_DEVICE double over_block(double mine, Combine combine)
{
    __shared__ double of_warp[SELECT_THREADS / 32];
    mine = over_warp(mine, combine);
    __syncthreads();            /* all threads have read the previous contents */
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    for (int w = 1; threadIdx.x == 0 && w < (int)blockDim.x / 32; ++w)
        mine = combine(mine, of_warp[w]);
    return mine;
}

/* ---- order ------------------------------------------------------------------------------------------------------------ */

/* Count for each j how many of `count` keys satisfy is_before(other, key first + j). A warp reads each key once for all j. */
template <class Keys, class IsBefore>
LW_DEVICE void count_before(const Keys *keys, int first, int count, IsBefore is_before, int (&before)[LINES])
{
    Keys mine[LINES];
#pragma unroll
    for (int j = 0; j < LINES; ++j) {
        mine[j] = keys[min(first + j, count - 1)];
        before[j] = 0;
    }
#pragma unroll 4
    for (int other = (int)threadIdx.x % 32; other < count; other += 32) {
        const Keys key = keys[other];
#pragma unroll
        for (int j = 0; j < LINES; ++j)
            before[j] += is_before(key, mine[j]) ? 1 : 0;
    }
#pragma unroll
    for (int j = 0; j < LINES; ++j)
        before[j] = sum_of_warp(before[j]);
}

/* Sort `count` items by their keys: put(number, place) is called once for each. The warps of n_blocks blocks share the work. */
template <class Keys, class IsBefore, class Put>
LW_DEVICE void put_in_order(const Keys *keys, int count, int block, int n_blocks, IsBefore is_before, Put put)
{
    const int lane = (int)threadIdx.x % 32, of_block = (int)blockDim.x / 32;
    for (int first = (block * of_block + (int)threadIdx.x / 32) * LINES; first < count; first += n_blocks * of_block * LINES) {
        int before[LINES], place = 0;
        count_before(keys, first, count, is_before, before);
#pragma unroll
        for (int j = 0; j < LINES; ++j)
            place = lane == j ? before[j] : place;
        if (lane < LINES && first + lane < count)
            put(first + lane, place);
    }
}

LW_DEVICE void order_lines(const lw_published_device &device, int block, int n_blocks)
{
    const auto comes_before = [](const Key &a, const Key &b) {
        return a.energy != b.energy ? a.energy > b.energy : a.frequency < b.frequency;
    };
    put_in_order(device.keys, count_lines(device), block, n_blocks, comes_before, [&](int number, int place) {
        const Line line = device.lines[number];
        device.ordered[place] = line;
        device.frequencies[place] = line.frequency;
        if (place < device.sparsity && hypot(line.re, line.im) >= device.min_magnitude)
            atomicAdd(&device.control->n_reported, 1);
    });
}

/* ---- the rest -------------------------------------------------------------------------------------------------------- */

/* The share with the next frequency above `last`, in the list that begins at `first`; NULL: none. */
LW_DEVICE const Share *next_share(const lw_published_device &device, int first, int64_t last)
{
    const Share *next = nullptr;
    for (int number = first; number > 0; number = device.shares[number - 1].next) {
        const Share *const share = &device.shares[number - 1];
        if (share->frequency > last && (!next || share->frequency < next->frequency))
            next = share;
    }
    return next;
}

LW_DEVICE void subtract(const lw_published_device &device)
{
    const int64_t b = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    double before = 0, after = 0;
    if (b < device.n_buckets) {
        double2 z = device.planes[(device.n_loops - 1) * device.n_buckets + b];
        before = energy_of(z);
        const int first = count_lines(device) > 0 ? device.first_shares[b] : 0;
        for (const Share *share = next_share(device, first, -1); share; share = next_share(device, first, share->frequency))
            z = {z.x - share->value.x, z.y - share->value.y};
        device.rest[b] = after = energy_of(z);
    }
    before = over_block(before, Add());
    const double largest = over_block(after, Most());
    after = over_block(after, Add());
    if (threadIdx.x == 0) {
        device.sums[BEFORE * device.n_sums + blockIdx.x] = before;
        device.sums[AFTER * device.n_sums + blockIdx.x] = after;
        device.sums[LARGEST * device.n_sums + blockIdx.x] = largest;
    }
}

__global__ void __launch_bounds__(THREADS) settle(lw_published_device device)
{
    if (blockIdx.x < device.n_sums)
        subtract(device);
    else
        order_lines(device, (int)(blockIdx.x - device.n_sums), ORDER_BLOCKS);
}

/* ---- the outcome ----------------------------------------------------------------------------------------------------- */

template <class Combine> LW_DEVICE double over_sums(const lw_published_device &device, int row, Combine combine)
{
    double mine = 0;
    for (int64_t i = threadIdx.x; i < device.n_sums; i += SELECT_THREADS)
        mine = combine(mine, device.sums[row * device.n_sums + i]);
    return over_block(mine, combine);
}

LW_DEVICE void take_sums(const lw_published_device &device, lw_published_device_control &outcome)
{
    const int n_lines = count_lines(device), n_reported = device.control->n_reported;
    double left_out = 0;
    for (int i = n_reported + (int)threadIdx.x; i < n_lines; i += SELECT_THREADS)
        left_out += copies_of(device, device.ordered[i].frequency) * energy_of(double2{device.ordered[i].re, device.ordered[i].im});
    left_out = over_block(left_out, Add());
    const double before = over_sums(device, BEFORE, Add()), after = over_sums(device, AFTER, Add());
    const double largest = over_sums(device, LARGEST, Most());
    if (threadIdx.x == 0) {
        outcome.figures.before = before;
        outcome.figures.after = after;
        outcome.figures.largest = largest;
        outcome.figures.left_out = left_out;
        outcome.n_elected = device.control->n_elected;
        outcome.n_lines = n_lines;
        outcome.n_reported = n_reported;
    }
}

LW_DEVICE void report(const lw_published_device &device, int block, int n_blocks)
{
    const auto is_lower = [](int64_t a, int64_t b) { return a < b; };
    put_in_order(device.frequencies, device.control->n_reported, block, n_blocks, is_lower,
                     [&](int number, int place) { device.reported[place] = device.ordered[number]; });
}

template <bool HAS_ROOM> __global__ void __launch_bounds__(SELECT_THREADS) finish(lw_published_device device)
{
    extern __shared__ double shared[];
    if (blockIdx.x == 0)
        find_value(Values<HAS_ROOM>(device.rest, device.n_buckets, shared), (int)(device.n_buckets / 2),
                   &device.outcome->figures.median);
    else if (blockIdx.x == 1)
        take_sums(device, *device.outcome);
    else
        report(device, (int)blockIdx.x - 2, REPORT_BLOCKS);
}

}  // namespace

cudaError_t lw_published_check_lines(const lw_published_device *device, cudaStream_t stream)
{
    const int64_t bytes = select_bytes(device->n_buckets, device->most_shared_bytes);
    const Launch first = {dim3((unsigned)device->n_sums + ORDER_BLOCKS), THREADS, 0, stream};
    const Launch last = {dim3(2 + REPORT_BLOCKS), SELECT_THREADS, bytes, stream};
    const cudaError_t status = allow_and_launch(first, settle, *device);
    return status != cudaSuccess ? status : allow_and_launch(last, bytes > 0 ? finish<true> : finish<false>, *device);
}
