/* flat_window.h - the flat window that turns a piece of a signal into buckets of its spectrum.
 *
 *     G(u)   1 ---------.                  u: distance from the bucket's centre, in buckets
 *                        \
 *            0 . . . . . .`-------         tolerance from `reach` on
 *                  0    0.5   reach
 *
 * Taps g[-h .. h], real and even: a sinc (a box in frequency) times a Kaiser window, so that
 *
 *     G(u) = sum over i of g[i] cos(2 pi u i / B),  G(0) = 1.
 *
 * Beside a box times a Dolph-Chebyshev window of the same length, what leaks from afar is much less (it falls with the
 * distance), and no transform is needed to make it. Kaiser, "Nonrecursive digital filter design", 1974. */
#pragma once

#include "base/error.h"
#include "base/linkage.h"

#include <stdint.h>

LW_C_BEGIN

/* The response's table: so many entries per bucket, from -1 to 2 beyond the range (LW_SFFT_WINDOW_RANGE). */
#define LW_SFFT_RESPONSE_STEPS 2048
#define LW_SFFT_RESPONSE_SIZE ((int)(LW_SFFT_WINDOW_RANGE * LW_SFFT_RESPONSE_STEPS) + 4)

struct lw_sfft_window_spec {
    int64_t n_buckets;              /* B */
    double tolerance;               /* largest |G| beyond the reach */
    double reach;                   /* buckets */
    double length;                  /* taps per bucket: w = length x B */
};

struct lw_sfft_window {
    struct lw_sfft_window_spec spec;
    int64_t half;                   /* h; there are 2 h + 1 taps */
    double *taps;                   /* [2 h + 1], g[i] at i + h; owned */
    double energy;                  /* sum of g^2: white noise of variance 1 has this variance in a bucket */
    double *response;               /* [LW_SFFT_RESPONSE_SIZE] G at (i - 1) / LW_SFFT_RESPONSE_STEPS; owned */
};

int lw_sfft_window_create(const struct lw_sfft_window_spec *spec, struct lw_sfft_window **out, struct lw_error *err);
void lw_sfft_window_destroy(struct lw_sfft_window *window);     /* NULL is legal */

/** The same with another factor than Kaiser's window, and a box of its own width.
 * @param box_half  half the box's width, buckets
 * @param factor    [half + 1] from the middle on */
int lw_sfft_window_create_of(const struct lw_sfft_window_spec *spec, double box_half, const double *factor,
                             struct lw_sfft_window **out, struct lw_error *err);

/** Half the number of taps but one, and bytes of a window of this spec. */
int64_t lw_sfft_window_half(const struct lw_sfft_window_spec *spec);
int64_t lw_sfft_window_bytes(const struct lw_sfft_window_spec *spec);

/** G(u) for |u| <= LW_SFFT_WINDOW_RANGE, to 1e-11. */
#define LW_SFFT_WINDOW_RANGE 1.75
double lw_sfft_window_response(const struct lw_sfft_window *window, double u);

LW_C_END
