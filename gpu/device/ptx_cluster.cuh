/* ptx_cluster.cuh - blocks of a cluster that write to each other's shared memory, in inline PTX. There are none before
 * sm_90, and kernels that use them are empty there. */
#pragma once

#include "gpu/device/ptx.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define LW_HAS_CLUSTERS 1

/* What a block's shared memory is to another block of its cluster; offsets are those of the block's own. */
typedef unsigned PeerMemory;

__device__ __forceinline__ unsigned shared_address(const void *shared)
{
    return (unsigned)__cvta_generic_to_shared(shared);
}

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

/* Arrive at a counter (gpu/device/ptx.cuh) of a peer. What this thread has read and written before comes before what is done there
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
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(shared_address(barrier)), "r"(bytes) : "memory");
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
 * need the values first: wait_for_loads takes a mix of what was loaded. A barrier that releases would wait for all stores to
 * global memory as well. */
__device__ __forceinline__ void wait_for_loads(unsigned mix) { need(mix); }

__device__ __forceinline__ void cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

#endif
