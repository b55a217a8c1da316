/* window.h - the windows that filters and spectra are multiplied with: a table of windows without parameters; and the Kaiser window
 * with its length for a given attenuation: J. F. Kaiser, "Nonrecursive digital filter design using the I0-sinh window function",
 * 1974; the formulas as in Oppenheim and Schafer, "Discrete-Time Signal Processing", section 7.5.3.
 *
 * Attenuations are positive, in dB. A transition is the distance from the edge of the pass band to the edge of the stop band, as a
 * fraction of the sampling rate. Pure. */
#pragma once

#include <stdint.h>

/* Windows over 0 < x < n, a line each: identifier; name for users; value as an expression of a = pi x / n. */
#define LW_WINDOWS(X) X(HANN, "hann", sin(a) * sin(a))

enum lw_window {
    LW_WINDOW_RECTANGULAR,
#define LW_WINDOW(is, name, value) LW_WINDOW_##is,
    LW_WINDOWS(LW_WINDOW)
#undef LW_WINDOW
};

/* The choices of an option for a window, in the order of enum lw_window. */
#define LW_WINDOW_CHOICE(is, name, value) "|" name
#define LW_WINDOW_CHOICES "rectangular" LW_WINDOWS(LW_WINDOW_CHOICE)

/** Return the window's value at x. */
double lw_window_at(enum lw_window window, double x, double n);

/* Limits of the attenuation: the rectangular window reaches the lower, and double precision cannot reach more than the upper. */
#define LW_KAISER_LEAST_DB 21
#define LW_KAISER_MOST_DB 200

/** Return the modified Bessel function of the first kind and order 0, by its power series, whose terms are all positive. */
double lw_bessel_i0(double x);

/** Return the window's parameter beta for an attenuation. */
double lw_kaiser_beta(double attenuation_db);

/** Return the transition of a filter of `n_taps` > 1 taps. */
double lw_kaiser_transition(double attenuation_db, int64_t n_taps);

/** Return the fewest taps whose transition is at most `transition` > 0: a double, as it may exceed every integer type. */
double lw_kaiser_length(double attenuation_db, double transition);

/** Return sample m of a window of n samples, 1 in the middle. */
double lw_kaiser_window(double beta, int64_t m, int64_t n);
