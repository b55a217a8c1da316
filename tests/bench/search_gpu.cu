/* search_gpu.cu - benchmark of the kernels that search the series instead of storing it (gpu/ols/kernels/search.cuh), on noise in
 * device memory, beside the same segments stored.
 *
 *   bench_search_gpu       every segment length that finds crossings and the best filter
 *
 * 2^26 samples, 257 taps, 64 filters, single precision; about one output in 10^5 reaches the threshold. */
#include "../gpu/bank.h"
#include "gpu/ols/kernels/kernels.h"
#include "gpu_bench.cuh"

#include <cmath>
#include <cstdlib>

static constexpr int N_FILTERS = 64;
static constexpr int64_t N_TAPS = 257, COUNT = (int64_t)1 << 26, MOST_ROWS = 1 << 24;

struct Pool {
    float *x, *scales;
    char *y;
    void *bank, *values;
    unsigned *not_finite;
    lw_crossing *rows;
    unsigned long long *n_rows;
    int32_t *filters;
    cudaStream_t stream;
};

template <class T> static void allocate(T **memory, size_t bytes) { CHECK_CUDA(cudaMalloc((void **)memory, bytes)); }

__device__ static unsigned mixed(unsigned x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

/* Make normally distributed numbers. */
__global__ void make_noise(float *x, int64_t n)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (int64_t)blockDim.x) {
        const float u = (mixed((unsigned)i) + 1.0f) / 4294967808.0f, w = mixed((unsigned)i ^ 0x9e3779b9u) / 4294967296.0f;
        x[i] = sqrtf(-2 * logf(u)) * cospif(2 * w);
    }
}

static Pool make_pool()
{
    Pool p;
    allocate(&p.x, (COUNT + N_TAPS) * 2 * sizeof(float));
    allocate(&p.y, (size_t)N_FILTERS * COUNT * 2 * sizeof(float));
    allocate(&p.scales, (N_FILTERS + 1) * sizeof(float));
    allocate(&p.bank, 64 << 20);
    allocate(&p.values, COUNT * 2 * sizeof(float));
    allocate(&p.filters, COUNT * sizeof(int32_t));
    allocate(&p.not_finite, sizeof *p.not_finite);
    allocate(&p.rows, MOST_ROWS * sizeof *p.rows);
    allocate(&p.n_rows, sizeof *p.n_rows);
    CHECK_CUDA(cudaStreamCreate(&p.stream));
    CHECK_CUDA(cudaMemset(p.not_finite, 0, sizeof *p.not_finite));
    make_noise<<<1024, 256, 0, p.stream>>>(p.x, (COUNT + N_TAPS) * 2);
    return p;
}

/* Set the scales to 1 / (threshold sigma), with sigma from the energy of the taps and of the noise. */
static void set_scales(const Pool &p, const std::vector<double> &taps, bool is_complex)
{
    const int64_t width = N_TAPS * (is_complex ? 2 : 1);
    std::vector<float> scales(N_FILTERS + 1, 1.0f);      /* the last is a factor of them all */
    for (int f = 0; f < N_FILTERS; ++f) {
        double energy = 0;
        for (int64_t m = 0; m < width; ++m)
            energy += taps[f * width + m] * taps[f * width + m];
        scales[f] = (float)(1 / std::sqrt(energy) / (is_complex ? 3.393 * std::sqrt(2.0) : 4.417));
    }
    CHECK_CUDA(cudaMemcpy(p.scales, scales.data(), scales.size() * sizeof(float), cudaMemcpyHostToDevice));
}

enum What { STORE, FIND, KEEP };

static void launch(const Pool &p, const lw_cuda_ols_plan &plan, What what)
{
    lw_cuda_ols_search search = {};
    search.scales = p.scales;
    search.pitch = N_FILTERS + 1;
    search.table = {p.rows, MOST_ROWS, p.n_rows, 0, COUNT, 0, N_FILTERS};
    search.values = what == KEEP ? p.values : nullptr;
    search.filters = p.filters;
    lw_cuda_ols_block b = {};
    b.input = p.x;
    b.output = p.y;
    b.bank = p.bank;
    b.not_finite = p.not_finite;
    b.count = COUNT;
    b.n_channels = 1;
    b.search = what == STORE ? nullptr : &search;
    if (what == FIND)
        CHECK_CUDA(cudaMemsetAsync(p.n_rows, 0, sizeof *p.n_rows, p.stream));
    if (what == KEEP) {
        CHECK_CUDA(cudaMemsetAsync(p.values, 0xff, COUNT * (plan.output_complex ? 8 : 4), p.stream));
        CHECK_CUDA(cudaMemsetAsync(p.filters, 0xff, COUNT * sizeof(int32_t), p.stream));
    }
    CHECK_CUDA((cudaError_t)lw_cuda_ols_launch(&plan, &b, p.stream));
}

static void measure(const Pool &p, const std::vector<double> &taps, const lw_cuda_ols_plan &plan)
{
    static const char *const names[] = {"stored", "crossings", "best"};
    const lw_ols_resolved path = {false, plan, {}};
    CHECK_CUDA((cudaError_t)fill_bank(&path, taps.data(), p.bank, nullptr, p.stream));
    for (const What what : {STORE, FIND, KEEP}) {
        if (what != STORE && !plan.finds)
            continue;
        const Timing t = time_run([&](int) { launch(p, plan, what); }, p.stream, 200);
        unsigned long long rows = 0;
        CHECK_CUDA(cudaMemcpy(&rows, p.n_rows, sizeof rows, cudaMemcpyDeviceToHost));
        printf("%s, N = %d%s%s, hop %d: %-9s %7.3f ms, %4.0f Gsamples/s", plan.output_complex ? "c2c" : "r2r", plan.segment,
               *plan.design ? " " : "", plan.design, plan.hop, names[what], t.single, 1e-6 * N_FILTERS * COUNT / t.single);
        printf(what == FIND ? ", one output in %.0f\n" : "\n", (double)N_FILTERS * COUNT / (double)rows);
    }
}

int main()
{
    std::vector<double> taps(N_FILTERS * N_TAPS * 2);
    for (double &tap : taps)
        tap = rand() / (double)RAND_MAX - 0.5;
    const Pool p = make_pool();
    int shared;
    CHECK_CUDA(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    const struct lw_cuda_arch arch = {9, 0, shared};
    for (const bool is_complex : {true, false}) {
        set_scales(p, taps, is_complex);
        for (const int segment : {0, 1024, 2048, 4096, 8192})
            for (const bool is_searched : {false, true}) {
                struct lw_cuda_ols_spec s = {};
                s.precision = LW_SINGLE;
                s.layout = LW_TIME_FAST;
                s.input = LW_FLOAT32;
                s.input_complex = s.taps_complex = is_complex;
                s.n_channels = 1;
                s.n_filters = N_FILTERS;
                s.n_taps = N_TAPS;
                s.post = {LW_POST_NONE, 1, 1};
                s.segment = segment;
                s.is_searched = is_searched;
                struct lw_cuda_ols_plan plan;
                if (lw_cuda_ols_choose(&s, &arch, &plan, nullptr) == LW_OK)
                    measure(p, taps, plan);
            }
    }
    return 0;
}
