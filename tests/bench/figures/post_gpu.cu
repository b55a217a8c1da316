/* post_gpu.cu - benchmark of post-processing on a GPU: in the filter's kernels, where the series is in registers, beside a
 * separate pass over the stored series, and beside convolution through cuFFT.
 *
 *   bench_post_gpu [CSV]
 *
 * The input is a channel of 2^21 or 2^24 float32 samples, complex or real, and 8 filters, all on the device; the work is what a
 * job queues for a block. none: the filtered series is stored; fused: with --post or --interpolate; separate: none and then the
 * pass, timed together. The pass reads and writes each value once, coalesced, in vectors; its output has memory of its own. Times
 * are medians of calls between events. difference: relative L2 difference of fused and separate, without the ends of the axis. A
 * fused derivative is folded into the taps and costs only two taps more; interpolated outputs are sums over seven samples of the
 * series.
 *
 * cuFFT: overlap-save by ../cufft_ols.cuh, which stores the series; cuFFT_pass: the same and then the pass; cuFFT_crop: what crops
 * the segments makes the post-processing too, so that the series is never stored. Its segments overlap by the samples that the
 * post-processing needs beside its own. Each is the fastest of the three best ways of the plain convolution, and checked, too. */
#include "../cufft_ols.cuh"
#include "../rivals/search.cuh"
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

