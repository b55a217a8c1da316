/* decoupled.cuh - overlap-save kernel, time fast, for long segments and several filters: 12288 = 12 x 1024 points in one block, or
 * 24576 = 24 x 1024 in the two blocks of a cluster. Its warps hardly ever wait for each other.
 *
 * A block has twelve warps. Each warp owns a transform of 1024 points and a twelfth of the block's butterflies: radix 12, or 24 for
 * two blocks on the way back. Between these two stages values go from warp to warp through an exchange set in shared memory. There
 * are two sets: `put` fills one while `take` empties the other, one exchange behind:
 *
 *     put           forward: samples, radix 12           filter f: product, 1024 points back
 *     take          forward: 1024 points, the spectrum   filter f: radix 12, outputs
 *     in turn       .. put f + 1, take f, put f + 2, take f + 1 .. put forward of the next segment, take the last filter ..
 *
 * Each exchange has two waits. Before filling a set a warp waits until all warps have emptied it; before emptying it, until all
 * have filled it. A product and a radix-32 stage hide the first wait, a whole exchange hides the second.
 *
 * Thread t, counted over all threads that hold a segment, has the spectrum's bins P (t mod 32) + t / 32 + T m in registers, as
 * Transform with P = 12 or 24 would (gpu/device/fft.cuh). Butterfly n takes samples, or makes outputs, n + 1024 j, j < P. Adjacent
 * lanes have adjacent n, so that global loads and stores are coalesced. A warp computes 32 butterflies a turn. In the last turn
 * only eight warps (two blocks, way back: four) have butterflies, evenly over the schedulers. Outputs are dropped in rows of 1024.
 *
 * Two blocks. Block b owns the bins that are b modulo 2; its warp r owns those that are 2 r + b modulo 24. Forward, both blocks
 * load all samples and send nothing to each other: with u = exp(-2 pi i / 24576)
 *
 *     X[2 q + b] = sum over n < 12288 of (x[n] + (-1)^b x[n + 12288]) u^(b n) exp(-2 pi i q n / 12288)
 *
 * On the way back block b owns the butterflies n = 512 b .. 512 b + 511. A warp keeps half of its values, and sends the other half
 * to the warp of its number in the other block (its peer). Before, the peer has announced that its region is free (`may_send`).
 *
 * Shared memory, 225 KB (one block an SM): two sets of 12 regions of 8704 bytes, one a warp, in which a warp also exchanges its 32
 * x 32 points without bank conflicts (rows padded by 16 bytes); the twiddles of the 32 x 32 transform; w and w^2 of each butterfly
 * n, w = exp(-2 pi i n / N); four counters; the number of the exchange in which a sample was not finite; each warp's position; with
 * two blocks, a counter for each warp and set for `may_send`. Registers hold the spectrum, the current values, and a part of the
 * next filter's spectrum, which is loaded an exchange ahead. */
#pragma once

#include "gpu/device/fft_24.cuh"
#include "gpu/ols/kernels/interleaved.cuh"

