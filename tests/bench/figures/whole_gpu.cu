/* whole_gpu.cu - benchmark of convolution without overlap-save on a GPU: one FFT of the whole signal through cuFFT, beside the
 * engine, with the memory and the error of both, in both precisions.
 *
 *   bench_whole_gpu [CSV]
 *
 * The input is one channel, complex or real, all on the device. The cuFFT way transforms the signal with its halo, multiplies it
 * with the filters' spectra and transforms back in place. It reads each value of the signal's spectrum once for all filters. The
 * outputs are left where they are, neither cropped nor moved. The length is the fastest of three: the least 2^a 3^b 5^c 7^d that
 * holds the signal, the least with a >= 10, and the power of two. Bytes: device memory beyond the signal and n outputs for each
 * filter. Errors: relative L2 at 4096 random outputs, against the sum by definition in double. Times are medians of calls between
 * events. */
#include "engine_op.cuh"

#include <cufft.h>

constexpr int N_POSITIONS = 4096;

/* ---- error ------------------------------------------------------------------------------------------------------------------ */

/* The results: output o of filter f is y[f row + offset + o]. */
struct Outputs {
    const void *y;
    int64_t row, offset;
};

template <class Real> __device__ double2 value_at(const void *x, bool is_complex, int64_t i)
{
    const Real *const v = (const Real *)x;
    return is_complex ? double2{v[2 * i], v[2 * i + 1]} : double2{v[i], 0};
}

/* sums[0] += |y - r|^2, sums[1] += |r|^2. One block computes one output. */
template <class Real>
__global__ void add_errors(const void *x, const double *taps, bool is_complex, int64_t count, int64_t n_taps, int n_filters,
                           Outputs out, double *sums)
{
    __shared__ double2 parts[128];
    const uint64_t at = (uint64_t)hash24(blockIdx.x, 11) << 24 | hash24(blockIdx.x, 12);
    const int64_t o = at % count, f = hash24(blockIdx.x, 13) % n_filters;
    double2 sum = {0, 0};
    for (int64_t m = threadIdx.x; m < n_taps; m += blockDim.x) {
        const double2 a = value_at<Real>(x, is_complex, o + n_taps - 1 - m), h = value_at<double>(taps, is_complex, f * n_taps + m);
        sum.x += a.x * h.x - a.y * h.y;
        sum.y += a.x * h.y + a.y * h.x;
    }
    parts[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int i = 1; i < 128; ++i)
        sum = {sum.x + parts[i].x, sum.y + parts[i].y};
    const double2 y = value_at<Real>(out.y, is_complex, f * out.row + out.offset + o);
    atomicAdd(sums, (y.x - sum.x) * (y.x - sum.x) + (y.y - sum.y) * (y.y - sum.y));
    atomicAdd(sums + 1, sum.x * sum.x + sum.y * sum.y);
}

