/* select.h - the k-th smallest of an array, found without sorting. Pure arithmetic. */
#pragma once

#include <stdint.h>

/** Return the value that x[k] would have if all n numbers were sorted, 0 <= k < n. Hoare's selection takes time proportional to
 * n. `x` is reordered: no number before x[k] is larger, none after it smaller. No number may be NaN. */
double lw_select(double *x, int64_t n, int64_t k);
