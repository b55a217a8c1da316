/* post.cuh - the overlap-save kernels whose epilogue makes something of the series: power, amplitude, interpolation.
 *
 * They are ols_segments and ols_segments_slow up to the transform back, with other epilogues, and compiled for fewer
 * lengths, so that the kernels that store what they computed keep their registers. A segment computes before + hop + after
 * samples of the series, from row `discard` on (a multiple of the team's size), and makes the outputs of the hop:
 *
 *   rate 1     each thread from its own registers, coalesced as without
 *   rate > 1   through the exchange region, where the series stands in order: neighbouring threads make neighbouring
 *              outputs, and read the few samples that these share (one access, mostly). Weights come through L1. Two team
 *              barriers more
 *   time slow  always so, since outputs go through the regions in any case: neighbouring threads make neighbouring
 *              channels
 *
 * All of it is chosen at run time, once a filter: beside the transforms the branches are free. */
#ifndef LW_GPU_OLS_KERNELS_POST_CUH
#define LW_GPU_OLS_KERNELS_POST_CUH

#include "gpu/device/post.cuh"
#include "gpu/ols/kernels/time_fast.cuh"
#include "gpu/ols/kernels/time_slow.cuh"

/* ---- time fast --------------------------------------------------------------------------------------------------- */

/* Rate 1: row i of outputs is that of the series. y: output 0 of the segment, 1 real an output where real. */
template <class F, bool PAIRED>
LW_DEVICE void store_points(const typename F::C (&v)[F::E], const OlsArgs &a, const OlsPlace &p, int64_t output, int t,
                            bool &lost)
{
    using Real = typename F::Real;
    Real *const y = (Real *)a.output + output, *const second = y + a.output_second;
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        const int i = F::T * m + t - a.discard;
        if (i < 0 || i >= max(p.want[0], p.want[1]))
            continue;
        if (PAIRED) {
            if (i < p.want[0])
                __stcs(y + i, made(a.post, v[m].y, lost));
            if (i < p.want[1])
                __stcs(second + i, made(a.post, v[m].x, lost));
        } else
            __stcs(y + i, made_complex(a.post, typename F::C{v[m].y, v[m].x}, lost).x);
    }
}

/* One output of each series of the segment; sample i of the hop stands at `at`. */
template <class C, bool PAIRED>
LW_DEVICE void store_phase(const OlsArgs &a, const OlsPlace &p, const C *at, int64_t first, int i, int phase,
                           int64_t output, bool &lost)
{
    using Real = decltype(C::x);
    const int64_t axis = a.post.first + first + i, j = output + (int64_t)i * a.post.rate + phase;
    const int64_t later = PAIRED && a.pairs_hops ? axis + a.hop : axis;
    const bool has[2] = {i < p.want[0] && phase < phases_of(a.post, axis),
                         i < p.want[1] && phase < phases_of(a.post, later)};
    C c = {0, 0};
    if (has[0])
        c.x = phase_sum(a.post, &at->x, 2, axis, phase);
    if (has[1])
        c.y = phase_sum(a.post, &at->y, 2, later, phase);
    if (PAIRED) {
        if (has[0])
            __stcs((Real *)a.output + j, made(a.post, c.x, lost));
        if (has[1])
            __stcs((Real *)a.output + a.output_second + j, made(a.post, c.y, lost));
    } else if (has[0]) {
        c = made_complex(a.post, c, lost);
        if (makes_real(a.post))
            __stcs((Real *)a.output + j, c.x);
        else
            __stcs((C *)a.output + j, c);
    }
}

template <class F, bool PAIRED>
LW_DEVICE void store_phases(const typename F::C (&v)[F::E], const OlsArgs &a, const OlsPlace &p, int64_t first,
                            int64_t output, typename F::C *shared, int t, bool &lost)
{
    F::Team::sync();                /* the regions have been read */
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        shared[t + F::T * m] = {v[m].y, v[m].x};
    F::Team::sync();
    const typename F::C *const hop = shared + a.discard + a.post.before;
    const int rate = a.post.rate, steps = F::T / rate, rest = F::T - steps * rate, want = max(p.want[0], p.want[1]);
    int i = t / rate, phase = t - i * rate;
    while (i < want) {
        store_phase<typename F::C, PAIRED>(a, p, hop + i, first, i, phase, output, lost);
        i += steps;
        phase += rest;
        if (phase >= rate) {
            phase -= rate;
            ++i;
        }
    }
    F::Team::sync();
}

