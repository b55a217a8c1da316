/* convert.cu - the conversions of convert.h. Each thread takes one scalar, adjacent threads take adjacent scalars: every access is
 * coalesced, except the strided reads of thinning. A grid-stride loop takes the scalars that exceed the largest grid. */
#include "gpu/device/convert.h"

#include "gpu/device/launch.cuh"
#include "gpu/device/narrow.cuh"
#include "gpu/device/stored.cuh"

static constexpr int block_threads = 256;

template <typename Word>
__global__ void swap_bytes(Word *data, int64_t n)
{
    const int64_t stride = int64_t(gridDim.x) * block_threads;
    for (int64_t i = int64_t(blockIdx.x) * block_threads + threadIdx.x; i < n; i += stride)
        data[i] = reversed(data[i]);
}

cudaError_t lw_cuda_swap_bytes(void *data, enum lw_scalar scalar, int64_t n, cudaStream_t stream)
{
    if (n == 0)
        return cudaSuccess;
    const unsigned blocks = blocks_for(n, block_threads);
    switch (lw_scalar_bytes(scalar)) {
    case 1: return cudaSuccess;
    case 2: swap_bytes<<<blocks, block_threads, 0, stream>>>(static_cast<uint16_t *>(data), n); break;
    case 4: swap_bytes<<<blocks, block_threads, 0, stream>>>(static_cast<uint32_t *>(data), n); break;
    default: swap_bytes<<<blocks, block_threads, 0, stream>>>(static_cast<uint64_t *>(data), n); break;
    }
    return cudaGetLastError();
}

/* Return the integer of type Stored that is nearest to `value`, ties to even; 0 for NaN. Comparisons in double are exact. */
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

template <typename Stored>
__device__ inline Stored stored_value(double value, Losses &losses)
{
    const Stored stored = saturated<Stored>(value);
    losses.n_nan += isnan(value);
    losses.n_saturated += !isnan(value) && static_cast<double>(stored) != rint(value);
    return stored;
}

/* A number of type LW_FLOAT16, by its bits. */
struct Half {
    uint16_t bits;
};

/* Return value * factor as a half. A finite value beyond the range becomes the largest half of its sign; infinity and NaN stay. */
__device__ inline Half half_value(double value, double factor, Losses &losses)
{
    const double number = value * factor;
    const uint16_t nearest = half_of(number);
    const bool is_beyond = fabs(number) >= LW_HALF_BEYOND && isfinite(value);
    losses.n_saturated += is_beyond;
    return {static_cast<uint16_t>(is_beyond ? (nearest & LW_HALF_SIGN) | (LW_HALF_INFINITY - 1) : nearest)};
}

/* Stands for a narrow type, which `narrow` tells at run time, in the place of a stored type. */
struct Narrow {
};

/* Store `value` at place i of `to`. narrow: all arguments for narrow types; for other integers and halves, factor and report. */
template <typename Stored, typename Real>
__device__ inline void store(void *to, int64_t i, Real value, const lw_narrowing &narrow, Losses &losses)
{
    Stored *const numbers = static_cast<Stored *>(to);
    if constexpr (std::is_same<Stored, Narrow>::value)
        put_number(narrow, to, i, value, losses);
    else if constexpr (std::is_floating_point<Stored>::value)
        numbers[i] = static_cast<Stored>(value);
    else if constexpr (std::is_same<Stored, Half>::value)
        numbers[i] = half_value(value, narrow.factor, losses);
    else
        numbers[i] = stored_value<Stored>(static_cast<double>(value) * narrow.factor, losses);
}

template <typename Real, typename Stored>
__global__ void convert(const Real *from, void *to, int64_t n, lw_narrowing narrow)
{
    const int64_t stride = int64_t(gridDim.x) * block_threads;
    Losses losses = {};
    for (int64_t i = int64_t(blockIdx.x) * block_threads + threadIdx.x; i < n; i += stride)
        store<Stored>(to, i, from[i], narrow, losses);
    report_losses(narrow, losses);
}

template <typename Real, typename Stored>
__global__ void thin(const Real *from, void *to, lw_cuda_thinning t, lw_narrowing narrow)
{
    const int64_t stride = int64_t(gridDim.x) * block_threads, n = t.rows * t.kept * t.width;
    Losses losses = {};
    for (int64_t i = int64_t(blockIdx.x) * block_threads + threadIdx.x; i < n; i += stride) {
        const int64_t output = i / t.width, row = output / t.kept;
        const Real value = from[(row * t.row + t.first + (output - row * t.kept) * t.every) * t.width + i % t.width];
        if constexpr (std::is_same<Stored, double>::value)
            static_cast<double *>(to)[i] = t.squares ? static_cast<double>(value) * value : static_cast<double>(value);
        else
            store<Stored>(to, i, value, narrow, losses);
    }
    report_losses(narrow, losses);
}

