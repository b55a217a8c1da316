/* kernels_cpu.c - the table of one precision and instruction set. Compiled per precision and instruction set. */
#include "real_cpu.h"

extern const struct lw_kernels_cpu KERNEL(lw_kernels);

const struct lw_kernels_cpu KERNEL(lw_kernels) = {
    .real_bytes = sizeof(real),
    .safe_exponent = REAL_SAFE_EXPONENT,
    .direct_step = LW_DIRECT_STEP,
    .load = KERNEL(lw_load),
    .store = KERNEL(lw_store),
    .transpose = KERNEL(lw_transpose),
    .widen = KERNEL(lw_widen),
    .narrow = KERNEL(lw_narrow),
    .largest = KERNEL(lw_largest),
    .repair = KERNEL(lw_repair),
    .blank = KERNEL(lw_blank),
    .fill = KERNEL(lw_fill),
    .scale = KERNEL(lw_scale),
    .direct = KERNEL(lw_direct),
    .quarter_turn = KERNEL(lw_quarter_turn),
    .multiply = KERNEL(lw_multiply),
    .multiply_half = KERNEL(lw_multiply_half),
    .mirror = KERNEL(lw_mirror),
    .round_reals = KERNEL(lw_round_reals),
    .fft_create = KERNEL(lw_fft_create),
    .fft_destroy = KERNEL(lw_fft_destroy),
    .fft_bytes = KERNEL(lw_fft_bytes),
    .fft_shape = KERNEL(lw_fft_shape),
    .fft_forward = KERNEL(lw_fft_forward),
    .fft_inverse = KERNEL(lw_fft_inverse),
};
