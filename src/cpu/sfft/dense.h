/* dense.h - the cpu engine's transform of all samples, by FFTW and one thread: where a signal is not sparse, and the tests'
 * oracle. */
#pragma once

#include "engine/sparse.h"

extern const struct lw_dense_ops lw_cpu_dense_ops;
