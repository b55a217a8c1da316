/* fft_seven.cuh - radix-7 and radix-28 butterflies, in registers. See fft.cuh for the names. */
#pragma once

#include "gpu/device/fft.cuh"

/* Transform v[k] <- sum_j v[j] exp(-2 pi i j k / 7) in 60 operations: outputs k and 7 - k share their sums of cosines. */
LW_DEVICE void dft_seven(float2 (&v)[7])
{
    constexpr float cosine[4] = {1.0f, 0.62348980185873353053f, -0.22252093395631440429f, -0.90096886790241912624f};
    constexpr float sine[4] = {0.0f, 0.78183148246802980871f, 0.97492791218182360702f, 0.43388373911755812048f};
    float2 sum[4], difference[4];
    const float2 first = v[0];
#pragma unroll
    for (int j = 1; j < 4; ++j) {
        sum[j] = {v[j].x + v[7 - j].x, v[j].y + v[7 - j].y};
        difference[j] = {v[j].x - v[7 - j].x, v[j].y - v[7 - j].y};
        v[0] = {v[0].x + sum[j].x, v[0].y + sum[j].y};
    }
#pragma unroll
    for (int k = 1; k < 4; ++k) {
        float2 even = first;
#pragma unroll
        for (int j = 1; j < 4; ++j) {
            const int turn = j * k % 7, near = turn < 4 ? turn : 7 - turn;
            even = {fmaf(cosine[near], sum[j].x, even.x), fmaf(cosine[near], sum[j].y, even.y)};
        }
        float2 whole = even;
#pragma unroll
        for (int j = 1; j < 4; ++j) {
            const int turn = j * k % 7;
            const float s = turn < 4 ? sine[turn] : -sine[7 - turn];
            whole = {fmaf(s, difference[j].y, whole.x), fmaf(-s, difference[j].x, whole.y)};
        }
        v[k] = whole;
        v[7 - k] = {fmaf(2.0f, even.x, -whole.x), fmaf(2.0f, even.y, -whole.y)};
    }
}

/* The transform of 28 points, sum_j v[j] exp(-2 pi i j k / 28), has two parts. 4 and 7 have no common factor. So the substitution
 * j = 7 a + 4 b (mod 28) makes 4 x 7 points without twiddles, and frequency k is (k mod 4, k mod 7) there (Good, 1958).
 * First part, over a for each b: v[7 a + b] <- frequency a of the 4 points v[(7 a' + 4 b) mod 28], a' = 0 .. 3. */
LW_DEVICE void begin_twenty_eight(float2 (&v)[28])
{
    float2 part[28];
#pragma unroll
    for (int b = 0; b < 7; ++b) {
        float2 four[4];
#pragma unroll
        for (int a = 0; a < 4; ++a)
            four[a] = v[(7 * a + 4 * b) % 28];
        dft<4, false>(four, (const float2 *)nullptr);
#pragma unroll
        for (int a = 0; a < 4; ++a)
            part[7 * a + b] = four[a];
    }
#pragma unroll
    for (int i = 0; i < 28; ++i)
        v[i] = part[i];
}

/* Second part: out <- frequencies a, a + 4, .. a + 24, a < 4, of the points that v was made from by begin_twenty_eight. */
LW_DEVICE void end_twenty_eight(const float2 (&v)[28], int a, float2 (&out)[7])
{
    float2 part[7];
#pragma unroll
    for (int b = 0; b < 7; ++b)
        part[b] = v[7 * a + b];
    dft_seven(part);
#pragma unroll
    for (int j = 0; j < 7; ++j)
        out[j] = part[(a + 4 * j) % 7];
}