/* Sizes and offsets, in bytes, if BLOCKS blocks of a cluster share a segment. T and P count over all these blocks. */
template <int BLOCKS_> struct Decoupled {
    using Real = float;
    using C = float2;
    static constexpr int BLOCKS = BLOCKS_, E = 32, WARPS = 12, THREADS = E * WARPS;
    static constexpr int P = BLOCKS * WARPS, T = E * P, ROW = E * E, N = P * ROW, COLUMNS = ROW / BLOCKS;
    static constexpr int TURNS = (ROW + THREADS - 1) / THREADS, TURNS_BACK = (COLUMNS + THREADS - 1) / THREADS;
    static constexpr int PITCH = E + 2, REGION = E * PITCH, SET = WARPS * REGION;
    static constexpr int SENT_BYTES = BLOCKS == 1 ? 0 : COLUMNS * (int)sizeof(C);       /* bytes that a warp sends per exchange */
    static constexpr int TWIDDLES = 2 * SET * (int)sizeof(C), WEIGHTS = TWIDDLES + E * E / 2 * (int)sizeof(C);
    static constexpr int COUNTERS = WEIGHTS + ROW * (int)sizeof(float4), MAY_SEND = COUNTERS + 5 * 8;
    static constexpr int STEPS = MAY_SEND + (BLOCKS == 1 ? 0 : 2 * WARPS * 8), STEPS_BYTES = 64;
    static constexpr int SHARED_BYTES = STEPS + WARPS * STEPS_BYTES;

    LW_DEVICE static int rank() { return BLOCKS == 1 ? 0 : (int)blockIdx.x % BLOCKS; }      /* the block's number in its cluster */
    LW_DEVICE static int cluster() { return (int)blockIdx.x / BLOCKS; }
    LW_DEVICE static int thread()               /* number of the thread among all threads that share a segment */
    {
        return BLOCKS == 1 ? (int)threadIdx.x : ((int)threadIdx.x / E * BLOCKS + rank()) * E + (int)threadIdx.x % E;
    }
};

/* The exchange sets as one thread sees them. Exchanges are numbered through all segments of a block; number i uses set i % 2. */
template <class D> struct DecoupledSets {
    unsigned char *memory;
    int warp, lane, put, taken;         /* put, taken: numbers of the exchanges that this warp fills and empties next */

    LW_DEVICE explicit DecoupledSets(unsigned char *memory_)
        : memory(memory_), warp((int)threadIdx.x / D::E), lane((int)threadIdx.x % D::E), put(0), taken(0)
    {
    }
    LW_DEVICE float2 *set(int exchange) const { return (float2 *)memory + (exchange & 1) * D::SET; }
    LW_DEVICE void *filled(int exchange) const { return memory + D::COUNTERS + (exchange & 1) * 8; }
    LW_DEVICE void *emptied(int exchange) const { return memory + D::COUNTERS + 16 + (exchange & 1) * 8; }
    LW_DEVICE int may_send() const { return D::MAY_SEND + ((put & 1) * D::WARPS + warp) * 8; }
    LW_DEVICE int &spoilt() const { return *(int *)(memory + D::COUNTERS + 32); }
    LW_DEVICE const float4 *weights() const { return (const float4 *)(memory + D::WEIGHTS); }
    LW_DEVICE TwiddleTable twiddles() const { return {(const float4 *)(memory + D::TWIDDLES) + lane, D::E, {}}; }

    /* One lane arrives at a counter for its warp. The racecheck tool of compute-sanitizer does not see that __syncwarp orders the
     * other lanes' accesses before this arrival. For the tool, LW_EACH_THREAD_ARRIVES makes every lane arrive (4% slower). */
#ifdef LW_EACH_THREAD_ARRIVES
    static constexpr int ARRIVING = D::E;           /* lanes of a warp that arrive */
#else
    static constexpr int ARRIVING = 1;
#endif
    LW_DEVICE bool arrives() const
    {
        if (ARRIVING == 1)
            __syncwarp();
        return lane < ARRIVING;
    }
    LW_DEVICE void arrive(void *counter) const
    {
        if (arrives())
            arrive_at_counter(counter);
    }

    LW_DEVICE void begin_put() const { wait_for_counter(emptied(put), (put >> 1 & 1) ^ 1); }
    LW_DEVICE void end_put()
    {
        arrive(filled(put));
        ++put;
    }
    LW_DEVICE void begin_take() const { wait_for_counter(filled(taken), taken >> 1 & 1); }
    LW_DEVICE void end_take()
    {
        arrive(emptied(taken));
        ++taken;
    }

#ifdef LW_HAS_CLUSTERS
    LW_DEVICE PeerMemory peer() const { return peer_memory(memory, D::rank() ^ 1); }

    /* Tell the peer that this warp's region of the next set is free: in every exchange, so that both blocks count alike. */
    LW_DEVICE void let_peer_send() const
    {
        if (arrives())
            arrive_at_peer(peer(), may_send());
    }
    LW_DEVICE void wait_until_may_send() const { wait_for_counter(memory + may_send(), put >> 1 & 1); }

    /* Announce the same once the warp has read v from the region. */
    LW_DEVICE void let_peer_send(const float2 (&v)[32]) const
    {
        unsigned mix = 0;
#pragma unroll
        for (int m = 0; m < 32; ++m)
            mix ^= __float_as_uint(v[m].x);
        need(mix);
        let_peer_send();
    }

    /* Write v[FIRST .. FIRST + 15] to the own set, send the other half to the peer. v[m]: value 32 m + lane of the warp's row. */
    template <int FIRST> LW_DEVICE void keep_and_send(const float2 (&v)[32])
    {
        const int at = warp * D::REGION + D::COLUMNS * (FIRST > 0) + lane;
        const int offset = ((put & 1) * D::SET + at) * (int)sizeof(float2);
#pragma unroll
        for (int m = 0; m < 16; ++m)
            set(put)[at + 32 * m] = v[FIRST + m];
        const PeerMemory there = peer();
        const int counter = D::COUNTERS + (put & 1) * 8;
        wait_until_may_send();
#pragma unroll
        for (int m = 0; m < 16; ++m)
            send(there, offset + 32 * m * (int)sizeof(float2), counter, v[16 - FIRST + m]);
    }

    LW_DEVICE void end_sending_put()
    {
        if (arrives())
            expect_arrivals(filled(put), D::SENT_BYTES / ARRIVING);
        ++put;
    }
#endif
};

