/* ptx.cuh - instructions that CUDA C cannot express. All inline PTX is in this file. */
#pragma once

/* Hide the value of x from the optimizer from here on. The compiler then cannot compute anything from x before this point, where
 * the result would occupy registers that are needed otherwise. */
__device__ __forceinline__ void opaque(int &x) { asm volatile("" : "+r"(x)); }
__device__ __forceinline__ void opaque(int64_t &x) { asm volatile("" : "+l"(x)); }
__device__ __forceinline__ void opaque(float &x) { asm volatile("" : "+f"(x)); }
__device__ __forceinline__ void opaque(double &x) { asm volatile("" : "+d"(x)); }
template <class T> __device__ __forceinline__ void opaque(T *&x) { asm volatile("" : "+l"(x)); }

/* Return the 32-bit address within shared memory, the operand of PTX instructions for shared memory. */
__device__ __forceinline__ unsigned shared_address(const void *shared)
{
    return (unsigned)__cvta_generic_to_shared(shared);
}

/* Return p + n step in one instruction; plain C compiles to several. */
__device__ __forceinline__ char *advanced(char *p, unsigned n, unsigned step)
{
    char *at;
    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(at) : "r"(n), "r"(step), "l"(p));
    return at;
}

/* Return the bits of the half nearest to x, ties to even, in one rounding; lw_half_of_double does the same on the host. */
__device__ __forceinline__ unsigned short half_of(double x)
{
    unsigned short half;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(half) : "d"(x));
    return half;
}

/* Return the number that the bits of a half stand for; lw_half_value does the same on the host. */
__device__ __forceinline__ double value_of_half(unsigned short half)
{
    double x;
    asm("cvt.f64.f16 %0, %1;" : "=d"(x) : "h"(half));
    return x;
}

/* The same for floats, as a pair of which the upper half is zero: pairs are converted at the full rate, single floats are not. */
__device__ __forceinline__ unsigned half_of(float x)
{
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(x));
    return pair;
}

/* Add n to *total, by one atomic operation for all threads of the warp that make this call together. */
__device__ __forceinline__ void add_together(unsigned long long *total, unsigned n)
{
    const unsigned together = __activemask(), sum = __reduce_add_sync(together, n);
    if (sum > 0 && (int)threadIdx.x % 32 == __ffs((int)together) - 1)
        atomicAdd(total, (unsigned long long)sum);
}

/* Wait for at least n clock cycles of the multiprocessor. */
__device__ __forceinline__ void pass_cycles(unsigned n)
{
    for (const unsigned begin = (unsigned)clock(); (unsigned)clock() - begin < n;)
        __nanosleep(100);
}

/* Return the larger of a and |b|; NaN if either is NaN. */
__device__ __forceinline__ float largest_magnitude(float a, float b)
{
    float largest;
    asm("{\n\t.reg .f32 magnitude;\n\tabs.f32 magnitude, %2;\n\tmax.NaN.f32 %0, %1, magnitude;\n\t}"
        : "=f"(largest) : "f"(a), "f"(b));
    return largest;
}

/* Wait at barrier `number` (1 .. 15; __syncthreads has 0) until COUNT threads of the block, a multiple of 32, have come. */
template <int COUNT> __device__ __forceinline__ void barrier_of(int number)
{
    asm volatile("bar.sync %0, %1;" :: "r"(number), "n"(COUNT) : "memory");
}

/* Count as one of the COUNT threads of barrier `number`, without waiting for the others. */
template <int COUNT> __device__ __forceinline__ void arrive_at(int number)
{
    asm volatile("bar.arrive %0, %1;" :: "r"(number), "n"(COUNT) : "memory");
}

/* Wait as in barrier_of. Return whether `flag` holds in any of the COUNT threads. */
template <int COUNT> __device__ __forceinline__ bool barrier_any(int number, bool flag)
{
    int result;
    asm volatile("{ .reg .pred in, out; setp.ne.b32 in, %1, 0; bar.red.or.pred out, %2, %3, in; selp.b32 %0, 1, 0, out; }"
                 : "=r"(result) : "r"((int)flag), "r"(number), "n"(COUNT) : "memory");
    return result != 0;
}

