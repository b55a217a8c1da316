/* solver.h - what the cpu engine has for sparse transforms. */
#pragma once

#include "engine/sparse.h"

/** Solvers with buckets by FFTW, and recovery by their own threads. */
extern const struct lw_sparse_ops lw_cpu_sparse_ops;

/** The transform of all samples, by FFTW and one thread: where a signal is not sparse, and the tests' oracle. */
extern const struct lw_dense_ops lw_cpu_dense_ops;
