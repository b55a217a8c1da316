/* solver.h - the cpu engine's solver: buckets by FFTW, recovery by its own threads. */
#pragma once

#include "engine/sparse.h"

extern const struct lw_sparse_ops lw_cpu_sparse_ops;
