/* noise_scales.h - what outputs are multiplied with before they are held against 1 in a search: see signal/search.h. */
#pragma once

#include "base/type.h"
#include "signal/search.h"

/** Bytes of n reals of the computing precision; 0: nothing is searched. */
int64_t lw_cuda_scales_bytes(const struct lw_search *search, int64_t n, enum lw_precision precision);

/** 1 / (threshold sigma) for number i of the search's noise; 0 where sigma is 0. */
double lw_cuda_scale_of(const struct lw_search *search, int64_t i);

/** Set number i of an array of scales on the host to one, or to the largest finite number of its sign where it is beyond that. */
void lw_cuda_put_scale(enum lw_precision precision, void *scales, int64_t i, double scale);

/** All of the first n. @param scales  host, lw_cuda_scales_bytes of it */
void lw_cuda_scales(const struct lw_search *search, int64_t n, enum lw_precision precision, void *scales);
