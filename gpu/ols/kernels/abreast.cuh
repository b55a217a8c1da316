/* abreast.cuh - overlap-save kernel, time slow, for stored values of up to four bytes and any number of filters: like
 * interleaved.cuh, but the next segment's samples wait in the exchange region, not in a tile.
 *
 * A thread block of 512 threads takes one hop of W pairs of adjacent reals: W transforms of P x 32 x 32 points, where a pair is a
 * complex value. A thread has a number t, a group r < P, and a transform p < W. A warp has two numbers t with all r and p, so that
 * it reads and stores whole rows (axis samples).
 *
 * Exchange region: P times 32 rows of 32 values of each transform. After the last exchange of a segment, each thread only reads its
 * own row. Then its warp copies the next segment's samples for its own threads into these rows, unchanged. They arrive while the
 * other warps end the segment, and need no block barrier.
 *
 *   read       thread t of transform p takes pair p of the rows t + 32 m, m < 32 P
 *   P = 2      even bins (r = 0) and odd bins (r = 1) have threads of their own, in the same warp. Both read all samples: even bins
 *              are a transform of x[n] + x[n + 1024], odd bins one of the difference, shifted by half a bin. On the way back the
 *              threads exchange half of their values, and each stores half of the outputs
 *   product    a warp has its part of the next filter in shared memory, copied while it works with the previous filter. KEEP: the
 *              spectrum stays for all filters, partly in registers, partly in shared memory
 *   store      pairs of the rows t + 32 m, from registers: 8 W contiguous bytes of a row; in turns, as in interleaved.cuh
 *
 * Shared memory (AbreastBlock, up to 225 KB): one block an SM. Asynchronous copies hide the loads; turns hide the stores. A sample
 * that is not finite makes the first value of its thread's first transform not finite. The warp then sets all samples to zero that
 * are not finite, and reads again. Rows that are not whole (last channels) or not aligned to 16 bytes are read one by one. */
#pragma once

#include "gpu/ols/kernels/abreast_rows.cuh"

/* A table of twiddles whose last level is multiplied by `sign`: with -1, the two halves of a transform's results change places. */
struct TurnedTable {
    TwiddleTable table;
    float sign;
};

template <int R> LW_DEVICE float2 twiddle(TurnedTable &turned, int level, int k)
{
    const float2 u = twiddle<R>(turned.table, level, k);
    return level + 1 < log2_of(R) ? u : float2{turned.sign * u.x, turned.sign * u.y};
}

/* Return the twiddle of a weighted transform by its number (twiddle_number, gpu/device/fft.cuh). */
template <int E> LW_DEVICE float2 numbered_twiddle(const Powers<float2, E> &w, int number)
{
    const int level = number == 0 ? 0 : log2_of(number) + 1;
    return twiddle<E>(w.p, level, number - twiddle_number(level, 0));
}

/* Fill the tables from the bank's twiddle powers:
 *   twiddles    of the second transform forward, in which thread t of group r has the bins P (k0 + 32 k1) + r; its part for r = 0
 *               also serves the last transform back
 *   splitting   of the first transform forward, P = 2: for r = 1 it shifts by half a bin
 *   joining     exp(-2 pi i (t + 32 j) / 2048), j < 16, P = 2: of join_halves */
template <class B> LW_DEVICE void fill_tables(unsigned char *memory, const float2 *powers)
{
    const AbreastThread own = AbreastThread::own<B>();
    constexpr int E = B::E, T = B::T;
    float4 *const twiddles = (float4 *)(memory + B::TWIDDLES), *const joining = (float4 *)(memory + B::JOINING);
    float4 *const splitting = (float4 *)(memory + B::SPLITTING);
    const int t = own.t, r = own.r, number = own.r * E + own.t;
    const float2 *const roots = powers + log2_of(E) * T;        /* exp(-2 pi i k / N), k < T */
    if (own.p == 0) {
        Powers<float2, E> w;
        w.load(powers, number, T);
        if (B::P > 1 && r > 0) {
#pragma unroll
            for (int l = 0; l < log2_of(E); ++l)
                w.p[l] = product(w.p[l], __ldg(roots + (1 << l)));
        }
#pragma unroll
        for (int i = 0; i < E / 2; ++i)
            ((float2 *)(twiddles + i / 2 * T + number))[i % 2] = numbered_twiddle<E>(w, i);
    }
    if (B::P > 1 && own.p == 1 && r == 0) {
        const float2 *const parts = powers + (log2_of(E) - 1) * T;      /* exp(-2 pi i k / 64), k < 32 */
        const float2 first = __ldg(roots + t);
#pragma unroll
        for (int j = 0; j < E / 2; ++j)
            ((float2 *)(joining + j / 2 * E + t))[j % 2] = product(first, __ldg(parts + j));
        if (t < 2) {
            Powers<float2, E> w;
#pragma unroll
            for (int l = 0; l < log2_of(E); ++l)
                w.p[l] = t == 0 ? float2{1, 0} : __ldg(parts + (1 << l));
#pragma unroll
            for (int i = 0; i < E / 2; ++i)
                ((float2 *)(splitting + i / 2 * 2 + t))[i % 2] = numbered_twiddle<E>(w, i);
        }
    }
}