/* Begin a counter: a barrier whose arrivals and waits are separate calls, 8 bytes of shared memory. It opens after `expected`
 * arrivals. Accesses of a thread before its arrival precede those of other threads after their wait; a __syncwarp before the
 * arrival extends this to the whole warp. One thread begins the counter; a barrier of the block must follow. */
__device__ __forceinline__ void begin_counter(void *counter, int expected)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared_address(counter)), "r"(expected) : "memory");
}

__device__ __forceinline__ void arrive_at_counter(void *counter)
{
    asm volatile("{\n\t.reg .b64 state;\n\tmbarrier.arrive.shared::cta.b64 state, [%0];\n\t}"
                 :: "r"(shared_address(counter)) : "memory");
}

/* Wait until the values that `mix` was computed from are loaded or computed. The compiler cannot move this volatile instruction. */
__device__ __forceinline__ void need(unsigned mix)
{
    asm volatile("{\n\t.reg .pred never;\n\tsetp.eq.u32 never, %0, 0x9e3779b9;\n\t@never nanosleep.u32 1;\n\t}"
                 :: "r"(mix) : "memory");
}

/* Wait until the counter opens. `parity` is 0 for the first wait, then alternates; with 1 at first, that wait passes at once. */
__device__ __forceinline__ void wait_for_counter(void *counter, int parity)
{
    asm volatile("{\n\t.reg .pred done;\n\tWAIT%=:\n\t"
#if __CUDA_ARCH__ >= 900
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;"
#else
                 "mbarrier.test_wait.parity.shared::cta.b64 done, [%0], %1;"
#endif
                 "\n\t@!done bra WAIT%=;\n\t}"
                 :: "r"(shared_address(counter)), "r"(parity) : "memory");
}

/* A barrier of the cluster's blocks; before sm_90, of the block. Afterwards each block sees the others' earlier global writes. */
__device__ __forceinline__ void cluster_barrier()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
    __syncthreads();
#endif
}

/* A barrier of all blocks of a grid, which must all be resident (a cooperative launch). *arrived, in global memory, begins as 0 and
 * counts the blocks that come to any barrier. expected: its value when all have come to this one; thread 0 of a block uses it. */
__device__ __forceinline__ void grid_barrier(unsigned *arrived, unsigned expected)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned now;
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" :: "l"(arrived) : "memory");
        do
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(arrived) : "memory");
        while (now < expected);
    }
    __syncthreads();
}

/* Start to copy 16 bytes from global to shared memory, both aligned to 16, past registers and L1 cache. The bytes are there once
 * this thread has called wait_for_copies; other threads may read them after a barrier that follows. */
__device__ __forceinline__ void copy_async(void *shared, const void *global)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared_address(shared)), "l"(global) : "memory");
}

/* Start copy_async if `exists`; else write 16 zero bytes and read nothing. */
__device__ __forceinline__ void copy_async_if(void *shared, const void *global, bool exists)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(shared_address(shared)), "l"(global), "r"(exists ? 16 : 0) : "memory");
}

/* The operation of copy_async_if on 4 bytes, aligned to 4, through the L1 cache. */
__device__ __forceinline__ void copy_word_async(void *shared, const void *global, bool exists)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :: "r"(shared_address(shared)), "l"(global), "r"(exists ? 4 : 0) : "memory");
}

/* end_copy_group makes a group of this thread's copies since the last group. wait_for_older_copies waits for all groups but it. */
__device__ __forceinline__ void end_copy_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
__device__ __forceinline__ void wait_for_older_copies() { asm volatile("cp.async.wait_group 1;" ::: "memory"); }

__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

/* Store a number if `wanted` is not 0, without a branch. It is not read again soon. */
__device__ __forceinline__ void store_if(char *to, float value, unsigned wanted)
{
    asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p st.global.cs.f32 [%0], %1;}"
                 :: "l"(to), "f"(value), "r"(wanted) : "memory");
}

