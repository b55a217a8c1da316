/* interleaved.cuh - overlap-save kernel, time slow, for short integers and one filter. It never turns rows into columns; a row is
 * the W pairs of adjacent channels of one axis sample (time_slow.cuh).
 *
 * A thread block takes one hop: W transforms of E x E points, one for each pair p. A warp's lanes are two (W = 16) or four (W = 8)
 * thread numbers t, each for all pairs p, so that a warp reads and stores whole rows.
 *
 *   prefetch   the block copies the stored values of all rows unchanged to a tile in shared memory, asynchronously: nothing waits
 *              for them, and no register holds them
 *   read       thread t of transform p reads pair p of the rows t + T m from the tile and converts it
 *   store      thread t of transform p stores pair p of the rows t + T m from registers: 8 W contiguous bytes of a row
 *
 * The exchange region holds E x E values of each transform. Forward, thread t writes its row of them and reads its column; on the
 * way back it writes its column and reads its row. It always writes where it has just read: two barriers a segment suffice, each
 * for the other threads' writes. Copies of the next segment start after the first barrier, when all threads have read the tile, and
 * are complete at the second: half a segment's arithmetic hides their latency.
 *
 * Stores take turns. An SM sends 32 bytes a cycle, so that a hop's outputs take a fifth of the time. If all warps stored at once,
 * none would compute meanwhile. So each 128 threads (one warp per scheduler) begin the last transform when the previous 128 threads
 * have ended it, and stores overlap with arithmetic.
 *
 * Decimation (THINNED): only kept outputs are stored, from registers, too. A few instructions per hop find which rows a thread
 * keeps: instructions bound the kernel's speed, and a test of each row, or another exchange, would take more.
 *
 * Shared memory: filter, twiddles, exchange region and tile: 206 KB for W = 16 (one block an SM), 110 KB for W = 8 (two). Rows that
 * are not whole (last channels) or not aligned to 16 bytes are read one by one. Integers are always finite. */
#pragma once

#include "gpu/ols/kernels/thinned.cuh"

/* A thread's row and column of the exchange region, which is [row][column / 2][transform][column % 2]. Values of a row are adjacent
 * in pairs, for 16-byte accesses. Values of a column are beside those of the next column, which the next thread has. Rows are
 * padded by 64 bytes, so that neither access has bank conflicts. */
template <class F, int W> struct InterleavedExchange {
    using C = typename F::C;
    static constexpr int E = F::E, PITCH = E * W + 64 / (int)sizeof(C), BYTES = E * PITCH * (int)sizeof(C);
    C *row, *column;

    LW_DEVICE InterleavedExchange(unsigned char *memory, int t, int p)
    {
        row = (C *)memory + t * PITCH + 2 * p;
        column = (C *)memory + t / 2 * 2 * W + 2 * p + t % 2;
    }
    LW_DEVICE void put_row(const C (&v)[E]) const
    {
#pragma unroll
        for (int j = 0; j < E; j += 2)
            *(float4 *)(row + j * W) = make_float4(v[j].x, v[j].y, v[j + 1].x, v[j + 1].y);
    }
    LW_DEVICE void take_row(C (&v)[E]) const
    {
#pragma unroll
        for (int j = 0; j < E; j += 2) {
            const float4 pair = *(const float4 *)(row + j * W);
            v[j] = {pair.x, pair.y};
            v[j + 1] = {pair.z, pair.w};
        }
    }
    LW_DEVICE void put_column(const C (&v)[E]) const
    {
#pragma unroll
        for (int j = 0; j < E; ++j)
            column[j * PITCH] = v[j];
    }
    LW_DEVICE void take_column(C (&v)[E]) const
    {
#pragma unroll
        for (int j = 0; j < E; ++j)
            v[j] = column[j * PITCH];
    }
};

/* Sizes and offsets in shared memory, in bytes: the filter, the twiddles, the exchange region, the tile. */
template <class F, int W> struct InterleavedBlock {
    using C = typename F::C;
    static constexpr int THREADS = F::T * W, TURN = 128, TURNS = THREADS / TURN;
    static constexpr int TWIDDLES = F::N * (int)sizeof(C), EXCHANGE = TWIDDLES + F::N / 2 * (int)sizeof(C);
    static constexpr int TILE = EXCHANGE + InterleavedExchange<F, W>::BYTES;
    static constexpr int SHARED_BYTES = TILE + F::N * 2 * W * 2;
};

