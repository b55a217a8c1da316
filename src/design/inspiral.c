#include "design/inspiral.h"

#include "base/integers.h"

#include <math.h>
#include <string.h>

/* G M / c^3 of the Sun: the nominal G M = 1.3271244e20 m^3/s^2 (IAU 2015 resolution B3), divided by c^3. */
#define SUN_SECONDS (1.3271244e20 / (299792458.0 * 299792458.0 * 299792458.0))

#define EULER 0.57721566490153286

static double square(double x) { return x * x; }

/* The square of one body's spin in a_6. @param m  the body's part of the mass */
static double own_spin(double m, double spin) { return (1595.0 / 4 * m - 1645.0 / 32 - 3065.0 / 36 * m * m) * square(m * spin); }

void lw_inspiral_set(const struct lw_binary *binary, struct lw_inspiral *wave)
{
    const double total = binary->mass_1 + binary->mass_2, m1 = binary->mass_1 / total, m2 = binary->mass_2 / total, eta = m1 * m2;
    const double chi1 = binary->spin_1, chi2 = binary->spin_2;
    const double s = m1 * m1 * chi1 + m2 * m2 * chi2;           /* S_l and (m1 - m2) Sigma_l of Bohe et al. 2013, eq. 3.9 */
    const double d = (m1 - m2) * (m2 * chi2 - m1 * chi1);
    const double a_5 = M_PI * (38645.0 / 756 - 65.0 / 9 * eta) - (554345.0 / 1134 + 110.0 / 9 * eta) * s -
                       (13915.0 / 84 - 10.0 / 3 * eta) * d;
    const double b_6 = -6848.0 / 21;
    const double a[8] = {
        1, 0,
        3715.0 / 756 + 55.0 / 9 * eta,
        -16 * M_PI + 188.0 / 3 * s + 25 * d,
        15293365.0 / 508032 + 27145.0 / 504 * eta + 3085.0 / 72 * eta * eta -
            (395.0 / 4 * eta * chi1 * chi2 + 405.0 / 8 * (square(m1 * chi1) + square(m2 * chi2))),
        a_5,
        11583231236531.0 / 4694215680 - 640.0 / 3 * M_PI * M_PI + b_6 * (EULER + log(4)) +
            (2255.0 / 12 * M_PI * M_PI - 15737765635.0 / 3048192) * eta + 76055.0 / 1728 * eta * eta -
            127825.0 / 1296 * eta * eta * eta + M_PI * (3760 * s + 1490 * d) / 3 +
            (32675.0 / 112 + 5575.0 / 18 * eta) * eta * chi1 * chi2 + own_spin(m1, chi1) + own_spin(m2, chi2),
        M_PI * (77096675.0 / 254016 + 378515.0 / 1512 * eta - 74045.0 / 756 * eta * eta) +
            (6586595.0 / 756 * eta - 8980424995.0 / 762048 - 305.0 / 36 * eta * eta) * s -
            (170978035.0 / 48384 - 2876425.0 / 672 * eta - 4735.0 / 144 * eta * eta) * d,
    };
    *wave = (struct lw_inspiral){.seconds = total * SUN_SECONDS, .logs[5] = 3 * a_5, .logs[6] = b_6};
    for (int k = 0; k < 8; k++) {
        wave->terms[k] = 3 / (128 * eta) * a[k];
        wave->logs[k] *= 3 / (128 * eta);
    }
}

double lw_inspiral_chirp_mass(const struct lw_binary *binary)
{
    return pow(binary->mass_1 * binary->mass_2, 0.6) / pow(binary->mass_1 + binary->mass_2, 0.2);
}

double lw_inspiral_frequency(const struct lw_inspiral *wave, double speed)
{
    return speed * speed * speed / (M_PI * wave->seconds);
}

