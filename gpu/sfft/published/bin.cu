/* bin.cu - permutes, filters and folds a signal on the device to the B sums of each loop, in one of two ways.
 *
 * Directly: a thread makes one sum, bucket b of one loop. Its samples are scattered over the signal: the index of the first is a
 * product modulo n, the others follow at steps of B sigma. Grid: (buckets / THREADS, loops).
 *
 * By columns, if n and B are powers of two: written as rows of B samples, the signal has all samples of a bucket in one column,
 * since its taps are B apart and sigma B modulo n is a multiple of B. A block loads some columns into shared memory, 128 or 64
 * bytes of each row. From these it makes COLUMNS sums of every loop. So the signal is read once, in whole pieces. Neighbouring
 * threads have buckets far apart, so the taps are stored bucket by bucket, too, to be read side by side. A quarter of a warp reads
 * samples of as many columns, so there are no bank conflicts.
 *
 * Both ways wait for memory, not for sums. Directly, each sample costs an access of its own, for which the memory moves ATOM bytes.
 * By columns all samples of the signal are moved, needed or not, but nothing else. So columns pay once the loops together take
 * more than the share sizeof(sample) / ATOM of the signal. So counted, direct bins move about 2.2 TB/s on an H200, columns of 64
 * bytes 2.1 and of 128 bytes 2.9. The rule depends on the shape alone, so that all ranks and runs take the same way. */
#include "gpu/device/launch.cuh"
#include "gpu/sfft/published/window.cuh"

namespace {

constexpr int THREADS = 128;
constexpr int ATOM = 64;                                /* least bytes that the memory of a device moves for an access */

__global__ void __launch_bounds__(THREADS) begin(lw_published_device device)
{
    const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    if (i < device.n_cleared)
        device.cleared[i] = {0, 0};
    if (i == 0)
        *device.samples = *device.asked;
}

template <bool IS_REAL> __global__ void __launch_bounds__(THREADS) bin(lw_published_device device)
{
    const int64_t b = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    if (b >= device.n_buckets)
        return;
    const lw_published_device_loop loop = device.loops[blockIdx.y];
    const int64_t first = first_tap(device, b);
    const int64_t step = mod_multiply(loop.sigma, device.n_buckets, device.n, 1.0 / (double)device.n);
    int64_t at = index_of(device, loop, first);
    const double *const samples = *device.samples;
    double2 sum = {0, 0};
#pragma unroll 4
    for (int64_t i = first; i <= device.half; i += device.n_buckets) {
        accumulate(sum, __ldg(device.taps + device.half + i), sample_at<IS_REAL>(samples, at));
        at = mod_add(at, step, device.n);
    }
    device.planes[blockIdx.y * device.n_buckets + b] = sum;
}

template <bool IS_REAL> LW_DEVICE double2 complex_of(const double2 *shared, int i)
{
    if constexpr (IS_REAL)
        return {((const double *)shared)[i], 0};
    else
        return shared[i];
}

/* Samples and taps of some columns in shared memory. */
template <bool IS_REAL, int BYTES> struct Stripe {
    static constexpr int PIECES = BYTES / (int)sizeof(double2), COLUMNS = IS_REAL ? 2 * PIECES : PIECES;

    double2 *samples;                               /* [rows][BYTES] */
    double *taps;                                   /* [n_sums][taps_pitch + 2]; the 2 make rows begin in different banks */
    int *buckets;                                   /* [n_sums] bucket of sum i: column i modulo COLUMNS, loop i / COLUMNS */
    int64_t left;                                   /* number of the first column */
    int rows, n_sums, taps_pitch;

    LW_DEVICE Stripe(const lw_published_device &device, double2 *shared)
        : samples(shared), left(blockIdx.x * (int64_t)COLUMNS), rows(1 << device.width_bits), n_sums(device.n_loops * COLUMNS),
          taps_pitch(device.taps_pitch)
    {
        taps = (double *)(samples + rows * PIECES);
        buckets = (int *)(taps + n_sums * (taps_pitch + 2));
    }

    LW_DEVICE void load_samples(const lw_published_device &device) const
    {
        const int t = (int)threadIdx.x;
        const int64_t step = device.n_buckets * PIECES / COLUMNS;                   /* distance of rows */
        const double2 *from = (const double2 *)*device.samples + (t / PIECES * step + left * PIECES / COLUMNS + t % PIECES);
#pragma unroll 4
        for (int i = t; i < rows * PIECES; i += THREADS) {
            copy_async(samples + i, from);
            from += THREADS / PIECES * step;
        }
    }

    /* Find the bucket of each sum: the b for which sigma b + tau modulo B is the number of the column. */
    LW_DEVICE void find_buckets(const lw_published_device &device) const
    {
        for (int i = (int)threadIdx.x; i < n_sums; i += THREADS) {
            const lw_published_device_loop loop = device.loops[i / COLUMNS];
            buckets[i] = (int)(loop.sigma_inverse * (left + i % COLUMNS - loop.tau) & (device.n_buckets - 1));
        }
    }

    /* Start to copy the taps; eight threads take a bucket, so that reads are coalesced. */
    LW_DEVICE void load_taps(const lw_published_device &device) const
    {
        constexpr int LANES = 8;
        for (int i = (int)threadIdx.x / LANES; i < n_sums; i += THREADS / LANES) {
            const double *const from = device.bucket_taps + (int64_t)buckets[i] * taps_pitch;
            for (int tap = (int)threadIdx.x % LANES * 2; tap < taps_pitch; tap += 2 * LANES)
                copy_async(taps + i * (taps_pitch + 2) + tap, from + tap);
        }
    }

    /* Return sum i, whose terms are added in the same order as in `bin`. */
    LW_DEVICE double2 sum_of(const lw_published_device &device, int i) const
    {
        const lw_published_device_loop loop = device.loops[i / COLUMNS];
        const int64_t b = buckets[i], first = b - ((device.half + b) & -device.n_buckets);
        const int count = (int)((device.half - first) >> device.bucket_bits) + 1, column = i % COLUMNS;
        const double *const mine = taps + i * (taps_pitch + 2);
        int row = (int)(((loop.sigma * first + loop.tau) & (device.n - 1)) >> device.bucket_bits);
        double2 sum = {0, 0};
#pragma unroll 4
        for (int tap = 0; tap < count; ++tap) {
            accumulate(sum, mine[tap], complex_of<IS_REAL>(samples, row * COLUMNS + column));
            row = (row + (int)loop.sigma) & (rows - 1);
        }
        return sum;
    }
};

/* A block takes BYTES of each row, that is COLUMNS columns, and makes their sums in all loops. */
template <bool IS_REAL, int BYTES> __global__ void __launch_bounds__(THREADS) bin_columns(lw_published_device device)
{
    extern __shared__ double2 shared[];
    const Stripe<IS_REAL, BYTES> stripe(device, shared);
    stripe.find_buckets(device);
    stripe.load_samples(device);
    __syncthreads();
    stripe.load_taps(device);
    wait_for_copies();
    __syncthreads();
    for (int i = (int)threadIdx.x; i < stripe.n_sums; i += THREADS)
        device.planes[i / stripe.COLUMNS * device.n_buckets + stripe.buckets[i]] = stripe.sum_of(device, i);
}

unsigned blocks_for(int64_t count) { return (unsigned)((count + THREADS - 1) / THREADS); }

}  // namespace

