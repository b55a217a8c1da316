#include "io/archive/fits/rice.h"

#include "base/integers.h"

/* Bits that have been read and not taken, the next one highest. */
struct bits {
    const unsigned char *at, *end;
    uint64_t held;
    int n;
};

/* At least 32, as long as there are so many; zeros behind the end, of which `n` counts none. */
static void fill(struct bits *bits)
{
    while (bits->n <= 56 && bits->at < bits->end) {
        bits->held |= (uint64_t)*bits->at++ << (56 - bits->n);
        bits->n += 8;
    }
}

/* @param count  up to 32 */
static bool take(struct bits *bits, int count, uint32_t *out)
{
    fill(bits);
    if (bits->n < count)
        return false;
    *out = count > 0 ? (uint32_t)(bits->held >> (64 - count)) : 0;
    bits->held <<= count;
    bits->n -= count;
    return true;
}

/* Zeros before the next one, which is taken, too. */
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

/* What the width of pixels fixes. */
struct width {
    int bits, fs_bits, fs_raw;          /* fs_raw: differences stand as they are */
    uint32_t mask;
};

static struct width width_of(int pixel_bytes)
{
    switch (pixel_bytes) {
    case 1:
        return (struct width){8, 3, 6, 0xff};
    case 2:
        return (struct width){16, 4, 14, 0xffff};
    default:
        return (struct width){32, 5, 25, 0xffffffff};
    }
}

static int32_t signed_pixel(uint32_t pixel, int pixel_bytes)
{
    if (pixel_bytes == 1)
        return (int32_t)(pixel & 0xff);
    return pixel_bytes == 2 ? (int32_t)(int16_t)(uint16_t)pixel : (int32_t)pixel;
}

static bool take_difference(struct bits *bits, const struct width *width, int fs, uint32_t *out)
{
    uint32_t high, low;
    if (fs == width->fs_raw)
        return take(bits, width->bits, out);
    if (!count_zeros(bits, width->mask >> fs, &high) || !take(bits, fs, &low))
        return false;
    *out = (fs < 32 ? high << fs : 0) | low;
    return true;
}

bool lw_rice_decode(const unsigned char *code, int64_t bytes, int pixel_bytes, int64_t block, int64_t n, int32_t *pixels)
{
    const struct width width = width_of(pixel_bytes);
    struct bits bits = {.at = code, .end = code + bytes};
    uint32_t last, fs_code;
    if (!take(&bits, width.bits, &last))
        return false;
    for (int64_t first = 0; first < n; first += block) {
        if (!take(&bits, width.fs_bits, &fs_code))
            return false;
        const int fs = (int)fs_code - 1;
        if (fs > width.fs_raw)
            return false;
        for (int64_t i = first; i < lw_min64(first + block, n); i++) {
            uint32_t folded = 0;
            if (fs >= 0 && !take_difference(&bits, &width, fs, &folded))
                return false;
            last += folded & 1 ? ~(folded >> 1) : folded >> 1;
            pixels[i] = signed_pixel(last, pixel_bytes);
        }
    }
    return true;
}
