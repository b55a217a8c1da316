/* check.cu - what the lines leave in the loop that checks, and the lines that are reported.
 *
 * First a warp has eight lines: how many lines come before one is its place in the order of magnitudes. A lane computes what a line, or
 * its mirror image, gives to one of three buckets, and hooks that share into the bucket's list. Then a thread a bucket subtracts the
 * shares of that list in the order of their frequencies, whatever the order in which they were hooked in, and blocks of buckets are
 * summed. At last one block finds the median of the energies, another one takes the sums, and the others write the strongest lines by
 * frequency, each at the place that it has among them. */
#include "gpu/sfft/published/place.cuh"
#include "gpu/sfft/published/select.cuh"

namespace {

constexpr int THREADS = LW_PUBLISHED_SUMMED, ORDER_BLOCKS = 528, REPORT_BLOCKS = 130;
constexpr int LINES = 8;                                /* of a warp */
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

/* before[j] = how many of `count` lines is_before (other, line first + j) holds for: a warp reads each line once for all j. */
template <class IsBefore>
LW_DEVICE void count_before(const Line *lines, int first, int count, IsBefore is_before, int (&before)[LINES])
{
    Line mine[LINES];
#pragma unroll
    for (int j = 0; j < LINES; ++j) {
        mine[j] = lines[min(first + j, count - 1)];
        before[j] = 0;
    }
    for (int other = (int)threadIdx.x % 32; other < count; other += 32) {
        const Line line = lines[other];
#pragma unroll
        for (int j = 0; j < LINES; ++j)
            before[j] += is_before(line, mine[j]) ? 1 : 0;
    }
#pragma unroll
    for (int j = 0; j < LINES; ++j)
#pragma unroll
        for (int lane = 16; lane > 0; lane /= 2)
            before[j] += __shfl_xor_sync(0xffffffffu, before[j], lane);
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

LW_DEVICE void place_line(const lw_published_device &device, const Line &line, int place)
{
    device.ordered[place] = line;
    if (place < device.sparsity && hypot(line.re, line.im) >= device.min_magnitude)
        atomicAdd(&device.control->n_reported, 1);
}

__global__ void __launch_bounds__(THREADS) order(lw_published_device device)
{
    const int lane = (int)threadIdx.x % 32, parts = device.is_real ? 6 : 3, count = device.control->n_lines;
    const int warp = (int)(blockIdx.x * THREADS + threadIdx.x) / 32, warps = (int)gridDim.x * THREADS / 32;
    for (int first = warp * LINES; first < count; first += warps * LINES) {
        int before[LINES];
        count_before(device.lines, first, count, comes_before, before);
#pragma unroll
        for (int j = 0; j < LINES; ++j)
            if (lane == j && first + j < count)
                place_line(device, device.lines[first + j], before[j]);
        for (int pair = lane; pair < LINES * parts; pair += 32) {
            const int i = first + pair / parts, part = pair % parts;
            if (i < count && part < 3 * copies_of(device, device.lines[i].frequency))
                hook_share(device, device.lines[i], part, i * parts + part);
        }
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

LW_DEVICE bool is_lower(const Line &a, const Line &b) { return a.frequency < b.frequency; }

LW_DEVICE void report(const lw_published_device &device, int block, int n_blocks)
{
    const int lane = (int)threadIdx.x % 32, count = device.control->n_reported;
    const int warp = (block * SELECT_THREADS + (int)threadIdx.x) / 32, warps = n_blocks * SELECT_THREADS / 32;
    for (int first = warp * LINES; first < count; first += warps * LINES) {
        int before[LINES];
        count_before(device.ordered, first, count, is_lower, before);
#pragma unroll
        for (int j = 0; j < LINES; ++j)
            if (lane == j && first + j < count)
                device.reported[before[j]] = device.ordered[first + j];
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
