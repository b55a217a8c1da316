/* weigh.cu - the pixels of images with a background or weights before the convolution, and the outputs of matched filters behind
 * the convolutions:
 *
 *     make      stored pixels, meshes, map of weights -> w x and w (without weights: x less the background)
 *     limits    the largest weight that each transform meets
 *     match     A = conv(w x, kernel), B = conv(w, kernel^2) -> A / sqrt(B), 1 / sqrt(B)
 *
 * A transform's rounding errors are as large everywhere as beside its largest weight, but few weights may be below an output's
 * kernel, or only taps near 0. `match` sums such outputs again by the definition, so that they cannot look like signals. Likewise
 * a bright star would spoil the digits of the noise around it. So transforms do not see pixels whose own signal-to-noise ratio
 * is large; `match` adds them to the outputs that they belong to. */
#include "gpu/conv2d/piece.cuh"

#include <math_constants.h>

static constexpr int block_threads = 256, warp = 32;

__host__ __device__ static inline int64_t words_of(int64_t columns) { return (columns + warp - 1) / warp; }

/* ---- meshes ------------------------------------------------------------------------------------------------------ */

/* The node before a place along one direction, and the place in units of the distance to the next node: lw_mesh_place. */
struct MeshPlace {
    int64_t node;
    float t;
};

LW_DEVICE MeshPlace mesh_place(int64_t half, int64_t cell, int64_t n_nodes)
{
    if (n_nodes == 1)
        return {0, 0};
    const int64_t before = (half + cell) / (2 * cell) - 1, last = n_nodes - 2;
    const int64_t node = before < 0 ? 0 : before < last ? before : last;
    return {node, (float)(int)(half - cell - 2 * cell * node) / (float)(2 * cell)};
}

/* A cubic between two nodes, from their values and derivatives. */
struct Cubic {
    float c[4];

    LW_DEVICE void set(float v0, float v1, float d0, float d1)
    {
        c[0] = v0, c[1] = v1 - v0 - 2 * d0 - d1, c[2] = 3 * d0, c[3] = d1 - d0;
    }
    LW_DEVICE float at(float t) const { return fmaf(fmaf(fmaf(c[3], t, c[2]), t, c[1]), t, c[0]); }
};

/* A mesh along a column of an image: the cubic between the node above and the node below, which many rows share. */
struct Spline {
    Cubic cubic;
    int64_t half;               /* half-pixel of the node above */
    float step;                 /* what a half-pixel is of the distance between nodes */
    float floor;                /* least value between these nodes */

    /* Set the cubic for a row; return the first row with another one. */
    LW_DEVICE int64_t set(const lw_conv2d_mesh &mesh, int64_t channel, int64_t row, int64_t column)
    {
        const MeshPlace down = mesh_place(2 * (mesh.first_row + row), mesh.cell, mesh.node_rows);
        const MeshPlace across = mesh_place(2 * column + 1, mesh.cell, mesh.node_columns);
        const int64_t nodes = mesh.node_rows * mesh.node_columns, beside = mesh.node_columns > 1;
        const float *const at = mesh.tables + channel * LW_MESH_TABLES * nodes + down.node * mesh.node_columns + across.node;
        const int64_t below = mesh.node_rows > 1 ? mesh.node_columns : 0;
        const auto value = [&](int64_t row_below, int table, int derived) {
            const float *const v = at + row_below + table * nodes, *const d = at + row_below + derived * nodes;
            Cubic c;
            c.set(__ldg(v), __ldg(v + beside), __ldg(d), __ldg(d + beside));
            return c.at(across.t);
        };
        cubic.set(value(0, LW_MESH_V, LW_MESH_V_COLUMNS), value(below, LW_MESH_V, LW_MESH_V_COLUMNS),
                  value(0, LW_MESH_V_ROWS, LW_MESH_V_BOTH), value(below, LW_MESH_V_ROWS, LW_MESH_V_BOTH));
        const float above = fminf(__ldg(at), __ldg(at + beside)), under = fminf(__ldg(at + below), __ldg(at + below + beside));
        floor = mesh.is_noise ? LW_MESH_FLOOR * fminf(above, under) : -INFINITY;
        half = mesh.cell * (2 * down.node + 1) - 2 * mesh.first_row;
        step = mesh.node_rows > 1 ? 1 / (float)(2 * mesh.cell) : 0;
        return down.node + 2 < mesh.node_rows ? (half + 2 * mesh.cell + 1) / 2 : INT64_MAX;
    }

