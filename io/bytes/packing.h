/* packing.h - turn stored numbers into values, where the attributes of a file define a packing:
 *
 *     value = stored x scale + offset;  a value is not a number where stored is one of `missing`, or not in [low, high]
 *
 * Sources: the CF conventions, sections 2.5.1 ("Missing data, valid and actual range") and 8.1 ("Packed data"), and the NetCDF
 * User's Guide, Appendix A (valid_range, _Unsigned). `missing`, low and high are compared with stored numbers. Pure functions. */
#pragma once

#include "base/type.h"

enum { LW_MOST_MISSING = 4, LW_PACKING_TEXT = 240 };

struct lw_packing {
    bool is_on;                 /* false: stored numbers are the values; the members below are not used */
    bool has_other_sign;        /* signed integers are to be read as unsigned, and unsigned as signed */
    double scale, offset;       /* a complex number gets the offset in its real part only */
    double low, high;           /* valid range of real numbers; infinite: no limit */
    int n_missing;
    double missing[LW_MOST_MISSING];
};

/** Return whether every stored number is already its value, so that there is nothing to undo. @param type  stored type */
bool lw_packing_is_trivial(const struct lw_packing *packing, struct lw_type type);

/** Turn n samples from stored numbers of `type` into values, in place. A complex sample has two. Does nothing unless is_on. */
void lw_packing_undo(const struct lw_packing *packing, struct lw_type type, int64_t n, double *numbers);

/** Write a text like "stored x 0.5 + 3; not a number: -32768, numbers outside -100..100" into `text` and return `text`. */
const char *lw_packing_text(const struct lw_packing *packing, char text[LW_PACKING_TEXT]);
