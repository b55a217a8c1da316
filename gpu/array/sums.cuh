/* sums.cuh - kernels of stacks: the spectra of tiles, and the sums of their filtered channels.
 *
 * A team of T threads, a thread block, takes one filter along a *walk*, a range of its outputs. For each tile it goes through the
 * channels: the product of two spectra, both from the L2 cache, the way back in registers and shared memory (gpu/device/fft.cuh),
 * and the addition to sums in shared memory, at the place that the delay gives. Adjacent threads add to adjacent sums: there are no
 * bank conflicts. The sums reach as far beyond a tile as the filter's delays; those that no later tile changes are stored, and the
 * others move to the front. Nothing else goes to memory: 24 channels are added up before their sum is stored.
 *
 * Blocks that run at the same time take the same few filters along many walks, so that their spectra stay in the L2 cache.
 *
 * Outputs that are not normalized need no way back for each channel: stack_products adds up their spectra, whose taps hold the
 * delays (put_bins), and stack_back transforms the sums. */
#pragma once

#include "gpu/array/stack.h"
#include "gpu/device/launch.cuh"
#include "gpu/device/stored.cuh"

#include <math_constants.h>

/* ---- samples -------------------------------------------------------------------------------------------------------- */

/* Arguments of the kernels. */
struct StackArgs {
    lw_stack_shape shape;
    lw_stack_bank bank;
    lw_stack_block block;
    lw_stack_piece piece;
};

struct StackInput {
    const void *samples;
    int64_t step, row;                  /* samples from one to the next, and from channel to channel */
    int64_t n_samples;
    int n_taps;
    bool propagates;
};

LW_DEVICE StackInput input_of(const StackArgs &a)
{
    const lw_stack_block &b = a.block;
    return {b.input, b.is_slow ? a.bank.n_inputs : 1, b.is_slow ? 1 : b.n_samples, b.n_samples, static_cast<int>(a.bank.n_taps),
            b.propagates};
}

LW_DEVICE bool is_demeaned(const StackArgs &a) { return a.bank.normalize == LW_NORMALIZE_DEMEANED; }

/* Return a sample; 0 beyond the block. If it is not finite in single precision, set `met` and return 0. */
template <class Stored> LW_DEVICE double sample_of(const StackInput &in, int64_t channel, int64_t i, bool &met)
{
    if (i < 0 || i >= in.n_samples)
        return 0;
    const Stored x = __ldg(static_cast<const Stored *>(in.samples) + channel * in.row + i * in.step);
    if (!std::is_integral<Stored>::value && !isfinite(static_cast<float>(x))) {
        met = true;
        return 0;
    }
    return static_cast<double>(x);
}

/* ---- spectra of tiles ----------------------------------------------------------------------------------------------- */

/* Return the sum over the team's threads; the order of additions is fixed. shared: [F::T] doubles */
template <class F> LW_DEVICE double sum_of_team(double x, double *shared, int t)
{
    F::Team::sync();
    shared[t] = x;
    for (int n = F::T / 2; n > 0; n /= 2) {
        F::Team::sync();
        if (t < n)
            shared[t] += shared[t + n];
    }
    F::Team::sync();
    return shared[0];
}

/* Load a hop's segment, in double less its mean if windows are. Its first samples, which no output needs, count as 0. */
template <class F, class Stored>
LW_DEVICE void load_hop(float (&v)[F::E], const StackArgs &a, const StackInput &in, int channel, int64_t first, double *shared,
                        int t, bool &met)
{
    const int lead = a.shape.discard - (a.shape.n_taps - 1);
    const int64_t start = first - (a.shape.discard - (in.n_taps - 1));
    double level = 0;
    if (is_demeaned(a)) {
        const int64_t n = in.n_samples - first < F::N - lead ? in.n_samples - first : F::N - lead;
        const double own = sample_of<Stored>(in, channel, first, met);      /* equal samples give exactly 0 */
        double sum = 0;
        for (int m = 0; m < F::E; m++) {
            const int i = t + F::T * m;
            if (i >= lead && i < lead + n)
                sum += sample_of<Stored>(in, channel, start + i, met) - own;
        }
        level = n > 0 ? own + sum_of_team<F>(sum, shared, t) / static_cast<double>(n) : 0;
    }
#pragma unroll
    for (int m = 0; m < F::E; m++) {
        const int i = t + F::T * m;
        v[m] = i >= lead ? static_cast<float>(sample_of<Stored>(in, channel, start + i, met) - level) : 0;
    }
}

