/* solver.h - the cpu engine's solver of the published transform, by FFTW and OpenMP. */
#ifndef LW_CPU_SFFT_PUBLISHED_SOLVER_H
#define LW_CPU_SFFT_PUBLISHED_SOLVER_H

#include "engine/published.h"

/** @param layout  borrowed for the solver's life */
int lw_cpu_published_create(const struct lw_published_layout *layout, int n_threads, struct lw_published_solver **out,
                            struct lw_error *err);
int64_t lw_cpu_published_bytes(const struct lw_published_plan *plan); /* without the signal and the layout */

#endif
