/* cufft_image.cuh - careful convolution of a real image through cuFFT, in two ways. One is overlap-save on tiles, square or not,
 * of sizes 2^a 3^b 5^c, in batches that can stay in the L2 cache; the other is one transform of the padded image. Transforms are
 * real and in place. One kernel gathers tiles with their zeros, one multiplies with the kernel's spectrum and reads it once for
 * several tiles, one crops. */
#ifndef CUFFT_IMAGE_CUH
#define CUFFT_IMAGE_CUH

#include "gpu_bench.cuh"
#include "rivals/rival.h"

#include <cufft.h>

/* Tiles of rows x columns pixels, whose outputs are `hop_rows` and `hop_columns` apart. */
struct ImageCut {
    RivalImage c;
    int rows, columns, hop_rows, hop_columns;
    int across, n_tiles, batch;

    /* number of bins of a row, stored in place */
    __host__ __device__ int bins() const { return columns / 2 + 1; }
    __host__ __device__ int64_t tile_bins() const { return (int64_t)rows * bins(); }
    /* first pixel of a tile, which may lie beyond the image's sides */
    __host__ __device__ int64_t top(int tile) const
    {
        return (int64_t)(tile / across) * hop_rows + c.ahead_rows - (c.kernel_rows - 1);
    }
    __host__ __device__ int64_t left(int tile) const
    {
        return (int64_t)(tile % across) * hop_columns + c.ahead_columns - (c.kernel_columns - 1);
    }
};

/* Plans of a full batch, or of the smaller last one. */
struct ImagePlans {
    cufftHandle forward, inverse;
};

struct CufftImage {
    ImageCut cut;
    ImagePlans full, last;
    float2 *bins, *kernel;          /* [batch][rows][bins], [rows][bins] */
};

/* grid: pieces of rows, rows, tiles of the batch */
static __global__ void cufft_gather(const ImageCut cut, const float *image, float *points, int first)
{
    const int64_t row = cut.top(first + blockIdx.z) + blockIdx.y, left = cut.left(first + blockIdx.z);
    float *const to = points + 2 * (blockIdx.z * cut.tile_bins() + (int64_t)blockIdx.y * cut.bins());
    const bool is_row = row >= 0 && row < cut.c.rows;
#pragma unroll 4
    for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < cut.columns; x += gridDim.x * blockDim.x) {
        const int64_t column = left + x;
        to[x] = is_row && column >= 0 && column < cut.c.columns ? __ldg(image + row * cut.c.columns + column) : 0;
    }
}

/* A thread multiplies two bins; the number of rows is even. grid: pairs of bins, tiles that share the loads of the kernel's
 * spectrum */
static __global__ void cufft_filter(float4 *bins, const float4 *kernel, int n_pairs, int n_tiles)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n_pairs)
        return;
    const float4 k = __ldg(kernel + i);
    for (int tile = blockIdx.y; tile < n_tiles; tile += gridDim.y) {
        float4 *const at = bins + (int64_t)tile * n_pairs + i;
        const float4 z = *at;
        *at = {z.x * k.x - z.y * k.y, z.x * k.y + z.y * k.x, z.z * k.z - z.w * k.w, z.z * k.w + z.w * k.z};
    }
}

/* grid: pieces of rows, rows of outputs, tiles of the batch */
static __global__ void cufft_scatter(const ImageCut cut, float *output, const float *points, int first)
{
    const int tile = first + blockIdx.z, row_of_tile = blockIdx.y + cut.c.kernel_rows - 1;
    const int64_t row = (int64_t)(tile / cut.across) * cut.hop_rows + blockIdx.y;
    const int64_t left = (int64_t)(tile % cut.across) * cut.hop_columns;
    const int64_t row_bins = blockIdx.z * cut.tile_bins() + (int64_t)row_of_tile * cut.bins();
    const float *const from = points + 2 * row_bins + cut.c.kernel_columns - 1;
    const int size = cut.c.columns - left < cut.hop_columns ? (int)(cut.c.columns - left) : cut.hop_columns;
    if (row >= cut.c.rows)
        return;
#pragma unroll 4
    for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < size; x += gridDim.x * blockDim.x)
        __stcs(output + row * cut.c.columns + left + x, __ldcs(from + x));
}

/* Write one tile with the kernel at its first pixel. */
static __global__ void cufft_place_kernel(const ImageCut cut, float *points, const double *taps)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / cut.c.kernel_columns, column = i % cut.c.kernel_columns;
    if (i < cut.c.kernel_rows * cut.c.kernel_columns)
        points[2 * (int64_t)row * cut.bins() + column] = (float)(taps[i] / cut.rows / cut.columns);
}

