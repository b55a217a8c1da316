/* conv2d_callbacks.cu - convolution of an image by two cuFFT transforms and nothing else. Callbacks are linked into cuFFT's
 * kernels (cufftXtSetCallback, which only the static library has). Those of the forward transforms load tiles from the image,
 * with zeros beyond its sides. Those of the inverse transforms load products with the kernel's spectrum and store the outputs
 * that cropping leaves. The ways are tiles, and the padded image as one tile.
 *
 * cuFFT may use the output of its inverse transforms for intermediate values, so that these get a space of their own. Before each
 * batch a kernel of one thread sets where the callbacks find image and output. */
#include "divide.cuh"
#include "tests/bench/cufft_image.cuh"

#include <cufftXt.h>

struct Shape {
    ImageCut cut;
    Divider tile_points, columns, tile_bins, across;
    const float2 *kernel;
};

struct Place {
    const float *image;
    float *output;
    int first;                      /* first tile of the batch */
};

static __constant__ Shape shape;
static __device__ Place place;

static __global__ void set_place(const float *image, float *output, int first) { place = {image, output, first}; }

struct Point {
    int tile_row, tile_column, row, column;
};

static __device__ __forceinline__ Point point_of(size_t offset)
{
    const uint32_t at = (uint32_t)offset, tile = divide(at, shape.tile_points), in_tile = at - tile * shape.tile_points.by;
    const uint32_t row = divide(in_tile, shape.columns), number = tile + (uint32_t)place.first;
    const uint32_t tile_row = divide(number, shape.across);
    return {(int)tile_row, (int)(number - tile_row * shape.across.by), (int)row, (int)(in_tile - row * shape.columns.by)};
}

static __device__ float load_pixel(void *, size_t offset, void *, void *)
{
    const Point p = point_of(offset);
    const RivalImage &c = shape.cut.c;
    const int64_t row = (int64_t)p.tile_row * shape.cut.hop_rows + c.ahead_rows - (c.kernel_rows - 1) + p.row;
    const int64_t column = (int64_t)p.tile_column * shape.cut.hop_columns + c.ahead_columns - (c.kernel_columns - 1) + p.column;
    const bool inside = row >= 0 && row < c.rows && column >= 0 && column < c.columns;
    return inside ? __ldg(place.image + row * c.columns + column) : 0;
}

static __device__ cufftComplex load_product(void *bins, size_t offset, void *, void *)
{
    const uint32_t at = (uint32_t)offset, tile = divide(at, shape.tile_bins);
    const float2 z = ((const float2 *)bins)[at], k = __ldg(shape.kernel + (at - tile * shape.tile_bins.by));
    return {z.x * k.x - z.y * k.y, z.x * k.y + z.y * k.x};
}

static __device__ void store_pixel(void *, size_t offset, cufftReal value, void *, void *)
{
    const Point p = point_of(offset);
    const RivalImage &c = shape.cut.c;
    const int y = p.row - (c.kernel_rows - 1), x = p.column - (c.kernel_columns - 1);
    const int64_t row = (int64_t)p.tile_row * shape.cut.hop_rows + y, column = (int64_t)p.tile_column * shape.cut.hop_columns + x;
    if (y >= 0 && y < shape.cut.hop_rows && x >= 0 && x < shape.cut.hop_columns && row < c.rows && column < c.columns)
        __stcs(place.output + row * c.columns + column, value);
}

static __global__ void addresses(void **functions)
{
    const cufftCallbackLoadR load = load_pixel;
    const cufftCallbackLoadC multiply = load_product;
    const cufftCallbackStoreR store = store_pixel;
    functions[0] = (void *)load;
    functions[1] = (void *)multiply;
    functions[2] = (void *)store;
}

struct CallbackImage {
    ImageCut cut;
    ImagePlans full, last;
    float2 *bins, *kernel;
    float *space;                   /* [batch][rows][columns], output of the inverse transforms */
};

/* Plan for consecutive rows. 0: cuFFT or the memory cannot do it. */
static cufftHandle plan_of(const ImageCut &cut, cufftType type, int batch)
{
    long long n[2] = {cut.rows, cut.columns};
    size_t bytes;
    cufftHandle plan;
    CHECK_CUDA(cufftCreate(&plan));
    if (!cufftMakePlanMany64(plan, 2, n, nullptr, 1, 0, nullptr, 1, 0, type, batch, &bytes))
        return plan;
    cudaGetLastError();
    cufftDestroy(plan);
    return 0;
}

