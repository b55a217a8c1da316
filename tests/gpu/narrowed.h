/* narrowed.h - what an output becomes in a narrow type (gpu/device/narrow.h): the definition, for tests. */
#pragma once

#include "engine/engine.h"

#include <math.h>

/* Return the number that is stored for `number`, which is already scaled, and count its loss. */
static inline double narrowed(enum lw_scalar scalar, double number, struct lw_loss *loss)
{
    if (scalar == LW_FLOAT16) {
        const uint16_t half = lw_half_of_double(number);
        const bool is_beyond = isfinite(number) && fabs(number) >= LW_HALF_BEYOND;
        loss->n_saturated += is_beyond;
        return lw_half_value(is_beyond ? lw_half_largest(half) : half);
    }
    const double span = (double)(1 << 8 * lw_scalar_bytes(scalar)), least = lw_scalar_is_signed(scalar) ? -span / 2 : 0;
    const double rounded = rint(number), inside = fmin(fmax(rounded, least), least + span - 1);
    if (isnan(number)) {
        loss->n_nan++;
        return 0;
    }
    loss->n_saturated += inside != rounded;
    return inside;
}
