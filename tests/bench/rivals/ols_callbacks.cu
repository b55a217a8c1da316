/* ols_callbacks.cu - overlap-save by two cuFFT transforms and nothing else. Callbacks are linked into cuFFT's kernels
 * (cufftXtSetCallback, which only the static library has). Those of the inverse transforms load products of a spectrum and a
 * filter, and store the outputs that cropping leaves. The plans of the inverse transforms count rows a power of two apart; the
 * callbacks map this to the real places. If cuFFT needs more than one kernel, it keeps values between them in the arrays of the
 * call, which therefore are work space of that size. A chunk's spectra stay in the L2 cache, where the filters find them. */
#include "divide.cuh"
#include "tests/bench/cufft_ols.cuh"

#include <cufftXt.h>

struct Callbacks {
    const void *spectra, *bank;
    Divider segments;               /* divider by the segments of a chunk */
    int log2_row, pitch, hop, discard;
    int64_t stride, left;           /* distance between filters in y, in values; outputs from the chunk's first on */
};

static __constant__ Callbacks of_chunks[2];     /* [0] for the last chunk, [1] for those before it */
static __device__ void *chunk_output;           /* the first filter's outputs of the chunk */

static __global__ void aim(void *output) { chunk_output = output; }

template <class C, int I> __device__ C load_product(void *, size_t offset, void *, void *)
{
    const Callbacks &k = of_chunks[I];
    const uint32_t row = (uint32_t)(offset >> k.log2_row), bin = (uint32_t)offset & ((1u << k.log2_row) - 1);
    const uint32_t filter = divide(row, k.segments), segment = row - filter * k.segments.by;
    const C x = ((const C *)k.spectra)[(uint64_t)segment * k.pitch + bin],
            h = ((const C *)k.bank)[(uint64_t)filter * k.pitch + bin];
    return {x.x * h.x - x.y * h.y, x.x * h.y + x.y * h.x};
}

template <class S, int I> __device__ void store_output(void *, size_t offset, S value, void *, void *)
{
    const Callbacks &k = of_chunks[I];
    const uint32_t row = (uint32_t)(offset >> k.log2_row);
    const int i = (int)((uint32_t)offset & ((1u << k.log2_row) - 1)) - k.discard;
    const uint32_t filter = divide(row, k.segments), segment = row - filter * k.segments.by;
    const int64_t at = (int64_t)segment * k.hop + i;
    if (i >= 0 && at < k.left)
        __stcs((S *)chunk_output + filter * k.stride + at, value);
}

template <class C, class S, int I> __global__ void addresses(void **load, void **store)
{
    C (*const load_function)(void *, size_t, void *, void *) = load_product<C, I>;
    void (*const store_function)(void *, size_t, S, void *, void *) = store_output<S, I>;
    *load = (void *)load_function;
    *store = (void *)store_function;
}

struct CallbackOls {
    RivalOls c;
    CufftCut cut;
    CufftPlans plans[2];            /* plans of the last chunk, and of those before it */
    void *spectra, *bank, *work[2];
};

/* Logarithm of the row length that the plans count. */
static int log2_row(int n)
{
    int bits = 0;
    while (1 << bits < n)
        ++bits;
    return bits;
}

