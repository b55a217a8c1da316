/* ols_staged.cuh - the overlap-save kernel, time slow, for short integers and one filter: as ols_slow.cuh, with the rows
 * of the next segment on their way while one is in work.
 *
 *   stage   the block copies 2 W adjacent stored values of every row, 16 or 32 bytes, to a tile in shared memory as
 *           they are: nothing waits for them, and no register holds them
 *   read    thread t of team w takes pair w of the rows t + T m from the tile and converts it. With rows of 16 bytes
 *           four lanes meet in a bank: as many accesses as it would take to write and read the converted values
 *
 * As many blocks run as the device holds; each takes segments n_slots apart. Rows that are not whole (at the last
 * channels, or where rows begin elsewhere than at 16 bytes) are loaded as ols_slow.cuh does it. Integers are finite.
 *
 * Shared memory: the regions of ols_slow.cuh, then the tile, 32 bytes for each of N rows. */
#ifndef LW_OLS_STAGED_CUH
#define LW_OLS_STAGED_CUH

#include "ols_slow.cuh"

template <class F, int W> struct StagedBlock {
    using Slow = SlowBlock<F, W>;
    static constexpr int TILE = (Slow::SHARED_BYTES + 15) / 16 * 16, SHARED_BYTES = TILE + F::N * 2 * W * 2;
};

/* What is known of a segment when its rows have been asked for. */
enum { STAGED = 1, ALL_ROWS = 2, WHOLE_HOP = 4 };

/* CHECKED: only rows that exist. */
template <class F, int W, int VALUE_BYTES, bool CHECKED>
LW_DEVICE void stage_rows(unsigned char *tile, const OlsArgs &a, int64_t input, int have)
{
    constexpr int ROW = 2 * W * VALUE_BYTES / 16;       /* copies of a row */
    constexpr int THREADS = SlowBlock<F, W>::THREADS, ROWS = THREADS / ROW;
    static_assert(2 * W * VALUE_BYTES % 16 == 0 && THREADS % ROW == 0, "rows are copied by 16 bytes");
    const int row = threadIdx.x / ROW;
    const int64_t pitch = a.input_pitch * VALUE_BYTES;
    const char *from = (const char *)a.input + input * VALUE_BYTES + row * pitch + threadIdx.x % ROW * 16;
#pragma unroll
    for (int k = 0; k < F::N; k += ROWS, from += ROWS * pitch)
        if (!CHECKED || (k + row >= a.lead && k + row < have))
            copy_async(tile + (k * ROW + threadIdx.x) * 16, from);
}

template <class F, int W, int VALUE_BYTES>
LW_DEVICE void stage_rows(unsigned char *tile, const OlsArgs &a, int64_t input, int have)
{
    if (a.lead > 0 || have < F::N)
        stage_rows<F, W, VALUE_BYTES, true>(tile, a, input, have);
    else
        stage_rows<F, W, VALUE_BYTES, false>(tile, a, input, have);
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
template <class F, int W> LW_DEVICE void stage_segment(unsigned char *tile, const OlsArgs &a, StagedSegment &s)
{
    const int column = s.group * 2 * W, have = s.have<F::N>(a);
    const int64_t first = (int64_t)s.step * a.step;
    s.known = 0;
    if (s.step >= a.n_steps || a.input_second != 2 || column + 2 * W > a.input_pitch || !a.rows_aligned)
        return;
    s.known = STAGED | (a.lead == 0 && have == F::N ? ALL_ROWS : 0) | (a.count - first >= a.hop ? WHOLE_HOP : 0);
    const int64_t input = (first - a.lead) * a.input_pitch + column;
    if (a.input_scalar == LW_INT8 || a.input_scalar == LW_UINT8)
        stage_rows<F, W, 1>(tile, a, input, have);
    else
        stage_rows<F, W, 2>(tile, a, input, have);
}

/* v[m] = row t + T m of the team's pair. CHECKED: zero where it does not exist. */
template <class F, int W, class Stored, bool CHECKED>
LW_DEVICE void read_tile(typename F::C (&v)[F::E], const unsigned char *tile, const OlsArgs &a, int have, int team,
                         int t)
{
    struct alignas(2 * sizeof(Stored)) Pair { Stored x, y; };
    const Pair *const pairs = (const Pair *)tile + team;
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        const int i = t + F::T * m;
        const Pair s = pairs[i * W];
        v[m] = {converted<typename F::Real>(s.x), converted<typename F::Real>(s.y)};
        if (CHECKED && (i < a.lead || i >= have))
            v[m] = {0, 0};
    }
}

