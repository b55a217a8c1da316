/* ols_cufftdx.cuh - expert overlap-save in one fused kernel with NVIDIA's device library cuFFTDx. It transforms a segment forward
 * and keeps the spectrum in registers or in shared memory. For every filter follow the product, the inverse transform and a
 * streaming store of the valid part. Thread t of a transform holds points t + i T (i < POINTS, T = N / POINTS) of input, spectrum
 * and output. The filters' spectra have that order, two bins to a 16-byte load. Launches may depend on each other. */
#ifndef OLS_CUFFTDX_CUH
#define OLS_CUFFTDX_CUH

#define CUFFTDX_DISABLE_CUTLASS_DEPENDENCY
#include "gpu/device/ptx.cuh"
#include "ols_cufftdx.h"

#include <cufftdx.hpp>

template <int N, int FFTS>
using DxBlock = decltype(cufftdx::Precision<float>() + cufftdx::SM<900>() + cufftdx::Block() + cufftdx::FFTsPerBlock<FFTS>() +
                         cufftdx::Size<N>());

template <int KIND, int N, int POINTS, int FFTS, bool FORWARD> struct DxTransform {
    static constexpr auto direction = FORWARD ? cufftdx::fft_direction::forward : cufftdx::fft_direction::inverse;
    using type = decltype(DxBlock<N, FFTS>() + cufftdx::Type<cufftdx::fft_type::c2c>() +
                          cufftdx::ElementsPerThread<POINTS>() + cufftdx::Direction<direction>());
};
template <int N, int POINTS, int FFTS, bool FORWARD> struct DxTransform<DX_FOLDED, N, POINTS, FFTS, FORWARD> {
    using type = decltype(DxBlock<2 * N, FFTS>() + cufftdx::Type<FORWARD ? cufftdx::fft_type::r2c : cufftdx::fft_type::c2r>() +
                          cufftdx::ElementsPerThread<2 * POINTS>() +
                          cufftdx::RealFFTOptions<cufftdx::complex_layout::packed, cufftdx::real_mode::folded>());
};

/* Addresses of a segment's samples and outputs. */
template <int KIND, int N, int POINTS, int DISCARD> struct DxSegment {
    static constexpr int T = N / POINTS, DROPPED = KIND == DX_FOLDED ? DISCARD / 2 : DISCARD;
    static constexpr int LENGTH = KIND == DX_FOLDED ? 2 * N : N, HOP = LENGTH - DISCARD;
    static constexpr int UNIT = KIND == DX_PAIRS ? 2 * HOP : HOP, REACH = KIND == DX_PAIRS ? LENGTH + HOP : LENGTH;

    /* Point t + i T; p is the address of the thread's first point. */
    static __device__ __forceinline__ float2 point(const float *p, int i, bool is_there, bool next_is_there)
    {
        if constexpr (KIND == DX_PAIRS)
            return {is_there ? __ldg(p + i * T) : 0, next_is_there ? __ldg(p + HOP + i * T) : 0};
        else
            return is_there ? __ldg((const float2 *)p + i * T) : float2{0, 0};
    }

    /* Load the thread's points. from: index in x of the segment's first sample; size: length of x */
    static __device__ __forceinline__ void load(const float *x, int64_t from, int64_t size, int t, float2 *d)
    {
        constexpr int STEP = KIND == DX_FOLDED ? 2 : 1, FLOATS = KIND == DX_COMPLEX ? 2 : 1;
        const float *const p = x + FLOATS * (from + STEP * t);
        if (from >= 0 && from + REACH <= size) {
#pragma unroll
            for (int i = 0; i < POINTS; ++i)
                d[i] = point(p, i, true, true);
            return;
        }
#pragma unroll
        for (int i = 0; i < POINTS; ++i) {
            const int64_t at = from + STEP * (t + i * T);
            d[i] = point(p, i, at >= 0 && at < size, at + HOP >= 0 && at + HOP < size);
        }
    }

    /* Store the thread's points. to: index in y of the segment's first point, the dropped ones included; count: length of y */
    static __device__ __forceinline__ void store(float *y, int64_t to, int64_t count, int t, const float2 *d)
    {
        constexpr int STEP = KIND == DX_FOLDED ? 2 : 1, FLOATS = KIND == DX_COMPLEX ? 2 : 1;
        const int left = (int)min(count - to, (int64_t)REACH);
        const bool inside = left == REACH;
        float *const p = y + FLOATS * (to + STEP * t);
#pragma unroll
        for (int i = DROPPED / T; i < POINTS; ++i) {
            const int at = STEP * (t + i * T);
            if (i == DROPPED / T && t < DROPPED % T)
                continue;
            if constexpr (KIND == DX_PAIRS) {
                if (inside || at < left)
                    __stcs(p + i * T, d[i].x);
                if (inside || at + HOP < left)
                    __stcs(p + HOP + i * T, d[i].y);
            } else if (inside || at < left)
                __stcs((float2 *)p + i * T, d[i]);
        }
    }

    static __device__ __forceinline__ float2 product(float2 x, float re, float im)
    {
        return {x.x * re - x.y * im, x.x * im + x.y * re};
    }
};

