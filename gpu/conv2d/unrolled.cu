/* unrolled.cu - sums with a small real kernel in single precision. The sums are direct or, for a separable kernel, first along the
 * row and then down the column.
 *
 * A block is one warp, which makes a strip of 128 columns and some rows; thread t makes columns 4 t .. 4 t + 3. The warp walks
 * down the rows of pixels and adds each row to the SIDE rows of outputs that it contributes to; their sums are in registers. Lanes
 * load a row side by side from global memory (coalesced for any type and alignment), two rows ahead of its use, which hides the
 * latency. The row then passes through shared memory, where each thread reads its pixels by 16-byte loads, contiguous over the
 * warp: no bank conflicts. Warps never wait for each other. They run at different places of the code, so the loop over rows must
 * be short to fit the instruction cache. The taps are kernel parameters: a fused multiply-add reads its tap from constant memory
 * without an extra instruction.
 *
 * A row of 128 pixels with SIDE = 7 takes, per thread, 196 fused multiply-adds, 5 loads, 5 shared stores, 3 shared loads and 1
 * store. A separable kernel with SIDE = 31 takes 248, 5, 5, 9 and 1: a thread sums its pixels along the row once, and adds the
 * result to SIDE rows of outputs with one column tap each.
 *
 * Strips of float pixels are computed without testing any pixel. A pixel that is not finite makes all its sums not finite; the
 * strip is then computed again with every pixel tested. Either way each output is the same sum. */
#include "gpu/conv2d/window.cuh"

static constexpr int lanes = 32, across = 4, strip_columns = LW_CONV2D_STRIP_COLUMNS;

/* The most one-warp blocks that a multiprocessor holds, where it holds fewer than the registers would allow. */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870)
static constexpr int most_blocks = 16;
#else
static constexpr int most_blocks = 24;
#endif

/* Taps of a kernel: tap (m, n) meets row m and column n of an output's window. */
template <int SIDE_> struct SquareTaps {
    static constexpr int SIDE = SIDE_, BLOCKS = SIDE <= 7 ? most_blocks : 16;       /* blocks per multiprocessor */
    static constexpr bool IS_PRODUCT = false;
    float tap[SIDE * SIDE];
};

/* Taps of a separable kernel: tap (m, n) is column[m] row[n]. */
template <int SIDE_> struct ProductTaps {
    static constexpr int SIDE = SIDE_, BLOCKS = SIDE <= 15 ? 16 : SIDE <= 23 ? 12 : 8;
    static constexpr bool IS_PRODUCT = true;
    float column[SIDE], row[SIDE];
};

template <class Taps_> struct Strip {
    using Taps = Taps_;
    static constexpr int SIDE = Taps::SIDE;
    static constexpr int VECTORS = (across + SIDE - 1 + 3) / 4;         /* float4s for a thread's pixels of a row */
    static constexpr int SPAN = strip_columns + SIDE - 1;               /* pixels that the warp needs of a row */
    static constexpr int LOADS = (SPAN + lanes - 1) / lanes;            /* loads per thread */
    static constexpr int PITCH = strip_columns + 4 * (VECTORS - 1);
    static constexpr int ADDED = Taps::IS_PRODUCT ? across : 4 * VECTORS;       /* terms that a thread takes from a row */
};

/* ---- rows of pixels ---------------------------------------------------------------------------------------------- */

/* Place of a lane's load `l` in the row. Lanes without a pixel in the last load repeat the row's last pixel. */
template <class S> LW_DEVICE int place_of(int l, int lane)
{
    return l < S::LOADS - 1 ? lane + lanes * l : lanes * l + min(lane, S::SPAN - 1 - lanes * l);
}

/* The rows of a strip's window, one after the other, for float pixels that all lie in the image. */
template <class S> struct InnerRows {
    const float *at, *last;         /* addresses of this lane's first and last load of the next row */
    int64_t columns;
    static constexpr bool met = false;

    LW_DEVICE InnerRows(const lw_conv2d_block &b, const Patch &p, int lane) : columns(b.columns)
    {
        const Window<float, float> window = {b, p.channel, p.row, b.first_column + p.column};
        at = (const float *)b.input + window.origin() + lane;
        last = at - lane + place_of<S>(S::LOADS - 1, lane);
    }

    LW_DEVICE void fetch(float (&pixels)[S::LOADS])
    {
#pragma unroll
        for (int l = 0; l < S::LOADS; ++l)
            pixels[l] = __ldg(l < S::LOADS - 1 ? at + lanes * l : last);
    }

    LW_DEVICE void advance()
    {
        at += columns;
        last += columns;
    }
};

