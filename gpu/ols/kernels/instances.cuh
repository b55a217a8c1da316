/* instances.cuh - the compiled overlap-save kernels, in groups: each group is a table of OlsKernel.
 *
 * CMake makes one source per group, which defines LW_INSTANCES_<group> and includes this file, so that groups compile side by side.
 * A new group also needs its name in CMakeLists.txt, launch.h and choose.cu. */
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

/* Return an entry with the fields that all kernels set. Real, E, P: the transform; BLOCKS: blocks that an SM must hold. */
template <class Real, int E, int P, int BLOCKS, bool PAIRED> OlsKernel ols_entry(enum lw_layout layout, int discard, int batch)
{
    OlsKernel k = {};
    k.precision = sizeof(Real) == 4 ? LW_SINGLE : LW_DOUBLE;
    k.layout = layout;
    k.segment = E * E * P;
    k.discard = discard;
    k.paired = PAIRED;
    k.batch = batch;
    k.radix = E;
    k.outer_radix = P;
    k.blocks = BLOCKS;
    k.cluster = 1;
    return k;
}

/* Time fast, time_fast.cuh. DISCARD: values dropped at the front of a segment; -1: chosen at run time. */
template <bool PAIRED, class Real, int E, int P, int BLOCKS, int DISCARD, class Epilogue = StoreSeries>
OlsKernel ols_time_fast_kernel()
{
    using F = Transform<Real, E, P, Team<E * P, 1>>;
    OlsKernel k = ols_entry<Real, E, P, BLOCKS, PAIRED>(LW_TIME_FAST, DISCARD, 1);
    k.post = Epilogue::MAKES;
    k.threads = F::T < 32 ? 32 : F::T;
    k.shared_bytes = k.threads / F::T * F::SHARED_BYTES;
    k.kernel = ols_time_fast<F, BLOCKS, DISCARD, PAIRED, Epilogue>;
    return k;
}

/* Time fast: stores the series, or searches it (find, keep). */
template <bool PAIRED, class Real, int E, int P, int BLOCKS, int DISCARD> OlsKernel ols_finding_kernel()
{
    using F = Transform<Real, E, P, Team<E * P, 1>>;
    OlsKernel k = ols_time_fast_kernel<PAIRED, Real, E, P, BLOCKS, DISCARD>();
    k.find = ols_time_fast<F, BLOCKS, DISCARD, PAIRED, FindCrossings>;
    k.keep = ols_time_fast<F, BLOCKS, DISCARD, PAIRED, KeepBest<Real>>;
    k.keep_bytes = k.shared_bytes + STRENGTH_BYTES<F, PAIRED>;
    return k;
}

/* Time fast: stores every D-th output only. */
template <bool PAIRED, class Real, int E, int P, int BLOCKS> OlsKernel ols_thinned_kernel()
{
    OlsKernel k = ols_time_fast_kernel<PAIRED, Real, E, P, BLOCKS, -1, StoreThinned>();
    k.fold = 1;
    return k;
}

/* Time fast, single precision, folded.cuh: N / FOLD points back, 16 per thread. KEEP: for several filters, else for one. */
template <bool PAIRED, int P, int FOLD, int BLOCKS, bool KEEP> OlsKernel ols_folded_kernel()
{
    using F = Transform<float, 32, P, Team<32 * P, 1>>;
    constexpr int radix = 16, outer = F::N / (FOLD * radix * radix), threads = radix * outer;
    using B = Transform<float, radix, outer, Team<threads, F::T / threads>>;
    OlsKernel k = ols_entry<float, 32, P, BLOCKS, PAIRED>(LW_TIME_FAST, -1, 1);
    k.one_filter = !KEEP;
    k.fold = FOLD;
    k.back_radix = radix;
    k.back_outer_radix = outer;
    k.threads = F::T;
    k.shared_bytes = FoldedBlock<F, B>::SHARED_BYTES;
    k.kernel = ols_folded<F, B, BLOCKS, PAIRED, KEEP>;
    return k;
}

