/* cufft_ols.cuh - overlap-save through cuFFT as one writes it with care: the forward plan reads overlapping segments in
 * place (idist = hop), one kernel multiplies, one batched inverse plan, one kernel crops. All filters at a time where the
 * work space allows, else one after the other. Single or double, complex or real, one channel. */
#ifndef CUFFT_OLS_CUH
#define CUFFT_OLS_CUH

#include "gpu_bench.cuh"

#include <cufft.h>

template <class C> __global__ void cufft_multiply(C *out, const C *x, const C *h, int64_t n_values, int bins, int64_t n_filters)
{
    const int64_t n = n_values * n_filters;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        const int64_t f = i / n_values, at = i - f * n_values;
        const C a = x[at], b = __ldg(h + f * bins + (int)(at % bins));
        out[i] = {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
    }
}

/* y[f][j hop + i] = segments[f][j][discard + i] */
template <class S> __global__ void cufft_crop(S *y, const S *segments, int64_t count, int64_t n_segments, int n, int pitch, int discard)
{
    const int hop = n - discard;
    for (int64_t j = blockIdx.x; j < n_segments; j += gridDim.x) {
        const S *from = segments + (blockIdx.y * n_segments + j) * pitch + discard;
        S *to = y + blockIdx.y * count + j * hop;
        const int64_t left = count - j * hop < hop ? count - j * hop : hop;
        for (int i = threadIdx.x; i < left; i += blockDim.x)
            __stcs(to + i, from[i]);
    }
}

struct CufftCase {
    bool real, is_double;
    int64_t count, n_taps;
    int n_filters;
};

/* One configuration: segment length and work space. */
struct CufftOls {
    CufftCase c;
    int n, hop, bins, pitch;        /* reals a row of the inverse's output takes (real), or complex values */
    int64_t n_segments;
    int at_once;                    /* filters */
    cufftHandle forward, inverse;
    void *spectra, *products, *bank;
    size_t value;                   /* bytes of a complex value */
};

inline cufftType cufft_kind(const CufftCase &c, bool forward)
{
    if (!c.real)
        return c.is_double ? CUFFT_Z2Z : CUFFT_C2C;
    if (forward)
        return c.is_double ? CUFFT_D2Z : CUFFT_R2C;
    return c.is_double ? CUFFT_Z2D : CUFFT_C2R;
}

inline cufftHandle cufft_plan(const CufftCase &c, int n, bool forward, int idist, int odist, int64_t batch)
{
    cufftHandle plan;
    size_t bytes;
    long long length[1] = {n}, embed[1] = {n};
    CHECK_CUDA(cufftCreate(&plan));
    CHECK_CUDA(cufftMakePlanMany64(plan, 1, length, embed, 1, idist, embed, 1, odist, cufft_kind(c, forward), batch, &bytes));
    return plan;
}

inline void cufft_execute(const CufftOls &o, bool forward, const void *in, void *out)
{
    const cufftHandle plan = forward ? o.forward : o.inverse;
    if (!o.c.real && o.c.is_double)
        CHECK_CUDA(cufftExecZ2Z(plan, (cufftDoubleComplex *)in, (cufftDoubleComplex *)out, forward ? CUFFT_FORWARD : CUFFT_INVERSE));
    else if (!o.c.real)
        CHECK_CUDA(cufftExecC2C(plan, (cufftComplex *)in, (cufftComplex *)out, forward ? CUFFT_FORWARD : CUFFT_INVERSE));
    else if (o.c.is_double && forward)
        CHECK_CUDA(cufftExecD2Z(plan, (double *)in, (cufftDoubleComplex *)out));
    else if (o.c.is_double)
        CHECK_CUDA(cufftExecZ2D(plan, (cufftDoubleComplex *)in, (double *)out));
    else if (forward)
        CHECK_CUDA(cufftExecR2C(plan, (float *)in, (cufftComplex *)out));
    else
        CHECK_CUDA(cufftExecC2R(plan, (cufftComplex *)in, (float *)out));
}

/* padded[f][i] = taps[f][i], 0 from n_taps on */
__global__ void cufft_pad(double2 *padded, const double *taps, bool real, int64_t n_taps, int n)
{
    const int64_t f = blockIdx.y, i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, at = f * n_taps + i;
    if (i >= n)
        return;
    padded[f * n + i] = i >= n_taps ? double2{0, 0} : real ? double2{taps[at], 0} : ((const double2 *)taps)[at];
}

template <class C> __global__ void cufft_narrow(C *bank, const double2 *spectra, int n, int bins)
{
    const int64_t f = blockIdx.y, k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    using Real = decltype(C::x);
    if (k < bins)
        bank[f * bins + k] = {(Real)(spectra[f * n + k].x / n), (Real)(spectra[f * n + k].y / n)};
}

