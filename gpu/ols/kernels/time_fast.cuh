/* time_fast.cuh - overlap-save kernel, time fast: load and transform a segment, then per filter multiply, transform back, store.
 *
 *     X = FFT(x[start .. start + N))                          start = j hop - (D - (M - 1))
 *     y[f][j hop + i] = IFFT(X H[f])[D + i],  0 <= i < hop    D >= M - 1: the first D values of the result are dropped
 *
 * A team of T = E P threads takes one segment, or two real segments as re and im. As taps are then real, too, re and im of the
 * result are the outputs of the two. A team is a thread block; if T = 16, a block of one warp holds two teams. Thread t holds the
 * values t + T m, m < E, of segment and output, and the bins bin(t) + T m. So a warp's accesses to global memory are contiguous
 * (128 or 256 bytes), nothing is reordered, and the spectrum X stays in registers during the loop over filters. The bank has H in
 * the threads' order, divided by N; threads read it through L1 in 16-byte loads.
 *
 * Shared memory only serves the exchanges of the transform: P regions without bank conflicts (gpu/device/fft.cuh), 8704 bytes each
 * for float, E = 32. Several blocks share an SM: one computes while another waits for samples or an exchange. For the longest
 * segments, where only one block fits, there is decoupled.cuh.
 *
 * The product is fused with the first butterflies of the way back, where re and im are swapped (gpu/device/fft.cuh). A row of the
 * result is the values of one m. Rows below D are neither computed nor stored; D is the constant DISCARD if that is >= 0. A sample
 * that is not finite spoils every bin: each thread checks one bin, and if one is not finite, all load again with zeros instead. */
#pragma once

#include "gpu/device/narrow.cuh"
#include "gpu/device/stored.cuh"
#include "gpu/ols/kernels/launch.h"

/* One step of a thread block's work: filters begin .. end - 1 of one segment (or pair). */
struct OlsStep {
    int segment, begin, end;
};

/* Iterator over the steps of a thread block. Each block first takes n_passes whole segments, n_blocks apart; the first n_whole
 * blocks then take one more. The other blocks share the remaining (segment, filter) units: `share` each, the first n_larger +1. */
struct OlsWalk {
    int pass, n_passes, unit, unit_end;

    LW_DEVICE void start(const OlsArgs &a, int block)
    {
        const bool whole = block < a.n_whole;
        const int number = block - a.n_whole;
        pass = 0;
        n_passes = a.n_passes + (whole ? 1 : 0);
        unit = whole ? 0 : number * a.share + min(number, a.n_larger);
        unit_end = whole ? 0 : unit + a.share + (number < a.n_larger ? 1 : 0);
    }

    LW_DEVICE bool next(const OlsArgs &a, int block, OlsStep &step)
    {
        if (pass < n_passes) {
            step = {block + pass * a.n_blocks, 0, a.n_filters};
            ++pass;
            return true;
        }
        if (unit >= unit_end)
            return false;
        const int segment = unit / a.n_filters, begin = unit - segment * a.n_filters;
        const int end = min(a.n_filters, begin + unit_end - unit);
        step = {a.n_passes * a.n_blocks + a.n_whole + segment, begin, end};
        unit += end - begin;
        return true;
    }
};

/* Move on from (row, place), by `rows` rows and `places` places, in rows of `length` places; places < length. */
LW_DEVICE void move_on(int &row, int &place, int rows, int places, int length)
{
    row += rows;
    place += places;
    if (place >= length) {
        place -= length;
        ++row;
    }
}

/* Place of a segment (or pair) in the block's input and output. */
struct OlsPlace {
    int64_t input, output;          /* indices of sample 0 and, at rate 1, of the first output of filter 0, in samples */
    int64_t first;                  /* number of this output in its row */
    int have[2], want[2];           /* samples lead .. have - 1 exist and outputs 0 .. want - 1 are wanted, for each segment */
};

LW_DEVICE int clamp_to(int64_t x, int most) { return (int)(x < 0 ? 0 : x < most ? x : most); }

