/* direct_steps.cuh - the textbook's steps towards the direct kernel of gpu/ols/direct/sum.cuh, for the benchmark only: plain, taps
 * in constant memory, samples in shared memory with ghost cells, and ghost cells through the caches instead. They show what tiles
 * and registers gain. Real, single precision, one channel: y[f][o] = sum_m taps[f][m] x[o + M - 1 - m]. */
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

/* Taps in constant memory, and the samples of a block's outputs in shared memory. The M - 1 samples before these are ghost cells:
 * they lie in shared memory, too (GHOSTS), or are read through L1 and L2, where the block before has left them. */
template <bool GHOSTS> __global__ void direct_shared(const float *x, float *y, int64_t count, int n_taps)
{
    extern __shared__ float tile[];
    const int64_t first = blockIdx.x * (int64_t)blockDim.x, o = first + threadIdx.x;
    const int f = blockIdx.y, halo = n_taps - 1, skipped = GHOSTS ? 0 : halo, size = blockDim.x + halo;
    for (int i = skipped + threadIdx.x; i < size; i += blockDim.x)
        tile[i - skipped] = first + i < count + halo ? x[first + i] : 0;
    __syncthreads();
    if (o >= count)
        return;
    float sum = 0;
    for (int m = 0; m < n_taps; ++m) {
        const int i = threadIdx.x + halo - m;
        sum += constant_taps[f * n_taps + m] * (i >= skipped ? tile[i - skipped] : x[first + i]);
    }
    y[f * count + o] = sum;
}

__global__ void round_taps(float *out, const double *taps, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = (float)taps[i];
}

struct DirectStep {
    const char *name;
    Timing ms;
    double error;
};

/* Time the kernels. rounded: device space of n_filters n_taps floats; check(): the relative error of y. There is one buffer each,
 * since signals are many times the L2 cache. */
template <class Check>
std::vector<DirectStep> time_direct_steps(const float *x, const double *taps, float *rounded, float *y, int64_t count, int n_taps,
                                          int n_filters, cudaStream_t stream, double budget_ms, Check check)
{
    const int n = n_filters * n_taps, threads = 256;
    const size_t own = threads * sizeof(float), all = own + (n_taps - 1) * sizeof(float);
    const dim3 grid((unsigned)((count + threads - 1) / threads), n_filters);
    std::vector<DirectStep> steps;
    const auto add = [&](const char *name, auto run) {
        CHECK_CUDA(cudaMemsetAsync(y, 0xff, sizeof(float) * count * n_filters, stream));
        run(0);
        CHECK_CUDA(cudaStreamSynchronize(stream));
        const double error = check();
        steps.push_back({name, time_run(run, stream, budget_ms), error});
    };
    round_taps<<<(n + 127) / 128, 128, 0, stream>>>(rounded, taps, n);
    CHECK_CUDA(cudaMemcpyToSymbolAsync(constant_taps, rounded, n * sizeof(float), 0, cudaMemcpyDeviceToDevice, stream));
    add("naive", [&](int) { direct_naive<<<grid, threads, 0, stream>>>(x, rounded, y, count, n_taps); });
    add("constant", [&](int) { direct_constant<<<grid, threads, 0, stream>>>(x, y, count, n_taps); });
    add("ghost cells", [&](int) { direct_shared<true><<<grid, threads, all, stream>>>(x, y, count, n_taps); });
    add("cached ghost cells", [&](int) { direct_shared<false><<<grid, threads, own, stream>>>(x, y, count, n_taps); });
    CHECK_CUDA(cudaGetLastError());
    return steps;
}

#endif
