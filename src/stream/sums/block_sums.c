#include "stream/sums/block_sums.h"

#include "base/integers.h"
#include "io/codecs/hash.h"

/* Approximate bytes of a piece of work for a thread. */
enum { PIECE_BYTES = 1 << 19 };

/* A rank's block whose sums are being computed. A piece of work is some consecutive grid blocks on the axis and of channels. */
struct work {
    const struct lw_sums_shape *shape;
    const struct lw_block *block;
    const char *data;
    char *gather;
    uint64_t *sums;
    int64_t n_elements; /* elements of a channel */
    int64_t n_blocks, n_channel_blocks; /* grid blocks on the axis and of channels */
    int64_t piece_blocks, piece_channels; /* the same of a piece */
};

int64_t lw_sums_blocks(const struct lw_sums_shape *shape, int64_t n_outputs) { return lw_divide_up(n_outputs, shape->unit); }

int64_t lw_sums_channel_blocks(const struct lw_sums_shape *shape, int64_t n_channels)
{
    return lw_divide_up(n_channels, shape->channel_unit);
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

static int64_t first_element(const struct lw_sums_shape *shape, int64_t output)
{
    return lw_divide_up(output, shape->every) * shape->rate;
}

/* Return the elements of some outputs. After the last output of the axis none is interpolated. */
static int64_t count_elements(const struct lw_sums_shape *shape, int64_t first, int64_t count)
{
    const int64_t all = first_element(shape, first + count) - first_element(shape, first);
    return all - (count > 0 && first + count == shape->n_outputs ? shape->rate - 1 : 0);
}

/* Return the first element of grid block k, counted in a channel of the work. @param count  set to its number of elements */
static int64_t place_block(const struct work *work, int64_t k, int64_t *count)
{
    const struct lw_sums_shape *const shape = work->shape;
    const int64_t first = work->block->first + k * shape->unit;
    const int64_t end = lw_min64(first + shape->unit, work->block->first + work->block->count);
    *count = count_elements(shape, first, end - first);
    return first_element(shape, first) - first_element(shape, work->block->first);
}

static int64_t count_channels(const struct work *work, int64_t channel_block)
{
    return lw_min64(work->shape->channel_unit, work->block->n_channels - channel_block * work->shape->channel_unit);
}

static uint64_t *sum_at(const struct work *work, int64_t plane, int64_t channel_block, int64_t k)
{
    return work->shape->layout == LW_TIME_FAST ? work->sums + (plane * work->n_channel_blocks + channel_block) * work->n_blocks + k
                                               : work->sums + (plane * work->n_blocks + k) * work->n_channel_blocks + channel_block;
}

/* ---- time fast: the elements of a channel lie side by side ------------------------------------------------------- */

static uint64_t sum_rows(const struct work *work, int64_t plane, int64_t channel_block, int64_t k)
{
    const struct lw_sums_shape *const shape = work->shape;
    const int64_t bytes = shape->width * shape->value_bytes, channels = count_channels(work, channel_block);
    int64_t count;
    const int64_t first = place_block(work, k, &count), channel = channel_block * shape->channel_unit;
    const char *const data = work->data + ((plane * work->block->n_channels + channel) * work->n_elements + first) * bytes;
    if (channels == 1)
        return lw_hash_of(data, (size_t)(count * bytes));
    struct lw_hash hash;
    lw_hash_begin(&hash);
    for (int64_t c = 0; c < channels; c++)
        lw_hash_add(&hash, data + c * work->n_elements * bytes, (size_t)(count * bytes));
    return lw_hash_end(&hash);
}

/* Sixteen bytes: a complex number in double precision. */
struct sixteen {
    uint64_t parts[2];
};

/* ---- time slow: the elements of a channel are gathered first ----------------------------------------------------- */

/* Gather rows [begin, end), at most ROWS, of n channels. So few rows stay in the cache, yet fill whole cache lines of gathered
 * elements. */
#define SIZES(X) X(1, uint8_t) X(2, uint16_t) X(4, uint32_t) X(8, uint64_t) X(16, struct sixteen)
enum { ROWS = 32 };
#define X(size, type)                                                                                                          \
    static void gather_##size(const void *from, int64_t row, int64_t n, int64_t begin, int64_t end, int64_t count, void *into) \
    {                                                                                                                          \
        for (int64_t c = 0; c < n; c++)                                                                                        \
            for (int64_t i = begin; i < end; i++)                                                                              \
                ((type *)into)[c * count + i] = ((const type *)from)[i * row + c];                                             \
    }
SIZES(X)
#undef X

/* Gather elements [first, first + count) of channels [channel, channel + n) of a plane, channel after channel. */
static void gather(const struct work *work, int64_t plane, int64_t channel, int64_t n, int64_t first, int64_t count, char *into)
{
    const int64_t bytes = work->shape->value_bytes, row = work->block->n_channels;
    const char *const from = work->data + ((plane * work->n_elements + first) * row + channel) * bytes;
    for (int64_t i = 0; i < count; i += ROWS)
        switch (bytes) {
#define X(size, type)                                                        \
    case size:                                                               \
        gather_##size(from, row, n, i, lw_min64(i + ROWS, count), count, into); \
        break;
            SIZES(X)
#undef X
        }
}

/* Hash a grid block that is too long to be gathered at once. */
static uint64_t sum_long(const struct work *work, int64_t plane, int64_t channel_block, int64_t first, int64_t count, char *into)
{
    const int64_t most = LW_SUMS_GATHER_BYTES / work->shape->value_bytes, channel = channel_block * work->shape->channel_unit;
    struct lw_hash hash;
    lw_hash_begin(&hash);
    for (int64_t c = 0; c < count_channels(work, channel_block); c++)
        for (int64_t i = 0; i < count; i += most) {
            const int64_t n = lw_min64(most, count - i);
            gather(work, plane, channel + c, 1, first + i, n, into);
            lw_hash_add(&hash, into, (size_t)(n * work->shape->value_bytes));
        }
    return lw_hash_end(&hash);
}

static void sum_columns(const struct work *work, int64_t plane, int64_t begin, int64_t end, int64_t k, char *into)
{
    const struct lw_sums_shape *const shape = work->shape;
    int64_t count;
    const int64_t first = place_block(work, k, &count), channel = begin * shape->channel_unit;
    const int64_t n = lw_min64(end * shape->channel_unit, work->block->n_channels) - channel, bytes = count * shape->value_bytes;
    const bool has_room = n * bytes <= LW_SUMS_GATHER_BYTES;
    if (has_room)
        gather(work, plane, channel, n, first, count, into);
    for (int64_t b = begin; b < end; b++)
        *sum_at(work, plane, b, k) =
            has_room ? lw_hash_of(into + (b - begin) * shape->channel_unit * bytes, (size_t)(count_channels(work, b) * bytes))
                     : sum_long(work, plane, b, first, count, into);
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static int do_piece(void *context, int64_t piece, int thread, struct lw_error *err)
{
    const struct work *const work = context;
    const int64_t runs = lw_divide_up(work->n_blocks, work->piece_blocks),
                  parts = lw_divide_up(work->n_channel_blocks, work->piece_channels);
    const int64_t run = piece % runs, part = piece / runs % parts, plane = piece / runs / parts;
    const int64_t begin = part * work->piece_channels, end = lw_min64(begin + work->piece_channels, work->n_channel_blocks);
    (void)err;
    for (int64_t k = run * work->piece_blocks; k < lw_min64((run + 1) * work->piece_blocks, work->n_blocks); k++) {
        if (work->shape->layout == LW_TIME_SLOW)
            sum_columns(work, plane, begin, end, k, work->gather + thread * LW_SUMS_GATHER_BYTES);
        for (int64_t b = begin; work->shape->layout == LW_TIME_FAST && b < end; b++)
            *sum_at(work, plane, b, k) = sum_rows(work, plane, b, k);
    }
    return LW_OK;
}

void lw_sums_of_block(const struct lw_sums_shape *shape, const struct lw_block *block, const void *data, char *gather_memory,
                      struct lw_pool *pool, uint64_t *sums)
{
    struct work work = {
        .shape = shape, .block = block, .data = data, .gather = gather_memory, .sums = sums,
        .n_elements = count_elements(shape, block->first, block->count), .n_blocks = lw_sums_blocks(shape, block->count),
        .n_channel_blocks = lw_sums_channel_blocks(shape, block->n_channels),
    };
    if (block->count == 0)
        return;
    const int64_t elements = lw_divide_up(shape->unit, shape->every) * shape->rate * shape->width;
    const int64_t bytes = lw_max64(1, elements * shape->channel_unit * shape->value_bytes);
    work.piece_channels = shape->layout == LW_TIME_SLOW ? lw_max64(1, LW_SUMS_GATHER_BYTES / bytes) : 1;
    work.piece_blocks = lw_max64(1, PIECE_BYTES / (bytes * work.piece_channels));
    const int64_t n_pieces = work.shape->n_planes * lw_divide_up(work.n_channel_blocks, work.piece_channels) *
                             lw_divide_up(work.n_blocks, work.piece_blocks);
    if (!pool) {
        for (int64_t piece = 0; piece < n_pieces; piece++)
            do_piece(&work, piece, 0, NULL);
        return;
    }
    struct lw_batch batch = {.lane = LW_LANE_WRITE, .n_pieces = n_pieces, .work = do_piece, .context = &work};
    lw_pool_start(pool, &batch);
    lw_pool_wait(pool, &batch, NULL);
}