/* Cut an image into tiles. batch: most tiles at a time */
inline ImageCut image_cut(const RivalImage &c, int rows, int columns, double batch)
{
    ImageCut cut = {c, rows, columns, 0, 0, 0, 0, 0};
    cut.hop_rows = (int)std::min<int64_t>(rows - c.kernel_rows + 1, c.rows);
    cut.hop_columns = (int)std::min<int64_t>(columns - c.kernel_columns + 1, c.columns);
    cut.across = (int)((c.columns + cut.hop_columns - 1) / cut.hop_columns);
    cut.n_tiles = cut.across * (int)((c.rows + cut.hop_rows - 1) / cut.hop_rows);
    const int wanted = (int)std::max(1.0, std::min({batch, (double)cut.n_tiles, 65535.0}));
    const int n_batches = (cut.n_tiles + wanted - 1) / wanted;
    cut.batch = (cut.n_tiles + n_batches - 1) / n_batches;
    return cut;
}

inline int image_last(const ImageCut &cut) { return cut.n_tiles - (cut.n_tiles - 1) / cut.batch * cut.batch; }

/* Plan a transform in place. 0: cuFFT or the memory cannot do it. */
inline cufftHandle image_plan(const ImageCut &cut, bool forward, int batch)
{
    long long n[2] = {cut.rows, cut.columns}, reals[2] = {cut.rows, 2 * cut.bins()}, complexes[2] = {cut.rows, cut.bins()};
    const long long many = cut.tile_bins();
    size_t bytes;
    cufftHandle plan;
    CHECK_CUDA(cufftCreate(&plan));
    const cufftResult failed =
        forward ? cufftMakePlanMany64(plan, 2, n, reals, 1, 2 * many, complexes, 1, many, CUFFT_R2C, batch, &bytes)
                : cufftMakePlanMany64(plan, 2, n, complexes, 1, many, reals, 1, 2 * many, CUFFT_C2R, batch, &bytes);
    if (failed) {
        cudaGetLastError();
        cufftDestroy(plan);
        return 0;
    }
    return plan;
}

inline ImagePlans image_plans(const ImageCut &cut, int batch)
{
    return {image_plan(cut, true, batch), image_plan(cut, false, batch)};
}

inline void image_destroy(const ImagePlans &p)
{
    if (p.forward)
        cufftDestroy(p.forward);
    if (p.inverse)
        cufftDestroy(p.inverse);
}

inline void cufft_image_close(void *memory)
{
    CufftImage *const f = (CufftImage *)memory;
    image_destroy(f->full);
    if (f->last.forward != f->full.forward)
        image_destroy(f->last);
    cudaFree(f->bins);
    cudaFree(f->kernel);
    delete f;
}

/* Transform the kernel. spectrum: [rows][bins], scaled by 1 / (rows columns); plan: of one tile, in place */
inline void image_kernel(const ImageCut &cut, float2 *spectrum, const double *taps, cudaStream_t stream)
{
    const cufftHandle plan = image_plan(cut, true, 1);
    const int n = cut.c.kernel_rows * cut.c.kernel_columns;
    CHECK_CUDA(cudaMemsetAsync(spectrum, 0, sizeof(float2) * cut.tile_bins(), stream));
    cufft_place_kernel<<<(n + 255) / 256, 256, 0, stream>>>(cut, (float *)spectrum, taps);
    CHECK_CUDA(cufftSetStream(plan, stream));
    CHECK_CUDA(cufftExecR2C(plan, (float *)spectrum, spectrum));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    cufftDestroy(plan);
}

/* Prepare the convolution. NULL: cuFFT or the memory cannot do it. */
inline CufftImage *cufft_image_create(const ImageCut &cut, const double *taps, cudaStream_t stream)
{
    CufftImage *const f = new CufftImage();
    const int last = image_last(cut);
    f->cut = cut;
    f->full = image_plans(cut, cut.batch);
    f->last = last == cut.batch ? f->full : image_plans(cut, last);
    if (!f->full.forward || !f->full.inverse || !f->last.forward || !f->last.inverse ||
        cudaMalloc(&f->bins, sizeof(float2) * cut.tile_bins() * cut.batch) != cudaSuccess ||
        cudaMalloc(&f->kernel, sizeof(float2) * cut.tile_bins()) != cudaSuccess) {
        cudaGetLastError();
        cufft_image_close(f);
        return nullptr;
    }
    image_kernel(cut, f->kernel, taps, stream);
    return f;
}

