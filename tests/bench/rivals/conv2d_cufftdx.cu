/* conv2d_cufftdx.cu - the rival made of cuFFTDx for images: calls the kernels of conv2d_cufftdx.cuh for the benchmark. */
#include "conv2d_cufftdx.h"
#include "rival.h"
#include "tests/bench/gpu_bench.cuh"

#include <cufft.h>

DxImageKernels &dx_image_kernels()
{
    static DxImageKernels kernels;
    return kernels;
}

struct DxConvolution {
    DxImage image;
    const DxTileKernel *tile;       /* NULL: passes of rows, columns and rows */
    const DxRowKernel *rows;
    const DxColumnKernel *columns;
};

/* Number of discarded outputs: more than the kernel's side, enough to have the kernel's centre in their middle, and a multiple of
 * 4. */
static int discard_of(const RivalImage &c)
{
    const int rows = std::max(2 * (c.ahead_rows + 1), c.kernel_rows + 1);
    const int columns = std::max(2 * (c.ahead_columns + 1), c.kernel_columns + 1);
    return (std::max(rows, columns) + 3) / 4 * 4;
}

/* ---- the kernel's spectrum --------------------------------------------------------------------------------------------------- */

/* Place the taps so that the kernel's centre is in the middle of the discarded outputs. */
static __global__ void place_taps(double2 *plane, int width, const double *taps, RivalImage c, int discard)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / c.kernel_columns, column = i % c.kernel_columns;
    if (i < c.kernel_rows * c.kernel_columns)
        plane[(int64_t)(row + discard / 2 - c.ahead_rows) * width + column + discard / 2 - c.ahead_columns] = {taps[i], 0};
}

/* spectrum[column][i][t] = bins t + 2 i T and t + (2 i + 1) T of a column; T = rows / points */
static __global__ void order_columns(float4 *spectrum, const double2 *plane, int rows, int width, int points)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y, T = rows / points;
    if (at >= rows / 2)
        return;
    const int bin = at % T + at / T * 2 * T;
    const double scale = 1.0 / rows / width;
    const double2 a = plane[(int64_t)bin * width + column], b = plane[(int64_t)(bin + T) * width + column];
    spectrum[(int64_t)column * (rows / 2) + at] = {(float)(a.x * scale), (float)(a.y * scale), (float)(b.x * scale),
                                                   (float)(b.y * scale)};
}

/* Make the spectrum of rows x width points; n_columns of its columns are stored. */
static float4 *make_spectrum(const RivalImage &c, const double *taps, int discard, int rows, int width, int n_columns, int points)
{
    const size_t values = (size_t)rows * width;
    const int n[2] = {rows, width}, n_taps = c.kernel_rows * c.kernel_columns;
    double2 *plane;
    float4 *spectrum;
    cufftHandle plan;
    CHECK_CUDA(cudaMalloc(&plane, values * sizeof *plane));
    CHECK_CUDA(cudaMalloc(&spectrum, (size_t)n_columns * rows / 2 * sizeof *spectrum));
    CHECK_CUDA(cudaMemset(plane, 0, values * sizeof *plane));
    place_taps<<<(n_taps + 255) / 256, 256>>>(plane, width, taps, c, discard);
    CHECK_CUDA(cufftPlanMany(&plan, 2, (int *)n, nullptr, 1, 0, nullptr, 1, 0, CUFFT_Z2Z, 1));
    CHECK_CUDA(cufftExecZ2Z(plan, plane, plane, CUFFT_FORWARD));
    order_columns<<<dim3((rows / 2 + 127) / 128, n_columns), 128>>>(spectrum, plane, rows, width, points);
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK_CUDA(cufftDestroy(plan));
    CHECK_CUDA(cudaFree(plane));
    return spectrum;
}

/* ---- ways ------------------------------------------------------------------------------------------------------------------ */