static bool make_plans(const ImageCut &cut, int batch, ImagePlans *p)
{
    void **where, *functions[3];
    *p = {plan_of(cut, CUFFT_R2C, batch), plan_of(cut, CUFFT_C2R, batch)};
    if (!p->forward || !p->inverse)
        return false;
    CHECK_CUDA(cudaMalloc(&where, sizeof functions));
    addresses<<<1, 1>>>(where);
    CHECK_CUDA(cudaMemcpy(functions, where, sizeof functions, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaFree(where));
    CHECK_CUDA(cufftXtSetCallback(p->forward, &functions[0], CUFFT_CB_LD_REAL, nullptr));
    CHECK_CUDA(cufftXtSetCallback(p->inverse, &functions[1], CUFFT_CB_LD_COMPLEX, nullptr));
    CHECK_CUDA(cufftXtSetCallback(p->inverse, &functions[2], CUFFT_CB_ST_REAL, nullptr));
    return true;
}

static void close_image(void *memory)
{
    CallbackImage *const f = (CallbackImage *)memory;
    image_destroy(f->full);
    if (f->last.forward != f->full.forward)
        image_destroy(f->last);
    cudaFree(f->bins);
    cudaFree(f->kernel);
    cudaFree(f->space);
    delete f;
}

static CallbackImage *create(const ImageCut &cut, const double *taps, cudaStream_t stream)
{
    CallbackImage *const f = new CallbackImage();
    const int last = image_last(cut);
    const size_t bins = cut.tile_bins();
    f->cut = cut;
    bool done = make_plans(cut, cut.batch, &f->full);
    if (last == cut.batch)
        f->last = f->full;
    else
        done = done && make_plans(cut, last, &f->last);
    done = done && cudaMalloc(&f->bins, sizeof(float2) * bins * cut.batch) == cudaSuccess &&
           cudaMalloc(&f->kernel, sizeof(float2) * bins) == cudaSuccess &&
           cudaMalloc(&f->space, sizeof(float) * cut.rows * cut.columns * cut.batch) == cudaSuccess;
    if (!done) {
        cudaGetLastError();
        close_image(f);
        return nullptr;
    }
    image_kernel(cut, f->kernel, taps, stream);
    const Shape s = {cut, make_divider((uint32_t)cut.rows * (uint32_t)cut.columns), make_divider((uint32_t)cut.columns),
                     make_divider((uint32_t)bins), make_divider((uint32_t)cut.across), f->kernel};
    CHECK_CUDA(cudaMemcpyToSymbol(shape, &s, sizeof s));
    return f;
}

/* Open a way. The first step has the whole image in several sizes; every step has three shapes of tiles, each with several sizes
 * in megabytes of a batch's spectra. */
static void *open_image(const RivalImage *c, int step, int choice, const double *taps, cudaStream_t stream, char text[RIVAL_TEXT])
{
    const int spaces[] = {8, 24, 128}, n_spaces = (int)(sizeof spaces / sizeof *spaces), n_whole = step == 0 ? 4 : 0;
    int rows, columns;
    const bool is_whole = choice < n_whole;
    if (!(is_whole ? image_whole(*c, choice, &rows, &columns)
                   : image_tile(*c, step, (choice - n_whole) / n_spaces, &rows, &columns)))
        return nullptr;
    const double points = (double)rows * columns, most = 2e9 / points;      /* the number of points must be below 2^31 */
    const double batch = is_whole ? 1 : std::min(most, spaces[(choice - n_whole) % n_spaces] * RIVAL_MEGABYTE / (4 * points));
    CallbackImage *const f = points < 2e9 ? create(image_cut(*c, rows, columns, batch), taps, stream) : nullptr;
    if (f)
        snprintf(text, RIVAL_TEXT, "%s %d x %d, %d at a time", is_whole ? "whole" : "tiles", rows, columns, f->cut.batch);
    return f;
}

static void run_image(void *memory, const void *image, void *output, cudaStream_t stream)
{
    const CallbackImage &f = *(const CallbackImage *)memory;
    for (int first = 0; first < f.cut.n_tiles; first += f.cut.batch) {
        const ImagePlans &p = f.cut.n_tiles - first >= f.cut.batch ? f.full : f.last;
        CHECK_CUDA(cufftSetStream(p.forward, stream));
        CHECK_CUDA(cufftSetStream(p.inverse, stream));
        set_place<<<1, 1, 0, stream>>>((const float *)image, (float *)output, first);
        CHECK_CUDA(cufftExecR2C(p.forward, (float *)image, f.bins));
        CHECK_CUDA(cufftExecC2R(p.inverse, f.bins, f.space));
    }
}

extern "C" const ImageRival rival = {"cuFFT callbacks", true, false, open_image, run_image, close_image};