template <int N, bool PAIRED> LW_DEVICE OlsPlace place_at(const OlsArgs &a, int row, int step, bool exists = true)
{
    const int64_t first = (int64_t)step * a.step, start = first - a.lead;
    OlsPlace p;
    p.input = row * a.input_pitch + start;
    p.output = row * a.output_pitch + first;
    p.first = first;
    const int64_t have = exists ? a.input_row - start : 0, want = exists ? a.count - first : 0;
    p.have[0] = clamp_to(have, N);
    p.want[0] = clamp_to(want, a.hop);
    if (PAIRED) {
        const int64_t later = a.pairs_hops ? a.hop : 0;
        const bool second = a.pairs_hops || 2 * row + 1 < a.n_channels;
        p.have[1] = second ? clamp_to(have - later, N) : 0;
        p.want[1] = second ? clamp_to(want - later, a.hop) : 0;
    } else {
        p.have[1] = p.have[0];
        p.want[1] = p.want[0];
    }
    return p;
}

template <int N, bool PAIRED> LW_DEVICE OlsPlace place_of(const OlsArgs &a, int segment)
{
    int row = 0, step = segment;
    if (segment >= a.n_steps) {         /* the division takes long and is rarely needed */
        row = segment / a.n_steps;
        step = segment - row * a.n_steps;
    }
    return place_at<N, PAIRED>(a, row, step, segment < a.n_segments);
}

/* Load v[m] = sample t + T m, zero if it does not exist. CHECKED: any sample may not exist, and samples that are not finite become
 * zero; return whether there were any. Otherwise all samples exist, but for the first `lead` <= LEAD ones. */
template <class F, class Stored, bool PAIRED, bool COMPLEX, bool CHECKED, int LEAD>
LW_DEVICE bool load_segment(typename F::C (&v)[F::E], const OlsArgs &a, const OlsPlace &p, int t)
{
    using Real = typename F::Real;
    const Stored *x = (const Stored *)a.input + (p.input + t) * (COMPLEX ? 2 : 1);
    const Stored *second = x + a.input_second;
    opaque(x);
    int lead = a.lead, have[2] = {p.have[0], p.have[1]};
    opaque(second);         /* opaque() keeps the compiler from computing addresses for all types before the branch on the type, */
    if (CHECKED) {          /* and limits of a segment even where nothing is checked */
        opaque(lead);
        opaque(have[0]);
        opaque(have[1]);
    }
    bool met = false;
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        const int k = F::T * m, i = k + t;
        v[m] = {0, 0};
        const bool led = k >= LEAD || i >= lead;
        if constexpr (PAIRED) {
            if (led && (!CHECKED || i < have[0]))
                v[m].x = converted<Real>(__ldg(x + k));
            if (led && (!CHECKED || i < have[1]))
                v[m].y = converted<Real>(__ldg(second + k));
        } else if (led && (!CHECKED || i < have[0]))
            v[m] = stored_pair<Real, Stored, COMPLEX>(x, k);
        if (CHECKED) {
            v[m].x = finite_or_zero(v[m].x, met);
            v[m].y = finite_or_zero(v[m].y, met);
        }
    }
    return met;
}

template <class F, bool PAIRED, bool CHECKED, int LEAD>
LW_DEVICE bool load_segment(typename F::C (&v)[F::E], const OlsArgs &a, const OlsPlace &p, int t)
{
    return with_sample<!PAIRED>(a.input_scalar, a.input_complex, [&](auto stored, auto is_complex) {
        return load_segment<F, decltype(stored), PAIRED, decltype(is_complex)::value, CHECKED, LEAD>(v, a, p, t);
    });
}

/* Load a segment and transform it. LEAD: a constant that no a.lead exceeds. */
template <class F, bool PAIRED, int LEAD = F::N>
LW_DEVICE void transform_segment(typename F::C (&v)[F::E], const F &fft, const OlsArgs &a, const OlsPlace &p,
                                 typename F::C *shared, int t)
{
    bool checked = min(p.have[0], p.have[1]) < F::N;
    for (bool again = false;; again = true, checked = true) {
        if (checked) {
            if (load_segment<F, PAIRED, true, LEAD>(v, a, p, t))
                *a.not_finite = 1;
        } else
            load_segment<F, PAIRED, false, LEAD>(v, a, p, t);
        fft.forward(v, shared, t);
        if (!F::Team::any(!isfinite(v[0].x) || !isfinite(v[0].y)) || again)
            return;
    }
}

