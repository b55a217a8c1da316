/* ols_gpu.cu - benchmark of the CUDA convolution kernels on data in device memory.
 *
 *   bench_ols_gpu table [csv] [text] [rival.so...]   the recorded table: the chosen kernel, cuFFT overlap-save, the rivals, plain
 *                          FFT convolution (long filters) and one FFT over the signal. The cases are those whose name contains
 *                          text; a text with commas is a list of cases, in the table or not:
 *                          'double c2c 2^20 M=100 F=3,r2r 2^21 M=9 F=1,'
 *   bench_ols_gpu stockham [csv] [text]   the same beside the published kernels (rivals/stockham_ols.cuh), real ones in both ways
 *   bench_ols_gpu segments [csv] [text]   every kernel of every segment length of the engine for these cases; long filters: the
 *                          other paths, too
 *   bench_ols_gpu check    every kernel against the sum by definition in double, on awkward sizes
 *   bench_ols_gpu one CASE SEGMENT N [RANK]   N launches of one case, for a profiler, by the (RANK + 1)-th best kernel
 *
 * floor = (bytes of the input + bytes of all outputs) / 4.29 TB/s. Buffers rotate over a working set of more than 4 times the L2
 * cache. Every row is checked: relative L2 error at random positions against the sum in double, and unwritten outputs. Rivals are
 * checked likewise, and for the relative L2 difference of the whole outputs. */
#include "../gpu/bank.h"
#include "cufft_ols.cuh"
#include "direct_steps.cuh"
#include "gpu/ols/kernels/kernels.h"
#include "gpu/ols/long/long.h"
#include "gpu/ols/long/method.h"
#include "gpu_bench.cuh"
#include "rivals/library.h"
#include "rivals/search.cuh"
#include "rivals/stockham_ols.cuh"

#include <cmath>
#include <cstring>
#include <sstream>
#include <string>

static const int LONGEST_KERNEL = 24576;    /* longest segment of the kernels; longer segments take other paths */
static const double MEMORY_RATE = 4.29e12, WORKING_SET = 512.0 * (1 << 20);

struct Case {
    std::string name;
    bool complex_signal, complex_taps, is_double;
    int64_t n_channels, count;
    enum lw_scalar stored;
    enum lw_layout layout;
    int n_filters;
    int64_t n_taps;
};

static size_t real_bytes(const Case &c) { return c.is_double ? 8 : 4; }
static bool complex_output(const Case &c) { return c.complex_signal || c.complex_taps; }
static size_t scalar_bytes(enum lw_scalar s)
{
    const size_t bytes[LW_N_SCALARS] = {1, 1, 2, 2, 4, 4, 8};
    return bytes[s];
}
static size_t input_bytes(const Case &c)
{
    return (c.n_taps - 1 + c.count) * c.n_channels * scalar_bytes(c.stored) * (c.complex_signal ? 2 : 1);
}
static size_t output_bytes(const Case &c)
{
    return c.count * c.n_channels * c.n_filters * real_bytes(c) * (complex_output(c) ? 2 : 1);
}
static double floor_ms(const Case &c)
{
    const double in = (double)c.count * c.n_channels * scalar_bytes(c.stored) * (c.complex_signal ? 2 : 1);
    return (in + (double)output_bytes(c)) / MEMORY_RATE * 1e3;
}

/* ---- data ------------------------------------------------------------------------------------------------------------- */

struct Pool {
    char *x, *y, *reference;
    size_t x_bytes, y_bytes;
    double *taps;
    void *bank;
    size_t bank_bytes;
    unsigned *not_finite;
    double *sums;
    cudaStream_t stream;
};

static Pool make_pool(size_t x_bytes, size_t y_bytes)
{
    Pool p = {};
    p.x_bytes = x_bytes;
    p.y_bytes = y_bytes;
    p.bank_bytes = 256u << 20;
    CHECK_CUDA(cudaMalloc(&p.x, x_bytes));
    CHECK_CUDA(cudaMalloc(&p.y, y_bytes));
    CHECK_CUDA(cudaMalloc(&p.taps, 64 << 20));
    CHECK_CUDA(cudaMalloc(&p.bank, p.bank_bytes));
    CHECK_CUDA(cudaMalloc(&p.not_finite, 4));
    CHECK_CUDA(cudaMalloc(&p.sums, 4 * sizeof(double)));
    CHECK_CUDA(cudaStreamCreate(&p.stream));
    fill_random<<<1024, 256>>>(p.taps, 8 << 20, 7);
    CHECK_CUDA(cudaDeviceSynchronize());
    return p;
}

