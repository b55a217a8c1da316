/* ptx.cuh - instructions that CUDA C cannot express. All inline PTX is in this file. */
#pragma once

/* Hide the value from the optimizer: it may assume nothing about it from here on. The compiler then cannot compute dependent
 * values early, into registers that are needed elsewhere. */
__device__ __forceinline__ void opaque(int &x) { asm volatile("" : "+r"(x)); }
__device__ __forceinline__ void opaque(float &x) { asm volatile("" : "+f"(x)); }
__device__ __forceinline__ void opaque(double &x) { asm volatile("" : "+d"(x)); }
template <class T> __device__ __forceinline__ void opaque(T *&x) { asm volatile("" : "+l"(x)); }

/* The 32-bit address within shared memory that instructions for shared memory take. */
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

/* Return the half nearest to x, ties to even, in one rounding: see lw_half_of_double. */
__device__ __forceinline__ unsigned short half_of(double x)
{
    unsigned short half;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(half) : "d"(x));
    return half;
}

/* Wait for at least n cycles. */
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

/* A barrier of COUNT threads of a block, COUNT a multiple of 32. `number` is 1 .. 15; 0 belongs to __syncthreads. */
template <int COUNT> __device__ __forceinline__ void barrier_of(int number)
{
    asm volatile("bar.sync %0, %1;" :: "r"(number), "n"(COUNT) : "memory");
}

/* Arrive at barrier `number` of COUNT threads without waiting for the others. */
template <int COUNT> __device__ __forceinline__ void arrive_at(int number)
{
    asm volatile("bar.arrive %0, %1;" :: "r"(number), "n"(COUNT) : "memory");
}

/* barrier_of that also returns whether `flag` holds in any of its threads. */
template <int COUNT> __device__ __forceinline__ bool barrier_any(int number, bool flag)
{
    int result;
    asm volatile("{ .reg .pred in, out; setp.ne.b32 in, %1, 0; bar.red.or.pred out, %2, %3, in; selp.b32 %0, 1, 0, out; }"
                 : "=r"(result) : "r"((int)flag), "r"(number), "n"(COUNT) : "memory");
    return result != 0;
}

/* A split barrier: a counter of 8 bytes of shared memory that counts `expected` arrivals. All reads and writes of a thread before
 * it arrives are ordered before those of other threads after their wait. A __syncwarp in front of the arrival covers the whole
 * warp. One thread calls begin_counter, before a barrier of the block. */
__device__ __forceinline__ void begin_counter(void *counter, int expected)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared_address(counter)), "r"(expected) : "memory");
}

__device__ __forceinline__ void arrive_at_counter(void *counter)
{
    asm volatile("{\n\t.reg .b64 state;\n\tmbarrier.arrive.shared::cta.b64 state, [%0];\n\t}"
                 :: "r"(shared_address(counter)) : "memory");
}

/* Wait until all values in `mix` are loaded or computed: the volatile instruction that consumes `mix` stays in place. */
__device__ __forceinline__ void need(unsigned mix)
{
    asm volatile("{\n\t.reg .pred never;\n\tsetp.eq.u32 never, %0, 0x9e3779b9;\n\t@never nanosleep.u32 1;\n\t}"
                 :: "r"(mix) : "memory");
}

/* Wait until all have arrived. `parity` is 0 for the first wait, then alternates; with 1 the first wait passes at once. */
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

/* A barrier of a cluster's blocks (else of one block). After it each block sees what others wrote to global memory. */
__device__ __forceinline__ void cluster_barrier()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
    __syncthreads();
#endif
}

/* A barrier of all blocks of a grid, which must all be resident (a cooperative launch). *arrived counts blocks and starts at 0.
 * expected: the count when all blocks have reached this barrier; only the first thread of each block uses it. */
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

/* Copy 16 bytes from global to shared memory, both aligned to 16, bypassing registers and the L1 cache. The copy is in flight
 * until this thread calls wait_for_copies; other threads see the bytes after a barrier that follows. */
__device__ __forceinline__ void copy_async(void *shared, const void *global)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared_address(shared)), "l"(global) : "memory");
}

/* The same copy; if `exists` is false, it writes zeros and reads nothing. */
__device__ __forceinline__ void copy_async_if(void *shared, const void *global, bool exists)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(shared_address(shared)), "l"(global), "r"(exists ? 16 : 0) : "memory");
}

/* The same copy for 4 bytes, through the L1 cache; if `exists` is false, it writes zeros and reads nothing. */
__device__ __forceinline__ void copy_word_async(void *shared, const void *global, bool exists)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :: "r"(shared_address(shared)), "l"(global), "r"(exists ? 4 : 0) : "memory");
}

/* end_copy_group groups copies issued since the last group; wait_for_older_copies leaves only the newest in flight. */
__device__ __forceinline__ void end_copy_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
__device__ __forceinline__ void wait_for_older_copies() { asm volatile("cp.async.wait_group 1;" ::: "memory"); }

__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

/* Load 16 bytes that no one writes meanwhile. The load is issued where the call stands, not where its value is first used. */
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

/* Wait for the previous kernel of the stream. A block launched as a programmatic dependent may start while that kernel ends, and
 * must not touch memory before this call. In other launches the call has no effect. */
__device__ __forceinline__ void wait_for_predecessor()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#endif
}

/* ---- blocks of a cluster write to each other's shared memory; before sm_90 kernels that do so are empty ---- */

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define LW_HAS_CLUSTERS 1

/* Address of another block's shared memory within the cluster; offsets into it are those of the block's own shared memory. */
typedef unsigned PeerMemory;

__device__ __forceinline__ PeerMemory peer_memory(const void *own, int rank)
{
    unsigned peer;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(shared_address(own)), "r"(rank));
    return peer;
}

/* Send 16 bytes to a peer's shared memory. They are in flight until the barrier there, which expects them, has counted them. */
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

/* Begin a barrier that counts bytes: 8 bytes of shared memory. Peers may use it after the next barrier of the cluster. */
__device__ __forceinline__ void begin_arrivals(void *barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;"
                 :: "r"(shared_address(barrier)) : "memory");
}

/* Arrive at a counter of a peer. The thread's earlier reads and writes come before those of the peer after its wait. */
__device__ __forceinline__ void arrive_at_peer(PeerMemory peer, int counter_offset)
{
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" :: "r"(peer + counter_offset) : "memory");
}

/* Let peers use the counters that this thread has begun; they may do so after the next barrier of the cluster. */
__device__ __forceinline__ void show_counters_to_peers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/* Arrive as one thread, and set the number of bytes that must come in before the barrier (or counter) opens. */
__device__ __forceinline__ void expect_arrivals(void *barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(shared_address(barrier)), "r"(bytes) : "memory");
}

/* Wait until the expected bytes have arrived; `parity` is 0 for the first wait and alternates from then on. Bytes that came by
 * `send` may be read afterwards. What peers wrote to global memory is not covered: that would invalidate all of L1. */
__device__ __forceinline__ void wait_for_arrivals(void *barrier, int parity)
{
    asm volatile("{\n\t.reg .pred done;\n\tWAIT%=:\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t@!done bra WAIT%=;\n\t}"
                 :: "r"(shared_address(barrier)), "r"(parity) : "memory");
}

/* The cluster's barrier in two halves. Arriving means that this thread has read its inbox, but orders nothing. Its loads from
 * shared memory may still be in flight, and a peer could overwrite the data before they are done. So call `need` with a mix of the
 * loaded values first. Release semantics would order the loads, too, but wait for all stores to global memory. */
__device__ __forceinline__ void cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

#endif
