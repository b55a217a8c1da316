/* fft.cuh - complex transforms of N = E * E * P points in registers and shared memory. E is the radix of the two inner stages and
 * the number of points that a thread holds. P is the radix of one outer stage across P groups of threads.
 *
 * A team of T = E P threads transforms one signal. In the signal, thread t holds the points t + T m, m = 0 .. E - 1 (natural order,
 * so that loads and stores are coalesced). In the spectrum it holds the bins bin(t) + T m, bin(t) = P (t mod E) + t / E.
 *
 *   forward    P > 1: radix-P butterflies over n1 (n = n0 + (N/P) n1), twiddles, and an exchange over the team's barrier. Group
 *              r = t / E of E threads (a thread's lane: t mod E) then owns the bins k = r (mod P), and transforms its own E x E
 *              points: radix-E, exchange within the group, radix-E with weighted inputs.
 *   backward   the mirror image: E x E in each group, exchange, weighted radix-P. It, too, computes sums with
 *              exp(-2 pi i n k / N): the caller swaps re and im of the spectrum, and finds re and im swapped in the result.
 *
 * Shared memory: P regions, one a group, of E rows of PITCH complex values (8704 bytes each for float, E = 32). A thread writes a
 * whole row by 16-byte stores; then the threads read across rows. The pitch is E values plus 16 bytes, so neither access has bank
 * conflicts: the 16-byte words of a quarter warp start at banks 4 t mod 32. The radix-P exchange uses the same regions with rows of
 * E values. For P <= 4, only values that change groups pass through it: one P-th of all values stay in their register. */
#pragma once

#include "gpu/device/ptx.cuh"

#include <cuda_runtime.h>

#include <cstdint>

#define LW_DEVICE __device__ __forceinline__

template <class Real> struct ComplexOf;
template <> struct ComplexOf<float> { using type = float2; };
template <> struct ComplexOf<double> { using type = double2; };
template <class Real> using Complex = typename ComplexOf<Real>::type;

template <class Value> struct RealPartOf { using type = Value; };
template <> struct RealPartOf<float2> { using type = float; };
template <> struct RealPartOf<double2> { using type = double; };
template <class Value> using RealPart = typename RealPartOf<Value>::type;

/* Arguments of log2_of and reversed become constants only once loops are unrolled. Both functions avoid recursion and loops: the
 * compiler for sm_100 and later would make them calls, and put the arrays that are indexed by their results into local memory. */

/* Return log2(n) rounded down, 1 <= n < 2^16. */
__host__ __device__ constexpr int log2_of(int n)
{
    return (n >= 2) + (n >= 4) + (n >= 8) + (n >= 16) + (n >= 32) + (n >= 64) + (n >= 128) + (n >= 256) + (n >= 512) +
           (n >= 1024) + (n >= 2048) + (n >= 4096) + (n >= 8192) + (n >= 16384) + (n >= 32768);
}

/* Return j with its log2(n) bits in reverse order, 0 <= j < n <= 32. */
__host__ __device__ constexpr int reversed(int j, int n)
{
    return ((j & 1) << 4 | (j & 2) << 2 | (j & 4) | (j & 8) >> 2 | (j & 16) >> 4) >> (5 - log2_of(n));
}

template <class C> LW_DEVICE C product(C a, C b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }

/* y += h x, by fused operations: h is real or complex, x is complex if h is. */
LW_DEVICE void accumulate(float &y, float h, float x) { y = fma(h, x, y); }
LW_DEVICE void accumulate(double &y, double h, double x) { y = fma(h, x, y); }
template <class C, class Real> LW_DEVICE auto accumulate(C &y, Real h, C x) -> decltype((void)(x.x * h))
{
    y = {fma(h, x.x, y.x), fma(h, x.y, y.y)};
}
template <class C> LW_DEVICE auto accumulate(C &y, C h, C x) -> decltype((void)x.x)
{
    y.x = fma(h.x, x.x, y.x);
    y.y = fma(h.x, x.y, y.y);
    y.x = fma(-h.y, x.y, y.x);
    y.y = fma(h.y, x.x, y.y);
}

