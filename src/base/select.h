/* select.h - the value at a place of a sorted array, without sorting it. Pure. */
#pragma once

#include <stdint.h>

/** @return  what x[k] would be if all n numbers were sorted, 0 <= k < n, by Hoare's selection, in time n. `x` is reordered: none
 * before x[k] is larger and none behind it smaller. No number is NaN. */
double lw_select(double *x, int64_t n, int64_t k);
