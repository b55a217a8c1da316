#include "signal/significance.h"

#include <math.h>

/* Term k of the sum is the one before it times s (1 + (k - 1) v) / (k (1 + v s)). The sum is its last term times a nested one, of
 * the inverses of these ratios, which does not overflow while s is not small. */
double lw_sum_log_tail(int m, double s, double v)
{
    if (s <= 0)
        return 0;
    const double first = v > 0 ? -log1p(v * s) / v : -s, ratio = s / (1 + v * s);
    double sum = 1, last = first;
    if (ratio < m) {
        for (int k = m - 1; k > 0; k--)
            sum = 1 + sum * ratio * (1 + (k - 1) * v) / k;
        return fmin(log(sum) + first, 0);
    }
    for (int k = 1; k < m; k++) {
        const double step = ratio * (1 + (k - 1) * v) / k;
        sum = 1 + sum / step;
        last += log(step);
    }
    return last + log(sum);
}

/* The upper tail of a normal variable is phi(x) R(x), where Mills' ratio R is 1 / (x + 1 / (x + 2 / (x + 3 / (x + ..)))). */
static double normal_log_tail(double x)
{
    if (x < 20)
        return log(erfc(x * M_SQRT1_2) / 2);
    double fraction = x;
    for (int k = 40; k > 0; k--)
        fraction = x + k / fraction;
    return -x * x / 2 - log(2 * M_PI) / 2 - log(fraction);
}

/* The logarithms of both tails are concave and falling: Newton's method comes from the right and stays there. */
enum { MOST_STEPS = 100 };

/* Return x > 0 whose upper tail has a logarithm, which is at most that of 1/2. */
static double normal_quantile(double log_tail)
{
    double x = sqrt(-2 * log_tail);
    for (int i = 0; i < MOST_STEPS && isfinite(x); i++) {
        const double found = normal_log_tail(x), slope = exp(-x * x / 2 - log(2 * M_PI) / 2 - found);
        const double step = (found - log_tail) / slope;
        x += step;
        if (fabs(step) <= 1e-15 * x)
            break;
    }
    return x;
}

/* log(1 - exp(x)), for x < 0. */
static double log_rest(double x) { return x > -M_LN2 ? log(-expm1(x)) : log1p(-exp(x)); }

double lw_sum_sigma(int m, double s, double v, double n)
{
    const double log_tail = lw_sum_log_tail(m, s, v), all = n * log_rest(log_tail);     /* all: log (1 - Q)^n */
    if (all < -M_LN2)
        return -normal_quantile(all);
    return normal_quantile(log_tail < -500 ? log_tail + log(n) : log_rest(all));
}

static double sum_quantile(int m, double log_tail)
{
    double s = m - log_tail;
    while (lw_sum_log_tail(m, s, 0) > log_tail)
        s *= 2;
    for (int i = 0; i < MOST_STEPS; i++) {
        const double found = lw_sum_log_tail(m, s, 0), slope = exp((m - 1) * log(s) - s - lgamma(m) - found);
        const double step = (found - log_tail) / slope;
        s += step;
        if (fabs(step) <= 1e-15 * s)
            break;
    }
    return s;
}

double lw_sum_for_sigma(int m, double sigma, double n)
{
    const double tail = normal_log_tail(fabs(sigma));       /* the logarithm of p, or that of 1 - p */
    const double all = sigma < 0 ? tail : log_rest(tail);
    const double log_tail = sigma > 0 && tail < -500 ? tail - log(n) : log_rest(all / n);
    return log_tail < 0 ? sum_quantile(m, log_tail) : 0;
}