    LW_DEVICE float at(int64_t row) const { return fmaxf(cubic.at((float)(int)(2 * row - half) * step), floor); }
};

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

static constexpr float bright_square = 64 * 64;         /* square of a bright pixel's least signal-to-noise ratio */

/* A thread makes a column of `patch_rows` rows, `together` loads at a time; a warp makes 32 columns, a word of `largest`. */
static constexpr int patch_rows = 32, together = 4;

/* Load n <= together stored values of a column. */
template <class Real>
LW_DEVICE void load_column(enum lw_scalar scalar, const void *from, int64_t at, int64_t pitch, int n, Real (&to)[together])
{
    with_stored(scalar, [&](auto stored) {
#pragma unroll
        for (int i = 0; i < together; ++i)
            to[i] = i < n ? converted<Real>(__ldg((const decltype(stored) *)from + at + i * pitch)) : (Real)0;
    });
}

/* Return 1 / sigma^2; 0 if that is no weight. */
template <class Real> LW_DEVICE Real weight_of_sigma(Real sigma)
{
    const Real inverse = 1 / sigma;
    return sigma > 0 ? inverse * inverse : 0;
}

template <class Real> __global__ void __launch_bounds__(block_threads) conv2d_make_pixels(const lw_conv2d_pixels p)
{
    const lw_conv2d_block &b = p.block;
    const int64_t rows = input_rows(b), words = words_of(b.columns);
    const unsigned across = (unsigned)((b.columns + block_threads - 1) / block_threads);
    const unsigned down = (unsigned)((rows + patch_rows - 1) / patch_rows), line = blockIdx.x / across, channel = line / down;
    const int64_t first = (int64_t)(line - channel * down) * patch_rows, last = first + patch_rows;
    const int64_t column = (int64_t)(blockIdx.x - line * across) * block_threads + threadIdx.x, end = last < rows ? last : rows;
    const bool exists = column < b.columns;
    for (int64_t row = first; row < end;) {
        const int64_t position = b.first_row + row, image_row = boundary_index(b.boundary, position, b.rows);
        if (image_row < 0) {                    /* no convolution reads this row */
            const int64_t word = (channel * rows + row) * words + column / warp;
            if (p.weight && exists && column % warp == 0)
                p.largest[word] = 0;
            if (p.bright && exists && column % warp == 0)
                p.bright_bits[word] = 0;
            ++row;
            continue;
        }
        /* Rows of the boundary are made one by one: they may count backwards. */
        int64_t n_rows = image_row != position ? 1 : least(end - row, b.rows - position);
        Spline background, sigma;
        if (p.background.tables) {
            const int64_t next = background.set(p.background, p.channel + channel, image_row, exists ? column : 0);
            n_rows = next - image_row < n_rows ? next - image_row : n_rows;
        }
        if (p.sigma.tables) {
            const int64_t next = sigma.set(p.sigma, p.channel + channel, image_row, exists ? column : 0);
            n_rows = next - image_row < n_rows ? next - image_row : n_rows;
        }
        for (int64_t i = 0; i < n_rows; i += together) {
            const int n = least(n_rows - i, together);
            const int64_t from = input_index(b, channel, row + i) + column;
            const int64_t to = (channel * rows + row + i) * b.columns + column;
            Real x[together], map[together];
            load_column(b.scalar, b.input, from, b.columns, exists ? n : 0, x);
            if (p.map)
                load_column(p.map_scalar, p.map, from, b.columns, exists ? n : 0, map);
#pragma unroll
            for (int k = 0; k < together; ++k) {
                if (k >= n)
                    break;
                const Real less = p.background.tables ? x[k] - (Real)background.at(image_row + i + k) : x[k];
                if (!p.weight) {
                    if (exists)
                        ((Real *)p.value)[to + k * b.columns] = less;
                    continue;
                }
                Real w = p.weights == LW_WEIGHTS_INVERSE ? map[k]
                       : weight_of_sigma(p.weights == LW_WEIGHTS_MESH ? (Real)sigma.at(image_row + i + k) : map[k]);
                Real value = w * less;
                if (!exists || !(w > 0) || !isfinite(w) || !isfinite(value))
                    w = value = 0;
                const bool is_bright = p.bright && value * less > (Real)bright_square;
                if (is_bright) {
                    ((Real *)p.bright)[to + k * b.columns] = value;
                    value = 0;
                }
                if (exists) {
                    ((Real *)p.value)[to + k * b.columns] = value;
                    ((Real *)p.weight)[to + k * b.columns] = w;
                    if (!isfinite(x[k]))
                        report_own(b, p.report, channel, row + i + k, column);
                }
                const int bits = largest_of_warp(magnitude_bits(w));
                const unsigned bright = __ballot_sync(~0u, is_bright);
                const int64_t word = (channel * rows + row + i + k) * words + column / warp;
                if (exists && column % warp == 0)
                    p.largest[word] = bits;
                if (p.bright && exists && column % warp == 0)
                    p.bright_bits[word] = bright;
            }
        }
        row += n_rows;
    }
}