/* Load 16 bytes that nothing writes while the kernel runs. The load is issued at the call, not where its value is first used. */
__device__ __forceinline__ float4 load_now(const float4 *global)
{
    float4 v;
    asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(global));
    return v;
}

/* Hint: bring the cache line of a global address into L2. */
__device__ __forceinline__ void prefetch(const void *global)
{
    asm volatile("prefetch.global.L2 [%0];" :: "l"(global));
}

/* Let the next kernel start if it is a programmatic dependent. If this kernel is a dependent, then wait until the previous kernel
 * has ended. Until then its blocks may only read constants and use shared memory. There is one exception: sfft's `recover` first
 * clears its table. The table's last user is an earlier `recover`; `fold`, an ordinary launch between them, began after its end. */
__device__ __forceinline__ void wait_for_predecessor()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#endif
}

/* ---- clusters: blocks write to each other's shared memory; kernels that need this are empty before sm_90 ---- */

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define LW_HAS_CLUSTERS 1

/* Address of a peer's shared memory (a peer is another block of the cluster); peer_memory returns it for the place of `own`. */
typedef unsigned PeerMemory;

__device__ __forceinline__ PeerMemory peer_memory(const void *own, int rank)
{
    unsigned peer;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(shared_address(own)), "r"(rank));
    return peer;
}

/* Send v, 8 or 16 bytes, to peer + offset. It has arrived once the barrier at peer + barrier_offset has counted its bytes. */
__device__ __forceinline__ void send(PeerMemory peer, int offset, int barrier_offset, float4 v)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];"
                 :: "r"(peer + offset), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "r"(peer + barrier_offset) : "memory");
}

__device__ __forceinline__ void send(PeerMemory peer, int offset, int barrier_offset, float2 v)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];"
                 :: "r"(peer + offset), "f"(v.x), "f"(v.y), "r"(peer + barrier_offset) : "memory");
}

__device__ __forceinline__ void send(PeerMemory peer, int offset, int barrier_offset, double2 v)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f64 [%0], {%1, %2}, [%3];"
                 :: "r"(peer + offset), "d"(v.x), "d"(v.y), "r"(peer + barrier_offset) : "memory");
}

/* Begin a barrier that counts bytes sent to this block: 8 bytes of shared memory. Peers may use it after a cluster_barrier. */
__device__ __forceinline__ void begin_arrivals(void *barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;"
                 :: "r"(shared_address(barrier)) : "memory");
}

/* Arrive at a peer's counter. This thread's earlier accesses precede the peer's accesses after its wait. */
__device__ __forceinline__ void arrive_at_peer(PeerMemory peer, int counter_offset)
{
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" :: "r"(peer + counter_offset) : "memory");
}

/* Let peers use the counters that this thread has begun, from the next cluster_barrier on. */
__device__ __forceinline__ void show_counters_to_peers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/* Arrive at a barrier or counter once, and add `bytes` to the bytes that must arrive before it opens. */
__device__ __forceinline__ void expect_arrivals(void *barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(shared_address(barrier)), "r"(bytes) : "memory");
}

/* Wait until the expected bytes have arrived; `parity` is 0 for the first wait and then alternates. Afterwards bytes that came by
 * `send` may be read, but not global memory that peers wrote: ordering global writes would invalidate all of L1. */
__device__ __forceinline__ void wait_for_arrivals(void *barrier, int parity)
{
    asm volatile("{\n\t.reg .pred done;\n\tWAIT%=:\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t@!done bra WAIT%=;\n\t}"
                 :: "r"(shared_address(barrier)), "r"(parity) : "memory");
}

/* The cluster's barrier in two halves: a thread arrives when it has read the values that peers sent it. Arrival orders nothing: its
 * loads could still be in flight when a peer overwrites the values. So first call `need` with a mix of the loaded values. Release
 * semantics would order the loads, too, but would also wait for all stores to global memory. */
__device__ __forceinline__ void cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

#endif
