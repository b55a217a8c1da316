/* bank.cuh - kernels that process the tiles of lone.cuh, with one convolution kernel or with a bank of them.
 *
 * With a bank a block loads and transforms a tile once. It keeps the spectrum, and for each kernel multiplies it by the kernel's
 * spectrum, transforms the product back and stores the outputs. Such tiles have 128 x 256 pixels, so that each of the 16 warps owns
 * one region. KEPT of a thread's 32 points of the spectrum stay in shared memory beside the regions, the others in registers. In
 * shared memory pairs of points lie side by side, those of the threads behind one another: 16-byte accesses, contiguous over the
 * warp. A block fills a multiprocessor: 227 KB, so that next to nothing is left for spilled registers.
 *
 * Each kernel takes two barriers. Before the first, a warp multiplies its region and transforms it back along the rows; before the
 * second it transforms columns. The places that these leave receive the spectrum of the next kernel, or the pixels of the next
 * tile: both arrive during computation. A search finds crossings among the outputs while they are in registers; a search for
 * crossings alone stores no image. */
#pragma once

#include "gpu/conv2d/lone.cuh"

template <class F> struct LoneBank {
    static constexpr int KEPT = 24, LEFT = 32 - KEPT;       /* points of a thread in shared memory, and in registers */
    static constexpr int SHARED_BYTES = F::SHARED_BYTES + KEPT * F::T * (int)sizeof(float2);
    static_assert(KEPT % 2 == 0 && F::SHARED_BYTES % 16 == 0, "16-byte accesses");

    float4 *kept;
    float2 left[LEFT];

    LW_DEVICE void put(const float2 (&v)[32])
    {
#pragma unroll
        for (int m = 0; m < KEPT; m += 2)
            kept[m / 2 * F::T] = make_float4(v[m].x, v[m].y, v[m + 1].x, v[m + 1].y);
#pragma unroll
        for (int m = 0; m < LEFT; ++m)
            left[m] = v[KEPT + m];
    }

    /* Points m and m + 1. */
    LW_DEVICE float4 two(int m) const
    {
        const int i = m < KEPT ? 0 : m - KEPT;
        return m < KEPT ? kept[m / 2 * F::T] : make_float4(left[i].x, left[i].y, left[i + 1].x, left[i + 1].y);
    }
};

/* Start to copy a warp's part of a kernel's spectrum to the places of its 32 tasks: 256 bytes of each region, two at once. */
template <class F> LW_DEVICE void fetch_spectrum(const float4 *spectrum, float2 *shared, int task)
{
    const int lane = task % 32, first = lane / 16 * F::REGION + task - lane + lane % 16 * 2;
    char *from = (char *)(spectrum + first / 2);
    int region = F::REGION;
    opaque(region);
#pragma unroll
    for (int i = 0; i < F::E / 2; ++i, from = advanced(from, (unsigned)region, sizeof(float4)))
        copy_async(shared + first + 2 * i * F::REGION, from);
}

/* Return the scale of a kernel's outputs in a search: those that cross are 1 or more. @param channel  in the block */
LW_DEVICE float bank_limit(const lw_conv2d_search &s, int64_t channel, int kernel)
{
    return ((const float *)s.scales)[(s.channel + channel) * s.n_kernels + s.kernel + kernel];
}

/* One of a thread's two tasks of step 1 and its reverse; see lone.cuh. */
struct BankTask {
    int number;
    unsigned wanted;        /* a bit for each row of outputs that exists: 16 of the upper half, then those of the lower */
    char *at;               /* place of row y0 of the outputs in the task's column */
};

/* Return a warp's task number i of 0 .. 31. Chunks of 32 columns that hold outputs of the piece come first: warps that share a
 * scheduler have equally many. */
template <class F>
LW_DEVICE BankTask bank_task(const lw_conv2d_block &b, const lw_conv2d_grid &g, const Piece &piece, int i, int lane)
{
    constexpr int CHUNKS = F::COLUMNS / 32;
    const int lead = -lone_column(b, g, 0), first = piece.n_rows > 0 ? lead / 32 : 0;
    const int n = piece.n_rows > 0 ? (lead + piece.n_columns + 31) / 32 - first : CHUNKS, rest = i - 4 * n;
    const int y0 = rest < 0 ? i / n : rest / (CHUNKS - n), chunk = rest < 0 ? first + i % n : first + n + rest % (CHUNKS - n);
    BankTask task = {y0 * F::COLUMNS + chunk % CHUNKS * 32 + lane, 0, NULL};
    const int x = lone_column(b, g, task.number);
    task.at = lone_address(b, g, piece, task.number);
    if (x >= 0 && x < piece.n_columns)
        task.wanted = (lone_rows<F, 0>(b, piece, NULL, y0).wanted & 0xffff) | lone_rows<F, 1>(b, piece, NULL, y0).wanted << 16;
    task.at = advanced(task.at, (unsigned)b.output_columns, (unsigned)y0 * (unsigned)sizeof(float));
    return task;
}

