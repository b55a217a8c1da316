#include "sfft/dense.h"

#include "base/integers.h"

/* Measured with FFTW 3.3.10 on some 400 lengths up to 2^26, beside 2 MiB at most: as much as the samples for complex numbers
 * and for multiples of 32, 2.4 times that for other real lengths, and 7.4 times where a large prime factor makes it a
 * convolution of more than twice the length. */
int64_t lw_sfft_fftw_bytes(int64_t n, bool is_real)
{
    const int64_t samples = lw_sfft_dense_samples_bytes(n, is_real), fixed = (int64_t)2 << 20;
    if (!lw_has_factors_up_to(13, n))
        return 8 * samples + fixed;
    return is_real && n % 32 != 0 ? 3 * samples + fixed : samples + samples / 4 + fixed;
}
