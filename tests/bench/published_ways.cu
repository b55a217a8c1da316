/* published_ways.cu - see published_ways.h. A run is captured into a graph, so that what streams and events order becomes edges of
 * the graph, and launches cost little. */
#include "published_ways.h"

#include "gpu/sfft/published/window.cuh"

#include <cub/device/device_radix_sort.cuh>

#include <vector>

namespace {

constexpr int THREADS = 128, MEAN_THREADS = 1024;
constexpr double LESS_THAN_MEAN = 16;           /* ratio of the mean to the threshold: two lines in a bucket may nearly cancel */
constexpr int STREAMS = 32;                     /* half of them fetch chunks, half fold them */

/* ---- bins -------------------------------------------------------------------------------------------------------------- */

/* Write samples of the loop, from place `begin` to before `end` of the window's order, each thread one. Neighbouring threads write
 * neighbouring places; all loads are in flight at once. */
template <bool IS_REAL>
__global__ void __launch_bounds__(THREADS) fetch(lw_published_device device, int loop, int64_t begin, int64_t end, double2 *row)
{
    const int64_t place = begin + blockIdx.x * (int64_t)THREADS + threadIdx.x, i = place - device.half;
    if (place >= end)
        return;
    const lw_published_device_loop turned = device.loops[loop];
    const int64_t at = device.is_power ? (turned.sigma * i + turned.tau) & (device.n - 1) : index_of(device, turned, i);
    row[place] = sample_at<IS_REAL>(*device.samples, at);
}

__global__ void __launch_bounds__(THREADS) fold_row(lw_published_device device, int loop, const double2 *row)
{
    const int64_t b = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    if (b >= device.n_buckets)
        return;
    double2 sum = {0, 0};
#pragma unroll 4
    for (int64_t i = first_tap(device, b); i <= device.half; i += device.n_buckets)
        accumulate(sum, __ldg(device.taps + device.half + i), row[device.half + i]);
    device.planes[loop * device.n_buckets + b] = sum;
}

/* Add a chunk of B samples to the sums; the first chunk sets them. first_bucket: bucket of the first place of a chunk. */
__global__ void __launch_bounds__(THREADS) fold_chunk(lw_published_device device, int loop, int64_t begin, int64_t first_bucket,
                                                      const double2 *row)
{
    const int64_t t = blockIdx.x * (int64_t)THREADS + threadIdx.x, place = begin + t;
    if (t >= device.n_buckets || place > 2 * device.half)
        return;
    const int64_t bucket = first_bucket + t < device.n_buckets ? first_bucket + t : first_bucket + t - device.n_buckets;
    double2 *const sum_of = device.planes + loop * device.n_buckets + bucket;
    double2 sum = begin == 0 ? double2{0, 0} : *sum_of;
    accumulate(sum, __ldg(device.taps + place), row[place]);
    *sum_of = sum;
}

unsigned blocks_for(int64_t count) { return (unsigned)((count + THREADS - 1) / THREADS); }

cudaError_t fetch_places(const lw_published_device *device, int loop, int64_t begin, int64_t end, double2 *row, cudaStream_t stream)
{
    if (device->is_real)
        fetch<true><<<blocks_for(end - begin), THREADS, 0, stream>>>(*device, loop, begin, end, row);
    else
        fetch<false><<<blocks_for(end - begin), THREADS, 0, stream>>>(*device, loop, begin, end, row);
    return cudaGetLastError();
}

/* ---- cutoff ------------------------------------------------------------------------------------------------------------- */

__global__ void __launch_bounds__(THREADS) number_all(int *numbers, int64_t count)
{
    const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    if (i < count)
        numbers[i] = (int)i;
}

/* Take the first places of each loop. Grid: (places, loops). */
__global__ void __launch_bounds__(THREADS) take_first(lw_published_device device, const int *ordered)
{
    const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x, loop = blockIdx.y;
    if (i < device.n_selected) {
        const int place = ordered[loop * device.n_buckets + i];
        device.places[loop * device.n_selected + i] = place;
        atomicOr(&device.chosen[loop * device.n_words + place / 32], 1u << place % 32);
    }
}

/* Set the threshold of a loop by its mean energy, summed in a fixed order, and empty its list; one block for each loop. */
__global__ void __launch_bounds__(MEAN_THREADS) find_threshold(lw_published_device device, double *thresholds, int *counts)
{
    __shared__ double sums[MEAN_THREADS / 32];
    const int loop = (int)blockIdx.x, t = (int)threadIdx.x;
    const double *const energies = device.energies + loop * device.n_buckets;
    double sum = 0;
#pragma unroll 8
    for (int64_t i = t; i < device.n_buckets; i += MEAN_THREADS)
        sum += energies[i];
    for (int64_t i = t; i < device.n_selected; i += MEAN_THREADS)
        device.places[loop * device.n_selected + i] = -1;
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, other);
    if (t % 32 == 0)
        sums[t / 32] = sum;
    __syncthreads();
    if (t > 0)
        return;
    sum = 0;
    for (int warp = 0; warp < MEAN_THREADS / 32; ++warp)
        sum += sums[warp];
    thresholds[loop] = sum / (double)device.n_buckets / LESS_THAN_MEAN;
    counts[loop] = 0;
}

