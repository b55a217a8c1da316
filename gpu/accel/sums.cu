/* sums.cu - sums over harmonics in a plane of powers, and the largest of each cell.
 *
 * `screen` looks at all sums in halves, two in a register, and lists the cells that may have a hit. `judge` computes all sums of
 * these few cells in single precision. A sum of H halves is lower than it should be by at most H - 1 roundings; the thresholds of
 * `screen` are as much lower.
 *
 * A lane of `screen` has a cell, 16 points of r, and its warp takes every eighth row of z and w. In a row of harmonic k of H the 16
 * points lie in 16 k / H + 1 adjacent halves at most, which begin at cell * 16 k / H: which half belongs to which point is the same
 * for all cells, and known to the compiler. The lane loads these halves as words, and permutations make pairs of points of them.
 * (For H = 16 and odd k, half of the cells begin in the middle of a word: another permutation moves their halves.) Adjacent lanes
 * read adjacent words. The warps of a block read the same few rows of lower harmonics, which thus come from the L1 cache. */
#include "gpu/accel/launch.h"
#include "gpu/accel/ptx.cuh"
#include "gpu/device/fft.cuh"

static constexpr int n_warps = 8, cell_points = LW_ACCEL_CELL, n_pairs = cell_points / 2, most_words = 9;
static_assert(cell_points == 16 && LW_ACCEL_MOST_HARMONICS == 16, "words and permutations are made for these");

struct SumArgs {
    lw_accel_plane plane;
    lw_accel_cells cells;
    lw_accel_found found;
    float screened[LW_ACCEL_MOST_STAGES], least[LW_ACCEL_MOST_STAGES];     /* thresholds, in units of the plane */
};

/* Return lw_accel_sub_z(d, k, H). */
LW_DEVICE int nearest(int d, int k, int H)
{
    const int away = (2 * abs(d) * k + H) / (2 * H);
    return d < 0 ? -away : away;
}

/* Return the row for harmonic k of H of a row. */
LW_DEVICE int64_t row_of(const lw_accel_plane &plane, int row, int k, int H)
{
    const int z = plane.n_z / 2, w = plane.n_w / 2;
    return (nearest(row / plane.n_z - w, k, H) + w) * plane.n_z + nearest(row % plane.n_z - z, k, H) + z;
}

/* Return lw_accel_sub_r(i, k, H), for points from the first of a cell, too. */
template <class Int> __host__ __device__ constexpr Int half_at(Int i, int k, int H) { return (2 * i * k + H) / (2 * H); }

/* Return whether cells may begin in the middle of a word; words that hold a cell's halves; words that are loaded at a time. */
__host__ __device__ constexpr bool is_odd(int k, int H) { return H == 16 && k % 2 == 1; }
__host__ __device__ constexpr int words_of(int k, int H) { return (half_at(cell_points - 1, k, H) + 2 + is_odd(k, H)) / 2; }
__host__ __device__ constexpr int width_of(int k, int H)
{
    const int halves = cell_points * k / H;         /* distance of cells */
    return halves % 8 == 0 ? 4 : halves % 4 == 0 ? 2 : 1;
}

/* Load the halves of a lane's cell. `row` is its first half, rounded down to a word. */
template <int K, int H> LW_DEVICE void load_cell(unsigned (&word)[most_words], const uint16_t *row)
{
    constexpr int n = words_of(K, H), wide = width_of(K, H);
    static_assert(n <= most_words, "a cell and a half");
#pragma unroll
    for (int i = 0; i < n; i += wide) {
        if (wide == 4 && n - i >= 4) {
            const uint4 four = __ldg((const uint4 *)(row + 2 * i));
            word[i] = four.x, word[i + 1] = four.y, word[i + 2] = four.z, word[i + 3] = four.w;
        } else if (wide >= 2 && n - i >= 2) {
            const uint2 two = __ldg((const uint2 *)(row + 2 * i));
            word[i] = two.x, word[i + 1] = two.y;
        } else
            word[i] = __ldg((const unsigned *)(row + 2 * i));
    }
}

