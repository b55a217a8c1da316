/* cufft_ols.cuh - careful overlap-save through cuFFT. The forward plan reads overlapping segments in place (idist = hop). One
 * kernel reads each spectrum once and multiplies it with all filters; one batched inverse plan works in place; one kernel crops.
 * Segments go in chunks, so that spectra and products can stay in the L2 cache. For each segment length several sizes of chunk
 * are tried, also a single chunk. One segment over the whole signal makes it plain FFT convolution. Single or double, complex or
 * real, one channel. */
#ifndef CUFFT_OLS_CUH
#define CUFFT_OLS_CUH

#include "gpu_bench.cuh"
#include "rivals/rival.h"

#include <cmath>
#include <cufft.h>

/* 16 bytes of complex values. */
template <class C> struct alignas(16) CufftPack {
    C value[16 / sizeof(C)];
};

/* out[f][j] = x[j] h[f], in rows of n_packs packs. grid: packs of a row, rows */
template <class C>
__global__ void cufft_multiply(CufftPack<C> *out, const CufftPack<C> *x, const CufftPack<C> *h, int n_packs, int n_rows,
                               int n_filters)
{
    for (int j = blockIdx.y; j < n_rows; j += gridDim.y)
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n_packs; i += gridDim.x * blockDim.x) {
            const CufftPack<C> a = x[(int64_t)j * n_packs + i];
            for (int f = 0; f < n_filters; ++f) {
                const CufftPack<C> b = h[(int64_t)f * n_packs + i];
                CufftPack<C> product;
                for (int k = 0; k < (int)(16 / sizeof(C)); ++k)
                    product.value[k] = {a.value[k].x * b.value[k].x - a.value[k].y * b.value[k].y,
                                        a.value[k].x * b.value[k].y + a.value[k].y * b.value[k].x};
                out[((int64_t)f * n_rows + j) * n_packs + i] = product;
            }
        }
}

/* y[f][j hop + i] = segments[f][j][discard + i]. grid: segments, filters, blocks that share a segment. left: outputs from y on */
template <class S>
__global__ void cufft_crop(S *y, const S *segments, int64_t stride, int64_t left, int n_segments, int n, int pitch, int discard)
{
    const int hop = n - discard;
    for (int j = blockIdx.x; j < n_segments; j += gridDim.x) {
        const S *const from = segments + ((int64_t)blockIdx.y * n_segments + j) * pitch + discard;
        S *const to = y + blockIdx.y * stride + (int64_t)j * hop;
        const int64_t rest = left - (int64_t)j * hop;
        const int size = rest < hop ? (int)rest : hop;
#pragma unroll 4
        for (int i = blockIdx.z * blockDim.x + threadIdx.x; i < size; i += gridDim.z * blockDim.x)
            __stcs(to + i, __ldcs(from + i));
    }
}

/* Grid of cufft_crop. Few segments are each shared by so many blocks that the device is full; a thread has four samples or more. */
inline dim3 cufft_crop_grid(int n_segments, int n_filters, int hop, int threads)
{
    const int64_t rows = (int64_t)n_segments * n_filters, wanted = (8192 + rows - 1) / rows;
    const int64_t most = std::max(1, hop / (4 * threads));
    return dim3(std::min(n_segments, 1 << 20), n_filters, (unsigned)std::min(wanted, most));
}

inline cufftType cufft_kind(const RivalOls &c, bool forward)
{
    if (!c.real)
        return c.is_double ? CUFFT_Z2Z : CUFFT_C2C;
    if (forward)
        return c.is_double ? CUFFT_D2Z : CUFFT_R2C;
    return c.is_double ? CUFFT_Z2D : CUFFT_C2R;
}

/* Make a plan. idist, odist: distances between rows in values of the type of that side */
inline cufftHandle cufft_plan(const RivalOls &c, int n, bool forward, int64_t idist, int64_t odist, int64_t batch)
{
    cufftHandle plan;
    size_t bytes;
    long long length[1] = {n}, embed[1] = {n};
    CHECK_CUDA(cufftCreate(&plan));
    CHECK_CUDA(cufftMakePlanMany64(plan, 1, length, embed, 1, idist, embed, 1, odist, cufft_kind(c, forward), batch, &bytes));
    return plan;
}