/* Time fast, single precision, decoupled.cuh, one block an SM: BLOCKS x 12288 points in BLOCKS blocks of a cluster. */
template <bool PAIRED, int BLOCKS, int DISCARD> OlsKernel ols_decoupled_kernel()
{
    using D = Decoupled<BLOCKS>;
    OlsKernel k = ols_entry<float, D::E, D::P, 1, PAIRED>(LW_TIME_FAST, DISCARD, 1);
    k.cluster = BLOCKS;
    k.threads = D::THREADS;
    k.shared_bytes = D::SHARED_BYTES;
    k.design = OLS_DECOUPLED;
    if constexpr (BLOCKS == 1) {
        k.kernel = ols_decoupled<DISCARD, PAIRED, false>;
        k.narrow = ols_decoupled<DISCARD, PAIRED, true>;
    } else {
        k.kernel = ols_decoupled_pair<DISCARD, PAIRED, false>;
        k.narrow = ols_decoupled_pair<DISCARD, PAIRED, true>;
    }
    return k;
}

/* Time fast, single precision, pipelined.cuh: one filter, one warp per segment. */
template <bool PAIRED, int E, int BLOCKS, int DISCARD> OlsKernel ols_pipelined_kernel()
{
    using F = Transform<float, E, 1, Team<E, 1>>;
    OlsKernel k = ols_entry<float, E, 1, BLOCKS, PAIRED>(LW_TIME_FAST, DISCARD, 1);
    k.one_filter = true;
    k.prefetches = true;
    k.reversed = true;
    k.threads = F::T;
    k.shared_bytes = F::SHARED_BYTES;
    k.kernel = ols_pipelined<F, BLOCKS, DISCARD, PAIRED>;
    return k;
}

/* Time slow, ols_time_slow, W transforms a block. KEEP: for several filters, else for one. */
template <bool PAIRED, class Real, int E, int P, int W, int BLOCKS, bool KEEP, class Epilogue = StoreChannels>
OlsKernel ols_time_slow_kernel()
{
    using F = Transform<Real, E, P, Team<E * P, W>>;
    OlsKernel k = ols_entry<Real, E, P, BLOCKS, PAIRED>(LW_TIME_SLOW, -1, W);
    k.one_filter = !KEEP;
    k.post = Epilogue::MAKES;
    k.threads = TimeSlowBlock<F, W>::THREADS;
    k.shared_bytes = TimeSlowBlock<F, W>::SHARED_BYTES;
    k.kernel = ols_time_slow<F, W, BLOCKS, KEEP, Epilogue>;
    return k;
}

/* Time slow: stores the series, or searches it (find, keep). */
template <bool PAIRED, class Real, int E, int P, int W, int BLOCKS> OlsKernel ols_finding_channels_kernel()
{
    using F = Transform<Real, E, P, Team<E * P, W>>;
    OlsKernel k = ols_time_slow_kernel<PAIRED, Real, E, P, W, BLOCKS, true>();
    k.find = ols_time_slow<F, W, BLOCKS, true, FindInChannels<PAIRED>>;
    k.keep = ols_time_slow<F, W, BLOCKS, true, KeepBestOfChannels<Real, PAIRED, W>>;
    k.keep_bytes = k.shared_bytes + W * STRENGTH_BYTES<F, PAIRED>;
    return k;
}

/* Time slow: stores every D-th output only. */
template <bool PAIRED, class Real, int E, int P, int W, int BLOCKS, bool KEEP> OlsKernel ols_thinned_channels_kernel()
{
    OlsKernel k = ols_time_slow_kernel<PAIRED, Real, E, P, W, BLOCKS, KEEP, StoreThinnedChannels<PAIRED>>();
    k.fold = 1;
    return k;
}

/* Time slow: does --post. */
template <bool PAIRED, class Real, int E, int P, int W, int BLOCKS> OlsKernel ols_making_channels_kernel()
{
    return ols_time_slow_kernel<PAIRED, Real, E, P, W, BLOCKS, true, MakeChannels<PAIRED>>();
}

/* Time slow, single precision, interleaved.cuh: real signals of short integers, one filter, W transforms a block, BLOCKS blocks an
 * SM. THINNED: stores every D-th output only. */
