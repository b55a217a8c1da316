/* beam.cu - the kernels of beam.h.
 *
 *   load_channels   a block turns a tile of samples and channels
 *   sum_subbands    a block takes a tile of the axis and a sub-band; a thread makes four numbers of each sum, whose terms come
 *                   through the L1 cache
 *   sum_beams       a block takes a tile of a group of beams, a warp four of them, which stay in registers. Sums of as many
 *                   sub-bands as there is room for lie in shared memory, each once for all beams of the group that need it */
#include "gpu/array/beam.h"

#include "gpu/device/launch.cuh"
#include "gpu/device/stored.cuh"

/* ---- kinds of numbers ------------------------------------------------------------------------------------------------ */

template <class ChannelNumber, class SumNumber, class WordNumber, int NUMBERS> struct Kind {
    using Channel = ChannelNumber;
    using Sum = SumNumber;
    using Word = WordNumber;
    static constexpr int PER_WORD = NUMBERS, TILE = NUMBERS * LW_BEAM_WORDS;
};

using Bytes = Kind<uint8_t, uint16_t, uint32_t, 2>;
using Integers = Kind<int32_t, int32_t, int32_t, 1>;
using Floats = Kind<float, float, float, 1>;
using Doubles = Kind<double, double, double, 1>;

/* Return with(K{}), where K is the kind. */
template <class With> static auto with_kind(enum lw_beam_kind kind, With with)
{
    switch (kind) {
    case LW_BEAM_BYTES_KIND: return with(Bytes{});
    case LW_BEAM_INTEGERS: return with(Integers{});
    case LW_BEAM_FLOATS: return with(Floats{});
    default: return with(Doubles{});
    }
}

struct lw_beam_sizes lw_beam_sizes_of(enum lw_beam_kind kind)
{
    return with_kind(kind, [](auto k) {
        using K = decltype(k);
        return lw_beam_sizes{sizeof(typename K::Channel), sizeof(typename K::Sum), sizeof(typename K::Word), K::TILE};
    });
}

/* Four numbers, which are loaded and stored together. */
template <class Number> struct alignas(4 * sizeof(Number) < 16 ? 4 * sizeof(Number) : 16) Four {
    Number v[4];
};

static constexpr int block_threads = 256, n_warps = block_threads / 32;

/* ---- channels -------------------------------------------------------------------------------------------------------- */

template <class Channel, int PARTS> struct Sample {
    Channel part[PARTS];
};

/* Return a sample of a channel; report it if it is the block's own and not finite. */
template <class Channel, class Stored, int PARTS>
LW_DEVICE Sample<Channel, PARTS> sample_of(const lw_beam_input &in, const lw_beam_array &a, int channel, int64_t i)
{
    const int64_t at = in.is_slow ? i * a.n_inputs + channel : channel * in.n_samples + i;
    const Stored *const stored = static_cast<const Stored *>(in.samples) + at * PARTS;
    Sample<Channel, PARTS> sample;
    bool is_lost = false;
    for (int p = 0; p < PARTS; p++) {
        const Stored x = stored[p];
        if constexpr (sizeof(Channel) == 1)
            sample.part[p] = static_cast<Channel>(std::is_signed<Stored>::value ? x ^ 0x80 : x);
        else
            sample.part[p] = static_cast<Channel>(x);
        if constexpr (!std::is_integral<Stored>::value)
            is_lost |= !isfinite(sample.part[p]);
    }
    if (!is_lost)
        return sample;
    if (i >= in.own && i - in.own < in.n_own && a.tables.used[channel]) {
        atomicAdd(&in.report->n_own, 1ull);
        atomicMax(&in.report->lowest_complement, ~static_cast<unsigned long long>((i - in.own) * a.n_inputs + channel));
    }
    for (int p = 0; p < PARTS && in.zeroes; p++)
        sample.part[p] = 0;
    return sample;
}