/* Compare each bucket with its loop's threshold; a warp claims room for all that it found. Grid: (buckets, loops). */
__global__ void __launch_bounds__(THREADS) take_above(lw_published_device device, const double *thresholds, int *counts)
{
    const int64_t b = blockIdx.x * (int64_t)THREADS + threadIdx.x, loop = blockIdx.y;
    const int lane = (int)threadIdx.x % 32;
    const bool is_above = b < device.n_buckets && device.energies[loop * device.n_buckets + b] > thresholds[loop];
    const unsigned above = __ballot_sync(0xffffffffu, is_above);
    int first = 0;
    if (lane == 0 && above != 0) {
        device.chosen[loop * device.n_words + b / 32] = above;
        first = atomicAdd(&counts[loop], __popc(above));
    }
    const int64_t at = __shfl_sync(0xffffffffu, first, 0) + __popc(above & ((1u << lane) - 1));
    if (is_above && at < device.n_selected)
        device.places[loop * device.n_selected + at] = (int)b;
}

dim3 grid_of(int64_t count, int rows) { return dim3(blocks_for(count), (unsigned)rows); }

}  // namespace

struct bench_ways {
    int64_t n_chunks;                   /* chunks of B samples in a loop */
    double2 *rows;                      /* [n_loops][n_chunks][B] samples in the order of the window */
    cudaStream_t streams[STREAMS];
    cudaEvent_t forked, joined[STREAMS];
    std::vector<cudaEvent_t> fetched;   /* [n_loops x n_chunks] */

    double *sorted;                     /* [location_loops][B] */
    int *numbers, *ordered;             /* [B] 0, 1 ..; [location_loops][B] buckets by energy */
    char *work;                         /* [location_loops][work_bytes] */
    size_t work_bytes;
    double *thresholds;                 /* [location_loops] */
    int *counts;                        /* [location_loops] */
};

template <class T> static cudaError_t allocate(T **memory, int64_t count)
{
    return cudaMalloc((void **)memory, (size_t)count * sizeof(T));
}

static cudaError_t create_streams(bench_ways *ways)
{
    cudaError_t status = cudaEventCreateWithFlags(&ways->forked, cudaEventDisableTiming);
    for (int i = 0; status == cudaSuccess && i < STREAMS; i++)
        if ((status = cudaStreamCreateWithFlags(&ways->streams[i], cudaStreamNonBlocking)) == cudaSuccess)
            status = cudaEventCreateWithFlags(&ways->joined[i], cudaEventDisableTiming);
    for (size_t i = 0; status == cudaSuccess && i < ways->fetched.size(); i++)
        status = cudaEventCreateWithFlags(&ways->fetched[i], cudaEventDisableTiming);
    return status;
}

