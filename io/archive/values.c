#include "io/archive/values.h"

#include "base/integers.h"

static const struct {
    int64_t bytes;
    const char *text;
} table[LW_N_NUMBERS] = {
#define X(name, type, text) [name] = {(int64_t)sizeof(type), text},
    LW_NUMBERS(X)
#undef X
    [LW_NUMBER_FLOAT16] = {(int64_t)sizeof(uint16_t), "float16"},
};

int64_t lw_number_bytes(enum lw_number number)
{
    return table[number].bytes;
}

const char *lw_number_text(enum lw_number number)
{
    return table[number].text;
}

bool lw_number_parse(const char *text, enum lw_number *out)
{
    for (int number = 0; number < LW_N_NUMBERS; number++)
        if (strcmp(text, table[number].text) == 0) {
            *out = (enum lw_number)number;
            return true;
        }
    return false;
}

int64_t lw_values_bytes(const struct lw_values *values)
{
    return table[values->number].bytes * (values->is_complex ? 2 : 1);
}

/* ---- the type of the samples ------------------------------------------------------------------------------------------ */

/* Find the scalar type that is the same as a stored type. Returns false if LW_SCALARS lacks the type. */
static bool find_same(enum lw_number number, enum lw_scalar *scalar)
{
    return lw_scalar_parse(table[number].text, scalar) && *scalar < LW_N_SCALARS;
}

bool lw_values_are_flat(const struct lw_values *values)
{
    enum lw_scalar scalar;
    return !values->as_float64 && !values->is_about_middle && !values->is_scaled && !values->has_blank &&
           find_same(values->number, &scalar) && !(values->is_complex && lw_scalar_is_integer(scalar));
}

static enum lw_scalar find_float(const struct lw_values *values)
{
    const bool fits_float32 = values->number == LW_NUMBER_FLOAT32 || table[values->number].bytes < 4;
    return fits_float32 && !values->as_float64 ? LW_FLOAT32 : LW_FLOAT64;
}

struct lw_type lw_values_type(const struct lw_values *values)
{
    struct lw_type type = {.is_complex = values->is_complex};
    if (values->is_about_middle && !values->as_float64) {
        type.scalar = values->number == LW_NUMBER_INT16 ? LW_UINT16 : LW_INT8;
    } else if (lw_values_are_flat(values)) {
        find_same(values->number, &type.scalar);
        type.is_swapped = values->is_swapped && table[values->number].bytes > 1;
    } else {
        type.scalar = find_float(values);
    }
    return type;
}

/* ---- conversion ------------------------------------------------------------------------------------------------------- */

/* Numbers converted at a time: they stay in the processor's cache. */
enum { BLOCK = 512 };

/* Copy n values to `numbers` as float64, complex ones as pairs; blanks become NaN. @param from_step  as lw_values_convert's */
static void load(const struct lw_values *values, const char *from, int64_t from_step, int64_t n, double *numbers)
{
    const int64_t parts = values->is_complex ? 2 : 1, bytes = lw_number_bytes(values->number);
    const bool is_swapped = values->is_swapped;
    switch (values->number) {
#define X(name, type, text)                                                                                          \
    case name:                                                                                                       \
        for (int64_t i = 0; i < n * parts; i++) {                                                                    \
            type number;                                                                                             \
            lw_copy_ordered(&number, from + (i / parts * from_step * parts + i % parts) * bytes, sizeof number, is_swapped); \
            numbers[i] = values->has_blank && (int64_t)number == values->blank ? (double)NAN : (double)number;       \
        }                                                                                                            \
        break;
        LW_NUMBERS(X)
#undef X
    case LW_NUMBER_FLOAT16:
    case LW_N_NUMBERS:
        for (int64_t i = 0; i < n * parts; i++) {
            uint16_t half;
            lw_copy_ordered(&half, from + (i / parts * from_step * parts + i % parts) * bytes, sizeof half, is_swapped);
            numbers[i] = lw_half_value(half);
        }
    }
}

static void store(enum lw_scalar scalar, const double *numbers, int64_t n, int64_t parts, char *to, int64_t to_step)
{
    float *const singles = (float *)(void *)to;
    double *const doubles = (double *)(void *)to;
    for (int64_t i = 0; i < n * parts; i++) {
        const int64_t at = i / parts * to_step * parts + i % parts;
        if (scalar == LW_FLOAT32)
            singles[at] = (float)numbers[i];
        else
            doubles[at] = numbers[i];
    }
}

static void convert_by_float64(const struct lw_values *values, const char *from, int64_t from_step, int64_t n, char *to,
                               int64_t to_step)
{
    double numbers[BLOCK];
    const double middle = values->number == LW_NUMBER_INT16 ? 32768 : -128;
    const enum lw_scalar scalar = find_float(values);
    const int64_t parts = values->is_complex ? 2 : 1, bytes = (int64_t)lw_scalar_bytes(scalar) * parts;
    for (int64_t at = 0, count; at < n; at += count) {
        count = lw_min64(BLOCK / parts, n - at);
        load(values, from + at * from_step * lw_values_bytes(values), from_step, count, numbers);
        for (int64_t i = 0; i < count * parts && values->is_about_middle; i++)
            numbers[i] += middle;
        for (int64_t i = 0; i < count * parts && values->is_scaled; i++)
            numbers[i] = values->zero + values->scale * numbers[i];
        store(scalar, numbers, count, parts, to + at * to_step * bytes, to_step);
    }
}

/* Convert values about the middle: flipping the highest bit adds or subtracts half of the range. */
static void convert_about_middle(const struct lw_values *values, const char *from, int64_t from_step, int64_t n, char *to,
                                 int64_t to_step)
{
    const int64_t bytes = lw_number_bytes(values->number);
    for (int64_t i = 0; i < n; i++) {
        uint16_t number;
        if (bytes == 1) {
            to[i * to_step] = (char)((unsigned char)from[i * from_step] ^ 0x80);
            continue;
        }
        lw_copy_ordered(&number, from + i * from_step * bytes, sizeof number, values->is_swapped);
        number ^= 0x8000;
        memcpy(to + i * to_step * bytes, &number, sizeof number);
    }
}

void lw_values_convert(const struct lw_values *values, const void *from, int64_t from_step, int64_t n, void *to, int64_t to_step)
{
    const int64_t bytes = lw_values_bytes(values);
    const char *const numbers = from;
    char *const samples = to;
    if (values->is_about_middle && !values->as_float64)
        convert_about_middle(values, from, from_step, n, to, to_step);
    else if (!lw_values_are_flat(values))
        convert_by_float64(values, from, from_step, n, to, to_step);
    else if (from_step == 1 && to_step == 1)
        memcpy(to, from, (size_t)(n * bytes));
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(samples + i * to_step * bytes, numbers + i * from_step * bytes, (size_t)bytes);
}