/* Transform the tile blockIdx.x of the channel blockIdx.y. */
template <class F> __global__ void __launch_bounds__(F::T) stack_segments(const StackArgs a)
{
    extern __shared__ __align__(128) unsigned char memory[];
    float2 *const shared = reinterpret_cast<float2 *>(memory);
    double *const sums = reinterpret_cast<double *>(memory);
    const StackInput in = input_of(a);
    const int t = threadIdx.x, channel = blockIdx.y;
    const int64_t number = static_cast<int64_t>(channel) * a.block.n_tiles + blockIdx.x;
    const int64_t first = static_cast<int64_t>(a.shape.tile) * blockIdx.x;
    float re[F::E], im[F::E];
    float2 v[F::E];
    bool met = false;
    with_stored(a.block.type.scalar, [&](auto stored) {
        load_hop<F, decltype(stored)>(re, a, in, channel, first, sums, t, met);
        load_hop<F, decltype(stored)>(im, a, in, channel, first + a.shape.hop, sums, t, met);
    });
    if (met)
        a.block.report->flag = 1;
    double squares = 0;
#pragma unroll
    for (int m = 0; m < F::E; m++) {
        v[m] = {re[m], im[m]};
        squares += static_cast<double>(re[m]) * re[m] + static_cast<double>(im[m]) * im[m];
    }
    squares = sum_of_team<F>(squares, sums, t);
    if (t == 0)
        a.block.rms[number] = static_cast<float>(sqrt(squares / F::N));
    F fft;
    fft.load(static_cast<const float2 *>(a.bank.powers), t);
    F::Team::sync();
    fft.forward(v, shared, t);
    float4 *const to = reinterpret_cast<float4 *>(static_cast<float2 *>(a.block.spectra) + number * F::N) + t;
#pragma unroll
    for (int m = 0; m < F::E; m += 2)
        to[m / 2 * F::T] = {v[m].x, v[m].y, v[m + 1].x, v[m + 1].y};
}

/* ---- sums ----------------------------------------------------------------------------------------------------------- */

struct StackSums : StackArgs {
    int walk, n_walks, abreast;         /* outputs of a walk; walks of a filter; filters that walk at the same time */
    int team_bytes;                     /* shared memory of a team */
    unsigned n_blocks;
};

static inline int64_t stack_team_bytes(const lw_stack_shape &shape, int exchange_bytes)
{
    const int64_t sums = static_cast<int64_t>(shape.tile) + shape.span;
    return (exchange_bytes + sums * static_cast<int64_t>(sizeof(float)) + 127) / 128 * 128;
}

/* Return the arguments for a piece, with walks of about shape.walk tiles. */
static inline StackSums stack_sums_of(const lw_stack_shape &shape, const lw_stack_bank &bank, const lw_stack_block &block,
                                      const lw_stack_piece &piece, int teams, int exchange_bytes)
{
    StackSums a = {{shape, bank, block, piece}, 0, 0, 0, 0, 0};
    const int64_t tiles = (piece.count + shape.tile - 1) / shape.tile, walks = (tiles + shape.walk - 1) / shape.walk;
    a.walk = static_cast<int>((piece.count + walks - 1) / walks);
    a.n_walks = static_cast<int>((piece.count + a.walk - 1) / a.walk);
    a.abreast = (shape.abreast < piece.n_filters ? shape.abreast : piece.n_filters) / teams * teams;
    a.abreast = a.abreast > 0 ? a.abreast : teams;
    a.team_bytes = static_cast<int>(stack_team_bytes(shape, exchange_bytes));
    a.n_blocks = static_cast<unsigned>((piece.n_filters + teams - 1) / teams * a.n_walks);
    return a;
}

LW_DEVICE int64_t row_of(const StackArgs &a, int filter, int channel)
{
    return a.bank.own_taps ? static_cast<int64_t>(filter) * a.bank.n_inputs + channel : filter;
}

/* Return the least product of a window's gain and its tile's rms that transforms are not exact enough for. The rms error of outputs
 * behind a template of norm 1 is at most (1.5 + peak / 2) roundings of the samples' rms value; a coefficient's may be 1.5e-7. */
