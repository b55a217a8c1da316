/* stockham_ols.cuh - overlap-save as Adamek, Dimoudi, Giles and Armour have it (arXiv:1910.01972), for the benchmark only: it shows
 * what the engine's own steps gain. One block per segment. Every stage of the transforms passes through shared memory
 * (Stockham, radix 4, natural order both ways); the spectrum stays in registers for all filters. A rival for each kind:
 *
 *   complex   complex samples
 *   halves    real samples, the paper's way: N samples as N / 2 complex ones, with untangling before the product and tangling
 *             behind it
 *   pairs     real samples: two segments are the real and the imaginary part of one
 *
 * halves / pairs is what pairing gains; complex or pairs beside the engine is what its first stages in registers gain.
 *
 * Thread t of T = P / 4 holds points t, t + T, t + 2 T, t + 3 T of a transform of P points. Two spaces of shared memory take turns,
 * so that an exchange costs one barrier. One word in 17 is left free against bank conflicts. */
#ifndef STOCKHAM_OLS_CUH
#define STOCKHAM_OLS_CUH

#include "tests/bench/cufft_ols.cuh"

enum StockhamKind { STOCKHAM_COMPLEX, STOCKHAM_HALVES, STOCKHAM_PAIRS };

struct StockhamWork {
    const float *x;
    float *y;
    const float2 *bank;             /* [n_filters][pitch], divided by the segment's length */
    const float2 *roots;            /* exp(-2 pi i k / N), k < N, N: samples of a segment */
    int64_t count;
    int pitch, halo, discard, n_filters, at_once;   /* halo: taps - 1; discard: the same, made even */
};

