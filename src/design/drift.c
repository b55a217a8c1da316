#include "design/drift.h"

#include "base/integers.h"
#include "base/memory.h"
#include "design/quadrature.h"
#include "design/transform.h"

#include <math.h>

/* The frequency z (u - 1/2) + w (u^2 / 2 - u / 2 + 1/12) is farthest from its mean at an end: its extreme between is at most
 * |z| / 4 + |w| / 24 from it. */
double lw_drift_excursion(double z, double w) { return fabs(z) / 2 + fabs(w) / 12; }

/* Values of an oscillation for an integral that is exact to 1e-12. */
enum { VALUES_OF_PERIOD = 32, LEAST_VALUES = 512 };

/* Values of the drift alone at u = k / n with the weights of the quadrature. The transform of n steps values multiplies them by
 * exp(2 pi i j k / (n steps)); value n lies in its range, or beside value 0 for one step. */
static void sample(double z, double w, int64_t n, int64_t length, double *data)
{
    double ends[LW_QUADRATURE_ENDS];
    lw_quadrature_ends(ends);
    for (int64_t k = 0; k <= n; k++) {
        const int64_t end = lw_min64(k, n - k);
        const double weight = (end < LW_QUADRATURE_ENDS ? ends[end] : 1) / (double)n, u = (double)k / (double)n;
        const double phase = 2 * M_PI * u * (u - 1) * (z / 2 + w * (2 * u - 1) / 12);
        data[2 * (k % length)] += weight * cos(phase);
        data[2 * (k % length) + 1] += weight * sin(phase);
    }
}

int lw_drift_response(double z, double w, int steps, int half_width, double *out, struct lw_error *err)
{
    const int64_t periods = half_width + (int64_t)ceil(lw_drift_excursion(z, w));
    const int64_t n = lw_power_of_two(lw_max64(VALUES_OF_PERIOD * periods, LEAST_VALUES)), length = n * steps;
    const int64_t doubles = lw_transform_doubles(LW_TRANSFORM_BACKWARD, length);
    LW_FREED double *const data = lw_alloc_array(doubles, sizeof *data, "a response", err);
    struct lw_transform *transform = NULL;
    const int rc = data ? lw_transform_create(LW_TRANSFORM_BACKWARD, length, &transform, err) : LW_ESYSTEM;
    if (!rc) {
        sample(z, w, n, length, data);
        lw_transform_run(transform, data);
        const int64_t half = (int64_t)half_width * steps;
        for (int64_t j = -half; j <= half; j++)
            for (int part = 0; part < 2; part++)
                out[2 * (j + half) + part] = data[2 * lw_mod(j, length) + part];
    }
    lw_transform_destroy(transform);
    return rc;
}

/* All points of a response at one fraction of a bin have a power of 1 together. The power beyond an end varies with the fraction f
 * no faster than cos(2 pi f): between fractions of 1/8 it is at most 1 / cos(pi / 8) of the greater one at its neighbours. */
enum { FRACTIONS = 8 };

/* Return the least half width that loses at most `lost` of the power at all fractions; -1: it is above `most`. */
static int least_half_width(const double *response, int most, double lost)
{
    double kept[FRACTIONS] = {0};
    const int middle = most * FRACTIONS;
    for (int half = 0, distance = 0; half <= most; half++) {
        for (; distance <= half * FRACTIONS; distance++)
            for (int side = distance ? -1 : 1; side <= 1; side += 2) {
                const double *const a = response + 2 * (middle + side * distance);
                kept[lw_mod(side * distance, FRACTIONS)] += a[0] * a[0] + a[1] * a[1];
            }
        double least = 1;
        for (int f = 0; f < FRACTIONS; f++)
            least = fmin(least, kept[f]);
        if (1 - least <= lost * cos(M_PI / FRACTIONS))
            return half;
    }
    return -1;
}

int lw_drift_half_width(double z, double w, double lost, int *half_width, struct lw_error *err)
{
    *half_width = -1;
    for (int most = (int)lw_drift_excursion(z, w) + 32; *half_width < 0; most *= 2) {
        const int64_t doubles = 2 * ((int64_t)2 * most * FRACTIONS + 1);
        LW_FREED double *const response = lw_alloc_array(doubles, sizeof *response, "a response", err);
        const int rc = response ? lw_drift_response(z, w, FRACTIONS, most, response, err) : LW_ESYSTEM;
        if (rc)
            return rc;
        *half_width = least_half_width(response, most, lost);
    }
    return LW_OK;
}