template <class Channel, class Stored, int PARTS>
__global__ void __launch_bounds__(block_threads) load_channels(const lw_beam_input in, const lw_beam_array a)
{
    constexpr int SIDE = sizeof(Channel) == 1 ? 64 : 32, STEP = block_threads / SIDE;
    __shared__ Sample<Channel, PARTS> tile[SIDE][SIDE + 1];
    const int across = threadIdx.x % SIDE, down = threadIdx.x / SIDE, channel = blockIdx.y * SIDE;
    const int64_t first = static_cast<int64_t>(blockIdx.x) * SIDE;
    for (int r = down; r < SIDE && in.is_slow; r += STEP)
        if (first + r < in.n_samples && channel + across < a.n_inputs)
            tile[r][across] = sample_of<Channel, Stored, PARTS>(in, a, channel + across, first + r);
    __syncthreads();
    for (int r = down; r < SIDE; r += STEP)
        if (first + across < in.n_samples && channel + r < a.n_inputs) {
            const auto sample =
                in.is_slow ? tile[across][r] : sample_of<Channel, Stored, PARTS>(in, a, channel + r, first + across);
            const int64_t to = (channel + r) * a.channel_pitch + LW_BEAM_ALIGNED + (first + across) * PARTS;
            for (int p = 0; p < PARTS; p++)
                static_cast<Channel *>(a.channels)[to + p] = sample.part[p];
        }
}

cudaError_t lw_beam_load_channels(const struct lw_beam_array *array, const struct lw_beam_input *input, cudaStream_t stream)
{
    return with_sample(input->type.scalar, input->type.is_complex, [=](auto stored, auto is_complex) {
        using Stored = decltype(stored);
        return with_kind(array->kind, [=](auto k) {
            using Channel = typename decltype(k)::Channel;
            constexpr int PARTS = decltype(is_complex)::value ? 2 : 1;
            constexpr bool EXISTS = sizeof(Channel) == 1 ? sizeof(Stored) == 1
                                    : std::is_integral<Channel>::value ? std::is_integral<Stored>::value && sizeof(Stored) == 2
                                                                       : true;
            if constexpr (EXISTS) {
                const unsigned side = sizeof(Channel) == 1 ? 64 : 32;
                const dim3 grid(static_cast<unsigned>((input->n_samples + side - 1) / side), (array->n_inputs + side - 1) / side);
                load_channels<Channel, Stored, PARTS><<<grid, block_threads, 0, stream>>>(*input, *array);
            }
            return cudaGetLastError();
        });
    });
}

/* ---- sums ------------------------------------------------------------------------------------------------------------ */

/* Numbers begin .. begin + count - 1 of beams beam .. end - 1, which have `length` numbers. */
struct Chunk {
    int64_t begin, length;
    int count, beam, end;
};

/* Return the least number at which a sum may begin. */
__host__ LW_DEVICE int least_of(const lw_beam_array &a) { return -a.before & ~(LW_BEAM_ALIGNED - 1); }

template <class K> __global__ void __launch_bounds__(block_threads) sum_subbands(const lw_beam_array a, const Chunk chunk)
{
    using Channel = typename K::Channel;
    using Sum = typename K::Sum;
    using Total = std::conditional_t<std::is_integral<Sum>::value, int32_t, Sum>;
    const int subband = blockIdx.x % a.n_subbands;
    const int at = least_of(a) + (blockIdx.x / a.n_subbands * block_threads + threadIdx.x) * 4;
    const Channel *const first = static_cast<const Channel *>(a.channels) + LW_BEAM_ALIGNED + chunk.begin + a.before + at;
    for (int i = a.tables.begin[subband]; i < a.tables.begin[subband + 1]; i++) {
        const lw_beam_sum sum = a.tables.sums[i];
        if (sum.last < chunk.beam || sum.first >= chunk.end || at < sum.least || at >= sum.most + chunk.count)
            continue;
        const int64_t row = static_cast<int64_t>(sum.first) * a.n_inputs;
        Total total[4] = {};
        for (int c = subband * a.width; c < min((subband + 1) * a.width, a.n_inputs); c++) {
            const float weight = a.tables.weights ? a.tables.weights[row + c] : 1;
            if (weight == 0)
                continue;
            const Channel *const from = first + c * a.channel_pitch + (a.tables.delays[row + c] * a.parts - sum.offset);
            for (int j = 0; j < 4; j++)
                if constexpr (std::is_integral<Sum>::value)
                    total[j] += __ldg(from + j);
                else
                    total[j] += static_cast<Sum>(weight) * __ldg(from + j);
        }
        Four<Sum> stored;
        for (int j = 0; j < 4; j++)
            stored.v[j] = static_cast<Sum>(total[j]);
        *reinterpret_cast<Four<Sum> *>(static_cast<Sum *>(a.sums) + i * a.sum_pitch + (at - sum.least)) = stored;
    }
}