__device__ inline float2 stockham_times(float2 a, float2 b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
__device__ inline float2 stockham_plus(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
__device__ inline float2 stockham_minus(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }
__device__ inline float2 stockham_conj(float2 a) { return {a.x, -a.y}; }
__device__ inline int stockham_place(int i) { return i + (i >> 4); }

/* Shared memory of a block: the space that the next exchange fills, and the other one. */
struct StockhamSpace {
    float2 *next, *other;

    __device__ void swap()
    {
        float2 *const filled = next;
        next = other;
        other = filled;
    }
};

/* v[r] = the value at t + r T, after all have put theirs at at[r] */
template <int P> __device__ void stockham_exchange(float2 v[4], const int at[4], StockhamSpace *space, int t)
{
#pragma unroll
    for (int r = 0; r < 4; ++r)
        space->next[stockham_place(at[r])] = v[r];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 4; ++r)
        v[r] = space->next[stockham_place(t + r * (P / 4))];
    space->swap();
}

template <bool BACK> __device__ void stockham_radix4(float2 v[4])
{
    const float2 a = stockham_plus(v[0], v[2]), b = stockham_minus(v[0], v[2]);
    const float2 c = stockham_plus(v[1], v[3]), d = stockham_minus(v[1], v[3]);
    const float2 turned = BACK ? float2{-d.y, d.x} : float2{d.y, -d.x};
    v[0] = stockham_plus(a, c);
    v[1] = stockham_plus(b, turned);
    v[2] = stockham_minus(a, c);
    v[3] = stockham_minus(b, turned);
}

/* Transform P points. EACH: distance in the table between roots of order P */
template <int P, int EACH, bool BACK>
__device__ void stockham_transform(float2 v[4], StockhamSpace *space, const float2 *roots, int t)
{
    constexpr int T = P / 4;
    constexpr bool IS_ODD = (P & 0xAAAAAAAA) != 0;      /* an odd number of stages of radix 2 */
    if (IS_ODD) {
        const float2 a = v[0], b = v[1];
        v[0] = stockham_plus(a, v[2]);
        v[1] = stockham_minus(a, v[2]);
        const float2 c = v[3];
        v[2] = stockham_plus(b, c);
        v[3] = stockham_minus(b, c);
        const int at[4] = {2 * t, 2 * t + 1, 2 * (t + T), 2 * (t + T) + 1};
        stockham_exchange<P>(v, at, space, t);
    }
#pragma unroll
    for (int span = IS_ODD ? 2 : 1; span < P; span *= 4) {
        const int k = t % span;
        if (span > 1) {
            float2 w = __ldg(roots + k * (P / 4 / span) * EACH);
            if (BACK)
                w.y = -w.y;
            const float2 w2 = stockham_times(w, w);
            v[1] = stockham_times(v[1], w);
            v[2] = stockham_times(v[2], w2);
            v[3] = stockham_times(v[3], stockham_times(w2, w));
        }
        stockham_radix4<BACK>(v);
        if (span < P / 4) {
            const int first = t / span * span * 4 + k, at[4] = {first, first + span, first + 2 * span, first + 3 * span};
            stockham_exchange<P>(v, at, space, t);
        }
    }
}

/* ---- the half-size transform of real samples: bins t, P - t, t + T, P - t - T; thread 0 has P / 2 in place of P -------------- */

/* The bins of a thread. Bins 0 and P of a real signal are real: thread 0 holds both as one complex number. */
template <int P> __device__ void stockham_own_bins(int k[4], int t)
{
    const int T = P / 4;
    k[0] = t;
    k[1] = t == 0 ? P / 2 : P - t;
    k[2] = t + T;
    k[3] = P - t - T;
}

template <int P> __device__ void stockham_untangle(float2 v[4], StockhamSpace *space, const float2 *roots, int t)
{
    const int T = P / 4, places[4] = {t, t + T, t + 2 * T, t + 3 * T};
    int k[4];
    stockham_own_bins<P>(k, t);
#pragma unroll
    for (int r = 0; r < 4; ++r)
        space->next[stockham_place(places[r])] = v[r];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 4; ++r)
        v[r] = space->next[stockham_place(k[r])];
    space->swap();
#pragma unroll
    for (int r = 0; r < 4; r += 2) {
        const float2 a = v[r], b = stockham_conj(v[r + 1]), w = __ldg(roots + k[r]);
        if (r == 0 && t == 0) {
            v[0] = {a.x + a.y, a.x - a.y};
            v[1] = b;
            continue;
        }
        const float2 even = {0.5f * (a.x + b.x), 0.5f * (a.y + b.y)}, odd = {0.5f * (a.y - b.y), 0.5f * (b.x - a.x)};
        const float2 turned = stockham_times(odd, w);
        v[r] = stockham_plus(even, turned);
        v[r + 1] = stockham_conj(stockham_minus(even, turned));
    }
}

template <int P> __device__ void stockham_tangle(float2 v[4], StockhamSpace *space, const float2 *roots, int t)
{
    int k[4];
    stockham_own_bins<P>(k, t);
#pragma unroll
    for (int r = 0; r < 4; r += 2) {
        const float2 a = v[r], b = stockham_conj(v[r + 1]), w = __ldg(roots + k[r]);
        if (r == 0 && t == 0) {
            v[0] = {a.x + a.y, a.x - a.y};
            v[1] = {2 * b.x, 2 * b.y};
            continue;
        }
        const float2 even = stockham_plus(a, b), odd = stockham_times(stockham_minus(a, b), stockham_conj(w));
        v[r] = {even.x - odd.y, even.y + odd.x};
        v[r + 1] = {even.x + odd.y, odd.x - even.y};
    }
    stockham_exchange<P>(v, k, space, t);
}

/* ---- segments ------------------------------------------------------------------------------------------------------------- */

