/* values.h - convert the numbers that archive files store to samples. Samples have the narrowest type of LW_SCALARS that holds
 * all stored values, or float32 or float64 if a scale applies. Pure functions.
 *
 *     stored                                  samples
 *     int8 .. int32, float32, float64         the same type, in either byte order ("flat": there is nothing to convert)
 *     uint32, int64, uint64                   float64 (64-bit integers beyond 2^53 are rounded)
 *     float16                                 float32
 *     int16 + 32768, uint8 - 128              uint16, int8
 *     scaled, or with a blank (no value)      float32 if stored in 8 or 16 bits or as float32, else float64; blanks become NaN
 *     complex integers of 8 and 16 bits       complex float32; wider ones complex float64 */
#pragma once

#include "base/type.h"

/* name, C type, text */
#define LW_NUMBERS(X)                      \
    X(LW_NUMBER_INT8, int8_t, "int8")      \
    X(LW_NUMBER_UINT8, uint8_t, "uint8")   \
    X(LW_NUMBER_INT16, int16_t, "int16")   \
    X(LW_NUMBER_UINT16, uint16_t, "uint16") \
    X(LW_NUMBER_INT32, int32_t, "int32")   \
    X(LW_NUMBER_UINT32, uint32_t, "uint32") \
    X(LW_NUMBER_INT64, int64_t, "int64")   \
    X(LW_NUMBER_UINT64, uint64_t, "uint64") \
    X(LW_NUMBER_FLOAT32, float, "float32") \
    X(LW_NUMBER_FLOAT64, double, "float64")

enum lw_number {
#define X(name, type, text) name,
    LW_NUMBERS(X)
#undef X
    LW_NUMBER_FLOAT16,
    LW_N_NUMBERS,
};

struct lw_values {
    enum lw_number number;
    bool is_complex;                /* a stored value is a pair of numbers (re, im) */
    bool is_swapped;                /* numbers have the other byte order than this machine */
    bool is_about_middle;           /* value = int16 number + 32768, or uint8 number - 128; excludes scale and blank */
    bool is_scaled;                 /* value = zero + scale x number */
    double scale, zero;
    bool has_blank;                 /* integers: `blank` marks a missing value */
    int64_t blank;
    bool as_float64;                /* samples are float64, or pairs of float64, whatever the stored type */
};

int64_t lw_number_bytes(enum lw_number number);
const char *lw_number_text(enum lw_number number);

int64_t lw_values_bytes(const struct lw_values *values);        /* bytes of one stored value */

/** Return the type of the samples. Byte order: the file's for flat values, else this machine's. */
struct lw_type lw_values_type(const struct lw_values *values);

/** Return whether the values are flat: samples equal the stored values, byte for byte. */
bool lw_values_are_flat(const struct lw_values *values);

/** Convert n stored values to samples. @param from_step, to_step  distance from one to the next, in values and in samples */
void lw_values_convert(const struct lw_values *values, const void *from, int64_t from_step, int64_t n, void *to, int64_t to_step);

/** Find a stored type by its name, such as "int16". Returns false if there is none. */
bool lw_number_parse(const char *text, enum lw_number *out);
