/* emulation.h - runs CUDA kernels on the CPU, for tests on machines without a GPU.
 *
 * translate.py translates a .cu or .cuh file of gpu/ (its launches and dynamic shared memory). The result is compiled as C++ with
 * this header in front: __global__ and __device__ mean nothing here, and the functions of gpu/device/ptx.cuh are defined below. A
 * launch runs block after block. The threads of a block are fibers of one operating-system thread and run one at a time from
 * barrier to barrier: in ascending or descending order (LW_EMULATION_ORDER=reverse), or shuffled (=shuffle). A result that
 * depends on the order shows a missing barrier. A barrier that not all threads reach ends the program with a message.
 * Asynchronous copies are made at once, or, in descending order, not before they are waited for.
 *
 * The emulation checks arithmetic, indices, barriers and bounds (with the address sanitizer). It checks neither speed nor the
 * memory model of a real GPU. The runtime library is replaced by emulation.cpp, and cuFFT by emulation_fft.c. */
#pragma once

#include "base/half.h"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>

#undef __shared__
#undef __forceinline__
#undef __launch_bounds__
#undef __noinline__
#undef __grid_constant__
#define __shared__ static       /* blocks run one after the other; the blocks of a cluster use dynamic shared memory only */
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __noinline__
#define __grid_constant__

namespace emulation {

/* Run `body` once for every thread of the grid.
 * @param kernel the kernel whose dynamic shared memory cudaFuncSetAttribute may have raised; NULL: none
 * @param n_blocks blocks of a cluster or a cooperative grid, which run at the same time and have dynamic shared memory only */
cudaError_t run(const void *kernel, dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()> &body,
                unsigned n_blocks = 1);

/* Most blocks of a cluster that the emulated device reports as possible (LW_EMULATION_CLUSTER=1: no clusters). */
int most_of_cluster();

void allow_shared(const void *kernel, int bytes);

void *dynamic_shared();
unsigned char *dynamic_shared_of(int rank);             /* shared memory of a block of the running block's cluster */

enum Combine { OR, BALLOT };

/* Barriers of the block, of the warp, or of `count` threads that use the same number. Each can combine one value per thread. */
void cluster_barrier();
unsigned block_barrier(unsigned value);
unsigned warp_barrier(unsigned value, Combine combine);
unsigned named_barrier(int number, int count, unsigned value);
void named_arrival(int number, int count);              /* arrive without waiting */
void begin_counter(void *counter, int expected);        /* a barrier in two halves; its place in shared memory names it */
void arrive_at_counter(void *counter);
void wait_for_counter(void *counter, int parity);
void arrive_at_counter_of(const unsigned char *block_memory, int offset);       /* a counter of another block of the running
                                                                                 * block's cluster */
void expect_at_counter(void *counter, int bytes);       /* arrive, and let the counter also wait for `bytes` bytes */
void count_bytes(const unsigned char *block_memory, int offset, int bytes);     /* count bytes that have arrived; without a
                                                                                 * counter nothing is done */
void copy_later(void *to, const void *from, size_t bytes);
void wait_for_copies();                                 /* the copies of the running thread */
uint64_t warp_exchange(uint64_t value, int lane);       /* the value of another lane of the warp */
int lane();

}  // namespace emulation

/* Indices of the running fiber. */
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

/* ---- launches, in the form that translate.py writes ---- */

namespace emulation {

struct Where {
    dim3 grid, block;
    size_t shared_bytes;

    Where(dim3 grid_, dim3 block_, size_t shared_bytes_ = 0, cudaStream_t = nullptr)
        : grid(grid_), block(block_), shared_bytes(shared_bytes_)
    {
    }
};

template <class... Parameters, class... Arguments>
cudaError_t launch_ex(const cudaLaunchConfig_t *where, void (*kernel)(Parameters...), Arguments... arguments)
{
    unsigned n_blocks = 1;
    for (unsigned i = 0; i < where->numAttrs; i++)
        if (where->attrs[i].id == cudaLaunchAttributeClusterDimension)
            n_blocks = where->attrs[i].val.clusterDim.x;
        else if (where->attrs[i].id == cudaLaunchAttributeCooperative && where->attrs[i].val.cooperative)
            n_blocks = where->gridDim.x;
    return run((const void *)kernel, where->gridDim, where->blockDim, where->dynamicSmemBytes,
               [=] { kernel(static_cast<Parameters>(arguments)...); }, n_blocks);
}

}  // namespace emulation

#define cudaLaunchKernelEx emulation::launch_ex