/* Return points 2 p and 2 p + 1 of the cell. odd: selector that takes a word from the middle of two, or the lower one. */
template <int K, int H> LW_DEVICE unsigned points_of(const unsigned (&word)[most_words], int p, unsigned odd)
{
    const int a = half_at(2 * p, K, H), b = half_at(2 * p + 1, K, H);
    const auto at = [&](int i) { return is_odd(K, H) ? __byte_perm(word[i], word[i + 1], odd) : word[i]; };
    if (a % 2 == 0 && b == a + 1)
        return at(a / 2);
    return __byte_perm(at(a / 2), at(b / 2), (a % 2 ? 0x32u : 0x10u) | (b % 2 ? 0x7600u : 0x5400u));
}

/* Add harmonics K, K + 2 STEP, .. of H, less than H, at a lane's cell; or with K = H set the sums to the highest. */
template <int K, int STEP, int H, class Row> LW_DEVICE void add_harmonics(unsigned (&sums)[n_pairs], Row row_of, int64_t cell)
{
    const int64_t begin = cell * (cell_points * K / H);
    unsigned word[most_words];
    load_cell<K, H>(word, row_of(K) + (begin & ~int64_t(1)));
    const unsigned odd = is_odd(K, H) && begin % 2 ? 0x5432u : 0x3210u;
#pragma unroll
    for (int p = 0; p < n_pairs; ++p)
        sums[p] = K == H ? points_of<K, H>(word, p, odd) : add_halves(sums[p], points_of<K, H>(word, p, odd));
    if constexpr (K + 2 * STEP < H)
        add_harmonics<K + 2 * STEP, STEP, H>(sums, row_of, cell);
}

/* Make the sums of all stages, one after the other. */
template <int STAGES, int STAGE = 0, class Row>
LW_DEVICE void add_stages(unsigned (&largest)[STAGES], unsigned (&sums)[n_pairs], Row row_of, int64_t cell)
{
    constexpr int H = 1 << (STAGES - 1), STEP = H >> STAGE;
    add_harmonics<STEP, STEP, H>(sums, row_of, cell);
#pragma unroll
    for (int p = 0; p < n_pairs; ++p)
        largest[STAGE] = larger_halves(largest[STAGE], sums[p]);
    if constexpr (STAGE + 1 < STAGES)
        add_stages<STAGES, STAGE + 1>(largest, sums, row_of, cell);
}

template <int STAGES> static __global__ void __launch_bounds__(32 * n_warps, 2) screen(const __grid_constant__ SumArgs a)
{
    constexpr int H = 1 << (STAGES - 1);
    __shared__ unsigned flagged[32];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int64_t number = blockIdx.x * 32ll + lane;
    const int64_t cell = a.cells.first + (number < a.cells.n ? number : a.cells.n - 1);
    if (threadIdx.x < 32)
        flagged[lane] = 0;
    __syncthreads();

    unsigned largest[STAGES] = {};
#pragma unroll 1
    for (int row = static_cast<int>(threadIdx.x) / 32; row < a.plane.n_z * a.plane.n_w; row += n_warps) {
        const auto cells_of = [&](int k) {
            return a.plane.powers + (row_of(a.plane, row, k, H) * a.plane.pitch - a.cells.shift[k - 1]);
        };
        unsigned sums[n_pairs];
        add_stages<STAGES>(largest, sums, cells_of, cell);
    }
    bool met = false;
#pragma unroll
    for (int stage = 0; stage < STAGES; ++stage) {
        const float low = static_cast<float>(value_of_half(static_cast<unsigned short>(largest[stage]))),
                    high = static_cast<float>(value_of_half(static_cast<unsigned short>(largest[stage] >> 16)));
        met = met || low >= a.screened[stage] || high >= a.screened[stage];
    }
    if (met)
        atomicOr(&flagged[lane], 1u);
    __syncthreads();
    if (threadIdx.x < 32 && flagged[lane] && number < a.cells.n)
        a.found.cells[atomicAdd(&a.found.counts[0], 1ull)] = static_cast<uint32_t>(number);
}

