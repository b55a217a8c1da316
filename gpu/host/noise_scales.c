#include "gpu/host/noise_scales.h"

#include <float.h>

int64_t lw_cuda_scales_bytes(const struct lw_search *search, int64_t n, enum lw_precision precision)
{
    return lw_search_is_needed(search) ? n * (int64_t)lw_scalar_bytes(lw_computed_scalar(precision)) : 0;
}

/* A search for the best filter alone has no threshold: 1 stands in for it, because any common factor leaves the order the same. */
double lw_cuda_scale_of(const struct lw_search *search, int64_t i)
{
    const double sigma = search->noise ? search->noise[i] : 1;
    const double threshold = search->threshold > 0 ? search->threshold : 1;
    return sigma > 0 ? 1 / threshold / sigma : NAN;
}

void lw_cuda_put_scale(enum lw_precision precision, void *scales, int64_t i, double scale)
{
    const double most = precision == LW_SINGLE ? FLT_MAX : DBL_MAX, finite = fabs(scale) > most ? copysign(most, scale) : scale;
    lw_type_put((struct lw_type){.scalar = lw_computed_scalar(precision)}, scales, i, finite);
}

void lw_cuda_scales(const struct lw_search *search, int64_t n, enum lw_precision precision, void *scales)
{
    for (int64_t i = 0; i < n; i++)
        lw_cuda_put_scale(precision, scales, i, lw_cuda_scale_of(search, i));
}
