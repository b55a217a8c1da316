/* instance.cuh - table entries for compiled overlap-save kernels; one .cu per segment length instantiates its own. */
#pragma once

#include "gpu/ols/kernels/abreast.cuh"
#include "gpu/ols/kernels/decoupled.cuh"
#include "gpu/ols/kernels/folded.cuh"
#include "gpu/ols/kernels/interleaved.cuh"
#include "gpu/ols/kernels/pipelined.cuh"
#include "gpu/ols/kernels/post.cuh"
#include "gpu/ols/kernels/search.cuh"
#include "gpu/ols/kernels/thinned.cuh"
#include "gpu/ols/kernels/time_fast.cuh"
#include "gpu/ols/kernels/time_slow.cuh"

/* Time fast. DISCARD: outputs dropped, -1: given at run time. Epilogue: what becomes of finished outputs. */
template <class Real, int E, int P, int BLOCKS, int DISCARD, bool PAIRED, class Epilogue> OlsKernel ols_time_fast_kernel()
{
    using F = Transform<Real, E, P, Team<E * P, 1>>;
    OlsKernel k = ols_entry<Real, E, P, BLOCKS, PAIRED>();
    k.layout = LW_TIME_FAST;
    k.discard = DISCARD;
    k.batch = 1;
    k.post = Epilogue::MAKES;
    k.threads = F::T < 32 ? 32 : F::T;
    k.shared_bytes = k.threads / F::T * F::SHARED_BYTES;
    k.kernel = ols_time_fast<F, BLOCKS, DISCARD, PAIRED, Epilogue>;
    return k;
}

/* The same, storing the series, or looking for something in it. */
template <class Real, int E, int P, int BLOCKS, int DISCARD, bool PAIRED> OlsKernel ols_finding_kernel()
{
    using F = Transform<Real, E, P, Team<E * P, 1>>;
    OlsKernel k = ols_time_fast_kernel<Real, E, P, BLOCKS, DISCARD, PAIRED, StoreSeries>();
    k.find = ols_time_fast<F, BLOCKS, DISCARD, PAIRED, FindCrossings>;
    k.keep = ols_time_fast<F, BLOCKS, DISCARD, PAIRED, KeepBest<Real>>;
    k.keep_bytes = k.shared_bytes + STRENGTH_BYTES<F, PAIRED>;
    return k;
}

/* The same, storing every so many of the outputs. */
template <class Real, int E, int P, int BLOCKS, bool PAIRED> OlsKernel ols_thinned_kernel()
{
    OlsKernel k = ols_time_fast_kernel<Real, E, P, BLOCKS, -1, PAIRED, StoreThinned>();
    k.fold = 1;
    return k;
}

/* Time fast, single precision, a transform back of N / FOLD points, 16 of them a thread. KEEP: the spectrum is kept, for several
 * filters. */
template <int P, int FOLD, int BLOCKS, bool PAIRED, bool KEEP> OlsKernel ols_folded_kernel()
{
    using F = Transform<float, 32, P, Team<32 * P, 1>>;
    constexpr int radix = 16, outer = F::N / (FOLD * radix * radix), threads = radix * outer;
    using B = Transform<float, radix, outer, Team<threads, F::T / threads>>;
    OlsKernel k = ols_entry<float, 32, P, BLOCKS, PAIRED>();
    k.layout = LW_TIME_FAST;
    k.discard = -1;
    k.batch = 1;
    k.one_filter = !KEEP;
    k.fold = FOLD;
    k.back_radix = radix;
    k.back_outer_radix = outer;
    k.threads = F::T;
    k.shared_bytes = FoldedBlock<F, B>::SHARED_BYTES;
    k.kernel = ols_folded<F, B, BLOCKS, PAIRED, KEEP>;
    return k;
}

