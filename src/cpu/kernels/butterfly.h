/* butterfly.h - short transforms of vectors: each lane of a vector belongs to a transform of its own.
 *
 * Complex numbers are split, their real parts in one register and their imaginary parts in another, so that no multiplication
 * shuffles lanes. All functions are forward, w_r = exp(-2 pi i / r). Inverse transforms exchange real and imaginary parts before
 * and after. */
#pragma once

#include "cpu/kernels/real.h"

enum { LANES = VECTOR_BYTES / sizeof(real) };

/* The longest transform made in registers. */
enum { MOST_RADIX = 16 };

struct split {
    vector re, im;
};

#define INLINED static inline __attribute__((always_inline))

INLINED struct split add(struct split a, struct split b) { return (struct split){a.re + b.re, a.im + b.im}; }
INLINED struct split subtract(struct split a, struct split b) { return (struct split){a.re - b.re, a.im - b.im}; }
INLINED struct split turn_back(struct split a) { return (struct split){a.im, -a.re}; }        /* -i a */
INLINED struct split exchange(struct split a) { return (struct split){a.im, a.re}; }          /* i conj(a) */

INLINED struct split times(struct split a, struct split b)
{
    return (struct split){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* Return a times the complex number at w. */
INLINED struct split times_one(struct split a, const real *w)
{
    return (struct split){a.re * w[0] - a.im * w[1], a.re * w[1] + a.im * w[0]};
}

/* Load LANES complex numbers, re and im in turn. */
INLINED struct split load_pairs(const real *from)
{
    const vector a = *(const loose_vector *)from, b = *(const loose_vector *)(from + LANES);
    indices even, odd;
    for (int i = 0; i < LANES; i++) {
        even[i] = 2 * i;
        odd[i] = 2 * i + 1;
    }
    return (struct split){__builtin_shuffle(a, b, even), __builtin_shuffle(a, b, odd)};
}

INLINED void store_pairs(struct split a, real *to)
{
    indices low, high;
    for (int i = 0; i < LANES; i++) {
        low[i] = i / 2 + i % 2 * LANES;
        high[i] = low[i] + LANES / 2;
    }
    *(vector *)to = __builtin_shuffle(a.re, a.im, low);
    *(vector *)(to + LANES) = __builtin_shuffle(a.re, a.im, high);
}

INLINED struct split load_split(const real *from)
{
    return (struct split){*(const vector *)from, *(const vector *)(from + LANES)};
}

INLINED void store_split(struct split a, real *to)
{
    *(vector *)to = a.re;
    *(vector *)(to + LANES) = a.im;
}

/* ---- transforms in registers, in natural order --------------------------------------------------------------------- */
INLINED void transform_2(struct split *a, struct split *b)
{
    const struct split sum = add(*a, *b);
    *b = subtract(*a, *b);
    *a = sum;
}

INLINED void transform_4(struct split *a, struct split *b, struct split *c, struct split *d)
{
    transform_2(a, c);
    transform_2(b, d);
    const struct split turned = turn_back(*d), second = *c;
    transform_2(a, b);
    *c = *b;
    *b = add(second, turned);
    *d = subtract(second, turned);
}

#define ROOT_8 ((real)0.70710678118654752440)           /* cos(pi / 4) */

INLINED void transform_8(struct split *x)
{
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        transform_2(&x[i], &x[i + 4]);
    x[5] = (struct split){(x[5].re + x[5].im) * ROOT_8, (x[5].im - x[5].re) * ROOT_8};
    x[6] = turn_back(x[6]);
    x[7] = (struct split){(x[7].im - x[7].re) * ROOT_8, -(x[7].re + x[7].im) * ROOT_8};
    transform_4(&x[0], &x[1], &x[2], &x[3]);
    transform_4(&x[4], &x[5], &x[6], &x[7]);
    const struct split y[8] = {x[0], x[4], x[1], x[5], x[2], x[6], x[3], x[7]};
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        x[i] = y[i];
}

/* x[4 a + b]: four transforms over a, roots of unity, four transforms over b. */
INLINED void transform_16(struct split *x)
{
    static const real c = (real)0.92387953251128675613, s = (real)0.38268343236508977173;      /* cos, sin of pi / 8 */
    const real roots[10][2] = {{1, 0}, {c, -s}, {ROOT_8, -ROOT_8}, {s, -c}, {0, -1}, {-s, -c}, {-ROOT_8, -ROOT_8}, {-c, -s},
                               {-1, 0}, {-c, s}};
#pragma GCC unroll 4
    for (int b = 0; b < 4; b++)
        transform_4(&x[b], &x[b + 4], &x[b + 8], &x[b + 12]);
#pragma GCC unroll 4
    for (int p = 1; p < 4; p++)
#pragma GCC unroll 4
        for (int b = 1; b < 4; b++)
            x[4 * p + b] = p * b == 4 ? turn_back(x[4 * p + b]) : times_one(x[4 * p + b], roots[p * b]);
    struct split y[16];
#pragma GCC unroll 4
    for (int p = 0; p < 4; p++) {
        transform_4(&x[4 * p], &x[4 * p + 1], &x[4 * p + 2], &x[4 * p + 3]);
#pragma GCC unroll 4
        for (int q = 0; q < 4; q++)
            y[p + 4 * q] = x[4 * p + q];
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        x[i] = y[i];
}

INLINED void transform(int radix, struct split *x)
{
    switch (radix) {
    case 2: transform_2(&x[0], &x[1]); break;
    case 4: transform_4(&x[0], &x[1], &x[2], &x[3]); break;
    case 8: transform_8(x); break;
    default: transform_16(x);
    }
}

/* Transpose LANES x LANES reals. A step exchanges the lanes of two vectors whose index differs in one bit. */
INLINED void transpose(vector *rows)
{
#pragma GCC unroll 4
    for (int bit = 1; bit < LANES; bit *= 2) {
        indices even = {0}, odd = {0};
        for (int i = 0; i < LANES; i++) {
            even[i] = i & bit ? LANES + i - bit : i;
            odd[i] = i & bit ? LANES + i : i + bit;
        }
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) {
            if (i & bit)
                continue;
            const vector a = rows[i], b = rows[i + bit];
            rows[i] = __builtin_shuffle(a, b, even);
            rows[i + bit] = __builtin_shuffle(a, b, odd);
        }
    }
}
