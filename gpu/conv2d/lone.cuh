/* lone.cuh - overlap-save on tiles of 8 E x 256 real pixels, the largest that one multiprocessor holds. A block processes tile
 * after tile (bank.cuh), and each stays in its shared memory from the first step to the last.
 *
 *     y = IFFT(X K)[kernel_rows - 1 ..][kernel_columns - 1 ..]
 *
 * The right-angle transform (tiles.cuh) makes a tile R x 256 complex points, R = 4 E: point (y, x) = p[y][x] + i p[y + R][x]. With
 * rows y = y0 + 4 y1, ky = k1 + E k0 and columns x = x0 + 32 x1, kx = l1 + 8 l0:
 *
 *     step   task of a thread   points              what is done
 *     1      y0, x              y1 = 0 .. E - 1     weighted radix E over y1 -> k1; two tasks, one after the other
 *            -- exchange within the block --
 *     2      k1, x0             y0, x1              weighted radix 4 over y0 -> k0, radix 8 over x1 -> l1
 *            -- exchange within the warp --
 *     3      k1, (k0, l1)       x0 = 0 .. 31        weighted radix 32 over x0 -> l0; times K; and back
 *
 * and the same steps in reverse. In steps 2 and 3 each region k1 of shared memory, 1024 values, belongs to one warp (E regions, 16
 * warps). In step 1 and its reverse, value (y0, x) of all regions belongs to one thread. So a tile needs one barrier of the block
 * before step 2 and one after it, and none between tiles.
 * Computation hides the loads. In the reverse of step 1 a warp moves its points to registers, and at once starts to copy the next
 * tile's pixels to the places that they leave. Where rows allow, the pixels of its 32 tasks are copied 16 bytes at a time, real
 * and imaginary parts separately (lw_conv2d_align makes that possible). In step 3, too, the points are in registers: the region
 * receives the kernel's spectrum, and each thread reads only values that it copied itself.
 *
 * Shared memory: 224 KB for E = 28, and the tables. The exchange of the block uses rows of 256 values. In the exchange of the warp
 * a thread writes its row of 32 values 16 bytes at a time, then the threads read across rows. Pair j of row r is at j ^ (r % 8),
 * so neither has bank conflicts.
 *
 * Pixels are first taken unscaled. If the largest exponent of frequency 0 of step 1 shows a number that is not finite, or sums or
 * products near the limits of the range, the tile is loaded again and its largest pixel searched. If that confirms it, the tile is
 * loaded once more, without such numbers and scaled. */
#pragma once

#include "gpu/conv2d/tiles.cuh"
#include "gpu/device/fft_seven.cuh"

template <int E_> struct Lone {
    using C = float2;
    static constexpr int E = E_, R = 4 * E, COLUMNS = 256, REGION = 4 * COLUMNS, T = 512, WARPS = T / 32;
    static constexpr int POINTS = E * REGION;
    /* Tables behind the points: exp(-2 pi i (l << n) / 256) for l = 0 .. 31 of n = 0, 1, 2, then exp(-2 pi i n (k1 + 3/4) / R) for
     * n = 0 .. 3 of each k1. */
    static constexpr int DOWN = 3 * 32, TABLES = DOWN + 4 * E;
    static constexpr int REDUCE = (POINTS + TABLES) * (int)sizeof(C);       /* bytes before the array of the warps' maxima */
    static constexpr int SHARED_BYTES = REDUCE + WARPS * (int)sizeof(int);

    /* Bin of value i of the spectrum. Two values of a thread lie side by side: one 16-byte load. */
    __host__ __device__ static Bin2d bin(int64_t i)
    {
        const int k1 = (int)(i / REGION), m = (int)(i % REGION), lane = m / 2 % 32, l0 = m / 64 * 2 + m % 2;
        return {k1 + E * (lane / 8), lane % 8 + 8 * l0};
    }

    __device__ static double2 table(const KernelSpectrum &s, int i)
    {
        if (i < DOWN)
            return s.column_roots[i % 32 << i / 32];
        const int k1 = (i - DOWN) / 4, n = (i - DOWN) % 4;
        return s.row_roots[n * (4 * k1 + 3) % (4 * R)];
    }
};