/* Load words of a sum to shared memory, by a warp. row: the sum's numbers from the tile's first on */
template <class K> LW_DEVICE void load_words(const typename K::Sum *row, int count, typename K::Word *words, int lane)
{
    using From = Four<typename K::Sum>;
    using To = Four<typename K::Word>;
#pragma unroll 4
    for (int i = 4 * lane; i < count; i += 128) {
        const From low = *reinterpret_cast<const From *>(row + i);
        To to;
        if constexpr (K::PER_WORD == 2) {
            const From high = *reinterpret_cast<const From *>(row + i + LW_BEAM_WORDS);
            for (int j = 0; j < 4; j++)
                to.v[j] = low.v[j] | static_cast<uint32_t>(high.v[j]) << 16;
        } else
            for (int j = 0; j < 4; j++)
                to.v[j] = low.v[j];
        *reinterpret_cast<To *>(words + i) = to;
    }
}

/* Load the words of loads begin .. end - 1, one by a warp at a time. A lane fetches what describes one of 32 loads of its warp.
 * first: number of the chunk at which the tile begins */
template <class K> LW_DEVICE void load_batch(const lw_beam_array &a, int begin, int end, int first, typename K::Word *words)
{
    using Sum = typename K::Sum;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int all = begin + warp; all < end; all += 32 * n_warps) {
        const int own = all + lane * n_warps;
        const int4 mine = own < end ? __ldg(reinterpret_cast<const int4 *>(a.tables.loads) + own) : int4{};
        for (int i = 0; i < 32 && all + i * n_warps < end; i++) {
            const int sum = __shfl_sync(~0u, mine.x, i), from = __shfl_sync(~0u, mine.y, i);
            const int count = __shfl_sync(~0u, mine.z, i), at = __shfl_sync(~0u, mine.w, i);
            load_words<K>(static_cast<const Sum *>(a.sums) + sum * a.sum_pitch + first + from, count, words + at, lane);
        }
    }
}

constexpr int BEAMS = LW_BEAM_GROUP / n_warps, ROWS = LW_BEAM_WORDS / 32;     /* beams of a warp; words of a beam in a thread */

/* The numbers of a thread: number i of a beam is in row i / 32. */
template <class K> struct Totals {
    using Word = typename K::Word;
    Word words[BEAMS][ROWS];
    int32_t wide[K::PER_WORD == 2 ? BEAMS : 1][2 * ROWS];

    /* Add the words to the wide integers, if there are any. */
    LW_DEVICE void widen()
    {
        if constexpr (K::PER_WORD == 2)
#pragma unroll
            for (int b = 0; b < BEAMS; b++)
#pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    wide[b][r] += words[b][r] & 0xffff;
                    wide[b][r + ROWS] += words[b][r] >> 16;
                    words[b][r] = 0;
                }
    }

    template <class Real> LW_DEVICE Real number(int b, int r, double scale, int32_t more) const
    {
        if constexpr (K::PER_WORD == 2)
            return static_cast<Real>(scale * (wide[b][r] - more));
        else if constexpr (std::is_integral<Word>::value)
            return static_cast<Real>(scale * words[b][r]);
        else
            return words[b][r];
    }
};

