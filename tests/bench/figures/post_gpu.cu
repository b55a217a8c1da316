/* post_gpu.cu - benchmark of post-processing on a GPU: in the filter's kernels, where the series is in registers, beside a
 * separate pass over the stored series.
 *
 *   bench_post_gpu [CSV]
 *
 * The input is a channel of 2^21 or 2^24 float32 samples, complex or real, and 8 filters, all on the device; the work is what a
 * job queues for a block. none: the filtered series is stored; fused: with --post or --interpolate; separate: none and then the
 * pass, timed together. The pass reads and writes each value once, coalesced, in vectors; its output has memory of its own. Times
 * are medians of calls between events. difference: relative L2 difference of fused and separate, without the ends of the axis. A
 * fused derivative is folded into the taps and costs only two taps more; interpolated outputs are sums over seven samples of the
 * series. */
#include "engine_op.cuh"

#include <cmath>

constexpr int MOST_RATE = 4;
__constant__ float weights[LW_POST_SPAN][MOST_RATE];

/* ---- the passes: out[f][i] from y[f][i + shift], where the series has the samples they need --------------------------------- */

struct Pass {
    const void *series;             /* [n_filters][count] */
    void *out;                      /* [n_filters][count x rate] */
    int64_t count;
    int shift;                      /* samples of its reach that the operation with post-processing has before its first output */
    int n_filters;
};

__device__ inline float plus(float a, float b) { return a + b; }
__device__ inline float2 plus(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
__device__ inline float times(float w, float a) { return w * a; }
__device__ inline float2 times(float w, float2 a) { return {w * a.x, w * a.y}; }
__device__ inline float power(float a) { return a * a; }
__device__ inline float power(float2 a) { return a.x * a.x + a.y * a.y; }

/* Two values, which a thread reads or writes in one access. */
template <class T> struct alignas(2 * sizeof(T)) Pair {
    T v[2];
};

template <class T> __global__ void take_power(Pass p)
{
    const int64_t n = p.n_filters * p.count / 2;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        const Pair<T> y = ((const Pair<T> *)p.series)[i];
        ((Pair<float> *)p.out)[i] = {{power(y.v[0]), power(y.v[1])}};
    }
}

template <class T> __global__ void take_derivative(Pass p)
{
    const T *const y = (const T *)p.series + blockIdx.y * p.count;
    T *const out = (T *)p.out + blockIdx.y * p.count;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < p.count; i += (int64_t)gridDim.x * blockDim.x) {
        const int64_t at = i + p.shift;
        const bool is_inside = at >= 1 && at + 1 < p.count;
        out[i] = is_inside ? plus(times(0.5f, y[at + 1]), times(-0.5f, y[at - 1])) : T{};
    }
}

template <class T, int RATE> struct alignas(RATE * sizeof(T) < 16 ? RATE * sizeof(T) : 16) Outputs {
    T v[RATE];
};

/* A thread computes all outputs of one sample and stores up to 16 bytes at a time. */
template <class T, int RATE> __global__ void interpolate(Pass p)
{
    const T *const y = (const T *)p.series + blockIdx.y * p.count;
    T *const out = (T *)p.out + blockIdx.y * p.count * RATE;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < p.count; i += (int64_t)gridDim.x * blockDim.x) {
        Outputs<T, RATE> made = {};
        const int64_t first = i + p.shift - LW_POST_REACH;
#pragma unroll
        for (int k = 0; k < LW_POST_SPAN; ++k) {
            const T value = first + k >= 0 && first + k < p.count ? y[first + k] : T{};
#pragma unroll
            for (int r = 0; r < RATE; ++r)
                made.v[r] = plus(made.v[r], times(weights[k][r], value));
        }
        ((Outputs<T, RATE> *)out)[i] = made;
    }
}

template <class T> void launch_pass(const Pass &p, lw_post post, cudaStream_t stream)
{
    const dim3 grid(132 * 16 / p.n_filters, p.n_filters);
    if (post.kind == LW_POST_POWER)
        take_power<T><<<132 * 16, 256, 0, stream>>>(p);
    else if (post.kind == LW_POST_DERIVATIVE)
        take_derivative<T><<<grid, 256, 0, stream>>>(p);
    else if (post.rate == 2)
        interpolate<T, 2><<<grid, 256, 0, stream>>>(p);
    else
        interpolate<T, 4><<<grid, 256, 0, stream>>>(p);
    CHECK_CUDA(cudaGetLastError());
}

/* ---- comparison ------------------------------------------------------------------------------------------------------------- */

/* sums[0] += |a - b|^2, sums[1] += |b|^2 over floats first .. end - 1 of each filter. */
__global__ void compare_rows(const float *a, int64_t a_row, const float *b, int64_t b_row, int64_t first, int64_t end, double *sums)
{
    double difference = 0, norm = 0;
    for (int64_t i = first + blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < end; i += (int64_t)gridDim.x * blockDim.x) {
        const double u = a[blockIdx.y * a_row + i], v = b[blockIdx.y * b_row + i];
        difference += (u - v) * (u - v);
        norm += v * v;
    }
    atomicAdd(sums, difference);
    atomicAdd(sums + 1, norm);
}