/* The rows of a strip's window for any pixels. IS_FLOAT: float pixels, not tested for being finite. */
template <class S, bool IS_FLOAT> struct AnyRows {
    static constexpr unsigned no_column = ~0u;
    const lw_conv2d_block &b;
    int64_t channel, row;           /* the next row */
    unsigned columns[S::LOADS];     /* columns of the image that this lane loads */
    bool met;                       /* this lane has met a pixel that is not finite */

    LW_DEVICE AnyRows(const lw_conv2d_block &block, const Patch &p, int lane) :
        b(block), channel(p.channel), row(p.row), met(false)
    {
#pragma unroll
        for (int l = 0; l < S::LOADS; ++l)
            columns[l] = (unsigned)boundary_index(b.boundary, b.first_column + p.column + place_of<S>(l, lane), b.columns);
    }

    template <class Stored> LW_DEVICE void fetch_as(const Stored *from, float (&pixels)[S::LOADS])
    {
#pragma unroll
        for (int l = 0; l < S::LOADS; ++l) {
            pixels[l] = (float)b.outside;
            if (columns[l] != no_column)
                pixels[l] = converted<float>(__ldg(from + columns[l]));
        }
        if constexpr (!IS_FLOAT)
#pragma unroll
            for (int l = 0; l < S::LOADS; ++l)
                pixels[l] = columns[l] != no_column ? finite_or_zero(pixels[l], met) : pixels[l];
    }

    LW_DEVICE void fetch(float (&pixels)[S::LOADS])
    {
        const int64_t position = b.first_row + row, first = input_index(b, channel, row);
        if (row < input_rows(b) && (b.boundary != LW_BOUNDARY_ZERO || (position >= 0 && position < b.rows))) {
            if constexpr (IS_FLOAT)
                fetch_as((const float *)b.input + first, pixels);
            else
                with_stored(b.scalar, [&](auto stored) {
                    fetch_as((const decltype(stored) *)b.input + first, pixels);
                });
        } else {
#pragma unroll
            for (int l = 0; l < S::LOADS; ++l)
                pixels[l] = row < input_rows(b) ? (float)b.outside : 0;
        }
    }

    LW_DEVICE void advance() { row++; }
};

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* Sum pixels along a row. */
template <int SIDE, int N> LW_DEVICE void sum_along(const float (&taps)[SIDE], const float (&x)[N], float (&sums)[across])
{
#pragma unroll
    for (int n = 0; n < SIDE; ++n)
#pragma unroll
        for (int j = 0; j < across; ++j)
            sums[j] = n == 0 ? taps[0] * x[j] : fma(taps[n], x[j + n], sums[j]);
}

/* Add a row of pixels to a row of outputs, with row m of the taps. */
template <int SIDE, int N> LW_DEVICE void add_row(const SquareTaps<SIDE> &taps, int m, const float (&x)[N], float (&sum)[across])
{
#pragma unroll
    for (int n = 0; n < SIDE; ++n)
#pragma unroll
        for (int j = 0; j < across; ++j)
            sum[j] = fma(taps.tap[m * SIDE + n], x[j + n], sum[j]);
}

/* The same for a separable kernel; x holds sums of pixels along the row. */
template <int SIDE> LW_DEVICE void add_row(const ProductTaps<SIDE> &taps, int m, const float (&x)[across], float (&sum)[across])
{
#pragma unroll
    for (int j = 0; j < across; ++j)
        sum[j] = fma(taps.column[m], x[j], sum[j]);
}

/* Store a thread's outputs. at: address of the first; n: how many of them exist. */
LW_DEVICE void store_sum(const float (&sum)[across], float *at, int64_t n, bool aligned)
{
    if (aligned && n >= across)
        __stcs((float4 *)at, make_float4(sum[0], sum[1], sum[2], sum[3]));
    else
#pragma unroll
        for (int j = 0; j < across; ++j)
            if (j < n)
                at[j] = sum[j];
}

