/* stack.cu - choice of a shape, filters, samples and windows of stacks; sums.cuh has the sums themselves. */
#include "gpu/array/stack.h"

#include "base/integers.h"
#include "gpu/array/sums.cuh"

#include <cfloat>

/* ---- shapes --------------------------------------------------------------------------------------------------------- */

/* A compiled transform, and picoseconds of its way back per point, with loads and additions: on an H100, 512 filters of 600
 * taps, 24 channels, and delays up to 3000 samples. */
struct Length {
    int radix, outer, teams;            /* teams of a block */
    double picoseconds;
    StackKernels kernels;
};

/* BLOCKS, BACK: blocks on a multiprocessor, of sums and of ways back. */
template <int E, int P, int TEAMS, int BLOCKS, int BACK> static Length make_length(double picoseconds)
{
    using F = Transform<float, E, P, Team<E * P, 1>>;
    using G = Transform<float, E, P, Team<E * P, TEAMS>>;
    return {E, P, TEAMS, picoseconds, {stack_segments<F>, stack_back<F, BACK>, stack_sums<G, TEAMS, BLOCKS>, F::SHARED_BYTES}};
}

static const Length lengths[] = {
    make_length<16, 2, 1, 16, 24>(3.8), make_length<32, 1, 1, 10, 14>(3.1), make_length<32, 2, 2, 3, 7>(4.0),
    make_length<16, 16, 1, 2, 3>(4.2), make_length<32, 8, 1, 1, 2>(6.7),
};

static int points_of(const Length &length) { return length.radix * length.radix * length.outer; }

static lw_stack_shape shape_of(const Length &length, int64_t own_taps, int span, bool is_fused)
{
    const int64_t n_taps = own_taps + (is_fused ? span : 0);
    lw_stack_shape shape = {};
    const int threads = length.radix * length.outer;
    shape.segment = points_of(length);
    shape.radix = length.radix;
    shape.outer = length.outer;
    shape.is_fused = is_fused;
    shape.n_taps = static_cast<int>(lw_min64(n_taps, INT32_MAX));
    shape.discard = static_cast<int>(lw_min64(lw_round_up(n_taps - 1, threads), shape.segment));
    shape.hop = shape.segment - shape.discard;
    shape.tile = 2 * shape.hop;
    shape.span = span;
    shape.walk = 16;
    shape.abreast = 48;
    return shape;
}

static const Length &length_for(const lw_stack_shape &shape)
{
    int i = 0;
    while (points_of(lengths[i]) != shape.segment)
        i++;
    return lengths[i];
}

static int64_t shared_of(const Length &length, const lw_stack_shape &shape)
{
    return shape.is_fused ? length.kernels.shared_bytes : length.teams * stack_team_bytes(shape, length.kernels.shared_bytes);
}

/* Return the most samples between two delays of a filter. */
static int64_t span_of(const lw_shifts &stacks)
{
    int64_t span = 0;
    for (int64_t f = 0; f < stacks.n; f++) {
        int64_t least = INT32_MAX, most = INT32_MIN;
        for (int64_t i = f * stacks.n_inputs; i < (f + 1) * stacks.n_inputs; i++) {
            if (lw_shifts_weight(&stacks, 0, i) == 0)
                continue;
            least = lw_min64(least, stacks.delays[i]);
            most = lw_max64(most, stacks.delays[i]);
        }
        span = lw_max64(span, most - least);
    }
    return span;
}

/* Picoseconds of a product of two bins; the way back of a sum beside one whose outputs are added. */
static constexpr double PRODUCT = 0.29, BACK = 0.8;

double lw_stack_seconds(const struct lw_stack_shape *shape, int64_t n_inputs)
{
    const double back = length_for(*shape).picoseconds;
    const double point = shape->is_fused ? PRODUCT + BACK * back / static_cast<double>(n_inputs) : back;
    return point * 1e-12 * shape->segment / shape->tile;
}

