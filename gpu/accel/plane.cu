/* plane.cu - powers of a spectrum behind all templates, by overlap-save in shared memory.
 *
 * A team of T threads, a thread block, transforms a segment of the spectrum and keeps it in registers, as in
 * gpu/ols/kernels/time_fast.cuh. For each row of its share it goes back twice, behind the template for whole bins and the one for
 * the halves above them. Thread t has the results t + T m of both. Their powers, as halves, are one word of the row, and the words
 * of a warp are adjacent. The first powers wait in registers until the second ones are known.
 *
 * Blocks that run at the same time have the same rows, whose spectra stay in the L2 cache. */
#include "gpu/accel/launch.h"
#include "gpu/accel/ptx.cuh"
#include "gpu/device/launch.cuh"
#include "gpu/ols/kernels/time_fast.cuh"

static constexpr int inner_radix = 32;

template <int P> using Way = Transform<float, inner_radix, P, Team<inner_radix * P, 1>>;

/* Call f with the transform of segments. */
template <class Function> static cudaError_t with_way(const lw_accel_segments &segments, Function f)
{
    return segments.radix == 1 ? f(Way<1>()) : segments.radix == 2 ? f(Way<2>()) : segments.radix == 4 ? f(Way<4>()) : f(Way<8>());
}

int64_t lw_cuda_accel_roots_bytes(const struct lw_accel_segments *segments)
{
    return powers_of(inner_radix, segments->radix) * static_cast<int64_t>(sizeof(float2));
}

cudaError_t lw_cuda_accel_roots(const struct lw_accel_bank *bank, cudaStream_t stream)
{
    fill_powers<float2>(bank->roots, inner_radix, bank->segments.radix, stream);
    return cudaGetLastError();
}

/* ---- spectra of templates ------------------------------------------------------------------------------------------- */

/* Tap i of a filter is T[2 i] or T[2 i + 1]. A block makes one filter; blockIdx.y is 1 for -z and -w. */
template <class F>
static __global__ void __launch_bounds__(F::T) transform_templates(const lw_accel_bank bank, int first, const float2 *templates)
{
    extern __shared__ __align__(128) unsigned char memory[];
    const int t = static_cast<int>(threadIdx.x), half = 2 * bank.half_width, parity = static_cast<int>(blockIdx.x % 2);
    const float2 *const taps = templates + static_cast<int64_t>(blockIdx.x / 2) * (2 * half + 1) + half;
    const int own = first + static_cast<int>(blockIdx.x / 2), row = blockIdx.y == 0 ? own : bank.rows - 1 - own;
    if (blockIdx.y == 1 && row == own)
        return;
    F fft;
    fft.load(bank.roots, t);
    float2 v[F::E];
#pragma unroll
    for (int m = 0; m < F::E; ++m) {
        const int l = t + F::T * m, j = 2 * (l < F::N / 2 ? l : l - F::N) + parity;
        v[m] = j < -half || j > half ? float2{0, 0} : blockIdx.y == 0 ? taps[j] : float2{taps[-j].x, -taps[-j].y};
    }
    fft.forward(v, (float2 *)memory, t);
    float4 *const out = (float4 *)(bank.spectra + (2ll * row + parity) * F::N) + t;
    constexpr float factor = 1.0f / (F::N * 8);
    static_assert(LW_ACCEL_SCALE == 8 * 8, "amplitudes are divided by the root of the scale");
#pragma unroll
    for (int m = 0; m < F::E; m += 2)
        out[m / 2 * F::T] = make_float4(factor * v[m].x, factor * v[m].y, factor * v[m + 1].x, factor * v[m + 1].y);
}

cudaError_t lw_cuda_accel_transform(const struct lw_accel_bank *bank, int first, int n, const float2 *templates,
                                    cudaStream_t stream)
{
    return with_way(bank->segments, [&](auto way) {
        using F = decltype(way);
        const Launch launch = {dim3(2 * static_cast<unsigned>(n), 2), F::T, F::SHARED_BYTES, stream};
        return allow_and_launch(launch, transform_templates<F>, *bank, first, templates);
    });
}

