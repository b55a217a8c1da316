/* stored_taps.h - the taps of a bank in the type in which a file stores them, and their way to float64. Pure. */
#pragma once

#include "base/error.h"
#include "base/linkage.h"
#include "base/type.h"

LW_C_BEGIN

struct lw_stored_taps {
    const void *data;           /* [n_filters x n_taps] of `type`; host, borrowed */
    struct lw_type type;
    bool is_reversed;           /* the filters are the stored taps conjugated and reversed, for a correlation */
};

/** Return the taps that are stored as float64, or as pairs of float64. */
struct lw_stored_taps lw_stored_doubles(const double *taps, bool is_complex);

/** Return the taps from filter number `filter` on. */
struct lw_stored_taps lw_stored_from(const struct lw_stored_taps *taps, int64_t n_taps, int64_t filter);

/** Write the taps of a filter, in the order in which a convolution takes them.
 * @param out  [n_taps], or [n_taps x 2] if complex */
void lw_stored_filter(const struct lw_stored_taps *taps, int64_t n_taps, int64_t filter, double *out);

/** Return all filters, one after the other, to be released with lw_free; NULL: no memory, and `err` is set. */
double *lw_stored_all(const struct lw_stored_taps *taps, int64_t n_filters, int64_t n_taps, struct lw_error *err);

/** Return |h|^2 of one tap of a filter. */
double lw_stored_energy(const struct lw_stored_taps *taps, int64_t n_taps, int64_t filter, int64_t tap);

LW_C_END