int lw_stack_choose(const struct lw_op_spec *spec, int shared_bytes, struct lw_stack_shape *out, struct lw_error *err)
{
    const int64_t span = span_of(*spec->ols.stacks);
    double cheapest = DBL_MAX;
    int64_t fewest = INT64_MAX;
    for (int i = 0; i < 2 * int(sizeof lengths / sizeof *lengths); i++) {
        const Length &length = lengths[i / 2];
        const lw_stack_shape shape = shape_of(length, spec->ols.n_taps, static_cast<int>(lw_min64(span, 1 << 28)), i % 2);
        if ((shape.is_fused && spec->ols.normalize != LW_NORMALIZE_NONE) ||
            (spec->ols.segment > 0 && spec->ols.segment != shape.segment) || shape.hop <= 0)
            continue;
        fewest = shape.is_fused ? fewest : lw_min64(fewest, shared_of(length, shape));
        const int64_t n = spec->n_outputs > 0 ? spec->n_outputs : INT64_MAX / 2;
        const double outputs = static_cast<double>(lw_divide_up(n, shape.tile)) * shape.tile;
        const double cost = lw_stack_seconds(&shape, spec->ols.stacks->n_inputs) * outputs;
        if (shared_of(length, shape) > shared_bytes || cost >= cheapest)
            continue;
        cheapest = cost;
        *out = shape;
    }
    if (cheapest < DBL_MAX)
        return LW_OK;
    if (fewest < INT64_MAX)
        return lw_fail(err, LW_ECONFIG, "--engine cuda stacks channels whose delays differ by less than %lld samples: choose "
                       "--engine cpu", (long long)((shared_bytes - fewest) / int64_t(sizeof(float)) + span + 1));
    return lw_fail(err, LW_ECONFIG, "--engine cuda stacks filters of at most %d taps in segments of 512 to %d points: choose "
                   "--engine cpu, or another --segment", points_of(lengths[4]) / 2, points_of(lengths[4]));
}

/* ---- filters -------------------------------------------------------------------------------------------------------- */

static constexpr int block_threads = 256;

int64_t lw_stack_powers_bytes(const struct lw_stack_shape *shape)
{
    return powers_of(shape->radix, shape->outer) * int64_t(sizeof(float2));
}

cudaError_t lw_stack_prepare(const struct lw_stack_shape *shape, const struct lw_stack_bank *bank, cudaStream_t stream)
{
    fill_powers(static_cast<float2 *>(bank->powers), shape->radix, shape->outer, stream);
    return cudaGetLastError();
}

/* Return the sum over the block's threads, in a fixed order, or their largest number. shared: [block_threads] doubles */
template <bool IS_SUM> __device__ static double over_block(double x, double *shared)
{
    const int t = threadIdx.x;
    __syncthreads();
    shared[t] = x;
    for (int n = block_threads / 2; n > 0; n /= 2) {
        __syncthreads();
        if (t < n)
            shared[t] = IS_SUM ? shared[t] + shared[t + n] : fmax(shared[t], shared[t + n]);
    }
    __syncthreads();
    return shared[0];
}

/* One block normalizes a row: three passes take off the mean, so that what rounding leaves of it is taken off, too. */
static __global__ void __launch_bounds__(block_threads)
    normalize_taps(double2 *values, int64_t row, int n_taps, lw_normalize normalize, float *taps)
{
    __shared__ double shared[block_threads];
    double2 *const h = values + blockIdx.x * row;
    const int t = threadIdx.x;
    double level = n_taps > 0 ? h[0].x : 0;     /* equal taps give exactly 0 */
    __syncthreads();
    for (int pass = 0; pass < 3 && normalize == LW_NORMALIZE_DEMEANED; pass++) {
        double sum = 0;
        for (int m = t; m < n_taps; m += block_threads)
            sum += h[m].x -= level;
        level = over_block<true>(sum, shared) / n_taps;
    }
    double largest = 0, energy = 0;
    for (int m = t; m < n_taps; m += block_threads)
        largest = fmax(largest, fabs(h[m].x));
    largest = over_block<false>(largest, shared);
    for (int m = t; m < n_taps && largest > 0; m += block_threads)
        energy += h[m].x / largest * (h[m].x / largest);
    energy = over_block<true>(energy, shared);
    for (int m = t; m < n_taps; m += block_threads) {
        h[m].x = largest > 0 ? h[m].x / largest / sqrt(energy) : 0;
        taps[blockIdx.x * int64_t(n_taps) + m] = static_cast<float>(h[m].x);
    }
}

