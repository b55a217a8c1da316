/* conv2d_npp.cu - convolution of an image by NPP, NVIDIA's library of image operations, which sums over the taps directly. NPP
 * has no zeros beyond the sides, so there are several ways. NPP makes the outputs whose taps stay inside the image, and a kernel
 * here makes the others. Or NPP reads a copy of the image in a frame of zeros. Or NPP repeats the pixels at the sides, and the
 * kernel here corrects those outputs. */
#include "rival.h"
#include "tests/bench/gpu_bench.cuh"

#include <nppi_filtering_functions.h>

/* most taps: longer direct sums are too slow to be of interest */
static const int MOST_TAPS = 1024, ALIGNED_PIXELS = 32;

/* The part that NPP computes: the inside; everything, with repeated sides; everything, from a framed copy; whole cache lines of
 * the inside. */
enum Way { INSIDE, REPEATED, FRAMED, ALIGNED, N_WAYS };

static const char *const way_names[] = {"inside, sides by a kernel", "repeated sides, corrected by a kernel",
                                        "copy in a frame of zeros", "aligned inside, sides by a kernel"};

/* Outputs [top, bottom) x [left, right). */
struct Inside {
    int64_t top, bottom, left, right;
};

struct NppImage {
    RivalImage c;
    Way way;
    Inside inside;
    int64_t frame_columns, origin;  /* the frame's distance between rows, and offset of the image's first pixel, both in pixels */
    float *taps, *frame;            /* [kernel_rows][kernel_columns], [rows + kernel_rows - 1][frame_columns] */
    NppStreamContext context;
};

static int64_t lw_round_up(int64_t n) { return (n + ALIGNED_PIXELS - 1) / ALIGNED_PIXELS * ALIGNED_PIXELS; }

static __global__ void narrow(float *to, const double *from, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = (float)from[i];
}

/* A thread computes one output that is not inside: first the rows above and below, then the outputs left and right of the
 * inside. */
static __global__ void make_sides(const RivalImage c, const Inside in, const float *taps, const float *image, float *output)
{
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, row, column;
    const int64_t n_outer = (in.top + c.rows - in.bottom) * c.columns, beside = in.left + c.columns - in.right;
    if (i < n_outer) {
        row = i / c.columns;
        column = i - row * c.columns;
        row += row < in.top ? 0 : in.bottom - in.top;
    } else {
        i -= n_outer;
        if (i >= (in.bottom - in.top) * beside)
            return;
        row = i / beside;
        column = i - row * beside;
        row += in.top;
        column += column < in.left ? 0 : in.right - in.left;
    }
    const int y = (int)(row + c.ahead_rows), x = (int)(column + c.ahead_columns);
    const int end_m = min(c.kernel_rows, y + 1), begin_n = max(0, x - (int)c.columns + 1), end_n = min(c.kernel_columns, x + 1);
    float sum = 0;
    for (int m = max(0, y - (int)c.rows + 1); m < end_m; ++m) {
        const float *const pixels = image + (int64_t)(y - m) * c.columns + x, *const tap = taps + m * c.kernel_columns;
#pragma unroll 8
        for (int n = begin_n; n < end_n; ++n)
            sum += __ldg(tap + n) * __ldg(pixels - n);
    }
    output[row * c.columns + column] = sum;
}

/* Compute rows x columns outputs; `from` is the pixel at the place of the first output.
 * NPP convolves as we do: to[i][j] = sum taps[m][n] from[i + anchor.y - m][j + anchor.x - n]. */
static NppStatus filter(const NppImage &f, const float *from, int64_t from_columns, float *to, int64_t rows, int64_t columns)
{
    const int from_step = (int)(from_columns * sizeof(float)), to_step = (int)(f.c.columns * sizeof(float));
    const NppiSize size = {(int)columns, (int)rows}, kernel = {f.c.kernel_columns, f.c.kernel_rows};
    const NppiPoint anchor = {f.c.ahead_columns, f.c.ahead_rows};
    if (f.way == REPEATED)
        return nppiFilterBorder_32f_C1R_Ctx(from, from_step, size, {0, 0}, to, to_step, size, f.taps, kernel, anchor,
                                            NPP_BORDER_REPLICATE, f.context);
    return nppiFilter_32f_C1R_Ctx(from, from_step, to, to_step, size, f.taps, kernel, anchor, f.context);
}

/* Whether NPP accepts such a kernel, tried on one output. */
static bool accepts(const NppImage &f)
{
    const int64_t rows = 2 * f.c.kernel_rows, columns = 2 * f.c.kernel_columns;
    float *pixels;
    CHECK_CUDA(cudaMalloc(&pixels, sizeof(float) * (rows * columns + 1)));
    const bool done = filter(f, pixels + f.c.kernel_rows * columns + f.c.kernel_columns, columns, pixels + rows * columns, 1, 1) ==
                      NPP_SUCCESS;
    CHECK_CUDA(cudaStreamSynchronize(f.context.hStream));
    CHECK_CUDA(cudaFree(pixels));
    return done;
}