LW_DEVICE float limit_of(float peak) { return 1.5e-7f / (0x1p-24f * (1.5f + 0.5f * peak)); }

/* Multiply two spectra in the threads' order, and make the first butterflies of the way back. */
template <class F, bool CG> LW_DEVICE void multiply_spectra(float2 (&v)[F::E], const float2 *spectrum, const float2 *filter, int t)
{
    constexpr int E = F::E, T = F::T;
    const float4 *const x = reinterpret_cast<const float4 *>(spectrum) + t, *const h = reinterpret_cast<const float4 *>(filter) + t;
#pragma unroll
    for (int m = 0; m < E / 2; m += 2) {
        const int low = m / 2 * T, high = low + E / 4 * T;
        const float4 a = __ldg(x + low), b = __ldg(x + high);
        const float4 c = CG ? __ldcg(h + low) : __ldg(h + low), d = CG ? __ldcg(h + high) : __ldg(h + high);
        multiply_pair(v[m], v[m + E / 2], {a.x, a.y}, {c.x, c.y}, {b.x, b.y}, {d.x, d.y});
        multiply_pair(v[m + 1], v[m + 1 + E / 2], {a.z, a.w}, {c.z, c.w}, {b.z, b.w}, {d.z, d.w});
    }
}

/* Places of a thread's factors and sums of both hops of a tile, at constant distances for all rows. */
struct StackPlaces {
    const float *one, *two;
    float *sums;
    int to, also;
};

/* Add the rows m .. m + ROWS - 1 of a channel's outputs to the sums; their loads are in flight together. v has re and im swapped.
 * WHOLE: none is discarded. CHECKED: gains count as 0 whose product with rms reaches limit. */
template <class F, int ROWS, bool WHOLE, bool CHECKED>
LW_DEVICE void add_rows(const float2 (&v)[F::E], int m, const StackPlaces &p, int discard, float weight, float rms, float limit)
{
    float one[ROWS], two[ROWS], x[ROWS], y[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const int k = F::T * (m + r);
        const bool is_kept = WHOLE || k >= discard;
        one[r] = is_kept ? __ldg(p.one + k) : 0;
        two[r] = is_kept ? __ldg(p.two + k) : 0;
        x[r] = is_kept ? p.sums[p.to + k] : 0;
        y[r] = is_kept ? p.sums[p.also + k] : 0;
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const int k = F::T * (m + r);
        if (CHECKED) {
            one[r] = one[r] * rms >= limit ? 0 : one[r];
            two[r] = two[r] * rms >= limit ? 0 : two[r];
        }
        x[r] = fmaf(v[m + r].y, one[r] * weight, x[r]);
        y[r] = fmaf(v[m + r].x, two[r] * weight, y[r]);
        if (WHOLE || k >= discard) {
            p.sums[p.to + k] = x[r];
            p.sums[p.also + k] = y[r];
        }
    }
}

template <class F, bool CHECKED>
LW_DEVICE void add_outputs(const float2 (&v)[F::E], const lw_stack_shape &shape, const float *gains, float weight, float rms,
                           float limit, float *sums, int place, int t)
{
    constexpr int ROWS = 8;
    const int first = t - shape.discard;
    StackPlaces p = {gains + first, gains + first + shape.hop, sums, place + first, place + first + shape.hop};
    opaque(p.one);
    opaque(p.two);
    opaque(p.to);
    opaque(p.also);
#pragma unroll
    for (int m = 0; m < F::E; m += ROWS) {
        if (F::T * m >= shape.discard)
            add_rows<F, ROWS, true, CHECKED>(v, m, p, shape.discard, weight, rms, limit);
        else if (F::T * (m + ROWS) > shape.discard)
            add_rows<F, ROWS, false, CHECKED>(v, m, p, shape.discard, weight, rms, limit);
    }
}

/* Store the sums that no later tile changes, move the others to the front, and clear the rest. first: output of sums[0] */
template <class F>
LW_DEVICE void store_sums(float *sums, float *series, int tile, int span, int64_t first, int64_t from, int64_t end, int t)
{
    F::Team::sync();
    for (int i = t; i < tile; i += F::T)
        if (first + i >= from && first + i < end)
            series[first + i] = sums[i];
    for (int done = 0; done < tile + span; done += tile) {
        F::Team::sync();
        const int n = min(tile, tile + span - done);
        for (int i = t; i < n; i += F::T)
            sums[done + i] = done + i < span ? sums[done + i + tile] : 0;
    }
    F::Team::sync();
}