cudaError_t lw_stack_change(const struct lw_stack_shape *shape, const struct lw_stack_bank *bank, void *values, int64_t first,
                            int n, cudaStream_t stream)
{
    if (bank->normalize != LW_NORMALIZE_NONE)
        normalize_taps<<<static_cast<unsigned>(n), block_threads, 0, stream>>>(
            static_cast<double2 *>(values), shape->segment, static_cast<int>(bank->n_taps), bank->normalize,
            bank->taps + first * bank->n_taps);
    return cudaGetLastError();
}

/* One block puts row `first` + blockIdx.x of taps into the bank, or channel blockIdx.y of it. Thread t's value m is bin
 * outer (t mod radix) + t / radix + T m, and values m and m + 1 of a thread are adjacent (gpu/device/fft.cuh). */
static __global__ void __launch_bounds__(block_threads)
    put_bins(const double2 *bins, lw_stack_shape shape, lw_stack_bank bank, int64_t first)
{
    __shared__ double shared[block_threads];
    const int threads = shape.radix * shape.outer, n_points = shape.segment;
    const int64_t row = (first + blockIdx.x) * gridDim.y + blockIdx.y;
    double largest = 0, weight = 1;
    int64_t delay = 0;
    if (shape.is_fused) {
        const lw_stack_term term = bank.terms[row];
        weight = term.weight;
        delay = weight == 0 ? 0 : bank.ranges[row / bank.n_inputs].most - term.delay;
    }
    for (int i = threadIdx.x; i < n_points; i += block_threads) {
        const int m = i / (2 * threads) * 2 + i % 2, t = i / 2 % threads;
        const int64_t k = shape.outer * (t % shape.radix) + t / shape.radix + threads * m;
        const double2 bin = product(bins[blockIdx.x * int64_t(n_points) + k], exact_root<double2>(k * delay, n_points));
        static_cast<float2 *>(bank.spectra)[row * n_points + i] = {float(bin.x * weight / n_points),
                                                                   float(bin.y * weight / n_points)};
        largest = fmax(largest, bin.x * bin.x + bin.y * bin.y);
    }
    largest = over_block<false>(largest, shared);
    if (threadIdx.x == 0)
        bank.peaks[row] = static_cast<float>(sqrt(largest));
}

cudaError_t lw_stack_put(const struct lw_stack_shape *shape, const struct lw_stack_bank *bank, const void *bins, int64_t first,
                         int n, cudaStream_t stream)
{
    const int copies = shape->is_fused && !bank->own_taps ? bank->n_inputs : 1;
    float2 *const spectra = static_cast<float2 *>(bank->spectra) + first * copies * shape->segment;
    if (!bins)
        return cudaMemsetAsync(spectra, 0, size_t(n) * size_t(copies) * size_t(shape->segment) * sizeof(float2), stream);
    const dim3 grid(static_cast<unsigned>(n), static_cast<unsigned>(copies));
    put_bins<<<grid, block_threads, 0, stream>>>(static_cast<const double2 *>(bins), *shape, *bank, first);
    return cudaGetLastError();
}

/* ---- windows -------------------------------------------------------------------------------------------------------- */

static constexpr int median_of = 65;        /* windows that a tile's median is taken of, at even distances */

/* Return the energy of n samples, less their mean if `demeaned`, in two passes that subtract nothing from sums. */
__device__ static double energy_of(const double *x, int n, bool demeaned)
{
    double level = 0, squares = 0;
    if (demeaned) {
        double sum = 0;
        for (int m = 0; m < n; m++)
            sum += x[m] - x[0];         /* equal samples give exactly 0 */
        level = x[0] + sum / n;
    }
    for (int m = 0; m < n; m++) {
        const double d = x[m] - level;
        squares = fma(d, d, squares);
    }
    return squares;
}

/* Return the median of windows at even distances among the first n energies. Each of the first threads ranks one of them. */
__device__ static double median_energy(const double *energies, int n, double *median)
{
    const int t = threadIdx.x, count = min(n, median_of);
    __syncthreads();
    if (t < count) {
        const double own = energies[int64_t(t) * n / count];
        int rank = 0;
        for (int i = 0; i < count; i++) {
            const double other = energies[int64_t(i) * n / count];
            rank += other < own || (other == own && i < t);
        }
        if (rank == count / 2)
            *median = own;
    }
    __syncthreads();
    return *median;
}

