/* search.cuh - epilogues of the overlap-save kernels that search the series instead of storing it (signal/search.h).
 *
 *   FindCrossings   for each filter, each thread compares the largest of its outputs (of their squares if complex) with the limit,
 *                   in registers. Only if a thread of the warp reaches the limit are the outputs tested one by one, with their
 *                   sign. Only crossings are stored, and no barrier is needed
 *   KeepBest        shared memory has the strength of each output's best filter so far: E values per thread, in 16-byte accesses
 *                   of adjacent words. A stronger output is written to the arrays with its filter's number; the arrays begin as
 *                   NaN and -1. One block must process all filters of a segment. (Keeping the numbers in shared memory until all
 *                   filters are done took 6% longer.) A search that goes on begins with the strengths of what the arrays hold
 *
 * Outputs may have any size. FindCrossings: if a scale's square might overflow or underflow, all outputs are tested one by one.
 * KeepBest: complex outputs are divided by the size of the segment's spectrum, and by that of the filters, before they are squared.
 * Both are powers of two, so that the order of two outputs does not depend on the filters that are searched together. */
#pragma once

#include "gpu/device/search.cuh"
#include "gpu/ols/kernels/time_slow.cuh"

/* Places of the two series of a segment, or of its only series. */
struct SearchPlace {
    int64_t index[2];               /* axis index of the first output */
    int64_t output[2];              /* place of the first output in the arrays of the best filter */
    int64_t channel[2];             /* channel in the data set */
    int want[2];                    /* wanted outputs */
};

LW_DEVICE int row_of(const OlsArgs &a, int segment) { return segment < a.n_steps ? 0 : segment / a.n_steps; }

template <bool PAIRED> LW_DEVICE SearchPlace search_place(const OlsArgs &a, const OlsPlace &p, int segment)
{
    const int row = row_of(a, segment);
    const bool channels = PAIRED && !a.pairs_hops;
    SearchPlace s;
    s.index[0] = a.search.index + p.first;
    s.index[1] = s.index[0] + (a.pairs_hops ? a.hop : 0);
    s.channel[0] = a.search.channel + (channels ? 2 * (int64_t)row : row);
    s.channel[1] = s.channel[0] + (channels && p.want[1] > 0 ? 1 : 0);
    s.output[0] = p.output;
    s.output[1] = p.output + a.output_second;
    s.want[0] = p.want[0];
    s.want[1] = p.want[1];
    return s;
}

/* Return the places for time slow. number: the team's transform; beyond the last channel no output is wanted (channel: 0). */
template <bool PAIRED> LW_DEVICE SearchPlace search_place(const OlsArgs &a, const TimeSlowPlace &p, int row, int number)
{
    const int64_t first = row * a.step, channel = (int64_t)number * (PAIRED ? 2 : 1);
    const bool has[2] = {channel < a.n_channels, PAIRED && channel + 1 < a.n_channels};
    SearchPlace s;
    for (int part = 0; part < 2; ++part) {
        s.index[part] = a.search.index + first;
        s.channel[part] = a.search.channel + (has[part] ? channel + part : 0);
        s.output[part] = first * a.n_channels + channel + part;
        s.want[part] = has[part] ? p.want : 0;
    }
    return s;
}

template <class Real> LW_DEVICE Real scale_at(const OlsArgs &a, int64_t channel, int f)
{
    return __ldg((const Real *)a.search.scales + channel * a.search.pitch + a.search.table.filter + f);
}

/* ---- crossings ----------------------------------------------------------------------------------------------------- */