/* Time fast, single precision, a block an SM: BLOCKS x 12288 points in as many of a cluster. */
template <int BLOCKS, int DISCARD, bool PAIRED> OlsKernel ols_decoupled_kernel()
{
    using D = Decoupled<BLOCKS>;
    OlsKernel k = ols_entry<float, D::E, D::P, 1, PAIRED>();
    k.layout = LW_TIME_FAST;
    k.discard = DISCARD;
    k.batch = 1;
    k.cluster = BLOCKS;
    k.threads = D::THREADS;
    k.shared_bytes = D::SHARED_BYTES;
    k.design = OLS_DECOUPLED;
    if constexpr (BLOCKS == 1)
        k.kernel = ols_decoupled<DISCARD, PAIRED>;
    else
        k.kernel = ols_decoupled_pair<DISCARD, PAIRED>;
    return k;
}

/* Time fast, single precision, one filter, a warp a segment. */
template <int E, int BLOCKS, int DISCARD, bool PAIRED> OlsKernel ols_pipelined_kernel()
{
    using F = Transform<float, E, 1, Team<E, 1>>;
    OlsKernel k = ols_entry<float, E, 1, BLOCKS, PAIRED>();
    k.layout = LW_TIME_FAST;
    k.discard = DISCARD;
    k.batch = 1;
    k.one_filter = true;
    k.prefetches = true;
    k.reversed = true;
    k.threads = F::T;
    k.shared_bytes = F::SHARED_BYTES;
    k.kernel = ols_pipelined<F, BLOCKS, DISCARD, PAIRED>;
    return k;
}

/* Time slow, W transforms at once. KEEP: the spectrum is kept, for several filters. */
template <class Real, int E, int P, int W, int BLOCKS, bool PAIRED, bool KEEP, class Epilogue> OlsKernel ols_time_slow_kernel()
{
    using F = Transform<Real, E, P, Team<E * P, W>>;
    OlsKernel k = ols_entry<Real, E, P, BLOCKS, PAIRED>();
    k.layout = LW_TIME_SLOW;
    k.discard = -1;
    k.one_filter = !KEEP;
    k.post = Epilogue::MAKES;
    k.batch = W;
    k.threads = TimeSlowBlock<F, W>::THREADS;
    k.shared_bytes = TimeSlowBlock<F, W>::SHARED_BYTES;
    k.kernel = ols_time_slow<F, W, BLOCKS, KEEP, Epilogue>;
    return k;
}

/* The same, storing the series, or looking for something in it. */
template <class Real, int E, int P, int W, int BLOCKS, bool PAIRED> OlsKernel ols_finding_channels_kernel()
{
    using F = Transform<Real, E, P, Team<E * P, W>>;
    OlsKernel k = ols_time_slow_kernel<Real, E, P, W, BLOCKS, PAIRED, true, StoreChannels>();
    k.find = ols_time_slow<F, W, BLOCKS, true, FindInChannels<PAIRED>>;
    k.keep = ols_time_slow<F, W, BLOCKS, true, KeepBestOfChannels<Real, PAIRED, W>>;
    k.keep_bytes = k.shared_bytes + W * STRENGTH_BYTES<F, PAIRED>;
    return k;
}

/* The same, storing every so many of the outputs. */
template <class Real, int E, int P, int W, int BLOCKS, bool PAIRED, bool KEEP> OlsKernel ols_thinned_channels_kernel()
{
    OlsKernel k = ols_time_slow_kernel<Real, E, P, W, BLOCKS, PAIRED, KEEP, StoreThinnedChannels<PAIRED>>();
    k.fold = 1;
    return k;
}

/* Time slow, single precision, real signals of short integers, one filter: W transforms at once, BLOCKS a multiprocessor.
 * THINNED: every so many of the outputs are stored. */
template <int E, int W, int BLOCKS, int DISCARD, bool THINNED> OlsKernel ols_interleaved_kernel()
{
    using F = Transform<float, E, 1, Team<E, W>>;
    OlsKernel k = ols_entry<float, E, 1, BLOCKS, true>();
    k.layout = LW_TIME_SLOW;
    k.discard = DISCARD;
    k.batch = W;
    k.one_filter = true;
    k.prefetches = true;
    k.threads = InterleavedBlock<F, W>::THREADS;
    k.shared_bytes = InterleavedBlock<F, W>::SHARED_BYTES;
    k.fold = THINNED ? 1 : 0;
    k.kernel = ols_interleaved<F, W, BLOCKS, DISCARD, THINNED>;
    return k;
}