static constexpr int chunk_windows = 4 * block_threads;     /* windows whose samples are in shared memory together */

static int64_t gains_bytes(const lw_stack_shape &shape, const lw_stack_bank &bank)
{
    return (block_threads + int64_t(shape.tile) + chunk_windows + bank.n_taps) * int64_t(sizeof(double));
}

/* One block finds the gains of a tile. */
template <class Stored> static __global__ void __launch_bounds__(block_threads) find_gains(const StackArgs a)
{
    extern __shared__ __align__(128) unsigned char memory[];
    double *const scratch = reinterpret_cast<double *>(memory), *const energies = scratch + block_threads;
    double *const samples = energies + a.shape.tile;
    const StackInput in = input_of(a);
    const int tile = blockIdx.x, channel = blockIdx.y, t = threadIdx.x;
    const int64_t number = int64_t(channel) * a.block.n_tiles + tile, first = int64_t(tile) * a.shape.tile;
    float *const gains = a.block.gains + number * a.shape.tile;
    const bool is_plain = a.bank.normalize == LW_NORMALIZE_NONE && a.block.report->flag == 0;
    double most = 0, n_quiet = 0;
    for (int begin = 0; begin < a.shape.tile; begin += chunk_windows) {
        const int n = min(chunk_windows, a.shape.tile - begin);
        __syncthreads();
        for (int i = t; i < n + in.n_taps - 1 && !is_plain; i += block_threads) {
            bool is_spoilt = false;
            const double x = sample_of<Stored>(in, channel, first + begin + i, is_spoilt);
            samples[i] = in.propagates && is_spoilt ? CUDART_NAN : x;
        }
        __syncthreads();
        for (int i = t; i < n; i += block_threads) {
            const double energy = is_plain ? 1 : energy_of(samples + i, in.n_taps, is_demeaned(a));
            energies[begin + i] = isnan(energy) ? -1 : energy;
        }
    }
    __syncthreads();
    const int64_t whole = in.n_samples - in.n_taps + 1 - first;
    const int n_whole = static_cast<int>(whole < 1 ? 1 : whole < a.shape.tile ? whole : a.shape.tile);
    const double least = a.bank.normalize == LW_NORMALIZE_NONE ? 0 : LW_NORMALIZE_LEAST * median_energy(energies, n_whole, scratch);
    for (int i = t; i < a.shape.tile; i += block_threads) {
        const double energy = energies[i];
        const double gain = i >= whole ? 0 : a.bank.normalize == LW_NORMALIZE_NONE ? 1 : energy > least ? 1 / sqrt(energy) : 0;
        gains[i] = energy == -1 ? CUDART_NAN_F : static_cast<float>(gain);
        most = fmax(most, energy == -1 ? 0 : gain);
        const int64_t own = first + i - a.block.own_first;
        n_quiet += energy != -1 && !(energy > least) && own >= 0 && own < a.block.own_count;
    }
    n_quiet = over_block<true>(n_quiet, scratch);
    most = over_block<false>(most, scratch);
    if (t == 0) {
        a.block.most[number] = static_cast<float>(most);
        atomicAdd(&a.block.report->n_quiet, static_cast<unsigned long long>(a.bank.normalize == LW_NORMALIZE_NONE ? 0 : n_quiet));
        if (a.bank.normalize == LW_NORMALIZE_NONE)
            a.block.rms[number] = 0;
    }
}

int64_t lw_stack_tiles(const struct lw_stack_shape *shape, int64_t n_positions) { return lw_divide_up(n_positions, shape->tile); }

cudaError_t lw_stack_load(const struct lw_stack_shape *shape, const struct lw_stack_bank *bank, const struct lw_stack_block *block,
                          cudaStream_t stream)
{
    const Length &length = length_for(*shape);
    const dim3 grid(static_cast<unsigned>(block->n_tiles), static_cast<unsigned>(bank->n_inputs));
    const StackArgs a = {*shape, *bank, *block, {}};
    const Launch transform = {grid, shape->radix * shape->outer, length.kernels.shared_bytes, stream};
    const Launch windows = {grid, block_threads, gains_bytes(*shape, *bank), stream};
    cudaError_t status = allow_and_launch(transform, length.kernels.segments, a);
    if (status == cudaSuccess)
        with_stored(block->type.scalar, [&](auto stored) { status = allow_and_launch(windows, find_gains<decltype(stored)>, a); });
    return status;
}