inline void cufft_image_run(void *memory, const void *image, void *output, cudaStream_t stream)
{
    const CufftImage &f = *(const CufftImage *)memory;
    const ImageCut &cut = f.cut;
    const int threads = 128, pairs = (int)(cut.tile_bins() / 2);
    for (int first = 0; first < cut.n_tiles; first += cut.batch) {
        const int n = std::min(cut.batch, cut.n_tiles - first);
        const ImagePlans &p = n == cut.batch ? f.full : f.last;
        CHECK_CUDA(cufftSetStream(p.forward, stream));
        CHECK_CUDA(cufftSetStream(p.inverse, stream));
        const dim3 in((cut.columns + 511) / 512, cut.rows, n), out((cut.hop_columns + 511) / 512, cut.hop_rows, n);
        const dim3 filter((pairs + threads - 1) / threads, (n + 3) / 4);
        cufft_gather<<<in, threads, 0, stream>>>(cut, (const float *)image, (float *)f.bins, first);
        CHECK_CUDA(cufftExecR2C(p.forward, (float *)f.bins, f.bins));
        cufft_filter<<<filter, threads, 0, stream>>>((float4 *)f.bins, (const float4 *)f.kernel, pairs, n);
        CHECK_CUDA(cufftExecC2R(p.inverse, f.bins, (float *)f.bins));
        cufft_scatter<<<out, threads, 0, stream>>>(cut, (float *)output, (const float *)f.bins, first);
    }
    CHECK_CUDA(cudaGetLastError());
}

/* ---- ways ------------------------------------------------------------------------------------------------------------------- */

/* Tile of a step and shape. Each step has more rows (2^a 3^b 5^c); its shapes have as many columns as rows, twice or four times
 * as many. False: there is no such tile. */
inline bool image_tile(const RivalImage &c, int step, int shape, int *rows, int *columns)
{
    static const int sizes[] = {32,  48,  64,  80,  96,   128,  160,  192,  256,  320,
                                384, 512, 640, 768, 1024, 1280, 1536, 2048, 3072, 4096};
    for (const int size : sizes) {
        const bool holds = 4 * size >= 5 * std::max(c.kernel_rows, c.kernel_columns);
        const bool is_small = size < 2 * std::max(c.rows, c.columns);
        if (!holds || !is_small || step-- > 0)
            continue;
        *rows = size;
        *columns = size << shape;
        return shape < 3 && (shape == 0 || *columns <= 8192);
    }
    return false;
}

/* Open a way. The choices of a step are three shapes, each with several sizes of batch in megabytes. */
inline void *cufft_tiles_open(const RivalImage *c, int step, int choice, const double *taps, cudaStream_t stream,
                              char text[RIVAL_TEXT])
{
    const int spaces[] = {10, 20, 36, 512}, n_spaces = (int)(sizeof spaces / sizeof *spaces);
    int rows, columns;
    if (!image_tile(*c, step, choice / n_spaces, &rows, &columns))
        return nullptr;
    const double bytes = sizeof(float2) * (double)rows * (columns / 2 + 1);
    const double batch = spaces[choice % n_spaces] * RIVAL_MEGABYTE / bytes;
    CufftImage *const f = cufft_image_create(image_cut(*c, rows, columns, batch), taps, stream);
    if (f)
        snprintf(text, RIVAL_TEXT, "tiles %d x %d, %d at a time", rows, columns, f->cut.batch);
    return f;
}

static const ImageRival cufft_tiles = {"cuFFT tiles", true, true, cufft_tiles_open, cufft_image_run, cufft_image_close};

/* The least number with small factors that is at least n and a multiple of `multiple`. */
inline int image_size(int64_t n, int multiple)
{
    for (;; ++n) {
        int64_t left = n;
        for (const int p : {2, 3, 5, 7})
            while (left % p == 0)
                left /= p;
        if (left == 1 && n % multiple == 0)
            return (int)n;
    }
}

/* The paper's rule: a power of two up to 1024, above a multiple of 512. */
inline int image_size_of_paper(int64_t n)
{
    int64_t power = 16;
    while (power < n && power < 1024)
        power *= 2;
    return (int)(power >= n ? power : (n + 511) / 512 * 512);
}

/* Size of the padded whole image. The choices round the sides up to even numbers, or to multiples of 16, 64 and 256; the last is
 * the rule of Podlozhnyuk's paper. */
inline bool image_whole(const RivalImage &c, int choice, int *rows, int *columns)
{
    const int multiples[] = {2, 16, 64, 256}, n = (int)(sizeof multiples / sizeof *multiples);
    if (choice == n) {
        *rows = image_size_of_paper(c.rows + c.kernel_rows - 1);
        *columns = image_size_of_paper(c.columns + c.kernel_columns - 1);
    }
    if (choice >= n)
        return choice == n;
    *rows = image_size(c.rows + c.kernel_rows - 1, 2);
    *columns = image_size(c.columns + c.kernel_columns - 1, multiples[choice]);
    return true;
}

inline void *cufft_whole_image_open(const RivalImage *c, int step, int choice, const double *taps, cudaStream_t stream,
                                    char text[RIVAL_TEXT])
{
    int rows, columns;
    if (step > 0 || !image_whole(*c, choice, &rows, &columns) || (double)rows * columns >= 2147483648.0)
        return nullptr;
    snprintf(text, RIVAL_TEXT, "%d x %d", rows, columns);
    return cufft_image_create(image_cut(*c, rows, columns, 1), taps, stream);
}

static const ImageRival cufft_whole_image = {"cuFFT whole image", true, true, cufft_whole_image_open, cufft_image_run,
                                             cufft_image_close};

#endif
