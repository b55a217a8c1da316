/* solver.h - the CPU engine's solver of the published transform, by FFTW and OpenMP. */
#pragma once

#include "engine/published/solver.h"

extern const struct lw_published_ops lw_cpu_published_ops;