cudaError_t lw_published_begin(const lw_published_device *device, cudaStream_t stream)
{
    begin<<<blocks_for(device->n_cleared), THREADS, 0, stream>>>(*device);
    return cudaGetLastError();
}

cudaError_t lw_published_bin_direct(const lw_published_device *device, cudaStream_t stream)
{
    const Launch launch = {dim3(blocks_for(device->n_buckets), (unsigned)device->n_loops), THREADS, 0, stream};
    return allow_and_launch(launch, device->is_real ? bin<true> : bin<false>, *device);
}

static int64_t shared_bytes(const lw_published_device *device, int bytes)
{
    const int64_t columns = bytes / (device->is_real ? 8 : 16), rows = device->n / device->n_buckets;
    const int64_t of_sum = (device->taps_pitch + 2) * (int64_t)sizeof(double) + (int64_t)sizeof(int);
    return rows * bytes + device->n_loops * columns * of_sum;
}

int lw_published_column_bytes(const lw_published_device *device)
{
    const int64_t rows = device->n / device->n_buckets;
    const int bytes = rows <= 512 ? 128 : 64;
    const bool is_possible = device->is_power && rows <= LW_PUBLISHED_MOST_ROWS;
    return is_possible && shared_bytes(device, bytes) <= device->most_shared_bytes ? bytes : 0;
}

int lw_published_columns_pay(const lw_published_device *device)
{
    const int64_t sample_bytes = device->is_real ? sizeof(double) : sizeof(double2);
    return device->n_loops * (2 * device->half + 1) * ATOM > device->n * sample_bytes;
}

cudaError_t lw_published_bin_columns(const lw_published_device *device, cudaStream_t stream)
{
    const int64_t columns = device->column_bytes / (device->is_real ? 8 : 16);
    const Launch launch = {dim3((unsigned)(device->n_buckets / columns)), THREADS,
                           shared_bytes(device, device->column_bytes), stream};
    if (device->column_bytes == 128)
        return allow_and_launch(launch, device->is_real ? bin_columns<true, 128> : bin_columns<false, 128>, *device);
    return allow_and_launch(launch, device->is_real ? bin_columns<true, 64> : bin_columns<false, 64>, *device);
}
