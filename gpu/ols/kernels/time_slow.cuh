/* time_slow.cuh - overlap-save kernel, time slow: time_fast.cuh for samples [axis][channel]. A row here is one axis sample.
 *
 * A hop is a segment of a group of adjacent channels: 2 W adjacent reals of each of its rows, W transforms. Each transform takes a
 * complex channel or two real channels, which are the same bytes of a row. A thread block takes one hop. Each transform has a team
 * of threads and an exchange region, in which rows are turned into columns:
 *
 *   load    thread i reads the 2 W stored values of row i (then i + threads, ..) by one or two wide loads, makes them finite, and
 *           writes one complex value to place i of each team's region; adjacent threads write adjacent places. Each team then
 *           reads its own region
 *   store   each team writes its outputs to its region at t + T m. Then the block copies rows of 8 W bytes (whole sectors of
 *           memory) by 16-byte stores, W / 2 lanes a row
 *
 * Shared memory: W regions, each 128 / W bytes (at least 16) larger than a transform needs, so that lanes that read one row from
 * several regions meet different banks. There are two block barriers a filter beside the transform's own. At most three blocks fit
 * on an SM, so barriers and loads are hidden only in part. */
#pragma once

#include "gpu/ols/kernels/time_fast.cuh"

/* Sizes of a block that has W teams, each with transform F. */
template <class F, int W> struct TimeSlowBlock {
    using C = typename F::C;
    using Real = typename F::Real;
    static constexpr int THREADS = F::T * W, STRIDE = F::SHARED_BYTES + (W > 8 ? 16 : W > 1 ? 128 / W : 0);
    static constexpr int SHARED_BYTES = W * STRIDE;
    static constexpr int VECTOR = 2 * W * sizeof(Real) < 16 ? 2 * W : 16 / (int)sizeof(Real);     /* reals of one vector store */

    LW_DEVICE static C *region(unsigned char *memory, int w) { return (C *)(memory + w * STRIDE); }
};

/* Place of a hop. */
struct TimeSlowPlace {
    int64_t input, output;          /* indices of its first real in the input, and in the output of filter 0 */
    int have, want, in_columns, out_columns;    /* rows of samples (from `lead` on) and outputs that exist; reals of these rows */
};

template <int N, int W> LW_DEVICE TimeSlowPlace time_slow_place(const OlsArgs &a, int step, int group)
{
    const int64_t first = step * a.step, start = first - a.lead;
    const int64_t in_column = (int64_t)group * W * a.input_second, out_column = (int64_t)group * W * 2;
    TimeSlowPlace p;
    p.input = start * a.input_pitch + in_column;
    p.output = first * a.output_pitch + out_column;
    p.have = clamp_to(a.input_row - start, N);
    p.want = clamp_to(a.count - first, a.hop);
    p.in_columns = clamp_to(a.input_columns - in_column, W * (int)a.input_second);
    p.out_columns = clamp_to(a.output_pitch - out_column, 2 * W);
    return p;
}

/* Return whether each row of the hop has all its 2 W reals, which begin at a multiple of 16 bytes. */
template <int W> LW_DEVICE bool has_whole_rows(const OlsArgs &a, const TimeSlowPlace &p)
{
    return a.input_second == 2 && p.in_columns == 2 * W && a.rows_aligned;
}

/* Load a row's reals, zero beyond `columns`. WHOLE: all 2 W exist, aligned to a vector. single: real samples, read as complex. */
template <class Real, class Stored, int W, bool WHOLE>
LW_DEVICE void load_row(Real (&row)[2 * W], const Stored *x, int columns, bool single, bool &met)
{
    if constexpr (WHOLE) {
        constexpr int BYTES = 2 * W * sizeof(Stored), WIDE = BYTES < 16 ? BYTES : 16, EACH = WIDE / sizeof(Stored);
        struct alignas(WIDE) Vector { Stored s[EACH]; };
#pragma unroll
        for (int i = 0; i < 2 * W; i += EACH) {
            const Vector v = *(const Vector *)(x + i);
#pragma unroll
            for (int j = 0; j < EACH; ++j)
                row[i + j] = finite_of<Stored>(converted<Real>(v.s[j]), met);
        }
    } else {
#pragma unroll
        for (int i = 0; i < 2 * W; ++i) {
            const int column = single ? i / 2 : i;          /* column in the input; imaginary parts are not there if single */
            row[i] = (single && i % 2) || column >= columns ? (Real)0 : finite_of<Stored>(converted<Real>(x[column]), met);
        }
    }
}