static double compare(const OpBlock &fused, const OpCase &c, const Pass &p)
{
    const int rate = lw_post_rate(c.post), parts = fused.op->spec.output.is_complex ? 2 : 1;
    const int64_t margin = 16;
    double *sums, s[2];
    CHECK_CUDA(cudaMalloc(&sums, sizeof s));
    CHECK_CUDA(cudaMemset(sums, 0, sizeof s));
    const int64_t width = rate * parts, first = margin * width, end = (c.count - margin) * width;
    compare_rows<<<dim3(128, c.n_filters), 128>>>((const float *)fused.work.products[0], fused.row() * parts, (const float *)p.out,
                                                  c.count * width, first, end, sums);
    CHECK_CUDA(cudaMemcpy(s, sums, sizeof s, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaFree(sums));
    return sqrt(s[0] / s[1]);
}

/* ---- one row ---------------------------------------------------------------------------------------------------------------- */

static void set_weights(const OpCase &c)
{
    static lw_post_weights w;
    float inside[LW_POST_SPAN][MOST_RATE] = {};
    lw_post_weigh(c.post, c.count, lw_post_place(c.count, c.count / 2), &w);
    for (int k = 0; k < LW_POST_SPAN; ++k)
        for (int r = 0; r < c.post.rate; ++r)
            inside[k][r] = (float)w.weights[k][r];
    CHECK_CUDA(cudaMemcpyToSymbol(weights, inside, sizeof inside));
}

/* Measure and print one row. Return whether its results are wrong. */
static bool run_row(FILE *csv, lw_engine *engine, OpCase c, lw_post post, const char *name, cudaStream_t stream)
{
    const std::vector<double> taps = make_taps(c);
    float *x;
    const int64_t n_floats = (c.count + c.n_taps + 64) * (c.is_complex ? 2 : 1);
    CHECK_CUDA(cudaMalloc(&x, (size_t)n_floats * sizeof *x));
    fill_random<<<1024, 256, 0, stream>>>(x, n_floats, 1);
    OpBlock plain = open_block(engine, c, taps, x, stream);
    c.post = post;
    OpBlock fused = open_block(engine, c, taps, x, stream);
    Pass pass = {plain.work.products[0], nullptr, c.count, lw_post_reach(post).before, c.n_filters};
    CHECK_CUDA(cudaMalloc(&pass.out, value_bytes(c) * (size_t)(c.count * c.n_filters * lw_post_rate(post))));
    if (post.rate > 1)
        set_weights(c);
    const auto run_separate = [&](int) {
        enqueue(plain);
        c.is_complex ? launch_pass<float2>(pass, post, stream) : launch_pass<float>(pass, post, stream);
    };
    const double none_ms = median_ms([&](int) { enqueue(plain); }, stream);
    const double fused_ms = median_ms([&](int) { enqueue(fused); }, stream);
    const double separate_ms = median_ms(run_separate, stream);
    const double difference = compare(fused, c, pass);
    for (FILE *const to : {stdout, csv}) {
        fprintf(to, "%s,%lld,%lld,%d,%s,%.5f,%.5f,%.5f,%.3g,%lld\n", c.is_complex ? "c2c" : "r2r", (long long)c.count,
                (long long)c.n_taps, c.n_filters, name, none_ms, fused_ms, separate_ms, difference, (long long)fused.extra_bytes());
        fflush(to);
    }
    close_block(engine, &plain);
    close_block(engine, &fused);
    CHECK_CUDA(cudaFree(pass.out));
    CHECK_CUDA(cudaFree(x));
    return !(difference < 1e-5);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        lw_post post;
    } posts[] = {{"power", {LW_POST_POWER, 1, 1}}, {"derivative", {LW_POST_DERIVATIVE, 1, 1}},
                 {"interpolate 2", {LW_POST_NONE, 2, 1}}, {"interpolate 4", {LW_POST_NONE, 4, 1}}};
    FILE *const csv = fopen(argc > 1 ? argv[1] : "/dev/null", "w");
    stop_if(!csv, "the CSV cannot be written");
    lw_engine *const engine = open_engine();
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreate(&stream));
    int wrong = 0;
    for (FILE *const to : {stdout, csv})
        fprintf(to, "case,n,taps,filters,post,none_ms,fused_ms,separate_ms,difference,extra_bytes\n");
    for (const bool is_complex : {true, false})
        for (const int64_t count : {(int64_t)1 << 21, (int64_t)1 << 24})
            for (const int64_t n_taps : {65, 257, 1025, 2049})
                for (const auto &p : posts) {
                    const OpCase c = {is_complex, false, count, n_taps, 8, {LW_POST_NONE, 1, 1}};
                    wrong += run_row(csv, engine, c, p.post, p.name, stream);
                }
    printf("%d rows wrong\n", wrong);
    CHECK_CUDA(cudaStreamDestroy(stream));
    lw_engine_destroy(engine);
    fclose(csv);
    return wrong != 0;
}
