/* kaiser.h - the Kaiser window and how long it must be: J. F. Kaiser, "Nonrecursive digital filter design using the I0-sinh
 * window function", 1974; the formulas as in Oppenheim and Schafer, "Discrete-Time Signal Processing", section 7.5.3.
 *
 * Attenuations are in dB, positive; transitions are fractions of the sampling rate, from the edge of the pass band to that of
 * the stop band. Pure. */
#ifndef LW_DESIGN_KAISER_H
#define LW_DESIGN_KAISER_H

#include <stdint.h>

/* No window is worse than the rectangular one, and double precision is no better. */
#define LW_KAISER_LEAST_DB 21
#define LW_KAISER_MOST_DB 200

/** The modified Bessel function of the first kind and order 0, by its power series, whose terms are all positive. */
double lw_bessel_i0(double x);

/** The window's parameter for an attenuation. */
double lw_kaiser_beta(double attenuation_db);

/** The transition that a filter of `n_taps` > 1 taps has. */
double lw_kaiser_transition(double attenuation_db, int64_t n_taps);

/** The fewest taps with which the transition is at most `transition` > 0, as a number that may be beyond any length. */
double lw_kaiser_length(double attenuation_db, double transition);

/** Sample m of n of the window, 1 in the middle. */
double lw_kaiser_window(double beta, int64_t m, int64_t n);

#endif