/* Return exp(-2 pi i k / n), n <= 32 a power of two, 0 <= k <= n / 4; a constant once loops are unrolled. */
template <class C> LW_DEVICE C root(int k, int n)
{
    constexpr double cosine[9] = {
        1.0, 0.98078528040323044913, 0.92387953251128675613, 0.83146961230254523708, 0.70710678118654752440,
        0.55557023301960222474, 0.38268343236508977173, 0.19509032201612826785, 0.0,
    };
    const int q = k * (32 / n);
    using Real = decltype(C::x);
    return {(Real)cosine[q], (Real)-cosine[8 - q]};
}

/* Return exp(-2 pi i k / n), 0 <= k <= n / 2, n as for root. */
template <class C> LW_DEVICE C root_half(int k, int n)
{
    if (4 * k <= n)
        return root<C>(k, n);
    const C w = root<C>(k - n / 4, n);
    return {w.y, -w.x};
}

/* Butterfly (a, b) <- (a + u b, a - u b) in six fused operations: p = a + u b, then 2 a - p. */
template <class C> LW_DEVICE void butterfly(C &a, C &b, C u)
{
    using Real = decltype(C::x);
    C p = {fma(u.x, b.x, a.x), fma(u.x, b.y, a.y)};
    p.x = fma(-u.y, b.y, p.x);
    p.y = fma(u.y, b.x, p.y);
    b = {fma((Real)2, a.x, -p.x), fma((Real)2, a.y, -p.y)};
    a = p;
}

/* Butterfly (a, b) <- (a + b, a - b). */
template <class C> LW_DEVICE void butterfly(C &a, C &b)
{
    const C m = {a.x - b.x, a.y - b.y};
    a = {a.x + b.x, a.y + b.y};
    b = m;
}

/* (low, high) <- (x h + y g, x h - y g), re and im swapped. The function fuses two steps: the product of two bins x and y with the
 * filter's bins h and g, and their first butterfly of the way back. x and y are a thread's values m and m + E / 2. */
template <class C> LW_DEVICE void multiply_pair(C &low, C &high, C x, C h, C y, C g)
{
    using Real = decltype(C::x);
    const C s = {x.x * h.x - x.y * h.y, x.x * h.y + x.y * h.x};
    C p = {fma(y.x, g.x, s.x), fma(y.x, g.y, s.y)};
    p.x = fma(-y.y, g.y, p.x);
    p.y = fma(y.y, g.x, p.y);
    low = {p.y, p.x};
    high = {fma((Real)2, s.y, -p.y), fma((Real)2, s.x, -p.x)};
}

/* Return the twiddle of butterfly k of each run of 2^level in a level of dft(), k < max(2^level / 2, 1). power[l] = w^(2^l). */
template <int R, class C> LW_DEVICE C twiddle(const C *power, int level, int k)
{
    const C first = power[log2_of(R) - 1 - level];
    return k == 0 ? first : product(first, root<C>(k, 2 << level));
}

/* The same twiddles from a table in shared memory: two of them, number 2 i and 2 i + 1, stand in float4 i, and these are `pitch`
 * apart. Twiddles must be asked for in the order of their numbers: an even number loads two, and keeps the second for later. */
__host__ __device__ constexpr int twiddle_number(int level, int k) { return (1 << level) / 2 + k; }

struct TwiddleTable {
    const float4 *pairs;
    int pitch;
    float2 second;
};

template <int R> LW_DEVICE float2 twiddle(TwiddleTable &table, int level, int k)
{
    const int number = twiddle_number(level, k);
    if (number % 2 == 1)
        return table.second;
    const float4 pair = table.pairs[number / 2 * table.pitch];
    table.second = {pair.z, pair.w};
    return {pair.x, pair.y};
}

/* Weighted transform v[k] <- sum_j v[j] w^j exp(-2 pi i j k / R), by R / 2 log2(R) radix-2 butterflies; w = 1 unless WEIGHTED.
 * Butterflies with the same twiddle are adjacent in the code, so that the twiddle's registers are read once.
 * BEGUN: the caller has already replaced each pair (v[j], v[j + R / 2]) by its sum and difference. */
