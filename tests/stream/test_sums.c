/* test_sums.c - tests of the checksums of blocks. Each is that of the elements that the header names, gathered one by one: in
 * either layout, for pairs of channels, thinned out and interpolated. Any cut of the array gives the same checksums, with a pool
 * and without. */
#include "../check.h"
#include "io/codecs/hash.h"
#include "stream/sums/block_sums.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 0x5a };

static int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Number of elements of the first `outputs` outputs. */
static int64_t elements_before(const struct lw_sums_shape *s, int64_t outputs)
{
    return outputs >= s->n_outputs ? up(s->n_outputs, s->every) * s->rate - (s->rate - 1) : up(outputs, s->every) * s->rate;
}

/* Bytes that encode the place of each value; an element has `width` values. */
static char *make_array(const struct lw_sums_shape *s, int64_t length)
{
    const int64_t n = s->n_planes * s->n_channels * length * s->width * s->value_bytes;
    char *const data = malloc((size_t)n);
    for (int64_t i = 0; data && i < n; i++)
        data[i] = (char)(i * 2654435761 >> 13 ^ i);
    return data;
}

static const char *element(const struct lw_sums_shape *s, const char *data, int64_t length, int64_t plane, int64_t channel,
                           int64_t i)
{
    const int64_t at = s->layout == LW_TIME_FAST ? (plane * s->n_channels + channel) * length + i
                                                 : (plane * length + i) * s->n_channels + channel;
    return data + at * s->width * s->value_bytes;
}

/* The checksum by definition: the block's elements gathered one by one. */
static uint64_t wanted(const struct lw_sums_shape *s, const char *data, int64_t length, int64_t plane, int64_t channel_block,
                       int64_t block)
{
    const int64_t bytes = s->width * s->value_bytes;
    char *const all = malloc((size_t)(s->channel_unit * length * bytes + 1));
    int64_t used = 0;
    for (int64_t c = channel_block * s->channel_unit; all && c < (channel_block + 1) * s->channel_unit && c < s->n_channels; c++)
        for (int64_t i = elements_before(s, block * s->unit); i < elements_before(s, (block + 1) * s->unit); i++, used += bytes)
            memcpy(all + used, element(s, data, length, plane, c, i), (size_t)bytes);
    const uint64_t sum = lw_hash_of(all, (size_t)used);
    free(all);
    return sum;
}

/* The block's part of the array, packed as an engine packs it. */
static char *cut(const struct lw_sums_shape *s, const char *data, int64_t length, const struct lw_block *block)
{
    const int64_t first = elements_before(s, block->first), count = elements_before(s, block->first + block->count) - first;
    const int64_t bytes = s->width * s->value_bytes;
    char *const part = malloc((size_t)(s->n_planes * block->n_channels * count * bytes + 1));
    char *to = part;
    for (int64_t p = 0; part && p < s->n_planes; p++)
        for (int64_t outer = 0; outer < (s->layout == LW_TIME_FAST ? block->n_channels : count); outer++)
            for (int64_t inner = 0; inner < (s->layout == LW_TIME_FAST ? count : block->n_channels); inner++, to += bytes) {
                const int64_t c = s->layout == LW_TIME_FAST ? outer : inner, i = s->layout == LW_TIME_FAST ? inner : outer;
                memcpy(to, element(s, data, length, p, block->channel + c, first + i), (size_t)bytes);
            }
    return part;
}

static void check_block(const struct lw_sums_shape *s, const char *data, int64_t length, const struct lw_block *block,
                        char *gather, struct lw_pool *pool)
{
    const int64_t blocks = lw_sums_blocks(s, block->count), channels = lw_sums_channel_blocks(s, block->n_channels);
    const int64_t n = s->n_planes * blocks * channels;
    uint64_t *const sums = malloc((size_t)(n + 1) * sizeof *sums);
    char *const part = cut(s, data, length, block);
    int64_t n_wrong = 0;
    if (!sums || !part)
        abort();
    memset(sums, GUARD, (size_t)(n + 1) * sizeof *sums);
    lw_sums_of_block(s, block, part, gather, pool, sums);
    for (int64_t p = 0; p < s->n_planes; p++)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t k = 0; k < blocks; k++) {
                const int64_t at = s->layout == LW_TIME_FAST ? (p * channels + c) * blocks + k : (p * blocks + k) * channels + c;
                n_wrong +=
                    sums[at] != wanted(s, data, length, p, block->channel / s->channel_unit + c, block->first / s->unit + k);
            }
    uint64_t guard;
    memset(&guard, GUARD, sizeof guard);
    CHECK(n_wrong == 0 && sums[n] == guard,
          "%s, %" PRId64 " x %" PRId64 " by %" PRId64 " x %" PRId64 ", rate %d, every %" PRId64 ", %" PRId64 " x %" PRId64
          " bytes, outputs %" PRId64 " + %" PRId64 ", channels %" PRId64 " + %" PRId64 ": %" PRId64 " of %" PRId64 " are wrong",
          s->layout == LW_TIME_FAST ? "time fast" : "time slow", s->n_channels, s->n_outputs, s->channel_unit, s->unit, s->rate,
          s->every, s->width, s->value_bytes, block->first, block->count, block->channel, block->n_channels, n_wrong, n);
    free(sums);
    free(part);
}

