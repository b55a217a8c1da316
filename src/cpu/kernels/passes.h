/* passes.h - transforms of vectors in passes of short ones (butterfly.h), as long.c and accel.c make them: each lane is a transform
 * of its own. With their lanes transposed and transformed in turn they are a single long one. */
#pragma once

#include "cpu/kernels/butterfly.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* Transforms of `size` points in each lane, in passes of short ones (decimation in frequency). */
#define MOST_PASSES 12
struct passes {
    int64_t size;
    int n;
    int radix[MOST_PASSES];
    const real *twiddles[MOST_PASSES];  /* [points of the pass' transforms / radix][radix] complex */
    const int64_t *order;               /* [size / last radix]: first bin of a transform of the last pass; others follow at equal
                                           distances */
};

/* Return the radix of a pass over transforms of `size` points: all passes but one or two have eight points. */
static inline int radix_of(int64_t size) { return size == 4 || size == 16 ? 4 : 8; }

static inline int64_t twiddle_reals(int64_t size)
{
    int64_t reals = 0;
    for (int64_t m = size; m > 1; m /= radix_of(m))
        reals += 2 * m;
    return reals;
}

static inline void root(int64_t n, int64_t power, real *to, int64_t to_imaginary)
{
    const double angle = -2 * PI * (double)(power % n) / (double)n;
    to[0] = (real)cos(angle);
    to[to_imaginary] = (real)sin(angle);
}

/* Fill split vectors: lane l of vector k is w_n^(k l). */
static inline void fill_vectors(int64_t n, int64_t count, real *to)
{
    for (int64_t k = 0; k < count; k++)
        for (int64_t l = 0; l < LANES; l++)
            root(n, k * l, &to[k * 2 * LANES + l], LANES);
}

static inline void fill_passes(int64_t size, real *twiddles, int64_t *order, struct passes *passes)
{
    *passes = (struct passes){.size = size, .order = order};
    for (int64_t m = size; m > 1; m /= passes->radix[passes->n++]) {
        const int radix = radix_of(m);
        passes->radix[passes->n] = radix;
        passes->twiddles[passes->n] = twiddles;
        for (int64_t j = 0; j < m / radix; j++)
            for (int64_t q = 0; q < radix; q++, twiddles += 2)
                root(m, j * q, twiddles, 1);
    }
    const int64_t last = size / passes->radix[passes->n - 1];
    for (int64_t b = 0; b < last; b++) {
        order[b] = 0;
        for (int64_t pass = 0, places = last, weight = 1, rest = b; places > 1; pass++) {
            places /= passes->radix[pass];
            order[b] += rest / places * weight;
            rest %= places;
            weight *= passes->radix[pass];
        }
    }
}

/* ---- passes -------------------------------------------------------------------------------------------------------- */

/* Forms in which the first pass takes points from memory, or the last one puts them there. */
enum end {
    PLAIN,
    EXCHANGED,                  /* re and im exchanged */
    TWIDDLED,                   /* multiplied by twiddle factors */
    EXCHANGED_TWIDDLED,         /* exchanged, then multiplied */
    SPLIT,                      /* split vectors, multiplied by the twiddle factors of a row's own matrix */
    KEPT,                       /* split vectors */
    PRODUCT,                    /* split vectors, multiplied by those of `h`, then exchanged */
    CONJUGATE_PRODUCT,          /* the same with the conjugates of `h` */
    EVEN_POWERS, ODD_POWERS,    /* powers as levels (kernels.h) at even and odd places; the odd ones join the even ones */
};

/* Levels, one for each lane of a vector, and their places in pairs of 16 bits each, of which the even one comes first in memory. */
typedef int32_t levels __attribute__((vector_size(4 * LANES), may_alias, aligned(4)));
typedef float singles __attribute__((vector_size(4 * LANES)));
#define EVEN_SHIFT (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 16)

/* The ends of a transform, `stride` reals from point to point. */
struct ends {
    const real *x;
    real *y;
    int64_t x_stride, y_stride;
    const real *fine, *coarse, *h;
    uint32_t *levels;
};

INLINED struct split twiddle(const struct ends *e, struct split a, int64_t point)
{
    return times(a, times_one(load_split(e->fine + point * 2 * LANES), e->coarse + 2 * point));
}

/* Return the levels of the powers of LANES complex numbers. */
INLINED levels level_of_power(struct split a)
{
    const singles power = __builtin_convertvector(a.re * a.re + a.im * a.im, singles);
    levels bits;
    memcpy(&bits, &power, sizeof bits);
    bits -= LW_CPU_LEVEL_BIAS - (1 << (LW_CPU_LEVEL_SHIFT - 1));        /* rounds to the nearest, halves up */
    bits = (bits & (bits > 0)) >> LW_CPU_LEVEL_SHIFT;
    const levels is_beyond = bits > UINT16_MAX;
    return (bits & ~is_beyond) | (is_beyond & UINT16_MAX);
}

