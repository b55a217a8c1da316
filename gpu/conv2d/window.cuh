/* window.cuh - device code that reads pixels of a block's images, which are continued beyond their sides. */
#pragma once

#include "gpu/conv2d/launch.h"
#include "gpu/device/launch.cuh"
#include "gpu/device/search.cuh"
#include "gpu/device/stored.cuh"

/* A pixel or a tap is a Real or a Complex<Real>. */
template <class Pixel> constexpr bool is_complex_pixel = sizeof(Pixel) == 2 * sizeof(RealPart<Pixel>);

template <class Pixel> LW_DEVICE Pixel pixel_of(RealPart<Pixel> real)
{
    if constexpr (is_complex_pixel<Pixel>)
        return {real, 0};
    else
        return real;
}

/* lw_boundary_index in device code. */
LW_DEVICE int64_t boundary_index(enum lw_boundary boundary, int64_t i, int64_t n)
{
    if (i >= 0 && i < n)
        return i;
    if (boundary == LW_BOUNDARY_ZERO)
        return -1;
    if (boundary == LW_BOUNDARY_EDGE)
        return i < 0 ? 0 : n - 1;
    const int64_t period = boundary == LW_BOUNDARY_WRAP ? n : 2 * n;
    const int64_t rest = i % period, at = rest < 0 ? rest + period : rest;
    return at < n ? at : period - 1 - at;
}

/* Return pixel i of the input, as stored. Only floating-point numbers are stored in pairs, as complex pixels. */
template <class Pixel, class Stored> LW_DEVICE Pixel raw_pixel(const lw_conv2d_block &b, const Stored *x, int64_t i)
{
    using Real = RealPart<Pixel>;
    if constexpr (is_complex_pixel<Pixel> && std::is_floating_point<Stored>::value)
        if (b.input_complex)
            return stored_pair<Real, Stored, true>(x, i);
    return pixel_of<Pixel>(converted<Real>(__ldg(x + i)));
}

/* raw_pixel, or zero if that is not finite, in which case `met` is set. */
template <class Pixel, class Stored>
LW_DEVICE Pixel finite_pixel(const lw_conv2d_block &b, const Stored *x, int64_t i, bool &met)
{
    const Pixel raw = raw_pixel<Pixel>(b, x, i);
    if constexpr (!is_complex_pixel<Pixel>)
        return finite_or_zero(raw, met);
    else {
        bool bad = false;
        const Pixel value = {finite_or_zero(raw.x, bad), finite_or_zero(raw.y, bad)};
        met |= bad;
        return bad ? Pixel{0, 0} : value;
    }
}

/* Rows per image of the block's input. */
LW_DEVICE int64_t input_rows(const lw_conv2d_block &b) { return b.kernel_rows - 1 + b.count; }

/* Index in the input of the first pixel of a row of an image. */
LW_DEVICE int64_t input_index(const lw_conv2d_block &b, int64_t channel, int64_t row)
{
    return (b.input_first + channel * b.input_pitch + row) * b.columns;
}

/* Report one of the block's own pixels, at its place in the image, not where the boundary repeats it.
 * @param row  row of the input */
LW_DEVICE void report_own(const lw_conv2d_block &b, lw_nan_report *report, int64_t channel, int64_t row, int64_t column)
{
    if (row < b.own_row || column < 0 || column >= b.columns)
        return;
    const unsigned long long position = ((row - b.own_row) * b.n_channels + channel) * b.columns + column;
    atomicAdd(&report->n_own, 1ull);
    atomicMax(&report->lowest_complement, ~position);
}

/* Position of the rows x columns outputs that a block of threads makes. A grid has fewer than 2^31 blocks, so 32-bit divisions
 * suffice: one of 64 bits costs as much as 30 products. */
struct Patch {
    int64_t channel, row, column;
};

__host__ __device__ inline unsigned patches_across(const lw_conv2d_block &b, int columns)
{
    return (unsigned)((b.output_columns + columns - 1) / columns);
}

__host__ __device__ inline unsigned patches_down(const lw_conv2d_block &b, int rows)
{
    return (unsigned)((b.count + rows - 1) / rows);
}

/* Return the position of patch `number`. */
LW_DEVICE Patch patch_of(const lw_conv2d_block &b, unsigned number, int rows, int columns)
{
    const unsigned across = patches_across(b, columns), down = patches_down(b, rows);
    const unsigned line = number / across, channel = line / down;
    return {channel, (int64_t)(line - channel * down) * rows, (int64_t)(number - line * across) * columns};
}

/* Return the number of blocks of threads for all outputs; 0 if a grid cannot hold them. */
inline unsigned patches_of(const lw_conv2d_block &b, int rows, int columns)
{
    const int64_t n = (int64_t)patches_across(b, columns) * patches_down(b, rows) * b.n_channels;
    return n > INT32_MAX ? 0 : (unsigned)n;
}