/* Second half of a warp's 32 x 32 transform: exchange in its region, weighted radix 32. `read` is called after the last read. */
template <class D, class Read = Nothing>
LW_DEVICE void turn_square(float2 (&v)[32], float2 *region, const DecoupledSets<D> &sets, Read read = {})
{
    float2 *const row = region + sets.lane * D::PITCH;
#pragma unroll
    for (int j = 0; j < 32; j += 2)
        *(float4 *)(row + j) = make_float4(v[j].x, v[j].y, v[j + 1].x, v[j + 1].y);
    __syncwarp();
#pragma unroll
    for (int m = 0; m < 32; ++m)
        v[m] = region[m * D::PITCH + sets.lane];
    read();
    dft<32, true>(v, sets.twiddles());
}

/* Fill the tables, begin the counters, and wait at a barrier of the block or cluster. */
template <class D> LW_DEVICE void fill_tables(const DecoupledSets<D> &sets, const float2 *bank)
{
    float4 *const weights = (float4 *)(sets.memory + D::WEIGHTS);
    const float2 *const powers = bank + log2_of(D::E) * D::T;
    twiddle_table<D>((float4 *)(sets.memory + D::TWIDDLES), bank, threadIdx.x, threadIdx.x < D::E);
    for (int n = threadIdx.x; n < D::ROW; n += D::THREADS) {
        const float2 w = __ldg(powers + n), w2 = __ldg(powers + D::ROW + n);
        weights[n] = make_float4(w.x, w.y, w2.x, w2.y);
    }
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; ++i) {
            begin_counter(sets.filled(i), D::WARPS * DecoupledSets<D>::ARRIVING);
            begin_counter(sets.emptied(i), D::WARPS * DecoupledSets<D>::ARRIVING);
        }
        sets.spoilt() = -1;
    }
    if constexpr (D::BLOCKS > 1) {
        /* Each thread begins one counter. racecheck also takes the other threads for writers, so for this tool one thread begins
         * all counters. The compiler then assigns registers differently, and the kernel is 4% slower. */
        constexpr int EACH = DecoupledSets<D>::ARRIVING == 1 ? 1 : 2 * D::WARPS;
        if (threadIdx.x < 2 * D::WARPS / EACH)
            for (int i = 0; i < EACH; ++i)
                begin_counter(sets.memory + D::MAY_SEND + (threadIdx.x * EACH + i) * 8, DecoupledSets<D>::ARRIVING);
        show_counters_to_peers();
        cluster_barrier();
    } else
        __syncthreads();
}