template <class... P> cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, void (*)(P...), const cudaLaunchConfig_t *where)
{
    *clusters = (int)where->gridDim.x <= emulation::most_of_cluster();
    return cudaSuccess;
}

template <class... P>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void (*)(P...), int, size_t)
{
    *blocks = 1;
    return cudaSuccess;
}

template <class... P> cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute attribute, int value)
{
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize)
        emulation::allow_shared((const void *)kernel, value);
    return cudaSuccess;
}
template <class... P> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *, void (*)(P...)) { return cudaSuccess; }

template <class T> cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *from, size_t bytes, size_t offset = 0)
{
    std::memcpy((char *)&symbol + offset, from, bytes);
    return cudaSuccess;
}

/* ---- replacements for gpu/device/ptx.cuh, which translate.py empties ---- */

template <class T> inline void opaque(T &) {}
inline char *advanced(char *p, unsigned n, unsigned step) { return p + (uint64_t)n * step; }
inline void need(unsigned) {}
inline void pass_cycles(unsigned) {}
inline uint16_t half_of(double x) { return lw_half_of_double(x); }
inline double value_of_half(uint16_t half) { return lw_half_value(half); }
inline unsigned half_of(float x) { return lw_half_of_float(x); }
inline unsigned halves_of(float low, float high) { return lw_half_of_float(low) | (unsigned)lw_half_of_float(high) << 16; }
template <class Function> inline unsigned with_halves(unsigned a, unsigned b, Function f)
{
    const auto part = [&](int shift) {
        return (unsigned)lw_half_of_double(f(lw_half_value((uint16_t)(a >> shift)), lw_half_value((uint16_t)(b >> shift))));
    };
    return part(0) | part(16) << 16;
}
inline unsigned add_halves(unsigned a, unsigned b) { return with_halves(a, b, [](double x, double y) { return x + y; }); }
inline unsigned larger_halves(unsigned a, unsigned b)
{
    return with_halves(a, b, [](double x, double y) { return x < y ? y : x; });
}
inline void add_together(unsigned long long *total, unsigned n) { *total += n; }
template <int COUNT> inline void barrier_of(int number) { emulation::named_barrier(number, COUNT, 0); }
template <int COUNT> inline void arrive_at(int number) { emulation::named_arrival(number, COUNT); }
template <int COUNT> inline bool barrier_any(int number, bool flag) { return emulation::named_barrier(number, COUNT, flag) != 0; }
inline void begin_counter(void *counter, int expected) { emulation::begin_counter(counter, expected); }
inline void arrive_at_counter(void *counter) { emulation::arrive_at_counter(counter); }
inline void wait_for_counter(void *counter, int parity) { emulation::wait_for_counter(counter, parity); }
inline float4 load_now(const float4 *global) { return *global; }
inline void copy_async(void *shared, const void *global) { emulation::copy_later(shared, global, 16); }
inline void copy_async_if(void *shared, const void *global, bool exists)
{
    static const float zeros[4] = {};
    emulation::copy_later(shared, exists ? global : zeros, 16);
}
inline void copy_word_async(void *shared, const void *global, bool exists)
{
    static const float zero = 0;
    emulation::copy_later(shared, exists ? global : &zero, 4);
}
inline void store_if(char *to, float value, unsigned wanted)
{
    if (wanted)
        *(float *)(void *)to = value;
}
inline void end_copy_group() {}
inline void wait_for_older_copies() { emulation::wait_for_copies(); }
inline float largest_magnitude(float a, float b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, std::fabs(b)); }
inline void wait_for_copies() { emulation::wait_for_copies(); }
inline void prefetch(const void *) {}
inline void wait_for_predecessor() {}
inline void cluster_barrier() { emulation::cluster_barrier(); }
inline void grid_barrier(unsigned *, unsigned) { emulation::cluster_barrier(); }

/* ---- clusters: a block's data arrive at once; both waits are barriers of all threads of the cluster ---- */

#define LW_HAS_CLUSTERS 1
typedef unsigned char *PeerMemory;
inline PeerMemory peer_memory(const void *, int rank) { return emulation::dynamic_shared_of(rank); }
template <class T> inline void send(PeerMemory peer, int offset, int counter_offset, T value)
{
    std::memcpy(peer + offset, &value, sizeof value);
    emulation::count_bytes(peer, counter_offset, sizeof value);
}
inline void arrive_at_peer(PeerMemory peer, int counter_offset) { emulation::arrive_at_counter_of(peer, counter_offset); }
inline void show_counters_to_peers() {}
inline void begin_arrivals(void *) {}
inline void expect_arrivals(void *counter, int bytes) { emulation::expect_at_counter(counter, bytes); }
inline void wait_for_arrivals(void *, int) { emulation::cluster_barrier(); }
inline void cluster_arrive() {}
inline void cluster_wait() { emulation::cluster_barrier(); }

