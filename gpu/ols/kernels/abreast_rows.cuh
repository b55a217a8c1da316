/* abreast_rows.cuh - loading of samples for the kernel of abreast.cuh: numbers of threads, a block's next work, and the copy of
 * rows from global memory to the exchange region and from there to registers. */
#pragma once

#include "gpu/ols/kernels/interleaved.cuh"

/* Sizes, and offsets in shared memory in bytes: the exchange region, the filter, tables of twiddles, the kept spectrum, the block's
 * work. A thread's spectrum is N_QUADS quads of values, KEPT of which are kept in shared memory. */
template <int P_, int W_, bool KEEP_> struct AbreastBlock {
    static constexpr bool KEEP = KEEP_;
    static constexpr int P = P_, W = W_, E = 32, T = E * P, N = E * T, THREADS = T * W, ROWS = E * P;
    using F = Transform<float, E, P, Team<T, W>>;
    using Exchange = InterleavedExchange<F, W>;
    static constexpr int PITCH = Exchange::PITCH * 8, REGION = Exchange::BYTES;     /* bytes of a row, and of 32 rows */
    static constexpr int N_QUADS = 8, KEPT = P > 1 ? 4 : 5;
    static constexpr int FILTER = P * REGION, TWIDDLES = FILTER + N * 8, JOINING = TWIDDLES + N * 4;
    static constexpr int SPLITTING = JOINING + (P > 1 ? E * 16 * 8 : 0), SPECTRUM = SPLITTING + (P > 1 ? P * 16 * 8 : 0);
    static constexpr int WORK = SPECTRUM + (KEEP ? KEPT * 2 * 16 * THREADS : 0), SHARED_BYTES = WORK + 128;
    static constexpr int TURN = 128, TURNS = THREADS / TURN;
    static constexpr bool EARLY = !KEEP && P == 1;      /* later turns read their rows, and copy new samples, before they wait */

    /* Return the lowest m for which some thread stores v[m]. */
    template <int DISCARD> __host__ __device__ static constexpr int first_stored()
    {
        return P == 1 ? (DISCARD > 0 ? DISCARD / E : 0) : DISCARD >= N / 2 ? E / 2 : 0;
    }
};

/* Numbers of a thread (abreast.cuh). They are computed anew wherever they are needed, because no registers are left for them. */
struct AbreastThread {
    int t, r, p, warp, lane;

    template <class B> LW_DEVICE static AbreastThread own()
    {
        int thread = threadIdx.x;
        opaque(thread);
        const int lane = thread % 32, warp = thread / 32;
        return {2 * warp + lane % 2, lane / (2 * B::W), lane / 2 % B::W, warp, lane};
    }
};

/* A hop by its step on the axis and its group of channels, and facts that AbreastWork::find finds. */
struct AbreastHop {
    int step, group;
    bool prefetched;            /* its rows, as far as they exist, are copied to the exchange region ahead */
    bool all, whole;            /* if prefetched: all rows exist; all outputs are wanted */
};

/* Work of a block, in shared memory for lack of registers: one slot for the current segment, one for the next. One thread finds the
 * next work while the others compute between two barriers. */
struct AbreastWork {
    OlsStep step;
    AbreastHop hop;
    bool exists;

    template <class B> LW_DEVICE static AbreastWork *at(unsigned char *memory, int slot)
    {
        return (AbreastWork *)(memory + B::WORK) + slot;
    }
    template <class B> LW_DEVICE static OlsWalk *walk(unsigned char *memory) { return (OlsWalk *)at<B>(memory, 2); }

    template <class B> LW_DEVICE void find(const OlsArgs &a, OlsWalk *walk)
    {
        exists = walk->next(a, blockIdx.x, step);
        if (!exists)
            return;
        hop.step = step.segment / a.n_groups;
        hop.group = step.segment - hop.step * a.n_groups;
        const TimeSlowPlace place = time_slow_place<B::N, B::W>(a, hop.step, hop.group);
        hop.prefetched = has_whole_rows<B::W>(a, place);
        hop.all = hop.prefetched && a.lead == 0 && place.have == B::N;
        hop.whole = hop.prefetched && place.want == a.hop;
    }
};

