/* vote.cu - from the largest buckets of all loops back to the frequencies that fall into enough of them.
 *
 * Nothing is counted in memory. A frequency with `needed` votes of L loops has one from a loop 0 .. L - needed, so a thread takes a
 * frequency of a bucket chosen by such a loop and asks the other loops, in order, whether they chose its bucket: most frequencies
 * are out after two misses. It is the first of its loops that elects a frequency, so none is listed twice. What loops chose is a bit
 * a bucket, in shared memory if it fits. Grid: (pieces of buckets, loops 0 .. L - needed).
 *
 * A loop sends permuted frequency p of another one to ratio p mod n, where ratio is sigma of the one times the inverse of the
 * other's: the frequency itself is only computed once it is elected. */
#include "gpu/sfft/number.cuh"
#include "gpu/sfft/published/device.h"

namespace {

constexpr int THREADS = 256, MOST_BLOCKS = 396;         /* in x: 3 for each multiprocessor of an H200 */
constexpr int64_t MOST_SHARED = 40 << 10;               /* bytes of bits, beside what is static */

/* The first permuted frequency of bucket b, ceil((2 b - 1) n / (2 B)): negative for b = 0. `part` is n / (2 B). The quotient may be
 * wrong by one; the rest is right modulo 2^64, and small. */
LW_DEVICE int64_t first_of(const lw_published_device &device, int64_t b, double part)
{
    const int64_t twice = 2 * device.n_buckets, edge = 2 * b - 1, first = (int64_t)((double)edge * part);
    const int64_t rest = (int64_t)((uint64_t)edge * (uint64_t)device.n - (uint64_t)first * (uint64_t)twice);
    return first + (rest > 0 ? 1 : rest <= -twice ? -1 : 0);
}

/* The bucket whose permuted frequencies `permuted` is among: floor((2 B permuted + n) / (2 n)), B being 0; as exact. */
LW_DEVICE int64_t bucket_of(const lw_published_device &device, int64_t permuted, double inverse)
{
    int64_t b = (int64_t)((double)permuted * inverse * (double)device.n_buckets + 0.5);
    const int64_t rest = (int64_t)(2 * (uint64_t)device.n_buckets * (uint64_t)permuted + (uint64_t)device.n -
                                   2 * (uint64_t)device.n * (uint64_t)b);
    b += rest < 0 ? -1 : rest >= 2 * device.n ? 1 : 0;
    return b == device.n_buckets ? 0 : b;
}

/* What the threads of a block share. */
struct Ballot {
    const unsigned *chosen;                         /* as in the device's data */
    const int64_t *ratios;                          /* [location_loops] */
    int own;                                        /* the loop whose buckets are gone through */
};

LW_DEVICE bool is_chosen(const lw_published_device &device, const Ballot &ballot, int loop, int64_t permuted, double inverse)
{
    const int64_t b = bucket_of(device, mod_multiply(ballot.ratios[loop], permuted, device.n, inverse), inverse);
    return (ballot.chosen[loop * device.n_words + b / 32] >> b % 32 & 1) != 0;
}

/* Whether enough loops from the own one on chose the frequency, and none before. */
LW_DEVICE bool is_elected(const lw_published_device &device, const Ballot &ballot, int64_t permuted, double inverse)
{
    int misses_left = device.location_loops - device.votes_needed - ballot.own;
    for (int loop = ballot.own + 1; loop < device.location_loops && misses_left >= 0; ++loop)
        misses_left -= is_chosen(device, ballot, loop, permuted, inverse) ? 0 : 1;
    bool is_first = misses_left >= 0;
    for (int loop = 0; loop < ballot.own && is_first; ++loop)
        is_first = !is_chosen(device, ballot, loop, permuted, inverse);
    return is_first;
}

LW_DEVICE void elect(const lw_published_device &device, int64_t f)
{
    if (f >= device.n_frequencies || (device.comb > 0 && !device.approved[f % device.comb]))
        return;
    const int place = atomicAdd(&device.control->n_elected, 1);
    if (place < device.capacity)
        device.elected[place] = f;
}

__global__ void __launch_bounds__(THREADS) vote(lw_published_device device, unsigned pieces, bool is_shared)
{
    extern __shared__ unsigned bits[];
    __shared__ int64_t ratios[LW_PUBLISHED_LOOPS];
    const double inverse = 1.0 / (double)device.n;
    const Ballot ballot = {is_shared ? bits : device.chosen, ratios, (int)blockIdx.y};
    const int64_t sigma_inverse = device.loops[ballot.own].sigma_inverse;
    for (int i = (int)threadIdx.x; i < device.location_loops; i += THREADS)
        ratios[i] = mod_multiply(device.loops[i].sigma, sigma_inverse, device.n, inverse);
    for (int64_t i = threadIdx.x; is_shared && i < device.location_loops * device.n_words; i += THREADS)
        bits[i] = device.chosen[i];
    __syncthreads();
    const double part = (double)device.n / (2 * (double)device.n_buckets);
    int64_t place = blockIdx.x / pieces, piece = blockIdx.x % pieces;
    while (place < device.n_selected) {
        const int64_t b = device.places[ballot.own * device.n_selected + place];
        const int64_t permuted = first_of(device, b, part) + piece * THREADS + threadIdx.x;
        const int64_t wrapped = mod_wrap(permuted, device.n);
        if (permuted < first_of(device, b + 1, part) && is_elected(device, ballot, wrapped, inverse))
            elect(device, mod_multiply(sigma_inverse, wrapped, device.n, inverse));
        place += gridDim.x / pieces;
        piece += gridDim.x % pieces;
        place += piece >= pieces ? 1 : 0;
        piece -= piece >= pieces ? pieces : 0;
    }
}

}  // namespace

cudaError_t lw_published_elect(const lw_published_device *device, cudaStream_t stream)
{
    const int64_t width = (device->n + device->n_buckets - 1) / device->n_buckets, pieces = (width + THREADS - 1) / THREADS;
    const int64_t items = device->n_selected * pieces, bytes = device->location_loops * device->n_words * (int64_t)sizeof(unsigned);
    const dim3 grid((unsigned)(items < MOST_BLOCKS ? items : MOST_BLOCKS),
                    (unsigned)(device->location_loops - device->votes_needed + 1));
    const bool is_shared = bytes <= MOST_SHARED;
    const size_t shared_bytes = is_shared ? (size_t)bytes : 0;
    vote<<<grid, THREADS, shared_bytes, stream>>>(*device, (unsigned)pieces, is_shared);
    return cudaGetLastError();
}
