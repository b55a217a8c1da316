#include "io/archive/fits/image.h"

#include "base/integers.h"
#include "io/archive/shared.h"

/* ---- bits ------------------------------------------------------------------------------------------------------------ */

/* Bits of a code, the highest bit of each byte first. */
struct bits {
    const unsigned char *at, *end;
    uint64_t held;              /* bits read from `at` but not taken; the next one is the highest; zeros follow */
    int n;                      /* number of bits held */
    bool is_over;               /* more bits were taken than the code has; the missing ones were 0 */
};

/* Hold at least 57 bits, or all that are left. */
static void fill(struct bits *bits)
{
    while (bits->n <= 56 && bits->at < bits->end) {
        bits->held |= (uint64_t)*bits->at++ << (56 - bits->n);
        bits->n += 8;
    }
}

/* Take the next bits. @param count  0 to 32 */
static inline uint32_t take(struct bits *bits, int count)
{
    fill(bits);
    const uint32_t value = count > 0 ? (uint32_t)(bits->held >> (64 - count)) : 0;
    bits->held <<= count;
    bits->n -= count;
    if (bits->n < 0) {
        bits->is_over = true;
        bits->n = 0;
    }
    return value;
}

/* ---- Rice ------------------------------------------------------------------------------------------------------------ */

/* Count the zeros before the next 1, and take them and the 1. Returns false if there are more than `most`, or no 1 follows. */
static bool count_zeros(struct bits *bits, uint32_t most, uint32_t *out)
{
    *out = 0;
    for (fill(bits); bits->held == 0; fill(bits)) {
        if (bits->at == bits->end || *out > most)
            return false;
        *out += (uint32_t)bits->n;
        bits->n = 0;
    }
    const int zeros = __builtin_clzll(bits->held);
    if (zeros >= bits->n)
        return false;
    *out += (uint32_t)zeros;
    bits->held = bits->held << zeros << 1;
    bits->n -= zeros + 1;
    return *out <= most;
}

/* Constants of Rice's code for one width of pixels. */
struct width {
    int bits, fs_bits, fs_raw;          /* bits of a pixel; bits of fs; fs of blocks of plain differences */
    uint32_t mask;
};

static inline bool take_difference(struct bits *bits, const struct width *width, int fs, uint32_t *out)
{
    uint32_t high;
    if (fs == width->fs_raw) {
        *out = take(bits, width->bits);
    } else {
        if (!count_zeros(bits, width->mask >> fs, &high))
            return false;
        *out = (fs < 32 ? high << fs : 0) | take(bits, fs);
    }
    return !bits->is_over;
}

bool lw_rice_decode(const unsigned char *code, int64_t bytes, int pixel_bytes, int64_t block, int64_t n, int32_t *pixels)
{
    static const struct width widths[] = {[1] = {8, 3, 6, 0xff}, [2] = {16, 4, 14, 0xffff}, [4] = {32, 5, 25, 0xffffffff}};
    const struct width width = widths[pixel_bytes];
    struct bits bits = {.at = code, .end = code + bytes};
    uint32_t last = take(&bits, width.bits);
    for (int64_t first = 0; first < n; first += block) {
        const int fs = (int)take(&bits, width.fs_bits) - 1;
        if (bits.is_over || fs > width.fs_raw)
            return false;
        for (int64_t i = first; i < lw_min64(first + block, n); i++) {
            uint32_t folded = 0;
            if (fs >= 0 && !take_difference(&bits, &width, fs, &folded))
                return false;
            last += folded & 1 ? ~(folded >> 1) : folded >> 1;
            pixels[i] = pixel_bytes == 1   ? (int32_t)(last & 0xff)
                        : pixel_bytes == 2 ? (int32_t)(int16_t)(uint16_t)last
                                           : (int32_t)last;
        }
    }
    return true;
}

/* ---- PLIO ------------------------------------------------------------------------------------------------------------ */