template <int E, int W, int BLOCKS, int DISCARD, bool THINNED> OlsKernel ols_interleaved_kernel()
{
    using F = Transform<float, E, 1, Team<E, W>>;
    OlsKernel k = ols_entry<float, E, 1, BLOCKS, true>(LW_TIME_SLOW, DISCARD, W);
    k.one_filter = true;
    k.prefetches = true;
    k.threads = InterleavedBlock<F, W>::THREADS;
    k.shared_bytes = InterleavedBlock<F, W>::SHARED_BYTES;
    k.fold = THINNED ? 1 : 0;
    k.kernel = ols_interleaved<F, W, BLOCKS, DISCARD, THINNED>;
    return k;
}

/* Time slow, single precision, abreast.cuh: W transforms of P x 1024 points a block. KEEP: for several filters, else for one. */
template <bool PAIRED, int P, int W, bool KEEP, int DISCARD> OlsKernel ols_abreast_kernel()
{
    using B = AbreastBlock<P, W, KEEP>;
    OlsKernel k = ols_entry<float, B::E, P, 1, PAIRED>(LW_TIME_SLOW, DISCARD, W);
    k.one_filter = !KEEP;
    k.prefetches = true;
    k.design = OLS_ABREAST;
    k.threads = B::THREADS;
    k.shared_bytes = B::SHARED_BYTES;
    k.kernel = ols_abreast<P, W, KEEP, DISCARD>;
    return k;
}

/* ---- the groups ---------------------------------------------------------------------------------------------------- */

/* Two entries: a kernel for complex signals, and one for pairs of real segments. */
#define LW_OLS_BOTH(name, ...) ols_##name##_kernel<false, __VA_ARGS__>(), ols_##name##_kernel<true, __VA_ARGS__>()

#define LW_OLS_GROUP(name, ...)                       \
    static const OlsKernel list[] = {__VA_ARGS__};    \
    const OlsKernels lw_ols_##name = {list, (int)(sizeof(list) / sizeof(list[0]))}

#if defined(LW_INSTANCES_f256)        /* single precision, 256 points: two segments per warp */
LW_OLS_GROUP(f256,
    LW_OLS_BOTH(time_fast, float, 16, 1, 20, -1));

#elif defined(LW_INSTANCES_f512)        /* single precision, 512 points: one warp per segment */
LW_OLS_GROUP(f512,
    LW_OLS_BOTH(time_fast, float, 16, 2, 20, -1));

#elif defined(LW_INSTANCES_f1024)        /* single precision, 1024 points: one warp per segment, or two for few segments */
LW_OLS_GROUP(f1024,
    LW_OLS_BOTH(time_fast, float, 32, 1, 12, 64),
    LW_OLS_BOTH(time_fast, float, 32, 1, 12, 128),
    LW_OLS_BOTH(finding, float, 32, 1, 12, 256),
    LW_OLS_BOTH(finding, float, 32, 1, 12, -1),
    LW_OLS_BOTH(time_fast, float, 16, 4, 8, 256),
    LW_OLS_BOTH(time_fast, float, 16, 4, 8, -1),
    LW_OLS_BOTH(pipelined, 32, 16, 64),
    LW_OLS_BOTH(pipelined, 32, 16, 256),
    LW_OLS_BOTH(pipelined, 32, 16, -1));

#elif defined(LW_INSTANCES_f2048)        /* single precision, 2048 points: two warps per segment, or four for few segments */
LW_OLS_GROUP(f2048,
    LW_OLS_BOTH(time_fast, float, 32, 2, 6, 256),
    LW_OLS_BOTH(time_fast, float, 32, 2, 6, 512),
    LW_OLS_BOTH(finding, float, 32, 2, 6, -1),
    LW_OLS_BOTH(time_fast, float, 16, 8, 4, -1));

#elif defined(LW_INSTANCES_f4096)        /* single precision, 4096 points: four warps per segment */
LW_OLS_GROUP(f4096,
    LW_OLS_BOTH(time_fast, float, 32, 4, 3, 512),
    LW_OLS_BOTH(time_fast, float, 32, 4, 3, 1024),
    LW_OLS_BOTH(finding, float, 32, 4, 3, -1));

#elif defined(LW_INSTANCES_f8192)        /* single precision, 8192 points: eight warps per segment */
LW_OLS_GROUP(f8192,
    LW_OLS_BOTH(time_fast, float, 32, 8, 1, 2048),
    LW_OLS_BOTH(time_fast, float, 32, 8, 1, 4096),
    LW_OLS_BOTH(finding, float, 32, 8, 1, -1));