template <class F, int BLOCKS, bool PAIRED>
__global__ void __launch_bounds__(F::T, BLOCKS) ols_segments_post(const OlsArgs a)
{
    using C = typename F::C;
    static_assert(F::T >= 32, "one segment a block");
    extern __shared__ __align__(128) unsigned char memory[];
    C *const shared = (C *)memory;
    const int t = threadIdx.x;
    bool lost = false;

    OlsWalk walk;
    walk.start(a, blockIdx.x);
    wait_for_predecessor();
    F fft;
    fft.load((const C *)a.bank, t);
    C v[F::E], kept[F::E];
    for (OlsStep step; walk.next(a, blockIdx.x, step);) {
        const OlsPlace p = place_of<F::N, PAIRED>(a, step.segment);
        const int row = step.segment / a.n_steps;
        const int64_t first = (step.segment - row * a.n_steps) * a.step;
        transform_segment<F, PAIRED>(v, fft, a, p, shared, t);
#pragma unroll
        for (int m = 0; m < F::E; ++m)
            kept[m] = v[m];
        const C *bank = (const C *)a.bank + a.spectra + (int64_t)step.begin * F::N;
        int64_t output = row * a.output_pitch + first * a.post.rate + step.begin * a.plane;
#pragma unroll 1
        for (int f = step.begin; f < step.end; ++f, bank += F::N, output += a.plane) {
            fft.pin();
            multiply<F>(v, kept, bank, t);
            fft.backward(v, shared, t);
            if (a.post.rate == 1)
                store_points<F, PAIRED>(v, a, p, output, t, lost);
            else
                store_phases<F, PAIRED>(v, a, p, first, output, shared, t, lost);
        }
    }
    if (lost)
        *a.post.out_of_range = 1;
}

/* ---- time slow --------------------------------------------------------------------------------------------------- */

/* One output of team w: of two real channels, or of a complex one. y: the output's row, from channel 0 on. */
template <class F, bool PAIRED>
LW_DEVICE void store_channel(const OlsArgs &a, const typename F::C *at, int64_t axis, int phase, int64_t channel,
                             typename F::Real *y, bool &lost)
{
    using C = typename F::C;
    C c = *at;
    if (a.post.rate > 1)
        c = {phase_sum(a.post, &at->x, 2, axis, phase), phase_sum(a.post, &at->y, 2, axis, phase)};
    if (PAIRED) {
        __stcs(y + channel, made(a.post, c.x, lost));
        if (channel + 1 < a.n_channels)
            __stcs(y + channel + 1, made(a.post, c.y, lost));
    } else if (makes_real(a.post))
        __stcs(y + channel, made_complex(a.post, c, lost).x);
    else
        __stcs((C *)y + channel, c);
}

/* The block's outputs of one filter. y: its first output, of channel 0. */
template <class F, int W, bool PAIRED>
LW_DEVICE void store_made_rows(unsigned char *memory, const OlsArgs &a, const SlowPlace &p, int64_t first, int group,
                               typename F::Real *y, bool &lost)
{
    using B = SlowBlock<F, W>;
    const int rate = a.post.rate;
    for (int item = threadIdx.x; item < p.want * rate * W; item += B::THREADS) {
        const int w = item % W, row = item / W, i = row / rate, phase = row - i * rate;
        const int64_t axis = a.post.first + first + i, channel = ((int64_t)group * W + w) * (PAIRED ? 2 : 1);
        if (channel < a.n_channels && phase < phases_of(a.post, axis))
            store_channel<F, PAIRED>(a, B::region(memory, w) + a.discard + a.post.before + i, axis, phase, channel,
                                     y + row * a.output_pitch, lost);
    }
}

