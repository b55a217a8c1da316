#include "sfft/flat_window.h"

#include "base/memory.h"

#include <math.h>

/* Terms of a Chebyshev series of G over the range of the table. G is a sum of cosines of at most length/2 periods per bucket: so
 * this many terms are exact to rounding for lengths up to 16. The table is computed from the series, and interpolated cubically. */
enum { N_TERMS = 96 };

/* Modified Bessel function of the first kind, order 0. */
static double bessel(double x)
{
    const double quarter = x * x / 4;
    double sum = 1, term = 1;
    for (int k = 1; term > sum * 1e-18; k++) {
        term *= quarter / ((double)k * (double)k);
        sum += term;
    }
    return sum;
}

int64_t lw_sfft_window_half(const struct lw_sfft_window_spec *spec)
{
    return (int64_t)(spec->length * (double)spec->n_buckets / 2);
}

int64_t lw_sfft_window_bytes(const struct lw_sfft_window_spec *spec)
{
    const int64_t factor = lw_sfft_window_half(spec) + 1;      /* doubles that are held only while the window is computed */
    return (2 * lw_sfft_window_half(spec) + 1 + factor + LW_SFFT_RESPONSE_SIZE) * (int64_t)sizeof(double);
}

static void make_taps(struct lw_sfft_window *window, double box_half, const double *factor)
{
    const int64_t half = window->half;
    const double box = 2 * M_PI * box_half / (double)window->spec.n_buckets;
    double *const centre = window->taps + half;
    double sum = 0;
    for (int64_t i = 0; i <= half; i++) {
        const double sinc = i == 0 ? 1 : sin(box * (double)i) / (box * (double)i);
        centre[i] = sinc * factor[i];
        sum += (i == 0 ? 1 : 2) * centre[i];
    }
    window->energy = 0;
    for (int64_t i = 0; i <= half; i++) {
        centre[i] /= sum;
        centre[-i] = centre[i];
        window->energy += (i == 0 ? 1 : 2) * centre[i] * centre[i];
    }
}

/* G(u) by its definition. cos(i a) comes from a rotation that is restarted every 256 taps to bound rounding. */
static double response_directly(const struct lw_sfft_window *window, double u)
{
    const double angle = 2 * M_PI * u / (double)window->spec.n_buckets;
    const double *const centre = window->taps + window->half;
    const double c = cos(angle), s = sin(angle);
    double sum = 0, re = 1, im = 0;
    for (int64_t i = 1; i <= window->half; i++) {
        const double next = re * c - im * s;
        im = re * s + im * c;
        re = next;
        if (i % 256 == 0) {
            re = cos(angle * (double)i);
            im = sin(angle * (double)i);
        }
        sum += centre[i] * re;
    }
    return centre[0] + 2 * sum;
}

static void make_response(struct lw_sfft_window *window)
{
    double node[N_TERMS], coefficient[N_TERMS];
    for (int j = 0; j < N_TERMS; j++)
        node[j] = response_directly(window, LW_SFFT_WINDOW_RANGE * cos(M_PI * (j + 0.5) / (2 * N_TERMS)));
    /* G is even: only even polynomials occur, so that half of the interval's nodes suffice */
    for (int k = 0; k < N_TERMS; k++) {
        double sum = 0;
        for (int j = 0; j < N_TERMS; j++)
            sum += node[j] * cos(M_PI * 2 * k * (j + 0.5) / (2 * N_TERMS));
        coefficient[k] = sum * (k == 0 ? 1 : 2) / N_TERMS;
    }
    for (int i = 0; i < LW_SFFT_RESPONSE_SIZE; i++) {
        const double x = (i - 1) / (LW_SFFT_WINDOW_RANGE * LW_SFFT_RESPONSE_STEPS);
        const double t2 = 2 * x * x - 1;            /* T_2k(x) = T_k(t2) */
        double b1 = 0, b2 = 0;
        for (int k = N_TERMS - 1; k > 0; k--) {
            const double b0 = coefficient[k] + 2 * t2 * b1 - b2;
            b2 = b1, b1 = b0;
        }
        window->response[i] = coefficient[0] + t2 * b1 - b2;
    }
}

double lw_sfft_window_response(const struct lw_sfft_window *window, double u)
{
    const double place = fabs(u) * LW_SFFT_RESPONSE_STEPS;
    const int i = (int)place;
    const double t = place - i;
    const double *const y = window->response + i;    /* y[0] .. y[3] are the values at the places -1, 0, 1, 2 */
    const double a = -t * (t - 1) * (t - 2) / 6, b = (t + 1) * (t - 1) * (t - 2) / 2;
    const double c = -(t + 1) * t * (t - 2) / 2, d = (t + 1) * t * (t - 1) / 6;
    return a * y[0] + b * y[1] + c * y[2] + d * y[3];
}

int lw_sfft_window_create_of(const struct lw_sfft_window_spec *spec, double box_half, const double *factor,
                             struct lw_sfft_window **out, struct lw_error *err)
{
    struct lw_sfft_window *const window = *out = lw_alloc(sizeof *window, "a window", err);
    if (!window)
        return LW_ESYSTEM;
    window->spec = *spec;
    window->half = lw_sfft_window_half(spec);
    if (!(window->taps = lw_alloc_array(2 * window->half + 1, sizeof(double), "a window", err)) ||
        !(window->response = lw_alloc_array(LW_SFFT_RESPONSE_SIZE, sizeof(double), "a window", err)))
        return LW_ESYSTEM;
    make_taps(window, box_half, factor);
    make_response(window);
    return LW_OK;
}

/* Kaiser's window. With A the attenuation in dB, the transition from pass band to stop band extends (A - 7.95) / 14.36 / length
 * / 2 buckets on either side of the box's edge. */
int lw_sfft_window_create(const struct lw_sfft_window_spec *spec, struct lw_sfft_window **out, struct lw_error *err)
{
    const int64_t half = lw_sfft_window_half(spec);
    const double decibels = -20 * log10(spec->tolerance), alpha = 0.1102 * (decibels - 8.7);
    const double box_half = spec->reach - (decibels - 7.95) / (2 * 14.36) / spec->length;
    LW_FREED double *const factor = lw_alloc_array(half + 1, sizeof *factor, "a window", err);
    if (!factor)
        return LW_ESYSTEM;
    for (int64_t i = 0; i <= half; i++) {
        const double place = (double)i / (double)(half + 1);
        factor[i] = bessel(alpha * sqrt(1 - place * place));
    }
    return lw_sfft_window_create_of(spec, box_half, factor, out, err);
}

void lw_sfft_window_destroy(struct lw_sfft_window *window)
{
    if (!window)
        return;
    lw_free(window->taps);
    lw_free(window->response);
    lw_free(window);
}