/* Part of a strip. The first and last rows of pixels (HEAD, TAIL) contribute to fewer than SIDE rows of outputs. */
enum Part { HEAD, WHOLE, TAIL };

/* The walk of a warp down a strip. */
template <class S, class Rows> struct Walk {
    const lw_conv2d_block &b;
    const typename S::Taps &taps;
    const int lane;
    Rows rows;
    float *to;                      /* this lane's place in the next row of outputs */
    int64_t n_columns;              /* outputs of that row that exist from this lane's on */
    bool aligned;
    float *put, *last, *read;       /* this lane's places in the first of the two row buffers in shared memory */
    float pixels[2][S::LOADS];      /* pixels of the next two rows */
    float sums[S::SIDE][across];    /* sums[j]: outputs of the row SIDE - 1 - j above the row of pixels */
    float zero;                     /* 0 while all outputs are finite, else NaN */

    LW_DEVICE Walk(const lw_conv2d_block &block, const typename S::Taps &taps_, const Patch &p, float *memory,
                   int lane_) :
        b(block), taps(taps_), lane(lane_), rows(block, p, lane_), sums{}, zero(0)
    {
        to = (float *)b.output + (p.channel * b.count + p.row) * b.output_columns + p.column + across * lane;
        n_columns = b.output_columns - p.column - across * lane;
        aligned = b.output_columns % across == 0;
        put = memory + lane;
        last = memory + place_of<S>(S::LOADS - 1, lane);
        read = memory + across * lane;
#pragma unroll
        for (int which = 0; which < 2; ++which) {
            rows.fetch(pixels[which]);
            rows.advance();
        }
    }

    /* Scale and store a row of outputs whose sums are complete. */
    LW_DEVICE void finish()
    {
        if (b.exponent != 0)
#pragma unroll
            for (int j = 0; j < across; ++j)
                sums[0][j] = times_power(sums[0][j], b.exponent);
#pragma unroll
        for (int j = 0; j < across; ++j)
            zero = fma(sums[0][j], 0.0f, zero);
        store_sum(sums[0], to, n_columns, aligned);
        to += b.output_columns;
    }

    LW_DEVICE void read_row(const float *from, float (&x)[4 * S::VECTORS])
    {
#pragma unroll
        for (int v = 0; v < S::VECTORS; ++v) {
            const float4 four = *(const float4 *)(from + 4 * v);
            x[4 * v] = four.x, x[4 * v + 1] = four.y, x[4 * v + 2] = four.z, x[4 * v + 3] = four.w;
        }
    }

    /* Write the next row to row buffer `which`, and read this thread's share of it. In between start to load the row after the
     * next, if needed. */
    LW_DEVICE void next_row(int which, bool is_needed, float (&added)[S::ADDED])
    {
        const int offset = which * S::PITCH;
#pragma unroll
        for (int l = 0; l < S::LOADS; ++l)
            *(l < S::LOADS - 1 ? put + offset + lanes * l : last + offset) = pixels[which][l];
        if (is_needed)
            rows.fetch(pixels[which]);
        rows.advance();
        __syncwarp();
        if constexpr (S::Taps::IS_PRODUCT) {
            float x[4 * S::VECTORS];
            read_row(read + offset, x);
            sum_along(taps.row, x, added);
        } else {
            read_row(read + offset, added);
        }
    }

    /* Add row r of the strip's n rows of pixels. The sums move up by one register. */
    template <Part PART> LW_DEVICE void make_row(int which, int r, int n)
    {
        constexpr int SIDE = S::SIDE;
        float x[S::ADDED];
        next_row(which, PART == WHOLE || r + 2 < n, x);
#pragma unroll
        for (int j = 0; j < across; ++j)
            sums[SIDE - 1][j] = 0;
#pragma unroll
        for (int j = 0; j < SIDE; ++j)
            if (PART == WHOLE || (PART == HEAD ? j >= SIDE - 1 - r : j < n - r))
                add_row(taps, SIDE - 1 - j, x, sums[j]);
        if (PART != HEAD)
            finish();
#pragma unroll
        for (int j = 0; j < SIDE - 1; ++j)
#pragma unroll
            for (int i = 0; i < across; ++i)
                sums[j][i] = sums[j + 1][i];
    }

    /* Swap the row buffers, so that the next row is the first of a pair again. */
    LW_DEVICE void swap_rows()
    {
        __syncwarp();
#pragma unroll
        for (int l = 0; l < S::LOADS; ++l) {
            const float pixel = pixels[0][l];
            pixels[0][l] = pixels[1][l];
            pixels[1][l] = pixel;
        }
    }

    LW_DEVICE void make(int n_rows)
    {
        const int n = n_rows + S::SIDE - 1;
        int r = 0;
#pragma unroll 1
        for (; r < S::SIDE - 1; r += 2) {
            make_row<HEAD>(0, r, n);
            make_row<HEAD>(1, r + 1, n);
        }
#pragma unroll 1
        for (; r + 1 < n_rows; r += 2) {
            make_row<WHOLE>(0, r, n);
            make_row<WHOLE>(1, r + 1, n);
        }
        if (r < n_rows) {
            make_row<WHOLE>(0, r++, n);
            swap_rows();
        }
#pragma unroll 1
        for (; r < n; r += 2) {
            make_row<TAIL>(0, r, n);
            if (r + 1 < n)
                make_row<TAIL>(1, r + 1, n);
        }
    }
};