/* SHARED: the spectrum is kept in shared memory; BLOCKS: least number of blocks on a multiprocessor */
template <int KIND, int N, int POINTS, int FFTS, int EXCHANGE, bool SHARED, int BLOCKS, int DISCARD>
__global__ void __launch_bounds__(N / POINTS *FFTS, BLOCKS) dx_ols(const DxArguments a)
{
    using Segment = DxSegment<KIND, N, POINTS, DISCARD>;
    using Forward = typename DxTransform<KIND, N, POINTS, FFTS, true>::type;
    using Inverse = typename DxTransform<KIND, N, POINTS, FFTS, false>::type;
    constexpr int T = Segment::T;
    static_assert(Forward::stride == T && Inverse::stride == T, "points lie as described above");
    static_assert(Forward::storage_size == POINTS && Inverse::storage_size == POINTS, "and there are no more");
    static_assert(Forward::shared_memory_size == Inverse::shared_memory_size && Forward::shared_memory_size % 16 == 0, "one space");
    extern __shared__ __align__(16) unsigned char space[];
    wait_for_predecessor();
    const int t = threadIdx.x, first = blockIdx.y * a.at_once, end = min(first + a.at_once, a.n_filters);
    const int64_t to = ((int64_t)blockIdx.x * FFTS + threadIdx.y) * Segment::UNIT - DISCARD;
    float4 *const waiting = (float4 *)(space + Forward::shared_memory_size) + threadIdx.y * (N / 2) + t;
    float2 d[POINTS], spectrum[SHARED ? 1 : POINTS];
    Segment::load(a.x, to + a.halo, a.count + a.halo, t, d);
    Forward().execute(d, space);
#pragma unroll
    for (int i = 0; i < POINTS; i += 2) {
        if constexpr (SHARED)
            waiting[i / 2 * T] = {d[i].x, d[i].y, d[i + 1].x, d[i + 1].y};
        else
            spectrum[i] = d[i], spectrum[i + 1] = d[i + 1];
    }
    for (int f = first; f < end; ++f) {
        const float4 *const h = a.bank + (int64_t)f * (N / 2) + t;
#pragma unroll
        for (int i = 0; i < POINTS; i += 2) {
            const float4 g = __ldg(h + i / 2 * T);
            float2 x[2];
            if constexpr (SHARED) {
                const float4 q = waiting[i / 2 * T];
                x[0] = {q.x, q.y}, x[1] = {q.z, q.w};
            } else
                x[0] = spectrum[i], x[1] = spectrum[i + 1];
            d[i] = Segment::product(x[0], g.x, g.y);
            d[i + 1] = Segment::product(x[1], g.z, g.w);
            if (KIND == DX_FOLDED && i == 0 && t == 0)      /* the first and the middle bin, both real */
                d[0] = {x[0].x * g.x, x[0].y * g.y};
        }
        Inverse().execute(d, space);
        Segment::store(a.y + (KIND == DX_COMPLEX ? 2 : 1) * f * a.count, to, a.count, t, d);
    }
}

template <int KIND, int N, int POINTS, int FFTS, int EXCHANGE, bool SHARED, int BLOCKS, int DISCARD> void dx_add(const char *text)
{
    using Segment = DxSegment<KIND, N, POINTS, DISCARD>;
    constexpr int bytes = (int)DxTransform<KIND, N, POINTS, FFTS, true>::type::shared_memory_size + (SHARED ? N * 8 * FFTS : 0);
    if constexpr (bytes <= 227 * 1024)
        dx_kernels().push_back({KIND, N, POINTS, FFTS, DISCARD, Segment::UNIT, bytes, text,
                                dx_ols<KIND, N, POINTS, FFTS, EXCHANGE, SHARED, BLOCKS, DISCARD>});
}

#endif
