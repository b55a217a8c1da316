/* cutoff.cu - selects the buckets of largest energy.
 *
 * A block takes one loop. select.cuh finds the energy at which to cut; then each warp goes through its values, 32 at a time, and
 * writes the places and bits of those above the cut. */
#include "gpu/device/launch.cuh"
#include "gpu/sfft/published/place.cuh"
#include "gpu/sfft/published/select.cuh"

namespace {

constexpr int THREADS = SELECT_THREADS, LINEAR_THREADS = 256;

/* List the places of the largest values, in any order, and set their bits. @param chosen  NULL: no bits are wanted */
template <bool HAS_ROOM> LW_DEVICE void list_largest(const Values<HAS_ROOM> &values, int most, int *places, unsigned *chosen)
{
    __shared__ Near near;
    __shared__ int n_listed;
    const int lane = (int)threadIdx.x % 32;
    if (threadIdx.x == 0)
        n_listed = 0;
    const Cut cut = find_cut(values, most);
    split(values, cut, near, [&](unsigned marks, int place) {
#pragma unroll
        for (int j = 0; j < values.LOADS; ++j) {
            const unsigned above = __ballot_sync(0xffffffffu, (int)(marks >> j & 1));
            const int first = place + j * SELECT_THREADS;
            if (chosen && lane == 0 && first < values.count)
                chosen[first / 32] = above;
        }
        const int up_to = scan_warp(__popc(marks));
        int first = lane == 31 ? atomicAdd(&n_listed, up_to) : 0;
        first = __shfl_sync(0xffffffffu, first, 31) + up_to - __popc(marks);
        for (; marks != 0; marks &= marks - 1)
            places[first++] = place + (__ffs((int)marks) - 1) * SELECT_THREADS;
    });
    const bool is_taken = near.rank() < cut.rest;
    if (is_taken && near.is_speaker()) {
        const int place = near.places[near.entry()];
        places[atomicAdd(&n_listed, 1)] = place;
        if (chosen)
            atomicOr(&chosen[place / 32], 1u << place % 32);
    }
}

/* One block per loop; the last block finds the energy in the first loop that tells the noise. first_loop: the loop of block 0. */
template <bool HAS_ROOM> __global__ void __launch_bounds__(THREADS) select_buckets(lw_published_device device, int first_loop)
{
    extern __shared__ double shared[];
    const int loop = first_loop + (int)blockIdx.x;
    const bool is_median = loop == device.location_loops;
    const Values<HAS_ROOM> values(device.energies + (is_median ? 0 : loop * device.n_buckets), device.n_buckets, shared);
    if (is_median)
        find_value(values, (int)device.n_louder, &device.control->median);
    else
        list_largest(values, (int)device.n_selected, device.places + loop * device.n_selected,
                     device.chosen + loop * device.n_words);
}

__global__ void __launch_bounds__(THREADS) select_teeth(lw_published_device device)
{
    const Values<false> values(device.tooth_energies, device.comb, nullptr);
    list_largest(values, (int)device.n_residues, device.tooth_places, nullptr);
}

__global__ void __launch_bounds__(LINEAR_THREADS) measure(const double2 *values, double *energies, int64_t count)
{
    const int64_t i = blockIdx.x * (int64_t)LINEAR_THREADS + threadIdx.x;
    if (i < count)
        energies[i] = energy_of(values[i]);
}

dim3 grid_of(int64_t count, int rows)
{
    return dim3((unsigned)((count + LINEAR_THREADS - 1) / LINEAR_THREADS), (unsigned)rows);
}

/* ---- comb ---------------------------------------------------------------------------------------------------------- */

__global__ void __launch_bounds__(LINEAR_THREADS) fetch_teeth(lw_published_device device, int64_t first)
{
    const int64_t i = blockIdx.x * (int64_t)LINEAR_THREADS + threadIdx.x;
    if (i >= device.comb)
        return;
    int64_t at = first + i * (device.n / device.comb);
    at -= at >= device.n ? device.n : 0;
    const double *const samples = *device.samples;
    device.teeth[i] = device.is_real ? double2{samples[at], 0} : ((const double2 *)samples)[at];
}

__global__ void __launch_bounds__(LINEAR_THREADS) mark(lw_published_device device)
{
    const int64_t i = blockIdx.x * (int64_t)LINEAR_THREADS + threadIdx.x;
    if (i < device.n_residues)
        device.approved[device.tooth_places[i]] = 1;
}

}  // namespace

cudaError_t lw_published_measure(const lw_published_device *device, cudaStream_t stream)
{
    const int64_t count = device->location_loops * device->n_buckets;
    measure<<<grid_of(count, 1), LINEAR_THREADS, 0, stream>>>(device->planes, device->energies, count);
    return cudaGetLastError();
}

cudaError_t lw_published_select(const lw_published_device *device, int first_loop, cudaStream_t stream)
{
    const int64_t bytes = select_bytes(device->n_buckets, device->most_shared_bytes);
    const Launch launch = {dim3((unsigned)(device->location_loops + 1 - first_loop)), THREADS, bytes, stream};
    return allow_and_launch(launch, bytes > 0 ? select_buckets<true> : select_buckets<false>, *device, first_loop);
}

cudaError_t lw_published_comb(const lw_published_device *device, int64_t first, cudaStream_t stream)
{
    if (device->comb == 0)
        return cudaSuccess;
    fetch_teeth<<<grid_of(device->comb, 1), LINEAR_THREADS, 0, stream>>>(*device, first);
    return cudaGetLastError();
}

cudaError_t lw_published_approve(const lw_published_device *device, cudaStream_t stream)
{
    if (device->comb == 0)
        return cudaSuccess;
    measure<<<grid_of(device->comb, 1), LINEAR_THREADS, 0, stream>>>(device->teeth, device->tooth_energies, device->comb);
    select_teeth<<<1, THREADS, 0, stream>>>(*device);
    mark<<<grid_of(device->n_residues, 1), LINEAR_THREADS, 0, stream>>>(*device);
    return cudaGetLastError();
}
