/* ols_staged.cuh - the overlap-save kernel, time slow, for short integers and one filter: as ols_slow.cuh, with the rows
 * of the next segments on their way while some are in work.
 *
 *   stage   W teams copy 2 W adjacent stored values of every row to a tile in shared memory as they are: nothing waits for
 *           them, and no register holds them
 *   read    thread t of team w takes pair w of the rows t + T m from the tile and converts it
 *
 * One block fills a multiprocessor: GROUPS of W teams that wait for each other only within a group, each a slot that takes
 * segments n_slots apart. They share the filter in shared memory; to L1, which is small then, they leave nothing. Rows
 * that are not whole (at the last channels, or where rows begin elsewhere than at 16 bytes) are loaded as ols_slow.cuh
 * does it. Integers are finite.
 *
 * Both transforms are the same instructions, and the outputs come in reverse order: see ols_ahead.cuh.
 *
 * Shared memory: the filter; then for each group the regions of ols_slow.cuh and the tile. */
#ifndef LW_OLS_STAGED_CUH
#define LW_OLS_STAGED_CUH

#include "ols_ahead.cuh"
#include "ols_slow.cuh"

template <class F, int W> struct StagedBlock {
    using Slow = SlowBlock<F, W>;
    static constexpr int TILE = (Slow::SHARED_BYTES + 15) / 16 * 16, SHARED_BYTES = TILE + F::N * 2 * W * 2;
};

/* What is known of a segment when its rows have been asked for. */
enum { STAGED = 1, ALL_ROWS = 2, WHOLE_HOP = 4 };

/* Where 16 bytes of a row of the tile are: pieces of every row in another order, so that lanes that read the same piece of
 * adjacent rows meet in a bank by four, not more. */
template <int PIECES> LW_DEVICE int place_in_tile(int row, int piece)
{
    static_assert(PIECES <= 8, "8 pieces are all banks");
    return 16 * (row * PIECES + (piece ^ row / (8 / PIECES) % PIECES));
}

/* CHECKED: only rows that exist. from: the first byte of row 0; thread: of the group. */
template <class F, int W, int VALUE_BYTES, bool CHECKED>
LW_DEVICE void stage_rows(unsigned char *tile, const OlsArgs &a, const char *from, int have, int thread)
{
    constexpr int ROW = 2 * W * VALUE_BYTES / 16;       /* copies of a row */
    constexpr int THREADS = SlowBlock<F, W>::THREADS, ROWS = THREADS / ROW;
    static_assert(2 * W * VALUE_BYTES % 16 == 0 && THREADS % ROW == 0, "rows are copied by 16 bytes");
    const int row = thread / ROW;
    const int64_t pitch = a.input_pitch * VALUE_BYTES;
    from += row * pitch + thread % ROW * 16;
    tile += place_in_tile<ROW>(row, thread % ROW);          /* rows 8 further lie alike */
#pragma unroll
    for (int k = 0; k < F::N; k += ROWS, from += ROWS * pitch)
        if (!CHECKED || (k + row >= a.lead && k + row < have))
            copy_async(tile + k * ROW * 16, from);
}

template <class F, int W, int VALUE_BYTES>
LW_DEVICE void stage_rows(unsigned char *tile, const OlsArgs &a, int64_t input, int have, int thread)
{
    const char *const from = (const char *)a.input + input * VALUE_BYTES;
    if (a.lead > 0 || have < F::N)
        stage_rows<F, W, VALUE_BYTES, true>(tile, a, from, have, thread);
    else
        stage_rows<F, W, VALUE_BYTES, false>(tile, a, from, have, thread);
}

/* A segment by its two numbers, and what is known of it. */
struct StagedSegment {
    int step, group, known;

    LW_DEVICE void next(const OlsArgs &a)
    {
        step += a.slot_steps;
        group += a.slot_groups;
        if (group >= a.n_groups) {
            group -= a.n_groups;
            ++step;
        }
    }
    template <int N> LW_DEVICE int have(const OlsArgs &a) const
    {
        return clamp_to(a.input_row - ((int64_t)step * a.step - a.lead), N);
    }
};