/* Append the crossings among outputs a, a + 4, a + 8 .. of a task, as find.cu does. @param first  row in the block of output a */
template <int N>
LW_DEVICE void find_outputs(const lw_conv2d_search &s, int64_t channel, int64_t first, int64_t column, int kernel, float scale,
                            unsigned wanted, const float (&y)[N])
{
#pragma unroll 1
    for (int j = 0; j < N; ++j) {
        float value = y[0];
#pragma unroll
        for (int i = 1; i < N; ++i)
            value = j == i ? y[i] : value;
        const int64_t row = first + 16 * j;
        if (wanted >> 4 * j & 1 && row >= s.begin && row < s.end && crosses(value, scale) && has_sign(s.sign, value))
            append_crossing(s, kernel, channel, row, column, value, 0);
    }
}

/* Reverse step 1 for a kernel; fetch(task) starts to copy what comes next into the places that a task frees.
 * find(task, a, above, below) is called with the outputs a, a + 4, a + 8 .. of both halves. */
template <class F, class Fetch, class Find>
LW_DEVICE void bank_turn(const lw_conv2d_block &b, BankTask &first, BankTask &second, int exponent, float2 *shared, Fetch fetch,
                         Find find)
{
    static_assert(F::REGION == 2 * F::T && F::E == 16, "two tasks of 16 points");
    const unsigned columns = (unsigned)b.output_columns;
#pragma unroll 1
    for (int i = 0; i < 2; ++i) {
        const BankTask task = first;
        const bool has_kept = __any_sync(0xffffffffu, task.wanted != 0);
        const unsigned stored = b.output ? task.wanted : 0;
        float2 v[F::E];
#pragma unroll
        for (int k1 = 0; k1 < F::E; ++k1)
            v[k1] = shared[k1 * F::REGION + task.number];
        __syncwarp();
        fetch(task.number);
        if (has_kept) {
            lone_columns(v);
            char *const lower = advanced(task.at, columns, F::R * (unsigned)sizeof(float));
            lone_finish<F>(v, exponent, [&](int a, const float (&above)[F::E / 4], const float (&below)[F::E / 4]) {
#pragma unroll
                for (int j = 0; j < F::E / 4; ++j)
                    store_if(advanced(task.at, columns, 16 * (a + 4 * j)), above[j], stored & 1u << (a + 4 * j));
#pragma unroll
                for (int j = 0; j < F::E / 4; ++j)
                    store_if(advanced(lower, columns, 16 * (a + 4 * j)), below[j], stored & 0x10000u << (a + 4 * j));
                find(task, a, above, below);
            });
        }
        first = second;
        second = task;
    }
}

/* The work of a launch. */
struct LoneWork {
    unsigned n_tiles, late_cycles;      /* late_cycles: delay of the last block after the first */
    bool has_aligned_pixels;            /* pixels can be copied 16 bytes at a time */
};

/* Look at the largest magnitude of a tile; return whether the tile can go on. If not, it is loaded again. */
template <class F>
LW_DEVICE bool lone_goes_on(const lw_conv2d_block &b, float largest, unsigned char *memory, int t, LoneScale *scale)
{
    if (lone_is_fit(lone_exponent<F>(largest, (int *)(memory + F::REDUCE), t), scale))
        return true;
    if (scale->drops && t == 0)
        *b.not_finite = 1;
    __syncthreads();
    return false;
}

/* A block takes tiles blockIdx.x, blockIdx.x + gridDim.x .. A kernel's bank holds the tables, then the spectrum. */
template <class F>
__global__ void __launch_bounds__(F::T, 1)
conv2d_lone(const lw_conv2d_block b, const lw_conv2d_grid g, const __grid_constant__ lw_conv2d_spectra spectra, const LoneWork work)
{
    extern __shared__ __align__(128) unsigned char memory[];
    float2 *const shared = (float2 *)memory;
    const float2 *const tables = (const float2 *)spectra.bank[0];
    const int t = threadIdx.x;
    unsigned tile = blockIdx.x;
    LoneScale scale = {0, false, false};
    Piece piece = {}, next = piece_of(b, g, spot_of(g, tile), 0);
    if (t < F::TABLES)
        shared[F::POINTS + t] = __ldg(tables + t);
    pass_cycles((unsigned)((uint64_t)work.late_cycles * blockIdx.x / gridDim.x));
#pragma unroll 1
    for (;;) {
        const LoneSource source = lone_source<F>(b, g, work.has_aligned_pixels, next, t);
        lone_turn<F>(b, g, piece, scale.exponent + spectra.exponent[0], shared, t, [&](int task) {
            if (next.n_rows > 0)
                lone_fetch<F>(b, source, shared, task);
        });
        if (next.n_rows == 0)
            return;
        if (piece.n_rows > 0)
            scale = {0, false, false};
        piece.n_rows = 0;               /* it has been stored */
        if (!lone_goes_on<F>(b, lone_begin<F>(scale, shared, t, t + F::T), memory, t, &scale))
            continue;
#pragma unroll 1
        for (int k1 = t / 32; k1 < F::E; k1 += F::WARPS) {
            float2 v[32];
            lone_region_forward<F>(v, shared, (const float4 *)(tables + F::TABLES), k1, t % 32);
            multiply_region(v, shared + k1 * F::REGION, t % 32,
                            [&](int m) { return make_float4(v[m].x, v[m].y, v[m + 1].x, v[m + 1].y); });
            lone_region_back<F>(v, shared, k1, t % 32);
        }
        __syncthreads();
        tile += gridDim.x;
        piece = next;
        next = tile < work.n_tiles ? piece_of(b, g, spot_of(g, tile), 0) : Piece{};
    }
}

