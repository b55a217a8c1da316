#include "gpu/device/narrow.h"

bool lw_narrowing_exists(enum lw_precision precision, enum lw_scalar scalar)
{
    return precision == LW_SINGLE && lw_scalar_saturates(scalar) && lw_scalar_bytes(scalar) <= 2;
}

/* The least integer of each type is even, and the largest is odd. So the least number minus 1/2 still rounds to the least integer,
 * and the largest plus 1/2 does not round to the largest. */
struct lw_narrowing lw_narrowing_to(enum lw_scalar scalar, double factor, struct lw_nan_report *report)
{
    const double beyond_all = 1e260;        /* scales every float but zero beyond every type; products do not overflow double */
    struct lw_narrowing n = {
        .bytes = (int)lw_scalar_bytes(scalar), .is_integer = lw_scalar_is_integer(scalar), .factor = fmin(factor, beyond_all),
        .report = report,
    };
    if (!n.is_integer) {
        n.most = nextafterf(LW_HALF_BEYOND, 0);
        n.least = -n.most;
        n.reach = n.most;
        return n;
    }
    const float span = (float)(1 << 8 * n.bytes), lowest = lw_scalar_is_signed(scalar) ? -span / 2 : 0;
    n.least = lowest - 0.5F;
    n.most = nextafterf(lowest + span - 0.5F, 0);
    n.middle = lowest < 0 ? 0 : (span - 1) / 2;
    n.reach = lowest < 0 ? n.most : (span - 1) / 2;
    return n;
}
