#include "io/archive/fits/hcompress.h"

#include "base/integers.h"
#include "io/archive/field.h"

#include <stddef.h>
#include <string.h>

enum { HEADER_BYTES = 25, MOST_PLANES = 40, FULL = 0xf };

/* ---- bits -------------------------------------------------------------------------------------------------------------- */

/* Bits of a code, the highest of each byte first. */
struct bits {
    const unsigned char *at;
    int64_t n, used;            /* bits */
    bool is_over;               /* more were taken than there are: those are 0 */
};

static unsigned take(struct bits *bits, int count)
{
    unsigned value = 0;
    for (; count > 0; count--, bits->used++) {
        const bool is_there = bits->used < bits->n;
        bits->is_over |= !is_there;
        value = value << 1 | (is_there ? (unsigned)bits->at[bits->used / 8] >> (7 - bits->used % 8) & 1u : 0u);
    }
    return value;
}

/* Four bits in Huffman's code: those with a single 1 are the most common. */
static unsigned char take_quad(struct bits *bits)
{
    static const struct {
        unsigned char length, code, quad;
    } codes[] = {{4, 8, 3},  {4, 9, 5},  {4, 10, 10}, {4, 11, 12}, {4, 12, 15}, {5, 26, 6},
                 {5, 27, 7}, {5, 28, 9}, {5, 29, 11}, {5, 30, 13}, {6, 62, 0},  {6, 63, 14}};
    unsigned code = take(bits, 3);
    int length = 3;
    if (code < 4)
        return (unsigned char)(1u << code);
    for (size_t c = 0; c < sizeof codes / sizeof *codes; c++) {
        for (; length < codes[c].length; length++)
            code = code << 1 | take(bits, 1);
        if (code == codes[c].code)
            return codes[c].quad;
    }
    return 0;
}

/* ---- quadtrees --------------------------------------------------------------------------------------------------------- */

/* Part of the coefficients: rows of `pitch` numbers. */
struct quadrant {
    uint64_t *at;
    int64_t pitch, rows, columns;
};

static int levels_of(int64_t rows, int64_t columns)
{
    int levels = 0;
    while (lw_max64(rows, columns) > (int64_t)1 << levels)
        levels++;
    return levels;
}

/* How far both lengths of an array are grown by one level, of the lengths that it has in the end. */
struct growth {
    int64_t rows, columns;
    int64_t rows_left, columns_left, half;
};

static void grow(struct growth *growth)
{
    growth->half /= 2;
    growth->rows *= 2;
    growth->columns *= 2;
    if (growth->rows_left <= growth->half)
        growth->rows--;
    else
        growth->rows_left -= growth->half;
    if (growth->columns_left <= growth->half)
        growth->columns--;
    else
        growth->columns_left -= growth->half;
}

/* The quads of a plane, [rows / 2 x columns / 2], down from the root of its tree. @param columns, rows  of the quadrant */
static void take_tree(struct bits *bits, int64_t rows, int64_t columns, unsigned char *quads, unsigned char *above)
{
    struct growth growth = {.rows = 1, .columns = 1, .rows_left = rows, .columns_left = columns};
    const int levels = levels_of(rows, columns);
    growth.half = (int64_t)1 << levels;
    quads[0] = take_quad(bits);
    for (int k = 1; k < levels; k++) {
        const int64_t across = growth.columns;
        memcpy(above, quads, (size_t)(growth.rows * across));
        grow(&growth);
        for (int64_t i = growth.rows * growth.columns - 1; i >= 0; i--) {
            const int64_t row = i / growth.columns, column = i % growth.columns;
            const int bit = 3 - (int)(2 * (row % 2) + column % 2);
            quads[i] = above[row / 2 * across + column / 2] >> bit & 1 ? take_quad(bits) : 0;
        }
    }
}

static void put_plane(const unsigned char *quads, const struct quadrant *quadrant, int plane)
{
    const int64_t across = (quadrant->columns + 1) / 2;
    for (int64_t row = 0; row < quadrant->rows; row++)
        for (int64_t column = 0; column < quadrant->columns; column++) {
            const int bit = 3 - (int)(2 * (row % 2) + column % 2);
            quadrant->at[row * quadrant->pitch + column] |= (uint64_t)(quads[row / 2 * across + column / 2] >> bit & 1) << plane;
        }
}

