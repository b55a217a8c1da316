/* estimate.cu - candidates to lines, by medians over all loops.
 *
 * First a thread a candidate leaves out those that are weak in most loops, which are nearly all that were elected by chance.
 * Then GROUP threads a candidate, two candidates a block: thread l computes what loop l says and, from shared memory, its rank
 * among what all loops say, re and im by themselves; those in the middle make the median. */
#include "gpu/sfft/published/place.cuh"

namespace {

constexpr int THREADS = 128, GROUP = LW_PUBLISHED_LOOPS, GROUPS = THREADS / GROUP, BLOCKS = 1024;

/* More than there is room for: some are lost, nobody knows which, so none counts. */
LW_DEVICE int count_elected(const lw_published_device &device)
{
    const int count = device.control->n_elected;
    return count <= device.capacity ? count : 0;
}

LW_DEVICE double noise_of(const lw_published_device &device) { return device.control->median / 0.69314718055994530942; }

LW_DEVICE bool is_strong(const lw_published_device &device, int64_t f, double least)
{
    int weak = 0;
    for (int l = 0; l < device.n_estimates && 2 * weak <= device.n_estimates; ++l) {
        const Place place = place_of(device, device.loops[l], f);
        weak += energy_of(device.planes[l * device.n_buckets + place.bucket]) < 0.5 * least ? 1 : 0;
    }
    return 2 * weak <= device.n_estimates;
}

__global__ void __launch_bounds__(THREADS) find_strong(lw_published_device device)
{
    const int count = count_elected(device);
    const double least = noise_of(device) * device.significance;
    for (int i = (int)(blockIdx.x * THREADS + threadIdx.x); i < count; i += (int)gridDim.x * THREADS)
        if (is_strong(device, device.elected[i], least))
            device.strong[atomicAdd(&device.control->n_strong, 1)] = device.elected[i];
}

/* What a loop says of the amplitude at f. */
LW_DEVICE double2 value_in(const lw_published_device &device, int l, int64_t f)
{
    const lw_published_device_loop loop = device.loops[l];
    const double inverse = 1.0 / (double)device.n;
    const Place place = place_of(device, loop, f);
    const double2 phase = turned(mod_multiply(f, loop.tau, device.n, inverse), inverse);
    const double2 z = product(device.planes[l * device.n_buckets + place.bucket], double2{phase.x, -phase.y});
    const double gain = response_at(device, place.distance);
    return {z.x / gain, z.y / gain};
}

/* Of `count` values, mine at place `own`: it becomes the lower or the upper middle, or both. */
LW_DEVICE void rank(const double *values, int own, int count, double middle[2])
{
    const double mine = values[own];
    int below = 0;
    for (int j = 0; j < count; ++j)
        below += values[j] < mine || (values[j] == mine && j < own) ? 1 : 0;
    if (below == (count - 1) / 2)
        middle[0] = mine;
    if (below == count / 2)
        middle[1] = mine;
}

__global__ void __launch_bounds__(THREADS) estimate(lw_published_device device)
{
    __shared__ double re[GROUPS][GROUP], im[GROUPS][GROUP], middle_re[GROUPS][2], middle_im[GROUPS][2];
    __shared__ int agreeing[GROUPS];
    const int group = (int)threadIdx.x / GROUP, l = (int)threadIdx.x % GROUP, count = device.control->n_strong;
    const double noise = noise_of(device);
    for (int base = (int)blockIdx.x * GROUPS; base < count; base += (int)gridDim.x * GROUPS) {
        const bool takes_part = base + group < count && l < device.n_estimates;
        const int64_t f = base + group < count ? device.strong[base + group] : 0;
        double2 mine = {0, 0};
        if (takes_part)
            mine = value_in(device, l, f);
        re[group][l] = mine.x;
        im[group][l] = mine.y;
        if (l == 0)
            agreeing[group] = 0;
        __syncthreads();
        if (takes_part) {
            rank(re[group], l, device.n_estimates, middle_re[group]);
            rank(im[group], l, device.n_estimates, middle_im[group]);
        }
        __syncthreads();
        const double2 middle = {(middle_re[group][0] + middle_re[group][1]) / 2,
                                (middle_im[group][0] + middle_im[group][1]) / 2};
        const double2 off = {mine.x - middle.x, mine.y - middle.y};
        if (takes_part && energy_of(off) < 12 * noise + 1e-4 * energy_of(middle))
            atomicAdd(&agreeing[group], 1);
        __syncthreads();
        if (takes_part && l == 0 && energy_of(middle) > noise * device.significance &&
            3 * agreeing[group] > device.n_estimates) {
            const double n = (double)device.n;
            device.lines[atomicAdd(&device.control->n_lines, 1)] = {f, n * middle.x, n * middle.y, 0};
        }
        __syncthreads();
    }
}

}  // namespace

cudaError_t lw_published_estimate_lines(const lw_published_device *device, cudaStream_t stream)
{
    find_strong<<<BLOCKS, THREADS, 0, stream>>>(*device);
    estimate<<<BLOCKS, THREADS, 0, stream>>>(*device);
    return cudaGetLastError();
}