/* Rows of 2 W values that begin at multiples of 16 bytes are asked for, if there is such a segment. */
template <class F, int W>
LW_DEVICE void stage_segment(unsigned char *tile, const OlsArgs &a, StagedSegment &s, int thread)
{
    const int column = s.group * 2 * W, have = s.have<F::N>(a);
    const int64_t first = (int64_t)s.step * a.step;
    s.known = 0;
    if (s.step >= a.n_steps || a.input_second != 2 || column + 2 * W > a.input_pitch || !a.rows_aligned)
        return;
    s.known = STAGED | (a.lead == 0 && have == F::N ? ALL_ROWS : 0) | (a.count - first >= a.hop ? WHOLE_HOP : 0);
    const int64_t input = (first - a.lead) * a.input_pitch + column;
    if (a.sample_bytes == 1)
        stage_rows<F, W, 1>(tile, a, input, have, thread);
    else
        stage_rows<F, W, 2>(tile, a, input, have, thread);
}

/* Two short integers side by side as numbers: each is the last bits of 2^23 + x, of which 2^23 is then taken. */
template <class Stored> LW_DEVICE float2 unpacked(unsigned pair)
{
    constexpr bool BYTES = sizeof(Stored) == 1, SIGNED = std::is_signed<Stored>::value;
    constexpr float zero = 8388608.0f + (SIGNED ? BYTES ? 128 : 32768 : 0);
    if (SIGNED)
        pair ^= BYTES ? 0x8080u : 0x80008000u;
    const unsigned x = __byte_perm(pair, 0x4b000000u, BYTES ? 0x7440 : 0x7410);
    const unsigned y = __byte_perm(pair, 0x4b000000u, BYTES ? 0x7441 : 0x7432);
    return {repacked<float>(x) - zero, repacked<float>(y) - zero};
}

/* v[m] = row t + T m of the team's pair. CHECKED: zero where it does not exist. */
template <class F, int W, class Stored, bool CHECKED>
LW_DEVICE void read_tile(typename F::C (&v)[F::E], const unsigned char *tile, const OlsArgs &a, int have, int team,
                         int t)
{
    using Pair = typename std::conditional<sizeof(Stored) == 1, uint16_t, uint32_t>::type;
    constexpr int ROW = W * (int)sizeof(Pair) / 16, at_most = 16 / sizeof(Pair);
    const Pair *const pairs = (const Pair *)(tile + place_in_tile<ROW>(t, team / at_most)) + team % at_most;
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        v[m] = unpacked<Stored>(pairs[F::T * m * W]);
        const int i = t + F::T * m;
        if (CHECKED && (i < a.lead || i >= have))
            v[m] = {0, 0};
    }
}

template <class F, int W, class Stored>
LW_DEVICE void read_tile(typename F::C (&v)[F::E], const unsigned char *tile, const OlsArgs &a, const StagedSegment &s,
                         int team, int t)
{
    if (s.known & ALL_ROWS)
        read_tile<F, W, Stored, false>(v, tile, a, F::N, team, t);
    else
        read_tile<F, W, Stored, true>(v, tile, a, s.have<F::N>(a), team, t);
}

template <class F, int W>
LW_DEVICE void read_staged(typename F::C (&v)[F::E], const unsigned char *tile, const OlsArgs &a, const StagedSegment &s,
                           int team, int t)
{
    switch (a.input_scalar) {
    case LW_INT8:   read_tile<F, W, int8_t>(v, tile, a, s, team, t); break;
    case LW_UINT8:  read_tile<F, W, uint8_t>(v, tile, a, s, team, t); break;
    case LW_INT16:  read_tile<F, W, int16_t>(v, tile, a, s, team, t); break;
    default:        read_tile<F, W, uint16_t>(v, tile, a, s, team, t); break;
    }
}

/* A whole hop of whole rows: as store_rows, with nothing left to find out. */
template <class F, int W, int DISCARD, class Epilogue>
LW_DEVICE void store_hop(unsigned char *memory, const OlsArgs &a, typename F::Real *y, int thread)
{
    using B = SlowBlock<F, W>;
    constexpr int V = B::VECTOR, EACH = 2 * W / V, ROWS = B::THREADS / EACH, HOP = F::N - DISCARD;
    static_assert(HOP % ROWS == 0, "threads share a hop evenly");
    const int part = thread % EACH, first = thread / EACH;
    const typename F::C *const from = B::region(memory, part * V / 2) + DISCARD + first;
    typename F::Real *to = y + first * a.output_pitch + part * V;
#pragma unroll
    for (int k = 0; k < HOP; k += ROWS, to += ROWS * a.output_pitch)
        store_vector<F, W, Epilogue>(to, from + k);
}