static NppStreamContext context_of(cudaStream_t stream)
{
    NppStreamContext context = {};
    cudaDeviceProp device;
    context.hStream = stream;
    CHECK_CUDA(cudaGetDevice(&context.nCudaDeviceId));
    CHECK_CUDA(cudaGetDeviceProperties(&device, context.nCudaDeviceId));
    context.nMultiProcessorCount = device.multiProcessorCount;
    context.nMaxThreadsPerMultiProcessor = device.maxThreadsPerMultiProcessor;
    context.nMaxThreadsPerBlock = device.maxThreadsPerBlock;
    context.nSharedMemPerBlock = device.sharedMemPerBlock;
    context.nCudaDevAttrComputeCapabilityMajor = device.major;
    context.nCudaDevAttrComputeCapabilityMinor = device.minor;
    CHECK_CUDA(cudaStreamGetFlags(stream, &context.nStreamFlags));
    return context;
}

static Inside inside_of(const RivalImage &c, Way way)
{
    Inside in = {c.kernel_rows - 1 - c.ahead_rows, c.rows - c.ahead_rows, c.kernel_columns - 1 - c.ahead_columns,
                 c.columns - c.ahead_columns};
    if (way == ALIGNED) {
        in.left = lw_round_up(in.left);
        in.right = in.right / ALIGNED_PIXELS * ALIGNED_PIXELS;
    }
    return in;
}

/* Make the frame. The zeros are written once, since only the image inside the frame changes. */
static bool make_frame(NppImage *f)
{
    const int64_t left = lw_round_up(f->c.kernel_columns - 1 - f->c.ahead_columns);
    f->frame_columns = lw_round_up(left + f->c.columns + f->c.ahead_columns);
    f->origin = (f->c.kernel_rows - 1 - f->c.ahead_rows) * f->frame_columns + left;
    const size_t bytes = sizeof(float) * (f->c.rows + f->c.kernel_rows - 1) * f->frame_columns;
    if (cudaMalloc(&f->frame, bytes) != cudaSuccess) {
        cudaGetLastError();
        return false;
    }
    CHECK_CUDA(cudaMemsetAsync(f->frame, 0, bytes, f->context.hStream));
    return true;
}

static void close_image(void *memory)
{
    NppImage *const f = (NppImage *)memory;
    cudaFree(f->taps);
    cudaFree(f->frame);
    delete f;
}

static void *open_image(const RivalImage *c, int step, int choice, const double *taps, cudaStream_t stream, char text[RIVAL_TEXT])
{
    const int n_taps = c->kernel_rows * c->kernel_columns;
    if (step > 0 || choice >= N_WAYS || n_taps > MOST_TAPS)
        return nullptr;
    NppImage *const f = new NppImage();
    f->c = *c;
    f->way = (Way)choice;
    f->inside = inside_of(*c, f->way);
    f->context = context_of(stream);
    CHECK_CUDA(cudaMalloc(&f->taps, sizeof(float) * n_taps));
    narrow<<<(n_taps + 255) / 256, 256, 0, stream>>>(f->taps, taps, n_taps);
    if (f->inside.top >= f->inside.bottom || f->inside.left >= f->inside.right || !accepts(*f) ||
        (f->way == FRAMED && !make_frame(f))) {
        close_image(f);
        return nullptr;
    }
    snprintf(text, RIVAL_TEXT, "%s", way_names[choice]);
    return f;
}

static void run_framed(const NppImage &f, const float *image, float *output)
{
    const size_t row_bytes = sizeof(float) * f.c.columns;
    float *const origin = f.frame + f.origin;
    CHECK_CUDA(cudaMemcpy2DAsync(origin, sizeof(float) * f.frame_columns, image, row_bytes, row_bytes, f.c.rows,
                                 cudaMemcpyDeviceToDevice, f.context.hStream));
    CHECK_CUDA(filter(f, origin, f.frame_columns, output, f.c.rows, f.c.columns));
}

static void run_sides(const NppImage &f, const float *image, float *output)
{
    const Inside &in = f.inside;
    const int64_t n = f.c.rows * f.c.columns - (in.bottom - in.top) * (in.right - in.left);
    if (n > 0)
        make_sides<<<(unsigned)((n + 127) / 128), 128, 0, f.context.hStream>>>(f.c, in, f.taps, image, output);
    CHECK_CUDA(cudaGetLastError());
}

static void run_image(void *memory, const void *image, void *output, cudaStream_t stream)
{
    NppImage &f = *(NppImage *)memory;
    const float *const from = (const float *)image;
    float *const to = (float *)output;
    f.context.hStream = stream;
    if (f.way == FRAMED)
        return run_framed(f, from, to);
    const Inside in = f.way == REPEATED ? Inside{0, f.c.rows, 0, f.c.columns} : f.inside;
    const int64_t first = in.top * f.c.columns + in.left;
    CHECK_CUDA(filter(f, from + first, f.c.columns, to + first, in.bottom - in.top, in.right - in.left));
    run_sides(f, from, to);
}

extern "C" const ImageRival rival = {"NPP", true, true, open_image, run_image, close_image};