/* Call `with` with a pixel and a tap of the types in which a block is computed. */
template <class With>
static auto with_pixel(enum lw_precision precision, bool input_complex, bool kernel_complex, With with)
{
    if (precision == LW_SINGLE && kernel_complex)
        return with(float2{}, float2{});
    if (precision == LW_SINGLE)
        return input_complex ? with(float2{}, 0.0f) : with(0.0f, 0.0f);
    if (kernel_complex)
        return with(double2{}, double2{});
    return input_complex ? with(double2{}, 0.0) : with(0.0, 0.0);
}

/* A part of a channel's window. Its pixel (0, 0) is row `row` of the input and column `column` of the continued image. */
template <class Pixel, class Stored> struct Window {
    const lw_conv2d_block &b;
    int64_t channel, row, column;

    /* Return pixel (y, x), wherever it lies. */
    LW_DEVICE Pixel at(int64_t y, int64_t x, bool &met) const
    {
        using Real = RealPart<Pixel>;
        const int64_t r = row + y, position = b.first_row + r;
        if (r >= input_rows(b))
            return pixel_of<Pixel>(0);
        const bool open = b.boundary == LW_BOUNDARY_ZERO && (position < 0 || position >= b.rows);
        const int64_t c = open ? -1 : boundary_index(b.boundary, column + x, b.columns);
        if (c < 0)
            return pixel_of<Pixel>((Real)b.outside);
        return finite_pixel<Pixel>(b, (const Stored *)b.input, input_index(b, channel, r) + c, met);
    }

    /* Return whether the pixels [0, n_rows) x [0, n_columns) all lie in the image. */
    LW_DEVICE bool is_inner(int64_t n_rows, int64_t n_columns) const
    {
        return column >= 0 && column + n_columns <= b.columns && row + n_rows <= input_rows(b) &&
               (b.boundary != LW_BOUNDARY_ZERO || (b.first_row + row >= 0 && b.first_row + row + n_rows <= b.rows));
    }

    /* Index of pixel (0, 0) in the input, for an inner window. */
    LW_DEVICE int64_t origin() const { return input_index(b, channel, row) + column; }
};

/* Copy the pixels [0, n_rows) x [0, n_columns) of a window to shared memory, with rows `pitch` apart. LANES x GROUPS threads take
 * part; lanes run along a row (coalesced). Return whether this thread met a pixel that is not finite. */
template <int LANES, int GROUPS, bool INNER, class Pixel, class Stored>
LW_DEVICE bool load_rows(const Window<Pixel, Stored> &window, int n_rows, int n_columns, Pixel *to, int pitch)
{
    const Stored *const inner = (const Stored *)window.b.input;
    const int64_t origin = INNER ? window.origin() : 0;
    bool met = false;
#pragma unroll 2
    for (int y = threadIdx.y; y < n_rows; y += GROUPS)
#pragma unroll 4
        for (int x = threadIdx.x; x < n_columns; x += LANES)
            to[y * pitch + x] = INNER ? finite_pixel<Pixel>(window.b, inner, origin + y * window.b.columns + x, met)
                                      : window.at(y, x, met);
    return met;
}

template <int LANES, int GROUPS, class Pixel, class Stored>
LW_DEVICE bool load_window(const Window<Pixel, Stored> &window, int n_rows, int n_columns, Pixel *to, int pitch)
{
    return window.is_inner(n_rows, n_columns) ? load_rows<LANES, GROUPS, true>(window, n_rows, n_columns, to, pitch)
                                              : load_rows<LANES, GROUPS, false>(window, n_rows, n_columns, to, pitch);
}

/* Append a crossing of a kernel's outputs to the table, if it has room. @param channel, row  in the block */
LW_DEVICE void append_crossing(const lw_conv2d_search &s, int kernel, int64_t channel, int64_t row, int64_t column, double re,
                               double im)
{
    const unsigned long long place = atomicAdd(s.n_rows, 1ull);
    if (place < (unsigned long long)s.most_rows)
        s.rows[place] = lw_crossing{s.first_row + row, (int32_t)(s.channel + channel), kernel, column, re, im};
}

/* Return x 2^exponent, exact unless the result is not a normal number. */
LW_DEVICE float times_power(float x, int exponent) { return exponent == 0 ? x : scalbnf(x, exponent); }
LW_DEVICE double times_power(double x, int exponent) { return exponent == 0 ? x : scalbn(x, exponent); }
LW_DEVICE float2 times_power(float2 z, int e) { return {times_power(z.x, e), times_power(z.y, e)}; }
LW_DEVICE double2 times_power(double2 z, int e) { return {times_power(z.x, e), times_power(z.y, e)}; }

/* Multiply all sums of a thread by 2^exponent. */
template <class Pixel, int ROWS, int COLUMNS> LW_DEVICE void scale_sums(Pixel (&sums)[ROWS][COLUMNS], int exponent)
{
    if (exponent == 0)
        return;
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j)
            sums[i][j] = times_power(sums[i][j], exponent);
}
