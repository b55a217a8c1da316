/* fold.cu - multiplies samples by the window and folds them to planes of B sums (launch.h).
 *
 * One thread makes one sum: bucket b of one plane. A sum has about 5 samples (2 h + 1 over B), scattered over the signal on the
 * device. The thread issues all their loads at once to overlap the latencies. Neighbouring threads share only the taps, whose
 * reads are coalesced. Indices advance by B sigma modulo n, so a thread needs only two modular products: its first index and the
 * step. Grid: (buckets / THREADS, planes). */
#include "gpu/device/stored.cuh"
#include "gpu/sfft/launch.h"
#include "gpu/sfft/number.cuh"

namespace {

constexpr int THREADS = 128;

/* Source of samples: a signal on the device. A walk visits the samples of one bucket, from tap i on in steps of B taps. */
template <class Real, bool IS_COMPLEX> struct Signal {
    const void *samples;
    lw_sfft_device_control *control;

    struct Walk {
        int64_t at, step;
    };

    LW_DEVICE Walk begin(const lw_sfft_device_stage &stage, int d, int64_t i) const
    {
        const int64_t place = mod_wrap(stage.shift[d] + i, stage.n);        /* one wrap suffices, as 2 h < n */
        const int64_t at = mod_multiply(stage.sigma, place < stage.n ? place : place - stage.n, stage.n, stage.inverse_n);
        const int64_t step = mod_multiply(stage.sigma, stage.n_buckets, stage.n, stage.inverse_n);
        return {mod_add(at, stage.tau, stage.n), step};
    }

    LW_DEVICE double2 next(const lw_sfft_device_stage &stage, Walk &walk) const
    {
        double2 x;
        if (IS_COMPLEX) {
            const Complex<Real> stored = __ldg((const Complex<Real> *)samples + walk.at);
            x = {(double)stored.x, (double)stored.y};
        } else {
            x = {(double)__ldg((const Real *)samples + walk.at), 0};
        }
        walk.at = mod_add(walk.at, walk.step, stage.n);
        return x;
    }

    LW_DEVICE void report(int count) const
    {
        if (count > 0)
            atomicAdd(&control->not_finite, (unsigned long long)count);
    }
};

/* Source of samples: rows that the host has gathered; the samples of a row are contiguous. */
struct Rows {
    const double2 *samples;

    struct Walk {
        const double2 *at;
    };

    LW_DEVICE Walk begin(const lw_sfft_device_stage &stage, int d, int64_t i) const
    {
        return {samples + stage.first_sample + d * (2 * stage.half + 1) + stage.half + i};
    }

    LW_DEVICE double2 next(const lw_sfft_device_stage &stage, Walk &walk) const
    {
        const double2 x = __ldg(walk.at);
        walk.at += stage.n_buckets;
        return x;
    }

    LW_DEVICE void report(int) const {}
};

template <class Source> __global__ void __launch_bounds__(THREADS)
fold(lw_sfft_device_range range, Source source, double2 *values, lw_sfft_device_control *control)
{
    constexpr int LOADS = 6;            /* loads in flight per thread */
    wait_for_predecessor();             /* waits for nothing here; lets the next kernel start early */
    const int64_t b = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    if (b == 0 && blockIdx.y == 0) {
        control->arrivals = 0;
        if (range.first_stage == 0)
            control->largest = 0;
    }
    if (b >= range.n_buckets)
        return;
    const int plane = (int)blockIdx.y, d = plane % range.n_shifts;
    const lw_sfft_device_stage &stage = range.stages[range.first_stage + plane / range.n_shifts];
    const int64_t n_buckets = range.n_buckets, half = stage.half;
    int64_t i = b - (unsigned)(half + b) / (unsigned)n_buckets * n_buckets;     /* first tap of this bucket, >= -half */
    const double *const taps = stage.taps + half;
    auto walk = source.begin(stage, d, i);
    double2 sum = {0, 0};
    int not_finite = 0;
    while (i <= half) {
        double2 x[LOADS];
        double g[LOADS];
#pragma unroll
        for (int j = 0; j < LOADS; ++j) {
            const bool is_in = i + j * n_buckets <= half;
            x[j] = is_in ? source.next(stage, walk) : double2{0, 0};
            g[j] = is_in ? __ldg(taps + i + j * n_buckets) : 0;
        }
#pragma unroll
        for (int j = 0; j < LOADS; ++j) {
            if (!(isfinite(x[j].x) && isfinite(x[j].y))) {
                x[j] = {0, 0};
                not_finite++;
            }
            sum.x = fma(g[j], x[j].x, sum.x);
            sum.y = fma(g[j], x[j].y, sum.y);
        }
        i += LOADS * n_buckets;
    }
    values[range.first_value + plane * n_buckets + b] = sum;
    source.report(not_finite);
}

template <class Source>
cudaError_t launch(const lw_sfft_device_range *range, Source source, double2 *values, lw_sfft_device_control *control,
                   cudaStream_t stream)
{
    const dim3 grid((unsigned)((range->n_buckets + THREADS - 1) / THREADS), (unsigned)range->n_planes);
    fold<<<grid, THREADS, 0, stream>>>(*range, source, values, control);
    return cudaGetLastError();
}

}  // namespace

cudaError_t lw_sfft_fold(const lw_sfft_device_range *range, const lw_sfft_device_signal *signal,
                         const double2 *rows, double2 *values, lw_sfft_device_control *control, cudaStream_t stream)
{
    if (range->n_planes == 0 || range->n_buckets == 0)
        return cudaSuccess;
    if (rows)
        return launch(range, Rows{rows}, values, control, stream);
    return with_sample(signal->type.scalar, signal->type.is_complex, [=](auto stored, auto is_complex) {
        using Stored = decltype(stored);
        if constexpr (std::is_floating_point<Stored>::value)
            return launch(range, Signal<Stored, decltype(is_complex)::value>{signal->samples, control}, values, control, stream);
        else
            return cudaErrorInvalidValue;
    });
}