/* ---- sums in double ------------------------------------------------------------------------------------------------- */

/* Return whether transforms are not exact enough for some window in the tiles of positions first .. last of a channel. */
__device__ static bool needs_exact(const StackArgs &a, int64_t row, int channel, int64_t first, int64_t last)
{
    const int64_t tiles = int64_t(channel) * a.block.n_tiles;
    bool needs = false;
    for (int64_t j = first / a.shape.tile; j <= last / a.shape.tile; j++)
        needs = needs || a.block.most[tiles + j] * a.block.rms[tiles + j] >= limit_of(a.bank.peaks[row]);
    return needs;
}

/* Return what the sums have left out of a position of a channel: a sum in double. */
template <class Stored>
__device__ static double left_out(const StackArgs &a, const StackInput &in, int64_t row, lw_stack_term term, int64_t position)
{
    const int64_t tiles = int64_t(term.channel) * a.block.n_tiles;
    const float gain = a.block.gains[tiles * a.shape.tile + position];
    if (!(gain * a.block.rms[tiles + position / a.shape.tile] >= limit_of(a.bank.peaks[row])))
        return 0;
    const float *const taps = a.bank.taps + row * in.n_taps + in.n_taps - 1;
    bool met = false;
    const double level = is_demeaned(a) ? sample_of<Stored>(in, term.channel, position, met) : 0;
    double y = 0;
    for (int m = 0; m < in.n_taps; m++)
        y = fma(double(taps[-m]), sample_of<Stored>(in, term.channel, position + m, met) - level, y);
    return y * double(gain) * double(term.weight);
}

/* Add this to the outputs of filter blockIdx.x. For each run of outputs, the block's threads first look which channels need it. */
template <class Stored> static __global__ void __launch_bounds__(block_threads) add_left_out(const StackArgs a)
{
    __shared__ bool needs[block_threads];
    const StackInput in = input_of(a);
    const int filter = a.piece.filter + int(blockIdx.x), t = threadIdx.x;
    const lw_stack_term *const terms = a.bank.terms + int64_t(filter) * a.bank.n_inputs;
    if (!a.piece.touched[blockIdx.x])
        return;
    for (int64_t begin = int64_t(blockIdx.y) * block_threads; begin < a.piece.count; begin += int64_t(gridDim.y) * block_threads) {
        const int64_t last = begin + block_threads < a.piece.count ? begin + block_threads - 1 : a.piece.count - 1;
        double sum = 0;
        for (int done = 0; done < a.bank.n_inputs; done += block_threads) {
            const int n = min(block_threads, a.bank.n_inputs - done);
            const lw_stack_term own = terms[done + min(t, n - 1)];
            const int64_t at = a.piece.first + own.delay, row = row_of(a, filter, own.channel);
            needs[t] = t < n && own.weight != 0 && needs_exact(a, row, own.channel, at + begin, at + last);
            if (!__syncthreads_or(needs[t]))
                continue;
            for (int k = 0; k < n; k++)
                if (needs[k] && begin + t <= last)
                    sum += left_out<Stored>(a, in, row_of(a, filter, done + k), terms[done + k],
                                            a.piece.first + begin + t + terms[done + k].delay);
            __syncthreads();
        }
        if (sum != 0)
            a.piece.series[blockIdx.x * a.piece.count + begin + t] += float(sum);
    }
}

/* Overwrite the spoilt outputs of filter blockIdx.x with NaN, if the block has a sample that is not finite. */
static __global__ void __launch_bounds__(block_threads) spoil_outputs(const StackArgs a)
{
    const int64_t stride = int64_t(gridDim.y) * block_threads;
    if (a.block.report->flag == 0)
        return;
    for (int64_t o = int64_t(blockIdx.y) * block_threads + threadIdx.x; o < a.piece.count; o += stride)
        for (int k = 0; k < a.bank.n_inputs; k++) {
            const lw_stack_term term = a.bank.terms[int64_t(a.piece.filter + int(blockIdx.x)) * a.bank.n_inputs + k];
            const float *const gains = a.block.gains + int64_t(term.channel) * a.block.n_tiles * a.shape.tile;
            if (term.weight != 0 && isnan(gains[a.piece.first + o + term.delay]))
                a.piece.series[blockIdx.x * a.piece.count + o] = CUDART_NAN_F;
        }
}

