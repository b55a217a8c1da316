/* scales.h - what outputs are multiplied with before they are held against 1 in a search: see signal/search.h. */
#ifndef LW_GPU_HOST_SCALES_H
#define LW_GPU_HOST_SCALES_H

#include "base/type.h"
#include "signal/search.h"

/** Bytes of n reals of the computing precision; 0: nothing is searched. */
int64_t lw_cuda_scales_bytes(const struct lw_search *search, int64_t n, enum lw_precision precision);

/** 1 / (threshold sigma), and 0 where sigma is 0, for the first n of the search's noise. @param scales  host */
void lw_cuda_scales(const struct lw_search *search, int64_t n, enum lw_precision precision, void *scales);

#endif