INLINED struct split take(enum end kind, const struct ends *e, int64_t point)
{
    if (kind == PRODUCT || kind == CONJUGATE_PRODUCT) {
        const struct split h = load_split(e->h + point * 2 * LANES);
        return exchange(times(kind == PRODUCT ? h : (struct split){h.re, -h.im}, load_split(e->x + point * 2 * LANES)));
    }
    struct split a = load_pairs(e->x + point * e->x_stride);
    if (kind != PLAIN)
        a = exchange(a);
    return kind == EXCHANGED_TWIDDLED ? twiddle(e, a, point) : a;
}

INLINED void put(enum end kind, const struct ends *e, struct split a, int64_t point)
{
    real *const to = e->y + point * e->y_stride;
    if (kind == EVEN_POWERS || kind == ODD_POWERS) {
        levels *const place = (levels *)(e->levels + point * e->y_stride);
        if (kind == EVEN_POWERS)
            *place = level_of_power(a) << EVEN_SHIFT;
        else
            *place |= level_of_power(a) << (16 - EVEN_SHIFT);
    } else if (kind == KEPT)
        store_split(a, to);
    else if (kind == SPLIT)
        store_split(times(a, load_split(e->fine + point * 2 * LANES)), to);
    else
        store_pairs(kind == TWIDDLED ? twiddle(e, a, point) : kind == EXCHANGED ? exchange(a) : a, to);
}

/* Make the transforms of a pass but the last. `points` transforms lie behind each other in `to`. is_first: in from the end. */
INLINED void pass(const struct passes *passes, int index, int radix, bool is_first, enum end kind, const struct ends *e, real *to)
{
    const real *const twiddles = passes->twiddles[index];
    int64_t points = passes->size;
    for (int i = 0; i < index; i++)
        points /= passes->radix[i];
    const int64_t step = points / radix;
    for (int64_t begin = 0; begin < passes->size; begin += points) {
        for (int64_t j = 0; j < step; j++) {
            struct split x[MOST_RADIX];
#pragma GCC unroll 16
            for (int64_t q = 0; q < radix; q++) {
                const int64_t point = begin + j + q * step;
                x[q] = is_first ? take(kind, e, point) : load_split(to + point * 2 * LANES);
            }
            transform(radix, x);
            store_split(x[0], to + (begin + j) * 2 * LANES);
#pragma GCC unroll 16
            for (int64_t q = 1; q < radix; q++)
                store_split(times_one(x[q], twiddles + 2 * (j * radix + q)), to + (begin + j + q * step) * 2 * LANES);
        }
    }
}

/* Make transform b of the last pass. */
INLINED void finish(const struct passes *passes, int radix, enum end kind, const struct ends *e, const real *from, int64_t b)
{
    const int64_t step = passes->size / radix;
    struct split x[MOST_RADIX];
#pragma GCC unroll 16
    for (int q = 0; q < radix; q++)
        x[q] = load_split(from + (b * radix + q) * 2 * LANES);
    transform(radix, x);
#pragma GCC unroll 16
    for (int64_t q = 0; q < radix; q++)
        put(kind, e, x[q], passes->order[b] + q * step);
}

/* Make all passes but the last, in `scratch`. */
INLINED void start(const struct passes *passes, enum end kind, const struct ends *e, real *scratch)
{
    if (passes->radix[0] == 8)
        pass(passes, 0, 8, true, kind, e, scratch);
    else
        pass(passes, 0, 4, true, kind, e, scratch);
    for (int i = 1; i < passes->n - 1; i++) {
        if (passes->radix[i] == 8)
            pass(passes, i, 8, false, kind, e, scratch);
        else
            pass(passes, i, 4, false, kind, e, scratch);
    }
}

/* Make the last pass of n neighbouring vectors, which lie `distance` apart. All write to a row before the next row's turn. */
INLINED void finish_all(const struct passes *passes, enum end kind, const struct ends ends, int n, const real *scratch,
                        int64_t distance)
{
    const int radix = passes->radix[passes->n - 1];
    struct ends e = ends;
    for (int64_t b = 0; b < passes->size / radix; b++) {
        for (int v = 0; v < n; v++) {
            e.y = ends.y + v * 2 * LANES;
            if (radix == 8)
                finish(passes, 8, kind, &e, scratch + v * distance, b);
            else
                finish(passes, 4, kind, &e, scratch + v * distance, b);
        }
    }
}

/* Transform LANES points each of the own rows k .. k + LANES - 1 of a row, which are transposed so that each is a lane. */
INLINED void transform_lanes(const real *from, enum end kind, const struct ends *e)
{
    vector re[LANES], im[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        re[i] = *(const vector *)(from + i * 2 * LANES);
    transpose(re);
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        im[i] = *(const vector *)(from + i * 2 * LANES + LANES);
    transpose(im);
    struct split x[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        x[i] = (struct split){re[i], im[i]};
    transform(LANES, x);
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        put(kind, e, x[i], i);
}
