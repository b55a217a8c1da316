/* taps.h - formulas for the taps of each kind of filter.
 *
 * This folder is the mathematics of filters and spectra, all in float64:
 *
 *     taps.h, window.h   taps from formulas --> response.h   the magnitudes and figures that describe a filter
 *     inspiral.h         matched filters of inspiralling masses, from their spectra
 *     welch.h            power spectrum of the input --> whiten.h   filters divided by it
 *     transform.h        the Fourier transforms of both
 *
 * Frequencies are fractions of the sampling rate, times are in samples. Taps are [n], or [n x 2] if they are complex. Their scale
 * is that of the formula; lw_taps_scale changes it. All filters but the chirp are symmetric about (n - 1) / 2; the boxcar is
 * symmetric about the middle of its own width. Pure. */
#pragma once

#include "design/window.h"

#include <stdint.h>

/** Make an ideal filter of the band low..high, times a Kaiser window. low = 0: low-pass; high = 0.5: high-pass, n must be odd. */
void lw_taps_band(double low, double high, double beta, int64_t n, double *taps);

/** Make `width` <= n ones among zeros. They begin at (n - 1) / 2 - (width - 1) / 2, both rounded down: mode `same` with the n taps
 * then gives the same outputs as with the ones alone. */
void lw_taps_boxcar(int64_t width, int64_t n, double *taps);
int64_t lw_taps_boxcar_begin(int64_t width, int64_t n);

/** Subtract their mean from the taps: the filter then gives 0 for a constant. */
void lw_taps_remove_mean(int64_t n, double *taps);

/** Set h'[m] = conj(h[n - 1 - m]), in place: a convolution with h' is a correlation with h. @param parts  2 if complex, else 1 */
void lw_taps_reverse(double *taps, int64_t n, int parts);

/* Full width at half maximum of a Gaussian, in units of sigma: 2 sqrt(2 log 2). */
#define LW_FWHM 2.3548200450309493

/** Make a Gaussian, exp(-t^2 / (2 sigma^2)), t = 0 in the middle. */
void lw_taps_gaussian(double sigma, int64_t n, double *taps);

/** Make a 2-D Gaussian, exp(-(u^2 + v^2 / ratio^2) / (2 sigma^2)) on side x side elements, in the middle one u = v = 0.
 * @param angle_deg  direction of u, counted from growing columns towards growing rows */
void lw_taps_gaussian_2d(double sigma, double ratio, double angle_deg, int64_t side, double *taps);

/** Make a Mexican hat likewise, (2 - r^2 / scale^2) exp(-r^2 / (2 scale^2)): the negative Laplacian of a Gaussian. */
void lw_taps_mexican_hat(double scale, int64_t side, double *taps);

/** Make a Ricker wavelet, (1 - 2 a) exp(-a) with a = (pi f t)^2, whose spectrum is largest at f = `peak`. */
void lw_taps_ricker(double peak, int64_t n, double *taps);

/** Make the matched filter conj(s[n - 1 - m]) of the linear chirp s[m] = w[m] exp(2 pi i (from m + (to - from) m^2 / (2 n))), with
 * w the window. The real parts match the cosine, the imaginary parts the sine, in quadrature.
 * @param taps  [n x 2] */
void lw_taps_chirp(double from, double to, enum lw_window window, int64_t n, double *taps);

/** Return the sum of the squares of `count` doubles; a complex tap is two of them. */
double lw_taps_energy(const double *taps, int64_t count);

void lw_taps_scale(double factor, double *taps, int64_t count);
