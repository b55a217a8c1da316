#include "verify/state.h"

#include <float.h>
#include <math.h>

/* Errors are close to normally distributed: none is beyond this many times the promised rms value. */
#define LARGEST_TO_RMS 6

/* e r (log2(2N) |h|_2 + 10 |h|_1), see README.md. */
double lw_verify_promise(const struct lw_verify *verify, int filter, double n)
{
    const struct lw_verify_shape *const shape = &verify->shape;
    const int64_t n_taps = shape->tap_rows * shape->tap_columns;
    const double *const h = shape->taps + filter * n_taps * shape->parts;
    const double e = verify->job.op.precision == LW_DOUBLE ? 1e-16 : 5e-8;
    double one = 0, two = 0;
    for (int64_t m = 0; m < n_taps; m++) {
        const double power = shape->parts == 2 ? h[2 * m] * h[2 * m] + h[2 * m + 1] * h[2 * m + 1] : h[m] * h[m];
        one += sqrt(power);
        two += power;
    }
    return LARGEST_TO_RMS * e * (log2(2 * n) * sqrt(two) + 10 * one);
}

/* ---- stored types ------------------------------------------------------------------------------------------------ */

static void find_range(enum lw_scalar scalar, double *least, double *most)
{
    switch (scalar) {
    case LW_INT8:
        *least = INT8_MIN, *most = INT8_MAX;
        return;
    case LW_UINT8:
        *least = 0, *most = UINT8_MAX;
        return;
    case LW_INT16:
        *least = INT16_MIN, *most = INT16_MAX;
        return;
    case LW_UINT16:
        *least = 0, *most = UINT16_MAX;
        return;
    case LW_INT32:
        *least = INT32_MIN, *most = INT32_MAX;
        return;
    default:
        *least = -65504, *most = 65504;
    }
}

/* What rounding to the type changes a value of this size by, at most. */
static double rounding_of(enum lw_scalar scalar, double size)
{
    if (lw_scalar_is_integer(scalar))
        return 0.5;
    if (scalar == LW_FLOAT16)
        return fmax(size * 0x1p-11, 0x1p-25);
    return scalar == LW_FLOAT32 ? fmax(size * (FLT_EPSILON / 2), FLT_MIN) : fmax(size * (DBL_EPSILON / 2), DBL_MIN);
}

static double fail_nan(bool is_nan) { return is_nan ? NAN : 0; }

/* One part of a number. */
static double part_of(const struct lw_verify *verify, struct lw_type type, double scale, double got, double wanted, double allowed)
{
    const bool saturates = lw_scalar_saturates(type.scalar), is_single = verify->job.op.precision == LW_SINGLE;
    const double unit = saturates && scale > 0 ? scale : 1, epsilon = is_single ? FLT_EPSILON : DBL_EPSILON;
    const double squares = lw_post_has(verify->shape.post, LW_POST_REAL) ? 2 * epsilon : 0, division = unit != 1 ? epsilon : 0;
    double want = wanted / unit, least, most;
    if (saturates) {
        find_range(type.scalar, &least, &most);
        want = fmin(fmax(want, least), most);
    }
    const double slack = rounding_of(type.scalar, fabs(want)) + (squares + division) * fabs(want);
    if (isnan(got)) /* where a number is due: fmax would take it for no error */
        return NAN;
    if (isinf(got)) /* a power beyond the type's range */
        return fail_nan(!(fabs(want) > FLT_MAX * 0.99));
    const double error = fmax(0, fabs(got - want) - slack);
    return error > 0 ? error * unit / allowed : 0;
}

double lw_verify_part(const struct lw_verify *verify, struct lw_type type, double scale, double complex got,
                      const struct lw_verify_truth *truth)
{
    const bool is_integer = lw_scalar_is_integer(type.scalar);
    if (truth->is_nan && is_integer)
        return fail_nan(got != 0);
    if (truth->is_nan)
        return fail_nan(!isnan(creal(got)) || (type.is_complex && !isnan(cimag(got))));
    const double re = part_of(verify, type, scale, creal(got), creal(truth->value), truth->allowed);
    const double im = type.is_complex ? part_of(verify, type, scale, cimag(got), cimag(truth->value), truth->allowed) : 0;
    return isnan(re) || isnan(im) ? NAN : fmax(re, im);
}
