/* real.h - the working type, and function names, for one precision and one instruction set.
 *
 * All sources of this folder include the header. The build compiles each source once per precision and instruction set and defines
 * LW_CPU_DOUBLE, 0 or 1, and LW_CPU_ISA: generic, avx2 or avx512. `real` is then float or double, and `vector` a register full of
 * reals. KERNEL(lw_load) is the function lw_load_single_avx2 or the like. cpu/kernels/kernels.c makes a table of these functions,
 * and cpu/dispatch.c chooses a table at run time. Without the two definitions, `real` is float, the set generic. */
#pragma once

#include "cpu/kernels/kernels.h"

#include <fftw3.h>

#ifndef LW_CPU_ISA
#define LW_CPU_ISA generic
#endif

#define LW_PASTE3(a, b, c) a##b##c
#define LW_PASTE(a, b, c) LW_PASTE3(a, b, c)

#if defined LW_CPU_DOUBLE && LW_CPU_DOUBLE
typedef double real;
typedef int64_t real_bits;
typedef uint64_t real_ubits;
#define REAL_MAX_EXPONENT 1023
#define REAL_SAFE_EXPONENT 256
#define REAL_MATH(name) name
#define FFTW(name) fftw_##name
#define KERNEL(name) LW_PASTE(name, _double_, LW_CPU_ISA)
#else
typedef float real;
typedef int32_t real_bits;
typedef uint32_t real_ubits;
#define REAL_MAX_EXPONENT 127
#define REAL_SAFE_EXPONENT 32
#define REAL_MATH(name) name##f
#define FFTW(name) fftwf_##name
#define KERNEL(name) LW_PASTE(name, _single_, LW_CPU_ISA)
#endif

#if defined __AVX512F__
#define VECTOR_BYTES 64
#elif defined __AVX__
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
typedef real vector __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef real_bits indices __attribute__((vector_size(VECTOR_BYTES)));
typedef real loose_vector __attribute__((vector_size(VECTOR_BYTES), may_alias, aligned(__alignof__(real))));

/* Registers of outputs, and outputs, that the direct convolution makes at a time. Eight independent sums hide the latency of a
 * fused multiply-add (4 cycles, two per cycle). */
#define LW_DIRECT_SUMS 8
#define LW_DIRECT_STEP ((int64_t)(LW_DIRECT_SUMS * VECTOR_BYTES / sizeof(real)))

/* The functions of the table; their types are those of its members in cpu/kernels/kernels.h. */
#define LW_CPU_KERNELS(X)                                                                                                \
    X(load) X(store) X(transpose) X(widen) X(narrow) X(largest) X(repair) X(blank) X(fill) X(scale) X(direct) X(stencil) \
    X(quarter_turn) X(mirror) X(round_reals) X(interpolate) X(sum) X(next_crossing) X(keep_best) X(measure)              \
    X(fft_create) X(fft_destroy) X(fft_bytes) X(fft_shape) X(fft_forward) X(fft_multiply) X(fft_inverse) X(fft_strip)    \
    X(fft2d_shape) X(fft2d_create) X(fft2d_destroy) X(fft2d_row_forward) X(fft2d_row_inverse) X(fft2d_columns)           \
    X(fft2d_forward) X(fft2d_product) X(pack) X(unpack) X(subtract) X(weigh) X(take_weights) X(mark_weights)             \
    X(weigh_pixels) X(divide_by_root) X(weighted_sum) X(add_rows) X(turn_integers) X(energies) X(invert_roots) X(gain)    \
    X(add_weighted) X(fft_add) X(drift_create) X(drift_destroy) X(drift_bytes) X(drift_work) X(drift_forward)              \
    X(drift_powers) X(add_harmonics)

#define X(name) __typeof__(*((struct lw_cpu_kernels *)0)->name) KERNEL(lw_##name);
LW_CPU_KERNELS(X)
#undef X

/* out = a b, and out = a in + b mirrored, of n complex numbers. */
void KERNEL(lw_multiply)(const real *a, const real *b, real *out, int64_t n);
void KERNEL(lw_multiply_packed)(const real *a, const real *b, const real *in, const real *mirrored, real *out, int64_t n);
/* out[j] = conj(in[n - 1 - j]) for n complex numbers. */
void KERNEL(lw_mirror_run)(const real *in, real *out, int64_t n);
extern lw_cpu_make_fn *const KERNEL(lw_make)[LW_POST_KINDS];
