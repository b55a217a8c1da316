/* pipelined.cuh - overlap-save kernel, time fast, for one filter: time_fast.cuh with the next segment's samples loaded ahead.
 *
 * A thread block is one warp, the team of one segment after another, n_blocks apart; all blocks are resident. The transform uses
 * the block's 8704 bytes of shared memory only for its exchange. After the last exchange of a segment, a third of its work is still
 * to come, and the shared memory can receive the next segment (the tile):
 *
 *   prefetch   the warp copies the stored samples unchanged, by 16-byte asynchronous copies: nothing waits for them, and no
 *              register holds them. A segment is one piece, a pair two pieces. Copies begin at a multiple of 16 bytes in memory, so
 *              that the first sample stands up to 15 bytes behind the piece's start: the skew
 *   read       thread t reads the samples t + T m and converts them: adjacent lanes read adjacent samples, without bank conflicts
 *
 * Both ways share the instructions of one forward transform, because two transforms exceed the instruction cache (19% of all
 * stalls, 8% of the time). On the way back, results therefore come in reverse order. The bank has the spectra of taps delayed by
 * one sample: the value at place n is then result N - 1 - n.
 *
 * Segments that do not lie wholly in their row, or have samples that are not finite, are loaded as in time_fast.cuh. */
#pragma once

#include "gpu/ols/kernels/time_fast.cuh"

/* A segment (or pair) by its row and its step. skews: the first piece's skew in bytes, + 16 times the second piece's; -1: the
 * samples are not prefetched. */
struct PipelinedSegment {
    int row, step, skews;

    LW_DEVICE void next(const OlsArgs &a) { move_on(row, step, a.stride_rows, a.stride_steps, a.n_steps); }
    LW_DEVICE int64_t first(const OlsArgs &a) const { return (int64_t)step * a.step; }
    LW_DEVICE bool prefetched() const { return skews >= 0; }

    /* Return a copy from which the compiler cannot compute anything before this point, to save registers until here. */
    LW_DEVICE PipelinedSegment late() const
    {
        PipelinedSegment s = *this;
        opaque(s.row);
        opaque(s.step);
        return s;
    }
};

/* Bytes from one piece of a tile to the next. */
template <int N, int SAMPLE> constexpr int PIECE_PITCH = N * SAMPLE + 16;

/* Start to copy a piece, F::N samples, to the tile, by the whole team. Return its skew. */
template <class F, int SAMPLE> LW_DEVICE int prefetch_piece(unsigned char *tile, const char *from, int t)
{
    constexpr int BYTES = F::N * SAMPLE, EACH = 16 * F::T;
    static_assert(BYTES % EACH == 0, "threads share a piece evenly");
    const int skew = (int)((uintptr_t)from & 15);
    from += t * 16 - skew;
    tile += t * 16;
    opaque(from);               /* so that the other addresses are at constant distances */
#pragma unroll
    for (int k = 0; k < BYTES; k += EACH)
        copy_async(tile + k, from + k);
    if (skew && t == 0)
        copy_async(tile + BYTES, from + BYTES);
    return skew;
}

template <class F, bool PAIRED, int SAMPLE>
LW_DEVICE void prefetch_pieces(unsigned char *tile, const OlsArgs &a, PipelinedSegment &s, int t)
{
    constexpr int PITCH = PIECE_PITCH<F::N, SAMPLE>;
    static_assert((PAIRED ? 2 : 1) * PITCH <= F::SHARED_BYTES, "pieces fit");
    const char *const from = (const char *)a.input + (s.row * a.input_pitch + s.first(a) - a.lead) * SAMPLE;
    s.skews = prefetch_piece<F, SAMPLE>(tile, from, t);
    if (PAIRED)
        s.skews += 16 * prefetch_piece<F, SAMPLE>(tile + PITCH, from + a.input_second * SAMPLE, t);
}

template <class F, bool PAIRED>
LW_DEVICE void prefetch_segment(unsigned char *tile, const OlsArgs &a, PipelinedSegment &s, int t)
{
    s.skews = -1;
    if (s.row >= a.whole_rows || s.step < a.whole_begin || s.step >= a.whole_end)
        return;
    switch (a.sample_bytes) {
    case 1: prefetch_pieces<F, PAIRED, 1>(tile, a, s, t); break;
    case 2: prefetch_pieces<F, PAIRED, 2>(tile, a, s, t); break;
    case 4: prefetch_pieces<F, PAIRED, 4>(tile, a, s, t); break;
    case 8:
        if constexpr (!PAIRED)
            prefetch_pieces<F, PAIRED, 8>(tile, a, s, t);
        break;
    }
}

/* Read v[m] = sample t + T m from the tile; the first a.lead samples are zero. */
template <class F, class Stored, int DISCARD, bool PAIRED, bool COMPLEX>
LW_DEVICE void read_pieces(typename F::C (&v)[F::E], const unsigned char *tile, const OlsArgs &a, const PipelinedSegment &s, int t)
{
    using Real = typename F::Real;
    constexpr int MOST_LEAD = DISCARD >= 0 ? DISCARD : F::T;
    const Stored *const x = (const Stored *)(tile + s.skews % 16) + t * (COMPLEX ? 2 : 1);
    const Stored *const second = (const Stored *)(tile + PIECE_PITCH<F::N, sizeof(Stored)> + s.skews / 16) + t;
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        const int k = F::T * m;
        if constexpr (COMPLEX)
            v[m] = ((const float2 *)x)[k];
        else
            v[m] = {converted<Real>(x[k]), PAIRED ? converted<Real>(second[k]) : 0};
    }
    if (a.lead > 0)
#pragma unroll
        for (int k = 0; k < MOST_LEAD; k += F::T)
            if (k + t < a.lead)
                v[k / F::T] = {0, 0};
}