#elif defined(LW_INSTANCES_f12288)        /* single precision, 12288 points: twelve warps per segment */
LW_OLS_GROUP(f12288,
    LW_OLS_BOTH(decoupled, 1, 2048),
    LW_OLS_BOTH(decoupled, 1, 4096),
    LW_OLS_BOTH(decoupled, 1, -1));

#elif defined(LW_INSTANCES_f24576)        /* single precision, 24576 points: twelve warps in each of two blocks per segment */
LW_OLS_GROUP(f24576,
    LW_OLS_BOTH(decoupled, 2, 8192),
    LW_OLS_BOTH(decoupled, 2, -1));

#elif defined(LW_INSTANCES_d256)        /* double precision, 256 points */
LW_OLS_GROUP(d256,
    LW_OLS_BOTH(time_fast, double, 16, 1, 8, -1));

#elif defined(LW_INSTANCES_d512)        /* double precision, 512 points */
LW_OLS_GROUP(d512,
    LW_OLS_BOTH(time_fast, double, 16, 2, 8, -1));

#elif defined(LW_INSTANCES_d1024)        /* double precision, 1024 points */
LW_OLS_GROUP(d1024,
    LW_OLS_BOTH(finding, double, 16, 4, 4, -1));

#elif defined(LW_INSTANCES_d2048)        /* double precision, 2048 points */
LW_OLS_GROUP(d2048,
    LW_OLS_BOTH(time_fast, double, 16, 8, 2, -1));

#elif defined(LW_INSTANCES_d4096)        /* double precision, 4096 points */
LW_OLS_GROUP(d4096,
    LW_OLS_BOTH(finding, double, 16, 16, 1, -1));

#elif defined(LW_INSTANCES_time_slow_f)        /* time slow, single precision */
LW_OLS_GROUP(time_slow_f,
    LW_OLS_BOTH(finding_channels, float, 32, 1, 4, 3),
    LW_OLS_BOTH(time_slow, float, 32, 1, 8, 2, false),
    ols_interleaved_kernel<32, 16, 1, 256, false>(),
    ols_interleaved_kernel<32, 16, 1, -1, false>(),
    ols_interleaved_kernel<32, 8, 2, 256, false>(),
    ols_interleaved_kernel<32, 8, 2, -1, false>(),
    LW_OLS_BOTH(abreast, 1, 16, false, 256),
    LW_OLS_BOTH(abreast, 1, 16, false, -1),
    LW_OLS_BOTH(abreast, 1, 16, true, 256),
    LW_OLS_BOTH(abreast, 1, 16, true, -1),
    LW_OLS_BOTH(abreast, 2, 8, false, 1024),
    LW_OLS_BOTH(abreast, 2, 8, false, -1),
    LW_OLS_BOTH(abreast, 2, 8, true, 1024),
    LW_OLS_BOTH(abreast, 2, 8, true, -1),
    LW_OLS_BOTH(finding_channels, float, 32, 4, 2, 1),
    LW_OLS_BOTH(finding_channels, float, 32, 8, 1, 1));

#elif defined(LW_INSTANCES_time_slow_d)        /* time slow, double precision */
LW_OLS_GROUP(time_slow_d,
    LW_OLS_BOTH(finding_channels, double, 16, 4, 2, 2),
    LW_OLS_BOTH(finding_channels, double, 16, 16, 1, 1));

#elif defined(LW_INSTANCES_post_f)        /* --post, single precision, time fast */
LW_OLS_GROUP(post_f,
    LW_OLS_BOTH(time_fast, float, 32, 1, 12, -1, MakeSeries),
    LW_OLS_BOTH(time_fast, float, 32, 2, 6, -1, MakeSeries),
    LW_OLS_BOTH(time_fast, float, 32, 4, 3, -1, MakeSeries));

#elif defined(LW_INSTANCES_post_f8192)        /* --post, single precision, time fast, 8192 points */
LW_OLS_GROUP(post_f8192,
    LW_OLS_BOTH(time_fast, float, 32, 8, 1, -1, MakeSeries));

#elif defined(LW_INSTANCES_post_d)        /* --post, double precision, time fast */
LW_OLS_GROUP(post_d,
    LW_OLS_BOTH(time_fast, double, 16, 4, 4, -1, MakeSeries),
    LW_OLS_BOTH(time_fast, double, 16, 16, 1, -1, MakeSeries));

