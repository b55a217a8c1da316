#include "io/read/convert.h"

#include <assert.h>
#include <math.h>

struct lw_type lw_convert_type(struct lw_type type)
{
    if (!lw_scalar_is_integer(type.scalar))
        return type;
    return (struct lw_type){.scalar = lw_scalar_bytes(type.scalar) > 2 ? LW_FLOAT64 : LW_FLOAT32, .is_complex = type.is_complex};
}

/* A loop for each type and order of bytes, so that each is as fast as memory. */
#define SWAP_1(x) (x)
#define SWAP_2(x) __builtin_bswap16((uint16_t)(x))
#define SWAP_4(x) __builtin_bswap32((uint32_t)(x))
#define INTEGERS(X)                       \
    X(LW_INT8, int8_t, float, SWAP_1)     \
    X(LW_UINT8, uint8_t, float, SWAP_1)   \
    X(LW_INT16, int16_t, float, SWAP_2)   \
    X(LW_UINT16, uint16_t, float, SWAP_2) \
    X(LW_INT32, int32_t, double, SWAP_4)

void lw_convert(struct lw_type type, const void *from, int64_t n, void *to)
{
    const int64_t count = n * (type.is_complex ? 2 : 1);
    switch (type.scalar) {
#define X(name, from_type, to_type, swap)                                       \
    case name: {                                                                \
        const from_type *const values = from;                                   \
        to_type *const out = to;                                                \
        for (int64_t i = 0; type.is_swapped && i < count; i++)                  \
            out[i] = (to_type)(from_type)swap(values[i]);                       \
        for (int64_t i = 0; !type.is_swapped && i < count; i++)                 \
            out[i] = (to_type)values[i];                                        \
        break;                                                                  \
    }
        INTEGERS(X)
#undef X
    default:
        assert(!"no integer type");
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
