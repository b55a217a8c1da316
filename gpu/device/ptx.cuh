/* ptx.cuh - what CUDA C has no words for: inline PTX stands here only. */
#pragma once

/* The compiler may not assume anything about the value from here on: keeps what follows from it from being computed early,
 * into registers that are needed elsewhere. */
__device__ __forceinline__ void opaque(int &x) { asm volatile("" : "+r"(x)); }
__device__ __forceinline__ void opaque(float &x) { asm volatile("" : "+f"(x)); }
__device__ __forceinline__ void opaque(double &x) { asm volatile("" : "+d"(x)); }
template <class T> __device__ __forceinline__ void opaque(T *&x) { asm volatile("" : "+l"(x)); }

/* A place in shared memory, as the instructions for that alone name it. */
__device__ __forceinline__ unsigned shared_address(const void *shared)
{
    return (unsigned)__cvta_generic_to_shared(shared);
}

/* p + n step, in one instruction where it is several otherwise */
__device__ __forceinline__ char *advanced(char *p, unsigned n, unsigned step)
{
    char *at;
    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(at) : "r"(n), "r"(step), "l"(p));
    return at;
}

/* The half nearest to x, the even one of two, in one rounding: see lw_half_of_double. */
__device__ __forceinline__ unsigned short half_of(double x)
{
    unsigned short half;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(half) : "d"(x));
    return half;
}

/* So many cycles, at the least. */
__device__ __forceinline__ void pass_cycles(unsigned n)
{
    for (const unsigned begin = (unsigned)clock(); (unsigned)clock() - begin < n;)
        __nanosleep(100);
}

/* The larger one of a and |b|; not a number if either is not. */
__device__ __forceinline__ float largest_magnitude(float a, float b)
{
    float largest;
    asm("{\n\t.reg .f32 magnitude;\n\tabs.f32 magnitude, %2;\n\tmax.NaN.f32 %0, %1, magnitude;\n\t}"
        : "=f"(largest) : "f"(a), "f"(b));
    return largest;
}

/* A barrier of COUNT threads of a block, a multiple of 32; number 1 .. 15 (0 is __syncthreads). */
template <int COUNT> __device__ __forceinline__ void barrier_of(int number)
{
    asm volatile("bar.sync %0, %1;" :: "r"(number), "n"(COUNT) : "memory");
}

/* Count as arrived at such a barrier, without waiting there. */
template <int COUNT> __device__ __forceinline__ void arrive_at(int number)
{
    asm volatile("bar.arrive %0, %1;" :: "r"(number), "n"(COUNT) : "memory");
}

/* The same as barrier_of; returns whether `flag` holds in any of the threads. */
template <int COUNT> __device__ __forceinline__ bool barrier_any(int number, bool flag)
{
    int result;
    asm volatile("{ .reg .pred in, out; setp.ne.b32 in, %1, 0; bar.red.or.pred out, %2, %3, in; selp.b32 %0, 1, 0, out; }"
                 : "=r"(result) : "r"((int)flag), "r"(number), "n"(COUNT) : "memory");
    return result != 0;
}

/* A barrier in two halves: 8 bytes of shared memory that count arrivals. What a thread has read and written before it arrives, and
 * its warp before a __syncwarp in front of that, comes before what others do after they have waited. `begin` is one thread's, ahead
 * of a barrier of the block. */
__device__ __forceinline__ void begin_counter(void *counter, int expected)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared_address(counter)), "r"(expected) : "memory");
}

__device__ __forceinline__ void arrive_at_counter(void *counter)
{
    asm volatile("{\n\t.reg .b64 state;\n\tmbarrier.arrive.shared::cta.b64 state, [%0];\n\t}"
                 :: "r"(shared_address(counter)) : "memory");
}

/* Something that cannot be moved needs a mix of values: they are there, loaded or computed, before what follows. */
__device__ __forceinline__ void need(unsigned mix)
{
    asm volatile("{\n\t.reg .pred never;\n\tsetp.eq.u32 never, %0, 0x9e3779b9;\n\t@never nanosleep.u32 1;\n\t}"
                 :: "r"(mix) : "memory");
}

/* Until all have arrived; `parity` is 0 for the first time, then changes each time. With 1 the first wait passes at once. */
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

/* A barrier of all blocks of a cluster (of one block, where there are no clusters), after which each sees what the others have
 * written to global memory. */
