/* noise_scales.h - a search's scales: it multiplies each output by its scale and compares the product with 1 (signal/search.h). */
#pragma once

#include "base/type.h"
#include "signal/search.h"

/** Return the bytes of n scales of the computing precision; 0 if there is no search. */
int64_t lw_cuda_scales_bytes(const struct lw_search *search, int64_t n, enum lw_precision precision);

/** Return 1 / (threshold sigma), where sigma is entry i of the search's noise; NaN if sigma is 0, since nothing reaches NaN. */
double lw_cuda_scale_of(const struct lw_search *search, int64_t i);

/** Set scales[i], host; a scale beyond the range of the precision becomes its largest finite number, with the scale's sign. */
void lw_cuda_put_scale(enum lw_precision precision, void *scales, int64_t i, double scale);

/** Fill an array of n scales. @param scales  host, lw_cuda_scales_bytes long */
void lw_cuda_scales(const struct lw_search *search, int64_t n, enum lw_precision precision, void *scales);
