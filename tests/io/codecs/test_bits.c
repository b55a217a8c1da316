/* test_bits.c - tests of the inverse of bitshuffle: bits return to their places, for any size and number of elements, against a
 * loop over single bits. */
#include "../../check.h"
#include "io/codecs/filter.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 20, MOST = 3000 };

static void fill(char *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (char)rand();
}

/* Slow inverse: bit b of byte k of element e, one after the other. */
static void restore_slowly(const char *from, int64_t n, int64_t size, char *to)
{
    memset(to, 0, (size_t)(n * size));
    for (int64_t e = 0; e < n; e++)
        for (int64_t k = 0; k < size; k++)
            for (int b = 0; b < 8; b++)
                to[e * size + k] = (char)(to[e * size + k] | (from[(8 * k + b) * (n / 8) + e / 8] >> e % 8 & 1) << b);
}

static void check_block(int64_t n, int64_t size)
{
    char *const from = malloc((size_t)(n * size + 1)), *const fast = malloc((size_t)(n * size + 1));
    char *const slow = malloc((size_t)(n * size + 1));
    fill(from, n * size);
    lw_bits_restore(from, n, size, fast);
    restore_slowly(from, n, size, slow);
    CHECK(memcmp(fast, slow, (size_t)(n * size)) == 0, "%d elements of %d bytes", (int)n, (int)size);
    free(from);
    free(fast);
    free(slow);
}

/* Whole blocks, one shorter block, and the last few elements, which are not shuffled. */
static void check_blocks(int64_t n, int64_t size, int64_t block)
{
    static char from[MOST], fast[MOST], slow[MOST];
    const int64_t end = n / 8 * 8;
    fill(from, n * size);
    memcpy(slow, from, (size_t)(n * size));
    for (int64_t i = 0; i < end; i += block)
        restore_slowly(from + i * size, i + block < end ? block : end - i, size, slow + i * size);
    lw_bits_restore_blocks(from, n * size, size, block * size, fast);
    CHECK(memcmp(fast, slow, (size_t)(n * size)) == 0, "%d elements of %d bytes in blocks of %d", (int)n, (int)size, (int)block);
}

int main(void)
{
    for (int64_t size = 1; size <= LONGEST; size++)
        for (int64_t n = 0; n < 400; n += 8)
            check_block(n, size);
    for (int64_t size = 1; size <= LONGEST; size++) {
        check_block(4096, size);
        check_block(1032, size);
    }
    for (int64_t size = 1; size <= 5; size++)
        for (int64_t n = 0; n < 100; n++)
            for (int64_t block = 8; block <= 64; block += 8)
                check_blocks(n, size, block);
    CHECK(lw_bits_default_block(1) == 8192 && lw_bits_default_block(2) == 4096 && lw_bits_default_block(12) == 680 &&
          lw_bits_default_block(64) == 128 && lw_bits_default_block(100000) == 128, "the default blocks have the wrong size");
    return check_result("bits");
}
