/* convert.h - integers as floating-point numbers of the same value, and numbers that are none: for axes with gaps. */
#ifndef LW_IO_READ_CONVERT_H
#define LW_IO_READ_CONVERT_H

#include "base/type.h"

#include <stdint.h>

/** The type that holds every value of an integer type and NaN; of floating-point types the same. */
struct lw_type lw_convert_type(struct lw_type type);

/** `n` samples of an integer type as samples of lw_convert_type. */
void lw_convert(struct lw_type type, const void *from, int64_t n, void *to);

/** `n` samples of a floating-point type, each part not a number. */
void lw_convert_fill_nan(struct lw_type type, int64_t n, void *to);

#endif