/* Start to copy the warp's rows of samples. CHECKED: only rows that exist. from: first byte of row 0. */
template <class B, int VALUE_BYTES, bool CHECKED>
LW_DEVICE void fetch_rows(unsigned char *memory, const OlsArgs &a, const char *from, int have, const AbreastThread &own)
{
    constexpr int ROW = 2 * B::W * VALUE_BYTES, PIECES = ROW / 16, AT_ONCE = 32 / PIECES, STEP = AT_ONCE / 2;
    static_assert(ROW % 16 == 0 && AT_ONCE >= 2 && B::E % STEP == 0, "rows are copied by 16 bytes");
    const int piece = own.lane % PIECES, number = own.lane / PIECES, first = number / 2, t = 2 * own.warp + number % 2;
    const int64_t pitch = a.input_pitch * VALUE_BYTES;
    from += (t + B::E * first) * pitch + piece * 16;
    memory += t * B::PITCH + first * ROW + piece * 16;
#pragma unroll
    for (int m = 0; m < B::ROWS; m += STEP, from += B::E * STEP * pitch) {
        const int row = t + B::E * (first + m);
        if (!CHECKED || (row >= a.lead && row < have))
            copy_async(memory + m / B::E * B::REGION + m % B::E * ROW, from);
    }
}

template <class B, int VALUE_BYTES>
LW_DEVICE void fetch_rows(unsigned char *memory, const OlsArgs &a, const TimeSlowPlace &place, bool all, const AbreastThread &own)
{
    const char *const from = (const char *)a.input + place.input * VALUE_BYTES;
    if (all)
        fetch_rows<B, VALUE_BYTES, false>(memory, a, from, place.have, own);
    else
        fetch_rows<B, VALUE_BYTES, true>(memory, a, from, place.have, own);
}

/* Start to copy the warp's rows of a hop, if the hop is prefetched. */
template <class B> LW_DEVICE void fetch_hop(unsigned char *memory, const OlsArgs &a, const AbreastHop &hop)
{
    if (!hop.prefetched)
        return;
    const AbreastThread own = AbreastThread::own<B>();
    const TimeSlowPlace place = time_slow_place<B::N, B::W>(a, hop.step, hop.group);
    const bool all = hop.all;
    const int value_bytes = a.input_complex ? a.sample_bytes / 2 : a.sample_bytes;
    if (value_bytes == 1)
        fetch_rows<B, 1>(memory, a, place, all, own);
    else if (value_bytes == 2)
        fetch_rows<B, 2>(memory, a, place, all, own);
    else
        fetch_rows<B, 4>(memory, a, place, all, own);
}

/* Return the offset in the exchange region, in bytes, of pair p of row t + 32 m, whose values have value_bytes bytes each. */
template <class B> LW_DEVICE int pair_offset(const AbreastThread &own, int m, int value_bytes)
{
    return m / B::E * B::REGION + own.t * B::PITCH + (m % B::E * B::W + own.p) * 2 * value_bytes;
}

/* Set rows of a prefetched hop that do not exist to zero: in the first half of the rows by threads with r = 0, else r = 1. */
template <class B, class Pair> LW_DEVICE void clear_missing(unsigned char *memory, const OlsArgs &a, int have)
{
    const AbreastThread own = AbreastThread::own<B>();
    const int begin = own.r * B::E, end = begin + B::E;
    const auto clear = [&](int m) { *(Pair *)(memory + pair_offset<B>(own, m, sizeof(Pair) / 2)) = {}; };
#pragma unroll 1
    for (int m = begin; m < end && own.t + B::E * m < a.lead; ++m)
        clear(m);
#pragma unroll 1
    for (int m = end - 1; m >= begin && own.t + B::E * m >= have; --m)
        clear(m);
}

template <class B> LW_DEVICE void clear_missing(unsigned char *memory, const OlsArgs &a, const AbreastHop &hop)
{
    const int have = time_slow_place<B::N, B::W>(a, hop.step, hop.group).have;
    const int value_bytes = a.input_complex ? a.sample_bytes / 2 : a.sample_bytes;
    if (value_bytes == 1)
        clear_missing<B, uint16_t>(memory, a, have);
    else if (value_bytes == 2)
        clear_missing<B, uint32_t>(memory, a, have);
    else
        clear_missing<B, float2>(memory, a, have);
}

