/* ols_cufftdx.cu - the rival made of cuFFTDx: calls the kernels of ols_cufftdx.cuh for the benchmark. Single precision. */
#include "ols_cufftdx.h"
#include "tests/bench/cufft_ols.cuh"

std::vector<DxKernel> &dx_kernels()
{
    static std::vector<DxKernel> kernels;
    return kernels;
}

struct DxOls {
    DxKernel kernel;
    DxArguments arguments;
    dim3 grid;
};

/* Reorder bins from natural order to the order of the kernel's threads. spectra: [filter][pitch] */
static __global__ void order_bank(const float2 *spectra, int pitch, float4 *bank, int n, int points, bool folded)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, T = n / points;
    if (i >= n / 2)
        return;
    const float2 *const from = spectra + (int64_t)blockIdx.y * pitch;
    const int at = i % T + i / T * 2 * T;
    float2 a = from[at];
    const float2 b = from[at + T];
    if (folded && at == 0)
        a.y = from[n].x;
    bank[(int64_t)blockIdx.y * (n / 2) + i] = {a.x, a.y, b.x, b.y};
}

static const float4 *make_bank(const RivalOls &c, const DxKernel &k, const double *taps)
{
    const int length = k.kind == DX_FOLDED ? 2 * k.n : k.n;
    float2 *spectra;
    float4 *bank;
    CHECK_CUDA(cudaMalloc(&spectra, (size_t)c.n_filters * length * sizeof *spectra));
    CHECK_CUDA(cudaMalloc(&bank, (size_t)c.n_filters * k.n / 2 * sizeof *bank));
    cufft_bank(spectra, taps, c.real, c.n_taps, c.n_filters, length, length);
    order_bank<<<dim3((k.n / 2 + 127) / 128, c.n_filters), 128>>>(spectra, length, bank, k.n, k.points, k.kind == DX_FOLDED);
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK_CUDA(cudaFree(spectra));
    return bank;
}

/* Least number of dropped points that a filter of n_taps taps can have; 0: the filter is too long. */
static int discard_of(int64_t n_taps)
{
    for (const int discard : {64, 256, 512, 1024, 2048, 4096, 8192})
        if (n_taps <= discard + 1)
            return discard;
    return 0;
}

static bool suits(const RivalOls &c, const DxKernel &k)
{
    return k.discard == discard_of(c.n_taps) && (k.kind == DX_COMPLEX) == !c.real &&
           (k.kind != DX_FOLDED || (c.n_taps % 2 == 1 && c.count % 2 == 0));      /* folded kernels store pairs of floats at even
                                                                                   * places */
}

/* Open a way. All kernels are choices of one step, each with all filters, a half, a quarter and an eighth of them in a block. */
static void *open_ols(const RivalOls *c, int step, int choice, const double *taps, cudaStream_t, char text[RIVAL_TEXT])
{
    const int splits = c->count > (1 << 24) ? 1 : 4;
    int left = choice;
    if (step > 0 || c->is_double)
        return nullptr;
    for (const DxKernel &k : dx_kernels()) {
        if (!suits(*c, k))
            continue;
        if (left < splits) {
            const int parts = std::min(1 << left, c->n_filters), at_once = (c->n_filters + parts - 1) / parts;
            const int64_t units = (c->count + k.unit - 1) / k.unit;
            DxOls *const o = new DxOls();
            o->kernel = k;
            o->arguments = {nullptr, make_bank(*c, k, taps), nullptr, c->count, c->n_taps - 1, c->n_filters, at_once};
            o->grid = dim3((unsigned)((units + k.ffts - 1) / k.ffts), (c->n_filters + at_once - 1) / at_once);
            CHECK_CUDA(cudaFuncSetAttribute(k.run, cudaFuncAttributeMaxDynamicSharedMemorySize, k.shared_bytes));
            snprintf(text, RIVAL_TEXT, "N %d%s; %s; %d filters", k.kind == DX_FOLDED ? 2 * k.n : k.n,
                     k.kind == DX_PAIRS ? " pairs" : "", k.text, at_once);
            return o;
        }
        left -= splits;
    }
    return nullptr;
}

static void run_ols(void *memory, const void *x, void *y, cudaStream_t stream)
{
    const DxOls &o = *(const DxOls *)memory;
    DxArguments a = o.arguments;
    a.x = (const float *)x;
    a.y = (float *)y;
    cudaLaunchAttribute dependent = {};
    dependent.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    dependent.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t launch = {};
    launch.gridDim = o.grid;
    launch.blockDim = dim3(o.kernel.n / o.kernel.points, o.kernel.ffts);
    launch.dynamicSmemBytes = o.kernel.shared_bytes;
    launch.stream = stream;
    launch.attrs = &dependent;
    launch.numAttrs = 1;
    CHECK_CUDA(cudaLaunchKernelEx(&launch, o.kernel.run, a));
}

static void close_ols(void *memory)
{
    cudaFree((void *)((DxOls *)memory)->arguments.bank);
    delete (DxOls *)memory;
}

extern "C" const OlsRival rival = {"cuFFTDx", false, true, open_ols, run_ols, close_ols};