/* ---- launching --------------------------------------------------------------------------------------------------- */

/* Make a strip; return whether all outputs are finite. */
template <class S, class Rows>
LW_DEVICE bool make_strip(const lw_conv2d_block &b, const typename S::Taps &taps, const Patch &p, int n_rows, float *memory)
{
    Walk<S, Rows> walk(b, taps, p, memory, threadIdx.x);
    walk.make(n_rows);
    if (walk.rows.met)
        *b.not_finite = 1;
    return __any_sync(0xffffffffu, walk.zero != 0) == 0;
}

/* One warp makes one strip of `rows` rows of outputs, or fewer at the end of an image. */
template <class Taps> __global__ void __launch_bounds__(lanes, Taps::BLOCKS)
direct_unrolled(const lw_conv2d_block b, const __grid_constant__ Taps taps, int rows)
{
    using S = Strip<Taps>;
    __shared__ __align__(16) float memory[2 * S::PITCH];
    const Patch p = patch_of(b, blockIdx.x, rows, strip_columns);
    const int n_rows = p.row + rows <= b.count ? rows : (int)(b.count - p.row);
    if (b.scalar == LW_FLOAT32) {
        const Window<float, float> window = {b, p.channel, p.row, b.first_column + p.column};
        const bool are_finite = window.is_inner(n_rows + S::SIDE - 1, S::SPAN)
                                    ? make_strip<S, InnerRows<S>>(b, taps, p, n_rows, memory)
                                    : make_strip<S, AnyRows<S, true>>(b, taps, p, n_rows, memory);
        if (are_finite)
            return;
    }
    make_strip<S, AnyRows<S, false>>(b, taps, p, n_rows, memory);
}

template <class Taps> static cudaError_t launch(const lw_conv2d_block &b, int rows, const float *from, cudaStream_t stream)
{
    Taps taps;
    memcpy(&taps, from, sizeof taps);
    const unsigned strips = patches_of(b, rows, strip_columns);
    if (strips == 0)
        return cudaErrorInvalidConfiguration;
    direct_unrolled<Taps><<<strips, lanes, 0, stream>>>(b, taps, rows);
    return cudaGetLastError();
}

cudaError_t lw_conv2d_in_strips(const struct lw_conv2d_block *block, int side, int rows, const float *taps, cudaStream_t stream)
{
    if (block->count == 0 || block->n_channels == 0)
        return cudaSuccess;
    switch (side) {
    case 3: return launch<SquareTaps<3>>(*block, rows, taps, stream);
    case 5: return launch<SquareTaps<5>>(*block, rows, taps, stream);
    case 7: return launch<SquareTaps<7>>(*block, rows, taps, stream);
    case 9: return launch<SquareTaps<9>>(*block, rows, taps, stream);
    case 15: return launch<ProductTaps<15>>(*block, rows, taps, stream);
    case 23: return launch<ProductTaps<23>>(*block, rows, taps, stream);
    case 31: return launch<ProductTaps<31>>(*block, rows, taps, stream);
    default: return cudaErrorInvalidValue;
    }
}
