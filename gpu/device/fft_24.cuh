/* fft_24.cuh - radix-12 butterflies (12 = 3 x 4) in registers, and fft.cuh's Transform with E = 24: 24 x 24 x P points, P a power
 * of two, in single precision. A radix-24 butterfly is three of radix 8 and eight of radix 3. See fft.cuh for the names.
 *
 * A group of 24 threads straddles warps, so its exchanges use the team's barrier, not __syncwarp. A half warp may hold lanes of two
 * groups: 8 values of padding in each region let both groups read different banks. */
#pragma once

#include "gpu/device/fft.cuh"

/* Return exp(-2 pi i k / 12), 0 <= k < 6; a constant once loops are unrolled. */
LW_DEVICE float2 twelfth(int k)
{
    constexpr float cosine[6] = {1.0f, 0.86602540378443864676f, 0.5f, 0.0f, -0.5f, -0.86602540378443864676f};
    constexpr float sine[6] = {0.0f, 0.5f, 0.86602540378443864676f, 1.0f, 0.86602540378443864676f, 0.5f};
    return {cosine[k], -sine[k]};
}

/* Three-point butterfly (a, p + q, p - q) <- (a + p + q, a + v p + v^2 q, a + v^2 p + v q), v = exp(-2 pi i / 3). */
LW_DEVICE void finish_three(float2 &a, float2 &sum, float2 &difference)
{
    constexpr float height = 0.86602540378443864676f;
    const float2 s = sum, d = difference, m = {fmaf(-0.5f, s.x, a.x), fmaf(-0.5f, s.y, a.y)};
    a = {a.x + s.x, a.y + s.y};
    sum = {fmaf(height, d.y, m.x), fmaf(-height, d.x, m.y)};
    difference = {fmaf(-height, d.y, m.x), fmaf(height, d.x, m.y)};
}

/* Weighted three-point butterfly: output k of (a, b, c) <- a + u b v^k + u2 c v^2k, v = exp(-2 pi i / 3). */
LW_DEVICE void weighted_three(float2 &a, float2 &b, float2 &c, float2 u, float2 u2)
{
    const float2 p = product(u, b);
    float2 s = {fmaf(u2.x, c.x, p.x), fmaf(u2.x, c.y, p.y)};
    s.x = fmaf(-u2.y, c.y, s.x);
    s.y = fmaf(u2.y, c.x, s.y);
    b = s;
    c = {fmaf(2.0f, p.x, -s.x), fmaf(2.0f, p.y, -s.y)};
    finish_three(a, b, c);
}

/* Transform, then twiddles: v[k] <- w^k sum_j v[j] exp(-2 pi i j k / 12); w2 = w^2. */
LW_DEVICE void split_twelve(float2 (&v)[12], float2 w, float2 w2)
{
    float2 a[3][4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        const float2 p = v[c + 4], q = v[c + 8];
        a[0][c] = v[c];
        a[1][c] = {p.x + q.x, p.y + q.y};
        a[2][c] = {p.x - q.x, p.y - q.y};
        finish_three(a[0][c], a[1][c], a[2][c]);
    }
    dft<4, false>(a[0], (const float2 *)nullptr);
    const float2 one[3] = {twelfth(1), twelfth(2), {}}, two[3] = {twelfth(2), twelfth(4), {}};
    dft<4, true>(a[1], one);
    dft<4, true>(a[2], two);
    float2 power[12];
    power[1] = w;
    power[2] = w2;
#pragma unroll
    for (int k = 3; k < 12; ++k)
        power[k] = product(power[k / 2], power[k - k / 2]);
    v[0] = a[0][0];
#pragma unroll
    for (int k = 1; k < 12; ++k)
        v[k] = product(a[k % 3][k / 3], power[k]);
}

/* Weighted transform v[k] <- sum_j v[j] w^j exp(-2 pi i j k / 12); w2 = w^2. */
LW_DEVICE void join_twelve(float2 (&v)[12], float2 w, float2 w2)
{
    const float2 w3 = product(w, w2), power[3] = {w3, product(w3, w3), {}};
    float2 a[3][4];
#pragma unroll
    for (int b = 0; b < 3; ++b) {
#pragma unroll
        for (int j = 0; j < 4; ++j)
            a[b][j] = v[3 * j + b];
        dft<4, true>(a[b], power);
    }
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        float2 u = w, u2 = w2;
        if (c == 1 || c == 2) {
            u = product(w, twelfth(c));
            u2 = product(w2, twelfth(2 * c));
        } else if (c == 3) {
            u = {w.y, -w.x};
            u2 = {-w2.x, -w2.y};
        }
        weighted_three(a[0][c], a[1][c], a[2][c], u, u2);
#pragma unroll
        for (int d = 0; d < 3; ++d)
            v[c + 4 * d] = a[d][c];
    }
}

/* Return exp(-2 pi i k / 24), 0 <= k < 24; a constant once loops are unrolled. */
LW_DEVICE float2 root_24(int k)
{
    constexpr float cosine[7] = {1.0f, 0.96592582628906828675f, 0.86602540378443864676f, 0.70710678118654752440f,
                                 0.5f, 0.25881904510252076235f, 0.0f};
    const float2 w = {cosine[k % 6], -cosine[6 - k % 6]};
    switch (k / 6) {
    case 0: return w;
    case 1: return {w.y, -w.x};
    case 2: return {-w.x, -w.y};
    default: return {-w.y, w.x};
    }
}