/* Return thread t's twiddles of the E x E transform (fft.cuh). Threads t < E with `fills` fill the table; a barrier must follow. */
template <class F> LW_DEVICE TwiddleTable twiddle_table(float4 *pairs, const typename F::C *powers, int t, bool fills)
{
    constexpr int E = F::E;
    if (fills) {
        Powers<float2, E> w;
        w.load(powers, t, F::T);
#pragma unroll
        for (int number = 0; number < E / 2; ++number) {
            const int level = number == 0 ? 0 : log2_of(number) + 1, k = number - twiddle_number(level, 0);
            ((float2 *)(pairs + number / 2 * E + t))[number % 2] = twiddle<E>(w.p, level, k);
        }
    }
    return {pairs + t, E, {}};
}

/* A hop by its step on the axis and its group of channels, and facts that prefetch_hop finds. */
struct InterleavedHop {
    int step, group;
    bool prefetched;            /* copies of its rows to the tile have been started */
    bool all_rows, whole;       /* if prefetched: all rows exist; all outputs are wanted */

    LW_DEVICE void next(const OlsArgs &a) { move_on(step, group, a.stride_steps, a.stride_groups, a.n_groups); }
};

/* Start to copy a hop's rows to the tile. CHECKED: only the rows that exist. from: first byte of row 0. */
template <class F, int W, int VALUE_BYTES, bool CHECKED>
LW_DEVICE void prefetch_rows(unsigned char *tile, const OlsArgs &a, const char *from, int have)
{
    constexpr int ROW = 2 * W * VALUE_BYTES / 16, ROWS = InterleavedBlock<F, W>::THREADS / ROW;   /* copies a row; rows at a time */
    static_assert(2 * W * VALUE_BYTES % 16 == 0 && F::N % ROWS == 0, "rows are copied by 16 bytes");
    const int row = threadIdx.x / ROW;
    const int64_t pitch = a.input_pitch * VALUE_BYTES;
    from += row * pitch + threadIdx.x % ROW * 16;
    tile += threadIdx.x * 16;
#pragma unroll
    for (int k = 0; k < F::N; k += ROWS, from += ROWS * pitch)
        if (!CHECKED || (k + row >= a.lead && k + row < have))
            copy_async(tile + k * ROW * 16, from);
}

template <class F, int W, int VALUE_BYTES>
LW_DEVICE void prefetch_rows(unsigned char *tile, const OlsArgs &a, int64_t input, int have)
{
    const char *const from = (const char *)a.input + input * VALUE_BYTES;
    if (a.lead > 0 || have < F::N)
        prefetch_rows<F, W, VALUE_BYTES, true>(tile, a, from, have);
    else
        prefetch_rows<F, W, VALUE_BYTES, false>(tile, a, from, have);
}

/* Start to copy the rows of a hop, if it exists and its rows have 2 W values and begin at multiples of 16 bytes. */
template <class F, int W> LW_DEVICE void prefetch_hop(unsigned char *tile, const OlsArgs &a, InterleavedHop &hop)
{
    const TimeSlowPlace place = time_slow_place<F::N, W>(a, hop.step, hop.group);
    hop.prefetched = hop.step < a.n_steps && has_whole_rows<W>(a, place);
    if (!hop.prefetched)
        return;
    hop.all_rows = a.lead == 0 && place.have == F::N;
    hop.whole = place.want == a.hop;
    if (a.sample_bytes == 1)
        prefetch_rows<F, W, 1>(tile, a, place.input, place.have);
    else
        prefetch_rows<F, W, 2>(tile, a, place.input, place.have);
}

/* Conversion of two adjacent short integers x to floats x + BIAS, by putting x in the low bits of the float 2^23. */
template <class Stored> struct Unpacked {
    static constexpr bool BYTES = sizeof(Stored) == 1, SIGNED = std::is_signed<Stored>::value;
    static constexpr float BIAS = 8388608.0f + (SIGNED ? BYTES ? 128 : 32768 : 0);
    using Pair = typename std::conditional<BYTES, uint16_t, uint32_t>::type;

    LW_DEVICE static float2 biased(unsigned pair)
    {
        if (SIGNED)
            pair ^= BYTES ? 0x8080u : 0x80008000u;
        const unsigned x = __byte_perm(pair, 0x4b000000u, BYTES ? 0x7440 : 0x7410);
        const unsigned y = __byte_perm(pair, 0x4b000000u, BYTES ? 0x7441 : 0x7432);
        return {repacked<float>(x), repacked<float>(y)};
    }
};

