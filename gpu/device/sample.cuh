/* sample.cuh - stored samples in device code: reading one as a number of the computing precision, and choosing a template
 * by scalar type. */
#ifndef LW_GPU_DEVICE_SAMPLE_CUH
#define LW_GPU_DEVICE_SAMPLE_CUH

extern "C" {
#include "base/type.h"
}

#include "gpu/device/fft.cuh"

#include <cstdint>
#include <type_traits>

/* A sample in the computing precision; one that is not finite there counts as zero and raises the flag. */
template <typename Real, typename Stored>
__device__ inline Real read_real(const Stored *data, int64_t index, bool &not_finite)
{
    const Real value = static_cast<Real>(data[index]);
    if (std::is_floating_point<Stored>::value && !isfinite(value)) {
        not_finite = true;
        return 0;
    }
    return value;
}

/* Either part that is not finite makes the sample zero. */
template <typename Real, typename Stored>
__device__ inline Complex<Real> read_complex(const Stored *data, int64_t index, bool &not_finite)
{
    bool bad = false;
    Complex<Real> value;
    value.x = read_real<Real>(data, 2 * index, bad);
    value.y = read_real<Real>(data, 2 * index + 1, bad);
    if (bad) {
        not_finite = true;
        value.x = value.y = 0;
    }
    return value;
}

/* Call `with` with a value of the C type that a scalar stands for. */
template <typename With>
inline auto with_scalar(enum lw_scalar scalar, With with)
{
    switch (scalar) {
    case LW_INT8: return with(int8_t{});
    case LW_UINT8: return with(uint8_t{});
    case LW_INT16: return with(int16_t{});
    case LW_UINT16: return with(uint16_t{});
    case LW_INT32: return with(int32_t{});
    case LW_FLOAT32: return with(float{});
    default: return with(double{});
    }
}

#endif