/* Load a hop that was not prefetched to the exchange region, as finite floats; zero where there is no sample. */
template <class B> LW_DEVICE void gather_rows(unsigned char *memory, const OlsArgs &a, const AbreastHop &hop)
{
    const AbreastThread own = AbreastThread::own<B>();
    const TimeSlowPlace place = time_slow_place<B::N, B::W>(a, hop.step, hop.group);
    const int first = (int)a.input_second * own.p, columns = min((int)a.input_second, place.in_columns - first);
    bool met = false;
    with_stored(a.input_scalar, [&](auto stored) {
        using Stored = decltype(stored);
        if constexpr (sizeof(Stored) <= 4) {
            const Stored *const x = (const Stored *)a.input + place.input + first;
#pragma unroll 4
            for (int m = own.r * B::E; m < (own.r + 1) * B::E; ++m) {
                const int row = own.t + B::E * m;
                const bool exists = row >= a.lead && row < place.have;
                float2 v = {0, 0};
                if (exists && columns > 0)
                    v.x = finite_of<Stored>(converted<float>(__ldg(x + row * a.input_pitch)), met);
                if (exists && columns > 1)
                    v.y = finite_of<Stored>(converted<float>(__ldg(x + row * a.input_pitch + 1)), met);
                *(float2 *)(memory + pair_offset<B>(own, m, 4)) = v;
            }
        }
    });
    if (met)
        *a.not_finite = 1;
}

/* Replace prefetched floats that are not finite by zero. */
template <class B> LW_DEVICE void clear_not_finite(unsigned char *memory, const OlsArgs &a)
{
    const AbreastThread own = AbreastThread::own<B>();
    bool met = false;
#pragma unroll 1
    for (int m = own.r * B::E; m < (own.r + 1) * B::E; ++m) {
        float2 *const pair = (float2 *)(memory + pair_offset<B>(own, m, 4));
        const float2 v = *pair;
        *pair = {finite_or_zero(v.x, met), finite_or_zero(v.y, met)};
    }
    if (met)
        *a.not_finite = 1;
}

template <class B, class Stored> LW_DEVICE void read_samples(float2 (&v)[B::E], const unsigned char *memory)
{
    struct alignas(2 * sizeof(Stored)) Pair { Stored x, y; };
    const AbreastThread own = AbreastThread::own<B>();
    const unsigned char *const from = memory + pair_offset<B>(own, 0, sizeof(Stored));
    const float sign = own.r == 0 ? 1.0f : -1.0f;
#pragma unroll
    for (int m = 0; m < B::E; ++m) {
        const Pair pair = ((const Pair *)from)[m * B::W];
        v[m] = {converted<float>(pair.x), converted<float>(pair.y)};
    }
    if constexpr (B::P > 1) {
        const unsigned char *second = from + B::REGION;
#pragma unroll
        for (int m = 0; m < B::E; ++m) {
            if (m % 8 == 0)
                opaque(second);         /* loads eight pairs at a time: registers do not suffice for all */
            const Pair pair = ((const Pair *)second)[m * B::W];
            v[m] = {fmaf(sign, converted<float>(pair.x), v[m].x), fmaf(sign, converted<float>(pair.y), v[m].y)};
        }
    }
}

/* Read the thread's samples from its warp's rows, which are of type `scalar`: the stored type, or float if they were gathered. */
template <class B>
LW_DEVICE void read_samples(float2 (&v)[B::E], const unsigned char *memory, enum lw_scalar scalar)
{
    switch (scalar) {                   /* the types that this kernel takes */
    case LW_INT8:   read_samples<B, int8_t>(v, memory); break;
    case LW_UINT8:  read_samples<B, uint8_t>(v, memory); break;
    case LW_INT16:  read_samples<B, int16_t>(v, memory); break;
    case LW_UINT16: read_samples<B, uint16_t>(v, memory); break;
    case LW_INT32:  read_samples<B, int32_t>(v, memory); break;
    default:        read_samples<B, float>(v, memory); break;
    }
}
