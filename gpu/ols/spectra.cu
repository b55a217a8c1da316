/* spectra.cu - stored taps to complex doubles, and their transforms by Stockham's method through global memory.
 *
 * A pass of radix R reads the values i + r N / R, r < R, of a row, and writes its results in an order that leaves bins in natural
 * order after the last pass. `done` is the product of the radices of the passes before it:
 *
 *     out[(i - k) R + k + r done] = sum_j in[i + j N / R] w^j exp(-2 pi i j r / R),  k = i mod done,  w = exp(-2 pi i k / (done R))
 *
 * One thread makes one butterfly, in registers. Adjacent threads read adjacent values, and write runs of `done` adjacent values. A
 * batch of rows is about as large as the L2 cache (filler.c). */
#include "gpu/ols/spectra.h"

#include "gpu/device/stored.cuh"

static constexpr int block_threads = 256;

static dim3 grid_of(int64_t per_row, int n)
{
    return dim3(static_cast<unsigned>((per_row + block_threads - 1) / block_threads), static_cast<unsigned>(n));
}

__device__ static int64_t index_in_row() { return int64_t(blockIdx.x) * block_threads + threadIdx.x; }

/* ---- taps ---------------------------------------------------------------------------------------------------------- */

template <int BYTES> struct WordOf;
template <> struct WordOf<1> { using type = uint8_t; };
template <> struct WordOf<2> { using type = uint16_t; };
template <> struct WordOf<4> { using type = uint32_t; };
template <> struct WordOf<8> { using type = uint64_t; };

template <class Stored> LW_DEVICE Stored in_order(Stored value, bool is_swapped)
{
    using Word = typename WordOf<sizeof(Stored)>::type;
    if constexpr (sizeof(Stored) == 1)
        return value;
    else
        return is_swapped ? repacked<Stored>(reversed(repacked<Word>(value))) : value;
}

/* Return number i of stored numbers; a complex tap has two. */
LW_DEVICE double number_at(const lw_cuda_taps &taps, int64_t i)
{
    const bool is_swapped = taps.type.is_swapped;
    if (taps.type.scalar == LW_FLOAT16)
        return value_of_half(in_order(static_cast<const uint16_t *>(taps.data)[i], is_swapped));
    return with_stored(taps.type.scalar, [&](auto stored) {
        return static_cast<double>(in_order(static_cast<const decltype(stored) *>(taps.data)[i], is_swapped));
    });
}

/* Return tap m of a filter in the order of a convolution; 0 beyond its taps. */
LW_DEVICE double2 tap_at(const lw_cuda_taps &taps, int64_t filter, int64_t m)
{
    if (m < 0 || m >= taps.n_taps)
        return {0, 0};
    const int64_t at = filter * taps.n_taps + (taps.is_reversed ? taps.n_taps - 1 - m : m);
    if (!taps.type.is_complex)
        return {number_at(taps, at), 0};
    const double im = number_at(taps, 2 * at + 1);
    return {number_at(taps, 2 * at), taps.is_reversed ? -im : im};
}

/* Return factor (tap m - tap m - delay): a tap of a filter that is convolved with a difference. */
LW_DEVICE double2 difference_at(const lw_cuda_taps &taps, int64_t filter, int64_t m, int64_t delay, double factor)
{
    const double2 now = tap_at(taps, filter, m), before = tap_at(taps, filter, m - delay);
    return {factor * (now.x - before.x), factor * (now.y - before.y)};
}

static __global__ void spread(lw_cuda_taps taps, int delay, int64_t row, int64_t count, double2 *values)
{
    const int64_t i = index_in_row(), filter = blockIdx.y;
    if (i < count)
        values[filter * row + i] = taps.every > 0 ? difference_at(taps, filter, i - delay, 2 * taps.every, 0.5)
                                                  : tap_at(taps, filter, i - delay);
}

cudaError_t lw_cuda_spread(const struct lw_cuda_taps *taps, int n, int delay, int64_t row, void *values, cudaStream_t stream)
{
    const int64_t count = delay + taps->n_taps + 2 * taps->every;
    spread<<<grid_of(count, n), block_threads, 0, stream>>>(*taps, delay, row, count, static_cast<double2 *>(values));
    return cudaGetLastError();
}

static __global__ void spread_ends(lw_cuda_taps taps, double *ends)
{
    const int64_t i = index_in_row(), filter = blockIdx.y, count = taps.n_taps + taps.every;
    if (i >= count)
        return;
    const double2 tap = difference_at(taps, filter, i, taps.every, 1);
    if (taps.type.is_complex)
        reinterpret_cast<double2 *>(ends)[filter * count + i] = tap;
    else
        ends[filter * count + i] = tap.x;
}