static double error_of(const OpCase &c, const void *x, const double *taps, Outputs out, cudaStream_t stream)
{
    double *sums, s[2];
    CHECK_CUDA(cudaMalloc(&sums, sizeof s));
    CHECK_CUDA(cudaMemsetAsync(sums, 0, sizeof s, stream));
    if (c.is_double)
        add_errors<double><<<N_POSITIONS, 128, 0, stream>>>(x, taps, c.is_complex, c.count, c.n_taps, c.n_filters, out, sums);
    else
        add_errors<float><<<N_POSITIONS, 128, 0, stream>>>(x, taps, c.is_complex, c.count, c.n_taps, c.n_filters, out, sums);
    CHECK_CUDA(cudaMemcpyAsync(s, sums, sizeof s, cudaMemcpyDeviceToHost, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK_CUDA(cudaFree(sums));
    return sqrt(s[0] / s[1]);
}

/* ---- one FFT of the whole signal --------------------------------------------------------------------------------------------- */

struct Whole {
    OpCase c;
    int64_t n, bins;
    cufftHandle forward, inverse;
    void *spectrum, *bank, *products;   /* [bins], [n_filters][bins], [n_filters][bins] and the outputs */
    int64_t bytes;                      /* size of the three arrays and of cuFFT's work areas */
};

static cufftType kind_of(const OpCase &c, bool is_forward)
{
    if (c.is_complex)
        return c.is_double ? CUFFT_Z2Z : CUFFT_C2C;
    if (is_forward)
        return c.is_double ? CUFFT_D2Z : CUFFT_R2C;
    return c.is_double ? CUFFT_Z2D : CUFFT_C2R;
}

static cufftHandle make_plan(cufftType type, int64_t n, int64_t in, int64_t out, int64_t batch, int64_t *bytes,
                             cudaStream_t stream)
{
    cufftHandle plan;
    size_t work;
    long long length = n;
    CHECK_CUDA(cufftCreate(&plan));
    CHECK_CUDA(cufftMakePlanMany64(plan, 1, &length, &length, 1, in, &length, 1, out, type, batch, &work));
    CHECK_CUDA(cufftSetStream(plan, stream));
    *bytes += (int64_t)work;
    return plan;
}

static void transform(cufftHandle plan, cufftType type, void *in, void *out, int direction)
{
    switch (type) {
    case CUFFT_Z2Z: CHECK_CUDA(cufftExecZ2Z(plan, (double2 *)in, (double2 *)out, direction)); break;
    case CUFFT_C2C: CHECK_CUDA(cufftExecC2C(plan, (float2 *)in, (float2 *)out, direction)); break;
    case CUFFT_D2Z: CHECK_CUDA(cufftExecD2Z(plan, (double *)in, (double2 *)out)); break;
    case CUFFT_R2C: CHECK_CUDA(cufftExecR2C(plan, (float *)in, (float2 *)out)); break;
    case CUFFT_Z2D: CHECK_CUDA(cufftExecZ2D(plan, (double2 *)in, (double *)out)); break;
    default:        CHECK_CUDA(cufftExecC2R(plan, (float2 *)in, (float *)out)); break;
    }
}

/* Widen one filter to n complex values, the taps followed by zeros. */
__global__ void pad_taps(double2 *padded, const double *taps, bool is_complex, int64_t n_taps, int64_t n)
{
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n)
        padded[i] = i < n_taps ? value_at<double>(taps, is_complex, i) : double2{0, 0};
}

template <class C> __global__ void narrow(C *out, const double2 *in, int64_t bins, double scale)
{
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    using Real = decltype(C::x);
    if (i < bins)
        out[i] = {(Real)(in[i].x * scale), (Real)(in[i].y * scale)};
}

/* Make the filters' spectra of n values, transformed in double. */
template <class C> void make_bank(const Whole &w, const double *taps, cudaStream_t stream)
{
    const unsigned blocks = (unsigned)((w.n + 255) / 256);
    double2 *padded;
    int64_t ignored = 0;
    CHECK_CUDA(cudaMalloc(&padded, (size_t)w.n * sizeof *padded));
    const cufftHandle plan = make_plan(CUFFT_Z2Z, w.n, w.n, w.n, 1, &ignored, stream);
    for (int f = 0; f < w.c.n_filters; ++f) {
        const double *const filter = taps + f * w.c.n_taps * (w.c.is_complex ? 2 : 1);
        pad_taps<<<blocks, 256, 0, stream>>>(padded, filter, w.c.is_complex, w.c.n_taps, w.n);
        transform(plan, CUFFT_Z2Z, padded, padded, CUFFT_FORWARD);
        narrow<<<blocks, 256, 0, stream>>>((C *)w.bank + f * w.bins, padded, w.bins, 1.0 / (double)w.n);
    }
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK_CUDA(cufftDestroy(plan));
    CHECK_CUDA(cudaFree(padded));
}

static Whole make_whole(const OpCase &c, int64_t n, const double *taps, cudaStream_t stream)
{
    Whole w = {};
    w.c = c;
    w.n = n;
    w.bins = c.is_complex ? n : n / 2 + 1;
    const int64_t spectrum = w.bins * (c.is_double ? 16 : 8), all = spectrum * c.n_filters;
    w.forward = make_plan(kind_of(c, true), n, n, w.bins, 1, &w.bytes, stream);
    w.inverse = make_plan(kind_of(c, false), n, w.bins, c.is_complex ? n : 2 * w.bins, c.n_filters, &w.bytes, stream);
    w.bytes += spectrum + 2 * all - (int64_t)value_bytes(c) * c.count * c.n_filters;
    CHECK_CUDA(cudaMalloc(&w.spectrum, (size_t)spectrum));
    CHECK_CUDA(cudaMalloc(&w.bank, (size_t)all));
    CHECK_CUDA(cudaMalloc(&w.products, (size_t)all));
    if (c.is_double)
        make_bank<double2>(w, taps, stream);
    else
        make_bank<float2>(w, taps, stream);
    return w;
}

static void release_whole(Whole *w)
{
    CHECK_CUDA(cufftDestroy(w->forward));
    CHECK_CUDA(cufftDestroy(w->inverse));
    for (void *const memory : {w->spectrum, w->bank, w->products})
        CHECK_CUDA(cudaFree(memory));
}

template <class C> __global__ void multiply(C *out, const C *x, const C *bank, int64_t bins, int n_filters)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < bins; i += (int64_t)gridDim.x * blockDim.x) {
        const C a = x[i];
        for (int f = 0; f < n_filters; ++f) {
            const C b = bank[f * bins + i];
            out[f * bins + i] = {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
        }
    }
}

