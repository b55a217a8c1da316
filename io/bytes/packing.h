/* packing.h - what stored numbers stand for, where a file says so:
 *
 *     value = stored x scale + offset          not a number where stored is one of `missing`, or not in [low, high]
 *
 * as the CF conventions have it (sections 2.5.1, "Missing data, valid and actual range", and 8.1, "Packed data"), and the NetCDF
 * User's Guide (Appendix A: valid_range, _Unsigned). The attributes are about stored numbers. Pure. */
#pragma once

#include "base/type.h"

enum { LW_MOST_MISSING = 4, LW_PACKING_TEXT = 240 };

struct lw_packing {
    bool is_on;                 /* else stored numbers are the values, and nothing below counts */
    bool has_other_sign;        /* signed integers count as unsigned ones, and unsigned as signed */
    double scale, offset;       /* of complex numbers, the offset is that of the real part */
    double low, high;           /* of real numbers; infinite: all are valid */
    int n_missing;
    double missing[LW_MOST_MISSING];
};

/** Whether every number of a type is a value of its own, so that nothing is to be done. @param type  as stored */
bool lw_packing_is_trivial(const struct lw_packing *packing, struct lw_type type);

/** Make values of stored numbers, in place: n samples, complex ones are pairs. Nothing where the packing is not on.
 * @param type  as stored */
void lw_packing_undo(const struct lw_packing *packing, struct lw_type type, int64_t n, double *numbers);

/** "stored x 0.5 + 3; not a number: -32768, what is outside -100..100". Returns `text`. */
const char *lw_packing_text(const struct lw_packing *packing, char text[LW_PACKING_TEXT]);