bench_ways *bench_ways_create(int64_t taps, int64_t n_buckets, int n_loops, int location_loops)
{
    bench_ways *const ways = new bench_ways{};
    ways->n_chunks = (taps + n_buckets - 1) / n_buckets;
    ways->fetched.resize((size_t)(n_loops * ways->n_chunks));
    const double *const keys = nullptr;
    cub::DeviceRadixSort::SortPairsDescending(nullptr, ways->work_bytes, keys, ways->sorted, ways->numbers, ways->ordered,
                                              (int)n_buckets);
    ways->work_bytes = (ways->work_bytes + 255) / 256 * 256;
    cudaError_t status = create_streams(ways);
    if (status == cudaSuccess && (status = allocate(&ways->rows, n_loops * ways->n_chunks * n_buckets)) == cudaSuccess &&
        (status = allocate(&ways->sorted, location_loops * n_buckets)) == cudaSuccess &&
        (status = allocate(&ways->numbers, n_buckets)) == cudaSuccess &&
        (status = allocate(&ways->ordered, location_loops * n_buckets)) == cudaSuccess &&
        (status = allocate(&ways->work, location_loops * (int64_t)ways->work_bytes)) == cudaSuccess &&
        (status = allocate(&ways->thresholds, location_loops)) == cudaSuccess &&
        (status = allocate(&ways->counts, location_loops)) == cudaSuccess) {
        number_all<<<blocks_for(n_buckets), THREADS>>>(ways->numbers, n_buckets);
        status = cudaDeviceSynchronize();
    }
    if (status == cudaSuccess)
        return ways;
    bench_ways_destroy(ways);
    return nullptr;
}

void bench_ways_destroy(bench_ways *ways)
{
    if (!ways)
        return;
    void *const memory[] = {ways->rows, ways->sorted, ways->numbers, ways->ordered, ways->work, ways->thresholds, ways->counts};
    for (void *const part : memory)
        cudaFree(part);
    for (const cudaEvent_t event : ways->fetched)
        if (event)
            cudaEventDestroy(event);
    for (int i = 0; i < STREAMS; i++) {
        if (ways->joined[i])
            cudaEventDestroy(ways->joined[i]);
        if (ways->streams[i])
            cudaStreamDestroy(ways->streams[i]);
    }
    if (ways->forked)
        cudaEventDestroy(ways->forked);
    delete ways;
}

/* Let the first `count` streams begin where `stream` is; join: let `stream` go on once they are done. */
static cudaError_t fork(const bench_ways *ways, int count, cudaStream_t stream)
{
    cudaError_t status = cudaEventRecord(ways->forked, stream);
    for (int i = 0; status == cudaSuccess && i < count; i++)
        status = cudaStreamWaitEvent(ways->streams[i], ways->forked, 0);
    return status;
}

static cudaError_t join(const bench_ways *ways, int count, cudaStream_t stream)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0; status == cudaSuccess && i < count; i++)
        if ((status = cudaEventRecord(ways->joined[i], ways->streams[i])) == cudaSuccess)
            status = cudaStreamWaitEvent(stream, ways->joined[i], 0);
    return status;
}

cudaError_t bench_ways_partition(void *, const lw_published_device *device, cudaStream_t stream)
{
    return lw_published_bin_direct(device, stream);
}

cudaError_t bench_ways_columns(void *, const lw_published_device *device, cudaStream_t stream)
{
    return device->column_bytes > 0 ? lw_published_bin_columns(device, stream) : cudaErrorNotSupported;
}

/* Stream 0 fetches loop l while stream 1 folds the loop before. */
cudaError_t bench_ways_rows(void *context, const lw_published_device *device, cudaStream_t stream)
{
    const bench_ways *const ways = (const bench_ways *)context;
    cudaError_t status = fork(ways, 2, stream);
    for (int l = 0; status == cudaSuccess && l < device->n_loops; l++) {
        double2 *const row = ways->rows + l * ways->n_chunks * device->n_buckets;
        if ((status = fetch_places(device, l, 0, 2 * device->half + 1, row, ways->streams[0])) == cudaSuccess &&
            (status = cudaEventRecord(ways->fetched[(size_t)l], ways->streams[0])) == cudaSuccess &&
            (status = cudaStreamWaitEvent(ways->streams[1], ways->fetched[(size_t)l], 0)) == cudaSuccess) {
            fold_row<<<blocks_for(device->n_buckets), THREADS, 0, ways->streams[1]>>>(*device, l, row);
            status = cudaGetLastError();
        }
    }
    return status == cudaSuccess ? join(ways, 2, stream) : status;
}