/* ---- functions that the compiler defines on a GPU ---- */

inline void __syncthreads() { emulation::block_barrier(0); }
inline int __syncthreads_or(int flag) { return emulation::block_barrier(flag != 0) != 0; }
inline void __syncwarp(unsigned = 0xffffffffu) { emulation::warp_barrier(0, emulation::OR); }
inline int __any_sync(unsigned, int flag) { return emulation::warp_barrier(flag != 0, emulation::OR) != 0; }
inline unsigned __ballot_sync(unsigned, int flag) { return emulation::warp_barrier(flag != 0, emulation::BALLOT); }

template <class T> inline T __shfl_sync(unsigned, T value, int from)
{
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    bits = emulation::warp_exchange(bits, from);
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

template <class T> inline T __shfl_xor_sync(unsigned mask, T value, int other)
{
    return __shfl_sync(mask, value, emulation::lane() ^ other);
}

template <class T> inline T __ldg(const T *at) { return *at; }
template <class T> inline T __ldcg(const T *at) { return *at; }
template <class T> inline T __ldcs(const T *at) { return *at; }
template <class T> inline void __stcs(T *at, T value) { *at = value; }
template <class T> inline void __stcg(T *at, T value) { *at = value; }
inline int __ffs(int value) { return __builtin_ffs(value); }
inline int __popc(unsigned value) { return __builtin_popcount(value); }

inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector)
{
    const uint64_t bytes = (uint64_t)b << 32 | a;
    unsigned result = 0;
    for (int i = 0; i < 4; i++)
        result |= (unsigned)(bytes >> (8 * (selector >> 4 * i & 7)) & 0xff) << 8 * i;
    return result;
}

template <class T> inline T atomicAdd(T *at, T value) { const T old = *at; *at = old + value; return old; }
template <class T> inline T atomicMin(T *at, T value) { const T old = *at; *at = value < old ? value : old; return old; }
template <class T> inline T atomicMax(T *at, T value) { const T old = *at; *at = value > old ? value : old; return old; }
template <class T> inline T atomicExch(T *at, T value) { const T old = *at; *at = value; return old; }
template <class T> inline T atomicCAS(T *at, T expected, T value)
{
    const T old = *at;
    *at = old == expected ? value : old;
    return old;
}
template <class T> inline T atomicOr(T *at, T value) { const T old = *at; *at = old | value; return old; }

inline double __dmul_rn(double a, double b) { volatile double c = a * b; return c; }
inline double __dadd_rn(double a, double b) { volatile double c = a + b; return c; }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }

inline void sincospi(double x, double *s, double *c)
{
    *s = std::sin(M_PI * x);
    *c = std::cos(M_PI * x);
}

inline void sincospif(float x, float *s, float *c)
{
    *s = (float)std::sin(M_PI * (double)x);
    *c = (float)std::cos(M_PI * (double)x);
}

template <class To, class From> inline To bits_as(From from)
{
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

inline float __int_as_float(int bits) { return bits_as<float>(bits); }
inline unsigned __float_as_uint(float x) { return bits_as<unsigned>(x); }
inline int __float_as_int(float x) { return bits_as<int>(x); }
inline double __longlong_as_double(long long bits) { return bits_as<double>(bits); }
inline long long __double_as_longlong(double x) { return bits_as<long long>(x); }

inline long long __float2ll_rn(float x) { return (long long)std::nearbyint(x); }
inline long long __double2ll_rn(double x) { return (long long)std::nearbyint(x); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline float __double2float_rn(double x) { return (float)x; }
inline float __double2float_rz(double x)
{
    const float nearest = (float)x;
    return std::fabs((double)nearest) > std::fabs(x) ? std::nextafter(nearest, 0.0f) : nearest;
}
inline int __float2int_rn(float x) { return (int)std::nearbyint(x); }
inline int __double2int_rn(double x) { return (int)std::nearbyint(x); }

template <class T> inline T min(T a, T b) { return b < a ? b : a; }
template <class T> inline T max(T a, T b) { return a < b ? b : a; }
using std::fma;
using std::isfinite;
using std::isnan;
using std::isinf;