int64_t lw_conv2d_largest_bytes(const struct lw_conv2d_block *block)
{
    return block->n_channels * (block->kernel_rows - 1 + block->count) * words_of(block->columns) * (int64_t)sizeof(int);
}

cudaError_t lw_conv2d_make_pixels(const struct lw_conv2d_pixels *pixels, cudaStream_t stream)
{
    const lw_conv2d_pixels p = *pixels;
    const int64_t rows = p.block.kernel_rows - 1 + p.block.count, down = (rows + patch_rows - 1) / patch_rows;
    const int64_t blocks = p.block.n_channels * down * ((p.block.columns + block_threads - 1) / block_threads);
    if (blocks == 0 || p.block.count == 0)
        return cudaSuccess;
    if (blocks > INT32_MAX)
        return cudaErrorInvalidConfiguration;
    return with_real(p.precision, [=](auto real) {
        conv2d_make_pixels<decltype(real)><<<static_cast<unsigned>(blocks), block_threads, 0, stream>>>(p);
        return cudaGetLastError();
    });
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

static constexpr int limit_rows = 256;          /* rows of a transform that a block of threads looks at */

/* Rows of the input that the pieces of a transform meet. */
__host__ __device__ static inline int64_t window_rows(const lw_conv2d_block &b, const lw_conv2d_grid &g)
{
    return b.kernel_rows - 1 + g.hop_rows * g.pair_rows;
}

static __global__ void __launch_bounds__(block_threads) conv2d_limits(const lw_conv2d_matched m)
{
    const lw_conv2d_block &b = m.block;
    const lw_conv2d_grid &g = m.grid;
    const Spot spot = spot_of(g, blockIdx.x);
    const int64_t rows = input_rows(b), words = words_of(b.columns), first = spot.down * (g.hop_rows * g.pair_rows);
    const int64_t begin = first + (int64_t)blockIdx.y * limit_rows, end = least(rows, first + window_rows(b, g));
    const int64_t width = g.hop_columns * g.pair_columns + b.kernel_columns - 1 + g.delay_columns + g.spare_columns;
    const int64_t left = b.first_column + spot.across * (g.hop_columns * g.pair_columns) - g.spare_columns, right = left + width;
    const int64_t first_word = (left > 0 ? left : 0) / warp, end_word = words_of(right < b.columns ? right : b.columns);
    int bits = 0;
    unsigned bright = 0;
    for (int64_t row = begin + threadIdx.x / warp; row < end && row < begin + limit_rows; row += block_threads / warp)
        for (int64_t word = first_word + threadIdx.x % warp; word < end_word; word += warp) {
            bits = max(bits, m.largest[(spot.channel * rows + row) * words + word]);
            bright |= m.bright_bits[(spot.channel * rows + row) * words + word];
        }
    bits = largest_of_warp(bits);
    if (__any_sync(~0u, bright != 0) && threadIdx.x % warp == 0)
        atomicMax(m.limits + gridDim.x + blockIdx.x, 1);
    if (threadIdx.x % warp == 0 && bits > 0)
        atomicMax(m.limits + blockIdx.x, bits);
}

cudaError_t lw_conv2d_find_limits(const struct lw_conv2d_matched *matched, cudaStream_t stream)
{
    lw_conv2d_matched m = *matched;
    const int64_t n = m.has_transforms ? lw_conv2d_cut(&m.block, &m.grid) : 0;
    if (n == 0)
        return cudaSuccess;
    const dim3 grid((unsigned)n, (unsigned)((window_rows(m.block, m.grid) + limit_rows - 1) / limit_rows));
    const cudaError_t status = cudaMemsetAsync(m.limits, 0, 2 * n * sizeof(int), stream);
    if (status != cudaSuccess)
        return status;
    conv2d_limits<<<grid, block_threads, 0, stream>>>(m);
    return cudaGetLastError();
}

/* ---- matched filters --------------------------------------------------------------------------------------------- */

LW_DEVICE float of_magnitude_bits(int bits, float) { return __int_as_float(bits); }
LW_DEVICE double of_magnitude_bits(int bits, double) { return __longlong_as_double((long long)bits << 32); }

struct MatchedSums {
    double a, b;
    bool has_pixels;
};

/* Sum A and B of an output by the definition, over the pixels of weight > 0, or ONLY_BRIGHT over bright pixels. */
template <class Real, bool ONLY_BRIGHT>
__device__ __noinline__ MatchedSums sum_again(const lw_conv2d_matched &m, int64_t channel, int64_t row, int64_t column)
{
    const lw_conv2d_block &b = m.block;
    const int64_t words = words_of(b.columns), first = b.first_column + column, beyond = first + b.kernel_columns;
    const int64_t begin = first > 0 ? first : 0, end = beyond < b.columns ? beyond : b.columns;
    MatchedSums sums = {0, 0, false};
    for (int64_t k = 0; k < b.kernel_rows; ++k) {
        const int64_t line = channel * input_rows(b) + row + k;
        const Real *const value = (const Real *)m.value + line * b.columns;
        const Real *const weight = (const Real *)m.weight + line * b.columns;
        const double *const taps = m.taps + k * b.kernel_columns - first;
        for (int64_t x = begin, next; x < end; x = next) {
            next = (x / warp + 1) * warp < end ? (x / warp + 1) * warp : end;
            const unsigned bright = m.bright_bits ? m.bright_bits[line * words + x / warp] : 0;
            if (ONLY_BRIGHT ? bright == 0 : m.largest[line * words + x / warp] == 0)
                continue;
            for (; x < next; ++x) {
                const bool is_bright = bright >> x % warp & 1;
                if (ONLY_BRIGHT && !is_bright)
                    continue;
                sums.has_pixels |= weight[x] > 0;
                sums.a = fma(taps[x], (double)(is_bright ? ((const Real *)m.bright)[line * b.columns + x] : value[x]), sums.a);
                sums.b = fma(taps[x] * taps[x], (double)weight[x], sums.b);
            }
        }
    }
    return sums;
}

/* A warp takes 1024 neighbours of a row, and a thread `together` of its 32 at a time, which hides the latency of their loads. */
static constexpr int run_columns = 32 * warp;

template <class Real> __global__ void __launch_bounds__(block_threads, 2) conv2d_match(const __grid_constant__ lw_conv2d_matched m)
{
    const lw_conv2d_block &b = m.block;
    const lw_conv2d_grid &g = m.grid;
    const int64_t runs = (b.output_columns + run_columns - 1) / run_columns, warps = (int64_t)gridDim.x * (block_threads / warp);
    const unsigned each = m.has_transforms ? (unsigned)(g.hop_columns * g.pair_columns) : 1;
    const Real share = (Real)m.share, unit = power_of_two<Real>(-m.exponent);
    for (int64_t i = ((int64_t)blockIdx.x * block_threads + threadIdx.x) / warp; i < b.n_channels * b.count * runs; i += warps) {
        const int64_t line = i / runs, channel = line / b.count, row = line % b.count;
        const int64_t first = i % runs * run_columns + threadIdx.x % warp;
        const int n = first < b.output_columns ? least((b.output_columns - first + warp - 1) / warp, run_columns / warp) : 0;
        const int64_t down = m.has_transforms ? row / (g.hop_rows * g.pair_rows) : 0;
        const int *const limits = m.limits + (channel * g.transforms_down + down) * g.transforms_across;
        const int *const is_bright = limits + b.n_channels * g.transforms_down * g.transforms_across;
        Real *const y = (Real *)b.output + line * b.output_columns + first, *const error = (Real *)m.b + (y - (Real *)b.output);
        unsigned left = 0;                      /* outputs to be summed again */
        for (int k = 0; k < n; k += together) {
            Real a[together], sum[together];
#pragma unroll
            for (int j = 0; j < together; ++j) {
                a[j] = k + j < n ? y[(k + j) * warp] : 0;
                sum[j] = k + j < n ? error[(k + j) * warp] : 0;
            }
#pragma unroll
            for (int j = 0; j < together; ++j) {
                if (k + j >= n)
                    break;
                const unsigned column = (unsigned)first + (k + j) * warp;
                const Real least_sum = m.has_transforms ? share * of_magnitude_bits(limits[column / each], (Real)0) : 0;
                const Real root = sqrt(sum[j]);
                if (sum[j] > least_sum && !(m.has_transforms && is_bright[column / each])) {
                    y[(k + j) * warp] = a[j] / root;
                    error[(k + j) * warp] = unit / root;
                } else
                    left |= 1u << (k + j);
            }
        }
        for (; left; left &= left - 1) {
            const int k = __ffs((int)left) - 1;
            const unsigned column = (unsigned)first + k * warp;
            MatchedSums sums = {y[k * warp], error[k * warp], true};
            if (m.has_transforms && sums.b > share * of_magnitude_bits(limits[column / each], (Real)0))
                sums.a += sum_again<Real, true>(m, channel, row, column).a;
            else
                sums = sum_again<Real, false>(m, channel, row, column);
            const double root = sqrt(sums.b);
            y[k * warp] = (Real)(!sums.has_pixels ? CUDART_NAN : sums.b > 0 ? sums.a / root : 0);
            error[k * warp] = (Real)(unit / root);
        }
    }
}

cudaError_t lw_conv2d_match(const struct lw_conv2d_matched *matched, cudaStream_t stream)
{
    lw_conv2d_matched m = *matched;
    const int64_t n = m.block.n_channels * m.block.count * ((m.block.output_columns + run_columns - 1) / run_columns);
    if (n == 0)
        return cudaSuccess;
    if (m.has_transforms)
        lw_conv2d_cut(&m.block, &m.grid);
    const unsigned blocks = blocks_for(n, block_threads / warp);
    return with_real(m.precision, [=](auto real) {
        conv2d_match<decltype(real)><<<blocks, block_threads, 0, stream>>>(m);
        return cudaGetLastError();
    });
}