/* Load v[turn][j], sample n + 1024 j for the turn's butterfly n; with two blocks, sum or difference of it and the sample half a
 * segment later. See load_segment. Return whether a sample is not finite; with one block, this is only tested if CHECKED. */
template <class D, class Stored, bool PAIRED, bool COMPLEX, bool CHECKED, int LEAD>
LW_DEVICE bool load_rows(float2 (&v)[D::TURNS][12], const OlsArgs &a, const OlsPlace &p)
{
    const Stored *x = (const Stored *)a.input + (p.input + threadIdx.x) * (COMPLEX ? 2 : 1);
    const Stored *second = x + a.input_second;
    opaque(x);
    opaque(second);
    int lead = a.lead, have[2] = {p.have[0], p.have[1]};
    if (CHECKED) {
        opaque(lead);
        opaque(have[0]);
        opaque(have[1]);
    }
    bool met = false;
    const auto sample = [&](int row, int turn) {
        const int k = D::ROW * row + D::THREADS * turn, i = k + (int)threadIdx.x;
        float2 value = {0, 0};
        const bool exists = turn < D::TURNS - 1 || D::THREADS * turn + (int)threadIdx.x < D::ROW;
        const bool led = exists && (D::ROW * row >= LEAD || i >= lead);
        if constexpr (PAIRED) {
            if (led && (!CHECKED || i < have[0]))
                value.x = converted<float>(__ldg(x + k));
            if (led && (!CHECKED || i < have[1]))
                value.y = converted<float>(__ldg(second + k));
        } else if (led && (!CHECKED || i < have[0]))
            value = stored_pair<float, Stored, COMPLEX>(x, k);
        if (CHECKED) {
            value.x = finite_or_zero(value.x, met);
            value.y = finite_or_zero(value.y, met);
        }
        return value;
    };
    if constexpr (D::BLOCKS == 1) {
#pragma unroll
        for (int turn = 0; turn < D::TURNS; ++turn)
#pragma unroll
            for (int j = 0; j < 12; ++j)
                v[turn][j] = sample(j, turn);
        return met;
    } else {
        const float sign = D::rank() == 0 ? 1.0f : -1.0f;
        float largest = 0;
#pragma unroll
        for (int turn = 0; turn < D::TURNS; ++turn)
#pragma unroll
            for (int j = 0; j < 12; ++j) {
                const float2 value = sample(j, turn), later = sample(j + 12, turn);
                if (!CHECKED) {
                    largest = largest_magnitude(largest_magnitude(largest, value.x), value.y);
                    largest = largest_magnitude(largest_magnitude(largest, later.x), later.y);
                }
                v[turn][j] = {fmaf(sign, later.x, value.x), fmaf(sign, later.y, value.y)};
            }
        return met || !isfinite(largest);
    }
}

template <class D, bool PAIRED, bool CHECKED, int LEAD>
LW_DEVICE bool load_rows(float2 (&v)[D::TURNS][12], const OlsArgs &a, const OlsPlace &p)
{
    return with_sample<!PAIRED>(a.input_scalar, a.input_complex, [&](auto stored, auto is_complex) {
        return load_rows<D, decltype(stored), PAIRED, decltype(is_complex)::value, CHECKED, LEAD>(v, a, p);
    });
}

/* Butterfly n forward: radix 12, then the twiddles of this block's bins; w = exp(-2 pi i n / N), w2 = w^2. */
template <class D> LW_DEVICE void split_rows(float2 (&v)[12], float2 w, float2 w2)
{
    if constexpr (D::BLOCKS == 1) {
        split_twelve(v, w, w2);
        return;
    }
    if (D::rank() > 0)
#pragma unroll
        for (int j = 1; j < 12; ++j)
            v[j] = product(v[j], root_24(j));
    split_twelve(v, w2, product(w2, w2));
    if (D::rank() > 0)
#pragma unroll
        for (int r = 0; r < 12; ++r)
            v[r] = product(v[r], w);
}