/* Instructions of PLIO: the upper 4 bits of a word. The lower 12 bits are the instruction's number. */
enum { ZEROS, SET_HIGH, RAISE, LOWER, VALUES, ZEROS_AND_VALUE, RAISE_AND_PUT, LOWER_AND_PUT };

struct line {
    const unsigned char *code;
    int64_t n_words;
    int64_t n, at;              /* pixels in all, and pixels decoded so far */
    uint32_t value;
    int32_t *pixels;
};

static unsigned word_at(const struct line *line, int64_t i) { return (unsigned)lw_field_unsigned(line->code + 2 * i, 2, true); }

static void put_run(struct line *line, int64_t count, int instruction)
{
    const int64_t end = lw_min64(line->n, line->at + count);
    for (int64_t i = line->at; i < end; i++)
        line->pixels[i] = instruction == VALUES ? (int32_t)line->value : 0;
    if (instruction == ZEROS_AND_VALUE && count > 0 && line->at + count <= line->n)
        line->pixels[end - 1] = (int32_t)line->value;
    line->at = end;
}

/* Carry out the instruction in word i. Returns false if it is damaged. @param i  set to the index of the next instruction */
static bool obey(struct line *line, int64_t *i)
{
    const unsigned word = word_at(line, *i);
    const int instruction = (int)(word >> 12);
    const uint32_t number = word & 0xfff;
    ++*i;
    switch (instruction) {
    case ZEROS:
    case VALUES:
    case ZEROS_AND_VALUE:
        put_run(line, number, instruction);
        return true;
    case SET_HIGH:
        if (*i >= line->n_words)
            return false;
        line->value = word_at(line, (*i)++) << 12 | number;
        return true;
    case RAISE:
    case RAISE_AND_PUT:
        line->value += number;
        break;
    case LOWER:
    case LOWER_AND_PUT:
        line->value -= number;
        break;
    default:
        return false;
    }
    if (instruction == RAISE_AND_PUT || instruction == LOWER_AND_PUT)
        put_run(line, 1, VALUES);
    return true;
}

/* Decode a line list. Old headers have the list's length in word 2; new ones in words 3 and 4, and their own in word 1. */
bool lw_plio_decode(const unsigned char *code, int64_t bytes, int64_t n, int32_t *pixels)
{
    enum { OLD_HEADER = 3, LEAST_WORDS = 3, NEW_WORDS = 5 };
    struct line line = {.code = code, .n_words = bytes / 2, .n = n, .value = 1, .pixels = pixels};
    if (line.n_words < LEAST_WORDS)
        return false;
    int64_t first = OLD_HEADER, length = (int16_t)(uint16_t)word_at(&line, 2);
    if (length <= 0) {
        if (line.n_words < NEW_WORDS)
            return false;
        length = (int64_t)word_at(&line, 4) << 15 | word_at(&line, 3);
        first = word_at(&line, 1);
    }
    if (length > line.n_words || first < LEAST_WORDS)
        return false;
    for (int64_t i = first; i < length && line.at < n; )
        if (!obey(&line, &i))
            return false;
    memset(pixels + line.at, 0, (size_t)(n - line.at) * sizeof *pixels);
    return true;
}

/* ---- HCOMPRESS: quadtrees -------------------------------------------------------------------------------------------- */

enum { HEADER_BYTES = 25, MOST_PLANES = 40, FULL = 0xf };