template <int R, bool WEIGHTED, bool BEGUN = false, class C, class Weights> LW_DEVICE void dft(C (&v)[R], Weights weights)
{
    C a[R];
#pragma unroll
    for (int j = 0; j < R; ++j)
        a[reversed(j, R)] = v[j];
#pragma unroll
    for (int level = BEGUN ? 1 : 0; level < log2_of(R); ++level) {
        const int half = 1 << level;
#pragma unroll
        for (int k = 0; k < (half + 1) / 2; ++k) {
            C u = root<C>(k, 2 * half);
            if constexpr (WEIGHTED)
                u = twiddle<R>(weights, level, k);
            const C rotated = {u.y, -u.x};      /* the twiddle of butterfly k + half / 2: a quarter turn further */
#pragma unroll
            for (int b = 0; b < R; b += 2 * half) {
                if (WEIGHTED || k > 0)
                    butterfly(a[b + k], a[b + k + half], u);
                else
                    butterfly(a[b + k], a[b + k + half]);
                if (half == 1)
                    continue;
                C &c = a[b + k + half / 2], &d = a[b + k + half / 2 + half];
                if (WEIGHTED || k > 0)
                    butterfly(c, d, rotated);
                else {
                    d = {d.y, -d.x};
                    butterfly(c, d);
                }
            }
        }
    }
#pragma unroll
    for (int j = 0; j < R; ++j)
        v[j] = a[j];
}

/* The powers w, w^2, w^4 .. w^(R/2) of a weighted radix-R butterfly. */
template <class C, int R> struct Powers {
    C p[log2_of(R) + 1];

    LW_DEVICE void load(const C *table, int t, int pitch)
    {
#pragma unroll
        for (int l = 0; l < log2_of(R); ++l)
            p[l] = __ldg(table + l * pitch + t);
    }

    /* Keep the compiler from computing products of these powers before the loop over filters: registers do not suffice for them. */
    LW_DEVICE void pin()
    {
#pragma unroll
        for (int l = 0; l < log2_of(R); ++l) {
            opaque(p[l].x);
            opaque(p[l].y);
        }
    }
};

/* A callback that does nothing: the default where a caller has none. */
struct Nothing {
    LW_DEVICE void operator()() const {}
};

/* A team: T threads of a block that work on one segment. A block holds TEAMS teams. */
template <int T, int TEAMS> struct Team {
    LW_DEVICE static int number() { return TEAMS == 1 ? 0 : (int)threadIdx.x / T; }
    LW_DEVICE static int thread() { return TEAMS == 1 ? (int)threadIdx.x : (int)threadIdx.x % T; }

    LW_DEVICE static void sync()
    {
        if (T <= 32)
            __syncwarp();
        else if (TEAMS == 1)
            __syncthreads();
        else
            barrier_of<T>(number() + 1);
    }

    /* Return whether `flag` holds in any thread of the team (T < 32: of the warp). The call is also a barrier of the team. */
    LW_DEVICE static bool any(bool flag)
    {
        if (T <= 32)
            return __any_sync(0xffffffffu, flag);
        if (TEAMS == 1)
            return __syncthreads_or(flag);
        return barrier_any<T>(number() + 1, flag);
    }
};

