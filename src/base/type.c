#include "base/type.h"

#include <stdio.h>

static const struct {
    size_t bytes;
    bool is_integer, is_signed;
    const char *text;
} scalars[LW_N_RESULT_SCALARS] = {
#define X(name, type, text) [name] = {sizeof(type), (type)0.5 == 0, (type)-1 < (type)1, text},
    LW_SCALARS(X)
#undef X
    [LW_FLOAT16] = {sizeof(uint16_t), false, true, "float16"},
};

size_t lw_scalar_bytes(enum lw_scalar scalar) { return scalars[scalar].bytes; }

bool lw_scalar_is_integer(enum lw_scalar scalar) { return scalars[scalar].is_integer; }

bool lw_scalar_is_signed(enum lw_scalar scalar) { return scalars[scalar].is_signed; }

bool lw_scalar_saturates(enum lw_scalar scalar) { return scalars[scalar].is_integer || scalar == LW_FLOAT16; }

size_t lw_type_bytes(struct lw_type type) { return scalars[type.scalar].bytes * (type.is_complex ? 2 : 1); }

const char *lw_type_text(struct lw_type type, char text[40])
{
    const char *const order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? " (big endian)" : " (little endian)";
    snprintf(text, 40, "%s%s%s", type.is_complex ? "complex " : "", scalars[type.scalar].text, type.is_swapped ? order : "");
    return text;
}

int64_t lw_type_not_finite(struct lw_type type, enum lw_precision precision, const void *samples, int64_t count, int64_t *lowest)
{
    if (lw_scalar_is_integer(type.scalar))
        return 0;
    const int parts = type.is_complex ? 2 : 1;
    int64_t found = 0;
    for (int64_t i = 0; i < count; i++) {
        bool finite = true;
        for (int part = 0; part < parts; part++) {
            const double value = lw_type_number(type, samples, i * parts + part);
            finite = finite && (precision == LW_SINGLE ? isfinite((float)value) : isfinite(value));
        }
        if (!finite && found++ == 0)
            *lowest = i;
    }
    return found;
}

/* Copy numbers of 2, 4 or 8 bytes in the opposite byte order. */
static void swap_numbers(const void *from, size_t bytes, int64_t n, void *to)
{
    for (int64_t i = 0; bytes == 2 && i < n; i++)
        ((uint16_t *)to)[i] = __builtin_bswap16(((const uint16_t *)from)[i]);
    for (int64_t i = 0; bytes == 4 && i < n; i++)
        ((uint32_t *)to)[i] = __builtin_bswap32(((const uint32_t *)from)[i]);
    for (int64_t i = 0; bytes == 8 && i < n; i++)
        ((uint64_t *)to)[i] = __builtin_bswap64(((const uint64_t *)from)[i]);
}

/* Each type has a loop of its own, which is about as fast as memory. */
void lw_type_numbers(struct lw_type type, const void *samples, int64_t n, double *numbers)
{
    enum { BATCH = 256 };
    const size_t bytes = lw_scalar_bytes(type.scalar);
    if (type.is_swapped && bytes > 1 && type.scalar != LW_FLOAT16) {
        double swapped[BATCH];
        for (int64_t i = 0; i < n; i += BATCH) {
            const int64_t count = n - i < BATCH ? n - i : BATCH;
            swap_numbers((const char *)samples + (size_t)i * bytes, bytes, count, swapped);
            lw_type_numbers((struct lw_type){.scalar = type.scalar}, swapped, count, numbers + i);
        }
        return;
    }
    if (type.scalar == LW_FLOAT16) {
        for (int64_t i = 0; i < n; i++)
            numbers[i] = lw_type_number(type, samples, i);
        return;
    }
    switch (type.scalar) {
#define X(name, ctype, text)                                                    \
    case name:                                                                  \
        for (int64_t i = 0; i < n; i++)                                         \
            numbers[i] = (double)((const ctype *)samples)[i];                   \
        break;
        LW_SCALARS(X)
#undef X
    case LW_FLOAT16: break;
    }
}

void lw_type_put(struct lw_type type, void *numbers, int64_t i, double value)
{
    const double n_values = ldexp(1, 8 * (int)lw_scalar_bytes(type.scalar));
    const double low = lw_scalar_is_signed(type.scalar) ? -n_values / 2 : 0;
    if (lw_scalar_is_integer(type.scalar))
        value = fmin(fmax(nearbyint(value), low), low + n_values - 1);
    switch (type.scalar) {
#define X(name, ctype, text)                                                                   \
    case name: {                                                                               \
        const ctype stored = (ctype)value;                                                     \
        lw_copy_ordered((ctype *)numbers + i, &stored, sizeof stored, type.is_swapped);        \
        break;                                                                                 \
    }
        LW_SCALARS(X)
#undef X
    case LW_FLOAT16: break;
    }
}

bool lw_scalar_parse(const char *text, enum lw_scalar *out)
{
    for (int scalar = 0; scalar < LW_N_RESULT_SCALARS; scalar++) {
        if (strcmp(text, scalars[scalar].text) == 0) {
            *out = (enum lw_scalar)scalar;
            return true;
        }
    }
    return false;
}