template <class F, int W, class Stored>
LW_DEVICE void read_tile(typename F::C (&v)[F::E], const unsigned char *tile, const OlsArgs &a,
                         const StagedSegment &s, int team, int t)
{
    if (s.known & ALL_ROWS)
        read_tile<F, W, Stored, false>(v, tile, a, F::N, team, t);
    else
        read_tile<F, W, Stored, true>(v, tile, a, s.have<F::N>(a), team, t);
}

template <class F, int W>
LW_DEVICE void read_staged(typename F::C (&v)[F::E], const unsigned char *tile, const OlsArgs &a,
                           const StagedSegment &s, int team, int t)
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
LW_DEVICE void store_hop(unsigned char *memory, const OlsArgs &a, typename F::Real *y)
{
    using B = SlowBlock<F, W>;
    constexpr int V = B::VECTOR, EACH = 2 * W / V, ROWS = B::THREADS / EACH, HOP = F::N - DISCARD;
    static_assert(HOP % ROWS == 0, "threads share a hop evenly");
    const int part = threadIdx.x % EACH, first = threadIdx.x / EACH;
    const typename F::C *const from = B::region(memory, part * V / 2) + DISCARD + first;
    typename F::Real *to = y + first * a.output_pitch + part * V;
#pragma unroll
    for (int k = 0; k < HOP; k += ROWS, to += ROWS * a.output_pitch)
        store_vector<F, W, Epilogue>(to, from + k);
}

/* Staged rows are whole, and a real signal's outputs as wide as they. */
template <class F, int W, int DISCARD, class Epilogue>
LW_DEVICE void store_staged(unsigned char *memory, const OlsArgs &a, const StagedSegment &s)
{
    typename F::Real *const y = (typename F::Real *)a.output;
    if constexpr (DISCARD >= 0)
        if (s.known & WHOLE_HOP) {
            const int64_t first = (int64_t)s.step * a.step * a.output_pitch + s.group * 2 * W;
            return store_hop<F, W, DISCARD, Epilogue>(memory, a, y + first);
        }
    const SlowPlace p = slow_place<F::N, W>(a, s.step, s.group);
    store_rows<F, W, Epilogue>(memory, a, p, y + p.output);
}

template <class F, int W, int BLOCKS, int DISCARD, class Epilogue>
__global__ void __launch_bounds__(F::T * W, BLOCKS) ols_segments_staged(const OlsArgs a)
{
    using B = SlowBlock<F, W>;
    using C = typename F::C;
    extern __shared__ __align__(128) unsigned char memory[];
    unsigned char *const tile = memory + StagedBlock<F, W>::TILE;
    const int t = threadIdx.x % F::T, team = threadIdx.x / F::T;
    C *const own = B::region(memory, team);
    wait_for_predecessor();
    F fft;
    fft.load((const C *)a.bank, t);
    C v[F::E];
    StagedSegment ahead = {(int)blockIdx.x / a.n_groups, (int)blockIdx.x % a.n_groups, 0};
    stage_segment<F, W>(tile, a, ahead);
    while (ahead.step < a.n_steps) {
        const StagedSegment now = ahead;
        wait_for_copies();
        __syncthreads();                /* everybody's rows are there, and the regions have been read */
        if (now.known & STAGED)
            read_staged<F, W>(v, tile, a, now, team, t);
        else {
            load_block<F, W>(memory, a, slow_place<F::N, W>(a, now.step, now.group));
            __syncthreads();
#pragma unroll
            for (int m = 0; m < F::E; ++m)
                v[m] = own[t + F::T * m];
        }
        __syncthreads();                /* the tile has been read */
        ahead.next(a);
        stage_segment<F, W>(tile, a, ahead);
        fft.forward(v, own, t);
        fft.pin();
        multiply<F>(v, v, (const C *)a.bank + a.spectra, t);
        fft.backward(v, own, t);
        F::Team::sync();                /* the team's region has been read */
#pragma unroll
        for (int m = 0; m < F::E; ++m)
            if (DISCARD < 0 || F::T * m >= DISCARD)
                own[t + F::T * m] = {v[m].y, v[m].x};
        __syncthreads();
        store_staged<F, W, DISCARD, Epilogue>(memory, a, now);
    }
}

#endif
