/* sfft2_window_cpu.h - the flat windows of the published transform: a box in frequency times a Dolph-Chebyshev window or a
 * Gaussian. */
#ifndef LW_SFFT2_WINDOW_CPU_H
#define LW_SFFT2_WINDOW_CPU_H

#include "sfft2.h"

int lw_sfft2_window_create_cpu(const struct lw_sfft2_plan *plan, struct lw_sfft_window **out, struct lw_error *err);

#endif
