/* numbers.h - all numbers of a small dataset. */
#pragma once

#include "io/format.h"

/** lw_format.read_numbers, or what stands for it; packed numbers are given as what they stand for. */
int lw_format_read_numbers(const struct lw_format *format, const struct lw_dataset_info *info, double *values,
                           struct lw_error *err);