static void fill_input(const Pool &p, enum lw_scalar stored, size_t bytes)
{
    const int64_t n = bytes / scalar_bytes(stored);
    switch (stored) {
    case LW_INT8:    fill_random<<<4096, 256>>>((int8_t *)p.x, n, 1); break;
    case LW_UINT8:   fill_random<<<4096, 256>>>((uint8_t *)p.x, n, 1); break;
    case LW_INT16:   fill_random<<<4096, 256>>>((int16_t *)p.x, n, 1); break;
    case LW_UINT16:  fill_random<<<4096, 256>>>((uint16_t *)p.x, n, 1); break;
    case LW_INT32:   fill_random<<<4096, 256>>>((int32_t *)p.x, n, 1); break;
    case LW_FLOAT64: fill_random<<<4096, 256>>>((double *)p.x, n, 1); break;
    default:         fill_random<<<4096, 256>>>((float *)p.x, n, 1); break;
    }
    CHECK_CUDA(cudaDeviceSynchronize());
}

/* ---- check --------------------------------------------------------------------------------------------------------------- */

struct Shape {
    const void *x;
    const void *y;
    const double *taps;
    int64_t n_channels, count, n_taps;
    int n_filters;
    int stored;
    bool complex_signal, complex_taps, output_complex, is_double, slow;
};

__device__ double stored_value(const void *x, int stored, int64_t i)
{
    switch (stored) {
    case LW_INT8:    return ((const int8_t *)x)[i];
    case LW_UINT8:   return ((const uint8_t *)x)[i];
    case LW_INT16:   return ((const int16_t *)x)[i];
    case LW_UINT16:  return ((const uint16_t *)x)[i];
    case LW_INT32:   return ((const int32_t *)x)[i];
    case LW_FLOAT64: return ((const double *)x)[i];
    default:         return ((const float *)x)[i];
    }
}

/* sums[0] += |y - r|^2, sums[1] += |r|^2 at hashed positions, the first and last 64 outputs among them; r by definition */
__global__ void check_positions(Shape s, int64_t n_positions, double *sums)
{
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i >= n_positions)
        return;
    const uint64_t h = (uint64_t)hash24(i, 11) << 24 | hash24(i, 12);
    int64_t o = h % s.count;
    if (i % 16 == 0)
        o = i / 16 % 64 < s.count ? i / 16 % 64 : 0;
    if (i % 16 == 1)
        o = i / 16 % 64 < s.count ? s.count - 1 - i / 16 % 64 : 0;
    const int64_t c = hash24(i, 13) % s.n_channels, row = s.n_taps - 1 + s.count;
    const int64_t f = hash24(i, 14) % s.n_filters;
    double re = 0, im = 0;
    for (int64_t m = 0; m < s.n_taps; ++m) {
        const int64_t at = o + s.n_taps - 1 - m, k = s.slow ? at * s.n_channels + c : c * row + at, q = f * s.n_taps + m;
        const double xr = stored_value(s.x, s.stored, s.complex_signal ? 2 * k : k);
        const double xi = s.complex_signal ? stored_value(s.x, s.stored, 2 * k + 1) : 0;
        const double hr = s.taps[s.complex_taps ? 2 * q : q], hi = s.complex_taps ? s.taps[2 * q + 1] : 0;
        re += hr * xr - hi * xi;
        im += hr * xi + hi * xr;
    }
    const int64_t at = f * s.n_channels * s.count + (s.slow ? o * s.n_channels + c : c * s.count + o);
    const int64_t width = s.output_complex ? 2 : 1;
    const double yr = s.is_double ? ((const double *)s.y)[at * width] : ((const float *)s.y)[at * width];
    const double yi = !s.output_complex ? 0 : s.is_double ? ((const double *)s.y)[at * 2 + 1] : ((const float *)s.y)[at * 2 + 1];
    atomicAdd(sums, (yr - re) * (yr - re) + (yi - im) * (yi - im));
    atomicAdd(sums + 1, re * re + im * im);
}

