/* noise_scales.h - the factors that a search multiplies outputs by before it compares them with 1: see signal/search.h. */
#pragma once

#include "base/type.h"
#include "signal/search.h"

/** Return the bytes of n scales of the computing precision; 0 without a search. */
int64_t lw_cuda_scales_bytes(const struct lw_search *search, int64_t n, enum lw_precision precision);

/** Return 1 / (threshold sigma) for entry i of the search's noise; 0 where sigma is 0. */
double lw_cuda_scale_of(const struct lw_search *search, int64_t i);

/** Set entry i of a host array of scales; a scale beyond the precision's range becomes the largest finite number of its sign. */
void lw_cuda_put_scale(enum lw_precision precision, void *scales, int64_t i, double scale);

/** Fill the first n scales. @param scales  host, lw_cuda_scales_bytes */
void lw_cuda_scales(const struct lw_search *search, int64_t n, enum lw_precision precision, void *scales);
