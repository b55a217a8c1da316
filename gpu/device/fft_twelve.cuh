/* fft_twelve.cuh - radix-12 butterflies, 12 = 3 x 4, in registers. See fft.cuh for the names. */
#pragma once

#include "gpu/device/fft.cuh"

/* exp(-2 pi i k / 12), 0 <= k < 6; a constant once loops are unrolled */
LW_DEVICE float2 twelfth(int k)
{
    constexpr float cosine[6] = {1.0f, 0.86602540378443864676f, 0.5f, 0.0f, -0.5f, -0.86602540378443864676f};
    constexpr float sine[6] = {0.0f, 0.5f, 0.86602540378443864676f, 1.0f, 0.86602540378443864676f, 0.5f};
    return {cosine[k], -sine[k]};
}

/* (a, p + q, p - q) given a, p and q <- a + p + q, a + v p + v^2 q, a + v^2 p + v q, v = exp(-2 pi i / 3) */
LW_DEVICE void finish_three(float2 &a, float2 &sum, float2 &difference)
{
    constexpr float height = 0.86602540378443864676f;
    const float2 s = sum, d = difference, m = {fmaf(-0.5f, s.x, a.x), fmaf(-0.5f, s.y, a.y)};
    a = {a.x + s.x, a.y + s.y};
    sum = {fmaf(height, d.y, m.x), fmaf(-height, d.x, m.y)};
    difference = {fmaf(-height, d.y, m.x), fmaf(height, d.x, m.y)};
}

/* (a, b, c)[k] <- a + u b v^k + u2 c v^2k */
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

/* v[k] <- w^k sum_j v[j] exp(-2 pi i j k / 12), w2 = w^2 */
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

/* v[k] <- sum_j v[j] w^j exp(-2 pi i j k / 12), w2 = w^2 */
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