template <class Real_, int E_, int P_, class Team_> struct Transform {
    using Real = Real_;
    using C = Complex<Real>;
    using Team = Team_;
    static constexpr int E = E_, P = P_, T = E * P, N = E * T, Q = E / P;
    static constexpr int PITCH = E + 16 / (int)sizeof(C), REGION = E * PITCH;
    static constexpr int SHARED_BYTES = P * REGION * (int)sizeof(C);
    static_assert(P <= E, "the radix-P stage is done in registers");

    Powers<C, E> inner;         /* powers of w = exp(-2 pi i lane / E^2) */
    Powers<C, P> outer;         /* powers of w = exp(-2 pi i t / N) */

    /* Load the powers of thread t. table: log2(E) rows for `inner`, then log2(P) rows for `outer`, T values each. */
    LW_DEVICE void load(const C *table, int t)
    {
        inner.load(table, t, T);
        outer.load(table + log2_of(E) * T, t, T);
    }

    LW_DEVICE void pin()
    {
        inner.pin();
        outer.pin();
    }

    /* First half of a group's E x E transform: radix-E, then rows to `region`, which other groups must not read any more. */
    template <bool BEGUN> LW_DEVICE void square_rows(C (&v)[E], C *region, int lane) const
    {
        dft<E, false, BEGUN>(v, (const C *)nullptr);
        __syncwarp();
        C *row = region + lane * PITCH;
        if constexpr (sizeof(C) == 8) {
#pragma unroll
            for (int j = 0; j < E; j += 2)
                *(float4 *)(row + j) = make_float4(v[j].x, v[j].y, v[j + 1].x, v[j + 1].y);
        } else {
#pragma unroll
            for (int j = 0; j < E; ++j)
                row[j] = v[j];
        }
        __syncwarp();
    }

    /* Second half: reads across rows, weighted radix-E. `read` is called after the thread's last read of the region. */
    template <class Read = Nothing>
    LW_DEVICE void square_columns(C (&v)[E], const C *region, int lane, Read read = {}) const
    {
#pragma unroll
        for (int m = 0; m < E; ++m)
            v[m] = region[m * PITCH + lane];
        read();
        dft<E, true>(v, inner.p);
    }

    /* Return the powers of exp(-2 pi i (t + T q) / N). first: the powers for q = 0. */
    LW_DEVICE static Powers<C, P> turned(const Powers<C, P> &first, int q)
    {
        Powers<C, P> w;
#pragma unroll
        for (int l = 0; l < log2_of(P); ++l)
            w.p[l] = q == 0 ? first.p[l] : product(first.p[l], root_half<C>(q << l, E));
        return w;
    }

    /* Radix-P butterflies over v[q + j Q], then twiddles exp(-2 pi i n0 r / N), n0 = t + T q; v[r + P q] <- value of group r. */
    LW_DEVICE void split(C (&v)[E]) const
    {
        C a[E];
#pragma unroll
        for (int q = 0; q < Q; ++q) {
            C b[P];
#pragma unroll
            for (int j = 0; j < P; ++j)
                b[j] = v[q + j * Q];
            dft<P, false>(b, (const C *)nullptr);
            const Powers<C, P> w = turned(outer, q);
            C u[P];         /* w^r, each by at most log2(P) - 1 products: rounding errors add up along a longer chain */
            a[P * q] = b[0];
#pragma unroll
            for (int r = 1; r < P; ++r) {
                const int l = log2_of(r), rest = r - (1 << l);
                u[r] = rest == 0 ? w.p[l] : product(u[rest], w.p[l]);
                a[r + P * q] = product(b[r], u[r]);
            }
        }
#pragma unroll
        for (int m = 0; m < E; ++m)
            v[m] = a[m];
    }

    /* Weighted radix-P butterflies from v[r + P q], group r's value, to v[q + j Q]. Weights w^r, w = exp(-2 pi i (t + T q) / N). */
    LW_DEVICE void join(C (&v)[E]) const
    {
        C a[E];
#pragma unroll
        for (int q = 0; q < Q; ++q) {
            C b[P];
            const Powers<C, P> w = turned(outer, q);
#pragma unroll
            for (int r = 0; r < P; ++r)
                b[r] = v[r + P * q];
            dft<P, true>(b, w.p);
#pragma unroll
            for (int j = 0; j < P; ++j)
                a[q + j * Q] = b[j];
        }
#pragma unroll
        for (int m = 0; m < E; ++m)
            v[m] = a[m];
    }

    /* Return whether v[m] passes through the radix-P exchange. P <= 4: only if it changes groups. From P = 8 on all values do,
     * because the test would cost more than the moves it saves. */
    LW_DEVICE static bool moves(int m, int t) { return P > 4 || m % P != t / E; }

    LW_DEVICE void forward(C (&v)[E], C *shared, int t) const
    {
        const int lane = t % E;
        C *region = shared + t / E * REGION;
        if constexpr (P > 1) {
            split(v);
            Team::sync();
#pragma unroll
            for (int m = 0; m < E; ++m)
                if (moves(m, t))
                    shared[m % P * REGION + t + T * (m / P)] = v[m];
            Team::sync();
#pragma unroll
            for (int m = 0; m < E; ++m)
                if (moves(m, t))
                    v[m] = region[lane + E * m];
        }
        square_rows<false>(v, region, lane);
        square_columns(v, region, lane);
    }

    /* Transform back. The caller has replaced each pair (v[m], v[m + E / 2]) by its sum and difference, see multiply_pair. */
    LW_DEVICE void backward(C (&v)[E], C *shared, int t) const
    {
        begin_backward(v, shared, t);
        end_backward(v, shared, t);
    }

    /* backward() in two parts; the second begins with the reads of the last exchange. The compiler can interleave the second part
     * with the stores that follow it, so that each result is stored as soon as it is computed. */
    LW_DEVICE void begin_backward(C (&v)[E], C *shared, int t) const
    {
        const int lane = t % E;
        C *region = shared + t / E * REGION;
        if constexpr (P > 1)
            Team::sync();       /* all threads of the team have read the regions */
        square_rows<true>(v, region, lane);
        if constexpr (P > 1) {
            square_columns(v, region, lane);
            __syncwarp();
#pragma unroll
            for (int m = 0; m < E; ++m)
                if (moves(m, t))
                    region[lane + E * m] = v[m];
            Team::sync();
        }
    }

    LW_DEVICE void end_backward(C (&v)[E], const C *shared, int t) const
    {
        if constexpr (P > 1) {
#pragma unroll
            for (int m = 0; m < E; ++m)
                if (moves(m, t))
                    v[m] = shared[m % P * REGION + t + T * (m / P)];
            join(v);
        } else
            square_columns(v, shared + t / E * REGION, t % E);
    }
};

