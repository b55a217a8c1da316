/* folded.cuh - overlap-save kernel, time fast, that stores only every D-th output of the axis, for D that a power of two G divides.
 * It folds the product of the spectra before the way back, which then has N / G points:
 *
 *     y[G n] = sum over k < N / G of (sum over j < G of X[k + j N / G] H[k + j N / G]) exp(2 pi i k n G / N)
 *
 * The forward transform is the one of time_fast.cuh. Thread t holds the bins bin(t) + T m, so that bins that are folded onto each
 * other are in one thread: product and fold are one multiply-add per bin, without an exchange.
 *
 * A way back needs only some of the block's threads, a team. So the block gathers folded products in shared memory, filter after
 * filter and segment after segment, until there is one for each of its teams. Then all teams transform back and store side by side.
 * No more blocks run than the device holds: otherwise each would have little to gather. An output's bits do not depend on the team.
 * Shared memory has one exchange region for the forward transform, and one area for each team. Blocks of an SM hide each other's
 * loads and barriers.
 *
 * A product lies in its team's area, in rows of one value per thread plus one of padding: it is written and read without bank
 * conflicts (G = 2: two-way conflicts in writing). The team's own exchange then overwrites it.
 *
 * Each of the two transforms loads its twiddle powers anew, because registers do not suffice for both. With several filters the
 * spectrum stays in registers (KEEP). */
#pragma once

#include "gpu/ols/kernels/thinned.cuh"

/* F is the forward transform, of the whole block; B is the backward transform, of one of the block's teams. */
template <class F, class B> struct FoldedBlock {
    static constexpr int FOLD = F::N / B::N, TEAMS = F::T / B::T, KEPT = F::E / FOLD, PITCH = B::T + 1;
    static constexpr int AREA = B::SHARED_BYTES / (int)sizeof(typename B::C);      /* complex values of a team's area */
    static constexpr int SHARED_BYTES = F::SHARED_BYTES + TEAMS * B::SHARED_BYTES;
    static_assert(F::E % FOLD == 0 && KEPT % 2 == 0, "bins that are folded onto each other are in one thread");
    static_assert(B::E * PITCH <= AREA, "a product fits where its team exchanges");
};

/* sum += x h */
template <class C> LW_DEVICE void add_product(C &sum, C x, C h)
{
    sum.x = fma(x.x, h.x, sum.x);
    sum.x = fma(-x.y, h.y, sum.x);
    sum.y = fma(x.x, h.y, sum.y);
    sum.y = fma(x.y, h.x, sum.y);
}

/* Load and transform a segment. */
template <class F, bool PAIRED>
LW_DEVICE void transform_folded(typename F::C (&v)[F::E], const OlsArgs &a, int segment, typename F::C *shared, int t)
{
    const typename F::C *powers = (const typename F::C *)a.bank;
    opaque(powers);
    F fft;
    fft.load(powers, t);
    transform_segment<F, PAIRED, lead_of<F>(-1)>(v, fft, a, place_of<F::N, PAIRED>(a, segment), shared, t);
}

/* Compute w = X H, folded. bank: H, in the order of ols_spectra. */
template <class F, int KEPT> LW_DEVICE void multiply_folded(float2 (&w)[KEPT], const float2 (&x)[F::E], const float2 *bank, int t)
{
    const float4 *const h = (const float4 *)bank + t;
#pragma unroll
    for (int m = 0; m < KEPT; ++m)
        w[m] = {0, 0};
#pragma unroll
    for (int m = 0; m < F::E; m += 2) {
        const float4 pair = __ldg(h + m / 2 * F::T);
        add_product(w[m % KEPT], x[m], {pair.x, pair.y});
        add_product(w[m % KEPT + 1], x[m + 1], {pair.z, pair.w});
    }
}

/* Write the product to an area, re and im swapped: bin(t) + T m, m < KEPT, to the row and thread that have it on the way back. */
template <class F, class B, int KEPT> LW_DEVICE void share_product(const float2 (&w)[KEPT], float2 *area, int t)
{
    using Block = FoldedBlock<F, B>;
    const int bin = F::P * (t % F::E) + t / F::E, in_row = bin % B::T;
    float2 *const at = area + bin / B::T * Block::PITCH + B::E * (in_row % B::P) + in_row / B::P;
#pragma unroll
    for (int m = 0; m < KEPT; ++m)
        at[m * Block::TEAMS * Block::PITCH] = {w[m].y, w[m].x};
}