/* sums[2] += outputs that are NaN (never written); if b is given, also sums[0] += |a - b|^2, sums[1] += |b|^2 */
template <class Real> __global__ void compare_arrays(const Real *a, const Real *b, int64_t n, double *sums)
{
    double difference = 0, norm = 0, unwritten = 0;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        unwritten += !(fabs((double)a[i]) < 1e300);
        if (b) {
            difference += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
            norm += (double)b[i] * b[i];
        }
    }
    for (int lane = 16; lane; lane /= 2) {
        difference += __shfl_xor_sync(~0u, difference, lane);
        norm += __shfl_xor_sync(~0u, norm, lane);
        unwritten += __shfl_xor_sync(~0u, unwritten, lane);
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(sums, difference);
        atomicAdd(sums + 1, norm);
        atomicAdd(sums + 2, unwritten);
    }
}

static double relative(const Pool &p, double *unwritten)
{
    double s[3];
    CHECK_CUDA(cudaMemcpy(s, p.sums, sizeof s, cudaMemcpyDeviceToHost));
    if (unwritten)
        *unwritten = s[2];
    return sqrt(s[0] / s[1]);
}

static double check_case(const Case &c, const Pool &p, const void *y)
{
    const Shape s = {p.x, y, p.taps, c.n_channels, c.count, c.n_taps, c.n_filters, c.stored, c.complex_signal, c.complex_taps,
                     complex_output(c), c.is_double, c.layout == LW_TIME_SLOW};
    CHECK_CUDA(cudaMemset(p.sums, 0, 4 * sizeof(double)));
    check_positions<<<64, 64>>>(s, 4096, p.sums);
    return relative(p, nullptr);
}

static double compare(const Case &c, const Pool &p, const void *a, const void *b, double *unwritten)
{
    const int64_t n = output_bytes(c) / real_bytes(c);
    CHECK_CUDA(cudaMemset(p.sums, 0, 4 * sizeof(double)));
    if (c.is_double)
        compare_arrays<<<4096, 256>>>((const double *)a, (const double *)b, n, p.sums);
    else
        compare_arrays<<<4096, 256>>>((const float *)a, (const float *)b, n, p.sums);
    return relative(p, unwritten);
}

/* ---- ours ------------------------------------------------------------------------------------------------------------------ */