template <class F, int DISCARD, bool PAIRED>
LW_DEVICE void read_segment(typename F::C (&v)[F::E], const unsigned char *tile, const OlsArgs &a, const PipelinedSegment &s, int t)
{
    with_sample<!PAIRED>(a.input_scalar, a.input_complex, [&](auto stored, auto is_complex) {
        if constexpr (sizeof(stored) <= 4)
            read_pieces<F, decltype(stored), DISCARD, PAIRED, decltype(is_complex)::value>(v, tile, a, s, t);
    });
}

/* v <- v h. Each operation overwrites an operand that no later one uses, which avoids register copies at the end of the loop. */
LW_DEVICE void multiply_in_place(float2 &v, float2 h)
{
    const float s = v.y * h.y, u = v.y * h.x;
    v.y = fmaf(v.x, h.y, u);
    v.x = fmaf(v.x, h.x, -s);
}

template <class F> LW_DEVICE void multiply_all(float2 (&v)[F::E], const float2 *bank, int t)
{
#pragma unroll
    for (int m = 0; m < F::E; m += 2) {
        const float4 h = __ldg((const float4 *)bank + m / 2 * F::T + t);
        multiply_in_place(v[m], {h.x, h.y});
        multiply_in_place(v[m + 1], {h.z, h.w});
    }
}

/* Store the outputs. v[m] is result N - 1 - (t + T m) of the circular convolution; results from D on are outputs. */
template <class F, int DISCARD, bool PAIRED, bool WHOLE, class Out = float>
LW_DEVICE void store_reversed(const typename F::C (&v)[F::E], const OlsArgs &a, const OlsPlace &p, int64_t output, int t)
{
    const int n_outputs = F::N - (DISCARD >= 0 ? DISCARD : a.discard), last = n_outputs - 1 - t;
    Out *y = (Out *)a.output + (output + last) * (PAIRED ? 1 : 2), *second = y + a.output_second;
    opaque(y);
    opaque(second);         /* so that all rows are at constant distances from two pointers */
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        const int k = F::T * m;
        if (k < (WHOLE ? n_outputs : F::N - (DISCARD >= 0 ? DISCARD : 0)))
            put_output<PAIRED, WHOLE>(y, second, -k, p, last - k, v[m]);
    }
}

/* Store the outputs in a narrow type. */
template <class F, int DISCARD, bool PAIRED>
LW_DEVICE void store_narrow_reversed(float2 (&v)[F::E], const OlsArgs &a, const OlsPlace &p, int t)
{
    const int n_outputs = F::N - (DISCARD >= 0 ? DISCARD : a.discard);
    const auto is_used = [=](int m) { return F::T * m < F::N - (DISCARD >= 0 ? DISCARD : 0); };
    narrow_all(v, a.narrow, is_used, [&](int m, int part) {
        return (unsigned)(n_outputs - 1 - t - F::T * m) < (unsigned)p.want[PAIRED ? part : 0];
    });
    with_words(a.narrow, [&](auto out) {
        store_reversed<F, DISCARD, PAIRED, false, decltype(out)>(v, a, p, p.output, t);
    });
}

template <class F, int BLOCKS, int DISCARD, bool PAIRED>
__global__ void __launch_bounds__(F::T, BLOCKS) ols_pipelined(const OlsArgs a)
{
    static_assert(F::P == 1, "a warp a segment");
    using C = typename F::C;
    extern __shared__ __align__(128) unsigned char memory[];
    C *const shared = (C *)memory;
    const int t = threadIdx.x;
    wait_for_predecessor();
    PipelinedSegment ahead = {(int)blockIdx.x / a.n_steps, (int)blockIdx.x % a.n_steps};
    prefetch_segment<F, PAIRED>(memory, a, ahead, t);
    F fft;
    fft.load((const C *)a.bank, t);
    C v[F::E];
    while (ahead.row < a.n_rows) {
        const PipelinedSegment now = ahead;
        wait_for_copies();
        __syncwarp();               /* all lanes' copies have arrived */
        bool done = false;
        for (bool checked = !now.prefetched(); !done; checked = true) {
            if (!checked)
                read_segment<F, DISCARD, PAIRED>(v, memory, a, now, t);
            else {
                const PipelinedSegment s = now.late();
                if (load_segment<F, PAIRED, true, F::N>(v, a, place_at<F::N, PAIRED>(a, s.row, s.step), t))
                    *a.not_finite = 1;
            }
#pragma unroll 1
            for (bool back = false;; back = true) {
                if (back) {
                    if (!checked && __any_sync(0xffffffffu, !isfinite(v[0].x) || !isfinite(v[0].y)))
                        break;
                    multiply_all<F>(v, spectra_of<F>(a, 0), t);
                }
                fft.pin();
                fft.template square_rows<false>(v, shared, t);
                fft.square_columns(v, shared, t, [&] {
                    if (!back)
                        return;
                    __syncwarp();   /* all lanes have read the exchange */
                    ahead.next(a);
                    prefetch_segment<F, PAIRED>(memory, a, ahead, t);
                });
                done = back;
                if (back)
                    break;
            }
        }
        const PipelinedSegment s = now.late();
        const int64_t output = s.row * a.output_pitch + s.first(a);
        if (a.narrow.bytes > 0)
            store_narrow_reversed<F, DISCARD, PAIRED>(v, a, place_at<F::N, PAIRED>(a, s.row, s.step), t);
        else if (s.prefetched())
            store_reversed<F, DISCARD, PAIRED, true>(v, a, {}, output, t);
        else
            store_reversed<F, DISCARD, PAIRED, false>(v, a, place_at<F::N, PAIRED>(a, s.row, s.step), output, t);
    }
}