template <class B> LW_DEVICE TwiddleTable splitting_twiddles(const unsigned char *memory)
{
    return {(const float4 *)(memory + B::SPLITTING) + AbreastThread::own<B>().r, 2, {}};
}

template <class B> LW_DEVICE TwiddleTable forward_twiddles(const unsigned char *memory)
{
    const AbreastThread own = AbreastThread::own<B>();
    return {(const float4 *)(memory + B::TWIDDLES) + own.r * B::E + own.t, B::T, {}};
}

template <class B> LW_DEVICE TwiddleTable backward_twiddles(const unsigned char *memory)
{
    return {(const float4 *)(memory + B::TWIDDLES) + AbreastThread::own<B>().t, B::T, {}};
}

template <class B> LW_DEVICE typename B::Exchange exchange_of(unsigned char *memory)
{
    const AbreastThread own = AbreastThread::own<B>();
    return {memory + own.r * B::REGION, own.t, own.p};
}

/* Start to copy the warp's part of a filter: 16 vectors for each (r, t) of its threads, in the order in which they are read. */
template <class B> LW_DEVICE void fetch_filter(unsigned char *memory, const float2 *spectra)
{
    constexpr int EACH = 2 * B::P;
    const AbreastThread own = AbreastThread::own<B>();
    unsigned char *const to = memory + B::FILTER + own.warp * (32 * B::P * 16);
#pragma unroll
    for (int k = 0; k < B::P; ++k) {
        const int i = own.lane + 32 * k, who = i % EACH;
        copy_async(to + i * 16, (const float4 *)spectra + (i / EACH * B::T + who / 2 * B::E + 2 * own.warp + who % 2));
    }
}

/* Return the place of the thread's first vector of the filter. */
template <class B> LW_DEVICE const float4 *filter_of(const unsigned char *memory)
{
    const AbreastThread own = AbreastThread::own<B>();
    return (const float4 *)(memory + B::FILTER + own.warp * (32 * B::P * 16)) + 2 * own.r + own.lane % 2;
}

/* Compute v = X H, re and im swapped, and the first butterflies. x, h: values 2 q, 2 q + 1; y, g: values 2 q + 16, 2 q + 17. */
LW_DEVICE void multiply_quad(float2 (&v)[32], int q, float4 x, float4 y, float4 h, float4 g)
{
    multiply_pair(v[2 * q], v[2 * q + 16], float2{x.x, x.y}, float2{h.x, h.y}, float2{y.x, y.y}, float2{g.x, g.y});
    multiply_pair(v[2 * q + 1], v[2 * q + 17], float2{x.z, x.w}, float2{h.z, h.w}, float2{y.z, y.w}, float2{g.z, g.w});
}

LW_DEVICE float4 pair_of(float2 a, float2 b) { return make_float4(a.x, a.y, b.x, b.y); }