/* The same with a bank. Pieces are found again where they are needed: registers are for the tile. One function both stores and
 * searches: compilers may round differently in two, and a search must find the bits that are stored. */
template <class F>
__global__ void __launch_bounds__(F::T, 1)
conv2d_bank(const lw_conv2d_block b, const lw_conv2d_grid g, const __grid_constant__ lw_conv2d_spectra spectra,
            const __grid_constant__ lw_conv2d_search search, const LoneWork work)
{
    static_assert(F::E == F::WARPS, "each warp owns one region");
    extern __shared__ __align__(128) unsigned char memory[];
    float2 *const shared = (float2 *)memory;
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const auto spectrum_of = [&](int k) { return (const float4 *)((const float2 *)spectra.bank[k] + F::TABLES); };
    const auto tile_piece = [&](unsigned number) { return piece_of(b, g, spot_of(g, number), 0); };
    unsigned tile = blockIdx.x;         /* the tile after that whose spectrum is kept */
    int k = spectra.n - 1;              /* kernel whose outputs come next; no tile is kept yet, so there are none */
    unsigned channel = 0;               /* the kept tile's */
    LoneScale scale = {0, false, false};
    bool is_stored = true;
    LoneBank<F> bank = {(float4 *)(memory + F::SHARED_BYTES) + t};
    BankTask first = bank_task<F>(b, g, Piece{}, warp, lane), second = bank_task<F>(b, g, Piece{}, warp + F::WARPS, lane);
    if (t < F::TABLES)
        shared[F::POINTS + t] = __ldg((const float2 *)spectra.bank[0] + t);
    pass_cycles((unsigned)((uint64_t)work.late_cycles * blockIdx.x / gridDim.x));
#pragma unroll 1
    for (;;) {
        const bool has_more = k + 1 < spectra.n;
        const float limit = search.rows ? bank_limit(search, channel, k) : 0;
        const auto fetch = [&](int task) {
            if (has_more)
                fetch_spectrum<F>(spectrum_of(k + 1), shared, task);
            else if (tile < work.n_tiles)
                lone_fetch<F>(b, lone_source<F>(b, g, work.has_aligned_pixels, tile_piece(tile), task), shared, task);
        };
        bank_turn<F>(b, first, second, scale.exponent + spectra.exponent[k], shared, fetch,
                     [&](const BankTask &task, int a, const float (&above)[F::E / 4], const float (&below)[F::E / 4]) {
            float largest = 0;
            if (limit == 0)
                return;
#pragma unroll
            for (int j = 0; j < F::E / 4; ++j)
                largest = largest_magnitude(largest_magnitude(largest, above[j]), below[j]);
            if (scaled_square(largest, limit) < crossing_limit<float>())        /* seldom false */
                return;
            const Piece piece = tile_piece(tile - gridDim.x);
            const int64_t row = piece.row + task.number / F::COLUMNS + 4 * a - (b.kernel_rows - 1);
            const int64_t column = piece.column + lone_column(b, g, task.number);
            find_outputs(search, piece.channel, row, column, search.kernel + k, limit, task.wanted >> a, above);
            find_outputs(search, piece.channel, row + F::R, column, search.kernel + k, limit, task.wanted >> (16 + a), below);
        });
        float2 v[32];
        if (has_more) {
            ++k;
            first.at += spectra.plane;
            second.at += spectra.plane;
            wait_for_copies();
            __syncthreads();
        } else {
            if (tile >= work.n_tiles)
                return;
            if (is_stored)
                scale = {0, false, false};
            is_stored = false;
            if (!lone_goes_on<F>(b, lone_begin<F>(scale, shared, first.number, second.number), memory, t, &scale)) {
                first.wanted = second.wanted = 0;
                continue;
            }
            is_stored = true;
            k = 0;
            channel = spot_of(g, tile).channel;
            first = bank_task<F>(b, g, tile_piece(tile), warp, lane);
            second = bank_task<F>(b, g, tile_piece(tile), warp + F::WARPS, lane);
            tile += gridDim.x;
            lone_region_forward<F>(v, shared, spectrum_of(0), warp, lane);
            bank.put(v);
        }
        multiply_region(v, shared + warp * F::REGION, lane, [&](int m) { return bank.two(m); });
        lone_region_back<F>(v, shared, warp, lane);
        __syncthreads();
    }
}