static struct lw_cuda_arch this_arch()
{
    struct lw_cuda_arch a;
    CHECK_CUDA(cudaDeviceGetAttribute(&a.major, cudaDevAttrComputeCapabilityMajor, 0));
    CHECK_CUDA(cudaDeviceGetAttribute(&a.minor, cudaDevAttrComputeCapabilityMinor, 0));
    CHECK_CUDA(cudaDeviceGetAttribute(&a.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    return a;
}

/* The way to convolve a case: a kernel, or the path for filters longer than any segment. */
struct Ours {
    struct lw_cuda_ols_plan plan;
    bool is_long;
    struct lw_long_ols_plan long_plan;
    struct lw_long_ols *long_ols;
    void *memory;
};

static struct lw_cuda_ols_spec spec_of(const Case &c, int segment, int rank)
{
    struct lw_cuda_ols_spec s = {};
    s.precision = c.is_double ? LW_DOUBLE : LW_SINGLE;
    s.layout = c.layout;
    s.input = c.stored;
    s.input_complex = c.complex_signal;
    s.taps_complex = c.complex_taps;
    s.n_channels = c.n_channels;
    s.n_outputs = c.count;
    s.n_filters = c.n_filters;
    s.n_taps = c.n_taps;
    s.segment = segment;
    s.nth_best = rank;
    return s;
}

/* Choose the rank-th best kernel with a segment length. False: there are not as many kernels. 0: the engine's choice, which
 * always exists. */
static bool choose(const Case &c, int segment, Ours *ours, int rank = 0)
{
    const struct lw_cuda_arch arch = this_arch();
    const struct lw_cuda_ols_spec s = spec_of(c, segment, rank);
    *ours = {};
    const bool is_kernel = lw_cuda_ols_choose(&s, &arch, &ours->plan, nullptr) == LW_OK;
    ours->is_long = is_kernel ? ours->plan.path == LW_CUDA_TOO_LONG : segment > LONGEST_KERNEL && rank == 0;
    if (!ours->is_long && is_kernel)
        ours->is_long = lw_long_ols_is_cheaper(&ours->plan, c.count, &ours->long_plan);
    if (!ours->is_long)
        return is_kernel;
    return lw_long_ols_choose(&s, &arch, c.count, &ours->long_plan, nullptr) == LW_OK && (segment == 0 || rank == 0);
}

static void prepare(Ours *ours, const Pool &p)
{
    const struct lw_cuda_ols_spec *const spec = ours->is_long ? &ours->long_plan.spec : &ours->plan.spec;
    std::vector<double> taps(spec->n_filters * spec->n_taps * (spec->taps_complex ? 2 : 1));
    CHECK_CUDA(cudaMemcpy(taps.data(), p.taps, taps.size() * sizeof(double), cudaMemcpyDeviceToHost));
    const lw_ols_resolved path = {ours->is_long, ours->plan, ours->long_plan};
    if (ours->is_long)
        CHECK_CUDA(cudaMalloc(&ours->memory, (size_t)lw_long_ols_bytes(&ours->long_plan)));
    else
        CHECK_CUDA(ours->plan.bank_bytes > p.bank_bytes ? cudaErrorMemoryAllocation : cudaSuccess);
    CHECK_CUDA(fill_bank(&path, taps.data(), ours->is_long ? ours->memory : p.bank, &ours->long_ols, p.stream));
}

static void release(Ours *ours)
{
    lw_long_ols_destroy(ours->long_ols);
    cudaFree(ours->memory);
}

static void launch(const Case &c, const Ours &ours, const Pool &p, size_t x_at, size_t y_at)
{
    lw_cuda_ols_block b = {};
    b.input = p.x + x_at;
    b.output = p.y + y_at;
    b.bank = p.bank;
    b.not_finite = p.not_finite;
    b.count = c.count;
    b.n_channels = c.n_channels;
    if (ours.is_long)
        CHECK_CUDA(lw_long_ols_launch(ours.long_ols, &b, p.stream, nullptr));
    else
        CHECK_CUDA(lw_cuda_ols_launch(&ours.plan, &b, p.stream));
}

struct Result {
    Timing ms;
    double error, unwritten;
};

/* Byte offset of the i-th rotating buffer; the pool holds enough buffers for the working set. */
static size_t rotate(int i, size_t bytes, size_t pool)
{
    const size_t step = (bytes + 255) / 256 * 256;
    const size_t wanted = std::max<size_t>(2, (size_t)(WORKING_SET / step) + 1), have = std::max<size_t>(1, pool / step);
    return i % std::min(wanted, have) * step;
}

/* Measure a case; `ours` is prepared. */
static Result measure(const Case &c, const Ours &ours, const Pool &p, double budget_ms)
{
    Result r;
    CHECK_CUDA(cudaMemsetAsync(p.y, 0xff, output_bytes(c), p.stream));
    launch(c, ours, p, 0, 0);
    CHECK_CUDA(cudaStreamSynchronize(p.stream));
    compare(c, p, p.y, nullptr, &r.unwritten);
    r.error = check_case(c, p, p.y);
    r.ms = {0, 0};
    if (budget_ms > 0) {
        const auto run = [&](int i) {
            launch(c, ours, p, rotate(i, input_bytes(c), p.x_bytes), rotate(i, output_bytes(c), p.y_bytes));
        };
        r.ms = time_run(run, p.stream, budget_ms, !ours.is_long);
    }
    return r;
}

/* ---- rivals ----------------------------------------------------------------------------------------------------------------- */

static std::vector<const OlsRival *> rivals = {&cufft_ols};

struct Baseline {
    std::vector<RivalReached> of;
    RivalReached whole;             /* plain FFT convolution */

    double best() const
    {
        double least = whole.ms;
        for (const RivalReached &r : of)
            least = r.ms > 0 && (least == 0 || r.ms < least) ? r.ms : least;
        return least;
    }
};

static RivalOls rival_case(const Case &c) { return {!c.complex_signal, c.is_double, c.count, c.n_taps, c.n_filters}; }

/* Largest relative L2 difference of two correct results. Sums by definition in double lose more digits the longer they are. */
static double tolerance(const Case &c) { return c.is_double ? 1e-14 * std::sqrt(std::max(1.0, (double)c.n_taps / 65536)) : 4e-6; }

/* The calls of a rival on rotating buffers. The last segment reads random values beyond the signal, whose outputs are cropped. */
static auto calls_of(const Case &c, const Pool &p, const OlsRival *rival, void *open)
{
    const size_t padding = (c.n_taps > 8192 ? 256u : 8u) << 20;
    return [&c, &p, rival, open, padding](int i) {
        char *const x = p.x + rotate(i, input_bytes(c) + padding, p.x_bytes - padding);
        rival->run(open, x, p.y + rotate(i, output_bytes(c), p.y_bytes), p.stream);
    };
}

/* Whether a rival's whole output is right; if there is memory for both outputs, the difference from the engine's is checked,
 * too. */
static bool is_right(const Case &c, const Ours &ours, const Pool &p, const OlsRival *rival, void *open, const char *text)
{
    const bool both = 2 * output_bytes(c) <= p.y_bytes;
    char *const theirs = p.y + (both ? (output_bytes(c) + 255) / 256 * 256 : 0);
    double unwritten, difference = 0;
    CHECK_CUDA(cudaMemsetAsync(theirs, 0xff, output_bytes(c), p.stream));
    rival->run(open, p.x, theirs, p.stream);
    if (both) {
        launch(c, ours, p, 0, 0);
        CHECK_CUDA(cudaStreamSynchronize(p.stream));
        difference = compare(c, p, p.y, theirs, nullptr);
    }
    CHECK_CUDA(cudaStreamSynchronize(p.stream));
    compare(c, p, theirs, nullptr, &unwritten);
    const double error = check_case(c, p, theirs);
    const bool right = unwritten == 0 && error < tolerance(c) && difference < tolerance(c);
    if (!right)
        printf("  %s (%s): error %.1e, differs by %.1e, %.0f outputs unwritten: WRONG\n", rival->name, text, error, difference,
               unwritten);
    return right;
}

static RivalReached measure_rival(const Case &c, const Ours &ours, const Pool &p, const OlsRival *rival, double budget_ms,
                                  bool *failed)
{
    return rival_measure(rival, rival_case(c), p.taps, p.stream, budget_ms, &Timing::single,
                         [&](void *open) { return calls_of(c, p, rival, open); },
                         [&](void *open, const char *text) { return is_right(c, ours, p, rival, open, text); }, failed);
}

static Baseline measure_rivals(const Case &c, const Ours &ours, const Pool &p, double budget_ms, bool *failed)
{
    Baseline b = {};
    for (const OlsRival *rival : rivals)
        b.of.push_back(measure_rival(c, ours, p, rival, budget_ms, failed));
    if (c.n_taps > 4097)        /* plain FFT convolution is far slower for shorter filters */
        b.whole = measure_rival(c, ours, p, &cufft_whole, budget_ms, failed);
    return b;
}

/* Measure one forward transform over the whole signal, for the record. */
static double measure_forward(const Case &c, const Pool &p, double budget_ms)
{
    const RivalOls of = rival_case(c);
    const cufftHandle plan = cufft_plan(of, (int)c.count, true, c.count, c.count, 1);
    CHECK_CUDA(cufftSetStream(plan, p.stream));
    const auto run = [&](int i) {
        cufft_execute(of, plan, true, p.x + rotate(i, input_bytes(c), p.x_bytes), p.y + rotate(i, 2 * output_bytes(c), p.y_bytes));
    };
    const Timing t = time_run(run, p.stream, budget_ms);
    cufftDestroy(plan);
    return t.single;
}

/* ---- cases ------------------------------------------------------------------------------------------------------------------- */

static Case one_channel(bool complex_signal, int lg, int64_t n_taps, int n_filters, bool is_double = false)
{
    char name[80];
    snprintf(name, sizeof name, "%s%s 2^%d M=%lld F=%d", is_double ? "double " : "", complex_signal ? "c2c" : "r2r", lg,
             (long long)n_taps, n_filters);
    return {name, complex_signal, complex_signal, is_double, 1, (int64_t)1 << lg, is_double ? LW_FLOAT64 : LW_FLOAT32,
            LW_TIME_FAST, n_filters, n_taps};
}

static std::vector<Case> all_cases()
{
    std::vector<Case> cases;
    for (const bool complex_signal : {true, false}) {
        for (const int64_t m : {65, 257, 513, 1025, 2049, 4097})
            for (const int f : {8, 32})
                cases.push_back(one_channel(complex_signal, 26, m, f));
        for (const int64_t m : {65, 257, 513, 1025, 2049, 4097})
            cases.push_back(one_channel(complex_signal, 21, m, 8));
        cases.push_back(one_channel(complex_signal, 26, 257, 1));
        cases.push_back(one_channel(complex_signal, 26, 1025, 1));
        cases.push_back(one_channel(complex_signal, 21, 193, 1));
        cases.push_back(one_channel(complex_signal, 21, 193, 64));
        cases.push_back(one_channel(complex_signal, 18, 257, 8));
        for (const int64_t m : {8193, 16385, 65537})
            cases.push_back(one_channel(complex_signal, 26, m, 8));
        cases.push_back(one_channel(complex_signal, 26, 1 << 20, 1));
        for (const int64_t m : {4, 8, 16, 32})
            cases.push_back(one_channel(complex_signal, 26, m, 8));
        for (const int64_t m : {65, 257, 513, 16385})
            cases.push_back(one_channel(complex_signal, 24, m, 8, true));
    }
    cases.push_back({"uint8 [2^20 x 832] time slow M=257 F=1", false, false, false, 832, 1 << 20, LW_UINT8, LW_TIME_SLOW, 1, 257});
    cases.push_back({"uint8 [2^18 x 832] time slow M=257 F=8", false, false, false, 832, 1 << 18, LW_UINT8, LW_TIME_SLOW, 8, 257});
    cases.push_back(
        {"float32 [2^18 x 832] time slow M=257 F=1", false, false, false, 832, 1 << 18, LW_FLOAT32, LW_TIME_SLOW, 1, 257});
    cases.push_back(
        {"float32 [2^18 x 832] time slow M=257 F=8", false, false, false, 832, 1 << 18, LW_FLOAT32, LW_TIME_SLOW, 8, 257});
    for (const int64_t m : {513, 1025})
        for (const int f : {1, 8}) {
            char name[64];
            snprintf(name, sizeof name, "float32 [2^18 x 832] time slow M=%lld F=%d", (long long)m, f);
            cases.push_back({name, false, false, false, 832, 1 << 18, LW_FLOAT32, LW_TIME_SLOW, f, m});
        }
    cases.push_back(
        {"int16 [3840 x 2^16] time fast M=257 F=1", false, false, false, 3840, 1 << 16, LW_INT16, LW_TIME_FAST, 1, 257});
    return cases;
}

/* The cases whose name contains the text; for a text with commas, the listed cases of one channel. */
static std::vector<Case> wanted_cases(const char *text)
{
    std::vector<Case> cases;
    if (!text || !strchr(text, ',')) {
        for (const Case &c : all_cases())
            if (!text || c.name.find(text) != std::string::npos)
                cases.push_back(c);
        return cases;
    }
    std::istringstream names(text);
    for (std::string name; std::getline(names, name, ',');) {
        const bool is_double = name.rfind("double ", 0) == 0;
        const char *const shape = name.c_str() + (is_double ? strlen("double ") : 0);
        int lg, n_filters;
        long long n_taps;
        const bool is_case = sscanf(shape, "c2c 2^%d M=%lld F=%d", &lg, &n_taps, &n_filters) == 3 ||
                             sscanf(shape, "r2r 2^%d M=%lld F=%d", &lg, &n_taps, &n_filters) == 3;
        if (!is_case || lg < 10 || lg > 26 || n_taps < 1 || n_filters < 1) {
            fprintf(stderr, "'%s' is no case such as 'c2c 2^21 M=257 F=8', of 2^10 to 2^26 samples\n", name.c_str());
            exit(2);
        }
        cases.push_back(one_channel(shape[0] == 'c', lg, n_taps, n_filters, is_double));
    }
    return cases;
}

static const char *path_text(const Ours &ours, char text[40])
{
    if (ours.is_long)
        snprintf(text, 40, "%s %lld", ours.long_plan.method->name, (long long)ours.long_plan.segment);
    else if (ours.plan.path == LW_CUDA_DIRECT)
        snprintf(text, 40, "direct");
    else
        snprintf(text, 40, "%d/%d%s%s", ours.plan.segment, ours.plan.discard, ours.plan.design[0] ? " " : "", ours.plan.design);
    return text;
}

/* Print the columns of a rival. */
static void print_rival(FILE *csv, const char *name, const RivalReached &r, double ours_ms)
{
    if (r.ms > 0)
        printf("    %-16s %9.4f ms  x%.2f  %s\n", name, r.ms, r.ms / ours_ms, r.text);
    fprintf(csv, r.ms > 0 ? ",%.5f,\"%s\"" : ",,", r.ms, r.text);
}

static void print_head(FILE *csv)
{
    fprintf(csv, "case,kernel,floor_ms,single_ms,sustained_ms,gsamples_per_s,single_percent,sustained_percent,error,ratio,"
                 "forward_ms");
    for (const OlsRival *rival : rivals)
        fprintf(csv, ",%s,%s", rival_column(rival->name, "ms").c_str(), rival_column(rival->name).c_str());
    fprintf(csv, ",%s,%s\n", rival_column(cufft_whole.name, "ms").c_str(), rival_column(cufft_whole.name).c_str());
}

static void print_row(FILE *csv, const Case &c, const Ours &ours, const Result &r, const Baseline *b, double forward)
{
    char path[40];
    path_text(ours, path);
    const double floor = floor_ms(c), outputs = (double)c.count * c.n_channels * c.n_filters;
    const double rate = outputs / r.ms.single * 1e-6, ratio = b ? b->best() / r.ms.single : 0;
    printf("%-42s %-24s %8.4f ms %7.1f Gs/s %5.1f%% sust %5.1f%% err %.1e%s; the best rival takes x%.2f\n", c.name.c_str(), path,
           r.ms.single, rate, 100 * floor / r.ms.single, 100 * floor / r.ms.sustained, r.error, r.unwritten ? " UNWRITTEN" : "",
           ratio);
    fprintf(csv, "%s,%s,%.5f,%.5f,%.5f,%.1f,%.1f,%.1f,%.2e,%.2f,%.5f", c.name.c_str(), path, floor, r.ms.single, r.ms.sustained,
            rate, 100 * floor / r.ms.single, 100 * floor / r.ms.sustained, r.error, ratio, forward);
    for (size_t i = 0; i < rivals.size(); ++i)
        print_rival(csv, rivals[i]->name, b ? b->of[i] : RivalReached{}, r.ms.single);
    print_rival(csv, cufft_whole.name, b ? b->whole : RivalReached{}, r.ms.single);
    fprintf(csv, "\n");
    fflush(csv);
    fflush(stdout);
}

/* Print the simpler direct kernels, if the engine takes the direct path and they can do the case. Return how many are wrong. */
static int print_direct_steps(FILE *csv, const Case &c, const Ours &ours, const Pool &p)
{
    if (ours.is_long || ours.plan.path != LW_CUDA_DIRECT || c.complex_signal || c.is_double || c.n_channels > 1)
        return 0;
    const double floor = floor_ms(c);
    int wrong = 0;
    for (const DirectStep &step :
         time_direct_steps((const float *)p.x, p.taps, (float *)p.bank, (float *)p.y, c.count, (int)c.n_taps, c.n_filters,
                           p.stream, 40, [&] { return check_case(c, p, p.y); })) {
        printf("%-42s %-24s %8.4f ms %25.1f%% err %.1e\n", c.name.c_str(), step.name, step.ms.single, 100 * floor / step.ms.single,
               step.error);
        fprintf(csv, "%s,%s,%.5f,%.5f,%.5f,,%.1f,%.1f,%.2e,,", c.name.c_str(), step.name, floor, step.ms.single, step.ms.sustained,
                100 * floor / step.ms.single, 100 * floor / step.ms.sustained, step.error);
        for (size_t i = 0; i <= rivals.size(); ++i)
            fprintf(csv, ",,");
        fprintf(csv, "\n");
        wrong += !(step.error < 2e-6);
    }
    return wrong;
}

/* Measure and print one row; baseline: with the rivals. Return whether its results are wrong. */
static bool run_row(FILE *csv, const Case &c, Ours *ours, const Pool &p, bool baseline)
{
    prepare(ours, p);
    const Result r = measure(c, *ours, p, baseline ? 60 : 20);
    bool failed = false;
    const Baseline b = baseline ? measure_rivals(c, *ours, p, 40, &failed) : Baseline{};
    print_row(csv, c, *ours, r, baseline ? &b : nullptr, baseline ? measure_forward(c, p, 10) : 0);
    release(ours);
    return failed || r.unwritten > 0 || !(r.error < (c.is_double ? 1e-14 : 2e-6));
}

/* The segment length after n. */
static int next_segment(int n)
{
    if (n == 8192 || n == 16384)
        return n / 2 * 3;
    return n == 0 ? 256 : n % 3 == 0 ? n / 3 * 4 : 2 * n;
}

/* Print every kernel of every segment length if at least a quarter of the segment is kept, and for long filters also the other
 * paths.
 * Return the number of rows whose results are wrong. */
static int run_segments(FILE *csv, const Case &c, const Pool &p)
{
    const int longest = c.n_taps > 2048 ? 1 << 22 : LONGEST_KERNEL;
    int wrong = 0, n = 256;
    Ours ours;
    while (4 * (c.n_taps - 1) > 3 * (int64_t)n)
        n = next_segment(n);
    for (; n <= longest; n = next_segment(n))
        for (int rank = 0; choose(c, n, &ours, rank); ++rank)
            wrong += run_row(csv, c, &ours, p, false);
    return wrong;
}

static int run_table(FILE *csv, bool each_segment, const char *text)
{
    const Pool p = make_pool((size_t)3 << 30, (size_t)40 << 30);
    int wrong = 0, stored = -1;
    for (const Case &c : wanted_cases(text)) {
        if (stored != c.stored)
            fill_input(p, c.stored, p.x_bytes);
        stored = c.stored;
        Ours ours;
        if (each_segment)
            wrong += run_segments(csv, c, p);
        else if (choose(c, 0, &ours)) {
            wrong += run_row(csv, c, &ours, p, c.n_channels == 1);
            wrong += print_direct_steps(csv, c, ours, p);
        }
    }
    return wrong;
}

/* Check awkward counts, odd channels, every stored type, both layouts and every segment length. */
static int run_check()
{
    const Pool p = make_pool((size_t)256 << 20, (size_t)512 << 20);
    int wrong = 0, n_runs = 0;
    for (int stored = 0; stored < LW_N_SCALARS; ++stored) {
        fill_input(p, (enum lw_scalar)stored, p.x_bytes);
        for (const bool is_double : {false, true})
            for (const int signal : {0, 1, 2})          /* real, complex, real with complex taps */
                for (const enum lw_layout layout : {LW_TIME_FAST, LW_TIME_SLOW})
                    for (const int64_t m : {1, 2, 7, 16, 33, 65, 100, 257, 300, 1000, 2049, 4000})
                        for (int n = 0; n <= LONGEST_KERNEL; n = next_segment(n)) {
                            const int64_t channels = layout == LW_TIME_SLOW ? 37 : m % 2 ? 1 : 3;
                            Case c = {"check", signal == 1, signal > 0, is_double, channels, 20011 + m % 4, (enum lw_scalar)stored,
                                      layout, n == 1024 || m == 33 ? 1 : 3, m};
                            if (signal == 1 && stored < LW_FLOAT32)
                                continue;
                            Ours ours;
                            if (!choose(c, n, &ours))
                                continue;
                            prepare(&ours, p);
                            const Result r = measure(c, ours, p, 0);
                            release(&ours);
                            char path[40];
                            ++n_runs;
                            if (r.unwritten > 0 || !(r.error < (is_double ? 1e-14 : 2e-6))) {
                                printf("WRONG stored %d double %d signal %d layout %d M %lld F %d %s: error %.2e unwritten %.0f\n",
                                       stored, is_double, signal, layout, (long long)m, c.n_filters, path_text(ours, path), r.error,
                                       r.unwritten);
                                ++wrong;
                            }
                        }
    }
    printf("%d of %d runs wrong\n", wrong, n_runs);
    return wrong;
}

static int run_one(const char *name, int segment, int n, int rank)
{
    const Pool p = make_pool((size_t)3 << 30, (size_t)40 << 30);
    for (const Case &c : wanted_cases(name)) {
        Ours ours;
        if (!choose(c, segment, &ours, rank))
            continue;
        fill_input(p, c.stored, input_bytes(c));
        prepare(&ours, p);
        for (int i = 0; i < n; ++i)
            launch(c, ours, p, 0, 0);
        CHECK_CUDA(cudaStreamSynchronize(p.stream));
        release(&ours);
        return 0;
    }
    fprintf(stderr, "no case \"%s\" with segment %d\n", name, segment);
    return 2;
}

int main(int argc, char **argv)
{
    const std::string mode = argc > 1 ? argv[1] : "table";
    if (mode == "check")
        return run_check() != 0;
    if (mode == "one" && (argc == 5 || argc == 6))
        return run_one(argv[2], atoi(argv[3]), atoi(argv[4]), argc == 6 ? atoi(argv[5]) : 0);
    FILE *csv = fopen(argc > 2 ? argv[2] : "/dev/null", "w");
    if (!csv || (mode != "table" && mode != "stockham" && mode != "segments")) {
        fprintf(stderr, "usage: %s table|stockham|segments [csv] [text] [rival.so...] | check | one CASE SEGMENT N [RANK]\n",
                argv[0]);
        return 2;
    }
    if (mode == "stockham")
        rivals = {&stockham_complex, &stockham_halves, &stockham_pairs};
    if (argc > 4)
        rivals = rival_libraries(rivals, argc - 4, argv + 4);
    print_head(csv);
    const int wrong = run_table(csv, mode == "segments", argc > 3 ? argv[3] : nullptr);
    fclose(csv);
    printf("%d rows wrong\n", wrong);
    return wrong != 0;
}