/* out: of the other way, [n_filters][count x rate] */
static double compare(const OpBlock &fused, const OpCase &c, const void *out)
{
    const int rate = lw_post_rate(c.post), parts = fused.op->spec.output.is_complex ? 2 : 1;
    const int64_t margin = 16;
    double *sums, s[2];
    CHECK_CUDA(cudaMalloc(&sums, sizeof s));
    CHECK_CUDA(cudaMemset(sums, 0, sizeof s));
    const int64_t width = rate * parts, first = margin * width, end = (c.count - margin) * width;
    compare_rows<<<dim3(128, c.n_filters), 128>>>((const float *)fused.work.products[0], fused.row() * parts, (const float *)out,
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

/* ---- the same through cuFFT -------------------------------------------------------------------------------------------------- */

/* Outputs t of the segments j, made of points start + t .. of each: blocks as in cufft_crop. */
template <class T, class Store>
__global__ void crop_through(const T *segments, CufftPiece p, int64_t left, int hop, int start, Store store)
{
    for (int j = blockIdx.x; j < p.n_segments; j += gridDim.x) {
        const T *const y = segments + ((int64_t)blockIdx.y * p.n_segments + j) * p.pitch + start;
        const int64_t rest = left - (int64_t)j * hop;
        const int size = rest < hop ? (int)rest : hop;
        for (int i = blockIdx.z * blockDim.x + threadIdx.x; i < size; i += gridDim.z * blockDim.x)
            store(y + i, p.f + (int)blockIdx.y, p.first + (int64_t)j * hop + i);
    }
}

/* The stores of a sample of the series, y[0], with its neighbours beside it; at: place of the sample on the axis. */
template <class T> struct StorePower {
    float *out;
    int64_t count;
    __device__ void operator()(const T *y, int f, int64_t at) const { __stcs(out + f * count + at, power(__ldcs(y))); }
};

template <class T> struct StoreDerivative {
    T *out;
    int64_t count;
    __device__ void operator()(const T *y, int f, int64_t at) const
    {
        __stcs(out + f * count + at, plus(times(0.5f, y[1]), times(-0.5f, y[-1])));
    }
};

template <class T, int RATE> struct StoreInterpolated {
    T *out;
    int64_t count;
    __device__ void operator()(const T *y, int f, int64_t at) const
    {
        Outputs<T, RATE> made = {};
#pragma unroll
        for (int k = 0; k < LW_POST_SPAN; ++k)
#pragma unroll
            for (int r = 0; r < RATE; ++r)
                made.v[r] = plus(made.v[r], times(weights[k][r], y[k - LW_POST_REACH]));
        ((Outputs<T, RATE> *)out)[f * count + at] = made;
    }
};

/* The crop of a piece with the post-processing in it. The first valid point of a segment is its point n_taps - 1, and the first of
 * which the neighbours are valid too comes `before` points later. */
template <class T> void crop_piece(const CufftOls &o, const CufftPiece &piece, const Pass &p, lw_post post, int start,
                                   cudaStream_t stream)
{
    const int hop = o.cut.hop, threads = hop < 1024 ? 128 : 256;
    const dim3 grid = cufft_crop_grid(piece.n_segments, piece.n_filters, hop, threads);
    const T *const segments = (const T *)piece.segments;
    const int64_t left = p.count - piece.first;
    if (post.kind == LW_POST_POWER)
        crop_through<<<grid, threads, 0, stream>>>(segments, piece, left, hop, start, StorePower<T>{(float *)p.out, p.count});
    else if (post.kind == LW_POST_DERIVATIVE)
        crop_through<<<grid, threads, 0, stream>>>(segments, piece, left, hop, start, StoreDerivative<T>{(T *)p.out, p.count});
    else if (post.rate == 2)
        crop_through<<<grid, threads, 0, stream>>>(segments, piece, left, hop, start, StoreInterpolated<T, 2>{(T *)p.out, p.count});
    else
        crop_through<<<grid, threads, 0, stream>>>(segments, piece, left, hop, start, StoreInterpolated<T, 4>{(T *)p.out, p.count});
    CHECK_CUDA(cudaGetLastError());
}

static void crop_all(const CufftOls &o, const void *x, const Pass &p, lw_post post, int start, cudaStream_t stream)
{
    const auto store = [&](const CufftPiece &piece) {
        o.c.real ? crop_piece<float>(o, piece, p, post, start, stream) : crop_piece<float2>(o, piece, p, post, start, stream);
    };
    cufft_ols_chunks<float2>(o, x, stream, store);
}

/* A shape, its fastest ways through cuFFT, and device memory for both forms of the taps. */
struct Through {
    RivalOls c;
    std::vector<RivalWay> ways;
};

static double *upload(const std::vector<double> &values)
{
    double *on_device;
    CHECK_CUDA(cudaMalloc(&on_device, values.size() * sizeof(double)));
    CHECK_CUDA(cudaMemcpy(on_device, values.data(), values.size() * sizeof(double), cudaMemcpyHostToDevice));
    return on_device;
}

/* Filters with `more` zeros behind each: their segments overlap by as many samples more. */
static std::vector<double> lengthen(const OpCase &c, const std::vector<double> &taps, int more)
{
    const size_t parts = c.is_complex ? 2 : 1, row = (size_t)c.n_taps * parts, longer = (size_t)(c.n_taps + more) * parts;
    std::vector<double> out(longer * c.n_filters);
    for (int f = 0; f < c.n_filters; ++f)
        std::copy(taps.begin() + f * row, taps.begin() + (f + 1) * row, out.begin() + f * longer);
    return out;
}

static Through search_ways(const OpCase &c, const std::vector<double> &taps, const float *x, void *y, cudaStream_t stream)
{
    Through t = {{!c.is_complex, false, c.count, c.n_taps, c.n_filters}, {}};
    double *const on_device = upload(taps);
    t.ways = rival_ways(&cufft_ols, t.c, on_device, stream, [&](void *open) {
        return [=](int) { cufft_ols_run(open, x, y, stream); };
    });
    t.ways.resize(std::min<size_t>(t.ways.size(), 3));
    CHECK_CUDA(cudaFree(on_device));
    return t;
}

struct CufftFigures {
    double plain_ms, pass_ms, crop_ms, difference;      /* difference: of the worse of both */
    char text[RIVAL_TEXT];
};

/* Measure the ways and keep the fastest for each column. fused: has run, to compare with; pass: its series has been compared */
static CufftFigures measure_cufft(const Through &t, const OpCase &c, const std::vector<double> &taps, const OpBlock &fused,
                                  const float *x, const Pass &p, cudaStream_t stream)
{
    CufftFigures best = {1e30, 1e30, 1e30, 0, ""};
    const lw_reach reach = lw_post_reach(c.post);
    const int more = reach.before + reach.after;
    double *const plain_taps = upload(taps), *const longer_taps = upload(lengthen(c, taps, more));
    const RivalOls longer = {t.c.real, false, c.count, c.n_taps + more, c.n_filters};
    for (const RivalWay &way : t.ways) {
        char text[RIVAL_TEXT];
        void *const plain = cufft_ols.open(&t.c, way.step, way.choice, plain_taps, stream, text);
        const auto convolve = [&](int) { cufft_ols_run(plain, x, (void *)p.series, stream); };
        const auto convolve_and_pass = [&](int i) {
            convolve(i);
            c.is_complex ? launch_pass<float2>(p, c.post, stream) : launch_pass<float>(p, c.post, stream);
        };
        best.plain_ms = std::min(best.plain_ms, median_ms(convolve, stream));
        const double pass_ms = median_ms(convolve_and_pass, stream);
        best.difference = std::max(best.difference, compare(fused, c, p.out));
        cufft_ols.close(plain);
        if (pass_ms < best.pass_ms) {
            best.pass_ms = pass_ms;
            std::copy(text, text + RIVAL_TEXT, best.text);
        }
        void *const open = cufft_ols.open(&longer, way.step, way.choice, longer_taps, stream, text);
        if (!open)
            continue;
        const int start = (int)c.n_taps - 1 + reach.before;
        const auto crop = [&](int) { crop_all(*(const CufftOls *)open, x, p, c.post, start, stream); };
        CHECK_CUDA(cudaMemsetAsync(p.out, 0xff, value_bytes(c) * (size_t)(c.count * c.n_filters * lw_post_rate(c.post)), stream));
        best.crop_ms = std::min(best.crop_ms, median_ms(crop, stream));
        best.difference = std::max(best.difference, compare(fused, c, p.out));
        cufft_ols.close(open);
    }
    CHECK_CUDA(cudaFree(plain_taps));
    CHECK_CUDA(cudaFree(longer_taps));
    return best;
}

/* Measure and print one row. Return whether its results are wrong. */
static bool run_row(FILE *csv, lw_engine *engine, OpCase c, lw_post post, const char *name, float *x, Through *through,
                    cudaStream_t stream)
{
    const std::vector<double> taps = make_taps(c);
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
    const double difference = compare(fused, c, pass.out);
    if (through->ways.empty())
        *through = search_ways(c, taps, x, (void *)pass.series, stream);
    const CufftFigures cufft = measure_cufft(*through, c, taps, fused, x, pass, stream);
    for (FILE *const to : {stdout, csv}) {
        fprintf(to, "%s,%lld,%lld,%d,%s,%.5f,%.5f,%.5f,%.3g,%lld,%.5f,%.5f,%.5f,%.3g,\"%s\"\n", c.is_complex ? "c2c" : "r2r",
                (long long)c.count, (long long)c.n_taps, c.n_filters, name, none_ms, fused_ms, separate_ms, difference,
                (long long)fused.extra_bytes(), cufft.plain_ms, cufft.pass_ms, cufft.crop_ms, cufft.difference, cufft.text);
        fflush(to);
    }
    close_block(engine, &plain);
    close_block(engine, &fused);
    CHECK_CUDA(cudaFree(pass.out));
    return !(difference < 1e-5 && cufft.difference < 1e-5 && cufft.crop_ms < 1e30);
}

/* Measure one shape with every kind of post-processing. Return the number of rows whose results are wrong. The samples behind the
 * axis are noise, too: cuFFT's last segments read some. */
static int run_shape(FILE *csv, lw_engine *engine, const OpCase &c, cudaStream_t stream)
{
    static const struct {
        const char *name;
        lw_post post;
    } posts[] = {{"power", {LW_POST_POWER, 1, 1}}, {"derivative", {LW_POST_DERIVATIVE, 1, 1}},
                 {"interpolate 2", {LW_POST_NONE, 2, 1}}, {"interpolate 4", {LW_POST_NONE, 4, 1}}};
    Through through = {};
    float *x;
    const int64_t n_floats = (c.count + c.n_taps + (1 << 24)) * (c.is_complex ? 2 : 1);
    int wrong = 0;
    CHECK_CUDA(cudaMalloc(&x, (size_t)n_floats * sizeof *x));
    fill_random<<<1024, 256, 0, stream>>>(x, n_floats, 1);
    for (const auto &p : posts)
        wrong += run_row(csv, engine, c, p.post, p.name, x, &through, stream);
    CHECK_CUDA(cudaFree(x));
    return wrong;
}

int main(int argc, char **argv)
{
    FILE *const csv = fopen(argc > 1 ? argv[1] : "/dev/null", "w");
    stop_if(!csv, "the CSV cannot be written");
    lw_engine *const engine = open_engine();
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreate(&stream));
    int wrong = 0;
    for (FILE *const to : {stdout, csv})
        fprintf(to, "case,n,taps,filters,post,none_ms,fused_ms,separate_ms,difference,extra_bytes,cuFFT_ms,cuFFT_pass_ms,"
                    "cuFFT_crop_ms,cuFFT_difference,cuFFT\n");
    for (const bool is_complex : {true, false})
        for (const int64_t count : {(int64_t)1 << 21, (int64_t)1 << 24})
            for (const int64_t n_taps : {65, 257, 1025, 2049})
                wrong += run_shape(csv, engine, {is_complex, false, count, n_taps, 8, {LW_POST_NONE, 1, 1}}, stream);
    printf("%d rows wrong\n", wrong);
    CHECK_CUDA(cudaStreamDestroy(stream));
    lw_engine_destroy(engine);
    fclose(csv);
    return wrong != 0;
}