template <class D, bool PAIRED, int LEAD>
LW_DEVICE void put_samples(DecoupledSets<D> &sets, const OlsArgs &a, int segment, bool checked)
{
    const OlsPlace p = place_of<D::N, PAIRED>(a, segment);
    float2 v[D::TURNS][12];
    bool spoilt = false;
    if (checked || min(p.have[0], p.have[1]) < D::N) {
        if (load_rows<D, PAIRED, true, LEAD>(v, a, p))
            *a.not_finite = 1;
    } else if constexpr (D::BLOCKS == 1)
        load_rows<D, PAIRED, false, LEAD>(v, a, p);
    else
        spoilt = load_rows<D, PAIRED, false, LEAD>(v, a, p);
    sets.begin_put();
    if constexpr (D::BLOCKS > 1)
        sets.let_peer_send();
    float2 *const set = sets.set(sets.put);
#pragma unroll
    for (int turn = 0; turn < D::TURNS; ++turn) {
        const int n = D::THREADS * turn + (int)threadIdx.x;
        if (turn == D::TURNS - 1 && n >= D::ROW)
            continue;
        const float4 w = sets.weights()[n];
        split_rows<D>(v[turn], {w.x, w.y}, {w.z, w.w});
        if (D::BLOCKS == 1)         /* two blocks differ in v, but must find the same: there load_rows has tested the samples */
            spoilt = spoilt || !isfinite(v[turn][0].x) || !isfinite(v[turn][0].y);
#pragma unroll
        for (int r = 0; r < 12; ++r)
            set[r * D::REGION + n] = v[turn][r];
    }
    if (spoilt && !checked)
        sets.spoilt() = sets.put;
    if constexpr (D::BLOCKS > 1)
        sets.wait_until_may_send();
    sets.end_put();
}

/* End the forward transform with values from the set. Return whether a sample that is not finite has spoilt the spectrum. */
template <class D> LW_DEVICE bool take_spectrum(float2 (&v)[32], DecoupledSets<D> &sets)
{
    sets.begin_take();
    float2 *const region = sets.set(sets.taken) + sets.warp * D::REGION;
    const bool spoilt = sets.spoilt() == sets.taken;
#pragma unroll
    for (int m = 0; m < 32; ++m)
        v[m] = region[32 * m + sets.lane];
    dft<32, false>(v, (const float2 *)nullptr);
    __syncwarp();
    turn_square(v, region, sets);
    sets.end_take();
    return spoilt;
}

/* The first loads of a filter's spectrum, issued early: `low` from quarter 0 of a thread's values, `high` from quarter 2. */
template <class D> struct FilterAhead {
    static constexpr int PAIRS = D::BLOCKS == 1 ? 4 : 3;
    float4 low[PAIRS], high[PAIRS];

    LW_DEVICE void load(const float2 *filter)
    {
        const float4 *const h = (const float4 *)filter + D::thread();
#pragma unroll
        for (int i = 0; i < PAIRS; ++i) {
            low[i] = load_now(h + i * D::T);
            high[i] = load_now(h + (i + 8) * D::T);
        }
    }
};

/* Compute v = X H and the first butterflies of the way back, as `multiply` (time_fast.cuh), with the loads of `ahead`. */
template <class D>
LW_DEVICE void multiply_ahead(float2 (&v)[32], const float2 (&x)[32], const float2 *filter, const FilterAhead<D> &ahead)
{
    constexpr int PAIRS = FilterAhead<D>::PAIRS;
    const float4 *const h = (const float4 *)filter + D::thread();
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int m = 2 * i, k = i % PAIRS;
        const float4 low = i < PAIRS ? ahead.low[k] : __ldg(h + i * D::T);
        const float4 high = i < PAIRS ? ahead.high[k] : __ldg(h + (i + 8) * D::T);
        multiply_pair(v[m], v[m + 16], x[m], {low.x, low.y}, x[m + 16], {high.x, high.y});
        multiply_pair(v[m + 1], v[m + 17], x[m + 1], {low.z, low.w}, x[m + 17], {high.z, high.w});
    }
}

