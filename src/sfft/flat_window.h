/* flat_window.h - the flat window that turns a piece of a signal into buckets of its spectrum.
 *
 *     G(u)   1 ---------.                  u: distance from the bucket's centre, in buckets
 *                        \
 *            0 . . . . . .`-------         |G| is at most the tolerance from `reach` on
 *                  0    0.5   reach
 *
 * The taps g[-h .. h] are real and even: a sinc (a box in frequency) times a Kaiser window. The response is
 *
 *     G(u) = sum over i of g[i] cos(2 pi u i / B),  G(0) = 1.
 *
 * The alternative is a box times a Dolph-Chebyshev window of the same length. Kaiser's window leaks much less from far away
 * (leakage falls with the distance) and needs no transform to compute. Kaiser, "Nonrecursive digital filter design", 1974. */
#pragma once

#include "base/error.h"

#include <stdint.h>

LW_C_BEGIN

/* Table of the response: entries per bucket; number of entries, from one before 0 to two beyond LW_SFFT_WINDOW_RANGE. */
#define LW_SFFT_RESPONSE_STEPS 2048
#define LW_SFFT_RESPONSE_SIZE ((int)(LW_SFFT_WINDOW_RANGE * LW_SFFT_RESPONSE_STEPS) + 4)

struct lw_sfft_window_spec {
    int64_t n_buckets;              /* B, the buckets of the spectrum */
    double tolerance;               /* largest |G| beyond `reach` */
    double reach;                   /* distance from the bucket's centre, buckets */
    double length;                  /* taps per bucket: the window has about length x B taps */
};

struct lw_sfft_window {
    struct lw_sfft_window_spec spec;
    int64_t half;                   /* h: the window has 2 h + 1 taps */
    double *taps;                   /* [2 h + 1], g[i] is element i + h; owned */
    double energy;                  /* sum of g^2: the variance that white noise of variance 1 has in a bucket */
    double *response;               /* [LW_SFFT_RESPONSE_SIZE] element i is G((i - 1) / LW_SFFT_RESPONSE_STEPS); owned */
};

int lw_sfft_window_create(const struct lw_sfft_window_spec *spec, struct lw_sfft_window **out, struct lw_error *err);
void lw_sfft_window_destroy(struct lw_sfft_window *window);     /* NULL is legal */

/** Create a flat window from a given factor instead of Kaiser's window, and a box of a given width.
 * @param box_half  half the box's width, buckets
 * @param factor    [half + 1] from the middle tap on */
int lw_sfft_window_create_of(const struct lw_sfft_window_spec *spec, double box_half, const double *factor,
                             struct lw_sfft_window **out, struct lw_error *err);

/** Return h of a window that has 2 h + 1 taps, and the bytes of a window. */
int64_t lw_sfft_window_half(const struct lw_sfft_window_spec *spec);
int64_t lw_sfft_window_bytes(const struct lw_sfft_window_spec *spec);

/** Return G(u) for |u| <= LW_SFFT_WINDOW_RANGE, with an error of at most 1e-11. */
#define LW_SFFT_WINDOW_RANGE 1.75
double lw_sfft_window_response(const struct lw_sfft_window *window, double u);

LW_C_END