/* Return whether one of the thread's outputs may be a crossing; v has re and im swapped. */
template <class F, int DISCARD, bool PAIRED>
LW_DEVICE bool may_cross(const typename F::C (&v)[F::E], const OlsArgs &a, typename F::Real scale, typename F::Real second_scale)
{
    using Real = typename F::Real;
    constexpr Real NEAR = sizeof(Real) == 4 ? (Real)(1 - 0x1p-17) : (Real)(1 - 0x1p-45);
    constexpr Real MOST = sizeof(Real) == 4 ? (Real)0x1p60 : (Real)0x1p500;
    const int discard = DISCARD >= 0 ? DISCARD : a.discard;
    Real largest = 0, second = 0;
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        if (F::T * m < discard)
            continue;
        if (PAIRED) {
            largest = max(largest, size_of(v[m].y));
            second = max(second, size_of(v[m].x));
        } else
            largest = max(largest, fma(v[m].y, v[m].y, v[m].x * v[m].x));
    }
    if (PAIRED)
        return largest * scale >= NEAR || second * second_scale >= NEAR;
    return scale > 0 && (scale * MOST < 1 || scale > MOST || largest * (scale * scale) >= NEAR);
}

/* Return v[m] for an m that is not a constant. The chain of selections lets v stay in registers. */
template <class C, int E> LW_DEVICE C picked(const C (&v)[E], int m)
{
    C c = v[0];
#pragma unroll
    for (int j = 1; j < E; ++j)
        if (m == j)
            c = v[j];
    return c;
}

template <class F, bool PAIRED>
LW_DEVICE void report_crossings(const typename F::C (&v)[F::E], const OlsArgs &a, const SearchPlace &s, unsigned mask, int part,
                                int f, int t)
{
    const lw_crossings &table = a.search.table;
    while (mask) {
        const int m = __ffs(mask) - 1, i = F::T * m + t - a.discard;
        const int64_t index = s.index[part] + i;
        const typename F::C c = picked(v, m);
        mask &= mask - 1;
        if (i >= s.want[part] || index < table.first || index >= table.end)
            continue;
        if constexpr (PAIRED) {
            const typename F::Real y = part ? c.x : c.y;
            if (has_sign(table.sign, y))
                append_crossing(table.rows, table.most_rows, table.n_rows, index, s.channel[part], table.filter + f, y);
        } else
            append_crossing(table.rows, table.most_rows, table.n_rows, index, s.channel[part], table.filter + f,
                            typename F::C{c.y, c.x});
    }
}

template <class F, bool PAIRED>
LW_DEVICE void find_crossings(const typename F::C (&v)[F::E], const OlsArgs &a, const SearchPlace &s, typename F::Real scale,
                              typename F::Real second_scale, int f, int t)
{
    unsigned first = 0, second = 0;
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        const unsigned bit = F::T * m >= a.discard ? 1u << m : 0;
        if constexpr (PAIRED) {
            first |= crosses(v[m].y, scale) ? bit : 0;
            second |= crosses(v[m].x, second_scale) ? bit : 0;
        } else
            first |= crosses(v[m], scale) ? bit : 0;
    }
    report_crossings<F, PAIRED>(v, a, s, first, 0, f, t);
    if (PAIRED)
        report_crossings<F, PAIRED>(v, a, s, second, 1, f, t);
}

/* Epilogue, time fast. If there may be crossings, the segment's place is computed anew: the transform needs the registers. */
struct FindCrossings : Epilogue {
    static constexpr bool FINDS = true;
    int segment, channels[2];           /* channels: numbers in the block */

    template <class F, int DISCARD, bool PAIRED>
    LW_DEVICE void begin(const typename F::C (&)[F::E], typename F::C *, const OlsArgs &a, const OlsPlace &p, int segment_, int)
    {
        const SearchPlace s = search_place<PAIRED>(a, p, segment_);
        segment = segment_;
        channels[0] = (int)(s.channel[0] - a.search.channel);
        channels[1] = (int)(s.channel[1] - a.search.channel);
    }

