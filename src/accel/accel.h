/* accel.h - a search of spectra for periodic signals whose frequency drifts: its parameters, its grid, and what it finds.
 *
 *     series -> spectrum (normalize.h) -> powers on a grid -> sums over harmonics -> hits (engine/accel.h)
 *                                                                -> candidates with exact powers (refine.h) -> table (sift.h)
 *
 * The series has n samples; without its mean, and with zeros behind it, it is transformed as n_fft samples. T is the time of n_fft
 * samples, u = t / T. A signal has the phase 2 pi (r u + z (u^2 - u) / 2 + w (u^3 / 6 - u^2 / 4 + u / 12)): r is its mean
 * frequency, in bins of 1 / T, z the change of its frequency over T, in bins, w the change of z. Its response, the spectrum
 * of such a signal of amplitude 1 around its bin (design/drift.h), is
 *
 *     A(q; z, w) = integral over u from 0 to 1 of exp(2 pi i (q u + z (u^2 - u) / 2 + w (u^3 / 6 - u^2 / 4 + u / 12)))
 *
 * and its power P(r, z, w) = | sum_k X[k] conj(A(r - k; z, w)) |^2, where X is the normalized spectrum, in which noise has a mean
 * power of 1. (S. M. Ransom, S. S. Eikenberry, J. Middleditch: Fourier techniques for very long astrophysical time-series analysis.
 * AJ 124, 1788 (2002), equations 26 to 39; B. C. Andersen, S. M. Ransom: A Fourier domain "jerk" search for binary pulsars. ApJL
 * 863, L13 (2018).)
 *
 * The grid has steps of 1/2 in r, 2 in z, 20 in w. At each of its points, which is the highest harmonic H of a signal, the sum
 * over harmonics is S_H(r, z, w) = sum over k from 1 to H of P at the point next to (r k / H, z k / H, w k / H), for H = 1, 2, 4,
 * 8, 16. A sum of noise alone is a chi-squared with 2 H degrees of freedom, halved, if the level of the noise is known: so hits are
 * chosen. Levels are estimates, however, in narrow blocks poor ones: a candidate's sigma counts that (normalize.h). */
#pragma once

#include "base/error.h"
#include "base/linkage.h"

#include <stdint.h>

LW_C_BEGIN

#define LW_ACCEL_STEPS 2            /* points of the grid in a bin of r */
#define LW_ACCEL_Z_STEP 2
#define LW_ACCEL_W_STEP 20
#define LW_ACCEL_MOST_STAGES 5      /* 1, 2, 4, 8, 16 harmonics */
#define LW_ACCEL_CELL 16            /* points of r in a cell; of each cell and stage only the largest sum can be a hit */
#define LW_ACCEL_LEAST_SAMPLES (INT64_C(1) << 12)
#define LW_ACCEL_LIGHT_M_S 299792458.0
#define LW_ACCEL_MOST_SAMPLES (INT64_C(1) << 28)

/* Parameters of a search. */
struct lw_accel_spec {
    int64_t n, n_fft;               /* samples of a series, and of its transform; n_fft is even and at least n */
    int n_stages;                   /* sums of 1, 2, .. 2^(n_stages - 1) harmonics */
    double z_max, w_max;            /* the grid has |z| <= z_max and |w| <= w_max, rounded up to a step */
    double r_low, r_high;           /* range of r of the highest harmonic, in bins */
    double sigma;                   /* least significance of a candidate, see signal/significance.h */
    double lost;                    /* most power that a template loses by its ends, a part of 1; 0: half widths of
                                       1.1 times the largest excursion of the frequency, plus 16 bins */
};

/* A plan of a search; it depends on the spec alone. */
struct lw_accel_plan {
    struct lw_accel_spec spec;
    int64_t n_bins;                 /* n_fft / 2 bins of the spectrum, 0 .. n_bins - 1; all beyond them count as zero */
    int64_t n_blocks;               /* blocks of the spectrum's levels, see normalize.h */
    int64_t begin, end;             /* points of r that are searched: r = j / 2 for j in [begin, end) */
    int n_z, n_w;                   /* values of z and of w, odd; the middle one is 0 */
    int half_width;                 /* bins on either side of r that any template takes: the largest over all z and w */
    double trials[LW_ACCEL_MOST_STAGES];        /* independent trials of each stage */
    float least[LW_ACCEL_MOST_STAGES];          /* least sum over harmonics that is a hit, of each stage */
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"       /* C++ would have a function hide no struct's constructor */
/** Plan a search. LW_ECONFIG: n, z_max, w_max or the range of r are not possible. */
int lw_accel_plan(const struct lw_accel_spec *spec, struct lw_accel_plan *plan, struct lw_error *err);
#pragma GCC diagnostic pop

/** Return the least even length of at least n samples that is 2^a 3^b 5^c 7^d. */
int64_t lw_accel_good_length(int64_t n);

/** Return z and w of an index of the grid. */
static inline double lw_accel_z(const struct lw_accel_plan *plan, int z) { return (double)(z - plan->n_z / 2) * LW_ACCEL_Z_STEP; }
static inline double lw_accel_w(const struct lw_accel_plan *plan, int w) { return (double)(w - plan->n_w / 2) * LW_ACCEL_W_STEP; }

/* Return the phase of a signal at u, in turns. */
static inline double lw_accel_turns(double r, double z, double w, double u)
{
    return r * u + z * (u * u - u) / 2 + w * (u * u * u / 6 - u * u / 4 + u / 12);
}

/* The point of the grid for harmonic k of H, where the highest harmonic is at point j of r, and at distance d from the middle of z
 * or w. Points halfway between two are rounded up in r, and away from 0 in z and w. */
static inline int64_t lw_accel_sub_r(int64_t j, int k, int H) { return (2 * j * k + H) / (2 * H); }
static inline int lw_accel_sub_z(int d, int k, int H) { return d < 0 ? -((-2 * d * k + H) / (2 * H)) : (2 * d * k + H) / (2 * H); }

/* The largest sum in a cell, at least plan->least. Cell c has the points [c LW_ACCEL_CELL, (c + 1) LW_ACCEL_CELL) of r, with all z
 * and w. Among equal sums the one with the lowest w, then z, then r counts. */
struct lw_accel_hit {
    int64_t r;                      /* point of r of the highest harmonic: r / 2 bins */
    int16_t z, w;                   /* indices of the grid */
    int32_t stage;                  /* 2^stage harmonics */
    float sum;
};

/* A table of hits. */
struct lw_accel_hits {
    struct lw_accel_hit *hits;      /* [most], owned by the caller */
    int64_t most, n;                /* n > most: there were more hits than room */
};

/* A signal that a search has found. */
struct lw_accel_candidate {
    int harmonics;
    double sigma, power;            /* power: the exact sum over harmonics; sigma counts the variance of the levels */
    double r, z, w;                 /* those of the fundamental */
    double r_error, z_error, w_error;   /* standard deviations */
};

LW_C_END