/* Load the rows of a hop into the regions. thread: number of this thread in the block. Return whether a sample was not finite. */
template <class F, int W, class Stored, bool WHOLE>
LW_DEVICE bool load_rows(unsigned char *memory, const OlsArgs &a, const TimeSlowPlace &p, int thread)
{
    using B = TimeSlowBlock<F, W>;
    using Real = typename F::Real;
    const Stored *x = (const Stored *)a.input + p.input + thread * a.input_pitch;
    const int64_t advance = B::THREADS * a.input_pitch;
    bool met = false;
#pragma unroll 2
    for (int i = thread; i < F::N; i += B::THREADS, x += advance) {
        Real row[2 * W] = {};
        if (i >= a.lead && i < p.have)
            load_row<Real, Stored, W, WHOLE>(row, x, p.in_columns, a.input_second == 1, met);
#pragma unroll
        for (int w = 0; w < W; ++w)
            B::region(memory, w)[i] = {row[2 * w], row[2 * w + 1]};
    }
    return met;
}

template <class F, int W>
LW_DEVICE void load_block(unsigned char *memory, const OlsArgs &a, const TimeSlowPlace &p, int thread)
{
    const bool met = with_stored(a.input_scalar, [&](auto stored) {
        using Stored = decltype(stored);
        return has_whole_rows<W>(a, p) ? load_rows<F, W, Stored, true>(memory, a, p, thread)
                                       : load_rows<F, W, Stored, false>(memory, a, p, thread);
    });
    if (met)
        *a.not_finite = 1;
}

/* Takes values from the regions for storing: as they are. */
struct AsShared {
    template <class Real> LW_DEVICE Real operator()(Real value) const { return value; }
};

/* Store one vector of a row: V numbers from V / 2 regions. take: makes a stored number of a shared value. */
template <class F, int W, class Out, class Take> LW_DEVICE void store_vector(Out *to, const typename F::C *from, Take &take)
{
    using B = TimeSlowBlock<F, W>;
    struct alignas(B::VECTOR * sizeof(Out)) Vector { Out s[B::VECTOR]; } v;
#pragma unroll
    for (int j = 0; j < B::VECTOR; j += 2) {
        const typename F::C c = from[j / 2 * (B::STRIDE / (int)sizeof(c))];
        v.s[j] = stored_bits<Out>(take(c.x));
        v.s[j + 1] = stored_bits<Out>(take(c.y));
    }
    if constexpr (sizeof v == 16)
        put((float4 *)to, repacked<float4>(v));
    else if constexpr (sizeof v == 8)
        put((float2 *)to, repacked<float2>(v));
    else if constexpr (sizeof v == 4)
        put((unsigned *)to, repacked<unsigned>(v));
    else
        put((uint16_t *)to, repacked<uint16_t>(v));
}

/* The rows begin, begin + every, .. of a hop's outputs that come before row `end`. */
struct TimeSlowRows {
    int begin, every, end;
};

/* Store `rows` of all teams' outputs from the regions. y: place of the first row's first number in the output. */
template <class F, int W, class Out, class Take>
LW_DEVICE void store_rows(unsigned char *memory, const OlsArgs &a, const TimeSlowPlace &p, TimeSlowRows rows, Out *y, int thread,
                          Take &take)
{
    using B = TimeSlowBlock<F, W>;
    using Real = typename F::Real;
    constexpr int V = B::VECTOR, EACH = 2 * W / V;          /* EACH: vector stores per row */
    if (p.out_columns == 2 * W && a.output_pitch % V == 0) {
        constexpr int ROWS = B::THREADS / EACH;             /* rows that the block stores at a time */
        const int part = thread % EACH, first = thread / EACH, step = ROWS * rows.every;
        const int begin = rows.begin + first * rows.every;
        const typename F::C *from = B::region(memory, part * V / 2) + a.discard + begin;
        Out *to = y + first * a.output_pitch + part * V;
        const int64_t advance = ROWS * a.output_pitch;
#pragma unroll 4
        for (int row = begin; row < rows.end; row += step, from += step, to += advance)
            store_vector<F, W>(to, from, take);
    } else {
        for (int i = thread;; i += B::THREADS) {
            const int number = i / (2 * W), row = rows.begin + number * rows.every, column = i % (2 * W);
            if (row >= rows.end)
                break;
            if (column < p.out_columns)
                put(y + number * a.output_pitch + column,
                    stored_bits<Out>(take(((const Real *)(B::region(memory, column / 2) + a.discard + row))[column % 2])));
        }
    }
}