    template <class F, int DISCARD, bool PAIRED>
    LW_DEVICE void finish(typename F::C (&v)[F::E], const F &fft, typename F::C *shared, const OlsArgs &a, const OlsPlace &,
                          bool, int f, int t)
    {
        using Real = typename F::Real;
        const int64_t channel = a.search.channel;
        const Real scale = scale_at<Real>(a, channel + channels[0], f);
        const Real second = PAIRED ? scale_at<Real>(a, channel + channels[1], f) : scale;
        fft.end_backward(v, shared, t);
        if (!__any_sync(0xffffffffu, may_cross<F, DISCARD, PAIRED>(v, a, scale, second)))
            return;
        int late = segment;
        opaque(late);
        const SearchPlace s = search_place<PAIRED>(a, place_of<F::N, PAIRED>(a, late), late);
        find_crossings<F, PAIRED>(v, a, s, scale, second, f, t);
    }
};

/* Epilogue, time slow, that finds crossings. PAIRED: each transform has two real channels. */
template <bool PAIRED> struct FindInChannels : ChannelEpilogue {
    static constexpr bool FINDS = true;

    template <class F, int W>
    LW_DEVICE void finish(typename F::C (&v)[F::E], unsigned char *, typename F::C *, const OlsArgs &a, const TimeSlowPlace &p,
                          int row, int group, int f, int t)
    {
        using Real = typename F::Real;
        const int number = group * W + (int)threadIdx.x / F::T;
        const SearchPlace channels = search_place<PAIRED>(a, p, row, number);
        const Real scale = scale_at<Real>(a, channels.channel[0], f);
        const Real second = PAIRED ? scale_at<Real>(a, channels.channel[1], f) : scale;
        if (!__any_sync(0xffffffffu, may_cross<F, -1, PAIRED>(v, a, scale, second)))
            return;
        int late = row;
        opaque(late);
        const SearchPlace s = search_place<PAIRED>(a, time_slow_place<F::N, W>(a, late, group), late, number);
        find_crossings<F, PAIRED>(v, a, s, scale, second, f, t);
    }
};

/* ---- the best filter ----------------------------------------------------------------------------------------------- */

/* Bytes of a team's strengths in shared memory: of the first series, then of the second. */
template <class F, bool PAIRED> constexpr int STRENGTH_BYTES = F::N * (PAIRED ? 2 : 1) * (int)sizeof(typename F::Real);

template <class Real> struct alignas(16) Strengths {
    static constexpr int N = 16 / (int)sizeof(Real);
    Real s[N];
};

/* Return the largest |re| or |im| of the team's values. If the team is more than a warp, its exchange regions are overwritten. */
template <class F> LW_DEVICE typename F::Real largest_part(const typename F::C (&v)[F::E], typename F::C *shared, int t)
{
    using Real = typename F::Real;
    Real largest = 0;
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        largest = max(largest, max(size_of(v[m].x), size_of(v[m].y)));
    for (int other = 16; other > 0; other /= 2)
        largest = max(largest, __shfl_xor_sync(0xffffffffu, largest, other));
    if constexpr (F::T > 32) {
        static_assert(F::P > 1, "the way back begins with a barrier");
        Real *const warps = (Real *)shared;
        F::Team::sync();                /* the team has read its regions */
        if (t % 32 == 0)
            warps[t / 32] = largest;
        F::Team::sync();
        for (int warp = 0; warp < F::T / 32; ++warp)
            largest = max(largest, warps[warp]);
    }
    return largest;
}

/* Return the power of two that keeps squares of complex outputs in range. kept: the segment's spectrum. */
template <class F, bool PAIRED>
LW_DEVICE typename F::Real strength_factor(const typename F::C (&kept)[F::E], typename F::C *shared, const OlsArgs &a,
                                           int64_t channel, int t)
{
    using Real = typename F::Real;
    if (PAIRED)
        return 1;
    const Real power = __ldg((const Real *)a.search.scales + (channel + 1) * a.search.pitch - a.search.first - 1);
    return power * (Real)ldexp((Real)1, -exponent_of(largest_part<F>(kept, shared, t)));
}