template <class D>
LW_DEVICE void put_product(const float2 (&spectrum)[32], const float2 *filter, const FilterAhead<D> &ahead, DecoupledSets<D> &sets)
{
    float2 v[32];
    multiply_ahead(v, spectrum, filter, ahead);
    dft<32, false, true>(v, (const float2 *)nullptr);
    unsigned mix = 0;           /* Four results need three quarters of the butterflies. If none were needed here, the compiler */
#pragma unroll                  /* would move all butterflies behind the wait, and nothing would hide it. */
    for (int m = 0; m < 4; ++m)
        mix ^= __float_as_uint(v[m].x);
    need(mix);
    sets.begin_put();
    float2 *const region = sets.set(sets.put) + sets.warp * D::REGION;
    if constexpr (D::BLOCKS == 1) {
        turn_square(v, region, sets);
        __syncwarp();
#pragma unroll
        for (int m = 0; m < 32; ++m)
            region[32 * m + sets.lane] = v[m];
        sets.end_put();
    } else {
        turn_square(v, region, sets, [&] { sets.let_peer_send(v); });
        __syncwarp();
        if (D::rank() == 0)
            sets.template keep_and_send<0>(v);
        else
            sets.template keep_and_send<16>(v);
        sets.end_sending_put();
    }
}

/* Position of a warp, in shared memory for lack of registers: the current segment, whose filters are applied, and the next step. */
struct DecoupledSteps {
    int64_t output;             /* index of the current segment's first output of filter 0 */
    int segment;
    bool whole;                 /* all outputs of the current segment are wanted */
    bool more, checked;         /* there is a next step; its samples were not all finite when they were first loaded */
    OlsStep next;
    OlsWalk walk;
};
static_assert(sizeof(DecoupledSteps) <= Decoupled<1>::STEPS_BYTES, "one for each warp");

/* Make the next step's segment the current segment, and find the step after it. */
template <class D, bool PAIRED> LW_DEVICE void move_on(DecoupledSteps *steps, const OlsArgs &a, int lane)
{
    DecoupledSteps s = *steps;
    const OlsPlace p = place_of<D::N, PAIRED>(a, s.next.segment);
    s.output = p.output;
    s.segment = s.next.segment;
    s.whole = min(p.want[0], p.want[1]) == a.hop;
    s.checked = false;
    s.more = s.walk.next(a, D::cluster(), s.next);
    __syncwarp();
    if (lane == 0)
        *steps = s;
    __syncwarp();
}

/* Butterfly n on the way back: weighted radix P, w = exp(-2 pi i n / N), w2 = w^2. column: place of its first value in the set. */
template <class D> LW_DEVICE void join_rows(float2 (&v)[D::P], const float2 *column, float2 w, float2 w2)
{
#pragma unroll
    for (int r = 0; r < D::WARPS; ++r)
#pragma unroll
        for (int b = 0; b < D::BLOCKS; ++b)
            v[D::BLOCKS * r + b] = column[r * D::REGION + b * D::COLUMNS];
    if constexpr (D::BLOCKS == 1)
        join_twelve(v, w, w2);
    else {
        const float2 w4 = product(w2, w2), power[4] = {w, w2, w4, product(w4, w4)};
        dft_24<true>(v, power);
    }
}

/* Store the outputs of a turn: v[j] is value `at + 1024 j` of the segment, re and im swapped. Out: type of a stored number. */
template <class D, int DISCARD, bool PAIRED, bool WHOLE, class Out>
LW_DEVICE void store_turn(const float2 (&v)[D::P], const OlsArgs &a, const OlsPlace &p, Out *y, Out *second, int turn, int first)
{
    const int discard = DISCARD >= 0 ? DISCARD : a.discard;
#pragma unroll
    for (int j = 0; j < D::P; ++j)
        if (D::ROW * j >= (WHOLE ? discard : DISCARD)) {
            const int at = D::ROW * j + D::THREADS * turn;
            put_output<PAIRED, WHOLE>(y, second, at, p, at + first, float2{v[j].y, v[j].x});
        }
}