/* Read v[m] = pair p of row t + T m from the tile, zero where the row does not exist. Then replace each (v[m], v[m + E / 2]) by sum
 * and difference: the bias is subtracted from the sum, and cancels in the difference. All of this is exact. */
template <class F, int W, class Stored>
LW_DEVICE void read_tile(typename F::C (&v)[F::E], const unsigned char *tile, const OlsArgs &a, const InterleavedHop &hop, int t,
                         int p)
{
    using U = Unpacked<Stored>;
    constexpr int E = F::E;
    const typename U::Pair *const pairs = (const typename U::Pair *)tile + t * W + p;
#pragma unroll
    for (int m = 0; m < E; ++m)
        v[m] = U::biased(pairs[F::T * m * W]);
    if (!hop.all_rows) {
        const int have = time_slow_place<F::N, W>(a, hop.step, hop.group).have;
#pragma unroll
        for (int m = 0; m < E; ++m)
            if (t + F::T * m < a.lead || t + F::T * m >= have)
                v[m] = {U::BIAS, U::BIAS};
    }
#pragma unroll
    for (int m = 0; m < E / 2; ++m) {
        const float2 low = v[m], high = v[m + E / 2];
        v[m] = {low.x - 2 * U::BIAS + high.x, low.y - 2 * U::BIAS + high.y};
        v[m + E / 2] = {low.x - high.x, low.y - high.y};
    }
}

/* Read the same from global memory. */
template <class F, int W, class Stored>
LW_DEVICE void read_rows(typename F::C (&v)[F::E], const OlsArgs &a, const InterleavedHop &hop, int t, int p)
{
    const TimeSlowPlace place = time_slow_place<F::N, W>(a, hop.step, hop.group);
    const Stored *x = (const Stored *)a.input + place.input + t * a.input_pitch + 2 * p;
#pragma unroll
    for (int m = 0; m < F::E; ++m, x += F::T * a.input_pitch) {
        const bool exists = t + F::T * m >= a.lead && t + F::T * m < place.have;
        v[m].x = exists && 2 * p < place.in_columns ? converted<float>(__ldg(x)) : 0;
        v[m].y = exists && 2 * p + 1 < place.in_columns ? converted<float>(__ldg(x + 1)) : 0;
    }
#pragma unroll
    for (int m = 0; m < F::E / 2; ++m)
        butterfly(v[m], v[m + F::E / 2]);
}

template <class F, int W, class Stored>
LW_DEVICE void read_hop(typename F::C (&v)[F::E], const unsigned char *tile, const OlsArgs &a, const InterleavedHop &hop, int t,
                        int p)
{
    if (hop.prefetched)
        read_tile<F, W, Stored>(v, tile, a, hop, t, p);
    else
        read_rows<F, W, Stored>(v, a, hop, t, p);
}

template <class F, int W>
LW_DEVICE void read_hop(typename F::C (&v)[F::E], const unsigned char *tile, const OlsArgs &a, const InterleavedHop &hop, int t,
                        int p)
{
    /* The kernel takes these four types only. */
    switch (a.input_scalar) {
    case LW_INT8:   read_hop<F, W, int8_t>(v, tile, a, hop, t, p); break;
    case LW_UINT8:  read_hop<F, W, uint8_t>(v, tile, a, hop, t, p); break;
    case LW_INT16:  read_hop<F, W, int16_t>(v, tile, a, hop, t, p); break;
    default:        read_hop<F, W, uint16_t>(v, tile, a, hop, t, p); break;
    }
}

/* Store a pair of outputs. WHOLE: both are wanted, and y is a multiple of their bytes; else the first `columns` are wanted. */
template <bool WHOLE, class Out> LW_DEVICE void put_pair(Out *y, float2 pair, int columns)
{
    if constexpr (WHOLE)
        put_two(y, pair.x, pair.y);
    else {
        if (columns > 0)
            put(y, stored_bits<Out>(pair.x));
        if (columns > 1)
            put(y + 1, stored_bits<Out>(pair.y));
    }
}