template <class F, int TEAMS, int BLOCKS> __global__ void __launch_bounds__(F::T * TEAMS, BLOCKS) stack_sums(const StackSums a)
{
    extern __shared__ __align__(128) unsigned char memory[];
    unsigned char *const own = memory + F::Team::number() * a.team_bytes;
    float2 *const shared = reinterpret_cast<float2 *>(own);
    float *const sums = reinterpret_cast<float *>(own + F::SHARED_BYTES);
    const int t = F::Team::thread(), each = a.abreast / TEAMS * a.n_walks;
    const int group = blockIdx.x / each, place = blockIdx.x - group * each;
    const int wide = (min(a.abreast, a.piece.n_filters - group * a.abreast) + TEAMS - 1) / TEAMS;
    const int number = group * a.abreast + place % wide * TEAMS + F::Team::number(), filter = a.piece.filter + number;
    if (number >= a.piece.n_filters)
        return;
    const lw_stack_range range = a.bank.ranges[filter];
    const int span = range.most - range.least, tile = a.shape.tile;
    const int64_t from = a.piece.first + static_cast<int64_t>(place / wide) * a.walk, last = a.piece.first + a.piece.count;
    const int64_t end = from + a.walk < last ? from + a.walk : last;
    const lw_stack_term *const terms = a.bank.terms + static_cast<int64_t>(filter) * a.bank.n_inputs;
    float *const series = a.piece.series + number * a.piece.count - a.piece.first;
    const float2 *const spectra = static_cast<const float2 *>(a.block.spectra);
    const float2 *const bank = static_cast<const float2 *>(a.bank.spectra);
    F fft;
    fft.load(static_cast<const float2 *>(a.bank.powers), t);
    for (int i = t; i < tile + span; i += F::T)
        sums[i] = 0;
    for (int64_t j = (from + range.least) / tile; j <= (end - 1 + range.most) / tile; j++) {
        const int64_t first = j * tile;
        lw_stack_term next = terms[0];
        for (int k = 0; k < a.bank.n_inputs; k++) {
            const lw_stack_term term = next;
            next = terms[k + 1 < a.bank.n_inputs ? k + 1 : k];
            if (term.weight == 0 || first + tile - term.delay <= from || first - term.delay >= end)
                continue;
            const int64_t at = term.channel * static_cast<int64_t>(a.block.n_tiles) + j, row = row_of(a, filter, term.channel);
            const float rms = __ldg(a.block.rms + at), most = __ldg(a.block.most + at), limit = limit_of(__ldg(a.bank.peaks + row));
            float2 v[F::E];
            fft.pin();
            multiply_spectra<F, (TEAMS > 1)>(v, spectra + at * F::N, bank + row * F::N, t);
            fft.backward(v, shared, t);
            const float *const gains = a.block.gains + at * tile;
            const int to = range.most - term.delay;
            if (most * rms < limit)
                add_outputs<F, false>(v, a.shape, gains, term.weight, rms, limit, sums, to, t);
            else {
                a.piece.touched[number] = 1;
                add_outputs<F, true>(v, a.shape, gains, term.weight, rms, limit, sums, to, t);
            }
        }
        store_sums<F>(sums, series, tile, span, first - range.most, from, end, t);
    }
}

/* ---- sums of spectra -------------------------------------------------------------------------------------------------- */

struct StackProducts : StackArgs {
    int tile, n_tiles, n_pieces;        /* first tile of the products, and their number; pieces of work */
};

constexpr int PRODUCT_SIDE = 8, PRODUCT_BINS = 16, PRODUCT_THREADS = 128, PRODUCT_STAGES = 3, PRODUCT_CHANNELS = 2;
constexpr int PRODUCT_CHUNKS = 32;

