/* Sums with a small real kernel in single precision: direct ones, or of a separable kernel along the row and then down the column.
 *
 * A warp makes a strip of 128 columns and some rows, thread t the columns 4 t .. 4 t + 3: it walks down the rows of
 * pixels, and adds what each contributes to the SIDE rows of outputs that it meets, whose sums stand in registers. A
 * row comes from global memory by loads with lanes side by side, whatever its type and alignment, two rows ahead of
 * its use; it passes through shared memory of the warp's own, from which each thread reads the pixels it needs by
 * 16-byte loads (contiguous over the warp: no bank conflicts). Warps do not wait for each other, each being a block;
 * therefore the loop over rows is to be short, or they wait for instructions. The taps are kernel parameters, so that a
 * fused multiply-add takes its tap from constant memory without an instruction of its own.
 *
 * For SIDE = 7, each row of 128 pixels: 196 fused multiply-adds, 5 loads, 5 shared stores, 3 shared loads, 1 store. Of a separable
 * kernel with SIDE = 31, 248, 5, 5, 9 and 1: the pixels that a thread needs are summed along the row once, and what comes of it is
 * added to SIDE rows of outputs by a tap of the column each.
 *
 * In strips of float pixels no pixel is looked at: one that is not finite makes all sums that it meets so, and the
 * strip is then made again with all pixels tested. Every output is the same sum either way. */
#include "gpu/conv2d/window.cuh"

static constexpr int lanes = 32, across = 4, strip_columns = LW_CONV2D_STRIP_COLUMNS;

/* The most blocks of a warp that a multiprocessor can hold, where those are fewer than the registers allow. */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870)
static constexpr int most_blocks = 16;
#else
static constexpr int most_blocks = 24;
#endif

/* Tap (m, n) meets row m and column n of an output's window. */
template <int SIDE_> struct SquareTaps {
    static constexpr int SIDE = SIDE_, BLOCKS = SIDE <= 7 ? most_blocks : 16;       /* at a time on a multiprocessor */
    static constexpr bool IS_PRODUCT = false;
    float tap[SIDE * SIDE];
};

/* Tap (m, n) is column[m] row[n]. */
template <int SIDE_> struct ProductTaps {
    static constexpr int SIDE = SIDE_, BLOCKS = SIDE <= 15 ? 16 : SIDE <= 23 ? 12 : 8;
    static constexpr bool IS_PRODUCT = true;
    float column[SIDE], row[SIDE];
};

template <class Taps_> struct Strip {
    using Taps = Taps_;
    static constexpr int SIDE = Taps::SIDE;
    static constexpr int VECTORS = (across + SIDE - 1 + 3) / 4;         /* that hold what a thread needs of a row */
    static constexpr int SPAN = strip_columns + SIDE - 1;               /* pixels that the warp needs of it */
    static constexpr int LOADS = (SPAN + lanes - 1) / lanes;            /* of each thread */
    static constexpr int PITCH = strip_columns + 4 * (VECTORS - 1);
    static constexpr int ADDED = Taps::IS_PRODUCT ? across : 4 * VECTORS;       /* values of a row that outputs are summed of */
};

/* ---- rows of pixels ---------------------------------------------------------------------------------------------- */

/* Place of a lane's load `l` in the row; lanes for which none is left repeat the last. */
template <class S> LW_DEVICE int place_of(int l, int lane)
{
    return l < S::LOADS - 1 ? lane + lanes * l : lanes * l + min(lane, S::SPAN - 1 - lanes * l);
}

