/* integers.h - the smaller, the larger, rounding up: for counts and places of samples. */
#ifndef LW_BASE_INTEGERS_H
#define LW_BASE_INTEGERS_H

#include <stdint.h>

static inline int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

/** a / b rounded up, for b > 0; it cannot overflow. */
static inline int64_t divide_up(int64_t a, int64_t b) { return a / b + (a % b > 0); }

/** The least multiple of `unit` > 0 that is not less than a. */
static inline int64_t round_up(int64_t a, int64_t unit) { return divide_up(a, unit) * unit; }

#endif
