#include "io/bytes/packing.h"

#include "base/text.h"

#include <stdio.h>

bool lw_packing_is_trivial(const struct lw_packing *packing, struct lw_type type)
{
    const bool is_signed = lw_scalar_is_signed(type.scalar) != packing->has_other_sign;
    const double numbers = ldexp(1, 8 * (int)lw_scalar_bytes(type.scalar));
    const double least = is_signed ? -numbers / 2 : 0, most = least + numbers - 1;
    const bool all_valid = lw_scalar_is_integer(type.scalar) ? packing->low <= least && packing->high >= most
                                                             : isinf(packing->low) && isinf(packing->high);
    return !packing->has_other_sign && packing->scale == 1 && packing->offset == 0 && packing->n_missing == 0 && all_valid;
}

static void undo_real(const struct lw_packing *packing, int64_t n, double *numbers)
{
    const double scale = packing->scale, offset = packing->offset, low = packing->low, high = packing->high;
    for (int m = 0; m < packing->n_missing; m++)
        for (int64_t i = 0; i < n; i++)
            numbers[i] = numbers[i] == packing->missing[m] ? (double)NAN : numbers[i];
    for (int64_t i = 0; (isfinite(low) || isfinite(high)) && i < n; i++)
        numbers[i] = numbers[i] >= low && numbers[i] <= high ? numbers[i] : (double)NAN;
    for (int64_t i = 0; i < n; i++)
        numbers[i] = numbers[i] * scale + offset;
}

/* Complex numbers have no order, and so no valid range. */
static void undo_complex(const struct lw_packing *packing, int64_t n, double *numbers)
{
    for (int m = 0; m < packing->n_missing; m++)
        for (int64_t i = 0; i < 2 * n; i += 2)
            if (numbers[i] == packing->missing[m] && numbers[i + 1] == 0)
                numbers[i] = numbers[i + 1] = (double)NAN;
    for (int64_t i = 0; i < 2 * n; i += 2) {
        numbers[i] = numbers[i] * packing->scale + packing->offset;
        numbers[i + 1] *= packing->scale;
    }
}

void lw_packing_undo(const struct lw_packing *packing, struct lw_type type, int64_t n, double *numbers)
{
    if (!packing->is_on)
        return;
    const double all = ldexp(1, 8 * (int)lw_scalar_bytes(type.scalar)), half = all / 2;
    const bool is_signed = lw_scalar_is_signed(type.scalar);
    for (int64_t i = 0; packing->has_other_sign && is_signed && i < n; i++)
        numbers[i] += numbers[i] < 0 ? all : 0;
    for (int64_t i = 0; packing->has_other_sign && !is_signed && i < n; i++)
        numbers[i] -= numbers[i] >= half ? all : 0;
    if (type.is_complex)
        undo_complex(packing, n, numbers);
    else
        undo_real(packing, n, numbers);
}

const char *lw_packing_text(const struct lw_packing *packing, char text[LW_PACKING_TEXT])
{
    const char *before = "; not a number: ";
    snprintf(text, LW_PACKING_TEXT, "stored%s", packing->has_other_sign ? " (sign by _Unsigned)" : "");
    if (packing->scale != 1)
        lw_append(text, LW_PACKING_TEXT, " x %.9g", packing->scale);
    if (packing->offset != 0)
        lw_append(text, LW_PACKING_TEXT, " %c %.9g", packing->offset < 0 ? '-' : '+', fabs(packing->offset));
    for (int m = 0; m < packing->n_missing; m++, before = ", ")
        lw_append(text, LW_PACKING_TEXT, "%s%.9g", before, packing->missing[m]);
    if (isfinite(packing->low) || isfinite(packing->high))
        lw_append(text, LW_PACKING_TEXT, "%snumbers outside %.9g..%.9g", before, packing->low, packing->high);
    return text;
}
