/* vote.cu - from the largest buckets of a loop back to the frequencies that fall into them.
 *
 * A thread gives one frequency a vote: block x belongs to one bucket, block y to a piece of its permuted frequencies, which
 * are next to each other; the frequencies themselves lie anywhere. Within a loop none is met twice, so votes are plain bytes;
 * only those that have got enough are counted by an atomic. */
#include "gpu/sfft/number.cuh"
#include "gpu/sfft/published/device.h"

namespace {

constexpr int THREADS = 128, MOST_ROWS = 65535;

/* The first permuted frequency of bucket b, ceil((2 b - 1) n / (2 B)): negative for b = 0. */
LW_DEVICE int64_t first_of(const lw_published_device &device, int64_t b)
{
    const int64_t twice = 2 * device.n_buckets, edge = 2 * b - 1, part = edge * (device.n % twice);
    return edge * (device.n / twice) + (part > 0 ? (part + twice - 1) / twice : part / twice);
}

LW_DEVICE void give(const lw_published_device &device, int64_t f)
{
    if (f >= device.n_frequencies || (device.comb > 0 && !device.approved[f % device.comb]))
        return;
    const int votes = device.votes[f] + 1;
    device.votes[f] = (unsigned char)votes;
    if (votes != device.votes_needed)
        return;
    const int place = atomicAdd(&device.control->n_elected, 1);
    if (place < device.capacity)
        device.elected[place] = f;
}

__global__ void __launch_bounds__(THREADS) vote(lw_published_device device, int loop)
{
    const int64_t b = device.places[loop * device.n_selected + blockIdx.x];
    const int64_t first = first_of(device, b), end = first_of(device, b + 1);
    const int64_t sigma_inverse = device.loops[loop].sigma_inverse;
    for (int64_t permuted = first + blockIdx.y * (int64_t)THREADS + threadIdx.x; permuted < end;
         permuted += gridDim.y * (int64_t)THREADS)
        give(device, mod_multiply(sigma_inverse, mod_wrap(permuted, device.n), device.n, 1.0 / (double)device.n));
}

}  // namespace

cudaError_t lw_published_vote_loop(const lw_published_device *device, int loop, cudaStream_t stream)
{
    const int64_t rows = (device->n / device->n_buckets + THREADS) / THREADS;
    const dim3 grid((unsigned)device->n_selected, (unsigned)(rows < MOST_ROWS ? rows : MOST_ROWS));
    vote<<<grid, THREADS, 0, stream>>>(*device, loop);
    return cudaGetLastError();
}