/* Return Psi at v. */
static double phase_at(const struct lw_inspiral *wave, double v)
{
    const double *const a = wave->terms, *const b = wave->logs, l = log(v);
    const double sum = a[0] + v * v * (a[2] + v * (a[3] + v * (a[4] + v * (a[5] + b[5] * l + v * (a[6] + b[6] * l + v * a[7])))));
    return sum / (v * v * v * v * v);
}

double lw_inspiral_phase(const struct lw_inspiral *wave, double hz) { return phase_at(wave, cbrt(M_PI * wave->seconds * hz)); }

double lw_inspiral_time_left(const struct lw_inspiral *wave, double hz)
{
    const double v = cbrt(M_PI * wave->seconds * hz), l = log(v);
    double slope = 0;           /* v^6 dPsi/dv; v dPsi/dv is 3 f dPsi/df */
    for (int k = 7; k >= 0; k--)
        slope = slope * v + (k - 5) * (wave->terms[k] + wave->logs[k] * l) + wave->logs[k];
    return -slope / (v * v * v * v * v * 6 * M_PI * hz);
}

/* Return the distance beyond which one end of a wave of energy `energy` has at most LEFT of it. An edge of the band at which the
 * spectrum has the square A^2 rings with A^2 / (2 pi t)^2: A^2 / (4 pi^2 P) lies beyond a distance P. The other edge rings, too,
 * and is `apart` away. */
static double ringing(double square_here, double square_there, double apart, double energy)
{
    const double LEFT = 5e-4, limit = 4 * M_PI * M_PI * LEFT * energy;
    const double half = (limit * apart - square_here - square_there) / (2 * limit);
    return sqrt(half * half + square_here * apart / limit) - half;
}

struct lw_inspiral_extent lw_inspiral_measure(const struct lw_inspiral *wave, double from_hz, double to_hz)
{
    enum { STEPS = 64 };        /* high spins turn time_left around near the last orbit */
    struct lw_inspiral_extent extent = {-INFINITY, INFINITY, 0, 0};
    for (int i = 0; i <= STEPS; i++) {
        const double left = lw_inspiral_time_left(wave, from_hz * pow(to_hz / from_hz, (double)i / STEPS));
        extent.begin = fmax(extent.begin, left);
        extent.end = fmin(extent.end, left);
    }
    const double low = pow(from_hz, -7.0 / 3), high = pow(to_hz, -7.0 / 3), apart = extent.begin - extent.end;
    const double energy = 0.75 * (low * from_hz - high * to_hz);    /* the integral of f^(-7/3) */
    extent.before = ringing(low, high, apart, energy);
    extent.behind = ringing(high, low, apart, energy);
    return extent;
}

int64_t lw_inspiral_points(int64_t n_taps)
{
    const int64_t least = n_taps + n_taps / 2 + 1;
    int64_t step = 1;
    while (8 * step < least)
        step *= 2;
    return lw_round_up(least, step);
}

double lw_inspiral_filter(const struct lw_inspiral *wave, const struct lw_inspiral_shape *shape, double to_hz, double *work)
{
    const int64_t points = shape->points;
    const double step_hz = shape->rate_hz / (double)points, turn = -2 * M_PI / (double)points;
    double whole = 0, kept = 0;
    memset(work, 0, (size_t)(2 * points) * sizeof *work);
    for (int64_t k = (int64_t)ceil(shape->from_hz / step_hz); k < points / 2 && (double)k * step_hz <= to_hz; k++) {
        const double v = cbrt(M_PI * wave->seconds * step_hz * (double)k), size = 1 / (v * v * v * sqrt(v));
        const double phase = phase_at(wave, v) - M_PI / 4 + turn * (double)(k * shape->reference % points);
        work[2 * k] = size * cos(phase);
        work[2 * k + 1] = size * sin(phase);
        whole += size * size;
    }
    lw_transform_run(shape->backward, work);
    for (int64_t i = 0; i < 2 * shape->n_taps; i++)
        kept += work[i] * work[i];
    for (int64_t i = 0; i < 2 * shape->n_taps; i++)
        work[i] /= sqrt(kept);
    return kept / (whole * (double)points);
}