/* exp(-2 pi i (3/4) m / E); a constant once loops are unrolled */
template <int E> LW_DEVICE float2 right_angle_weight(int m)
{
    constexpr float cosine[28] = {
        1.000000000f, 0.985871019f, 0.943883330f, 0.875223422f, 0.781831482f, 0.666346578f, 0.532032077f,
        0.382683432f, 0.222520934f, 0.056070447f, -0.111964476f, -0.276835511f, -0.433883739f, -0.578671296f,
        -0.707106781f, -0.815560869f, -0.900968868f, -0.960917322f, -0.993712210f, -0.998426815f, -0.974927912f,
        -0.923879533f, -0.846724199f, -0.745642165f, -0.623489802f, -0.483718887f, -0.330279062f, -0.167506223f,
    };
    constexpr float sine[28] = {
        0.000000000f, 0.167506223f, 0.330279062f, 0.483718887f, 0.623489802f, 0.745642165f, 0.846724199f,
        0.923879533f, 0.974927912f, 0.998426815f, 0.993712210f, 0.960917322f, 0.900968868f, 0.815560869f,
        0.707106781f, 0.578671296f, 0.433883739f, 0.276835511f, 0.111964476f, -0.056070447f, -0.222520934f,
        -0.382683432f, -0.532032077f, -0.666346578f, -0.781831482f, -0.875223422f, -0.943883330f, -0.985871019f,
    };
    constexpr float cosine_16[16] = {
        1.000000000f, 0.956940336f, 0.831469612f, 0.634393284f, 0.382683432f, 0.098017140f, -0.195090322f, -0.471396737f,
        -0.707106781f, -0.881921264f, -0.980785280f, -0.995184727f, -0.923879533f, -0.773010453f, -0.555570233f, -0.290284677f,
    };
    constexpr float sine_16[16] = {
        0.000000000f, 0.290284677f, 0.555570233f, 0.773010453f, 0.923879533f, 0.995184727f, 0.980785280f, 0.881921264f,
        0.707106781f, 0.471396737f, 0.195090322f, -0.098017140f, -0.382683432f, -0.634393284f, -0.831469612f, -0.956940336f,
    };
    return E == 28 ? float2{cosine[m], -sine[m]} : float2{cosine_16[m], -sine_16[m]};
}

/* A transform of step 1 in two parts: lone_columns, then lone_outputs for outputs a, a + 4, a + 8 .. with any a < 4. */
LW_DEVICE void lone_columns(float2 (&v)[28]) { begin_twenty_eight(v); }
LW_DEVICE void lone_columns(float2 (&v)[16]) { dft<16, false>(v, (const float2 *)nullptr); }

LW_DEVICE void lone_outputs(const float2 (&v)[28], int a, float2 (&out)[7]) { end_twenty_eight(v, a, out); }
LW_DEVICE void lone_outputs(const float2 (&v)[16], int a, float2 (&out)[4])
{
#pragma unroll
    for (int j = 0; j < 4; ++j)
        out[j] = v[a + 4 * j];
}

template <int E> LW_DEVICE void weigh_right_angle(float2 (&v)[E])
{
#pragma unroll
    for (int m = 1; m < E; ++m)
        v[m] = product(v[m], right_angle_weight<E>(m));
}

/* Exchange within a warp: value i of thread q becomes value q of thread i. Places of pairs differ in bits 4 to 6 alone. */
LW_DEVICE void transpose_in_warp(float2 (&v)[32], float2 *shared, int region, int lane)
{
    unsigned char *const memory = (unsigned char *)shared;
    const int row = region * (int)sizeof(float2) + lane * 256 + lane % 8 * 16;
    const int column = region * (int)sizeof(float2) + lane / 2 * 16 + lane % 2 * 8;
    __syncwarp();
#pragma unroll
    for (int b = 0; b < 8; ++b)
#pragma unroll
        for (int a = 0; a < 2; ++a) {
            const int j = 2 * (8 * a + b);
            *(float4 *)(memory + (row ^ b * 16) + a * 128) = make_float4(v[j].x, v[j].y, v[j + 1].x, v[j + 1].y);
        }
    __syncwarp();
#pragma unroll
    for (int b = 0; b < 8; ++b)
#pragma unroll
        for (int a = 0; a < 4; ++a)
            v[8 * a + b] = *(const float2 *)(memory + (column ^ b * 16) + (8 * a + b) * 256);
    __syncwarp();
}