/* bank[f][k] = (1 / n) sum_m taps[f][m] exp(-2 pi i m k / n), transformed in double */
template <class C> void cufft_bank(C *bank, const double *taps, bool real, int64_t n_taps, int n_filters, int n, int bins)
{
    const dim3 grid((n + 127) / 128, n_filters);
    double2 *spectra;
    cufftHandle plan;
    CHECK_CUDA(cudaMalloc(&spectra, (size_t)n_filters * n * sizeof *spectra));
    cufft_pad<<<grid, 128>>>(spectra, taps, real, n_taps, n);
    CHECK_CUDA(cufftPlan1d(&plan, n, CUFFT_Z2Z, n_filters));
    CHECK_CUDA(cufftExecZ2Z(plan, spectra, spectra, CUFFT_FORWARD));
    cufft_narrow<<<grid, 128>>>(bank, spectra, n, bins);
    CHECK_CUDA(cudaDeviceSynchronize());
    cufftDestroy(plan);
    cudaFree(spectra);
}

/* work: largest size of the products' space */
inline CufftOls cufft_ols_create(const CufftCase &c, int n, const double *taps, size_t work)
{
    CufftOls o = {};
    o.c = c;
    o.n = n;
    o.hop = n - (int)(c.n_taps - 1);
    o.bins = c.real ? n / 2 + 1 : n;
    o.pitch = c.real ? 2 * o.bins : n;
    o.n_segments = (c.count + o.hop - 1) / o.hop;
    o.value = c.is_double ? sizeof(double2) : sizeof(float2);
    const size_t one = o.n_segments * (size_t)o.bins * o.value;
    o.at_once = one * c.n_filters <= work ? c.n_filters : 1;
    o.forward = cufft_plan(c, n, true, o.hop, o.bins, o.n_segments);
    o.inverse = cufft_plan(c, n, false, o.bins, o.pitch, o.n_segments * o.at_once);
    CHECK_CUDA(cudaMalloc(&o.spectra, one));
    CHECK_CUDA(cudaMalloc(&o.products, one * o.at_once));
    CHECK_CUDA(cudaMalloc(&o.bank, c.n_filters * (size_t)o.bins * o.value));
    if (c.is_double)
        cufft_bank((double2 *)o.bank, taps, c.real, c.n_taps, c.n_filters, n, o.bins);
    else
        cufft_bank((float2 *)o.bank, taps, c.real, c.n_taps, c.n_filters, n, o.bins);
    return o;
}

inline void cufft_ols_destroy(CufftOls &o)
{
    cufftDestroy(o.forward);
    cufftDestroy(o.inverse);
    cudaFree(o.spectra);
    cudaFree(o.products);
    cudaFree(o.bank);
}

template <class C, class Sample> void cufft_ols_filters(const CufftOls &o, int f, Sample *y, cudaStream_t stream)
{
    const int64_t values = o.n_segments * o.bins;
    cufft_multiply<<<132 * 16, 256, 0, stream>>>((C *)o.products, (const C *)o.spectra, (const C *)o.bank + (int64_t)f * o.bins,
                                                 values, o.bins, o.at_once);
    cufft_execute(o, false, o.products, o.products);
    const dim3 grid((unsigned)std::min<int64_t>(o.n_segments, 132 * 32), o.at_once);
    cufft_crop<<<grid, 256, 0, stream>>>(y + f * o.c.count, (const Sample *)o.products, o.c.count, o.n_segments, o.n, o.pitch,
                                         (int)o.c.n_taps - 1);
}

/* x: n_taps - 1 samples of halo, `count` samples and a hop of zeros beyond; y: [n_filters][count] */
inline void cufft_ols_run(const CufftOls &o, const void *x, void *y, cudaStream_t stream)
{
    CHECK_CUDA(cufftSetStream(o.forward, stream));
    CHECK_CUDA(cufftSetStream(o.inverse, stream));
    cufft_execute(o, true, x, o.spectra);
    for (int f = 0; f < o.c.n_filters; f += o.at_once) {
        if (o.c.is_double && o.c.real)
            cufft_ols_filters<double2>(o, f, (double *)y, stream);
        else if (o.c.is_double)
            cufft_ols_filters<double2>(o, f, (double2 *)y, stream);
        else if (o.c.real)
            cufft_ols_filters<float2>(o, f, (float *)y, stream);
        else
            cufft_ols_filters<float2>(o, f, (float2 *)y, stream);
    }
}

#endif