inline void cufft_execute(const RivalOls &c, cufftHandle plan, bool forward, const void *in, void *out)
{
    const int direction = forward ? CUFFT_FORWARD : CUFFT_INVERSE;
    if (!c.real && c.is_double)
        CHECK_CUDA(cufftExecZ2Z(plan, (cufftDoubleComplex *)in, (cufftDoubleComplex *)out, direction));
    else if (!c.real)
        CHECK_CUDA(cufftExecC2C(plan, (cufftComplex *)in, (cufftComplex *)out, direction));
    else if (c.is_double && forward)
        CHECK_CUDA(cufftExecD2Z(plan, (double *)in, (cufftDoubleComplex *)out));
    else if (c.is_double)
        CHECK_CUDA(cufftExecZ2D(plan, (cufftDoubleComplex *)in, (double *)out));
    else if (forward)
        CHECK_CUDA(cufftExecR2C(plan, (float *)in, (cufftComplex *)out));
    else
        CHECK_CUDA(cufftExecC2R(plan, (cufftComplex *)in, (float *)out));
}

/* ---- spectra of the filters ---------------------------------------------------------------------------------------------- */

/* padded[f][i] = taps[f][i]; 0 for i >= n_taps */
static __global__ void cufft_pad(double2 *padded, const double *taps, bool real, int64_t n_taps, int n)
{
    const int64_t f = blockIdx.y, i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, at = f * n_taps + i;
    if (i >= n)
        return;
    padded[f * n + i] = i >= n_taps ? double2{0, 0} : real ? double2{taps[at], 0} : ((const double2 *)taps)[at];
}

template <class C> __global__ void cufft_narrow(C *bank, const double2 *spectra, int n, int pitch)
{
    const int64_t f = blockIdx.y, k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    using Real = decltype(C::x);
    if (k < pitch && k < n)
        bank[f * pitch + k] = {(Real)(spectra[f * n + k].x / n), (Real)(spectra[f * n + k].y / n)};
}

/* bank[f][k] = (1 / n) sum_m taps[f][m] exp(-2 pi i m k / n), transformed in double; rows of `pitch` values */
template <class C> void cufft_bank(C *bank, const double *taps, bool real, int64_t n_taps, int n_filters, int n, int pitch)
{
    const dim3 grid((n + 127) / 128, n_filters);
    double2 *spectra;
    cufftHandle plan;
    CHECK_CUDA(cudaMalloc(&spectra, (size_t)n_filters * n * sizeof *spectra));
    cufft_pad<<<grid, 128>>>(spectra, taps, real, n_taps, n);
    CHECK_CUDA(cufftPlan1d(&plan, n, CUFFT_Z2Z, n_filters));
    CHECK_CUDA(cufftExecZ2Z(plan, spectra, spectra, CUFFT_FORWARD));
    cufft_narrow<<<grid, 128>>>(bank, spectra, n, pitch);
    CHECK_CUDA(cudaDeviceSynchronize());
    cufftDestroy(plan);
    cudaFree(spectra);
}

/* ---- segments ------------------------------------------------------------------------------------------------------------- */

/* Cut of the signal: `n_chunks` of `chunk` segments, the last one of `last` segments. */
struct CufftCut {
    int n, hop, pitch;              /* pitch: distance between spectra in complex values */
    int64_t n_segments;
    int n_chunks, chunk, last;
    size_t value;                   /* bytes of a complex value */

    size_t row_bytes() const { return pitch * value; }
};

/* Segment length of a step: 2^a and 3 2^a, beginning with the first power of two that holds one and a half filters. Beyond the
 * first two lengths the spectra of all filters must leave room for the rest. 0: no more. */
inline int cufft_length(const RivalOls &c, int step)
{
    int64_t n = 512;
    while (2 * n < 3 * c.n_taps)
        n *= 2;
    n <<= step / 2;
    if (n > (int64_t)1 << 24 || (step > 1 && n * c.n_filters > (int64_t)1 << 27))
        return 0;
    return (int)(step % 2 ? n * 3 / 2 : n);
}

/* Cut the signal into chunks of about `chunk` segments. For real samples the number is made even if chunks would begin at odd
 * samples, since cuFFT wants pairs aligned. */
inline CufftCut cufft_cut(const RivalOls &c, int n, double chunk)
{
    CufftCut cut = {};
    cut.n = n;
    cut.hop = n - (int)(c.n_taps - 1);
    cut.value = c.is_double ? sizeof(double2) : sizeof(float2);
    const int pack = (int)(16 / cut.value);
    cut.pitch = c.real ? (n / 2 + pack) / pack * pack : n;
    cut.n_segments = (c.count + cut.hop - 1) / cut.hop;
    const int64_t wanted = std::max<int64_t>(1, (int64_t)std::min(chunk, (double)cut.n_segments));
    cut.n_chunks = (int)((cut.n_segments + wanted - 1) / wanted);
    cut.chunk = (int)((cut.n_segments + cut.n_chunks - 1) / cut.n_chunks);
    if (c.real && cut.hop % 2 != 0 && cut.n_chunks > 1)
        cut.chunk += cut.chunk % 2;
    cut.n_chunks = (int)((cut.n_segments + cut.chunk - 1) / cut.chunk);
    cut.last = (int)(cut.n_segments - (int64_t)(cut.n_chunks - 1) * cut.chunk);
    return cut;
}