/* A thread's spectrum that is kept for all filters. */
template <class B> struct KeptSpectrum {
    static constexpr int LEFT = B::N_QUADS - B::KEPT;
    float4 left[2 * LEFT];              /* values in registers; the others lie THREADS apart in shared memory */

    LW_DEVICE static float4 *own(unsigned char *memory)
    {
        int thread = threadIdx.x;
        opaque(thread);
        return (float4 *)(memory + B::SPECTRUM) + thread;
    }

    LW_DEVICE void keep(const float2 (&v)[32], unsigned char *memory)
    {
        float4 *const shared = own(memory);
#pragma unroll
        for (int q = 0; q < B::N_QUADS; ++q) {
            const float4 x = pair_of(v[2 * q], v[2 * q + 1]), y = pair_of(v[2 * q + 16], v[2 * q + 17]);
            if (q < B::KEPT) {
                shared[2 * q * B::THREADS] = x;
                shared[(2 * q + 1) * B::THREADS] = y;
            } else {
                left[2 * (q - B::KEPT)] = x;
                left[2 * (q - B::KEPT) + 1] = y;
            }
        }
    }
    LW_DEVICE void multiply(float2 (&v)[32], unsigned char *memory) const
    {
        const float4 *const shared = own(memory), *const filter = filter_of<B>(memory);
#pragma unroll
        for (int q = 0; q < B::N_QUADS; ++q) {
            const bool is_shared = q < B::KEPT;
            const float4 x = is_shared ? shared[2 * q * B::THREADS] : left[is_shared ? 0 : 2 * (q - B::KEPT)];
            const float4 y = is_shared ? shared[(2 * q + 1) * B::THREADS] : left[is_shared ? 0 : 2 * (q - B::KEPT) + 1];
            multiply_quad(v, q, x, y, filter[q * 2 * B::P], filter[(q + 8) * 2 * B::P]);
        }
    }
};

/* b <- a - u b */
LW_DEVICE void difference(float2 a, float2 &b, float2 u)
{
    const float2 p = {fmaf(-u.x, b.x, a.x), fmaf(-u.x, b.y, a.y)};
    b = {fmaf(u.y, b.y, p.x), fmaf(-u.y, b.x, p.y)};
}

/* P = 2, last stage of the way back: join the results of even and odd bins, value n1 = m + 16 r (mod 32) in v[m] of thread r, to
 * outputs. v[j] becomes output row t + 32 (j + 16 r), if ALL; v[16 + j] becomes the row 1024 further. */
template <class B, bool ALL> LW_DEVICE void join_halves(float2 (&v)[32], const unsigned char *memory)
{
    const AbreastThread thread = AbreastThread::own<B>();
    const int r = thread.r;
    const float4 *const joining = (const float4 *)(memory + B::JOINING) + thread.t;
#pragma unroll
    for (int j = 0; j < 16; j += 2) {
        const float4 pair = joining[j / 2 * 32];
#pragma unroll
        for (int i = j; i < j + 2; ++i) {
            const float2 own = v[i], u = i % 2 ? float2{pair.z, pair.w} : float2{pair.x, pair.y};
            const float2 other = {__shfl_xor_sync(0xffffffffu, v[16 + i].x, 16), __shfl_xor_sync(0xffffffffu, v[16 + i].y, 16)};
            const float2 even = {r ? other.x : own.x, r ? other.y : own.y};
            v[i] = even;
            v[16 + i] = {r ? own.y : other.x, r ? -own.x : other.y};        /* turned by a quarter if r = 1 */
            if constexpr (ALL)
                butterfly(v[i], v[16 + i], u);
            else
                difference(v[i], v[16 + i], u);
        }
    }
}

/* Store pair p of the thread's rows from row D on, the outputs; v has re and im swapped. WHOLE: all outputs are wanted. Out: the
 * type of a stored number. */
template <class B, int DISCARD, bool WHOLE, class Out>
LW_DEVICE void store_pairs(const float2 (&v)[32], const OlsArgs &a, const AbreastHop &hop, int f)
{
    constexpr int E = B::E, HALF = E / 2, FIRST = B::template first_stored<DISCARD>();
    const AbreastThread own = AbreastThread::own<B>();
    const int discard = DISCARD >= 0 ? DISCARD : a.discard;
    const int want = WHOLE ? 0 : time_slow_place<B::N, B::W>(a, hop.step, hop.group).want;
    const int column = hop.group * 2 * B::W + 2 * own.p, columns = WHOLE ? 2 : clamp_to(a.output_pitch - column, 2);
    int row = own.t + HALF * E * own.r + (FIRST < HALF || B::P == 1 ? E * FIRST : B::N / 2) - discard;
    Out *y = (Out *)a.output + f * a.plane + (hop.step * a.step + row) * a.output_pitch + column;
    const int64_t advance = E * a.output_pitch;
#pragma unroll
    for (int m = FIRST; m < E; ++m) {
        if (B::P > 1 && m == HALF && FIRST < HALF) {        /* rows 1024 further */
            row += HALF * E;
            y += HALF * advance;
        }
        const bool kept = DISCARD == E * FIRST || DISCARD == B::N / 2 || row >= 0;
        if (kept && (WHOLE || row < want))
            put_pair<WHOLE>(y, {v[m].y, v[m].x}, columns);
        row += E;
        y += advance;
    }
}

