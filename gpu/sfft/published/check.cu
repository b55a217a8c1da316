/* check.cu - what the lines leave in the loop that checks, and the lines that are reported.
 *
 * First a warp a line: how many lines come before it is its place in the order of magnitudes. Some lanes compute what the line gives to
 * three buckets (and what its mirror image gives), and hook each share into its bucket's list. Then a thread a bucket subtracts the
 * shares of that list in the order of their frequencies, whatever the order in which they were hooked in, and blocks of buckets are
 * summed. At last one block finds the median of the energies, another one takes the sums, and the others write the strongest lines by
 * frequency, each at the place that it has among them. */
#include "gpu/sfft/published/place.cuh"
#include "gpu/sfft/published/select.cuh"

namespace {

constexpr int THREADS = LW_PUBLISHED_SUMMED, ORDER_BLOCKS = 528, REPORT_BLOCKS = 130;
constexpr int BEFORE = 0, AFTER = 1, LARGEST = 2;       /* rows of the sums */

using Line = lw_published_device_line;
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

/* Over the values of the block's threads, always in the same order; in thread 0. All threads of the block take part. */
template <class Combine> LW_DEVICE double over_block(double mine, Combine combine)
{
    __shared__ double of_warp[SELECT_THREADS / 32];
    mine = over_warp(mine, combine);
    __syncthreads();            /* what was there last has been read */
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    for (int w = 1; threadIdx.x == 0 && w < (int)blockDim.x / 32; ++w)
        mine = combine(mine, of_warp[w]);
    return mine;
}

/* ---- order and shares -------------------------------------------------------------------------------------------------- */

LW_DEVICE double energy_of(const Line &line) { return energy_of(double2{line.re, line.im}); }

LW_DEVICE bool comes_before(const Line &a, const Line &b)
{
    const double p = energy_of(a), q = energy_of(b);
    return p != q ? p > q : a.frequency < b.frequency;
}

/* How often a line stands in the whole spectrum. */
LW_DEVICE int copies_of(const lw_published_device &device, int64_t frequency)
{
    return device.is_real && frequency > 0 && 2 * frequency < device.n ? 2 : 1;
}

/* Lines counted by a warp's lanes, whose sum all of them get. */
template <class IsCounted> LW_DEVICE int count_by_warp(int count, IsCounted is_counted)
{
    int number = 0;
    for (int other = (int)threadIdx.x % 32; other < count; other += 32)
        number += is_counted(other) ? 1 : 0;
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        number += __shfl_xor_sync(0xffffffffu, number, other);
    return number;
}

/* Part 3 copy + 1 + o of a line: what it, or its mirror image, gives to the bucket o beyond the nearest. */
LW_DEVICE void hook_share(const lw_published_device &device, const Line &line, int part, int number)
{
    const bool is_mirrored = part >= 3;
    const int o = part % 3 - 1;
    const int64_t f = is_mirrored ? device.n - line.frequency : line.frequency;
    const double n = (double)device.n, inverse = 1.0 / n;
    const lw_published_device_loop loop = device.loops[device.n_loops - 1];
    const Place place = place_of(device, loop, f);
    const double2 phase = turned(mod_multiply(f, loop.tau, device.n, inverse), inverse);
    const double2 value = product(double2{line.re / n, is_mirrored ? -line.im / n : line.im / n}, phase);
    const double gain = response_at(device, place.distance - o);
    const int64_t beside = place.bucket + o;
    const int64_t b = beside < 0 ? beside + device.n_buckets : beside >= device.n_buckets ? beside - device.n_buckets : beside;
    device.shares[number] = {f, {gain * value.x, gain * value.y}, atomicExch(&device.first_shares[b], number + 1)};
}

__global__ void __launch_bounds__(THREADS) order(lw_published_device device)
{
    const int lane = (int)threadIdx.x % 32, parts = device.is_real ? 6 : 3, count = device.control->n_lines;
    for (int i = (int)(blockIdx.x * THREADS + threadIdx.x) / 32; i < count; i += (int)gridDim.x * THREADS / 32) {
        const Line mine = device.lines[i];
        const int place = count_by_warp(count, [&](int other) { return comes_before(device.lines[other], mine); });
        if (lane == 0) {
            device.ordered[place] = mine;
            if (place < device.sparsity && hypot(mine.re, mine.im) >= device.min_magnitude)
                atomicAdd(&device.control->n_reported, 1);
        }
        if (lane < 3 * copies_of(device, mine.frequency))
            hook_share(device, mine, lane, i * parts + lane);
    }
}

/* ---- what is left ------------------------------------------------------------------------------------------------------ */

/* The share of a list, which begins at `first`, that comes after one of frequency `last`; NULL: none does. */
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

__global__ void __launch_bounds__(THREADS) subtract(lw_published_device device)
{
    const int64_t b = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    double before = 0, after = 0;
    if (b < device.n_buckets) {
        double2 z = device.planes[(device.n_loops - 1) * device.n_buckets + b];
        before = energy_of(z);
        const int first = device.first_shares[b];
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

/* ---- the end ----------------------------------------------------------------------------------------------------------- */

template <class Combine> LW_DEVICE double over_sums(const lw_published_device &device, int row, Combine combine)
{
    double mine = 0;
    for (int64_t i = threadIdx.x; i < device.n_sums; i += SELECT_THREADS)
        mine = combine(mine, device.sums[row * device.n_sums + i]);
    return over_block(mine, combine);
}

LW_DEVICE void take_sums(const lw_published_device &device, lw_published_figures &figures)
{
    double left_out = 0;
    for (int i = device.control->n_reported + (int)threadIdx.x; i < device.control->n_lines; i += SELECT_THREADS)
        left_out += copies_of(device, device.ordered[i].frequency) * energy_of(device.ordered[i]);
    left_out = over_block(left_out, Add());
    const double before = over_sums(device, BEFORE, Add()), after = over_sums(device, AFTER, Add());
    const double largest = over_sums(device, LARGEST, Most());
    if (threadIdx.x == 0) {
        figures.before = before;
        figures.after = after;
        figures.largest = largest;
        figures.left_out = left_out;
    }
}

/* A warp a line. */
LW_DEVICE void report(const lw_published_device &device, int block, int n_blocks)
{
    const int count = device.control->n_reported;
    for (int i = (block * SELECT_THREADS + (int)threadIdx.x) / 32; i < count; i += n_blocks * SELECT_THREADS / 32) {
        const Line mine = device.ordered[i];
        const int place = count_by_warp(count, [&](int other) { return device.ordered[other].frequency < mine.frequency; });
        if (threadIdx.x % 32 == 0)
            device.reported[place] = mine;
    }
}

__global__ void __launch_bounds__(SELECT_THREADS) finish(lw_published_device device)
{
    if (blockIdx.x == 0) {
        find_ranked(device.rest, device.n_buckets, (int)(device.n_buckets / 2), &device.control->figures.median);
    } else if (blockIdx.x == 1) {
        take_sums(device, device.control->figures);
    } else {
        report(device, (int)blockIdx.x - 2, (int)gridDim.x - 2);
    }
}

}  // namespace

cudaError_t lw_published_check_lines(const lw_published_device *device, cudaStream_t stream)
{
    order<<<ORDER_BLOCKS, THREADS, 0, stream>>>(*device);
    subtract<<<(unsigned)device->n_sums, THREADS, 0, stream>>>(*device);
    finish<<<2 + REPORT_BLOCKS, SELECT_THREADS, 0, stream>>>(*device);
    return cudaGetLastError();
}
