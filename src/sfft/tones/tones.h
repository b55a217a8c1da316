/* tones.h - tones at any frequencies, between those of the transform too, fitted to the samples that a search has taken.
 *
 *     x[t] = sum over tones of a exp(2 pi i ((index + offset) t - offset n / 2) / n)      (real signals: plus its conjugate)
 *
 * A tone between two frequencies leaks into all others, as sin(pi d) / (pi d) with the distance, which no small number of lines
 * explains. The samples of the stages lie at random places all over the signal, so that they tell a frequency as sharply as the
 * whole signal does. Strong lines are taken for tones; where each one stands is found on a grid of quarters of a bin; and all
 * frequencies and amplitudes are fitted at a time, by Gauss-Newton steps whose linear least-squares problems are solved by
 * conjugate gradients. What is left is searched for lines again.
 *
 * Mamandipoor, Ramasamy, Madhow, "Newtonized orthogonal matching pursuit: frequency estimation over the continuum", IEEE Trans.
 * Signal Processing 64, 2016 (detect, refine all, subtract, again); Bjorck, "Numerical methods for least squares problems", 1996
 * (Gauss-Newton, CGLS).
 *
 * Pure arithmetic in double precision; the same bits for any number of threads. */
#pragma once

#include "sfft/sfft.h"

#include <complex.h>

#define LW_SFFT_TONES_LEAST_OFFSET 0.02     /* bins: a tone that is further from a frequency of the transform lies between two */

struct lw_sfft_tone {
    int64_t index;                  /* 0 .. n - 1, of a real signal 0 .. n/2 */
    double offset;                  /* about -0.5 .. 0.5 */
    double complex amplitude;       /* a, in the middle of the signal as far as the offset goes */
    bool is_fixed;                  /* at 0 or n/2 of a real signal: without an offset, and real */
};

/* Samples that follow each other by sigma. */
struct lw_sfft_tone_row {
    int64_t first, step;            /* sample numbers, modulo n */
    int64_t count;
    int64_t place;                  /* of the first, among all samples */
    bool is_fitted;                 /* those of stages that locate; the others check */
};

struct lw_sfft_tones_spec {
    const struct lw_sfft_layout *layout;            /* borrowed */
    int64_t capacity;               /* tones */
    int64_t most_samples;           /* only so many are used, of whole rows but one row at least */
    int n_threads;
};

struct lw_sfft_tones {
    struct lw_sfft_tones_spec spec;
    int64_t n;                      /* samples of the signal */
    bool is_real;
    struct lw_sfft_tone_row rows[LW_SFFT_PLANES];
    int n_rows;
    int64_t n_samples, n_fitted;    /* in all rows, and in those that are fitted */

    const double *samples;          /* borrowed: (re, im) in the order of the rows */
    struct lw_sfft_tone *tones;     /* [capacity], owned as what follows */
    int64_t n_tones;
    double complex *rest;           /* [samples] less the tones */
    double complex *image;          /* [samples] work of the fit, as what follows */
    struct lw_sfft_tone_part *part; /* [3][capacity] */
    double *scale;                  /* [capacity] */
};

/* What a linear map makes of, or gives for, one tone: a value, and one that is weighed with t / n - 1/2. */
struct lw_sfft_tone_part {
    double complex flat, slope;
};

int lw_sfft_tones_create(const struct lw_sfft_tones_spec *spec, struct lw_sfft_tones **out, struct lw_error *err);
void lw_sfft_tones_destroy(struct lw_sfft_tones *tones);        /* NULL is legal */
int64_t lw_sfft_tones_bytes(const struct lw_sfft_plan *plan, int64_t capacity, int64_t most_samples);

/** Take the samples of attempts 0 .. attempt, and no tones.
 * @param samples  all stages' one after another, (re, im), finite; borrowed until the next call */
void lw_sfft_tones_begin(struct lw_sfft_tones *tones, int attempt, const double *samples);

/** Take lines of the rest for tones, the strongest of them that are not another one's leakage, up to `most`.
 * @return  tones added */
int64_t lw_sfft_tones_seed(struct lw_sfft_tones *tones, const struct lw_sfft_line *lines, int64_t count, int64_t most);

/** Fit all tones, leave out those that are not significant, and set the rest. */
void lw_sfft_tones_fit(struct lw_sfft_tones *tones);

/** Of the strongest lines, at most LW_SFFT_TONES_LOOKED_AT, those that lie between two frequencies of the transform. With few
 * samples that is a matter of a moment, however many lines there are.
 * @param samples  of attempt 0 as for lw_sfft_tones_begin; overwritten
 * @param lines    found */
enum { LW_SFFT_TONES_LOOKED_AT = 8, LW_SFFT_TONES_LOOK_SAMPLES = 8192 };
int lw_sfft_tones_between(struct lw_sfft_tones *tones, double *samples, const struct lw_sfft_line *lines, int64_t count);

/** Mean |x|^2 of the samples or the rest, of those that are fitted or that are not; 0: there are none. */
double lw_sfft_tones_power(const struct lw_sfft_tones *tones, const double complex *values, bool is_fitted);

/** A tone as a line: X = n a at the first sample, the index nearest to it. */
struct lw_sfft_line lw_sfft_tones_line(const struct lw_sfft_tones *tones, const struct lw_sfft_tone *tone);

/* ---- the two maps of a fit: parts of tones over the rows ---- */

/** values[i] += scale x the parts' image: sum over tones of (flat + slope (t/n - 1/2)) exp(...). Real signals: twice its real
 * part, but of tones that are fixed. `parts` has one for each tone from `first` on. */
void lw_sfft_tones_add(const struct lw_sfft_tones *tones, int64_t first, const struct lw_sfft_tone_part *parts, double scale,
                       double complex *values);

/** The adjoint of that for one tone, over the fitted rows. */
struct lw_sfft_tone_part lw_sfft_tones_project(const struct lw_sfft_tones *tones, const struct lw_sfft_tone *tone,
                                               const double complex *values);