/* Compute v = X H and the first butterflies of the way back. bank: H; SHARED: in shared memory. */
template <class F, bool SHARED = false>
LW_DEVICE void multiply(float2 (&v)[F::E], const float2 (&x)[F::E], const float2 *bank, int t)
{
    constexpr int E = F::E, T = F::T;
    const float4 *h = (const float4 *)bank + t;
#pragma unroll
    for (int m = 0; m < E / 2; m += 2) {
        const float4 *const lower = h + m / 2 * T, *const upper = lower + E / 4 * T;
        const float4 low = SHARED ? *lower : __ldg(lower), high = SHARED ? *upper : __ldg(upper);
        const float2 a = x[m], b = x[m + E / 2], c = x[m + 1], d = x[m + 1 + E / 2];
        multiply_pair(v[m], v[m + E / 2], a, {low.x, low.y}, b, {high.x, high.y});
        multiply_pair(v[m + 1], v[m + 1 + E / 2], c, {low.z, low.w}, d, {high.z, high.w});
    }
}

template <class F>
LW_DEVICE void multiply(double2 (&v)[F::E], const double2 (&x)[F::E], const double2 *bank, int t)
{
    constexpr int E = F::E, T = F::T;
#pragma unroll
    for (int m = 0; m < E / 2; ++m) {
        const double2 a = x[m], b = x[m + E / 2];
        multiply_pair(v[m], v[m + E / 2], a, __ldg(bank + t + m * T), b, __ldg(bank + t + (m + E / 2) * T));
    }
}

/* Return bin(t), the bin of thread t's value 0 of a spectrum: see gpu/device/fft.cuh. */
template <class F> LW_DEVICE int first_bin(int t) { return F::P * (t % F::E) + t / F::E; }

/* Return the bin of value i of a spectrum in the order that `multiply` reads. A 16-byte load has one or two values of a thread. */
template <class F> LW_DEVICE int bin_of(int i)
{
    constexpr int EACH = 16 / (int)sizeof(typename F::C);
    const int m = i / (EACH * F::T) * EACH + i % EACH, t = i / EACH % F::T;
    return first_bin<F>(t) + F::T * m;
}

/* Return a bound of a.lead = D - (M - 1). If D is chosen at run time, a.lead is less than a row, T. */
template <class F> __host__ __device__ constexpr int lead_of(int discard) { return discard < 0 ? F::T : discard; }

template <class F> LW_DEVICE const typename F::C *spectra_of(const OlsArgs &a, int f)
{
    return (const typename F::C *)a.bank + a.spectra + (int64_t)f * F::N;
}

/* Store output i of a segment at y[at], or of both segments of a pair at y[at] and second[at]. WHOLE: all outputs are wanted. Else
 * i may be negative, and such an output is not wanted. */
template <bool PAIRED, bool WHOLE, class C, class Out>
LW_DEVICE void put_output(Out *y, Out *second, int at, const OlsPlace &p, int i, C value)
{
    if constexpr (PAIRED) {
        if (WHOLE || (unsigned)i < (unsigned)p.want[0])
            put(y + at, stored_bits<Out>(value.x));
        if (WHOLE || (unsigned)i < (unsigned)p.want[1])
            put(second + at, stored_bits<Out>(value.y));
    } else if (WHOLE || (unsigned)i < (unsigned)p.want[0])
        put_two(y + 2 * at, value.x, value.y);
}

/* Store the rows from D on; DISCARD is a multiple of T. v has re and im swapped. output: index of the first output. Out: type of a
 * stored number. */
template <class F, int DISCARD, bool PAIRED, bool WHOLE, class Out = typename F::Real>
LW_DEVICE void store_segment(const typename F::C (&v)[F::E], const OlsArgs &a, const OlsPlace &p, int64_t output, int t)
{
    using C = typename F::C;
    const int discard = DISCARD >= 0 ? DISCARD : a.discard;
    Out *y = (Out *)a.output + (output + t - discard) * (PAIRED ? 1 : 2), *second = y + a.output_second;
    opaque(y);
    opaque(second);         /* so that all rows are at constant distances from two pointers */
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        const int k = F::T * m;
        if (k >= (WHOLE ? discard : DISCARD))
            put_output<PAIRED, WHOLE>(y, second, k, p, k + t - discard, C{v[m].y, v[m].x});
    }
}

/* An epilogue is the part of a kernel that stores outputs, does --post, or searches. The kernel calls `begin` when the spectrum of
 * a segment is complete, `finish` when only the last stage of a filter's way back is left, `end` when the block has ended its work.
 * Epilogues derive from this one, which does nothing. */
struct Epilogue {
    static constexpr bool MAKES = false, FINDS = false;     /* whether it does --post; whether it searches */

    template <class F, int DISCARD, bool PAIRED>
    LW_DEVICE void begin(const typename F::C (&)[F::E], typename F::C *, const OlsArgs &, const OlsPlace &, int, int)
    {
    }

