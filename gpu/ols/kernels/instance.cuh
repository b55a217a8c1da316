/* instance.cuh - table entries for compiled overlap-save kernels; one .cu per segment length instantiates its own. */
#ifndef LW_GPU_OLS_KERNELS_INSTANCE_CUH
#define LW_GPU_OLS_KERNELS_INSTANCE_CUH

#include "gpu/ols/kernels/interleaved.cuh"
#include "gpu/ols/kernels/pingpong.cuh"
#include "gpu/ols/kernels/pipelined.cuh"
#include "gpu/ols/kernels/time_fast.cuh"
#include "gpu/ols/kernels/time_slow.cuh"

/* Time fast. DISCARD: outputs dropped, -1: given at run time. */
template <class Real, int E, int P, int BLOCKS, int DISCARD, bool PAIRED> OlsKernel ols_kernel()
{
    using F = Transform<Real, E, P, Team<E * P, 1>>;
    OlsKernel k = ols_entry<Real, E, P, BLOCKS, PAIRED>();
    k.layout = LW_TIME_FAST;
    k.discard = DISCARD;
    k.together = 1;
    k.threads = F::T < 32 ? 32 : F::T;
    k.shared_bytes = k.threads / F::T * F::SHARED_BYTES;
    k.kernel = ols_segments<F, BLOCKS, DISCARD, PAIRED, StoreEpilogue>;
    return k;
}

/* Time fast, single precision, two teams a segment, a block an SM. */
template <int E, int P, int DISCARD, bool PAIRED> OlsKernel ols_twin_kernel()
{
    using F = Transform<float, E, P, Team<E * P, TWINS>, true>;
    OlsKernel k = ols_entry<float, E, P, 1, PAIRED>();
    k.layout = LW_TIME_FAST;
    k.discard = DISCARD;
    k.together = 1;
    k.threads = TwinBlock<F>::THREADS;
    k.shared_bytes = TwinBlock<F>::SHARED_BYTES;
    k.design = OLS_TWIN;
    k.kernel = ols_segments_twin<F, DISCARD, PAIRED, StoreEpilogue>;
    return k;
}

/* Time fast, single precision, one filter, a warp a segment. */
template <int E, int BLOCKS, int DISCARD, bool PAIRED> OlsKernel ols_ahead_kernel()
{
    using F = Transform<float, E, 1, Team<E, 1>>;
    OlsKernel k = ols_entry<float, E, 1, BLOCKS, PAIRED>();
    k.layout = LW_TIME_FAST;
    k.discard = DISCARD;
    k.together = 1;
    k.one_filter = true;
    k.staged = true;
    k.reversed = true;
    k.threads = F::T;
    k.shared_bytes = F::SHARED_BYTES;
    k.kernel = ols_segments_ahead<F, BLOCKS, DISCARD, PAIRED, StoreEpilogue>;
    return k;
}

/* Time slow, W transforms together. KEEP: the spectrum is kept, for several filters. */
template <class Real, int E, int P, int W, int BLOCKS, bool PAIRED, bool KEEP> OlsKernel ols_slow_kernel()
{
    using F = Transform<Real, E, P, Team<E * P, W>>;
    OlsKernel k = ols_entry<Real, E, P, BLOCKS, PAIRED>();
    k.layout = LW_TIME_SLOW;
    k.discard = -1;
    k.one_filter = !KEEP;
    k.together = W;
    k.threads = SlowBlock<F, W>::THREADS;
    k.shared_bytes = SlowBlock<F, W>::SHARED_BYTES;
    k.kernel = ols_segments_slow<F, W, BLOCKS, KEEP, StoreEpilogue>;
    return k;
}

/* Time slow, single precision, real signals of short integers, one filter: W transforms together, BLOCKS a multiprocessor. */
template <int E, int W, int BLOCKS, int DISCARD> OlsKernel ols_abreast_kernel()
{
    using F = Transform<float, E, 1, Team<E, W>>;
    OlsKernel k = ols_entry<float, E, 1, BLOCKS, true>();
    k.layout = LW_TIME_SLOW;
    k.discard = DISCARD;
    k.together = W;
    k.one_filter = true;
    k.staged = true;
    k.threads = AbreastBlock<F, W>::THREADS;
    k.shared_bytes = AbreastBlock<F, W>::SHARED_BYTES;
    k.kernel = ols_segments_abreast<F, W, BLOCKS, DISCARD, StoreEpilogue>;
    return k;
}

/* both kinds of signal */
#define LW_OLS_BOTH(Real, E, P, BLOCKS, DISCARD) \
    ols_kernel<Real, E, P, BLOCKS, DISCARD, false>(), ols_kernel<Real, E, P, BLOCKS, DISCARD, true>()

#define LW_OLS_TWIN_BOTH(E, P, DISCARD) ols_twin_kernel<E, P, DISCARD, false>(), ols_twin_kernel<E, P, DISCARD, true>()
#define LW_OLS_ONE_FILTER(E, BLOCKS, DISCARD) \
    ols_ahead_kernel<E, BLOCKS, DISCARD, false>(), ols_ahead_kernel<E, BLOCKS, DISCARD, true>()
#define LW_OLS_SLOW(Real, E, P, W, BLOCKS, KEEP) \
    ols_slow_kernel<Real, E, P, W, BLOCKS, false, KEEP>(), ols_slow_kernel<Real, E, P, W, BLOCKS, true, KEEP>()

#define LW_OLS_LIST(list) {list, (int)(sizeof(list) / sizeof(list[0]))}

#endif