__device__ __forceinline__ void cluster_barrier()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
    __syncthreads();
#endif
}

/* The same for all blocks of a grid, which must all be running (a cooperative launch). *arrived counts blocks, from 0 on;
 * expected, by the first thread of a block: how many have come when all have come to this barrier. */
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

/* 16 bytes from global to shared memory, both aligned to that, past the registers and the L1 cache: under way until this thread
 * calls wait_for_copies; others see them after a barrier that follows. */
__device__ __forceinline__ void copy_async(void *shared, const void *global)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared_address(shared)), "l"(global) : "memory");
}

/* The same; without `exists` zeros are written, and nothing is read. */
__device__ __forceinline__ void copy_async_if(void *shared, const void *global, bool exists)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(shared_address(shared)), "l"(global), "r"(exists ? 16 : 0) : "memory");
}

/* The same of 4 bytes, by way of the L1 cache; without `exists` zeros are written, and nothing is read. */
__device__ __forceinline__ void copy_word_async(void *shared, const void *global, bool exists)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :: "r"(shared_address(shared)), "l"(global), "r"(exists ? 4 : 0) : "memory");
}

/* Copies asked for so far are a group; wait until no group but the latest is under way. */
__device__ __forceinline__ void end_copy_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
__device__ __forceinline__ void wait_for_older_copies() { asm volatile("cp.async.wait_group 1;" ::: "memory"); }

__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

/* A load of what nobody writes meanwhile, asked for where it stands, and not where it is needed. */
__device__ __forceinline__ float4 load_now(const float4 *global)
{
    float4 v;
    asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(global));
    return v;
}

/* Bring the line at an address of global memory to L2; a hint. */
__device__ __forceinline__ void prefetch(const void *global)
{
    asm volatile("prefetch.global.L2 [%0];" :: "l"(global));
}

/* Launched as a programmatic dependent, a block starts while the kernel before it in the stream ends, and touches memory only
 * after this. Without effect otherwise. */
__device__ __forceinline__ void wait_for_predecessor()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#endif
}

/* ---- blocks of a cluster that write to each other's shared memory: none before sm_90, where their kernels are empty ---- */

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define LW_HAS_CLUSTERS 1

/* What a block's shared memory is to another block of its cluster; offsets are those of the block's own. */
typedef unsigned PeerMemory;

__device__ __forceinline__ PeerMemory peer_memory(const void *own, int rank)
{
    unsigned peer;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(shared_address(own)), "r"(rank));
    return peer;
}

/* 16 bytes to a peer's memory, under way until the barrier there, which expects them, has counted their bytes. */
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

/* A barrier (8 bytes of shared memory) that counts bytes; peers may use it after the next barrier of the cluster. */
__device__ __forceinline__ void begin_arrivals(void *barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;"
                 :: "r"(shared_address(barrier)) : "memory");
}

/* Arrive at a counter of a peer. What this thread has read and written before comes before what is done there
 * after the wait. */
__device__ __forceinline__ void arrive_at_peer(PeerMemory peer, int counter_offset)
{
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" :: "r"(peer + counter_offset) : "memory");
}

/* Counters that this thread has begun may be used by peers after the next barrier of the cluster. */
__device__ __forceinline__ void show_counters_to_peers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/* One thread arrives, and says how many bytes come before the barrier, or counter, is passed. */
__device__ __forceinline__ void expect_arrivals(void *barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(shared_address(barrier)), "r"(bytes) : "memory");
}

/* Until they are there; `parity` is 0 at first, then changes each time. What has come by `send` may be read then; to
 * see what peers wrote to global memory, too, would cost all that L1 holds. */
__device__ __forceinline__ void wait_for_arrivals(void *barrier, int parity)
{
    asm volatile("{\n\t.reg .pred done;\n\tWAIT%=:\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t@!done bra WAIT%=;\n\t}"
                 :: "r"(shared_address(barrier)), "r"(parity) : "memory");
}

/* The cluster's barrier in two halves. The first says that this thread has read its inbox, and orders nothing: what was asked of
 * shared memory may still be under way, and a peer may write there before it is read. So something that cannot be moved has to
 * need the values first: `need` takes a mix of what was loaded. A barrier that releases would wait for all stores to
 * global memory as well. */
__device__ __forceinline__ void cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

#endif