template <int P, StockhamKind KIND> struct StockhamSegment {
    static constexpr int LENGTH = KIND == STOCKHAM_HALVES ? 2 * P : P;      /* samples */
    static constexpr int EACH = LENGTH / P;

    /* Points of the segment whose first sample is x[from]; before x there is nothing, behind it memory of any values. */
    static __device__ void load(float2 v[4], const float *x, int64_t from, int hop, int t)
    {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
            const int64_t at = from + EACH * (t + r * (P / 4));
            if (KIND == STOCKHAM_COMPLEX)
                v[r] = at < 0 ? float2{0, 0} : __ldg((const float2 *)x + at);
            else if (KIND == STOCKHAM_PAIRS)
                v[r] = {at < 0 ? 0 : __ldg(x + at), __ldg(x + at + hop)};
            else if (from % 2 == 0)
                v[r] = __ldg((const float2 *)(x + at));
            else
                v[r] = {at < 0 ? 0 : __ldg(x + at), __ldg(x + at + 1)};
        }
    }

    /* y[to ..) = the outputs behind the dropped ones */
    static __device__ void store(float *y, int64_t to, int64_t count, int discard, const float2 v[4], int t)
    {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
            const int point = EACH * (t + r * (P / 4)), hop = LENGTH - discard;
            const int64_t at = to + point - discard;
            if (point < discard)
                continue;
            if (KIND == STOCKHAM_COMPLEX) {
                if (at < count)
                    __stcs((float2 *)y + at, v[r]);
                continue;
            }
            const int64_t second = KIND == STOCKHAM_PAIRS ? at + hop : at + 1;
            if (KIND == STOCKHAM_HALVES && second < count && count % 2 == 0) {
                __stcs((float2 *)(y + at), v[r]);
                continue;
            }
            if (at < count)
                __stcs(y + at, v[r].x);
            if (second < count)
                __stcs(y + second, v[r].y);
        }
    }
};

/* grid: segments (pairs of them), groups of filters */
template <int P, StockhamKind KIND> __global__ void __launch_bounds__(P / 4) stockham_ols(const StockhamWork a)
{
    using Segment = StockhamSegment<P, KIND>;
    constexpr int T = P / 4, EACH = Segment::EACH;
    extern __shared__ float2 memory[];
    StockhamSpace space = {memory, memory + P + P / 16};
    const int t = threadIdx.x, first = blockIdx.y * a.at_once, end = min(first + a.at_once, a.n_filters);
    const int hop = Segment::LENGTH - a.discard;
    const int64_t to = (int64_t)blockIdx.x * (KIND == STOCKHAM_PAIRS ? 2 * hop : hop);
    float2 spectrum[4];
    Segment::load(spectrum, a.x, to + a.halo - a.discard, hop, t);
    stockham_transform<P, EACH, false>(spectrum, &space, a.roots, t);
    if (KIND == STOCKHAM_HALVES)
        stockham_untangle<P>(spectrum, &space, a.roots, t);
    int k[4] = {t, t + T, t + 2 * T, t + 3 * T};
    if (KIND == STOCKHAM_HALVES)
        stockham_own_bins<P>(k, t);
    for (int f = first; f < end; ++f) {
        const float2 *const bank = a.bank + (int64_t)f * a.pitch;
        float2 v[4];
#pragma unroll
        for (int r = 0; r < 4; ++r)
            v[r] = stockham_times(spectrum[r], __ldg(bank + k[r]));
        if (KIND == STOCKHAM_HALVES && t == 0)
            v[0] = {spectrum[0].x * __ldg(bank).x, spectrum[0].y * __ldg(bank + P).x};
        if (KIND == STOCKHAM_HALVES)
            stockham_tangle<P>(v, &space, a.roots, t);
        stockham_transform<P, EACH, true>(v, &space, a.roots, t);
        Segment::store(a.y + (KIND == STOCKHAM_COMPLEX ? 2 : 1) * f * a.count, to, a.count, a.discard, v, t);
    }
}

/* ---- the rivals ------------------------------------------------------------------------------------------------------------- */

struct StockhamOls {
    StockhamWork work;
    void (*kernel)(StockhamWork);
    dim3 grid;
    int threads, shared_bytes;
    float2 *bank, *roots;
};