/* A block takes a cell at a time. A key has the bits of a sum, which are in the order of sums, above the complement of its place in
 * the order of w, z and r: the largest key is the hit. */
template <int STAGES> static __global__ void __launch_bounds__(32 * n_warps) judge(const __grid_constant__ SumArgs a)
{
    constexpr int H = 1 << (STAGES - 1);
    __shared__ unsigned long long largest[STAGES];
    const int t = static_cast<int>(threadIdx.x), n_z = a.plane.n_z, rows = n_z * a.plane.n_w;
    const unsigned long long n = a.found.counts[0];
    for (unsigned long long i = blockIdx.x; i < n; i += gridDim.x) {
        if (t < STAGES)
            largest[t] = 0;
        __syncthreads();
        const int64_t begin = (a.cells.first + a.found.cells[i]) * cell_points;
        unsigned long long own[STAGES] = {};
        for (int place = t; place < rows * cell_points; place += 32 * n_warps) {
            const int64_t r = begin + place % cell_points;
            if (r < a.cells.begin || r >= a.cells.end)
                continue;
            float sum = 0;
#pragma unroll
            for (int stage = 0; stage < STAGES; ++stage) {
                for (int k = H >> stage; k <= H - (stage > 0); k += 2 * H >> stage) {
                    const int64_t column = half_at(r, k, H) - a.cells.shift[k - 1];
                    const uint16_t half = a.plane.powers[row_of(a.plane, place / cell_points, k, H) * a.plane.pitch + column];
                    sum += static_cast<float>(value_of_half(half));
                }
                own[stage] = max(own[stage], (unsigned long long)__float_as_uint(sum) << 32 | ~(unsigned)place);
            }
        }
#pragma unroll
        for (int stage = 0; stage < STAGES; ++stage)
            atomicMax(&largest[stage], own[stage]);
        __syncthreads();
        const float sum = t < STAGES ? __int_as_float(static_cast<int>(largest[t] >> 32)) : 0;
        if (t < STAGES && largest[t] != 0 && sum >= a.least[t]) {
            const unsigned place = ~static_cast<unsigned>(largest[t]), row = place / cell_points;
            const unsigned long long at = atomicAdd(&a.found.counts[1], 1ull);
            if (at < static_cast<unsigned long long>(a.found.most))
                a.found.hits[at] = {begin + place % cell_points, static_cast<int16_t>(row % n_z), static_cast<int16_t>(row / n_z),
                                    t, LW_ACCEL_SCALE * sum};
        }
        __syncthreads();
    }
}

template <int STAGES> static cudaError_t sum(const SumArgs &args, cudaStream_t stream)
{
    const unsigned blocks = static_cast<unsigned>((args.cells.n + 31) / 32);
    screen<STAGES><<<blocks, 32 * n_warps, 0, stream>>>(args);
    judge<STAGES><<<blocks < 1024 ? blocks : 1024, 32 * n_warps, 0, stream>>>(args);
    return cudaGetLastError();
}

cudaError_t lw_cuda_accel_sum(const struct lw_accel_plane *plane, const struct lw_accel_cells *cells,
                              const struct lw_accel_found *found, cudaStream_t stream)
{
    SumArgs args = {*plane, *cells, *found, {}, {}};
    for (int stage = 0; stage < cells->n_stages; stage++) {
        args.least[stage] = cells->least[stage] / LW_ACCEL_SCALE;
        args.screened[stage] = args.least[stage] * (1 - static_cast<float>(1 << stage) / 2048);
    }
    static cudaError_t (*const sums[])(const SumArgs &, cudaStream_t) = {sum<1>, sum<2>, sum<3>, sum<4>, sum<5>};
    return sums[cells->n_stages - 1](args, stream);
}
