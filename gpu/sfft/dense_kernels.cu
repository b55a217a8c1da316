/* dense_kernels.cu - selects the k largest of all coefficients by radix selection on their keys (dense.h). One pass counts the
 * values of one 16-bit digit, among the keys whose higher digits are those of the k-th largest. A few passes at memory speed thus
 * find the k-th largest key exactly. In all kernels neighbouring threads read neighbouring coefficients (coalesced). */
#include "gpu/device/fft.cuh"
#include "gpu/device/launch.cuh"
#include "gpu/sfft/dense.h"

namespace {

constexpr int THREADS = 256;

using Digits = lw_sfft_dense_digits;

/* |x|^2 with the same bits in every kernel: the operations are explicit, so the compiler cannot fuse them differently. */
LW_DEVICE double energy_of(double2 x) { return fma(x.x, x.x, x.y * x.y); }

LW_DEVICE bool counts(const lw_sfft_dense_spectrum &s, double energy) { return energy > 0 && energy >= s.least; }

/* Digit i of a coefficient's key: four digits of its energy, then three of its frequency (below 2^48), complemented. */
LW_DEVICE unsigned digit_of(double energy, int64_t frequency, int i)
{
    const unsigned long long bits = i < 4 ? (unsigned long long)__double_as_longlong(energy) : ~(unsigned long long)frequency;
    return (unsigned)(bits >> (i < 4 ? 48 - 16 * i : 96 - 16 * i) & 65535);
}

__global__ void __launch_bounds__(THREADS)
count(lw_sfft_dense_spectrum s, Digits digits, int n_digits, unsigned long long *found)
{
    for (int64_t f = blockIdx.x * (int64_t)THREADS + threadIdx.x; f < s.n_bins; f += (int64_t)gridDim.x * THREADS) {
        const double energy = energy_of(s.values[f]);
        bool agrees = counts(s, energy);
        for (int i = 0; i < n_digits; ++i)
            agrees = agrees && digit_of(energy, f, i) == digits.digit[i];
        if (agrees)
            atomicAdd(&found[digit_of(energy, f, n_digits)], 1ull);
    }
}

__global__ void __launch_bounds__(THREADS)
collect(lw_sfft_dense_spectrum s, Digits digits, lw_sfft_line *lines, unsigned long long *n_lines)
{
    for (int64_t f = blockIdx.x * (int64_t)THREADS + threadIdx.x; f < s.n_bins; f += (int64_t)gridDim.x * THREADS) {
        const double2 x = s.values[f];
        const double energy = energy_of(x);
        if (!counts(s, energy))
            continue;
        int i = 0;
        while (i < LW_SFFT_DENSE_DIGITS && digit_of(energy, f, i) == digits.digit[i])
            ++i;
        if (i == LW_SFFT_DENSE_DIGITS || digit_of(energy, f, i) > digits.digit[i])
            lines[atomicAdd(n_lines, 1ull)] = {f, x.x, x.y, 0};
    }
}

/* Each block sums the energy of its share of the bins, in a fixed order. */
__global__ void __launch_bounds__(THREADS) sum_energy(lw_sfft_dense_spectrum s, double *sums)
{
    __shared__ double of_thread[THREADS];
    double sum = 0;
    for (int64_t f = blockIdx.x * (int64_t)THREADS + threadIdx.x; f < s.n_bins; f += (int64_t)gridDim.x * THREADS)
        sum += (s.n_single == 0 || f == 0 || f + 1 == s.n_single ? 1 : 2) * energy_of(s.values[f]);
    of_thread[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half)
            of_thread[threadIdx.x] += of_thread[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = of_thread[0];
}

unsigned blocks_of(const lw_sfft_dense_spectrum &s) { return blocks_for(s.n_bins, 8 * THREADS, 4096); }

}  // namespace

cudaError_t lw_sfft_dense_count(const lw_sfft_dense_spectrum *spectrum, const Digits *digits, int n_digits,
                                unsigned long long *found, cudaStream_t stream)
{
    if (spectrum->n_bins == 0)
        return cudaSuccess;
    count<<<blocks_of(*spectrum), THREADS, 0, stream>>>(*spectrum, *digits, n_digits, found);
    return cudaGetLastError();
}

cudaError_t lw_sfft_dense_collect(const lw_sfft_dense_spectrum *spectrum, const Digits *digits,
                                  lw_sfft_line *lines, unsigned long long *n_lines, cudaStream_t stream)
{
    if (spectrum->n_bins == 0)
        return cudaSuccess;
    collect<<<blocks_of(*spectrum), THREADS, 0, stream>>>(*spectrum, *digits, lines, n_lines);
    return cudaGetLastError();
}

cudaError_t lw_sfft_dense_energy(const lw_sfft_dense_spectrum *spectrum, double *sums, cudaStream_t stream)
{
    sum_energy<<<LW_SFFT_DENSE_PARTS, THREADS, 0, stream>>>(*spectrum, sums);
    return cudaGetLastError();
}