/* ---- powers --------------------------------------------------------------------------------------------------------- */

struct PowerArgs {
    lw_accel_bank bank;
    lw_accel_plane plane;
    lw_accel_interval interval;
    const float2 *spectrum;
    int64_t n_bins;
    int rows, share;                    /* rows of the interval, and of a block */
};

/* Return a power that is finite as a half. */
LW_DEVICE float power_of(float2 y) { return fminf(fmaf(y.x, y.x, y.y * y.y), 65504.0f); }

template <class F, int BLOCKS> static __global__ void __launch_bounds__(F::T, BLOCKS) powers(const __grid_constant__ PowerArgs a)
{
    constexpr int E = F::E, T = F::T;
    extern __shared__ __align__(128) unsigned char memory[];
    float2 *const shared = (float2 *)memory;
    const int t = static_cast<int>(threadIdx.x), hop = a.bank.segments.hop, lead = t - a.bank.segments.discard;
    const int64_t start = (a.interval.first + blockIdx.x) * hop + lead;
    F fft;
    fft.load(a.bank.roots, t);
    float2 v[E], kept[E];
#pragma unroll
    for (int m = 0; m < E; ++m)
        v[m] = start + T * m >= 0 && start + T * m < a.n_bins ? __ldg(a.spectrum + start + T * m) : float2{0, 0};
    fft.forward(v, shared, t);
#pragma unroll
    for (int m = 0; m < E; ++m)
        kept[m] = v[m];

    const int wide = 2 * a.interval.reach_z + 1, begin = static_cast<int>(blockIdx.y) * a.share, end = min(a.rows, begin + a.share);
    unsigned *const place = (unsigned *)(void *)(a.plane.powers + a.interval.column + blockIdx.x * 2ll * hop) + lead;
    unsigned first[E / 2];
#pragma unroll 1
    for (int q = 2 * begin; q < 2 * end; ++q) {
        const int w = a.plane.n_w / 2 - a.interval.reach_w + q / 2 / wide;
        const int row = w * a.plane.n_z + a.plane.n_z / 2 - a.interval.reach_z + q / 2 % wide;
        fft.pin();
        multiply<F>(v, kept, a.bank.spectra + (2ll * row + q % 2) * F::N, t);
        fft.backward(v, shared, t);
        unsigned *const out = place + row * (a.plane.pitch / 2);
#pragma unroll
        for (int m = 0; m < E; m += 2) {
            const unsigned two = halves_of(power_of(v[m]), power_of(v[m + 1]));
            if (q % 2 == 0)
                first[m / 2] = two;
            if (q % 2 == 1 && static_cast<unsigned>(lead + T * m) < static_cast<unsigned>(hop))
                out[T * m] = __byte_perm(first[m / 2], two, 0x5410);
            if (q % 2 == 1 && static_cast<unsigned>(lead + T * (m + 1)) < static_cast<unsigned>(hop))
                out[T * (m + 1)] = __byte_perm(first[m / 2], two, 0x7632);
        }
    }
}

cudaError_t lw_cuda_accel_powers(const struct lw_accel_bank *bank, const float2 *spectrum, int64_t n_bins,
                                 const struct lw_accel_interval *interval, const struct lw_accel_plane *plane, cudaStream_t stream)
{
    enum { BLOCKS = 16384, LEAST_SHARE = 16 };          /* enough for an even load; enough for one way forth */
    const int rows = (2 * interval->reach_z + 1) * (2 * interval->reach_w + 1);
    const int even = static_cast<int>(rows * interval->n / BLOCKS < rows ? rows * interval->n / BLOCKS : rows);
    const int share = even > LEAST_SHARE ? even : LEAST_SHARE;
    const PowerArgs args = {*bank, *plane, *interval, spectrum, n_bins, rows, share};
    return with_way(bank->segments, [&](auto way) {
        using F = decltype(way);
        const dim3 grid(static_cast<unsigned>(interval->n), static_cast<unsigned>((rows + share - 1) / share));
        return allow_and_launch({grid, F::T, F::SHARED_BYTES, stream}, powers<F, 12 / F::P>, args);
    });
}
