/* test_significance.c - tests of tails of sums of powers and their significance, against values computed with 60 digits by mpmath
 * (gammainc, betainc, erfc), and of what PRESTO's candidate_sigma and power_for_sigma state: for small p, p is n Q. */
#include "../check.h"
#include "signal/significance.h"

#include <math.h>

static const struct { int m; double s, log_tail; } tails[] = {
    {1, 0.5, -0.5}, {1, 1e6, -1000000.0}, {2, 0.001, -4.9966691646683321e-7}, {2, 3, -1.6137056388801094},
    {4, 10, -4.5721174290973196}, {8, 3, -0.011975929889328356}, {8, 50, -30.993768270690784}, {16, 1, -1.867763463168083e-14},
    {16, 16, -0.76197244169203836}, {16, 40, -12.117332965844794}, {16, 1000, -924.26784398974067},
    {16, 1e6, -999820.66659801428}, {300, 200, -2.7114684433798717e-11}, {300, 1000, -343.42859748512446}, {5, 0, 0}, {5, -1, 0},
};

/* Tails with an estimated mean: the regularized incomplete beta function I(b / (b + s); b, m), b = 1 / v. */
static const struct { int m; double s, v, log_tail; } estimated[] = {
    {1, 20, 0.1, -10.986122886681097}, {1, 1e4, 0.25, -31.297783723510476}, {4, 3, 0.5, -0.4109199587911282},
    {4, 60, 0.02, -31.130297495508558}, {8, 100, 0.001, -72.166689169288999}, {16, 40, 1e-9, -12.117332646630878},
    {16, 1e5, 0.01, -648.56964485669968}, {2, 30, 1.3, -2.2779837921522206}, {1, 0, 0.1, 0},
};

static const struct { int m; double s, n, sigma; } sigmas[] = {
    {1, 30, 1, 7.3576668150087499}, {1, 30, 1e6, 5.2116658226776748}, {1, 10, 1, 3.9139462405318931},
    {2, 40, 1e5, 6.6245256400055287}, {8, 60, 1e7, 6.4527247168444868}, {16, 1e5, 1e8, 446.83277281484028},
    {1, 1e6, 1, 1414.2077829910173}, {4, 700, 3e9, 36.216105481945346}, {16, 20, 1, 1.0088923398954216},
    {1, 3, 100, -2.5089393172306681}, {1, 0.5, 1, -0.27028802073873585}, {8, 20, 1e7, -124.76528343132826},
};

static void check_values(void)
{
    for (int i = 0; i < (int)(sizeof tails / sizeof *tails); i++) {
        const double found = lw_sum_log_tail(tails[i].m, tails[i].s, 0);
        CHECK(fabs(found - tails[i].log_tail) <= 1e-14 * fabs(tails[i].log_tail) + 2e-15 * fmax(tails[i].s, 1),
              "log Q(%d, %g) is %.17g, not %.17g", tails[i].m, tails[i].s, found, tails[i].log_tail);
    }
    for (int i = 0; i < (int)(sizeof estimated / sizeof *estimated); i++) {
        const double found = lw_sum_log_tail(estimated[i].m, estimated[i].s, estimated[i].v);
        CHECK(fabs(found - estimated[i].log_tail) <= 1e-13 * fabs(estimated[i].log_tail), "log Q(%d, %g, %g) is %.17g, not %.17g",
              estimated[i].m, estimated[i].s, estimated[i].v, found, estimated[i].log_tail);
    }
    for (int i = 0; i < (int)(sizeof sigmas / sizeof *sigmas); i++) {
        const double found = lw_sum_sigma(sigmas[i].m, sigmas[i].s, 0, sigmas[i].n);
        CHECK(fabs(found - sigmas[i].sigma) <= 1e-10 * fabs(sigmas[i].sigma), "sigma of %d, %g, %g is %.17g, not %.17g",
              sigmas[i].m, sigmas[i].s, sigmas[i].n, found, sigmas[i].sigma);
        const double sum = lw_sum_for_sigma(sigmas[i].m, sigmas[i].sigma, sigmas[i].n);
        CHECK(fabs(sum - sigmas[i].s) <= 1e-10 * sigmas[i].s, "the sum of %d for sigma %g, %g is %.17g, not %g", sigmas[i].m,
              sigmas[i].sigma, sigmas[i].n, sum, sigmas[i].s);
    }
}

/* One power: p = n exp(-s), and a normal variable's tail above 6 sigma is 9.865876450377e-10. */
static void check_one_power(void)
{
    const double found = lw_sum_for_sigma(1, 6, 1e7), expected = -log(9.8658764503769458e-10 / 1e7);
    CHECK(fabs(found - expected) < 1e-8, "a power for 6 sigma of 1e7 trials is %.12g, not %.12g", found, expected);
}

/* Both functions rise everywhere and are each other's inverse, where tails change from plain numbers to logarithms too. */
static void check_inverse(void)
{
    for (int m = 1; m <= 16; m *= 2)
        for (double n = 1; n < 1e13; n *= 1e4) {
            double before = -INFINITY;
            for (double sigma = -3; sigma < 60; sigma += 0.25) {
                const double sum = lw_sum_for_sigma(m, sigma, n), back = lw_sum_sigma(m, sum, 0, n);
                CHECK(sum > before, "%d powers, %g trials: the sum for %g is %g, not above %g", m, n, sigma, sum, before);
                CHECK(fabs(back - sigma) < 1e-6, "%d powers, %g trials: %g sigma became %.12g", m, n, sigma, back);
                before = sum;
            }
        }
}

int main(void)
{
    check_values();
    check_one_power();
    check_inverse();
    return check_result("significance");
}