/* Planes from the highest bit on; each is a tree, or quads one by one where that is shorter. */
static bool take_quadrant(struct bits *bits, const struct quadrant *quadrant, int n_planes, unsigned char *scratch)
{
    const int64_t n = (quadrant->rows + 1) / 2 * ((quadrant->columns + 1) / 2);
    unsigned char *const above = scratch + lw_max64(n, (quadrant->rows + quadrant->columns) / 2 + 1);     /* of an empty one, too */
    for (int plane = n_planes - 1; plane >= 0; plane--) {
        const unsigned way = take(bits, 4);
        if ((way != 0 && way != FULL) || bits->is_over)
            return false;
        if (way == FULL)
            take_tree(bits, quadrant->rows, quadrant->columns, scratch, above);
        else
            for (int64_t i = 0; i < n; i++)
                scratch[i] = (unsigned char)take(bits, 4);
        put_plane(scratch, quadrant, plane);
    }
    return true;
}

/* ---- the transform ----------------------------------------------------------------------------------------------------- */

static bool is_negative(uint64_t value) { return (int64_t)value < 0; }
static uint64_t shifted(uint64_t value, int by) { return (uint64_t)((int64_t)value >> by); }

/* What the passes round to: multiples of a power of two, away from zero at the half. */
struct rounding {
    uint64_t bit;
    uint64_t half;              /* of it; 0: nothing is rounded */
};

static uint64_t rounded(uint64_t value, struct rounding to)
{
    const uint64_t down = to.half > 0 ? to.half - 1 : 0;
    return (value + (is_negative(value) ? down : to.half)) & ~(to.bit - 1);
}

static struct rounding rounding_of(int power)
{
    return power < 0 ? (struct rounding){1, 0}
                     : (struct rounding){(uint64_t)1 << power, power > 0 ? (uint64_t)1 << (power - 1) : 0};
}

/* The first half of the elements to the even places, the second to the odd ones. */
static void unshuffle(uint64_t *at, int64_t n, int64_t step, uint64_t *second)
{
    const int64_t half = (n + 1) / 2;
    for (int64_t i = half; i < n; i++)
        second[i - half] = at[i * step];
    for (int64_t i = half - 1; i > 0; i--)
        at[2 * i * step] = at[i * step];
    for (int64_t i = half; i < n; i++)
        at[(2 * (i - half) + 1) * step] = second[i - half];
}

static uint64_t toward_zero(uint64_t value, uint64_t by) { return is_negative(value) ? value + by : value - by; }

/* The sum h0 and the differences along rows, columns and both, of 2 x 2 places, to their values. What was dropped of the sums'
 * lowest bits is in those of the differences. @param power  of the bits that both differences are multiples of */
static void invert_four(uint64_t *at, int64_t pitch, int power, int shift)
{
    const struct rounding one = rounding_of(power + 1), none = rounding_of(power);
    uint64_t h0 = at[0];
    uint64_t hx = rounded(at[pitch], one), hy = rounded(at[1], one), hc = rounded(at[pitch + 1], none);
    const uint64_t lowest = hc & none.bit;
    hx = toward_zero(hx, lowest);
    hy = toward_zero(hy, lowest);
    const uint64_t next = (hc ^ hx ^ hy) & one.bit;
    h0 += !is_negative(h0) ? lowest - next : lowest == 0 ? next : lowest - next;
    at[pitch + 1] = shifted(h0 + hx + hy + hc, shift);
    at[pitch] = shifted(h0 + hx - hy - hc, shift);
    at[1] = shifted(h0 - hx + hy - hc, shift);
    at[0] = shifted(h0 - hx - hy + hc, shift);
}

/* Two places at an odd end, `step` apart. */
static void invert_two(uint64_t *at, int64_t step, int power, int shift)
{
    const struct rounding one = rounding_of(power + 1);
    const uint64_t difference = rounded(at[step], one), low = difference & one.bit;
    const uint64_t sum = is_negative(at[0]) ? at[0] + low : at[0] - low;
    at[step] = shifted(sum + difference, shift);
    at[0] = shifted(sum - difference, shift);
}