/* Set the strengths of the outputs that the arrays hold. Each thread sets its own. */
template <class F, bool PAIRED>
LW_DEVICE void recall_strengths(typename F::Real *strengths, const OlsArgs &a, const SearchPlace &s, typename F::Real factor,
                                int64_t pitch, int t)
{
    using Real = typename F::Real;
    constexpr int EACH = Strengths<Real>::N;
#pragma unroll
    for (int part = 0; part < (PAIRED ? 2 : 1); ++part)
#pragma unroll 1
        for (int m = 0; m < F::E; ++m) {
            const int i = F::T * m + t - a.discard;
            const int64_t at = s.output[part] + i * pitch;
            if (i < 0 || i >= s.want[part] || s.index[part] + i < a.search.table.first || a.search.filters[at] < 0)
                continue;
            const Real scale = factor * scale_at<Real>(a, s.channel[part], a.search.filters[at] - a.search.first);
            Real *const to = strengths + part * F::N + F::T * (m / EACH * EACH) + t * EACH + m % EACH;
            if constexpr (PAIRED)
                *to = compared(((const Real *)a.search.values)[at], scale, a.search.table.sign);
            else
                *to = compared(((const typename F::C *)a.search.values)[at], SplitScale<Real>(scale));
        }
}

/* Initialise the strengths: those of earlier filters' outputs, else -infinity; +infinity where no output is wanted, since nothing
 * is stronger. */
template <class F, bool PAIRED>
LW_DEVICE void begin_strengths(typename F::Real *strengths, const OlsArgs &a, const SearchPlace &s, typename F::Real factor,
                               int64_t pitch, int t)
{
    using Real = typename F::Real;
    using Vector = Strengths<Real>;
    const int from[2] = {clamp_to(a.search.table.first - s.index[0], F::N), clamp_to(a.search.table.first - s.index[1], F::N)};
#pragma unroll
    for (int part = 0; part < (PAIRED ? 2 : 1); ++part)
#pragma unroll
        for (int m = 0; m < F::E; m += Vector::N) {
            Vector v;
#pragma unroll
            for (int j = 0; j < Vector::N; ++j) {
                const int i = F::T * (m + j) + t - a.discard;
                v.s[j] = (Real)(i >= from[part] && i < s.want[part] ? -CUDART_INF : CUDART_INF);
            }
            *(Vector *)(strengths + part * F::N + F::T * m + t * Vector::N) = v;
        }
    if (a.search.goes_on)
        recall_strengths<F, PAIRED>(strengths, a, s, factor, pitch, t);
}

/* Replace the best output so far, whose strength is `before`, by y of filter f if `strength` is larger. */
template <class Value, class Real>
LW_DEVICE void improve(Real strength, Real before, Real *best, Value *value, int32_t *number, Value y, int f)
{
    if (strength > before) {
        *best = strength;
        *value = y;
        *number = f;
    }
}

/* Places of a thread's best outputs, of one or two series. */
template <class Value, class Real> struct BestPlace {
    Real *strengths;                /* shared memory */
    Value *values[2];               /* best outputs */
    int32_t *numbers[2];            /* numbers of the best filters */
    int64_t pitch;                  /* distance from output to output in values and numbers */
};

template <class F, bool PAIRED>
LW_DEVICE auto best_place(const OlsArgs &a, const int64_t (&output)[2], typename F::Real *strengths, int64_t pitch, int discard,
                          int t)
{
    using Value = typename std::conditional<PAIRED, typename F::Real, typename F::C>::type;
    BestPlace<Value, typename F::Real> place = {strengths + t * Strengths<typename F::Real>::N, {}, {}, pitch};
    for (int part = 0; part < 2; ++part) {
        const int64_t first = output[part] + (t - discard) * pitch;
        place.values[part] = (Value *)a.search.values + first;
        place.numbers[part] = a.search.filters + first;
    }
    return place;
}