/* Each warp copies one kept row at a time: lanes take adjacent scalars of the result, so that stores are coalesced. */
template <typename Real, typename Stored>
__global__ void thin_images(const Real *from, void *to, lw_image_thinning t, lw_narrowing narrow)
{
    const int64_t kept = (t.columns + t.every - 1) / t.every, n_rows = t.n_images * t.kept_rows;
    const int64_t stride = int64_t(gridDim.x) * (block_threads / 32);
    Losses losses = {};
    for (int64_t row = int64_t(blockIdx.x) * (block_threads / 32) + threadIdx.x / 32; row < n_rows; row += stride) {
        const int64_t image = row / t.kept_rows, source = image * t.rows + t.first + (row - image * t.kept_rows) * t.every;
        const Real *const pixels = from + source * t.columns * t.parts;
        for (int64_t i = threadIdx.x % 32; i < kept * t.parts; i += 32) {
            const int64_t pixel = t.parts == 2 ? i / 2 : i, part = i - pixel * t.parts;
            store<Stored>(to, row * kept * t.parts + i, pixels[pixel * t.every * t.parts + part], narrow, losses);
        }
    }
    report_losses(narrow, losses);
}

/* If n > 0, call start(x, y, narrow), which launches. x has the C type of the computing precision; y that of `scalar`, or is
 * Narrow. */
template <typename Start>
static cudaError_t launch(int64_t n, enum lw_precision precision, enum lw_scalar scalar, double factor, lw_nan_report *report,
                          Start start)
{
    if (n == 0)
        return cudaSuccess;
    lw_narrowing narrow = {};
    if (lw_narrowing_exists(precision, scalar)) {
        narrow = lw_narrowing_to(scalar, factor, report);
        start(float{}, Narrow{}, narrow);
        return cudaGetLastError();
    }
    narrow.factor = factor;
    narrow.report = report;
    return with_real(precision, [=](auto real) {
        const auto with = [=](auto stored) {
            if constexpr (sizeof(real) == 8 || sizeof(stored) > 2)
                start(real, stored, narrow);
        };
        scalar == LW_FLOAT16 ? with(Half{}) : with_stored(scalar, with);
        return cudaGetLastError();
    });
}

cudaError_t lw_cuda_convert(const void *from, enum lw_precision precision, void *to, enum lw_scalar scalar, int64_t n,
                            double factor, struct lw_nan_report *report, cudaStream_t stream)
{
    return launch(n, precision, scalar, factor, report, [=](auto real, auto stored, const lw_narrowing &narrow) {
        convert<decltype(real), decltype(stored)><<<blocks_for(n, block_threads), block_threads, 0, stream>>>(
            static_cast<const decltype(real) *>(from), to, n, narrow);
    });
}

cudaError_t lw_cuda_thin(const void *from, enum lw_precision precision, void *to, enum lw_scalar scalar,
                         const struct lw_cuda_thinning *thinning, struct lw_nan_report *report, cudaStream_t stream)
{
    const struct lw_cuda_thinning t = *thinning;
    const int64_t n = t.rows * t.kept * t.width;
    return launch(n, precision, scalar, t.factor, report, [=](auto real, auto stored, const lw_narrowing &narrow) {
        thin<decltype(real), decltype(stored)><<<blocks_for(n, block_threads), block_threads, 0, stream>>>(
            static_cast<const decltype(real) *>(from), to, t, narrow);
    });
}

cudaError_t lw_cuda_thin_images(const void *from, enum lw_precision precision, void *to, enum lw_scalar scalar,
                                const struct lw_image_thinning *thinning, struct lw_nan_report *report, cudaStream_t stream)
{
    const struct lw_image_thinning t = *thinning;
    const int64_t n_rows = t.n_images * t.kept_rows;
    return launch(n_rows, precision, scalar, t.factor, report, [=](auto real, auto stored, const lw_narrowing &narrow) {
        thin_images<decltype(real), decltype(stored)><<<blocks_for(n_rows * 32, block_threads), block_threads, 0, stream>>>(
            static_cast<const decltype(real) *>(from), to, t, narrow);
    });
}

__global__ void square(const float *from, double *to, int64_t n)
{
    const int64_t stride = int64_t(gridDim.x) * block_threads;
    for (int64_t i = int64_t(blockIdx.x) * block_threads + threadIdx.x; i < n; i += stride)
        to[i] = static_cast<double>(from[i]) * from[i];
}

cudaError_t lw_cuda_square(const float *from, double *to, int64_t n, cudaStream_t stream)
{
    if (n == 0)
        return cudaSuccess;
    square<<<blocks_for(n, block_threads), block_threads, 0, stream>>>(from, to, n);
    return cudaGetLastError();
}