/* Call store(v, turn), v being each turn's butterfly n, with re and im swapped. */
template <class D, class Store> LW_DEVICE void for_turns(const float2 *set, const float4 *weights, Store store)
{
#pragma unroll
    for (int turn = 0; turn < D::TURNS_BACK; ++turn) {
        const int column = D::THREADS * turn + (int)threadIdx.x;
        if (turn == D::TURNS_BACK - 1 && column >= D::COLUMNS)
            break;
        const float4 w = weights[D::COLUMNS * D::rank() + column];
        float2 v[D::P];
        join_rows<D>(v, set + column, {w.x, w.y}, {w.z, w.w});
        store(v, turn);
    }
}

/* Compute each turn's butterfly n and store its outputs n + 1024 j. output: index of the segment's first output. */
template <class D, int DISCARD, bool PAIRED, bool WHOLE>
LW_DEVICE void store_turns(const float2 *set, const float4 *weights, const OlsArgs &a, int64_t output, const OlsPlace &p)
{
    const int discard = DISCARD >= 0 ? DISCARD : a.discard, first = D::COLUMNS * D::rank() + (int)threadIdx.x - discard;
    float *y = (float *)a.output + (output + first) * (PAIRED ? 1 : 2), *second = y + a.output_second;
    opaque(y);
    opaque(second);
    for_turns<D>(set, weights, [&](const float2 (&v)[D::P], int turn) {
        store_turn<D, DISCARD, PAIRED, WHOLE>(v, a, p, y, second, turn, first);
    });
}

/* Do the same in a narrow type. */
template <class D, int DISCARD, bool PAIRED>
LW_DEVICE void store_narrow_turns(const float2 *set, const float4 *weights, const OlsArgs &a, int64_t output, const OlsPlace &p)
{
    const int discard = DISCARD >= 0 ? DISCARD : a.discard, first = D::COLUMNS * D::rank() + (int)threadIdx.x - discard;
    const int64_t at = (output + first) * (PAIRED ? 1 : 2);
    for_turns<D>(set, weights, [&](float2 (&v)[D::P], int turn) {
        narrow_all(v, a.narrow, [](int j) { return D::ROW * j >= DISCARD; }, [&](int j, int part) {
            const int i = D::ROW * j + D::THREADS * turn + first;
            return (unsigned)i < (unsigned)p.want[PAIRED && part == 0 ? 1 : 0];
        });
        with_words(a.narrow, [&](auto out) {
            auto *const y = (decltype(out) *)a.output + at;
            store_turn<D, DISCARD, PAIRED, false>(v, a, p, y, y + a.output_second, turn, first);
        });
    });
}

template <class D, int DISCARD, bool PAIRED, bool NARROW>
LW_DEVICE void take_outputs(DecoupledSets<D> &sets, const OlsArgs &a, const DecoupledSteps *steps, int f)
{
    sets.begin_take();
    const float2 *const set = sets.set(sets.taken);
    const int64_t output = steps->output + f * a.plane;
    if constexpr (NARROW)
        store_narrow_turns<D, DISCARD, PAIRED>(set, sets.weights(), a, output, place_of<D::N, PAIRED>(a, steps->segment));
    else if (steps->whole)
        store_turns<D, DISCARD, PAIRED, true>(set, sets.weights(), a, output, OlsPlace());
    else
        store_turns<D, DISCARD, PAIRED, false>(set, sets.weights(), a, output, place_of<D::N, PAIRED>(a, steps->segment));
    sets.end_take();
}

