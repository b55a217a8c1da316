/* solver.h - the CPU engine's sparse and dense transforms. */
#pragma once

#include "engine/sparse.h"

/** Solver with buckets by FFTW; the recovery runs in its own threads. */
extern const struct lw_sparse_ops lw_cpu_sparse_ops;

/** Transform of all samples, by FFTW in one thread: for signals that are not sparse, and as the tests' oracle. */
extern const struct lw_dense_ops lw_cpu_dense_ops;
