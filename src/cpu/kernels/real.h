/* real.h - the working type and the names of functions for one precision and one instruction set.
 *
 * The sources of this folder include it. The build compiles each of them once for every pair of the two (CMakeLists.txt)
 * and defines LW_CPU_DOUBLE, 0 or 1, and LW_CPU_ISA, generic, avx2 or avx512. `real` is then float or double, `vector` as many
 * of them as a register of that instruction set holds, and KERNEL(lw_load) the function lw_load_single_avx2 or the like.
 * cpu/kernels/kernels.c makes the table of each pair, and cpu/dispatch.c chooses one when the program runs. Without these
 * definitions the header stands for single precision and the generic instruction set. */
#ifndef LW_CPU_KERNELS_REAL_H
#define LW_CPU_KERNELS_REAL_H

#include "cpu/kernels/kernels.h"

#include <fftw3.h>
#include <stdint.h>

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

/* Outputs that the direct convolution makes at a time: enough independent sums to hide the latency of a fused
 * multiply-add (4 cycles, two per cycle). */
#define LW_DIRECT_SUMS 8
#define LW_DIRECT_STEP ((int64_t)(LW_DIRECT_SUMS * VECTOR_BYTES / sizeof(real)))

/* The entries of the table, see cpu/kernels/kernels.h. */
void KERNEL(lw_load)(const struct lw_cpu_panel *panel, const void *stored, void *reals);
void KERNEL(lw_store)(const struct lw_cpu_panel *panel, const void *reals, void *stored, struct lw_loss *loss);
void KERNEL(lw_transpose)(const void *in, int64_t in_stride, int64_t rows, int64_t columns, int width, void *out,
                          int64_t out_stride);
void KERNEL(lw_widen)(void *x, int64_t n);
void KERNEL(lw_narrow)(void *x, int64_t n);
double KERNEL(lw_largest)(const void *x, int64_t n);
void KERNEL(lw_repair)(struct lw_cpu_repair *repair, void *x);
void KERNEL(lw_blank)(void *y, const uint8_t *touched, int64_t n, int width);
void KERNEL(lw_fill)(void *x, int64_t n, double value);
void KERNEL(lw_scale)(void *x, int64_t n, int exponent);
void KERNEL(lw_direct)(const struct lw_cpu_terms *terms, const void *x, void *y, int64_t n);
void KERNEL(lw_stencil)(const struct lw_cpu_stencil *stencil, const void *x, int64_t n, void *y, int64_t stride);
void KERNEL(lw_quarter_turn)(const void *x, void *out, int64_t n);
void KERNEL(lw_multiply)(const void *h, const void *z, void *w, int64_t n);
void KERNEL(lw_multiply_packed)(const void *a_b, const void *z, const void *r, void *w, int64_t n);
void KERNEL(lw_mirror)(const struct lw_cpu_fft *fft, const void *z, void *r);
void KERNEL(lw_round_reals)(const double *in, void *out, int64_t n);
extern lw_cpu_make_fn *const KERNEL(lw_make)[LW_POST_KINDS];
void KERNEL(lw_interpolate)(const struct lw_cpu_phases *phases, const void *y, int64_t n, int n_phases, int width,
                            void *out);
void KERNEL(lw_sum)(const double *taps, int parts, const void *x, int width, int64_t n, double sum[2]);
int64_t KERNEL(lw_next_crossing)(const void *y, int64_t begin, int64_t end, int width, double least);
void KERNEL(lw_keep_best)(const void *y, int64_t n, int width, enum lw_sign sign, double weight, int32_t filter,
                          const struct lw_cpu_best *best);
void KERNEL(lw_measure)(const void *y, int64_t n, int width, struct lw_cpu_cell *cell);
int KERNEL(lw_fft_create)(int64_t n, void *in, void *out, void *work, struct lw_cpu_fft **fft, struct lw_error *err);
void KERNEL(lw_fft_destroy)(struct lw_cpu_fft *fft);
int64_t KERNEL(lw_fft_bytes)(int64_t n);
struct lw_cpu_fft KERNEL(lw_fft_shape)(int64_t n);
void KERNEL(lw_fft_forward)(const struct lw_cpu_fft *fft, const void *x, void *spectrum, void *work);
void KERNEL(lw_fft_inverse)(const struct lw_cpu_fft *fft, const void *spectrum, void *x, void *work);
struct lw_cpu_fft2d KERNEL(lw_fft2d_shape)(int64_t rows, int64_t columns);
int KERNEL(lw_fft2d_create)(int64_t rows, int64_t columns, void *row, void *points, void *strip,
                            struct lw_cpu_fft2d **tile, struct lw_error *err);
void KERNEL(lw_fft2d_destroy)(struct lw_cpu_fft2d *tile);
void KERNEL(lw_fft2d_row_forward)(const struct lw_cpu_fft2d *tile, void *row, void *tile_row);
void KERNEL(lw_fft2d_row_inverse)(const struct lw_cpu_fft2d *tile, void *tile_row, void *row);
void KERNEL(lw_fft2d_columns)(const struct lw_cpu_fft2d *tile, const void *spectrum, void *points, void *strip);
void KERNEL(lw_pack)(const void *re, const void *im, void *z, int64_t n);
void KERNEL(lw_unpack)(const void *z, void *re, void *im, int64_t n);
void KERNEL(lw_weigh)(void *y, const double *weights, int64_t n, int width);

#endif