template <class B, int DISCARD, class Out>
LW_DEVICE void store_pairs(const float2 (&v)[32], const OlsArgs &a, const AbreastHop &hop, int f)
{
    if (hop.whole)
        store_pairs<B, DISCARD, true, Out>(v, a, hop, f);
    else
        store_pairs<B, DISCARD, false, Out>(v, a, hop, f);
}

/* Store the same pairs in a narrow type. */
template <class B, int DISCARD>
LW_DEVICE void store_narrow_pairs(float2 (&v)[32], const OlsArgs &a, const AbreastHop &hop, int f)
{
    constexpr int E = B::E, HALF = E / 2, FIRST = B::template first_stored<DISCARD>();
    narrow_all(v, a.narrow, [](int m) { return m >= FIRST; }, [&](int m, int part) {       /* re and im are swapped */
        const AbreastThread own = AbreastThread::own<B>();
        const int first = own.t + HALF * E * own.r - (DISCARD >= 0 ? DISCARD : a.discard);
        const int row = first + E * m + (B::P > 1 && m >= HALF ? HALF * E : 0);
        const int64_t column = hop.group * 2 * B::W + 2 * own.p + (part == 0 ? 1 : 0);
        return (unsigned)row < (unsigned)time_slow_place<B::N, B::W>(a, hop.step, hop.group).want && column < a.output_pitch;
    });
    with_words(a.narrow, [&](auto out) { store_pairs<B, DISCARD, decltype(out)>(v, a, hop, f); });
}

/* Read the thread's samples from the warp's rows, after loading them if they were not prefetched, and do the first transform. */
template <class B> LW_DEVICE void transform_samples(float2 (&v)[32], unsigned char *memory, const OlsArgs &a, const AbreastHop &hop)
{
    const bool prefetched = hop.prefetched;
    if (!prefetched)
        gather_rows<B>(memory, a, hop);
    else if (!hop.all)
        clear_missing<B>(memory, a, hop);
    __syncwarp();
    for (bool checked = !prefetched;; checked = true) {
        read_samples<B>(v, memory, hop.prefetched ? a.input_scalar : LW_FLOAT32);
        if constexpr (B::P > 1)
            dft<B::E, true>(v, splitting_twiddles<B>(memory));
        else
            dft<B::E, false>(v, (const float2 *)nullptr);
#pragma unroll
        for (int m = 0; m < B::E; ++m) {    /* opaque(): all results are computed before the first is tested. Else inputs and */
            opaque(v[m].x);                 /* results of the butterflies are alive at the same time, and registers spill */
            opaque(v[m].y);
        }
        if (checked || !__any_sync(0xffffffffu, !isfinite(v[0].x) || !isfinite(v[0].y)))
            return;
        clear_not_finite<B>(memory, a);
        __syncwarp();
    }
}

/* Multiply a spectrum that is not kept by the filter. */
template <class B> LW_DEVICE void multiply_once(float2 (&v)[32], const unsigned char *memory)
{
    const float4 *const filter = filter_of<B>(memory);
#pragma unroll
    for (int q = 0; q < B::N_QUADS; ++q)
        multiply_quad(v, q, pair_of(v[2 * q], v[2 * q + 1]), pair_of(v[2 * q + 16], v[2 * q + 17]), filter[q * 2 * B::P],
                      filter[(q + B::N_QUADS) * 2 * B::P]);
}

/* Start to copy the warp's part of the next segment, if there is one. The warp has read its rows for the last time. */
template <class B> LW_DEVICE void fetch_next(unsigned char *memory, const OlsArgs &a, const AbreastWork *next)
{
    __syncwarp();
    if (!next->exists)
        return;
    fetch_hop<B>(memory, a, next->hop);
    if (B::KEEP)
        fetch_filter<B>(memory, spectra_of<typename B::F>(a, next->step.begin));
}