/* Distance between output rows of an inverse transform in place, in values. */
inline int64_t cufft_output_pitch(const RivalOls &c, const CufftCut &cut) { return c.real ? 2 * (int64_t)cut.pitch : cut.pitch; }

struct CufftPlans {
    cufftHandle forward, inverse;
};

struct CufftOls {
    RivalOls c;
    CufftCut cut;
    int at_once;                    /* filters that are done together */
    CufftPlans full, last;
    void *spectra, *products, *bank;
};

inline CufftPlans cufft_plans(const CufftOls &o, int n_segments)
{
    const CufftCut &cut = o.cut;
    return {cufft_plan(o.c, cut.n, true, cut.hop, cut.pitch, n_segments),
            cufft_plan(o.c, cut.n, false, cut.pitch, cufft_output_pitch(o.c, cut), (int64_t)n_segments * o.at_once)};
}

struct CufftShare {
    CufftCut cut;
    int at_once;
};

/* Divide the work so that spectra and products take about `space` bytes. */
inline CufftShare cufft_share(const RivalOls &c, int n, double space)
{
    const double row = (double)cufft_cut(c, n, 1).row_bytes(), most = std::min(space, 2e9 / n * row);    /* each plan has less
                                                                                                          * than 2^31 values */
    const double filters = std::max(1.0, std::min((double)c.n_filters, std::floor(most / row) - 1));
    const int groups = (int)std::ceil(c.n_filters / filters), at_once = (c.n_filters + groups - 1) / groups;
    return {cufft_cut(c, n, std::floor(most / row / (1 + at_once))), at_once};
}

/* space: bytes of spectra and products */
inline CufftOls *cufft_ols_create(const RivalOls &c, int n, double space, const double *taps)
{
    CufftOls *const o = new CufftOls();
    const CufftShare share = cufft_share(c, n, space);
    o->c = c;
    o->cut = share.cut;
    o->at_once = share.at_once;
    o->full = cufft_plans(*o, o->cut.chunk);
    o->last = o->cut.last == o->cut.chunk ? o->full : cufft_plans(*o, o->cut.last);
    const size_t bytes = o->cut.row_bytes(), rounded = (c.n_filters + o->at_once - 1) / o->at_once * o->at_once;
    CHECK_CUDA(cudaMalloc(&o->spectra, bytes * o->cut.chunk));
    CHECK_CUDA(cudaMalloc(&o->products, bytes * o->cut.chunk * o->at_once));
    CHECK_CUDA(cudaMalloc(&o->bank, bytes * rounded));
    CHECK_CUDA(cudaMemset(o->bank, 0, bytes * rounded));
    if (c.is_double)
        cufft_bank((double2 *)o->bank, taps, c.real, c.n_taps, c.n_filters, n, o->cut.pitch);
    else
        cufft_bank((float2 *)o->bank, taps, c.real, c.n_taps, c.n_filters, n, o->cut.pitch);
    return o;
}

inline void cufft_ols_close(void *memory)
{
    CufftOls *const o = (CufftOls *)memory;
    cufftDestroy(o->full.forward);
    cufftDestroy(o->full.inverse);
    if (o->last.forward != o->full.forward) {
        cufftDestroy(o->last.forward);
        cufftDestroy(o->last.inverse);
    }
    cudaFree(o->spectra);
    cudaFree(o->products);
    cudaFree(o->bank);
    delete o;
}

/* Results of the inverse transforms of a chunk: filters f .. f + n_filters - 1 of `n_segments` segments, of which the first begins
 * with output number `first`. A segment's points begin every `pitch` samples. */
struct CufftPiece {
    const void *segments;
    int64_t first;
    int n_segments, f, n_filters, pitch;
};

/* Filter a chunk and give the pieces to store(piece). */
template <class C, class Store>
void cufft_ols_chunk(const CufftOls &o, const char *x, int64_t first, int n_segments, const CufftPlans &p, cudaStream_t stream,
                     const Store &store)
{
    const CufftCut &cut = o.cut;
    const int packs = (int)(cut.row_bytes() / 16);
    const dim3 products(std::max(1, packs / 128), std::min(n_segments, 32768));      /* a row often has one pack more than a
                                                                                      * multiple of 128 */
    CHECK_CUDA(cufftSetStream(p.forward, stream));
    CHECK_CUDA(cufftSetStream(p.inverse, stream));
    cufft_execute(o.c, p.forward, true, x + first * (int64_t)(o.c.real ? sizeof(C) / 2 : sizeof(C)), o.spectra);
    for (int f = 0; f < o.c.n_filters; f += o.at_once) {
        cufft_multiply<<<products, 128, 0, stream>>>((CufftPack<C> *)o.products, (const CufftPack<C> *)o.spectra,
                                                     (const CufftPack<C> *)o.bank + (int64_t)f * packs, packs, n_segments,
                                                     o.at_once);
        cufft_execute(o.c, p.inverse, false, o.products, o.products);
        store(CufftPiece{o.products, first, n_segments, f, std::min(o.at_once, o.c.n_filters - f),
                         (int)cufft_output_pitch(o.c, cut)});
    }
}

