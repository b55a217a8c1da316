/* type.h - the sample types that files and results hold, and the precision that engines compute in. */
#ifndef LW_BASE_TYPE_H
#define LW_BASE_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* name, C type, text used on the command line and in messages */
#define LW_SCALARS(X)                      \
    X(LW_INT8, int8_t, "int8")             \
    X(LW_UINT8, uint8_t, "uint8")          \
    X(LW_INT16, int16_t, "int16")          \
    X(LW_UINT16, uint16_t, "uint16")       \
    X(LW_INT32, int32_t, "int32")          \
    X(LW_FLOAT32, float, "float32")        \
    X(LW_FLOAT64, double, "float64")

enum lw_scalar {
#define X(name, type, text) name,
    LW_SCALARS(X)
#undef X
    LW_N_SCALARS
};

/* A sample as it lies in a file or a buffer. Complex samples are (re, im) pairs of a floating-point scalar. */
struct lw_type {
    enum lw_scalar scalar;
    bool is_complex;
    bool is_swapped;            /* stored in the byte order that is not this machine's */
};

enum lw_precision { LW_SINGLE, LW_DOUBLE };

size_t lw_scalar_bytes(enum lw_scalar scalar);
bool lw_scalar_is_integer(enum lw_scalar scalar);
size_t lw_type_bytes(struct lw_type type);              /* of one sample */

/** "int16", "float32", "complex float64", "int16 (big endian)" and the like. Returns `text`. */
const char *lw_type_text(struct lw_type type, char text[40]);

/** How many of `count` samples are not finite, or are not once converted to `precision`; complex ones count once.
 * @param lowest  set to the index of the first such sample, if there is one */
int64_t lw_type_not_finite(struct lw_type type, enum lw_precision precision, const void *samples, int64_t count,
                           int64_t *lowest);

/** The scalar of that name; false if there is none. */
bool lw_scalar_parse(const char *text, enum lw_scalar *out);

#ifdef __cplusplus
}
#endif

#endif
