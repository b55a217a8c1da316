/* gpu_bench.cuh - functions of all GPU benchmarks: checked calls, random data, timing on rotating buffers. */
#ifndef GPU_BENCH_CUH
#define GPU_BENCH_CUH

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK_CUDA(call)                                                                                \
    do {                                                                                                \
        const int code_ = (int)(call);                                                                  \
        if (code_) {                                                                                    \
            fprintf(stderr, "%s:%d: %s gives %d (%s)\n", __FILE__, __LINE__, #call, code_,              \
                    cudaGetErrorString((cudaError_t)code_));                                            \
            exit(1);                                                                                    \
        }                                                                                               \
    } while (0)

/* Noise that depends on the position alone, the same in every run: a 24-bit hash of i. */
__host__ __device__ inline uint32_t hash24(uint64_t i, uint64_t seed)
{
    uint64_t z = (i + 1) * 0x9E3779B97F4A7C15ull + seed * 0xD1B54A32D192ED03ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return (uint32_t)((z ^ (z >> 31)) >> 40);
}

/* Floating point: uniform in [-1, 1). Integers: uniform over their range (int32: 24 bits). */
template <class T> __global__ void fill_random(T *x, int64_t n, uint64_t seed)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        const uint32_t h = hash24(i, seed);
        x[i] = T(0.5) == T(0) ? (T)h : (T)(h * (2.0 / 16777216.0) - 1.0);
    }
}

/* Milliseconds per call. */
struct Timing {
    double single;      /* median of separately timed calls (of graphs of several calls, if one is shorter than 20 us) */
    double sustained;   /* mean of calls back to back */
};

/* Time the calls run(i), i = 0, 1, 2 .., on `stream`; i selects one of the rotating buffers. */
template <class Run> double time_calls(Run run, int n, cudaStream_t stream, cudaEvent_t begin, cudaEvent_t end)
{
    float ms;
    CHECK_CUDA(cudaEventRecord(begin, stream));
    for (int i = 0; i < n; ++i)
        run(i);
    CHECK_CUDA(cudaEventRecord(end, stream));
    CHECK_CUDA(cudaEventSynchronize(end));
    CHECK_CUDA(cudaEventElapsedTime(&ms, begin, end));
    return ms / n;
}

/* Time each of n calls between two events of its own. Calls are queued without waiting, so that the launch of one hides behind
 * the call before; the calls themselves do not overlap. */
template <class Run> std::vector<double> time_each(Run run, int n, cudaStream_t stream)
{
    std::vector<cudaEvent_t> events(2 * n);
    for (cudaEvent_t &event : events)
        CHECK_CUDA(cudaEventCreate(&event));
    for (int i = 0; i < n; ++i) {
        CHECK_CUDA(cudaEventRecord(events[2 * i], stream));
        run(i);
        CHECK_CUDA(cudaEventRecord(events[2 * i + 1], stream));
    }
    CHECK_CUDA(cudaStreamSynchronize(stream));
    std::vector<double> ms(n);
    for (int i = 0; i < n; ++i) {
        float one;
        CHECK_CUDA(cudaEventElapsedTime(&one, events[2 * i], events[2 * i + 1]));
        ms[i] = one;
    }
    for (const cudaEvent_t event : events)
        CHECK_CUDA(cudaEventDestroy(event));
    return ms;
}

inline double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/* budget_ms: about how long to measure; may_capture: false if the run cannot be in a graph, for example because it waits for an
 * event that was recorded before */
template <class Run> Timing time_run(Run run, cudaStream_t stream, double budget_ms, bool may_capture = true)
{
    cudaEvent_t begin, end;
    CHECK_CUDA(cudaEventCreate(&begin));
    CHECK_CUDA(cudaEventCreate(&end));
    time_calls(run, 2, stream, begin, end);
    const double rough = time_calls(run, 2, stream, begin, end);
    const bool in_graph = rough < 0.2 && may_capture;
    Timing t;
    if (in_graph) {         /* graphs, since the gaps between the host's launches would count too much */
        const int per_graph = 40;
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        for (int i = 0; i < per_graph; ++i)
            run(i);
        CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
        CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
        const auto replay = [&](int) { CHECK_CUDA(cudaGraphLaunch(exec, stream)); };
        time_calls(replay, 2, stream, begin, end);
        std::vector<double> ms;
        for (int i = 0; i < 7; ++i)
            ms.push_back(time_calls(replay, 1, stream, begin, end) / per_graph);
        t.sustained = median(ms);
        CHECK_CUDA(cudaGraphExecDestroy(exec));
        CHECK_CUDA(cudaGraphDestroy(graph));
    }
    const int n = std::max(3, std::min(15, (int)(0.5 * budget_ms / rough)));
    t.single = median(time_each(run, n, stream));
    if (!in_graph)
        t.sustained = time_calls(run, n, stream, begin, end);
    else if (t.single < 0.02)
        t.single = t.sustained;
    CHECK_CUDA(cudaEventDestroy(begin));
    CHECK_CUDA(cudaEventDestroy(end));
    return t;
}

#endif