/* Time slow, single precision, W transforms of P x 1024 points at once. KEEP: the spectrum is kept, for several filters. */
template <int P, int W, bool KEEP, int DISCARD, bool PAIRED> OlsKernel ols_abreast_kernel()
{
    using B = AbreastBlock<P, W, KEEP>;
    OlsKernel k = ols_entry<float, B::E, P, 1, PAIRED>();
    k.layout = LW_TIME_SLOW;
    k.discard = DISCARD;
    k.batch = W;
    k.one_filter = !KEEP;
    k.prefetches = true;
    k.design = OLS_ABREAST;
    k.threads = B::THREADS;
    k.shared_bytes = B::SHARED_BYTES;
    k.kernel = ols_abreast<P, W, KEEP, DISCARD>;
    return k;
}

/* Each for complex signals and for pairs of real ones. */
#define LW_OLS_ABREAST(P, W, KEEP, DISCARD) \
    ols_abreast_kernel<P, W, KEEP, DISCARD, false>(), ols_abreast_kernel<P, W, KEEP, DISCARD, true>()
#define LW_OLS_TIME_FAST(Real, E, P, BLOCKS, DISCARD)                        \
    ols_time_fast_kernel<Real, E, P, BLOCKS, DISCARD, false, StoreSeries>(), \
    ols_time_fast_kernel<Real, E, P, BLOCKS, DISCARD, true, StoreSeries>()
#define LW_OLS_FINDING(Real, E, P, BLOCKS, DISCARD) \
    ols_finding_kernel<Real, E, P, BLOCKS, DISCARD, false>(), ols_finding_kernel<Real, E, P, BLOCKS, DISCARD, true>()
#define LW_OLS_FINDING_CHANNELS(Real, E, P, W, BLOCKS)           \
    ols_finding_channels_kernel<Real, E, P, W, BLOCKS, false>(), \
    ols_finding_channels_kernel<Real, E, P, W, BLOCKS, true>()
#define LW_OLS_DECOUPLED(BLOCKS, DISCARD) \
    ols_decoupled_kernel<BLOCKS, DISCARD, false>(), ols_decoupled_kernel<BLOCKS, DISCARD, true>()
#define LW_OLS_PIPELINED(E, BLOCKS, DISCARD) \
    ols_pipelined_kernel<E, BLOCKS, DISCARD, false>(), ols_pipelined_kernel<E, BLOCKS, DISCARD, true>()
#define LW_OLS_TIME_SLOW(Real, E, P, W, BLOCKS, KEEP)                           \
    ols_time_slow_kernel<Real, E, P, W, BLOCKS, false, KEEP, StoreChannels>(),  \
    ols_time_slow_kernel<Real, E, P, W, BLOCKS, true, KEEP, StoreChannels>()
#define LW_OLS_TIME_FAST_POST(Real, E, P, BLOCKS)                      \
    ols_time_fast_kernel<Real, E, P, BLOCKS, -1, false, MakeSeries>(), \
    ols_time_fast_kernel<Real, E, P, BLOCKS, -1, true, MakeSeries>()
#define LW_OLS_THINNED(Real, E, P, BLOCKS) \
    ols_thinned_kernel<Real, E, P, BLOCKS, false>(), ols_thinned_kernel<Real, E, P, BLOCKS, true>()
#define LW_OLS_THINNED_CHANNELS(Real, E, P, W, BLOCKS, KEEP)           \
    ols_thinned_channels_kernel<Real, E, P, W, BLOCKS, false, KEEP>(), \
    ols_thinned_channels_kernel<Real, E, P, W, BLOCKS, true, KEEP>()
#define LW_OLS_FOLDED(P, FOLD, BLOCKS, KEEP) \
    ols_folded_kernel<P, FOLD, BLOCKS, false, KEEP>(), ols_folded_kernel<P, FOLD, BLOCKS, true, KEEP>()
#define LW_OLS_TIME_SLOW_POST(Real, E, P, W, BLOCKS)                                 \
    ols_time_slow_kernel<Real, E, P, W, BLOCKS, false, true, MakeChannels<false>>(), \
    ols_time_slow_kernel<Real, E, P, W, BLOCKS, true, true, MakeChannels<true>>()