/* ---- the table of twiddle powers that Transform loads ---- */

/* Return exp(-2 pi i k / n), computed in double and rounded once. */
template <class C> LW_DEVICE C exact_root(int64_t k, int64_t n)
{
    double s, c;
    sincospi(-2.0 * (double)(k % n) / (double)n, &s, &c);
    using Real = decltype(C::x);
    return {(Real)c, (Real)s};
}

/* Return whether the table has w and w^2 of each of radix x radix butterflies in place of `outer`, as for decoupled.cuh. */
__host__ __device__ constexpr bool has_butterflies(int outer_radix) { return outer_radix % 12 == 0; }

/* Return the number of values in the table for transforms of radix x radix x outer_radix points. */
__host__ __device__ constexpr int powers_of(int radix, int outer_radix)
{
    const int outer = has_butterflies(outer_radix) ? 2 * radix : log2_of(outer_radix) * outer_radix;
    return (log2_of(radix) * outer_radix + outer) * radix;
}

/* Fill the table, one thread per value: rows w^(2^l), l < log2(E), of `inner`, then the rows of `outer`; see Transform::load. */
template <class C> static __global__ void transform_powers(C *table, int radix, int outer_radix)
{
    const int threads = radix * outer_radix, inner = log2_of(radix) * threads;
    const int i = blockIdx.x * blockDim.x + threadIdx.x,
              length = i >= inner && has_butterflies(outer_radix) ? radix * radix : threads;
    if (i >= powers_of(radix, outer_radix))
        return;
    const int row = (i < inner ? i : i - inner) / length, t = (i < inner ? i : i - inner) % length;
    const int64_t k = i < inner ? (int64_t)(t % radix) * outer_radix << row : (int64_t)t << row;
    table[i] = exact_root<C>(k, radix * threads);
}

template <class C> static void fill_powers(C *table, int radix, int outer_radix, cudaStream_t stream)
{
    const int threads = 128, n = powers_of(radix, outer_radix);
    transform_powers<<<(n + threads - 1) / threads, threads, 0, stream>>>(table, radix, outer_radix);
}