/* A piece of work: PRODUCT_BINS bins from `bin` on of FILTERS filters in TILES tiles. */
template <int FILTERS, int TILES> struct ProductPlace {
    int filter, tile;
    int64_t bin;

    /* Adjacent pieces have the 32 chunks of a range of bins, so that they join to whole rows. Then come all tiles, whose filters
     * stay in the L2 cache, then all filters, whose tiles do. */
    LW_DEVICE ProductPlace(const StackProducts &a, int number)
    {
        const int across = (a.n_tiles + TILES - 1) / TILES, down = (a.piece.n_filters + FILTERS - 1) / FILTERS;
        const int chunk = number % PRODUCT_CHUNKS, rest = number / PRODUCT_CHUNKS;
        tile = rest % across * TILES;
        filter = rest / across % down * FILTERS;
        bin = (static_cast<int64_t>(rest / (across * down)) * PRODUCT_CHUNKS + chunk) * PRODUCT_BINS;
    }
};

/* Add up the products of spectra over channels, a product of matrices for each bin, for 8 FG filters in 64 / FG tiles at a time.
 * Their spectra of two channels at a time are copied to shared memory, one stage of three being used; copies for a block's next
 * piece begin before the last is done. A thread takes a bin of 8 filters in 8 tiles, 16 loads for 64 products. */
template <int FG> __global__ void __launch_bounds__(PRODUCT_THREADS, 2) stack_products(const StackProducts a)
{
    constexpr int S = PRODUCT_SIDE, BINS = PRODUCT_BINS, FILTERS = S * FG, TILES = S * PRODUCT_THREADS / BINS / FG;
    constexpr int PIECES = BINS / 2, STRIDE = PRODUCT_THREADS / PIECES;     /* copies of 16 bytes in a row; rows at a time */
    using Place = ProductPlace<FILTERS, TILES>;
    extern __shared__ __align__(128) unsigned char memory[];
    const auto stages = reinterpret_cast<float2 (*)[PRODUCT_CHANNELS][FILTERS + TILES][BINS]>(memory);
    const int own = threadIdx.x / PIECES, at = threadIdx.x % PIECES * 2;        /* row and place of the thread's copies */
    const int64_t row = static_cast<int64_t>(a.bank.n_inputs) * a.shape.segment;
    int number = blockIdx.x, channel = 0, filters = 0, tiles = 0;       /* copies: piece and channel; rows from the thread's on */
    const float2 *h = nullptr, *x = nullptr;
    const auto copy = [&](int stage) {
        if (number < a.n_pieces && channel == 0) {
            const Place place(a, number);
            filters = a.piece.n_filters - place.filter - own;
            tiles = a.n_tiles - place.tile - own;
            h = static_cast<const float2 *>(a.bank.spectra) + place.bin + at + (a.piece.filter + place.filter + own) * row;
            x = static_cast<const float2 *>(a.block.spectra) + place.bin + at;
            x += static_cast<int64_t>(a.tile + place.tile + own) * a.shape.segment;
        }
        if (number < a.n_pieces) {
#pragma unroll
            for (int k = 0; k < PRODUCT_CHANNELS; k++) {
                float2 *const to = &stages[stage][k][own][at];
                const bool exists = channel + k < a.bank.n_inputs;
#pragma unroll
                for (int i = 0; i < FILTERS; i += STRIDE)
                    copy_async_if(to + i * BINS, h + i * row, exists && i < filters);
#pragma unroll
                for (int i = 0; i < TILES; i += STRIDE)
                    if (TILES >= STRIDE || own < TILES)
                        copy_async_if(to + (FILTERS + i) * BINS, x + i * static_cast<int64_t>(a.shape.segment),
                                      exists && i < tiles);
                h += a.shape.segment;
                x += static_cast<int64_t>(a.block.n_tiles) * a.shape.segment;
            }
            channel += PRODUCT_CHANNELS;
        }
        if (channel >= a.bank.n_inputs) {
            channel = 0;
            number += gridDim.x;
        }
        end_copy_group();
    };
    const int team = threadIdx.x / BINS, own_filter = team % FG * S, own_tile = team / FG * S, lane = threadIdx.x % BINS;
    int stage = 0;
    copy(0);
    copy(1);
    for (int done = blockIdx.x; done < a.n_pieces; done += gridDim.x) {
        float2 sums[S][S] = {};
        for (int c = 0; c < a.bank.n_inputs; c += PRODUCT_CHANNELS) {
            wait_for_older_copies();
            __syncthreads();
            copy(stage == 0 ? PRODUCT_STAGES - 1 : stage - 1);
#pragma unroll
            for (int k = 0; k < PRODUCT_CHANNELS; k++) {
                const auto &from = stages[stage][k];
                float2 q[S];
#pragma unroll
                for (int j = 0; j < S; j++)
                    q[j] = from[FILTERS + own_tile + j][lane];
#pragma unroll
                for (int i = 0; i < S; i++) {
                    const float2 p = from[own_filter + i][lane];
#pragma unroll
                    for (int j = 0; j < S; j++) {
                        float2 &z = sums[i][j];
                        z.x = fmaf(p.x, q[j].x, fmaf(-p.y, q[j].y, z.x));
                        z.y = fmaf(p.x, q[j].y, fmaf(p.y, q[j].x, z.y));
                    }
                }
            }
            stage = stage + 1 < PRODUCT_STAGES ? stage + 1 : 0;
        }
        const Place place(a, done);
        const int left = a.piece.n_filters - place.filter - own_filter, right = a.n_tiles - place.tile - own_tile;
        const int64_t first = static_cast<int64_t>(place.filter + own_filter) * a.n_tiles + place.tile + own_tile;
        float2 *to = static_cast<float2 *>(a.block.products) + first * a.shape.segment + place.bin + lane;
#pragma unroll
        for (int i = 0; i < S; i++) {
#pragma unroll
            for (int j = 0; j < S; j++) {
                if (i < left && j < right)
                    __stcg(to, sums[i][j]);
                to += j + 1 < S ? a.shape.segment : static_cast<int64_t>(a.n_tiles - S + 1) * a.shape.segment;
                opaque(to);             /* else there is an address for each */
            }
        }
    }
}

