/* convert.h - convert samples that a reader does not give as stored: packed numbers (io/bytes/packing.h), float16, with which no
 * engine computes, and integers where a gap makes some samples NaN. */
#pragma once

#include "base/pool.h"
#include "io/bytes/packing.h"

/** Return a type that holds every value of `type` and NaN: a floating-point type for integers and float16. */
struct lw_type lw_convert_type(struct lw_type type);

/* Rows of samples that a pool's threads convert. Each value is computed in double and rounded once. */
struct lw_conversion {
    struct lw_type type;
    const struct lw_packing *packing;   /* borrowed, like `stored` and `into` */
    enum lw_scalar to;                  /* float32 or float64 */
    bool makes_magnitudes;              /* complex samples become their magnitudes, float64 */
    int64_t n_rows, length;             /* rows; samples in each */
    const char *stored;
    char *into;
    int64_t stored_pitch, into_pitch;   /* bytes from one row to the next */

    int64_t pieces_per_row;             /* private to begin and end, like batch */
    struct lw_batch batch;
};

/** Begin to convert; wait for the end. `conversion` must not move in between. @param pool  NULL: begin does all the work */
void lw_conversion_begin(struct lw_conversion *conversion, struct lw_pool *pool);
void lw_conversion_end(struct lw_conversion *conversion, struct lw_pool *pool);

/** Set `n` samples of a floating-point type to NaN, both parts of complex ones. */
void lw_convert_fill_nan(struct lw_type type, int64_t n, void *to);