template <class C, class Store> void cufft_ols_chunks(const CufftOls &o, const void *x, cudaStream_t stream, const Store &store)
{
    for (int i = 0; i < o.cut.n_chunks; ++i) {
        const bool is_last = i + 1 == o.cut.n_chunks;
        cufft_ols_chunk<C>(o, (const char *)x, (int64_t)i * o.cut.chunk * o.cut.hop, is_last ? o.cut.last : o.cut.chunk,
                           is_last ? o.last : o.full, stream, store);
    }
}

/* The store of plain convolution: the valid outputs to y. */
template <class Sample> void cufft_ols_crop(const CufftOls &o, void *y, const CufftPiece &p, cudaStream_t stream)
{
    const int hop = o.cut.hop, threads = hop < 1024 ? 128 : 256;
    cufft_crop<<<cufft_crop_grid(p.n_segments, p.n_filters, hop, threads), threads, 0, stream>>>(
        (Sample *)y + p.f * o.c.count + p.first, (const Sample *)p.segments, o.c.count, o.c.count - p.first, p.n_segments, o.cut.n,
        p.pitch, o.cut.n - hop);
}

template <class C, class Sample> void cufft_ols_filter(const CufftOls &o, const void *x, void *y, cudaStream_t stream)
{
    cufft_ols_chunks<C>(o, x, stream, [&](const CufftPiece &piece) { cufft_ols_crop<Sample>(o, y, piece, stream); });
}

inline void cufft_ols_run(void *memory, const void *x, void *y, cudaStream_t stream)
{
    const CufftOls &o = *(const CufftOls *)memory;
    if (o.c.is_double && o.c.real)
        cufft_ols_filter<double2, double>(o, x, y, stream);
    else if (o.c.is_double)
        cufft_ols_filter<double2, double2>(o, x, y, stream);
    else if (o.c.real)
        cufft_ols_filter<float2, float>(o, x, y, stream);
    else
        cufft_ols_filter<float2, float2>(o, x, y, stream);
    CHECK_CUDA(cudaGetLastError());
}

/* Open a way. The choices are megabytes of spectra and products, part of which the L2 cache holds. Those that divide the work as
 * the one before are left out. */
inline void *cufft_ols_open(const RivalOls *c, int step, int choice, const double *taps, cudaStream_t, char text[RIVAL_TEXT])
{
    const int n = cufft_length(*c, step);
    if (n == 0)
        return nullptr;
    double chosen = 0;
    CufftShare before = {};
    for (const int space : {8, 16, 24, 36, 12000}) {
        const CufftShare share = cufft_share(*c, n, space * RIVAL_MEGABYTE);
        const bool is_new = share.cut.chunk != before.cut.chunk || share.at_once != before.at_once;
        if (is_new && choice-- == 0)
            chosen = space * RIVAL_MEGABYTE;
        before = share;
    }
    if (chosen == 0)
        return nullptr;
    CufftOls *const o = cufft_ols_create(*c, n, chosen, taps);
    snprintf(text, RIVAL_TEXT, "N %d; %d segments x %d filters", n, o->cut.chunk, o->at_once);
    return o;
}

static const OlsRival cufft_ols = {"cuFFT", true, true, cufft_ols_open, cufft_ols_run, cufft_ols_close};

inline bool cufft_is_good(int64_t n)
{
    for (const int p : {2, 3, 5, 7})
        while (n % p == 0)
            n /= p;
    return n == 1;
}

/* Open the way with one segment: the whole signal, padded to the next length of small factors. */
inline void *cufft_whole_open(const RivalOls *c, int step, int choice, const double *taps, cudaStream_t, char text[RIVAL_TEXT])
{
    int64_t n = c->count + c->n_taps - 1;
    while (!cufft_is_good(n) || n % 4 > 0)
        ++n;
    if (step > 0 || choice > 0)
        return nullptr;
    snprintf(text, RIVAL_TEXT, "N %lld", (long long)n);
    return cufft_ols_create(*c, (int)n, 24e9, taps);
}

static const OlsRival cufft_whole = {"one FFT", true, true, cufft_whole_open, cufft_ols_run, cufft_ols_close};

#endif
