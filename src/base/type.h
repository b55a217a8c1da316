/* type.h - the sample types of files and results, and the precision in which engines compute. */
#pragma once

#include "base/half.h"
#include "base/linkage.h"

#include <stdbool.h>
#include <stddef.h>

LW_C_BEGIN

/* The scalar types of samples: name, C type, text on the command line and in messages; `between` separates two entries. A new
 * type needs a line here and a loader in each engine. */
#define LW_INTEGERS(X, between)              \
    X(LW_INT8, int8_t, "int8")               \
    between X(LW_UINT8, uint8_t, "uint8")    \
    between X(LW_INT16, int16_t, "int16")    \
    between X(LW_UINT16, uint16_t, "uint16") \
    between X(LW_INT32, int32_t, "int32")

#define LW_FLOATS(X, between)                \
    X(LW_FLOAT32, float, "float32")          \
    between X(LW_FLOAT64, double, "float64")

#define LW_SCALARS(X) LW_INTEGERS(X, ) LW_FLOATS(X, )

/* Text of a scalar, for constant lists of names: LW_FLOATS(LW_SCALAR_TEXT, "|") is "float32|float64". */
#define LW_SCALAR_TEXT(name, type, text) text

enum lw_scalar {
#define X(name, type, text) name,
    LW_SCALARS(X)
#undef X
    LW_N_SCALARS,
    LW_FLOAT16 = LW_N_SCALARS           /* a stored type only: engines write float16, readers convert it to float32 */
};

enum { LW_N_RESULT_SCALARS = LW_FLOAT16 + 1 };

/* Type of a sample in a file or a buffer. Complex samples are (re, im) pairs of a floating-point scalar. */
struct lw_type {
    enum lw_scalar scalar;
    bool is_complex;
    bool is_swapped;            /* stored in the opposite of this machine's byte order */
};

enum lw_precision { LW_SINGLE, LW_DOUBLE };

/** Return the type of numbers in the computing precision. */
static inline enum lw_scalar lw_computed_scalar(enum lw_precision precision)
{
    return precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64;
}

size_t lw_scalar_bytes(enum lw_scalar scalar);
bool lw_scalar_is_integer(enum lw_scalar scalar);
bool lw_scalar_is_signed(enum lw_scalar scalar);

/** Return whether outputs of this type can be scaled, and saturate: beyond its range the largest or smallest number is stored. */
bool lw_scalar_saturates(enum lw_scalar scalar);

size_t lw_type_bytes(struct lw_type type);              /* bytes of one sample */

/** Write a type as "int16", "float32", "complex float64", "int16 (big endian)" and the like. Return `text`. */
const char *lw_type_text(struct lw_type type, char text[40]);

/* Copy `bytes` bytes, in reverse order if is_swapped. */
static inline void lw_copy_ordered(void *to, const void *from, size_t bytes, bool is_swapped)
{
    for (size_t b = 0; b < bytes; b++)
        ((unsigned char *)to)[b] = ((const unsigned char *)from)[is_swapped ? bytes - 1 - b : b];
}

/** Return number i of stored samples; a complex sample has two numbers. */
static inline double lw_type_number(struct lw_type type, const void *samples, int64_t i)
{
    switch (type.scalar) {
#define X(name, ctype, text)                                                                            \
    case name: {                                                                                        \
        ctype value;                                                                                    \
        lw_copy_ordered(&value, (const ctype *)samples + i, sizeof value, type.is_swapped);             \
        return (double)value;                                                                           \
    }
        LW_SCALARS(X)
#undef X
    case LW_FLOAT16: {
        uint16_t half;
        lw_copy_ordered(&half, (const uint16_t *)samples + i, sizeof half, type.is_swapped);
        return lw_half_value(half);
    }
    }
    return 0;
}

/** Convert n stored numbers to float64; a complex sample has two numbers. */
void lw_type_numbers(struct lw_type type, const void *samples, int64_t n, double *numbers);

/** Store a value as number i of an array, which is not of float16. Integers are rounded to nearest, ties to even, and clipped to
 * their range. */
void lw_type_put(struct lw_type type, void *numbers, int64_t i, double value);

/** Count the samples that are not finite once they are converted to `precision`; a complex sample counts once.
 * @param lowest  set to the index of the first non-finite sample, if there is one */
int64_t lw_type_not_finite(struct lw_type type, enum lw_precision precision, const void *samples, int64_t count, int64_t *lowest);

/** Find the scalar that `text` names, such as "int16". Return false if there is none. */
bool lw_scalar_parse(const char *text, enum lw_scalar *out);

LW_C_END
