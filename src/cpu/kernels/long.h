/* long.h - complex transforms of powers of two that leave the near caches. Compiled per precision and instruction set. */
#pragma once

#include "cpu/kernels/real.h"

struct lw_cpu_long;

/** Return whether transforms of n points are made here, and their shape. */
bool KERNEL(lw_long_takes)(int64_t n);
struct lw_cpu_fft KERNEL(lw_long_shape)(int64_t n);

int KERNEL(lw_long_create)(int64_t n, struct lw_cpu_long **out, struct lw_error *err);
void KERNEL(lw_long_destroy)(struct lw_cpu_long *fft);          /* accepts NULL */
int64_t KERNEL(lw_long_bytes)(int64_t n);

/* The members of struct lw_cpu_kernels that begin with fft_. */
void KERNEL(lw_long_forward)(const struct lw_cpu_long *fft, const real *x, real *spectrum, real *work);
void KERNEL(lw_long_multiply)(const struct lw_cpu_long *fft, const real *h, const real *z, const real *r, real *work);
void KERNEL(lw_long_inverse)(const struct lw_cpu_long *fft, real *work, real *x);
const real *KERNEL(lw_long_strip)(const struct lw_cpu_long *fft, real *work, int64_t strip);
