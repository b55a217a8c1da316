/* transform.h - discrete Fourier transforms of any length in double precision, by FFTW with one thread each: for power spectra and
 * for what is made of filters before a run. Threads may run one transform side by side, each on memory of its own; the bits depend
 * on neither. */
#pragma once

#include "base/error.h"

#include <stdint.h>

enum lw_transform_kind {
    LW_TRANSFORM_REAL,          /* n reals to n / 2 + 1 complex numbers, of sum_m x[m] exp(-2 pi i k m / n) */
    LW_TRANSFORM_FORWARD,       /* n complex numbers to the same sums */
    LW_TRANSFORM_BACKWARD,      /* with exp(+2 pi i k m / n), and not divided by n */
};

struct lw_transform;

/** LW_ESYSTEM. */
int lw_transform_create(enum lw_transform_kind kind, int64_t n, struct lw_transform **out, struct lw_error *err);
void lw_transform_destroy(struct lw_transform *transform);      /* NULL is legal */

/** Doubles of the memory of one transform, a multiple of LW_ALIGNMENT bytes, so that several can lie side by side. */
int64_t lw_transform_doubles(enum lw_transform_kind kind, int64_t n);

/** In place. @param data  [lw_transform_doubles], aligned as lw_alloc does; complex numbers as (re, im) pairs */
void lw_transform_run(const struct lw_transform *transform, double *data);