/* Prefetch a segment's samples into L2; each thread takes lines of 128 bytes. */
template <class D, bool PAIRED> LW_DEVICE void fetch(const OlsArgs &a, int segment)
{
    const OlsPlace p = place_of<D::N, PAIRED>(a, segment);
    const int sample_bytes = a.sample_bytes, line = 128;
    for (int at = D::thread() * line; at < p.have[0] * sample_bytes; at += D::T * line) {
        if (at < a.lead * sample_bytes)
            continue;
        prefetch((const char *)a.input + p.input * sample_bytes + at);
        if (PAIRED && at < p.have[1] * sample_bytes)
            prefetch((const char *)a.input + (p.input + a.input_second) * sample_bytes + at);
    }
}

/* Process all segments of a block, or of a cluster. NARROW: outputs are of a narrow type. Registers do not suffice for both. */
template <class D, int DISCARD, bool PAIRED, bool NARROW> LW_DEVICE void decoupled_segments(const OlsArgs &a, unsigned char *memory)
{
    static_assert(DISCARD < 0 || DISCARD % D::ROW == 0, "rows are dropped whole");
    constexpr int LEAD = DISCARD < 0 ? D::ROW : DISCARD;
    wait_for_predecessor();
    DecoupledSets<D> sets(memory);
    fill_tables(sets, (const float2 *)a.bank);
    DecoupledSteps *const steps = (DecoupledSteps *)(memory + D::STEPS + sets.warp * D::STEPS_BYTES);
    if (sets.lane == 0) {
        OlsWalk walk;
        walk.start(a, D::cluster());
        steps->checked = false;
        steps->more = walk.next(a, D::cluster(), steps->next);
        steps->walk = walk;
    }
    __syncwarp();
    float2 spectrum[D::E];
    FilterAhead<D> ahead;
    for (int f = -1, begin = 0, end = 0;;) {        /* f: the filter whose outputs are taken; at first there is none */
#pragma unroll 1
        for (; f < end; ++f) {
            if (f + 1 < end) {
                put_product(spectrum, spectra_of<D>(a, f + 1), ahead, sets);
                ahead.load(spectra_of<D>(a, min(f + 2, end - 1)));
            } else if (steps->more) {
                put_samples<D, PAIRED, LEAD>(sets, a, steps->next.segment, steps->checked);
                ahead.load(spectra_of<D>(a, steps->next.begin));
#pragma unroll
                for (int m = 0; m < D::E; ++m)      /* tells the compiler that the samples may use these registers */
                    spectrum[m] = {0, 0};
            }
            if (f >= begin)
                take_outputs<D, DISCARD, PAIRED, NARROW>(sets, a, steps, f);
        }
        if (!steps->more)
            return;
        begin = steps->next.begin;
        if (take_spectrum(spectrum, sets)) {        /* the segment is loaded again, with zero for samples that are not finite */
            if (sets.lane == 0)
                steps->checked = true;
            __syncwarp();
            begin = end = 0;
        } else {
            end = steps->next.end;
            move_on<D, PAIRED>(steps, a, sets.lane);
            if (steps->more)
                fetch<D, PAIRED>(a, steps->next.segment);
        }
        f = begin - 1;
    }
}

/* One block per segment. */
template <int DISCARD, bool PAIRED, bool NARROW>
__global__ void __launch_bounds__(Decoupled<1>::THREADS, 1) ols_decoupled(const OlsArgs a)
{
    extern __shared__ __align__(128) unsigned char memory[];
    decoupled_segments<Decoupled<1>, DISCARD, PAIRED, NARROW>(a, memory);
}

/* One cluster of two blocks per segment. */
template <int DISCARD, bool PAIRED, bool NARROW>
__global__ void __launch_bounds__(Decoupled<2>::THREADS, 1) ols_decoupled_pair(const OlsArgs a)
{
#ifdef LW_HAS_CLUSTERS
    extern __shared__ __align__(128) unsigned char memory[];
    decoupled_segments<Decoupled<2>, DISCARD, PAIRED, NARROW>(a, memory);
    cluster_barrier();              /* the peer's last values and announcements still arrive in this block's memory */
#endif
}
