/* dense.h - bytes of the transform of all samples. Pure arithmetic. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Bytes of all samples of a channel as the dense transform takes them: room for half the spectrum of a real signal. */
static inline int64_t lw_sfft_dense_samples_bytes(int64_t n, bool is_real)
{
    return (is_real ? n / 2 + 1 : n) * 2 * (int64_t)sizeof(double);
}

/** Bytes that FFTW takes for itself beside the n samples of a transform in place, at most, as measured. */
int64_t lw_sfft_fftw_bytes(int64_t n, bool is_real);
