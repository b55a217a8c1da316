/* promise.c - bounds of the errors of outputs. */
#include "verify/state.h"

/* Errors are close to normally distributed: none exceeds this many times the guaranteed rms error. */
#define LARGEST_TO_RMS 6

/* The guaranteed rms error is e r (log2(2N) |h|_2 + 10 |h|_1), see jobs/README.md; here r, the rms value of the input, is 1. */
double lw_verify_promise(const struct lw_verify *verify, int filter, double n, bool squares)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    const int64_t n_taps = shape->tap_rows * shape->tap_columns;
    const double *const h = shape->taps + filter * n_taps * shape->parts;
    const double e = verify->job.op.precision == LW_DOUBLE ? 1e-16 : 5e-8;
    double one = 0, two = 0;
    for (int64_t m = 0; m < n_taps; m++) {
        const double energy = shape->parts == 2 ? h[2 * m] * h[2 * m] + h[2 * m + 1] * h[2 * m + 1] : h[m] * h[m];
        const double power = squares ? energy * energy : energy;
        one += sqrt(power);
        two += power;
    }
    return LARGEST_TO_RMS * e * (log2(2 * n) * sqrt(two) + 10 * one);
}
