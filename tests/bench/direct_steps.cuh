/* direct_steps.cuh - two simpler versions of the direct kernel of gpu/ols/direct/sum.cuh, for the benchmark only: they show the
 * gain from tiles and registers. Real, single precision, one channel: y[f][o] = sum_m taps[f][m] x[o + M - 1 - m]. */
#ifndef DIRECT_STEPS_CUH
#define DIRECT_STEPS_CUH

#include "gpu_bench.cuh"

constexpr int CONSTANT_TAPS = 8192;
__constant__ float constant_taps[CONSTANT_TAPS];

/* Each thread computes one output of one filter, and reads samples and taps through the caches. */
__global__ void direct_naive(const float *x, const float *taps, float *y, int64_t count, int n_taps)
{
    const int64_t o = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    const int f = blockIdx.y;
    if (o >= count)
        return;
    float sum = 0;
    for (int m = 0; m < n_taps; ++m)
        sum += taps[f * n_taps + m] * x[o + n_taps - 1 - m];
    y[f * count + o] = sum;
}

/* The same kernel with the taps in constant memory. */
__global__ void direct_constant(const float *x, float *y, int64_t count, int n_taps)
{
    const int64_t o = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    const int f = blockIdx.y;
    if (o >= count)
        return;
    float sum = 0;
    for (int m = 0; m < n_taps; ++m)
        sum += constant_taps[f * n_taps + m] * x[o + n_taps - 1 - m];
    y[f * count + o] = sum;
}

__global__ void round_taps(float *out, const double *taps, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = (float)taps[i];
}

struct DirectSteps {
    Timing naive, constant;
};

/* Time both kernels. rounded: device space of n_filters n_taps floats. There is one buffer each, since signals are many times the
 * L2 cache. */
inline DirectSteps time_direct_steps(const float *x, const double *taps, float *rounded, float *y, int64_t count, int n_taps,
                                     int n_filters, cudaStream_t stream, double budget_ms)
{
    const int n = n_filters * n_taps, threads = 256;
    const dim3 grid((unsigned)((count + threads - 1) / threads), n_filters);
    round_taps<<<(n + 127) / 128, 128, 0, stream>>>(rounded, taps, n);
    CHECK_CUDA(cudaMemcpyToSymbolAsync(constant_taps, rounded, n * sizeof(float), 0, cudaMemcpyDeviceToDevice, stream));
    const auto naive = [&](int) { direct_naive<<<grid, threads, 0, stream>>>(x, rounded, y, count, n_taps); };
    const auto constant = [&](int) { direct_constant<<<grid, threads, 0, stream>>>(x, y, count, n_taps); };
    DirectSteps s;
    s.naive = time_run(naive, stream, budget_ms);
    s.constant = time_run(constant, stream, budget_ms);
    CHECK_CUDA(cudaGetLastError());
    return s;
}

#endif
