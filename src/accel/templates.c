#include "accel/templates.h"

#include "base/memory.h"
#include "design/drift.h"

int lw_accel_half_width(const struct lw_accel_spec *spec, double z, double w, int *half_width, struct lw_error *err)
{
    if (spec->lost > 0)
        return lw_drift_half_width(z, w, spec->lost, half_width, err);
    *half_width = (int)(1.1 * lw_drift_excursion(z, w)) + 16;
    return LW_OK;
}

int lw_accel_template(const struct lw_accel_plan *plan, int z, int w, float *out, struct lw_error *err)
{
    int own;
    const int rc = lw_accel_half_width(&plan->spec, lw_accel_z(plan, z), lw_accel_w(plan, w), &own, err);
    if (rc)
        return rc;
    const int64_t half = (int64_t)LW_ACCEL_STEPS * plan->half_width, own_half = (int64_t)LW_ACCEL_STEPS * own;
    LW_FREED double *const response = lw_alloc_array(2 * (2 * own_half + 1), sizeof *response, "a template", err);
    if (!response || lw_drift_response(lw_accel_z(plan, z), lw_accel_w(plan, w), LW_ACCEL_STEPS, own, response, err))
        return LW_ESYSTEM;

    for (int64_t j = -half; j <= half; j++) {
        const bool is_within = -own_half <= j && j <= own_half;
        out[2 * (j + half)] = is_within ? (float)response[2 * (j + own_half)] : 0;
        out[2 * (j + half) + 1] = is_within ? (float)-response[2 * (j + own_half) + 1] : 0;
    }
    return LW_OK;
}
