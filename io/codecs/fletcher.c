#include "io/codecs/fletcher.h"

/* Sums in ones' complement: only of zeros alone is the sum 0. */
static uint64_t fold(uint64_t sum)
{
    return sum == 0 ? 0 : 1 + (sum - 1) % 65535;
}

static uint32_t word(const unsigned char *data)
{
    return (uint32_t)data[0] << 8 | data[1];
}

/* Fletcher's sums: of the words, and of these sums after every word. */
struct sums {
    uint64_t first, second;
};

static struct sums fold_sums(uint64_t first, uint64_t second)
{
    return (struct sums){fold(first), fold(second)};
}

/* The words of a block, in lanes side by side: with a[j] and b[j] the two sums of lane j, those of all words are the sum of
 * a[j], and of LANES b[j] - j a[j]. A lane has few enough words for 32 bits. */
enum { LANES = 16, LANE_WORDS = 256, BLOCK_WORDS = LANES * LANE_WORDS };

static struct sums add_block(struct sums sums, const unsigned char *data)
{
    uint32_t a[LANES] = {0}, b[LANES] = {0};
    for (int w = 0; w < LANE_WORDS; w++, data += 2 * LANES)
        for (int j = 0; j < LANES; j++) {
            a[j] += word(data + 2 * j);
            b[j] += a[j];
        }
    sums.second += BLOCK_WORDS * sums.first;
    for (uint64_t j = 0; j < LANES; j++) {
        sums.first += a[j];
        sums.second += LANES * (uint64_t)b[j] - j * a[j];
    }
    return fold_sums(sums.first, sums.second);
}

/* Of 16-bit words, the first byte the higher one; an odd last byte is the higher one of a word. */
static uint32_t checksum(const char *from, int64_t bytes)
{
    const unsigned char *data = (const unsigned char *)from, *const end = data + bytes;
    struct sums sums = {0, 0};
    for (; end - data >= 2 * BLOCK_WORDS; data += 2 * BLOCK_WORDS)
        sums = add_block(sums, data);
    for (; end - data > 0; data += 2) {
        sums.first += end - data > 1 ? word(data) : (uint32_t)data[0] << 8;
        sums.second += sums.first;
    }
    sums = fold_sums(sums.first, sums.second);
    return (uint32_t)(sums.second << 16 | sums.first);
}

/* Least byte first; HDF5 before 1.6.3 exchanged the bytes of both sums on such machines, and still reads that, too. */
int64_t lw_fletcher_check(const char *from, int64_t bytes)
{
    const int64_t n = bytes - 4;
    if (n < 0)
        return -1;
    const unsigned char *const b = (const unsigned char *)from + n;
    const uint32_t stored = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    const uint32_t sum = checksum(from, n), swapped = (sum & 0x00ff00ffu) << 8 | (sum >> 8 & 0x00ff00ffu);
    return stored == sum || stored == swapped ? n : -1;
}
