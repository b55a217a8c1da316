/* solver.h - the cpu engine's solver: buckets by FFTW, recovery by its own threads. */
#ifndef LW_CPU_SFFT_SOLVER_H
#define LW_CPU_SFFT_SOLVER_H

#include "engine/sparse.h"

extern const struct lw_sparse_ops lw_cpu_sparse_ops;

#endif
