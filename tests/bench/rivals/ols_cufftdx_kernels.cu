/* ols_cufftdx_kernels.cu - kernels of one kind (DX_KIND), length (DX_N) and exchange (DX_EXCHANGE). Exchange 1 moves real and
 * imaginary parts one after the other through half the shared memory; 2 moves them together. build.sh compiles this file once for
 * each combination. */
#if DX_EXCHANGE == 1
#define CUFFTDX_DETAIL_BLOCK_FFT_ENFORCE_X_TRANSPOSITION
#else
#define CUFFTDX_DETAIL_BLOCK_FFT_ENFORCE_XY_TRANSPOSITION
#endif
#include "ols_cufftdx.cuh"

#define STRING_(x) #x
#define STRING(x) STRING_(x)

/* Add kernels for every number of dropped points that leaves at least half of this length, and not nearly all of it. */
template <int POINTS, int FFTS, bool SHARED, int BLOCKS> static void add(const char *text)
{
    constexpr int length = DX_KIND == DX_FOLDED ? 2 * DX_N : DX_N;
#define ADD(discard)                                                                            \
    if constexpr (2 * discard <= length && length <= 16 * discard)                              \
        dx_add<DX_KIND, DX_N, POINTS, FFTS, DX_EXCHANGE, SHARED, BLOCKS, discard>(text);
    ADD(64) ADD(256) ADD(512) ADD(1024) ADD(2048) ADD(4096) ADD(8192)
}

#define KERNELS(points, ffts, shared, blocks)                                                                                 \
    add<points, ffts, shared, blocks>(STRING(points) " points, " STRING(ffts) " a block, exchange " STRING(DX_EXCHANGE)       \
                                      ", shared " STRING(shared) ", blocks " STRING(blocks))

static const bool are_added = [] {
#if DX_N == 512
    KERNELS(16, 1, 0, 20); KERNELS(16, 4, 0, 5); KERNELS(8, 1, 0, 16);
#elif DX_N == 1024
    KERNELS(16, 1, 0, 10); KERNELS(16, 2, 0, 5); KERNELS(16, 1, 1, 12); KERNELS(8, 1, 0, 8);
#elif DX_N == 2048
    KERNELS(16, 1, 0, 5); KERNELS(16, 1, 0, 6); KERNELS(16, 1, 1, 6); KERNELS(8, 1, 0, 4);
#elif DX_N == 4096
    KERNELS(16, 1, 0, 1); KERNELS(16, 1, 0, 3); KERNELS(16, 1, 1, 3); KERNELS(8, 1, 0, 2);
#elif DX_N == 8192
    KERNELS(16, 1, 0, 1); KERNELS(16, 1, 1, 1); KERNELS(16, 1, 1, 2);
#else
    KERNELS(16, 1, 1, 1); KERNELS(32, 1, 1, 1);
#endif
    return true;
}();