/* Transform v[k] <- sum_j v[j] w^j exp(-2 pi i j k / 24). power: w, w^2, w^4, w^8; w = 1 unless WEIGHTED. BEGUN: see dft. */
template <bool WEIGHTED, bool BEGUN = false> LW_DEVICE void dft_24(float2 (&v)[24], const float2 *power)
{
    float2 third[3], a[3][8];
    if (WEIGHTED)
#pragma unroll
        for (int l = 0; l < 3; ++l)
            third[l] = product(power[l], power[l + 1]);
#pragma unroll
    for (int b = 0; b < 3; ++b) {
#pragma unroll
        for (int j = 0; j < 8; ++j)
            a[b][j] = v[3 * j + b];
        dft<8, WEIGHTED, BEGUN>(a[b], (const float2 *)third);
    }
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        float2 u = root_24(c), u2 = root_24(2 * c);
        if (WEIGHTED) {
            u = c == 0 ? power[0] : product(power[0], u);
            u2 = c == 0 ? power[1] : product(power[1], u2);
        }
        if (WEIGHTED || c > 0)
            weighted_three(a[0][c], a[1][c], a[2][c], u, u2);
        else {
            butterfly(a[1][c], a[2][c]);
            finish_three(a[0][c], a[1][c], a[2][c]);
        }
#pragma unroll
        for (int d = 0; d < 3; ++d)
            v[c + 8 * d] = a[d][c];
    }
}

template <int P_, class Team_> struct Transform<float, 24, P_, Team_> {
    using Real = float;
    using C = float2;
    using Team = Team_;
    static constexpr int E = 24, P = P_, T = E * P, N = E * T, Q = E / P;
    static constexpr int PITCH = E + 2, REGION = E * PITCH + 8;
    static constexpr int SHARED_BYTES = P * REGION * (int)sizeof(C);
    static_assert(E % P == 0 && P > 1, "the radix-P stage is done in registers");

    Powers<C, E> inner;         /* powers of w = exp(-2 pi i lane / E^2) */
    Powers<C, P> outer;         /* powers of w = exp(-2 pi i t / N) */

    LW_DEVICE void load(const C *table, int t)
    {
        inner.load(table, t, T);
        outer.load(table + log2_of(E) * T, t, T);
    }

    /* Return the powers of exp(-2 pi i (t + T q) / N). */
    LW_DEVICE Powers<C, P> turned(int q) const
    {
        Powers<C, P> w;
#pragma unroll
        for (int l = 0; l < log2_of(P); ++l)
            w.p[l] = q == 0 ? outer.p[l] : product(outer.p[l], root_24(q << l));
        return w;
    }

    /* Radix-P butterflies over v[q + j Q], then twiddles exp(-2 pi i n0 r / N), n0 = t + T q; v[q + r Q] <- value of group r. */
    LW_DEVICE void split(C (&v)[E]) const
    {
#pragma unroll
        for (int q = 0; q < Q; ++q) {
            C b[P], u[P];
#pragma unroll
            for (int j = 0; j < P; ++j)
                b[j] = v[q + j * Q];
            dft<P, false>(b, (const C *)nullptr);
            const Powers<C, P> w = turned(q);
            v[q] = b[0];
#pragma unroll
            for (int r = 1; r < P; ++r) {
                const int l = log2_of(r), rest = r - (1 << l);
                u[r] = rest == 0 ? w.p[l] : product(u[rest], w.p[l]);
                v[q + r * Q] = product(b[r], u[r]);
            }
        }
    }

    /* Weighted radix-P butterflies over v[q + r Q], group r's value, with weights w^r, w = exp(-2 pi i (t + T q) / N). */
    LW_DEVICE void join(C (&v)[E]) const
    {
#pragma unroll
        for (int q = 0; q < Q; ++q) {
            C b[P];
            const Powers<C, P> w = turned(q);
#pragma unroll
            for (int r = 0; r < P; ++r)
                b[r] = v[q + r * Q];
            dft<P, true>(b, w.p);
#pragma unroll
            for (int j = 0; j < P; ++j)
                v[q + j * Q] = b[j];
        }
    }

    /* Transform the E x E points of a group. All threads of the team must call it, because exchanges use the team's barrier. */
    template <bool BEGUN> LW_DEVICE void square(C (&v)[E], C *region, int lane) const
    {
        dft_24<false, BEGUN>(v, nullptr);
        Team::sync();           /* all threads have read the region's previous contents */
#pragma unroll
        for (int j = 0; j < E; j += 2)
            *(float4 *)(region + lane * PITCH + j) = make_float4(v[j].x, v[j].y, v[j + 1].x, v[j + 1].y);
        Team::sync();
#pragma unroll
        for (int m = 0; m < E; ++m)
            v[m] = region[m * PITCH + lane];
        dft_24<true>(v, inner.p);
    }

    /* Return the place in shared memory of thread 0's value m = q + r Q: point T q of the region of group r. Thread t adds t. */
    LW_DEVICE static constexpr int split_place(int m) { return m / Q * REGION + m % Q * T; }

    LW_DEVICE void forward(C (&v)[E], C *shared, int t) const
    {
        C *const region = shared + t / E * REGION;
        split(v);
        Team::sync();
#pragma unroll
        for (int m = 0; m < E; ++m)
            shared[split_place(m) + t] = v[m];
        Team::sync();
#pragma unroll
        for (int m = 0; m < E; ++m)
            v[m] = region[t % E + E * m];
        square<false>(v, region, t % E);
    }

    /* Transform back; see Transform::backward of fft.cuh. */
    LW_DEVICE void backward(C (&v)[E], C *shared, int t) const
    {
        C *const region = shared + t / E * REGION;
        square<true>(v, region, t % E);
        Team::sync();
#pragma unroll
        for (int m = 0; m < E; ++m)
            region[t % E + E * m] = v[m];
        Team::sync();
#pragma unroll
        for (int m = 0; m < E; ++m)
            v[m] = shared[split_place(m) + t];
        join(v);
    }
};
