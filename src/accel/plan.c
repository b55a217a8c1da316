#include "accel/normalize.h"
#include "accel/templates.h"
#include "base/integers.h"
#include "signal/significance.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

int64_t lw_accel_good_length(int64_t n)
{
    n = lw_round_up(n, 2);
    while (!lw_has_factors_up_to(7, n))
        n += 2;
    return n;
}

/* The largest drifts: indices of z fit into 16 bits (struct lw_accel_hit), and templates stay within reason. */
#define MOST_Z 16384
#define MOST_W 65536
#define LEAST_LOST 1e-4

static int check(const struct lw_accel_spec *spec, struct lw_error *err)
{
    if (spec->n < LW_ACCEL_LEAST_SAMPLES || spec->n > LW_ACCEL_MOST_SAMPLES)
        return lw_fail(err, LW_ECONFIG, "a series of %" PRId64 " samples cannot be searched: it must have %" PRId64 " to %" PRId64
                       " samples", spec->n, LW_ACCEL_LEAST_SAMPLES, LW_ACCEL_MOST_SAMPLES);
    if (spec->n_fft < spec->n || spec->n_fft % 2 || spec->n_fft > 2 * LW_ACCEL_MOST_SAMPLES)
        return lw_fail(err, LW_ECONFIG, "a transform of %" PRId64 " samples does not fit a series of %" PRId64 ": it must be even, "
                       "no shorter than the series, and at most %" PRId64, spec->n_fft, spec->n, 2 * LW_ACCEL_MOST_SAMPLES);
    if (spec->n_stages < 1 || spec->n_stages > LW_ACCEL_MOST_STAGES)
        return lw_fail(err, LW_ECONFIG, "%d stages of sums over harmonics are not in 1..%d", spec->n_stages, LW_ACCEL_MOST_STAGES);
    if (!(spec->z_max >= 0 && spec->z_max <= MOST_Z))
        return lw_fail(err, LW_ECONFIG, "a largest drift of %g bins is not in 0..%d", spec->z_max, MOST_Z);
    if (!(spec->w_max >= 0 && spec->w_max <= MOST_W))
        return lw_fail(err, LW_ECONFIG, "a largest change of the drift of %g bins is not in 0..%d", spec->w_max, MOST_W);
    if (!(spec->r_low >= 1 && spec->r_low < spec->r_high && spec->r_high <= (double)(spec->n_fft / 2)))
        return lw_fail(err, LW_ECONFIG, "frequencies of %g to %g bins cannot be searched: give a range within 1..%" PRId64 " bins",
                       spec->r_low, spec->r_high, spec->n_fft / 2);
    if (!(spec->sigma > 0 && spec->sigma < 1000))
        return lw_fail(err, LW_ECONFIG, "a least significance of %g is not above 0 and below 1000", spec->sigma);
    if (!(spec->lost == 0 || (spec->lost >= LEAST_LOST && spec->lost <= 0.5)))
        return lw_fail(err, LW_ECONFIG, "a lost power of %g is not in %g..0.5", spec->lost, LEAST_LOST);
    return LW_OK;
}

/* The widest templates have the largest z or the largest w, or both; the signs of z and w do not matter. */
static int measure_widths(struct lw_accel_plan *plan, struct lw_error *err)
{
    for (int z = plan->n_z / 2; z < plan->n_z; z++)
        for (int w = plan->n_w / 2; w < plan->n_w; w++) {
            int half_width;
            const int rc = lw_accel_half_width(&plan->spec, lw_accel_z(plan, z), lw_accel_w(plan, w), &half_width, err);
            if (rc)
                return rc;
            plan->half_width = half_width > plan->half_width ? half_width : plan->half_width;
        }
    if (2 * (int64_t)plan->half_width + 1 > plan->n_bins)
        return lw_fail(err, LW_ECONFIG, "a series of %" PRId64 " samples is too short for drifts of %g bins and changes of the "
                       "drift of %g: their responses take %d bins, its spectrum has %" PRId64, plan->spec.n, plan->spec.z_max,
                       plan->spec.w_max, 2 * plan->half_width + 1, plan->n_bins);
    return LW_OK;
}

/* Independent trials as PRESTO counts them: they lie 1 bin, 6.95 bins of drift and 44.2 bins of its change apart; a step is added
 * to the ranges of drifts, as signals beyond the ends are found too; of sums of H harmonics there are 1 / H as many (its
 * src/accel_utils.c, create_accelobs). */
static double count_trials(const struct lw_accel_plan *plan, int harmonics)
{
    double trials = (plan->spec.r_high - plan->spec.r_low) / harmonics;
    if (plan->n_z > 1 || plan->n_w > 1)
        trials *= (plan->n_z + 1) * (LW_ACCEL_Z_STEP / 6.95);
    if (plan->n_w > 1)
        trials *= (plan->n_w + 1) * (LW_ACCEL_W_STEP / 44.2);
    return fmax(trials, 1);
}

int lw_accel_plan(const struct lw_accel_spec *spec, struct lw_accel_plan *plan, struct lw_error *err)
{
    const int rc = check(spec, err);
    if (rc)
        return rc;
    *plan = (struct lw_accel_plan){.spec = *spec, .n_bins = spec->n_fft / 2,
                                   .begin = (int64_t)ceil(LW_ACCEL_STEPS * spec->r_low),
                                   .n_z = 2 * (int)ceil(spec->z_max / LW_ACCEL_Z_STEP) + 1,
                                   .n_w = 2 * (int)ceil(spec->w_max / LW_ACCEL_W_STEP) + 1};
    plan->n_blocks = lw_accel_blocks(plan->n_bins, NULL);
    plan->end = lw_min64((int64_t)floor(LW_ACCEL_STEPS * spec->r_high) + 1, LW_ACCEL_STEPS * plan->n_bins);
    for (int stage = 0; stage < spec->n_stages; stage++) {
        plan->trials[stage] = count_trials(plan, 1 << stage);
        plan->least[stage] = (float)lw_sum_for_sigma(1 << stage, spec->sigma, plan->trials[stage]);
    }
    return measure_widths(plan, err);
}