static void convolve(const Whole &w, void *x, cudaStream_t stream)
{
    transform(w.forward, kind_of(w.c, true), x, w.spectrum, CUFFT_FORWARD);
    const int blocks = 132 * 16, f = w.c.n_filters;
    if (w.c.is_double)
        multiply<<<blocks, 256, 0, stream>>>((double2 *)w.products, (double2 *)w.spectrum, (double2 *)w.bank, w.bins, f);
    else
        multiply<<<blocks, 256, 0, stream>>>((float2 *)w.products, (float2 *)w.spectrum, (float2 *)w.bank, w.bins, f);
    transform(w.inverse, kind_of(w.c, false), w.products, w.products, CUFFT_INVERSE);
}

/* The least 2^a 3^b 5^c 7^d that is a multiple of `unit` and not less than n. */
static int64_t smooth(int64_t n, int64_t unit)
{
    for (int64_t m = (n + unit - 1) / unit;; ++m) {
        int64_t rest = m;
        for (const int64_t factor : {2, 3, 5, 7})
            while (rest % factor == 0)
                rest /= factor;
        if (rest == 1)
            return m * unit;
    }
}

/* ---- rows -------------------------------------------------------------------------------------------------------------------- */

struct Figures {
    double ms, error;
    int64_t bytes, length;
};

static Figures measure_whole(const OpCase &c, void *x, const double *taps, cudaStream_t stream)
{
    const int64_t least = c.count + c.n_taps - 1;
    int64_t power = 2;
    while (power < least)
        power *= 2;
    Figures best = {1e30, 0, 0, 0};
    for (const int64_t n : {smooth(least, 2), smooth(least, 1024), power}) {
        Whole w = make_whole(c, n, taps, stream);
        convolve(w, x, stream);
        const double error = error_of(c, x, taps, {w.products, c.is_complex ? n : 2 * w.bins, c.n_taps - 1}, stream);
        const double ms = median_ms([&](int) { convolve(w, x, stream); }, stream);
        if (ms < best.ms)
            best = {ms, error, w.bytes, n};
        release_whole(&w);
    }
    return best;
}