/* Begin the way back of the product in the team's area, up to the writes of its last exchange. */
template <class F, class B> LW_DEVICE void begin_folded(typename B::C (&v)[B::E], const B &back, typename B::C *area, int t)
{
#pragma unroll
    for (int m = 0; m < B::E; ++m)
        v[m] = area[m * FoldedBlock<F, B>::PITCH + t];
#pragma unroll
    for (int m = 0; m < B::E / 2; ++m)
        butterfly(v[m], v[m + B::E / 2]);
    back.begin_backward(v, area, t);
}

/* The segment and filter that a team transforms back. */
struct FoldedItem {
    int segment, filter;
};

/* Store the outputs of the hop from registers, if D = G: then every output of the folded transform is kept. */
template <class B, int FOLD, bool PAIRED>
LW_DEVICE void store_folded(float2 (&v)[B::E], const OlsArgs &a, const OlsPlace &p, int f, int t)
{
    const int64_t first = kept_place<PAIRED>(a, p, f, (a.post.first + p.first) / FOLD - a.first_kept);
    const int64_t to_second = a.output_second + (a.pairs_hops ? a.hop / FOLD : 0);
    const auto store = [&](auto *y, const float2 (&values)[B::E]) {
#pragma unroll
        for (int m = 0; m < B::E; ++m) {
            const int i = t + B::T * m - a.discard / FOLD;
            put_output<PAIRED, false>(y, y + to_second, i, p, FOLD * i, float2{values[m].y, values[m].x});
        }
    };
    if (a.narrow.bytes == 0) {
        store((float *)a.output + first, v);
        return;
    }
    narrow_all(v, a.narrow, [](int) { return true; }, [&](int m, int part) {
        const int i = FOLD * (t + B::T * m - a.discard / FOLD);
        return (unsigned)i < (unsigned)p.want[PAIRED && part == 0 ? 1 : 0];
    });
    with_words(a.narrow, [&](auto out) { store((decltype(out) *)a.output + first, v); });
}

/* Transform the product in the team's area back and store it, if `exists`. All teams must call it, because of barriers. */
template <class F, class B, bool PAIRED>
LW_DEVICE void finish_folded(typename B::C *areas, const OlsArgs &a, FoldedItem item, bool exists)
{
    using C = typename B::C;
    const int t = B::Team::thread();
    C *const area = areas + B::Team::number() * FoldedBlock<F, B>::AREA;
    const C *powers = (const C *)a.bank + powers_of(F::E, F::P);
    opaque(powers);
    B back;
    back.load(powers, t);
    C v[B::E];
    begin_folded<F, B>(v, back, area, t);
    back.end_backward(v, area, t);
    constexpr int FOLD = FoldedBlock<F, B>::FOLD;
    const OlsPlace p = place_of<F::N, PAIRED>(a, item.segment);
    if (a.every == FOLD && !a.post.is_real) {
        if (exists)
            store_folded<B, FOLD, PAIRED>(v, a, p, item.filter, t);
        return;
    }
    share_segment<B>(v, area, t);
    if (exists)
        store_kept<B, FOLD, PAIRED>(area + a.discard / FOLD, a, p, item.filter, t);
}

template <class F, class B, int BLOCKS, bool PAIRED, bool KEEP>
__global__ void __launch_bounds__(F::T, BLOCKS) ols_folded(const OlsArgs a)
{
    using C = typename F::C;
    using Block = FoldedBlock<F, B>;
    extern __shared__ __align__(128) unsigned char memory[];
    C *const shared = (C *)memory, *const areas = (C *)(memory + F::SHARED_BYTES);
    const int t = threadIdx.x;
    C v[F::E];
    OlsWalk walk;
    OlsStep step = {0, 0, 0};
    FoldedItem item = {0, 0};
    walk.start(a, blockIdx.x);
    wait_for_predecessor();
    int gathered = 0;
#pragma unroll 1
    for (bool more = true; more;) {
        if (!KEEP || step.begin == step.end) {
            more = walk.next(a, blockIdx.x, step);
            if (more)
                transform_folded<F, PAIRED>(v, a, step.segment, shared, t);
        }
        if (more) {
            C w[Block::KEPT];
            multiply_folded<F>(w, v, spectra_of<F>(a, step.begin), t);
            share_product<F, B>(w, areas + gathered * Block::AREA, t);
            if (gathered == B::Team::number())
                item = {step.segment, step.begin};
            ++gathered;
            ++step.begin;
        }
        if (gathered == Block::TEAMS || (!more && gathered > 0)) {
            F::Team::sync();        /* all products have been written */
            finish_folded<F, B, PAIRED>(areas, a, item, B::Team::number() < gathered);
            F::Team::sync();        /* the areas are free again */
            gathered = 0;
        }
    }
}