template <int I> static void set_callbacks(const CallbackOls &o, cufftHandle plan, const Callbacks &of_chunk)
{
    void **where, *functions[2];
    CHECK_CUDA(cudaMalloc(&where, sizeof functions));
    if (o.c.is_double && o.c.real)
        addresses<double2, double, I><<<1, 1>>>(where, where + 1);
    else if (o.c.is_double)
        addresses<double2, double2, I><<<1, 1>>>(where, where + 1);
    else if (o.c.real)
        addresses<float2, float, I><<<1, 1>>>(where, where + 1);
    else
        addresses<float2, float2, I><<<1, 1>>>(where, where + 1);
    CHECK_CUDA(cudaMemcpy(functions, where, sizeof functions, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaFree(where));
    CHECK_CUDA(cudaMemcpyToSymbol(of_chunks, &of_chunk, sizeof of_chunk, I * sizeof of_chunk));
    const cufftXtCallbackType load = o.c.is_double ? CUFFT_CB_LD_COMPLEX_DOUBLE : CUFFT_CB_LD_COMPLEX;
    const cufftXtCallbackType store = o.c.real ? (o.c.is_double ? CUFFT_CB_ST_REAL_DOUBLE : CUFFT_CB_ST_REAL)
                                               : (o.c.is_double ? CUFFT_CB_ST_COMPLEX_DOUBLE : CUFFT_CB_ST_COMPLEX);
    CHECK_CUDA(cufftXtSetCallback(plan, &functions[0], load, nullptr));
    CHECK_CUDA(cufftXtSetCallback(plan, &functions[1], store, nullptr));
}

template <int I> static void make_plans(CallbackOls *o)
{
    const CufftCut &cut = o->cut;
    const int n_segments = I == 0 ? cut.last : cut.chunk, bits = log2_row(cut.n);
    const int64_t left = I == 0 ? o->c.count - (int64_t)(cut.n_chunks - 1) * cut.chunk * cut.hop : INT64_MAX;
    const Callbacks of_chunk = {o->spectra, o->bank, make_divider((uint32_t)n_segments), bits, cut.pitch, cut.hop,
                                cut.n - cut.hop, o->c.count, left};
    const int64_t row = (int64_t)1 << bits;
    o->plans[I] = {cufft_plan(o->c, cut.n, true, cut.hop, cut.pitch, n_segments),
                   cufft_plan(o->c, cut.n, false, row, row, (int64_t)n_segments * o->c.n_filters)};
    set_callbacks<I>(*o, o->plans[I].inverse, of_chunk);
}

static void close_ols(void *memory)
{
    CallbackOls *const o = (CallbackOls *)memory;
    for (const CufftPlans &p : o->plans)
        if (p.forward != 0 || p.inverse != 0) {
            cufftDestroy(p.forward);
            cufftDestroy(p.inverse);
        }
    for (void *memory_of_it : {o->spectra, o->bank, o->work[0], o->work[1]})
        cudaFree(memory_of_it);
    delete o;
}

/* Open a way; the choices are megabytes of spectra. */
static void *open_ols(const RivalOls *c, int step, int choice, const double *taps, cudaStream_t, char text[RIVAL_TEXT])
{
    const int spaces[] = {2, 8, 24, 100000}, n_spaces = (int)(sizeof spaces / sizeof *spaces);
    const int n = cufft_length(*c, step);
    if (n == 0 || choice >= n_spaces)
        return nullptr;
    CallbackOls *const o = new CallbackOls();
    o->c = *c;
    const double row = (double)cufft_cut(*c, n, 1).row_bytes();
    o->cut = cufft_cut(*c, n, std::min(spaces[choice] * RIVAL_MEGABYTE / row, 2e9 / ((double)(1 << log2_row(n)) * c->n_filters)));
    CHECK_CUDA(cudaMalloc(&o->spectra, o->cut.row_bytes() * o->cut.chunk));
    CHECK_CUDA(cudaMalloc(&o->bank, o->cut.row_bytes() * c->n_filters));
    for (void *&work : o->work)
        CHECK_CUDA(cudaMalloc(&work, (o->cut.value << log2_row(n)) * o->cut.chunk * c->n_filters));
    if (c->is_double)
        cufft_bank((double2 *)o->bank, taps, c->real, c->n_taps, c->n_filters, n, o->cut.pitch);
    else
        cufft_bank((float2 *)o->bank, taps, c->real, c->n_taps, c->n_filters, n, o->cut.pitch);
    make_plans<0>(o);
    if (o->cut.n_chunks > 1)
        make_plans<1>(o);
    snprintf(text, RIVAL_TEXT, "N %d; %d segments", n, o->cut.chunk);
    return o;
}

static void run_ols(void *memory, const void *x, void *y, cudaStream_t stream)
{
    const CallbackOls &o = *(const CallbackOls *)memory;
    const size_t sample = o.cut.value / (o.c.real ? 2 : 1);
    for (int i = 0; i < o.cut.n_chunks; ++i) {
        const CufftPlans &p = o.plans[i + 1 < o.cut.n_chunks];
        const size_t at = (size_t)i * o.cut.chunk * o.cut.hop * sample;
        CHECK_CUDA(cufftSetStream(p.forward, stream));
        CHECK_CUDA(cufftSetStream(p.inverse, stream));
        cufft_execute(o.c, p.forward, true, (const char *)x + at, o.spectra);
        aim<<<1, 1, 0, stream>>>((char *)y + at);
        cufft_execute(o.c, p.inverse, false, o.work[0], o.work[1]);
    }
}

extern "C" const OlsRival rival = {"cuFFT callbacks", true, false, open_ols, run_ols, close_ols};
