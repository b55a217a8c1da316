/* transform.h - discrete Fourier transforms of any length in double precision, by single-threaded FFTW, for spectra and filters.
 * Several threads may make and run transforms at a time, each on its own data; no other code may plan with FFTW in double precision
 * meanwhile. The bits do not depend on the thread or the memory. */
#pragma once

#include "base/error.h"

#include <stdint.h>

enum lw_transform_kind {
    LW_TRANSFORM_REAL,          /* n reals x to n / 2 + 1 complex sums X[k] = sum_m x[m] exp(-2 pi i k m / n) */
    LW_TRANSFORM_FORWARD,       /* n complex numbers to n of the same sums */
    LW_TRANSFORM_TO_REAL,       /* the n / 2 + 1 sums of LW_TRANSFORM_REAL to n x[m] */
    LW_TRANSFORM_BACKWARD,      /* n complex numbers to n sums with exp(+2 pi i k m / n), not divided by n */
};

struct lw_transform;

/** Plan a transform of n numbers. LW_ESYSTEM: no memory, or FFTW has no plan for n. */
int lw_transform_create(enum lw_transform_kind kind, int64_t n, struct lw_transform **out, struct lw_error *err);
void lw_transform_destroy(struct lw_transform *transform);      /* NULL is legal */

/** Return the doubles of a transform's data, a multiple of LW_ALIGNMENT bytes: data of several transforms may be adjacent. */
int64_t lw_transform_doubles(enum lw_transform_kind kind, int64_t n);

/** Transform in place. @param data  [lw_transform_doubles], aligned as by lw_alloc; complex numbers are (re, im) pairs */
void lw_transform_run(const struct lw_transform *transform, double *data);
