/* window.h - the windows that filters and spectra are multiplied with: those of one shape as a table; and the Kaiser window, with
 * how long it must be: J. F. Kaiser, "Nonrecursive digital filter design using the I0-sinh
 * window function", 1974; the formulas as in Oppenheim and Schafer, "Discrete-Time Signal Processing", section 7.5.3.
 *
 * Attenuations are in dB, positive; transitions are fractions of the sampling rate, from the edge of the pass band to that of
 * the stop band. Pure. */
#pragma once

#include <stdint.h>

/* Windows over 0 < x < n: the identifier, the name that users know, and the value at a = pi x / n. A further one is a further
 * line. */
#define LW_WINDOWS(X) X(HANN, "hann", sin(a) * sin(a))

enum lw_window {
    LW_WINDOW_RECTANGULAR,
#define LW_WINDOW(is, name, value) LW_WINDOW_##is,
    LW_WINDOWS(LW_WINDOW)
#undef LW_WINDOW
};

/* The choices of an option that names one, in the order of the enumeration. */
#define LW_WINDOW_CHOICE(is, name, value) "|" name
#define LW_WINDOW_CHOICES "rectangular" LW_WINDOWS(LW_WINDOW_CHOICE)

/** The window's value at x. */
double lw_window_at(enum lw_window window, double x, double n);

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