/* Start to copy a region's spectrum into the region itself, whose points are in registers. */
LW_DEVICE void fetch_region(const float4 *spectrum, float2 *region, int lane)
{
#pragma unroll
    for (int m = 0; m < 16; ++m)
        copy_async((float4 *)region + m * 32 + lane, spectrum + m * 32 + lane);
}

/* Set v = X K with re and im swapped, including the first butterflies of the backward transform. points(m): X[m] and X[m + 1] */
template <class Points> LW_DEVICE void multiply_region(float2 (&v)[32], const float2 *region, int lane, Points points)
{
    const float4 *const pairs = (const float4 *)region + lane;
    wait_for_copies();
#pragma unroll
    for (int m = 0; m < 16; m += 2) {
        const float4 k = pairs[m * 16], l = pairs[m * 16 + 256], x = points(m), y = points(m + 16);
        multiply_pair(v[m], v[m + 16], {x.x, x.y}, {k.x, k.y}, {y.x, y.y}, {l.x, l.y});
        multiply_pair(v[m + 1], v[m + 17], {x.z, x.w}, {k.z, k.w}, {y.z, y.w}, {l.z, l.w});
    }
}

/* Do steps 2 and 3 for one region, and start to copy its part of the kernel's spectrum. */
template <class F> LW_DEVICE void lone_region_forward(float2 (&v)[32], float2 *shared, const float4 *spectrum, int k1, int lane)
{
    float2 *const region = shared + k1 * F::REGION;
    const float2 *const roots = shared + F::POINTS, *const down = roots + F::DOWN + 4 * k1;
    float2 across[5];
#pragma unroll
    for (int i = 0; i < 32; ++i)
        v[i] = region[i * 32 + lane];
    const float2 below[2] = {down[1], down[2]};
    dft_each<4, 8, 8, 1, true>(v, below);
    dft_each<8, 1, 4, 8, false>(v, (const float2 *)nullptr);
    transpose_in_warp(v, shared, k1 * F::REGION, lane);
    fetch_region(spectrum + k1 * (F::REGION / 2), region, lane);
#pragma unroll
    for (int l = 0; l < 5; ++l)
        across[l] = roots[(l < 2 ? l : 2) * 32 + (lane % 8 << (l < 2 ? 0 : l - 2))];
    dft<32, true>(v, across);
}

/* Do the reverse of steps 3 and 2, from the first butterflies of the way back on, which belong to the products. */
template <class F> LW_DEVICE void lone_region_back(float2 (&v)[32], float2 *shared, int k1, int lane)
{
    float2 *const region = shared + k1 * F::REGION;
    const float2 *const roots = shared + F::POINTS, *const down = roots + F::DOWN + 4 * k1;
    float2 across[3];
    dft<32, false, true>(v, (const float2 *)nullptr);
    transpose_in_warp(v, shared, k1 * F::REGION, lane);
#pragma unroll
    for (int l = 0; l < 3; ++l)
        across[l] = roots[l * 32 + lane];
    dft_each<8, 1, 4, 8, true>(v, across);
    dft_each<4, 8, 8, 1, false>(v, (const float2 *)nullptr);
#pragma unroll
    for (int y0 = 0; y0 < 4; ++y0) {
        const float2 w = down[y0];
#pragma unroll
        for (int x1 = 0; x1 < 8; ++x1)
            region[(8 * y0 + x1) * 32 + lane] = y0 == 0 ? v[x1] : product(v[8 * y0 + x1], w);
    }
}

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

/* Start to copy the pixels of a warp's 32 tasks, for rows that allow 16-byte copies. They occupy 256 bytes of each region: 32 real
 * parts, then 32 imaginary parts. One copy instruction covers two regions, 16 lanes each: 8 lanes for real and 8 for imaginary
 * parts, four pixels per lane. Without IS_INNER pixels beyond the image become zeros. */