static void invert_pass(uint64_t *a, int64_t pitch, int64_t rows, int64_t columns, int power, int shift)
{
    for (int64_t i = 0; i < rows; i += 2)
        for (int64_t j = 0; j < columns; j += 2) {
            uint64_t *const at = a + i * pitch + j;
            if (i + 1 < rows && j + 1 < columns)
                invert_four(at, pitch, power, shift);
            else if (i + 1 < rows)
                invert_two(at, pitch, power, shift);
            else if (j + 1 < columns)
                invert_two(at, 1, power, shift);
            else
                at[0] = shifted(at[0], shift);
        }
}

static void invert(uint64_t *a, int64_t rows, int64_t columns, uint64_t *second)
{
    const int levels = levels_of(rows, columns);
    struct growth growth = {.rows = 1, .columns = 1, .rows_left = rows, .columns_left = columns, .half = (int64_t)1 << levels};
    if (levels > 0)
        a[0] = rounded(a[0], rounding_of(levels + 1));
    for (int k = levels - 1; k >= 0; k--) {
        grow(&growth);
        for (int64_t i = 0; i < growth.rows; i++)
            unshuffle(a + i * columns, growth.columns, 1, second);
        for (int64_t j = 0; j < growth.columns; j++)
            unshuffle(a + j, growth.rows, columns, second);
        invert_pass(a, columns, growth.rows, growth.columns, k, k == 0 ? 2 : 1);
    }
}

/* ---- a tile ------------------------------------------------------------------------------------------------------------ */

static bool take_coefficients(struct bits *bits, const unsigned char planes[3], int64_t rows, int64_t columns, uint64_t *a,
                              void *scratch)
{
    const int64_t upper = (rows + 1) / 2, left = (columns + 1) / 2;
    const struct quadrant quadrants[] = {{a, columns, upper, left}, {a + left, columns, upper, columns / 2},
                                         {a + columns * upper, columns, rows / 2, left},
                                         {a + columns * upper + left, columns, rows / 2, columns / 2}};
    static const int plane_of[] = {0, 1, 1, 2};
    memset(a, 0, (size_t)(rows * columns) * sizeof *a);
    for (int q = 0; q < 4; q++)
        if (!take_quadrant(bits, &quadrants[q], planes[plane_of[q]], scratch))
            return false;
    return take(bits, 4) == 0 && !bits->is_over;
}

/* Signs begin with a byte of their own. */
static bool take_signs(struct bits *bits, int64_t n, uint64_t *a)
{
    bits->used = (bits->used + 7) / 8 * 8;
    for (int64_t i = 0; i < n; i++)
        if (a[i] != 0 && take(bits, 1))
            a[i] = -a[i];
    return !bits->is_over;
}

bool lw_hcompress_decode(const unsigned char *code, int64_t bytes, int64_t n, int64_t *work, void *scratch, int32_t *pixels)
{
    static const unsigned char magic[] = {0xdd, 0x99};
    uint64_t *const a = (uint64_t *)work;
    if (bytes < HEADER_BYTES || memcmp(code, magic, sizeof magic) != 0)
        return false;
    const int64_t rows = lw_field_signed(code + 2, 4, true), columns = lw_field_signed(code + 6, 4, true);
    const int64_t scale = lw_field_signed(code + 10, 4, true);
    const unsigned char *const planes = code + 22;
    if (rows < 1 || columns < 1 || rows > n / columns || rows * columns != n || scale < 0 || planes[0] > MOST_PLANES ||
        planes[1] > MOST_PLANES || planes[2] > MOST_PLANES)
        return false;
    struct bits bits = {.at = code + HEADER_BYTES, .n = 8 * (bytes - HEADER_BYTES)};
    if (!take_coefficients(&bits, planes, rows, columns, a, scratch) || !take_signs(&bits, n, a))
        return false;
    a[0] = lw_field_unsigned(code + 14, 8, true);
    for (int64_t i = 0; scale > 1 && i < n; i++)
        a[i] *= (uint64_t)scale;
    invert(a, rows, columns, scratch);
    for (int64_t i = 0; i < n; i++) {
        const int64_t value = (int64_t)a[i];
        if (value < INT32_MIN || value > INT32_MAX)
            return false;
        pixels[i] = (int32_t)value;
    }
    return true;
}
