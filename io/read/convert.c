#include "io/read/convert.h"

#include "base/integers.h"

/* Numbers that are converted at a time, few enough for a cache. */
enum { BLOCK = 1024 };

struct lw_type lw_convert_type(struct lw_type type)
{
    const bool is_half = type.scalar == LW_FLOAT16;
    if (!is_half && !lw_scalar_is_integer(type.scalar))
        return type;
    return (struct lw_type){.scalar = lw_scalar_bytes(type.scalar) > 2 ? LW_FLOAT64 : LW_FLOAT32, .is_complex = type.is_complex};
}

/* Convert `n` samples; a complex sample counts once. */
static void convert(struct lw_type type, const struct lw_packing *packing, const void *from, int64_t n, enum lw_scalar to_scalar,
                    void *to)
{
    double numbers[BLOCK];
    const int64_t parts = type.is_complex ? 2 : 1;
    const int64_t from_bytes = (int64_t)lw_type_bytes(type), to_bytes = (int64_t)lw_scalar_bytes(to_scalar) * parts;
    for (int64_t at = 0, count; at < n; at += count) {
        count = lw_min64(BLOCK / parts, n - at);
        lw_type_numbers(type, (const char *)from + at * from_bytes, count * parts, numbers);
        lw_packing_undo(packing, type, count, numbers);
        void *const into = (char *)to + at * to_bytes;
        if (to_scalar == LW_FLOAT64)
            memcpy(into, numbers, (size_t)(count * to_bytes));
        else
            for (int64_t i = 0; i < count * parts; i++)
                ((float *)into)[i] = (float)numbers[i];
    }
}

void lw_convert_fill_nan(struct lw_type type, int64_t n, void *to)
{
    const size_t bytes = lw_scalar_bytes(type.scalar);
    const float single = NAN;
    const double twice = NAN;
    for (int64_t i = 0; i < n * (type.is_complex ? 2 : 1); i++)
        lw_copy_ordered((char *)to + i * (int64_t)bytes, bytes == 4 ? (const void *)&single : &twice, bytes, type.is_swapped);
}

/* ---- rows, converted by threads --------------------------------------------------------------------------------------- */

/* Samples that a thread converts at a time. */
#define PIECE_VALUES ((int64_t)1 << 18)

static int convert_piece(void *context, int64_t piece, int thread, struct lw_error *err)
{
    const struct lw_conversion *const c = context;
    const bool makes_magnitudes = c->makes_magnitudes && c->type.is_complex;
    const int64_t value = (int64_t)lw_scalar_bytes(c->to) * (c->type.is_complex && !makes_magnitudes ? 2 : 1);
    const int64_t row = piece / c->pieces_per_row, begin = piece % c->pieces_per_row * PIECE_VALUES;
    const int64_t n = lw_min64(PIECE_VALUES, c->length - begin);
    const char *const from = c->stored + row * c->stored_pitch + begin * (int64_t)lw_type_bytes(c->type);
    void *const to = c->into + row * c->into_pitch + begin * value;
    double numbers[BLOCK];
    (void)thread;
    (void)err;
    if (!makes_magnitudes)
        convert(c->type, c->packing, from, n, c->to, to);
    for (int64_t at = 0, count; makes_magnitudes && at < n; at += count) {
        count = lw_min64(BLOCK / 2, n - at);
        convert(c->type, c->packing, from + at * (int64_t)lw_type_bytes(c->type), count, LW_FLOAT64, numbers);
        for (int64_t i = 0; i < count; i++)
            ((double *)to)[at + i] = hypot(numbers[2 * i], numbers[2 * i + 1]);
    }
    return LW_OK;
}

void lw_conversion_begin(struct lw_conversion *conversion, struct lw_pool *pool)
{
    conversion->pieces_per_row = lw_divide_up(conversion->length, PIECE_VALUES);
    conversion->batch = (struct lw_batch){.lane = LW_LANE_READ, .n_pieces = conversion->n_rows * conversion->pieces_per_row,
                                          .work = convert_piece, .context = conversion};
    if (pool)
        lw_pool_start(pool, &conversion->batch);
    for (int64_t p = 0; !pool && p < conversion->batch.n_pieces; p++)
        convert_piece(conversion, p, 0, NULL);
}

void lw_conversion_end(struct lw_conversion *conversion, struct lw_pool *pool)
{
    if (pool)
        lw_pool_wait(pool, &conversion->batch, NULL);
}
