/* ends.cu - the kernel that computes the first and the last output of the axis of a folded derivative. A thread block computes one
 * output of one filter and channel. Thread t sums the products of taps t, t + 256, ..: adjacent threads read adjacent taps (and
 * samples, if [channel][axis]). A tree in 4 KB of shared memory adds the threads' sums in a fixed order. */
#include "gpu/ols/ends.h"

#include "gpu/device/stored.cuh"

#include <math_constants.h>

static constexpr int block_threads = 256;

struct Sum {
    double re, im;
    bool bad;
};

/* Return this thread's share of the sum for the output whose newest sample is number `newest` of the channel's input. */
template <typename Real, typename Stored>
__device__ static Sum sum_taps(const lw_ends &e, const double *taps, int64_t channel, int64_t newest)
{
    const Stored *const input = static_cast<const Stored *>(e.input);
    Sum sum = {0, 0, false};
    for (int64_t m = threadIdx.x; m < e.n_taps; m += block_threads) {
        const int64_t i = newest - m;
        const int64_t at = e.layout == LW_TIME_SLOW ? i * e.n_channels + channel : channel * (e.halo + e.count) + i;
        double2 x = {0, 0};
        if (e.input_type.is_complex) {
            const Complex<Real> value = finite_complex<Real>(input, at, sum.bad);
            x = {value.x, value.y};
        } else
            x.x = finite_of<Stored>((Real)input[at], sum.bad);
        const double2 h = e.taps_complex ? double2{taps[2 * m], taps[2 * m + 1]} : double2{taps[m], 0};
        sum.re += h.x * x.x - h.y * x.y;
        sum.im += h.x * x.y + h.y * x.x;
    }
    return sum;
}

template <typename Real, typename Stored> __global__ void ends(lw_ends e, int n_ends)
{
    __shared__ double re[block_threads], im[block_threads];
    const int64_t item = blockIdx.x, channel = item / n_ends % e.n_channels, filter = item / n_ends / e.n_channels;
    const bool is_last = !e.has_first || item % n_ends == 1;
    const int64_t output = is_last ? e.last_place : 0, newest = is_last ? e.halo + e.last - e.every : e.halo;
    const Sum own = sum_taps<Real, Stored>(e, e.taps + filter * e.n_taps * (e.taps_complex ? 2 : 1), channel, newest);
    re[threadIdx.x] = own.re;
    im[threadIdx.x] = own.im;
    const bool bad = __syncthreads_or(own.bad) && e.nan != LW_NAN_ZERO;
    for (int half = block_threads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            re[threadIdx.x] += re[threadIdx.x + half];
            im[threadIdx.x] += im[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x != 0)
        return;
    const int64_t in_plane = e.layout == LW_TIME_SLOW ? output * e.n_channels + channel : channel * e.row + output;
    const int64_t at = (filter * e.row * e.n_channels + in_plane) * (e.output_complex ? 2 : 1);
    Real *const to = static_cast<Real *>(e.output) + at;
    to[0] = bad ? Real(CUDART_NAN) : Real(re[0]);
    if (e.output_complex)
        to[1] = bad ? Real(CUDART_NAN) : Real(im[0]);
}

cudaError_t lw_cuda_ols_ends(const struct lw_ends *e, cudaStream_t stream)
{
    const int n_ends = e->has_first + e->has_last;
    const int64_t blocks = e->n_filters * e->n_channels * n_ends;
    if (e->count == 0 || blocks == 0)
        return cudaSuccess;
    if (blocks > INT32_MAX)
        return cudaErrorInvalidValue;
    return with_stored(e->input_type.scalar, [=](auto stored) {
        return with_real(e->precision, [=](auto real) {
            ends<decltype(real), decltype(stored)><<<static_cast<unsigned>(blocks), block_threads, 0, stream>>>(*e, n_ends);
            return cudaGetLastError();
        });
    });
}
