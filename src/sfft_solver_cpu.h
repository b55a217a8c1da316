/* sfft_solver_cpu.h - the cpu engine's solver: buckets by FFTW, recovery by its own threads. */
#ifndef LW_SFFT_SOLVER_CPU_H
#define LW_SFFT_SOLVER_CPU_H

#include "sfft_solver.h"

int lw_sfft_solver_create_cpu(const struct lw_sfft_layout *layout, int n_threads, struct lw_sfft_solver **out,
                              struct lw_error *err);

#endif