/* Write a team's outputs, v with re and im swapped, to its region. At return all teams have written theirs. */
template <class F> LW_DEVICE void share_outputs(const typename F::C (&v)[F::E], typename F::C *own, int t)
{
    F::Team::sync();                    /* the team has read its region */
#pragma unroll
    for (int m = 0; m < F::E; ++m)
        own[t + F::T * m] = {v[m].y, v[m].x};
    __syncthreads();
}

/* The base of epilogues (Epilogue, time_fast.cuh) for time slow. `begin` is called when all spectra of a hop are complete. */
struct ChannelEpilogue : Epilogue {
    template <class F>
    LW_DEVICE void begin(const typename F::C (&)[F::E], typename F::C *, unsigned char *, const OlsArgs &, const TimeSlowPlace &,
                         int, int, int)
    {
    }
};

/* Epilogue that stores the series itself. */
struct StoreChannels : ChannelEpilogue {
    template <class F, int W>
    LW_DEVICE void finish(typename F::C (&v)[F::E], unsigned char *memory, typename F::C *own, const OlsArgs &a,
                          const TimeSlowPlace &p, int, int, int f, int t)
    {
        AsShared take;
        share_outputs<F>(v, own, t);
        store_rows<F, W>(memory, a, p, {0, 1, p.want}, (typename F::Real *)a.output + p.output + f * a.plane, threadIdx.x, take);
        __syncthreads();
    }
};

/* Epilogue that stores the series in a narrow type; values become words before they are shared. */
struct NarrowChannels : ChannelEpilogue {
    template <class F, int W>
    LW_DEVICE void finish(float2 (&v)[F::E], unsigned char *memory, float2 *own, const OlsArgs &a, const TimeSlowPlace &p, int, int,
                          int f, int t)
    {
        const int column = (int)threadIdx.x / F::T * 2;
        const auto counts = [&](int m, int part) {          /* re and im are swapped */
            return (unsigned)(t + F::T * m - a.discard) < (unsigned)p.want && column + (part == 0 ? 1 : 0) < p.out_columns;
        };
        AsShared take;
        narrow_all(v, a.narrow, [](int) { return true; }, counts);
        share_outputs<F>(v, own, t);
        with_words(a.narrow, [&](auto out) {
            auto *const y = (decltype(out) *)a.output + p.output + f * a.plane;
            store_rows<F, W>(memory, a, p, {0, 1, p.want}, y, threadIdx.x, take);
        });
        __syncthreads();
    }
};

template <class F, int W, int BLOCKS, bool KEEP, class Finish>
__global__ void __launch_bounds__(F::T * W, BLOCKS) ols_time_slow(const OlsArgs a)
{
    using B = TimeSlowBlock<F, W>;
    using C = typename F::C;
    extern __shared__ __align__(128) unsigned char memory[];
    const int t = threadIdx.x % F::T;
    C *const own = B::region(memory, threadIdx.x / F::T);
    Finish epilogue = {};

    OlsWalk walk;
    walk.start(a, blockIdx.x);
    wait_for_predecessor();
    F fft;
    fft.load((const C *)a.bank, t);
    C v[F::E], kept[F::E];
    for (OlsStep step; walk.next(a, blockIdx.x, step);) {
        /* Adjacent segments are adjacent groups of channels, so that blocks that run at a time share sectors and rows of memory. */
        const int row = step.segment / a.n_groups, group = step.segment - row * a.n_groups;
        const TimeSlowPlace p = time_slow_place<F::N, W>(a, row, group);
        if (Finish::FINDS)
            __syncthreads();            /* all teams have read their regions */
        load_block<F, W>(memory, a, p, threadIdx.x);
        __syncthreads();
#pragma unroll
        for (int m = 0; m < F::E; ++m)
            v[m] = own[t + F::T * m];
        F::Team::sync();
        fft.forward(v, own, t);
        if (KEEP) {
#pragma unroll
            for (int m = 0; m < F::E; ++m)
                kept[m] = v[m];
            epilogue.template begin<F>(kept, own, memory, a, p, row, group, t);
        }
        const auto filter = [&](auto &last) {
#pragma unroll 1
            for (int f = step.begin; f < step.end; ++f) {
                fft.pin();
                multiply<F>(v, KEEP ? kept : v, spectra_of<F>(a, f), t);
                fft.backward(v, own, t);
                last.template finish<F, W>(v, memory, own, a, p, row, group, f, t);
                if (!KEEP)
                    break;
            }
        };
        if constexpr (sizeof(typename F::Real) == 4 && std::is_same<Finish, StoreChannels>::value)
            if (a.narrow.bytes > 0) {       /* a loop of its own, so that the other one needs no more registers */
                NarrowChannels narrow;
                filter(narrow);
                continue;
            }
        filter(epilogue);
    }
    epilogue.end(a);
}
