/* candidate_rows.h - the request of a search for drifting signals, and the rows of its table, for the job `accel` and for
 * src/channels, which carries the search out. */
#pragma once

#include "accel/accel.h"
#include "engine/accel.h"

/* The products of `accel`: the table, and the spectra if they are wanted. */
enum lw_accel_product { LW_ACCEL_CANDIDATES, LW_ACCEL_SPECTRUM };

struct lw_accel_request {
    struct lw_accel_plan plan;
    double seconds;                 /* T: time of n_fft samples */
    struct lw_accel_zap *zaps;      /* owned; [n_zaps] bins that count as zero */
    int64_t n_zaps;
    double *dms;                    /* owned; dispersion measure of each channel of the input; NULL: all have `dm` */
    double dm;                      /* NaN: not known */
    bool keeps_spectrum;
};

/* A row of the table. While the run goes on, a row with 0 harmonics says that all of a channel's candidates are there. */
struct lw_accel_row {
    int64_t channel;
    double dm;                      /* NaN: not known */
    int64_t harmonics;
    double sigma, power, r, z, w;
    double frequency, frequency_derivative, period, acceleration;   /* Hz, Hz/s, s, m/s^2, at T / 2 */
    double r_error, z_error, w_error;
    int64_t related;                /* row of the stronger candidate that this one repeats; -1: none */
    int64_t numerator, denominator; /* its frequency is that one's times numerator / denominator; 0 without one */
};