template <StockhamKind KIND> void (*stockham_kernel(int points))(StockhamWork)
{
    switch (points) {
    case 256:  return stockham_ols<256, KIND>;
    case 512:  return stockham_ols<512, KIND>;
    case 1024: return stockham_ols<1024, KIND>;
    case 2048: return stockham_ols<2048, KIND>;
    default:   return stockham_ols<4096, KIND>;
    }
}

/* Open a way: a step is a segment length, a choice the number of blocks that share the filters of a segment, 1, 2, 4 or 8. */
template <StockhamKind KIND>
void *stockham_open(const RivalOls *c, int step, int choice, const double *taps, cudaStream_t, char text[RIVAL_TEXT])
{
    const int discard = (int)std::min<int64_t>(c->n_taps / 2 * 2, 1 << 20), each = KIND == STOCKHAM_HALVES ? 2 : 1;
    int points = 256;
    while (2 * points * each < 3 * discard)
        points *= 2;
    points <<= step;
    const int n = points * each, parts = std::min(1 << choice, c->n_filters);
    const bool is_kind = c->real == (KIND != STOCKHAM_COMPLEX) && !c->is_double;
    if (!is_kind || points > 4096 || choice > 3 || (choice > 0 && 1 << choice > c->n_filters))
        return nullptr;
    StockhamOls *const o = new StockhamOls();
    const int hop = n - discard, at_once = (c->n_filters + parts - 1) / parts, pitch = KIND == STOCKHAM_HALVES ? points + 1 : n;
    const int64_t unit = KIND == STOCKHAM_PAIRS ? 2 * hop : hop;
    std::vector<float2> roots(n);
    for (int k = 0; k < n; ++k)
        roots[k] = {(float)cos(2 * M_PI * k / n), (float)-sin(2 * M_PI * k / n)};
    CHECK_CUDA(cudaMalloc(&o->roots, n * sizeof(float2)));
    CHECK_CUDA(cudaMemcpy(o->roots, roots.data(), n * sizeof(float2), cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMalloc(&o->bank, (size_t)c->n_filters * pitch * sizeof(float2)));
    cufft_bank(o->bank, taps, c->real, c->n_taps, c->n_filters, n, pitch);
    o->work = {nullptr, nullptr, o->bank, o->roots, c->count, pitch, (int)c->n_taps - 1, discard, c->n_filters, at_once};
    o->kernel = stockham_kernel<KIND>(points);
    o->grid = dim3((unsigned)((c->count + unit - 1) / unit), (c->n_filters + at_once - 1) / at_once);
    o->threads = points / 4;
    o->shared_bytes = 2 * (points + points / 16) * (int)sizeof(float2);
    CHECK_CUDA(cudaFuncSetAttribute(o->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, o->shared_bytes));
    snprintf(text, RIVAL_TEXT, "N %d; %d filters", n, at_once);
    return o;
}

inline void stockham_run(void *memory, const void *x, void *y, cudaStream_t stream)
{
    const StockhamOls &o = *(const StockhamOls *)memory;
    StockhamWork work = o.work;
    void (*const kernel)(StockhamWork) = o.kernel;
    work.x = (const float *)x;
    work.y = (float *)y;
    kernel<<<o.grid, o.threads, o.shared_bytes, stream>>>(work);
    CHECK_CUDA(cudaGetLastError());
}

inline void stockham_close(void *memory)
{
    StockhamOls *const o = (StockhamOls *)memory;
    cudaFree(o->bank);
    cudaFree(o->roots);
    delete o;
}

static const OlsRival stockham_complex = {"Stockham complex", true, true, stockham_open<STOCKHAM_COMPLEX>, stockham_run,
                                          stockham_close};
static const OlsRival stockham_halves = {"Stockham halves", true, true, stockham_open<STOCKHAM_HALVES>, stockham_run,
                                         stockham_close};
static const OlsRival stockham_pairs = {"Stockham pairs", true, true, stockham_open<STOCKHAM_PAIRS>, stockham_run, stockham_close};

#endif
