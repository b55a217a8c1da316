/* solver.h - the cpu engine's solver: buckets by FFTW, recovery by its own threads. */
#ifndef LW_CPU_SFFT_SOLVER_H
#define LW_CPU_SFFT_SOLVER_H

#include "engine/sparse.h"

int lw_cpu_sfft_solver_create(const struct lw_sfft_layout *layout, int n_threads, struct lw_sfft_solver **out,
                              struct lw_error *err);

#endif
