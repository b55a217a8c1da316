/* nppi_filtering_functions.h - the part of NVIDIA's NPP that a rival uses, for the emulation: true convolution. Its anchor counts
 * from the kernel's last tap to its first, as in IPP. */
#pragma once

#include <cuda_runtime.h>

typedef float Npp32f;
typedef int Npp32s;
enum NppStatus { NPP_SUCCESS };
enum NppiBorderType { NPP_BORDER_REPLICATE = 2 };

struct NppiSize {
    int width, height;
};

struct NppiPoint {
    int x, y;
};

struct NppStreamContext {
    cudaStream_t hStream;
    int nCudaDeviceId, nMultiProcessorCount, nMaxThreadsPerMultiProcessor, nMaxThreadsPerBlock;
    size_t nSharedMemPerBlock;
    int nCudaDevAttrComputeCapabilityMajor, nCudaDevAttrComputeCapabilityMinor;
    unsigned nStreamFlags;
};

/* Filter an image; pixel(y, x) reads the source. */
template <class Pixel> NppStatus emulated_filter(Pixel pixel, Npp32f *to, Npp32s to_step, NppiSize size, const Npp32f *taps,
                                                 NppiSize kernel, NppiPoint anchor)
{
    for (int i = 0; i < size.height; ++i)
        for (int j = 0; j < size.width; ++j) {
            float sum = 0;
            for (int m = 0; m < kernel.height; ++m)
                for (int n = 0; n < kernel.width; ++n)
                    sum += taps[m * kernel.width + n] * pixel(i + anchor.y - m, j + anchor.x - n);
            ((Npp32f *)((char *)to + (size_t)i * to_step))[j] = sum;
        }
    return NPP_SUCCESS;
}

inline NppStatus nppiFilter_32f_C1R_Ctx(const Npp32f *from, Npp32s from_step, Npp32f *to, Npp32s to_step, NppiSize size,
                                        const Npp32f *taps, NppiSize kernel, NppiPoint anchor, NppStreamContext)
{
    const auto pixel = [=](int y, int x) { return ((const Npp32f *)((const char *)from + (ptrdiff_t)y * from_step))[x]; };
    return emulated_filter(pixel, to, to_step, size, taps, kernel, anchor);
}

inline NppStatus nppiFilterBorder_32f_C1R_Ctx(const Npp32f *from, Npp32s from_step, NppiSize source, NppiPoint, Npp32f *to,
                                              Npp32s to_step, NppiSize size, const Npp32f *taps, NppiSize kernel, NppiPoint anchor,
                                              NppiBorderType, NppStreamContext)
{
    const auto within = [](int at, int end) { return at < 0 ? 0 : at < end ? at : end - 1; };
    const auto pixel = [=](int y, int x) {
        return ((const Npp32f *)((const char *)from + (size_t)within(y, source.height) * from_step))[within(x, source.width)];
    };
    return emulated_filter(pixel, to, to_step, size, taps, kernel, anchor);
}