/* Store pair p of the rows t + T m from row D on, the outputs; v has re and im swapped. Out: type of a stored number. */
template <class F, int W, int DISCARD, class Out>
LW_DEVICE void store_hop(const typename F::C (&v)[F::E], const OlsArgs &a, const InterleavedHop &hop, int t, int p)
{
    const int discard = DISCARD >= 0 ? DISCARD : a.discard;
    const TimeSlowPlace place = time_slow_place<F::N, W>(a, hop.step, hop.group);
    const int64_t advance = F::T * a.output_pitch;
    Out *y = (Out *)a.output + place.output + t * a.output_pitch + 2 * p;
    const bool whole = hop.prefetched && hop.whole;
    if (whole) {
#pragma unroll
        for (int m = 0; m < F::E; ++m)
            if (F::T * m >= discard) {
                put_pair<true>(y, {v[m].y, v[m].x}, 2);
                y += advance;
            }
        return;
    }
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        if (F::T * m < discard)
            continue;
        if (F::T * m - discard + t < place.want)
            put_pair<false>(y, {v[m].y, v[m].x}, place.out_columns - 2 * p);
        y += advance;
    }
}

/* Store the same pairs in a narrow type. */
template <class F, int W, int DISCARD>
LW_DEVICE void store_narrow_hop(float2 (&v)[F::E], const OlsArgs &a, const InterleavedHop &hop, int t, int p)
{
    const int discard = DISCARD >= 0 ? DISCARD : a.discard;
    narrow_all(v, a.narrow, [](int m) { return F::T * m >= DISCARD; }, [&](int m, int part) {       /* re and im are swapped */
        const TimeSlowPlace place = time_slow_place<F::N, W>(a, hop.step, hop.group);
        return (unsigned)(F::T * m - discard + t) < (unsigned)place.want && 2 * p + (part == 0 ? 1 : 0) < place.out_columns;
    });
    with_words(a.narrow, [&](auto out) { store_hop<F, W, DISCARD, decltype(out)>(v, a, hop, t, p); });
}

/* The kept rows among a thread's rows t + T m of a hop's outputs. */
struct KeptRows {
    unsigned rows;                  /* bit m: row t + T m is kept */
    int number, step;               /* number of the thread's first kept row among the hop's kept rows; from one to the next */
};

/* Return the thread's kept rows, if rows place, place + D, .. before row `want` are kept. The first of them solves T m = place - t
 * (mod D). This equation is halved until only m is left on its left side. If D is odd, an odd right side is made even by adding D;
 * if D is even, an odd right side has no half, and the thread has no kept row. */
template <int T> LW_DEVICE KeptRows kept_rows(const OlsArgs &a, int place, int want, int t)
{
    int period = a.every, m = (place - t) % period, step = T;
    bool exists = true;
    m += m < 0 ? period : 0;
#pragma unroll
    for (int left = T; left > 1; left /= 2) {
        const bool odd = m % 2 == 1;
        if (period % 2 == 0) {
            exists = exists && !odd;
            period /= 2;
            step /= 2;
        } else
            m += odd ? period : 0;
        m /= 2;
    }
    if (!exists || m >= T || t + T * m >= want)
        return {0, 0, 0};
    unsigned rows = 1u << m;
#pragma unroll
    for (int distance = 1; distance < T; distance *= 2)
        rows |= period < T / distance ? rows << period * distance : 0;
    const int n_wanted = (want - t + T - 1) / T;        /* wanted rows of this thread */
    return {n_wanted < 32 ? rows & ((1u << n_wanted) - 1) : rows, (t + T * m - place) / a.every, step};
}

/* Store v[m] for each bit m of `rows`. y: place of the first; advance: numbers from one to the next. */
template <class F, bool WHOLE, class Out>
LW_DEVICE void store_marked(const typename F::C (&v)[F::E], unsigned rows, Out *y, int64_t advance, int columns)
{
    static_assert(F::E <= 32, "a thread's rows are bits of a word");
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        if (rows >> m & 1) {
            put_pair<WHOLE>(y, {v[m].y, v[m].x}, columns);
            y += advance;
        }
}

