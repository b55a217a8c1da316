/* padded.cu - one transform of the whole padded image, or of a band of its rows, by cuFFT:
 *
 *     pad       pixels -> points, zeros behind them; finds the largest magnitude
 *     scale     points -> a magnitude near 1; only where numbers might leave the range
 *     forward, product with the kernel's spectrum, backward
 *     crop      points -> outputs
 *
 * All steps work in place, on R rows of C points. A row of real points is 2 (C / 2 + 1) reals, since it becomes C / 2 + 1 bins.
 * Source: V. Podlozhnyuk, "FFT-based 2D convolution", NVIDIA, 2007. */
#include "base/integers.h"
#include "gpu/conv2d/piece.cuh"
#include "gpu/conv2d/prepared.h"
#include "gpu/host/error.h"

#include <cstring>

static constexpr int threads = 256, most_lines = 65535, moderate_exponent = 16;

/* A transform in work: one band of an image. */
struct Padded {
    lw_conv2d_block block;
    int64_t rows, pitch;                /* size of the transform, in pixels */
    int64_t channel, row;               /* position of its first output in the block */
    int64_t n_rows;                     /* rows of outputs */
    void *points;
    int *largest;                       /* largest biased exponent of a pixel */
};

/* Call `each(y, x)` for every place of n_rows x n_columns: lanes along a row (coalesced), a grid of pieces of rows by rows. */
template <class Each> LW_DEVICE void for_places(int64_t n_rows, int64_t n_columns, Each each)
{
    for (int64_t y = blockIdx.y; y < n_rows; y += gridDim.y)
#pragma unroll 4
        for (int64_t x = blockIdx.x * threads + threadIdx.x; x < n_columns; x += gridDim.x * threads)
            each(y, x);
}

static dim3 grid_of(int64_t n_rows, int64_t n_columns)
{
    const int64_t each = 4 * threads;
    return dim3((unsigned)((n_columns + each - 1) / each), (unsigned)(n_rows < most_lines ? n_rows : most_lines));
}

LW_DEVICE int pixel_bits(float x) { return magnitude_bits(x); }
LW_DEVICE int pixel_bits(double x) { return magnitude_bits(x); }
template <class C> LW_DEVICE auto pixel_bits(C z) -> decltype((void)z.x, 0)
{
    return max(magnitude_bits(z.x), magnitude_bits(z.y));
}

/* The exponent that is taken out of the points. */
template <class Real> LW_DEVICE int exponent_out(int largest)
{
    const int exponent = usable_exponent<Real>(largest);
    return exponent >= -moderate_exponent && exponent <= moderate_exponent ? 0 : exponent;
}

/* Rows and columns that no output needs are zero: whatever a block holds there changes no bit. */
template <class Pixel> __global__ void __launch_bounds__(threads) conv2d_pad(const Padded p)
{
    const lw_conv2d_block &b = p.block;
    const int64_t n_rows = p.n_rows + b.kernel_rows - 1, n_columns = b.output_columns + b.kernel_columns - 1;
    Pixel *const points = (Pixel *)p.points;
    int bits = 0;
    bool met = false;
    with_stored(b.scalar, [&](auto stored) {
        const Window<Pixel, decltype(stored)> window = {b, p.channel, p.row, b.first_column};
        for_places(p.rows, p.pitch, [&](int64_t y, int64_t x) {
            const Pixel pixel = y < n_rows && x < n_columns ? window.at(y, x, met) : pixel_of<Pixel>(0);
            points[y * p.pitch + x] = pixel;
            bits = max(bits, pixel_bits(pixel));
        });
    });
    if (met)
        *b.not_finite = 1;
    const int exponent = largest_of_warp(biased_exponent<RealPart<Pixel>>(bits));
    if (threadIdx.x % 32 == 0 && exponent > *(volatile int *)p.largest)     /* seldom, as the first warps have raised it */
        atomicMax(p.largest, exponent);
}

template <class Real> __global__ void __launch_bounds__(threads) conv2d_scale_padded(Real *points, int64_t n, const int *largest)
{
    const int exponent = exponent_out<Real>(*largest);
    if (exponent == 0)
        return;
    const Real factor = power_of_two<Real>(-exponent);
    for (int64_t i = (int64_t)blockIdx.x * threads + threadIdx.x; i < n; i += (int64_t)gridDim.x * threads)
        points[i] *= factor;
}

/* Multiply n times 16 bytes of points by those of the spectrum. */
template <class C> __global__ void __launch_bounds__(threads) conv2d_multiply(C *points, const C *spectrum, int64_t n)
{
    using Sixteen = SixteenBytes<C>;
    for (int64_t i = (int64_t)blockIdx.x * threads + threadIdx.x; i < n; i += (int64_t)gridDim.x * threads) {
        C v[16 / sizeof(C)];
        const Sixteen own = ((const Sixteen *)points)[i];
        memcpy(v, &own, 16);
        multiply_points<false>(v, [&](int) { return __ldg((const Sixteen *)spectrum + i); });
        Sixteen product;
        memcpy(&product, v, 16);
        ((Sixteen *)points)[i] = product;
    }
}

