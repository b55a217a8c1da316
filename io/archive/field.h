/* field.h - numbers in the headers of archive files, of either byte order. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/** An unsigned number of 1 to 8 bytes. */
static inline uint64_t lw_field_unsigned(const unsigned char *at, int bytes, bool is_big)
{
    uint64_t value = 0;
    for (int b = 0; b < bytes; b++)
        value = value << 8 | at[is_big ? b : bytes - 1 - b];
    return value;
}

/** A number in two's complement of 1 to 8 bytes. */
static inline int64_t lw_field_signed(const unsigned char *at, int bytes, bool is_big)
{
    const int unused = 64 - 8 * bytes;
    return (int64_t)(lw_field_unsigned(at, bytes, is_big) << unused) >> unused;
}

static inline float lw_field_float32(const unsigned char *at, bool is_big)
{
    const uint32_t bits = (uint32_t)lw_field_unsigned(at, 4, is_big);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double lw_field_float64(const unsigned char *at, bool is_big)
{
    const uint64_t bits = lw_field_unsigned(at, 8, is_big);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/** Whether numbers of that byte order must be swapped on this machine. */
static inline bool lw_field_is_swapped(bool is_big)
{
    return is_big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}