/* Staged rows are whole, and a real signal's outputs as wide as they. */
template <class F, int W, int DISCARD, class Epilogue>
LW_DEVICE void store_staged(unsigned char *memory, const OlsArgs &a, const StagedSegment &s, int thread)
{
    typename F::Real *const y = (typename F::Real *)a.output;
    if constexpr (DISCARD >= 0)
        if (s.known & WHOLE_HOP) {
            const int64_t first = (int64_t)s.step * a.step * a.output_pitch + s.group * 2 * W;
            return store_hop<F, W, DISCARD, Epilogue>(memory, a, y + first, thread);
        }
    const SlowPlace p = slow_place<F::N, W>(a, s.step, s.group);
    store_rows<F, W, Epilogue>(memory, a, p, y + p.output, thread);
}

/* W teams of a block: they meet at their own barrier. */
template <class F, int W> struct StagedGroup {
    static constexpr int THREADS = SlowBlock<F, W>::THREADS;

    LW_DEVICE static int number() { return threadIdx.x / THREADS; }
    LW_DEVICE static void sync() { barrier_of<THREADS>(number() + 1); }
};

template <class F, int W, int GROUPS, int DISCARD, class Epilogue>
__global__ void __launch_bounds__(F::T * W * GROUPS, 1) ols_segments_staged(const OlsArgs a)
{
    using C = typename F::C;
    using Group = StagedGroup<F, W>;
    extern __shared__ __align__(128) unsigned char block[];
    unsigned char *const memory = block + F::N * sizeof(C) + Group::number() * StagedBlock<F, W>::SHARED_BYTES;
    unsigned char *const tile = memory + StagedBlock<F, W>::TILE;
    const int slot = blockIdx.x * GROUPS + Group::number();
    int thread = threadIdx.x % Group::THREADS;
    wait_for_predecessor();
    for (int i = threadIdx.x; i < F::N / 2; i += F::T * W * GROUPS)
        ((float4 *)block)[i] = __ldg((const float4 *)((const C *)a.bank + a.spectra) + i);
    F fft;
    fft.load((const C *)a.bank, thread % F::T);
    C v[F::E];
    StagedSegment ahead = {slot / a.n_groups, slot % a.n_groups, 0};
    if (slot >= a.n_slots)
        ahead.step = a.n_steps;
    stage_segment<F, W>(tile, a, ahead, thread);
    __syncthreads();                    /* the filter is there */
    while (ahead.step < a.n_steps) {
        const StagedSegment now = ahead;
        opaque(thread);                 /* places that follow from it are not kept over the transforms */
        const int t = thread % F::T, team = thread / F::T;
        C *const own = SlowBlock<F, W>::region(memory, team);
        wait_for_copies();
        Group::sync();                  /* everybody's rows are there, and the regions have been read */
        if (now.known & STAGED)
            read_staged<F, W>(v, tile, a, now, team, t);
        else {
            load_block<F, W>(memory, a, slow_place<F::N, W>(a, now.step, now.group), thread);
            Group::sync();
#pragma unroll
            for (int m = 0; m < F::E; ++m)
                v[m] = own[t + F::T * m];
        }
        Group::sync();                  /* the tile has been read */
        ahead.next(a);
        stage_segment<F, W>(tile, a, ahead, thread);
#pragma unroll 1
        for (bool back = false;; back = true) {
            if (back)
                multiply_all<F, true>(v, (const C *)block, t);
            fft.pin();
            fft.template square_rows<false>(v, own, t);
            fft.square_columns(v, own, t);
            if (back)
                break;
        }
        F::Team::sync();                /* the team's region has been read */
#pragma unroll
        for (int m = 0; m < F::E; ++m)
            if (DISCARD < 0 || F::T * m < F::N - DISCARD)
                own[F::N - 1 - t - F::T * m] = v[m];
        Group::sync();
        opaque(thread);
        store_staged<F, W, DISCARD, Epilogue>(memory, a, now, thread);
    }
}

#endif