/* Store the kept outputs of a hop. */
template <class F, int W>
LW_DEVICE void store_thinned_hop(typename F::C (&v)[F::E], const OlsArgs &a, const InterleavedHop &hop, int t, int p)
{
    const TimeSlowPlace place = time_slow_place<F::N, W>(a, hop.step, hop.group);
    const KeptOutputs kept = kept_outputs<F::N>(a, hop.step * a.step);
    const KeptRows own = kept_rows<F::T>(a, kept.place, place.want, t);
    const unsigned rows = own.rows << a.discard / F::T;
    const int64_t column = (int64_t)hop.group * W * 2 + 2 * p, advance = own.step * a.output_pitch;
    const int64_t first = (kept.number + own.number) * a.output_pitch + column;
    const int columns = hop.prefetched ? 2 : place.out_columns - 2 * p;
    const auto store = [&](auto *y) {
        if (hop.prefetched)
            store_marked<F, true>(v, rows, y, advance, columns);
        else
            store_marked<F, false>(v, rows, y, advance, columns);
    };
    if (a.narrow.bytes == 0) {
        store((float *)a.output + first);
        return;
    }
    narrow_all(v, a.narrow, [](int) { return true; },
               [&](int m, int part) { return (rows >> m & 1) && (part == 0 ? 1 : 0) < columns; });      /* re and im are swapped */
    with_words(a.narrow, [&](auto out) { store((decltype(out) *)a.output + first); });
}

template <class F, int W, int BLOCKS, int DISCARD, bool THINNED>
__global__ void __launch_bounds__(F::T * W, BLOCKS) ols_interleaved(const OlsArgs a)
{
    static_assert(F::P == 1 && (DISCARD < 0 || DISCARD % F::T == 0), "E x E points; rows are dropped whole");
    using Block = InterleavedBlock<F, W>;
    using C = typename F::C;
    constexpr int E = F::E;
    extern __shared__ __align__(128) unsigned char memory[];
    C *const filter = (C *)memory;
    unsigned char *const tile = memory + Block::TILE;
    const int t = threadIdx.x / (2 * W) * 2 + threadIdx.x % 2, p = threadIdx.x % (2 * W) / 2;
    const InterleavedExchange<F, W> exchange(memory + Block::EXCHANGE, t, p);

    wait_for_predecessor();
    InterleavedHop ahead = {(int)blockIdx.x / a.n_groups, (int)blockIdx.x % a.n_groups};
    prefetch_hop<F, W>(tile, a, ahead);
    for (int i = threadIdx.x; i < F::N / 2; i += Block::THREADS)
        ((float4 *)filter)[i] = __ldg((const float4 *)spectra_of<F>(a, 0) + i);
    const TwiddleTable twiddles = twiddle_table<F>((float4 *)(memory + Block::TWIDDLES), (const C *)a.bank, t, p == 0);
    wait_for_copies();
    __syncthreads();                    /* the filter and all rows are there */
    C v[E];
    while (ahead.step < a.n_steps) {
        const InterleavedHop now = ahead;
        read_hop<F, W>(v, tile, a, now, t, p);
        dft<E, false, true>(v, (const C *)nullptr);
        exchange.put_row(v);
        __syncthreads();                /* all threads have written their rows, and have read the tile */
        ahead.next(a);
        prefetch_hop<F, W>(tile, a, ahead);
        exchange.take_column(v);
        dft<E, true>(v, twiddles);
        multiply<F, true>(v, v, filter, t);
        dft<E, false, true>(v, (const C *)nullptr);
        exchange.put_column(v);
        wait_for_copies();
        __syncthreads();                /* all threads have written their columns; the next samples are in the tile */
        const int turn = threadIdx.x / Block::TURN;
        if (turn > 0)
            barrier_of<2 * Block::TURN>(turn);
        exchange.take_row(v);
        dft<E, true>(v, twiddles);
        if (turn + 1 < Block::TURNS)
            arrive_at<2 * Block::TURN>(turn + 1);
        if constexpr (THINNED)
            store_thinned_hop<F, W>(v, a, now, t, p);
        else if (a.narrow.bytes > 0)
            store_narrow_hop<F, W, DISCARD>(v, a, now, t, p);
        else
            store_hop<F, W, DISCARD, float>(v, a, now, t, p);
    }
}