    LW_DEVICE void end(const OlsArgs &) {}
};

/* Epilogue that stores the series itself. */
struct StoreSeries : Epilogue {
    /* End the way back of filter f and store its outputs. Both calls stand in each branch, so that the compiler can store the first
     * outputs before it computes the last. whole: all outputs of the hop are wanted. */
    template <class F, int DISCARD, bool PAIRED>
    LW_DEVICE void finish(typename F::C (&v)[F::E], const F &fft, typename F::C *shared, const OlsArgs &a, const OlsPlace &p,
                          bool whole, int f, int t)
    {
        const int64_t output = p.output + f * a.plane;
        if (whole) {
            fft.end_backward(v, shared, t);
            store_segment<F, DISCARD, PAIRED, true>(v, a, p, output, t);
        } else {
            fft.end_backward(v, shared, t);
            store_segment<F, DISCARD, PAIRED, false>(v, a, p, output, t);
        }
    }
};

/* Epilogue that stores the series in a narrow type. */
struct NarrowSeries : Epilogue {
    template <class F, int DISCARD, bool PAIRED>
    LW_DEVICE void finish(float2 (&v)[F::E], const F &fft, float2 *shared, const OlsArgs &a, const OlsPlace &p, bool whole, int f,
                          int t)
    {
        const int discard = DISCARD >= 0 ? DISCARD : a.discard;
        const auto is_used = [](int m) { return F::T * m >= DISCARD; };
        const auto counts = [&](int m, int part) {      /* re and im are swapped: part 1 belongs to the first segment */
            return (unsigned)(F::T * m + t - discard) < (unsigned)p.want[PAIRED && part == 0 ? 1 : 0];
        };
        fft.end_backward(v, shared, t);
        narrow_all(v, a.narrow, is_used, counts);
        with_words(a.narrow, [&](auto out) {
            if (whole)
                store_segment<F, DISCARD, PAIRED, true, decltype(out)>(v, a, p, p.output + f * a.plane, t);
            else
                store_segment<F, DISCARD, PAIRED, false, decltype(out)>(v, a, p, p.output + f * a.plane, t);
        });
    }
};

template <class F, int BLOCKS, int DISCARD, bool PAIRED, class Finish>
__global__ void __launch_bounds__(F::T < 32 ? 32 : F::T, BLOCKS) ols_time_fast(const OlsArgs a)
{
    using C = typename F::C;
    static_assert(DISCARD < 0 || DISCARD % F::T == 0, "rows are dropped whole");
    constexpr int T = F::T, PER_WARP = T < 32 ? 32 / T : 1;
    extern __shared__ __align__(128) unsigned char memory[];

    const int part = PER_WARP == 1 ? 0 : threadIdx.x / T, t = threadIdx.x % T;
    C *const shared = (C *)(memory + part * F::SHARED_BYTES);
    Finish epilogue = {};

    OlsWalk walk;
    walk.start(a, blockIdx.x);
    wait_for_predecessor();
    F fft;
    fft.load((const C *)a.bank, t);
    C v[F::E], kept[F::E];
    for (OlsStep step; walk.next(a, blockIdx.x, step);) {
        const OlsPlace p = place_of<F::N, PAIRED>(a, step.segment * PER_WARP + part);
        transform_segment<F, PAIRED, lead_of<F>(DISCARD)>(v, fft, a, p, shared, t);
#pragma unroll
        for (int m = 0; m < F::E; ++m)
            kept[m] = v[m];
        epilogue.template begin<F, DISCARD, PAIRED>(kept, shared, a, p, step.segment * PER_WARP + part, t);
        const bool whole = min(p.want[0], p.want[1]) == a.hop;
        const auto filter = [&](auto &last) {
#pragma unroll 1
            for (int f = step.begin; f < step.end; ++f) {
                fft.pin();
                multiply<F>(v, kept, spectra_of<F>(a, f), t);
                fft.begin_backward(v, shared, t);
                last.template finish<F, DISCARD, PAIRED>(v, fft, shared, a, p, whole, f, t);
            }
        };
        if constexpr (sizeof(typename F::Real) == 4 && std::is_same<Finish, StoreSeries>::value)
            if (a.narrow.bytes > 0) {       /* a loop of its own, so that the other one needs no more registers */
                NarrowSeries narrow;
                filter(narrow);
                continue;
            }
        filter(epilogue);
    }
    epilogue.end(a);
}