cudaError_t lw_cuda_spread_ends(const struct lw_cuda_taps *taps, int n, double *ends, cudaStream_t stream)
{
    spread_ends<<<grid_of(taps->n_taps + taps->every, n), block_threads, 0, stream>>>(*taps, ends);
    return cudaGetLastError();
}

/* ---- transforms ---------------------------------------------------------------------------------------------------- */

/* v[k] <- sum_j v[j] w^j exp(-2 pi i j k / R), w = exp(pi i x). */
template <int R> LW_DEVICE void weighted(double2 (&v)[R], double x)
{
    Powers<double2, R> w;
#pragma unroll
    for (int l = 0; l < log2_of(R); l++)
        sincospi(x * (1 << l), &w.p[l].y, &w.p[l].x);
    dft<R, true>(v, w.p);
}

template <> LW_DEVICE void weighted<3>(double2 (&v)[3], double x)
{
    const double half_root_three = 0.86602540378443864676;
    double2 w, square;
    sincospi(x, &w.y, &w.x);
    sincospi(2 * x, &square.y, &square.x);
    const double2 a = product(v[1], w), b = product(v[2], square), sum = {a.x + b.x, a.y + b.y};
    const double2 middle = {fma(-0.5, sum.x, v[0].x), fma(-0.5, sum.y, v[0].y)};
    const double2 turned = {half_root_three * (a.y - b.y), half_root_three * (b.x - a.x)};     /* -i sqrt(3) / 2 (a - b) */
    v[0] = {v[0].x + sum.x, v[0].y + sum.y};
    v[1] = {middle.x + turned.x, middle.y + turned.y};
    v[2] = {middle.x - turned.x, middle.y - turned.y};
}

template <int R>
static __global__ void __launch_bounds__(block_threads) pass(const double2 *from, double2 *to, int n_points, int n_values, int done)
{
    const int each = n_points / R, i = static_cast<int>(index_in_row());
    if (i >= each)
        return;
    const double2 *const row = from + blockIdx.y * int64_t(n_points);
    double2 v[R];
#pragma unroll
    for (int r = 0; r < R; r++)
        v[r] = i + r * each < n_values ? row[i + r * each] : double2{0, 0};
    const int k = i % done;
    weighted<R>(v, -2.0 * k / (double(done) * R));
    double2 *const out = to + blockIdx.y * int64_t(n_points) + int64_t(i - k) * R + k;
#pragma unroll
    for (int r = 0; r < R; r++)
        out[int64_t(r) * done] = v[r];
}

/* Return the radix of the next pass over rows of which `left` points are to be divided further; 0: there is none. */
static int radix_of(int64_t left)
{
    for (const int radix : {16, 8, 4, 2, 3})
        if (left % radix == 0)
            return radix;
    return 0;
}

bool lw_cuda_has_spectra(int64_t n_points)
{
    while (n_points > 1 && radix_of(n_points) > 0)
        n_points /= radix_of(n_points);
    return n_points == 1;
}

template <int R>
static void launch_pass(const void *from, void *to, int64_t n_points, int64_t n_values, int64_t done, int n, cudaStream_t stream)
{
    pass<R><<<grid_of(n_points / R, n), block_threads, 0, stream>>>(static_cast<const double2 *>(from), static_cast<double2 *>(to),
                                                                    static_cast<int>(n_points), static_cast<int>(n_values),
                                                                    static_cast<int>(done));
}

cudaError_t lw_cuda_spectra(void *values, void *other, int64_t n_points, int64_t n_values, int n, void **spectra,
                            cudaStream_t stream)
{
    void *from = values, *to = other;
    int radix;
    for (int64_t done = 1; done < n_points; done *= radix) {
        radix = radix_of(n_points / done);
        const int64_t given = done == 1 ? n_values : n_points;
        switch (radix) {
        case 16: launch_pass<16>(from, to, n_points, given, done, n, stream); break;
        case 8: launch_pass<8>(from, to, n_points, given, done, n, stream); break;
        case 4: launch_pass<4>(from, to, n_points, given, done, n, stream); break;
        case 3: launch_pass<3>(from, to, n_points, given, done, n, stream); break;
        case 2: launch_pass<2>(from, to, n_points, given, done, n, stream); break;
        default: return cudaErrorInvalidValue;
        }
        void *const made = to;
        to = from;
        from = made;
    }
    *spectra = from;
    return cudaGetLastError();
}