template <class F, int W, int BLOCKS, bool PAIRED>
__global__ void __launch_bounds__(F::T * W, BLOCKS) ols_segments_slow_post(const OlsArgs a)
{
    using B = SlowBlock<F, W>;
    using C = typename F::C;
    using Real = typename F::Real;
    extern __shared__ __align__(128) unsigned char memory[];
    const int t = threadIdx.x % F::T;
    C *const own = B::region(memory, threadIdx.x / F::T);
    bool lost = false;

    OlsWalk walk;
    walk.start(a, blockIdx.x);
    wait_for_predecessor();
    F fft;
    fft.load((const C *)a.bank, t);
    C v[F::E], kept[F::E];
    for (OlsStep step; walk.next(a, blockIdx.x, step);) {
        const int group = step.segment / a.n_steps;
        const int64_t first = (step.segment - group * a.n_steps) * a.step, start = first - a.lead;
        SlowPlace p = {};
        p.input = start * a.input_pitch + (int64_t)group * W * a.input_second;
        p.have = clamp_to(a.input_row - start, F::N);
        p.want = clamp_to(a.count - first, a.hop);
        p.in_columns = clamp_to(a.input_pitch - (int64_t)group * W * a.input_second, W * (int)a.input_second);
        load_block<F, W>(memory, a, p, threadIdx.x);
        __syncthreads();
#pragma unroll
        for (int m = 0; m < F::E; ++m)
            v[m] = own[t + F::T * m];
        F::Team::sync();
        fft.forward(v, own, t);
#pragma unroll
        for (int m = 0; m < F::E; ++m)
            kept[m] = v[m];
        const C *bank = (const C *)a.bank + a.spectra + (int64_t)step.begin * F::N;
        Real *y = (Real *)a.output + first * a.post.rate * a.output_pitch + step.begin * a.plane;
#pragma unroll 1
        for (int f = step.begin; f < step.end; ++f, bank += F::N, y += a.plane) {
            fft.pin();
            multiply<F>(v, kept, bank, t);
            fft.backward(v, own, t);
            F::Team::sync();            /* the regions have been read */
#pragma unroll
            for (int m = 0; m < F::E; ++m)
                own[t + F::T * m] = {v[m].y, v[m].x};
            __syncthreads();
            store_made_rows<F, W, PAIRED>(memory, a, p, first, group, y, lost);
            __syncthreads();
        }
    }
    if (lost)
        *a.post.out_of_range = 1;
}

/* ---- table entries ----------------------------------------------------------------------------------------------- */

template <class Real, int E, int P, int BLOCKS, bool PAIRED> OlsKernel ols_post_entry()
{
    OlsKernel k = ols_entry<Real, E, P, BLOCKS, PAIRED>();
    k.discard = -1;
    k.post = true;
    return k;
}

template <class Real, int E, int P, int BLOCKS, bool PAIRED> OlsKernel ols_post_kernel()
{
    using F = Transform<Real, E, P, Team<E * P, 1>>;
    OlsKernel k = ols_post_entry<Real, E, P, BLOCKS, PAIRED>();
    k.layout = LW_TIME_FAST;
    k.together = 1;
    k.threads = F::T;
    k.shared_bytes = F::SHARED_BYTES;
    k.kernel = ols_segments_post<F, BLOCKS, PAIRED>;
    return k;
}

template <class Real, int E, int P, int W, int BLOCKS, bool PAIRED> OlsKernel ols_slow_post_kernel()
{
    using F = Transform<Real, E, P, Team<E * P, W>>;
    OlsKernel k = ols_post_entry<Real, E, P, BLOCKS, PAIRED>();
    k.layout = LW_TIME_SLOW;
    k.together = W;
    k.threads = SlowBlock<F, W>::THREADS;
    k.shared_bytes = SlowBlock<F, W>::SHARED_BYTES;
    k.kernel = ols_segments_slow_post<F, W, BLOCKS, PAIRED>;
    return k;
}

/* both kinds of signal */
#define LW_OLS_POST(Real, E, P, BLOCKS) \
    ols_post_kernel<Real, E, P, BLOCKS, false>(), ols_post_kernel<Real, E, P, BLOCKS, true>()
#define LW_OLS_SLOW_POST(Real, E, P, W, BLOCKS) \
    ols_slow_post_kernel<Real, E, P, W, BLOCKS, false>(), ols_slow_post_kernel<Real, E, P, W, BLOCKS, true>()

#endif
