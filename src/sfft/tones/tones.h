/* tones.h - tones at any frequencies, also between those of the transform, fitted to the samples that a search has taken.
 *
 *     x[t] = sum over tones of a exp(2 pi i ((index + offset) t - offset n / 2) / n)      (real signals: plus its conjugate)
 *
 * A tone between two frequencies leaks into all others; leakage falls with the distance d as sin(pi d) / (pi d). No small number
 * of lines explains such a tone. The samples of the stages lie at random places all over the signal, so that they determine a
 * frequency as sharply as the whole signal does. The method:
 *
 *     seed      strong lines become tones; each offset is found on a grid of quarters of a bin
 *     fit       all frequencies and amplitudes together, by Gauss-Newton steps; conjugate gradients solve each linear least-squares
 *               problem
 *     repeat    the rest, samples minus tones, is searched for lines again
 *
 * Mamandipoor, Ramasamy, Madhow, "Newtonized orthogonal matching pursuit: frequency estimation over the continuum", IEEE Trans.
 * Signal Processing 64, 2016 (detect, refine all, subtract, again); Bjorck, "Numerical methods for least squares problems", 1996
 * (Gauss-Newton, CGLS).
 *
 * Pure arithmetic in double precision; the same bits for any number of threads. */
#pragma once

#include "sfft/sfft.h"

#include <complex.h>

#define LW_SFFT_TONES_LEAST_OFFSET 0.02     /* bins; a tone with a larger offset lies between two frequencies */

struct lw_sfft_tone {
    int64_t index;                  /* 0 .. n - 1; real signals 0 .. n/2 */
    double offset;                  /* bins, about -0.5 .. 0.5 */
    double complex amplitude;       /* a; the offset adds no phase in the middle of the signal */
    bool is_fixed;                  /* tone at 0 or n/2 of a real signal: offset 0, amplitude real */
};

/* A row of samples whose numbers are `step` apart, modulo n: a stage's sigma. */
struct lw_sfft_tone_row {
    int64_t first, step;            /* first sample number, and the step, modulo n */
    int64_t count;
    int64_t place;                  /* position of the row's first sample among all samples */
    bool is_fitted;                 /* rows of stages that locate are fitted; the rows of checking stages check the fit */
};

struct lw_sfft_tones_spec {
    const struct lw_sfft_layout *layout;            /* borrowed */
    int64_t capacity;               /* most tones */
    int64_t most_samples;           /* most samples to use; rows are used whole, and at least one row */
    int n_threads;
};

struct lw_sfft_tones {
    struct lw_sfft_tones_spec spec;
    int64_t n;                      /* samples of the signal */
    bool is_real;
    struct lw_sfft_tone_row rows[LW_SFFT_PLANES];
    int n_rows;
    int64_t n_samples, n_fitted;    /* samples in all rows, and in the rows that are fitted */

    const double *samples;          /* borrowed: (re, im) in the order of the rows */
    struct lw_sfft_tone *tones;     /* [capacity] the tones found; owned, like all arrays below */
    int64_t n_tones;
    double complex *rest;           /* [samples] samples minus the tones */
    double complex *image;          /* [samples] work array of the fit, like those below */
    struct lw_sfft_tone_part *part; /* [3][capacity] work arrays of the fit */
    double *scale;                  /* [capacity] units of the offsets in a step */
};

/* The two parts of a tone in a linear map: `flat` is constant over the signal, `slope` is weighted with t / n - 1/2. */
struct lw_sfft_tone_part {
    double complex flat, slope;
};

int lw_sfft_tones_create(const struct lw_sfft_tones_spec *spec, struct lw_sfft_tones **out, struct lw_error *err);
void lw_sfft_tones_destroy(struct lw_sfft_tones *tones);        /* NULL is legal */
int64_t lw_sfft_tones_bytes(const struct lw_sfft_plan *plan, int64_t capacity, int64_t most_samples);

/** Start with the samples of attempts 0 .. attempt and without tones.
 * @param samples  samples of all stages in order, (re, im), finite; borrowed until the next call */
void lw_sfft_tones_begin(struct lw_sfft_tones *tones, int attempt, const double *samples);

/** Add the strongest lines of the rest as tones, at most `most`; lines that may be the leakage of another tone are left out.
 * @return  number of tones added */
int64_t lw_sfft_tones_seed(struct lw_sfft_tones *tones, const struct lw_sfft_line *lines, int64_t count, int64_t most);

/** Fit all tones, remove tones that are not significant, and update the rest. */
void lw_sfft_tones_fit(struct lw_sfft_tones *tones);

/** Count the tones between two frequencies of the transform among the strongest lines, at most LW_SFFT_TONES_LOOKED_AT. Only
 * attempt 0's few samples are used: this is fast however many lines there are.
 * @param samples  samples of attempt 0 as for lw_sfft_tones_begin; overwritten
 * @param lines    lines that were found */
enum { LW_SFFT_TONES_LOOKED_AT = 8, LW_SFFT_TONES_LOOK_SAMPLES = 8192 };
int lw_sfft_tones_between(struct lw_sfft_tones *tones, double *samples, const struct lw_sfft_line *lines, int64_t count);

/** Return the mean |x|^2 of `values`, the samples or the rest, over the rows that are fitted or over all others; 0 without rows. */
double lw_sfft_tones_power(const struct lw_sfft_tones *tones, const double complex *values, bool is_fitted);

/** Return a tone as a line: X = n a at the first sample, and the nearest index. */
struct lw_sfft_line lw_sfft_tones_line(const struct lw_sfft_tones *tones, const struct lw_sfft_tone *tone);

/* ---- the two maps of a fit: parts of tones over the rows ---- */

/** values[i] += scale x the image of the parts: sum over tones of (flat + slope (t/n - 1/2)) exp(...). For a real signal twice
 * the real part, except for fixed tones. `parts` has one entry for each tone. */
void lw_sfft_tones_add(const struct lw_sfft_tones *tones, const struct lw_sfft_tone_part *parts, double scale,
                       double complex *values);

/** Return the adjoint of lw_sfft_tones_add for one tone, over the rows that are fitted. */
struct lw_sfft_tone_part lw_sfft_tones_project(const struct lw_sfft_tones *tones, const struct lw_sfft_tone *tone,
                                               const double complex *values);