/* Enqueue the sums of a piece by products of spectra, as many filters at a time as the scratch memory has room for. */
static cudaError_t sum_spectra(const lw_stack_shape &shape, const lw_stack_bank &bank, const lw_stack_block &block,
                               const lw_stack_piece &piece, cudaStream_t stream)
{
    const Length &length = length_for(shape);
    const int64_t first = (piece.first + bank.most.least) / shape.tile;
    const int64_t end = (piece.first + piece.count - 1 + bank.most.most) / shape.tile;
    int device, multiprocessors = 1;
    cudaError_t status = cudaGetDevice(&device);
    if (status == cudaSuccess)
        status = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    for (int done = 0; done < piece.n_filters && status == cudaSuccess; done += block.n_products) {
        StackProducts a = {{shape, bank, block, piece}, static_cast<int>(first), static_cast<int>(end - first + 1), 0};
        a.piece.filter += done;
        a.piece.n_filters = static_cast<int>(lw_min64(block.n_products, piece.n_filters - done));
        a.piece.series += done * piece.count;
        const int wide = a.n_tiles > PRODUCT_SIDE ? 4 : 8, tiles = PRODUCT_SIDE * PRODUCT_THREADS / PRODUCT_BINS / wide;
        const int64_t groups = lw_divide_up(a.piece.n_filters, PRODUCT_SIDE * wide) * lw_divide_up(a.n_tiles, tiles);
        const int64_t stage = int64_t(PRODUCT_CHANNELS) * (PRODUCT_SIDE * wide + tiles) * PRODUCT_BINS * int64_t(sizeof(float2));
        a.n_pieces = static_cast<int>(shape.segment / PRODUCT_BINS * groups);
        const Launch products = {dim3(static_cast<unsigned>(lw_min64(a.n_pieces, 2 * multiprocessors))), PRODUCT_THREADS,
                                 PRODUCT_STAGES * stage, stream};
        const Launch back = {dim3(static_cast<unsigned>(a.n_tiles), static_cast<unsigned>(a.piece.n_filters)),
                             shape.radix * shape.outer, length.kernels.shared_bytes, stream};
        status = allow_and_launch(products, wide == 4 ? stack_products<4> : stack_products<8>, a);
        if (status == cudaSuccess)
            status = allow_and_launch(back, length.kernels.back, a);
    }
    return status;
}

cudaError_t lw_stack_sum(const struct lw_stack_shape *shape, const struct lw_stack_bank *bank, const struct lw_stack_block *block,
                         const struct lw_stack_piece *piece, cudaStream_t stream)
{
    const Length &length = length_for(*shape);
    const StackSums a = stack_sums_of(*shape, *bank, *block, *piece, length.teams, length.kernels.shared_bytes);
    /* Blocks that look for spoilt or quiet windows mostly find none: few are launched. */
    const int64_t parts = lw_min64(lw_divide_up(piece->count, block_threads), lw_max64(8, 8192 / piece->n_filters));
    const dim3 grid(static_cast<unsigned>(piece->n_filters), static_cast<unsigned>(parts));
    if (shape->is_fused) {
        const cudaError_t status = sum_spectra(*shape, *bank, *block, *piece, stream);
        if (status == cudaSuccess && block->propagates)
            spoil_outputs<<<grid, block_threads, 0, stream>>>(a);
        return status != cudaSuccess ? status : cudaGetLastError();
    }
    const Launch launch = {dim3(a.n_blocks), length.teams * shape->radix * shape->outer, shared_of(length, *shape), stream};
    cudaError_t status = cudaMemsetAsync(piece->touched, 0, size_t(piece->n_filters) * sizeof *piece->touched, stream);
    if (status == cudaSuccess)
        status = allow_and_launch(launch, length.kernels.sums, a);
    if (status != cudaSuccess || bank->normalize == LW_NORMALIZE_NONE)
        return status;
    with_stored(block->type.scalar, [&](auto stored) {
        add_left_out<decltype(stored)><<<grid, block_threads, 0, stream>>>(a);
    });
    return cudaGetLastError();
}
