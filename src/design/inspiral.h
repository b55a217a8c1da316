/* inspiral.h - matched filters for the gravitational wave of two masses that spiral in on circles, with spins along their axis.
 *
 * The wave is TaylorF2, given at each frequency f by the stationary phase approximation:
 *
 *     f^(-7/6) exp(-i (Psi(f) - pi / 4)),  Psi = 3 / (128 eta) sum_k (a_k + b_k ln v) v^(k - 5),  v = (pi G M f / c^3)^(1/3)
 *
 * M is the sum of the masses and eta = m1 m2 / M^2. The sum goes to k = 7, 3.5 post-Newtonian orders. Its terms are those that
 * LALSimulation and PyCBC take by default for black holes:
 *
 *     without spins       Buonanno, Iyer, Ochsner, Pan, Sathyaprakash, Phys. Rev. D 80, 084043 (2009), eq. 3.18
 *     spin-orbit          to 3.5 orders: Bohe, Marsat, Blanchet, Class. Quantum Grav. 30, 135009 (2013), eqs. 3.15 and 3.16
 *     spin-spin           2 orders: Arun, Buonanno, Faye, Ochsner, Phys. Rev. D 79, 104023 (2009), eq. 6.24, and Mikoczi, Vasuth,
 *                         Gergely, Phys. Rev. D 71, 124043 (2005), eq. 9; 3 orders: Bohe, Faye, Marsat, Porter, Class. Quantum
 *                         Grav. 32, 195010 (2015), eqs. 3.33 and 4.14
 *
 * The spin terms of the phase follow from the energies and fluxes of these equations. Terms of third degree in the spins are left
 * out. Masses are in solar masses, spins in units of G m^2 / c, frequencies in Hz, times in seconds before the merger, which is the
 * instant that belongs to infinite frequency at leading order. Pure but for transforms. */
#pragma once

#include "design/transform.h"

#include <stdint.h>

struct lw_binary {
    double mass_1, mass_2;      /* masses as the detector sees them: 1 + z times those at redshift z */
    double spin_1, spin_2;      /* -1 to 1, positive along the orbit's axis */
};

struct lw_inspiral {
    double seconds;             /* G M / c^3 */
    double terms[8], logs[8];   /* a_k and b_k times 3 / (128 eta) */
};

void lw_inspiral_set(const struct lw_binary *binary, struct lw_inspiral *wave);

/** Return the chirp mass (m1 m2)^(3/5) / M^(1/5) in solar masses. */
double lw_inspiral_chirp_mass(const struct lw_binary *binary);

/** Return the frequency f at which v is `speed`, a fraction of the speed of light. */
double lw_inspiral_frequency(const struct lw_inspiral *wave, double speed);

/* v on the last stable orbit around a black hole without spin: f = c^3 / (6^(3/2) pi G M) */
#define LW_INSPIRAL_LAST 0.40824829046386302

/** Return Psi. */
double lw_inspiral_phase(const struct lw_inspiral *wave, double hz);

/** Return the time left until the merger when the wave has a frequency: -(d Psi / d f) / (2 pi). */
double lw_inspiral_time_left(const struct lw_inspiral *wave, double hz);

/* The extent in time of a wave that is cut to a band of frequencies. */
struct lw_inspiral_extent {
    double begin, end;          /* most and least time left within the band */
    double before, behind;      /* length of the edges' ringing on either side; at most 0.05% of the energy lie beyond each */
};

struct lw_inspiral_extent lw_inspiral_measure(const struct lw_inspiral *wave, double from_hz, double to_hz);

/* The shape that the filters of a bank share. */
struct lw_inspiral_shape {
    double rate_hz, from_hz;
    int64_t n_taps;
    int64_t reference;          /* the tap of the merger; taps behind it meet samples before the merger */
    int64_t points;             /* length of the transform, from lw_inspiral_points */
    const struct lw_transform *backward;    /* a transform of LW_TRANSFORM_BACKWARD of this length; borrowed */
};

/** Return the length of the transform for filters of n_taps, at least 1.5 times as many. */
int64_t lw_inspiral_points(int64_t n_taps);

/** Make the matched filter of the wave between shape->from_hz and to_hz: taps conj(s[reference - m]) of the wave s, with energy 1.
 * Real parts match one phase of the wave, imaginary parts the other.
 * @param work  [lw_transform_doubles(LW_TRANSFORM_BACKWARD, points)], aligned as by lw_alloc; its start is set to the taps,
 *              [n_taps x 2]
 * @return  the part of the wave's energy that lies within n_taps */
double lw_inspiral_filter(const struct lw_inspiral *wave, const struct lw_inspiral_shape *shape, double to_hz, double *work);