/* Do the last transform, in turns, on values that all threads have written. next: after the last filter, next work; else NULL. */
template <class B>
LW_DEVICE void transform_in_turn(float2 (&v)[32], unsigned char *memory, const OlsArgs &a, const AbreastWork *next)
{
    const auto take = [&] {
        exchange_of<B>(memory).take_row(v);
        if (next)
            fetch_next<B>(memory, a, next);
    };
    const int turn = AbreastThread::own<B>().warp / (B::TURN / 32);
    const bool early = B::EARLY && turn >= B::TURNS / 2;
    if (early)
        take();
    if (turn > 0)
        barrier_of<2 * B::TURN>(turn);
    if (!early)
        take();
    if constexpr (B::P > 1)
        dft<B::E, true>(v, TurnedTable{backward_twiddles<B>(memory), AbreastThread::own<B>().r ? -1.0f : 1.0f});
    else
        dft<B::E, true>(v, backward_twiddles<B>(memory));
    const int done = AbreastThread::own<B>().warp / (B::TURN / 32);
    if (done + 1 < B::TURNS)
        arrive_at<2 * B::TURN>(done + 1);
}

template <int P, int W, bool KEEP, int DISCARD> __global__ void __launch_bounds__(32 * P * W, 1) ols_abreast(const OlsArgs a)
{
    using B = AbreastBlock<P, W, KEEP>;
    constexpr int E = B::E;
    static_assert(B::THREADS == 512 && 2 * P * W == 32 && (DISCARD < 0 || DISCARD % E == 0), "rows are dropped whole");
    extern __shared__ __align__(128) unsigned char memory[];

    if (threadIdx.x == 0) {
        AbreastWork::walk<B>(memory)->start(a, blockIdx.x);
        AbreastWork::at<B>(memory, 0)->template find<B>(a, AbreastWork::walk<B>(memory));
    }
    wait_for_predecessor();
    __syncthreads();
    if (!AbreastWork::at<B>(memory, 0)->exists)
        return;
    fetch_hop<B>(memory, a, AbreastWork::at<B>(memory, 0)->hop);
    fetch_filter<B>(memory, spectra_of<typename B::F>(a, AbreastWork::at<B>(memory, 0)->step.begin));
    fill_tables<B>(memory, (const float2 *)a.bank);
    __syncthreads();                    /* the tables are complete */
    float2 v[E];
    KeptSpectrum<B> kept;
    for (int slot = 0; AbreastWork::at<B>(memory, slot)->exists; slot ^= 1) {
        const AbreastWork *const work = AbreastWork::at<B>(memory, slot);
        wait_for_copies();
        __syncwarp();                   /* the warp's rows and its filter are there */
        transform_samples<B>(v, memory, a, work->hop);
        __syncwarp();                   /* the warp has read its rows */
        exchange_of<B>(memory).put_row(v);
        __syncthreads();                /* all threads have written their rows, and have ended the previous segment */
        if (threadIdx.x == 0)
            AbreastWork::at<B>(memory, slot ^ 1)->template find<B>(a, AbreastWork::walk<B>(memory));
        exchange_of<B>(memory).take_column(v);
        dft<E, true>(v, forward_twiddles<B>(memory));
        if constexpr (KEEP)
            kept.keep(v, memory);
#pragma unroll 1
        for (int f = KEEP ? work->step.begin : 0;; ++f) {
            if constexpr (KEEP) {
                if (f > work->step.begin) {
                    wait_for_copies();
                    __syncwarp();       /* the warp's part of the filter is there */
                }
                kept.multiply(v, memory);
                __syncwarp();           /* the warp has read its part of the filter */
                if (f + 1 < work->step.end)
                    fetch_filter<B>(memory, spectra_of<typename B::F>(a, f + 1));
            } else
                multiply_once<B>(v, memory);
            dft<E, false, true>(v, (const float2 *)nullptr);
            if (KEEP && f > work->step.begin)
                __syncthreads();        /* all threads have read the values of the previous filter */
            exchange_of<B>(memory).put_column(v);
            __syncthreads();            /* all threads have written their columns */
            const bool last = !KEEP || f + 1 >= work->step.end;
            transform_in_turn<B>(v, memory, a, last ? AbreastWork::at<B>(memory, slot ^ 1) : nullptr);
            if constexpr (P > 1)
                join_halves<B, (B::template first_stored<DISCARD>() < E / 2)>(v, memory);
            if (a.narrow.bytes > 0)
                store_narrow_pairs<B, DISCARD>(v, a, work->hop, f);
            else
                store_pairs<B, DISCARD, float>(v, a, work->hop, f);
            if (!KEEP || f + 1 >= work->step.end)
                break;
        }
    }
}
