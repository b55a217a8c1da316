/* kernel.h - the kernel as the method wants it: separated or transformed once, in double precision. Called by
 * cpu/conv2d/conv2d.c. */
#pragma once

#include "cpu/conv2d/choose.h"

/* Owned by whoever created it. */
struct lw_cpu_kernel2d {
    struct lw_cpu_terms first, second;  /* DIRECT: first; SEPARABLE: along the columns, then along the rows */
    void *spectrum;                     /* TILES: see lw_cpu_fft2d */
    int exponent;                       /* outputs are still to be multiplied by 2^exponent */
    double *sums;                       /* only to interpolate: [kernel_rows][kernel_columns + 1], sums along each row */
    double sum;
};

int64_t lw_cpu_kernel2d_bytes(const struct lw_cpu_shape2d *shape, enum lw_nan nan);
int lw_cpu_kernel2d_create(const struct lw_op_spec *spec, const struct lw_cpu_shape2d *shape, struct lw_cpu_kernel2d *out,
                           struct lw_error *err);
void lw_cpu_kernel2d_release(struct lw_cpu_kernel2d *kernel);
