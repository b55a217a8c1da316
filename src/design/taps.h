/* taps.h - the taps of one filter of each family. Frequencies are fractions of the sampling rate, times are in samples; the taps
 * are float64, [n], or [n x 2] where they are complex. The scale is the formula's: lw_taps_scale makes it what is wanted. All
 * filters but the chirp and the inspiral are symmetric about (n - 1) / 2, the boxcar about the middle of its own width. Pure. */
#pragma once

#include "design/window.h"

#include <stdint.h>

/** The ideal filter of the pass band low..high, times a Kaiser window. low = 0 makes a low-pass, high = 0.5 a high-pass, for
 * which n must be odd. */
void lw_taps_band(double low, double high, double beta, int64_t n, double *taps);

/** `width` <= n ones. They begin where the mode `same` with all n taps gives what it gives with these `width` alone: at
 * (n - 1) / 2 - (width - 1) / 2, both rounded down. */
void lw_taps_boxcar(int64_t width, int64_t n, double *taps);
int64_t lw_taps_boxcar_begin(int64_t width, int64_t n);

/** Take the mean of the taps from each of them: what is left gives 0 for a constant. */
void lw_taps_remove_mean(int64_t n, double *taps);

/** h'[m] = conj(h[n - 1 - m]), in place: a convolution with them is a correlation with h. @param taps  [n], or [n x 2] if parts is
 * 2 */
void lw_taps_reverse(double *taps, int64_t n, int parts);

/** exp(-t^2 / (2 sigma^2)) */
void lw_taps_gaussian(double sigma, int64_t n, double *taps);

/** (1 - 2 a) exp(-a) with a = (pi f t)^2: the Ricker wavelet, whose spectrum is largest at f = `peak`. */
void lw_taps_ricker(double peak, int64_t n, double *taps);

/** The matched filter conj(s[n - 1 - m]) of the linear chirp s[m] = w[m] exp(2 pi i (from m + (to - from) m^2 / (2 n))): its
 * real part is that of the cosine and its imaginary part that of the sine, in quadrature. w is the window.
 * @param taps  [n x 2] */
void lw_taps_chirp(double from, double to, enum lw_window window, int64_t n, double *taps);

/* Two point masses on a circular orbit that gravitational waves shrink, to leading order (quadrupole formula): M. Maggiore,
 * Gravitational Waves, volume 1, section 4.1.1. m is the chirp mass (m1 m2)^(3/5) / (m1 + m2)^(1/5) as a time, G m / c^3; times and
 * frequencies in one unit of time and its inverse. */

/** Time left until the masses meet when the wave has frequency f: (5/256) m^(-5/3) (pi f)^(-8/3), eq. 4.19. */
double lw_inspiral_time_left(double chirp_mass, double frequency);

/** Frequency of the wave at the innermost stable circular orbit of a total mass: 1 / (6 sqrt(6) pi M), twice that of the
 * orbit in eq. 4.40. */
double lw_inspiral_last_frequency(double total_mass);

/** The matched filter of the wave s = tau^(-1/4) exp(i Phi), Phi = -2 (tau / (5 m))^(5/8), eqs. 4.30 to 4.32, with the time left
 * tau from `begin` down to `end`, else 0: its tap (n - 1) / 2 + tau is conj(s), n odd, so that the masses meet in the middle.
 * @param taps  [n x 2] */
void lw_taps_inspiral(double chirp_mass, double begin, double end, int64_t n, double *taps);

/** Sum of the squares of `count` numbers, both parts of complex taps counted. */
double lw_taps_energy(const double *taps, int64_t count);

void lw_taps_scale(double factor, double *taps, int64_t count);