/* Transform the sums of tile blockIdx.x and filter blockIdx.y back, and store the outputs. */
template <class F, int BLOCKS> __global__ void __launch_bounds__(F::T, BLOCKS) stack_back(const StackProducts a)
{
    extern __shared__ __align__(128) unsigned char memory[];
    constexpr int E = F::E, T = F::T;
    const int t = threadIdx.x, filter = blockIdx.y;
    const int64_t from = static_cast<int64_t>(filter) * a.n_tiles + blockIdx.x;
    const float4 *const y = reinterpret_cast<const float4 *>(static_cast<const float2 *>(a.block.products) + from * F::N) + t;
    float2 v[E];
#pragma unroll
    for (int m = 0; m < E / 2; m += 2) {
        const float4 p = __ldcs(y + m / 2 * T), q = __ldcs(y + m / 2 * T + E / 4 * T);
        v[m] = {p.y + q.y, p.x + q.x};
        v[m + E / 2] = {p.y - q.y, p.x - q.x};
        v[m + 1] = {p.w + q.w, p.z + q.z};
        v[m + 1 + E / 2] = {p.w - q.w, p.z - q.z};
    }
    F fft;
    fft.load(static_cast<const float2 *>(a.bank.powers), t);
    fft.backward(v, reinterpret_cast<float2 *>(memory), t);
    const int64_t tile = a.tile + static_cast<int64_t>(blockIdx.x);
    const int64_t first = a.shape.tile * tile - a.bank.ranges[a.piece.filter + filter].most - a.piece.first;
    float *one = a.piece.series + filter * a.piece.count + first - a.shape.discard + t, *two = one + a.shape.hop;
    opaque(one);
    opaque(two);            /* so that all rows are at constant distances from two pointers */
    const auto store = [&](auto is_whole) {
#pragma unroll
        for (int m = 0; m < E; m++) {
            const int64_t o = first - a.shape.discard + t + T * m;
            const auto is_wanted = [&](int64_t at) { return decltype(is_whole)::value || (at >= 0 && at < a.piece.count); };
            if (T * m >= a.shape.discard && is_wanted(o))
                __stcs(one + T * m, v[m].y);
            if (T * m >= a.shape.discard && is_wanted(o + a.shape.hop))
                __stcs(two + T * m, v[m].x);
        }
    };
    if (first >= 0 && first + a.shape.tile <= a.piece.count)
        store(std::true_type());
    else
        store(std::false_type());
}

/* The kernels of a transform, and the shared memory of its exchanges. */
struct StackKernels {
    void (*segments)(const StackArgs);
    void (*back)(const StackProducts);
    void (*sums)(const StackSums);
    int shared_bytes;
};
