/* solver.h - the cpu engine's solver of the published transform, by FFTW and OpenMP. */
#ifndef LW_CPU_SFFT_PUBLISHED_SOLVER_H
#define LW_CPU_SFFT_PUBLISHED_SOLVER_H

#include "engine/published/solver.h"

extern const struct lw_published_ops lw_cpu_published_ops;

#endif