/* The upper half of the streams fetches chunks in turn; stream l of the lower half folds the chunks of loop l in their order. */
cudaError_t bench_ways_chunks(void *context, const lw_published_device *device, cudaStream_t stream)
{
    const bench_ways *const ways = (const bench_ways *)context;
    const int64_t n_buckets = device->n_buckets, taps = 2 * device->half + 1;
    const int64_t first_bucket = (n_buckets - device->half % n_buckets) % n_buckets;
    cudaError_t status = fork(ways, STREAMS, stream);
    for (int64_t number = 0; status == cudaSuccess && number < device->n_loops * ways->n_chunks; number++) {
        const int64_t loop = number / ways->n_chunks, begin = number % ways->n_chunks * n_buckets;
        double2 *const row = ways->rows + loop * ways->n_chunks * n_buckets;
        const cudaStream_t fetching = ways->streams[STREAMS / 2 + number % (STREAMS / 2)];
        const cudaStream_t folding = ways->streams[loop % (STREAMS / 2)];
        const int64_t end = begin + n_buckets < taps ? begin + n_buckets : taps;
        if ((status = fetch_places(device, (int)loop, begin, end, row, fetching)) == cudaSuccess &&
            (status = cudaEventRecord(ways->fetched[(size_t)number], fetching)) == cudaSuccess &&
            (status = cudaStreamWaitEvent(folding, ways->fetched[(size_t)number], 0)) == cudaSuccess) {
            fold_chunk<<<blocks_for(n_buckets), THREADS, 0, folding>>>(*device, (int)loop, begin, first_bucket, row);
            status = cudaGetLastError();
        }
    }
    return status == cudaSuccess ? join(ways, STREAMS, stream) : status;
}

/* Sort the loops on a stream each; selection only has to find the noise's energy. */
cudaError_t bench_ways_sort(void *context, const lw_published_device *device, cudaStream_t stream)
{
    const bench_ways *const ways = (const bench_ways *)context;
    const int loops = device->location_loops, n_streams = loops < STREAMS ? loops : STREAMS;
    cudaError_t status = fork(ways, n_streams, stream);
    for (int l = 0; status == cudaSuccess && l < loops; l++) {
        const int64_t first = l * device->n_buckets;
        size_t bytes = ways->work_bytes;
        status = cub::DeviceRadixSort::SortPairsDescending(ways->work + l * ways->work_bytes, bytes, device->energies + first,
                                                           ways->sorted + first, ways->numbers, ways->ordered + first,
                                                           (int)device->n_buckets, 0, 64, ways->streams[l % STREAMS]);
    }
    if (status == cudaSuccess && (status = lw_published_select(device, loops, stream)) == cudaSuccess &&
        (status = join(ways, n_streams, stream)) == cudaSuccess) {
        take_first<<<grid_of(device->n_selected, loops), THREADS, 0, stream>>>(*device, ways->ordered);
        status = cudaGetLastError();
    }
    return status;
}

/* The noise's energy is found beside the threshold. */
cudaError_t bench_ways_threshold(void *context, const lw_published_device *device, cudaStream_t stream)
{
    const bench_ways *const ways = (const bench_ways *)context;
    const int loops = device->location_loops;
    cudaError_t status = fork(ways, 1, stream);
    if (status == cudaSuccess && (status = lw_published_select(device, loops, ways->streams[0])) == cudaSuccess) {
        find_threshold<<<(unsigned)loops, MEAN_THREADS, 0, stream>>>(*device, ways->thresholds, ways->counts);
        take_above<<<grid_of(device->n_words * 32, loops), THREADS, 0, stream>>>(*device, ways->thresholds, ways->counts);
        status = cudaGetLastError();
    }
    return status == cudaSuccess ? join(ways, 1, stream) : status;
}
