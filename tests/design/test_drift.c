/* test_drift.c - tests of responses to signals whose frequency drifts, against quadrature by Gauss and Legendre in pieces, and of
 * their symmetries and half widths. */
#include "../check.h"
#include "design/drift.h"
#include "design/quadrature.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

/* Nodes and weights of 8 points on [-1, 1]: Abramowitz and Stegun, table 25.4. */
static const double nodes[] = {0.183434642495649805, 0.525532409916328986, 0.796666477413626740, 0.960289856497536232};
static const double weights[] = {0.362683783378361983, 0.313706645877887287, 0.222381034453374471, 0.101228536290376259};

static double complex value(double u, double q, double z, double w)
{
    return cexp(2 * I * M_PI * (q * u + z * (u * u - u) / 2 + w * (u * u * u / 6 - u * u / 4 + u / 12)));
}

static double complex expected(double q, double z, double w)
{
    const int pieces = 64 + 4 * (int)(fabs(q) + lw_drift_excursion(z, w));
    double complex sum = 0;
    for (int p = 0; p < pieces; p++)
        for (int i = 0; i < 8; i++) {
            const double node = i < 4 ? nodes[i] : -nodes[i - 4];
            sum += weights[i % 4] * value((p + 0.5 + node / 2) / pieces, q, z, w);
        }
    return sum / (2 * pieces);
}

static double complex *response(double z, double w, int steps, int half_width)
{
    double complex *const out = malloc((size_t)(2 * half_width * steps + 1) * sizeof *out);
    CHECK(lw_drift_response(z, w, steps, half_width, (double *)out, NULL) == LW_OK, "z %g, w %g: no response", z, w);
    return out;
}

static void check_response(double z, double w, int steps, int half_width)
{
    const int half = steps * half_width;
    double complex *const found = response(z, w, steps, half_width), *const opposite = response(-z, -w, steps, half_width);
    double worst = 0, unlike = 0;
    for (int j = -half; j <= half; j++) {
        worst = fmax(worst, cabs(found[j + half] - expected((double)j / steps, z, w)));
        unlike = fmax(unlike, cabs(found[j + half] - conj(opposite[half - j])));
    }
    CHECK(worst < 1e-12, "z %g, w %g, %d steps, half width %d: an error of %.3g", z, w, steps, half_width, worst);
    CHECK(unlike < 1e-12, "z %g, w %g: the response to the opposite drift differs by %.3g", z, w, unlike);
    free(found);
    free(opposite);
}

static void check_sinc(void)
{
    double complex *const found = response(0, 0, 4, 20);
    for (int j = -80; j <= 80; j++) {
        const double q = j / 4.0, sinc = j ? sin(M_PI * q) / (M_PI * q) : 1;
        CHECK(cabs(found[j + 80] - cexp(I * M_PI * q) * sinc) < 1e-13, "without drift the response at %g is %g %g", q,
              creal(found[j + 80]), cimag(found[j + 80]));
    }
    free(found);
}

/* The power beyond a half width, at 64 fractions of a bin, from all the rest. */
static double lost(double z, double w, int half_width)
{
    double complex *const found = response(z, w, 64, half_width);
    double worst = 0;
    for (int f = 0; f < 64; f++) {
        double kept = 0;
        for (int j = f; j <= 2 * 64 * half_width; j += 64)
            kept += pow(cabs(found[j]), 2);
        worst = fmax(worst, 1 - kept);
    }
    free(found);
    return worst;
}

static void check_half_width(double z, double w, double most)
{
    int half_width;
    CHECK(lw_drift_half_width(z, w, most, &half_width, NULL) == LW_OK, "z %g, w %g: no half width", z, w);
    CHECK(lost(z, w, half_width) <= most, "z %g, w %g: half width %d loses %g, more than %g", z, w, half_width,
          lost(z, w, half_width), most);
    const int less = half_width - 1 - half_width / 8;
    CHECK(lost(z, w, less) > most, "z %g, w %g: half width %d would do, not only %d: it loses %g", z, w, less, half_width,
          lost(z, w, less));
}

static void check_excursion(void)
{
    for (int i = 0; i < 2000; i++) {
        const double z = (double)(i % 41 - 20) * 7, w = (double)(i % 49 - 24) * 31;
        double most = 0;
        for (int k = 0; k <= 1000; k++) {
            const double u = k / 1000.0;
            most = fmax(most, fabs(z * (u - 0.5) + w * (u * u / 2 - u / 2 + 1.0 / 12)));
        }
        CHECK(fabs(lw_drift_excursion(z, w) - most) < 1e-9, "z %g, w %g: the excursion is %g, not %g", z, w,
              lw_drift_excursion(z, w), most);
    }
}

/* Powers of u up to the order of the differences are exact. */
static void check_quadrature(void)
{
    enum { N = 40 };
    double ends[LW_QUADRATURE_ENDS];
    lw_quadrature_ends(ends);
    for (int power = 0; power < LW_QUADRATURE_ENDS; power++) {
        double sum = 0;
        for (int i = 0; i <= N; i++) {
            const int end = i < N - i ? i : N - i;
            sum += (end < LW_QUADRATURE_ENDS ? ends[end] : 1) / N * pow((double)i / N, power);
        }
        CHECK(fabs(sum - 1.0 / (power + 1)) < 1e-13, "the integral of u^%d is %.15g", power, sum);
    }
}

int main(void)
{
    check_quadrature();
    check_sinc();
    check_excursion();
    check_response(0, 0, 1, 16);
    check_response(2, 0, 2, 17);
    check_response(-200, 0, 2, 126);
    check_response(37, 0, 3, 30);
    check_response(0, 200, 2, 40);
    check_response(-200, 180, 2, 144);
    check_response(1200, -4000, 1, 700);
    check_half_width(0, 0, 0.05);
    check_half_width(0, 0, 0.001);
    check_half_width(200, 0, 0.01);
    check_half_width(40, -300, 0.002);
    return check_result("drift");
}
