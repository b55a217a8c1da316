/* stored_value.cuh - numbers of the computing precision as stored types, in device code. */
#ifndef LW_GPU_DEVICE_STORED_VALUE_CUH
#define LW_GPU_DEVICE_STORED_VALUE_CUH

#include "gpu/device/sample.cuh"

/* rint rounds to nearest even; the comparisons are exact because they are made in double. */
template <typename Stored>
__device__ inline Stored saturated(double value)
{
    constexpr int64_t span = int64_t(1) << 8 * sizeof(Stored);
    constexpr double lowest = std::is_signed<Stored>::value ? -span / 2 : 0;
    constexpr double highest = lowest + span - 1;
    const double rounded = rint(value);
    if (isnan(rounded))
        return 0;
    return static_cast<Stored>(rounded < lowest ? lowest : rounded > highest ? highest : rounded);
}

template <typename Stored, typename Real>
__device__ inline Stored stored_value(Real value)
{
    if constexpr (std::is_floating_point<Stored>::value)
        return static_cast<Stored>(value);
    else
        return saturated<Stored>(value);
}

/* data[index] = value, for a scalar known only now */
template <typename Real>
__device__ inline void store_value(enum lw_scalar scalar, void *data, int64_t index, Real value)
{
    switch (scalar) {
    case LW_INT8: static_cast<int8_t *>(data)[index] = stored_value<int8_t>(value); break;
    case LW_UINT8: static_cast<uint8_t *>(data)[index] = stored_value<uint8_t>(value); break;
    case LW_INT16: static_cast<int16_t *>(data)[index] = stored_value<int16_t>(value); break;
    case LW_UINT16: static_cast<uint16_t *>(data)[index] = stored_value<uint16_t>(value); break;
    case LW_INT32: static_cast<int32_t *>(data)[index] = stored_value<int32_t>(value); break;
    case LW_FLOAT32: static_cast<float *>(data)[index] = stored_value<float>(value); break;
    default: static_cast<double *>(data)[index] = stored_value<double>(value); break;
    }
}

#endif