template <class F, bool IS_INNER>
LW_DEVICE void lone_ask_wide(const lw_conv2d_block &b, const Strand &s, float2 *chunk, int y0, int lane)
{
    const int first = y0 + lane / 16 * 4 + lane / 8 % 2 * F::R;
    float *const places = (float *)chunk + lane / 16 * 2 * F::REGION + lane % 16 * 4;
    char *from = (char *)((const float *)b.input + s.index + first * s.pitch);
    const unsigned n = (unsigned)(s.end - s.begin), columns = (unsigned)s.pitch;
    int rows = 8 * (int)sizeof(float);
    opaque(rows);
#pragma unroll
    for (int i = 0; i < F::E / 2; ++i, from = advanced(from, columns, rows))
        if (IS_INNER)
            copy_async(places + 4 * i * F::REGION, from);
        else
            copy_async_if(places + 4 * i * F::REGION, from, (unsigned)(first + 8 * i - s.begin) < n);
}

/* The same copies pixel by pixel, with a strand for each thread. */
template <class F> LW_DEVICE void lone_ask(const lw_conv2d_block &b, const Strand &s, float2 *chunk, int y0, int lane)
{
    const float *from = (const float *)b.input + s.index + y0 * s.pitch;
    float *const places = (float *)chunk + lane;
    const unsigned n = (unsigned)(s.end - s.begin);
#pragma unroll 7
    for (int m = 0; m < F::E; ++m, from += 4 * s.pitch) {
        copy_word_async(places + 2 * m * F::REGION, from, (unsigned)(y0 + 4 * m - s.begin) < n);
        copy_word_async(places + 2 * m * F::REGION + 32, from + F::R * s.pitch, (unsigned)(y0 + 4 * m + F::R - s.begin) < n);
    }
}

/* The same loads without asynchronous copies, for any stored type. */
template <class F, class Stored>
LW_DEVICE void lone_load(const lw_conv2d_block &b, const Strand &s, float2 *chunk, int y0, int lane)
{
    float *const places = (float *)chunk + lane;
#pragma unroll 7
    for (int m = 0; m < F::E; ++m) {
        const int y = y0 + 4 * m;
        places[2 * m * F::REGION] = strand_pixel<float, Stored, false>(b, s, y);
        places[2 * m * F::REGION + 32] = strand_pixel<float, Stored, false>(b, s, y + F::R);
    }
}

/* How a warp loads pixels, and a thread's strand: its task's column or, if is_wide, the first of four that it copies at once. */
struct LoneSource {
    Strand strand;
    bool is_wide, is_inner;
};

template <class F>
LW_DEVICE LoneSource lone_source(const lw_conv2d_block &b, const lw_conv2d_grid &g, bool has_aligned_pixels, const Piece &p, int t)
{
    const int x = t % F::COLUMNS - g.spare_columns, lane = t % 32;
    const int64_t begin = b.first_column + p.column + x - lane;
    LoneSource source;
    source.is_wide = has_aligned_pixels && (b.boundary == LW_BOUNDARY_ZERO || (begin >= 0 && begin + 32 <= b.columns));
    source.strand = strand_of<2 * F::R>(b, p, source.is_wide ? x - lane + lane % 8 * 4 : x);
    source.is_inner = !__any_sync(0xffffffffu, source.strand.begin != 0 || source.strand.end != 2 * F::R);
    return source;
}

/* Bring the points of the warp's tasks to their places. They have arrived after a wait for copies. */
template <class F> LW_DEVICE void lone_fetch(const lw_conv2d_block &b, const LoneSource &source, float2 *shared, int task)
{
    const int y0 = task / F::COLUMNS, lane = task % 32;
    float2 *const chunk = shared + task - lane;
    if (source.is_wide && source.is_inner)
        lone_ask_wide<F, true>(b, source.strand, chunk, y0, lane);
    else if (source.is_wide)
        lone_ask_wide<F, false>(b, source.strand, chunk, y0, lane);
    else if (b.scalar == LW_FLOAT32 && b.outside == 0)
        lone_ask<F>(b, source.strand, chunk, y0, lane);
    else
        with_stored(b.scalar, [&](auto stored) { lone_load<F, decltype(stored)>(b, source.strand, chunk, y0, lane); });
    end_copy_group();
}

