/* crossings.h - the table of a block's crossings (signal/search.h), to which all threads append.
 *
 *     lw_cpu_table_begin -> per lane: lw_cpu_crossings_find ... lw_cpu_crossings_flush -> lw_cpu_table_end
 *
 * Used by cpu/ols and cpu/conv2d. */
#pragma once

#include "cpu/kernels/kernels.h"

#include <stdatomic.h>

/* Crossings that a lane collects before it appends them to the table. */
#define LW_CPU_CROSSINGS 64

struct lw_cpu_table {
    struct lw_slot_product *product;
    atomic_int_least64_t n_rows;        /* crossings found so far; the table may have room for fewer */
};

/* Crossings that a lane has found and not yet appended. */
struct lw_cpu_found {
    struct lw_crossing rows[LW_CPU_CROSSINGS];
    int n;
};

/* A run of adjacent outputs with one noise. */
struct lw_cpu_outputs {
    const struct lw_cpu_kernels *kernels;
    const void *y;                      /* working samples of `width` reals, as computed */
    int width;
    int64_t begin, end;                 /* range of outputs that may cross */
    bool is_row;                        /* a row of an image: i counts columns, not indices */
    struct lw_crossing first;           /* place of output 0; re and im are not used */
    double noise, threshold;
    enum lw_sign sign;
    const void *b;                      /* weighted images: B of the outputs (engine/engine.h); else NULL */
    int exponent;                       /* the errors of fluxes are 2^exponent / sqrt(B) */
};

void lw_cpu_table_begin(struct lw_cpu_table *table, struct lw_slot_product *product);
void lw_cpu_table_end(struct lw_cpu_table *table);         /* Set the product's n_rows. */

void lw_cpu_crossings_find(const struct lw_cpu_outputs *outputs, struct lw_cpu_found *found, struct lw_cpu_table *table);

/* Append output i if it is a crossing. @param place  its distance from the place of output 0 */
void lw_cpu_crossings_add(const struct lw_cpu_outputs *outputs, int64_t i, int64_t place, struct lw_cpu_found *found,
                          struct lw_cpu_table *table);
void lw_cpu_crossings_flush(struct lw_cpu_found *found, struct lw_cpu_table *table);