/* Take a quad, four bits for 2 x 2 places, in Huffman's code. Quads with a single 1 have the shortest codes. */
static unsigned char take_quad(struct bits *bits)
{
    static const struct {
        unsigned char length, code, quad;
    } codes[] = {{4, 8, 3},  {4, 9, 5},  {4, 10, 10}, {4, 11, 12}, {4, 12, 15}, {5, 26, 6},
                 {5, 27, 7}, {5, 28, 9}, {5, 29, 11}, {5, 30, 13}, {6, 62, 0},  {6, 63, 14}};
    uint32_t code = take(bits, 3);
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

/* A quadrant of the coefficients: [rows x columns], rows `pitch` numbers apart. */
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

/* Return the length of an axis of n numbers at a level of the tree or transform; at least 1: an empty tree has a root. */
static int64_t length_at(int64_t n, int level)
{
    return lw_max64(1, lw_divide_up(n, (int64_t)1 << level));
}

/* Take the quads of a plane [rows x columns] from its tree, root first. Quads whose bit in the quad above is 0 are 0, not stored.
 * @param quads  set to [rows / 2 x columns / 2], rounded up @param above  scratch of the same size */
static void take_tree(struct bits *bits, int64_t rows, int64_t columns, unsigned char *quads, unsigned char *above)
{
    quads[0] = take_quad(bits);
    for (int level = levels_of(rows, columns) - 1; level > 0; level--) {
        const int64_t across = length_at(columns, level), across_above = length_at(columns, level + 1);
        memcpy(above, quads, (size_t)(length_at(rows, level + 1) * across_above));
        for (int64_t i = length_at(rows, level) * across - 1; i >= 0; i--) {
            const int64_t row = i / across, column = i % across;
            const int bit = 3 - (int)(2 * (row % 2) + column % 2);
            quads[i] = above[row / 2 * across_above + column / 2] >> bit & 1 ? take_quad(bits) : 0;
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

/* Take the bit planes of a quadrant, highest bit first. Each is stored as a tree, or as a list of all quads if that is shorter. */
static bool take_quadrant(struct bits *bits, const struct quadrant *quadrant, int n_planes, unsigned char *scratch)
{
    const int64_t n = (quadrant->rows + 1) / 2 * ((quadrant->columns + 1) / 2);
    unsigned char *const above = scratch + lw_max64(n, (quadrant->rows + quadrant->columns) / 2 + 1);     /* n may be 0 */
    for (int plane = n_planes - 1; plane >= 0; plane--) {
        const uint32_t way = take(bits, 4);
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

/* ---- HCOMPRESS: the transform ---------------------------------------------------------------------------------------- */

static bool is_negative(uint64_t value) { return (int64_t)value < 0; }
static uint64_t shifted(uint64_t value, int by) { return (uint64_t)((int64_t)value >> by); }

/* Rounding to multiples of `bit`, a power of two. Halves are rounded away from zero. */
struct rounding {
    uint64_t bit;
    uint64_t half;              /* half of `bit`; 0: nothing is rounded */
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

/* Move the first half of n elements to the even places, the second half to the odd ones. @param second  scratch, [n / 2] */
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

/* Turn 2 x 2 coefficients (sum h0; differences hx, hy and hc along rows, columns and both) into values. The sum has lost its lowest
 * bits, which follow from those of the differences. @param power  hx, hy are rounded to 2^(power + 1), hc to 2^power */
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

/* Turn sum and difference, `step` apart at the end of an odd axis, into two values. */
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
    if (levels > 0)
        a[0] = rounded(a[0], rounding_of(levels + 1));
    for (int k = levels - 1; k >= 0; k--) {
        const int64_t n_rows = length_at(rows, k), n_columns = length_at(columns, k);
        for (int64_t i = 0; i < n_rows; i++)
            unshuffle(a + i * columns, n_columns, 1, second);
        for (int64_t j = 0; j < n_columns; j++)
            unshuffle(a + j, n_rows, columns, second);
        invert_pass(a, columns, n_rows, n_columns, k, k == 0 ? 2 : 1);
    }
}

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
    struct bits bits = {.at = code + HEADER_BYTES, .end = code + bytes};
    if (!take_coefficients(&bits, planes, rows, columns, a, scratch))
        return false;
    take(&bits, bits.n % 8);            /* signs begin with a new byte */
    for (int64_t i = 0; i < n; i++)
        if (a[i] != 0 && take(&bits, 1))
            a[i] = -a[i];
    if (bits.is_over)
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