/* The array whole, and cut into two at every place of each dimension. */
static void check_shape(const struct lw_sums_shape *s, char *gather, struct lw_pool *pool)
{
    const int64_t length = elements_before(s, s->n_outputs), blocks = lw_sums_blocks(s, s->n_outputs);
    const int64_t channels = lw_sums_channel_blocks(s, s->n_channels);
    char *const data = make_array(s, length);
    for (int64_t k = 0; k<blocks; k += blocks> 8 ? blocks / 4 : 1)
        for (int64_t c = 0; c < channels; c++) {
            const struct lw_block rest = {.first = k * s->unit,
                                          .count = s->n_outputs - k * s->unit,
                                          .channel = c * s->channel_unit,
                                          .n_channels = s->n_channels - c * s->channel_unit};
            const struct lw_block begin = {.count = k * s->unit, .n_channels = c * s->channel_unit};
            check_block(s, data, length, &rest, gather, pool);
            if (k > 0 && c > 0)
                check_block(s, data, length, &begin, gather, pool);
        }
    free(data);
}

static void check_small(char *gather, struct lw_pool *pool)
{
    static const struct {
        int rate;
        int64_t every;
    } made[] = {{1, 1}, {3, 1}, {1, 2}, {1, 5}, {1, 40}};
    static const int64_t value_bytes[] = {1, 2, 4, 8, 16};
    int turn = 0;
    for (int layout = 0; layout < 2; layout++)
        for (int64_t channels = 1; channels < 6; channels++)
            for (int64_t unit = 1; unit <= 3; unit++)
                for (size_t m = 0; m < sizeof made / sizeof *made; m++)
                    for (int64_t n = 1; n < 60; n += 7) {
                        const struct lw_sums_shape shape = {
                            .layout = layout ? LW_TIME_SLOW : LW_TIME_FAST,
                            .n_planes = 1 + turn % 2,
                            .n_channels = channels,
                            .n_outputs = n,
                            .unit = 1 + turn % 13,
                            .channel_unit = unit,
                            .rate = made[m].rate,
                            .every = made[m].every,
                            .width = layout ? 1 : 1 + turn % 3,
                            .value_bytes = value_bytes[turn % 5],
                        };
                        check_shape(&shape, gather, turn % 2 ? pool : NULL);
                        turn++;
                    }
}

/* Blocks longer than one gathering step, and pieces of several threads. */
static void check_large(char *gather, struct lw_pool *pool)
{
    const struct lw_sums_shape longer = {.layout = LW_TIME_SLOW,
                                         .n_planes = 1,
                                         .n_channels = 3,
                                         .n_outputs = 500000,
                                         .unit = 300000,
                                         .channel_unit = 2,
                                         .rate = 1,
                                         .every = 1,
                                         .width = 1,
                                         .value_bytes = 8};
    const struct lw_sums_shape wide = {.layout = LW_TIME_SLOW,
                                       .n_planes = 2,
                                       .n_channels = 700,
                                       .n_outputs = 3000,
                                       .unit = 1000,
                                       .channel_unit = 1,
                                       .rate = 1,
                                       .every = 1,
                                       .width = 1,
                                       .value_bytes = 4};
    const struct lw_sums_shape fast = {.layout = LW_TIME_FAST,
                                       .n_planes = 2,
                                       .n_channels = 5,
                                       .n_outputs = 200000,
                                       .unit = 1000,
                                       .channel_unit = 2,
                                       .rate = 1,
                                       .every = 1,
                                       .width = 1,
                                       .value_bytes = 4};
    check_shape(&longer, gather, pool);
    check_shape(&fast, gather, pool);
    const int64_t length = elements_before(&wide, wide.n_outputs);
    char *const data = make_array(&wide, length);
    const struct lw_block all = {.count = wide.n_outputs, .n_channels = wide.n_channels};
    check_block(&wide, data, length, &all, gather, pool);
    check_block(&wide, data, length, &all, gather, NULL);
    free(data);
}

int main(void)
{
    enum { THREADS = 3 };
    struct lw_pool *pool = NULL;
    struct lw_error err;
    char *const gather = aligned_alloc(64, (size_t)(THREADS * LW_SUMS_GATHER_BYTES));
    if (!lw_hash_is_there()) {
        fprintf(stderr, "sums: built without xxHash\n");
        free(gather);
        return 1;
    }
    CHECK(gather && lw_pool_create(THREADS, &pool, &err) == LW_OK, "%s", "no pool");
    check_small(gather, pool);
    check_large(gather, pool);
    lw_pool_destroy(pool);
    free(gather);
    return check_result("sums");
}