template <class Pixel> __global__ void __launch_bounds__(threads) conv2d_crop(const Padded p)
{
    const lw_conv2d_block &b = p.block;
    const int exponent = b.exponent + exponent_out<RealPart<Pixel>>(*p.largest);
    const Pixel *const from = (const Pixel *)p.points + (b.kernel_rows - 1) * p.pitch + b.kernel_columns - 1;
    Pixel *const to = (Pixel *)b.output + (p.channel * b.count + p.row) * b.output_columns;
    for_places(p.n_rows, b.output_columns, [&](int64_t y, int64_t x) {
        to[y * b.output_columns + x] = times_power(from[y * p.pitch + x], exponent);
    });
}

/* Write the kernel at the first pixel of a transform that holds zeros. */
template <class Pixel, class Tap>
__global__ void conv2d_place(const double *taps, int64_t rows, int64_t columns, int64_t pitch, double scale, Pixel *points)
{
    using Real = RealPart<Pixel>;
    for_places(rows, columns, [&](int64_t y, int64_t x) {
        const int64_t i = y * columns + x;
        if constexpr (is_complex_pixel<Tap>)
            points[y * pitch + x] = {(Real)(taps[2 * i] * scale), (Real)(taps[2 * i + 1] * scale)};
        else
            points[y * pitch + x] = pixel_of<Pixel>((Real)(taps[i] * scale));
    });
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* The transforms' types, forward and backward; points and reals of a row. */
struct Layout {
    cufftType forward, backward;
    int64_t pitch, reals;
};

static Layout layout_of(const struct lw_op_spec *spec, const struct lw_conv2d_grid *grid)
{
    const bool is_single = spec->precision == LW_SINGLE;
    const int64_t reals = grid->columns / 2 * 2 + 2;
    if (spec->output.is_complex)
        return {is_single ? CUFFT_C2C : CUFFT_Z2Z, is_single ? CUFFT_C2C : CUFFT_Z2Z, grid->columns, 2 * grid->columns};
    return {is_single ? CUFFT_R2C : CUFFT_D2Z, is_single ? CUFFT_C2R : CUFFT_Z2D, reals, reals};
}

int64_t lw_conv2d_padded_bytes(const struct lw_op_spec *spec, const struct lw_conv2d_grid *grid)
{
    return grid->rows * layout_of(spec, grid).reals * (spec->precision == LW_SINGLE ? 4 : 8);
}

int64_t lw_conv2d_padded_area_bytes(const struct lw_op_spec *spec, const struct lw_conv2d_grid *grid)
{
    const Layout layout = layout_of(spec, grid);
    const int64_t forward = lw_cuda_fft2d_bytes(grid->rows, grid->columns, layout.forward);
    const int64_t backward = lw_cuda_fft2d_bytes(grid->rows, grid->columns, layout.backward);
    return lw_max64(forward, backward);
}

/* ---- transforms -------------------------------------------------------------------------------------------------- */

static int transform(const struct lw_conv2d_prepared *p, bool is_forward, void *points, cudaStream_t stream, struct lw_error *err)
{
    const Layout layout = layout_of(&p->spec, &p->plan.grid);
    const cufftHandle fft = is_forward ? p->forward.handle : p->backward.handle;
    const int direction = is_forward ? CUFFT_FORWARD : CUFFT_INVERSE;
    cufftResult status = cufftSetStream(fft, stream);
    if (status == CUFFT_SUCCESS)
        switch (is_forward ? layout.forward : layout.backward) {
        case CUFFT_R2C: status = cufftExecR2C(fft, (cufftReal *)points, (cufftComplex *)points); break;
        case CUFFT_D2Z: status = cufftExecD2Z(fft, (cufftDoubleReal *)points, (cufftDoubleComplex *)points); break;
        case CUFFT_C2R: status = cufftExecC2R(fft, (cufftComplex *)points, (cufftReal *)points); break;
        case CUFFT_Z2D: status = cufftExecZ2D(fft, (cufftDoubleComplex *)points, (cufftDoubleReal *)points); break;
        case CUFFT_C2C: status = cufftExecC2C(fft, (cufftComplex *)points, (cufftComplex *)points, direction); break;
        default: status = cufftExecZ2Z(fft, (cufftDoubleComplex *)points, (cufftDoubleComplex *)points, direction);
        }
    return lw_cufft_check(status, "transforming a padded image", err);
}

int lw_conv2d_padded_plan(struct lw_conv2d_prepared *p, struct lw_error *err)
{
    const struct lw_conv2d_grid *const g = &p->plan.grid;
    const Layout layout = layout_of(&p->spec, g);
    const char *const what = "planning the transforms of padded images";
    const int64_t area_bytes = lw_conv2d_padded_area_bytes(&p->spec, g);
    const int rc = lw_cuda_fft2d_create(&p->forward, g->rows, g->columns, layout.forward, p->area, area_bytes, what, err);
    return rc ? rc : lw_cuda_fft2d_create(&p->backward, g->rows, g->columns, layout.backward, p->area, area_bytes, what, err);
}

int lw_conv2d_padded_prepare(struct lw_conv2d_prepared *p, void *bank, const double *taps, cudaStream_t stream,
                             struct lw_error *err)
{
    const struct lw_conv2d_spec *const c = &p->spec.conv2d;
    const struct lw_conv2d_grid *const g = &p->plan.grid;
    const Layout layout = layout_of(&p->spec, g);
    cudaError_t status = cudaMemsetAsync(bank, 0, (size_t)lw_conv2d_padded_bytes(&p->spec, g), stream);
    if (status == cudaSuccess)
        status = with_pixel(p->spec.precision, p->spec.input.is_complex, c->kernel_complex, [=](auto pixel, auto tap) {
            using Pixel = decltype(pixel);
            conv2d_place<Pixel, decltype(tap)><<<grid_of(c->kernel_rows, c->kernel_columns), threads, 0, stream>>>(
                taps, c->kernel_rows, c->kernel_columns, layout.pitch, 1.0 / (double)(g->rows * g->columns), (Pixel *)bank);
            return cudaGetLastError();
        });
    const int rc = lw_cuda_check(status, "padding the kernel", err);
    return rc ? rc : transform(p, true, bank, stream, err);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

template <class Real>
static cudaError_t multiply(const struct lw_conv2d_prepared *p, const void *bank, cudaStream_t stream)
{
    using C = Complex<Real>;
    const int64_t n = lw_conv2d_padded_bytes(&p->spec, &p->plan.grid) / 16;
    const unsigned blocks = (unsigned)lw_min64(lw_divide_up(n, threads), 1 << 20);
    conv2d_multiply<C><<<blocks, threads, 0, stream>>>((C *)p->work, (const C *)bank, n);
    return cudaGetLastError();
}

template <class Pixel>
static cudaError_t pad(const struct lw_conv2d_prepared *p, const Padded &padded, cudaStream_t stream)
{
    using Real = RealPart<Pixel>;
    const cudaError_t status = cudaMemsetAsync(padded.largest, 0, sizeof *padded.largest, stream);
    if (status != cudaSuccess)
        return status;
    conv2d_pad<Pixel><<<grid_of(padded.rows, padded.pitch), threads, 0, stream>>>(padded);
    conv2d_scale_padded<Real><<<1024, threads, 0, stream>>>(
        (Real *)padded.points, lw_conv2d_padded_bytes(&p->spec, &p->plan.grid) / (int64_t)sizeof(Real), padded.largest);
    return cudaGetLastError();
}

template <class Pixel>
static int convolve(const struct lw_conv2d_prepared *p, const void *bank, const Padded &padded, cudaStream_t stream,
                    struct lw_error *err)
{
    const char *const what = "convolving a padded image";
    int rc;
    if ((rc = lw_cuda_check(pad<Pixel>(p, padded, stream), what, err)) || (rc = transform(p, true, p->work, stream, err)) ||
        (rc = lw_cuda_check(multiply<RealPart<Pixel>>(p, bank, stream), what, err)) ||
        (rc = transform(p, false, p->work, stream, err)))
        return rc;
    conv2d_crop<Pixel><<<grid_of(padded.n_rows, padded.block.output_columns), threads, 0, stream>>>(padded);
    return lw_cuda_check(cudaGetLastError(), what, err);
}

int lw_conv2d_padded_run(const struct lw_conv2d_prepared *p, const void *bank, const struct lw_conv2d_block *block,
                         cudaStream_t stream, struct lw_error *err)
{
    const struct lw_conv2d_grid *const g = &p->plan.grid;
    Padded padded = {*block, g->rows, layout_of(&p->spec, g).pitch, 0, 0, 0, p->work, p->largest};
    int rc = LW_OK;
    for (; padded.channel < block->n_channels && !rc; ++padded.channel)
        for (padded.row = 0; padded.row < block->count && !rc; padded.row += g->hop_rows) {
            padded.n_rows = lw_min64(g->hop_rows, block->count - padded.row);
            rc = with_pixel(p->spec.precision, p->spec.input.is_complex, p->spec.conv2d.kernel_complex,
                            [&](auto pixel, auto) { return convolve<decltype(pixel)>(p, bank, padded, stream, err); });
        }
    return rc;
}