template <class K, class Real>
__global__ void __launch_bounds__(block_threads, 2) sum_beams(const lw_beam_array a, const Chunk chunk, int n_groups)
{
    using Word = typename K::Word;
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ __align__(16) uint16_t places[LW_BEAM_SUBBANDS * LW_BEAM_GROUP];
    Word *const words = reinterpret_cast<Word *>(memory);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = blockIdx.x / n_groups * K::TILE;
    const int group = chunk.beam / LW_BEAM_GROUP + blockIdx.x % n_groups;
    const int row = group * a.n_subbands;               /* row of tables by group and sub-band */
    const int32_t *const loads = a.tables.first_load + group;
    const uint32_t *const all_places = reinterpret_cast<const uint32_t *>(a.tables.places);
    Totals<K> totals = {};
    for (int i = threadIdx.x; i < LW_BEAM_WORDS; i += block_threads)
        words[i] = 0;
    for (int begin = row, end, left = a.narrow; begin < row + a.n_subbands; begin = end) {
        end = row + a.tables.ends[begin];
        __syncthreads();
        for (int i = threadIdx.x; i < (end - begin) * LW_BEAM_GROUP / 2; i += block_threads)
            reinterpret_cast<uint32_t *>(places)[i] = all_places[static_cast<int64_t>(begin) * LW_BEAM_GROUP / 2 + i];
        load_batch<K>(a, loads[begin], loads[end], first, words);
        __syncthreads();
        for (int s = 0; s < end - begin; s++) {
            const Four<uint16_t> place = *reinterpret_cast<const Four<uint16_t> *>(places + s * LW_BEAM_GROUP + warp * BEAMS);
#pragma unroll
            for (int b = 0; b < BEAMS; b++) {
                const Word *const from = words + place.v[b] + lane;
#pragma unroll
                for (int r = 0; r < ROWS; r++)
                    totals.words[b][r] += from[32 * r];
            }
            if (K::PER_WORD == 2 && --left == 0) {
                totals.widen();
                left = a.narrow;
            }
        }
    }
    totals.widen();
#pragma unroll
    for (int b = 0; b < BEAMS; b++) {
        const int beam = group * LW_BEAM_GROUP + warp * BEAMS + b;
        if (beam < chunk.beam || beam >= chunk.end)
            continue;
        const double scale = a.tables.scales[beam];
        const int32_t more = a.more * a.tables.counts[beam];
        Real *const to = static_cast<Real *>(a.beams) + (beam - chunk.beam) * chunk.length + chunk.begin + first;
#pragma unroll
        for (int r = 0; r < K::PER_WORD * ROWS; r++)
            if (first + 32 * r + lane < chunk.count)
                to[32 * r + lane] = totals.template number<Real>(b, r, scale, more);
    }
}

/* Enqueue the sums of sub-bands of a chunk, then the beams. */
template <class K, class Real> static cudaError_t make_chunk(const lw_beam_array &a, const Chunk &chunk, cudaStream_t stream)
{
    const int64_t span = static_cast<int64_t>(a.after) - least_of(a) + chunk.count;
    const int64_t pieces = (span + 4 * block_threads - 1) / (4 * block_threads);
    sum_subbands<K><<<static_cast<unsigned>(pieces * a.n_subbands), block_threads, 0, stream>>>(a, chunk);
    const int n_groups = (chunk.end - 1) / LW_BEAM_GROUP - chunk.beam / LW_BEAM_GROUP + 1;
    const unsigned blocks = static_cast<unsigned>((chunk.count + K::TILE - 1) / K::TILE) * n_groups;
    const Launch launch = {dim3(blocks), block_threads, LW_BEAM_BYTES, stream};
    const cudaError_t status = cudaGetLastError();
    return status != cudaSuccess ? status : allow_and_launch(launch, sum_beams<K, Real>, a, chunk, n_groups);
}

cudaError_t lw_beam_make(const struct lw_beam_array *array, int beam, int n, int64_t length, cudaStream_t stream)
{
    cudaError_t status = cudaSuccess;
    for (int64_t begin = 0; begin < length && status == cudaSuccess; begin += array->chunk) {
        const int64_t count = array->chunk < length - begin ? array->chunk : length - begin;
        const Chunk chunk = {begin, length, static_cast<int>(count), beam, beam + n};
        status = with_kind(array->kind, [&](auto k) {
            using K = decltype(k);
            if constexpr (!std::is_integral<typename K::Word>::value)
                return make_chunk<K, typename K::Word>(*array, chunk, stream);
            else
                return array->precision == LW_SINGLE ? make_chunk<K, float>(*array, chunk, stream)
                                                     : make_chunk<K, double>(*array, chunk, stream);
        });
    }
    return status;
}