/* Compare the complex outputs v (re and im swapped) of filter f with the best so far. IS_SAFE: the scale's power is 1. The
 * strengths of the next rows are loaded before the branch, which hides their latency. */
template <class F, bool IS_SAFE, class C, class Real>
LW_DEVICE void improve_complex(const C (&v)[F::E], const BestPlace<C, Real> &place, SplitScale<Real> scale, int discard, int f)
{
    using Vector = Strengths<Real>;
    if (IS_SAFE)
        scale.power = 1;
    Vector next = *(const Vector *)place.strengths;
#pragma unroll
    for (int m = 0; m < F::E; m += Vector::N) {
        const Vector before = next;
        if (m + Vector::N < F::E)
            next = *(const Vector *)(place.strengths + F::T * (m + Vector::N));
        if (F::T * (m + Vector::N - 1) < discard)
            continue;
#pragma unroll
        for (int j = 0; j < Vector::N; ++j) {
            const int64_t k = F::T * (m + j) * place.pitch;
            const C c = v[m + j];
            const Real strength = compared(C{c.y, c.x}, scale);
            improve(strength, before.s[j], place.strengths + F::T * m + j, place.values[0] + k, place.numbers[0] + k, C{c.y, c.x},
                    f);
        }
    }
}

/* Compare the outputs of a pair with the best so far. SIGNED: y scale counts, where scale < 0 if the negative sign is sought. */
template <class F, bool SIGNED, class C, class Real>
LW_DEVICE void improve_pair(const C (&v)[F::E], const BestPlace<Real, Real> &place, Real scale, Real second_scale, int discard,
                            int f)
{
    using Vector = Strengths<Real>;
#pragma unroll
    for (int m = 0; m < F::E; m += Vector::N) {
        if (F::T * (m + Vector::N - 1) < discard)
            continue;
        Real *const best = place.strengths + F::T * m;
        const Vector before = *(const Vector *)best, second_before = *(const Vector *)(best + F::N);
#pragma unroll
        for (int j = 0; j < Vector::N; ++j) {
            if (F::T * (m + j) < discard)
                continue;
            const int64_t k = F::T * (m + j) * place.pitch;
            const C c = v[m + j];
            const Real strength = (SIGNED ? c.y : size_of(c.y)) * scale, second = (SIGNED ? c.x : size_of(c.x)) * second_scale;
            improve(strength, before.s[j], best + j, place.values[0] + k, place.numbers[0] + k, c.y, f);
            improve(second, second_before.s[j], best + F::N + j, place.values[1] + k, place.numbers[1] + k, c.x, f);
        }
    }
}

/* Compare all outputs of filter f with the best so far. |y| scale is about 1, and at most N. */
template <class F, int DISCARD, bool PAIRED>
LW_DEVICE void improve_best(const typename F::C (&v)[F::E], const OlsArgs &a, const int64_t (&output)[2],
                            typename F::Real *strengths, typename F::Real scale, typename F::Real second_scale, int64_t pitch,
                            int f, int t)
{
    using Real = typename F::Real;
    const int discard = DISCARD >= 0 ? DISCARD : a.discard;
    const auto place = best_place<F, PAIRED>(a, output, strengths, pitch, discard, t);
    f += a.search.first;
    if constexpr (PAIRED) {
        const Real sign = a.search.table.sign == LW_SIGN_NEGATIVE ? -1 : 1;
        if (a.search.table.sign != LW_SIGN_BOTH)
            improve_pair<F, true>(v, place, sign * scale, sign * second_scale, discard, f);
        else
            improve_pair<F, false>(v, place, scale, second_scale, discard, f);
    } else {
        const SplitScale<Real> split(scale);
        if (split.power == 1)
            improve_complex<F, true>(v, place, split, discard, f);
        else
            improve_complex<F, false>(v, place, split, discard, f);
    }
}

/* Epilogue, time fast. The strengths lie behind the team's exchange regions. Scales are found once a segment, and addresses
 * behind the transform, which needs the registers. */
