#include "design/window.h"

#include <math.h>

double lw_window_at(enum lw_window window, double x, double n)
{
    const double a = M_PI * x / n;
    switch (window) {
#define X(is, name, value) case LW_WINDOW_##is: return value;
        LW_WINDOWS(X)
#undef X
    case LW_WINDOW_RECTANGULAR: break;
    }
    return 1;
}

/* sum over k of ((x / 2)^k / k!)^2 */
double lw_bessel_i0(double x)
{
    double sum = 1, term = 1;
    for (int k = 1; term > 1e-17 * sum; k++) {
        const double factor = x / (2 * k);
        term *= factor * factor;
        sum += term;
    }
    return sum;
}

double lw_kaiser_beta(double attenuation_db)
{
    if (attenuation_db > 50)
        return 0.1102 * (attenuation_db - 8.7);
    if (attenuation_db > 21)
        return 0.5842 * pow(attenuation_db - 21, 0.4) + 0.07886 * (attenuation_db - 21);
    return 0;
}

/* Kaiser's estimate: taps times transition, the latter a fraction of the rate, are (A - 7.95) / (2.285 x 2 pi). */
static double taps_per_rate(double attenuation_db) { return (attenuation_db - 7.95) / (2.285 * 2 * M_PI); }

double lw_kaiser_transition(double attenuation_db, int64_t n_taps)
{
    return taps_per_rate(attenuation_db) / (double)(n_taps - 1);
}

double lw_kaiser_length(double attenuation_db, double transition)
{
    return ceil(taps_per_rate(attenuation_db) / transition + 1);
}

double lw_kaiser_window(double beta, int64_t m, int64_t n)
{
    if (n == 1)
        return 1;
    const double place = 2 * (double)m / (double)(n - 1) - 1;       /* place in the window, -1 .. 1 */
    return lw_bessel_i0(beta * sqrt(fmax(0, 1 - place * place))) / lw_bessel_i0(beta);
}
