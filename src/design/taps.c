#include "design/taps.h"

#include <math.h>

/* Return the time of tap m, in samples from the middle. */
static double middle_time(int64_t m, int64_t n) { return (double)m - (double)(n - 1) / 2; }

/* The ideal low-pass with the cut-off frequency `cut`, at time t. */
static double low_pass(double cut, double t) { return t == 0 ? 2 * cut : sin(2 * M_PI * cut * t) / (M_PI * t); }

/* The ideal filter that passes everything. It is exactly 0 at whole t other than 0; a computed sine of a multiple of pi is not. */
static double all_pass(double t) { return t == 0 ? 1 : t == floor(t) ? 0 : sin(M_PI * t) / (M_PI * t); }

void lw_taps_band(double low, double high, double beta, int64_t n, double *taps)
{
    for (int64_t m = 0; m < n; m++) {
        const double t = middle_time(m, n);
        const double upper = high < 0.5 ? low_pass(high, t) : all_pass(t), lower = low > 0 ? low_pass(low, t) : 0;
        taps[m] = (upper - lower) * lw_kaiser_window(beta, m, n);
    }
}

int64_t lw_taps_boxcar_begin(int64_t width, int64_t n) { return (n - 1) / 2 - (width - 1) / 2; }

void lw_taps_boxcar(int64_t width, int64_t n, double *taps)
{
    const int64_t begin = lw_taps_boxcar_begin(width, n);
    for (int64_t m = 0; m < n; m++)
        taps[m] = m >= begin && m < begin + width ? 1 : 0;
}

void lw_taps_remove_mean(int64_t n, double *taps)
{
    double sum = 0;
    for (int64_t m = 0; m < n; m++)
        sum += taps[m];
    for (int64_t m = 0; m < n; m++)
        taps[m] -= sum / (double)n;
}

void lw_taps_reverse(double *taps, int64_t n, int parts)
{
    for (int64_t a = 0, b = n - 1; a < b; a++, b--) {
        for (int p = 0; p < parts; p++) {
            const double swap = taps[a * parts + p];
            taps[a * parts + p] = taps[b * parts + p];
            taps[b * parts + p] = swap;
        }
    }
    for (int64_t m = 0; parts == 2 && m < n; m++)
        taps[m * 2 + 1] = -taps[m * 2 + 1];
}

void lw_taps_gaussian(double sigma, int64_t n, double *taps)
{
    for (int64_t m = 0; m < n; m++) {
        const double z = middle_time(m, n) / sigma;
        taps[m] = exp(-z * z / 2);
    }
}

void lw_taps_gaussian_2d(double sigma, double ratio, double angle_deg, int64_t side, double *taps)
{
    const double c = cos(angle_deg * M_PI / 180), s = sin(angle_deg * M_PI / 180);
    for (int64_t m = 0; m < side * side; m++) {
        const double down = middle_time(m / side, side), right = middle_time(m % side, side);
        const double u = (c * right + s * down) / sigma, v = (c * down - s * right) / (sigma * ratio);
        taps[m] = exp(-(u * u + v * v) / 2);
    }
}

void lw_taps_mexican_hat(double scale, int64_t side, double *taps)
{
    for (int64_t m = 0; m < side * side; m++) {
        const double down = middle_time(m / side, side) / scale, right = middle_time(m % side, side) / scale;
        const double a = down * down + right * right;
        taps[m] = (2 - a) * exp(-a / 2);
    }
}

void lw_taps_ricker(double peak, int64_t n, double *taps)
{
    for (int64_t m = 0; m < n; m++) {
        const double z = M_PI * peak * middle_time(m, n), a = z * z;
        taps[m] = (1 - 2 * a) * exp(-a);
    }
}

/* The phase is reduced to less than a turn before it becomes radians, so that it keeps its digits in long chirps. */
void lw_taps_chirp(double from, double to, enum lw_window window, int64_t n, double *taps)
{
    for (int64_t m = 0; m < n; m++) {
        const double t = (double)m;
        const double turns = fmod(from * t, 1) + fmod((to - from) * t / (2 * (double)n) * t, 1);
        const double amplitude = lw_window_at(window, t + 0.5, (double)n);
        double *const tap = taps + 2 * (n - 1 - m);
        tap[0] = amplitude * cos(2 * M_PI * turns);
        tap[1] = -amplitude * sin(2 * M_PI * turns);
    }
}

double lw_taps_energy(const double *taps, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += taps[i] * taps[i];
    return sum;
}

void lw_taps_scale(double factor, double *taps, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        taps[i] *= factor;
}