/* The treatment of a tile's pixels. */
struct LoneScale {
    int exponent;               /* the pixels are divided by 2^exponent */
    bool is_exact;              /* the largest pixel is searched, not only estimated from the transform */
    bool drops;                 /* pixels that are not finite become zeros */
};

/* Scale the points of a task; return the largest magnitude before scaling, which may be NaN. */
template <int E> LW_DEVICE float lone_scale(float2 (&v)[E], const LoneScale &scale)
{
    float largest = 0;
    if (scale.drops)
        drop_not_finite<true>(v);
#pragma unroll
    for (int m = 0; m < E; ++m)
        largest = largest_magnitude(largest_magnitude(largest, v[m].x), v[m].y);
    scale_points(v, power_of_two<float>(-scale.exponent));
    return largest;
}

/* Step 1 on pixels in shared memory, a thread's two tasks. Returns the largest magnitude of their pixels (is_exact) or of their
 * frequency 0. */
template <class F> LW_DEVICE float lone_begin(const LoneScale &scale, float2 *shared, int first, int second)
{
    static_assert(F::REGION == 2 * F::T, "two tasks");
    float largest = 0;
#pragma unroll 1
    for (int i = 0; i < 2; ++i) {
        const int task = i == 0 ? first : second;
        const float *const places = (const float *)(shared + task - task % 32) + task % 32;
        float2 v[F::E];
        if (i == 0)
            wait_for_older_copies();
        else
            wait_for_copies();
        __syncwarp();
#pragma unroll
        for (int m = 0; m < F::E; ++m)
            v[m] = {places[2 * m * F::REGION], places[2 * m * F::REGION + 32]};
        __syncwarp();
        if (scale.is_exact)
            largest = largest_magnitude(largest, lone_scale(v, scale));
        weigh_right_angle(v);
        lone_columns(v);
#pragma unroll
        for (int a = 0; a < 4; ++a) {
            float2 out[F::E / 4];
            lone_outputs(v, a, out);
            if (a == 0 && !scale.is_exact)
                largest = largest_magnitude(largest_magnitude(largest, out[0].x), out[0].y);
#pragma unroll
            for (int j = 0; j < F::E / 4; ++j)
                shared[(a + 4 * j) * F::REGION + task] = out[j];
        }
    }
    return largest;
}

/* Return the largest biased exponent over the block; 0 if all pixels are 0. It is a barrier, too. */
template <class F> LW_DEVICE int lone_exponent(float largest, int *reduce, int t)
{
    const int bits = largest_of_block<F::WARPS>(magnitude_bits(largest), reduce, t);
    return bits == 0 ? 0 : max(1, biased_exponent<float>(bits));
}

/* Return whether the tile can go on; if not, set `scale` for the next attempt. */
LW_DEVICE bool lone_is_fit(int largest, LoneScale *scale)
{
    constexpr int harmless = 40;
    const bool is_near = largest > exponent_bias<float> - harmless && largest < exponent_bias<float> + harmless;
    if (is_near || largest == 0 || scale->exponent != 0)
        return true;
    if (!scale->is_exact)
        scale->is_exact = true;
    else if (largest == infinite_exponent<float>)
        scale->drops = true;
    else
        scale->exponent = usable_exponent<float>(largest);
    return false;
}

/* A task's outputs 0 .. E - 1 in one half of the tile, every fourth row: the first one's address; `wanted`: a bit for each row that
 * exists. */
struct LoneRows {
    char *first;
    unsigned wanted, columns;
};

template <class F, int HALF> LW_DEVICE LoneRows lone_rows(const lw_conv2d_block &b, const Piece &p, char *at, int y0)
{
    const int y = y0 + HALF * F::R, first = y - ((int)b.kernel_rows - 1);
    LoneRows rows;
    rows.columns = (unsigned)b.output_columns;
    rows.first = advanced(at, rows.columns, (unsigned)y * (unsigned)sizeof(float));
    rows.wanted = numbers_below((p.n_rows - first + 3) >> 2) & ~numbers_below((3 - first) >> 2);
    return rows;
}