template <class Kernel> static void allow(Kernel *kernel, int bytes)
{
    CHECK_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

static DxConvolution *open_tile(const RivalImage &c, int discard, const DxTileKernel &k, const double *taps, char text[RIVAL_TEXT])
{
    DxConvolution *const o = new DxConvolution();
    o->tile = &k;
    o->image = {nullptr, nullptr, nullptr, nullptr, make_spectrum(c, taps, discard, k.n, k.n, k.n, k.points), (int)c.columns,
                (int)c.rows, 0, discard};
    allow(k.run, k.shared_bytes);
    snprintf(text, RIVAL_TEXT, "%s", k.text);
    return o;
}

static DxConvolution *open_passes(const RivalImage &c, int discard, const DxRowKernel &rows, const DxColumnKernel &columns,
                                  const double *taps, char text[RIVAL_TEXT])
{
    DxConvolution *const o = new DxConvolution();
    const int hop = 2 * rows.n - discard, across = (int)((c.columns + hop - 1) / hop);
    const size_t bytes = (size_t)c.rows * across * (rows.n + DX_PADDING) * sizeof(float2);
    o->rows = &rows;
    o->columns = &columns;
    const float4 *const spectrum = make_spectrum(c, taps, discard, columns.n, 2 * rows.n, rows.n + 1, columns.points);
    o->image = {nullptr, nullptr, nullptr, nullptr, spectrum, (int)c.columns, (int)c.rows, across, discard};
    CHECK_CUDA(cudaMalloc(&o->image.forward, bytes));
    CHECK_CUDA(cudaMalloc(&o->image.back, bytes));
    allow(rows.forward, rows.forward_bytes);
    allow(rows.back, rows.back_bytes);
    allow(columns.run, columns.shared_bytes);
    snprintf(text, RIVAL_TEXT, "%s; %s", rows.text, columns.text);
    return o;
}

/* Open a way; all are choices of one step. First come tiles, then passes with pairs of row and column lengths. */
static void *open_image(const RivalImage *c, int step, int choice, const double *taps, cudaStream_t, char text[RIVAL_TEXT])
{
    const int discard = discard_of(*c);
    int left = choice;
    if (step > 0)
        return nullptr;
    for (const DxTileKernel &k : dx_image_kernels().tiles)
        if (k.discard == discard && left-- == 0)
            return open_tile(*c, discard, k, taps, text);
    if (c->columns % 2 > 0)         /* rows are read in pairs of pixels */
        return nullptr;
    for (const DxRowKernel &rows : dx_image_kernels().rows)
        for (const DxColumnKernel &columns : dx_image_kernels().columns)
            if (4 * rows.n >= 3 * discard && columns.n >= 2 * discard && left-- == 0)
                return open_passes(*c, discard, rows, columns, taps, text);
    return nullptr;
}

static void run_tiles(const DxImage &a, const DxTileKernel &k, cudaStream_t stream)
{
    const int hop = k.n - a.discard;
    const dim3 pairs((a.columns + 2 * hop - 1) / (2 * hop), (a.rows + hop - 1) / hop), threads(k.n / k.points, k.rows_at_once);
    k.run<<<pairs, threads, k.shared_bytes, stream>>>(a);
}

static void run_passes(const DxImage &a, const DxRowKernel &r, const DxColumnKernel &k, cudaStream_t stream)
{
    const dim3 rows(a.across, (a.rows + r.at_once - 1) / r.at_once), of_rows(r.n / r.points, r.at_once);
    const int hop = k.n - a.discard, width = a.across * (r.n + DX_PADDING);
    const dim3 columns(width / k.at_once, (a.rows + hop - 1) / hop), of_columns(k.n / k.points, k.at_once);
    r.forward<<<rows, of_rows, r.forward_bytes, stream>>>(a);
    k.run<<<columns, of_columns, k.shared_bytes, stream>>>(a, r.n + 1);
    r.back<<<rows, of_rows, r.back_bytes, stream>>>(a);
}

static void run_image(void *memory, const void *image, void *output, cudaStream_t stream)
{
    const DxConvolution &o = *(const DxConvolution *)memory;
    DxImage a = o.image;
    a.image = (const float *)image;
    a.output = (float *)output;
    if (o.tile)
        run_tiles(a, *o.tile, stream);
    else
        run_passes(a, *o.rows, *o.columns, stream);
    CHECK_CUDA(cudaGetLastError());
}

static void close_image(void *memory)
{
    DxConvolution *const o = (DxConvolution *)memory;
    cudaFree((void *)o->image.spectrum);
    cudaFree(o->image.forward);
    cudaFree(o->image.back);
    delete o;
}

extern "C" const ImageRival rival = {"cuFFTDx", false, true, open_image, run_image, close_image};