template <class Real> struct KeepBest : Epilogue {
    static constexpr bool FINDS = true;
    Real factor;
    int64_t output;
    const void *scales;
    int later;                          /* places from a scale to that of the second series */

    template <class F> LW_DEVICE static Real *strengths_of(typename F::C *shared)
    {
        static_assert(F::T >= 32, "a team a block");
        return (Real *)((unsigned char *)shared + F::SHARED_BYTES);
    }

    template <class F, int DISCARD, bool PAIRED>
    LW_DEVICE void begin(const typename F::C (&kept)[F::E], typename F::C *shared, const OlsArgs &a, const OlsPlace &p,
                         int segment, int t)
    {
        const SearchPlace s = search_place<PAIRED>(a, p, segment);
        output = s.output[0];
        scales = (const Real *)a.search.scales + s.channel[0] * a.search.pitch + a.search.table.filter;
        later = s.channel[1] > s.channel[0] ? (int)a.search.pitch : 0;
        factor = strength_factor<F, PAIRED>(kept, shared, a, s.channel[0], t);
        begin_strengths<F, PAIRED>(strengths_of<F>(shared), a, s, factor, 1, t);
    }

    template <class F, int DISCARD, bool PAIRED>
    LW_DEVICE void finish(typename F::C (&v)[F::E], const F &fft, typename F::C *shared, const OlsArgs &a, const OlsPlace &,
                          bool, int f, int t)
    {
        const Real scale = __ldg((const Real *)scales + f), second = PAIRED ? __ldg((const Real *)scales + (f + later)) : scale;
        fft.end_backward(v, shared, t);
        int64_t late = output;
        opaque(late);
        const int64_t outputs[2] = {late, late + a.output_second};
        improve_best<F, DISCARD, PAIRED>(v, a, outputs, strengths_of<F>(shared), scale * factor, second * factor, 1, f, t);
    }
};

/* Epilogue, time slow, that keeps the best filter. The strengths of all teams lie behind all regions. */
template <class Real, bool PAIRED, int W> struct KeepBestOfChannels : ChannelEpilogue {
    static constexpr bool FINDS = true;
    Real factor;

    template <class F> LW_DEVICE static Real *strengths_of(unsigned char *memory)
    {
        return (Real *)(memory + TimeSlowBlock<F, W>::SHARED_BYTES + (int)threadIdx.x / F::T * STRENGTH_BYTES<F, PAIRED>);
    }

    LW_DEVICE static SearchPlace place(const OlsArgs &a, const TimeSlowPlace &p, int row, int group, int team)
    {
        return search_place<PAIRED>(a, p, row, group * W + team);
    }

    template <class F>
    LW_DEVICE void begin(const typename F::C (&kept)[F::E], typename F::C *own, unsigned char *memory, const OlsArgs &a,
                         const TimeSlowPlace &p, int row, int group, int t)
    {
        const SearchPlace s = place(a, p, row, group, (int)threadIdx.x / F::T);
        factor = strength_factor<F, PAIRED>(kept, own, a, s.channel[0], t);
        begin_strengths<F, PAIRED>(strengths_of<F>(memory), a, s, factor, a.n_channels, t);
    }

    template <class F, int>
    LW_DEVICE void finish(typename F::C (&v)[F::E], unsigned char *memory, typename F::C *, const OlsArgs &a,
                          const TimeSlowPlace &p, int row, int group, int f, int t)
    {
        const SearchPlace s = place(a, p, row, group, (int)threadIdx.x / F::T);
        const Real scale = scale_at<Real>(a, s.channel[0], f), second = PAIRED ? scale_at<Real>(a, s.channel[1], f) : scale;
        int64_t pitch = a.n_channels;
        opaque(pitch);
        improve_best<F, -1, PAIRED>(v, a, s.output, strengths_of<F>(memory), scale * factor, second * factor, pitch, f, t);
    }
};
