/* pingpong.cuh - the overlap-save kernel for long segments, time fast: as gpu/ols/kernels/time_fast.cuh, but two teams of threads
 * share a segment (or pair), and take its filters in turn.
 *
 * One team's registers hold a spectrum of 8192 points, and then an SM has room for no other team: eight warps, which
 * wait for memory and barriers at the same time. Here the spectrum lies in shared memory, so that 16 warps fit. The
 * first team transforms the segment while the second works on the last filter of the one before it, and is half a
 * filter ahead of it from then on: in step, both would use shared memory at the same time, and the arithmetic units at
 * the same time. Blocks stay, and ask for the next segment's samples to be brought to L2 a segment ahead.
 *
 * Shared memory: an exchange region for each team, the spectrum, E values a thread, as the bank stores filters (16-byte
 * accesses of neighbouring words, free of bank conflicts), and the powers, which are the same for both teams. */
#ifndef LW_GPU_OLS_KERNELS_PINGPONG_CUH
#define LW_GPU_OLS_KERNELS_PINGPONG_CUH

#include "gpu/ols/kernels/time_fast.cuh"

constexpr int PINGPONG_TEAMS = 2, HALF_DONE = PINGPONG_TEAMS + 1;      /* teams, which have the barriers 1 and 2; a barrier */

template <class F> struct PingpongBlock {
    static constexpr int THREADS = PINGPONG_TEAMS * F::T, SPECTRUM = PINGPONG_TEAMS * F::SHARED_BYTES;
    static constexpr int SHELF = SPECTRUM + F::N * (int)sizeof(typename F::C), SHARED_BYTES = SHELF + F::SHELF_BYTES;
};

/* Each thread reads back what the thread with its number in the other team, or itself, has written. */
template <class F> LW_DEVICE void put_spectrum(float4 *spectrum, const float2 (&v)[F::E], int t)
{
#pragma unroll
    for (int m = 0; m < F::E; m += 2)
        spectrum[m / 2 * F::T + t] = make_float4(v[m].x, v[m].y, v[m + 1].x, v[m + 1].y);
}

template <class F> LW_DEVICE void take_spectrum(float2 (&v)[F::E], const float4 *spectrum, int t)
{
#pragma unroll
    for (int m = 0; m < F::E; m += 2) {
        const float4 x = spectrum[m / 2 * F::T + t];
        v[m] = {x.x, x.y};
        v[m + 1] = {x.z, x.w};
    }
}

/* Ask for the samples of the step after this one: one line of L2 a thread. */
template <class F, bool PAIRED> LW_DEVICE void fetch_next(const OlsArgs &a, OlsWalk walk)
{
    const int sample_bytes = a.sample_bytes, line = 128;
    OlsStep next;
    if (!walk.next(a, blockIdx.x, next))
        return;
    const OlsPlace p = place_of<F::N, PAIRED>(a, next.segment);
    for (int at = threadIdx.x * line; at < p.have[0] * sample_bytes; at += PingpongBlock<F>::THREADS * line) {
        if (at < a.lead * sample_bytes)
            continue;
        prefetch((const char *)a.input + p.input * sample_bytes + at);
        if (PAIRED && at < p.have[1] * sample_bytes)
            prefetch((const char *)a.input + (p.input + a.input_second) * sample_bytes + at);
    }
}

template <class F, int DISCARD, bool PAIRED>
__global__ void __launch_bounds__(PingpongBlock<F>::THREADS, 1) ols_pingpong(const OlsArgs a)
{
    static_assert(DISCARD < 0 || DISCARD % F::T == 0, "rows are dropped whole");
    using C = typename F::C;
    extern __shared__ __align__(128) unsigned char memory[];

    const int team = F::Team::number(), t = F::Team::thread();
    C *const shared = (C *)(memory + team * F::SHARED_BYTES);
    float4 *const spectrum = (float4 *)(memory + PingpongBlock<F>::SPECTRUM);
    OlsWalk walk;
    walk.start(a, blockIdx.x);
    wait_for_predecessor();
    F fft;
    fft.load((const C *)a.bank, t, (C *)(memory + PingpongBlock<F>::SHELF));
    C v[F::E];
    for (OlsStep step; walk.next(a, blockIdx.x, step);) {
        const OlsPlace p = place_of<F::N, PAIRED>(a, step.segment);
        if (team == 0)
            transform_segment<F, PAIRED, lead_of<F>(DISCARD)>(v, fft, a, p, shared, t);
        __syncthreads();            /* the other team is done with the segment before */
        if (team == 0)
            put_spectrum<F>(spectrum, v, t);
        __syncthreads();
        fetch_next<F, PAIRED>(a, walk);
        const bool whole = min(p.want[0], p.want[1]) == a.hop;
#pragma unroll 1
        for (int f = step.begin + team; f < step.end; f += PINGPONG_TEAMS) {
            fft.pin();
            if (f == step.begin + 1)
                barrier_of<PingpongBlock<F>::THREADS>(HALF_DONE);
            take_spectrum<F>(v, spectrum, t);
            multiply<F>(v, v, spectra_of<F>(a, f), t);
            fft.begin_backward(v, shared, t);
            if (f == step.begin && f + 1 < step.end)
                arrive_at<PingpongBlock<F>::THREADS>(HALF_DONE);
            StoreSeries().finish<F, DISCARD, PAIRED>(v, fft, shared, a, p, whole, f, t);
        }
    }
}

#endif
