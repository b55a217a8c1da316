/* spectrum.cu - medians of powers in blocks of a spectrum, and bins times factors. A block of threads takes a block of bins. */
#include "gpu/accel/launch.h"
#include "gpu/device/ptx.cuh"

static constexpr int block_threads = 256;

/* The bits of powers are in the order of powers. Four passes find the median's bits, eight at a time from the highest: each counts
 * the next eight of all powers that share the bits so far. */
static __global__ void __launch_bounds__(block_threads) medians_of(const float2 *spectrum, const int64_t *edges, float *medians)
{
    __shared__ unsigned counts[256], known, rank;
    const int t = static_cast<int>(threadIdx.x);
    for (int shift = 24; shift >= 0; shift -= 8) {
        counts[t] = 0;
        __syncthreads();
        for (int64_t k = edges[blockIdx.x] + t; k < edges[blockIdx.x + 1]; k += block_threads) {
            const float2 x = spectrum[k];
            const float power = x.x * x.x + x.y * x.y;
            const unsigned bits = __float_as_uint(power);
            if (!isnan(power) && (shift == 24 || bits >> shift >> 8 == known))
                atomicAdd(&counts[bits >> shift & 255], 1u);
        }
        __syncthreads();
        if (t == 0) {
            if (shift == 24) {
                known = rank = 0;
                for (int i = 0; i < 256; i++)
                    rank += counts[i];
                rank = rank > 0 ? (rank - 1) / 2 : 0;
            }
            unsigned digit = 0;
            while (digit < 255 && rank >= counts[digit])
                rank -= counts[digit++];
            known = known << 8 | (counts[digit] > 0 ? digit : 0);       /* no power counts: all digits become 0 */
        }
        __syncthreads();
    }
    if (t == 0)
        medians[blockIdx.x] = __int_as_float(static_cast<int>(known));
}

cudaError_t lw_cuda_accel_medians(const float2 *spectrum, const int64_t *edges, int64_t n_blocks, float *medians,
                                  cudaStream_t stream)
{
    medians_of<<<static_cast<unsigned>(n_blocks), block_threads, 0, stream>>>(spectrum, edges, medians);
    return cudaGetLastError();
}

static __global__ void scale(float2 *spectrum, const int64_t *edges, const float *factors)
{
    const float factor = factors[blockIdx.x];
    for (int64_t k = edges[blockIdx.x] + threadIdx.x; k < edges[blockIdx.x + 1]; k += block_threads) {
        const float2 x = spectrum[k];
        spectrum[k] = isnan(x.x) ? float2{0, 0} : float2{factor * x.x, factor * x.y};
    }
}

cudaError_t lw_cuda_accel_scale(float2 *spectrum, const int64_t *edges, int64_t n_blocks, const float *factors, cudaStream_t stream)
{
    scale<<<static_cast<unsigned>(n_blocks), block_threads, 0, stream>>>(spectrum, edges, factors);
    return cudaGetLastError();
}