#elif defined(LW_INSTANCES_post_time_slow_f)        /* --post, single precision, time slow */
LW_OLS_GROUP(post_time_slow_f,
    LW_OLS_BOTH(making_channels, float, 32, 1, 4, 2),
    LW_OLS_BOTH(making_channels, float, 32, 4, 2, 1),
    LW_OLS_BOTH(making_channels, float, 32, 8, 1, 1));

#elif defined(LW_INSTANCES_post_time_slow_d)        /* --post, double precision, time slow */
LW_OLS_GROUP(post_time_slow_d,
    LW_OLS_BOTH(making_channels, double, 16, 4, 2, 2),
    LW_OLS_BOTH(making_channels, double, 16, 16, 1, 1));

#elif defined(LW_INSTANCES_thinned_f)        /* decimation, single precision, time fast */
LW_OLS_GROUP(thinned_f,
    LW_OLS_BOTH(thinned, float, 32, 1, 12),
    LW_OLS_BOTH(thinned, float, 32, 2, 6),
    LW_OLS_BOTH(thinned, float, 32, 4, 3),
    LW_OLS_BOTH(thinned, float, 32, 8, 1));

#elif defined(LW_INSTANCES_thinned_d)        /* decimation, double precision, time fast */
LW_OLS_GROUP(thinned_d,
    LW_OLS_BOTH(thinned, double, 16, 4, 4),
    LW_OLS_BOTH(thinned, double, 16, 8, 2),
    LW_OLS_BOTH(thinned, double, 16, 16, 1));

#elif defined(LW_INSTANCES_thinned_time_slow_f)        /* decimation, single precision, time slow */
LW_OLS_GROUP(thinned_time_slow_f,
    LW_OLS_BOTH(thinned_channels, float, 32, 1, 4, 3, true),
    LW_OLS_BOTH(thinned_channels, float, 32, 1, 8, 2, false),
    ols_interleaved_kernel<32, 16, 1, -1, true>(),
    ols_interleaved_kernel<32, 8, 2, -1, true>(),
    LW_OLS_BOTH(thinned_channels, float, 32, 4, 2, 1, true),
    LW_OLS_BOTH(thinned_channels, float, 32, 8, 1, 1, true));

#elif defined(LW_INSTANCES_thinned_time_slow_d)        /* decimation, double precision, time slow */
LW_OLS_GROUP(thinned_time_slow_d,
    LW_OLS_BOTH(thinned_channels, double, 16, 4, 2, 2, true),
    LW_OLS_BOTH(thinned_channels, double, 16, 16, 1, 1, true));

#elif defined(LW_INSTANCES_folded_f)        /* decimation by folding, single precision, time fast */
LW_OLS_GROUP(folded_f,
    LW_OLS_BOTH(folded, 1, 2, 16, false),
    LW_OLS_BOTH(folded, 1, 4, 16, false),
    LW_OLS_BOTH(folded, 1, 2, 12, true),
    LW_OLS_BOTH(folded, 1, 4, 12, true),
    LW_OLS_BOTH(folded, 2, 2, 8, false),
    LW_OLS_BOTH(folded, 2, 4, 8, false),
    LW_OLS_BOTH(folded, 2, 8, 8, false),
    LW_OLS_BOTH(folded, 2, 2, 6, true),
    LW_OLS_BOTH(folded, 2, 4, 6, true),
    LW_OLS_BOTH(folded, 2, 8, 6, true));

#elif defined(LW_INSTANCES_folded_f4096)        /* decimation by folding, 4096 points and more */
LW_OLS_GROUP(folded_f4096,
    LW_OLS_BOTH(folded, 4, 2, 3, true),
    LW_OLS_BOTH(folded, 4, 4, 3, true),
    LW_OLS_BOTH(folded, 4, 8, 3, true),
    LW_OLS_BOTH(folded, 8, 2, 1, true),
    LW_OLS_BOTH(folded, 8, 4, 1, true),
    LW_OLS_BOTH(folded, 8, 8, 1, true));

#else
#error "no group of kernels is chosen: define LW_INSTANCES_<group>"
#endif