/* Rows of a strip's window, one after the other. Of float pixels that all lie in the image: */
template <class S> struct InnerRows {
    const float *at, *last;         /* this lane's pixel of the next row, and its last load */
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

/* Of any pixels; or of float pixels anywhere, which are not looked at. */
template <class S, bool IS_FLOAT> struct AnyRows {
    static constexpr unsigned no_column = ~0u;
    const lw_conv2d_block &b;
    int64_t channel, row;           /* the next */
    unsigned columns[S::LOADS];     /* where this lane's pixels stand in a row of the image */
    bool met;                       /* this lane has met one that is not finite */

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

/* Sums along a row. */
template <int SIDE, int N> LW_DEVICE void sum_along(const float (&taps)[SIDE], const float (&x)[N], float (&sums)[across])
{
#pragma unroll
    for (int n = 0; n < SIDE; ++n)
#pragma unroll
        for (int j = 0; j < across; ++j)
            sums[j] = n == 0 ? taps[0] * x[j] : fma(taps[n], x[j + n], sums[j]);
}

/* What a row of pixels adds to a row of outputs by row m of the taps: the pixels as they are, */
template <int SIDE, int N> LW_DEVICE void add_row(const SquareTaps<SIDE> &taps, int m, const float (&x)[N], float (&sum)[across])
{
#pragma unroll
    for (int n = 0; n < SIDE; ++n)
#pragma unroll
        for (int j = 0; j < across; ++j)
            sum[j] = fma(taps.tap[m * SIDE + n], x[j + n], sum[j]);
}

/* or summed along the row. */
template <int SIDE> LW_DEVICE void add_row(const ProductTaps<SIDE> &taps, int m, const float (&x)[across], float (&sum)[across])
{
#pragma unroll
    for (int j = 0; j < across; ++j)
        sum[j] = fma(taps.column[m], x[j], sum[j]);
}

/* at: of the thread's first output; n: those that exist from there on */
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

/* Part of a strip: rows of pixels that do not meet all SIDE rows of outputs, before and after those that do. */
enum Part { HEAD, WHOLE, TAIL };

/* A walk down a strip. */
template <class S, class Rows> struct Walk {
    const lw_conv2d_block &b;
    const typename S::Taps &taps;
    const int lane;
    Rows rows;
    float *to;                      /* of the next row of outputs */
    int64_t n_columns;              /* outputs that exist there from this lane's on */
    bool aligned;
    float *put, *last, *read;       /* this lane's places in the shared memory of the first of two rows of pixels */
    float pixels[2][S::LOADS];      /* of the next rows */
    float sums[S::SIDE][across];    /* sums[j]: of the outputs SIDE - 1 - j rows before the row of pixels */
    float zero;                     /* while all outputs are finite */

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

    /* Outputs whose sums are complete. */
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

    /* What this thread's outputs are summed of in the next row, in the memory `which`. Before, the row two rows on is asked for,
     * if it is needed. */
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

    /* Row r of pixels, of n. Sums move on by one register. */
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

    /* The next row is to be the first of two again. */
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

/* Returns whether all outputs are finite. */
template <class S, class Rows>
LW_DEVICE bool make_strip(const lw_conv2d_block &b, const typename S::Taps &taps, const Patch &p, int n_rows, float *memory)
{
    Walk<S, Rows> walk(b, taps, p, memory, threadIdx.x);
    walk.make(n_rows);
    if (walk.rows.met)
        *b.not_finite = 1;
    return __any_sync(0xffffffffu, walk.zero != 0) == 0;
}

/* rows: of a strip, but for the last of an image */
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

template <class Taps> static cudaError_t launch(const lw_conv2d_block &b, const float *from, cudaStream_t stream)
{
    Taps taps;
    memcpy(&taps, from, sizeof taps);
    const int rows = lw_conv2d_cut_strips(b.count, b.output_columns, b.n_channels, Taps::SIDE).rows;
    const unsigned strips = patches_of(b, rows, strip_columns);
    if (strips == 0)
        return cudaErrorInvalidConfiguration;
    direct_unrolled<Taps><<<strips, lanes, 0, stream>>>(b, taps, rows);
    return cudaGetLastError();
}

cudaError_t lw_conv2d_in_strips(const struct lw_conv2d_block *block, int side, const float *taps, cudaStream_t stream)
{
    if (block->count == 0 || block->n_channels == 0)
        return cudaSuccess;
    switch (side) {
    case 3: return launch<SquareTaps<3>>(*block, taps, stream);
    case 5: return launch<SquareTaps<5>>(*block, taps, stream);
    case 7: return launch<SquareTaps<7>>(*block, taps, stream);
    case 9: return launch<SquareTaps<9>>(*block, taps, stream);
    case 15: return launch<ProductTaps<15>>(*block, taps, stream);
    case 23: return launch<ProductTaps<23>>(*block, taps, stream);
    case 31: return launch<ProductTaps<31>>(*block, taps, stream);
    default: return cudaErrorInvalidValue;
    }
}