/* Store outputs a, a + 4, a + 8 .. */
template <int N> LW_DEVICE void lone_store(const LoneRows &rows, int a, const float (&out)[N])
{
    constexpr unsigned ALL = 0x11111111u >> (32 - 4 * N);
    int begin = 4 * (int)sizeof(float) * a, step = 16 * (int)sizeof(float);
    opaque(begin);
    opaque(step);
    char *to = advanced(rows.first, rows.columns, begin);
    if ((rows.wanted >> a & ALL) == ALL) {
#pragma unroll
        for (int j = 0; j < N; ++j, to = advanced(to, rows.columns, step))
            __stcs((float *)to, out[j]);
    } else {
#pragma unroll
        for (int j = 0; j < N; ++j, to = advanced(to, rows.columns, step))
            if (rows.wanted & 1u << (a + 4 * j))
                __stcs((float *)to, out[j]);
    }
}

/* Finish a task: the results are weighted and kept a few at a time, so that stores do not queue up. keep(a, above, below) takes the
 * outputs a, a + 4, a + 8 .. of the upper half and of the lower. */
template <class F, class Keep> LW_DEVICE void lone_finish(const float2 (&v)[F::E], int exponent, Keep keep)
{
    constexpr int N = F::E / 4;
#pragma unroll
    for (int a = 0; a < 4; ++a) {
        float2 out[N];
        float above[N], below[N];
        lone_outputs(v, a, out);
#pragma unroll
        for (int j = 0; j < N; ++j)
            out[j] = a + j == 0 ? out[j] : product(out[j], right_angle_weight<F::E>(a + 4 * j));
        if (exponent != 0)
            scale_back(out, exponent);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            above[j] = out[j].y;
            below[j] = out[j].x;
        }
        keep(a, above, below);
    }
}

/* Column of a thread's outputs in their piece, which may lie beyond it. */
LW_DEVICE int lone_column(const lw_conv2d_block &b, const lw_conv2d_grid &g, int t)
{
    return t % 256 - ((int)b.kernel_columns - 1 + g.delay_columns + g.spare_columns);
}

/* Address of the output whose place would be row 0 of the tile, in a thread's column. */
LW_DEVICE char *lone_address(const lw_conv2d_block &b, const lw_conv2d_grid &g, const Piece &p, int t)
{
    const int64_t line = p.channel * b.count + p.row - (b.kernel_rows - 1);
    return (char *)((float *)b.output + line * b.output_columns + p.column + lone_column(b, g, t));
}

/* Reverse step 1 for tile `piece`, if it exists; fetch(task) starts to copy what comes next into the places that a task frees. */
template <class F, class Fetch>
LW_DEVICE void lone_turn(const lw_conv2d_block &b, const lw_conv2d_grid &g, const Piece &piece, int exponent, float2 *shared, int t,
                         Fetch fetch)
{
    const int x = lone_column(b, g, t);
    const bool is_kept = piece.n_rows > 0 && x >= 0 && x < piece.n_columns, has_kept = __any_sync(0xffffffffu, is_kept);
    char *const at = lone_address(b, g, piece, t);
#pragma unroll 1
    for (int task = t; task < F::REGION; task += F::T) {
        float2 v[F::E] = {};
        if (has_kept)
#pragma unroll
            for (int k1 = 0; k1 < F::E; ++k1)
                v[k1] = shared[k1 * F::REGION + task];
        __syncwarp();
        fetch(task);
        if (has_kept)
            lone_columns(v);
        if (is_kept) {
            const int y0 = task / F::COLUMNS;
            const LoneRows upper = lone_rows<F, 0>(b, piece, at, y0), lower = lone_rows<F, 1>(b, piece, at, y0);
            lone_finish<F>(v, exponent, [&](int a, const float (&above)[F::E / 4], const float (&below)[F::E / 4]) {
                lone_store(upper, a, above);
                lone_store(lower, a, below);
            });
        }
    }
}
