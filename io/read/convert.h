/* convert.h - samples that are not read as they are stored: numbers that stand for others (io/bytes/packing.h), float16, which
 * nothing computes with, and integers of axes with gaps, where some samples are not numbers. */
#pragma once

#include "base/pool.h"
#include "io/bytes/packing.h"

#include <stdint.h>

/** The type that holds every value of a type, and NaN: of integers and float16 a floating-point one. */
struct lw_type lw_convert_type(struct lw_type type);

/* Rows of samples to be converted, each computed in double and rounded once; by the threads of a pool. */
struct lw_conversion {
    struct lw_type type;
    const struct lw_packing *packing;   /* borrowed, like the memory */
    enum lw_scalar to;                  /* float32 or float64 */
    bool makes_magnitudes;              /* of complex samples, as float64 */
    int64_t n_rows, length;             /* samples */
    const char *stored;
    char *into;
    int64_t stored_pitch, into_pitch;   /* bytes from one row to the next */

    int64_t pieces_per_row;             /* of begin and end alone */
    struct lw_batch batch;
};

/** Begin to convert; wait until all is there. `conversion` stays where it is in between. @param pool  NULL: begin does it all */
void lw_conversion_begin(struct lw_conversion *conversion, struct lw_pool *pool);
void lw_conversion_end(struct lw_conversion *conversion, struct lw_pool *pool);

/** `n` samples of a floating-point type, each part not a number. */
void lw_convert_fill_nan(struct lw_type type, int64_t n, void *to);