static Figures measure_engine(lw_engine *engine, const OpCase &c, const std::vector<double> &host_taps, void *x, const double *taps,
                              cudaStream_t stream)
{
    OpBlock b = open_block(engine, c, host_taps, x, stream);
    enqueue(b);
    Figures f = {0, error_of(c, x, taps, {b.work.products[0], c.count, 0}, stream), b.extra_bytes(), b.op->plan.segment};
    f.ms = median_ms([&](int) { enqueue(b); }, stream);
    close_block(engine, &b);
    return f;
}

/* Measure and print one row. Return whether its results are wrong. */
static bool run_row(FILE *csv, lw_engine *engine, const OpCase &c, cudaStream_t stream)
{
    const std::vector<double> host_taps = make_taps(c);
    int64_t room = 2;
    while (room < c.count + c.n_taps - 1)
        room *= 2;
    double *taps;
    void *x;
    const int64_t parts = c.is_complex ? 2 : 1, n = (c.count + c.n_taps - 1) * parts;
    CHECK_CUDA(cudaMalloc(&taps, host_taps.size() * sizeof *taps));
    CHECK_CUDA(cudaMemcpy(taps, host_taps.data(), host_taps.size() * sizeof *taps, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMalloc(&x, (size_t)room * value_bytes(c)));
    CHECK_CUDA(cudaMemsetAsync(x, 0, (size_t)room * value_bytes(c), stream));
    if (c.is_double)
        fill_random<<<1024, 256, 0, stream>>>((double *)x, n, 1);
    else
        fill_random<<<1024, 256, 0, stream>>>((float *)x, n, 1);
    const Figures ours = measure_engine(engine, c, host_taps, x, taps, stream), whole = measure_whole(c, x, taps, stream);
    for (FILE *const to : {stdout, csv}) {
        fprintf(to, "%s,%s,%lld,%lld,%d,%lld,%.5f,%.3g,%lld,%lld,%.5f,%.3g,%lld\n", c.is_double ? "double" : "single",
                c.is_complex ? "c2c" : "r2r", (long long)c.count, (long long)c.n_taps, c.n_filters, (long long)ours.length, ours.ms,
                ours.error, (long long)ours.bytes, (long long)whole.length, whole.ms, whole.error, (long long)whole.bytes);
        fflush(to);
    }
    CHECK_CUDA(cudaFree(x));
    CHECK_CUDA(cudaFree(taps));
    const double tolerance = c.is_double ? 1e-14 : 5e-6;
    return !(ours.error < tolerance && whole.error < tolerance);
}

int main(int argc, char **argv)
{
    FILE *const csv = fopen(argc > 1 ? argv[1] : "/dev/null", "w");
    stop_if(!csv, "the CSV cannot be written");
    lw_engine *const engine = open_engine();
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreate(&stream));
    const lw_post none = {LW_POST_NONE, 1, 1};
    int wrong = 0;
    for (FILE *const to : {stdout, csv})
        fprintf(to, "precision,case,n,taps,filters,segment,ms,error,extra_bytes,fft_length,fft_ms,fft_error,fft_extra_bytes\n");
    for (const bool is_complex : {true, false})
        for (const bool is_double : {false, true}) {
            for (const int64_t n_taps : {17, 65, 257, 513, 1025, 2049, 4097, 8193, 16385, 65537})
                wrong += run_row(csv, engine, {is_complex, is_double, (int64_t)1 << 21, n_taps, 8, none}, stream);
            for (int bits = 18; bits <= (is_double ? 24 : 26); ++bits)
                wrong += run_row(csv, engine, {is_complex, is_double, (int64_t)1 << bits, 257, 8, none}, stream);
        }
    printf("%d rows wrong\n", wrong);
    CHECK_CUDA(cudaStreamDestroy(stream));
    lw_engine_destroy(engine);
    fclose(csv);
    return wrong != 0;
}
