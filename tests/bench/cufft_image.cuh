/* cufft_image.cuh - the comparison of the conv2d benchmark: convolution of a real image by cuFFT, zeros beyond the
 * sides, output of the image's size. As one transform of the whole image, and by overlap-save on tiles. */
#ifndef CUFFT_IMAGE_CUH
#define CUFFT_IMAGE_CUH

#include "gpu_bench.cuh"

#include <cufft.h>

/* An image and where the outputs lie: y[i][j] = sum h[m][n] x[i + ahead - m][j + ahead - n]. */
struct ImageCase {
    int64_t rows, columns;
    int kernel_rows, kernel_columns;
    int ahead_rows, ahead_columns;
};

/* Transforms of `batch` tiles of rows x columns, whose outputs are `hop`s apart. */
struct CufftImage {
    ImageCase c;
    int rows, columns, hop_rows, hop_columns, across, n_tiles, batch;
    cufftHandle forward, inverse;
    float *points;                  /* [batch][rows][columns] */
    float2 *bins, *kernel;          /* [batch][rows][columns / 2 + 1], [rows][columns / 2 + 1] */
};

inline bool is_good_size(int64_t n)
{
    for (const int p : {2, 3, 5, 7})
        while (n % p == 0)
            n /= p;
    return n == 1;
}

inline int good_size(int64_t n)
{
    while (!is_good_size(n))
        ++n;
    return (int)n;
}

/* Tile b: rows from its first needed pixel on; also the padded whole image, as the one tile. */
__global__ void cufft_gather(const CufftImage f, const float *image, int first)
{
    const int64_t n = (int64_t)f.rows * f.columns, all = n * f.batch;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < all; i += (int64_t)gridDim.x * blockDim.x) {
        const int tile = first + (int)(i / n), y = (int)(i % n / f.columns), x = (int)(i % f.columns);
        const int64_t row = (int64_t)(tile / f.across) * f.hop_rows + f.c.ahead_rows - (f.c.kernel_rows - 1) + y;
        const int64_t left = f.c.ahead_columns - (f.c.kernel_columns - 1);
        const int64_t column = (int64_t)(tile % f.across) * f.hop_columns + left + x;
        const bool inside = row >= 0 && row < f.c.rows && column >= 0 && column < f.c.columns;
        f.points[i] = inside ? image[row * f.c.columns + column] : 0;
    }
}

__global__ void cufft_multiply(const CufftImage f)
{
    const int64_t n = (int64_t)f.rows * (f.columns / 2 + 1);
    const float scale = 1.0f / f.rows / f.columns;
    const int64_t all = n * f.batch;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < all; i += (int64_t)gridDim.x * blockDim.x) {
        const float2 z = f.bins[i], k = f.kernel[i % n];
        f.bins[i] = {scale * (z.x * k.x - z.y * k.y), scale * (z.x * k.y + z.y * k.x)};
    }
}

__global__ void cufft_scatter(const CufftImage f, float *output, int first)
{
    const int64_t n = (int64_t)f.hop_rows * f.hop_columns;
    const int64_t all = n * f.batch;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < all; i += (int64_t)gridDim.x * blockDim.x) {
        const int b = (int)(i / n), tile = first + b, y = (int)(i % n / f.hop_columns), x = (int)(i % f.hop_columns);
        const int64_t row = (int64_t)(tile / f.across) * f.hop_rows + y,
            column = (int64_t)(tile % f.across) * f.hop_columns + x;
        if (tile < f.n_tiles && row < f.c.rows && column < f.c.columns)
            output[row * f.c.columns + column] =
                f.points[((int64_t)b * f.rows + y + f.c.kernel_rows - 1) * f.columns + x + f.c.kernel_columns - 1];
    }
}

__global__ void cufft_pad_kernel(const CufftImage f, const double *taps)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < f.c.kernel_rows * f.c.kernel_columns)
        f.points[(int64_t)(i / f.c.kernel_columns) * f.columns + i % f.c.kernel_columns] = (float)taps[i];
}

inline void cufft_release(CufftImage *f)
{
    cufftDestroy(f->forward);
    cufftDestroy(f->inverse);
    cudaFree(f->points);
    cudaFree(f->bins);
    cudaFree(f->kernel);
}

/* Transforms of rows x columns points, `batch` at a time; false where cuFFT or the memory does not do it. */
inline bool cufft_create(const ImageCase &c, int rows, int columns, int batch, const double *taps, cudaStream_t stream,
                         CufftImage *f)
{
    *f = CufftImage{c, rows, columns, rows - c.kernel_rows + 1, columns - c.kernel_columns + 1};
    f->hop_rows = (int)std::min<int64_t>(f->hop_rows, c.rows);
    f->hop_columns = (int)std::min<int64_t>(f->hop_columns, c.columns);
    f->across = (int)((c.columns + f->hop_columns - 1) / f->hop_columns);
    f->n_tiles = f->across * (int)((c.rows + f->hop_rows - 1) / f->hop_rows);
    f->batch = std::min(batch, f->n_tiles);
    int n[2] = {rows, columns};
    const size_t bins = (size_t)rows * (columns / 2 + 1);
    bool done = cufftPlanMany(&f->forward, 2, n, nullptr, 1, 0, nullptr, 1, 0, CUFFT_R2C, f->batch) == CUFFT_SUCCESS &&
                cufftPlanMany(&f->inverse, 2, n, nullptr, 1, 0, nullptr, 1, 0, CUFFT_C2R, f->batch) == CUFFT_SUCCESS &&
                cudaMalloc(&f->points, sizeof(float) * rows * columns * f->batch) == cudaSuccess &&
                cudaMalloc(&f->bins, sizeof(float2) * bins * f->batch) == cudaSuccess &&
                cudaMalloc(&f->kernel, sizeof(float2) * bins) == cudaSuccess;
    if (!done) {
        cudaGetLastError();
        cufft_release(f);
        return false;
    }
    CHECK_CUDA(cufftSetStream(f->forward, stream));
    CHECK_CUDA(cufftSetStream(f->inverse, stream));
    CHECK_CUDA(cudaMemsetAsync(f->points, 0, sizeof(float) * rows * columns * f->batch, stream));
    cufft_pad_kernel<<<(c.kernel_rows * c.kernel_columns + 255) / 256, 256, 0, stream>>>(*f, taps);
    CHECK_CUDA(cufftExecR2C(f->forward, f->points, f->bins));
    CHECK_CUDA(cudaMemcpyAsync(f->kernel, f->bins, sizeof(float2) * bins, cudaMemcpyDeviceToDevice, stream));
    return true;
}

inline void cufft_convolve(const CufftImage &f, const float *image, float *output, cudaStream_t stream)
{
    const int blocks = 132 * 16, threads = 256;
    for (int first = 0; first < f.n_tiles; first += f.batch) {
        cufft_gather<<<blocks, threads, 0, stream>>>(f, image, first);
        CHECK_CUDA(cufftExecR2C(f.forward, f.points, f.bins));
        cufft_multiply<<<blocks, threads, 0, stream>>>(f);
        CHECK_CUDA(cufftExecC2R(f.inverse, f.bins, f.points));
        cufft_scatter<<<blocks, threads, 0, stream>>>(f, output, first);
    }
    CHECK_CUDA(cudaGetLastError());
}

#endif
