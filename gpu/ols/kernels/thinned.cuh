/* thinned.cuh - an epilogue of the overlap-save kernels, time fast, that stores every D-th output of the axis only, or the
 * powers or amplitudes of these.
 *
 * A thread's outputs are a constant number apart. It walks over them and counts, by additions, those that are stored and the
 * outputs since the last one: it divides once, for its first output. */
#ifndef LW_GPU_OLS_KERNELS_THINNED_CUH
#define LW_GPU_OLS_KERNELS_THINNED_CUH

#include "gpu/device/post.cuh"
#include "gpu/ols/kernels/time_fast.cuh"

/* An output, `since` outputs after the last one that is stored, which is number `kept` of the block's row. */
struct ThinnedPlace {
    int64_t kept;
    int since;
};

/* Output u of a hop whose first is `first` outputs from the block's. Of all outputs only those at multiples of FOLD count, which
 * a.every and the places of both firsts on the axis are. */
template <int FOLD> LW_DEVICE ThinnedPlace thinned_place(const OlsArgs &a, int64_t first, int u)
{
    const int64_t axis = (a.post.first + first) / FOLD + u;
    const int every = a.every / FOLD;
    if (every == 1)                     /* nothing is divided, which takes long */
        return {axis - a.first_kept, 0};
    const int64_t kept = axis / every;
    return {kept - a.first_kept, (int)(axis - kept * every)};
}

/* One output of a real series (one of a pair, SECOND: the second) or of a complex one, or what is MADE of it. */
template <bool PAIRED, bool MADE, bool SECOND, class C, class Real>
LW_DEVICE void put_thinned(const OlsArgs &a, Real *y, C swapped, bool &lost)
{
    if constexpr (PAIRED) {
        const Real value = SECOND ? swapped.x : swapped.y;
        put(y, MADE ? made(a.post, value, lost) : value);
    } else if constexpr (MADE)
        put(y, made_complex(a.post, C{swapped.y, swapped.x}, lost).x);
    else
        put((C *)y, C{swapped.y, swapped.x});
}

/* One series of a segment (SECOND: the second of a pair). v[m], re and im swapped, is output FOLD (t + T m) of the segment. */
template <class F, int FOLD, bool PAIRED, bool MADE, bool SECOND>
LW_DEVICE void store_thinned_one(const typename F::C (&v)[F::E], const OlsArgs &a, const OlsPlace &p, int f, int t, bool &lost)
{
    using Real = typename F::Real;
    constexpr int reals = PAIRED || MADE ? 1 : 2;
    const int every = a.every / FOLD, kept = F::T / every, since = F::T - kept * every;
    const int begin = t - a.discard / FOLD;                     /* v[0] is that output of the hop, if there is one */
    const int64_t first = p.first + (SECOND && a.pairs_hops ? a.hop : 0);
    ThinnedPlace at = thinned_place<FOLD>(a, first, begin & (F::T - 1));
    const int64_t row = p.output - p.first + f * a.plane + (SECOND ? a.output_second : 0);
    Real *y = (Real *)a.output + (row + at.kept) * reals;
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        const int u = begin + F::T * m;
        if (u < 0)
            continue;
        if (at.since == 0 && u * FOLD < p.want[SECOND])
            put_thinned<PAIRED, MADE, SECOND>(a, y, v[m], lost);
        at.since += since;
        const bool over = at.since >= every;
        at.since -= over ? every : 0;
        y += (kept + over) * reals;
    }
}

template <class F, int FOLD, bool PAIRED, bool MADE>
LW_DEVICE void store_thinned_all(const typename F::C (&v)[F::E], const OlsArgs &a, const OlsPlace &p, int f, int t, bool &lost)
{
    store_thinned_one<F, FOLD, PAIRED, MADE, false>(v, a, p, f, t, lost);
    if constexpr (PAIRED)
        store_thinned_one<F, FOLD, PAIRED, MADE, true>(v, a, p, f, t, lost);
}

template <class F, int FOLD, bool PAIRED>
LW_DEVICE void store_thinned(const typename F::C (&v)[F::E], const OlsArgs &a, const OlsPlace &p, int f, int t, bool &lost)
{
    if (makes_real(a.post))
        store_thinned_all<F, FOLD, PAIRED, true>(v, a, p, f, t, lost);
    else
        store_thinned_all<F, FOLD, PAIRED, false>(v, a, p, f, t, lost);
}

struct StoreThinned {
    static constexpr bool MAKES = false, FINDS = false;
    bool lost;                      /* this thread has made a power that is beyond its range */

    template <class F, int DISCARD, bool PAIRED>
    LW_DEVICE void begin(const typename F::C (&)[F::E], typename F::C *, const OlsArgs &, const OlsPlace &, int, int)
    {
    }

    template <class F, int DISCARD, bool PAIRED>
    LW_DEVICE void finish(typename F::C (&v)[F::E], const F &fft, typename F::C *shared, const OlsArgs &a, const OlsPlace &p,
                          bool, int f, int t)
    {
        fft.end_backward(v, shared, t);
        store_thinned<F, 1, PAIRED>(v, a, p, f, t, lost);
    }

    LW_DEVICE void end(const OlsArgs &a)
    {
        if (lost)
            *a.post.out_of_range = 1;
    }
};

#endif
